/* Frames: rows and values of columns, chunk by chunk. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "graph/expr.h"
#include "tile/core/rules.h"

/* ---- by position ---- */

/* Rows of each piece of the input; NULL: not known yet. */
static const int64_t *
rows_of_pieces(struct tiling *t, size_t i, const struct gr_tiled *in)
{
    const struct gr_measured *measured;
    size_t p = 0;

    while (p < in->count && in->rows[p] >= 0) {
        p++;
    }
    if (p == in->count) {
        return in->rows;
    }
    measured = tiling_measured(t, i, 0);
    return measured == NULL ? NULL : measured->rows;
}

static int64_t
rows_sum(const int64_t *rows, size_t count)
{
    int64_t sum = 0;

    for (size_t p = 0; p < count; p++) {
        sum += rows[p];
    }
    return sum;
}

/* A bound as Python's slice.indices() has it. */
static int64_t
bound_of(const int64_t *given, int64_t fallback, int64_t total, int64_t step)
{
    int64_t bound;

    if (given == NULL) {
        return fallback;
    }
    bound = *given;
    if (bound < 0) {
        bound = bound < -total ? -1 : bound + total;
        return bound < 0 ? (step < 0 ? -1 : 0) : bound;
    }
    return bound < total ? bound : step < 0 ? total - 1 : total;
}

granary_err
tile_slice(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    const int64_t *rows = rows_of_pieces(t, i, in);
    struct gr_tiled *out = &t->tiled[i];
    const struct gr_params_slice *params = GR_STEP_PARAMS(slice, &t->steps->steps[i]);
    int64_t step = params->step;
    int64_t before = 0;
    int64_t total;
    int64_t start;
    int64_t stop;
    granary_err err;

    if (rows == NULL) {
        return TILE_WAIT;
    }
    total = rows_sum(rows, in->count);
    if (step > total || step < -total) { /* all of them take one row only; no sum of positions and steps overflows */
        step = step > 0 ? total + 1 : -total - 1;
    }
    start = bound_of(params->start, step < 0 ? total - 1 : 0, total, step);
    stop = bound_of(params->stop, step < 0 ? -1 : total, total, step);
    err = tiled_init(t, out, in->count + 1, true);
    if (err != GRANARY_OK) {
        return err;
    }
    out->count = 0;
    before = step < 0 ? total : 0;
    for (size_t k = 0; k < in->count; k++) {
        size_t p = step < 0 ? in->count - 1 - k : k;
        int64_t first;
        int64_t last; /* behind it in the direction of the step */
        int64_t count;

        before -= step < 0 ? rows[p] : 0;
        /* the first of start, start + step, ... within [before, before + rows) */
        if (step > 0) {
            first = start >= before ? start : start + (before - start + step - 1) / step * step;
            last = stop < before + rows[p] ? stop : before + rows[p];
            count = first < last ? (last - first + step - 1) / step : 0;
        } else {
            int64_t top = before + rows[p] - 1;

            first = start <= top ? start : start - (start - top - step - 1) / -step * -step;
            last = stop > before - 1 ? stop : before - 1;
            count = first > last ? (first - last - step - 1) / -step : 0;
        }
        if (count > 0) {
            tiling_add_slice(t, i, in, p, rows, first - before, count, step, out);
        }
        before += step > 0 ? rows[p] : 0;
    }
    if (out->count == 0) {
        tiling_add_slice(t, i, in, 0, rows, 0, 0, 1, out);
    }
    return GRANARY_OK;
}

granary_err
tile_rebalance(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    const int64_t *rows = rows_of_pieces(t, i, in);
    struct gr_tiled *out = &t->tiled[i];
    struct gr_tiled parts;
    int64_t size = GR_STEP_PARAMS(rebalance, &t->steps->steps[i])->rows;
    int64_t total;
    int64_t before = 0;
    size_t first = 0;
    size_t count;
    granary_err err;

    if (rows == NULL) {
        return TILE_WAIT;
    }
    total = rows_sum(rows, in->count);
    size = size > total ? total + 1 : size;
    if ((uint64_t)total / (uint64_t)size >= GR_CHUNKS_MAX) {
        return gr_fail(GRANARY_EINVAL, "%lld rows would be more than %u chunks", (long long)total,
                       (unsigned)GR_CHUNKS_MAX);
    }
    count = total > 0 ? (size_t)((total + size - 1) / size) : 1;
    err = tiled_init(t, out, count, true);
    if (err == GRANARY_OK) {
        err = tiled_init(t, &parts, in->count + 1, true);
    }
    for (size_t k = 0; k < count && err == GRANARY_OK; k++) {
        int64_t from = (int64_t)k * size;
        int64_t to = from + size < total ? from + size : total;

        parts.count = 0;
        while (first + 1 < in->count && before + rows[first] <= from) {
            before += rows[first++];
        }
        for (int64_t at = before, p = (int64_t)first; p < (int64_t)in->count && (at < to || parts.count == 0); p++) {
            int64_t low = from > at ? from : at;
            int64_t high = to < at + rows[p] ? to : at + rows[p];

            if (high > low || (total == 0 && parts.count == 0)) {
                tiling_add_slice(t, i, in, (size_t)p, rows, low - at, high - low, 1, &parts);
            }
            at += rows[p];
        }
        out->rows[k] = to - from;
        out->bytes[k] = bytes_sum(parts.bytes, parts.count);
        out->pieces[k] = parts.count == 1
                             ? parts.pieces[0]
                             : tiling_add(t, i, GR_CHUNK_concat, 0, parts.pieces, parts.count, out->bytes[k]);
    }
    return err;
}

/* ---- sample ---- */

#define SAMPLE_ROW   16                  /* bytes that draw and remember a row, at least */
#define SAMPLE_BYTES ((uint64_t)4 << 30) /* without a budget */

static gr_attrs
sample_attrs(struct tiling *t, const struct gr_params_sample *params, int64_t total, int64_t count)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("total", total));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("count", count));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("seed", params->seed));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_bool("replace", params->replace));
    return attrs;
}

/* The pieces in the order of the draws, in one, without the column that orders them. */
static granary_err
sample_finish(struct tiling *t, size_t i, const struct gr_tiled *drawn, int64_t count)
{
    struct gr_tiled *out = &t->tiled[i];
    char *order = (char *)(uintptr_t) "\1order"; /* copied */
    bool descending = false;
    gr_attrs sort_attrs = gr_chunks_attrs(t->chunks);
    gr_attrs select_attrs = gr_chunks_attrs(t->chunks);
    struct gr_piece sorted;
    granary_err err = tiled_init(t, out, 1, true);

    if (err == GRANARY_OK) {
        gr_attrs_add(t->chunks, sort_attrs, gr_attr_new_strings("by", &order, 1));
        gr_attrs_add(t->chunks, sort_attrs, gr_attr_new_bools("descending", &descending, 1));
        gr_attrs_add(t->chunks, sort_attrs, gr_attr_new_int("limit", count));
        tiling_add_columns(t, &t->steps->steps[i], select_attrs);
        out->rows[0] = count;
        out->bytes[0] = bytes_sum(drawn->bytes, drawn->count);
        sorted = tiling_add(t, i, GR_CHUNK_sort, sort_attrs, drawn->pieces, drawn->count, out->bytes[0]);
        out->pieces[0] = tiling_add(t, i, GR_CHUNK_select, select_attrs, &sorted, 1, out->bytes[0]);
    }
    return err;
}

granary_err
tile_sample(struct tiling *t, size_t i)
{
    const struct gr_params_sample *params = GR_STEP_PARAMS(sample, &t->steps->steps[i]);
    const struct gr_tiled *in = tiling_input(t, i, 0);
    const int64_t *rows = rows_of_pieces(t, i, in);
    struct gr_tiled drawn;
    int64_t first = 0;
    double wanted;
    int64_t total;
    int64_t count;
    gr_attrs shared;
    granary_err err;

    if (rows == NULL) {
        return TILE_WAIT;
    }
    total = rows_sum(rows, in->count);
    wanted =
        params->fraction != NULL ? nearbyint(gr_attr_number(params->fraction) * (double)total) : (double)*params->rows;
    if (wanted > (double)total && params->fewer && !params->replace) {
        wanted = (double)total;
    }
    if (wanted > (double)total && (total == 0 || !params->replace)) {
        return gr_fail(GRANARY_EINVAL, "%.0f rows cannot be drawn from %lld%s", wanted, (long long)total,
                       total > 0 ? " without 'replace'" : "");
    }
    if (wanted > (double)total &&
        wanted * SAMPLE_ROW > (double)(t->options->memory_bytes > 0 ? t->options->memory_bytes : SAMPLE_BYTES)) {
        return gr_fail(GRANARY_EINVAL, "%.0f rows are more than the store's memory", wanted);
    }
    count = (int64_t)wanted;
    err = tiled_init(t, &drawn, in->count, true);
    shared = sample_attrs(t, params, total, count);
    for (size_t p = 0; p < in->count && err == GRANARY_OK; p++) {
        const gr_attrs attrs[2] = {shared, tiling_number(t, "first", (uint64_t)first)};

        first += rows[p];
        drawn.bytes[p] = (uint64_t)((double)in->bytes[p] * ((double)count / (double)(total > 0 ? total : 1))) + 64;
        drawn.pieces[p] = tiling_add_own(t, i, GR_CHUNK_sample, attrs, &in->pieces[p], 1, drawn.bytes[p]);
    }
    if (err == GRANARY_OK) {
        err = sample_finish(t, i, &drawn, count);
    }
    return err;
}

/* ---- melt ---- */

/* What one column becomes: the ids, its name, its values. */
static gr_attrs
melt_attrs(struct tiling *t, size_t i, const Granary__Attr *ids, const char *column)
{
    const struct gr_schema *own = &t->steps->steps[i].type->schema;
    size_t count = own->count;
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    char **keys = tiling_scratch(t, count, sizeof *keys);
    char **texts = tiling_scratch(t, count, sizeof *texts);
    struct gr_buf text = {0};
    bool made = keys != NULL && texts != NULL;

    for (size_t k = 0; made && k + 2 < count; k++) {
        gr_expr_print_name(ids->strings[k], &text);
        keys[k] = ids->strings[k];
        texts[k] = gr_buf_take(&text);
    }
    if (made) {
        gr_buf_addf(&text, "'");
        for (const char *c = column; *c != '\0'; c++) {
            gr_buf_addf(&text, "%s%c", *c == '\'' ? "'" : "", *c);
        }
        gr_buf_addf(&text, "'");
        keys[count - 2] = own->fields[count - 2].name;
        texts[count - 2] = gr_buf_take(&text);
        gr_expr_print_name(column, &text);
        keys[count - 1] = own->fields[count - 1].name;
        texts[count - 1] = gr_buf_take(&text);
    }
    for (size_t k = 0; made && k < count; k++) {
        made = texts[k] != NULL;
    }
    gr_attrs_add(t->chunks, attrs, made ? gr_attr_new_map("columns", keys, texts, count) : NULL);
    for (size_t k = 0; texts != NULL && k < count; k++) {
        free(texts[k]);
    }
    return attrs;
}

static bool
is_listed(const Granary__Attr *names, const char *name)
{
    for (size_t k = 0; names != NULL && k < names->n_strings; k++) {
        if (strcmp(names->strings[k], name) == 0) {
            return true;
        }
    }
    return false;
}

granary_err
tile_melt(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_schema *schema = &t->steps->steps[step->inputs[0]].type->schema;
    const Granary__Attr *ids = gr_step_attr(step, "id_vars");
    const Granary__Attr *values = gr_step_attr(step, "value_vars");
    const struct gr_tiled *in = tiling_input(t, i, 0);
    struct gr_tiled *out = &t->tiled[i];
    size_t most = values != NULL ? values->n_strings : schema->count;
    granary_err err = tiled_init(t, out, most * in->count, true);

    if (err != GRANARY_OK) {
        return err;
    }
    out->count = 0;
    for (size_t v = 0; v < most; v++) {
        const char *column = values != NULL ? values->strings[v] : schema->fields[v].name;
        gr_attrs attrs;

        if (values == NULL && is_listed(ids, column)) {
            continue;
        }
        attrs = melt_attrs(t, i, ids, column);
        for (size_t p = 0; p < in->count; p++) {
            size_t at = out->count++;

            out->rows[at] = in->rows[p];
            out->bytes[at] = in->bytes[p];
            out->pieces[at] = tiling_add(t, i, GR_CHUNK_project, attrs, &in->pieces[p], 1, in->bytes[p]);
        }
    }
    return GRANARY_OK;
}
