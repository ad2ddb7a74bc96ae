/* Operators that choose and order rows: select to encode hand columns through as they are. */
#include <string.h>

#include "base/error.h"
#include "graph/expr.h"
#include "graph/operators/private.h"
#include "graph/rewrite/frame/keys.h"
#include "graph/rewrite/rewrite.h"

/* ---- select, filter ---- */

static granary_err
infer_select(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    return op_add_columns(op_param(node->node, "columns"), &inputs[0]->schema, &type->schema);
}

static granary_err
reads_select(const struct gr_op_use *use, bool *needed, bool *const reads[2])
{
    op_reads_by_name(use, needed, reads[0]);
    return GRANARY_OK;
}

const struct gr_operator gr_op_select = {
    .traits = GR_OP_IS_CHEAP | GR_OP_TAKES_CONDITIONS | GR_OP_LETS_CONDITIONS_DOWN | GR_OP_PASSES_ROWS |
              GR_OP_KEEPS_ORDER | GR_OP_ROW_BY_ROW,
    .infer = infer_select,
    .columns = GR_COLUMNS_ENTRIES,
    .entries = "columns",
    .reads = reads_select,
    .origin = op_origin_same,
};

static const char *
condition_of(const Granary__Node *node)
{
    return gr_attr_string(node->attrs, node->n_attrs, "where", "");
}

static granary_err
infer_filter(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const char *where = condition_of(node->node);
    granary_dtype dtype = GRANARY_NULLTYPE;
    granary_err err = op_expression_dtype(node, where, &inputs[0]->schema, &dtype);

    if (err == GRANARY_OK && dtype != GRANARY_BOOL) {
        err = gr_fail(GRANARY_ETYPE, "expression `%.240s` is %s, but a filter needs a bool, such as a comparison",
                      where, granary_dtype_name(dtype));
    }
    return err == GRANARY_OK ? op_infer_same(node, inputs, type) : err;
}

static granary_err
reads_filter(const struct gr_op_use *use, bool *needed, bool *const reads[2])
{
    (void)op_reads_same(use, needed, reads);
    return gr_columns_mark_expression(use, use->inputs[0], reads[0], op_use_param(use, "where")->strings[0]);
}

const struct gr_operator gr_op_filter = {
    .traits = GR_OP_IS_CHEAP | GR_OP_TAKES_CONDITIONS | GR_OP_PASSES_ROWS | GR_OP_KEEPS_ORDER,
    .infer = infer_filter,
    .columns = GR_COLUMNS_INPUT,
    .reads = reads_filter,
    .origin = op_origin_same,
};

/* ---- some of the rows ---- */

const struct gr_operator gr_op_head = {
    .traits = GR_OP_IS_CHEAP | GR_OP_TAKES_CONDITIONS | GR_OP_KEEPS_ORDER,
    .infer = op_infer_same,
    .columns = GR_COLUMNS_INPUT,
    .reads = op_reads_same,
    .origin = op_origin_same,
};

static granary_err
check_slice(const Granary__Node *node, enum gr_tile_op op)
{
    (void)op;
    return GR_NODE_PARAMS(slice, node)->step == 0 ? gr_fail(GRANARY_EINVAL, "parameter 'step' cannot be 0")
                                                  : GRANARY_OK;
}

const struct gr_operator gr_op_slice = {
    .traits = GR_OP_IS_CHEAP,
    .check = check_slice,
    .infer = op_infer_same,
    .columns = GR_COLUMNS_INPUT,
    .reads = op_reads_same,
};

static granary_err
check_sample(const Granary__Node *node, enum gr_tile_op op)
{
    (void)op;
    return (op_param(node, "rows") != NULL) == (op_param(node, "fraction") != NULL)
               ? gr_fail(GRANARY_EINVAL, "it needs 'rows' or 'fraction', and not both")
               : GRANARY_OK;
}

const struct gr_operator gr_op_sample = {.check = check_sample,
                                         .infer = op_infer_same,
                                         .rewrite = rewrite_sample,
                                         .columns = GR_COLUMNS_INPUT,
                                         .reads = op_reads_same};

const struct gr_operator gr_op_rebalance = {
    .infer = op_infer_same, .columns = GR_COLUMNS_INPUT, .reads = op_reads_same};

static granary_err
reads_distinct(const struct gr_op_use *use, bool *needed, bool *const reads[2])
{
    (void)op_reads_same(use, needed, reads);
    op_reads_named(use, "subset", reads[0]);
    return GRANARY_OK;
}

static granary_err
infer_distinct(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    granary_err err = op_refuse_lists(&inputs[0]->schema, op_param(node->node, "subset"), "compared");

    return err == GRANARY_OK ? op_infer_same(node, inputs, type) : err;
}

const struct gr_operator gr_op_distinct = {
    .infer = infer_distinct, .rewrite = keys_of_distinct, .columns = GR_COLUMNS_INPUT, .reads = reads_distinct};

static granary_err
infer_duplicated(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    granary_err err = op_refuse_lists(&inputs[0]->schema, op_param(node->node, "subset"), "compared");

    return err == GRANARY_OK ? gr_schema_add(&type->schema, "duplicated", GRANARY_BOOL) : err;
}

static granary_err
reads_duplicated(const struct gr_op_use *use, bool *needed, bool *const reads[2])
{
    (void)needed;
    op_reads_named(use, "subset", reads[0]);
    return GRANARY_OK;
}

const struct gr_operator gr_op_duplicated = {
    .infer = infer_duplicated, .rewrite = keys_of_duplicated, .columns = GR_COLUMNS_ALL, .reads = reads_duplicated};

/* ---- sort ---- */

static granary_err
check_sort(const Granary__Node *node, enum gr_tile_op op)
{
    (void)op;
    return op_check_flags(node, op_param(node, "by")->n_strings);
}

static granary_err
reads_sort(const struct gr_op_use *use, bool *needed, bool *const reads[2])
{
    (void)op_reads_same(use, needed, reads);
    op_reads_named(use, "by", reads[0]);
    return GRANARY_OK;
}

static granary_err
infer_sort(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    granary_err err = op_refuse_lists(&inputs[0]->schema, op_param(node->node, "by"), "sorted by");

    return err == GRANARY_OK ? op_infer_same(node, inputs, type) : err;
}

const struct gr_operator gr_op_sort = {
    .traits = GR_OP_TAKES_CONDITIONS | GR_OP_LETS_CONDITIONS_DOWN,
    .check = check_sort,
    .infer = infer_sort,
    .rewrite = keys_of_sort,
    .columns = GR_COLUMNS_INPUT,
    .reads = reads_sort,
    .origin = op_origin_same,
};

/* ---- encode ---- */

static granary_err
infer_encode(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_schema *input = &inputs[0]->schema;
    const Granary__Attr *columns = op_param(node->node, "columns");

    for (size_t i = 0; columns != NULL && i < columns->n_strings; i++) {
        const struct gr_field *field = &input->fields[gr_schema_find(input, columns->strings[i])];

        if (field->dtype != GRANARY_STRING) {
            return gr_fail(GRANARY_ETYPE, "column '%s' is %s: only strings are encoded", field->name,
                           granary_dtype_name(field->dtype));
        }
    }
    return op_infer_same(node, inputs, type);
}

const struct gr_operator gr_op_encode = {.infer = infer_encode, .columns = GR_COLUMNS_INPUT, .reads = op_reads_same};
