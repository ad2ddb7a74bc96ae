/*
 * window. Functions that only look back, over rows as they stand, go from chunk to chunk. Little data: all at once.
 * Else the columns that functions need are dealt out by the keys of partitions, and each chunk takes its results back.
 */
#include <string.h>

#include "graph/window.h"
#include "tile/core/rules.h"

enum { PARTS_MAX = 256, EDGES_MAX = 65536, MEMORY_PARTS = 16, PACKED_BYTES = 2048 };

#define AT_ONCE_BYTES ((uint64_t)1 << 20)
#define PART_BYTES    ((uint64_t)16 << 20)

/* What all operators of a window have; nulls become flags. */
static gr_attrs
window_attrs(struct tiling *t, size_t i, const char *count_name, int64_t count)
{
    gr_attrs attrs = tiling_attrs(t, i, NAMES("columns", "partition", "dropna", "by", "descending", "nan_largest"));
    const Granary__Attr *nulls = gr_step_attr(&t->steps->steps[i], "nulls");
    bool *first = nulls == NULL ? NULL : tiling_scratch(t, nulls->n_strings, sizeof *first);

    for (size_t k = 0; first != NULL && k < nulls->n_strings; k++) {
        first[k] = strcmp(nulls->strings[k], "first") == 0;
    }
    if (nulls != NULL) {
        gr_attrs_add(t->chunks, attrs,
                     first == NULL ? NULL : gr_attr_new_bools("nulls_first", first, nulls->n_strings));
    }
    if (count_name != NULL) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_int(count_name, count));
    }
    return attrs;
}

static uint64_t
bytes_out(const struct tiling *t, size_t i, uint64_t bytes)
{
    const struct gr_step *step = &t->steps->steps[i];
    size_t in = gr_step_width(&t->steps->steps[step->inputs[0]]) + 1;

    return bytes / in * (gr_step_width(step) + 1) + 1;
}

static granary_err
window_at_once(struct tiling *t, size_t i, const struct gr_tiled *in)
{
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = tiled_init(t, out, 1, true);

    if (err == GRANARY_OK) {
        out->bytes[0] = bytes_out(t, i, bytes_sum(in->bytes, in->count));
        out->rows[0] = in->count == 1 ? in->rows[0] : -1;
        out->pieces[0] =
            tiling_add(t, i, GR_CHUNK_window, window_attrs(t, i, NULL, 0), in->pieces, in->count, out->bytes[0]);
    }
    return err;
}

static granary_err
window_chain(struct tiling *t, size_t i, const struct gr_tiled *in)
{
    gr_attrs attrs = tiling_attrs(t, i, NAMES("columns"));
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = tiled_init(t, out, in->count, true);
    struct gr_piece inputs[3];

    for (size_t p = 0; p < in->count && err == GRANARY_OK; p++) {
        inputs[0] = in->pieces[p];
        out->bytes[p] = bytes_out(t, i, in->bytes[p]);
        out->rows[p] = in->rows[p];
        out->pieces[p] = gr_chunks_add(t->chunks, &(struct gr_chunk_spec){.op = GR_CHUNK_window_next,
                                                                          .step = (uint32_t)i,
                                                                          .shared = attrs,
                                                                          .inputs = inputs,
                                                                          .input_count = p == 0 ? 1 : 3,
                                                                          .outputs = 3,
                                                                          .bytes = out->bytes[p]});
        inputs[1] = (struct gr_piece){.op = out->pieces[p].op, .output = 1};
        inputs[2] = (struct gr_piece){.op = out->pieces[p].op, .output = 2};
    }
    return err;
}

static size_t
count_parts(const struct tiling *t, size_t i, const struct gr_tiled *in, uint64_t total)
{
    uint64_t memory = t->options->memory_bytes;
    uint64_t most = memory > 0 && memory / 4 < PART_BYTES ? memory / 4 + 1 : PART_BYTES;
    uint64_t parts = total / most + 2;

    if (gr_step_attr(&t->steps->steps[i], "partition") == NULL) {
        return 1;
    }
    parts = parts > PARTS_MAX ? PARTS_MAX : parts;
    return parts * in->count > EDGES_MAX ? EDGES_MAX / in->count + 1 : parts;
}

static granary_err
window_in_parts(struct tiling *t, size_t i, const struct gr_tiled *in, uint64_t total)
{
    struct gr_tiled *out = &t->tiled[i];
    size_t parts = count_parts(t, i, in, total);
    gr_attrs split_attrs = window_attrs(t, i, "parts", (int64_t)parts);
    gr_attrs part_attrs = window_attrs(t, i, "parts", (int64_t)in->count);
    gr_attrs attrs = window_attrs(t, i, NULL, 0);
    struct gr_piece *dealt = tiling_scratch(t, in->count, sizeof *dealt);
    struct gr_piece *results = tiling_scratch(t, parts + 1, sizeof *results);
    granary_err err = dealt == NULL || results == NULL ? tile_no_memory() : tiled_init(t, out, in->count, true);

    for (size_t p = 0; p < in->count && err == GRANARY_OK; p++) {
        dealt[p] = tiling_add(t, i, GR_CHUNK_window_split, split_attrs, &in->pieces[p], 1,
                              in->bytes[p] + in->bytes[p] / 8 + PACKED_BYTES * parts);
    }
    for (size_t j = 0; j < parts && err == GRANARY_OK; j++) {
        pieces_choose(dealt, in->count, j);
        results[j + 1] = tiling_add(t, i, GR_CHUNK_window_part, part_attrs, dealt, in->count,
                                    total / parts + PACKED_BYTES * in->count);
    }
    for (size_t p = 0; p < in->count && err == GRANARY_OK; p++) {
        results[0] = in->pieces[p];
        pieces_choose(results + 1, parts, p);
        out->bytes[p] = bytes_out(t, i, in->bytes[p]);
        out->rows[p] = in->rows[p];
        out->pieces[p] = tiling_add(t, i, GR_CHUNK_window_join, attrs, results, parts + 1, out->bytes[p]);
    }
    return err;
}

/* Whether every function only looks back, over rows as they stand. */
static granary_err
looks_back(const struct tiling *t, size_t i, bool *ret_back)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_window *windows;
    size_t count;
    bool back = gr_step_attr(step, "partition") == NULL && gr_step_attr(step, "by") == NULL;
    granary_err err = gr_windows_parse(gr_step_attr(step, "columns"), &windows, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t k = 0; k < count; k++) {
        back = back && gr_window_is_forward(&windows[k]);
    }
    gr_windows_free(windows, count);
    *ret_back = back;
    return GRANARY_OK;
}

granary_err
tile_window(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    uint64_t memory = t->options->memory_bytes;
    int64_t chunk = t->options->chunk_bytes;
    uint64_t little = chunk > 0 && (uint64_t)chunk < AT_ONCE_BYTES ? (uint64_t)chunk : AT_ONCE_BYTES;
    uint64_t total = bytes_sum(in->bytes, in->count);
    bool back = false;
    granary_err err = looks_back(t, i, &back);

    if (err != GRANARY_OK) {
        return err;
    }
    if (memory > 0 && memory / MEMORY_PARTS < little) {
        little = memory / MEMORY_PARTS;
    }
    if (in->count > 1 && back) {
        return window_chain(t, i, in);
    }
    return in->count <= 1 || total <= little ? window_at_once(t, i, in) : window_in_parts(t, i, in, total);
}
