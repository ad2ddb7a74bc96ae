/* Within the folder: what operators' checks and types have in common. Messages come without the node's name. */
#ifndef GRAPH_OPERATORS_PRIVATE_H
#define GRAPH_OPERATORS_PRIVATE_H

#include "graph/operator.h"

/* A parameter of a node, or of an operator in a plan; NULL: it is not there. */
static inline const Granary__Attr *
op_param(const Granary__Node *node, const char *name)
{
    return gr_attr_find(node->attrs, node->n_attrs, name);
}
static inline const Granary__Attr *
op_use_param(const struct gr_op_use *use, const char *name)
{
    return gr_attr_find(use->attrs, use->attr_count, name);
}

/* A mapping whose keys are names of new columns: there is one, none is empty. Errors: EINVAL */
granary_err op_check_new_columns(const Granary__Attr *attr);
/* descending, nulls: for all of so many columns, or one for each. Errors: EINVAL */
granary_err op_check_flags(const Granary__Node *node, size_t columns);

/* The dtype of an expression over a frame; a message names the expression. Errors: ENOENT, ETYPE, EINVAL, ENOMEM */
granary_err op_expression_dtype(const struct gr_node *node, const char *text, const struct gr_schema *schema,
                                granary_dtype *ret_dtype);
/* Add columns of the input, by name; ENOENT: there is none. */
granary_err op_add_columns(const Granary__Attr *names, const struct gr_schema *input, struct gr_schema *schema);
/* Give a column a dtype; it is added when it is not there. Errors: ENOMEM */
granary_err op_set_column(struct gr_schema *schema, const char *name, granary_dtype dtype);
/* That none of the columns that a parameter names (NULL: of all) has lists; purpose: "sorted by". Errors: ETYPE */
granary_err op_refuse_lists(const struct gr_schema *schema, const Granary__Attr *names, const char *purpose);
/* infer(): it yields its input's columns. */
granary_err
op_infer_same(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type);

/* groupby and its halves: check(); the columns of keys and aggregates over an input; reads(). */
granary_err op_check_groupby(const Granary__Node *node, enum gr_tile_op op);
granary_err op_groupby_columns(const struct gr_node *node, const struct gr_schema *input, struct gr_schema *schema);
granary_err op_reads_groupby(const struct gr_op_use *use, bool *needed, bool *const reads[2]);

/* reads(): the columns needed, which are the input's. */
granary_err op_reads_same(const struct gr_op_use *use, bool *needed, bool *const reads[2]);
/* ... found by name. */
void op_reads_by_name(const struct gr_op_use *use, const bool *needed, bool *reads);
/* The columns a list names, or all without it. */
void op_reads_named(const struct gr_op_use *use, const char *name, bool *reads);

/* origin(): the input's column of that name. */
bool op_origin_same(const struct gr_op_use *use, const char *column, size_t *ret_input, const char **ret_name);
/* ... or the one that the entry of that name in `columns` hands through. */
bool op_origin_map(const struct gr_op_use *use, const char *column, size_t *ret_input, const char **ret_name);

#endif
