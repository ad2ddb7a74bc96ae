/* Rows of groups, and groups as columns. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "graph/expand/private.h"
#include "graph/expr.h"

/* ---- rows by their place in the group ---- */

/* Rows for whose place, `#place` from 0, in a group of `#size` rows a condition is true. */
static void
pick_rows(struct expansion *e, const char *where)
{
    static const char *const own[] = {"#place", "#size"};
    char *const *keys;
    size_t count = expand_strings(e, "keys", &keys);
    const char *rows = expand_add(e, "places", "window", e->node->inputs[0], NULL);

    expand_map(e, "columns", own[0], "cumcount()");
    expand_map(e, "columns", own[1], "size()");
    expand_set_strings(e, "partition", (const char *const *)keys, count);
    rows = expand_add(e, "picked", "filter", rows, NULL);
    expand_set_string1(e, "where", where);
    (void)expand_add(e, NULL, "drop", rows, NULL);
    expand_set_strings(e, "columns", own, 2);
}

static void
expand_group_head(struct expansion *e)
{
    int64_t rows = gr_attr_int(e->node->attrs, e->node->n_attrs, "rows", 0);

    pick_rows(e, rows >= 0 ? expand_text(e, "`#place` < %" PRId64, rows)
                           : expand_text(e, "`#place` < `#size` + (%" PRId64 ")", rows));
}

const struct gr_operator gr_op_group_head = {.expand = expand_group_head};

static void
expand_group_tail(struct expansion *e)
{
    int64_t rows = gr_attr_int(e->node->attrs, e->node->n_attrs, "rows", 0);

    pick_rows(e, rows < 0 ? expand_text(e, "`#place` + (%" PRId64 ") >= 0", rows)
                          : expand_text(e, "`#place` >= `#size` - %" PRId64, rows));
}

const struct gr_operator gr_op_group_tail = {.expand = expand_group_tail};

static void
expand_group_nth(struct expansion *e)
{
    const Granary__Attr *places = gr_attr_find(e->node->attrs, e->node->n_attrs, "n");
    const char *where = "false";

    for (size_t i = 0; i < places->n_ints; i++) {
        where = expand_text(e, "%s or `#place` = %s(%" PRId64 ")", where, places->ints[i] < 0 ? "`#size` + " : "",
                            places->ints[i]);
    }
    pick_rows(e, where);
}

const struct gr_operator gr_op_group_nth = {.expand = expand_group_nth};

/* ---- where the extreme values are ---- */

static void
add_extremes(struct expansion *e, const char *function)
{
    char *const *keys;
    char *const *columns;
    size_t key_count = expand_strings(e, "keys", &keys);
    size_t count = expand_strings(e, "columns", &columns);
    const char *rows = expand_add(e, "positions", "reset_index", e->node->inputs[0], NULL);

    expand_set_string1(e, "name", "#position");
    if (count == 0) {
        expand_fail(e, "parameter 'columns' is empty");
        return;
    }
    rows = expand_add(e, "extremes", "window", rows, NULL);
    for (size_t i = 0; i < count; i++) {
        expand_map(e, "columns", expand_text(e, "#extreme %zu", i),
                   expand_text(e, "%s(%s)", function, expand_name(e, columns[i])));
    }
    if (key_count > 0) {
        expand_set_strings(e, "partition", (const char *const *)keys, key_count);
    }
    (void)expand_add(e, NULL, "groupby", rows, NULL);
    expand_set_strings(e, "keys", (const char *const *)keys, key_count);
    for (size_t i = 0; i < count; i++) {
        expand_map(e, "aggregate", columns[i],
                   expand_text(e, "min(case when %s = `#extreme %zu` then `#position` else null end)",
                               expand_name(e, columns[i]), i));
    }
}

static void
expand_idxmax(struct expansion *e)
{
    add_extremes(e, "max");
}

const struct gr_operator gr_op_idxmax = {.expand = expand_idxmax};

static void
expand_idxmin(struct expansion *e)
{
    add_extremes(e, "min");
}

const struct gr_operator gr_op_idxmin = {.expand = expand_idxmin};

/* ---- groups as columns ---- */

/* What the nodes behind it would tell of their own parameters, told of this one's. */
static bool
check_pivot(struct expansion *e, char *const *index, size_t index_count, char *const *categories, size_t count)
{
    struct gr_expr *fill = NULL;

    if (count == 0) {
        expand_fail(e, "parameter 'categories' is empty");
    }
    for (size_t i = 0; i < index_count + count; i++) {
        const char *name = i < index_count ? index[i] : categories[i - index_count];
        const char *parameter = i < index_count ? "index" : "categories";

        if (name[0] == '\0') {
            expand_fail(e, "parameter '%s' has an empty column name", parameter);
        }
        for (size_t k = 0; k < i; k++) {
            const char *other = k < index_count ? index[k] : categories[k - index_count];

            if (strcmp(name, other) == 0) {
                expand_fail(e,
                            (k < index_count) == (i < index_count)
                                ? "parameter '%s' has '%.100s' twice"
                                : "parameter '%s' has '%.100s', which is a column of 'index'",
                            parameter, name);
            }
        }
    }
    if (e->err == GRANARY_OK) {
        granary_err err = gr_expr_parse(expand_string(e, "fill_value", "null"), &fill);

        if (err == GRANARY_ENOMEM) {
            e->err = err;
        } else if (err != GRANARY_OK) {
            expand_fail(e, "parameter 'fill_value': %s", granary_error_message());
        }
    }
    gr_expr_destroy(fill);
    return e->err == GRANARY_OK;
}

static void
expand_pivot_table(struct expansion *e)
{
    const char *column = expand_name(e, expand_string(e, "columns", ""));
    const char *value = expand_name(e, expand_string(e, "values", ""));
    const char *function = expand_string(e, "aggregate", "mean");
    const char *fill = expand_string(e, "fill_value", "null");
    bool size = strcmp(function, "size") == 0;
    char *const *index;
    char *const *categories;
    size_t index_count = expand_strings(e, "index", &index);
    size_t count = expand_strings(e, "categories", &categories);
    const char *rows = expand_add(e, "groups", "groupby", e->node->inputs[0], NULL);

    if (!check_pivot(e, index, index_count, categories, count)) {
        return;
    }
    expand_set_strings(e, "keys", (const char *const *)index, index_count);
    for (size_t i = 0; i < count; i++) {
        const char *is = expand_text(e, "cast(%s as string) = %s", column, expand_quote(e, categories[i]));

        expand_map(e, "aggregate", expand_text(e, "#rows %zu", i),
                   expand_text(e, "sum(case when %s then 1 else 0 end)", is));
        if (!size) {
            expand_map(e, "aggregate", categories[i],
                       expand_text(e, "%s(case when %s then %s else null end)", function, is, value));
        }
    }
    (void)expand_add(e, NULL, "project", rows, NULL);
    for (size_t i = 0; i < index_count; i++) {
        expand_map(e, "columns", index[i], expand_name(e, index[i]));
    }
    for (size_t i = 0; i < count; i++) {
        expand_map(e, "columns", categories[i],
                   expand_text(e, "case when `#rows %zu` > 0 then %s else %s end", i,
                               expand_name(e, size ? expand_text(e, "#rows %zu", i) : categories[i]), fill));
    }
}

const struct gr_operator gr_op_pivot_table = {.expand = expand_pivot_table};
