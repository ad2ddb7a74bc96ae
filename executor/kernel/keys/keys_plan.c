/* How keys are numbered: directly, where all of them together have few values,
 * or packed into words and looked up. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/dtypes.h"
#include "kernel/keys/keys_parts.h"

enum {
    DIRECT_LEAST = 1 << 16, /* a direct numbering may always have so many numbers */
    DIRECT_MOST = 1 << 22,
    SLOTS_MIN = 1 << 10,
    GROUPS_MIN = 256,
};

/* ---- strings ---- */

/* One dictionary everywhere: its codes. Dictionaries only: the codes of all
 * their texts. Else texts as they come. */
static granary_err
plan_text(struct group_keys *keys, size_t k)
{
    struct key_part *part = &keys->parts[k];
    const granary_column *first = NULL;
    bool all_codes = true;
    bool same = true;
    granary_err err = GRANARY_OK;

    for (size_t s = 0; s < keys->source_count; s++) {
        const struct rows_vector *vector = key_vector(keys, s, k);

        if (vector->class == ROWS_NULL) {
            continue;
        }
        if (vector->class != ROWS_CODE) {
            all_codes = false;
            continue;
        }
        same = same && (first == NULL || gr_dictionary_equals(first, vector->dictionary));
        first = first == NULL ? vector->dictionary : first;
    }
    if (all_codes && same && first != NULL) {
        part->dictionary = first;
        part->size = (uint64_t)first->rows;
        return GRANARY_OK;
    }
    part->maps = calloc(keys->source_count, sizeof *part->maps);
    if (part->maps == NULL) {
        return gr_no_memory("keys");
    }
    for (size_t s = 0; s < keys->source_count && err == GRANARY_OK; s++) {
        const struct rows_vector *vector = key_vector(keys, s, k);

        if (vector->class == ROWS_CODE) {
            err = gr_texts_add_column(&part->texts, vector->dictionary, &part->maps[s]);
        }
    }
    part->size = all_codes ? part->texts.count : UINT64_C(1) << 31;
    return err;
}

/* ---- ranges ---- */

#define RANGE_OF(type)                                                                                                 \
    do {                                                                                                               \
        const type *values_ = column->values;                                                                          \
        type least_ = values_[0];                                                                                      \
        type most_ = values_[0];                                                                                       \
                                                                                                                       \
        for (int64_t i = 1; i < column->rows; i++) {                                                                   \
            least_ = values_[i] < least_ ? values_[i] : least_;                                                        \
            most_ = values_[i] > most_ ? values_[i] : most_;                                                           \
        }                                                                                                              \
        *ret_least = least_;                                                                                           \
        *ret_most = most_;                                                                                             \
    } while (0)

/* Least and greatest value of a column of integers; under nulls there are
 * zeros. False: it has none, or they cannot be told. */
static bool
column_range(const granary_column *column, const struct gr_column_stats *stats, int64_t *ret_least, int64_t *ret_most)
{
    if (column->rows == 0) {
        return false;
    }
    if (stats != NULL && stats->has_zone && gr_dtype_size(column->dtype) < 16 && column->dtype != GRANARY_UINT64) {
        *ret_least = stats->min.integer;
        *ret_most = stats->max.integer;
        return true;
    }
    switch (column->dtype) {
#define CASE(name, type, ...)                                                                                          \
    case GRANARY_##name:                                                                                               \
        RANGE_OF(type);                                                                                                \
        return GRANARY_##name != GRANARY_UINT64;
        GR_WORD_DTYPES(CASE)
#undef CASE
    default:
        return false;
    }
}

static void
plan_int(struct group_keys *keys, size_t k)
{
    struct key_part *part = &keys->parts[k];
    int64_t least = 0;
    int64_t most = 0;
    bool any = false;

    part->form = gr_dtype_size(part->dtype) == 16 ? PART_WIDE : PART_WORD;
    for (size_t s = 0; s < keys->source_count; s++) {
        const granary_column *column = key_vector(keys, s, k)->column;
        int64_t from;
        int64_t to;

        if (column != NULL && column->rows == 0) {
            continue;
        }
        if (column == NULL || !column_range(column, key_vector(keys, s, k)->stats, &from, &to)) {
            return;
        }
        least = !any || from < least ? from : least;
        most = !any || to > most ? to : most;
        any = true;
    }
    if ((uint64_t)most - (uint64_t)least < UINT64_C(1) << 62) {
        part->form = PART_CODES;
        part->least = least;
        part->size = (uint64_t)most - (uint64_t)least + 1;
    }
}

/* ---- the plan ---- */

static granary_err
plan_part(struct group_keys *keys, size_t k)
{
    struct key_part *part = &keys->parts[k];
    enum rows_class class = ROWS_NULL;
    bool nulls = false;
    granary_err err = GRANARY_OK;

    part->dtype = key_vector(keys, 0, k)->dtype;
    for (size_t s = 0; s < keys->source_count; s++) {
        const struct rows_vector *vector = key_vector(keys, s, k);

        if (vector->dtype != part->dtype) {
            return gr_fail(GRANARY_ETYPE, "key %zu is %s in one chunk and %s in another", k + 1,
                           granary_dtype_name(part->dtype), granary_dtype_name(vector->dtype));
        }
        class = vector->class != ROWS_NULL ? vector->class : class;
        nulls = nulls || vector->column == NULL || vector->column->null_count != 0;
    }
    part->has_null = keys->keep_nulls && nulls;
    part->form = PART_CODES;
    switch (class) {
    case ROWS_NULL:
    case ROWS_LIST:
        part->size = 0;
        break;
    case ROWS_BOOL:
        part->size = 2;
        break;
    case ROWS_INT:
    case ROWS_WIDE:
        plan_int(keys, k);
        break;
    case ROWS_DOUBLE:
        part->form = PART_WORD;
        break;
    case ROWS_CODE:
    case ROWS_TEXT:
        err = plan_text(keys, k);
        break;
    }
    if (part->form == PART_CODES) {
        part->size += part->has_null;
        part->size = part->size == 0 ? 1 : part->size;
    }
    return err;
}

/* Direct numbers, when they are not too many. */
static bool
plan_direct(struct group_keys *keys, int64_t rows)
{
    uint64_t limit = rows > DIRECT_MOST / 2 ? DIRECT_MOST : (uint64_t)rows * 2;
    uint64_t numbers = 1;

    limit = limit < DIRECT_LEAST ? DIRECT_LEAST : limit;
    for (size_t k = keys->count; k > 0; k--) {
        struct key_part *part = &keys->parts[k - 1];

        if (part->form != PART_CODES || part->size > limit / numbers) {
            return false;
        }
        part->stride = (uint32_t)numbers;
        numbers *= part->size;
    }
    keys->room = (uint32_t)numbers + 1;
    return true;
}

static void
place(unsigned bits, unsigned *word, unsigned *used, unsigned *ret_word, unsigned *ret_shift)
{
    if (*used + bits > 64) {
        (*word)++;
        *used = 0;
    }
    *ret_word = *word;
    *ret_shift = *used;
    *used += bits;
}

/* Text that has codes already may have some without a row, and so without a group. */
static bool
is_in_order(const struct group_keys *keys)
{
    bool plain = keys->count == 1 && keys->parts[0].dtype == GRANARY_STRING;

    for (size_t s = 0; plain && s < keys->source_count; s++) {
        plain = key_vector(keys, s, 0)->class != ROWS_CODE;
    }
    return plain;
}

static granary_err
plan_packed(struct group_keys *keys)
{
    unsigned word = 0;
    unsigned used = 0;

    for (size_t k = 0; k < keys->count; k++) {
        struct key_part *part = &keys->parts[k];

        part->bits = 64;
        if (part->form == PART_CODES) {
            part->bits = part->size <= 1 ? 1 : 64 - (unsigned)__builtin_clzll(part->size - 1);
        }
        if (part->form == PART_WIDE) {
            place(64, &word, &used, &part->word, &part->shift); /* the next word is the upper half */
            word++;
        } else {
            place(part->bits, &word, &used, &part->word, &part->shift);
        }
        if (part->form != PART_CODES && part->has_null) {
            place(1, &word, &used, &part->null_word, &part->null_shift);
        }
    }
    keys->words = word + 1;
    keys->room = 1;
    keys->in_order = is_in_order(keys);
    keys->packed = malloc(keys->words * ROWS_BLOCK * sizeof *keys->packed);
    keys->slot_count = SLOTS_MIN;
    keys->slots = calloc(keys->slot_count, sizeof *keys->slots);
    keys->values_room = GROUPS_MIN;
    keys->values = calloc((size_t)keys->values_room * keys->words, sizeof *keys->values);
    return keys->packed == NULL || keys->slots == NULL || keys->values == NULL ? gr_no_memory("keys") : GRANARY_OK;
}

granary_err
group_keys_create(struct rows *const *sources, size_t source_count, size_t key_count, int64_t rows, bool keep_nulls,
                  struct group_keys **ret_keys)
{
    struct group_keys *keys = calloc(1, sizeof *keys);
    granary_err err = GRANARY_OK;

    if (keys == NULL) {
        return gr_no_memory("keys");
    }
    keys->sources = sources;
    keys->source_count = source_count;
    keys->count = key_count;
    keys->keep_nulls = keep_nulls;
    keys->parts = calloc(key_count + 1, sizeof *keys->parts);
    if (keys->parts == NULL) {
        err = gr_no_memory("keys");
    }
    for (size_t k = 0; k < key_count && err == GRANARY_OK; k++) {
        err = plan_part(keys, k);
    }
    if (err == GRANARY_OK) {
        keys->direct = plan_direct(keys, rows);
        err = keys->direct ? GRANARY_OK : plan_packed(keys);
    }
    if (err != GRANARY_OK) {
        group_keys_destroy(keys);
        return err;
    }
    *ret_keys = keys;
    return GRANARY_OK;
}

void
group_keys_destroy(struct group_keys *keys)
{
    if (keys == NULL) {
        return;
    }
    for (size_t k = 0; keys->parts != NULL && k < keys->count; k++) {
        gr_texts_free(&keys->parts[k].texts);
        for (size_t s = 0; keys->parts[k].maps != NULL && s < keys->source_count; s++) {
            free(keys->parts[k].maps[s]);
        }
        free(keys->parts[k].maps);
    }
    free(keys->parts);
    free(keys->values);
    free(keys->slots);
    free(keys->packed);
    free(keys);
}

uint32_t
group_keys_room(const struct group_keys *keys)
{
    return keys->room;
}

bool
group_keys_direct(const struct group_keys *keys)
{
    return keys->direct;
}
