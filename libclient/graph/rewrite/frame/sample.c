/*
 * Rows drawn by weight, and of each group (sample).
 *
 * Each row gets the number -ln(u) / weight, where u is drawn for its position; those with the least numbers are drawn.
 * That is the same as drawing one row after the other by the weights of those that are left (Efraimidis and Spirakis,
 * "Weighted random sampling with a reservoir", 2006).
 */
#include <inttypes.h>

#include "base/error.h"
#include "graph/operator.h"
#include "graph/rewrite/private.h"

/* The row's number; null where it is never drawn. */
static const char *
order_text(struct rewrite *x)
{
    const char *weights = rewrite_param_text(x, "weights");
    const char *drawn =
        rewrite_text(x, "-ln((bitand(hash(`#position`, %" PRId64 "), 9007199254740991) + 0.5) / 9007199254740992.0)",
                     rewrite_param_int(x, "seed"));
    const char *weight;

    if (weights == NULL) {
        return drawn;
    }
    weight = rewrite_text(x, "cast(%s as float64)", rewrite_name(x, weights));
    return rewrite_text(x,
                        "case when %s is null or isnan(%s) or %s = 0 then null when %s < 0 or isinf(%s) then "
                        "cast(error('a weight is negative or infinite') as float64) else %s / %s end",
                        weight, weight, weight, weight, weight, drawn, weight);
}

/* How many rows are drawn of as many as a column says: whole halves go to the even number. */
static const char *
wanted_text(struct rewrite *x, const char *total)
{
    const Granary__Attr *fraction = rewrite_param(x, "fraction");
    const char *exact;

    if (fraction == NULL) {
        return rewrite_text(x, "%" PRId64, rewrite_param_int(x, "rows"));
    }
    exact = rewrite_text(x, "%.17g * %s", rewrite_param_number(x, "fraction"), total);
    return rewrite_text(x, "case when floor(%s) + 0.5 = %s then 2 * round(%s / 2) else round(%s) end", exact, exact,
                        exact, exact);
}

/* A condition that is true, and an error where there are not as many rows as are drawn. */
static const char *
enough_text(struct rewrite *x)
{
    return rewrite_text(x,
                        "case when `#able` < (%s) then cast(error('fewer rows than are to be drawn: ask for fewer') as "
                        "bool) else true end",
                        wanted_text(x, "`#size`"));
}

/* In each group the rows are numbered in the order of their numbers. */
static struct gr_node *
sample_groups(struct rewrite *x, struct gr_node *rows)
{
    static const char *const own[] = {"#position", "#order", "#place", "#size", "#able"};
    static const char *const order = "#order";
    char *const *keys;
    size_t key_count = rewrite_param_names(x, "keys", &keys);
    const char *where =
        rewrite_text(x, "%s and `#place` < (%s) and `#order` is not null", enough_text(x), wanted_text(x, "`#size`"));
    const char *by[65];

    if (key_count > 64) {
        return rewrite_fail(x, "parameter 'keys' has more than 64 columns");
    }
    for (size_t k = 0; k < key_count; k++) {
        by[k] = keys[k];
        where = rewrite_text(x, "%s is not null and (%s)", rewrite_name(x, keys[k]), where);
    }
    by[key_count] = order;
    rewrite_entry(x, own[2], "cumcount()");
    rewrite_entry(x, own[3], "size()");
    rewrite_entry(x, own[4], "count(`#order`)");
    rewrite_set(x, rewrite_map(x, "columns"));
    rewrite_hand_on(x, "keys", "partition");
    rows = rewrite_part(x, "places", GR_TILE_window, rows, NULL, rewrite_strings(x, "by", &order, 1), NULL);
    rows = rewrite_part(x, "drawn", GR_TILE_filter, rows, NULL, rewrite_string(x, "where", where), NULL);
    rows = rewrite_part(x, "in order", GR_TILE_sort, rows, NULL, rewrite_strings(x, "by", by, key_count + 1), NULL);
    return rewrite_add(x, GR_TILE_drop, rows, NULL, rewrite_strings(x, "columns", own, 5), NULL);
}

/* All rows, sorted by their numbers, as many as are drawn. The counts are looked at even when there is no row. */
static struct gr_node *
sample_rows(struct rewrite *x, struct gr_node *rows)
{
    static const char *const own[] = {"#position", "#order", "#size", "#able", "#place"};
    static const char *const order = "#order";
    bool fixed = rewrite_param(x, "rows") != NULL;
    struct gr_node *counts;

    rewrite_entry(x, own[2], "size");
    rewrite_entry(x, own[3], "count(`#order`)");
    counts = rewrite_part(x, "counts", GR_TILE_aggregate, rows, NULL, rewrite_map(x, "aggregate"), NULL);
    counts = rewrite_part(x, "enough", GR_TILE_filter, counts, NULL, rewrite_string(x, "where", enough_text(x)), NULL);
    rows = rewrite_part(x, "in order", GR_TILE_sort, rows, NULL, rewrite_strings(x, "by", &order, 1), NULL);
    rows = fixed ? rewrite_part(x, "first ones", GR_TILE_head, rows, NULL,
                                rewrite_int(x, "rows", rewrite_param_int(x, "rows")), NULL)
                 : rewrite_part(x, "places", GR_TILE_reset_index, rows, NULL, rewrite_string(x, "name", own[4]), NULL);
    rows = rewrite_part(x, "with counts", GR_TILE_join, rows, counts, rewrite_string(x, "how", "cross"), NULL);
    if (!fixed) {
        const char *where = rewrite_text(x, "`#place` < (%s)", wanted_text(x, "`#size`"));

        rows = rewrite_part(x, "drawn", GR_TILE_filter, rows, NULL, rewrite_string(x, "where", where), NULL);
    }
    return rewrite_add(x, GR_TILE_drop, rows, NULL, rewrite_strings(x, "columns", own, fixed ? 4 : 5), NULL);
}

struct gr_node *
rewrite_sample(struct rewrite *x)
{
    bool grouped = rewrite_param(x, "keys") != NULL;
    struct gr_node *rows;

    if (!grouped && rewrite_param(x, "weights") == NULL) {
        return x->node;
    }
    if (rewrite_param_bool(x, "replace")) {
        return rewrite_fail(x, "parameter '%s' does not go with 'replace'", grouped ? "keys" : "weights");
    }
    rows = rewrite_part(x, "positions", GR_TILE_reset_index, rewrite_input(x, 0), NULL,
                        rewrite_string(x, "name", "#position"), NULL);
    rewrite_entry(x, "#order", order_text(x));
    rows = rewrite_part(x, "numbers", GR_TILE_assign, rows, NULL, rewrite_map(x, "columns"), NULL);
    return grouped ? sample_groups(x, rows) : sample_rows(x, rows);
}
