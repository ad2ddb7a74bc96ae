/* The result: a row for each group (largest and smallest: for each value), in order, with a column for each aggregate.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/place.h"
#include "kernel/group/moments.h"
#include "kernel/group/reals.h"
#include "kernel/group/select.h"
#include "kernel/group/table.h"
#include "kernel/sort/sort.h"

#define AHEAD 24 /* groups that are fetched before they are used */

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "groupby: out of memory");
}

/* One aggregate at work. */
struct making {
    const struct group_plan *plan;
    const struct group_table *table;
    const struct gr_aggregate *aggregate;
    const int *use;
    granary_dtype dtype;  /* of the argument */
    granary_dtype result; /* of the column */
    double *reals;        /* by group; NAN where there is none */
    __int128 *ints;       /* by group */
    uint8_t *there;       /* by group; NULL: all */
};

static const struct group_part *
part_of(const struct making *making, enum group_use use)
{
    return &making->table->parts[making->use[use]];
}

static int64_t
count_of(const struct making *making, size_t g)
{
    return part_of(making, USE_ROWS)->counts[g] - part_of(making, USE_MISSING)->counts[g];
}

static double
power_of_ten(int exponent)
{
    double power = 1.0;

    for (int i = 0; i < exponent; i++) {
        power *= 10.0;
    }
    return power;
}

/* ---- sums and means ---- */

static granary_err
make_sum(struct making *making)
{
    const struct group_part *sum = part_of(making, USE_SUM);
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

static granary_err
make_mean(struct making *making)
{
    const struct group_part *sum = part_of(making, USE_SUM);
    bool real = group_is_real(making->dtype);
    double divisor = power_of_ten(gr_dtype_scale(making->dtype));
    size_t at = 0;
    granary_err err = GRANARY_OK;

    for (size_t g = 0; g < making->table->groups && err == GRANARY_OK; g++) {
        int64_t count = count_of(making, g);

        making->there[g] = count > 0;
        if (count <= 0) {
            continue;
        }
        if (making->ints != NULL) {
            making->ints[g] = sum->ints[g] / count;
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
        struct group_part ints = {.ints = part_of(making, use)->ints, .unit = 0};

        return reals_sum(&ints, g, &at[0], ret_sum);
    }
    err = reals_sum(part_of(making, use), g, &at[0], ret_sum);
    if (err == GRANARY_OK && rest != use && making->use[rest] >= 0) {
        struct exact_sum more;

        err = reals_sum(part_of(making, rest), g, &at[1], &more);
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
        moment_ints(part_of(making, moment->x)->ints[g], part_of(making, moment->y)->ints[g],
                    part_of(making, moment->xy)->ints[g], count, ret_moment)) {
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
    }
    for (int i = 0; i < 3; i++) {
        exact_sum_fini(&sums[i]);
    }
    return err;
}

static granary_err
make_variance(struct making *making)
{
    struct moment square = {.x = USE_SUM, .y = USE_SUM, .xy = USE_SQUARE, .xy_rest = USE_SQUARE_REST};
    enum gr_aggregate_function function = making->aggregate->function;
    granary_err err = GRANARY_OK;

    for (size_t g = 0; g < making->table->groups && err == GRANARY_OK; g++) {
        int64_t count = count_of(making, g);
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

static granary_err
make_covariance(struct making *making)
{
    struct moment cross = {.x = USE_SUM, .y = USE_SUM_Y, .xy = USE_CROSS, .xy_rest = USE_CROSS_REST};
    struct moment squares[2] = {
        {.x = USE_SUM, .y = USE_SUM, .xy = USE_SQUARE, .xy_rest = USE_SQUARE_REST},
        {.x = USE_SUM_Y, .y = USE_SUM_Y, .xy = USE_SQUARE_Y, .xy_rest = USE_SQUARE_Y_REST},
    };
    bool correlation = making->aggregate->function == GR_AGGREGATE_CORR;
    granary_err err = GRANARY_OK;

    for (size_t g = 0; g < making->table->groups && err == GRANARY_OK; g++) {
        int64_t count = count_of(making, g);
        double value = 0.0;
        double spread[2] = {0.0, 0.0};

        making->there[g] = count > 1;
        if (count <= 1) {
            continue;
        }
        err = moment_of(making, &cross, g, count, &value);
        for (int i = 0; correlation && i < 2 && err == GRANARY_OK; i++) {
            err = moment_of(making, &squares[i], g, count, &spread[i]);
        }
        if (!correlation) {
            making->reals[g] = value / (double)(count - 1);
        } else if (spread[0] > 0.0 && spread[1] > 0.0) {
            value /= sqrt(spread[0]) * sqrt(spread[1]);
            making->reals[g] = value > 1.0 ? 1.0 : value < -1.0 ? -1.0 : value;
        } else {
            making->there[g] = 0;
        }
    }
    return err;
}

/* ---- counts ---- */

static granary_err
make_count(struct making *making)
{
    enum gr_aggregate_function function = making->aggregate->function;

    for (size_t g = 0; g < making->table->groups; g++) {
        int64_t count = function == GR_AGGREGATE_SIZE ? part_of(making, USE_ROWS)->counts[g] : count_of(making, g);

        if (function == GR_AGGREGATE_ANY) {
            count = part_of(making, USE_ITEM)->counts[g] > 0;
        } else if (function == GR_AGGREGATE_ALL) {
            count = part_of(making, USE_ITEM)->counts[g] == count;
        }
        making->ints[g] = count;
    }
    return GRANARY_OK;
}

/* ---- lists ---- */

static granary_err
make_nunique(struct making *making)
{
    const struct group_part *list = part_of(making, USE_ITEM);

    for (size_t g = 0; g < making->table->groups; g++) {
        making->ints[g] = list->starts[g + 1] - list->starts[g];
    }
    return GRANARY_OK;
}

/* From the values of a group: what the function gives. */
static granary_err
list_value(struct making *making, size_t g, double *values, size_t count)
{
    bool there = true;

    switch (making->aggregate->function) {
    case GR_AGGREGATE_MEDIAN:
    case GR_AGGREGATE_QUANTILE:
        there = count > 0;
        making->reals[g] = there ? select_quantile(values, count, making->aggregate->number) : 0.0;
        break;
    case GR_AGGREGATE_SKEW:
        there = moment_skew(values, count, &making->reals[g]);
        break;
    case GR_AGGREGATE_KURTOSIS:
        there = moment_kurtosis(values, count, &making->reals[g]);
        break;
    default:
        making->reals[g] = 1.0;
        for (size_t i = 0; i < count; i++) {
            making->reals[g] *= values[i];
        }
        break;
    }
    if (making->there != NULL) {
        making->there[g] = there;
    }
    return GRANARY_OK;
}

static granary_err
make_int_product(struct making *making)
{
    const struct group_part *list = part_of(making, USE_ITEM);
    bool is_unsigned = making->result == GRANARY_UINT64;
    __int128 limit = is_unsigned ? (__int128)UINT64_MAX : (__int128)INT64_MAX;

    for (size_t g = 0; g < making->table->groups; g++) {
        __int128 product = 1;
        bool over = false;

        for (size_t i = list->starts[g]; i < list->starts[g + 1]; i++) {
            __int128 value = select_int(&list->values.view, (int64_t)i);

            over = over && value != 0;
            product = over ? product : product * value;
            over = over || product > limit || product < (is_unsigned ? 0 : -limit - 1);
            if (value == 0) {
                product = 0;
                break;
            }
        }
        making->ints[g] = over ? limit + 1 : product; /* refused where it is stored */
    }
    return GRANARY_OK;
}

/* Values of a list as doubles. */
static void
list_reals(const granary_column *column, size_t begin, size_t end, double divisor, double *values)
{
    if (column->dtype == GRANARY_FLOAT64) {
        memcpy(values, (const double *)column->values + begin, (end - begin) * sizeof *values);
        return;
    }
    for (size_t i = begin; i < end; i++) {
        values[i - begin] = select_real(column, (int64_t)i, divisor);
    }
}

static granary_err
make_of_list(struct making *making)
{
    const struct group_part *list = part_of(making, USE_ITEM);
    double divisor = power_of_ten(gr_dtype_scale(making->dtype));
    double *values;
    size_t most = 0;
    granary_err err = GRANARY_OK;

    if (making->ints != NULL) {
        return make_int_product(making);
    }
    for (size_t g = 0; g < making->table->groups; g++) {
        size_t count = list->starts[g + 1] - list->starts[g];

        most = count > most ? count : most;
    }
    values = malloc((most + 1) * 2 * sizeof *values); /* half of it for select_quantile() */
    err = values == NULL ? out_of_memory() : GRANARY_OK;
    for (size_t g = 0; err == GRANARY_OK && g < making->table->groups; g++) {
        list_reals(&list->values.view, list->starts[g], list->starts[g + 1], divisor, values);
        err = list_value(making, g, values, list->starts[g + 1] - list->starts[g]);
    }
    free(values);
    return err;
}

static granary_err
make_mode(struct making *making, const int64_t *order, size_t count, struct gr_column *ret_column)
{
    const struct group_part *list = part_of(making, USE_ITEM);
    uint32_t *entries = malloc((size_t)list->values.view.rows * sizeof *entries + 1);
    int64_t *rows = malloc((count + 1) * sizeof *rows);
    granary_err err = rows == NULL || entries == NULL ? out_of_memory() : GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        size_t begin = list->starts[order[i]];
        size_t end = list->starts[order[i] + 1];

        for (size_t e = begin; e < end; e++) {
            entries[e - begin] = (uint32_t)e;
        }
        rows[i] = making->dtype == GRANARY_NULLTYPE ? -1 : select_mode(&list->values.view, entries, end - begin);
    }
    if (err == GRANARY_OK) {
        err = gr_column_take(&list->values.view, rows, (int64_t)count, ret_column);
    }
    free(rows);
    free(entries);
    return err;
}

/* ---- columns ---- */

static granary_err
make(struct making *making)
{
    switch (making->aggregate->function) {
    case GR_AGGREGATE_SUM:
        return make_sum(making);
    case GR_AGGREGATE_MEAN:
        return make_mean(making);
    case GR_AGGREGATE_VAR:
    case GR_AGGREGATE_STD:
    case GR_AGGREGATE_SEM:
        return make_variance(making);
    case GR_AGGREGATE_CORR:
    case GR_AGGREGATE_COV:
        return make_covariance(making);
    case GR_AGGREGATE_NUNIQUE:
        return make_nunique(making);
    case GR_AGGREGATE_SKEW:
    case GR_AGGREGATE_KURTOSIS:
    case GR_AGGREGATE_PROD:
    case GR_AGGREGATE_MEDIAN:
    case GR_AGGREGATE_QUANTILE:
        return make_of_list(making);
    default:
        return make_count(making);
    }
}

/* All digits of a decimal; a constant, for it is asked once a group. */
#define TEN_TO_19    UINT64_C(10000000000000000000)
#define DECIMAL_MOST ((__int128)((unsigned __int128)TEN_TO_19 * TEN_TO_19) - 1)
_Static_assert(GRANARY_DECIMAL_DIGITS == 38, "DECIMAL_MOST has as many digits as a decimal");

static granary_err
int_check(const struct making *making, __int128 value)
{
    __int128 most = INT64_MAX;
    __int128 least = INT64_MIN;

    if (making->result == GRANARY_UINT64) {
        most = UINT64_MAX;
        least = 0;
    } else if (gr_dtype_kind(making->result) == GRANARY_DECIMAL) {
        most = DECIMAL_MOST;
        least = -most;
    }
    if (value > most || value < least) {
        return gr_fail(GRANARY_EFAILED,
                       "aggregate '%s': a %s of column '%s' exceeds %s; convert it, as in assign: `x` * 1.0",
                       making->aggregate->name, making->aggregate->function == GR_AGGREGATE_PROD ? "product" : "sum",
                       making->aggregate->column, granary_dtype_name(making->result));
    }
    return GRANARY_OK;
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
store(const struct making *making, const int64_t *order, size_t count, struct gr_column *ret_column)
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

/* Whether a group may have no result. */
static bool
has_nulls(enum gr_aggregate_function function)
{
    switch (function) {
    case GR_AGGREGATE_SIZE:
    case GR_AGGREGATE_COUNT:
    case GR_AGGREGATE_SUM:
    case GR_AGGREGATE_PROD:
    case GR_AGGREGATE_NUNIQUE:
    case GR_AGGREGATE_ANY:
    case GR_AGGREGATE_ALL:
        return false;
    default:
        return true;
    }
}

static granary_err
result_column(const struct group_plan *plan, const struct group_table *table, size_t i, const int64_t *order,
              size_t count, struct gr_column *ret_column)
{
    int argument = plan->argument_of[i][0];
    struct making making = {.plan = plan,
                            .table = table,
                            .aggregate = &plan->aggregates[i],
                            .use = plan->uses[i],
                            .dtype = argument >= 0 ? plan->dtypes[argument] : GRANARY_NULLTYPE};
    size_t room = table->groups + 1;
    granary_err err = gr_aggregate_dtype(making.aggregate->function, making.dtype, &making.result);
    bool nulls = has_nulls(making.aggregate->function);

    if (err != GRANARY_OK) {
        return gr_fail_in(err, "aggregate '%s'", making.aggregate->name);
    }
    switch (making.aggregate->function) {
    case GR_AGGREGATE_MIN:
    case GR_AGGREGATE_MAX:
    case GR_AGGREGATE_FIRST:
    case GR_AGGREGATE_LAST:
        return gr_column_take(&part_of(&making, USE_ITEM)->values.view, order, (int64_t)count, ret_column);
    case GR_AGGREGATE_MODE:
        return make_mode(&making, order, count, ret_column);
    default:
        break;
    }
    if (group_is_real(making.result)) {
        making.reals = calloc(room, sizeof *making.reals);
    } else {
        making.ints = calloc(room, sizeof *making.ints);
    }
    making.there = nulls ? calloc(room, 1) : NULL;
    err = (making.reals == NULL && making.ints == NULL) || (nulls && making.there == NULL) ? out_of_memory()
                                                                                           : make(&making);
    if (err == GRANARY_OK) {
        err = store(&making, order, count, ret_column);
    }
    free(making.reals);
    free(making.ints);
    free(making.there);
    return err;
}

/* ---- order ---- */

/* Runs of equal hashes, which hardly ever happen, by the keys. */
static granary_err
order_ties(const struct sort_key *by, size_t keys, const uint64_t *hashes, int64_t *order, size_t count)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK;) {
        size_t end = i + 1;

        while (end < count && hashes[order[end]] == hashes[order[i]]) {
            end++;
        }
        if (end - i > 1) {
            err = sort_rows_of(by, keys, order + i, (int64_t)(end - i));
        }
        i = end;
    }
    return err;
}

static granary_err
order_by_hash(const struct group_table *table, const struct sort_key *by, size_t keys, int64_t **ret_order)
{
    uint64_t *hashes = malloc((table->groups + 1) * sizeof *hashes);
    granary_column hash = {.dtype = GRANARY_UINT64, .rows = (int64_t)table->groups, .values = hashes};
    int64_t rows;
    granary_err err;

    if (hashes == NULL) {
        return out_of_memory();
    }
    group_keys_hashes(table->keys, hashes);
    err = sort_rows(&(struct sort_key){.column = &hash}, 1, hash.rows, SORT_NO_LIMIT, ret_order, &rows);
    if (err == GRANARY_OK) {
        err = order_ties(by, keys, hashes, *ret_order, table->groups);
    }
    free(hashes);
    return err;
}

/* As they stand. */
static granary_err
order_none(size_t groups, int64_t **ret_order)
{
    int64_t *order = malloc((groups + 1) * sizeof *order);

    if (order == NULL) {
        return out_of_memory();
    }
    for (size_t g = 0; g < groups; g++) {
        order[g] = (int64_t)g;
    }
    *ret_order = order;
    return GRANARY_OK;
}

/* By the keys, or by their hash and then the keys. */
static granary_err
table_order(const struct group_plan *plan, const struct group_table *table, int64_t **ret_order)
{
    size_t keys = table->keys->count;
    struct sort_key *by = calloc(keys + 1, sizeof *by);
    int64_t rows;
    granary_err err = by == NULL ? out_of_memory() : GRANARY_OK;

    for (size_t k = 0; k < keys && err == GRANARY_OK; k++) {
        by[k].column = &table->keys->columns[k].view;
    }
    if (err == GRANARY_OK && (keys == 0 || table->ordered)) {
        err = order_none(table->groups, ret_order);
    } else if (err == GRANARY_OK) {
        err = plan->by_hash ? order_by_hash(table, by, keys, ret_order)
                            : sort_rows(by, keys, (int64_t)table->groups, SORT_NO_LIMIT, ret_order, &rows);
    }
    free(by);
    return err;
}

/* Rows of a key. distinct: no value comes twice. */
static granary_err
key_column(const granary_column *key, const int64_t *rows, int64_t count, bool distinct, struct gr_column *ret_column)
{
    struct gr_column column;
    granary_err err = gr_column_take(key, rows, count, &column);

    if (err != GRANARY_OK) {
        return err;
    }
    if (!distinct || column.view.dictionary != NULL) {
        err = group_key_encode(&column);
    }
    if (err != GRANARY_OK) {
        gr_column_free(&column);
        return err;
    }
    *ret_column = column;
    return GRANARY_OK;
}

/* ---- largest, smallest ---- */

static granary_err
rows_result(const struct group_plan *plan, const struct group_table *table, granary_frame *frame,
            const int64_t *entry_groups, const int64_t *entries)
{
    const struct group_part *list = &table->parts[plan->uses[0][USE_ITEM]];
    size_t keys = table->keys->count;
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k <= keys && err == GRANARY_OK; k++) {
        const granary_column *from = k < keys ? &table->keys->columns[k].view : &list->values.view;
        struct gr_column column;

        err = k < keys ? key_column(from, entry_groups, frame->rows, false, &column)
                       : gr_column_take(from, entries, frame->rows, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(frame, k, k < keys ? plan->keys->strings[k] : plan->aggregates[0].name, &column);
        }
    }
    return err;
}

/* Every entry of the list, group by group. */
static granary_err
result_of_rows(const struct group_plan *plan, const struct group_table *table, const int64_t *order,
               granary_frame **ret_frame)
{
    const struct group_part *list = &table->parts[plan->uses[0][USE_ITEM]];
    int64_t count = list->values.view.rows;
    int64_t *groups = malloc(((size_t)count + 1) * sizeof *groups);
    int64_t *entries = malloc(((size_t)count + 1) * sizeof *entries);
    granary_frame *frame = gr_frame_create(table->keys->count + 1, count);
    size_t at = 0;
    granary_err err = groups == NULL || entries == NULL || frame == NULL ? out_of_memory() : GRANARY_OK;

    for (size_t i = 0; i < table->groups && err == GRANARY_OK; i++) {
        for (size_t e = list->starts[order[i]]; e < list->starts[order[i] + 1]; e++) {
            groups[at] = order[i];
            entries[at++] = (int64_t)e;
        }
    }
    if (err == GRANARY_OK) {
        err = rows_result(plan, table, frame, groups, entries);
    }
    free(groups);
    free(entries);
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}

/* The frame of all groups is about to be made: keys, and a number each. */
static void
expect_groups(const struct group_plan *plan, const struct group_table *table)
{
    int64_t rows = (int64_t)table->groups;
    uint64_t bytes = 0;
    uint64_t width = sizeof(int64_t);

    for (size_t k = 0; k < table->keys->count; k++) {
        bytes += gr_place_need(&table->keys->columns[k].view, rows);
    }
    for (size_t p = 0; p < plan->part_count; p++) {
        width = gr_dtype_kind(table->parts[p].values.view.dtype) == GRANARY_DECIMAL ? 2 * sizeof(int64_t) : width;
    }
    bytes += plan->count * ((uint64_t)rows * width + (uint64_t)gr_bitmap_bytes(rows) + 128);
    gr_place_expect(table->keys->count + plan->count, bytes);
}

static granary_err
result_of_groups(const struct group_plan *plan, const struct group_table *table, const int64_t *order,
                 granary_frame **ret_frame)
{
    size_t keys = table->keys->count;
    granary_frame *frame = gr_frame_create(keys + plan->count, (int64_t)table->groups);
    granary_err err = frame == NULL ? out_of_memory() : GRANARY_OK;

    expect_groups(plan, table);
    for (size_t i = 0; i < keys + plan->count && err == GRANARY_OK; i++) {
        struct gr_column column;

        err = i < keys ? key_column(&table->keys->columns[i].view, order, (int64_t)table->groups, keys == 1, &column)
                       : result_column(plan, table, i - keys, order, table->groups, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(frame, i, i < keys ? plan->keys->strings[i] : plan->aggregates[i - keys].name, &column);
        }
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}

granary_err
group_result(const struct group_plan *plan, const struct group_table *table, granary_frame **ret_frame)
{
    int64_t *order = NULL;
    granary_err err = table_order(plan, table, &order);

    if (err == GRANARY_OK) {
        err = plan->count == 1 && gr_aggregate_is_rows(&plan->aggregates[0])
                  ? result_of_rows(plan, table, order, ret_frame)
                  : result_of_groups(plan, table, order, ret_frame);
    }
    free(order);
    return err;
}
