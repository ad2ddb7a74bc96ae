/*
 * Rows to groups: block by block, every row is given the number of its group, and then each part adds the block's
 * values to the words of those groups. The words of a group lie together, so that one cache miss serves all parts.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/group/block.h"
#include "kernel/group/keys.h"
#include "kernel/group/lists.h"
#include "kernel/group/reals.h"
#include "kernel/group/table.h"
#include "kernel/simd/exact_sum.h"
#include "kernel/simd/products.h"

enum {
    COPIES = 4,           /* of the words when groups are few: rows in a row seldom wait for one another */
    COPIES_GROUPS = 256,  /* few */
    REALS_TOP_MOST = 800, /* 128-bit sums are far from the end of the range */
    REALS_ROWS = 1 << 21, /* added to words at most */
};

/* How a part is added up. */
struct adder {
    const struct group_part_spec *spec;
    granary_dtype dtype; /* of x; NULLTYPE without */
    unsigned at;         /* its first word */
    unsigned words;
    bool wide;            /* INT: one 128-bit number; else two words: upper and lower halves added up apart */
    struct reals reals;   /* REAL */
    struct values values; /* VALUE of strings: their texts; LIST */
    uint32_t *owners;     /* LIST */
    size_t owner_room;
};

struct map {
    struct group_plan *plan;
    struct rows **sources;
    size_t source_count;
    struct group_keys *keys; /* NULL: rows are numbered already */
    const uint32_t *numbers; /* without keys: by row, from 1 on */
    uint32_t number_room;    /* they are below */
    size_t first_argument;   /* among the vectors of a source */
    struct adder *adders;
    struct argument_block *arguments;
    unsigned stride; /* words of a group */
    int64_t *first;  /* the words of a group without rows */
    int64_t *words;  /* copies * room * stride */
    uint32_t room;
    unsigned copies;
    bool one; /* there is one group only, and no key */
    uint32_t ids[ROWS_BLOCK];
    uint32_t offsets[ROWS_BLOCK + COPIES]; /* of the groups' words */
    double products[ROWS_BLOCK];
    double rests[ROWS_BLOCK];
    double left[ROWS_BLOCK];
    double right[ROWS_BLOCK];
    int64_t high[ROWS_BLOCK];
    int64_t low[ROWS_BLOCK];
    uint8_t there[ROWS_BLOCK];
};

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "groupby: out of memory");
}

/* All numbers of groups are below. */
static uint32_t
numbers_room(const struct map *map)
{
    return map->keys != NULL ? group_keys_room(map->keys) : map->number_room;
}

/* Whether there may be numbers that no row has. */
static bool
numbers_direct(const struct map *map)
{
    return map->keys != NULL && group_keys_direct(map->keys);
}

/* ---- adding a column of integers to a word of each group ---- */

static void
add_words(struct map *map, unsigned at, const int64_t *values, int64_t n)
{
    int64_t *words = map->words + at;
    const uint32_t *offsets = map->offsets;

    if (map->one) {
        int64_t sum = 0;

        for (int64_t i = 0; i < n; i++) {
            sum += values[i];
        }
        words[map->stride] += sum; /* group 1 */
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        words[offsets[i]] += values[i];
    }
}

static void
add_ones(struct map *map, unsigned at, int64_t n)
{
    int64_t *words = map->words + at;
    const uint32_t *offsets = map->offsets;

    if (map->one) {
        words[map->stride] += n;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        words[offsets[i]]++;
    }
}

/* ---- counts ---- */

/* Where x and the mask are there; NULL: everywhere. */
static const uint8_t *
both_there(struct map *map, const struct group_part_spec *spec, int64_t n)
{
    const uint8_t *there = argument_there(&map->arguments[spec->x], n);
    const uint8_t *other = NULL;
    int mask = spec->mask >= 0 ? spec->mask : spec->y;

    if (mask >= 0 && mask != spec->x) {
        other = argument_there(&map->arguments[mask], n);
    }
    if (there == NULL || other == NULL) {
        return there == NULL ? other : there;
    }
    for (int64_t i = 0; i < n; i++) {
        map->there[i] = there[i] & other[i];
    }
    return map->there;
}

static void
add_missing(struct map *map, const struct adder *adder, int64_t n)
{
    const uint8_t *there = both_there(map, adder->spec, n);

    if (there == NULL) {
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        map->low[i] = !there[i];
    }
    add_words(map, adder->at, map->low, n);
}

static void
add_true(struct map *map, const struct adder *adder, int64_t n)
{
    struct argument_block *x = &map->arguments[adder->spec->x];

    if (group_is_real(adder->dtype)) {
        const double *values = argument_reals(x, n);

        for (int64_t i = 0; i < n; i++) {
            map->low[i] = values[i] != 0.0;
        }
    } else {
        const uint8_t *there = argument_there(x, n);

        for (int64_t i = 0; i < n; i++) {
            map->low[i] = x->vector->class == ROWS_BOOL   ? ((const uint8_t *)x->vector->values)[i] != 0
                          : x->vector->class == ROWS_NULL ? 0
                                                          : argument_wide_at(x, i) != 0;
            map->low[i] &= there == NULL || there[i];
        }
    }
    add_words(map, adder->at, map->low, n);
}

/* ---- integers ---- */

/* 0 where something is missing. */
static const int64_t *
masked_ints(struct map *map, const struct group_part_spec *spec, int argument, int64_t *room, int64_t n)
{
    const int64_t *values = argument_ints(&map->arguments[argument], n);
    const uint8_t *there = spec->mask >= 0 || spec->y >= 0 ? both_there(map, spec, n) : NULL;

    if (there == NULL) {
        return values;
    }
    for (int64_t i = 0; i < n; i++) {
        room[i] = there[i] ? values[i] : 0;
    }
    return room;
}

static granary_err
add_wide(struct map *map, const struct adder *adder, uint32_t offset, __int128 value)
{
    int64_t *at = map->words + offset + adder->at;
    __int128 sum;

    memcpy(&sum, at, sizeof sum);
    if (__builtin_add_overflow(sum, value, &sum)) {
        return gr_fail(GRANARY_EFAILED, "groupby: a sum exceeds 128 bits; convert the values, as in x * 1.0");
    }
    memcpy(at, &sum, sizeof sum);
    return GRANARY_OK;
}

static granary_err
add_ints(struct map *map, const struct adder *adder, int64_t n)
{
    const struct group_part_spec *spec = adder->spec;
    struct argument_block *x = &map->arguments[spec->x];
    const int64_t *values;
    granary_err err = GRANARY_OK;

    if (adder->wide) {
        const uint8_t *there = both_there(map, spec, n);

        if (x->vector->class == ROWS_NULL) {
            return GRANARY_OK;
        }
        for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
            if (there == NULL || there[i]) {
                err = add_wide(map, adder, map->offsets[i], argument_wide_at(x, i));
            }
        }
        return err;
    }
    values = masked_ints(map, spec, spec->x, map->high, n);
    if (x->narrow) {
        add_words(map, adder->at, values, n);
        return GRANARY_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        map->low[i] = values[i] & 0xffffffff;
        map->high[i] = values[i] >> 32;
    }
    add_words(map, adder->at, map->low, n);
    add_words(map, adder->at + 1, map->high, n);
    return GRANARY_OK;
}

static granary_err
add_int_products(struct map *map, const struct adder *adder, int64_t n)
{
    const struct group_part_spec *spec = adder->spec;
    const int64_t *x = masked_ints(map, spec, spec->x, map->high, n);
    const int64_t *y = spec->y == spec->x ? x : argument_ints(&map->arguments[spec->y], n);
    bool narrow = map->arguments[spec->x].narrow && map->arguments[spec->y].narrow;
    granary_err err = GRANARY_OK;

    if (narrow && map->one) {
        int64_t low = 0;
        int64_t high = 0;

        for (int64_t i = 0; i < n; i++) {
            int64_t product = x[i] * y[i];

            low += product & 0xffffffff;
            high += product >> 32;
        }
        return add_wide(map, adder, map->stride, (__int128)high * ((__int128)1 << 32) + low);
    }
    if (narrow) { /* of 2^32 rows no overflow */
        for (int64_t i = 0; i < n; i++) {
            int64_t *at = map->words + map->offsets[i] + adder->at;
            __int128 sum;

            memcpy(&sum, at, sizeof sum);
            sum += x[i] * y[i];
            memcpy(at, &sum, sizeof sum);
        }
        return GRANARY_OK;
    }
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        err = add_wide(map, adder, map->offsets[i], (__int128)x[i] * y[i]);
    }
    return err;
}

/* ---- doubles ---- */

/* What the words hold goes to the 128-bit sums; they are empty then. */
static granary_err
reals_empty(struct map *map, struct adder *adder)
{
    granary_err err = GRANARY_OK;

    if (adder->reals.top == INT_MIN) {
        return GRANARY_OK;
    }
    err = reals_grow(&adder->reals, map->room);
    for (unsigned copy = 0; copy < map->copies; copy++) {
        for (uint32_t group = 1; group < map->room && err == GRANARY_OK; group++) {
            int64_t *at = map->words + ((size_t)copy * map->room + group) * map->stride + adder->at;
            __int128 value = (__int128)at[0] * ((__int128)1 << EXACT_LEVEL_BITS) + at[1];

            if (value != 0) {
                err = reals_add_whole(&adder->reals, group, value, adder->reals.top - EXACT_TOP_BITS);
            }
            at[0] = 0;
            at[1] = 0;
        }
    }
    adder->reals.rows = 0;
    return err;
}

/* Numbers that are too large, or not finite, are added one by one, and 0 stands for them in room. */
static granary_err
take_large(struct map *map, struct adder *adder, const double *values, double *room, int64_t n)
{
    double limit = ldexp(1.0, REALS_TOP_MOST);
    granary_err err = reals_grow(&adder->reals, map->room);

    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        room[i] = values[i];
        if (!(fabs(values[i]) < limit)) {
            room[i] = 0.0;
            if (map->ids[i] != GROUP_NONE_ID) {
                err = reals_add_other(&adder->reals, map->ids[i], values[i]);
            }
        }
    }
    return err;
}

/* What lies below the lower integer of numbers that were split. */
static granary_err
take_small(struct map *map, struct adder *adder, const double *values, int64_t n)
{
    double unit = ldexp(1.0, adder->reals.top - EXACT_TOP_BITS);
    double upper_unit = ldexp(unit, EXACT_LEVEL_BITS);
    granary_err err = reals_grow(&adder->reals, map->room);

    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        double rest = (values[i] - (double)map->high[i] * upper_unit) - (double)map->low[i] * unit; /* exact */

        if (rest != 0.0 && map->ids[i] != GROUP_NONE_ID) {
            err = reals_add_other(&adder->reals, map->ids[i], rest);
        }
    }
    return err;
}

static granary_err
add_reals(struct map *map, struct adder *adder, const double *values, double *room, int64_t n)
{
    granary_err err = map->one ? reals_grow(&adder->reals, map->room) : GRANARY_OK;
    int top;

    if (map->one) {
        return err == GRANARY_OK ? reals_add_many(&adder->reals, 1, values, (size_t)n) : err;
    }
    top = SIMD_CALL(exact_sum_top)(values, (size_t)n);
    if (top > REALS_TOP_MOST) {
        err = take_large(map, adder, values, room, n);
        values = room;
        top = SIMD_CALL(exact_sum_top)(values, (size_t)n);
    }
    top = top < EXACT_TOP_LEAST ? EXACT_TOP_LEAST : top;
    if (err == GRANARY_OK && (top > adder->reals.top || adder->reals.rows + n > REALS_ROWS)) {
        err = reals_empty(map, adder);
        adder->reals.top = top > adder->reals.top ? top : adder->reals.top;
    }
    if (err != GRANARY_OK) {
        return err;
    }
    adder->reals.rows += n;
    if (!SIMD_CALL(exact_sum_split)(values, (size_t)n, adder->reals.top, map->high, map->low)) {
        err = take_small(map, adder, values, n);
    }
    add_words(map, adder->at, map->high, n);
    add_words(map, adder->at + 1, map->low, n);
    return err;
}

/* 0.0 where something is missing. */
static const double *
masked_reals(struct map *map, const struct group_part_spec *spec, int argument, double *room, int64_t n)
{
    const double *values = argument_reals(&map->arguments[argument], n);
    const uint8_t *there = spec->mask >= 0 || spec->y >= 0 ? both_there(map, spec, n) : NULL;

    if (there == NULL) {
        return values;
    }
    for (int64_t i = 0; i < n; i++) {
        room[i] = there[i] ? values[i] : 0.0;
    }
    return room;
}

static granary_err
add_real_products(struct map *map, struct adder *adder, int64_t n)
{
    const struct group_part_spec *spec = adder->spec;
    const double *x = masked_reals(map, spec, spec->x, map->left, n);
    const double *y = spec->y == spec->x ? x : masked_reals(map, spec, spec->y, map->right, n);

    SIMD_CALL(exact_products)(x, y, (size_t)n, map->products, map->rests);
    return spec->measure == GROUP_PRODUCT ? add_reals(map, adder, map->products, map->left, n)
                                          : add_reals(map, adder, map->rests, map->left, n);
}

/* ---- single values ---- */

/* Doubles in an order in which integers compare as they do. */
static inline int64_t
ordered(int64_t bits)
{
    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}

static bool
text_less(struct rows_text a, const char *b, size_t b_size)
{
    size_t size = a.size < b_size ? a.size : b_size;
    int order = size > 0 ? memcmp(a.bytes, b, size) : 0;

    return order != 0 ? order < 0 : a.size < b_size;
}

/* Words of a VALUE: 1 + the number of a text, 0: none. */
static granary_err
add_texts(struct map *map, struct adder *adder, int64_t n)
{
    const struct rows_vector *vector = map->arguments[adder->spec->x].vector;
    enum group_measure measure = adder->spec->measure;

    for (int64_t i = 0; i < n; i++) {
        int64_t *at = map->words + map->offsets[i] + adder->at;
        struct rows_text text;
        bool wins = *at == 0 || measure == GROUP_LAST;

        if (vector->class == ROWS_NULL || (vector->valid != NULL && !vector->valid[i])) {
            continue;
        }
        if (measure == GROUP_FIRST && !wins) {
            continue;
        }
        text = rows_text_at(vector, i);
        if (!wins) {
            size_t size;
            const char *best = texts_at(&adder->values.texts, (uint32_t)*at - 1, &size);
            bool less = text_less(text, best, size);

            wins = measure == GROUP_LEAST ? less : !less;
        }
        if (wins) {
            uint32_t code;
            granary_err err = texts_code(&adder->values.texts, text.bytes, text.size, &code);

            if (err != GRANARY_OK) {
                return err;
            }
            *at = (int64_t)code + 1;
        }
    }
    return GRANARY_OK;
}

/* Values of one word, in order: the first word's value stands for none. */
static const int64_t *
ordered_words(struct map *map, struct adder *adder, int64_t none, int64_t n)
{
    struct argument_block *x = &map->arguments[adder->spec->x];
    const uint8_t *there = argument_there(x, n);

    if (group_is_real(adder->dtype)) {
        if (x->vector->class == ROWS_NULL) {
            memset(map->low, 0, sizeof map->low);
        } else {
            memcpy(map->low, x->vector->values, (size_t)n * sizeof *map->low);
        }
        for (int64_t i = 0; i < n; i++) {
            map->low[i] = ordered(map->low[i]);
        }
    } else if (there == NULL) {
        return argument_ints(x, n);
    } else {
        memcpy(map->low, argument_ints(x, n), (size_t)n * sizeof *map->low);
    }
    for (int64_t i = 0; there != NULL && i < n; i++) {
        map->low[i] = there[i] ? map->low[i] : none;
    }
    return map->low;
}

static void
add_extremes(struct map *map, struct adder *adder, int64_t n)
{
    bool least = adder->spec->measure == GROUP_LEAST;
    const int64_t *values = ordered_words(map, adder, least ? INT64_MAX : INT64_MIN, n);
    int64_t *words = map->words + adder->at;
    const uint32_t *offsets = map->offsets;

    if (map->one) {
        int64_t best = words[map->stride];

        for (int64_t i = 0; i < n; i++) {
            best = least ? (values[i] < best ? values[i] : best) : (values[i] > best ? values[i] : best);
        }
        words[map->stride] = best;
    } else if (least) {
        for (int64_t i = 0; i < n; i++) {
            words[offsets[i]] = values[i] < words[offsets[i]] ? values[i] : words[offsets[i]];
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            words[offsets[i]] = values[i] > words[offsets[i]] ? values[i] : words[offsets[i]];
        }
    }
}

/* Any measure of wide values, and the first and last of the others: a word that is 1 where there is one, then the
 * value. */
static granary_err
add_values(struct map *map, struct adder *adder, int64_t n)
{
    struct argument_block *x = &map->arguments[adder->spec->x];
    const uint8_t *there = argument_there(x, n);
    enum group_measure measure = adder->spec->measure;

    for (int64_t i = 0; i < n; i++) {
        int64_t *at = map->words + map->offsets[i] + adder->at;
        __int128 value;
        __int128 best;
        bool wins = at[0] == 0 || measure == GROUP_LAST;
        granary_err err;

        if ((there != NULL && !there[i]) || (measure == GROUP_FIRST && !wins)) {
            continue;
        }
        err = values_bits(&adder->values, x->vector, i, &value);
        if (err != GRANARY_OK) {
            return err;
        }
        if (!wins) {
            memcpy(&best, at + 1, sizeof best);
            wins = measure == GROUP_LEAST ? value < best : value > best;
        }
        if (wins) {
            at[0] = 1;
            memcpy(at + 1, &value, sizeof value);
        }
    }
    return GRANARY_OK;
}

/* ---- lists ---- */

/* The first word of a list of the n best is its length; then come the values, the best first. */
static void
add_best(struct map *map, struct adder *adder, int64_t n)
{
    struct argument_block *x = &map->arguments[adder->spec->x];
    const uint8_t *there = argument_there(x, n);
    int64_t most = adder->spec->n;
    bool top = adder->spec->measure == GROUP_TOP;
    bool real = group_is_real(adder->dtype);

    if (x->vector->class == ROWS_NULL) {
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t *best = map->words + map->offsets[i] + adder->at;
        int64_t count = best[0];
        int64_t value;
        int64_t place;

        if (there != NULL && !there[i]) {
            continue;
        }
        if (real) {
            memcpy(&value, (const double *)x->vector->values + i, sizeof value);
            value = ordered(value);
        } else { /* uint64: the upper half lies above, where the others wrap to below */
            value = (int64_t)argument_wide_at(x, i);
            value = adder->dtype == GRANARY_UINT64 ? (int64_t)((uint64_t)value ^ (UINT64_C(1) << 63)) : value;
        }
        value = top ? value : ~value; /* then more is better */
        if (count == most && value <= best[most]) {
            continue;
        }
        place = count < most ? ++best[0] : most;
        while (place > 1 && best[place - 1] < value) {
            best[place] = best[place - 1];
            place--;
        }
        best[place] = value;
    }
}

static granary_err
add_list(struct map *map, struct adder *adder, int64_t n)
{
    struct argument_block *x = &map->arguments[adder->spec->x];
    const uint8_t *there = argument_there(x, n);
    struct values *values = &adder->values;
    granary_err err = values_reserve(values, (size_t)n);

    if (err == GRANARY_OK && adder->owner_room < values->room) {
        uint32_t *owners = realloc(adder->owners, values->room * sizeof *owners);

        err = owners == NULL ? out_of_memory() : GRANARY_OK;
        adder->owners = owners != NULL ? owners : adder->owners;
        adder->owner_room = owners != NULL ? values->room : adder->owner_room;
    }
    for (int64_t i = 0; i < n && err == GRANARY_OK && x->vector->class != ROWS_NULL; i++) {
        __int128 bits = 0;

        if (map->ids[i] == GROUP_NONE_ID || (there != NULL && !there[i])) {
            continue;
        }
        err = values_bits(values, x->vector, i, &bits);
        values_put(values, values->count, bits);
        adder->owners[values->count++] = map->ids[i];
    }
    return err;
}

/* ---- adders ---- */

/* Strings have a word. */
static bool
is_extreme(const struct adder *adder)
{
    return adder->spec->kind == GROUP_VALUE && !group_is_wide(adder->dtype) && adder->dtype != GRANARY_STRING &&
           (adder->spec->measure == GROUP_LEAST || adder->spec->measure == GROUP_MOST);
}

static bool
is_best(const struct adder *adder)
{
    return adder->spec->measure == GROUP_TOP || adder->spec->measure == GROUP_BOTTOM;
}

static granary_err
adder_add(struct map *map, struct adder *adder, int64_t n)
{
    switch (adder->spec->kind) {
    case GROUP_COUNT:
        if (adder->spec->measure == GROUP_ROWS) {
            add_ones(map, adder->at, n);
        } else if (adder->spec->measure == GROUP_MISSING) {
            add_missing(map, adder, n);
        } else {
            add_true(map, adder, n);
        }
        return GRANARY_OK;
    case GROUP_INT:
        return adder->spec->measure == GROUP_SUM ? add_ints(map, adder, n) : add_int_products(map, adder, n);
    case GROUP_REAL:
        return adder->spec->measure == GROUP_SUM
                   ? add_reals(map, adder, masked_reals(map, adder->spec, adder->spec->x, map->left, n), map->left, n)
                   : add_real_products(map, adder, n);
    case GROUP_VALUE:
        if (adder->dtype == GRANARY_STRING) {
            return add_texts(map, adder, n);
        }
        if (is_extreme(adder)) {
            add_extremes(map, adder, n);
            return GRANARY_OK;
        }
        return add_values(map, adder, n);
    case GROUP_LIST:
        if (is_best(adder)) {
            add_best(map, adder, n);
            return GRANARY_OK;
        }
        return add_list(map, adder, n);
    }
    return GRANARY_OK;
}

static unsigned
adder_words(const struct adder *adder)
{
    switch (adder->spec->kind) {
    case GROUP_COUNT:
        return 1;
    case GROUP_INT:
    case GROUP_REAL:
        return 2;
    case GROUP_VALUE:
        return adder->dtype == GRANARY_STRING || is_extreme(adder) ? 1 : 3;
    case GROUP_LIST:
        return is_best(adder) ? 1 + (unsigned)adder->spec->n : 0;
    }
    return 0;
}

/* Sums, counts, extremes: several copies of the words become one. */
static bool
adder_folds(const struct adder *adder)
{
    return adder->spec->kind <= GROUP_REAL || is_extreme(adder);
}

static granary_err
adders_init(struct map *map)
{
    const struct group_plan *plan = map->plan;
    bool folds = true;

    map->adders = calloc(plan->part_count + 1, sizeof *map->adders);
    if (map->adders == NULL) {
        return out_of_memory();
    }
    for (size_t p = 0; p < plan->part_count; p++) {
        struct adder *adder = &map->adders[p];

        adder->spec = &plan->parts[p];
        adder->dtype = adder->spec->x >= 0 ? plan->dtypes[adder->spec->x] : GRANARY_NULLTYPE;
        adder->wide =
            adder->spec->kind == GROUP_INT && (adder->spec->measure == GROUP_PRODUCT || group_is_wide(adder->dtype));
        adder->reals.top = INT_MIN;
        values_init(&adder->values, adder->dtype);
        adder->at = map->stride;
        adder->words = adder_words(adder);
        map->stride += adder->words;
        folds = folds && adder_folds(adder);
    }
    map->first = calloc(map->stride + 1, sizeof *map->first);
    if (map->first == NULL) {
        return out_of_memory();
    }
    for (size_t p = 0; p < plan->part_count; p++) {
        if (is_extreme(&map->adders[p])) {
            map->first[map->adders[p].at] = map->adders[p].spec->measure == GROUP_LEAST ? INT64_MAX : INT64_MIN;
        }
    }
    map->one = plan->keys->n_strings == 0;
    map->copies = folds && !map->one && numbers_direct(map) && numbers_room(map) <= COPIES_GROUPS ? COPIES : 1;
    return GRANARY_OK;
}

/* Words for all groups there are now. Growing is for one copy. */
static granary_err
words_grow(struct map *map)
{
    uint32_t need = numbers_room(map);
    uint64_t room = map->room == 0 ? need : (uint64_t)map->room * 2;
    int64_t *words;

    if (need <= map->room) {
        return GRANARY_OK;
    }
    room = room < need ? need : room;
    if (room * map->copies * map->stride > UINT32_MAX) {
        return gr_fail(GRANARY_EFULL,
                       "groupby: %u groups of %u words are more than one chunk can hold: use smaller "
                       "chunks",
                       need, map->stride);
    }
    words = realloc(map->words, (size_t)room * map->copies * map->stride * sizeof *words + 1);
    if (words == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %u groups", need);
    }
    map->words = words;
    for (size_t g = map->room; g < room * map->copies; g++) {
        memcpy(words + g * map->stride, map->first, map->stride * sizeof *words);
    }
    map->room = (uint32_t)room;
    return GRANARY_OK;
}

static granary_err
block_add(struct map *map, size_t source, int64_t from, int64_t n)
{
    granary_err err = GRANARY_OK;

    if (map->one) {
        for (int64_t i = 0; i < n; i++) {
            map->ids[i] = 1;
        }
    } else if (map->keys == NULL) {
        memcpy(map->ids, map->numbers + from, (size_t)n * sizeof *map->ids);
    } else {
        err = group_keys_find(map->keys, source, n, map->ids);
    }
    if (err == GRANARY_OK) {
        err = words_grow(map);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (int64_t i = 0; i < n; i++) {
        map->offsets[i] = map->ids[i] * map->stride;
    }
    if (map->copies == COPIES) {
        uint32_t copy = map->room * map->stride;

        for (int64_t i = 0; i < n; i++) {
            map->offsets[i] += (uint32_t)(i % COPIES) * copy;
        }
    }
    for (size_t a = 0; a < map->plan->argument_count; a++) {
        argument_begin(&map->arguments[a], rows_vector(map->sources[source], map->first_argument + a));
    }
    for (size_t p = 0; p < map->plan->part_count && err == GRANARY_OK; p++) {
        err = adder_add(map, &map->adders[p], n);
    }
    return err;
}

/* ---- the table ---- */

/* All copies of the words into the first. */
static granary_err
copies_fold(struct map *map)
{
    granary_err err = GRANARY_OK;

    for (size_t p = 0; p < map->plan->part_count && err == GRANARY_OK; p++) {
        struct adder *adder = &map->adders[p];

        if (adder->spec->kind == GROUP_REAL) {
            err = reals_empty(map, adder);
            continue;
        }
        for (uint32_t g = 0; g < map->room && err == GRANARY_OK; g++) {
            int64_t *to = map->words + (size_t)g * map->stride + adder->at;

            for (unsigned copy = 1; copy < map->copies && err == GRANARY_OK; copy++) {
                const int64_t *from = to + (size_t)copy * map->room * map->stride;

                if (is_extreme(adder)) {
                    bool wins = adder->spec->measure == GROUP_LEAST ? *from < *to : *from > *to;

                    *to = wins ? *from : *to;
                } else if (adder->wide) {
                    __int128 value;

                    memcpy(&value, from, sizeof value);
                    err = add_wide(map, adder, g * map->stride, value);
                } else {
                    for (unsigned w = 0; w < adder->words; w++) {
                        to[w] += from[w];
                    }
                }
            }
        }
    }
    return err;
}

static const int64_t *
words_of(const struct map *map, const struct adder *adder, uint32_t id)
{
    return map->words + (size_t)id * map->stride + adder->at;
}

static granary_err
table_counts(const struct map *map, const struct adder *adder, const uint32_t *ids, size_t count,
             struct group_part *part)
{
    part->counts = malloc(count * sizeof *part->counts + 1);
    if (part->counts == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < count; i++) {
        part->counts[i] = *words_of(map, adder, ids[i]);
    }
    return GRANARY_OK;
}

static granary_err
table_ints(const struct map *map, const struct adder *adder, const uint32_t *ids, size_t count, struct group_part *part)
{
    part->ints = malloc(count * sizeof *part->ints + 1);
    if (part->ints == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t *words = words_of(map, adder, ids[i]);

        if (adder->wide) {
            memcpy(&part->ints[i], words, sizeof part->ints[i]);
        } else {
            part->ints[i] = (__int128)words[1] * ((__int128)1 << 32) + words[0];
        }
    }
    return GRANARY_OK;
}

/* How many values of an argument are missing in each group. */
static const struct adder *
missing_of(const struct map *map, int x)
{
    for (size_t p = 0; p < map->plan->part_count; p++) {
        const struct group_part_spec *spec = map->adders[p].spec;

        if (spec->measure == GROUP_MISSING && spec->x == x && spec->mask < 0) {
            return &map->adders[p];
        }
    }
    return NULL;
}

/* The value each group has, as a column. */
static granary_err
table_values(struct map *map, struct adder *adder, const uint32_t *ids, size_t count, struct group_part *part)
{
    const struct adder *missing = missing_of(map, adder->spec->x);
    uint8_t *there = malloc(count + 1);
    granary_err err = there == NULL ? out_of_memory() : values_reserve(&adder->values, count);

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        const int64_t *words = words_of(map, adder, ids[i]);
        __int128 bits = words[0];

        if (adder->dtype == GRANARY_STRING) {
            there[i] = words[0] != 0;
            bits = words[0] - 1;
        } else if (is_extreme(adder)) {
            there[i] = *words_of(map, missing, ids[i]) < *words_of(map, &map->adders[0], ids[i]);
            bits = group_is_real(adder->dtype) ? ordered(words[0]) : words[0];
        } else {
            there[i] = words[0] != 0;
            memcpy(&bits, words + 1, sizeof bits);
        }
        values_put(&adder->values, i, bits);
    }
    if (err == GRANARY_OK) {
        err = values_column(&adder->values, NULL, there, count, &part->values);
    }
    free(there);
    return err;
}

/* The lists of the best, from their words. */
static granary_err
table_best(struct map *map, struct adder *adder, const uint32_t *ids, size_t count, struct group_part *part)
{
    bool top = adder->spec->measure == GROUP_TOP;
    size_t total = 0;
    granary_err err;

    for (size_t i = 0; i < count; i++) {
        total += (size_t)*words_of(map, adder, ids[i]);
    }
    err = values_reserve(&adder->values, total);
    part->owners = malloc(total * sizeof *part->owners + 1);
    if (err == GRANARY_OK && part->owners == NULL) {
        err = out_of_memory();
    }
    total = 0;
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        const int64_t *words = words_of(map, adder, ids[i]);

        for (int64_t k = 1; k <= words[0]; k++) {
            int64_t value = top ? words[k] : ~words[k];
            __int128 bits = group_is_real(adder->dtype) ? ordered(value) : value;

            if (adder->dtype == GRANARY_UINT64) {
                bits = (uint64_t)value ^ (UINT64_C(1) << 63);
            }
            part->owners[total] = (uint32_t)i;
            values_put(&adder->values, total++, bits);
        }
    }
    return err == GRANARY_OK ? values_column(&adder->values, NULL, NULL, total, &part->values) : err;
}

static granary_err
table_list(struct map *map, struct adder *adder, const uint32_t *ids, size_t count, struct group_part *part)
{
    size_t total = adder->values.count;
    uint32_t *place = calloc((size_t)map->room + 1, sizeof *place);
    granary_err err = GRANARY_OK;

    part->owners = malloc(total * sizeof *part->owners + 1);
    if (part->owners == NULL || place == NULL) {
        err = out_of_memory();
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        place[ids[i]] = (uint32_t)i;
    }
    for (size_t v = 0; v < total && err == GRANARY_OK; v++) {
        part->owners[v] = place[adder->owners[v]];
    }
    free(place);
    if (err == GRANARY_OK) {
        err = values_column(&adder->values, NULL, NULL, total, &part->values);
    }
    return err == GRANARY_OK ? group_list_prune(adder->spec, adder->dtype, count, part) : err;
}

static granary_err
table_part(struct map *map, struct adder *adder, const uint32_t *ids, size_t count, struct group_part *part)
{
    granary_err err;

    switch (adder->spec->kind) {
    case GROUP_COUNT:
        return table_counts(map, adder, ids, count, part);
    case GROUP_INT:
        return table_ints(map, adder, ids, count, part);
    case GROUP_REAL:
        err = reals_empty(map, adder);
        if (err == GRANARY_OK) {
            err = reals_grow(&adder->reals, map->room);
        }
        return err == GRANARY_OK ? reals_part(&adder->reals, ids, count, part) : err;
    case GROUP_VALUE:
        return table_values(map, adder, ids, count, part);
    case GROUP_LIST:
        return is_best(adder) ? table_best(map, adder, ids, count, part) : table_list(map, adder, ids, count, part);
    }
    return GRANARY_OK;
}

/* Groups that have rows. Without keys there is one group, with or without rows. */
static granary_err
groups_list(const struct map *map, uint32_t **ret_ids, size_t *ret_count)
{
    uint32_t room = numbers_room(map);
    uint32_t *ids = malloc((size_t)room * sizeof *ids);
    bool all = map->one || !numbers_direct(map);
    size_t count = 0;

    if (ids == NULL) {
        return out_of_memory();
    }
    for (uint32_t id = 1; id < room; id++) {
        if (all || *words_of(map, &map->adders[0], id) != 0) { /* part 0 counts rows */
            ids[count++] = id;
        }
    }
    *ret_ids = ids;
    *ret_count = count;
    return GRANARY_OK;
}

/* Groups in the order of the parts they are dealt to; *ret_starts: where each part begins, and the end. */
static granary_err
groups_deal(const struct map *map, size_t parts, uint32_t *ids, size_t count, size_t **ret_starts)
{
    uint64_t *hashes = malloc((count + 1) * sizeof *hashes);
    uint32_t *dealt = malloc((count + 1) * sizeof *dealt);
    size_t *starts = calloc(parts + 2, sizeof *starts);
    granary_err err = hashes == NULL || dealt == NULL || starts == NULL
                          ? out_of_memory()
                          : group_keys_hash(map->keys, ids, (int64_t)count, hashes);

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        hashes[i] = (hashes[i] >> 32) * parts >> 32; /* from here on the part */
        starts[hashes[i] + 2]++;
    }
    for (size_t p = 0; p < parts && err == GRANARY_OK; p++) {
        starts[p + 2] += starts[p + 1];
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) { /* starts[p + 1] moves from where p begins to its end */
        dealt[starts[hashes[i] + 1]++] = ids[i];
    }
    if (err == GRANARY_OK) {
        memcpy(ids, dealt, count * sizeof *ids);
        *ret_starts = starts;
        starts = NULL;
    }
    free(starts);
    free(dealt);
    free(hashes);
    return err;
}

static granary_err
map_table(struct map *map, size_t parts, struct group_table *ret_table, size_t **ret_starts)
{
    const struct group_plan *plan = map->plan;
    struct group_table table = {0};
    uint32_t *ids = NULL;
    size_t *starts = NULL;
    granary_err err = map->copies > 1 ? copies_fold(map) : GRANARY_OK;

    if (map->copies > 1) {
        map->copies = 1;
    }
    if (err == GRANARY_OK) {
        err = groups_list(map, &ids, &table.groups);
    }
    if (err == GRANARY_OK && parts > 1) {
        err = groups_deal(map, parts, ids, table.groups, &starts);
    }
    if (err == GRANARY_OK) {
        table.keys = gr_frame_create(map->keys != NULL ? plan->keys->n_strings : 0, (int64_t)table.groups);
        table.parts = calloc(plan->part_count + 1, sizeof *table.parts);
        table.part_count = plan->part_count;
        err = table.keys == NULL || table.parts == NULL ? out_of_memory() : GRANARY_OK;
    }
    for (size_t k = 0; map->keys != NULL && k < plan->keys->n_strings && err == GRANARY_OK; k++) {
        struct gr_column column;

        err = group_keys_column(map->keys, k, ids, (int64_t)table.groups, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(table.keys, k, plan->keys->strings[k], &column);
        }
    }
    for (size_t p = 0; p < plan->part_count && err == GRANARY_OK; p++) {
        err = table_part(map, &map->adders[p], ids, table.groups, &table.parts[p]);
    }
    free(ids);
    if (err != GRANARY_OK) {
        group_table_fini(&table);
        free(starts);
        return err;
    }
    *ret_table = table;
    *ret_starts = starts;
    return GRANARY_OK;
}

/* ---- the whole ---- */

/* A column that is missing is the message, not an expression that cannot be read. */
static granary_err
sources_open(struct map *map, const granary_frame *const *frames, size_t count, const char *where,
             const Granary__Attr *columns, int64_t *ret_rows)
{
    const struct group_plan *plan = map->plan;
    size_t wanted = map->first_argument + plan->argument_count;
    const char **names = calloc(wanted + 1, sizeof *names);
    struct rows_spec spec = {.where = where, .columns = columns, .wanted = names, .wanted_count = wanted};
    granary_err err = GRANARY_OK;

    map->sources = calloc(count + 1, sizeof(struct rows *));
    if (names == NULL || map->sources == NULL) {
        free(names);
        return out_of_memory();
    }
    for (size_t i = 0; i < wanted; i++) {
        names[i] = i < map->first_argument ? plan->keys->strings[i] : plan->arguments[i - map->first_argument];
    }
    *ret_rows = 0;
    while (map->source_count < count && err == GRANARY_OK) {
        err = rows_open(frames[map->source_count], &spec, &map->sources[map->source_count]);
        if (err == GRANARY_OK) {
            *ret_rows += frames[map->source_count++]->rows;
        }
    }
    free(names);
    return err;
}

/* The same dtypes in all sources. */
static granary_err
map_types(struct map *map)
{
    struct group_plan *plan = map->plan;
    granary_dtype *dtypes = calloc(plan->argument_count + 1, sizeof *dtypes);
    granary_err err = dtypes == NULL ? out_of_memory() : GRANARY_OK;

    for (size_t s = 0; s < map->source_count && err == GRANARY_OK; s++) {
        for (size_t a = 0; a < plan->argument_count && err == GRANARY_OK; a++) {
            granary_dtype dtype = rows_vector(map->sources[s], map->first_argument + a)->dtype;

            if (s > 0 && dtype != dtypes[a]) {
                err = gr_fail(GRANARY_ETYPE, "groupby: `%s` is %s in one chunk and %s in another", plan->arguments[a],
                              granary_dtype_name(dtypes[a]), granary_dtype_name(dtype));
            }
            dtypes[a] = dtype;
        }
    }
    if (err == GRANARY_OK) {
        err = group_plan_types(plan, dtypes);
    }
    free(dtypes);
    return err;
}

static void
map_fini(struct map *map)
{
    for (size_t p = 0; map->adders != NULL && p < map->plan->part_count; p++) {
        reals_fini(&map->adders[p].reals);
        values_fini(&map->adders[p].values);
        free(map->adders[p].owners);
    }
    free(map->adders);
    free(map->first);
    free(map->words);
    free(map->arguments);
    group_keys_destroy(map->keys);
    for (size_t s = 0; s < map->source_count; s++) {
        rows_close(map->sources[s]);
    }
    free(map->sources);
    free(map);
}

/* What all rows add up to. */
static granary_err
map_run(struct map *map, size_t parts, struct group_table *ret_table, size_t **ret_starts)
{
    granary_err err;

    map->arguments = calloc(map->plan->argument_count + 1, sizeof *map->arguments);
    err = map->arguments == NULL ? out_of_memory() : adders_init(map);
    if (err == GRANARY_OK) {
        err = words_grow(map);
    }
    for (size_t s = 0; s < map->source_count && err == GRANARY_OK; s++) {
        struct rows_block block = {.count = 1};

        while (err == GRANARY_OK && (err = rows_next(map->sources[s], &block)) == GRANARY_OK && block.count > 0) {
            err = block_add(map, s, block.from, block.count);
        }
    }
    return err == GRANARY_OK ? map_table(map, parts, ret_table, ret_starts) : err;
}

granary_err
group_map(struct group_plan *plan, const granary_frame *const *frames, size_t count, const char *where,
          const Granary__Attr *columns, size_t parts, struct group_table *ret_table, size_t **ret_starts)
{
    struct map *map = calloc(1, sizeof *map);
    int64_t rows;
    granary_err err;

    if (map == NULL) {
        return out_of_memory();
    }
    map->plan = plan;
    map->first_argument = plan->keys->n_strings;
    err = sources_open(map, frames, count, where, columns, &rows);
    if (err == GRANARY_OK) {
        err = map_types(map);
    }
    if (err == GRANARY_OK) {
        err = group_keys_create(map->sources, count, plan->keys->n_strings, rows, plan->keep_nulls, &map->keys);
    }
    if (err == GRANARY_OK) {
        err = map_run(map, parts, ret_table, ret_starts);
    }
    map_fini(map);
    return err;
}

granary_err
group_map_numbered(struct group_plan *plan, const granary_frame *frame, const uint32_t *numbers, uint32_t groups,
                   struct group_table *ret_table)
{
    struct map *map = calloc(1, sizeof *map);
    size_t *starts;
    int64_t rows;
    granary_err err;

    if (map == NULL) {
        return out_of_memory();
    }
    map->plan = plan;
    map->numbers = numbers;
    map->number_room = groups + 1;
    err = sources_open(map, &frame, 1, NULL, NULL, &rows);
    if (err == GRANARY_OK) {
        err = map_types(map);
    }
    if (err == GRANARY_OK) {
        err = map_run(map, 1, ret_table, &starts);
    }
    map_fini(map);
    return err;
}
