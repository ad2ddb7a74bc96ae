/*
 * prune-columns: only the columns a target needs are read, computed and carried along.
 *
 * Readers first, each step says which columns of its inputs it reads, given which of its own are needed. An operator
 * not known here reads everything. Then, sources first, what each step really yields is settled: attributes lose what
 * is not needed, and steps that copy rows (sort, join, ...) take only what they need of an input that has more.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/aggregate.h"
#include "graph/expr.h"
#include "graph/join.h"
#include "optimize/rules.h"

/* One rule at work. Flags are by column of the step's (or the input's) schema. */
struct pruning {
    struct gr_steps *steps;
    bool **needed;     /* by step; NULL: no frame */
    bool *(*reads)[2]; /* by step and input */
};

static granary_err
no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "pruning columns: out of memory");
}

static bool
is_frame(const struct gr_step *step)
{
    return !step->type->is_tensor && step->op != GR_TILE_null;
}

static const struct gr_schema *
input_schema(const struct pruning *p, const struct gr_step *step, size_t k)
{
    return &p->steps->steps[step->inputs[k]].type->schema;
}

static void
mark(const struct gr_schema *schema, bool *flags, const char *name)
{
    int at = gr_schema_find(schema, name);

    if (at >= 0) {
        flags[at] = true;
    }
}

static void
mark_names(const struct gr_schema *schema, bool *flags, const Granary__Attr *names)
{
    for (size_t i = 0; names != NULL && i < names->n_strings; i++) {
        mark(schema, flags, names->strings[i]);
    }
}

static granary_err
mark_expression(const struct gr_schema *schema, bool *flags, const char *text)
{
    struct gr_expr *expr;
    granary_err err = gr_expr_parse(text, &expr);

    if (err == GRANARY_OK) {
        gr_expr_columns(expr, schema, flags);
        gr_expr_destroy(expr);
    }
    return err;
}

/* ---- what each operator reads ---- */

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
            mark(input_schema(p, step, 0), reads, schema->fields[c].name);
        }
    }
}

static granary_err
reads_assign(const struct pruning *p, size_t i, bool *reads)
{
    const struct gr_step *step = &p->steps->steps[i];
    const struct gr_schema *own = &step->type->schema;
    const struct gr_schema *schema = input_schema(p, step, 0);
    const Granary__Attr *columns = gr_step_attr(step, "columns");
    granary_err err = GRANARY_OK;

    for (size_t c = 0; c < own->count; c++) {
        if (p->needed[i][c]) {
            mark(schema, reads, own->fields[c].name);
        }
    }
    for (size_t k = 0; k < columns->n_keys; k++) {
        int at = gr_schema_find(schema, columns->keys[k]);

        if (at >= 0) {
            reads[at] = false; /* replaced; an expression may still read it */
        }
    }
    for (size_t k = 0; k < columns->n_keys && err == GRANARY_OK; k++) {
        int at = gr_schema_find(own, columns->keys[k]);

        if (at >= 0 && p->needed[i][at]) {
            err = mark_expression(schema, reads, columns->strings[k]);
        }
    }
    return err;
}

static granary_err
reads_groupby(const struct pruning *p, size_t i, bool *reads)
{
    const struct gr_step *step = &p->steps->steps[i];
    const struct gr_schema *schema = input_schema(p, step, 0);
    struct gr_aggregate *aggregates;
    size_t count;
    bool any = false;
    granary_err err = gr_aggregates_parse(gr_step_attr(step, "aggregate"), &aggregates, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    mark_names(schema, reads, gr_step_attr(step, "keys"));
    mark_names(&step->type->schema, p->needed[i], gr_step_attr(step, "keys"));
    for (size_t k = 0; k < count; k++) {
        int at = gr_schema_find(&step->type->schema, aggregates[k].name);

        if (at >= 0 && !p->needed[i][at] && (any || k + 1 < count)) {
            continue;
        }
        if (at >= 0) {
            p->needed[i][at] = true; /* the last one stays when no other does */
        }
        any = true;
        if (aggregates[k].column != NULL) {
            mark(schema, reads, aggregates[k].column);
        }
    }
    gr_aggregates_free(aggregates, count);
    return GRANARY_OK;
}

/* A join's result: the left side's columns, then those of the right side that gr_join_keeps(). Which column of the
 * right side stands at position `out` behind the left side's; the right side's count when none does. */
static size_t
right_column(const struct gr_join *join, const struct gr_schema *right, size_t out)
{
    for (size_t c = 0; c < right->count; c++) {
        if (gr_join_keeps(join, right->fields[c].name) && out-- == 0) {
            return c;
        }
    }
    return right->count;
}

static granary_err
parse_join(const struct gr_step *step, struct gr_join *ret_join)
{
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);

    return gr_join_parse(attrs, count, ret_join);
}

static granary_err
reads_join(const struct pruning *p, size_t i, bool *const reads[2])
{
    const struct gr_step *step = &p->steps->steps[i];
    const struct gr_schema *left = input_schema(p, step, 0);
    const struct gr_schema *right = input_schema(p, step, 1);
    struct gr_join join;
    granary_err err = parse_join(step, &join);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t k = 0; k < join.key_count; k++) {
        mark(left, reads[0], join.left_on[k]);
        mark(right, reads[1], join.right_on[k]);
    }
    for (size_t o = 0; o < step->type->schema.count; o++) {
        if (p->needed[i][o] && o < left->count) {
            reads[0][o] = true;
        } else if (p->needed[i][o] && right_column(&join, right, o - left->count) < right->count) {
            reads[1][right_column(&join, right, o - left->count)] = true;
        }
    }
    /* A name on both sides is what earns the suffix: it stays on both or on none. */
    for (size_t c = 0; c < left->count; c++) {
        int other = gr_schema_find(right, left->fields[c].name);

        if (other >= 0 && (reads[0][c] || reads[1][other])) {
            reads[0][c] = reads[1][other] = true;
        }
    }
    return GRANARY_OK;
}

static granary_err
mark_reads(const struct pruning *p, size_t i)
{
    const struct gr_step *step = &p->steps->steps[i];
    bool *const *reads = p->reads[i];

    switch (step->op) {
    case GR_TILE_read_csv:
    case GR_TILE_null:
        return GRANARY_OK;
    case GR_TILE_select:
        reads_select(p, i, reads[0]);
        return GRANARY_OK;
    case GR_TILE_filter:
        reads_same(p, i, reads[0]);
        return mark_expression(input_schema(p, step, 0), reads[0], gr_step_attr(step, "where")->strings[0]);
    case GR_TILE_assign:
        return reads_assign(p, i, reads[0]);
    case GR_TILE_groupby:
        return reads_groupby(p, i, reads[0]);
    case GR_TILE_sort:
        reads_same(p, i, reads[0]);
        mark_names(input_schema(p, step, 0), reads[0], gr_step_attr(step, "by"));
        return GRANARY_OK;
    case GR_TILE_head:
        reads_same(p, i, reads[0]);
        return GRANARY_OK;
    case GR_TILE_join:
        return reads_join(p, i, reads);
    default:
        for (size_t k = 0; k < step->input_count && k < 2; k++) {
            memset(reads[k], true, input_schema(p, step, k)->count * sizeof *reads[k]);
        }
        return GRANARY_OK;
    }
}

/* ---- what each step then yields ---- */

static bool *
flags_create(const struct gr_schema *schema)
{
    return calloc(schema->count + 1, sizeof(bool));
}

/* Keep of a list (or mapping) attribute the names that are needed. */
static granary_err
keep_needed(struct gr_step *step, const char *attr_name, const struct gr_schema *schema, const bool *needed)
{
    const Granary__Attr *attr = gr_step_attr(step, attr_name);
    bool is_map = attr->kind == GRANARY__ATTR__KIND__MAP;
    size_t all = attr->n_strings;
    size_t count = 0;
    char **keys = calloc(all + 1, sizeof *keys);
    char **values = calloc(all + 1, sizeof *values);
    granary_err err = keys == NULL || values == NULL ? no_memory() : GRANARY_OK;

    for (size_t i = 0; i < all && err == GRANARY_OK; i++) {
        int at = gr_schema_find(schema, is_map ? attr->keys[i] : attr->strings[i]);

        if (at < 0 || needed[at]) {
            keys[count] = is_map ? attr->keys[i] : NULL;
            values[count++] = attr->strings[i];
        }
    }
    if (err == GRANARY_OK && count < all) {
        err = gr_step_set_attr(step, is_map ? gr_attr_new_map(attr_name, keys, values, count)
                                            : gr_attr_new_strings(attr_name, values, count));
    }
    free(keys);
    free(values);
    return err;
}

/* An assign of which no new column is needed: only the columns that pass through are left. */
static granary_err
assign_to_select(struct gr_steps *steps, struct gr_step *step, const struct gr_schema *schema, const bool *reads)
{
    char **names = calloc(schema->count + 1, sizeof *names);
    size_t count = 0;
    granary_err err;

    if (names == NULL) {
        return no_memory();
    }
    for (size_t c = 0; c < schema->count; c++) {
        if (reads[c]) {
            names[count++] = schema->fields[c].name;
        }
    }
    rule_fired(steps, "prune-columns", "'%s' (assign) makes no column that is needed", step->origin->name);
    step->op = GR_TILE_select;
    err = gr_step_set_attr(step, gr_attr_new_strings("columns", names, count));
    free(names);
    return err;
}

static bool
assigns_needed(const struct gr_step *step, const bool *needed)
{
    const Granary__Attr *columns = gr_step_attr(step, "columns");
    bool any = false;

    for (size_t k = 0; k < columns->n_keys; k++) {
        int at = gr_schema_find(&step->type->schema, columns->keys[k]);

        any = any || at < 0 || needed[at];
    }
    return any;
}

/* Have the step take of input k only what it reads, when the input yields more. */
static granary_err
narrow(struct pruning *p, struct gr_step *step, size_t k, const bool *reads)
{
    const struct gr_step *input = &p->steps->steps[step->inputs[k]];
    const struct gr_schema *schema = &input->type->schema;
    bool more = false;
    bool any = false;

    for (size_t c = 0; c < schema->count; c++) {
        more = more || (gr_step_yields(input, c) && !reads[c]);
        any = any || reads[c];
    }
    if (!more || !any) {
        return GRANARY_OK;
    }
    step->narrow[k] = flags_create(schema);
    if (step->narrow[k] == NULL) {
        return no_memory();
    }
    memcpy(step->narrow[k], reads, schema->count * sizeof *reads);
    rule_fired(p->steps, "prune-columns", "'%s' (%s) takes only what it needs of '%s'", step->origin->name,
               gr_op_info(step->op)->name, input->origin->name);
    return GRANARY_OK;
}

static bool
comes_in(const struct gr_step *step, const struct gr_step *input, size_t k, size_t column)
{
    return gr_step_yields(input, column) && (step->narrow[k] == NULL || step->narrow[k][column]);
}

/* A step whose columns are its input's, by name. */
static void
present_from_input(const struct pruning *p, struct gr_step *step)
{
    const struct gr_step *input = &p->steps->steps[step->inputs[0]];
    const struct gr_schema *schema = &input->type->schema;

    for (size_t c = 0; c < schema->count; c++) {
        if (comes_in(step, input, 0, c)) {
            mark(&step->type->schema, step->present, schema->fields[c].name);
        }
    }
}

static granary_err
settle_join(struct pruning *p, size_t i)
{
    struct gr_step *step = &p->steps->steps[i];
    const struct gr_step *left = &p->steps->steps[step->inputs[0]];
    const struct gr_step *right = &p->steps->steps[step->inputs[1]];
    size_t left_count = left->type->schema.count;
    struct gr_join join;
    granary_err err = parse_join(step, &join);

    for (size_t k = 0; k < 2 && err == GRANARY_OK; k++) {
        err = narrow(p, step, k, p->reads[i][k]);
    }
    for (size_t o = 0; o < step->type->schema.count && err == GRANARY_OK; o++) {
        if (o < left_count) {
            step->present[o] = comes_in(step, left, 0, o);
        } else {
            size_t c = right_column(&join, &right->type->schema, o - left_count);

            step->present[o] = c < right->type->schema.count && comes_in(step, right, 1, c);
        }
    }
    return err;
}

static granary_err
settle_source(struct pruning *p, struct gr_step *step, const bool *needed)
{
    size_t count = step->type->schema.count;

    memcpy(step->present, needed, count * sizeof *needed);
    if (gr_step_width(step) < count) {
        rule_fired(p->steps, "prune-columns", "'%s' reads %zu of %zu columns", step->origin->name, gr_step_width(step),
                   count);
    }
    return GRANARY_OK;
}

static granary_err
settle_assign(struct pruning *p, size_t i)
{
    struct gr_step *step = &p->steps->steps[i];
    const struct gr_schema *own = &step->type->schema;
    granary_err err;

    if (!assigns_needed(step, p->needed[i])) {
        err = assign_to_select(p->steps, step, input_schema(p, step, 0), p->reads[i][0]);
        memcpy(step->present, p->needed[i], own->count * sizeof(bool));
        return err;
    }
    err = keep_needed(step, "columns", own, p->needed[i]);
    present_from_input(p, step);
    if (err == GRANARY_OK) {
        mark_names(own, step->present,
                   &(Granary__Attr){.n_strings = gr_step_attr(step, "columns")->n_keys,
                                    .strings = gr_step_attr(step, "columns")->keys});
    }
    return err;
}

static granary_err
settle(struct pruning *p, size_t i)
{
    struct gr_step *step = &p->steps->steps[i];
    const struct gr_schema *own = &step->type->schema;
    granary_err err = GRANARY_OK;

    step->present = flags_create(own);
    if (step->present == NULL) {
        return no_memory();
    }
    switch (step->op) {
    case GR_TILE_read_csv:
        return settle_source(p, step, p->needed[i]);
    case GR_TILE_select:
        err = keep_needed(step, "columns", own, p->needed[i]);
        memcpy(step->present, p->needed[i], own->count * sizeof(bool));
        return err;
    case GR_TILE_groupby:
        err = keep_needed(step, "aggregate", own, p->needed[i]);
        memcpy(step->present, p->needed[i], own->count * sizeof(bool));
        return err;
    case GR_TILE_assign:
        return settle_assign(p, i);
    case GR_TILE_join:
        return settle_join(p, i);
    default:
        if (step->input_count > 0) {
            err = narrow(p, step, 0, p->reads[i][0]);
            present_from_input(p, step);
        }
        return err;
    }
}

/* ---- the rule ---- */

static granary_err
prepare(struct pruning *p, size_t i)
{
    const struct gr_step *step = &p->steps->steps[i];

    p->needed[i] = flags_create(&step->type->schema);
    if (p->needed[i] == NULL) {
        return no_memory();
    }
    if (step->is_target) {
        memset(p->needed[i], true, step->type->schema.count * sizeof(bool));
    }
    for (size_t k = 0; k < step->input_count && k < 2; k++) {
        p->reads[i][k] = flags_create(input_schema(p, step, k));
        if (p->reads[i][k] == NULL) {
            return no_memory();
        }
    }
    return GRANARY_OK;
}

/* A frame without a column would forget how many rows it has. */
static void
need_one(bool *needed, size_t count)
{
    bool any = false;

    for (size_t c = 0; c < count; c++) {
        any = any || needed[c];
    }
    if (!any && count > 0) {
        needed[0] = true;
    }
}

static granary_err
collect_needs(struct pruning *p)
{
    granary_err err = GRANARY_OK;

    for (size_t i = p->steps->count; i-- > 0 && err == GRANARY_OK;) {
        const struct gr_step *step = &p->steps->steps[i];

        if (step->dead || !is_frame(step)) {
            continue;
        }
        need_one(p->needed[i], step->type->schema.count);
        err = mark_reads(p, i);
        for (size_t k = 0; k < step->input_count && k < 2 && err == GRANARY_OK; k++) {
            for (size_t c = 0; c < input_schema(p, step, k)->count; c++) {
                p->needed[step->inputs[k]][c] |= p->reads[i][k][c];
            }
        }
    }
    return err;
}

static void
pruning_free(struct pruning *p)
{
    for (size_t i = 0; i < p->steps->count; i++) {
        if (p->needed != NULL) {
            free(p->needed[i]);
        }
        if (p->reads != NULL) {
            free(p->reads[i][0]);
            free(p->reads[i][1]);
        }
    }
    free(p->needed);
    free(p->reads);
}

granary_err
rule_prune(struct gr_steps *steps)
{
    struct pruning p = {.steps = steps};
    granary_err err = GRANARY_OK;
    bool any = false;

    for (size_t i = 0; i < steps->count && !any; i++) {
        any = !steps->steps[i].dead && is_frame(&steps->steps[i]);
    }
    if (!any) {
        return GRANARY_OK;
    }
    p.needed = calloc(steps->count, sizeof *p.needed);
    p.reads = calloc(steps->count, sizeof *p.reads);
    if (p.needed == NULL || p.reads == NULL) {
        err = no_memory();
    }
    for (size_t i = 0; i < steps->count && err == GRANARY_OK; i++) {
        if (!steps->steps[i].dead && is_frame(&steps->steps[i])) {
            err = prepare(&p, i);
        }
    }
    if (err == GRANARY_OK) {
        err = collect_needs(&p);
    }
    for (size_t i = 0; i < steps->count && err == GRANARY_OK; i++) {
        if (!steps->steps[i].dead && is_frame(&steps->steps[i])) {
            err = settle(&p, i);
        }
    }
    pruning_free(&p);
    return err;
}
