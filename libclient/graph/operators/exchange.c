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
    bool is_hot = op_param(node, "hot") != NULL;

    (void)op;
    if (is_hot != (node->n_inputs == 2)) {
        return gr_fail(GRANARY_EINVAL, is_hot ? "parameter 'hot' needs a second input, which has the keys"
                                              : "parameter 'hot' is missing: what becomes of keys of the second input");
    }
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

/* ---- sort ---- */

#define ROWS_COLUMN "#rows" /* how many rows a sample stands for */

static granary_err
check_order(const Granary__Node *node, enum gr_tile_op op)
{
    (void)op;
    return op_check_flags(node, op_param(node, "by")->n_strings);
}

static granary_err
infer_sample(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const Granary__Attr *by = op_param(node->node, "by");
    granary_err err = op_refuse_lists(&inputs[0]->schema, by, "sorted by");

    if (err == GRANARY_OK) {
        err = op_add_columns(by, &inputs[0]->schema, &type->schema);
    }
    if (err == GRANARY_OK && gr_schema_find(&type->schema, ROWS_COLUMN) >= 0) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'by': a column '%s' is made; rename that of the rows", ROWS_COLUMN);
    }
    return err == GRANARY_OK ? gr_schema_add(&type->schema, ROWS_COLUMN, GRANARY_INT64) : err;
}

static granary_err
reads_sample(const struct gr_op_use *use, bool *needed, bool *const reads[2])
{
    (void)needed;
    op_reads_named(use, "by", reads[0]);
    return GRANARY_OK;
}

const struct gr_operator gr_op_sort_sample = {.traits = GR_OP_TAKES_CONDITIONS,
                                              .check = check_order,
                                              .infer = infer_sample,
                                              .columns = GR_COLUMNS_ALL,
                                              .reads = reads_sample};

/* The samples must be of these rows. */
static granary_err
infer_sorted(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_schema *rows = &inputs[0]->schema;
    const struct gr_schema *samples = &inputs[1]->schema;
    const Granary__Attr *by = op_param(node->node, "by");
    int weight = gr_schema_find(samples, ROWS_COLUMN);
    granary_err err = op_refuse_lists(rows, by, "sorted by");

    for (size_t k = 0; k < by->n_strings && err == GRANARY_OK; k++) {
        granary_dtype dtype = rows->fields[gr_schema_find(rows, by->strings[k])].dtype;
        granary_dtype of_sample = samples->fields[gr_schema_find(samples, by->strings[k])].dtype;

        if (dtype != of_sample) {
            err = gr_fail(GRANARY_ETYPE, "column '%.100s' is %s in the rows, and %s in the samples", by->strings[k],
                          granary_dtype_name(dtype), granary_dtype_name(of_sample));
        }
    }
    if (err == GRANARY_OK && (weight < 0 || samples->fields[weight].dtype != GRANARY_INT64)) {
        err =
            gr_fail(GRANARY_ETYPE, "the samples have no int64 column '%s': make them with `sort_sample`", ROWS_COLUMN);
    }
    return err == GRANARY_OK ? op_infer_same(node, inputs, type) : err;
}

const struct gr_operator gr_op_shuffle_sorted = {
    .traits = GR_OP_TAKES_CONDITIONS, .check = check_order, .infer = infer_sorted, .columns = GR_COLUMNS_ALL};
