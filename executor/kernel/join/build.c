/* join_build: the keys of one side become an index (kernel/join/built.h). */
#include <stdlib.h>

#include "graph/join.h"
#include "kernel/core/frame_call.h"
#include "kernel/join/build.h"
#include "kernel/join/building.h"

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
        return build_no_memory(b);
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
        err = build_measure(&b);
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
kernel_join_build(struct gr_kernel_call *call, const struct gr_chunk_join_build *params)
{
    int64_t part = params->part;
    int64_t parts = params->parts;
    const Granary__Attr *keys = params->keys;
    const Granary__Attr *types = params->types;
    const granary_frame **pieces = NULL;
    void *bytes = NULL;
    uint64_t size = 0;
    granary_err err = GRANARY_OK;

    if (types->n_strings != keys->n_strings) {
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
                                                 .unique = params->unique,
                                                 .side = params->side},
                         &bytes, &size);
    }
    if (err == GRANARY_OK) {
        call_yield_bytes(call, 0, bytes, size);
    }
    free(pieces);
    return err;
}
