/*
 * merge-heads, head-below-map, head-into-sort, head-into-recursion: rows are cut as early as possible.
 *
 * Only a step that nobody else reads and no target names is changed. A step and its input change places in the array,
 * so that inputs still stand before their readers.
 */
#include <inttypes.h>

#include "optimize/rules.h"

/* A sort that keeps so many rows holds them all in one chunk: above this, sorting all of it in parts is better. */
#define SORT_LIMIT_MAX (1 << 20)

static int64_t
rows_of(const struct gr_step *head)
{
    return GR_STEP_PARAMS(head, head)->rows;
}

static granary_err
merge_heads(struct gr_steps *steps, struct gr_step *head)
{
    struct gr_step *below = &steps->steps[head->inputs[0]];
    int64_t rows = rows_of(head) < rows_of(below) ? rows_of(head) : rows_of(below);

    rule_fired(steps, "merge-heads", "'%s' and '%s' keep %" PRId64 " rows", head->origin->name, below->origin->name,
               rows);
    rule_pass_by(steps, &head->inputs[0]);
    return gr_step_set_attr(head, gr_attr_new_int("rows", rows));
}

/* head(map(x)) becomes map(head(x)): what each computes and its name move; the place keeps what it yields. */
static void
swap_with_map(struct gr_steps *steps, struct gr_step *head, struct gr_step *map)
{
    struct gr_step old = *head;

    rule_fired(steps, "head-below-map", "'%s' cuts the rows before '%s' (%s)", head->origin->name, map->origin->name,
               gr_op_info(map->op)->name);
    head->origin = map->origin;
    head->given = map->given;
    head->op = map->op;
    head->own_attrs = map->own_attrs;
    head->own_attr_count = map->own_attr_count;
    map->origin = old.origin;
    map->given = old.given;
    map->op = old.op;
    map->own_attrs = old.own_attrs;
    map->own_attr_count = old.own_attr_count;
    map->type = steps->steps[map->inputs[0]].type;
}

/* How many rows of the sort are wanted in the end. */
static int64_t
limit_of(const struct gr_step *head, const struct gr_step *sort)
{
    int64_t rows = rows_of(head);

    return sort->limit != GR_STEP_NO_LIMIT && sort->limit < rows ? sort->limit : rows;
}

static void
head_into_sort(struct gr_steps *steps, struct gr_step *head, struct gr_step *sort)
{
    int64_t rows = limit_of(head, sort);

    rule_fired(steps, "head-into-sort", "'%s' keeps only the first %" PRId64 " rows, for '%s'", sort->origin->name,
               rows, head->origin->name);
    gr_step_clear_attrs(head);
    head->origin = sort->origin;
    head->given = sort->given;
    head->op = sort->op;
    head->own_attrs = sort->own_attrs;
    head->own_attr_count = sort->own_attr_count;
    head->inputs[0] = sort->inputs[0];
    head->limit = rows;
    sort->own_attrs = NULL;
    sort->own_attr_count = 0;
}

/* It ends when it has so many. The head stays: a round makes as many as it makes. */
static void
head_into_recursion(struct gr_steps *steps, const struct gr_step *head, struct gr_step *recursion)
{
    recursion->limit = rows_of(head);
    rule_fired(steps, "head-into-recursion", "'%s' ends when it has %" PRId64 " rows, for '%s'",
               recursion->origin->name, recursion->limit, head->origin->name);
}

/* From one head as far down as it goes. */
static granary_err
push_down(struct gr_steps *steps, struct gr_step *head)
{
    for (;;) {
        size_t position = head->inputs[0];
        struct gr_step *below = &steps->steps[position];

        if (below->op == GR_TILE_head) {
            granary_err err = merge_heads(steps, head);

            if (err != GRANARY_OK) {
                return err;
            }
        } else if (steps->readers[position] != 1 || below->is_target) {
            return GRANARY_OK;
        } else if (gr_op_has(below->op, GR_OP_ROW_BY_ROW)) {
            swap_with_map(steps, head, below);
            head = below;
        } else if (below->op == GR_TILE_sort && limit_of(head, below) <= SORT_LIMIT_MAX) {
            head_into_sort(steps, head, below);
            return GRANARY_OK;
        } else if (below->op == GR_TILE_recurse) {
            head_into_recursion(steps, head, below);
            return GRANARY_OK;
        } else {
            return GRANARY_OK;
        }
    }
}

granary_err
rule_head(struct gr_steps *steps, size_t i)
{
    return steps->steps[i].op == GR_TILE_head ? push_down(steps, &steps->steps[i]) : GRANARY_OK;
}
