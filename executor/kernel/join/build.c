/* join_build: the keys of one side become an index (kernel/join/built.h). */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "contract/int128.h"
#include "graph/join.h"
#include "kernel/core/frame_call.h"
#include "kernel/join/build.h"
#include "kernel/join/built.h"

#define ALIGNMENT 64u
/*
 * A dense table may have so many words a row, and so many at any rate. It takes up to twice the memory of a hash
 * table. But it takes only one line a row to make and to look up, and rows in about the order of their keys find
 * those lines in the cache.
 */
#define DENSE_WORDS_PER_ROW 16
#define DENSE_WORDS_FREE    65536
#define PACKED_MAX          (UINT64_C(1) << 62)
/* A hash table has bits for its words when they are no more a row than that, or few at any rate, and not too many. */
#define BITS_PER_ROW 4096
#define BITS_FREE    (UINT64_C(1) << 19)
#define BITS_MAX     (UINT64_C(1) << 26)

struct build_key {
    granary_dtype dtype;
    bool is_bytes;
    bool any; /* min and max are there */
    int64_t min, max;
    struct gr_texts strings;
    uint32_t *ids; /* bytes: the number of every row's string, GR_TEXTS_NONE for none */
    uint64_t range;
    uint64_t stride;
};

struct build {
    size_t piece_count;
    const granary_frame *const *pieces;
    const granary_column **columns; /* piece after piece, key_count each */
    int64_t rows;
    uint32_t shift;
    size_t key_count;
    struct build_key *keys;
    char *const *names; /* of the keys */
    bool is_tuple;
    struct gr_texts tuples;
    uint32_t *tuple_ids; /* by row */
    uint32_t part;
    uint32_t part_bits;
    uint64_t nulls;
    bool must_be_unique;
    const char *side; /* for messages */
    struct built_head head;
    char *bytes;
    uint64_t size;
};

static granary_err
no_memory(const struct build *b)
{
    return gr_fail(GRANARY_ENOMEM, "join: out of memory for the keys of %lld rows", (long long)b->rows);
}

static uint64_t
aligned(uint64_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static const granary_column *
column_of(const struct build *b, size_t piece, size_t key)
{
    return b->columns[piece * b->key_count + key];
}

/* ---- blocks of rows ---- */

struct block {
    size_t piece;
    int64_t from; /* in the piece */
    int64_t n;
    int64_t row; /* of all pieces */
};

/* The next block; a zero block is before the first. */
static bool
block_next(const struct build *b, struct block *block)
{
    block->from += block->n;
    block->row += block->n;
    while (block->piece < b->piece_count && block->from == b->pieces[block->piece]->rows) {
        block->piece++;
        block->from = 0;
    }
    if (block->piece == b->piece_count) {
        return false;
    }
    block->n = b->pieces[block->piece]->rows - block->from;
    block->n = block->n < JOIN_BLOCK ? block->n : JOIN_BLOCK;
    return true;
}

/* The words of one key in a block. */
static void
block_key(const struct build *b, const struct block *block, size_t k, int64_t *words, uint8_t *present)
{
    const struct build_key *key = &b->keys[k];

    if (!key->is_bytes) {
        key_words(column_of(b, block->piece, k), key->dtype, block->from, block->n, words, present);
        return;
    }
    for (int64_t i = 0; i < block->n; i++) {
        uint32_t id = key->ids[block->row + i];

        words[i] = id;
        present[i] = (uint8_t)(present[i] & (id != GR_TEXTS_NONE));
    }
}

/* The word of all keys together. */
static void
block_words(const struct build *b, const struct block *block, int64_t *words, uint8_t *present)
{
    int64_t one[JOIN_BLOCK];

    memset(present, 1, (size_t)block->n);
    if (b->is_tuple) {
        for (int64_t i = 0; i < block->n; i++) {
            words[i] = b->tuple_ids[block->row + i];
            present[i] = b->tuple_ids[block->row + i] != GR_TEXTS_NONE;
        }
        return;
    }
    block_key(b, block, 0, words, present);
    if (b->key_count == 1) {
        return;
    }
    for (int64_t i = 0; i < block->n; i++) {
        words[i] = (int64_t)(((uint64_t)words[i] - (uint64_t)b->keys[0].min) * b->keys[0].stride);
    }
    for (size_t k = 1; k < b->key_count; k++) {
        block_key(b, block, k, one, present);
        for (int64_t i = 0; i < block->n; i++) {
            words[i] =
                (int64_t)((uint64_t)words[i] + ((uint64_t)one[i] - (uint64_t)b->keys[k].min) * b->keys[k].stride);
        }
    }
}

static uint32_t
reference(const struct build *b, const struct block *block, int64_t i)
{
    return (uint32_t)((uint64_t)block->piece << b->shift | (uint64_t)(block->from + i));
}

/* ---- first: what the keys are like ---- */

static void
note_range(struct build_key *key, const int64_t *words, const uint8_t *present, int64_t n)
{
    int64_t min = key->any ? key->min : INT64_MAX;
    int64_t max = key->any ? key->max : INT64_MIN;
    bool any = false;

    for (int64_t i = 0; i < n; i++) {
        int64_t low = present[i] ? words[i] : INT64_MAX;
        int64_t high = present[i] ? words[i] : INT64_MIN;

        min = low < min ? low : min;
        max = high > max ? high : max;
        any |= present[i] != 0;
    }
    if (any) {
        key->any = true;
        key->min = min;
        key->max = max;
    }
}

/* Strings of a dictionary are looked up once each. */
static granary_err
intern_encoded(struct build_key *key, const granary_column *column, int64_t rows, uint32_t *ids)
{
    const granary_column *entries = column->dictionary;
    uint32_t *numbers = malloc((size_t)(entries->rows + 1) * sizeof *numbers);
    granary_err err = numbers == NULL ? gr_fail(GRANARY_ENOMEM, "join: out of memory for a dictionary") : GRANARY_OK;

    for (int64_t code = 0; numbers != NULL && code <= entries->rows; code++) {
        numbers[code] = GR_TEXTS_NONE;
    }
    for (int64_t i = 0; i < rows && err == GRANARY_OK; i++) {
        int32_t code = ((const int32_t *)column->values)[i];

        if (gr_is_null(column, i)) {
            ids[i] = GR_TEXTS_NONE;
            continue;
        }
        if (numbers[code] == GR_TEXTS_NONE) {
            size_t size;
            const char *text = gr_text_at(column, i, &size);

            err = gr_texts_add(&key->strings, text, size, &numbers[code]);
        }
        ids[i] = numbers[code];
    }
    free(numbers);
    return err;
}

static granary_err
intern_column(struct build_key *key, const granary_column *column, int64_t rows, uint32_t *ids)
{
    granary_err err = GRANARY_OK;

    if (key->dtype == GRANARY_STRING && column->dictionary != NULL) {
        return intern_encoded(key, column, rows, ids);
    }
    for (int64_t i = 0; i < rows && err == GRANARY_OK; i++) {
        gr_int128 scratch;
        size_t size;
        const char *bytes = key_bytes(column, key->dtype, i, &scratch, &size);

        ids[i] = GR_TEXTS_NONE;
        if (bytes != NULL) {
            err = gr_texts_add(&key->strings, bytes, size, &ids[i]);
        }
    }
    return err;
}

static granary_err
measure_strings(struct build *b, size_t k)
{
    struct build_key *key = &b->keys[k];
    int64_t row = 0;
    granary_err err = GRANARY_OK;

    key->ids = malloc((size_t)(b->rows + 1) * sizeof *key->ids);
    if (key->ids == NULL) {
        return no_memory(b);
    }
    for (size_t p = 0; p < b->piece_count && err == GRANARY_OK; p++) {
        err = intern_column(key, column_of(b, p, k), b->pieces[p]->rows, key->ids + row);
        row += b->pieces[p]->rows;
    }
    key->any = key->strings.count > 0;
    key->max = (int64_t)key->strings.count - 1;
    return err;
}

static granary_err
measure_keys(struct build *b)
{
    int64_t words[JOIN_BLOCK];
    uint8_t present[JOIN_BLOCK];
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < b->key_count && err == GRANARY_OK; k++) {
        struct build_key *key = &b->keys[k];

        if (key->is_bytes) {
            err = measure_strings(b, k);
        } else {
            for (struct block block = {0}; block_next(b, &block);) {
                memset(present, 1, (size_t)block.n);
                block_key(b, &block, k, words, present);
                note_range(key, words, present, block.n);
            }
        }
        /* 0: as many as there are words */
        key->range = key->any ? (uint64_t)key->max - (uint64_t)key->min + 1 : 0;
    }
    for (size_t p = 0; p < b->piece_count; p++) {
        b->nulls += (uint64_t)column_of(b, p, 0)->null_count;
    }
    return err;
}

/* Give the keys strides when all together fit a word. */
static bool
pack_keys(struct build *b)
{
    uint64_t stride = 1;

    for (size_t k = b->key_count; k-- > 0;) {
        b->keys[k].stride = stride;
        if (!b->keys[k].any) {
            b->keys[k].range = 1; /* nothing matches anyway */
        }
        if (b->keys[k].range == 0 || b->keys[k].range > PACKED_MAX / stride) {
            return false;
        }
        stride *= b->keys[k].range;
    }
    return true;
}

static granary_err
intern_tuples(struct build *b)
{
    int64_t *words = malloc(b->key_count * JOIN_BLOCK * sizeof *words);
    int64_t *tuple = malloc(b->key_count * sizeof *tuple);
    uint8_t present[JOIN_BLOCK];
    granary_err err = GRANARY_OK;

    b->tuple_ids = malloc((size_t)(b->rows + 1) * sizeof *b->tuple_ids);
    if (words == NULL || tuple == NULL || b->tuple_ids == NULL) {
        err = no_memory(b);
    }
    for (struct block block = {0}; err == GRANARY_OK && block_next(b, &block);) {
        memset(present, 1, (size_t)block.n);
        for (size_t k = 0; k < b->key_count; k++) {
            block_key(b, &block, k, words + k * JOIN_BLOCK, present);
        }
        for (int64_t i = 0; i < block.n && err == GRANARY_OK; i++) {
            b->tuple_ids[block.row + i] = GR_TEXTS_NONE;
            if (!present[i]) {
                continue;
            }
            for (size_t k = 0; k < b->key_count; k++) {
                tuple[k] = words[k * JOIN_BLOCK + (size_t)i];
            }
            err = gr_texts_add(&b->tuples, (const char *)tuple, b->key_count * sizeof *tuple,
                               &b->tuple_ids[block.row + i]);
        }
    }
    b->is_tuple = true;
    free(words);
    free(tuple);
    return err;
}

/* ---- then: the index ---- */

/* A key with two rows: the message names it. */
static granary_err
repeated(const struct build *b, uint32_t ref)
{
    size_t piece = (size_t)((uint64_t)ref >> b->shift);
    int64_t row = (int64_t)(ref & ((UINT64_C(1) << b->shift) - 1));
    struct gr_buf text = {0};
    granary_err err;

    for (size_t k = 0; k < b->key_count; k++) {
        gr_buf_addf(&text, "%s%s = ", k == 0 ? "" : ", ", b->names[k]);
        gr_value_format(column_of(b, piece, k), row, &text);
    }
    err = gr_buf_ok(&text)
              ? gr_fail(GRANARY_EINVAL, "parameter 'validate': the key %.300s is there more than once on the %s side",
                        text.bytes, b->side)
              : gr_fail(GRANARY_ENOMEM, "out of memory");
    gr_buf_free(&text);
    return err;
}

/* Everything but table and entries, whose place is settled. */
static granary_err
write_front(struct build *b, uint64_t table_size, uint64_t entries_size)
{
    uint64_t at = aligned(sizeof b->head + b->key_count * sizeof(struct built_key));
    struct built_head *head = &b->head;
    char *bytes;

    for (size_t k = 0; k < b->key_count; k++) {
        at += b->keys[k].is_bytes ? aligned(intern_section_size(&b->keys[k].strings)) : 0;
    }
    if (b->is_tuple) {
        at += aligned(intern_section_size(&b->tuples));
    }
    head->bits.offset = at;
    at += aligned(head->bits.size);
    head->table = (struct built_section){at, table_size};
    head->entries = (struct built_section){at + aligned(table_size), entries_size};
    b->size = head->entries.offset + aligned(entries_size);
    bytes = aligned_alloc(ALIGNMENT, b->size);
    if (bytes == NULL) {
        return no_memory(b);
    }
    b->bytes = bytes;
    memset(bytes, 0, head->table.offset);
    at = aligned(sizeof b->head + b->key_count * sizeof(struct built_key));
    for (size_t k = 0; k < b->key_count; k++) {
        struct build_key *key = &b->keys[k];
        struct built_key out = {.dtype = (uint32_t)key->dtype,
                                .is_bytes = key->is_bytes,
                                .base = key->any ? key->min : 0,
                                .range = key->any ? key->range : 0,
                                .stride = key->stride};

        if (key->is_bytes) {
            out.strings = (struct built_section){at, intern_section_size(&key->strings)};
            intern_write(&key->strings, bytes + at);
            at += aligned(out.strings.size);
        }
        memcpy(bytes + sizeof *head + k * sizeof out, &out, sizeof out);
    }
    if (b->is_tuple) {
        head->tuples = (struct built_section){at, intern_section_size(&b->tuples)};
        intern_write(&b->tuples, bytes + at);
    }
    return GRANARY_OK;
}

static void
write_head(struct build *b)
{
    memset(b->bytes + b->head.table.offset + b->head.table.size, 0,
           b->head.entries.offset - b->head.table.offset - b->head.table.size);
    memset(b->bytes + b->head.entries.offset + b->head.entries.size, 0,
           b->size - b->head.entries.offset - b->head.entries.size);
    memcpy(b->bytes, &b->head, sizeof b->head);
}

/* Where a word stands in this part's table, or a number that is not below count. */
static inline uint64_t
dense_place(const struct built_head *head, int64_t word, uint8_t present)
{
    uint64_t place = (uint64_t)word - (uint64_t)head->base;

    return present && place >> head->slice_bits == head->part ? place - ((uint64_t)head->part << head->slice_bits)
                                                              : UINT64_MAX;
}

/* One row a word. *ret_twice: a row whose word has one already, BUILT_NONE when there is none. */
static granary_err
dense_unique(struct build *b, uint64_t count, uint32_t *ret_twice)
{
    int64_t words[JOIN_BLOCK];
    uint8_t present[JOIN_BLOCK];
    uint32_t *table;
    granary_err err = write_front(b, count * sizeof *table, 0);

    *ret_twice = BUILT_NONE;
    if (err != GRANARY_OK) {
        return err;
    }
    table = (uint32_t *)(void *)(b->bytes + b->head.table.offset);
    memset(table, 0, count * sizeof *table);
    for (struct block block = {0}; *ret_twice == BUILT_NONE && block_next(b, &block);) {
        block_words(b, &block, words, present);
        for (int64_t i = 0; i < block.n; i++) {
            uint64_t place = dense_place(&b->head, words[i], present[i]);

            if (place < count) {
                *ret_twice = table[place] != 0 ? reference(b, &block, i) : *ret_twice;
                table[place] = reference(b, &block, i) + 1;
            }
        }
    }
    return GRANARY_OK;
}

/* Several rows a word: they are counted, then put one behind the other. */
static granary_err
dense_runs(struct build *b, uint64_t count)
{
    int64_t words[JOIN_BLOCK];
    uint8_t present[JOIN_BLOCK];
    uint64_t entries = 0;
    uint32_t *starts = calloc(count + 2, sizeof *starts);
    uint32_t *next = starts + 1;
    uint32_t *refs;
    granary_err err = starts == NULL ? no_memory(b) : GRANARY_OK;

    /* Counted two places ahead, so that after the filling each start is where it belongs. */
    for (struct block block = {0}; err == GRANARY_OK && block_next(b, &block);) {
        block_words(b, &block, words, present);
        for (int64_t i = 0; i < block.n; i++) {
            uint64_t place = dense_place(&b->head, words[i], present[i]);

            if (place < count) {
                next[place + 1]++;
                entries++;
            }
        }
    }
    for (uint64_t place = 0; err == GRANARY_OK && place < count; place++) {
        next[place + 1] += next[place];
    }
    if (err == GRANARY_OK) {
        err = write_front(b, (count + 1) * sizeof *starts, entries * sizeof *refs);
    }
    if (err == GRANARY_OK) {
        refs = (uint32_t *)(void *)(b->bytes + b->head.entries.offset);
        for (struct block block = {0}; block_next(b, &block);) {
            block_words(b, &block, words, present);
            for (int64_t i = 0; i < block.n; i++) {
                uint64_t place = dense_place(&b->head, words[i], present[i]);

                if (place < count) {
                    refs[next[place]++] = reference(b, &block, i);
                }
            }
        }
        memcpy(b->bytes + b->head.table.offset, starts, (count + 1) * sizeof *starts);
    }
    free(starts);
    return err;
}

static granary_err
build_dense(struct build *b, int64_t base, uint64_t range)
{
    struct built_head *head = &b->head;
    uint64_t before;
    uint64_t count;
    uint32_t twice;
    granary_err err;

    head->index = BUILT_DENSE;
    head->base = base;
    head->range = range;
    while (range > UINT64_C(1) << b->part_bits << head->slice_bits) {
        head->slice_bits++;
    }
    before = (uint64_t)head->part << head->slice_bits;
    count = before >= range                                    ? 0
            : range - before < UINT64_C(1) << head->slice_bits ? range - before
                                                               : UINT64_C(1) << head->slice_bits;
    head->unique = 1;
    err = dense_unique(b, count, &twice);
    if (err == GRANARY_OK && twice != BUILT_NONE) {
        if (b->must_be_unique) {
            return repeated(b, twice);
        }
        free(b->bytes);
        b->bytes = NULL;
        head->unique = 0;
        err = dense_runs(b, count);
    }
    return err;
}

static int
by_word(const void *a, const void *b)
{
    int64_t x = ((const struct built_entry *)a)->word;
    int64_t y = ((const struct built_entry *)b)->word;

    return (x > y) - (x < y);
}

/* The row of an entry whose word another entry of the bucket has, or BUILT_NONE. Errors: ENOMEM */
static granary_err
find_twice(const struct build *b, const struct built_entry *entries, uint64_t count, uint32_t *ret_twice)
{
    struct built_entry *sorted = NULL;

    *ret_twice = BUILT_NONE;
    if (count > 32) {
        sorted = malloc(count * sizeof *sorted);
        if (sorted == NULL) {
            return no_memory(b);
        }
        memcpy(sorted, entries, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_word);
        for (uint64_t i = 1; i < count && *ret_twice == BUILT_NONE; i++) {
            *ret_twice = sorted[i].word == sorted[i - 1].word ? sorted[i].ref : BUILT_NONE;
        }
        free(sorted);
        return GRANARY_OK;
    }
    for (uint64_t i = 1; i < count && *ret_twice == BUILT_NONE; i++) {
        for (uint64_t j = 0; j < i; j++) {
            *ret_twice = entries[i].word == entries[j].word ? entries[i].ref : *ret_twice;
        }
    }
    return GRANARY_OK;
}

/* Filters, and whether keys are unique: when all entries are in their places. */
static granary_err
finish_directory(struct build *b, const uint64_t *starts)
{
    uint64_t buckets = UINT64_C(1) << b->head.directory_bits;
    uint64_t *directory = (uint64_t *)(void *)(b->bytes + b->head.table.offset);
    const struct built_entry *entries = (const struct built_entry *)(const void *)(b->bytes + b->head.entries.offset);
    granary_err err = GRANARY_OK;

    b->head.unique = 1;
    for (uint64_t i = 0; i < buckets && err == GRANARY_OK; i++) {
        uint64_t filter = 0;
        uint32_t twice = BUILT_NONE;

        for (uint64_t e = starts[i]; e < starts[i + 1]; e++) {
            filter |= built_filter_of(key_hash(entries[e].word));
        }
        directory[i] = starts[i] << 16 | filter;
        if (starts[i + 1] - starts[i] > 1 && (b->head.unique || b->must_be_unique)) {
            err = find_twice(b, entries + starts[i], starts[i + 1] - starts[i], &twice);
        }
        if (twice != BUILT_NONE) {
            b->head.unique = 0;
            err = b->must_be_unique ? repeated(b, twice) : err;
        }
    }
    directory[buckets] = starts[buckets] << 16;
    return err;
}

/* Whether the first part has bits, and how many bytes. The range is the same in all. */
static void
settle_bits(struct build *b, int64_t base, uint64_t range)
{
    bool has = !b->is_tuple && range > 0 && range <= BITS_MAX &&
               (range <= BITS_FREE || range / BITS_PER_ROW <= (uint64_t)b->rows);

    if (has) {
        b->head.base = base;
        b->head.range = range;
    }
    if (has && b->part == 0) {
        b->head.bits.size = (range + 63) / 64 * sizeof(uint64_t);
    }
}

static void
set_bits(struct build *b, const int64_t *words, const uint8_t *present, int64_t n)
{
    uint64_t *bits = (uint64_t *)(void *)(b->bytes + b->head.bits.offset);

    for (int64_t i = 0; i < n; i++) {
        uint64_t place = (uint64_t)words[i] - (uint64_t)b->head.base;

        if (present[i] && place < b->head.range) {
            bits[place >> 6] |= UINT64_C(1) << (place & 63);
        }
    }
}

static granary_err
build_hash(struct build *b)
{
    struct built_head *head = &b->head;
    uint64_t expected = (uint64_t)b->rows >> b->part_bits;
    int64_t words[JOIN_BLOCK];
    uint8_t present[JOIN_BLOCK];
    uint64_t buckets;
    uint64_t count = 0;
    uint64_t *starts;
    uint64_t *next;
    granary_err err = GRANARY_OK;

    head->index = BUILT_HASH;
    while (UINT64_C(1) << head->directory_bits < expected) {
        head->directory_bits++;
    }
    buckets = UINT64_C(1) << head->directory_bits;
    starts = calloc(buckets + 2, sizeof *starts);
    if (starts == NULL) {
        return no_memory(b);
    }
    next = starts + 1;
    for (struct block block = {0}; block_next(b, &block);) {
        block_words(b, &block, words, present);
        for (int64_t i = 0; i < block.n; i++) {
            uint64_t hash = key_hash(words[i]);

            if (present[i] && built_part_of(hash, b->part_bits) == b->part) {
                next[built_bucket_of(hash, b->part_bits, head->directory_bits) + 1]++;
                count++;
            }
        }
    }
    for (uint64_t i = 0; i < buckets; i++) {
        next[i + 1] += next[i];
    }
    err = write_front(b, (buckets + 1) * sizeof *starts, count * sizeof(struct built_entry));
    for (struct block block = {0}; err == GRANARY_OK && block_next(b, &block);) {
        struct built_entry *entries = (struct built_entry *)(void *)(b->bytes + head->entries.offset);

        block_words(b, &block, words, present);
        if (head->bits.size > 0) {
            set_bits(b, words, present, block.n);
        }
        for (int64_t i = 0; i < block.n; i++) {
            uint64_t hash = key_hash(words[i]);

            if (present[i] && built_part_of(hash, b->part_bits) == b->part) {
                entries[next[built_bucket_of(hash, b->part_bits, head->directory_bits)]++] =
                    (struct built_entry){.word = words[i], .ref = reference(b, &block, i)};
            }
        }
    }
    if (err == GRANARY_OK) {
        err = finish_directory(b, starts);
    }
    free(starts);
    return err;
}

static granary_err
build_index(struct build *b)
{
    struct built_head *head = &b->head;
    int64_t base = 0;
    uint64_t range = 1;
    bool is_dense;
    granary_err err;

    *head = (struct built_head){.magic = BUILT_MAGIC,
                                .version = BUILT_VERSION,
                                .key_count = (uint16_t)b->key_count,
                                .shift = b->shift,
                                .part = b->part,
                                .part_bits = b->part_bits,
                                .pieces = (uint32_t)b->piece_count,
                                .rows = (uint64_t)b->rows,
                                .nulls = b->nulls};
    if (b->is_tuple) {
        range = b->tuples.count;
    } else if (b->key_count == 1) {
        base = b->keys[0].any ? b->keys[0].min : 0;
        range = b->keys[0].range;
        if (!b->keys[0].any) {
            range = 0;
        } else if (range == 0) {
            range = UINT64_MAX;
        }
    } else {
        for (size_t k = 0; k < b->key_count; k++) {
            range *= b->keys[k].range;
        }
    }
    is_dense = range <= DENSE_WORDS_FREE || range / DENSE_WORDS_PER_ROW <= (uint64_t)b->rows;
    if (!is_dense) {
        settle_bits(b, base, range);
    }
    err = is_dense ? build_dense(b, base, range) : build_hash(b);
    if (err == GRANARY_OK) {
        write_head(b);
    }
    return err;
}

/* ---- the call ---- */

/* References have room for all rows: pieces above, rows below. */
static granary_err
settle_references(struct build *b)
{
    int64_t longest = 1;

    for (size_t p = 0; p < b->piece_count; p++) {
        b->rows += b->pieces[p]->rows;
        longest = b->pieces[p]->rows > longest ? b->pieces[p]->rows : longest;
    }
    while (b->shift < 40 && longest > INT64_C(1) << b->shift) {
        b->shift++;
    }
    /* The last reference is BUILT_NONE, the one before has no place as reference + 1. */
    if (b->shift > 32 || (uint64_t)b->piece_count << b->shift >= BUILT_NONE - 1) {
        return gr_fail(GRANARY_EFULL, "join: %zu pieces of up to %lld rows are more than one index holds",
                       b->piece_count, (long long)longest);
    }
    return GRANARY_OK;
}

static granary_err
collect_columns(struct build *b, const struct build_request *request)
{
    if (request->key_count == 0 || request->key_count > GR_JOIN_KEYS_MAX) {
        return gr_fail(GRANARY_EINVAL, "join: %zu keys", request->key_count);
    }
    b->key_count = request->key_count;
    b->names = request->keys;
    b->keys = calloc(b->key_count, sizeof *b->keys);
    b->columns = calloc(b->piece_count * b->key_count, sizeof *b->columns);
    if (b->keys == NULL || b->columns == NULL) {
        return no_memory(b);
    }
    for (size_t k = 0; k < b->key_count; k++) {
        b->keys[k].dtype = gr_dtype_parse(request->types[k]);
        b->keys[k].is_bytes = key_is_bytes(b->keys[k].dtype);
        for (size_t p = 0; p < b->piece_count; p++) {
            int position = gr_frame_find(b->pieces[p], request->keys[k]);

            if (position < 0) {
                return gr_fail(GRANARY_ENOENT, "there is no column '%s'", request->keys[k]);
            }
            b->columns[p * b->key_count + k] = &b->pieces[p]->columns[position].view;
        }
    }
    return GRANARY_OK;
}

static void
build_fini(struct build *b)
{
    for (size_t k = 0; b->keys != NULL && k < b->key_count; k++) {
        gr_texts_free(&b->keys[k].strings);
        free(b->keys[k].ids);
    }
    gr_texts_free(&b->tuples);
    free(b->tuple_ids);
    free(b->keys);
    free(b->columns);
    free(b->bytes);
}

granary_err
build_keys(const struct build_request *request, void **ret_bytes, uint64_t *ret_size)
{
    struct build b = {.piece_count = request->piece_count,
                      .pieces = request->pieces,
                      .part = request->part,
                      .part_bits = request->part_bits,
                      .must_be_unique = request->unique,
                      .side = request->side};
    granary_err err = settle_references(&b);

    if (err == GRANARY_OK) {
        err = collect_columns(&b, request);
    }
    if (err == GRANARY_OK) {
        err = measure_keys(&b);
    }
    if (err == GRANARY_OK && b.key_count > 1 && !pack_keys(&b)) {
        err = intern_tuples(&b);
    }
    if (err == GRANARY_OK) {
        err = build_index(&b);
    }
    if (err == GRANARY_OK) {
        *ret_bytes = b.bytes;
        *ret_size = b.size;
        b.bytes = NULL;
    }
    build_fini(&b);
    return err;
}

granary_err
kernel_join_build(struct gr_kernel_call *call)
{
    int64_t part = call_int(call, "part", 0);
    int64_t parts = call_int(call, "parts", 1);
    const Granary__Attr *keys;
    const Granary__Attr *types;
    const granary_frame **pieces = NULL;
    void *bytes = NULL;
    uint64_t size = 0;
    granary_err err = call_attr(call, "keys", GRANARY__ATTR__KIND__STRINGS, &keys);

    if (err == GRANARY_OK) {
        err = call_attr(call, "types", GRANARY__ATTR__KIND__STRINGS, &types);
    }
    if (err == GRANARY_OK && types->n_strings != keys->n_strings) {
        err = gr_fail(GRANARY_EINVAL, "join: %zu keys of %zu types", keys->n_strings, types->n_strings);
    }
    if (err == GRANARY_OK && (parts < 1 || parts > 65536 || (parts & (parts - 1)) != 0 || part < 0 || part >= parts)) {
        err = gr_fail(GRANARY_EINVAL, "join: part %lld of %lld: their number must be a power of two", (long long)part,
                      (long long)parts);
    }
    if (err == GRANARY_OK) {
        err = call_frames_encoded(call, &pieces);
    }
    if (err == GRANARY_OK) {
        err = build_keys(&(struct build_request){.pieces = pieces,
                                                 .piece_count = call->input_count,
                                                 .keys = keys->strings,
                                                 .types = types->strings,
                                                 .key_count = keys->n_strings,
                                                 .part = (uint32_t)part,
                                                 .part_bits = (uint32_t)__builtin_ctzll((unsigned long long)parts),
                                                 .unique = call_bool(call, "unique", false),
                                                 .side = call_string(call, "side", "right")},
                         &bytes, &size);
    }
    if (err == GRANARY_OK) {
        call_yield_bytes(call, 0, bytes, size);
    }
    free(pieces);
    return err;
}
