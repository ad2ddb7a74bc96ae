/*
 * drop-sort: a sort is left out when its order cannot be seen.
 *
 *   over what is sorted already   by the same columns first, in the same directions: a sort, or a groupby's keys
 *   below a sort                  all its columns are among the upper one's: rows it would swap are not equal there
 *   below a groupby               whose aggregates do not depend on the order of rows
 *   below a semi or anti join     on the right side
 *
 * Between the two may stand steps that pass rows on, as long as nobody else reads them. A sort that keeps only the
 * first rows decides which those are: it stays, or becomes a head.
 */
#include <string.h>

#include "graph/operators/aggregate.h"
#include "optimize/rules.h"

/* ---- sorted already ---- */

/* Key k of a sort; flags and words may be given once for all. */
static bool
is_descending(const struct gr_step *sort, size_t k)
{
    const Granary__Attr *flags = gr_step_attr(sort, "descending");

    return flags != NULL && flags->n_ints > 0 && flags->ints[flags->n_ints == 1 ? 0 : k] != 0;
}

static bool
is_nulls_first(const struct gr_step *sort, size_t k)
{
    const Granary__Attr *words = gr_step_attr(sort, "nulls");

    return words != NULL && words->n_strings > 0 && strcmp(words->strings[words->n_strings == 1 ? 0 : k], "first") == 0;
}

static bool
is_begun_by(const struct gr_step *lower, const struct gr_step *upper)
{
    const Granary__Attr *theirs = gr_step_attr(lower, "by");
    const Granary__Attr *ours = gr_step_attr(upper, "by");
    bool is = ours->n_strings <= theirs->n_strings &&
              GR_STEP_PARAMS(sort, lower)->nan_largest == GR_STEP_PARAMS(sort, upper)->nan_largest;

    for (size_t k = 0; is && k < ours->n_strings; k++) {
        is = strcmp(ours->strings[k], theirs->strings[k]) == 0 && is_descending(upper, k) == is_descending(lower, k) &&
             is_nulls_first(upper, k) == is_nulls_first(lower, k);
    }
    return is;
}

/* Whether the groups come in this order: by their keys, ascending, nulls last. */
static bool
is_in_order_of_groups(const struct gr_step *groupby, const struct gr_step *sort)
{
    const Granary__Attr *keys = gr_step_attr(groupby, "keys");
    const Granary__Attr *by = gr_step_attr(sort, "by");
    const Granary__Attr *sorted = gr_step_attr(groupby, "sort");
    bool is = keys != NULL && by->n_strings <= keys->n_strings && (sorted == NULL || sorted->ints[0] != 0);

    for (size_t k = 0; is && k < by->n_strings; k++) {
        is = strcmp(by->strings[k], keys->strings[k]) == 0 && !is_descending(sort, k) && !is_nulls_first(sort, k);
    }
    return is;
}

/* Whether none of the sort's columns is made by an assign. */
static bool
leaves_keys_alone(const struct gr_step *assign, const struct gr_step *sort)
{
    const Granary__Attr *columns = gr_step_attr(assign, "columns");
    const Granary__Attr *by = gr_step_attr(sort, "by");

    for (size_t k = 0; k < by->n_strings; k++) {
        for (size_t c = 0; c < columns->n_keys; c++) {
            if (strcmp(by->strings[k], columns->keys[c]) == 0) {
                return false;
            }
        }
    }
    return true;
}

static bool
is_sorted(const struct gr_steps *steps, size_t position, const struct gr_step *sort)
{
    for (;;) {
        const struct gr_step *step = &steps->steps[position];

        if (step->op == GR_TILE_sort) {
            return is_begun_by(step, sort);
        }
        if (step->op == GR_TILE_groupby) {
            return is_in_order_of_groups(step, sort);
        }
        if (!gr_op_has(step->op, GR_OP_KEEPS_ORDER) ||
            (gr_operator(step->op)->columns == GR_COLUMNS_ADDED && !leaves_keys_alone(step, sort))) {
            return false;
        }
        position = step->inputs[0];
    }
}

/* The sort itself has nothing to do. */
static granary_err
drop_upper(struct gr_steps *steps, struct gr_step *sort)
{
    int64_t rows = sort->limit;

    rule_fired(steps, "drop-sort", "'%s' finds its rows in order", sort->origin->name);
    return rows == GR_STEP_NO_LIMIT ? gr_step_become_select(steps, sort)
                                    : gr_step_become(sort, GR_TILE_head, gr_attr_new_int("rows", rows));
}

/* ---- an order that cannot be seen ---- */

static bool
is_float(granary_dtype dtype)
{
    return dtype == GRANARY_FLOAT64 || dtype == GRANARY_FLOAT32;
}

/* Of 0.0 and -0.0, which are equal, a group has the one that came first: only there the order of rows shows. */
static bool
is_blind(const struct gr_step *groupby, const struct gr_aggregate *aggregate, const struct gr_schema *schema)
{
    granary_dtype dtype = GRANARY_NULLTYPE;

    return aggregate->column == NULL || gr_aggregate_is_blind(aggregate->function, GRANARY_FLOAT64) ||
           (gr_aggregate_argument(groupby->node->trees, aggregate->column, schema, &dtype) == GRANARY_OK &&
            gr_aggregate_is_blind(aggregate->function, dtype));
}

static bool
groupby_is_blind(const struct gr_step *groupby, const struct gr_schema *schema)
{
    const Granary__Attr *keys = gr_step_attr(groupby, "keys");
    struct gr_aggregate *aggregates;
    size_t count;
    bool is = true;

    for (size_t k = 0; keys != NULL && k < keys->n_strings && is; k++) {
        int at = gr_schema_find(schema, keys->strings[k]);

        is = at >= 0 && !is_float(schema->fields[at].dtype);
    }
    if (!is || gr_aggregates_parse(gr_step_attr(groupby, "aggregate"), &aggregates, &count) != GRANARY_OK) {
        return false;
    }
    for (size_t k = 0; k < count && is; k++) {
        is = is_blind(groupby, &aggregates[k], schema);
    }
    gr_aggregates_free(aggregates, count);
    return is;
}

/* The keys of a validated join are told in the order in which they come. */
static bool
join_is_blind(const struct gr_step *join, size_t k)
{
    const Granary__Attr *how = gr_step_attr(join, "how");

    return k == 1 && how != NULL && (strcmp(how->strings[0], "semi") == 0 || strcmp(how->strings[0], "anti") == 0) &&
           gr_step_attr(join, "validate") == NULL;
}

static bool
has_column(const Granary__Attr *names, const char *name)
{
    for (size_t i = 0; i < names->n_strings; i++) {
        if (strcmp(names->strings[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether an upper sort finds different what the lower one would swap. */
static bool
sort_is_blind(const struct gr_step *upper, const struct gr_step *lower)
{
    const Granary__Attr *by = gr_step_attr(lower, "by");

    for (size_t k = 0; k < by->n_strings; k++) {
        if (!has_column(gr_step_attr(upper, "by"), by->strings[k])) {
            return false;
        }
    }
    return true;
}

/* Whether the step does not see the order of that sort's rows, which come to its input k through `between`. */
static bool
cannot_see(const struct gr_steps *steps, const struct gr_step *step, size_t k, const struct gr_step *sort, bool between)
{
    switch (step->op) {
    case GR_TILE_groupby:
        return groupby_is_blind(step, &steps->steps[step->inputs[0]].type->schema);
    case GR_TILE_join:
        return join_is_blind(step, k);
    case GR_TILE_sort: /* steps between could give its columns other values */
        return !between && sort_is_blind(step, sort);
    default:
        return false;
    }
}

/* Leave out the sort below input k of a step, if there is one whose order does not show. */
static bool
drop_lower(struct gr_steps *steps, struct gr_step *step, size_t k)
{
    size_t *place = &step->inputs[k];
    bool between = false;
    struct gr_step *below = &steps->steps[*place];

    while (gr_op_has(below->op, GR_OP_PASSES_ROWS) && steps->readers[*place] == 1 && !below->is_target) {
        place = &below->inputs[0];
        below = &steps->steps[*place];
        between = true;
    }
    if (below->op != GR_TILE_sort || below->limit != GR_STEP_NO_LIMIT || !cannot_see(steps, step, k, below, between)) {
        return false;
    }
    rule_fired(steps, "drop-sort", "'%s' does not see the order '%s' makes", step->origin->name, below->origin->name);
    rule_pass_by(steps, place);
    return true;
}

granary_err
rule_sort(struct gr_steps *steps, size_t i)
{
    struct gr_step *step = &steps->steps[i];

    for (size_t k = 0; k < step->input_count; k++) {
        while (drop_lower(steps, step, k)) {
        }
    }
    return step->op == GR_TILE_sort && is_sorted(steps, step->inputs[0], step) ? drop_upper(steps, step) : GRANARY_OK;
}
