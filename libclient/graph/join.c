#include "graph/join.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"

granary_err
gr_join_parse(Granary__Attr *const *attrs, size_t count, struct gr_join *ret_join)
{
    const Granary__Attr *on = gr_attr_find(attrs, count, "on");
    const Granary__Attr *left_on = gr_attr_find(attrs, count, "left_on");
    const Granary__Attr *right_on = gr_attr_find(attrs, count, "right_on");
    const Granary__Attr *suffixes = gr_attr_find(attrs, count, "suffixes");
    const char *how = gr_attr_string(attrs, count, "how", "inner");

    if (on != NULL ? left_on != NULL || right_on != NULL : left_on == NULL || right_on == NULL) {
        return gr_fail(GRANARY_EINVAL, "the key columns are missing: either 'on', or both 'left_on' and 'right_on'");
    }
    if (on != NULL) {
        left_on = on;
        right_on = on;
    }
    if (left_on->n_strings != right_on->n_strings) {
        return gr_fail(GRANARY_EINVAL, "'left_on' has %zu columns, but 'right_on' %zu", left_on->n_strings,
                       right_on->n_strings);
    }
    if (left_on->n_strings == 0) {
        return gr_fail(GRANARY_EINVAL, "no key columns were given");
    }
    if (strcmp(how, "inner") != 0 && strcmp(how, "left") != 0) {
        return gr_fail(GRANARY_EINVAL, "parameter 'how' is '%s'; it can be 'inner' or 'left'", how);
    }
    if (suffixes != NULL && suffixes->n_strings != 2) {
        return gr_fail(GRANARY_EINVAL, "parameter 'suffixes' needs two strings, one for each side, not %zu",
                       suffixes->n_strings);
    }
    *ret_join = (struct gr_join){
        .key_count = left_on->n_strings,
        .left_on = left_on->strings,
        .right_on = right_on->strings,
        .left = strcmp(how, "left") == 0,
        .left_suffix = suffixes == NULL ? "_x" : suffixes->strings[0],
        .right_suffix = suffixes == NULL ? "_y" : suffixes->strings[1],
    };
    return GRANARY_OK;
}

bool
gr_join_keeps(const struct gr_join *join, const char *right_column)
{
    for (size_t i = 0; i < join->key_count; i++) {
        if (strcmp(join->right_on[i], right_column) == 0 && strcmp(join->left_on[i], right_column) == 0) {
            return false;
        }
    }
    return true;
}

static granary_err
check_keys(const struct gr_join *join, const struct gr_schema *left, const struct gr_schema *right)
{
    for (size_t i = 0; i < join->key_count; i++) {
        int l = gr_schema_find(left, join->left_on[i]);
        int r = gr_schema_find(right, join->right_on[i]);
        granary_dtype left_dtype;
        granary_dtype right_dtype;

        if (l < 0) {
            return gr_fail_in(gr_schema_no_column(left, join->left_on[i]), "left side");
        }
        if (r < 0) {
            return gr_fail_in(gr_schema_no_column(right, join->right_on[i]), "right side");
        }
        left_dtype = left->fields[l].dtype;
        right_dtype = right->fields[r].dtype;
        if (left_dtype != right_dtype && left_dtype != GRANARY_NULLTYPE && right_dtype != GRANARY_NULLTYPE) {
            return gr_fail(GRANARY_ETYPE, "key '%s' is %s on the left side, but '%s' is %s on the right side",
                           join->left_on[i], granary_dtype_name(left_dtype), join->right_on[i],
                           granary_dtype_name(right_dtype));
        }
    }
    return GRANARY_OK;
}

static granary_err
add_column(struct gr_schema *result, const struct gr_field *field, const char *suffix)
{
    struct gr_buf name = {0};
    granary_err err;

    gr_buf_addf(&name, "%s%s", field->name, suffix);
    if (!gr_buf_ok(&name)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = gr_schema_find(result, name.bytes) < 0
              ? gr_schema_add(result, name.bytes, field->dtype)
              : gr_fail(GRANARY_EINVAL, "two columns of the result would be named '%s'; choose other suffixes",
                        name.bytes);
    gr_buf_free(&name);
    return err;
}

granary_err
gr_join_schema(const struct gr_join *join, const struct gr_schema *left, const struct gr_schema *right,
               struct gr_schema *ret_schema)
{
    struct gr_schema result = {0};
    granary_err err = check_keys(join, left, right);

    for (size_t i = 0; i < left->count && err == GRANARY_OK; i++) {
        const char *name = left->fields[i].name;
        bool twice = gr_schema_find(right, name) >= 0 && gr_join_keeps(join, name);

        err = add_column(&result, &left->fields[i], twice ? join->left_suffix : "");
    }
    for (size_t i = 0; i < right->count && err == GRANARY_OK; i++) {
        const char *name = right->fields[i].name;

        if (gr_join_keeps(join, name)) {
            err = add_column(&result, &right->fields[i], gr_schema_find(left, name) >= 0 ? join->right_suffix : "");
        }
    }
    if (err != GRANARY_OK) {
        gr_schema_free(&result);
        return err;
    }
    *ret_schema = result;
    return GRANARY_OK;
}
