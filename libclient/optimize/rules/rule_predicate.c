/*
 * push-filter: a condition moves from the filter that states it towards the sources.
 *
 * A filter that one step reads becomes that step's condition on its input (gr_step.where). From there parts of it
 * move on to the inputs of the step below. That is allowed while nobody else reads that step, and no row below it
 * would change:
 *
 *   select, sort          all of it
 *   assign, project       what reads columns that pass through, under their names below
 *   groupby               what reads keys alone
 *   join                  what reads one side alone, unless that side's rows come without a match; of a cross join, what
 *                         reads both: it asks that of pairs, few at a time, and never holds the others
 *
 * A filter that several steps read, or a target names, stays. It asks at once what filters below it ask, and what can move
 * on from there moves.
 *
 * A condition that could fail in some row (overflow, a cast) stays behind what may leave that row out.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/expr.h"
#include "graph/join.h"
#include "optimize/rules.h"

/* ---- a filter becomes its reader's condition ---- */

static bool
is_only_for(struct gr_steps *steps, size_t position)
{
    const struct gr_step *step = &steps->steps[position];

    return steps->readers[position] == 1 && !step->is_target && !step->dead;
}

/* *ret_folded false: the conditions are too long together, and the filter stays. */
static granary_err
fold_filter(struct gr_steps *steps, struct gr_step *step, size_t k, bool *ret_folded)
{
    struct gr_step *filter = &steps->steps[step->inputs[k]];
    const struct gr_expr *parts[3] = {filter->where[0], NULL, step->where[k]};
    struct gr_expr *all = NULL;
    granary_err err = gr_trees_find(filter->node->trees, gr_step_attr(filter, "where")->strings[0], &parts[1]);

    if (err == GRANARY_OK) {
        err = gr_expr_and(parts, 3, &all);
    }
    *ret_folded = err == GRANARY_OK;
    if (err != GRANARY_OK) {
        return err == GRANARY_EINVAL ? GRANARY_OK : err;
    }
    rule_fired(steps, "push-filter", "'%s' (%s) takes the rows '%s' leaves", step->origin->name,
               gr_op_info(step->op)->name, filter->origin->name);
    gr_expr_destroy(step->where[k]);
    step->where[k] = all;
    filter->dead = true;
    step->inputs[k] = filter->inputs[0]; /* whose only reader the filter was, or one of several */
    return GRANARY_OK;
}

/* ---- through the step below ---- */

/* Where a column of a step comes from. */
struct origin {
    const char *name; /* in the input; NULL: it is made here */
    size_t input;
    int both; /* join: the key of that number, which both sides have; else -1 */
};

struct origins {
    const struct gr_schema *schema; /* of the step */
    struct origin *of;
    size_t side; /* renaming: for this input */
    const struct gr_schema *right;
};

/* Which sides of a join may lose rows before it. */
static void
join_sides(const struct gr_join *join, bool *ret_left, bool *ret_right)
{
    *ret_left = join->how != GR_JOIN_RIGHT && join->how != GR_JOIN_OUTER && !join->unique_left;
    *ret_right =
        (join->how == GR_JOIN_INNER || join->how == GR_JOIN_RIGHT || join->how == GR_JOIN_CROSS) && !join->unique_right;
}

static granary_err
origins_of_join(struct gr_steps *steps, const struct gr_step *step, struct origins *o)
{
    const struct gr_schema *left = &steps->steps[step->inputs[0]].type->schema;
    const struct gr_schema *right = &steps->steps[step->inputs[1]].type->schema;
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);
    struct gr_join_column *columns = NULL;
    struct gr_join join;
    bool may_left;
    bool may_right;
    granary_err err = gr_join_parse(attrs, count, &join);

    if (err == GRANARY_OK) {
        err = gr_join_columns(&join, left, right, &columns, &count);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    o->right = right;
    join_sides(&join, &may_left, &may_right);
    for (size_t c = 0; c < o->schema->count && c < count; c++) {
        const struct gr_join_column *column = &columns[c];

        if (column->left >= 0 && may_left) {
            o->of[c] = (struct origin){.name = left->fields[column->left].name, .input = 0, .both = -1};
            o->of[c].both = column->right >= 0 && may_right ? column->right : -1;
        } else if (column->left < 0 && column->right >= 0 && may_right) {
            o->of[c] = (struct origin){.name = right->fields[column->right].name, .input = 1, .both = -1};
        }
    }
    gr_join_columns_free(columns, count);
    return GRANARY_OK;
}

static granary_err
origins_init(struct gr_steps *steps, const struct gr_step *step, struct origins *o)
{
    struct gr_op_use use;

    *o = (struct origins){.schema = &step->type->schema};
    o->of = gr_steps_room(steps, o->schema->count, sizeof *o->of);
    if (o->of == NULL) {
        return optimize_no_memory();
    }
    for (size_t c = 0; c < o->schema->count; c++) {
        o->of[c].both = -1;
    }
    if (step->op == GR_TILE_join) { /* its sides may not both lose rows */
        return origins_of_join(steps, step, o);
    }
    use = gr_steps_use(steps, (size_t)(step - steps->steps));
    for (size_t c = 0; c < o->schema->count; c++) {
        if (!gr_operator(step->op)->origin(&use, o->schema->fields[c].name, &o->of[c].input, &o->of[c].name)) {
            o->of[c].name = NULL;
        }
    }
    return GRANARY_OK;
}

/* Whether a condition may move into the step at all: not before a sort that keeps only the first rows. */
static bool
lets_through(const struct gr_step *step)
{
    return gr_op_has(step->op, GR_OP_LETS_CONDITIONS_DOWN) && step->limit == GR_STEP_NO_LIMIT;
}

static const char *
find_origin(const char *column, const void *context)
{
    const struct origins *o = context;
    int at = gr_schema_find(o->schema, column);

    return at < 0 ? NULL : o->of[at].input == o->side ? o->of[at].name : o->right->fields[o->of[at].both].name;
}

/* Whether all columns of a condition come from that input. */
static bool
comes_from(const struct origins *o, const bool *used, size_t side)
{
    bool any = false;

    for (size_t c = 0; c < o->schema->count; c++) {
        if (used[c] && (o->of[c].name == NULL || (o->of[c].input != side && !(side == 1 && o->of[c].both >= 0)))) {
            return false;
        }
        any = any || used[c];
    }
    return any;
}

/* The condition, under the names below, becomes one of the step's on that input. */
static granary_err
move_to(struct gr_step *step, struct origins *o, const struct gr_expr *part, size_t side)
{
    struct gr_expr *copy = NULL;
    granary_err err = gr_expr_copy(part, &copy);

    o->side = side;
    if (err == GRANARY_OK) {
        err = gr_expr_rename(copy, find_origin, o);
    }
    if (err == GRANARY_OK) {
        err = rule_add_condition(step, side, copy, false);
    }
    gr_expr_destroy(copy);
    return err;
}

/* One part of the condition: into the step below on every side where it says the same, unless the conditions there are
 * too long together. */
static granary_err
push_part(struct gr_steps *steps, struct gr_step *below, struct origins *o, const struct gr_expr *part, bool *ret_moved)
{
    bool *used = gr_steps_room(steps, o->schema->count, sizeof *used);
    granary_err err = GRANARY_OK;

    *ret_moved = false;
    if (used == NULL) {
        return optimize_no_memory();
    }
    gr_expr_columns(part, o->schema, used);
    for (size_t side = 0; err == GRANARY_OK && side < below->input_count && side < 2; side++) {
        if (comes_from(o, used, side)) {
            err = move_to(below, o, part, side);
            *ret_moved = *ret_moved || err == GRANARY_OK;
            err = err == GRANARY_EINVAL ? GRANARY_OK : err;
        }
    }
    return err;
}

static granary_err
ask_of_pairs(struct gr_steps *steps, struct gr_step *below, const struct gr_expr *part, bool *ret_moved)
{
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(below, &count);
    struct gr_join join;
    const struct gr_expr *parts[2] = {NULL, part};
    struct gr_expr *both = NULL;
    granary_err err = gr_join_parse(attrs, count, &join);

    if (err != GRANARY_OK || join.how != GR_JOIN_CROSS || join.indicator != NULL) {
        return err;
    }
    if (join.where != NULL) {
        err = gr_trees_find(below->node->trees, join.where, &parts[0]);
    }
    if (err == GRANARY_OK) {
        err = gr_expr_and(parts, 2, &both);
    }
    if (err == GRANARY_OK) {
        err = gr_step_set_attr(below, gr_attr_new_expr("where", both));
        *ret_moved = err == GRANARY_OK;
    } else if (err == GRANARY_EINVAL) {
        err = GRANARY_OK; /* together they are too long: it stays */
    }
    if (*ret_moved) {
        rule_fired(steps, "push-filter", "'%s' (join) asks its pairs for a part of the condition", below->origin->name);
    }
    gr_expr_destroy(both);
    return err;
}

/* Whether a part can fail in no row. */
static granary_err
judge_part(const struct gr_expr *part, const struct gr_schema *schema, bool *ret_safe)
{
    struct gr_expr *checked = NULL;
    granary_err err = gr_expr_copy(part, &checked);

    if (err == GRANARY_OK) {
        err = gr_expr_check(checked, schema);
    }
    *ret_safe = err == GRANARY_OK && gr_expr_is_safe(checked);
    gr_expr_destroy(checked);
    return err;
}

/* One part of the condition goes below, or is asked of pairs; first: all parts before it were. */
static granary_err
move_part(struct gr_steps *steps, struct gr_step *below, struct origins *o, const struct gr_expr *part, bool first,
          bool *ret_moved, bool *ret_asked)
{
    bool safe;
    granary_err err = judge_part(part, o->schema, &safe);

    if (err == GRANARY_OK && (safe || (first && !gr_op_has(below->op, GR_OP_DROPS_ROWS)))) {
        err = push_part(steps, below, o, part, ret_moved);
    }
    if (err == GRANARY_OK && !*ret_moved && below->op == GR_TILE_join && (safe || first)) {
        err = ask_of_pairs(steps, below, part, ret_asked);
    }
    return err;
}

/* Move what can be moved of the condition; what is left stays. */
static granary_err
push_condition(struct gr_steps *steps, struct gr_step *step, size_t k)
{
    struct gr_step *below = &steps->steps[step->inputs[k]];
    const struct gr_expr **parts = NULL;
    size_t count = 0;
    size_t moved_count = 0;
    size_t gone = 0; /* moved or asked */
    struct gr_expr *left = NULL;
    struct origins o;
    granary_err err = origins_init(steps, below, &o);

    if (err == GRANARY_OK) {
        err = gr_expr_conjuncts(step->where[k], &parts, &count);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        bool moved = false;
        bool asked = false;

        err = move_part(steps, below, &o, parts[i], gone == i, &moved, &asked);
        moved_count += moved;
        if (moved || asked) {
            gone++;
            parts[i] = NULL;
        }
    }
    if (err == GRANARY_OK) {
        err = gr_expr_and(parts, count, &left);
    }
    if (err == GRANARY_OK) {
        gr_expr_destroy(step->where[k]);
        step->where[k] = left;
    }
    if (err == GRANARY_OK && moved_count > 0) {
        rule_fired(steps, "push-filter", "%s of the condition on '%s' moves below it",
                   moved_count == count ? "all" : "a part", below->origin->name);
    }
    free(parts);
    return err;
}

static granary_err
push_into_input(struct gr_steps *steps, struct gr_step *step, size_t k)
{
    granary_err err = GRANARY_OK;
    bool folded = true;

    while (err == GRANARY_OK && folded && steps->steps[step->inputs[k]].op == GR_TILE_filter &&
           is_only_for(steps, step->inputs[k])) {
        err = fold_filter(steps, step, k, &folded);
    }
    if (err == GRANARY_OK && step->where[k] != NULL && is_only_for(steps, step->inputs[k]) &&
        lets_through(&steps->steps[step->inputs[k]])) {
        err = push_condition(steps, step, k);
    }
    return err;
}

/* A filter that no reader has taken over: its condition, behind those of filters below it, is what it asks of its input. */
static granary_err
begin_filter(struct gr_step *filter)
{
    const struct gr_expr *own;
    granary_err err = gr_trees_find(filter->node->trees, gr_step_attr(filter, "where")->strings[0], &own);

    return err == GRANARY_OK ? rule_add_condition(filter, 0, own, false) : err;
}

/* What is left of that is its condition again. */
static granary_err
end_filter(struct gr_steps *steps, size_t i)
{
    struct gr_step *filter = &steps->steps[i];
    struct gr_expr *left = filter->where[0];
    const struct gr_expr *own;
    granary_err err;

    filter->where[0] = NULL;
    if (left == NULL) {
        return rule_let_through(steps, i);
    }
    err = gr_trees_find(filter->node->trees, gr_step_attr(filter, "where")->strings[0], &own);
    if (err == GRANARY_OK && !gr_expr_equal(left, own)) {
        err = gr_step_set_attr(filter, gr_attr_new_expr("where", left));
    }
    gr_expr_destroy(left);
    return err;
}

granary_err
rule_predicate(struct gr_steps *steps, size_t i)
{
    struct gr_step *step = &steps->steps[i];
    bool filters = step->op == GR_TILE_filter;
    granary_err err = filters ? begin_filter(step) : GRANARY_OK;

    for (size_t k = 0; k < step->input_count && k < 2 && err == GRANARY_OK; k++) {
        if (gr_op_has(step->op, GR_OP_TAKES_CONDITIONS)) {
            err = push_into_input(steps, step, k);
        }
    }
    return err == GRANARY_OK && filters ? end_filter(steps, i) : err;
}
