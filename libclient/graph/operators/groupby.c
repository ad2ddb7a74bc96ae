/* Operators that yield a row a group: groupby, value_counts and describe. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/operators/aggregate.h"
#include "graph/operators/private.h"
#include "graph/rewrite/frame/keys.h"
#include "graph/rewrite/rewrite.h"

/* ---- groupby ---- */

granary_err
op_check_groupby(const Granary__Node *node, enum gr_tile_op op)
{
    const Granary__Attr *keys = op_param(node, "keys");
    const Granary__Attr *attr = op_param(node, "aggregate");
    struct gr_aggregate *aggregates = NULL;
    size_t count = 0;
    granary_err err = op_check_new_columns(attr);

    (void)op;
    if (err == GRANARY_OK) {
        err = gr_aggregates_parse(attr, &aggregates, &count);
    }
    gr_aggregates_free(aggregates, count);
    for (size_t i = 0; i < attr->n_keys * keys->n_strings && err == GRANARY_OK; i++) {
        const char *name = attr->keys[i / keys->n_strings];

        if (strcmp(name, keys->strings[i % keys->n_strings]) == 0) {
            err = gr_fail(GRANARY_EINVAL, "aggregate '%s' has the name of a key; choose another one", name);
        }
    }
    return err;
}

/* An argument's dtype, and what the function gives for it. */
static granary_err
aggregate_dtype(const struct gr_node *node, const struct gr_aggregate *aggregate, const char *text,
                const struct gr_schema *input, granary_dtype *ret_dtype)
{
    granary_dtype dtype = GRANARY_NULLTYPE;
    granary_err err = text == NULL ? GRANARY_OK : gr_aggregate_argument(node->trees, text, input, &dtype);

    if (err != GRANARY_OK) {
        return gr_fail_in(err, "aggregate '%.100s'", aggregate->name);
    }
    err = gr_aggregate_dtype(aggregate->function, dtype, ret_dtype);
    return err == GRANARY_OK ? GRANARY_OK
                             : gr_fail_in(err, "aggregate '%.100s': column '%.100s'", aggregate->name, text);
}

static granary_err
add_aggregate(const struct gr_node *node, const struct gr_aggregate *aggregate, const struct gr_schema *input,
              struct gr_schema *schema)
{
    granary_dtype dtype = GRANARY_NULLTYPE;
    granary_err err = GRANARY_OK;

    if (aggregate->second != NULL) {
        err = aggregate_dtype(node, aggregate, aggregate->second, input, &dtype);
    }
    if (err == GRANARY_OK) {
        err = aggregate_dtype(node, aggregate, aggregate->column, input, &dtype);
    }
    return err == GRANARY_OK ? gr_schema_add(schema, aggregate->name, dtype) : err;
}

granary_err
op_groupby_columns(const struct gr_node *node, const struct gr_schema *input, struct gr_schema *schema)
{
    struct gr_aggregate *aggregates = NULL;
    size_t count = 0;
    granary_err err = op_add_columns(op_param(node->node, "keys"), input, schema);

    err = err == GRANARY_OK ? op_refuse_lists(schema, NULL, "grouped by") : err;
    if (err == GRANARY_OK) {
        err = gr_aggregates_parse(op_param(node->node, "aggregate"), &aggregates, &count);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = add_aggregate(node, &aggregates[i], input, schema);
    }
    gr_aggregates_free(aggregates, count);
    return err;
}

static granary_err
infer_groupby(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    return op_groupby_columns(node, &inputs[0]->schema, &type->schema);
}

granary_err
gr_groupby_schema(const struct gr_op_use *use, struct gr_schema *ret_schema)
{
    const Granary__Attr *columns = op_use_param(use, "columns");
    granary_err err = gr_schema_copy(use->inputs[0], ret_schema);

    for (size_t k = 0; columns != NULL && k < columns->n_keys && err == GRANARY_OK; k++) {
        err = gr_schema_add(ret_schema, columns->keys[k], GRANARY_NULLTYPE);
    }
    return err;
}

/* An argument is a column of that name, or else an expression. */
static granary_err
reads_argument(const struct gr_op_use *use, const struct gr_schema *schema, bool *reads, const char *text)
{
    if (gr_schema_find(schema, text) < 0) {
        return gr_columns_mark_expression(use, schema, reads, text);
    }
    gr_columns_mark(schema, reads, text);
    return GRANARY_OK;
}

/* What the aggregates that are needed read. */
static granary_err
reads_aggregates(const struct gr_op_use *use, const struct gr_schema *schema, bool *needed, bool *reads)
{
    struct gr_aggregate *aggregates;
    size_t count;
    bool any = false;
    granary_err err = gr_aggregates_parse(op_use_param(use, "aggregate"), &aggregates, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t k = 0; k < count && err == GRANARY_OK; k++) {
        int at = gr_schema_find(use->own, aggregates[k].name);

        if (at >= 0 && !needed[at] && (any || k + 1 < count)) {
            continue;
        }
        if (at >= 0) {
            needed[at] = true; /* the last one stays when no other does */
        }
        any = true;
        if (aggregates[k].column != NULL) {
            err = reads_argument(use, schema, reads, aggregates[k].column);
        }
        if (err == GRANARY_OK && aggregates[k].second != NULL) {
            err = reads_argument(use, schema, reads, aggregates[k].second);
        }
    }
    gr_aggregates_free(aggregates, count);
    if (schema->count > 0 && memchr(reads, true, schema->count) == NULL) { /* rows are counted by a column */
        const bool *there = use->there == NULL ? NULL : memchr(use->there, true, use->inputs[0]->count);

        reads[there == NULL ? 0 : there - use->there] = true;
    }
    return err;
}

granary_err
gr_groupby_reads(const struct gr_op_use *use, const struct gr_schema *schema, bool *needed, bool *ret_reads)
{
    const Granary__Attr *keys = op_use_param(use, "keys");
    const Granary__Attr *columns = op_use_param(use, "columns");
    const Granary__Attr *where = op_use_param(use, "where");
    granary_err err;

    if (keys != NULL) {
        gr_columns_mark_names(schema, ret_reads, keys->strings, keys->n_strings);
        gr_columns_mark_names(use->own, needed, keys->strings, keys->n_strings);
    }
    err = reads_aggregates(use, schema, needed, ret_reads);
    if (err == GRANARY_OK && where != NULL) {
        err = gr_columns_mark_expression(use, schema, ret_reads, where->strings[0]);
    }
    for (size_t c = schema->count; c-- > use->inputs[0]->count && err == GRANARY_OK;) {
        if (ret_reads[c]) { /* later ones may use those before */
            err = gr_columns_mark_expression(use, schema, ret_reads, columns->strings[c - use->inputs[0]->count]);
        }
    }
    return err;
}

granary_err
op_reads_groupby(const struct gr_op_use *use, bool *needed, bool *const reads[2])
{
    struct gr_schema schema = {0};
    bool *all = NULL;
    granary_err err = gr_groupby_schema(use, &schema);

    if (err == GRANARY_OK && (all = calloc(schema.count + 1, sizeof *all)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "pruning columns: out of memory");
    }
    if (err == GRANARY_OK) {
        err = gr_groupby_reads(use, &schema, needed, all);
    }
    if (err == GRANARY_OK) {
        memcpy(reads[0], all, use->inputs[0]->count * sizeof *all);
    }
    free(all);
    gr_schema_free(&schema);
    return err;
}

static bool
origin_groupby(const struct gr_op_use *use, const char *column, size_t *ret_input, const char **ret_name)
{
    const Granary__Attr *keys = op_use_param(use, "keys");
    size_t k = 0;

    while (k < keys->n_strings && strcmp(keys->strings[k], column) != 0) {
        k++;
    }
    return k < keys->n_strings && op_origin_map(use, column, ret_input, ret_name);
}

const struct gr_operator gr_op_groupby = {
    .traits = GR_OP_TAKES_CONDITIONS | GR_OP_LETS_CONDITIONS_DOWN | GR_OP_DROPS_ROWS,
    .check = op_check_groupby,
    .infer = infer_groupby,
    .rewrite = keys_of_groupby,
    .columns = GR_COLUMNS_ENTRIES,
    .entries = "aggregate",
    .reads = op_reads_groupby,
    .origin = origin_groupby,
};

/* ---- value_counts, describe ---- */

/* The columns named, or all. */
static granary_err
add_named(const struct gr_node *node, const struct gr_schema *input, struct gr_schema *ret_schema)
{
    const Granary__Attr *names = op_param(node->node, "columns");

    return names != NULL ? op_add_columns(names, input, ret_schema) : gr_schema_copy(input, ret_schema);
}

static granary_err
reads_columns(const struct gr_op_use *use, bool *needed, bool *const reads[2])
{
    (void)needed;
    op_reads_named(use, "columns", reads[0]);
    return GRANARY_OK;
}

static granary_err
infer_value_counts(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    bool normalize = GR_NODE_PARAMS(value_counts, node->node)->normalize;
    const char *name = normalize ? "proportion" : "count";
    granary_err err = add_named(node, &inputs[0]->schema, &type->schema);

    err = err == GRANARY_OK ? op_refuse_lists(&type->schema, NULL, "grouped by") : err;
    if (err == GRANARY_OK && gr_schema_find(&type->schema, name) >= 0) {
        err = gr_fail(GRANARY_EINVAL, "a column that is counted is called '%s', as the new one; rename it", name);
    }
    return err == GRANARY_OK ? gr_schema_add(&type->schema, name, normalize ? GRANARY_FLOAT64 : GRANARY_INT64) : err;
}

const struct gr_operator gr_op_value_counts = {
    .infer = infer_value_counts, .rewrite = keys_of_value_counts, .columns = GR_COLUMNS_ALL, .reads = reads_columns};

static granary_err
add_described(const struct gr_field *field, bool named, struct gr_schema *schema)
{
    if (!gr_aggregate_describes(field->dtype)) {
        return named ? gr_fail(GRANARY_ETYPE, "column '%.100s' is %s: only numbers are described", field->name,
                               granary_dtype_name(field->dtype))
                     : GRANARY_OK;
    }
    if (strcmp(field->name, "statistic") == 0) {
        return gr_fail(GRANARY_EINVAL, "a column is called 'statistic', as the new one; rename it");
    }
    return gr_schema_add(schema, field->name, GRANARY_FLOAT64);
}

static granary_err
infer_describe(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    struct gr_schema columns = {0};
    bool named = op_param(node->node, "columns") != NULL;
    granary_err err = add_named(node, &inputs[0]->schema, &columns);

    if (err == GRANARY_OK) {
        err = gr_schema_add(&type->schema, "statistic", GRANARY_STRING);
    }
    for (size_t c = 0; c < columns.count && err == GRANARY_OK; c++) {
        err = add_described(&columns.fields[c], named, &type->schema);
    }
    if (err == GRANARY_OK && type->schema.count == 1) {
        err = gr_fail(GRANARY_EINVAL, "there is no column of numbers");
    }
    gr_schema_free(&columns);
    return err;
}

const struct gr_operator gr_op_describe = {
    .infer = infer_describe, .rewrite = rewrite_describe, .columns = GR_COLUMNS_ALL, .reads = reads_columns};
