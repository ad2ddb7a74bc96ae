/*
 * The index of a build (kernel/join/built.h): a dense table over the range of the words where that pays, else an
 * unchained hash table. Both are counting sorts: rows are counted by place, then written behind one another.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text/buf.h"
#include "kernel/join/building.h"

#define ALIGNMENT 64u
/*
 * A dense table may have so many words a row, and so many at any rate. It takes up to twice the memory of a hash
 * table. But it takes only one line a row to make and to look up, and rows in about the order of their keys find
 * those lines in the cache.
 */
#define DENSE_WORDS_PER_ROW 16
#define DENSE_WORDS_FREE    65536
/* A hash table has bits for its words when they are no more a row than that, or few at any rate, and not too many. */
#define BITS_PER_ROW 4096
#define BITS_FREE    (UINT64_C(1) << 19)
#define BITS_MAX     (UINT64_C(1) << 26)

static uint64_t
aligned(uint64_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* A key with two rows: the message names it. */
static granary_err
fail_repeated(const struct build *b, uint32_t ref)
{
    size_t piece = (size_t)((uint64_t)ref >> b->shift);
    int64_t row = (int64_t)(ref & ((UINT64_C(1) << b->shift) - 1));
    struct gr_buf text = {0};
    granary_err err;

    for (size_t k = 0; k < b->key_count; k++) {
        gr_buf_addf(&text, "%s%s = ", k == 0 ? "" : ", ", b->names[k]);
        gr_value_format(build_column(b, piece, k), row, &text);
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
        return build_no_memory(b);
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
    for (struct build_block block = {0}; *ret_twice == BUILT_NONE && build_next(b, &block);) {
        build_words(b, &block, words, present);
        for (int64_t i = 0; i < block.n; i++) {
            uint64_t place = dense_place(&b->head, words[i], present[i]);

            if (place < count) {
                *ret_twice = table[place] != 0 ? build_reference(b, &block, i) : *ret_twice;
                table[place] = build_reference(b, &block, i) + 1;
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
    granary_err err = starts == NULL ? build_no_memory(b) : GRANARY_OK;

    /* Counted two places ahead, so that after the filling each start is where it belongs. */
    for (struct build_block block = {0}; err == GRANARY_OK && build_next(b, &block);) {
        build_words(b, &block, words, present);
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
        for (struct build_block block = {0}; build_next(b, &block);) {
            build_words(b, &block, words, present);
            for (int64_t i = 0; i < block.n; i++) {
                uint64_t place = dense_place(&b->head, words[i], present[i]);

                if (place < count) {
                    refs[next[place]++] = build_reference(b, &block, i);
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
            return fail_repeated(b, twice);
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
            return build_no_memory(b);
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
            err = b->must_be_unique ? fail_repeated(b, twice) : err;
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
        return build_no_memory(b);
    }
    next = starts + 1;
    for (struct build_block block = {0}; build_next(b, &block);) {
        build_words(b, &block, words, present);
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
    for (struct build_block block = {0}; err == GRANARY_OK && build_next(b, &block);) {
        struct built_entry *entries = (struct built_entry *)(void *)(b->bytes + head->entries.offset);

        build_words(b, &block, words, present);
        if (head->bits.size > 0) {
            set_bits(b, words, present, block.n);
        }
        for (int64_t i = 0; i < block.n; i++) {
            uint64_t hash = key_hash(words[i]);

            if (present[i] && built_part_of(hash, b->part_bits) == b->part) {
                entries[next[built_bucket_of(hash, b->part_bits, head->directory_bits)]++] =
                    (struct built_entry){.word = words[i], .ref = build_reference(b, &block, i)};
            }
        }
    }
    if (err == GRANARY_OK) {
        err = finish_directory(b, starts);
    }
    free(starts);
    return err;
}

granary_err
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
