/* Columns of concatenated frames: which names stay, and which dtype each gets from those that meet. */
#include "graph/operators/concat.h"

#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"

granary_err
gr_concat_parse(Granary__Attr *const *attrs, size_t count, struct gr_concat *ret_concat)
{
    const struct gr_params_concat *params = GR_PARAMS(concat, attrs, count);

    if (params->axis == 1 && gr_attr_find(attrs, count, "join") != NULL) {
        return gr_fail(GRANARY_EINVAL, "parameter 'join' is of no use with axis 1");
    }
    *ret_concat = (struct gr_concat){.axis = params->axis == 0 ? GR_CONCAT_ROWS : GR_CONCAT_COLUMNS,
                                     .common = strcmp(params->join, "inner") == 0,
                                     .convert = params->convert};
    return GRANARY_OK;
}

/* Strings, bools and durations are not converted, whatever expressions would make of them. */
static bool
may_meet(granary_dtype a, granary_dtype b)
{
    const granary_dtype kinds[2] = {gr_dtype_kind(a), gr_dtype_kind(b)};

    for (int i = 0; i < 2; i++) {
        if (gr_dtype_is_text(kinds[i]) || kinds[i] == GRANARY_BOOL || kinds[i] == GRANARY_DURATION) {
            return false;
        }
    }
    return true;
}

/* The dtype that holds both: what expressions make of them. */
static granary_err
meet_alike(granary_dtype a, granary_dtype b, granary_dtype *ret_dtype)
{
    struct gr_schema both = {0};
    struct gr_expr *expr = NULL;
    granary_err err = gr_schema_add(&both, "a", a);

    if (err == GRANARY_OK) {
        err = gr_schema_add(&both, "b", b);
    }
    if (err == GRANARY_OK) {
        err = gr_expr_parse("coalesce(a, b)", &expr);
    }
    if (err == GRANARY_OK) {
        err = may_meet(a, b) ? gr_expr_check(expr, &both) : GRANARY_ETYPE;
    }
    if (err == GRANARY_OK) {
        *ret_dtype = expr->dtype;
    }
    gr_expr_destroy(expr);
    gr_schema_free(&both);
    return err;
}

/* Values of different kinds: anything beside a string is one, a bool beside a number is one, and so are items of lists. */
static granary_err
meet(granary_dtype a, granary_dtype b, bool convert, granary_dtype *ret_dtype)
{
    granary_err err = GRANARY_OK;

    if (a == b || b == GRANARY_NULLTYPE) {
        *ret_dtype = a;
    } else if (a == GRANARY_NULLTYPE) {
        *ret_dtype = b;
    } else if (convert && gr_dtype_is_list(a) && gr_dtype_is_list(b)) {
        err = meet(GRANARY_LIST_ITEM(a), GRANARY_LIST_ITEM(b), convert, ret_dtype);
        *ret_dtype = err == GRANARY_OK ? GRANARY_LIST(*ret_dtype) : a;
    } else if (gr_dtype_is_list(a) || gr_dtype_is_list(b) || a == GRANARY_BINARY || b == GRANARY_BINARY) {
        err = GRANARY_ETYPE;
    } else if (convert && (a == GRANARY_STRING || b == GRANARY_STRING)) {
        *ret_dtype = GRANARY_STRING;
    } else if (convert && a == GRANARY_BOOL && gr_dtype_is_number(b)) {
        *ret_dtype = b;
    } else if (convert && b == GRANARY_BOOL && gr_dtype_is_number(a)) {
        *ret_dtype = a;
    } else {
        err = meet_alike(a, b, ret_dtype);
    }
    return err;
}

/* An input's column beside that of the inputs before. */
static granary_err
meet_field(struct gr_field *field, granary_dtype dtype, bool convert)
{
    const granary_dtype before = field->dtype;
    granary_err err = meet(before, dtype, convert, &field->dtype);

    if (err != GRANARY_OK && err != GRANARY_ENOMEM) {
        err = gr_fail(GRANARY_ETYPE, "column '%.100s' is %s in one input and %s in another: cast one of them",
                      field->name, granary_dtype_name(before), granary_dtype_name(dtype));
    }
    return err;
}

static granary_err
add_input(const struct gr_concat *concat, const struct gr_schema *input, struct gr_schema *schema)
{
    granary_err err = GRANARY_OK;

    for (size_t c = 0; c < input->count && err == GRANARY_OK; c++) {
        const struct gr_field *field = &input->fields[c];
        int at = gr_schema_find(schema, field->name);

        if (at < 0) {
            err = gr_schema_add(schema, field->name, field->dtype);
        } else if (concat->axis == GR_CONCAT_COLUMNS) {
            err = gr_fail(GRANARY_EINVAL, "two inputs have a column '%.100s': rename one of them", field->name);
        } else {
            err = meet_field(&schema->fields[at], field->dtype, concat->convert);
        }
    }
    return err;
}

static bool
all_have(const struct gr_schema *const *inputs, size_t count, const char *name)
{
    size_t i = 0;

    while (i < count && gr_schema_find(inputs[i], name) >= 0) {
        i++;
    }
    return i == count;
}

granary_err
gr_concat_schema(const struct gr_concat *concat, const struct gr_schema *const *inputs, size_t count,
                 struct gr_schema *ret_schema)
{
    struct gr_schema all = {0};
    struct gr_schema schema = {0};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = add_input(concat, inputs[i], &all);
    }
    for (size_t c = 0; c < all.count && err == GRANARY_OK; c++) {
        if (!concat->common || all_have(inputs, count, all.fields[c].name)) {
            err = gr_schema_add(&schema, all.fields[c].name, all.fields[c].dtype);
        }
    }
    if (err == GRANARY_OK && schema.count == 0) {
        err = gr_fail(GRANARY_EINVAL, "the inputs have no column in common");
    }
    gr_schema_free(&all);
    if (err != GRANARY_OK) {
        gr_schema_free(&schema);
        return err;
    }
    *ret_schema = schema;
    return GRANARY_OK;
}
