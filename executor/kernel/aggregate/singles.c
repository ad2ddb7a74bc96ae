/* Values of rows that groups keep as they are: the least, the first, the n best, all of them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/aggregate/adders.h"

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
            const char *best = gr_texts_at(&adder->values.texts, (uint32_t)*at - 1, &size);
            bool less = text_less(text, best, size);

            wins = measure == GROUP_LEAST ? less : !less;
        }
        if (wins) {
            uint32_t code;
            granary_err err = gr_texts_add(&adder->values.texts, text.bytes, text.size, &code);

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
            map->low[i] = singles_ordered(map->low[i]);
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
        gr_int128 value;
        gr_int128 best;
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

/* What the y of an ARG is compared by; of a text its number. */
static granary_err
by_bits(struct adder *adder, const struct rows_vector *y, int64_t i, gr_int128 *ret_bits)
{
    granary_err err = values_bits(&adder->by, y, i, ret_bits);

    if (err == GRANARY_OK && group_is_real(adder->by.dtype)) {
        *ret_bits = singles_ordered((int64_t)*ret_bits);
    }
    return err;
}

/* Whether row i's y is better than the best so far. */
static granary_err
arg_wins(struct adder *adder, const struct rows_vector *y, int64_t i, const int64_t *at, bool *ret_wins)
{
    bool least = adder->spec->measure == GROUP_ARG_LEAST;
    gr_int128 best;
    gr_int128 own;
    granary_err err;

    memcpy(&best, at + 3, sizeof best);
    if (gr_dtype_is_text(adder->by.dtype)) { /* not kept before it wins */
        struct rows_text text = rows_text_at(y, i);
        size_t size;
        const char *bytes = gr_texts_at(&adder->by.texts, (uint32_t)best, &size);
        bool less = text_less(text, bytes, size);
        bool equal = text.size == size && (size == 0 || memcmp(text.bytes, bytes, size) == 0);

        *ret_wins = least ? less : !less && !equal;
        return GRANARY_OK;
    }
    err = by_bits(adder, y, i, &own);
    *ret_wins = least ? own < best : own > best;
    return err;
}

/* Words: 0 without a row, 1 where x is null, 2 where it is there; x; y. Of equal ones the first row stays. */
static granary_err
add_args(struct map *map, struct adder *adder, int64_t n)
{
    const struct rows_vector *x = map->arguments[adder->spec->x].vector;
    struct argument_block *by = &map->arguments[adder->spec->y];
    const uint8_t *there = argument_there(by, n);
    granary_err err = GRANARY_OK;

    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        int64_t *at = map->words + map->offsets[i] + adder->at;
        bool wins = at[0] == 0;
        gr_int128 bits = 0;

        if (there != NULL && !there[i]) {
            continue;
        }
        err = wins ? GRANARY_OK : arg_wins(adder, by->vector, i, at, &wins);
        if (err != GRANARY_OK || !wins) {
            continue;
        }
        at[0] = x->class != ROWS_NULL && (x->valid == NULL || x->valid[i]) ? 2 : 1;
        err = at[0] == 2 ? values_bits(&adder->values, x, i, &bits) : GRANARY_OK;
        memcpy(at + 1, &bits, sizeof bits);
        err = err == GRANARY_OK ? by_bits(adder, by->vector, i, &bits) : err;
        memcpy(at + 3, &bits, sizeof bits);
    }
    return err;
}

/* ---- lists ---- */

/* Values in the order in which the best are the greatest integers, the least integer where one is missing. */
static void
best_numbers(struct map *map, struct adder *adder, const uint8_t *there, int64_t *numbers, int64_t n)
{
    struct argument_block *x = &map->arguments[adder->spec->x];

    if (group_is_real(adder->dtype)) {
        memcpy(numbers, x->vector->values, (size_t)n * sizeof *numbers);
        for (int64_t i = 0; i < n; i++) {
            numbers[i] = singles_ordered(numbers[i]);
        }
    } else if (adder->dtype == GRANARY_UINT64) { /* the upper half lies above, where the others wrap to below */
        for (int64_t i = 0; i < n; i++) {
            numbers[i] = (int64_t)((uint64_t)argument_wide_at(x, i) ^ (UINT64_C(1) << 63));
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            numbers[i] = (int64_t)argument_wide_at(x, i);
        }
    }
    for (int64_t i = 0; adder->spec->measure != GROUP_TOP && i < n; i++) {
        numbers[i] = ~numbers[i];
    }
    for (int64_t i = 0; there != NULL && i < n; i++) {
        numbers[i] = there[i] ? numbers[i] : INT64_MIN;
    }
}

/* A few: every value goes by all of them, without a branch that would be guessed wrongly. most: known at compile time.
 */
static inline __attribute__((always_inline)) void
add_few(struct map *map, unsigned at, const uint8_t *there, const int64_t *numbers, int64_t most, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t *best = map->words + map->offsets[i] + at;
        int64_t value = numbers[i];

        best[0] += there == NULL || there[i];
        for (int64_t k = 1; k <= most; k++) {
            int64_t better = value > best[k] ? value : best[k];

            value = value > best[k] ? best[k] : value;
            best[k] = better;
        }
    }
}

/* The first word of a list of the n best is its length, or more; then come the values, the best first. */
static void
add_best(struct map *map, struct adder *adder, int64_t n)
{
    const uint8_t *there = argument_there(&map->arguments[adder->spec->x], n);
    const int64_t *numbers = map->low;
    int64_t most = adder->spec->n;

    if (map->arguments[adder->spec->x].vector->class == ROWS_NULL) {
        return;
    }
    best_numbers(map, adder, there, map->low, n);
    switch (most) {
    case 1:
        add_few(map, adder->at, there, numbers, 1, n);
        return;
    case 2:
        add_few(map, adder->at, there, numbers, 2, n);
        return;
    case 3:
        add_few(map, adder->at, there, numbers, 3, n);
        return;
    default:
        break;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t *best = map->words + map->offsets[i] + adder->at;
        int64_t count = best[0];
        int64_t place;

        if ((there != NULL && !there[i]) || (count == most && numbers[i] <= best[most])) {
            continue;
        }
        place = count < most ? ++best[0] : most;
        while (place > 1 && best[place - 1] < numbers[i]) {
            best[place] = best[place - 1];
            place--;
        }
        best[place] = numbers[i];
    }
}

static bool
any_none(const uint32_t *ids, int64_t n)
{
    bool any = false;

    for (int64_t i = 0; i < n; i++) {
        any |= ids[i] == GROUP_NONE_ID;
    }
    return any;
}

/* Room for n more values, and their owners. */
static granary_err
list_reserve(struct adder *adder, int64_t n)
{
    struct values *values = &adder->values;
    granary_err err = values_reserve(values, (size_t)n);

    if (err == GRANARY_OK && adder->owner_room < values->room) {
        uint32_t *owners = realloc(adder->owners, values->room * sizeof *owners);

        err = owners == NULL ? gr_no_memory("groupby") : GRANARY_OK;
        adder->owners = owners != NULL ? owners : adder->owners;
        adder->owner_room = owners != NULL ? values->room : adder->owner_room;
    }
    return err;
}

/* Every row has a value, or a null. */
static granary_err
add_all(struct map *map, struct adder *adder, int64_t n)
{
    const struct rows_vector *x = map->arguments[adder->spec->x].vector;
    struct values *values = &adder->values;
    granary_err err = list_reserve(adder, n);

    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        bool there = x->class != ROWS_NULL && (x->valid == NULL || x->valid[i]);
        gr_int128 bits = 0;

        if (map->ids[i] == GROUP_NONE_ID) {
            continue;
        }
        err = there ? values_bits(values, x, i, &bits) : GRANARY_OK;
        values_put(values, values->count, bits);
        values->there[values->count] = there;
        adder->owners[values->count++] = map->ids[i];
    }
    return err;
}

static granary_err
add_list(struct map *map, struct adder *adder, int64_t n)
{
    struct argument_block *x = &map->arguments[adder->spec->x];
    const uint8_t *there = argument_there(x, n);
    struct values *values = &adder->values;
    granary_err err = list_reserve(adder, n);

    if (err == GRANARY_OK && there == NULL && values->width == 8 && map->one &&
        adder->spec->measure == GROUP_DISTINCT && x->vector->class == ROWS_INT) {
        return values_add_new(values, x->vector->values, n, adder->owners);
    }
    if (err == GRANARY_OK && there == NULL && values->width == 8 &&
        (x->vector->class == ROWS_DOUBLE || x->vector->class == ROWS_INT) && !any_none(map->ids, n)) {
        memcpy(values->bytes + values->count * values->width, x->vector->values, (size_t)n * values->width);
        memcpy(adder->owners + values->count, map->ids, (size_t)n * sizeof *map->ids);
        values->count += (size_t)n;
        return GRANARY_OK;
    }
    for (int64_t i = 0; i < n && err == GRANARY_OK && x->vector->class != ROWS_NULL; i++) {
        gr_int128 bits = 0;

        if (map->ids[i] == GROUP_NONE_ID || (there != NULL && !there[i])) {
            continue;
        }
        err = values_bits(values, x->vector, i, &bits);
        values_put(values, values->count, bits);
        adder->owners[values->count++] = map->ids[i];
    }
    return err;
}

granary_err
singles_add(struct map *map, struct adder *adder, int64_t n)
{
    if (adder->spec->kind == GROUP_LIST) {
        if (adder_is_best(adder)) {
            add_best(map, adder, n);
            return GRANARY_OK;
        }
        return adder->spec->measure == GROUP_ALL ? add_all(map, adder, n) : add_list(map, adder, n);
    }
    if (group_is_arg(adder->spec->measure)) {
        return add_args(map, adder, n);
    }
    if (gr_dtype_is_text(adder->dtype)) {
        return add_texts(map, adder, n);
    }
    if (adder_is_extreme(adder)) {
        add_extremes(map, adder, n);
        return GRANARY_OK;
    }
    return add_values(map, adder, n);
}
