/* A column of an aggregate: sums, means, moments and counts are made here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "graph/dtype_class.h"
#include "kernel/aggregate/reals.h"
#include "kernel/core/moments.h"
#include "kernel/core/rounding.h"
#include "kernel/group/result_parts.h"

#define AHEAD            24 /* groups that are fetched before they are used */
#define DAY_MICROSECONDS 86400000000

/* ---- sums and means ---- */

granary_err
make_sum(struct making *making)
{
    const struct group_part *sum = making_part(making, USE_SUM);
    size_t at = 0;
    granary_err err = GRANARY_OK;

    for (size_t g = 0; g < making->table->groups && err == GRANARY_OK; g++) {
        if (making->reals != NULL) {
            err = reals_value(sum, g, &at, &making->reals[g]);
        } else {
            making->ints[g] = sum->ints[g];
        }
    }
    return err;
}

granary_err
make_mean(struct making *making)
{
    const struct group_part *sum = making_part(making, USE_SUM);
    bool real = group_is_real(making->dtype);
    gr_int128 unit = making->dtype == GRANARY_DATE ? DAY_MICROSECONDS : 1;
    double divisor = making_divisor(making);
    size_t at = 0;
    granary_err err = GRANARY_OK;

    for (size_t g = 0; g < making->table->groups && err == GRANARY_OK; g++) {
        int64_t count = making_count(making, g);

        making->there[g] = count > 0;
        if (count <= 0) {
            continue;
        }
        if (making->ints != NULL) {
            making->ints[g] = (int64_t)divide_to_even(sum->ints[g] * unit, count);
        } else if (real) {
            err = reals_value(sum, g, &at, &making->reals[g]);
            making->reals[g] /= (double)count;
        } else {
            making->reals[g] = (double)sum->ints[g] / ((double)count * divisor);
        }
    }
    return err;
}

/* ---- moments ---- */

/* A sum of the plan for group g as an exact sum: of doubles with what rounding left off, or of integers. */
static granary_err
exact_of(const struct making *making, enum group_use use, enum group_use rest, size_t g, size_t at[2],
         struct exact_sum *ret_sum)
{
    granary_err err;

    if (making->plan->parts[making->use[use]].kind == GROUP_INT) {
        struct group_part ints = {.ints = making_part(making, use)->ints, .unit = 0};

        return reals_sum(&ints, g, &at[0], ret_sum);
    }
    err = reals_sum(making_part(making, use), g, &at[0], ret_sum);
    if (err == GRANARY_OK && rest != use && making->use[rest] >= 0) {
        struct exact_sum more;

        err = reals_sum(making_part(making, rest), g, &at[1], &more);
        if (err == GRANARY_OK) {
            exact_sum_merge(ret_sum, &more);
            exact_sum_fini(&more);
        }
    }
    return err;
}

/* Which sums a central moment is made of. */
struct moment {
    enum group_use x, y, xy, xy_rest;
    size_t at[3][2];
};

static granary_err
moment_of(const struct making *making, struct moment *moment, size_t g, int64_t count, double *ret_moment)
{
    struct exact_sum sums[3];
    granary_err err;

    memset(sums, 0, sizeof sums);
    if (making->plan->parts[making->use[moment->xy]].kind == GROUP_INT &&
        moment_ints(making_part(making, moment->x)->ints[g], making_part(making, moment->y)->ints[g],
                    making_part(making, moment->xy)->ints[g], count, ret_moment)) {
        return GRANARY_OK;
    }
    err = exact_of(making, moment->x, moment->x, g, moment->at[0], &sums[0]);
    if (err == GRANARY_OK) {
        err = exact_of(making, moment->y, moment->y, g, moment->at[1], &sums[1]);
    }
    if (err == GRANARY_OK) {
        err = exact_of(making, moment->xy, moment->xy_rest, g, moment->at[2], &sums[2]);
    }
    if (err == GRANARY_OK) {
        *ret_moment = moment_central(&sums[0], &sums[1], &sums[2], count);
        if (isnan(*ret_moment) && moment->x == moment->y && isfinite(exact_sum_value(&sums[0]))) {
            *ret_moment = INFINITY; /* squares of finite values are beyond a double's range */
        }
    }
    for (int i = 0; i < 3; i++) {
        exact_sum_fini(&sums[i]);
    }
    return err;
}

granary_err
make_variance(struct making *making)
{
    struct moment square = {.x = USE_SUM, .y = USE_SUM, .xy = USE_SQUARE, .xy_rest = USE_SQUARE_REST};
    enum gr_aggregate_function function = making->aggregate->function;
    granary_err err = GRANARY_OK;

    for (size_t g = 0; g < making->table->groups && err == GRANARY_OK; g++) {
        int64_t count = making_count(making, g);
        double freedom = (double)count - making->aggregate->number;
        double value = 0.0;

        making->there[g] = freedom > 0.0;
        if (freedom <= 0.0) {
            continue;
        }
        err = moment_of(making, &square, g, count, &value);
        value = value < 0.0 ? 0.0 : value / freedom;
        value = function == GR_AGGREGATE_SEM ? value / (double)count : value;
        making->reals[g] = function == GR_AGGREGATE_VAR ? value : sqrt(value);
    }
    return err;
}

granary_err
make_covariance(struct making *making)
{
    struct moment cross = {.x = USE_SUM, .y = USE_SUM_Y, .xy = USE_CROSS, .xy_rest = USE_CROSS_REST};
    struct moment squares[2] = {
        {.x = USE_SUM, .y = USE_SUM, .xy = USE_SQUARE, .xy_rest = USE_SQUARE_REST},
        {.x = USE_SUM_Y, .y = USE_SUM_Y, .xy = USE_SQUARE_Y, .xy_rest = USE_SQUARE_Y_REST},
    };
    bool correlation = making->aggregate->function == GR_AGGREGATE_CORR;
    int64_t ddof = making->aggregate->function != GR_AGGREGATE_COV_POP;
    granary_err err = GRANARY_OK;

    for (size_t g = 0; g < making->table->groups && err == GRANARY_OK; g++) {
        int64_t count = making_count(making, g);
        double value = 0.0;
        double spread[2] = {0.0, 0.0};

        making->there[g] = count > ddof;
        if (count <= ddof) {
            continue;
        }
        err = moment_of(making, &cross, g, count, &value);
        for (int i = 0; correlation && i < 2 && err == GRANARY_OK; i++) {
            err = moment_of(making, &squares[i], g, count, &spread[i]);
        }
        if (!correlation) {
            making->reals[g] = value / (double)(count - ddof);
        } else if (spread[0] > 0.0 && spread[1] > 0.0 && isfinite(spread[0]) && isfinite(spread[1])) {
            value /= sqrt(spread[0]) * sqrt(spread[1]);
            making->reals[g] = value > 1.0 ? 1.0 : value < -1.0 ? -1.0 : value;
        } else {
            making->there[g] = 0;
        }
    }
    return err;
}

/* ---- counts ---- */

granary_err
make_count(struct making *making)
{
    enum gr_aggregate_function function = making->aggregate->function;

    for (size_t g = 0; g < making->table->groups; g++) {
        int64_t count =
            function == GR_AGGREGATE_SIZE ? making_part(making, USE_ROWS)->counts[g] : making_count(making, g);

        if (function == GR_AGGREGATE_ANY) {
            count = making_part(making, USE_ITEM)->counts[g] > 0;
        } else if (function == GR_AGGREGATE_ALL) {
            count = making_part(making, USE_ITEM)->counts[g] == count;
        }
        making->ints[g] = count;
    }
    return GRANARY_OK;
}

/* ---- columns ---- */

granary_err
make_taken(struct making *making, const int64_t *order, size_t count, struct gr_column *ret_column)
{
    return gr_column_take(&making_part(making, USE_ITEM)->values.view, order, (int64_t)count, ret_column);
}

/* What makes the column of a function: values by group, perhaps one by one from their lists, or the column itself. */
static const struct maker {
    granary_err (*values)(struct making *making);
    making_list *list;
    making_column *column;
} makers[] = {
#define VALUES(name) make_##name, NULL, NULL
#define LIST(name)   make_of_lists, list_##name, NULL
#define COLUMN(name) NULL, NULL, make_##name
#define ROWS         NULL, NULL, NULL

#define AGGREGATE(id, text, second, takes, gives, order, part, result, ...) [GR_AGGREGATE_##id] = {result},
#include "graph/operators/aggregates.def"
};

static granary_err
int_check(const struct making *making, gr_int128 value)
{
    if (gr_dtype_fits(making->result, value)) {
        return GRANARY_OK;
    }
    if (making->result == GRANARY_TIMESTAMP) {
        return gr_fail(GRANARY_EFAILED,
                       "aggregate '%s': a day of column '%s' is beyond what a timestamp holds; leave it out",
                       making->aggregate->name, making->aggregate->column);
    }
    return gr_fail(GRANARY_EFAILED, "aggregate '%s': a %s of column '%s' exceeds %s: cast the column to %s",
                   making->aggregate->name, making->aggregate->function == GR_AGGREGATE_PROD ? "product" : "sum",
                   making->aggregate->column,
                   gr_dtype_kind(making->result) == GRANARY_DECIMAL ? "the 38 digits a decimal has"
                                                                    : granary_dtype_name(making->result),
                   gr_dtype_wider(making->result));
}

/* The order is that of hashes, or of keys: either way the groups lie anywhere. */
static inline void
fetch_group(const struct making *making, size_t g)
{
    if (making->there != NULL) {
        __builtin_prefetch(&making->there[g]);
    }
    if (making->reals != NULL) {
        __builtin_prefetch(&making->reals[g]);
    } else {
        __builtin_prefetch(&making->ints[g]);
    }
}

/* What was made, in order. */
static granary_err
column_store(const struct making *making, const int64_t *order, size_t count, struct gr_column *ret_column)
{
    size_t size = gr_dtype_size(making->result);
    struct gr_column column;
    granary_err err = gr_column_alloc(making->result, (int64_t)count, 0, true, &column);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        char *at = (char *)(uintptr_t)column.view.values + i * size;
        int64_t g = order[i];

        if (i + AHEAD < count) {
            fetch_group(making, (size_t)order[i + AHEAD]);
        }
        if (making->there != NULL && !making->there[g]) {
            continue;
        }
        gr_bit_set((uint8_t *)(uintptr_t)column.view.validity, (int64_t)i);
        if (making->result == GRANARY_FLOAT64) {
            memcpy(at, &making->reals[g], sizeof(double));
        } else if (making->result == GRANARY_FLOAT32) {
            float value = (float)making->reals[g];

            memcpy(at, &value, sizeof value);
        } else if (making->result == GRANARY_BOOL) {
            if (making->ints[g] != 0) {
                gr_bit_set((uint8_t *)(uintptr_t)column.view.values, (int64_t)i);
            }
        } else {
            err = int_check(making, making->ints[g]);
            memcpy(at, &making->ints[g], size);
        }
    }
    if (err != GRANARY_OK) {
        gr_column_free(&column);
        return err;
    }
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}

granary_err
result_column(const struct group_plan *plan, const struct group_table *table, size_t i, const int64_t *order,
              size_t count, struct gr_column *ret_column)
{
    const struct maker *maker = &makers[plan->aggregates[i].function];
    int argument = plan->argument_of[i][0];
    struct making making = {.plan = plan,
                            .table = table,
                            .aggregate = &plan->aggregates[i],
                            .use = plan->uses[i],
                            .list = maker->list,
                            .dtype = argument >= 0 ? plan->dtypes[argument] : GRANARY_NULLTYPE};
    size_t room = table->groups + 1;
    granary_err err = gr_aggregate_dtype(making.aggregate->function, making.dtype, &making.result);
    bool nulls = gr_aggregate_has_nulls(making.aggregate->function);

    if (err != GRANARY_OK) {
        return gr_fail_in(err, "aggregate '%s'", making.aggregate->name);
    }
    if (maker->column != NULL) {
        return maker->column(&making, order, count, ret_column);
    }
    if (group_is_real(making.result)) {
        making.reals = calloc(room, sizeof *making.reals);
    } else {
        making.ints = calloc(room, sizeof *making.ints);
    }
    making.there = nulls ? calloc(room, 1) : NULL;
    err = (making.reals == NULL && making.ints == NULL) || (nulls && making.there == NULL) ? gr_no_memory("groupby")
                                                                                           : maker->values(&making);
    if (err == GRANARY_OK) {
        err = column_store(&making, order, count, ret_column);
    }
    free(making.reals);
    free(making.ints);
    free(making.there);
    return err;
}
