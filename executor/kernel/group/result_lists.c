/* Aggregates that need all values of a group. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/core/moments.h"
#include "kernel/core/select.h"
#include "kernel/group/result_parts.h"
#include "kernel/sort/sort.h"

#define DAY_MICROSECONDS 86400000000

granary_err
make_value_counts(struct making *making)
{
    const struct group_part *list = making_part(making, USE_ITEM);

    for (size_t g = 0; g < making->table->groups; g++) {
        making->ints[g] = list->starts[g + 1] - list->starts[g];
    }
    return GRANARY_OK;
}

bool
list_quantile(double *values, size_t count, double number, double *ret_value)
{
    *ret_value = count > 0 ? select_quantile(values, count, number) : 0.0;
    return count > 0;
}

static int
by_real(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

bool
list_mad(double *values, size_t count, double number, double *ret_value)
{
    double middle;

    (void)number;
    if (count == 0) {
        return false;
    }
    middle = select_quantile(values, count, 0.5);
    for (size_t i = 0; i < count; i++) {
        values[i] = fabs(values[i] - middle);
    }
    qsort(values, count, sizeof *values, by_real);
    *ret_value = count % 2 == 1 ? values[count / 2] : values[count / 2 - 1] / 2 + values[count / 2] / 2;
    return true;
}

bool
list_skew(double *values, size_t count, double number, double *ret_value)
{
    (void)number;
    return moment_skew(values, count, ret_value);
}

bool
list_kurtosis(double *values, size_t count, double number, double *ret_value)
{
    (void)number;
    return moment_kurtosis(values, count, ret_value);
}

bool
list_product(double *values, size_t count, double number, double *ret_value)
{
    (void)number;
    *ret_value = 1.0;
    for (size_t i = 0; i < count; i++) {
        *ret_value *= values[i];
    }
    return true;
}

static granary_err
make_int_product(struct making *making)
{
    const struct group_part *list = making_part(making, USE_ITEM);
    bool is_unsigned = making->result == GRANARY_UINT64;
    gr_int128 limit = is_unsigned ? (gr_int128)UINT64_MAX : (gr_int128)INT64_MAX;

    for (size_t g = 0; g < making->table->groups; g++) {
        gr_int128 product = 1;
        bool over = false;

        for (size_t i = list->starts[g]; i < list->starts[g + 1]; i++) {
            gr_int128 value = select_int(&list->values.view, (int64_t)i);

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

/* What `and`, `or` and `xor` make of all bits. */
granary_err
make_bits(struct making *making)
{
    const struct group_part *list = making_part(making, USE_ITEM);
    enum gr_aggregate_function function = making->aggregate->function;

    for (size_t g = 0; g < making->table->groups; g++) {
        gr_int128 bits = function == GR_AGGREGATE_BIT_AND ? -1 : 0;
        bool any = list->starts[g] < list->starts[g + 1];

        for (size_t i = list->starts[g]; any && i < list->starts[g + 1]; i++) {
            gr_int128 value = select_int(&list->values.view, (int64_t)i);

            bits = function == GR_AGGREGATE_BIT_AND  ? bits & value
                   : function == GR_AGGREGATE_BIT_OR ? bits | value
                                                     : bits ^ value;
        }
        making->ints[g] = bits;
        making->there[g] = any;
    }
    return GRANARY_OK;
}

/* The entries of a group in order: equal ones stand together. */
static double
entropy_of(const struct sort_key *by, const int64_t *sorted, size_t count)
{
    double sum = 0.0;

    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        double share;

        while (end < count && sort_compare(by, sorted[i], by, sorted[end], 1) == 0) {
            end++;
        }
        share = (double)(end - i) / (double)count;
        sum -= share * log2(share);
        i = end;
    }
    return sum == 0.0 ? 0.0 : sum; /* no -0.0 */
}

/* The longest run of equal entries. */
static int64_t
longest_run(const struct sort_key *by, const int64_t *sorted, size_t count)
{
    int64_t most = 0, run = 0;

    for (size_t i = 0; i < count; i++) {
        run = i > 0 && sort_compare(by, sorted[i - 1], by, sorted[i], 1) == 0 ? run + 1 : 1;
        most = run > most ? run : most;
    }
    return most;
}

/* How often values come: the entropy of that, or the most of it. */
static granary_err
make_frequencies(struct making *making, bool entropy)
{
    const struct group_part *list = making_part(making, USE_ITEM);
    const struct sort_key by = {.column = &list->values.view};
    int64_t *rows = malloc(((size_t)list->values.view.rows + 1) * sizeof *rows);
    granary_err err = rows == NULL ? gr_no_memory("groupby") : GRANARY_OK;

    for (size_t g = 0; g < making->table->groups && err == GRANARY_OK; g++) {
        size_t count = list->starts[g + 1] - list->starts[g];

        for (size_t i = 0; i < count; i++) {
            rows[i] = (int64_t)(list->starts[g] + i);
        }
        err = count > 1 ? sort_rows_of(&by, 1, rows, (int64_t)count) : GRANARY_OK;
        if (err == GRANARY_OK && entropy) {
            making->there[g] = count > 0;
            making->reals[g] = entropy_of(&by, rows, count);
        } else if (err == GRANARY_OK) {
            making->ints[g] = longest_run(&by, rows, count);
        }
    }
    free(rows);
    return err;
}

granary_err
make_entropy(struct making *making)
{
    return make_frequencies(making, true);
}

granary_err
make_mode_counts(struct making *making)
{
    return make_frequencies(making, false);
}

/* Of dates, timestamps and durations, whose digits a double does not hold: in whole microseconds. */
static granary_err
make_moments_between(struct making *making)
{
    const struct group_part *list = making_part(making, USE_ITEM);
    gr_int128 unit = making->dtype == GRANARY_DATE ? DAY_MICROSECONDS : 1;
    int64_t *values = malloc((size_t)list->values.view.rows * sizeof *values + 1);

    if (values == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t g = 0; g < making->table->groups; g++) {
        size_t begin = list->starts[g];
        size_t count = list->starts[g + 1] - begin;

        for (size_t i = 0; i < count; i++) {
            values[i] = (int64_t)select_int(&list->values.view, (int64_t)(begin + i));
        }
        making->there[g] = count > 0;
        making->ints[g] = count > 0 ? select_quantile_int(values, count, making->aggregate->number, unit) : 0;
    }
    free(values);
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

granary_err
make_of_lists(struct making *making)
{
    const struct group_part *list = making_part(making, USE_ITEM);
    double divisor = making_divisor(making);
    double *values;
    size_t most = 0;
    bool there;
    granary_err err = GRANARY_OK;

    if (making->ints != NULL) {
        return making->aggregate->function == GR_AGGREGATE_PROD ? make_int_product(making)
                                                                : make_moments_between(making);
    }
    for (size_t g = 0; g < making->table->groups; g++) {
        size_t count = list->starts[g + 1] - list->starts[g];

        most = count > most ? count : most;
    }
    values = malloc((most + 1) * 2 * sizeof *values); /* half of it for select_quantile() */
    err = values == NULL ? gr_no_memory("groupby") : GRANARY_OK;
    for (size_t g = 0; err == GRANARY_OK && g < making->table->groups; g++) {
        list_reals(&list->values.view, list->starts[g], list->starts[g + 1], divisor, values);
        there =
            making->list(values, list->starts[g + 1] - list->starts[g], making->aggregate->number, &making->reals[g]);
        if (making->there != NULL) {
            making->there[g] = there;
        }
    }
    free(values);
    return err;
}

granary_err
make_modes(struct making *making, const int64_t *order, size_t count, struct gr_column *ret_column)
{
    const struct group_part *list = making_part(making, USE_ITEM);
    uint32_t *entries = malloc((size_t)list->values.view.rows * sizeof *entries + 1);
    int64_t *rows = malloc((count + 1) * sizeof *rows);
    granary_err err = rows == NULL || entries == NULL ? gr_no_memory("groupby") : GRANARY_OK;

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

/* The items of groups in that order. */
static granary_err
take_items(const struct group_part *list, const int64_t *order, size_t count, size_t total, struct gr_column *ret_items)
{
    int64_t *rows = malloc((total + 1) * sizeof *rows);
    size_t at = 0;
    granary_err err;

    if (rows == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t item = list->starts[order[i]]; item < list->starts[order[i] + 1]; item++) {
            rows[at++] = (int64_t)item;
        }
    }
    err = gr_column_take(&list->values.view, rows, (int64_t)total, ret_items);
    free(rows);
    return err;
}

/* The items of each group in ascending order. */
static granary_err
take_sorted(const struct group_part *list, const int64_t *order, size_t count, size_t total,
            struct gr_column *ret_items)
{
    const struct sort_key by = {.column = &list->values.view};
    int64_t *rows = malloc((total + 1) * sizeof *rows);
    size_t at = 0;
    granary_err err = rows == NULL ? gr_no_memory("groupby") : GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        size_t begin = list->starts[order[i]];
        size_t size = list->starts[order[i] + 1] - begin;

        for (size_t item = 0; item < size; item++) {
            rows[at + item] = (int64_t)(begin + item);
        }
        err = size > 1 ? sort_rows_of(&by, 1, rows + at, (int64_t)size) : GRANARY_OK;
        at += size;
    }
    err = err == GRANARY_OK ? gr_column_take(&list->values.view, rows, (int64_t)total, ret_items) : err;
    free(rows);
    return err;
}

/* Of a column without a dtype there are nulls alone. */
static granary_err
null_items(size_t total, struct gr_column *ret_items)
{
    granary_err err = gr_column_alloc(GRANARY_STRING, (int64_t)total, 0, true, ret_items);

    if (err == GRANARY_OK) {
        gr_column_finish(ret_items);
    }
    return err;
}

granary_err
make_lists(struct making *making, const int64_t *order, size_t count, struct gr_column *ret_column)
{
    const struct group_part *list = making_part(making, USE_ITEM);
    bool sorted = making->aggregate->function == GR_AGGREGATE_UNIQUE;
    struct gr_column items;
    size_t total = 0;
    int32_t *offsets;
    granary_err err;

    for (size_t i = 0; i < count; i++) {
        total += list->starts[order[i] + 1] - list->starts[order[i]];
    }
    if (total > INT32_MAX) {
        return gr_fail(GRANARY_EFULL,
                       "aggregate '%s': the lists of column '%s' have %zu items, and there is room for 2147483647",
                       making->aggregate->name, making->aggregate->column, total);
    }
    err = making->dtype == GRANARY_NULLTYPE ? null_items(total, &items)
          : sorted                          ? take_sorted(list, order, count, total, &items)
                                            : take_items(list, order, count, total, &items);
    err = err == GRANARY_OK ? gr_list_create(&items, (int64_t)count, true, ret_column) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    offsets = (int32_t *)(uintptr_t)ret_column->view.offsets;
    for (size_t i = 0; i < count; i++) {
        size_t size = list->starts[order[i] + 1] - list->starts[order[i]];

        offsets[i + 1] = offsets[i] + (int32_t)size;
        if (size > 0) {
            gr_bit_set((uint8_t *)(uintptr_t)ret_column->view.validity, (int64_t)i);
        }
    }
    gr_column_finish(ret_column);
    return GRANARY_OK;
}
