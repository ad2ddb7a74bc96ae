/*
 * Operators in two halves, and those that deal rows to parts: what a graph that runs on several machines is cut into.
 * The first half sees the rows of one place. The second one has no rows to see, so its parameters tell their columns.
 */
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/node.h"
#include "graph/operators/private.h"

/* A list of dtypes, one for each of so many things. */
static granary_err
check_dtypes(const Granary__Attr *dtypes, size_t count, const char *things)
{
    granary_err err = GRANARY_OK;

    if (dtypes->n_strings != count) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' needs one for each of the %zu %s, not %zu", dtypes->name, count,
                       things, dtypes->n_strings);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        if (gr_dtype_parse(dtypes->strings[i]) == GRANARY_NULLTYPE &&
            strcmp(dtypes->strings[i], granary_dtype_name(GRANARY_NULLTYPE)) != 0) {
            err =
                gr_fail(GRANARY_EINVAL, "parameter '%s': there is no dtype '%.60s'", dtypes->name, dtypes->strings[i]);
        }
    }
    return err;
}

/* ---- groupby ---- */

static granary_err
check_partial(const Granary__Node *node, enum gr_tile_op op)
{
    const struct gr_params params = {op, node->attrs, node->n_attrs};

    if (op_param(node, "keys")->n_strings == 0 && gr_param_int(&params, "parts") != 1) {
        return gr_fail(GRANARY_EINVAL, "without keys all rows are one group: 'parts' must be 1");
    }
    return op_check_groupby(node, op);
}

/* Objects have no type: it is only looked whether there could be one. */
static granary_err
infer_partial(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    struct gr_schema schema = {0};
    granary_err err = op_groupby_columns(node, &inputs[0]->schema, &schema);

    (void)type;
    gr_schema_free(&schema);
    return err;
}

const struct gr_operator gr_op_groupby_partial = {
    .traits = GR_OP_TAKES_CONDITIONS, .check = check_partial, .infer = infer_partial, .reads = op_reads_groupby};

/* Names that come once, each with a dtype. */
static granary_err
check_combine(const Granary__Node *node, enum gr_tile_op op)
{
    const Granary__Attr *columns = op_param(node, "columns");
    const Granary__Attr *keys = op_param(node, "keys");
    const char *repeated = NULL;
    granary_err err = find_repeated(columns->strings, columns->n_strings, &repeated);

    if (err == GRANARY_OK && repeated == NULL) {
        err = find_repeated(keys->strings, keys->n_strings, &repeated);
    }
    if (err == GRANARY_OK && repeated != NULL) {
        err = gr_fail(GRANARY_EINVAL, "column '%.100s' is given twice", repeated);
    }
    if (err == GRANARY_OK) {
        err = check_dtypes(op_param(node, "dtypes"), columns->n_strings, "columns");
    }
    return err == GRANARY_OK ? op_check_groupby(node, op) : err;
}

static granary_err
infer_combine(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const Granary__Attr *columns = op_param(node->node, "columns");
    const Granary__Attr *dtypes = op_param(node->node, "dtypes");
    struct gr_schema schema = {0};
    granary_err err = GRANARY_OK;

    (void)inputs;
    for (size_t c = 0; c < columns->n_strings && err == GRANARY_OK; c++) {
        err = gr_schema_add(&schema, columns->strings[c], gr_dtype_parse(dtypes->strings[c]));
    }
    if (err == GRANARY_OK) {
        err = op_groupby_columns(node, &schema, &type->schema);
    }
    gr_schema_free(&schema);
    return err;
}

const struct gr_operator gr_op_groupby_combine = {
    .check = check_combine, .infer = infer_combine, .columns = GR_COLUMNS_ALL};

/* ---- shuffle ---- */

static granary_err
check_shuffle(const Granary__Node *node, enum gr_tile_op op)
{
    const Granary__Attr *types = op_param(node, "types");

    (void)op;
    return types == NULL ? GRANARY_OK : check_dtypes(types, op_param(node, "keys")->n_strings, "keys");
}

static granary_err
infer_shuffle(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const Granary__Attr *number = op_param(node->node, "number");
    granary_err err = op_refuse_lists(&inputs[0]->schema, op_param(node->node, "keys"), "shuffled by");

    if (err == GRANARY_OK) {
        err = op_infer_same(node, inputs, type);
    }
    if (err == GRANARY_OK && number != NULL && gr_schema_find(&type->schema, number->strings[0]) >= 0) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'number': there is a column '%.100s' already; choose another name",
                      number->strings[0]);
    }
    return err == GRANARY_OK && number != NULL ? gr_schema_add(&type->schema, number->strings[0], GRANARY_INT64) : err;
}

/* The next machine reads it: whoever reads it here, it has all columns. */
const struct gr_operator gr_op_shuffle = {
    .traits = GR_OP_TAKES_CONDITIONS, .check = check_shuffle, .infer = infer_shuffle, .columns = GR_COLUMNS_ALL};
