/* Zones of columns by one pass over the values. How many differ is estimated from a sample. */
#include "data/zone.h"
#include "contract/dtypes.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/value/bits.h"

struct range {
    int64_t min;
    int64_t max;
};

/* Without nulls the loops are plain, and the compiler makes vectors of them. */
#define RANGE(type)                                                                                                    \
    static struct range range_of_##type(const granary_column *column)                                                  \
    {                                                                                                                  \
        const type *values = column->values;                                                                           \
        const uint8_t *validity = column->validity;                                                                    \
        bool any = validity == NULL;                                                                                   \
        type min = values[0];                                                                                          \
        type max = values[0];                                                                                          \
                                                                                                                       \
        for (int64_t i = 0; validity == NULL && i < column->rows; i++) {                                               \
            min = values[i] < min ? values[i] : min;                                                                   \
            max = values[i] > max ? values[i] : max;                                                                   \
        }                                                                                                              \
        for (int64_t i = 0; validity != NULL && i < column->rows; i++) {                                               \
            if (gr_bit(validity, i)) {                                                                                 \
                min = !any || values[i] < min ? values[i] : min;                                                       \
                max = !any || values[i] > max ? values[i] : max;                                                       \
                any = true;                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
        return (struct range){(int64_t)min, (int64_t)max};                                                             \
    }
GR_INTEGER_TYPES(RANGE)
#undef RANGE

static struct range
range_of_bools(const granary_column *column)
{
    int64_t there = column->rows - column->null_count;
    int64_t set = bits_count(column->values, column->rows); /* those under nulls are not set */

    return (struct range){set == there, set > 0};
}

static struct range
range_of_integers(const granary_column *column)
{
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_BOOL:
        return range_of_bools(column);
#define CASE(name, type, ...)                                                                                          \
    case GRANARY_##name:                                                                                               \
        return range_of_##type(column);
        GR_WORD_DTYPES(CASE)
#undef CASE
    default:
        return (struct range){0, 0};
    }
}

static void
zone_of_integers(const granary_column *column, struct gr_directory_column *entry)
{
    struct range range = range_of_integers(column);

    if (column->dtype == GRANARY_UINT64 && (range.min < 0 || range.max < 0)) {
        return; /* beyond int64: no zone */
    }
    entry->min.integer = range.min;
    entry->max.integer = range.max;
    entry->flags |= GR_DIRECTORY_ZONE;
}

/* Lanes, so that one comparison need not wait for the other. NaN is neither less nor more than anything. */
#define LANES 8
#define REALS(type, name)                                                                                              \
    static void reals_of_##name(const type *values, int64_t rows, double *ret_min, double *ret_max, bool *ret_nan)     \
    {                                                                                                                  \
        type min[LANES], max[LANES];                                                                                   \
        int nan[LANES] = {0};                                                                                          \
        int64_t whole = rows - rows % LANES;                                                                           \
                                                                                                                       \
        for (int k = 0; k < LANES; k++) {                                                                              \
            min[k] = (type)INFINITY;                                                                                   \
            max[k] = (type)-INFINITY;                                                                                  \
        }                                                                                                              \
        for (int64_t i = 0; i < whole; i += LANES) {                                                                   \
            for (int k = 0; k < LANES; k++) {                                                                          \
                type value = values[i + k];                                                                            \
                                                                                                                       \
                min[k] = value < min[k] ? value : min[k];                                                              \
                max[k] = value > max[k] ? value : max[k];                                                              \
                nan[k] |= value != value;                                                                              \
            }                                                                                                          \
        }                                                                                                              \
        for (int64_t i = whole; i < rows; i++) {                                                                       \
            min[0] = values[i] < min[0] ? values[i] : min[0];                                                          \
            max[0] = values[i] > max[0] ? values[i] : max[0];                                                          \
            nan[0] |= values[i] != values[i];                                                                          \
        }                                                                                                              \
        for (int k = 1; k < LANES; k++) {                                                                              \
            min[0] = min[k] < min[0] ? min[k] : min[0];                                                                \
            max[0] = max[k] > max[0] ? max[k] : max[0];                                                                \
            nan[0] |= nan[k];                                                                                          \
        }                                                                                                              \
        *ret_min = (double)min[0];                                                                                     \
        *ret_max = (double)max[0];                                                                                     \
        *ret_nan = nan[0] != 0;                                                                                        \
    }

REALS(float, float32)
REALS(double, float64)
#undef REALS
#undef LANES

static void
zone_of_reals(const granary_column *column, struct gr_directory_column *entry)
{
    double min = INFINITY;
    double max = -INFINITY;
    bool nan = false;

    if (column->validity == NULL && column->dtype == GRANARY_FLOAT32) {
        reals_of_float32(column->values, column->rows, &min, &max, &nan);
    } else if (column->validity == NULL) {
        reals_of_float64(column->values, column->rows, &min, &max, &nan);
    }
    for (int64_t i = 0; column->validity != NULL && i < column->rows; i++) {
        double value;

        if (gr_is_null(column, i)) {
            continue;
        }
        value = column->dtype == GRANARY_FLOAT32 ? (double)((const float *)column->values)[i]
                                                 : ((const double *)column->values)[i];
        nan = nan || isnan(value);
        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    if (nan) {
        entry->flags |= GR_DIRECTORY_NAN;
    }
    if (min <= max) { /* there was a number */
        entry->min.real = min;
        entry->max.real = max;
        entry->flags |= GR_DIRECTORY_ZONE;
    }
}

/* Decimals nearly always fit into 64 bits: of those, all of which are there. false: one does not. */
static bool
range_of_words(const gr_int128 *values, int64_t rows, int64_t *ret_min, int64_t *ret_max)
{
    int64_t min = INT64_MAX;
    int64_t max = INT64_MIN;
    uint64_t beyond = 0;

    for (int64_t i = 0; i < rows; i++) {
        int64_t low = (int64_t)(uint64_t)values[i];
        int64_t high = (int64_t)(values[i] >> 64);

        beyond |= (uint64_t)(high ^ low >> 63);
        min = low < min ? low : min;
        max = low > max ? low : max;
    }
    *ret_min = min;
    *ret_max = max;
    return beyond == 0;
}

/* Zeros when none is there. */
static void
range_of_decimals(const granary_column *column, gr_int128 *ret_min, gr_int128 *ret_max)
{
    const gr_int128 *values = column->values;
    gr_int128 min = 0;
    gr_int128 max = 0;
    bool any = false;

    for (int64_t i = 0; i < column->rows; i++) {
        if (!gr_is_null(column, i)) {
            min = !any || values[i] < min ? values[i] : min;
            max = !any || values[i] > max ? values[i] : max;
            any = true;
        }
    }
    *ret_min = min;
    *ret_max = max;
}

/* Bounds rounded outwards: doubles do not hold all decimals. */
static void
zone_of_decimals(const granary_column *column, struct gr_directory_column *entry)
{
    int64_t narrow_min;
    int64_t narrow_max;
    gr_int128 min;
    gr_int128 max;

    if (column->validity == NULL && column->rows > 0 &&
        range_of_words(column->values, column->rows, &narrow_min, &narrow_max)) {
        min = narrow_min;
        max = narrow_max;
    } else {
        range_of_decimals(column, &min, &max);
    }
    entry->min.real = (double)min - fabs((double)min) * DBL_EPSILON;
    entry->max.real = (double)max + fabs((double)max) * DBL_EPSILON;
    entry->flags |= GR_DIRECTORY_ZONE;
}

/* The first 8 bytes as a number that compares as they do. room: bytes that can be read from there. */
static inline uint64_t
head_of_text(const char *text, int64_t length, int64_t room)
{
    uint64_t head = 0;

    if (room < (int64_t)sizeof head) {
        if (length > 0) {
            memcpy(&head, text, (size_t)length);
        }
        return __builtin_bswap64(head);
    }
    memcpy(&head, text, sizeof head);
    head = __builtin_bswap64(head);
    return length >= (int64_t)sizeof head ? head : length <= 0 ? 0 : head & (UINT64_MAX << (64 - 8 * length));
}

struct text_range {
    uint64_t min;
    uint64_t max;
};

/* Rows from the first one on, as long as 8 bytes can be read of each, without a branch. Lengths come in no order, and
 * to guess them wrong takes longer than all the rest. All of them count. Returns the first row that was not looked
 * at.
 */
static int64_t
range_of_heads(const granary_column *column, int64_t end, struct text_range *range)
{
    /* Of the first 0, 1, ... 8 bytes. */
    static const uint64_t masks[] = {0,
                                     UINT64_MAX << 56,
                                     UINT64_MAX << 48,
                                     UINT64_MAX << 40,
                                     UINT64_MAX << 32,
                                     UINT64_MAX << 24,
                                     UINT64_MAX << 16,
                                     UINT64_MAX << 8,
                                     UINT64_MAX};
    const int32_t *offsets = column->offsets;
    const char *text = column->values;
    struct text_range all = *range;
    int64_t i = 0;

    for (; i < column->rows && end - offsets[i] >= (int64_t)sizeof(uint64_t); i++) {
        uint32_t length = (uint32_t)offsets[i + 1] - (uint32_t)offsets[i];
        uint64_t head;

        memcpy(&head, text + offsets[i], sizeof head);
        head = __builtin_bswap64(head) & masks[length < sizeof head ? length : sizeof head];
        all.min = head < all.min ? head : all.min;
        all.max = head > all.max ? head : all.max;
    }
    *range = all;
    return i;
}

/* Of a plain column; used: a byte a row, 0: it does not count; NULL: nulls do not. */
static struct text_range
range_of_text(const granary_column *column, const uint8_t *used)
{
    struct text_range range = {UINT64_MAX, 0};
    const int32_t *offsets = column->offsets;
    int64_t end = column->rows > 0 ? offsets[column->rows] : 0;
    int64_t from = used == NULL && column->validity == NULL ? range_of_heads(column, end, &range) : 0;

    for (int64_t i = from; i < column->rows; i++) {
        uint64_t head;

        if (used != NULL ? used[i] == 0 : gr_is_null(column, i)) {
            continue;
        }
        head = head_of_text((const char *)column->values + offsets[i], offsets[i + 1] - offsets[i], end - offsets[i]);
        range.min = head < range.min ? head : range.min;
        range.max = head > range.max ? head : range.max;
    }
    return range;
}

/* Of a dictionary's entries, those that are used. */
static struct text_range
range_of_encoded(const granary_column *column)
{
    const granary_column *entries = column->dictionary;
    const int32_t *codes = column->values;
    uint8_t *used = calloc((size_t)entries->rows + 1, 1);
    struct text_range range;

    for (int64_t i = 0; used != NULL && i < column->rows; i++) {
        used[codes[i]] = (uint8_t)(used[codes[i]] | !gr_is_null(column, i));
    }
    range = range_of_text(entries, used); /* without memory: of all, which is a bound, too */
    free(used);
    return range;
}

static void
zone_of_text(const granary_column *column, struct gr_directory_column *entry)
{
    struct text_range range = column->dictionary != NULL ? range_of_encoded(column) : range_of_text(column, NULL);
    uint64_t min = __builtin_bswap64(range.min);
    uint64_t max = __builtin_bswap64(range.max);

    memcpy(entry->min.text, &min, sizeof min);
    memcpy(entry->max.text, &max, sizeof max);
    entry->flags |= GR_DIRECTORY_ZONE;
}

void
zone_of_column(const granary_column *column, struct gr_directory_column *entry)
{
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_STRING:
    case GRANARY_BINARY:
        /* Entries that no row has make it wider than it need be, at most. */
        zone_of_text(column->dictionary != NULL && column->dictionary->rows <= column->rows ? column->dictionary
                                                                                            : column,
                     entry);
        return;
    case GRANARY_FLOAT64:
    case GRANARY_FLOAT32:
        zone_of_reals(column, entry);
        return;
    case GRANARY_DECIMAL:
        zone_of_decimals(column, entry);
        return;
    default:
        zone_of_integers(column, entry);
        return;
    }
}

/* ---- run by run ---- */

bool
zone_adds(const granary_column *column)
{
    if (column->validity != NULL || column->dictionary != NULL) {
        return false;
    }
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_NULLTYPE:
    case GRANARY_BOOL:
    case GRANARY_DECIMAL:
    case GRANARY_LIST:
    case GRANARY_UINT64: /* one value may forbid it */
        return false;
    default:
        return true;
    }
}

void
zone_add(const granary_column *rows, struct gr_directory_column *entry)
{
    struct gr_directory_column more = {0};
    bool any = (entry->flags & GR_DIRECTORY_ZONE) != 0;

    zone_of_column(rows, &more);
    entry->flags |= more.flags;
    if ((more.flags & GR_DIRECTORY_ZONE) == 0) {
        return;
    }
    switch (gr_dtype_kind(rows->dtype)) {
    case GRANARY_STRING:
    case GRANARY_BINARY:
        entry->min = !any || memcmp(more.min.text, entry->min.text, sizeof more.min.text) < 0 ? more.min : entry->min;
        entry->max = !any || memcmp(more.max.text, entry->max.text, sizeof more.max.text) > 0 ? more.max : entry->max;
        break;
    case GRANARY_FLOAT64:
    case GRANARY_FLOAT32:
        entry->min = !any || more.min.real < entry->min.real ? more.min : entry->min;
        entry->max = !any || more.max.real > entry->max.real ? more.max : entry->max;
        break;
    default:
        entry->min = !any || more.min.integer < entry->min.integer ? more.min : entry->min;
        entry->max = !any || more.max.integer > entry->max.integer ? more.max : entry->max;
        break;
    }
}

/* ---- distinct values ---- */

enum { SAMPLE = 2048, SLOTS = 8192 };

/* A value as a number: equal ones are equal, different ones most likely not. */
static uint64_t
value_hash(const granary_column *column, int64_t row)
{
    size_t size = gr_value_size(column);
    uint64_t words[2] = {0, 0};
    uint64_t hash = 0;

    if (column->dtype == GRANARY_BOOL) {
        words[0] = gr_bit(column->values, row);
    } else if (gr_dtype_is_text(column->dtype)) {
        size_t length;
        const char *text = gr_text_at(column, row, &length);

        hash = length;
        for (size_t i = 0; i < length; i += sizeof words[0]) {
            size_t rest = length - i;

            words[0] = 0;
            memcpy(words, text + i, rest < sizeof words[0] ? rest : sizeof words[0]);
            hash = (hash ^ words[0]) * UINT64_C(0x9e3779b97f4a7c15);
            hash ^= hash >> 32;
        }
        words[0] = 0;
    } else {
        memcpy(words, (const char *)column->values + (size_t)row * size, size);
    }
    hash ^= words[0] ^ words[1] * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 32) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 32) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 29;
}

/*
 * Duj1 (Haas, Naughton, Seshadri, Stokes 1995: "Sampling-based estimation of the number of distinct values of an
 * attribute"). A sample has n rows out of N. d of its values are different, and f occur once: d / (1 - (1 - n / N) *
 * f / n).
 */
static int64_t
estimate(int64_t rows, int64_t sample, int64_t distinct, int64_t once)
{
    double share = 1.0 - (1.0 - (double)sample / (double)rows) * (double)once / (double)sample;
    double all = (double)distinct / share;

    return all > (double)rows ? rows : (int64_t)all;
}

static bool
zone_counts(const granary_column *column, const struct gr_directory_column *entry)
{
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_STRING:
    case GRANARY_BINARY:
    case GRANARY_FLOAT64:
    case GRANARY_FLOAT32:
    case GRANARY_DECIMAL:
        return false;
    default:
        return (entry->flags & GR_DIRECTORY_ZONE) != 0;
    }
}

int64_t
distinct_of_column(const granary_column *column, const struct gr_directory_column *entry)
{
    int64_t there = column->rows - entry->null_count;
    uint64_t slots[SLOTS]; /* a hash that is not 0; its lowest bit: seen again */
    uint64_t mask = SLOTS - 1;
    int64_t step = column->rows / SAMPLE + 1;
    int64_t sample = 0;
    int64_t runs = 0; /* values that are not those of the row before */
    int64_t distinct = 0;
    int64_t once = 0;

    if (there == 0 || column->dtype == GRANARY_NULLTYPE || gr_dtype_is_list(column->dtype)) {
        return 0;
    }
    if (column->dictionary != NULL) {
        return column->dictionary->rows;
    }
    while (mask > 16 && mask / 4 > (uint64_t)column->rows) {
        mask /= 2;
    }
    memset(slots, 0, (mask + 1) * sizeof slots[0]);
    for (int64_t i = 0; i < column->rows; i += step) {
        uint64_t hash;
        size_t slot;

        if (gr_is_null(column, i)) {
            continue;
        }
        hash = value_hash(column, i);
        slot = hash >> 3 & mask;
        runs += step > 1 && (i == 0 || gr_is_null(column, i - 1) || value_hash(column, i - 1) != hash);
        hash = (hash | 2) & ~UINT64_C(1);
        while (slots[slot] != 0 && (slots[slot] & ~UINT64_C(1)) != hash) {
            slot = (slot + 1) & mask;
        }
        sample++;
        distinct += slots[slot] == 0;
        once += slots[slot] == 0 ? 1 : slots[slot] == hash ? -1 : 0;
        slots[slot] = slots[slot] == 0 ? hash : hash | 1;
    }
    if (sample == 0) {
        return 0;
    }
    distinct = estimate(there, sample, distinct, once);
    /* Equal values that lie together are more than once in a sample of single rows only if there are many of them. */
    if (step > 1 && runs < sample && distinct > (int64_t)((double)there * (double)runs / (double)sample)) {
        distinct = (int64_t)((double)there * (double)runs / (double)sample) + 1;
    }
    if (zone_counts(column, entry) &&
        (uint64_t)entry->max.integer - (uint64_t)entry->min.integer < (uint64_t)distinct) {
        distinct = entry->max.integer - entry->min.integer + 1;
    }
    return distinct;
}
