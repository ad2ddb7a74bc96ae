/* Missing values left out, or filled: dropna, fillna. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/lower/private.h"

static granary_err
lower_dropna(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    const Granary__Attr *subset = lower_param(source, "subset");
    int64_t thresh = gr_attr_int(source->attrs, source->count, "thresh", -1);
    bool all = strcmp(lower_string(source, "how", "any"), "all") == 0;
    struct gr_buf where = {0};
    size_t used = 0;
    char *text;
    granary_err err;

    for (size_t i = 0; i < source->input->count; i++) {
        const struct gr_field *field = &source->input->fields[i];

        if (!lower_is_listed(subset, field->name)) {
            continue;
        }
        if (thresh >= 0) {
            gr_buf_addf(&where, "%scase when ", used++ > 0 ? " + " : "");
            lower_add_missing(&where, field);
            gr_buf_addf(&where, " then 0 else 1 end");
        } else {
            gr_buf_addf(&where, "%snot ", used++ > 0 ? all ? " or " : " and " : "");
            lower_add_missing(&where, field);
        }
    }
    if (thresh >= 0) {
        gr_buf_addf(&where, " >= %" PRId64, thresh);
    }
    text = lower_take(&where);
    lowered->op = GR_TILE_filter;
    err = text == NULL ? lower_no_memory() : lowered_add(lowered, gr_attr_new_string("where", text));
    free(text);
    return err;
}

const struct gr_operator gr_op_dropna = {.lower = lower_dropna};

static granary_err
fill_by_window(const struct gr_lowering *source, const char *method, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = lower_param(source, "columns");
    int64_t limit = gr_attr_int(source->attrs, source->count, "limit", -1);
    struct entries entries = {0};

    for (size_t i = 0; i < source->input->count; i++) {
        const char *name = source->input->fields[i].name;
        struct gr_buf text = {0};

        if (!lower_is_listed(columns, name)) {
            continue;
        }
        gr_buf_addf(&text, "%s(", method);
        lower_add_name(&text, name);
        if (limit >= 0) {
            gr_buf_addf(&text, ", %" PRId64, limit);
        }
        gr_buf_addf(&text, ")");
        entries_add(&entries, name, lower_take(&text));
    }
    return entries_finish(&entries, GRANARY_OK, "columns", GR_TILE_window, lowered);
}

static void
add_filled(struct gr_buf *text, const struct gr_field *field, const char *value)
{
    if (gr_dtype_is_float(field->dtype)) {
        gr_buf_addf(text, "case when ");
        lower_add_missing(text, field);
        gr_buf_addf(text, " then (%s) else ", value);
        lower_add_name(text, field->name);
        gr_buf_addf(text, " end");
    } else {
        gr_buf_addf(text, "coalesce(");
        lower_add_name(text, field->name);
        gr_buf_addf(text, ", %s)", value);
    }
}

static granary_err
lower_fillna(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = lower_param(source, "columns");
    const Granary__Attr *values = lower_param(source, "values");
    const char *value = lower_string(source, "value", NULL);
    const char *method = lower_string(source, "method", NULL);
    struct misfit misfit = {.why = ""};
    struct entries entries = {0};
    granary_err err = GRANARY_OK;

    if (method != NULL) {
        return fill_by_window(source, method, lowered);
    }
    for (size_t i = 0; i < source->input->count; i++) {
        const struct gr_field *field = &source->input->fields[i];
        struct gr_buf text = {0};
        const char *with = value != NULL && lower_is_listed(columns, field->name) ? value : NULL;
        char *made;

        for (size_t k = 0; values != NULL && k < values->n_keys; k++) {
            with = strcmp(values->keys[k], field->name) == 0 ? values->strings[k] : with;
        }
        if (with == NULL) {
            continue;
        }
        add_filled(&text, field, with);
        made = lower_take(&text);
        if (made != NULL && value != NULL && columns == NULL && !lower_fits(made, source->input, field, &misfit)) {
            free(made); /* a number does not fill strings: pandas would make a column of objects */
            continue;
        }
        entries_add(&entries, field->name, made);
    }
    if (entries.count == 0 && !entries.failed) {
        err = lower_fail_misfit(&misfit);
    }
    return entries_finish(&entries, err, "columns", GR_TILE_assign, lowered);
}

static granary_err
check_fillna(const Granary__Node *node, enum gr_tile_op op)
{
    struct gr_lowering given = {.op = op, .attrs = node->attrs, .count = node->n_attrs};
    const struct gr_lowering *source = &given;
    bool value = lower_param(source, "value") != NULL || lower_param(source, "values") != NULL;
    bool method = lower_param(source, "method") != NULL;

    if (value == method) {
        return gr_fail(GRANARY_EINVAL, "it needs 'value' or 'values', or else 'method'");
    }
    if (lower_param(source, "limit") != NULL &&
        (!method || gr_attr_int(source->attrs, source->count, "limit", 0) < 0)) {
        return gr_fail(GRANARY_EINVAL, "parameter 'limit' belongs to 'method', and cannot be negative");
    }
    return GRANARY_OK;
}

const struct gr_operator gr_op_fillna = {.check = check_fillna, .lower = lower_fillna};
