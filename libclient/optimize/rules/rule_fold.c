/*
 * fold-into-groupby: a groupby computes its columns, and leaves out rows, itself, block by block in the cache, instead
 * of reading what assigns, selects and projects have put into memory.
 *
 * Its attributes `columns` and `where` then say what is computed of the input, entry after entry, and of which rows.
 * Only columns of new names are folded: no expression can then mean another column than it did.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/expr.h"
#include "optimize/rules.h"

/* An entry that hands a column through under its own name. */
static bool
is_passed(const struct gr_step *step, const Granary__Attr *columns, size_t k)
{
    const struct gr_expr *expr;

    return step->op == GR_TILE_project && gr_trees_find(step->node->trees, columns->strings[k], &expr) == GRANARY_OK &&
           expr->kind == GR_EXPR_COLUMN && strcmp(expr->column, columns->keys[k]) == 0;
}

/* Whether all that an assign or a project makes has a new name, once. */
static bool
makes_new_names(const struct gr_step *step, const struct gr_schema *input, const Granary__Attr *folded)
{
    const Granary__Attr *columns = gr_step_attr(step, "columns");

    for (size_t k = 0; k < columns->n_keys; k++) {
        bool taken = gr_schema_find(input, columns->keys[k]) >= 0;

        for (size_t j = 0; j < k && !taken; j++) {
            taken = strcmp(columns->keys[j], columns->keys[k]) == 0;
        }
        for (size_t j = 0; folded != NULL && j < folded->n_keys && !taken; j++) {
            taken = strcmp(folded->keys[j], columns->keys[k]) == 0;
        }
        if (taken && !is_passed(step, columns, k)) {
            return false;
        }
    }
    return true;
}

/* A name that was folded away below an upper one's: a column of the input that a select or project hides. */
static bool
hides_nothing_used(const Granary__Attr *folded, const struct gr_schema *input, const struct gr_schema *own)
{
    for (size_t k = 0; folded != NULL && k < folded->n_keys; k++) {
        if (gr_schema_find(input, folded->keys[k]) >= 0 && gr_schema_find(own, folded->keys[k]) < 0) {
            return false;
        }
    }
    return true;
}

static bool
can_fold(const struct gr_steps *steps, const struct gr_step *groupby, const struct gr_step *below)
{
    const Granary__Attr *folded = gr_step_attr(groupby, "columns");
    const struct gr_schema *input;

    if (below->op != GR_TILE_assign && below->op != GR_TILE_project && below->op != GR_TILE_select) {
        return false;
    }
    input = &steps->steps[below->inputs[0]].type->schema;
    return hides_nothing_used(folded, input, &below->type->schema) &&
           (below->op == GR_TILE_select || makes_new_names(below, input, folded));
}

/* What the lower step makes comes first: what was folded before may use it. */
static granary_err
add_columns(struct gr_steps *steps, struct gr_step *groupby, const struct gr_step *below)
{
    const Granary__Attr *upper = gr_step_attr(groupby, "columns");
    const Granary__Attr *lower = below->op == GR_TILE_select ? NULL : gr_step_attr(below, "columns");
    size_t room = (upper == NULL ? 0 : upper->n_keys) + (lower == NULL ? 0 : lower->n_keys);
    char **keys = gr_steps_room(steps, room, sizeof *keys);
    char **values = gr_steps_room(steps, room, sizeof *values);
    size_t count = 0;

    if (keys == NULL || values == NULL) {
        return optimize_no_memory();
    }
    for (size_t k = 0; lower != NULL && k < lower->n_keys; k++) {
        if (!is_passed(below, lower, k)) {
            keys[count] = lower->keys[k];
            values[count++] = lower->strings[k];
        }
    }
    for (size_t k = 0; upper != NULL && k < upper->n_keys; k++) {
        keys[count] = upper->keys[k];
        values[count++] = upper->strings[k];
    }
    return count > 0 ? gr_step_set_attr(groupby, gr_attr_new_map("columns", keys, values, count)) : GRANARY_OK;
}

static granary_err
fold_below(struct gr_steps *steps, struct gr_step *groupby)
{
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK) {
        size_t position = groupby->inputs[0];
        struct gr_step *below = &steps->steps[position];

        if (steps->readers[position] != 1 || below->is_target || !can_fold(steps, groupby, below)) {
            break;
        }
        rule_fired(steps, "fold-into-groupby", "'%s' computes what '%s' (%s) made", groupby->origin->name,
                   below->origin->name, gr_op_info(below->op)->name);
        err = add_columns(steps, groupby, below);
        if (err == GRANARY_OK && below->where[0] != NULL) { /* what is asked of its input comes first */
            err = rule_add_condition(groupby, 0, below->where[0], true);
        }
        groupby->inputs[0] = below->inputs[0];
        below->dead = true;
    }
    return err;
}

granary_err
rule_fold(struct gr_steps *steps, size_t i)
{
    struct gr_step *step = &steps->steps[i];
    granary_err err;

    if (step->op != GR_TILE_groupby && step->op != GR_TILE_groupby_partial) {
        return GRANARY_OK;
    }
    err = fold_below(steps, step);
    if (err == GRANARY_OK && step->where[0] != NULL) {
        err = gr_step_set_attr(step, gr_attr_new_expr("where", step->where[0]));
        step->within = step->where[0];
        step->where[0] = NULL;
    }
    return err;
}
