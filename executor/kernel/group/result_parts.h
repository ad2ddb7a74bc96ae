/* Within group_result: one aggregate becomes a column. result.c puts the columns together, result_column.c makes those
 * of sums and counts, result_lists.c those of the values of each group. */
#ifndef KERNEL_GROUP_RESULT_PARTS_H
#define KERNEL_GROUP_RESULT_PARTS_H

#include "contract/int128.h"
#include "graph/expr.h"
#include "kernel/aggregate/table.h"

/* From the values of a group, which it may put in order: a result. false: there is none. */
typedef bool making_list(double *values, size_t count, double number, double *ret_value);

/* One aggregate at work. */
struct making {
    const struct group_plan *plan;
    const struct group_table *table;
    const struct gr_aggregate *aggregate;
    const int *use;
    making_list *list;
    granary_dtype dtype;  /* of the argument */
    granary_dtype result; /* of the column */
    double *reals;        /* by group; NAN where there is none */
    gr_int128 *ints;      /* by group */
    uint8_t *there;       /* by group; NULL: all */
};

static inline const struct group_part *
making_part(const struct making *making, enum group_use use)
{
    return &making->table->parts[making->use[use]];
}

static inline int64_t
making_count(const struct making *making, size_t g)
{
    return making_part(making, USE_ROWS)->counts[g] - making_part(making, USE_MISSING)->counts[g];
}

/* What the integers of an argument are divided by to be its values. */
static inline double
making_divisor(const struct making *making)
{
    return (double)gr_power_of_ten(gr_dtype_scale(making->dtype));
}

/* ---- result_column.c ---- */

/*
 * The column of the plan's ith aggregate: of `count` groups, in this order.
 *
 * Errors  EFAILED a sum exceeds its dtype · EFULL · ENOMEM
 */
granary_err result_column(const struct group_plan *plan, const struct group_table *table, size_t i,
                          const int64_t *order, size_t count, struct gr_column *ret_column);

/* ---- what graph/operators/aggregates.def names: result_column.c, result_lists.c ---- */

/* The column of `count` groups, in this order. Errors: ENOMEM · EFULL */
typedef granary_err
making_column(struct making *making, const int64_t *order, size_t count, struct gr_column *ret_column);

/* What one function gives of all values of a group: medians, products, ... Errors: ENOMEM */
granary_err make_of_lists(struct making *making);

#define VALUES(name) granary_err make_##name(struct making *making);
#define LIST(name)   making_list list_##name;
#define COLUMN(name) making_column make_##name;
#define ROWS
#define AGGREGATE(id, text, second, takes, gives, order, part, result, ...) result
#include "graph/operators/aggregates.def"
#undef VALUES
#undef LIST
#undef COLUMN
#undef ROWS

#endif
