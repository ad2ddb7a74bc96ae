/* Operators that compute columns: assign, project and window. */
#include <stdlib.h>

#include "base/error.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"
#include "graph/operators/private.h"
#include "graph/rewrite/frame/keys.h"
#include "graph/window.h"

/* ---- assign, project ---- */

static granary_err
check_assign(const Granary__Node *node, enum gr_tile_op op)
{
    (void)op;
    return op_check_new_columns(op_param(node, "columns"));
}

/* The columns of the expressions, over those that are there. */
static granary_err
add_expressions(const struct gr_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    const Granary__Attr *columns = op_param(node->node, "columns");
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < columns->n_keys && err == GRANARY_OK; i++) {
        granary_dtype dtype = GRANARY_NULLTYPE;

        err = op_expression_dtype(node, columns->strings[i], input, &dtype);
        err = err == GRANARY_OK ? op_set_column(schema, columns->keys[i], dtype)
                                : gr_fail_in(err, "column '%.100s'", columns->keys[i]);
    }
    return err;
}

static granary_err
infer_assign(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    granary_err err = op_infer_same(node, inputs, type);

    return err == GRANARY_OK ? add_expressions(node, &inputs[0]->schema, &type->schema) : err;
}

static granary_err
infer_project(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    return add_expressions(node, &inputs[0]->schema, &type->schema);
}

static granary_err
reads_project(const struct gr_op_use *use, bool *needed, bool *const reads[2])
{
    const Granary__Attr *columns = op_use_param(use, "columns");
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < columns->n_keys && err == GRANARY_OK; k++) {
        int at = gr_schema_find(use->own, columns->keys[k]);

        if (at >= 0 && needed[at]) {
            err = gr_columns_mark_expression(use, use->inputs[0], reads[0], columns->strings[k]);
        }
    }
    return err;
}

static granary_err
reads_assign(const struct gr_op_use *use, bool *needed, bool *const reads[2])
{
    /* A replaced column, too, even when no expression reads it: it keeps the place. */
    op_reads_by_name(use, needed, reads[0]);
    return reads_project(use, needed, reads);
}

const struct gr_operator gr_op_assign = {
    .traits = GR_OP_IS_CHEAP | GR_OP_TAKES_CONDITIONS | GR_OP_LETS_CONDITIONS_DOWN | GR_OP_PASSES_ROWS |
              GR_OP_KEEPS_ORDER | GR_OP_ROW_BY_ROW,
    .check = check_assign,
    .infer = infer_assign,
    .columns = GR_COLUMNS_ADDED,
    .entries = "columns",
    .reads = reads_assign,
    .origin = op_origin_map,
};

const struct gr_operator gr_op_project = {
    .traits = GR_OP_IS_CHEAP | GR_OP_TAKES_CONDITIONS | GR_OP_LETS_CONDITIONS_DOWN | GR_OP_PASSES_ROWS,
    .check = check_assign,
    .infer = infer_project,
    .columns = GR_COLUMNS_ENTRIES,
    .entries = "columns",
    .reads = reads_project,
    .origin = op_origin_map,
};

/* ---- window ---- */

static bool
has_distance(const struct gr_window_frame *frame)
{
    return frame->from.distance != NULL || frame->to.distance != NULL;
}

static bool
is_fill(const struct gr_window *window)
{
    return window->aggregate_text == NULL && window->function == GR_WINDOW_FILL;
}

/* What a function needs of 'by', which names so many columns. */
static granary_err
check_order(const struct gr_window *window, size_t columns)
{
    bool ranks = window->aggregate_text == NULL && window->value == NULL &&
                 (window->function == GR_WINDOW_RANK || window->function == GR_WINDOW_DENSE_RANK ||
                  window->function == GR_WINDOW_PERCENT_RANK || window->function == GR_WINDOW_CUME_DIST);

    if (ranks && columns == 0) {
        return gr_fail(GRANARY_EINVAL, "a rank of no value needs 'by'");
    }
    if (is_fill(window) && columns != 1) {
        return gr_fail(GRANARY_EINVAL, "fill needs one column in 'by', over which it draws lines, not %zu", columns);
    }
    if (window->frame.mode == GR_FRAME_RANGE && has_distance(&window->frame) && columns != 1) {
        return gr_fail(GRANARY_EINVAL, "a frame of 'range' with a distance needs one column in 'by', not %zu", columns);
    }
    return window->frame.mode == GR_FRAME_GROUPS && columns == 0
               ? gr_fail(GRANARY_EINVAL, "a frame of 'groups' needs 'by'")
               : GRANARY_OK;
}

/* The distance of a bound, over the column that orders the rows. */
static granary_err
check_distance(const struct gr_node *node, const struct gr_schema *schema, enum gr_frame_mode mode,
               const struct gr_frame_bound *bound)
{
    const Granary__Attr *by = op_param(node->node, "by");
    int at = mode == GR_FRAME_RANGE ? gr_schema_find(schema, by->strings[0]) : -1;
    granary_dtype column = at >= 0 ? schema->fields[at].dtype : GRANARY_NULLTYPE;
    bool limits = mode == GR_FRAME_RANGE && gr_frame_has_limits(column);
    granary_dtype dtype = GRANARY_NULLTYPE;
    char *limit = limits ? gr_frame_limit(bound, by->strings[0], false) : NULL;
    granary_err err = limits && limit == NULL
                          ? gr_fail(GRANARY_ENOMEM, "out of memory")
                          : op_expression_dtype(node, limits ? limit : bound->distance, schema, &dtype);
    bool fits = mode != GR_FRAME_RANGE ? gr_dtype_is_integer(dtype)
                : limits               ? gr_frame_has_limits(dtype) && (dtype == column || column == GRANARY_DATE)
                                       : gr_dtype_is_number(dtype) && (gr_dtype_is_number(column) || at < 0);

    free(limit);
    if (err == GRANARY_OK && !fits) {
        err = gr_fail(GRANARY_ETYPE, "'%.60s' is no distance of a frame of %s%s", bound->distance,
                      mode == GR_FRAME_RANGE ? "values of dtype " : "rows: it needs an integer",
                      mode == GR_FRAME_RANGE ? granary_dtype_name(column) : "");
    }
    return err;
}

/* Whether a line can be drawn over the column that orders the rows. */
static granary_err
check_line(const struct gr_node *node, const struct gr_schema *schema)
{
    int at = gr_schema_find(schema, op_param(node->node, "by")->strings[0]);
    granary_dtype dtype = at >= 0 ? schema->fields[at].dtype : GRANARY_INT64;

    return gr_dtype_is_number(dtype) || gr_dtype_class(dtype) == GR_CLASS_MOMENT ||
                   gr_dtype_class(dtype) == GR_CLASS_DURATION
               ? GRANARY_OK
               : gr_fail(GRANARY_ETYPE, "fill needs numbers, dates or times in 'by', not %s",
                         granary_dtype_name(dtype));
}

/* What an aggregate and a frame say beside the value. */
static granary_err
check_frame(const struct gr_node *node, const struct gr_schema *schema, const struct gr_window *window)
{
    const struct gr_frame_bound *bounds[] = {&window->frame.from, &window->frame.to};
    granary_dtype dtype;
    granary_err err = window->second != NULL ? op_expression_dtype(node, window->second, schema, &dtype) : GRANARY_OK;

    if (err == GRANARY_OK && window->second != NULL) {
        err = gr_aggregate_dtype(window->aggregate.function, dtype, &dtype);
    }
    for (size_t i = 0; i < 2 && err == GRANARY_OK; i++) {
        err = bounds[i]->distance != NULL ? check_distance(node, schema, window->frame.mode, bounds[i]) : GRANARY_OK;
    }
    return err;
}

static granary_err
check_window(const Granary__Node *node, enum gr_tile_op op)
{
    const Granary__Attr *by = op_param(node, "by");
    struct gr_window *windows = NULL;
    size_t count = 0;
    granary_err err = op_check_new_columns(op_param(node, "columns"));

    (void)op;
    if (err == GRANARY_OK && by == NULL && (op_param(node, "descending") != NULL || op_param(node, "nulls") != NULL)) {
        err = gr_fail(GRANARY_EINVAL, "'descending' and 'nulls' belong to 'by', which is missing");
    }
    if (err == GRANARY_OK && by != NULL) {
        err = op_check_flags(node, by->n_strings);
    }
    if (err == GRANARY_OK) {
        err = gr_windows_parse(op_param(node, "columns"), &windows, &count);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = check_order(&windows[i], by != NULL ? by->n_strings : 0);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "column '%.100s'", windows[i].name);
    }
    gr_windows_free(windows, count);
    return err;
}

static granary_err
infer_window(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    struct gr_window *windows = NULL;
    size_t count = 0;
    const Granary__Attr *partition = op_param(node->node, "partition");
    const Granary__Attr *by = op_param(node->node, "by");
    granary_err err = op_infer_same(node, inputs, type);

    err = err == GRANARY_OK && partition != NULL ? op_refuse_lists(&inputs[0]->schema, partition, "grouped by") : err;
    err = err == GRANARY_OK && by != NULL ? op_refuse_lists(&inputs[0]->schema, by, "sorted by") : err;
    if (err == GRANARY_OK) {
        err = gr_windows_parse(op_param(node->node, "columns"), &windows, &count);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        granary_dtype dtype = GRANARY_NULLTYPE;

        err = windows[i].value != NULL ? op_expression_dtype(node, windows[i].value, &inputs[0]->schema, &dtype)
                                       : GRANARY_OK;
        if (err == GRANARY_OK) {
            err = gr_window_dtype(&windows[i], dtype, &dtype);
        }
        if (err == GRANARY_OK) {
            err = check_frame(node, &inputs[0]->schema, &windows[i]);
        }
        if (err == GRANARY_OK && is_fill(&windows[i])) {
            err = check_line(node, &inputs[0]->schema);
        }
        err = err == GRANARY_OK ? op_set_column(&type->schema, windows[i].name, dtype)
                                : gr_fail_in(err, "column '%.100s'", windows[i].name);
    }
    gr_windows_free(windows, count);
    return err;
}

static granary_err
reads_window(const struct gr_op_use *use, bool *needed, bool *const reads[2])
{
    static const char *const names[] = {"partition", "by"};
    struct gr_window *windows;
    size_t count;
    granary_err err = gr_windows_parse(op_use_param(use, "columns"), &windows, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < 2; i++) {
        if (op_use_param(use, names[i]) != NULL) {
            op_reads_named(use, names[i], reads[0]);
        }
    }
    op_reads_by_name(use, needed, reads[0]); /* a replaced column, too: it keeps the place */
    for (size_t k = 0; k < count && err == GRANARY_OK; k++) {
        const char *const texts[] = {windows[k].value, windows[k].second, windows[k].frame.from.distance,
                                     windows[k].frame.to.distance};
        int at = gr_schema_find(use->own, windows[k].name);

        for (size_t i = 0; i < sizeof texts / sizeof texts[0] && err == GRANARY_OK; i++) {
            if (at >= 0 && needed[at] && texts[i] != NULL) {
                err = gr_columns_mark_expression(use, use->inputs[0], reads[0], texts[i]);
            }
        }
    }
    gr_windows_free(windows, count);
    return err;
}

const struct gr_operator gr_op_window = {
    .check = check_window,
    .infer = infer_window,
    .rewrite = keys_of_window,
    .columns = GR_COLUMNS_ADDED,
    .entries = "columns",
    .reads = reads_window,
};
