/* prune-columns, first half: which columns of its inputs an operator reads. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/aggregate.h"
#include "graph/expr.h"
#include "graph/window.h"
#include "optimize/prune.h"

void
prune_mark(const struct gr_schema *schema, bool *flags, const char *name)
{
    int at = gr_schema_find(schema, name);

    if (at >= 0) {
        flags[at] = true;
    }
}

void
prune_mark_names(const struct gr_schema *schema, bool *flags, char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        prune_mark(schema, flags, names[i]);
    }
}

/* The names in a list attribute of the step. */
static void
mark_attr(const struct gr_schema *schema, bool *flags, const struct gr_step *step, const char *name)
{
    const Granary__Attr *attr = gr_step_attr(step, name);

    if (attr != NULL) {
        prune_mark_names(schema, flags, attr->strings, attr->n_strings);
    }
}

granary_err
prune_mark_expression(const struct gr_schema *schema, bool *flags, const char *text)
{
    struct gr_expr *expr;
    granary_err err = gr_expr_parse(text, &expr);

    if (err == GRANARY_OK) {
        gr_expr_columns(expr, schema, flags);
        gr_expr_destroy(expr);
    }
    return err;
}

static void
reads_same(const struct pruning *p, size_t i, bool *reads)
{
    /* its schema is its input's */
    memcpy(reads, p->needed[i], p->steps->steps[i].type->schema.count * sizeof *reads);
}

static void
reads_select(const struct pruning *p, size_t i, bool *reads)
{
    const struct gr_step *step = &p->steps->steps[i];
    const struct gr_schema *schema = &step->type->schema;

    for (size_t c = 0; c < schema->count; c++) {
        if (p->needed[i][c]) {
            prune_mark(prune_input_schema(p, step, 0), reads, schema->fields[c].name);
        }
    }
}

static granary_err
reads_assign(const struct pruning *p, size_t i, bool *reads)
{
    const struct gr_step *step = &p->steps->steps[i];
    const struct gr_schema *own = &step->type->schema;
    const struct gr_schema *schema = prune_input_schema(p, step, 0);
    const Granary__Attr *columns = gr_step_attr(step, "columns");
    granary_err err = GRANARY_OK;

    /* A replaced column, too, even when no expression reads it: it keeps the place. */
    for (size_t c = 0; c < own->count; c++) {
        if (p->needed[i][c]) {
            prune_mark(schema, reads, own->fields[c].name);
        }
    }
    for (size_t k = 0; k < columns->n_keys && err == GRANARY_OK; k++) {
        int at = gr_schema_find(own, columns->keys[k]);

        if (at >= 0 && p->needed[i][at]) {
            err = prune_mark_expression(schema, reads, columns->strings[k]);
        }
    }
    return err;
}

static granary_err
reads_window(const struct pruning *p, size_t i, bool *reads)
{
    const struct gr_step *step = &p->steps->steps[i];
    const struct gr_schema *own = &step->type->schema;
    const struct gr_schema *schema = prune_input_schema(p, step, 0);
    struct gr_window *windows;
    size_t count;
    granary_err err = gr_windows_parse(gr_step_attr(step, "columns"), &windows, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    mark_attr(schema, reads, step, "partition");
    mark_attr(schema, reads, step, "by");
    /* A replaced column, too: it keeps the place. */
    for (size_t c = 0; c < own->count; c++) {
        if (p->needed[i][c]) {
            prune_mark(schema, reads, own->fields[c].name);
        }
    }
    for (size_t k = 0; k < count && err == GRANARY_OK; k++) {
        int at = gr_schema_find(own, windows[k].name);

        if (at >= 0 && p->needed[i][at] && windows[k].value != NULL) {
            err = prune_mark_expression(schema, reads, windows[k].value);
        }
    }
    gr_windows_free(windows, count);
    return err;
}

static granary_err
reads_project(const struct pruning *p, size_t i, bool *reads)
{
    const struct gr_step *step = &p->steps->steps[i];
    const Granary__Attr *columns = gr_step_attr(step, "columns");
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < columns->n_keys && err == GRANARY_OK; k++) {
        int at = gr_schema_find(&step->type->schema, columns->keys[k]);

        if (at >= 0 && p->needed[i][at]) {
            err = prune_mark_expression(prune_input_schema(p, step, 0), reads, columns->strings[k]);
        }
    }
    return err;
}

/* What the aggregates that are needed read, of a schema with the columns that are computed. */
static granary_err
reads_aggregates(const struct pruning *p, size_t i, const struct gr_schema *schema, bool *reads)
{
    const struct gr_step *step = &p->steps->steps[i];
    struct gr_aggregate *aggregates;
    size_t count;
    bool any = false;
    granary_err err = gr_aggregates_parse(gr_step_attr(step, "aggregate"), &aggregates, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t k = 0; k < count && err == GRANARY_OK; k++) {
        int at = gr_schema_find(&step->type->schema, aggregates[k].name);

        if (at >= 0 && !p->needed[i][at] && (any || k + 1 < count)) {
            continue;
        }
        if (at >= 0) {
            p->needed[i][at] = true; /* the last one stays when no other does */
        }
        any = true;
        if (aggregates[k].column != NULL) {
            err = gr_aggregate_reads(aggregates[k].column, schema, reads);
        }
        if (err == GRANARY_OK && aggregates[k].second != NULL) {
            err = gr_aggregate_reads(aggregates[k].second, schema, reads);
        }
    }
    gr_aggregates_free(aggregates, count);
    any = false;
    for (size_t c = 0; c < schema->count; c++) {
        any = any || reads[c];
    }
    if (!any && schema->count > 0) { /* rows are counted by a column */
        reads[0] = true;
    }
    return err;
}

/* The input's columns and those the groupby computes, whose dtypes do not matter here. */
static granary_err
groupby_schema(const struct gr_schema *input, const Granary__Attr *columns, struct gr_schema *ret_schema)
{
    granary_err err = gr_schema_copy(input, ret_schema);

    for (size_t k = 0; columns != NULL && k < columns->n_keys && err == GRANARY_OK; k++) {
        err = gr_schema_add(ret_schema, columns->keys[k], GRANARY_NULLTYPE);
    }
    return err;
}

/* Entries nobody needs are not computed; needed: by entry. */
static granary_err
keep_computed(struct gr_step *step, const Granary__Attr *columns, const bool *needed)
{
    char **keys = calloc(columns->n_keys + 1, sizeof *keys);
    char **values = calloc(columns->n_keys + 1, sizeof *values);
    size_t count = 0;
    granary_err err = GRANARY_OK;

    for (size_t k = 0; keys != NULL && values != NULL && k < columns->n_keys; k++) {
        if (needed[k]) {
            keys[count] = columns->keys[k];
            values[count++] = columns->strings[k];
        }
    }
    if (keys == NULL || values == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "pruning columns: out of memory");
    } else if (count < columns->n_keys) {
        err = gr_step_set_attr(step, gr_attr_new_map("columns", keys, values, count));
    }
    free(keys);
    free(values);
    return err;
}

static granary_err
reads_groupby(const struct pruning *p, size_t i, bool *reads)
{
    const struct gr_step *step = &p->steps->steps[i];
    const struct gr_schema *input = prune_input_schema(p, step, 0);
    const Granary__Attr *columns = gr_step_attr(step, "columns");
    const Granary__Attr *where = gr_step_attr(step, "where");
    struct gr_schema schema = {0};
    bool *all = NULL;
    granary_err err = groupby_schema(input, columns, &schema);

    if (err == GRANARY_OK && (all = calloc(schema.count + 1, sizeof *all)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "pruning columns: out of memory");
    }
    if (err == GRANARY_OK) {
        mark_attr(&schema, all, step, "keys");
        mark_attr(&step->type->schema, p->needed[i], step, "keys");
        err = reads_aggregates(p, i, &schema, all);
    }
    if (err == GRANARY_OK && where != NULL) {
        err = prune_mark_expression(&schema, all, where->strings[0]);
    }
    for (size_t c = schema.count; c-- > input->count && err == GRANARY_OK;) { /* later ones may use those before */
        err = all[c] ? prune_mark_expression(&schema, all, columns->strings[c - input->count]) : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        memcpy(reads, all, input->count * sizeof *reads);
        err = columns == NULL ? GRANARY_OK : keep_computed(&p->steps->steps[i], columns, all + input->count);
    }
    free(all);
    gr_schema_free(&schema);
    return err;
}

/* The parameters of a join. Errors: EINVAL */
static granary_err
prune_join(const struct gr_step *step, struct gr_join *ret_join)
{
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);

    return gr_join_parse(attrs, count, ret_join);
}

/* The columns that the condition on pairs reads. */
static granary_err
reads_join_where(const struct gr_join *join, const struct gr_schema *left, const struct gr_schema *right,
                 bool *const reads[2])
{
    struct gr_join_column *columns = NULL;
    struct gr_schema schema = {0};
    size_t count = 0;
    bool *flags = NULL;
    granary_err err = gr_join_pair_columns(join, left, right, &columns, &count);

    for (size_t c = 0; c < count && err == GRANARY_OK; c++) {
        err = gr_schema_add(&schema, columns[c].name, columns[c].dtype);
    }
    if (err == GRANARY_OK) {
        flags = calloc(count + 1, sizeof *flags);
        err = flags == NULL ? gr_fail(GRANARY_ENOMEM, "pruning columns: out of memory")
                            : prune_mark_expression(&schema, flags, join->where);
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
reads_join(const struct pruning *p, size_t i, bool *const reads[2])
{
    const struct gr_step *step = &p->steps->steps[i];
    const struct gr_schema *left = prune_input_schema(p, step, 0);
    const struct gr_schema *right = prune_input_schema(p, step, 1);
    struct gr_join_column *columns = NULL;
    size_t count = 0;
    struct gr_join join;
    granary_err err = prune_join(step, &join);

    if (err == GRANARY_OK) {
        err = gr_join_columns(&join, left, right, &columns, &count);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    prune_mark_names(left, reads[0], join.left_on, join.key_count);
    prune_mark_names(right, reads[1], join.right_on, join.key_count);
    for (size_t c = 0; c < count; c++) {
        if (p->needed[i][c] && columns[c].left >= 0) {
            reads[0][columns[c].left] = true;
        } else if (p->needed[i][c] && columns[c].right >= 0) {
            reads[1][columns[c].right] = true;
        }
    }
    gr_join_columns_free(columns, count);
    /* A cross join needs the number of rows, which a frame without columns does not have. */
    for (size_t k = 0; k < 2; k++) {
        const struct gr_schema *schema = k == 0 ? left : right;
        bool any = false;

        for (size_t c = 0; c < schema->count; c++) {
            any = any || reads[k][c];
        }
        if (!any && schema->count > 0) {
            reads[k][0] = true;
        }
    }
    return join.where != NULL ? reads_join_where(&join, left, right, reads) : GRANARY_OK;
}

/* The columns a list names, or all when there is none. */
static void
reads_named(const struct pruning *p, size_t i, const char *name, bool *reads)
{
    const struct gr_step *step = &p->steps->steps[i];
    const struct gr_schema *schema = prune_input_schema(p, step, 0);

    if (gr_step_attr(step, name) != NULL) {
        mark_attr(schema, reads, step, name);
    } else {
        memset(reads, true, schema->count * sizeof *reads);
    }
}

granary_err
prune_reads(const struct pruning *p, size_t i)
{
    const struct gr_step *step = &p->steps->steps[i];
    bool *const *reads = p->reads[i];

    switch (step->op) {
    case GR_TILE_read_csv:
    case GR_TILE_read_arrow:
    case GR_TILE_table:
    case GR_TILE_null:
        return GRANARY_OK;
    case GR_TILE_select:
        reads_select(p, i, reads[0]);
        return GRANARY_OK;
    case GR_TILE_filter:
        reads_same(p, i, reads[0]);
        return prune_mark_expression(prune_input_schema(p, step, 0), reads[0], gr_step_attr(step, "where")->strings[0]);
    case GR_TILE_assign:
        return reads_assign(p, i, reads[0]);
    case GR_TILE_explode:
        reads_same(p, i, reads[0]);
        prune_mark(prune_input_schema(p, step, 0), reads[0], gr_step_attr(step, "column")->strings[0]);
        return GRANARY_OK;
    case GR_TILE_window:
        return reads_window(p, i, reads[0]);
    case GR_TILE_project:
        return reads_project(p, i, reads[0]);
    case GR_TILE_groupby:
        return reads_groupby(p, i, reads[0]);
    case GR_TILE_distinct:
        reads_same(p, i, reads[0]);
        reads_named(p, i, "subset", reads[0]);
        return GRANARY_OK;
    case GR_TILE_duplicated:
        reads_named(p, i, "subset", reads[0]);
        return GRANARY_OK;
    case GR_TILE_value_counts:
    case GR_TILE_describe:
        reads_named(p, i, "columns", reads[0]);
        return GRANARY_OK;
    case GR_TILE_sort:
        reads_same(p, i, reads[0]);
        mark_attr(prune_input_schema(p, step, 0), reads[0], step, "by");
        return GRANARY_OK;
    case GR_TILE_head:
    case GR_TILE_slice:
    case GR_TILE_sample:
    case GR_TILE_rebalance:
    case GR_TILE_encode:
        reads_same(p, i, reads[0]);
        return GRANARY_OK;
    case GR_TILE_join:
        return reads_join(p, i, reads);
    default:
        for (size_t k = 0; k < step->input_count && k < 2; k++) {
            memset(reads[k], true, prune_input_schema(p, step, k)->count * sizeof *reads[k]);
        }
        return GRANARY_OK;
    }
}
