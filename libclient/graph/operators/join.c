/* Operators over several frames: join and concat. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/join.h"
#include "graph/operators/concat.h"
#include "graph/operators/private.h"
#include "graph/rewrite/frame/keys.h"

/* ---- join ---- */

static granary_err
check_join(const Granary__Node *node, enum gr_tile_op op)
{
    struct gr_join join;

    (void)op;
    return gr_join_parse(node->attrs, node->n_attrs, &join);
}

static granary_err
infer_join(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    struct gr_join join;
    granary_err err = gr_join_parse(node->node->attrs, node->node->n_attrs, &join);

    return err == GRANARY_OK ? gr_join_schema(&join, &inputs[0]->schema, &inputs[1]->schema, &type->schema) : err;
}

/* The columns that the condition on pairs reads. */
static granary_err
reads_where(const struct gr_join *join, const struct gr_op_use *use, bool *const reads[2])
{
    struct gr_join_column *columns = NULL;
    struct gr_schema schema = {0};
    size_t count = 0;
    bool *flags = NULL;
    granary_err err = gr_join_pair_columns(join, use->inputs[0], use->inputs[1], &columns, &count);

    for (size_t c = 0; c < count && err == GRANARY_OK; c++) {
        err = gr_schema_add(&schema, columns[c].name, columns[c].dtype);
    }
    if (err == GRANARY_OK) {
        flags = calloc(count + 1, sizeof *flags);
        err = flags == NULL ? gr_fail(GRANARY_ENOMEM, "pruning columns: out of memory")
                            : gr_columns_mark_expression(use, &schema, flags, join->where);
    }
    for (size_t c = 0; c < count && err == GRANARY_OK; c++) {
        if (flags[c] && columns[c].left >= 0) {
            reads[0][columns[c].left] = true;
        } else if (flags[c]) {
            reads[1][columns[c].right] = true;
        }
    }
    free(flags);
    gr_schema_free(&schema);
    gr_join_columns_free(columns, count);
    return err;
}

static granary_err
reads_join(const struct gr_op_use *use, bool *needed, bool *const reads[2])
{
    struct gr_join_column *columns = NULL;
    size_t count = 0;
    struct gr_join join;
    granary_err err = gr_join_parse(use->attrs, use->attr_count, &join);

    if (err == GRANARY_OK) {
        err = gr_join_columns(&join, use->inputs[0], use->inputs[1], &columns, &count);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    gr_columns_mark_names(use->inputs[0], reads[0], join.left_on, join.key_count);
    gr_columns_mark_names(use->inputs[1], reads[1], join.right_on, join.key_count);
    for (size_t c = 0; c < count; c++) {
        if (needed[c] && columns[c].left >= 0) {
            reads[0][columns[c].left] = true;
        } else if (needed[c] && columns[c].right >= 0) {
            reads[1][columns[c].right] = true;
        }
    }
    gr_join_columns_free(columns, count);
    /* A cross join needs the number of rows, which a frame without columns does not have. */
    for (size_t k = 0; k < 2; k++) {
        if (use->inputs[k]->count > 0 && memchr(reads[k], true, use->inputs[k]->count) == NULL) {
            reads[k][0] = true;
        }
    }
    return join.where != NULL ? reads_where(&join, use, reads) : GRANARY_OK;
}

static bool
origin_join(const struct gr_op_use *use, const char *column, size_t *ret_input, const char **ret_name)
{
    struct gr_join_column *columns = NULL;
    struct gr_join join;
    size_t count = 0;

    *ret_name = NULL;
    if (gr_join_parse(use->attrs, use->attr_count, &join) != GRANARY_OK ||
        gr_join_columns(&join, use->inputs[0], use->inputs[1], &columns, &count) != GRANARY_OK) {
        return false;
    }
    for (size_t c = 0; c < count; c++) {
        if (strcmp(columns[c].name, column) == 0 && (columns[c].left >= 0 || columns[c].right >= 0)) {
            *ret_input = columns[c].left < 0;
            *ret_name = use->inputs[*ret_input]->fields[*ret_input == 0 ? columns[c].left : columns[c].right].name;
            break;
        }
    }
    gr_join_columns_free(columns, count);
    return *ret_name != NULL;
}

const struct gr_operator gr_op_join = {
    .traits = GR_OP_TAKES_CONDITIONS | GR_OP_LETS_CONDITIONS_DOWN | GR_OP_DROPS_ROWS,
    .check = check_join,
    .infer = infer_join,
    .rewrite = keys_of_join,
    .columns = GR_COLUMNS_PICKED,
    .reads = reads_join,
    .origin = origin_join,
};

/* ---- concat ---- */

static granary_err
check_concat(const Granary__Node *node, enum gr_tile_op op)
{
    struct gr_concat concat;

    (void)op;
    return gr_concat_parse(node->attrs, node->n_attrs, &concat);
}

static granary_err
infer_concat(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_schema **schemas = calloc(node->input_count + 1, sizeof *schemas);
    struct gr_concat concat;
    granary_err err = schemas == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory")
                                      : gr_concat_parse(node->node->attrs, node->node->n_attrs, &concat);

    for (size_t i = 0; i < node->input_count && err == GRANARY_OK; i++) {
        schemas[i] = &inputs[i]->schema;
    }
    if (err == GRANARY_OK) {
        err = gr_concat_schema(&concat, schemas, node->input_count, &type->schema);
    }
    free(schemas);
    return err;
}

const struct gr_operator gr_op_concat = {.check = check_concat, .infer = infer_concat, .columns = GR_COLUMNS_PICKED};
