/*
 * concat: frames one below the other are the pieces of all inputs, as they are. Only where an input has other columns
 * than the result, its pieces are brought to them. Side by side needs rows at the same places: pieces that are known
 * to be as long are put together one by one, else all of each input at once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text/buf.h"
#include "graph/expr.h"
#include "graph/operators/concat.h"
#include "tile/core/rules.h"

/* ---- one below the other ---- */

/* Whether an input yields just the columns that the step yields, in their order. */
static bool
fits(const struct gr_step *from, const struct gr_step *step)
{
    const struct gr_schema *a = &from->type->schema;
    const struct gr_schema *b = &step->type->schema;
    size_t x = 0;
    size_t y = 0;

    for (;; x++, y++) {
        while (x < a->count && !gr_step_yields(from, x)) {
            x++;
        }
        while (y < b->count && !gr_step_yields(step, y)) {
            y++;
        }
        if (x == a->count || y == b->count) {
            return x == a->count && y == b->count;
        }
        if (a->fields[x].dtype != b->fields[y].dtype || strcmp(a->fields[x].name, b->fields[y].name) != 0) {
            return false;
        }
    }
}

/* Expressions for the columns that an input does not have as they are wanted: "cast(`x` as float64)". */
static granary_err
add_casts(struct tiling *t, const struct gr_step *from, const struct gr_step *step, gr_attrs *ret_attrs)
{
    const struct gr_schema *schema = &step->type->schema;
    char **names = tiling_scratch(t, schema->count, sizeof *names);
    char **texts = tiling_scratch(t, schema->count, sizeof *texts);
    size_t count = 0;
    granary_err err = names == NULL || texts == NULL ? tile_no_memory() : GRANARY_OK;

    for (size_t c = 0; c < schema->count && err == GRANARY_OK; c++) {
        const struct gr_field *field = &schema->fields[c];
        int at = gr_schema_find(&from->type->schema, field->name);
        struct gr_buf text = {0};

        if (!gr_step_yields(step, c) || (at >= 0 && from->type->schema.fields[at].dtype == field->dtype)) {
            continue;
        }
        gr_buf_addf(&text, "cast(");
        if (at >= 0) {
            gr_expr_print_name(field->name, &text);
        } else {
            gr_buf_addf(&text, "null");
        }
        gr_buf_addf(&text, " as %s)", granary_dtype_name(field->dtype));
        err = gr_buf_ok(&text) ? GRANARY_OK : tile_no_memory();
        names[count] = field->name;
        texts[count++] = text.bytes;
    }
    *ret_attrs = 0;
    if (err == GRANARY_OK && count > 0) {
        *ret_attrs = gr_chunks_attrs(t->chunks);
        gr_attrs_add(t->chunks, *ret_attrs, gr_attr_new_map("columns", names, texts, count));
    }
    for (size_t i = 0; texts != NULL && i < count; i++) {
        free(texts[i]);
    }
    return err;
}

static granary_err
add_rows(struct tiling *t, size_t i, size_t k, size_t at)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_step *from = &t->steps->steps[step->inputs[k]];
    const struct gr_tiled *in = tiling_input(t, i, k);
    struct gr_tiled *out = &t->tiled[i];
    gr_attrs casts = 0;
    gr_attrs select = 0;
    granary_err err = GRANARY_OK;

    if (!fits(from, step)) {
        err = add_casts(t, from, step, &casts);
        select = gr_chunks_attrs(t->chunks);
        tiling_add_columns(t, step, select);
    }
    for (size_t p = 0; p < in->count && err == GRANARY_OK; p++) {
        struct gr_piece piece = in->pieces[p];

        out->bytes[at + p] = in->bytes[p] / (gr_step_width(from) + 1) * (gr_step_width(step) + 1);
        if (casts != 0) {
            piece = tiling_add(t, i, GR_CHUNK_assign, casts, &piece, 1, out->bytes[at + p]);
        }
        if (select != 0) {
            piece = tiling_add(t, i, GR_CHUNK_select, select, &piece, 1, out->bytes[at + p]);
        }
        out->pieces[at + p] = piece;
        out->rows[at + p] = in->rows[p];
    }
    return err;
}

static granary_err
below_one_another(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    size_t count = 0;
    size_t at = 0;
    granary_err err;

    for (size_t k = 0; k < step->input_count; k++) {
        count += t->tiled[step->inputs[k]].count;
    }
    err = tiled_init(t, &t->tiled[i], count, true);
    for (size_t k = 0; k < step->input_count && err == GRANARY_OK; k++) {
        err = add_rows(t, i, k, at);
        at += t->tiled[step->inputs[k]].count;
    }
    return err == GRANARY_OK ? tiling_join_small(t, i) : err;
}

/* ---- side by side ---- */

/* Whether all inputs are cut at the same rows. */
static bool
cut_alike(const struct tiling *t, const struct gr_step *step)
{
    const struct gr_tiled *first = &t->tiled[step->inputs[0]];

    for (size_t k = 0; k < step->input_count; k++) {
        const struct gr_tiled *in = &t->tiled[step->inputs[k]];

        if (in->count != first->count) {
            return false;
        }
        for (size_t p = 0; p < in->count; p++) {
            if (in->rows[p] < 0 || in->rows[p] != first->rows[p]) {
                return false;
            }
        }
    }
    return true;
}

/* All of an input in one piece. */
static granary_err
gather(struct tiling *t, size_t i, const struct gr_tiled *in, struct gr_piece *ret_piece, uint64_t *ret_bytes)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    struct gr_tiled parts;
    size_t count;
    granary_err err = tiled_copy(t, in, &parts);

    if (err != GRANARY_OK) {
        return err;
    }
    count = tiling_tree(t, i, GR_CHUNK_concat, attrs, parts.pieces, parts.bytes, in->count, 64, TILE_SUM);
    *ret_bytes = bytes_sum(parts.bytes, count);
    *ret_piece =
        count == 1 ? parts.pieces[0] : tiling_add(t, i, GR_CHUNK_concat, attrs, parts.pieces, count, *ret_bytes);
    return GRANARY_OK;
}

static granary_err
side_by_side(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    bool alike = cut_alike(t, step);
    size_t count = alike ? t->tiled[step->inputs[0]].count : 1;
    struct gr_piece *inputs = tiling_scratch(t, step->input_count, sizeof *inputs);
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    granary_err err = inputs == NULL ? tile_no_memory() : tiled_init(t, &t->tiled[i], count, true);

    tiling_add_columns(t, step, attrs);
    for (size_t p = 0; p < count && err == GRANARY_OK; p++) {
        uint64_t bytes = 0;

        for (size_t k = 0; k < step->input_count && err == GRANARY_OK; k++) {
            const struct gr_tiled *in = tiling_input(t, i, k);
            uint64_t more = 0;

            if (alike && in->count == count) {
                inputs[k] = in->pieces[p];
                more = in->bytes[p];
            } else {
                err = gather(t, i, in, &inputs[k], &more);
            }
            bytes += more;
        }
        if (err == GRANARY_OK) {
            t->tiled[i].bytes[p] = bytes;
            t->tiled[i].rows[p] = alike ? t->tiled[step->inputs[0]].rows[p] : -1;
            t->tiled[i].pieces[p] = tiling_add(t, i, GR_CHUNK_zip, attrs, inputs, step->input_count, bytes);
        }
    }
    return err;
}

granary_err
tile_concat(struct tiling *t, size_t i)
{
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(&t->steps->steps[i], &count);
    struct gr_concat concat;
    granary_err err = gr_concat_parse(attrs, count, &concat);

    if (err != GRANARY_OK) {
        return err;
    }
    return concat.axis == GR_CONCAT_ROWS ? below_one_another(t, i) : side_by_side(t, i);
}
