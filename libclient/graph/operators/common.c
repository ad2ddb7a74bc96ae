/* What operators' checks, types, reads and origins have in common. */
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/expr.h"
#include "graph/operators/private.h"

static const struct gr_operator *const operators[GR_TILE_COUNT] = {
#define OP(name, yields, min_inputs, max_inputs, summary) [GR_TILE_##name] = &gr_op_##name,
#include "contract/ops/ops.def"
};

const struct gr_operator *
gr_operator(enum gr_tile_op op)
{
    return operators[op];
}

/* ---- parameters ---- */

granary_err
op_check_new_columns(const Granary__Attr *attr)
{
    if (attr->n_keys == 0) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' is empty: it needs one new column or more", attr->name);
    }
    for (size_t i = 0; i < attr->n_keys; i++) {
        if (attr->keys[i][0] == '\0') {
            return gr_fail(GRANARY_EINVAL, "parameter '%s' has an empty column name", attr->name);
        }
    }
    return GRANARY_OK;
}

granary_err
op_check_flags(const Granary__Node *node, size_t columns)
{
    static const char *const names[] = {"descending", "nulls"};

    for (size_t i = 0; i < 2; i++) {
        const Granary__Attr *attr = op_param(node, names[i]);
        size_t count = attr == NULL ? 1 : attr->n_ints + attr->n_strings;

        if (count != 1 && count != columns) {
            return gr_fail(GRANARY_EINVAL, "parameter '%s' has %zu values for %zu columns: give one, or one a column",
                           names[i], count, columns);
        }
    }
    return GRANARY_OK;
}

/* ---- types ---- */

granary_err
op_expression_dtype(const struct gr_node *node, const char *text, const struct gr_schema *schema,
                    granary_dtype *ret_dtype)
{
    struct gr_expr *expr = NULL;
    granary_err err = gr_trees_check(node->trees, text, schema, &expr);

    if (err == GRANARY_OK) {
        *ret_dtype = expr->dtype;
    }
    gr_expr_destroy(expr);
    return err;
}

granary_err
op_add_columns(const Granary__Attr *names, const struct gr_schema *input, struct gr_schema *schema)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < names->n_strings && err == GRANARY_OK; i++) {
        int at = gr_schema_find(input, names->strings[i]);

        err = at < 0 ? gr_fail_in(gr_schema_no_column(input, names->strings[i]), "parameter '%s'", names->name)
                     : gr_schema_add(schema, names->strings[i], input->fields[at].dtype);
    }
    return err;
}

granary_err
op_set_column(struct gr_schema *schema, const char *name, granary_dtype dtype)
{
    int at = gr_schema_find(schema, name);

    if (at < 0) {
        return gr_schema_add(schema, name, dtype);
    }
    schema->fields[at].dtype = dtype;
    return GRANARY_OK;
}

granary_err
op_refuse_lists(const struct gr_schema *schema, const Granary__Attr *names, const char *purpose)
{
    for (size_t c = 0; c < schema->count; c++) {
        const struct gr_field *field = &schema->fields[c];
        bool meant = names == NULL;

        for (size_t i = 0; names != NULL && i < names->n_strings; i++) {
            meant = meant || strcmp(names->strings[i], field->name) == 0;
        }
        if (meant && gr_dtype_is_list(field->dtype)) {
            return gr_fail(GRANARY_ETYPE,
                           "column '%.100s' is %s, and lists cannot be %s: explode it, make it text (list_join), or "
                           "leave it out",
                           field->name, granary_dtype_name(field->dtype), purpose);
        }
    }
    return GRANARY_OK;
}

granary_err
op_infer_same(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    (void)node;
    return gr_schema_copy(&inputs[0]->schema, &type->schema);
}

/* ---- which columns are read ---- */

void
gr_columns_mark(const struct gr_schema *schema, bool *flags, const char *name)
{
    int at = gr_schema_find(schema, name);

    if (at >= 0) {
        flags[at] = true;
    }
}

void
gr_columns_mark_names(const struct gr_schema *schema, bool *flags, char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gr_columns_mark(schema, flags, names[i]);
    }
}

granary_err
gr_columns_mark_expression(const struct gr_op_use *use, const struct gr_schema *schema, bool *flags, const char *text)
{
    const struct gr_expr *expr;
    granary_err err = gr_trees_find(use->trees, text, &expr);

    if (err == GRANARY_OK) {
        gr_expr_columns(expr, schema, flags);
    }
    return err;
}

granary_err
op_reads_same(const struct gr_op_use *use, bool *needed, bool *const reads[2])
{
    memcpy(reads[0], needed, use->own->count * sizeof *needed);
    return GRANARY_OK;
}

void
op_reads_by_name(const struct gr_op_use *use, const bool *needed, bool *reads)
{
    for (size_t c = 0; c < use->own->count; c++) {
        if (needed[c]) {
            gr_columns_mark(use->inputs[0], reads, use->own->fields[c].name);
        }
    }
}

void
op_reads_named(const struct gr_op_use *use, const char *name, bool *reads)
{
    const Granary__Attr *names = op_use_param(use, name);

    if (names != NULL) {
        gr_columns_mark_names(use->inputs[0], reads, names->strings, names->n_strings);
    } else {
        memset(reads, true, use->inputs[0]->count * sizeof *reads);
    }
}

/* ---- where a column comes from ---- */

bool
op_origin_same(const struct gr_op_use *use, const char *column, size_t *ret_input, const char **ret_name)
{
    int at = gr_schema_find(use->inputs[0], column);

    *ret_input = 0;
    *ret_name = at < 0 ? NULL : use->inputs[0]->fields[at].name;
    return at >= 0;
}

bool
op_origin_map(const struct gr_op_use *use, const char *column, size_t *ret_input, const char **ret_name)
{
    const Granary__Attr *columns = op_use_param(use, "columns");
    const char *text = NULL;
    const struct gr_expr *expr;

    for (size_t k = 0; columns != NULL && k < columns->n_keys; k++) {
        text = strcmp(columns->keys[k], column) == 0 ? columns->strings[k] : text; /* the last of its name counts */
    }
    if (text == NULL) {
        return op_origin_same(use, column, ret_input, ret_name);
    }
    return gr_trees_find(use->trees, text, &expr) == GRANARY_OK && expr->kind == GR_EXPR_COLUMN &&
           op_origin_same(use, expr->column, ret_input, ret_name);
}

const char *
gr_columns_source(const struct gr_op_use *use, const char *column)
{
    const char *name = NULL;
    size_t input;

    return op_origin_map(use, column, &input, &name) ? name : NULL;
}
