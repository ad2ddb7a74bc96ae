/*
 * Shuffles: the rows of a chunk are dealt out to parts, which become packed frames in one object (data/layout/packed.h). So
 * there are only as many objects as mappers and reducers together.
 *
 *   shuffle_split   by the hash of keys (equal keys of any dtype that joins compare go to the same part), or by a
 *                   column of positions; rows keep their order within a part
 *   order_merge     puts rows back into the order that a column of positions tells
 *
 * A position is the number of a chunk << ORDER_BITS, and the number of a row in it; chunks may be runs of one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "data/layout/packed.h"
#include "data/texts.h"
#include "kernel/core/dealt.h"
#include "kernel/core/gather.h"
#include "kernel/join/words.h"

#define ORDER_BITS 40

/* ---- which part ---- */

/* Hashes of rows [from, from + n) mixed into those of the keys before. */
static void
mix_hashes(const granary_column *column, granary_dtype dtype, int64_t from, int64_t n, uint64_t *hashes)
{
    int64_t words[JOIN_BLOCK];
    uint8_t present[JOIN_BLOCK];

    if (key_is_bytes(dtype)) {
        for (int64_t i = 0; i < n; i++) {
            gr_int128 scratch;
            size_t size = 0;
            const char *bytes = key_bytes(column, dtype, from + i, &scratch, &size);

            hashes[i] = hashes[i] * 31 + (bytes == NULL ? 0 : gr_text_hash(bytes, size));
        }
        return;
    }
    memset(present, 1, (size_t)n);
    key_words(column, dtype, from, n, words, present);
    for (int64_t i = 0; i < n; i++) {
        hashes[i] = hashes[i] * 31 + (present[i] ? key_hash(words[i]) : 0);
    }
}

#define COPY_COLUMN                                                                                                    \
    "#copy" /* of hot keys: 1 where rows are copied that others of the frame are dealt, and the other way round */

/* What becomes of a row. */
enum heat { HEAT_NONE, HEAT_DEAL, HEAT_COPY };

/* A key of which a frame has many rows, by its hash: that other keys have the same one does no harm. */
struct hot_key {
    uint64_t hash;
    enum heat heat;
};

struct hot {
    struct hot_key *keys; /* ascending */
    size_t count;
    uint8_t *rows; /* the heat of each row */
    bool copies;   /* there is one to copy */
};

static void
hot_fini(struct hot *hot)
{
    free(hot->keys);
    free(hot->rows);
}

static int
compare_keys(const void *a, const void *b)
{
    const struct hot_key *x = a;
    const struct hot_key *y = b;

    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* The columns of the keys, to be freed. */
static granary_err
key_columns(const struct gr_chunk_shuffle_split *params, const granary_frame *frame,
            const granary_column ***ret_columns)
{
    const Granary__Attr *keys = params->keys;

    if (keys == NULL || params->types == NULL || params->types->n_strings != keys->n_strings) {
        return gr_fail(GRANARY_EINVAL, "shuffle_split: keys and types do not fit");
    }
    return frame_columns(frame, keys->strings, keys->n_strings, ret_columns);
}

/* The hashes of rows [from, from + n). */
static void
hash_block(const struct gr_chunk_shuffle_split *params, const granary_column *const *columns, int64_t from, int64_t n,
           uint64_t *hashes)
{
    memset(hashes, 0, (size_t)n * sizeof *hashes);
    for (size_t k = 0; k < params->keys->n_strings; k++) {
        mix_hashes(columns[k], gr_dtype_parse(params->types->strings[k]), from, n, hashes);
    }
}

/* What becomes of rows of each hot key. Errors: EINVAL */
static granary_err
hot_heats(const struct gr_chunk_shuffle_split *params, const granary_frame *keys, struct hot *hot)
{
    int at = gr_frame_find(keys, COPY_COLUMN);
    bool copy = strcmp(params->hot, "copy") == 0;

    if (at >= 0 && keys->columns[at].view.dtype != GRANARY_INT64) {
        return gr_fail(GRANARY_EINVAL, "shuffle_split: column '%s' is not int64", COPY_COLUMN);
    }
    for (int64_t i = 0; i < keys->rows; i++) {
        bool other = at >= 0 && ((const int64_t *)keys->columns[at].view.values)[i] == 1;

        hot->keys[i].heat = copy != other ? HEAT_COPY : HEAT_DEAL;
        hot->copies = hot->copies || hot->keys[i].heat == HEAT_COPY;
    }
    return GRANARY_OK;
}

/* The hot keys of a frame. Of two with one hash both sides of a join take the same one. Errors: ENOENT, EINVAL, ENOMEM */
static granary_err
hot_init(const struct gr_chunk_shuffle_split *params, const granary_frame *keys, int64_t rows, struct hot *hot)
{
    const granary_column **columns = NULL;
    uint64_t hashes[JOIN_BLOCK];
    granary_err err = key_columns(params, keys, &columns);

    hot->keys = calloc((size_t)keys->rows + 1, sizeof *hot->keys);
    hot->rows = calloc((size_t)rows + 1, sizeof *hot->rows);
    if (err == GRANARY_OK && (hot->keys == NULL || hot->rows == NULL)) {
        err = gr_no_memory("shuffle_split");
    }
    for (int64_t from = 0; from < keys->rows && err == GRANARY_OK; from += JOIN_BLOCK) {
        int64_t n = keys->rows - from < JOIN_BLOCK ? keys->rows - from : JOIN_BLOCK;

        hash_block(params, columns, from, n, hashes);
        for (int64_t i = 0; i < n; i++) {
            hot->keys[from + i].hash = hashes[i];
        }
    }
    err = err == GRANARY_OK ? hot_heats(params, keys, hot) : err;
    if (err == GRANARY_OK) {
        hot->count = (size_t)keys->rows;
        qsort(hot->keys, hot->count, sizeof *hot->keys, compare_keys);
    }
    free(columns);
    return err;
}

/* hot: where rows that have such keys are flagged; no keys: none. */
static granary_err
parts_by_keys(const struct gr_chunk_shuffle_split *params, const granary_frame *frame, const struct hot *hot,
              uint16_t *ret_parts)
{
    const granary_column **columns = NULL;
    uint64_t hashes[JOIN_BLOCK];
    granary_err err = key_columns(params, frame, &columns);

    for (int64_t from = 0; from < frame->rows && err == GRANARY_OK; from += JOIN_BLOCK) {
        int64_t n = frame->rows - from < JOIN_BLOCK ? frame->rows - from : JOIN_BLOCK;

        hash_block(params, columns, from, n, hashes);
        for (int64_t i = 0; i < n; i++) {
            /* Once more: who builds a hash table of a part must not find the bits that made the part. Where no key has a
             * value, the hash is 0, and so is the part. */
            ret_parts[from + i] =
                (uint16_t)((key_hash((int64_t)(hashes[i] * 0x9e3779b97f4a7c15u)) >> 32) * (uint64_t)params->parts >>
                           32);
        }
        for (int64_t i = 0; i < n && hot->count > 0; i++) {
            const struct hot_key wanted = {.hash = hashes[i]};
            const struct hot_key *found = bsearch(&wanted, hot->keys, hot->count, sizeof *hot->keys, compare_keys);

            hot->rows[from + i] = found == NULL ? HEAT_NONE : (uint8_t)found->heat;
        }
    }
    free(columns);
    return err;
}

static granary_err
parts_by_order(const granary_frame *frame, const char *name, int64_t parts, uint16_t *ret_parts)
{
    int at = gr_frame_find(frame, name);
    const int64_t *order;

    if (at < 0 || frame->columns[at].view.dtype != GRANARY_INT64) {
        return gr_fail(GRANARY_ENOENT, "shuffle_split: there is no int64 column '%s'", name);
    }
    order = frame->columns[at].view.values;
    for (int64_t i = 0; i < frame->rows; i++) {
        uint64_t chunk = (uint64_t)order[i] >> ORDER_BITS;

        if (chunk >= (uint64_t)parts) {
            return gr_fail(GRANARY_EINVAL, "shuffle_split: position %lld is of no part", (long long)order[i]);
        }
        ret_parts[i] = (uint16_t)chunk;
    }
    return GRANARY_OK;
}

/* ---- dealing out ---- */

/* The frame with a column of positions, from `first` on, behind the others. */
static granary_err
with_order(const granary_frame *frame, const char *name, int64_t first, granary_frame **ret_frame)
{
    granary_frame *wider = gr_frame_create(frame->count + 1, frame->rows);
    struct gr_column order;
    granary_err err = gr_column_alloc_unset(GRANARY_INT64, frame->rows, 0, false, &order);

    if (err != GRANARY_OK) {
        gr_frame_destroy(wider);
        return err;
    }
    for (int64_t i = 0; i < frame->rows; i++) {
        ((int64_t *)(uintptr_t)order.view.values)[i] = first + i;
    }
    err = gr_frame_set(wider, frame->count, name, &order);
    for (size_t c = 0; c < frame->count && err == GRANARY_OK; c++) {
        err = gr_frame_set_borrowed(wider, c, frame->columns[c].view.name, &frame->columns[c].view);
    }
    return gr_frame_give(wider, err, ret_frame);
}

/* Rows with hot keys, dealt to all parts: each gets a run of them. The first run goes to the part whose turn it is. */
static void
deal_hot(const struct hot *hot, int64_t rows, int64_t parts, int64_t turn, uint16_t *of)
{
    int64_t count = 0;
    int64_t at = 0;

    for (int64_t i = 0; i < rows; i++) {
        count += hot->rows[i] == HEAT_DEAL;
    }
    for (int64_t i = 0; i < rows; i++) {
        if (hot->rows[i] == HEAT_DEAL) {
            of[i] = (uint16_t)(((int64_t)((gr_int128)at++ * parts / count) + turn) % parts);
        }
    }
}

/* Each row with a hot key comes once for each part, and *of becomes the parts of these. */
static granary_err
copy_hot(const struct hot *hot, const granary_frame *frame, int64_t parts, uint16_t **of, granary_frame **ret_frame)
{
    int64_t count = 0;
    int64_t at = 0;
    int64_t *rows;
    uint16_t *wider;
    granary_err err;

    for (int64_t i = 0; i < frame->rows; i++) {
        count += hot->rows[i] == HEAT_COPY ? parts : 1;
    }
    rows = malloc(((size_t)count + 1) * sizeof *rows);
    wider = malloc(((size_t)count + 1) * sizeof *wider);
    err = rows == NULL || wider == NULL ? gr_no_memory("shuffle_split") : GRANARY_OK;
    for (int64_t i = 0; i < frame->rows && err == GRANARY_OK; i++) {
        for (int64_t p = 0; p < (hot->rows[i] == HEAT_COPY ? parts : 1); p++) {
            wider[at] = hot->rows[i] == HEAT_COPY ? (uint16_t)p : (*of)[i];
            rows[at++] = i;
        }
    }
    if (err == GRANARY_OK) {
        err = gr_frame_take(frame, rows, count, ret_frame);
    }
    if (err == GRANARY_OK) {
        free(*of);
        *of = wider;
        wider = NULL;
    }
    free(wider);
    free(rows);
    return err;
}

static granary_err
check_split(const struct gr_chunk_shuffle_split *params)
{
    bool unnamed = params->by_order && params->order == NULL;

    if (params->parts < 1 || params->parts > GR_PACKED_MOST || unnamed) {
        return gr_fail(GRANARY_EINVAL, "shuffle_split: %lld parts%s", (long long)params->parts,
                       unnamed ? ", by a column that is not named" : "");
    }
    if (params->chunk < 0 || params->chunk >> (62 - ORDER_BITS) != 0 || params->first < 0 ||
        params->first >> ORDER_BITS != 0 || params->turn < 0) {
        return gr_fail(GRANARY_EINVAL, "shuffle_split: chunk %lld from row %lld has no positions",
                       (long long)params->chunk, (long long)params->first);
    }
    return GRANARY_OK;
}

granary_err
kernel_shuffle_split(struct gr_kernel_call *call, const struct gr_chunk_shuffle_split *params)
{
    const char *order = params->order;
    bool by_order = params->by_order;
    const granary_frame *frame;
    const granary_frame *keys = NULL;
    granary_frame *wider = NULL;
    granary_frame *copies = NULL;
    struct hot hot = {.count = 0};
    uint16_t *of = NULL;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = check_split(params);
    }
    if (err == GRANARY_OK && params->hot != NULL && !by_order) {
        err = call_frame_encoded(call, 1, &keys);
        err = err == GRANARY_OK ? hot_init(params, keys, frame->rows, &hot) : err;
    }
    if (err == GRANARY_OK && (of = malloc(((size_t)frame->rows + 1) * sizeof *of)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "shuffle_split: out of memory for %lld rows", (long long)frame->rows);
    }
    if (err == GRANARY_OK) {
        err = by_order ? parts_by_order(frame, order, params->parts, of) : parts_by_keys(params, frame, &hot, of);
    }
    if (err == GRANARY_OK && order != NULL && !by_order) {
        err = with_order(frame, order, (params->chunk << ORDER_BITS) + params->first, &wider);
        frame = err == GRANARY_OK ? wider : frame;
    }
    if (err == GRANARY_OK && hot.count > 0) {
        deal_hot(&hot, frame->rows, params->parts, params->turn, of);
    }
    if (err == GRANARY_OK && hot.copies) {
        err = copy_hot(&hot, frame, params->parts, &of, &copies);
        frame = err == GRANARY_OK ? copies : frame;
    }
    if (err == GRANARY_OK) {
        err = dealt_yield(call, frame, of, params->parts);
    }
    gr_frame_destroy(copies);
    gr_frame_destroy(wider);
    hot_fini(&hot);
    free(of);
    return err;
}

/* ---- back into order ---- */

struct source {
    const int64_t *order; /* ascending */
    int64_t rows;
    int64_t at;
};

/* The heap's top moves down to where it belongs: the source with the next position is at the top. */
static void
heap_sift(struct source *const *sources, uint32_t *heap, size_t count, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        const struct source *left = sources[heap[child]];
        uint32_t top = heap[at];

        if (child + 1 < count &&
            sources[heap[child + 1]]->order[sources[heap[child + 1]]->at] < left->order[left->at]) {
            child++;
        }
        if (sources[top]->order[sources[top]->at] <= sources[heap[child]]->order[sources[heap[child]]->at]) {
            return;
        }
        heap[at] = heap[child];
        heap[child] = top;
    }
}

static granary_err
open_sources(const granary_frame *const *frames, size_t count, const char *name, struct source *sources)
{
    for (size_t i = 0; i < count; i++) {
        int at = gr_frame_find(frames[i], name);

        if (at < 0 || frames[i]->columns[at].view.dtype != GRANARY_INT64) {
            return gr_fail(GRANARY_ENOENT, "order_merge: there is no int64 column '%s' in input %zu", name, i);
        }
        sources[i] = (struct source){.order = frames[i]->columns[at].view.values, .rows = frames[i]->rows};
    }
    return GRANARY_OK;
}

/* References (piece << shift | row) in the order of the positions; equal ones in the order of the inputs. */
static granary_err
merge_refs(struct source *sources, size_t count, uint32_t shift, uint32_t *refs)
{
    struct source **leads = calloc(count + 1, sizeof *leads);
    uint32_t *heap = calloc(count + 1, sizeof *heap);
    size_t in_heap = 0;
    int64_t at = 0;

    if (leads == NULL || heap == NULL) {
        free(leads);
        free(heap);
        return gr_fail(GRANARY_ENOMEM, "order_merge: out of memory for %zu inputs", count);
    }
    for (size_t i = 0; i < count; i++) {
        leads[i] = &sources[i];
        if (sources[i].rows > 0) {
            heap[in_heap++] = (uint32_t)i;
        }
    }
    for (size_t i = in_heap; i-- > 0;) {
        heap_sift(leads, heap, in_heap, i);
    }
    while (in_heap > 0) {
        struct source *next = leads[heap[0]];

        refs[at++] = (uint32_t)((uint64_t)heap[0] << shift | (uint64_t)next->at++);
        if (next->at == next->rows) {
            heap[0] = heap[--in_heap];
        }
        heap_sift(leads, heap, in_heap, 0);
    }
    free(leads);
    free(heap);
    return GRANARY_OK;
}

granary_err
kernel_order_merge(struct gr_kernel_call *call, const struct gr_chunk_order_merge *params)
{
    const granary_frame **frames = NULL;
    struct source *sources = calloc(call->input_count + 1, sizeof *sources);
    struct gather gather = {.piece_count = call->input_count};
    uint32_t *refs = NULL;
    int64_t longest = 1;
    granary_frame *merged = NULL;
    granary_err err = sources == NULL ? gr_no_memory("order_merge") : GRANARY_OK;

    if (err == GRANARY_OK) {
        err = call_frames_encoded(call, &frames);
    }
    if (err == GRANARY_OK) {
        err = open_sources(frames, call->input_count, params->order, sources);
    }
    for (size_t i = 0; i < call->input_count && err == GRANARY_OK; i++) {
        gather.count += frames[i]->rows;
        longest = frames[i]->rows > longest ? frames[i]->rows : longest;
    }
    while (gather.shift < 40 && longest > INT64_C(1) << gather.shift) {
        gather.shift++;
    }
    if (err == GRANARY_OK &&
        (gather.shift > 32 || (uint64_t)call->input_count << gather.shift >= (uint64_t)UINT32_MAX)) {
        err = gr_fail(GRANARY_EFULL, "order_merge: %zu inputs of up to %lld rows are too many", call->input_count,
                      (long long)longest);
    }
    if (err == GRANARY_OK && (refs = malloc(((size_t)gather.count + 1) * sizeof *refs)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "order_merge: out of memory for %lld rows", (long long)gather.count);
    }
    if (err == GRANARY_OK) {
        err = merge_refs(sources, call->input_count, gather.shift, refs);
    }
    if (err == GRANARY_OK) {
        gather.refs = refs;
        gather.pieces = frames;
        err = gather_check(&gather);
    }
    if (err == GRANARY_OK) {
        err = gather_frame(&gather, params->order, &merged);
    }
    free(refs);
    free(frames);
    free(sources);
    return call_yield(call, 0, merged, err);
}
