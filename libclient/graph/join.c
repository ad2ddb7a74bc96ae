/* Joins from parameters: keys, kinds and checks, and the columns of the result from those of both sides. */
#include "graph/join.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "data/frame.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"

static const char *const how_names[] = {"inner", "left", "right", "outer", "semi", "anti", "cross"};

const char *
gr_join_how_name(enum gr_join_how how)
{
    return how_names[how];
}

/* The position of a word that a RULE lets be only one of these. */
static size_t
word_position(const char *const *words, const char *word)
{
    size_t i = 0;

    while (strcmp(words[i], word) != 0) {
        i++;
    }
    return i;
}

static granary_err
parse_keys(const struct gr_params_join *params, struct gr_join *join)
{
    const Granary__Attr *on = params->on;
    const Granary__Attr *left_on = params->left_on;
    const Granary__Attr *right_on = params->right_on;

    if (join->how == GR_JOIN_CROSS) {
        return on == NULL && left_on == NULL && right_on == NULL
                   ? GRANARY_OK
                   : gr_fail(GRANARY_EINVAL, "a cross join has no key columns");
    }
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
    if (left_on->n_strings > GR_JOIN_KEYS_MAX) {
        return gr_fail(GRANARY_EINVAL, "%zu key columns are more than %d", left_on->n_strings, GR_JOIN_KEYS_MAX);
    }
    join->key_count = left_on->n_strings;
    join->left_on = left_on->strings;
    join->right_on = right_on->strings;
    return GRANARY_OK;
}

/* On which sides keys must be unique. */
static granary_err
parse_validate(const char *text, struct gr_join *join)
{
    static const char *const forms[] = {"m:m",          "1:m",         "m:1",         "1:1",
                                        "many_to_many", "one_to_many", "many_to_one", "one_to_one"};
    size_t sides = text == NULL ? 0 : word_position(forms, text) % 4;

    join->unique_left = (sides & 1) != 0;
    join->unique_right = (sides & 2) != 0;
    return sides != 0 && join->how == GR_JOIN_CROSS
               ? gr_fail(GRANARY_EINVAL, "parameter 'validate' is of no use in a cross join: it has no keys")
               : GRANARY_OK;
}

/* What only some kinds have. */
static granary_err
check_combination(const struct gr_join *join)
{
    bool of_pairs = join->how != GR_JOIN_SEMI && join->how != GR_JOIN_ANTI;

    if (join->indicator != NULL && !of_pairs) {
        return gr_fail(GRANARY_EINVAL, "parameter 'indicator' is of no use in a %s join", gr_join_how_name(join->how));
    }
    if (join->null_aware && join->how != GR_JOIN_ANTI) {
        return gr_fail(GRANARY_EINVAL, "parameter 'null_aware' is for anti joins, not for %s ones",
                       gr_join_how_name(join->how));
    }
    if (join->null_aware && (join->key_count != 1 || join->where != NULL)) {
        return gr_fail(GRANARY_EINVAL, "parameter 'null_aware' needs one key column and no 'where'");
    }
    return GRANARY_OK;
}

granary_err
gr_join_parse(Granary__Attr *const *attrs, size_t count, struct gr_join *ret_join)
{
    const struct gr_params_join *params = GR_PARAMS(join, attrs, count);
    const Granary__Attr *suffixes = params->suffixes;
    struct gr_join join = {.how = (enum gr_join_how)word_position(how_names, params->how),
                           .left_suffix = "_x",
                           .right_suffix = "_y",
                           .indicator = params->indicator,
                           .where = params->where,
                           .null_aware = params->null_aware,
                           .any_order = strcmp(params->order, "any") == 0};
    granary_err err = parse_keys(params, &join);

    if (err == GRANARY_OK && suffixes != NULL) {
        if (suffixes->n_strings != 2) {
            return gr_fail(GRANARY_EINVAL, "parameter 'suffixes' needs two strings, one for each side, not %zu",
                           suffixes->n_strings);
        }
        join.left_suffix = suffixes->strings[0];
        join.right_suffix = suffixes->strings[1];
    }
    if (err == GRANARY_OK) {
        err = parse_validate(params->validate, &join);
    }
    if (err == GRANARY_OK) {
        err = check_combination(&join);
    }
    if (err == GRANARY_OK) {
        *ret_join = join;
    }
    return err;
}

/* ---- keys ---- */

granary_err
gr_join_key_dtype(granary_dtype left, granary_dtype right, granary_dtype *ret_dtype)
{
    granary_dtype l = gr_dtype_kind(left);
    granary_dtype r = gr_dtype_kind(right);
    bool decimal = l == GRANARY_DECIMAL || r == GRANARY_DECIMAL;

    if (l == GRANARY_LIST || r == GRANARY_LIST) {
        return gr_fail(GRANARY_ETYPE, "%s and %s cannot be compared", granary_dtype_name(left),
                       granary_dtype_name(right));
    }
    if (l == GRANARY_NULLTYPE || r == GRANARY_NULLTYPE) {
        *ret_dtype = l == GRANARY_NULLTYPE ? right : left;
    } else if (l == GRANARY_UINT64 && r == GRANARY_UINT64) {
        *ret_dtype = GRANARY_UINT64;
    } else if (gr_dtype_is_float(l) && gr_dtype_is_float(r)) {
        *ret_dtype = GRANARY_FLOAT64;
    } else if ((gr_dtype_is_integer(l) || gr_dtype_is_float(l)) && (gr_dtype_is_integer(r) || gr_dtype_is_float(r))) {
        *ret_dtype = GRANARY_INT64;
    } else if (decimal && (gr_dtype_is_float(l) || gr_dtype_is_float(r))) {
        *ret_dtype = GRANARY_FLOAT64;
    } else if (decimal && (gr_dtype_is_integer(l) || l == GRANARY_DECIMAL) &&
               (gr_dtype_is_integer(r) || r == GRANARY_DECIMAL)) {
        int scale = l == GRANARY_DECIMAL ? gr_dtype_scale(left) : 0;
        int other = r == GRANARY_DECIMAL ? gr_dtype_scale(right) : 0;

        *ret_dtype = GRANARY_DECIMAL(scale > other ? scale : other);
    } else if ((l == GRANARY_DATE && r == GRANARY_TIMESTAMP) || (l == GRANARY_TIMESTAMP && r == GRANARY_DATE)) {
        *ret_dtype = GRANARY_TIMESTAMP;
    } else if (left == right) {
        *ret_dtype = left;
    } else {
        return gr_fail(GRANARY_ETYPE, "%s and %s cannot be compared", granary_dtype_name(left),
                       granary_dtype_name(right));
    }
    return GRANARY_OK;
}

static granary_err
check_keys(const struct gr_join *join, const struct gr_schema *left, const struct gr_schema *right)
{
    for (size_t i = 0; i < join->key_count; i++) {
        int l = gr_schema_find(left, join->left_on[i]);
        int r = gr_schema_find(right, join->right_on[i]);
        granary_dtype dtype;

        if (l < 0) {
            return gr_fail_in(gr_schema_no_column(left, join->left_on[i]), "left side");
        }
        if (r < 0) {
            return gr_fail_in(gr_schema_no_column(right, join->right_on[i]), "right side");
        }
        if (gr_dtype_is_list(left->fields[l].dtype) || gr_dtype_is_list(right->fields[r].dtype)) {
            return gr_fail(GRANARY_ETYPE, "key '%s' has lists, which cannot be compared: explode it first",
                           gr_dtype_is_list(left->fields[l].dtype) ? join->left_on[i] : join->right_on[i]);
        }
        if (gr_join_key_dtype(left->fields[l].dtype, right->fields[r].dtype, &dtype) != GRANARY_OK) {
            return gr_fail(GRANARY_ETYPE, "key '%s' is %s on the left side, but '%s' is %s on the right side",
                           join->left_on[i], granary_dtype_name(left->fields[l].dtype), join->right_on[i],
                           granary_dtype_name(right->fields[r].dtype));
        }
    }
    return GRANARY_OK;
}

/* ---- columns ---- */

/* Whether a column is a key that has the same name on both sides, and so comes once. */
static bool
is_shared_key(const struct gr_join *join, const char *column)
{
    for (size_t i = 0; i < join->key_count; i++) {
        if (strcmp(join->right_on[i], column) == 0 && strcmp(join->left_on[i], column) == 0) {
            return true;
        }
    }
    return false;
}

struct column_list {
    struct gr_join_column *columns;
    size_t count;
};

static granary_err
add_column(struct column_list *list, const char *text, const char *suffix, granary_dtype dtype, int left, int right)
{
    struct gr_buf name = {0};
    granary_err err = GRANARY_OK;

    gr_buf_addf(&name, "%s%s", text, suffix);
    if (!gr_buf_ok(&name)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < list->count && err == GRANARY_OK; i++) {
        if (strcmp(list->columns[i].name, name.bytes) == 0) {
            err = gr_fail(GRANARY_EINVAL, "two columns of the result would be named '%s'; choose other suffixes",
                          name.bytes);
        }
    }
    if (err != GRANARY_OK) {
        gr_buf_free(&name);
        return err;
    }
    list->columns[list->count++] =
        (struct gr_join_column){.name = name.bytes, .dtype = dtype, .left = left, .right = right};
    return GRANARY_OK;
}

/* The dtype of a key that comes once. */
static granary_err
shared_key_dtype(const struct gr_join *join, granary_dtype left, granary_dtype right, const char *name,
                 granary_dtype *ret_dtype)
{
    if (join->how == GR_JOIN_RIGHT) {
        *ret_dtype = right;
    } else if (join->how != GR_JOIN_OUTER || left == right) {
        *ret_dtype = left;
    } else if (left == GRANARY_NULLTYPE || right == GRANARY_NULLTYPE) {
        *ret_dtype = left == GRANARY_NULLTYPE ? right : left;
    } else {
        return gr_fail(
            GRANARY_ETYPE,
            "key '%s' is %s on the left side and %s on the right side: in an outer join it has values of both, "
            "so cast one first",
            name, granary_dtype_name(left), granary_dtype_name(right));
    }
    return GRANARY_OK;
}

static granary_err
list_columns(const struct gr_join *join, const struct gr_schema *left, const struct gr_schema *right,
             struct column_list *list)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < left->count && err == GRANARY_OK; i++) {
        const char *name = left->fields[i].name;
        granary_dtype dtype = left->fields[i].dtype;
        int other = gr_schema_find(right, name);

        if (other >= 0 && is_shared_key(join, name)) {
            err = shared_key_dtype(join, dtype, right->fields[other].dtype, name, &dtype);
            if (err == GRANARY_OK) {
                err = add_column(list, name, "", dtype, (int)i, other);
            }
        } else {
            err = add_column(list, name, other >= 0 ? join->left_suffix : "", dtype, (int)i, -1);
        }
    }
    for (size_t i = 0; i < right->count && err == GRANARY_OK; i++) {
        const char *name = right->fields[i].name;

        if (!is_shared_key(join, name)) {
            err = add_column(list, name, gr_schema_find(left, name) >= 0 ? join->right_suffix : "",
                             right->fields[i].dtype, -1, (int)i);
        }
    }
    if (err == GRANARY_OK && join->indicator != NULL) {
        err = add_column(list, join->indicator, "", GRANARY_STRING, -1, -1);
    }
    return err;
}

granary_err
gr_join_columns(const struct gr_join *join, const struct gr_schema *left, const struct gr_schema *right,
                struct gr_join_column **ret_columns, size_t *ret_count)
{
    struct column_list list = {0};
    granary_err err = check_keys(join, left, right);

    if (err != GRANARY_OK) {
        return err;
    }
    list.columns = calloc(left->count + right->count + 1, sizeof *list.columns);
    if (list.columns == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    if (join->how == GR_JOIN_SEMI || join->how == GR_JOIN_ANTI) {
        for (size_t i = 0; i < left->count && err == GRANARY_OK; i++) {
            err = add_column(&list, left->fields[i].name, "", left->fields[i].dtype, (int)i, -1);
        }
    } else {
        err = list_columns(join, left, right, &list);
    }
    if (err != GRANARY_OK) {
        gr_join_columns_free(list.columns, list.count);
        return err;
    }
    *ret_columns = list.columns;
    *ret_count = list.count;
    return GRANARY_OK;
}

granary_err
gr_join_pair_columns(const struct gr_join *join, const struct gr_schema *left, const struct gr_schema *right,
                     struct gr_join_column **ret_columns, size_t *ret_count)
{
    struct gr_join pairs = *join;

    pairs.how = GR_JOIN_INNER;
    pairs.indicator = NULL;
    return gr_join_columns(&pairs, left, right, ret_columns, ret_count);
}

void
gr_join_columns_free(struct gr_join_column *columns, size_t count)
{
    for (size_t i = 0; columns != NULL && i < count; i++) {
        free(columns[i].name);
    }
    free(columns);
}

static granary_err
schema_of(const struct gr_join_column *columns, size_t count, struct gr_schema *ret_schema)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = gr_schema_add(ret_schema, columns[i].name, columns[i].dtype);
    }
    return err;
}

static granary_err
check_where(const struct gr_join *join, const struct gr_schema *left, const struct gr_schema *right)
{
    struct gr_join_column *columns = NULL;
    struct gr_schema schema = {0};
    struct gr_expr *expr = NULL;
    size_t count = 0;
    granary_err err = gr_join_pair_columns(join, left, right, &columns, &count);

    if (err == GRANARY_OK) {
        err = schema_of(columns, count, &schema);
    }
    if (err == GRANARY_OK) {
        err = gr_expr_parse(join->where, &expr);
    }
    if (err == GRANARY_OK) {
        err = gr_expr_check(expr, &schema);
        if (err == GRANARY_OK && expr->dtype != GRANARY_BOOL && expr->dtype != GRANARY_NULLTYPE) {
            err = gr_fail(GRANARY_ETYPE, "it is %s, not a bool", granary_dtype_name(expr->dtype));
        }
    }
    if (err != GRANARY_OK && err != GRANARY_ENOMEM) {
        err = gr_fail_in(err, "parameter 'where', expression `%.240s`", join->where);
    }
    gr_expr_destroy(expr);
    gr_schema_free(&schema);
    gr_join_columns_free(columns, count);
    return err;
}

granary_err
gr_join_schema(const struct gr_join *join, const struct gr_schema *left, const struct gr_schema *right,
               struct gr_schema *ret_schema)
{
    struct gr_join_column *columns = NULL;
    struct gr_schema schema = {0};
    size_t count = 0;
    granary_err err = gr_join_columns(join, left, right, &columns, &count);

    if (err == GRANARY_OK) {
        err = schema_of(columns, count, &schema);
    }
    if (err == GRANARY_OK && join->where != NULL) {
        err = check_where(join, left, right);
    }
    gr_join_columns_free(columns, count);
    if (err != GRANARY_OK) {
        gr_schema_free(&schema);
        return err;
    }
    *ret_schema = schema;
    return GRANARY_OK;
}
