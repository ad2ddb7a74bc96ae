/* Bins, categories and codes for values: cut, qcut, get_dummies, factorize. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/dtype_class.h"
#include "graph/rewrite/private.h"

#define BINS_MAX 1000

/* ---- edges that are given ---- */

/* What a bin is called: its label, or its number. */
static const char *
bin_text(struct rewrite *x, char *const *labels, size_t label_count, int64_t bin)
{
    return label_count > 0 ? rewrite_quote(x, labels[bin]) : rewrite_text(x, "%" PRId64, bin);
}

/*
 * Bins of equal width between the smallest and the largest value, as NumPy's linspace has the edges. Every value lies in
 * one of them: pandas moves the edge at the open end outwards by a thousandth, which no value shows.
 */
static struct gr_node *
cut_evenly(struct rewrite *x)
{
    static const char *const own[] = {"#low", "#high", "#width"};
    const char *given = rewrite_param_text(x, "column");
    const char *name = rewrite_param_text(x, "name");
    const char *column = rewrite_name(x, given);
    const char *sign = rewrite_param_bool(x, "right") ? "<=" : "<";
    const char *text = rewrite_text(x, "case when %s is null or isnan(cast(%s as float64)) then null", column, column);
    int64_t count = rewrite_param_int(x, "count");
    char *const *labels;
    size_t label_count = rewrite_param_names(x, "labels", &labels);
    struct gr_node *rows;

    rewrite_entry(x, own[0], rewrite_text(x, "min(%s)", column));
    rewrite_entry(x, own[1], rewrite_text(x, "max(%s)", column));
    rows = rewrite_part(x, "ends", GR_TILE_aggregate, rewrite_input(x, 0), NULL, rewrite_map(x, "aggregate"), NULL);
    for (size_t i = 0; i < 2; i++) {
        rewrite_entry(x, own[i],
                      rewrite_text(x,
                                   "case when isinf(cast(`%s` as float64)) then cast(error('values to be cut have an "
                                   "infinity: give edges by bins') as float64) else cast(`%s` as float64) end",
                                   own[i], own[i]));
    }
    rows = rewrite_part(x, "finite ends", GR_TILE_project, rows, NULL, rewrite_map(x, "columns"), NULL);
    for (size_t i = 0; i < 2; i++) {
        rewrite_entry(x, own[i],
                      rewrite_text(x,
                                   "case when `#low` < `#high` then `%s` when `#low` = 0 then %s0.001 else `#low` %s "
                                   "0.001 * abs(`#low`) end",
                                   own[i], i == 0 ? "-" : "", i == 0 ? "-" : "+"));
    }
    rows = rewrite_part(x, "edges", GR_TILE_project, rows, NULL, rewrite_map(x, "columns"), NULL);
    rewrite_entry(x, own[2], rewrite_text(x, "(`#high` - `#low`) / %" PRId64, count));
    rows = rewrite_part(x, "width", GR_TILE_assign, rows, NULL, rewrite_map(x, "columns"), NULL);
    rows = rewrite_part(x, "rows with edges", GR_TILE_join, rewrite_input(x, 0), rows,
                        rewrite_string(x, "how", "cross"), NULL);
    for (int64_t i = 0; i + 1 < count; i++) {
        text = rewrite_text(x, "%s when cast(%s as float64) %s %" PRId64 " * `#width` + `#low` then %s", text, column,
                            sign, i + 1, bin_text(x, labels, label_count, i));
    }
    rewrite_entry(x, name == NULL ? given : name,
                  rewrite_text(x, "%s else %s end", text, bin_text(x, labels, label_count, count - 1)));
    rows = rewrite_part(x, "bins", GR_TILE_assign, rows, NULL, rewrite_map(x, "columns"), NULL);
    return rewrite_add(x, GR_TILE_drop, rows, NULL, rewrite_strings(x, "columns", own, 3), NULL);
}

static struct gr_node *
rewrite_cut(struct rewrite *x)
{
    const char *given = rewrite_param_text(x, "column");
    const char *column = rewrite_name(x, given);
    const char *name = rewrite_param_text(x, "name");
    bool right = rewrite_param_bool(x, "right");
    bool lowest = rewrite_param_bool(x, "include_lowest");
    const char *text;
    char *const *bins, *const *labels;
    size_t count = rewrite_param_names(x, "bins", &bins);
    bool is_labelled = rewrite_param_names(x, "labels", &labels) > 0;

    if (rewrite_param(x, "count") != NULL) {
        return cut_evenly(x);
    }
    text = rewrite_text(x, "case when %s %s %s then null", column, !right || lowest ? "<" : "<=", bins[0]);
    for (size_t b = 0; b + 1 < count; b++) {
        const char *label =
            is_labelled ? labels[b]
                        : rewrite_text(x, "%s%s, %s%s", right ? "(" : "[", bins[b], bins[b + 1], right ? "]" : ")");

        text = rewrite_text(x, "%s when %s %s %s then %s", text, column, right ? "<=" : "<", bins[b + 1],
                            rewrite_quote(x, label));
    }
    rewrite_entry(x, name == NULL ? given : name, rewrite_text(x, "%s else null end", text));
    return rewrite_columns(x, GR_TILE_assign);
}

static granary_err
check_cut(const Granary__Node *node, enum gr_tile_op op)
{
    const Granary__Attr *bins = gr_attr_find(node->attrs, node->n_attrs, "bins");
    const Granary__Attr *labels = gr_attr_find(node->attrs, node->n_attrs, "labels");
    const Granary__Attr *even = gr_attr_find(node->attrs, node->n_attrs, "count");
    double before = -INFINITY;

    (void)op;
    if ((bins == NULL) == (even == NULL)) {
        return gr_fail(GRANARY_EINVAL, "it needs 'bins' or 'count', and not both");
    }
    if (even != NULL) {
        return labels == NULL || labels->n_strings == (uint64_t)even->ints[0]
                   ? GRANARY_OK
                   : gr_fail(GRANARY_EINVAL, "parameter 'labels' has %zu entries for %lld bins", labels->n_strings,
                             (long long)even->ints[0]);
    }
    if (bins->n_strings < 2) {
        return gr_fail(GRANARY_EINVAL, "parameter 'bins' needs two edges or more");
    }
    if (labels != NULL && labels->n_strings + 1 != bins->n_strings) {
        return gr_fail(GRANARY_EINVAL, "parameter 'labels' has %zu entries for %zu bins", labels->n_strings,
                       bins->n_strings - 1);
    }
    for (size_t i = 0; i < bins->n_strings; i++) {
        char *end;
        double edge = strtod(bins->strings[i], &end);

        if (end == bins->strings[i] || *end != '\0' || !isfinite(edge) || (i > 0 && edge <= before)) {
            return gr_fail(GRANARY_EINVAL, "parameter 'bins': '%.40s' is no number above the one before it",
                           bins->strings[i]);
        }
        before = edge;
    }
    return GRANARY_OK;
}

const struct gr_operator gr_op_cut = {.check = check_cut, .rewrite = rewrite_cut};

/* ---- edges that are shares of the rows ---- */

/* The shares between which the bins are, as text, ascending; shares[bins] is the last one's end. Returns the bins. */
static size_t
read_shares(struct rewrite *x, const char **shares)
{
    int64_t q = rewrite_param(x, "q") == NULL ? 0 : rewrite_param_int(x, "q");
    char *const *given;
    size_t count = rewrite_param_names(x, "quantiles", &given);
    double before = -1;

    if ((count > 0) == (q > 0) || q > BINS_MAX || count == 1 || count > BINS_MAX) {
        (void)rewrite_fail(x, "it needs 'q', a number of bins up to %d, or else 'quantiles', two or more", BINS_MAX);
        return 0;
    }
    for (int64_t i = 0; count == 0 && i <= q; i++) {
        shares[i] = rewrite_text(x, "%.17g", (double)i / (double)q);
    }
    for (size_t i = 0; i < count; i++) {
        char *end;
        double share = strtod(given[i], &end);

        if (end == given[i] || *end != '\0' || !(share > before && share <= 1) || share < 0) {
            (void)rewrite_fail(x, "parameter 'quantiles': '%.40s' is no number up to 1 above the one before it",
                               given[i]);
            return 0;
        }
        shares[i] = given[i];
        before = share;
    }
    return count > 0 ? count - 1 : (size_t)q;
}

static struct gr_node *
rewrite_qcut(struct rewrite *x)
{
    const char *shares[BINS_MAX + 1];
    const char *edges[BINS_MAX + 1];
    const char *given = rewrite_param_text(x, "column");
    const char *name = rewrite_param_text(x, "name");
    const char *column = rewrite_name(x, given);
    char *const *labels;
    size_t label_count = rewrite_param_names(x, "labels", &labels);
    size_t bins = read_shares(x, shares);
    const char *text = rewrite_text(x, "case when %s < `#edge 0` then null", column);
    struct gr_node *rows;

    if (bins == 0 || (label_count > 0 && label_count != bins)) {
        return rewrite_fail(x, "parameter 'labels' has %zu entries for %zu bins", label_count, bins);
    }
    for (size_t i = 0; i <= bins; i++) {
        edges[i] = rewrite_text(x, "#edge %zu", i);
        rewrite_entry(x, edges[i], rewrite_text(x, "quantile(%s, %s)", column, shares[i]));
    }
    rows = rewrite_part(x, "edges", GR_TILE_aggregate, rewrite_input(x, 0), NULL, rewrite_map(x, "aggregate"), NULL);
    for (size_t i = 0; i < bins; i++) {
        text = rewrite_text(x, "%s when %s <= `%s` then %s", text, column, edges[i + 1],
                            label_count > 0 ? rewrite_quote(x, labels[i]) : rewrite_text(x, "%zu", i));
    }
    rows = rewrite_part(x, "rows with edges", GR_TILE_join, rewrite_input(x, 0), rows,
                        rewrite_string(x, "how", "cross"), NULL);
    rewrite_entry(x, name == NULL ? given : name, rewrite_text(x, "%s else null end", text));
    rows = rewrite_part(x, "bins", GR_TILE_assign, rows, NULL, rewrite_map(x, "columns"), NULL);
    return rewrite_add(x, GR_TILE_drop, rows, NULL, rewrite_strings(x, "columns", edges, bins + 1), NULL);
}

const struct gr_operator gr_op_qcut = {.traits = GR_OP_KNOWS_NO_TYPES, .rewrite = rewrite_qcut};

/* ---- categories ---- */

/* Numbers and bools are literals; what is written in another way than in an expression is compared as text. */
static const char *
is_of_category(struct rewrite *x, const struct gr_field *field, const char *category)
{
    enum gr_dtype_class class = gr_dtype_class(field->dtype);
    const char *column = rewrite_name(x, field->name);
    bool is_text = class == GR_CLASS_MOMENT || class == GR_CLASS_DURATION || class == GR_CLASS_LIST ||
                   strstr(category, "inf") != NULL;

    return class == GR_CLASS_TEXT ? rewrite_text(x, "coalesce(%s = %s, false)", column, rewrite_quote(x, category))
           : is_text ? rewrite_text(x, "coalesce(cast(%s as string) = %s, false)", column, rewrite_quote(x, category))
                     : rewrite_text(x, "coalesce(%s = %s, false)", column, category);
}

static struct gr_node *
rewrite_get_dummies(struct rewrite *x)
{
    const struct gr_schema *schema = rewrite_schema(x);
    const char *column = rewrite_param_text(x, "column");
    const char *prefix = rewrite_param_text(x, "prefix");
    int at = gr_schema_find(schema, column);
    char *const *categories;
    size_t count = rewrite_param_names(x, "categories", &categories);

    for (size_t i = 0; i < schema->count; i++) {
        if ((int)i != at) {
            rewrite_entry(x, schema->fields[i].name, rewrite_name(x, schema->fields[i].name));
        }
    }
    prefix = prefix == NULL ? column : prefix;
    for (size_t c = 0; c < count; c++) {
        rewrite_entry(x, rewrite_text(x, "%s%s%s", prefix, prefix[0] != '\0' ? "_" : "", categories[c]),
                      is_of_category(x, &schema->fields[at], categories[c]));
    }
    return rewrite_columns(x, GR_TILE_project);
}

const struct gr_operator gr_op_get_dummies = {.rewrite = rewrite_get_dummies};

/* ---- numbers for values ---- */

static struct gr_node *
rewrite_factorize(struct rewrite *x)
{
    const char *column = rewrite_param_text(x, "column");
    struct gr_node *rows = rewrite_part(x, "values", GR_TILE_select, rewrite_input(x, 0), NULL,
                                        rewrite_strings(x, "columns", &column, 1), NULL);

    rows = rewrite_part(x, "values that are there", GR_TILE_dropna, rows, NULL, NULL, NULL);
    rows = rewrite_part(x, "different values", GR_TILE_distinct, rows, NULL, NULL, NULL);
    if (rewrite_param_bool(x, "sort")) {
        rows = rewrite_part(x, "values in order", GR_TILE_sort, rows, NULL, rewrite_strings(x, "by", &column, 1), NULL);
    }
    rows = rewrite_part(x, "numbers", GR_TILE_reset_index, rows, NULL, rewrite_string(x, "name", "#code"), NULL);
    rows = rewrite_part(x, "rows with numbers", GR_TILE_join, rewrite_input(x, 0), rows,
                        rewrite_strings(x, "on", &column, 1), rewrite_string(x, "how", "left"));
    rewrite_entry(x, rewrite_param_text(x, "name"), "coalesce(`#code`, -1)");
    rows = rewrite_part(x, "codes", GR_TILE_assign, rows, NULL, rewrite_map(x, "columns"), NULL);
    return rewrite_add(x, GR_TILE_drop, rows, NULL, rewrite_string(x, "columns", "#code"), NULL);
}

const struct gr_operator gr_op_factorize = {.traits = GR_OP_KNOWS_NO_TYPES, .rewrite = rewrite_factorize};
