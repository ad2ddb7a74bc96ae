/* Columns made of what is known of all rows, or of another frame's. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/expand/private.h"

#define BINS_MAX   1000
#define MATRIX_MAX 64

/* ---- numbers for values ---- */

static void
expand_factorize(struct expansion *e)
{
    const char *column = expand_string(e, "column", "");
    const char *name = expand_string(e, "name", "code");
    const char *rows = expand_add(e, "values", "select", e->node->inputs[0], NULL);

    expand_set_strings(e, "columns", &column, 1);
    rows = expand_add(e, "values that are there", "dropna", rows, NULL);
    rows = expand_add(e, "different values", "distinct", rows, NULL);
    if (gr_attr_bool(e->node->attrs, e->node->n_attrs, "sort", false)) {
        rows = expand_add(e, "values in order", "sort", rows, NULL);
        expand_set_strings(e, "by", &column, 1);
    }
    rows = expand_add(e, "numbers", "reset_index", rows, NULL);
    expand_set_string1(e, "name", "#code");
    rows = expand_add(e, "rows with numbers", "join", e->node->inputs[0], rows);
    expand_set_strings(e, "on", &column, 1);
    expand_set_string1(e, "how", "left");
    rows = expand_add(e, "codes", "assign", rows, NULL);
    expand_map(e, "columns", name, "coalesce(`#code`, -1)");
    (void)expand_add(e, NULL, "drop", rows, NULL);
    expand_set_string1(e, "columns", "#code");
}

const struct gr_operator gr_op_factorize = {.expand = expand_factorize};

/* The shares between which the bins are, as text, ascending; bins[count] is the last one's end. */
static size_t
read_shares(struct expansion *e, const char **shares)
{
    int64_t q = gr_attr_int(e->node->attrs, e->node->n_attrs, "q", 0);
    char *const *given;
    size_t count = expand_strings(e, "quantiles", &given);
    double before = -1;

    if ((count > 0) == (q > 0) || q > BINS_MAX || count == 1 || count > BINS_MAX) {
        expand_fail(e, "it needs 'q', a number of bins up to %d, or else 'quantiles', two or more", BINS_MAX);
        return 0;
    }
    for (int64_t i = 0; count == 0 && i <= q; i++) {
        shares[i] = expand_text(e, "%.17g", (double)i / (double)q);
    }
    for (size_t i = 0; i < count; i++) {
        char *end;
        double share = strtod(given[i], &end);

        if (end == given[i] || *end != '\0' || !(share > before && share <= 1) || share < 0) {
            expand_fail(e, "parameter 'quantiles': '%.40s' is no number up to 1 above the one before it", given[i]);
            return 0;
        }
        shares[i] = given[i];
        before = share;
    }
    return count > 0 ? count - 1 : (size_t)q;
}

static void
expand_qcut(struct expansion *e)
{
    const char *shares[BINS_MAX + 1];
    const char *edges[BINS_MAX + 1];
    const char *given = expand_string(e, "column", "");
    const char *column = expand_name(e, given);
    char *const *labels;
    size_t label_count = expand_strings(e, "labels", &labels);
    size_t bins = read_shares(e, shares);
    const char *text;
    const char *rows;

    if (bins == 0 || (label_count > 0 && label_count != bins)) {
        expand_fail(e, "parameter 'labels' has %zu entries for %zu bins", label_count, bins);
        return;
    }
    text = expand_text(e, "case when %s < `#edge 0` then null", column);
    rows = expand_add(e, "edges", "aggregate", e->node->inputs[0], NULL);
    for (size_t i = 0; i <= bins; i++) {
        edges[i] = expand_text(e, "#edge %zu", i);
        expand_map(e, "aggregate", edges[i], expand_text(e, "quantile(%s, %s)", column, shares[i]));
    }
    for (size_t i = 0; i < bins; i++) {
        text = expand_text(e, "%s when %s <= `%s` then %s", text, column, edges[i + 1],
                           label_count > 0 ? expand_quote(e, labels[i]) : expand_text(e, "%zu", i));
    }
    rows = expand_add(e, "rows with edges", "join", e->node->inputs[0], rows);
    expand_set_string1(e, "how", "cross");
    rows = expand_add(e, "bins", "assign", rows, NULL);
    expand_map(e, "columns", expand_string(e, "name", given), expand_text(e, "%s else null end", text));
    (void)expand_add(e, NULL, "drop", rows, NULL);
    expand_set_strings(e, "columns", edges, bins + 1);
}

const struct gr_operator gr_op_qcut = {.expand = expand_qcut};

/* ---- another frame's values ---- */

/* The rows of both frames, the right one's columns called "#NAME". */
static const char *
join_sides(struct expansion *e, const char *how)
{
    char *const *on;
    char *const *columns;
    size_t on_count = expand_strings(e, "on", &on);
    size_t count = expand_strings(e, "columns", &columns);
    const char *right = expand_add(e, "right", "project", e->node->inputs[1], NULL);
    const char *rows;

    for (size_t i = 0; i < on_count; i++) {
        expand_map(e, "columns", on[i], expand_name(e, on[i]));
    }
    for (size_t i = 0; i < count; i++) {
        expand_map(e, "columns", expand_text(e, "#%s", columns[i]), expand_name(e, columns[i]));
    }
    rows = expand_add(e, "both", "join", e->node->inputs[0], right);
    expand_set_strings(e, "on", (const char *const *)on, on_count);
    expand_set_string1(e, "how", how);
    if (on_count == 0 || count == 0) {
        expand_fail(e, "parameter '%s' is empty", on_count == 0 ? "on" : "columns");
    }
    return rows;
}

/* Missing values of one side filled by the other's. */
static const char *
fill_side(struct expansion *e, const char *rows, bool fill_left)
{
    char *const *columns;
    size_t count = expand_strings(e, "columns", &columns);

    rows = expand_add(e, "filled", "fillna", rows, NULL);
    for (size_t i = 0; i < count; i++) {
        const char *right = expand_text(e, "#%s", columns[i]);

        expand_map(e, "values", fill_left ? columns[i] : right, expand_name(e, fill_left ? right : columns[i]));
    }
    return rows;
}

static const char *
drop_right(struct expansion *e, const char *part, const char *rows)
{
    char *const *columns;
    size_t count = expand_strings(e, "columns", &columns);
    const char **names = calloc(count + 1, sizeof *names);

    rows = expand_add(e, part, "drop", rows, NULL);
    for (size_t i = 0; names != NULL && i < count; i++) {
        names[i] = expand_text(e, "#%s", columns[i]);
    }
    if (names != NULL) {
        expand_set_strings(e, "columns", names, count);
    } else {
        expand_set(e, NULL);
    }
    free(names);
    return rows;
}

static void
expand_update(struct expansion *e)
{
    char *const *columns;
    size_t count = expand_strings(e, "columns", &columns);
    const char *rows = fill_side(e, join_sides(e, "left"), false);

    rows = expand_add(e, "updated", "assign", rows, NULL);
    for (size_t i = 0; i < count; i++) {
        expand_map(e, "columns", columns[i], expand_name(e, expand_text(e, "#%s", columns[i])));
    }
    (void)drop_right(e, NULL, rows);
}

const struct gr_operator gr_op_update = {.expand = expand_update};

static void
expand_combine_first(struct expansion *e)
{
    char *const *on;
    size_t on_count = expand_strings(e, "on", &on);
    const char *rows = fill_side(e, join_sides(e, "outer"), true);

    rows = drop_right(e, "combined", rows);
    (void)expand_add(e, NULL, "sort", rows, NULL);
    expand_set_strings(e, "by", (const char *const *)on, on_count);
}

const struct gr_operator gr_op_combine_first = {.expand = expand_combine_first};

/* ---- columns with columns ---- */

/* One row has all pairs; as many rows as columns take theirs from it. */
static void
add_matrix(struct expansion *e, const char *function)
{
    char *const *columns;
    size_t count = expand_strings(e, "columns", &columns);
    const char *name = "case";
    const char *numbers, *pairs, *rows;
    const char *row = "#row";

    if (count == 0 || count > MATRIX_MAX) {
        expand_fail(e, "parameter 'columns' needs 1 to %d names", MATRIX_MAX);
        return;
    }
    numbers = expand_add(e, "numbers", "arange", NULL, NULL);
    expand_set(e, gr_attr_new_int("stop", (int64_t)count));
    numbers = expand_add(e, "rows", "from_tensor", numbers, NULL);
    expand_set_strings(e, "columns", &row, 1);
    pairs = expand_add(e, "pairs", "aggregate", e->node->inputs[0], NULL);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i; k < count; k++) {
            expand_map(e, "aggregate", expand_text(e, "#%zu %zu", i, k),
                       expand_text(e, "%s(%s, %s)", function, expand_name(e, columns[i]), expand_name(e, columns[k])));
        }
    }
    rows = expand_add(e, "rows with pairs", "join", numbers, pairs);
    expand_set_string1(e, "how", "cross");
    (void)expand_add(e, NULL, "project", rows, NULL);
    for (size_t i = 0; i < count; i++) {
        name = expand_text(e, "%s when `#row` = %zu then %s", name, i, expand_quote(e, columns[i]));
    }
    expand_map(e, "columns", expand_string(e, "name", "column"), expand_text(e, "%s else null end", name));
    for (size_t k = 0; k < count; k++) {
        const char *text = "case";

        for (size_t i = 0; i < count; i++) {
            text = expand_text(e, "%s when `#row` = %zu then `#%zu %zu`", text, i, i < k ? i : k, i < k ? k : i);
        }
        expand_map(e, "columns", columns[k], expand_text(e, "%s else null end", text));
    }
}

static void
expand_corr(struct expansion *e)
{
    add_matrix(e, "corr");
}

const struct gr_operator gr_op_corr = {.expand = expand_corr};

static void
expand_cov(struct expansion *e)
{
    add_matrix(e, "cov");
}

const struct gr_operator gr_op_cov = {.expand = expand_cov};

/* ---- between values ---- */

static void
expand_interpolate(struct expansion *e)
{
    char *const *columns;
    char *const *keys;
    size_t count = expand_strings(e, "columns", &columns);
    size_t key_count = expand_strings(e, "keys", &keys);
    const char **own = calloc(4 * count + 1, sizeof *own);
    const char *rows = expand_add(e, "positions", "window", e->node->inputs[0], NULL);

    expand_map(e, "columns", "#position", "cumcount()");
    if (key_count > 0) {
        expand_set_strings(e, "partition", (const char *const *)keys, key_count);
    }
    rows = expand_add(e, "neighbours", "window", rows, NULL);
    for (size_t i = 0; own != NULL && i < count; i++) {
        static const char *const fills[] = {"ffill", "bfill"};
        const char *value = expand_text(e, "cast(%s as float64)", expand_name(e, columns[i]));

        for (size_t k = 0; k < 2; k++) {
            own[4 * i + 2 * k] = expand_text(e, "#%s %zu", fills[k], i);
            own[4 * i + 2 * k + 1] = expand_text(e, "#%s place %zu", fills[k], i);
            expand_map(e, "columns", own[4 * i + 2 * k], expand_text(e, "%s(%s)", fills[k], value));
            expand_map(e, "columns", own[4 * i + 2 * k + 1],
                       expand_text(e,
                                   "%s(case when isnan(%s) then null when %s is null then null else `#position` end)",
                                   fills[k], value, value));
        }
    }
    if (key_count > 0) {
        expand_set_strings(e, "partition", (const char *const *)keys, key_count);
    }
    rows = expand_add(e, "values", "assign", rows, NULL);
    for (size_t i = 0; own != NULL && i < count; i++) {
        const char *const *at = &own[4 * i];

        expand_map(e, "columns", columns[i],
                   expand_text(e,
                               "case when `%s` is null or `%s` is null or `%s` = `%s` then `%s` else (`%s` "
                               "- `%s`) / (`%s` - `%s`) * (`#position` - `%s`) + `%s` end",
                               at[1], at[3], at[1], at[3], at[0], at[2], at[0], at[3], at[1], at[1], at[0]));
    }
    (void)expand_add(e, NULL, "drop", rows, NULL);
    if (own == NULL || count == 0) {
        expand_fail(e, "parameter 'columns' is empty");
    } else {
        own[4 * count] = "#position";
        expand_set_strings(e, "columns", own, 4 * count + 1);
    }
    free(own);
}

const struct gr_operator gr_op_interpolate = {.expand = expand_interpolate};

/* ---- series of dates ---- */

/* The n-th month's first day, from the first one that is not before the start; or start + n steps. */
static const char *
date_text(struct expansion *e, const char *start, const char *freq)
{
    static const struct {
        const char *name;
        int64_t microseconds;
    } units[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}, {"min", 60000000}, {"h", 3600000000}, {"D", 86400000000}};
    char *unit;
    long long count = strtoll(freq, &unit, 10);

    count = unit == freq ? 1 : count;
    if (count < 1 || count > 1000000) {
        expand_fail(e, "parameter 'freq' is '%.40s': a number up to a million, and D, h, min, s, ms, us or MS", freq);
        return "";
    }
    if (strcmp(unit, "MS") == 0) {
        const char *months = expand_text(e,
                                         "(year(%s) * 12 + month(%s) - (case when day(%s) = 1 then 1 else 0 end) + "
                                         "`#row` * %lld)",
                                         start, start, start, count);

        return expand_text(e, "cast(make_date(%s // 12, %s %% 12 + 1, 1) as timestamp)", months, months);
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit, units[i].name) == 0) {
            return expand_text(e, "cast(cast(%s as int64) + `#row` * %" PRId64 " as timestamp)", start,
                               (int64_t)count * units[i].microseconds);
        }
    }
    expand_fail(e, "parameter 'freq' is '%.40s': its unit can be D, h, min, s, ms, us or MS (first days of months)",
                freq);
    return "";
}

static void
expand_date_range(struct expansion *e)
{
    const char *start = expand_text(e, "cast(%s as timestamp)", expand_quote(e, expand_string(e, "start", "")));
    const char *text = date_text(e, start, expand_string(e, "freq", "D"));
    int64_t periods = gr_attr_int(e->node->attrs, e->node->n_attrs, "periods", 0);
    const char *row = "#row";
    const char *rows;

    if (periods < 0) {
        expand_fail(e, "parameter 'periods' cannot be negative");
    }
    rows = expand_add(e, "numbers", "arange", NULL, NULL);
    expand_set(e, gr_attr_new_int("stop", periods));
    rows = expand_add(e, "rows", "from_tensor", rows, NULL);
    expand_set_strings(e, "columns", &row, 1);
    (void)expand_add(e, NULL, "project", rows, NULL);
    expand_map(e, "columns", expand_string(e, "name", "date"), text);
}

const struct gr_operator gr_op_date_range = {.expand = expand_date_range};
