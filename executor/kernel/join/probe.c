/*
 * join_probe: the rows of one side are looked up in what join_build made of the other, and the result's columns are
 * gathered, each once. Rows come in the order of the probing side, then of the built side.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/place.h"
#include "kernel/core/frame_call.h"
#include "kernel/core/gather.h"
#include "kernel/join/build.h"
#include "kernel/join/match.h"
#include "kernel/rows/rows.h"

/* Pairs of a cross join that are looked at together. */
#define CROSS_PAIRS 1048576

struct probe {
    const struct gr_kernel_call *call;
    const struct gr_chunk_join_probe *params;
    const granary_frame *probing;
    granary_frame *owned_probing; /* when it came in several frames */
    size_t probes;                /* how many */
    const granary_frame **pieces; /* of the built side */
    size_t piece_count;
    uint32_t shift; /* of references */
    struct built built;
    void *owned_built; /* what was built here */
    enum match_kind kind;
    bool is_cross;
    struct pairs pairs;
};

/* ---- the call ---- */

static granary_err
parse_kind(struct probe *p)
{
    static const struct {
        const char *name;
        enum match_kind kind;
    } kinds[] = {{"inner", MATCH_INNER},
                 {"left", MATCH_LEFT},
                 {"semi", MATCH_SEMI},
                 {"anti", MATCH_ANTI},
                 {"cross", MATCH_INNER}};
    const char *how = p->params->how;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(how, kinds[i].name) == 0) {
            p->kind = kinds[i].kind;
            p->is_cross = strcmp(how, "cross") == 0;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EINVAL, "attribute 'how' is '%.40s'; it can be inner, left, semi, anti or cross", how);
}

/* The first `probes` inputs are the probing side. */
static granary_err
open_probing(struct probe *p)
{
    const struct gr_kernel_call *call = p->call;
    int64_t count = p->params->probes;
    const granary_frame **frames;
    granary_err err;

    if (count < 1 || (uint64_t)count > call->input_count) {
        return gr_fail(GRANARY_EINVAL, "join: %lld probing frames among %zu inputs", (long long)count,
                       call->input_count);
    }
    p->probes = (size_t)count;
    if (count == 1) {
        return call_frame_encoded(call, 0, &p->probing);
    }
    frames = calloc(p->probes, sizeof *frames);
    if (frames == NULL) {
        return gr_fail(GRANARY_ENOMEM, "join: out of memory for %zu inputs", p->probes);
    }
    err = GRANARY_OK;
    for (size_t i = 0; i < p->probes && err == GRANARY_OK; i++) {
        err = call_frame_encoded(call, i, &frames[i]);
    }
    if (err == GRANARY_OK) {
        err = gr_frame_concat(frames, p->probes, &p->owned_probing);
        p->probing = p->owned_probing;
    }
    free(frames);
    return err;
}

/* The parts of the build: inputs behind the frames. */
static granary_err
open_built(struct probe *p, size_t parts)
{
    const struct gr_kernel_call *call = p->call;
    size_t first = p->probes + p->piece_count;
    struct built_bytes *bytes;
    granary_err err = GRANARY_OK;

    if (parts > call->input_count - first) {
        return gr_fail(GRANARY_EINVAL, "join: input %zu is missing: what join_build made", call->input_count);
    }
    bytes = calloc(parts, sizeof *bytes);
    if (bytes == NULL) {
        return gr_fail(GRANARY_ENOMEM, "join: out of memory for %zu parts", parts);
    }
    for (size_t i = 0; i < parts && err == GRANARY_OK; i++) {
        const struct gr_value *value = &call->inputs[first + i];

        bytes[i] = (struct built_bytes){value->bytes, value->bytes_size};
        err = value->kind == GR_VALUE_BYTES
                  ? GRANARY_OK
                  : gr_fail(GRANARY_ETYPE, "join: input %zu is not what join_build makes", first + i);
    }
    if (err == GRANARY_OK) {
        err = built_open(bytes, parts, &p->built);
    }
    free(bytes);
    return err;
}

/* Frames built here and now. side: for messages, of keys that must not repeat; NULL: they may. */
static granary_err
build_here(const struct probe *p, const granary_frame *const *pieces, size_t count, const Granary__Attr *keys,
           const char *side, void **ret_bytes, uint64_t *ret_size)
{
    const Granary__Attr *types = p->params->types;

    if (keys == NULL || types == NULL || types->n_strings != keys->n_strings) {
        return gr_fail(GRANARY_EINVAL, "join: keys and types do not fit");
    }
    return build_keys(&(struct build_request){.pieces = pieces,
                                              .piece_count = count,
                                              .keys = keys->strings,
                                              .types = types->strings,
                                              .key_count = keys->n_strings,
                                              .unique = side != NULL,
                                              .side = side == NULL ? "" : side},
                      ret_bytes, ret_size);
}

static granary_err
build_all(struct probe *p)
{
    const struct gr_chunk_join_probe *params = p->params;
    struct built_bytes bytes = {0};
    void *checked = NULL;
    granary_err err = GRANARY_OK;

    if (p->piece_count == 0) {
        return gr_fail(GRANARY_EINVAL, "join: there are no frames to build of");
    }
    if (params->unique_probing != NULL) {
        err = build_here(p, &p->probing, 1, params->keys, params->unique_probing, &checked, &bytes.size);
        free(checked);
    }
    if (err == GRANARY_OK) {
        err = build_here(p, p->pieces, p->piece_count, params->built_keys, params->unique_built, &p->owned_built,
                         &bytes.size);
    }
    bytes.bytes = p->owned_built;
    return err == GRANARY_OK ? built_open(&bytes, 1, &p->built) : err;
}

/* Inputs: the probing frames, the built side's pieces, then the parts of the build, unless it is built here. */
static granary_err
open_inputs(struct probe *p)
{
    const struct gr_kernel_call *call = p->call;
    size_t parts = (size_t)p->params->parts;
    granary_err err = open_probing(p);

    if (err != GRANARY_OK) {
        return err;
    }
    p->pieces = calloc(call->input_count + 1, sizeof *p->pieces);
    if (p->pieces == NULL) {
        return gr_fail(GRANARY_ENOMEM, "join: out of memory for %zu inputs", call->input_count);
    }
    while (err == GRANARY_OK && p->probes + p->piece_count < call->input_count &&
           call->inputs[p->probes + p->piece_count].kind == GR_VALUE_FRAME) {
        err = call_frame_encoded(call, p->probes + p->piece_count, &p->pieces[p->piece_count]);
        p->piece_count++;
    }
    if (err == GRANARY_OK && !p->is_cross) {
        err = parts == 0 ? build_all(p) : open_built(p, parts);
    }
    if (err == GRANARY_OK && !p->is_cross) {
        p->shift = p->built.parts[0].head.shift;
    }
    return err;
}

/* ---- columns by where they come from ---- */

static struct gather
probing_gather(const struct probe *p, const struct pairs *pairs)
{
    return (struct gather){.refs = pairs->probe,
                           .count = pairs->count,
                           .shift = 32,
                           .piece_count = 1,
                           .pieces = &p->probing,
                           .ascending = true};
}

static struct gather
built_gather(const struct probe *p, const struct pairs *pairs)
{
    return (struct gather){.refs = pairs->built,
                           .count = pairs->count,
                           .shift = p->shift,
                           .piece_count = p->piece_count,
                           .pieces = p->pieces};
}

/* Whether every row of the probing side comes once: then its columns are as they are. */
static bool
is_identity(const struct probe *p, const struct pairs *pairs)
{
    uint32_t other = 0;

    if (pairs->count != p->probing->rows) {
        return false;
    }
    for (int64_t i = 0; i < pairs->count; i++) {
        other |= pairs->probe[i] ^ (uint32_t)i;
    }
    return other == 0;
}

/* "both", or text where there is no row of the built side: a column of two strings. */
static granary_err
indicator(const struct pairs *pairs, const char *text, struct gr_column *ret_column)
{
    const char *const texts[] = {"both", text};
    struct gr_dictionary *dictionary = NULL;
    struct gr_column entries;
    struct gr_column codes = {0};
    int32_t *offsets;
    granary_err err = gr_column_alloc(GRANARY_STRING, 2, (int64_t)(strlen(texts[0]) + strlen(text)), false, &entries);

    if (err != GRANARY_OK) {
        return err;
    }
    offsets = (int32_t *)(uintptr_t)entries.view.offsets;
    for (int i = 0; i < 2; i++) {
        memcpy((char *)(uintptr_t)entries.view.values + offsets[i], texts[i], strlen(texts[i]));
        offsets[i + 1] = offsets[i] + (int32_t)strlen(texts[i]);
    }
    gr_column_finish(&entries);
    err = gr_dictionary_create(&entries, &dictionary);
    if (err == GRANARY_OK) {
        err = gr_column_alloc_unset(GRANARY_INT32, pairs->count, 0, false, &codes);
    }
    if (err != GRANARY_OK) {
        gr_dictionary_unref(dictionary);
        return err;
    }
    for (int64_t i = 0; i < pairs->count; i++) {
        ((int32_t *)(uintptr_t)codes.view.values)[i] = pairs->built[i] == BUILT_NONE;
    }
    gr_column_set_dictionary(&codes, dictionary);
    *ret_column = codes;
    return GRANARY_OK;
}

static granary_err
nulls(const char *dtype, int64_t rows, struct gr_column *ret_column)
{
    granary_err err = gr_column_alloc(gr_dtype_parse(dtype), rows, 0, true, ret_column);

    if (err == GRANARY_OK) {
        gr_column_finish(ret_column);
    }
    return err;
}

/* What follows a prefix, or NULL. */
static const char *
behind(const char *source, const char *prefix)
{
    size_t length = strlen(prefix);

    return strncmp(source, prefix, length) == 0 ? source + length : NULL;
}

/* The frame with a column for each entry of a mapping name -> source. */
static granary_err
make_frame(const struct probe *p, const struct pairs *pairs, const Granary__Attr *map, granary_frame **ret_frame)
{
    struct gather probing = probing_gather(p, pairs);
    struct gather built = built_gather(p, pairs);
    bool identity = is_identity(p, pairs);
    granary_frame *frame = gr_frame_create(map->n_keys, pairs->count);
    granary_err err = frame == NULL        ? gr_fail(GRANARY_ENOMEM, "join: out of memory for %zu columns", map->n_keys)
                      : p->piece_count > 0 ? gather_check(&built)
                                           : GRANARY_OK;

    for (size_t i = 0; i < map->n_keys && err == GRANARY_OK; i++) {
        const char *source = map->strings[i];
        struct gr_column column;
        const char *name;

        if ((name = behind(source, "probe.")) != NULL && identity && p->owned_probing == NULL &&
            !gr_frame_is_late(p->probing, name)) {
            int position = gr_frame_find(p->probing, name);

            err = position < 0 ? gr_fail(GRANARY_ENOENT, "there is no column '%s'", name)
                               : gr_frame_set_borrowed(frame, i, map->keys[i], &p->probing->columns[position].view);
            continue;
        }
        if (name != NULL) {
            err = gather_column(&probing, name, &column);
        } else if ((name = behind(source, "built.")) != NULL && p->piece_count > 0) {
            err = gather_column(&built, name, &column);
        } else if ((name = behind(source, "null.")) != NULL) {
            err = nulls(name, pairs->count, &column);
        } else if ((name = behind(source, "indicator.")) != NULL) {
            err = indicator(pairs, name, &column);
        } else {
            err = gr_fail(GRANARY_EINVAL, "join: column '%s' cannot come from '%s'", map->keys[i], source);
        }
        if (err == GRANARY_OK) {
            err = gr_frame_set(frame, i, map->keys[i], &column);
        }
    }
    return gr_frame_give(frame, err, ret_frame);
}

/* That frame is about to be made, and is what the operator yields. */
static void
expect_frame(const struct probe *p, const struct pairs *pairs, const Granary__Attr *map)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < map->n_keys; i++) {
        const char *name = behind(map->strings[i], "probe.");
        const granary_frame *frame = p->probing;
        int at;

        if (name == NULL && (name = behind(map->strings[i], "built.")) != NULL && p->piece_count > 0) {
            frame = p->pieces[0];
        }
        at = name == NULL ? -1 : gr_frame_find(frame, name);
        bytes += at < 0 ? (uint64_t)pairs->count * 8 : gr_place_need(&frame->columns[at].view, pairs->count);
        bytes += (uint64_t)gr_bitmap_bytes(pairs->count) + 128;
    }
    gr_place_expect(map->n_keys, bytes);
}

/* ---- pairs ---- */

/* For which pairs `where` is true; a byte each, to be freed. */
static granary_err
pairs_where(const struct probe *p, const struct pairs *pairs, uint8_t **ret_kept)
{
    const Granary__Attr *map = p->params->where_columns;
    granary_frame *frame = NULL;
    struct rows_spec spec = {.where = p->params->where};
    struct rows_block block = {0};
    struct rows *rows = NULL;
    uint8_t *kept = malloc((size_t)pairs->count + 1);
    granary_err err = kept == NULL
                          ? gr_fail(GRANARY_ENOMEM, "join: out of memory for %lld pairs", (long long)pairs->count)
                      : map == NULL ? gr_fail(GRANARY_EINVAL, "join: 'where' has no 'where_columns'")
                                    : GRANARY_OK;

    if (err == GRANARY_OK) {
        err = make_frame(p, pairs, map, &frame);
    }
    if (err == GRANARY_OK) {
        memset(kept, 0, (size_t)pairs->count);
        err = rows_open(frame, &spec, &rows);
    }
    while (err == GRANARY_OK && (err = rows_next(rows, &block)) == GRANARY_OK && block.count > 0) {
        for (int64_t i = 0; i < block.count; i++) {
            kept[block.from + (block.selected != NULL ? block.selected[i] : i)] = 1;
        }
    }
    rows_close(rows);
    gr_frame_destroy(frame);
    if (err != GRANARY_OK) {
        free(kept);
        return err;
    }
    *ret_kept = kept;
    return GRANARY_OK;
}

/* Pairs of equal keys, for which `where` is asked some at a time. */
struct settling {
    const struct probe *p;
    struct pairs pairs; /* what is left */
    int64_t row;        /* those before it are settled */
};

static granary_err
settle(void *own, const struct pairs *pairs, int64_t to)
{
    struct settling *settling = own;
    uint8_t *kept = NULL;
    granary_err err = call_go_on(settling->p->call);

    err = err == GRANARY_OK ? pairs_where(settling->p, pairs, &kept) : err;
    if (err == GRANARY_OK) {
        err = match_filter(pairs, kept, settling->row, to, settling->p->kind, &settling->pairs);
    }
    settling->row = to;
    free(kept);
    return err;
}

static granary_err
match_keys(struct probe *p)
{
    const char *filter = p->params->filter;
    const Granary__Attr *keys = p->params->keys;
    const granary_column **columns = NULL;
    struct rows *selected = NULL;
    struct settling settling = {.p = p};
    bool asks = p->params->where != NULL;
    granary_err err = keys == NULL ? gr_fail(GRANARY_EINVAL, "join: there are no keys") : GRANARY_OK;

    if (err == GRANARY_OK) {
        err = frame_columns(p->probing, keys->strings, keys->n_strings, &columns);
    }
    if (err == GRANARY_OK && filter != NULL) {
        err = rows_open(p->probing, &(struct rows_spec){.where = filter}, &selected);
    }
    if (err == GRANARY_OK) {
        err = match_rows(&(struct match_request){.built = &p->built,
                                                 .columns = columns,
                                                 .key_count = keys->n_strings,
                                                 .rows = p->probing->rows,
                                                 .selected = selected,
                                                 .kind = asks ? MATCH_INNER : p->kind,
                                                 .null_aware = p->params->null_aware,
                                                 .settle = asks ? settle : NULL,
                                                 .own = &settling},
                         &p->pairs);
    }
    if (err == GRANARY_OK && asks) {
        err = settle(&settling, &p->pairs, p->probing->rows);
    }
    if (err == GRANARY_OK && asks) {
        pairs_free(&p->pairs);
        p->pairs = settling.pairs;
        settling.pairs = (struct pairs){0};
    }
    pairs_free(&settling.pairs);
    rows_close(selected);
    free(columns);
    return err;
}

/* Append every row from..to of the probing side with every row of the built side. */
static granary_err
cross_rows(const struct probe *p, int64_t from, int64_t to, struct pairs *pairs)
{
    int64_t built_rows = 0;
    granary_err err;

    for (size_t piece = 0; piece < p->piece_count; piece++) {
        built_rows += p->pieces[piece]->rows;
    }
    if (to > from && built_rows > (int64_t)UINT32_MAX / (to - from)) {
        return gr_fail(
            GRANARY_EFULL,
            "join: every row of %lld beside every row of %lld is more than a chunk can have: join by a column, "
            "filter or aggregate one side first, or take smaller chunks (--chunk-bytes)",
            (long long)(to - from), (long long)built_rows);
    }
    err = pairs_reserve(pairs, (to - from) * built_rows);
    for (int64_t row = from; row < to && err == GRANARY_OK; row++) {
        for (size_t piece = 0; piece < p->piece_count; piece++) {
            for (int64_t i = 0; i < p->pieces[piece]->rows; i++) {
                pairs->probe[pairs->count] = (uint32_t)row;
                pairs->built[pairs->count++] = (uint32_t)((uint64_t)piece << p->shift | (uint64_t)i);
            }
        }
    }
    return err;
}

static granary_err
append_kept(struct pairs *to, const struct pairs *from, const uint8_t *kept)
{
    granary_err err = pairs_reserve(to, from->count);

    for (int64_t i = 0; i < from->count && err == GRANARY_OK; i++) {
        to->probe[to->count] = from->probe[i];
        to->built[to->count] = from->built[i];
        to->count += kept[i] != 0;
    }
    return err;
}

static granary_err
cross_settle_references(struct probe *p)
{
    int64_t longest = 1;

    for (size_t piece = 0; piece < p->piece_count; piece++) {
        longest = p->pieces[piece]->rows > longest ? p->pieces[piece]->rows : longest;
    }
    while (p->shift < 40 && longest > INT64_C(1) << p->shift) {
        p->shift++;
    }
    return p->shift <= 32 && (uint64_t)p->piece_count << p->shift < BUILT_NONE
               ? GRANARY_OK
               : gr_fail(GRANARY_EFULL, "join: %zu pieces of up to %lld rows are more than a cross join takes",
                         p->piece_count, (long long)longest);
}

static granary_err
match_all(struct probe *p)
{
    int64_t built_rows = 0;
    int64_t step;
    granary_err err = cross_settle_references(p);

    for (size_t piece = 0; piece < p->piece_count; piece++) {
        built_rows += p->pieces[piece]->rows;
    }
    step = p->params->where == NULL || built_rows == 0 ? p->probing->rows
           : built_rows < CROSS_PAIRS                  ? CROSS_PAIRS / built_rows
                                                       : 1;
    for (int64_t from = 0; from < p->probing->rows && err == GRANARY_OK; from += step) {
        int64_t to = p->probing->rows - from < step ? p->probing->rows : from + step;
        struct pairs pairs = {0};
        uint8_t *kept = NULL;

        err = call_go_on(p->call);
        err = err == GRANARY_OK ? cross_rows(p, from, to, p->params->where == NULL ? &p->pairs : &pairs) : err;
        if (err == GRANARY_OK && p->params->where != NULL) {
            err = pairs_where(p, &pairs, &kept);
        }
        if (err == GRANARY_OK && p->params->where != NULL) {
            err = append_kept(&p->pairs, &pairs, kept);
        }
        free(kept);
        pairs_free(&pairs);
    }
    return err;
}

granary_err
kernel_join_probe(struct gr_kernel_call *call, const struct gr_chunk_join_probe *params)
{
    struct probe p = {.call = call, .params = params};
    granary_frame *frame = NULL;
    granary_err err = parse_kind(&p);

    if (err == GRANARY_OK) {
        err = open_inputs(&p);
    }
    if (err == GRANARY_OK) {
        err = p.is_cross ? match_all(&p) : match_keys(&p);
    }
    if (err == GRANARY_OK) {
        expect_frame(&p, &p.pairs, params->result);
        err = make_frame(&p, &p.pairs, params->result, &frame);
    }
    pairs_free(&p.pairs);
    built_close(&p.built);
    gr_frame_destroy(p.owned_probing);
    free(p.owned_built);
    free(p.pieces);
    return call_yield(call, 0, frame, err);
}
