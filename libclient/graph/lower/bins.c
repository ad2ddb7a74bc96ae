/* Bins and categories: cut, get_dummies. */
#include <math.h>
#include <stdlib.h>

#include "graph/lower/private.h"

static granary_err
lower_cut(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    const char *column = lower_string(source, "column", "");
    const Granary__Attr *bins = lower_param(source, "bins");
    const Granary__Attr *labels = lower_param(source, "labels");
    bool right = gr_attr_bool(source->attrs, source->count, "right", true);
    bool lowest = gr_attr_bool(source->attrs, source->count, "include_lowest", false);
    struct gr_buf text = {0};
    struct entries entries = {0};

    gr_buf_addf(&text, "case");
    for (size_t b = 0; b + 1 < bins->n_strings; b++) {
        bool closed = right ? b == 0 && lowest : true;
        struct gr_buf label = {0};
        char *made;

        gr_buf_addf(&text, " when ");
        lower_add_name(&text, column);
        gr_buf_addf(&text, " %s %s and ", closed ? ">=" : ">", bins->strings[b]);
        lower_add_name(&text, column);
        gr_buf_addf(&text, " %s %s then ", right ? "<=" : "<", bins->strings[b + 1]);
        if (labels == NULL) {
            gr_buf_addf(&label, "%s%s, %s%s", right ? "(" : "[", bins->strings[b], bins->strings[b + 1],
                        right ? "]" : ")");
        } else {
            gr_buf_addf(&label, "%s", labels->strings[b]);
        }
        made = lower_take(&label);
        if (made == NULL) {
            entries.failed = true;
        } else {
            lower_add_quoted(&text, made);
        }
        free(made);
    }
    gr_buf_addf(&text, " else null end");
    entries_add(&entries, lower_string(source, "name", column), lower_take(&text));
    return entries_finish(&entries, GRANARY_OK, "columns", GR_TILE_assign, lowered);
}

static granary_err
check_cut(const Granary__Node *node, enum gr_tile_op op)
{
    const Granary__Attr *bins = gr_attr_find(node->attrs, node->n_attrs, "bins");
    const Granary__Attr *labels = gr_attr_find(node->attrs, node->n_attrs, "labels");
    double before = -INFINITY;

    (void)op;
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

const struct gr_operator gr_op_cut = {.check = check_cut, .lower = lower_cut};

static granary_err
lower_get_dummies(const struct gr_lowering *source, struct gr_lowered *lowered)
{
    const char *column = lower_string(source, "column", "");
    const Granary__Attr *categories = lower_param(source, "categories");
    const char *prefix = lower_string(source, "prefix", column);
    int at = gr_schema_find(source->input, column);
    struct entries entries = {0};

    for (size_t i = 0; i < source->input->count; i++) {
        struct gr_buf text = {0};

        if ((int)i != at) {
            lower_add_name(&text, source->input->fields[i].name);
            entries_add(&entries, source->input->fields[i].name, lower_take(&text));
        }
    }
    for (size_t c = 0; c < categories->n_strings; c++) {
        struct gr_buf text = {0};
        struct gr_buf name = {0};
        char *made;

        gr_buf_addf(&text, "coalesce(");
        lower_add_name(&text, column);
        gr_buf_addf(&text, " = ");
        if (source->input->fields[at].dtype == GRANARY_STRING) {
            lower_add_quoted(&text, categories->strings[c]);
        } else {
            gr_buf_addf(&text, "%s", categories->strings[c]);
        }
        gr_buf_addf(&text, ", false)");
        gr_buf_addf(&name, "%s%s%s", prefix, prefix[0] != '\0' ? "_" : "", categories->strings[c]);
        made = lower_take(&name);
        if (made == NULL) {
            entries.failed = true;
            gr_buf_free(&text);
        } else {
            entries_add(&entries, made, lower_take(&text));
        }
        free(made);
    }
    return entries_finish(&entries, GRANARY_OK, "columns", GR_TILE_project, lowered);
}

const struct gr_operator gr_op_get_dummies = {.lower = lower_get_dummies};
