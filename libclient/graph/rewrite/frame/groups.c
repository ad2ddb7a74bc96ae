/* Rows of groups (group_head, group_tail, group_nth, idxmax, idxmin), numbers of groups (ngroup),
 * and groups as columns (pivot_table). */
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

/* ---- numbers of groups ---- */

/* Groups come ordered by their keys: their positions are their numbers. */
static struct gr_node *
rewrite_ngroup(struct rewrite *x)
{
    const char *name = rewrite_param_text(x, "name");
    bool ascending = rewrite_param_bool(x, "ascending");
    struct gr_node *groups, *rows;

    rewrite_entry(x, "#rows", "size");
    rewrite_set(x, rewrite_map(x, "aggregate"));
    rewrite_hand_on(x, "keys", "keys");
    groups = rewrite_part(x, "groups", GR_TILE_groupby, rewrite_input(x, 0), NULL, NULL, NULL);
    if (ascending) {
        rewrite_entry(x, "#rows", "cumcount()");
        groups = rewrite_part(x, "numbers", GR_TILE_window, groups, NULL, rewrite_map(x, "columns"), NULL);
    } else {
        rewrite_entry(x, "#place", "cumcount()");
        rewrite_entry(x, "#size", "size()");
        groups = rewrite_part(x, "places", GR_TILE_window, groups, NULL, rewrite_map(x, "columns"), NULL);
        rewrite_entry(x, "#rows", "`#size` - 1 - `#place`");
        groups = rewrite_part(x, "numbers", GR_TILE_assign, groups, NULL, rewrite_map(x, "columns"), NULL);
        groups = rewrite_part(x, "numbered groups", GR_TILE_drop, groups, NULL,
                              rewrite_strings(x, "columns", (const char *const[]){"#place", "#size"}, 2), NULL);
    }
    rewrite_hand_on(x, "keys", "on");
    rows = rewrite_part(x, "rows with numbers", GR_TILE_join, rewrite_input(x, 0), groups,
                        rewrite_string(x, "how", "left"), NULL);
    rewrite_entry(x, name, "`#rows`");
    rows = rewrite_part(x, "named", GR_TILE_assign, rows, NULL, rewrite_map(x, "columns"), NULL);
    return rewrite_add(x, GR_TILE_drop, rows, NULL, rewrite_string(x, "columns", "#rows"), NULL);
}

const struct gr_operator gr_op_ngroup = {.traits = GR_OP_KNOWS_NO_TYPES, .rewrite = rewrite_ngroup};

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

/* What a pivot reads of its node. */
struct pivot {
    char *const *index, *const *categories;
    size_t index_count, count;
    const char *margins; /* NULL: none */
    const char *function, *value;
    bool is_size, is_only;
};

/* The column of a category, or of the margins. Errors of aggregates tell it. */
static const char *
pivot_name(const struct pivot *pivot, size_t i)
{
    return i < pivot->count ? pivot->categories[i] : pivot->margins;
}

/* Entries of a groupby: how many rows each category has (the last one: all of them), and their aggregates. */
static void
pivot_entries(struct rewrite *x, const struct pivot *pivot)
{
    const char *column = rewrite_name(x, rewrite_param_text(x, "columns"));
    const char *all = "false";

    for (size_t i = 0; i <= pivot->count; i++) {
        const char *is = i == pivot->count ? all
                                           : rewrite_text(x, "cast(%s as string) = %s", column,
                                                          rewrite_quote(x, pivot->categories[i]));

        if (i == pivot->count && pivot->margins == NULL) {
            return;
        }
        rewrite_entry(x, rewrite_text(x, "#rows %zu", i), rewrite_text(x, "sum(case when %s then 1 else 0 end)", is));
        if (!pivot->is_size) {
            rewrite_entry(x, pivot_name(pivot, i),
                          rewrite_text(x, "%s(case when %s then %s else null end)",
                                       pivot->is_only ? "first" : pivot->function, is, pivot->value));
        }
        all = rewrite_text(x, "%s or %s", all, is);
    }
}

/* The columns of the result, of rows that have these entries. total: of the last row. */
static struct gr_node *
pivot_columns(struct rewrite *x, const struct pivot *pivot, struct gr_node *rows, const char *part, bool total)
{
    for (size_t i = 0; i < pivot->index_count; i++) {
        const char *name = rewrite_name(x, pivot->index[i]);

        rewrite_entry(x, pivot->index[i],
                      total                    ? rewrite_quote(x, i == 0 ? pivot->margins : "")
                      : pivot->margins != NULL ? rewrite_text(x, "cast(%s as string)", name)
                                               : name);
    }
    for (size_t i = 0; i < pivot->count + (pivot->margins != NULL); i++) {
        const char *made = rewrite_name(x, pivot_name(pivot, i));
        const char *value = pivot->is_size ? rewrite_text(x, "`#rows %zu`", i)
                            : pivot->is_only
                                ? rewrite_text(x,
                                               "case when (case when `#rows %zu` > 1 then error('two rows for one "
                                               "place: choose an aggregate') else '' end) = '' then %s else null end",
                                               i, made)
                                : made;

        rewrite_entry(x, pivot_name(pivot, i),
                      rewrite_text(x, "case when `#rows %zu` > 0 then %s else %s end", i, value,
                                   rewrite_param_text(x, "fill_value")));
    }
    return rewrite_part(x, part, GR_TILE_project, rows, NULL, rewrite_map(x, "columns"), NULL);
}

/* The rows of groups, and behind them one of all rows that are in a group. */
static struct gr_node *
pivot_total(struct rewrite *x, const struct pivot *pivot, struct gr_node *groups)
{
    const char *where = "true";
    struct gr_node *rows;

    for (size_t i = 0; i < pivot->index_count; i++) {
        where = rewrite_text(x, "%s and %s is not null", where, rewrite_name(x, pivot->index[i]));
    }
    rows = rewrite_part(x, "rows of groups", GR_TILE_filter, rewrite_input(x, 0), NULL,
                        rewrite_string(x, "where", where), NULL);
    pivot_entries(x, pivot);
    rows = rewrite_part(x, "total", GR_TILE_aggregate, rows, NULL, rewrite_map(x, "aggregate"), NULL);
    rows = pivot_columns(x, pivot, rows, "last row", true);
    return rewrite_add(x, GR_TILE_concat, groups, rows, NULL, NULL);
}

static struct gr_node *
rewrite_pivot_table(struct rewrite *x)
{
    const char *value = rewrite_param_text(x, "values");
    struct pivot pivot = {.margins = rewrite_param_text(x, "margins"), .function = rewrite_param_text(x, "aggregate")};
    struct gr_node *rows;

    pivot.index_count = rewrite_param_names(x, "index", &pivot.index);
    pivot.count = rewrite_param_names(x, "categories", &pivot.categories);
    pivot.is_size = strcmp(pivot.function, "size") == 0;
    pivot.is_only = strcmp(pivot.function, "only") == 0;
    if (!check_pivot(x, pivot.index, pivot.index_count, pivot.categories, pivot.count)) {
        return x->node;
    }
    if (pivot.margins != NULL && (pivot.is_only || pivot.index_count == 0)) {
        return rewrite_fail(x, pivot.is_only ? "'margins' are of aggregates: there is none with 'only'"
                                             : "'margins' have a last row: parameter 'index' is empty");
    }
    for (size_t i = 0; pivot.margins != NULL && i < pivot.index_count + pivot.count; i++) {
        const char *name = i < pivot.index_count ? pivot.index[i] : pivot.categories[i - pivot.index_count];

        if (strcmp(name, pivot.margins) == 0) {
            return rewrite_fail(x, "parameter 'margins': there is a column '%.100s' already", name);
        }
    }
    pivot.value = rewrite_name(x, value == NULL ? "" : value);
    pivot_entries(x, &pivot);
    rows = rewrite_part(x, "groups", GR_TILE_groupby, rewrite_input(x, 0), NULL,
                        rewrite_strings(x, "keys", (const char *const *)pivot.index, pivot.index_count),
                        rewrite_map(x, "aggregate"));
    rows = pivot_columns(x, &pivot, rows, pivot.margins == NULL ? NULL : "rows", false);
    return pivot.margins == NULL ? rows : pivot_total(x, &pivot, rows);
}

const struct gr_operator gr_op_pivot_table = {.traits = GR_OP_KNOWS_NO_TYPES, .rewrite = rewrite_pivot_table};
