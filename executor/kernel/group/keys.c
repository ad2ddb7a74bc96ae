#include "kernel/group/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/group/texts.h"
#include "kernel/simd/group_loops.h"

enum {
    DIRECT_LEAST = 1 << 16, /* a direct numbering may always have so many numbers */
    DIRECT_MOST = 1 << 22,
    SLOTS_MIN = 1 << 10,
    GROUPS_MIN = 256,
};

/* How the values of a key become bits. */
enum part_form {
    PART_CODES, /* numbers below size */
    PART_WORD,  /* all 64 bits */
    PART_WIDE,  /* 128 bits: two words */
};

struct key_part {
    granary_dtype dtype;
    enum part_form form;
    bool has_null;   /* nulls are kept: CODES: size - 1; else a bit of their own */
    uint64_t size;   /* CODES */
    int64_t least;   /* integers as CODES: of code 0 */
    uint32_t stride; /* direct */
    /* packed */
    unsigned word;
    unsigned shift;
    unsigned bits;
    unsigned null_word;
    unsigned null_shift;
    /* strings */
    const granary_column *dictionary; /* NULL: the texts */
    struct texts texts;
    uint32_t **maps; /* by source; NULL: codes as they are */
};

/* Linear probing; at most half full. */
struct key_slot {
    uint32_t tag; /* upper half of the hash */
    uint32_t id;  /* 0: free */
};

struct group_keys {
    struct rows *const *sources;
    size_t source_count;
    size_t count;
    bool keep_nulls;
    struct key_part *parts;
    bool direct;
    uint32_t room; /* direct: how many numbers; else 1 + groups */
    /* packed */
    unsigned words; /* of a key */
    uint64_t *values;
    uint32_t values_room;
    struct key_slot *slots;
    uint32_t slot_count;
    /* of a block */
    uint8_t drop[ROWS_BLOCK];
    uint64_t codes[ROWS_BLOCK];
    uint64_t high[ROWS_BLOCK];
    uint64_t hashes[ROWS_BLOCK];
    uint64_t *packed; /* words * ROWS_BLOCK */
};

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory for keys");
}

static const struct rows_vector *
key_vector(const struct group_keys *keys, size_t source, size_t k)
{
    return rows_vector(keys->sources[source], k);
}

/* ---- strings ---- */

bool
group_same_texts(const granary_column *a, const granary_column *b)
{
    if (a == b) {
        return true;
    }
    if (a->rows != b->rows || memcmp(a->offsets, b->offsets, ((size_t)a->rows + 1) * sizeof(int32_t)) != 0) {
        return false;
    }
    return a->offsets[a->rows] == a->offsets[0] ||
           memcmp((const char *)a->values + a->offsets[0], (const char *)b->values + b->offsets[0],
                  (size_t)(a->offsets[a->rows] - a->offsets[0])) == 0;
}

/* All entries of a dictionary, as numbers of the part's texts. */
static granary_err
map_dictionary(struct key_part *part, const granary_column *dictionary, uint32_t **ret_map)
{
    uint32_t *map = malloc(((size_t)dictionary->rows + 1) * sizeof *map);
    granary_err err = map == NULL ? out_of_memory() : GRANARY_OK;

    for (int64_t i = 0; i < dictionary->rows && err == GRANARY_OK; i++) {
        int32_t begin = dictionary->offsets[i];

        err = texts_code(&part->texts, (const char *)dictionary->values + begin,
                         (size_t)(dictionary->offsets[i + 1] - begin), &map[i]);
    }
    *ret_map = map;
    return err;
}

/* One dictionary everywhere: its codes. Dictionaries only: the codes of all their texts. Else texts as they come. */
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
        same = same && (first == NULL || group_same_texts(first, vector->dictionary));
        first = first == NULL ? vector->dictionary : first;
    }
    if (all_codes && same && first != NULL) {
        part->dictionary = first;
        part->size = (uint64_t)first->rows;
        return GRANARY_OK;
    }
    part->maps = calloc(keys->source_count, sizeof *part->maps);
    if (part->maps == NULL) {
        return out_of_memory();
    }
    for (size_t s = 0; s < keys->source_count && err == GRANARY_OK; s++) {
        const struct rows_vector *vector = key_vector(keys, s, k);

        if (vector->class == ROWS_CODE) {
            err = map_dictionary(part, vector->dictionary, &part->maps[s]);
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

/* Least and greatest value of a column of integers; under nulls there are zeros. False: it has none, or they cannot be
 * told. */
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
    case GRANARY_INT8:
        RANGE_OF(int8_t);
        return true;
    case GRANARY_INT16:
        RANGE_OF(int16_t);
        return true;
    case GRANARY_INT32:
    case GRANARY_DATE:
        RANGE_OF(int32_t);
        return true;
    case GRANARY_INT64:
    case GRANARY_TIMESTAMP:
    case GRANARY_DURATION:
        RANGE_OF(int64_t);
        return true;
    case GRANARY_UINT8:
        RANGE_OF(uint8_t);
        return true;
    case GRANARY_UINT16:
        RANGE_OF(uint16_t);
        return true;
    case GRANARY_UINT32:
        RANGE_OF(uint32_t);
        return true;
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
    keys->packed = malloc(keys->words * ROWS_BLOCK * sizeof *keys->packed);
    keys->slot_count = SLOTS_MIN;
    keys->slots = calloc(keys->slot_count, sizeof *keys->slots);
    keys->values_room = GROUPS_MIN;
    keys->values = calloc((size_t)keys->values_room * keys->words, sizeof *keys->values);
    return keys->packed == NULL || keys->slots == NULL || keys->values == NULL ? out_of_memory() : GRANARY_OK;
}

granary_err
group_keys_create(struct rows *const *sources, size_t source_count, size_t key_count, int64_t rows, bool keep_nulls,
                  struct group_keys **ret_keys)
{
    struct group_keys *keys = calloc(1, sizeof *keys);
    granary_err err = GRANARY_OK;

    if (keys == NULL) {
        return out_of_memory();
    }
    keys->sources = sources;
    keys->source_count = source_count;
    keys->count = key_count;
    keys->keep_nulls = keep_nulls;
    keys->parts = calloc(key_count + 1, sizeof *keys->parts);
    if (keys->parts == NULL) {
        err = out_of_memory();
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
        texts_fini(&keys->parts[k].texts);
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

/* ---- blocks ---- */

static uint64_t
word_of_double(double x)
{
    uint64_t word;

    if (isnan(x)) {
        return UINT64_C(0x7ff8000000000000);
    }
    x += 0.0; /* -0.0 becomes 0.0 */
    memcpy(&word, &x, sizeof word);
    return word;
}

static granary_err
text_codes(struct key_part *part, const struct rows_vector *vector, int64_t n, uint64_t *codes)
{
    const struct rows_text *texts = vector->values;

    for (int64_t i = 0; i < n; i++) {
        uint32_t code = 0;

        if (vector->valid == NULL || vector->valid[i]) {
            granary_err err = texts_code(&part->texts, texts[i].bytes, texts[i].size, &code);

            if (err != GRANARY_OK) {
                return err;
            }
        }
        codes[i] = code;
    }
    return GRANARY_OK;
}

/* What stands for the values of a key: keys->codes, and keys->high for the upper halves of wide ones. Under nulls:
 * anything that fits. */
static granary_err
block_codes(struct group_keys *keys, size_t source, size_t k, int64_t n)
{
    struct key_part *part = &keys->parts[k];
    const struct rows_vector *vector = key_vector(keys, source, k);
    uint64_t *codes = keys->codes;

    switch (vector->class) {
    case ROWS_NULL:
        memset(codes, 0, (size_t)n * sizeof *codes);
        break;
    case ROWS_BOOL:
        for (int64_t i = 0; i < n; i++) {
            codes[i] = ((const uint8_t *)vector->values)[i];
        }
        break;
    case ROWS_INT:
        for (int64_t i = 0; i < n; i++) {
            codes[i] = (uint64_t)((const int64_t *)vector->values)[i] - (uint64_t)part->least;
        }
        for (int64_t i = 0; part->form == PART_WIDE && i < n; i++) {
            keys->high[i] = (uint64_t)(((const int64_t *)vector->values)[i] >> 63);
        }
        break;
    case ROWS_WIDE:
        for (int64_t i = 0; i < n; i++) {
            codes[i] = (uint64_t)((const __int128 *)vector->values)[i];
            keys->high[i] = (uint64_t)(((const __int128 *)vector->values)[i] >> 64);
        }
        break;
    case ROWS_DOUBLE:
        for (int64_t i = 0; i < n; i++) {
            codes[i] = word_of_double(((const double *)vector->values)[i]);
        }
        break;
    case ROWS_CODE:
        if (part->maps != NULL) {
            const uint32_t *map = part->maps[source];

            for (int64_t i = 0; i < n; i++) {
                codes[i] = map[((const int32_t *)vector->values)[i]];
            }
        } else {
            for (int64_t i = 0; i < n; i++) {
                codes[i] = (uint32_t)((const int32_t *)vector->values)[i];
            }
        }
        break;
    case ROWS_TEXT:
        return text_codes(part, vector, n, codes);
    }
    return GRANARY_OK;
}

/* Rows with a null: dropped, or given the code of null. Wide forms get zero, and their bit elsewhere. */
static void
block_nulls(struct group_keys *keys, size_t source, size_t k, int64_t n)
{
    const struct key_part *part = &keys->parts[k];
    const struct rows_vector *vector = key_vector(keys, source, k);
    uint64_t null_code = part->form == PART_CODES && part->has_null ? part->size - 1 : 0;

    if (vector->class == ROWS_NULL) {
        for (int64_t i = 0; i < n; i++) {
            keys->codes[i] = null_code;
            keys->drop[i] |= !part->has_null;
        }
    } else if (vector->valid != NULL) {
        for (int64_t i = 0; i < n; i++) {
            bool there = vector->valid[i] != 0;

            keys->codes[i] = there ? keys->codes[i] : null_code;
            keys->high[i] = there ? keys->high[i] : 0;
            keys->drop[i] |= !there & !part->has_null;
        }
    }
}

/* Numbers of codes and integers as they lie. false: key k is of another kind, or has nulls in this block. */
static bool
add_numbers(const struct group_keys *keys, size_t source, size_t k, int64_t n, uint32_t *ids)
{
    const struct key_part *part = &keys->parts[k];
    const struct rows_vector *vector = key_vector(keys, source, k);

    if (vector->valid != NULL) {
        return false;
    }
    if (vector->class == ROWS_CODE && part->maps == NULL) {
        SIMD_CALL(group_add_codes)(vector->values, part->stride, ids, n);
        return true;
    }
    if (vector->class == ROWS_INT) {
        SIMD_CALL(group_add_ints)(vector->values, part->least, part->stride, ids, n);
        return true;
    }
    return false;
}

static granary_err
find_direct(struct group_keys *keys, size_t source, int64_t n, uint32_t *ids)
{
    bool dropped = false;

    for (int64_t i = 0; i < n; i++) {
        ids[i] = 1;
    }
    for (size_t k = 0; k < keys->count; k++) {
        uint32_t stride = keys->parts[k].stride;
        granary_err err;

        if (add_numbers(keys, source, k, n, ids)) {
            continue;
        }
        err = block_codes(keys, source, k, n);
        if (err != GRANARY_OK) {
            return err;
        }
        block_nulls(keys, source, k, n);
        dropped = true;
        for (int64_t i = 0; i < n; i++) {
            ids[i] += (uint32_t)keys->codes[i] * stride;
        }
    }
    for (int64_t i = 0; dropped && i < n; i++) {
        ids[i] = keys->drop[i] ? GROUP_NONE_ID : ids[i];
    }
    return GRANARY_OK;
}

static granary_err
pack(struct group_keys *keys, size_t source, int64_t n)
{
    memset(keys->packed, 0, keys->words * ROWS_BLOCK * sizeof *keys->packed);
    for (size_t k = 0; k < keys->count; k++) {
        const struct key_part *part = &keys->parts[k];
        uint64_t *words = keys->packed + (size_t)part->word * ROWS_BLOCK;
        granary_err err = block_codes(keys, source, k, n);

        if (err != GRANARY_OK) {
            return err;
        }
        block_nulls(keys, source, k, n);
        for (int64_t i = 0; i < n; i++) {
            words[i] |= keys->codes[i] << part->shift;
        }
        if (part->form == PART_WIDE) {
            memcpy(words + ROWS_BLOCK, keys->high, (size_t)n * sizeof *words);
        }
        if (part->form != PART_CODES && part->has_null) {
            const struct rows_vector *vector = key_vector(keys, source, k);

            words = keys->packed + (size_t)part->null_word * ROWS_BLOCK;
            for (int64_t i = 0; i < n && (vector->class == ROWS_NULL || vector->valid != NULL); i++) {
                uint64_t null = vector->class == ROWS_NULL || !vector->valid[i];

                words[i] |= null << part->null_shift;
            }
        }
    }
    return GRANARY_OK;
}

static granary_err
slots_grow(struct group_keys *keys)
{
    uint32_t count = keys->slot_count * 4;
    struct key_slot *slots = count == 0 ? NULL : calloc(count, sizeof *slots);

    if (slots == NULL) {
        return out_of_memory();
    }
    for (uint32_t id = 1; id < keys->room; id++) {
        uint64_t hash = 0;
        uint32_t at;

        for (unsigned w = 0; w < keys->words; w++) {
            hash = word_mix(hash ^ keys->values[(size_t)id * keys->words + w]);
        }
        for (at = (uint32_t)hash & (count - 1); slots[at].id != 0;) {
            at = (at + 1) & (count - 1);
        }
        slots[at] = (struct key_slot){.tag = (uint32_t)(hash >> 32), .id = id};
    }
    free(keys->slots);
    keys->slots = slots;
    keys->slot_count = count;
    return GRANARY_OK;
}

/* Room for a whole block of new keys. */
static granary_err
keys_grow(struct group_keys *keys)
{
    if (keys->room > UINT32_MAX / 4) {
        return gr_fail(GRANARY_EFULL, "%u groups are more than one chunk can hold: use smaller chunks", keys->room);
    }
    if (keys->values_room < keys->room + ROWS_BLOCK) {
        uint32_t room = keys->values_room * 2 + ROWS_BLOCK;
        uint64_t *values = realloc(keys->values, (size_t)room * keys->words * sizeof *values);

        if (values == NULL) {
            return out_of_memory();
        }
        keys->values = values;
        keys->values_room = room;
    }
    while (keys->slot_count / 2 < keys->room + ROWS_BLOCK) {
        granary_err err = slots_grow(keys);

        if (err != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}

static inline bool
key_equal(const uint64_t *value, const uint64_t *packed, unsigned words)
{
    for (unsigned w = 0; w < words; w++) {
        if (value[w] != packed[(size_t)w * ROWS_BLOCK]) {
            return false;
        }
    }
    return true;
}

/* words: known at compile time where it is one. */
static inline __attribute__((always_inline)) void
look_up(struct group_keys *keys, int64_t n, unsigned words, uint32_t *ids)
{
    struct key_slot *slots = keys->slots;
    uint32_t mask = keys->slot_count - 1;
    uint32_t room = keys->room;

    for (int64_t i = 0; i < n; i++) {
        uint64_t hash = 0;

        for (unsigned w = 0; w < words; w++) {
            hash = word_mix(hash ^ keys->packed[(size_t)w * ROWS_BLOCK + (size_t)i]);
        }
        keys->hashes[i] = hash;
        __builtin_prefetch(&slots[hash & mask], 1);
    }
    for (int64_t i = 0; i < n; i++) {
        uint32_t id = slots[keys->hashes[i] & mask].id;

        __builtin_prefetch(&keys->values[(size_t)id * words]);
    }
    for (int64_t i = 0; i < n; i++) {
        const uint64_t *packed = keys->packed + i;
        uint32_t tag = (uint32_t)(keys->hashes[i] >> 32);
        uint32_t at = (uint32_t)keys->hashes[i] & mask;

        if (keys->drop[i]) {
            ids[i] = GROUP_NONE_ID;
            continue;
        }
        while (slots[at].id != 0 &&
               (slots[at].tag != tag || !key_equal(&keys->values[(size_t)slots[at].id * words], packed, words))) {
            at = (at + 1) & mask;
        }
        if (slots[at].id == 0) {
            for (unsigned w = 0; w < words; w++) {
                keys->values[(size_t)room * words + w] = packed[(size_t)w * ROWS_BLOCK];
            }
            slots[at] = (struct key_slot){.tag = tag, .id = room++};
        }
        ids[i] = slots[at].id;
    }
    keys->room = room;
}

granary_err
group_keys_find(struct group_keys *keys, size_t source, int64_t count, uint32_t *ret_ids)
{
    granary_err err;

    memset(keys->drop, 0, (size_t)count);
    if (keys->direct) {
        return find_direct(keys, source, count, ret_ids);
    }
    err = pack(keys, source, count);
    if (err == GRANARY_OK) {
        err = keys_grow(keys);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (keys->words == 1) {
        look_up(keys, count, 1, ret_ids);
    } else {
        look_up(keys, count, keys->words, ret_ids);
    }
    return GRANARY_OK;
}

/* ---- values ---- */

/* The bits of key k of a number; false: it is null. */
static bool
key_bits(const struct group_keys *keys, size_t k, uint32_t id, uint64_t *ret_low, uint64_t *ret_high)
{
    const struct key_part *part = &keys->parts[k];
    const uint64_t *value = keys->values + (size_t)id * keys->words;
    bool null;

    *ret_high = 0;
    if (keys->direct) {
        *ret_low = (id - 1) / part->stride % part->size;
    } else {
        *ret_low = value[part->word] >> part->shift;
        *ret_low &= part->bits < 64 ? (UINT64_C(1) << part->bits) - 1 : UINT64_MAX;
        *ret_high = part->form == PART_WIDE ? value[part->word + 1] : 0;
    }
    if (part->form == PART_CODES) {
        null = part->has_null && *ret_low == part->size - 1;
        *ret_low += (uint64_t)part->least;
    } else {
        null = part->has_null && (value[part->null_word] >> part->null_shift & 1) != 0;
    }
    return !null;
}

static const char *
text_of(const struct key_part *part, uint64_t code, size_t *ret_size)
{
    if (part->dictionary != NULL) {
        int32_t begin = part->dictionary->offsets[code];

        *ret_size = (size_t)(part->dictionary->offsets[code + 1] - begin);
        return (const char *)part->dictionary->values + begin;
    }
    return texts_at(&part->texts, (uint32_t)code, ret_size);
}

/* All texts of a key, for a dictionary. */
static granary_err
text_entries(const struct key_part *part, struct gr_dictionary **ret_dictionary)
{
    struct gr_column entries;
    uint64_t size = part->texts.count > 0 ? part->texts.ends[part->texts.count - 1] : 0;
    granary_err err;

    if (part->dictionary != NULL) {
        return gr_dictionary_keep(part->dictionary, ret_dictionary);
    }
    if (size > INT32_MAX) {
        return gr_fail(GRANARY_EFULL, "the keys have more than 2 GiB of text: use smaller chunks");
    }
    err = gr_column_alloc(GRANARY_STRING, part->texts.count, (int64_t)size, false, &entries);
    if (err != GRANARY_OK) {
        return err;
    }
    if (size > 0) {
        memcpy((char *)(uintptr_t)entries.view.values, part->texts.bytes, size);
    }
    for (uint32_t c = 0; c < part->texts.count; c++) {
        ((int32_t *)(uintptr_t)entries.view.offsets)[c + 1] = (int32_t)part->texts.ends[c];
    }
    gr_column_finish(&entries);
    return gr_dictionary_create(&entries, ret_dictionary);
}

/* Strings as codes, where there are many groups for each text. */
static granary_err
code_column(const struct group_keys *keys, size_t k, const uint32_t *ids, int64_t count, struct gr_column *ret_column)
{
    struct gr_dictionary *dictionary = NULL;
    struct gr_column column;
    granary_err err = gr_column_alloc(GRANARY_INT32, count, 0, true, &column);

    if (err == GRANARY_OK) {
        err = text_entries(&keys->parts[k], &dictionary);
        if (err != GRANARY_OK) {
            gr_column_free(&column);
        }
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (int64_t i = 0; i < count; i++) {
        uint64_t low;
        uint64_t high;

        if (key_bits(keys, k, ids[i], &low, &high)) {
            ((int32_t *)(uintptr_t)column.view.values)[i] = (int32_t)low;
            gr_bit_set((uint8_t *)(uintptr_t)column.view.validity, i);
        }
    }
    gr_column_finish(&column);
    gr_column_set_dictionary(&column, dictionary);
    *ret_column = column;
    return GRANARY_OK;
}

static granary_err
text_column(const struct group_keys *keys, size_t k, const uint32_t *ids, int64_t count, struct gr_column *ret_column)
{
    const struct key_part *part = &keys->parts[k];
    struct gr_column column;
    uint64_t total = 0;
    uint64_t low;
    uint64_t high;
    size_t size;
    granary_err err;

    for (int64_t i = 0; i < count; i++) {
        if (key_bits(keys, k, ids[i], &low, &high)) {
            (void)text_of(part, low, &size);
            total += size;
        }
    }
    if (total > INT32_MAX) {
        return gr_fail(GRANARY_EFULL, "the keys have more than 2 GiB of text: use smaller chunks");
    }
    err = gr_column_alloc(GRANARY_STRING, count, (int64_t)total, true, &column);
    if (err != GRANARY_OK) {
        return err;
    }
    total = 0;
    for (int64_t i = 0; i < count; i++) {
        if (key_bits(keys, k, ids[i], &low, &high)) {
            const char *text = text_of(part, low, &size);

            if (size > 0) {
                memcpy((char *)(uintptr_t)column.view.values + total, text, size);
            }
            total += size;
            gr_bit_set((uint8_t *)(uintptr_t)column.view.validity, i);
        }
        ((int32_t *)(uintptr_t)column.view.offsets)[i + 1] = (int32_t)total;
    }
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}

granary_err
group_keys_column(const struct group_keys *keys, size_t k, const uint32_t *ids, int64_t count, bool coded,
                  struct gr_column *ret_column)
{
    const struct key_part *part = &keys->parts[k];
    size_t size = gr_dtype_size(part->dtype);
    struct gr_column column;
    granary_err err;

    if (part->dtype == GRANARY_STRING) {
        int64_t entries = part->dictionary != NULL ? part->dictionary->rows : (int64_t)part->texts.count;

        return (coded && part->dictionary != NULL) || gr_dictionary_pays(entries, count)
                   ? code_column(keys, k, ids, count, ret_column)
                   : text_column(keys, k, ids, count, ret_column);
    }
    err = gr_column_alloc(part->dtype, count, 0, true, &column);
    if (err != GRANARY_OK || part->dtype == GRANARY_NULLTYPE) {
        *ret_column = column;
        return err;
    }
    for (int64_t i = 0; i < count; i++) {
        char *at = (char *)(uintptr_t)column.view.values + (size_t)i * size;
        uint64_t bits[2];

        if (!key_bits(keys, k, ids[i], &bits[0], &bits[1])) {
            continue;
        }
        gr_bit_set((uint8_t *)(uintptr_t)column.view.validity, i);
        if (part->dtype == GRANARY_BOOL && bits[0] != 0) {
            gr_bit_set((uint8_t *)(uintptr_t)column.view.values, i);
        } else if (part->dtype == GRANARY_FLOAT32) {
            double real;
            float value;

            memcpy(&real, &bits[0], sizeof real);
            value = isnan(real) ? NAN : (float)real;
            memcpy(at, &value, sizeof value);
        } else {
            memcpy(at, bits, size);
        }
    }
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}

granary_err
group_keys_hash(const struct group_keys *keys, const uint32_t *ids, int64_t count, uint64_t *ret_hashes)
{
    memset(ret_hashes, 0, (size_t)count * sizeof *ret_hashes);
    for (size_t k = 0; k < keys->count; k++) {
        const struct key_part *part = &keys->parts[k];
        uint64_t codes = part->dictionary != NULL ? (uint64_t)part->dictionary->rows : part->texts.count;
        uint64_t *of_codes = NULL;

        if (part->dtype == GRANARY_STRING) { /* each text once, however many groups have it */
            of_codes = malloc((size_t)(codes + 1) * sizeof *of_codes);
            if (of_codes == NULL) {
                return out_of_memory();
            }
            for (uint64_t c = 0; c < codes; c++) {
                size_t size;
                const char *bytes = text_of(part, c, &size);

                of_codes[c] = text_hash(bytes, size);
            }
        }
        for (int64_t i = 0; i < count; i++) {
            uint64_t low;
            uint64_t high;
            uint64_t value = NULL_HASH;

            if (key_bits(keys, k, ids[i], &low, &high)) {
                value = of_codes != NULL ? of_codes[low] : low ^ word_mix(high);
            }
            ret_hashes[i] = key_hash(ret_hashes[i], value);
        }
        free(of_codes);
    }
    return GRANARY_OK;
}
