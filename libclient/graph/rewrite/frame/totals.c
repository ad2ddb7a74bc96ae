/* Rows chosen, and all of them in one: nlargest, nsmallest, tail, aggregate, quantile, count_rows. */
#include "base/error.h"
#include "graph/dtype_class.h"
#include "graph/rewrite/private.h"

static struct gr_node *
sort_some(struct rewrite *x, bool descending)
{
    struct gr_node *sort;

    rewrite_hand_on(x, "columns", "by");
    sort =
        rewrite_add(x, GR_TILE_sort, rewrite_input(x, 0), NULL, rewrite_bools(x, "descending", &descending, 1), NULL);
    sort->limit = rewrite_param_int(x, "rows");
    return sort;
}

REWRITE_AS(nlargest, sort_some(x, true))
REWRITE_AS(nsmallest, sort_some(x, false))

static struct gr_node *
rewrite_tail(struct rewrite *x)
{
    int64_t rows = rewrite_param_int(x, "rows");

    return rewrite_add(x, GR_TILE_slice, rewrite_input(x, 0), NULL,
                       rows > 0 ? rewrite_int(x, "start", -rows) : rewrite_int(x, "stop", 0), NULL);
}

const struct gr_operator gr_op_tail = {.rewrite = rewrite_tail};

/* ---- one row ---- */

static struct gr_node *
rewrite_aggregate(struct rewrite *x)
{
    rewrite_set(x, rewrite_strings(x, "keys", NULL, 0));
    rewrite_hand_on(x, "aggregate", "aggregate");
    return rewrite_unary(x, GR_TILE_groupby, rewrite_input(x, 0));
}

const struct gr_operator gr_op_aggregate = {.rewrite = rewrite_aggregate};

/* A groupby of all rows, with the entries so far. */
static struct gr_node *
group_all(struct rewrite *x)
{
    return rewrite_add(x, GR_TILE_groupby, rewrite_input(x, 0), NULL, rewrite_map(x, "aggregate"),
                       rewrite_strings(x, "keys", NULL, 0));
}

static struct gr_node *
rewrite_quantile(struct rewrite *x)
{
    char *const *columns;
    const struct gr_schema *schema = rewrite_schema(x);
    size_t count = rewrite_param_names(x, "columns", &columns);
    bool is_named = rewrite_param(x, "columns") != NULL;

    for (size_t i = 0; i < (is_named ? count : schema->count); i++) {
        const char *name = is_named ? columns[i] : schema->fields[i].name;

        if (is_named || gr_dtype_is_number(schema->fields[i].dtype)) {
            rewrite_entry(x, name,
                          rewrite_text(x, "quantile(%s, %.17g)", rewrite_name(x, name), rewrite_param_number(x, "q")));
        }
    }
    if (x->map.count == 0 && x->err == GRANARY_OK) {
        x->err = gr_fail(GRANARY_ETYPE, "no column has numbers");
    }
    return group_all(x);
}

const struct gr_operator gr_op_quantile = {.rewrite = rewrite_quantile};

static struct gr_node *
rewrite_count_rows(struct rewrite *x)
{
    rewrite_entry(x, rewrite_param_text(x, "name"), "size");
    return group_all(x);
}

const struct gr_operator gr_op_count_rows = {.rewrite = rewrite_count_rows};
