/*
 * match-once: a table that is joined, and then looked up again by the same keys, is read once.
 *
 * A subquery that asks for each row of a join about all rows of one of its tables (an average of the part's orders)
 * becomes, when it is made a join of its own:
 *
 *   first = join(t, p)                             inner; p is a part of its table
 *   later = semi join(t, x), x made of first       by keys that come from first's
 *
 * Each of t's rows that later yields has a match in p: its keys are those of some row of first. So both may read the
 * matches instead of t, and t's other rows are kept for neither:
 *
 *   matches = semi join(t, p)
 *   first = join(matches, p)
 *   later = semi join(matches, x); and when x is first itself, later is matches
 *
 * That is right whatever is computed of later's rows, and however often keys occur. (Zuzarte et al., WinMagic, SIGMOD 2003,
 * compute it of first's rows instead, where each of t's rows stands as often as p has its keys.) Neither join may have a
 * condition on t: then the matches could be more than later would ever have read.
 *
 * The new steps take the places of dead ones, which filters have left between p and first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/expr.h"
#include "graph/join.h"
#include "optimize/rules.h"

#define NONE SIZE_MAX

struct match {
    struct gr_steps *steps;
    size_t later, first; /* positions */
    size_t table, part;  /* of t and p */
    size_t side;         /* t's in first */
    struct gr_join later_join, first_join;
    const char **names; /* by key of later: its column in the step that is looked at */
    size_t matches;     /* a position; NONE: no place */
    size_t filter;      /* of p's rows, for both to read; NONE: they ask by themselves */
};

static granary_err
parse_join(const struct gr_steps *steps, size_t position, struct gr_join *ret_join)
{
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(&steps->steps[position], &count);

    return gr_join_parse(attrs, count, ret_join);
}

/* ---- from x down to first ---- */

/* Whether columns that a step hands through have values of its input, or nulls, which match nothing. */
static granary_err
passes_values(const struct gr_steps *steps, size_t position, bool *ret_passes)
{
    struct gr_join join;
    granary_err err = GRANARY_OK;

    *ret_passes = false;
    switch (steps->steps[position].op) {
    case GR_TILE_select:
    case GR_TILE_project:
    case GR_TILE_assign:
    case GR_TILE_filter:
    case GR_TILE_sort:
    case GR_TILE_head:
        *ret_passes = true;
        break;
    case GR_TILE_join: /* others have keys of both sides in one column */
        err = parse_join(steps, position, &join);
        *ret_passes = err == GRANARY_OK && join.how != GR_JOIN_RIGHT && join.how != GR_JOIN_OUTER;
        break;
    default:
        break;
    }
    return err;
}

/* Whether a step is an inner join of t, all of it. */
static granary_err
is_first(struct match *match, size_t position, bool *ret_is)
{
    const struct gr_step *step = &match->steps->steps[position];
    granary_err err = GRANARY_OK;

    *ret_is = step->op == GR_TILE_join && (step->inputs[0] == match->table) != (step->inputs[1] == match->table) &&
              gr_step_attr(step, "validate") == NULL;
    if (*ret_is) {
        match->side = step->inputs[1] == match->table;
        match->first = position;
        match->part = step->inputs[1 - match->side];
        err = parse_join(match->steps, position, &match->first_join);
        *ret_is = err == GRANARY_OK && match->first_join.how == GR_JOIN_INNER && step->where[match->side] == NULL;
    }
    return err;
}

/* The columns that later asks for, one step further down: all of one input, so that they are one row's. */
static bool
step_down(struct match *match, size_t *position)
{
    struct gr_op_use use = gr_steps_use(match->steps, *position);
    size_t from = NONE;

    for (size_t k = 0; k < match->later_join.key_count; k++) {
        size_t input;

        if (!gr_operator(use.op)->origin(&use, match->names[k], &input, &match->names[k]) ||
            (from != NONE && from != input)) {
            return false;
        }
        from = input;
    }
    *position = match->steps->steps[*position].inputs[from];
    return true;
}

static granary_err
find_first(struct match *match, bool *ret_found)
{
    size_t position = match->steps->steps[match->later].inputs[1];
    bool passes = true;
    granary_err err = is_first(match, position, ret_found);

    while (err == GRANARY_OK && !*ret_found) {
        err = passes_values(match->steps, position, &passes);
        if (err != GRANARY_OK || !passes || !step_down(match, &position)) {
            break;
        }
        err = is_first(match, position, ret_found);
    }
    return err;
}

/* ---- keys ---- */

/* Whether key k of later asks for key i of first, of either side: they are equal in each row. */
static bool
asks_for(const struct match *match, const struct gr_join_column *columns, size_t count, size_t k, size_t i)
{
    const struct gr_join *first = &match->first_join;
    const struct gr_step *step = &match->steps->steps[match->first];
    const char *table_key = match->side == 0 ? first->left_on[i] : first->right_on[i];
    int left = gr_schema_find(&match->steps->steps[step->inputs[0]].type->schema, first->left_on[i]);
    int right = gr_schema_find(&match->steps->steps[step->inputs[1]].type->schema, first->right_on[i]);
    size_t c = 0;

    while (c < count && strcmp(columns[c].name, match->names[k]) != 0) {
        c++;
    }
    return c < count && strcmp(match->later_join.left_on[k], table_key) == 0 &&
           ((columns[c].left >= 0 && columns[c].left == left) || (columns[c].right >= 0 && columns[c].right == right));
}

/* Whether all keys of first are asked for; *ret_others: later asks for something else, too. */
static granary_err
compare_keys(const struct match *match, bool *ret_all, bool *ret_others)
{
    const struct gr_step *step = &match->steps->steps[match->first];
    struct gr_join_column *columns = NULL;
    size_t count = 0;
    size_t asked = 0;
    granary_err err = gr_join_columns(&match->first_join, &match->steps->steps[step->inputs[0]].type->schema,
                                      &match->steps->steps[step->inputs[1]].type->schema, &columns, &count);

    for (size_t i = 0; i < match->first_join.key_count && err == GRANARY_OK; i++) {
        size_t k = 0;

        while (k < match->later_join.key_count && !asks_for(match, columns, count, k, i)) {
            k++;
        }
        asked += k < match->later_join.key_count;
    }
    *ret_all = asked == match->first_join.key_count;
    *ret_others = asked != match->later_join.key_count;
    gr_join_columns_free(columns, count);
    return err;
}

/* ---- places ---- */

static size_t
dead_between(const struct gr_steps *steps, size_t after, size_t before, bool last)
{
    size_t found = NONE;

    for (size_t i = after + 1; i < before && (last || found == NONE); i++) {
        found = steps->steps[i].dead && !steps->steps[i].is_target ? i : found;
    }
    return found;
}

static void
find_places(struct match *match)
{
    const struct gr_step *first = &match->steps->steps[match->first];
    size_t after = match->table > match->part ? match->table : match->part;

    match->filter = NONE;
    match->matches = dead_between(match->steps, after, match->first, true);
    if (match->matches != NONE && first->where[1 - match->side] != NULL) {
        match->filter = dead_between(match->steps, match->part, match->matches, false);
    }
}

/* A dead step begins anew, over such inputs. Errors: ENOMEM */
static granary_err
revive(struct gr_steps *steps, size_t position, size_t from, const size_t *inputs, size_t count)
{
    struct gr_step *step = &steps->steps[position];

    for (size_t k = 0; k < 2; k++) {
        gr_expr_destroy(step->where[k]);
        step->where[k] = NULL;
    }
    gr_expr_destroy(step->within);
    step->within = NULL;
    step->yields = GR_YIELDS_FRAME;
    step->subset = 0;
    step->type = steps->steps[from].type;
    step->inputs = gr_steps_room(steps, count, sizeof *step->inputs);
    step->input_count = count;
    if (step->inputs == NULL) {
        return optimize_no_memory();
    }
    memcpy(step->inputs, inputs, count * sizeof *inputs);
    step->dead = false;
    return GRANARY_OK;
}

/* ---- the rule ---- */

/* p's rows that its condition leaves, once for both joins. */
static granary_err
make_filter(struct match *match)
{
    struct gr_step *first = &match->steps->steps[match->first];
    struct gr_step *filter = &match->steps->steps[match->filter];
    size_t side = 1 - match->side;
    granary_err err = revive(match->steps, match->filter, match->part, &match->part, 1);

    if (err == GRANARY_OK) {
        err = gr_step_become(filter, GR_TILE_filter, gr_attr_new_expr("where", first->where[side]));
    }
    if (err == GRANARY_OK) {
        gr_expr_destroy(first->where[side]);
        first->where[side] = NULL;
        first->inputs[side] = match->filter;
        match->steps->readers[match->filter] = 1;
        match->part = match->filter;
    }
    return err;
}

/* later's name, or one like it when later stays. */
static granary_err
name_matches(struct match *match, bool is_later)
{
    const Granary__Node *later = match->steps->steps[match->later].origin;
    Granary__Node *node = gr_steps_room(match->steps, 1, sizeof *node);
    size_t size = strlen(later->name) + sizeof " (matches)";
    char *name = gr_steps_room(match->steps, size, 1);

    if (node == NULL || name == NULL) {
        return optimize_no_memory();
    }
    (void)snprintf(name, size, "%s%s", later->name, is_later ? "" : " (matches)");
    *node = *later;
    node->name = name;
    match->steps->steps[match->matches].origin = node;
    return GRANARY_OK;
}

static granary_err
make_matches(struct match *match)
{
    const struct gr_step *first = &match->steps->steps[match->first];
    struct gr_step *matches = &match->steps->steps[match->matches];
    const struct gr_join *join = &match->first_join;
    const struct gr_expr *where = first->where[1 - match->side];
    size_t inputs[2] = {match->table, match->part};
    granary_err err = revive(match->steps, match->matches, match->table, inputs, 2);

    if (err == GRANARY_OK) {
        err = gr_step_become(matches, GR_TILE_join, gr_attr_new_string("how", "semi"));
    }
    if (err == GRANARY_OK) {
        err =
            gr_step_set_attr(matches, gr_attr_new_strings("left_on", match->side == 0 ? join->left_on : join->right_on,
                                                          join->key_count));
    }
    if (err == GRANARY_OK) {
        err =
            gr_step_set_attr(matches, gr_attr_new_strings("right_on", match->side == 0 ? join->right_on : join->left_on,
                                                          join->key_count));
    }
    if (err == GRANARY_OK && where != NULL) {
        err = gr_expr_copy(where, &matches->where[1]);
    }
    match->steps->readers[match->part]++;
    return err;
}

/* Whoever reads later reads the matches. */
static void
replace_later(struct match *match)
{
    struct gr_steps *steps = match->steps;

    for (size_t r = match->later + 1; r < steps->count; r++) {
        for (size_t k = 0; k < steps->steps[r].input_count; k++) {
            if (steps->steps[r].inputs[k] == match->later) {
                steps->steps[r].inputs[k] = match->matches;
            }
        }
    }
    steps->readers[match->first]--;
    steps->readers[match->matches] = 1 + steps->readers[match->later];
    steps->steps[match->later].dead = true;
}

static granary_err
apply(struct match *match, bool is_later)
{
    struct gr_steps *steps = match->steps;
    granary_err err = match->filter == NONE ? GRANARY_OK : make_filter(match);

    if (err == GRANARY_OK) {
        err = make_matches(match);
    }
    if (err == GRANARY_OK) {
        err = name_matches(match, is_later);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    rule_fired(steps, "match-once", "'%s' and '%s' read of '%s' only what has a match in '%s'",
               steps->steps[match->first].origin->name, steps->steps[match->later].origin->name,
               steps->steps[match->table].origin->name, steps->steps[match->part].origin->name);
    steps->readers[match->table] = 1;
    steps->readers[match->matches] = 2;
    steps->steps[match->first].inputs[match->side] = match->matches;
    if (is_later) {
        replace_later(match);
    } else {
        steps->steps[match->later].inputs[0] = match->matches;
    }
    return GRANARY_OK;
}

/* Whether p may be much less than its table: else all of t would be copied for nothing. */
static bool
is_part(const struct match *match)
{
    return match->steps->steps[match->first].where[1 - match->side] != NULL ||
           match->steps->steps[match->part].input_count > 0;
}

granary_err
rule_match(struct gr_steps *steps, size_t i)
{
    struct gr_step *later = &steps->steps[i];
    struct match match = {.steps = steps, .later = i};
    bool found = false;
    bool all = false;
    bool others = false;
    granary_err err = later->op == GR_TILE_join ? parse_join(steps, i, &match.later_join) : GRANARY_OK;

    if (err != GRANARY_OK || later->op != GR_TILE_join || match.later_join.how != GR_JOIN_SEMI ||
        later->where[0] != NULL || steps->readers[later->inputs[0]] != 2 || steps->steps[later->inputs[0]].is_target) {
        return err;
    }
    match.table = later->inputs[0];
    match.names = gr_steps_room(steps, match.later_join.key_count, sizeof *match.names);
    if (match.names == NULL) {
        return optimize_no_memory();
    }
    memcpy(match.names, match.later_join.right_on, match.later_join.key_count * sizeof *match.names);
    err = find_first(&match, &found);
    if (err == GRANARY_OK && found) {
        err = compare_keys(&match, &all, &others);
    }
    if (err == GRANARY_OK && found && all && is_part(&match)) {
        find_places(&match);
        if (match.matches != NONE) {
            err = apply(&match, match.first == later->inputs[1] && !others && match.later_join.where == NULL &&
                                    match.first_join.where == NULL && later->where[1] == NULL && !later->is_target);
        }
    }
    return err;
}
