/*
 * Values become codes: sign bits are turned so that unsigned order is the values', doubles by their bits, strings
 * seven bytes a lane.
 */
#include "kernel/sort/keys.h"
#include "contract/dtypes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define SIGN_BIT ((uint64_t)1 << 63)

enum { TEXT_STEP = 7 };

/* ---- codes ---- */

static inline uint64_t
code_of_double(double x)
{
    uint64_t bits;

    x += 0.0; /* -0.0 equals 0.0 */
    memcpy(&bits, &x, sizeof bits);
    return (bits & SIGN_BIT) != 0 ? ~bits : bits | SIGN_BIT;
}

/* Seven bytes, then how many are left from there: 8 stands for more than 7. */
static inline uint64_t
code_of_text(const char *text, size_t size, unsigned part)
{
    size_t skip = (size_t)part * TEXT_STEP;
    size_t left = size > skip ? size - skip : 0;
    size_t many = left < TEXT_STEP ? left : TEXT_STEP;
    uint64_t bytes = 0;

    if (many > 0) {
        memcpy(&bytes, text + skip, many);
    }
    return __builtin_bswap64(bytes) >> 8 << 4 | (left > TEXT_STEP ? TEXT_STEP + 1 : left);
}

#define EACH_ROW(type, expression)                                                                                     \
    do {                                                                                                               \
        const type *values = (const type *)column->values;                                                             \
        if (rows == NULL) {                                                                                            \
            values += from;                                                                                            \
            for (size_t i = 0; i < count; i++) {                                                                       \
                type x = values[i];                                                                                    \
                codes[i] = (expression);                                                                               \
            }                                                                                                          \
        } else {                                                                                                       \
            for (size_t i = 0; i < count; i++) {                                                                       \
                type x = values[rows[i]];                                                                              \
                codes[i] = (expression);                                                                               \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

#define SIGNED(x) ((uint64_t)(int64_t)(x) ^ SIGN_BIT)

static void
encode_bools(const granary_column *column, const int64_t *rows, int64_t from, size_t count, uint64_t *codes)
{
    for (size_t i = 0; i < count; i++) {
        codes[i] = gr_bit(column->values, rows == NULL ? from + (int64_t)i : rows[i]);
    }
}

static unsigned
encode_texts(const struct sort_lane *lane, const int64_t *rows, int64_t from, size_t count, uint64_t *codes)
{
    const granary_column *column = lane->key->column;
    const uint32_t *ranks = lane->ranks;
    unsigned more = 0;

    if (ranks != NULL) {
        EACH_ROW(int32_t, ranks[x]);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t row = rows == NULL ? from + (int64_t)i : rows[i];
        size_t size;
        const char *text = gr_text_at(column, row, &size);

        codes[i] = code_of_text(text, size, lane->part);
        more |= (codes[i] & 15) > TEXT_STEP;
    }
    return more ? SORT_KIND_MORE : 0;
}

static unsigned
mark_nans(const uint64_t *codes, size_t count, uint8_t *kinds)
{
    /* Positive NaNs lie above the code of infinity, negative ones below that of -infinity. */
    uint64_t least = code_of_double(-INFINITY);
    uint64_t most = code_of_double(INFINITY);
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        any |= codes[i] < least || codes[i] > most;
    }
    for (size_t i = 0; any && i < count; i++) {
        kinds[i] = codes[i] < least || codes[i] > most ? SORT_KIND_NAN : SORT_KIND_VALUE;
    }
    return any ? SORT_KIND_NAN : 0;
}

static unsigned
mark_nulls(const granary_column *column, const int64_t *rows, int64_t from, size_t count, unsigned kinds_so_far,
           uint8_t *kinds)
{
    unsigned any = 0;

    if ((kinds_so_far & SORT_KIND_NAN) == 0) {
        memset(kinds, SORT_KIND_VALUE, count);
    }
    for (size_t i = 0; i < count; i++) {
        if (!gr_bit(column->validity, rows == NULL ? from + (int64_t)i : rows[i])) {
            kinds[i] = SORT_KIND_NULL;
            any = SORT_KIND_NULL;
        }
    }
    return any;
}

unsigned
sort_encode(const struct sort_lane *lane, const int64_t *rows, int64_t from, size_t count, uint64_t *codes,
            uint8_t *kinds)
{
    const granary_column *column = lane->key->column;
    unsigned found = 0;

    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_NULLTYPE:
        memset(codes, 0, count * sizeof *codes);
        memset(kinds, SORT_KIND_NULL, count);
        return SORT_KIND_NULL;
    case GRANARY_BOOL:
        encode_bools(column, rows, from, count, codes);
        break;
#define WORD(name, type, ...)                                                                                          \
    case GRANARY_##name:                                                                                               \
        EACH_ROW(type, GR_IS_SIGNED(type) ? SIGNED(x) : (uint64_t)x);                                                  \
        break;
        GR_WORD_DTYPES(WORD)
#undef WORD
#define REAL(name, type, ...)                                                                                          \
    case GRANARY_##name:                                                                                               \
        EACH_ROW(type, code_of_double((double)x));                                                                     \
        found = mark_nans(codes, count, kinds);                                                                        \
        break;
        GR_REAL_DTYPES(REAL)
#undef REAL
    case GRANARY_DECIMAL:
        if (lane->part == 0) {
            EACH_ROW(gr_int128, SIGNED(x >> 64));
        } else {
            EACH_ROW(gr_int128, (uint64_t)x);
        }
        break;
    case GRANARY_STRING:
    case GRANARY_BINARY:
        found = encode_texts(lane, rows, from, count, codes);
        break;
    case GRANARY_COMPLEX64:
    case GRANARY_COMPLEX128:
    case GRANARY_LIST: /* no graph sorts by them */
        memset(codes, 0, count * sizeof *codes);
        break;
    }
    if (column->validity != NULL && lane->part == 0) {
        found |= mark_nulls(column, rows, from, count, found, kinds);
    }
    if ((found & (SORT_KIND_NULL | SORT_KIND_NAN)) != 0) {
        for (size_t i = 0; i < count; i++) {
            codes[i] = kinds[i] == SORT_KIND_VALUE ? codes[i] : 0;
        }
    }
    return found;
}

void
sort_ordinals(const struct sort_lane *lane, int64_t from, size_t count, uint64_t *ordinals)
{
    const struct sort_key *key = lane->key;
    uint8_t kinds[SORT_BLOCK];
    unsigned found = sort_encode(lane, NULL, from, count, ordinals, kinds);

    if (key->descending) {
        for (size_t i = 0; i < count; i++) {
            ordinals[i] = ~ordinals[i];
        }
    }
    for (size_t i = 0; (found & (SORT_KIND_NULL | SORT_KIND_NAN)) != 0 && i < count; i++) {
        if (kinds[i] != SORT_KIND_VALUE) {
            uint64_t end = kinds[i] == SORT_KIND_NULL ? 0 : 1;
            bool first = kinds[i] == SORT_KIND_NULL ? key->nulls_first : sort_nans_first(key);

            ordinals[i] = first ? end : UINT64_MAX - end;
        }
    }
}

granary_err
sort_ranks(const granary_column *column, int64_t rows, uint32_t **ret_ranks)
{
    const granary_column *entries = column->dictionary;
    struct sort_key key = {.column = entries};
    uint32_t *ranks;
    int64_t *order;
    int64_t count;
    granary_err err;

    *ret_ranks = NULL;
    if (entries == NULL || entries->rows > rows) {
        return GRANARY_OK; /* by text: fewer strings are looked at */
    }
    err = sort_rows(&key, 1, entries->rows, SORT_NO_LIMIT, &order, &count);
    if (err != GRANARY_OK) {
        return err;
    }
    ranks = calloc((size_t)(count > 0 ? count : 1), sizeof *ranks); /* the code under nulls is 0, entries or not */
    if (ranks == NULL) {
        free(order);
        return gr_fail(GRANARY_ENOMEM, "sort: out of memory for %lld distinct strings", (long long)count);
    }
    for (int64_t i = 0; i < count; i++) {
        ranks[order[i]] = (uint32_t)i;
    }
    free(order);
    *ret_ranks = ranks;
    return GRANARY_OK;
}
