/*
 * A groupby of rows that lie clustered by a key, as the zone maps of stored chunks tell. Its groups may stand in any
 * order, because only a semi or anti join looks its rows up in them. The chunks' least keys cut the keys into ranges;
 * each range is in one chunk, and perhaps at the border of a neighbour. So each range is grouped by itself, at once:
 * no group is in two of them, and nothing is merged, dealt or sorted.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/buf.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"
#include "tile/frame/group.h"

enum {
    CHUNKS_MOST = 4096,
    READS_MOST = 2,  /* of a chunk, on average: with more, its keys are not clustered */
    CHUNKS_MEAN = 2, /* of a range, at most: ranges are what executors share */
};

#define KEY_MOST (INT64_C(1) << 53) /* a literal that every integer type compares exactly with */

bool
group_order_is_free(const struct tiling *t, size_t i)
{
    bool free = !t->steps->steps[i].is_target;

    for (size_t r = i + 1; r < t->steps->count && free; r++) {
        const struct gr_step *reader = &t->steps->steps[r];

        for (size_t k = 0; k < reader->input_count && !reader->dead && free; k++) {
            const Granary__Attr *how = reader->op == GR_TILE_join ? gr_step_attr(reader, "how") : NULL;

            free = reader->inputs[k] != i ||
                   (k == 1 && how != NULL && how->n_strings > 0 &&
                    (strcmp(how->strings[0], "semi") == 0 || strcmp(how->strings[0], "anti") == 0));
        }
    }
    return free;
}

/* ---- the ranges ---- */

struct ranges {
    const char *key;
    const struct gr_measured *measured;
    const char *source; /* the key's column in the chunks */
    int64_t *cuts;      /* the least keys of the ranges, ascending */
    size_t count;
};

/* What an int64 holds. */
static bool
is_integer(granary_dtype dtype)
{
    return gr_dtype_is_integer(dtype) && dtype != GRANARY_UINT64;
}

static const struct gr_measured_column *
zone_of(const struct ranges *ranges, size_t p)
{
    return gr_measured_column(ranges->measured, p, ranges->source);
}

static int
compare_cuts(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* The last range has no end. */
static bool
ends_before(const struct ranges *ranges, size_t r, int64_t key)
{
    return r + 1 < ranges->count && ranges->cuts[r + 1] <= key;
}

static bool
is_in(const struct ranges *ranges, size_t r, size_t p)
{
    const struct gr_measured_column *zone = zone_of(ranges, p);

    return zone->max.integer >= ranges->cuts[r] && !ends_before(ranges, r, zone->min.integer);
}

static bool
is_whole(const struct ranges *ranges, size_t r, size_t p)
{
    const struct gr_measured_column *zone = zone_of(ranges, p);

    return zone->min.integer >= ranges->cuts[r] && !ends_before(ranges, r, zone->max.integer);
}

/* Whether the key cuts the chunks into ranges that are nearly one chunk each. cuts: room for a chunk each. */
static bool
cut_by(struct ranges *ranges, size_t chunks)
{
    size_t reads = 0;

    for (size_t p = 0; p < chunks; p++) {
        const struct gr_measured_column *zone = zone_of(ranges, p);

        if (zone == NULL || !zone->has_zone || zone->nulls != 0 || zone->min.integer <= -KEY_MOST ||
            zone->max.integer >= KEY_MOST) {
            return false;
        }
        ranges->cuts[p] = zone->min.integer;
    }
    qsort(ranges->cuts, chunks, sizeof *ranges->cuts, compare_cuts);
    ranges->count = 0;
    for (size_t p = 0; p < chunks; p++) {
        if (p == 0 || ranges->cuts[p] > ranges->cuts[ranges->count - 1]) {
            ranges->cuts[ranges->count++] = ranges->cuts[p];
        }
    }
    for (size_t r = 0; r < ranges->count && reads <= READS_MOST * chunks; r++) {
        for (size_t p = 0; p < chunks; p++) {
            reads += is_in(ranges, r, p);
        }
    }
    return reads <= READS_MOST * chunks && ranges->count * CHUNKS_MEAN >= chunks;
}

static bool
find_key(struct tiling *t, size_t i, const struct gr_tiled *in, struct ranges *ranges)
{
    const struct gr_step *step = &t->steps->steps[i];
    const Granary__Attr *keys = gr_step_attr(step, "keys");
    bool found = false;

    for (size_t k = 0; k < keys->n_strings && !found; k++) {
        ranges->key = keys->strings[k];
        ranges->source = tiling_source_column(t, i, ranges->key);
        found = ranges->source != NULL && is_integer(step->type->schema.fields[k].dtype) && cut_by(ranges, in->count);
    }
    return found;
}

/* ---- the operators ---- */

/* The rows of a range: those of the step, and the key. */
static granary_err
add_where(struct tiling *t, size_t i, const struct ranges *ranges, size_t r, gr_attrs attrs)
{
    const Granary__Attr *own = gr_step_attr(&t->steps->steps[i], "where");
    struct gr_buf text = {0};
    granary_err err = GRANARY_OK;

    if (own != NULL && own->n_strings > 0) {
        gr_buf_addf(&text, "(%s) and ", own->strings[0]);
    }
    gr_expr_print_name(ranges->key, &text);
    gr_buf_addf(&text, " >= %" PRId64, ranges->cuts[r]);
    if (r + 1 < ranges->count) {
        gr_buf_addf(&text, " and ");
        gr_expr_print_name(ranges->key, &text);
        gr_buf_addf(&text, " < %" PRId64, ranges->cuts[r + 1]);
    }
    if (gr_buf_ok(&text)) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_string("where", text.bytes));
    } else {
        err = tile_no_memory();
    }
    gr_buf_free(&text);
    return err;
}

/* Columns of a stored chunk, chosen once more: a choice that several ranges shared would be copied to the store. */
static struct gr_piece
chosen_again(struct tiling *t, size_t i, struct gr_piece piece)
{
    const struct gr_chunk *chunk = &t->chunks->chunks[piece.op];
    struct gr_piece of;

    if (chunk->op != GR_CHUNK_select) {
        return piece;
    }
    of = gr_chunk_inputs(t->chunks, chunk)[0];
    return tiling_add(t, i, GR_CHUNK_select, chunk->attrs[0], &of, 1, chunk->bytes);
}

static granary_err
add_range(struct tiling *t, size_t i, const struct gr_tiled *in, const struct ranges *ranges, size_t r,
          struct gr_piece *inputs, gr_attrs final)
{
    gr_attrs map = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna", "columns"));
    uint64_t bytes = bytes_sum(in->bytes, in->count) / ranges->count + 1;
    struct gr_piece table;
    bool whole = true;
    size_t count = 0;
    granary_err err = GRANARY_OK;

    for (size_t p = 0; p < in->count; p++) {
        if (is_in(ranges, r, p)) {
            whole = whole && is_whole(ranges, r, p);
            inputs[count++] = is_whole(ranges, r, p) ? in->pieces[p] : chosen_again(t, i, in->pieces[p]);
        }
    }
    if (!whole) {
        err = add_where(t, i, ranges, r, map);
    } else if (gr_step_attr(&t->steps->steps[i], "where") != NULL) {
        gr_attrs_add(t->chunks, map, gr_attr_copy(gr_step_attr(&t->steps->steps[i], "where")));
    }
    table = tiling_add(t, i, GR_CHUNK_groupby_map, map, inputs, count, bytes);
    t->tiled[i].bytes[r] = bytes;
    t->tiled[i].pieces[r] = tiling_add(t, i, GR_CHUNK_groupby_final, final, &table, 1, bytes);
    return err;
}

granary_err
group_in_ranges(struct tiling *t, size_t i, const struct gr_tiled *in, bool *ret_done)
{
    struct ranges ranges = {.measured = tiling_measured(t, i, 0)};
    struct gr_piece *inputs;
    gr_attrs final;
    granary_err err;

    *ret_done = false;
    if (ranges.measured == NULL || ranges.measured->count != in->count || in->count > CHUNKS_MOST) {
        return ranges.measured == NULL ? TILE_WAIT : GRANARY_OK;
    }
    inputs = tiling_scratch(t, in->count, sizeof *inputs);
    ranges.cuts = tiling_scratch(t, in->count, sizeof *ranges.cuts);
    err = inputs == NULL || ranges.cuts == NULL ? tile_no_memory() : GRANARY_OK;
    if (err == GRANARY_OK && find_key(t, i, in, &ranges)) {
        *ret_done = true;
        final = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna"));
        gr_attrs_add(t->chunks, final, gr_attr_new_bool("any_order", true));
        err = tiled_init(t, &t->tiled[i], ranges.count, true);
        for (size_t r = 0; r < ranges.count && err == GRANARY_OK; r++) {
            err = add_range(t, i, in, &ranges, r, inputs, final);
        }
    }
    return err;
}
