/* Another frame's values taken by keys (update, combine_first), and columns with columns (corr, cov). */
#include <stdlib.h>
#include <string.h>

#include "graph/rewrite/private.h"

#define MATRIX_MAX 64

/* ---- another frame's values ---- */

/* The rows of both frames, the right one's columns called "#NAME". */
static struct gr_node *
join_sides(struct rewrite *x, const char *how)
{
    char *const *on, *const *columns;
    size_t on_count = rewrite_param_names(x, "on", &on);
    size_t count = rewrite_param_names(x, "columns", &columns);
    struct gr_node *right;

    if (on_count == 0 || count == 0) {
        return rewrite_fail(x, "parameter '%s' is empty", on_count == 0 ? "on" : "columns");
    }
    for (size_t i = 0; i < on_count; i++) {
        rewrite_entry(x, on[i], rewrite_name(x, on[i]));
    }
    for (size_t i = 0; i < count; i++) {
        rewrite_entry(x, rewrite_text(x, "#%s", columns[i]), rewrite_name(x, columns[i]));
    }
    right = rewrite_part(x, "right", GR_TILE_project, rewrite_input(x, 1), NULL, rewrite_map(x, "columns"), NULL);
    rewrite_hand_on(x, "on", "on");
    return rewrite_part(x, "both", GR_TILE_join, rewrite_input(x, 0), right, rewrite_string(x, "how", how), NULL);
}

/* Missing values of one side filled by the other's. */
static struct gr_node *
fill_side(struct rewrite *x, struct gr_node *rows, bool fill_left)
{
    char *const *columns;
    size_t count = rewrite_param_names(x, "columns", &columns);

    for (size_t i = 0; i < count; i++) {
        const char *right = rewrite_text(x, "#%s", columns[i]);

        rewrite_entry(x, fill_left ? columns[i] : right, rewrite_name(x, fill_left ? right : columns[i]));
    }
    return rewrite_part(x, "filled", GR_TILE_fillna, rows, NULL, rewrite_map(x, "values"), NULL);
}

static struct gr_node *
drop_right(struct rewrite *x, const char *part, struct gr_node *rows)
{
    char *const *columns;
    size_t count = rewrite_param_names(x, "columns", &columns);
    const char **names = calloc(count + 1, sizeof *names);
    Granary__Attr *right;

    if (names == NULL) {
        return rewrite_no_memory(x);
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = rewrite_text(x, "#%s", columns[i]);
    }
    right = rewrite_strings(x, "columns", names, count);
    free(names);
    return rewrite_part(x, part, GR_TILE_drop, rows, NULL, right, NULL);
}

static struct gr_node *
rewrite_update(struct rewrite *x)
{
    char *const *columns;
    size_t count = rewrite_param_names(x, "columns", &columns);
    struct gr_node *rows = fill_side(x, join_sides(x, "left"), false);

    for (size_t i = 0; i < count; i++) {
        rewrite_entry(x, columns[i], rewrite_name(x, rewrite_text(x, "#%s", columns[i])));
    }
    rows = rewrite_part(x, "updated", GR_TILE_assign, rows, NULL, rewrite_map(x, "columns"), NULL);
    return drop_right(x, NULL, rows);
}

const struct gr_operator gr_op_update = {.traits = GR_OP_KNOWS_NO_TYPES, .rewrite = rewrite_update};

static struct gr_node *
rewrite_combine_first(struct rewrite *x)
{
    struct gr_node *rows = drop_right(x, "combined", fill_side(x, join_sides(x, "outer"), true));

    rewrite_hand_on(x, "on", "by");
    return rewrite_unary(x, GR_TILE_sort, rows);
}

const struct gr_operator gr_op_combine_first = {.traits = GR_OP_KNOWS_NO_TYPES, .rewrite = rewrite_combine_first};

/* ---- columns with columns ---- */

struct gr_node *
rewrite_numbered(struct rewrite *x, size_t count)
{
    struct gr_node *numbers =
        rewrite_part(x, "numbers", GR_TILE_arange, NULL, NULL, rewrite_int(x, "stop", (int64_t)count), NULL);

    return rewrite_part(x, "rows", GR_TILE_from_tensor, numbers, NULL, rewrite_string(x, "columns", "#row"), NULL);
}

/* The ranks of a column where another one has a value, too. */
static const char *
ranks_text(struct rewrite *x, const char *function, const char *column, const char *other)
{
    const char *name = rewrite_name(x, other);

    return rewrite_text(x, "%s(case when %s is null or isnan(cast(%s as float64)) then null else %s end)", function,
                        name, name, rewrite_name(x, column));
}

/* Rows with the ranks of each column beside each other one, as "#ranks I K". */
static struct gr_node *
add_ranks(struct rewrite *x, const char *function, char *const *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            rewrite_entry(x, rewrite_text(x, "#ranks %zu %zu", i, k), ranks_text(x, function, columns[i], columns[k]));
        }
    }
    return rewrite_part(x, "ranks", GR_TILE_window, rewrite_input(x, 0), NULL, rewrite_map(x, "columns"), NULL);
}

/* The function of two columns; ranks: of those that add_ranks() has made. */
static const char *
pair_text(struct rewrite *x, const char *function, char *const *columns, size_t i, size_t k)
{
    if (strcmp(function, "spearman") == 0) {
        return rewrite_text(x, "corr(`#ranks %zu %zu`, `#ranks %zu %zu`)", i, k, k, i);
    }
    if (strcmp(function, "kendall") == 0) {
        return rewrite_text(x,
                            "kendall(`#ranks %zu %zu` * 67108864 + case when `#ranks %zu %zu` >= 67108864 then "
                            "cast('too many different values for kendall' as int64) else `#ranks %zu %zu` end)",
                            i, k, k, i, k, i);
    }
    return rewrite_text(x, "%s(%s, %s)", function, rewrite_name(x, columns[i]), rewrite_name(x, columns[k]));
}

/* One row has all pairs; as many rows as columns take theirs from it. */
static struct gr_node *
make_matrix(struct rewrite *x, const char *function)
{
    bool spearman = strcmp(function, "spearman") == 0, kendall = strcmp(function, "kendall") == 0;
    struct gr_node *input = rewrite_input(x, 0);
    char *const *columns;
    size_t count = rewrite_param_names(x, "columns", &columns);
    const char *name = "case";
    struct gr_node *numbers, *rows;

    if (count == 0 || count > MATRIX_MAX) {
        return rewrite_fail(x, "parameter 'columns' needs 1 to %d names", MATRIX_MAX);
    }
    numbers = rewrite_numbered(x, count);
    if (spearman || kendall) {
        input = add_ranks(x, spearman ? "rank" : "dense_rank", columns, count);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i; k < count; k++) {
            rewrite_entry(x, rewrite_text(x, "#%zu %zu", i, k), pair_text(x, function, columns, i, k));
        }
    }
    rows = rewrite_part(x, "pairs", GR_TILE_aggregate, input, NULL, rewrite_map(x, "aggregate"), NULL);
    rows = rewrite_part(x, "rows with pairs", GR_TILE_join, numbers, rows, rewrite_string(x, "how", "cross"), NULL);
    for (size_t i = 0; i < count; i++) {
        name = rewrite_text(x, "%s when `#row` = %zu then %s", name, i, rewrite_quote(x, columns[i]));
    }
    rewrite_entry(x, rewrite_param_text(x, "name"), rewrite_text(x, "%s else null end", name));
    for (size_t k = 0; k < count; k++) {
        const char *text = "case";

        for (size_t i = 0; i < count; i++) {
            text = rewrite_text(x, "%s when `#row` = %zu then `#%zu %zu`", text, i, i < k ? i : k, i < k ? k : i);
        }
        rewrite_entry(x, columns[k], rewrite_text(x, "%s else null end", text));
    }
    return rewrite_add(x, GR_TILE_project, rows, NULL, rewrite_map(x, "columns"), NULL);
}

static struct gr_node *
rewrite_corr(struct rewrite *x)
{
    return make_matrix(x, rewrite_param_is(x, "method", "pearson") ? "corr" : rewrite_param_text(x, "method"));
}

const struct gr_operator gr_op_corr = {.traits = GR_OP_KNOWS_NO_TYPES, .rewrite = rewrite_corr};

REWRITE_WITH(cov, GR_OP_KNOWS_NO_TYPES, make_matrix(x, "cov"))
