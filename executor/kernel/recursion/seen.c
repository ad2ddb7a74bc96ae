/* Rows are found again by a hash of their values, and then compared with the rows that have the same. */
#include "kernel/recursion/seen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/core/frame_call.h"
#include "kernel/keys/keys.h"

struct seen_slot {
    uint64_t hash;
    int64_t row; /* of the pile, + 1; 0: free */
};

/* One frame being sifted. */
struct sift {
    const struct pile *pile;
    const granary_frame *frame;
    int64_t *rows; /* those that are new */
    int64_t count;
};

/* ---- equal rows ---- */

static double
real_at(const granary_column *column, int64_t row)
{
    return column->dtype == GRANARY_FLOAT32 ? (double)((const float *)column->values)[row]
                                            : ((const double *)column->values)[row];
}

static bool
equal_texts(const granary_column *a, int64_t i, const granary_column *b, int64_t j)
{
    size_t sizes[2];
    const char *texts[2] = {gr_text_at(a, i, &sizes[0]), gr_text_at(b, j, &sizes[1])};

    return sizes[0] == sizes[1] && (sizes[0] == 0 || memcmp(texts[0], texts[1], sizes[0]) == 0);
}

static bool equal_values(const granary_column *a, int64_t i, const granary_column *b, int64_t j);

static bool
equal_lists(const granary_column *a, int64_t i, const granary_column *b, int64_t j)
{
    int32_t count = a->offsets[i + 1] - a->offsets[i];
    bool equal = count == b->offsets[j + 1] - b->offsets[j];

    for (int32_t k = 0; k < count && equal; k++) {
        equal = equal_values(gr_list_items(a), a->offsets[i] + k, gr_list_items(b), b->offsets[j] + k);
    }
    return equal;
}

static bool
equal_values(const granary_column *a, int64_t i, const granary_column *b, int64_t j)
{
    if (a->dtype == GRANARY_NULLTYPE || b->dtype == GRANARY_NULLTYPE || gr_is_null(a, i) || gr_is_null(b, j)) {
        return (a->dtype == GRANARY_NULLTYPE || gr_is_null(a, i)) && (b->dtype == GRANARY_NULLTYPE || gr_is_null(b, j));
    }
    if (gr_dtype_is_text(a->dtype)) {
        return equal_texts(a, i, b, j);
    }
    if (gr_dtype_is_list(a->dtype)) {
        return equal_lists(a, i, b, j);
    }
    if (a->dtype == GRANARY_BOOL) {
        return gr_bit(a->values, i) == gr_bit(b->values, j);
    }
    if (group_is_real(a->dtype)) {
        double x = real_at(a, i);
        double y = real_at(b, j);

        return x == y || (isnan(x) && isnan(y));
    }
    {
        size_t size = gr_dtype_size(a->dtype);

        return memcmp((const char *)a->values + (size_t)i * size, (const char *)b->values + (size_t)j * size, size) ==
               0;
    }
}

static bool
equal_rows(const granary_frame *a, int64_t i, const granary_frame *b, int64_t j)
{
    bool equal = true;

    for (size_t c = 0; c < a->count && equal; c++) {
        equal = equal_values(&a->columns[c].view, i, &b->columns[c].view, j);
    }
    return equal;
}

/* ---- hashes ---- */

/* A column of reals in which equal ones have equal bits. */
static granary_err
normal_reals(const granary_column *from, struct gr_column *ret_column)
{
    granary_err err = gr_column_alloc(GRANARY_FLOAT64, from->rows, 0, from->validity != NULL, ret_column);
    double *values;

    if (err != GRANARY_OK) {
        return err;
    }
    values = (double *)(uintptr_t)ret_column->view.values;
    for (int64_t i = 0; i < from->rows; i++) {
        double value = real_at(from, i);

        values[i] = isnan(value) ? NAN : value == 0 ? 0.0 : value;
    }
    if (from->validity != NULL) {
        memcpy((uint8_t *)(uintptr_t)ret_column->view.validity, from->validity, (size_t)gr_bitmap_bytes(from->rows));
    }
    gr_column_finish(ret_column);
    return GRANARY_OK;
}

/* Put a column of the lists' keys in place of the lists. */
static granary_err
set_list_keys(granary_frame *keys, size_t c, const granary_column *lists)
{
    static const char *const wanted[] = {"list_key(l)"};
    static const char *const names[] = {"key"};
    const struct rows_spec spec = {.wanted = wanted, .wanted_count = 1};
    granary_frame *from = gr_frame_create(1, lists->rows);
    granary_frame *made = NULL;
    granary_err err = from == NULL ? gr_no_memory("recurse") : gr_frame_set_borrowed(from, 0, "l", lists);

    err = err == GRANARY_OK ? rows_frame(from, &spec, names, &made) : err;
    err = err == GRANARY_OK ? gr_frame_move(keys, c, made, 0) : err;
    gr_frame_destroy(made);
    gr_frame_destroy(from);
    return err;
}

static granary_err
hash_rows(const granary_frame *frame, uint64_t *ret_hashes)
{
    granary_frame *keys = gr_frame_create(frame->count, frame->rows);
    granary_err err = keys == NULL ? gr_no_memory("recurse") : GRANARY_OK;

    for (size_t c = 0; c < frame->count && err == GRANARY_OK; c++) {
        const granary_column *column = &frame->columns[c].view;
        struct gr_column real;

        if (gr_dtype_is_list(column->dtype)) {
            err = set_list_keys(keys, c, column);
            continue;
        }
        if (!group_is_real(column->dtype)) {
            err = gr_frame_set_borrowed(keys, c, column->name, column);
            continue;
        }
        err = normal_reals(column, &real);
        err = err == GRANARY_OK ? gr_frame_set(keys, c, column->name, &real) : err;
    }
    if (err == GRANARY_OK) {
        group_keys_hashes(keys, ret_hashes);
    }
    gr_frame_destroy(keys);
    return err;
}

granary_err
seen_hashes(const granary_frame *frame, const size_t *columns, size_t count, uint64_t *ret_hashes)
{
    granary_frame *some = gr_frame_create(count, frame->rows);
    granary_err err = some == NULL ? gr_no_memory("recurse") : GRANARY_OK;

    for (size_t c = 0; c < count && err == GRANARY_OK; c++) {
        const granary_column *column = &frame->columns[columns[c]].view;

        err = gr_frame_set_borrowed(some, c, column->name, column);
    }
    err = err == GRANARY_OK ? hash_rows(some, ret_hashes) : err;
    gr_frame_destroy(some);
    return err;
}

bool
seen_equal(const granary_frame *a, int64_t i, const granary_frame *b, int64_t j, const size_t *columns, size_t count)
{
    bool equal = true;

    for (size_t c = 0; c < count && equal; c++) {
        equal = equal_values(&a->columns[columns[c]].view, i, &b->columns[columns[c]].view, j);
    }
    return equal;
}

/* ---- the table ---- */

static bool
grow(struct seen *seen, int64_t more)
{
    struct seen bigger = {.room = seen->room == 0 ? 64 : seen->room, .count = seen->count};

    while (bigger.room < 2 * (seen->count + (size_t)more)) {
        bigger.room *= 2;
    }
    if (bigger.room == seen->room) {
        return true;
    }
    bigger.slots = calloc(bigger.room, sizeof *bigger.slots);
    for (size_t s = 0; bigger.slots != NULL && s < seen->room; s++) {
        size_t at = (size_t)seen->slots[s].hash & (bigger.room - 1);

        while (seen->slots[s].row != 0 && bigger.slots[at].row != 0) {
            at = (at + 1) & (bigger.room - 1);
        }
        if (seen->slots[s].row != 0) {
            bigger.slots[at] = seen->slots[s];
        }
    }
    if (bigger.slots == NULL) {
        return false;
    }
    free(seen->slots);
    *seen = bigger;
    return true;
}

static bool
is_row(const struct sift *sift, int64_t other, int64_t row)
{
    const granary_frame *frame = sift->frame;
    int64_t at = other - sift->pile->rows;

    if (at >= 0) {
        at = sift->rows[at];
    } else {
        frame = pile_find(sift->pile, other, &at);
    }
    return equal_rows(frame, at, sift->frame, row);
}

static void
sift_row(struct seen *seen, struct sift *sift, uint64_t hash, int64_t row)
{
    size_t at = (size_t)hash & (seen->room - 1);

    while (seen->slots[at].row != 0) {
        if (seen->slots[at].hash == hash && is_row(sift, seen->slots[at].row - 1, row)) {
            return;
        }
        at = (at + 1) & (seen->room - 1);
    }
    seen->slots[at] = (struct seen_slot){.hash = hash, .row = sift->pile->rows + sift->count + 1};
    seen->count++;
    sift->rows[sift->count++] = row;
}

granary_err
seen_sift(struct seen *seen, const struct pile *pile, const granary_frame *frame, granary_frame **ret_frame)
{
    uint64_t *hashes = malloc(((size_t)frame->rows + 1) * sizeof *hashes);
    struct sift sift = {.pile = pile, .frame = frame, .rows = malloc(((size_t)frame->rows + 1) * sizeof *sift.rows)};
    granary_err err = hashes == NULL || sift.rows == NULL || !grow(seen, frame->rows) ? gr_no_memory("recurse")
                                                                                      : hash_rows(frame, hashes);

    for (int64_t i = 0; i < frame->rows && err == GRANARY_OK; i++) {
        sift_row(seen, &sift, hashes[i], i);
    }
    err = err == GRANARY_OK ? gr_frame_take(frame, sift.rows, sift.count, ret_frame) : err;
    free(hashes);
    free(sift.rows);
    return err;
}

uint64_t
seen_bytes(const struct seen *seen)
{
    return seen->room * sizeof *seen->slots;
}

void
seen_free(struct seen *seen)
{
    free(seen->slots);
    *seen = (struct seen){0};
}
