/* Rows of groups (group_head, group_tail, group_nth, idxmax, idxmin), and groups as columns (pivot_table). */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "graph/expr.h"
#include "graph/rewrite/private.h"

/* ---- rows by their place in the group ---- */

/* Rows for whose place, `#place` from 0, in a group of `#size` rows a condition is true. */
static struct gr_node *
pick_rows(struct rewrite *x, const char *where)
{
    static const char *const own[] = {"#place", "#size"};
    struct gr_node *rows;

    rewrite_entry(x, own[0], "cumcount()");
    rewrite_entry(x, own[1], "size()");
    rewrite_set(x, rewrite_map(x, "columns"));
    rewrite_hand_on(x, "keys", "partition");
    rows = rewrite_part(x, "places", GR_TILE_window, rewrite_input(x, 0), NULL, NULL, NULL);
    rows = rewrite_part(x, "picked", GR_TILE_filter, rows, NULL, rewrite_string(x, "where", where), NULL);
    return rewrite_add(x, GR_TILE_drop, rows, NULL, rewrite_strings(x, "columns", own, 2), NULL);
}

static struct gr_node *
rewrite_group_head(struct rewrite *x)
{
    int64_t rows = rewrite_param_int(x, "rows");

    return pick_rows(x, rows >= 0 ? rewrite_text(x, "`#place` < %" PRId64, rows)
                                  : rewrite_text(x, "`#place` < `#size` + (%" PRId64 ")", rows));
}

const struct gr_operator gr_op_group_head = {.traits = GR_OP_KNOWS_NO_TYPES, .rewrite = rewrite_group_head};

static struct gr_node *
rewrite_group_tail(struct rewrite *x)
{
    int64_t rows = rewrite_param_int(x, "rows");

    return pick_rows(x, rows < 0 ? rewrite_text(x, "`#place` + (%" PRId64 ") >= 0", rows)
                                 : rewrite_text(x, "`#place` >= `#size` - %" PRId64, rows));
}

const struct gr_operator gr_op_group_tail = {.traits = GR_OP_KNOWS_NO_TYPES, .rewrite = rewrite_group_tail};

static struct gr_node *
rewrite_group_nth(struct rewrite *x)
{
    const Granary__Attr *places = rewrite_param(x, "n");
    const char *where = "false";

    for (size_t i = 0; i < places->n_ints; i++) {
        where = rewrite_text(x, "%s or `#place` = %s(%" PRId64 ")", where, places->ints[i] < 0 ? "`#size` + " : "",
                             places->ints[i]);
    }
    return pick_rows(x, where);
}

const struct gr_operator gr_op_group_nth = {.traits = GR_OP_KNOWS_NO_TYPES, .rewrite = rewrite_group_nth};

/* ---- where the extreme values are ---- */

static struct gr_node *
find_extremes(struct rewrite *x, const char *function)
{
    char *const *keys, *const *columns;
    size_t key_count = rewrite_param_names(x, "keys", &keys);
    size_t count = rewrite_param_names(x, "columns", &columns);
    struct gr_node *rows = rewrite_part(x, "positions", GR_TILE_reset_index, rewrite_input(x, 0), NULL,
                                        rewrite_string(x, "name", "#position"), NULL);

    if (count == 0) {
        return rewrite_fail(x, "parameter 'columns' is empty");
    }
    for (size_t i = 0; i < count; i++) {
        rewrite_entry(x, rewrite_text(x, "#extreme %zu", i),
                      rewrite_text(x, "%s(%s)", function, rewrite_name(x, columns[i])));
    }
    rewrite_set(x, rewrite_map(x, "columns"));
    if (key_count > 0) {
        rewrite_hand_on(x, "keys", "partition");
    }
    rows = rewrite_part(x, "extremes", GR_TILE_window, rows, NULL, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        rewrite_entry(x, columns[i],
                      rewrite_text(x, "min(case when %s = `#extreme %zu` then `#position` else null end)",
                                   rewrite_name(x, columns[i]), i));
    }
    return rewrite_add(x, GR_TILE_groupby, rows, NULL, rewrite_strings(x, "keys", (const char *const *)keys, key_count),
                       rewrite_map(x, "aggregate"));
}

REWRITE_WITH(idxmax, GR_OP_KNOWS_NO_TYPES, find_extremes(x, "max"))
REWRITE_WITH(idxmin, GR_OP_KNOWS_NO_TYPES, find_extremes(x, "min"))

/* ---- groups as columns ---- */

/* What the nodes behind it would tell of their own parameters, told of this one's. */
static bool
check_pivot(struct rewrite *x, char *const *index, size_t index_count, char *const *categories, size_t count)
{
    struct gr_expr *fill = NULL;
    granary_err err;

    if (count == 0) {
        (void)rewrite_fail(x, "parameter 'categories' is empty");
    }
    for (size_t i = 0; i < index_count + count; i++) {
        const char *name = i < index_count ? index[i] : categories[i - index_count];
        const char *parameter = i < index_count ? "index" : "categories";

        if (name[0] == '\0') {
            (void)rewrite_fail(x, "parameter '%s' has an empty column name", parameter);
        }
        for (size_t k = 0; k < i; k++) {
            const char *other = k < index_count ? index[k] : categories[k - index_count];

            if (strcmp(name, other) == 0) {
                (void)rewrite_fail(x,
                                   (k < index_count) == (i < index_count)
                                       ? "parameter '%s' has '%.100s' twice"
                                       : "parameter '%s' has '%.100s', which is a column of 'index'",
                                   parameter, name);
            }
        }
    }
    err = gr_expr_parse(rewrite_param_text(x, "fill_value"), &fill);
    if (err == GRANARY_ENOMEM && x->err == GRANARY_OK) {
        x->err = err;
    } else if (err != GRANARY_OK) {
        (void)rewrite_fail(x, "parameter 'fill_value': %s", granary_error_message());
    }
    gr_expr_destroy(fill);
    return x->err == GRANARY_OK;
}

static struct gr_node *
rewrite_pivot_table(struct rewrite *x)
{
    const char *column = rewrite_name(x, rewrite_param_text(x, "columns"));
    const char *value = rewrite_param_text(x, "values");
    const char *function = rewrite_param_text(x, "aggregate");
    bool size = strcmp(function, "size") == 0;
    char *const *index, *const *categories;
    size_t index_count = rewrite_param_names(x, "index", &index);
    size_t count = rewrite_param_names(x, "categories", &categories);
    struct gr_node *rows;

    if (!check_pivot(x, index, index_count, categories, count)) {
        return x->node;
    }
    value = rewrite_name(x, value == NULL ? "" : value);
    for (size_t i = 0; i < count; i++) {
        const char *is = rewrite_text(x, "cast(%s as string) = %s", column, rewrite_quote(x, categories[i]));

        rewrite_entry(x, rewrite_text(x, "#rows %zu", i), rewrite_text(x, "sum(case when %s then 1 else 0 end)", is));
        if (!size) {
            rewrite_entry(x, categories[i],
                          rewrite_text(x, "%s(case when %s then %s else null end)", function, is, value));
        }
    }
    rows =
        rewrite_part(x, "groups", GR_TILE_groupby, rewrite_input(x, 0), NULL,
                     rewrite_strings(x, "keys", (const char *const *)index, index_count), rewrite_map(x, "aggregate"));
    for (size_t i = 0; i < index_count; i++) {
        rewrite_entry(x, index[i], rewrite_name(x, index[i]));
    }
    for (size_t i = 0; i < count; i++) {
        rewrite_entry(x, categories[i],
                      rewrite_text(x, "case when `#rows %zu` > 0 then %s else %s end", i,
                                   rewrite_name(x, size ? rewrite_text(x, "#rows %zu", i) : categories[i]),
                                   rewrite_param_text(x, "fill_value")));
    }
    return rewrite_add(x, GR_TILE_project, rows, NULL, rewrite_map(x, "columns"), NULL);
}

const struct gr_operator gr_op_pivot_table = {.traits = GR_OP_KNOWS_NO_TYPES, .rewrite = rewrite_pivot_table};
