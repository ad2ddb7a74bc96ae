/*
 * Values looked for in a list of literals. Numbers are their bits, in order, in which a loop with vectors halves its way
 * (simd/rows_loops.h); strings are numbered (data/texts.h).
 */
#include <stdlib.h>
#include <string.h>

#include "data/texts.h"
#include "kernel/rows/node.h"
#include "kernel/simd/rows_loops.h"

struct among {
    bool has_null;
    size_t count;          /* of numbers, those that are alike counted again */
    size_t room;           /* a power of two */
    int64_t *numbers;      /* `room` of them, ascending: the greatest fills it up */
    struct gr_texts texts; /* of strings */
};

void
among_free(struct among *among)
{
    if (among != NULL) {
        gr_texts_free(&among->texts);
        free(among->numbers);
        free(among);
    }
}

/* Equal floats have equal bits, but for nans, which equal nothing. */
static int64_t
bits_of(double value)
{
    int64_t bits;

    value += 0.0; /* -0.0 is 0.0 */
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static int
by_number(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* Whether a literal is compared with values of that dtype as one of them. */
static bool
is_alike(const struct gr_expr *literal, granary_dtype dtype, enum rows_class class)
{
    return literal->kind == GR_EXPR_LITERAL &&
           (literal->is_null ||
            (rows_class_of_dtype(literal->dtype) == class && gr_dtype_scale(literal->dtype) == gr_dtype_scale(dtype) &&
             (class != ROWS_INT || (literal->value.i >= INT64_MIN && literal->value.i <= INT64_MAX))));
}

static granary_err
add(struct among *among, const struct gr_expr *literal, enum rows_class class)
{
    uint32_t number;

    if (literal->is_null) {
        among->has_null = true;
    } else if (class == ROWS_TEXT) {
        return gr_texts_add(&among->texts, literal->text, literal->text_size, &number);
    } else if (class == ROWS_INT) {
        among->numbers[among->count++] = (int64_t)literal->value.i;
    } else if (literal->value.d == literal->value.d) {
        among->numbers[among->count++] = bits_of(literal->value.d);
    }
    return GRANARY_OK;
}

granary_err
among_create(const struct gr_expr *in, struct among **ret_among)
{
    granary_dtype dtype = in->operands[0]->dtype;
    enum rows_class class = rows_class_of_dtype(dtype);
    bool fits = class == ROWS_INT || class == ROWS_DOUBLE || class == ROWS_TEXT;
    struct among *among;
    granary_err err = GRANARY_OK;

    for (size_t k = 1; k < in->operand_count && fits; k++) {
        fits = is_alike(in->operands[k], dtype, class);
    }
    *ret_among = NULL;
    if (!fits) {
        return GRANARY_OK;
    }
    among = calloc(1, sizeof *among);
    if (among == NULL) {
        return node_no_memory();
    }
    for (among->room = 1; among->room < in->operand_count; among->room *= 2) {
    }
    among->numbers = malloc(among->room * sizeof *among->numbers);
    err = among->numbers == NULL ? node_no_memory() : GRANARY_OK;
    for (size_t k = 1; k < in->operand_count && err == GRANARY_OK; k++) {
        err = add(among, in->operands[k], class);
    }
    if (err != GRANARY_OK) {
        among_free(among);
        return err;
    }
    if (among->count > 0) {
        qsort(among->numbers, among->count, sizeof *among->numbers, by_number);
        for (size_t i = among->count; i < among->room; i++) {
            among->numbers[i] = among->numbers[among->count - 1];
        }
    }
    *ret_among = among;
    return GRANARY_OK;
}

static void
find_numbers(const struct among *among, const struct node *values, uint8_t *out, int64_t n)
{
    const double *reals = values->values;
    const gr_int128 *wide = values->values;
    int64_t numbers[ROWS_BLOCK];
    const int64_t *keys = values->class == ROWS_INT ? values->values : numbers;

    for (int64_t i = 0; i < n && values->class != ROWS_INT; i++) {
        numbers[i] = values->class == ROWS_DOUBLE ? bits_of(reals[i]) : (int64_t)wide[i];
    }
    SIMD_CALL(rows_among)(keys, n, among->numbers, (int64_t)among->room, out);
    for (int64_t i = 0; i < n && values->class == ROWS_WIDE; i++) {
        out[i] &= wide[i] == numbers[i];
    }
}

void
among_find(const struct among *among, struct node *values, uint8_t *out, int64_t n)
{
    if (values->base == ROWS_TEXT || values->base == ROWS_CODE) {
        const struct rows_text *texts = node_texts(values, n);

        for (int64_t i = 0; i < n; i++) {
            out[i] = gr_texts_find(&among->texts, texts[i].bytes, texts[i].size) != GR_TEXTS_NONE;
        }
    } else if (among->count > 0) {
        find_numbers(among, values, out, n);
    } else {
        memset(out, 0, (size_t)n);
    }
}

bool
among_has_null(const struct among *among)
{
    return among->has_null;
}
