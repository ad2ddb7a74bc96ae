/* Missing values left out, or filled: dropna, fillna. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/rewrite/private.h"
#include "graph/rewrite/tensor/fit.h"
#include "graph/tensor/types.h"

static struct gr_node *
rewrite_dropna(struct rewrite *x)
{
    const struct gr_schema *schema = rewrite_schema(x);
    bool counts = rewrite_param(x, "thresh") != NULL && rewrite_param_int(x, "thresh") >= 0;
    const char *between = counts ? " + " : rewrite_param_is(x, "how", "all") ? " or " : " and ";
    const char *where = "";

    for (size_t i = 0; i < schema->count; i++) {
        if (rewrite_is_listed(x, "subset", schema->fields[i].name)) {
            where = rewrite_text(x, counts ? "%s%scase when %s then 0 else 1 end" : "%s%snot %s", where,
                                 where[0] == '\0' ? "" : between, rewrite_missing(x, &schema->fields[i]));
        }
    }
    if (counts) {
        where = rewrite_text(x, "%s >= %" PRId64, where, rewrite_param_int(x, "thresh"));
    }
    return rewrite_add(x, GR_TILE_filter, rewrite_input(x, 0), NULL, rewrite_string(x, "where", where), NULL);
}

const struct gr_operator gr_op_dropna = {.rewrite = rewrite_dropna};

static struct gr_node *
fill_by_window(struct rewrite *x, const char *method)
{
    const struct gr_schema *schema = rewrite_schema(x);
    const char *limit =
        rewrite_param(x, "limit") == NULL ? "" : rewrite_text(x, ", %" PRId64, rewrite_param_int(x, "limit"));

    for (size_t i = 0; i < schema->count; i++) {
        const char *name = schema->fields[i].name;

        if (rewrite_is_listed(x, "columns", name)) {
            rewrite_entry(x, name, rewrite_text(x, "%s(%s%s)", method, rewrite_name(x, name), limit));
        }
    }
    return rewrite_columns(x, GR_TILE_window);
}

static const char *
filled_text(struct rewrite *x, const struct gr_field *field, const char *value)
{
    const char *name = rewrite_name(x, field->name);

    return gr_dtype_is_float(field->dtype)
               ? rewrite_text(x, "case when %s then (%s) else %s end", rewrite_missing(x, field), value, name)
               : rewrite_text(x, "coalesce(%s, %s)", name, value);
}

static struct gr_node *
rewrite_fillna(struct rewrite *x)
{
    const struct gr_schema *schema = rewrite_schema(x);
    const Granary__Attr *values = rewrite_param(x, "values");
    const char *value = rewrite_param_text(x, "value");
    const char *method = rewrite_param_text(x, "method");
    struct misfit misfit = {.why = ""};

    if (method != NULL) {
        return fill_by_window(x, method);
    }
    for (size_t i = 0; i < schema->count; i++) {
        const struct gr_field *field = &schema->fields[i];
        const char *with = value != NULL && rewrite_is_listed(x, "columns", field->name) ? value : NULL;
        const char *text;

        for (size_t k = 0; values != NULL && k < values->n_keys; k++) {
            with = strcmp(values->keys[k], field->name) == 0 ? values->strings[k] : with;
        }
        text = with == NULL ? NULL : filled_text(x, field, with);
        /* A number does not fill strings: pandas would make a column of objects. */
        if (text != NULL && (value == NULL || rewrite_param(x, "columns") != NULL || fits(x, text, field, &misfit))) {
            rewrite_entry(x, field->name, text);
        }
    }
    return x->map.count == 0 ? fail_misfit(x, &misfit) : rewrite_columns(x, GR_TILE_assign);
}

static granary_err
check_fillna(const Granary__Node *node, enum gr_tile_op op)
{
    const Granary__Attr *limit = gr_attr_find(node->attrs, node->n_attrs, "limit");
    bool value = gr_attr_find(node->attrs, node->n_attrs, "value") != NULL ||
                 gr_attr_find(node->attrs, node->n_attrs, "values") != NULL;
    bool method = gr_attr_find(node->attrs, node->n_attrs, "method") != NULL;

    (void)op;
    if (value == method) {
        return gr_fail(GRANARY_EINVAL, "it needs 'value' or 'values', or else 'method'");
    }
    return limit != NULL && (!method || limit->ints[0] < 0)
               ? gr_fail(GRANARY_EINVAL, "parameter 'limit' belongs to 'method', and cannot be negative")
               : GRANARY_OK;
}

const struct gr_operator gr_op_fillna = {.check = check_fillna, .rewrite = rewrite_fillna};
