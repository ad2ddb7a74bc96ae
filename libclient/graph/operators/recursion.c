/* Operators of recursions: the rows of a round, and all of them. How they run: sched/tile/frame/recursion.c. */
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/dtype_class.h"
#include "graph/operators/private.h"

/* Whether values of a dtype become those of another one, by a cast, with all that they say or not at all. */
static bool
casts(granary_dtype from, granary_dtype to)
{
    enum gr_dtype_class class = gr_dtype_class(to);

    if (from == to || from == GRANARY_NULLTYPE) {
        return true;
    }
    if (gr_dtype_is_integer(from)) {
        return gr_dtype_is_integer(to) || to == GRANARY_FLOAT64 || class == GR_CLASS_DECIMAL;
    }
    if (gr_dtype_kind(from) == GRANARY_DECIMAL && gr_dtype_kind(to) == GRANARY_DECIMAL) {
        return gr_dtype_scale(from) <= gr_dtype_scale(to);
    }
    return (from == GRANARY_FLOAT32 && to == GRANARY_FLOAT64) || (from == GRANARY_DATE && to == GRANARY_TIMESTAMP);
}

/* The rows of a round are those that a body is given in the next one. */
static granary_err
check_column(const struct gr_field *first, const struct gr_field *made, size_t place)
{
    if (strcmp(first->name, made->name) != 0) {
        return gr_fail(
            GRANARY_EINVAL,
            "column %zu of a round is '%.100s', and '%.100s' of the rows before: `project` gives it that name",
            place + 1, made->name, first->name);
    }
    return casts(made->dtype, first->dtype)
               ? GRANARY_OK
               : gr_fail(GRANARY_ETYPE,
                         "column '%.100s' is %s in the rows with which the recursion begins, but a round makes it %s: "
                         "cast it in either of them",
                         first->name, granary_dtype_name(first->dtype), granary_dtype_name(made->dtype));
}

/* The column that tells what rows are, and those that tell them apart. */
static granary_err
check_fresh(const struct gr_node *node, const struct gr_schema *first)
{
    const struct gr_params_recurse *params = GR_NODE_PARAMS(recurse, node->node);
    int at = params->fresh == NULL ? -1 : gr_schema_find(first, params->fresh);

    if (params->fresh == NULL) {
        return params->keys == NULL
                   ? GRANARY_OK
                   : gr_fail(GRANARY_EINVAL, "'keys' are of rounds that see all rows: name a column of "
                                             "int64 for 'fresh'");
    }
    if (at < 0 || first->fields[at].dtype != GRANARY_INT64) {
        return gr_fail(at < 0 ? GRANARY_ENOENT : GRANARY_ETYPE, "fresh: '%.100s' is no column of int64", params->fresh);
    }
    for (size_t k = 0; params->keys != NULL && k < params->keys->n_strings; k++) {
        if (gr_schema_find(first, params->keys->strings[k]) < 0) {
            return gr_fail(GRANARY_ENOENT, "keys: there is no column '%.100s'", params->keys->strings[k]);
        }
    }
    return GRANARY_OK;
}

static granary_err
infer_recurse(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_schema *first = &inputs[0]->schema;
    const struct gr_schema *made = &inputs[1]->schema;
    granary_err err = GRANARY_OK;

    if (node->inputs[0]->op != GR_TILE_round_rows) {
        return gr_fail(GRANARY_EINVAL, "its first input, '%.100s', is %s: it must be the 'round_rows' of the recursion",
                       node->inputs[0]->node->name, node->inputs[0]->node->op);
    }
    if (first->count != made->count) {
        return gr_fail(GRANARY_EINVAL, "a round makes %zu columns, and the rows before have %zu", made->count,
                       first->count);
    }
    err = check_fresh(node, first);
    for (size_t c = 0; c < first->count && err == GRANARY_OK; c++) {
        err = check_column(&first->fields[c], &made->fields[c], c);
    }
    return err == GRANARY_OK ? op_infer_same(node, inputs, type) : err;
}

const struct gr_operator gr_op_round_rows = {
    .traits = GR_OP_IS_CHEAP, .infer = op_infer_same, .columns = GR_COLUMNS_ALL};
const struct gr_operator gr_op_recurse = {.infer = infer_recurse, .columns = GR_COLUMNS_ALL};
