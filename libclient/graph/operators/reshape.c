/* Operators that give a frame another form: melt and explode; from_tensor and to_tensor. */
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/infer/private.h"
#include "graph/operators/private.h"
#include "graph/tensor/types.h"

/* ---- melt ---- */

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

/* The columns that become rows have one dtype. */
static granary_err
melted_dtype(const Granary__Attr *ids, const Granary__Attr *values, const struct gr_schema *input,
             granary_dtype *ret_dtype)
{
    const struct gr_field *first = NULL;

    for (size_t i = 0; i < input->count; i++) {
        const struct gr_field *field = &input->fields[i];

        if (values != NULL ? !is_listed(values, field->name) : is_listed(ids, field->name)) {
            continue;
        }
        first = first == NULL ? field : first;
        if (field->dtype != first->dtype) {
            return gr_fail(GRANARY_ETYPE, "column '%.100s' is %s, but '%.100s' is %s: the values need one dtype",
                           field->name, granary_dtype_name(field->dtype), first->name,
                           granary_dtype_name(first->dtype));
        }
    }
    if (first == NULL) {
        return gr_fail(GRANARY_EINVAL, "no column is left to become rows");
    }
    *ret_dtype = first->dtype;
    return GRANARY_OK;
}

static granary_err
infer_melt(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_params_melt *params = GR_NODE_PARAMS(melt, node->node);
    const Granary__Attr *ids = params->id_vars;
    const char *var_name = params->var_name;
    const char *value_name = params->value_name;
    granary_dtype dtype = GRANARY_NULLTYPE;
    granary_err err = ids != NULL ? op_add_columns(ids, &inputs[0]->schema, &type->schema) : GRANARY_OK;

    if (err == GRANARY_OK) {
        err = melted_dtype(ids, params->value_vars, &inputs[0]->schema, &dtype);
    }
    if (err == GRANARY_OK && (strcmp(var_name, value_name) == 0 || gr_schema_find(&type->schema, var_name) >= 0 ||
                              gr_schema_find(&type->schema, value_name) >= 0)) {
        err = gr_fail(GRANARY_EINVAL, "two columns would have one name: choose another 'var_name' or 'value_name'");
    }
    if (err == GRANARY_OK) {
        err = gr_schema_add(&type->schema, var_name, GRANARY_STRING);
    }
    return err == GRANARY_OK ? gr_schema_add(&type->schema, value_name, dtype) : err;
}

const struct gr_operator gr_op_melt = {.infer = infer_melt, .columns = GR_COLUMNS_ALL};

/* ---- explode ---- */

static granary_err
check_explode(const Granary__Node *node, enum gr_tile_op op)
{
    const struct gr_params_explode *params = GR_NODE_PARAMS(explode, node);

    (void)op;
    if ((params->column != NULL) == (params->columns != NULL)) {
        return gr_fail(GRANARY_EINVAL, "it needs 'column' or 'columns', and not both");
    }
    return params->separator != NULL && params->columns != NULL
               ? gr_fail(GRANARY_EINVAL, "'separator' goes with 'column': one column of strings is taken apart")
               : GRANARY_OK;
}

/* A column that is exploded gets the dtype of its items. */
static granary_err
explode_column(struct gr_schema *schema, const char *column, const char *separator)
{
    struct gr_field *field = &schema->fields[gr_schema_find(schema, column)];

    if (separator != NULL) {
        return field->dtype == GRANARY_STRING
                   ? GRANARY_OK
                   : gr_fail(GRANARY_ETYPE,
                             "column '%.100s' is %s, not string, so it has no parts: leave 'separator' out", column,
                             granary_dtype_name(field->dtype));
    }
    if (!gr_dtype_is_list(field->dtype)) {
        return gr_fail(GRANARY_ETYPE, "column '%.100s' is %s, and has no items%s", column,
                       granary_dtype_name(field->dtype),
                       field->dtype == GRANARY_STRING ? ": give 'separator' to take strings apart" : "");
    }
    field->dtype = GRANARY_LIST_ITEM(field->dtype);
    return GRANARY_OK;
}

static granary_err
infer_explode(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_params_explode *params = GR_NODE_PARAMS(explode, node->node);
    const Granary__Attr *columns = params->columns;
    granary_err err = op_infer_same(node, inputs, type);

    if (err == GRANARY_OK && params->column != NULL) {
        err = explode_column(&type->schema, params->column, params->separator);
    }
    for (size_t i = 0; columns != NULL && i < columns->n_strings && err == GRANARY_OK; i++) {
        for (size_t k = 0; k < i && err == GRANARY_OK; k++) {
            err = strcmp(columns->strings[k], columns->strings[i]) == 0
                      ? gr_fail(GRANARY_EINVAL, "parameter 'columns' has '%.100s' twice", columns->strings[i])
                      : GRANARY_OK;
        }
        err = err == GRANARY_OK ? explode_column(&type->schema, columns->strings[i], NULL) : err;
    }
    return err;
}

static granary_err
reads_explode(const struct gr_op_use *use, bool *needed, bool *const reads[2])
{
    (void)op_reads_same(use, needed, reads);
    op_reads_named(use, op_use_param(use, "columns") != NULL ? "columns" : "column", reads[0]);
    return GRANARY_OK;
}

const struct gr_operator gr_op_explode = {
    .check = check_explode, .infer = infer_explode, .columns = GR_COLUMNS_INPUT, .reads = reads_explode};

/* ---- frames of tensors, tensors of frames ---- */

static granary_err
infer_from_tensor(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_node_type *tensor = inputs[0];
    const Granary__Attr *columns = GR_NODE_PARAMS(from_tensor, node->node)->columns;
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
        err = gr_schema_add(&type->schema, columns->strings[c], tensor->dtype);
    }
    return err;
}

const struct gr_operator gr_op_from_tensor = {.infer = infer_from_tensor, .columns = GR_COLUMNS_ALL};

/* The dtype of a tensor of these columns; NULL: of all. */
static granary_err
common_dtype(const struct gr_schema *schema, const Granary__Attr *columns, size_t count, granary_dtype *ret_dtype)
{
    for (size_t turn = 0; turn < 2 * count; turn++) {
        size_t c = turn % count;
        const struct gr_field *field =
            &schema->fields[columns != NULL ? (size_t)gr_schema_find(schema, columns->strings[c]) : c];

        if (!gr_tensor_dtype_good(field->dtype)) {
            return gr_fail(GRANARY_ETYPE, "column '%.100s' is %s; tensors are of bool, integers and floats",
                           field->name, granary_dtype_name(field->dtype));
        }
        if (turn == 0) {
            *ret_dtype = field->dtype;
        } else if (infer_is_turn_of(field->dtype, turn < count)) {
            *ret_dtype = gr_dtype_promote(*ret_dtype, field->dtype);
        }
    }
    return GRANARY_OK;
}

static granary_err
infer_to_tensor(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_schema *schema = &inputs[0]->schema;
    const struct gr_params_to_tensor *params = GR_NODE_PARAMS(to_tensor, node->node);
    const Granary__Attr *columns = params->columns;
    size_t count = columns != NULL ? columns->n_strings : schema->count;
    int64_t elements;
    granary_err err;

    if (params->flat && count > 1) {
        return gr_fail(GRANARY_EINVAL, "parameter 'flat' is for one column, not for %zu", count);
    }
    if (count == 0) {
        return gr_fail(GRANARY_EINVAL, "there is no column");
    }
    type->dims = params->flat ? 1 : 2;
    type->shape[0] = params->rows == NULL ? GR_SIZE_UNKNOWN : *params->rows;
    type->shape[1] = (int64_t)count;
    err = common_dtype(schema, columns, count, &type->dtype);
    return err == GRANARY_OK ? infer_count(type->dims, type->shape, &elements) : err;
}

const struct gr_operator gr_op_to_tensor = {.infer = infer_to_tensor};
