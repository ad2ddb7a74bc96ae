/*
 * Keys of a block become words, then references: by a table over their range, or by a directory of hashes with a
 * Bloom filter in each entry, whose lines are fetched for the whole block before the first is read. What may belong
 * together becomes pairs, as many at a time as memory allows.
 */
#include "kernel/join/matching.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/process/limits.h"
#include "graph/join.h"

/* Pairs that are held whatever memory there is, and the part of it that more may take: the executor holds them and
 * their rows beside what the store has. */
#define PAIRS_ALWAYS (INT64_C(1) << 26)
#define PAIRS_PART   8
/* Pairs that are settled together: their rows stay in the cache. */
#define PAIRS_SETTLED 262144

static int64_t
pairs_most(int64_t need)
{
    struct gr_memory_limits limits;
    uint64_t most;

    if (need <= PAIRS_ALWAYS) {
        return need;
    }
    limits = gr_memory_limits();
    most = (limits.cgroup < limits.ram ? limits.cgroup : limits.ram) / PAIRS_PART / (2 * sizeof(uint32_t));
    most = most < PAIRS_ALWAYS ? PAIRS_ALWAYS : most;
    return most < UINT32_MAX ? (int64_t)most : (int64_t)UINT32_MAX - 1;
}

granary_err
pairs_reserve(struct pairs *pairs, int64_t more)
{
    int64_t need = pairs->count + more;
    int64_t room = pairs->room;
    int64_t most;
    uint32_t *grown;

    if (need <= room) {
        return GRANARY_OK;
    }
    most = pairs_most(need);
    if (need > most) {
        return gr_fail(
            GRANARY_EFULL,
            "join: a chunk of the result would have more than %lld rows: join by more columns, aggregate one side "
            "first, or take smaller chunks (--chunk-bytes)",
            (long long)most);
    }
    while (room < need) {
        room = room < 1024 ? 1024 : room + room / 2;
    }
    grown = realloc(pairs->probe, (size_t)room * sizeof *grown);
    if (grown != NULL) {
        pairs->probe = grown;
        grown = realloc(pairs->built, (size_t)room * sizeof *grown);
    }
    if (grown == NULL) {
        return gr_fail(GRANARY_ENOMEM, "join: out of memory for a result of %lld rows", (long long)need);
    }
    pairs->built = grown;
    pairs->room = room;
    return GRANARY_OK;
}

void
pairs_free(struct pairs *pairs)
{
    free(pairs->probe);
    free(pairs->built);
    *pairs = (struct pairs){0};
}

/* ---- one row a key: references of a block ---- */

static void
dense_refs(struct matching *m)
{
    const struct built_head *head = &m->built->parts[0].head;
    uint64_t mask = (UINT64_C(1) << head->slice_bits) - 1;

    if (m->built->part_count == 1) {
        const uint32_t *table = m->built->parts[0].words;
        uint64_t count = m->built->parts[0].word_count;

        for (int64_t i = 0; i < m->n; i++) {
            uint64_t place = (uint64_t)m->words[i] - (uint64_t)head->base;

            m->refs[i] = (m->present[i] && place < count ? table[place] : 0) - 1;
        }
        return;
    }
    for (int64_t i = 0; i < m->n; i++) {
        uint64_t place = (uint64_t)m->words[i] - (uint64_t)head->base;

        m->refs[i] =
            (m->present[i] && place < head->range ? m->built->parts[place >> head->slice_bits].words[place & mask]
                                                  : 0) -
            1;
    }
}

/* Hashes, and the lines of the directory on their way. */
static void
hash_block(struct matching *m)
{
    uint32_t part_bits = m->built->parts[0].head.part_bits;

    for (int64_t i = 0; i < m->n; i++) {
        const struct built_part *part;

        m->hashes[i] = key_hash(m->words[i]);
        part = &m->built->parts[built_part_of(m->hashes[i], part_bits)];
        __builtin_prefetch(&part->directory[built_bucket_of(m->hashes[i], part_bits, part->head.directory_bits)]);
    }
}

/* The bucket of a hash; false: the filter says no. */
static inline bool
bucket_of(const struct built *built, uint64_t hash, const struct built_part **ret_part, uint64_t *ret_begin,
          uint64_t *ret_end)
{
    const struct built_part *part = &built->parts[built_part_of(hash, built->parts[0].head.part_bits)];
    uint64_t bucket = built_bucket_of(hash, part->head.part_bits, part->head.directory_bits);
    uint64_t word = part->directory[bucket];
    uint64_t end;

    if ((word & built_filter_of(hash)) == 0) {
        return false;
    }
    end = part->directory[bucket + 1] >> 16;
    *ret_part = part;
    *ret_begin = word >> 16;
    *ret_end = end <= part->entry_count ? end : part->entry_count;
    return *ret_begin < *ret_end;
}

static void
hash_refs(struct matching *m)
{
    const struct built_part *part;
    uint64_t begin;
    uint64_t end;

    hash_block(m);
    for (int64_t i = 0; i < m->n; i++) {
        m->present[i] = (uint8_t)(m->present[i] & bucket_of(m->built, m->hashes[i], &part, &begin, &end));
        if (m->present[i]) {
            __builtin_prefetch(&part->entries[begin]);
        }
    }
    for (int64_t i = 0; i < m->n; i++) {
        m->refs[i] = BUILT_NONE;
        if (m->present[i] && bucket_of(m->built, m->hashes[i], &part, &begin, &end)) {
            for (uint64_t e = begin; e < end && m->refs[i] == BUILT_NONE; e++) {
                m->refs[i] = part->entries[e].word == m->words[i] ? part->entries[e].ref : BUILT_NONE;
            }
        }
    }
}

/* ---- pairs of a block ---- */

/* From one reference a row. */
static granary_err
emit_refs(struct matching *m)
{
    struct pairs *pairs = &m->pairs;
    uint32_t *probe;
    uint32_t *built;
    int64_t at = 0;
    granary_err err = pairs_reserve(pairs, m->n);

    if (err != GRANARY_OK) {
        return err;
    }
    probe = pairs->probe + pairs->count;
    built = pairs->built + pairs->count;
    for (int64_t i = 0; i < m->n; i++) {
        probe[at] = m->row[i];
        built[at] = m->refs[i]; /* overwritten by the next one unless it counts */
        at += m->kind == MATCH_LEFT || (m->refs[i] == BUILT_NONE) == (m->kind == MATCH_ANTI);
    }
    pairs->count += at;
    return GRANARY_OK;
}

/* Whether a row is done with one reference, or none. */
static granary_err
emit_one(struct matching *m, int64_t i, uint32_t ref)
{
    granary_err err = pairs_reserve(&m->pairs, 1);

    if (err == GRANARY_OK) {
        m->pairs.probe[m->pairs.count] = m->row[i];
        m->pairs.built[m->pairs.count++] = ref;
    }
    return err;
}

static granary_err
emit_run(struct matching *m, int64_t i, const uint32_t *refs, uint64_t count)
{
    granary_err err = pairs_reserve(&m->pairs, (int64_t)count);

    if (err == GRANARY_OK) {
        for (uint64_t r = 0; r < count; r++) {
            m->pairs.probe[m->pairs.count] = m->row[i];
            m->pairs.built[m->pairs.count++] = refs[r];
        }
    }
    return err;
}

/* The references of a word in a table that has several a word. Errors: ECORRUPT */
static granary_err
dense_run(const struct matching *m, int64_t i, const uint32_t **ret_refs, uint64_t *ret_count)
{
    const struct built_head *head = &m->built->parts[0].head;
    uint64_t place = (uint64_t)m->words[i] - (uint64_t)head->base;
    const struct built_part *part;

    *ret_count = 0;
    if (!m->present[i] || place >= head->range) {
        return GRANARY_OK;
    }
    part = &m->built->parts[place >> head->slice_bits];
    place &= (UINT64_C(1) << head->slice_bits) - 1;
    if (part->head.unique) {
        uint32_t word = part->words[place];

        /* The table has references + 1, so it cannot be pointed into. */
        *ret_refs = NULL;
        *ret_count = word != 0;
        return GRANARY_OK;
    }
    if (part->words[place] > part->words[place + 1] || part->words[place + 1] > part->entry_count) {
        return gr_fail(GRANARY_ECORRUPT, "the built side of a join: its table does not fit its rows");
    }
    *ret_refs = part->refs + part->words[place];
    *ret_count = part->words[place + 1] - part->words[place];
    return GRANARY_OK;
}

/* The only reference of a word, of a part that has one a word. */
static uint32_t
dense_ref(const struct matching *m, int64_t i)
{
    const struct built_head *head = &m->built->parts[0].head;
    uint64_t place = (uint64_t)m->words[i] - (uint64_t)head->base;

    return m->built->parts[place >> head->slice_bits].words[place & ((UINT64_C(1) << head->slice_bits) - 1)] - 1;
}

static granary_err
emit_dense(struct matching *m, int64_t i)
{
    const uint32_t *refs = NULL;
    uint64_t count;
    uint32_t only = 0;
    granary_err err = dense_run(m, i, &refs, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    if (count > 0 && refs == NULL) {
        only = dense_ref(m, i);
        refs = &only;
    }
    switch (m->kind) {
    case MATCH_INNER:
        return emit_run(m, i, refs, count);
    case MATCH_LEFT:
        return count > 0 ? emit_run(m, i, refs, count) : emit_one(m, i, BUILT_NONE);
    case MATCH_SEMI:
        return count > 0 ? emit_one(m, i, refs[0]) : GRANARY_OK;
    default:
        return count > 0 ? GRANARY_OK : emit_one(m, i, BUILT_NONE);
    }
}

static granary_err
emit_hash(struct matching *m, int64_t i)
{
    const struct built_part *part;
    uint64_t begin = 0;
    uint64_t end = 0;
    bool any = false;
    granary_err err = GRANARY_OK;

    if (m->present[i] && bucket_of(m->built, m->hashes[i], &part, &begin, &end)) {
        for (uint64_t e = begin; e < end && err == GRANARY_OK; e++) {
            if (part->entries[e].word != m->words[i]) {
                continue;
            }
            if (m->kind == MATCH_INNER || m->kind == MATCH_LEFT || (m->kind == MATCH_SEMI && !any)) {
                err = emit_one(m, i, part->entries[e].ref);
            }
            any = true;
        }
    }
    if (err == GRANARY_OK && !any && (m->kind == MATCH_LEFT || m->kind == MATCH_ANTI)) {
        err = emit_one(m, i, BUILT_NONE);
    }
    return err;
}

/* NOT IN: a null on the probing side is neither in nor not in. */
static void
drop_nulls(struct matching *m, int64_t before)
{
    struct pairs *pairs = &m->pairs;
    int64_t to = before;

    for (int64_t i = before; i < pairs->count; i++) {
        const granary_column *column = m->columns[0];

        if (column->dtype != GRANARY_NULLTYPE && !gr_is_null(column, pairs->probe[i])) {
            pairs->probe[to] = pairs->probe[i];
            pairs->built[to++] = pairs->built[i];
        }
    }
    pairs->count = to;
}

/* All pairs of rows up to that one of the block are there. */
static granary_err
settle_some(struct matching *m, int64_t i)
{
    granary_err err = GRANARY_OK;

    if (m->settle != NULL && m->pairs.count >= PAIRS_SETTLED) {
        err = m->settle(m->own, &m->pairs, (int64_t)m->row[i] + 1);
        m->pairs.count = 0;
    }
    return err;
}

static granary_err
match_block(struct matching *m)
{
    bool is_dense = m->built->parts[0].head.index == BUILT_DENSE;
    int64_t before = m->pairs.count;
    granary_err err = GRANARY_OK;

    matching_words(m);
    if (m->built->unique) {
        if (is_dense) {
            dense_refs(m);
        } else {
            hash_refs(m);
        }
        err = emit_refs(m);
    } else {
        if (!is_dense) {
            hash_block(m);
        }
        for (int64_t i = 0; i < m->n && err == GRANARY_OK; i++) {
            err = is_dense ? emit_dense(m, i) : emit_hash(m, i);
            err = err == GRANARY_OK ? settle_some(m, i) : err;
        }
    }
    if (err == GRANARY_OK && m->null_aware && m->settle == NULL && m->built->parts[0].head.rows > 0) {
        drop_nulls(m, before);
    }
    return err;
}

/* ---- all rows ---- */

static granary_err
matching_init(struct matching *m)
{
    size_t keys = m->built->key_count;

    m->numbers = calloc(keys, sizeof *m->numbers);
    m->tuple = malloc(keys * JOIN_BLOCK * sizeof *m->tuple);
    if (m->numbers == NULL || m->tuple == NULL) {
        return gr_fail(GRANARY_ENOMEM, "join: out of memory for %zu keys", keys);
    }
    for (size_t k = 0; k < keys; k++) {
        const granary_column *dictionary = m->columns[k]->dictionary;

        if (dictionary == NULL || !gr_dtype_is_text(m->built->keys[k].dtype)) {
            continue;
        }
        m->numbers[k] = malloc((size_t)(dictionary->rows + 1) * sizeof **m->numbers);
        if (m->numbers[k] == NULL) {
            return gr_fail(GRANARY_ENOMEM, "join: out of memory for a dictionary of %lld strings",
                           (long long)dictionary->rows);
        }
        for (int64_t i = 0; i <= dictionary->rows; i++) {
            m->numbers[k][i] = NOT_LOOKED;
        }
    }
    return GRANARY_OK;
}

static void
matching_free(struct matching *m)
{
    for (size_t k = 0; m->numbers != NULL && k < m->built->key_count; k++) {
        free(m->numbers[k]);
    }
    free(m->numbers);
    free(m->tuple);
    pairs_free(&m->pairs);
    free(m);
}

/* Rows from .. from + span of the frame, or of these the n selected, which count from `first`. */
static granary_err
match_span(struct matching *m, int64_t from, int64_t span, const uint16_t *selected, int64_t n, int64_t first)
{
    m->from = from;
    m->span = span;
    m->n = n;
    for (int64_t i = 0; i < n; i++) {
        m->row[i] = (uint32_t)(selected != NULL ? first + selected[i] : from + i);
    }
    return n > 0 ? match_block(m) : GRANARY_OK;
}

static granary_err
match_all_rows(struct matching *m)
{
    granary_err err = pairs_reserve(&m->pairs, m->rows);

    for (int64_t from = 0; from < m->rows && err == GRANARY_OK; from += JOIN_BLOCK) {
        int64_t n = m->rows - from < JOIN_BLOCK ? m->rows - from : JOIN_BLOCK;

        err = match_span(m, from, n, NULL, n, 0);
    }
    return err;
}

/* A block of rows is cut where ours end. */
static granary_err
match_some_rows(struct matching *m, struct rows *rows)
{
    struct rows_block block;
    granary_err err;

    while ((err = rows_next(rows, &block)) == GRANARY_OK && block.count > 0) {
        int64_t done = 0;

        for (int64_t from = 0; done < block.count && err == GRANARY_OK; from += JOIN_BLOCK) {
            const uint16_t *selected = block.selected == NULL ? NULL : block.selected + done;
            int64_t n = block.count - done < JOIN_BLOCK ? block.count - done : JOIN_BLOCK;
            int64_t span = m->rows - block.from - from < JOIN_BLOCK ? m->rows - block.from - from : JOIN_BLOCK;

            while (selected != NULL && n > 0 && selected[n - 1] >= from + JOIN_BLOCK) {
                n--;
            }
            err = match_span(m, block.from + from, selected == NULL ? n : span, selected, n, block.from);
            done += n;
        }
        if (err != GRANARY_OK) {
            return err;
        }
    }
    return err;
}

granary_err
match_rows(const struct match_request *request, struct pairs *ret_pairs)
{
    const struct built *built = request->built;
    struct matching *m;
    granary_err err;

    if (request->key_count != built->key_count || request->key_count > GR_JOIN_KEYS_MAX) {
        return gr_fail(GRANARY_EINVAL, "join: %zu keys for a built side with %zu", request->key_count,
                       built->key_count);
    }
    if (request->rows >= (int64_t)UINT32_MAX) {
        return gr_fail(GRANARY_EFULL, "join: %lld rows are more than one chunk can have: use smaller chunks",
                       (long long)request->rows);
    }
    m = calloc(1, sizeof *m);
    if (m == NULL) {
        return gr_no_memory("join");
    }
    m->built = built;
    m->columns = request->columns;
    m->rows = request->rows;
    m->kind = request->kind;
    m->null_aware = request->null_aware;
    m->settle = request->settle;
    m->own = request->own;
    err = matching_init(m);
    /* NOT IN a list with a null: never true. */
    if (err == GRANARY_OK && !(m->null_aware && built->parts[0].head.nulls > 0)) {
        err = request->selected == NULL ? match_all_rows(m) : match_some_rows(m, request->selected);
    }
    if (err == GRANARY_OK) {
        *ret_pairs = m->pairs;
        m->pairs = (struct pairs){0};
    }
    matching_free(m);
    return err;
}

granary_err
match_filter(const struct pairs *pairs, const uint8_t *kept, int64_t from, int64_t to, enum match_kind kind,
             struct pairs *out)
{
    int64_t i = 0;
    granary_err err = pairs_reserve(out, pairs->count + (kind == MATCH_INNER || kind == MATCH_SEMI ? 0 : to - from));

    for (int64_t row = from; row < to && err == GRANARY_OK; row++) {
        int64_t at = out->count;
        bool found = false;

        for (; i < pairs->count && pairs->probe[i] == (uint32_t)row; i++) {
            bool takes = kept[i] != 0 && (kind == MATCH_INNER || kind == MATCH_LEFT || (kind == MATCH_SEMI && !found));

            out->probe[at] = (uint32_t)row;
            out->built[at] = pairs->built[i]; /* overwritten by the next one unless it counts */
            at += takes;
            found = found || kept[i] != 0;
        }
        if (!found && (kind == MATCH_LEFT || kind == MATCH_ANTI)) {
            out->probe[at] = (uint32_t)row;
            out->built[at++] = BUILT_NONE;
        }
        out->count = at;
    }
    return err;
}
