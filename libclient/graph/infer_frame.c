/* Schemas of what the frame operators yield. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/aggregate.h"
#include "graph/concat.h"
#include "graph/expr.h"
#include "graph/join.h"
#include "graph/lower.h"
#include "graph/node.h"
#include "graph/user.h"
#include "graph/window.h"

static const Granary__Attr *
find(const struct gr_graph_node *node, const char *name)
{
    return gr_attr_find(node->node->attrs, node->node->n_attrs, name);
}

/* Every name of a list must be a column; they are appended to *ret_schema, when it is not NULL. */
static granary_err
take_columns(const Granary__Attr *names, const struct gr_schema *input, struct gr_schema *ret_schema)
{
    for (size_t i = 0; i < names->n_strings; i++) {
        int index = gr_schema_find(input, names->strings[i]);
        granary_err err = GRANARY_OK;

        if (index < 0) {
            return gr_fail_in(gr_schema_no_column(input, names->strings[i]), "parameter '%s'", names->name);
        }
        if (ret_schema != NULL) {
            err = gr_schema_add(ret_schema, names->strings[i], input->fields[index].dtype);
        }
        if (err != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}

/* The dtype of an expression over a frame. Messages name the expression. */
static granary_err
expression_dtype(const char *text, const struct gr_schema *schema, granary_dtype *ret_dtype)
{
    struct gr_expr *expr = NULL;
    granary_err err = gr_expr_parse(text, &expr);

    if (err != GRANARY_OK) {
        return err;
    }
    err = gr_expr_check(expr, schema);
    if (err == GRANARY_OK) {
        *ret_dtype = expr->dtype;
    } else if (err != GRANARY_ENOMEM) {
        err = gr_fail(err, "expression `%.240s`, %s", text, granary_error_message());
    }
    gr_expr_destroy(expr);
    return err;
}

static granary_err
infer_select(const struct gr_graph_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    return take_columns(find(node, "columns"), input, schema);
}

static granary_err
infer_filter(const struct gr_graph_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    const char *where = gr_attr_string(node->node->attrs, node->node->n_attrs, "where", "");
    granary_dtype dtype = GRANARY_NULLTYPE;
    granary_err err = expression_dtype(where, input, &dtype);

    if (err == GRANARY_OK && dtype != GRANARY_BOOL) {
        err = gr_fail(GRANARY_ETYPE, "expression `%.240s` is %s, but a filter needs a bool, such as a comparison",
                      where, granary_dtype_name(dtype));
    }
    return err == GRANARY_OK ? gr_schema_copy(input, schema) : err;
}

static granary_err
infer_assign(const struct gr_graph_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    const Granary__Attr *columns = find(node, "columns");
    granary_err err = gr_schema_copy(input, schema);

    for (size_t i = 0; i < columns->n_keys && err == GRANARY_OK; i++) {
        int index = gr_schema_find(schema, columns->keys[i]);
        granary_dtype dtype = GRANARY_NULLTYPE;

        err = expression_dtype(columns->strings[i], input, &dtype);
        if (err != GRANARY_OK) {
            return gr_fail_in(err, "column '%.100s'", columns->keys[i]);
        }
        if (index >= 0) {
            schema->fields[index].dtype = dtype;
        } else {
            err = gr_schema_add(schema, columns->keys[i], dtype);
        }
    }
    return err;
}

/* An argument's dtype, and what the function gives for it. */
static granary_err
aggregate_dtype(const struct gr_aggregate *aggregate, const char *text, const struct gr_schema *input,
                granary_dtype *ret_dtype)
{
    granary_dtype dtype = GRANARY_NULLTYPE;
    granary_err err = text == NULL ? GRANARY_OK : gr_aggregate_argument(text, input, &dtype);

    if (err != GRANARY_OK) {
        return gr_fail_in(err, "aggregate '%.100s'", aggregate->name);
    }
    err = gr_aggregate_dtype(aggregate->function, dtype, ret_dtype);
    return err == GRANARY_OK ? GRANARY_OK
                             : gr_fail_in(err, "aggregate '%.100s': column '%.100s'", aggregate->name, text);
}

static granary_err
add_aggregate(const struct gr_aggregate *aggregate, const struct gr_schema *input, struct gr_schema *schema)
{
    granary_dtype dtype = GRANARY_NULLTYPE;
    granary_err err = GRANARY_OK;

    if (aggregate->second != NULL) {
        err = aggregate_dtype(aggregate, aggregate->second, input, &dtype);
    }
    if (err == GRANARY_OK) {
        err = aggregate_dtype(aggregate, aggregate->column, input, &dtype);
    }
    return err == GRANARY_OK ? gr_schema_add(schema, aggregate->name, dtype) : err;
}

static granary_err
infer_groupby(const struct gr_graph_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    struct gr_aggregate *aggregates = NULL;
    size_t count = 0;
    granary_err err = take_columns(find(node, "keys"), input, schema);

    if (err == GRANARY_OK) {
        err = gr_aggregates_parse(find(node, "aggregate"), &aggregates, &count);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = add_aggregate(&aggregates[i], input, schema);
    }
    gr_aggregates_free(aggregates, count);
    return err;
}

/* The columns named, or all. */
static granary_err
columns_or_all(const struct gr_graph_node *node, const char *name, const struct gr_schema *input,
               struct gr_schema *ret_schema)
{
    const Granary__Attr *names = find(node, name);

    return names != NULL ? take_columns(names, input, ret_schema) : gr_schema_copy(input, ret_schema);
}

static granary_err
infer_distinct(const struct gr_graph_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    const Granary__Attr *subset = find(node, "subset");
    granary_err err = subset != NULL ? take_columns(subset, input, NULL) : GRANARY_OK;

    if (err != GRANARY_OK) {
        return err;
    }
    return node->op == GR_TILE_duplicated ? gr_schema_add(schema, "duplicated", GRANARY_BOOL)
                                          : gr_schema_copy(input, schema);
}

static granary_err
infer_value_counts(const struct gr_graph_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    bool normalize = gr_attr_bool(node->node->attrs, node->node->n_attrs, "normalize", false);
    const char *name = normalize ? "proportion" : "count";
    granary_err err = columns_or_all(node, "columns", input, schema);

    if (err == GRANARY_OK && gr_schema_find(schema, name) >= 0) {
        err = gr_fail(GRANARY_EINVAL, "a column that is counted is called '%s', as the new one; rename it", name);
    }
    return err == GRANARY_OK ? gr_schema_add(schema, name, normalize ? GRANARY_FLOAT64 : GRANARY_INT64) : err;
}

static granary_err
infer_describe(const struct gr_graph_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    struct gr_schema columns = {0};
    bool named = find(node, "columns") != NULL;
    granary_err err = columns_or_all(node, "columns", input, &columns);

    if (err == GRANARY_OK) {
        err = gr_schema_add(schema, "statistic", GRANARY_STRING);
    }
    for (size_t c = 0; c < columns.count && err == GRANARY_OK; c++) {
        const struct gr_field *field = &columns.fields[c];

        if (!gr_aggregate_describes(field->dtype)) {
            err = named ? gr_fail(GRANARY_ETYPE, "column '%.100s' is %s: only numbers are described", field->name,
                                  granary_dtype_name(field->dtype))
                        : GRANARY_OK;
        } else if (strcmp(field->name, "statistic") == 0) {
            err = gr_fail(GRANARY_EINVAL, "a column is called 'statistic', as the new one; rename it");
        } else {
            err = gr_schema_add(schema, field->name, GRANARY_FLOAT64);
        }
    }
    if (err == GRANARY_OK && schema->count == 1) {
        err = gr_fail(GRANARY_EINVAL, "there is no column of numbers");
    }
    gr_schema_free(&columns);
    return err;
}

static granary_err
infer_sort(const struct gr_graph_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    granary_err err = take_columns(find(node, "by"), input, NULL);

    return err == GRANARY_OK ? gr_schema_copy(input, schema) : err;
}

static granary_err
infer_join(const struct gr_graph_node *node, const struct gr_schema *left, const struct gr_schema *right,
           struct gr_schema *schema)
{
    struct gr_join join;
    granary_err err = gr_join_parse(node->node->attrs, node->node->n_attrs, &join);

    return err == GRANARY_OK ? gr_join_schema(&join, left, right, schema) : err;
}

static granary_err
infer_window(const struct gr_graph_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    struct gr_window *windows = NULL;
    size_t count = 0;
    granary_err err = gr_schema_copy(input, schema);

    for (int k = 0; k < 2 && err == GRANARY_OK; k++) {
        const Granary__Attr *names = find(node, k == 0 ? "partition" : "by");

        err = names != NULL ? take_columns(names, input, NULL) : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        err = gr_windows_parse(find(node, "columns"), &windows, &count);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        int index = gr_schema_find(schema, windows[i].name);
        granary_dtype dtype = GRANARY_NULLTYPE;

        err = windows[i].value != NULL ? expression_dtype(windows[i].value, input, &dtype) : GRANARY_OK;
        if (err == GRANARY_OK) {
            err = gr_window_dtype(&windows[i], dtype, &dtype);
        }
        if (err != GRANARY_OK) {
            err = gr_fail_in(err, "column '%.100s'", windows[i].name);
        } else if (index >= 0) {
            schema->fields[index].dtype = dtype;
        } else {
            err = gr_schema_add(schema, windows[i].name, dtype);
        }
    }
    gr_windows_free(windows, count);
    return err;
}

static bool
is_listed(const Granary__Attr *names, const char *name)
{
    for (size_t i = 0; names != NULL && i < names->n_strings; i++) {
        if (strcmp(names->strings[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static granary_err
infer_melt(const struct gr_graph_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    const Granary__Attr *ids = find(node, "id_vars");
    const Granary__Attr *values = find(node, "value_vars");
    const char *var_name = gr_attr_string(node->node->attrs, node->node->n_attrs, "var_name", "variable");
    const char *value_name = gr_attr_string(node->node->attrs, node->node->n_attrs, "value_name", "value");
    const struct gr_field *first = NULL;
    granary_err err = ids != NULL ? take_columns(ids, input, schema) : GRANARY_OK;

    if (err == GRANARY_OK && values != NULL) {
        err = take_columns(values, input, NULL);
    }
    for (size_t i = 0; i < input->count && err == GRANARY_OK; i++) {
        const struct gr_field *field = &input->fields[i];

        if (values != NULL ? !is_listed(values, field->name) : is_listed(ids, field->name)) {
            continue;
        }
        first = first == NULL ? field : first;
        if (field->dtype != first->dtype) {
            err = gr_fail(GRANARY_ETYPE, "column '%.100s' is %s, but '%.100s' is %s: the values need one dtype",
                          field->name, granary_dtype_name(field->dtype), first->name, granary_dtype_name(first->dtype));
        }
    }
    if (err == GRANARY_OK && first == NULL) {
        err = gr_fail(GRANARY_EINVAL, "no column is left to become rows");
    }
    if (err == GRANARY_OK && (strcmp(var_name, value_name) == 0 || gr_schema_find(schema, var_name) >= 0 ||
                              gr_schema_find(schema, value_name) >= 0)) {
        err = gr_fail(GRANARY_EINVAL, "two columns would have one name: choose another 'var_name' or 'value_name'");
    }
    if (err == GRANARY_OK) {
        err = gr_schema_add(schema, var_name, GRANARY_STRING);
    }
    return err == GRANARY_OK ? gr_schema_add(schema, value_name, first->dtype) : err;
}

static granary_err
infer_explode(const struct gr_graph_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    const char *column = gr_attr_string(node->node->attrs, node->node->n_attrs, "column", "");
    int index = gr_schema_find(input, column);

    if (index < 0) {
        return gr_fail_in(gr_schema_no_column(input, column), "parameter 'column'");
    }
    if (input->fields[index].dtype != GRANARY_STRING) {
        return gr_fail(GRANARY_ETYPE, "column '%.100s' is %s, not string", column,
                       granary_dtype_name(input->fields[index].dtype));
    }
    return gr_schema_copy(input, schema);
}

/* By what it is written as. Its parameters are looked at as if somebody had written them. */
static granary_err
infer_lowered(const struct gr_graph_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    Granary__Node written = *node->node;
    struct gr_graph_node other = *node;
    struct gr_lowered lowered;
    granary_err err =
        gr_lower((enum gr_tile_op)node->op, node->node->attrs, node->node->n_attrs, &inputs[0]->schema, &lowered);

    if (err != GRANARY_OK) {
        return err;
    }
    written.attrs = lowered.attrs;
    written.n_attrs = lowered.count;
    other.node = &written;
    other.op = lowered.op;
    err = node_check(&written, lowered.op);
    if (err == GRANARY_OK) {
        err = infer_frame(&other, inputs, type);
    }
    gr_lowered_free(&lowered);
    return err;
}

static granary_err
infer_project(const struct gr_graph_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    const Granary__Attr *columns = find(node, "columns");
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < columns->n_keys && err == GRANARY_OK; i++) {
        granary_dtype dtype = GRANARY_NULLTYPE;

        err = expression_dtype(columns->strings[i], input, &dtype);
        err = err == GRANARY_OK ? gr_schema_add(schema, columns->keys[i], dtype)
                                : gr_fail_in(err, "column '%.100s'", columns->keys[i]);
    }
    return err;
}

static granary_err
infer_concat(const struct gr_graph_node *node, const struct gr_node_type *const *inputs, struct gr_schema *schema)
{
    const struct gr_schema **schemas = calloc(node->input_count + 1, sizeof *schemas);
    struct gr_concat concat;
    granary_err err = schemas == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory")
                                      : gr_concat_parse(node->node->attrs, node->node->n_attrs, &concat);

    for (size_t i = 0; i < node->input_count && err == GRANARY_OK; i++) {
        schemas[i] = &inputs[i]->schema;
    }
    if (err == GRANARY_OK) {
        err = gr_concat_schema(&concat, schemas, node->input_count, schema);
    }
    free(schemas);
    return err;
}

static granary_err
infer_encode(const struct gr_graph_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    const Granary__Attr *columns = gr_attr_find(node->node->attrs, node->node->n_attrs, "columns");

    for (size_t i = 0; columns != NULL && i < columns->n_strings; i++) {
        int at = gr_schema_find(input, columns->strings[i]);

        if (at < 0) {
            return gr_schema_no_column(input, columns->strings[i]);
        }
        if (input->fields[at].dtype != GRANARY_STRING) {
            return gr_fail(GRANARY_ETYPE, "column '%s' is %s: only strings are encoded", columns->strings[i],
                           granary_dtype_name(input->fields[at].dtype));
        }
    }
    return gr_schema_copy(input, schema);
}

static granary_err
infer_from_tensor(const struct gr_graph_node *node, const struct gr_node_type *tensor, struct gr_schema *schema)
{
    const Granary__Attr *columns = gr_attr_find(node->node->attrs, node->node->n_attrs, "columns");
    int64_t count = tensor->dims == 2 ? tensor->shape[1] : 1;
    granary_err err = GRANARY_OK;

    if (tensor->dims != 1 && tensor->dims != 2) {
        return gr_fail(GRANARY_EINVAL, "it needs a tensor of 1 or 2 dimensions, not of %d", tensor->dims);
    }
    if (count == 0 || (uint64_t)count != columns->n_strings) {
        return gr_fail(GRANARY_EINVAL, "parameter 'columns' has %zu names for %lld columns", columns->n_strings,
                       (long long)count);
    }
    for (size_t c = 0; c < columns->n_strings && err == GRANARY_OK; c++) {
        if (gr_schema_find(schema, columns->strings[c]) >= 0) {
            err = gr_fail(GRANARY_EINVAL, "parameter 'columns' names '%.100s' twice", columns->strings[c]);
        } else {
            err = gr_schema_add(schema, columns->strings[c], tensor->dtype);
        }
    }
    return err;
}

granary_err
infer_frame(const struct gr_graph_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    granary_err err;
    const struct gr_schema *input = &inputs[0]->schema;

    if (gr_op_is_lowered((enum gr_tile_op)node->op)) {
        return infer_lowered(node, inputs, type);
    }
    switch (node->op) {
    case GR_TILE_slice:
    case GR_TILE_sample:
    case GR_TILE_rebalance:
        return gr_schema_copy(input, &type->schema);
    case GR_TILE_melt:
        return infer_melt(node, input, &type->schema);
    case GR_TILE_explode:
        return infer_explode(node, input, &type->schema);
    case GR_TILE_window:
        return infer_window(node, input, &type->schema);
    case GR_TILE_project:
        return infer_project(node, input, &type->schema);
    case GR_TILE_select:
        return infer_select(node, input, &type->schema);
    case GR_TILE_filter:
        return infer_filter(node, input, &type->schema);
    case GR_TILE_assign:
        return infer_assign(node, input, &type->schema);
    case GR_TILE_groupby:
        return infer_groupby(node, input, &type->schema);
    case GR_TILE_distinct:
    case GR_TILE_duplicated:
        return infer_distinct(node, input, &type->schema);
    case GR_TILE_value_counts:
        return infer_value_counts(node, input, &type->schema);
    case GR_TILE_describe:
        return infer_describe(node, input, &type->schema);
    case GR_TILE_sort:
        return infer_sort(node, input, &type->schema);
    case GR_TILE_head:
        return gr_schema_copy(input, &type->schema);
    case GR_TILE_encode:
        return infer_encode(node, input, &type->schema);
    case GR_TILE_concat:
        return infer_concat(node, inputs, &type->schema);
    case GR_TILE_join:
        return infer_join(node, input, &inputs[1]->schema, &type->schema);
    case GR_TILE_write_csv:
    case GR_TILE_write_arrow:
    case GR_TILE_write_npy:
        err = gr_schema_add(&type->schema, "path", GRANARY_STRING);
        return err == GRANARY_OK ? gr_schema_add(&type->schema, "bytes", GRANARY_INT64) : err;
    case GR_TILE_from_tensor:
        return infer_from_tensor(node, inputs[0], &type->schema);
    case GR_TILE_map_chunk:
        return user_infer_frame(node, input, &type->schema);
    default:
        assert(!"an operator that yields a frame has no rule");
        return gr_fail(GRANARY_EUNSUPPORTED, "its columns cannot be told");
    }
}
