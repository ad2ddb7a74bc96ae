/* The check of one node's parameters. */
#include "graph/node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "data/frame.h"
#include "data/tensor.h"
#include "graph/aggregate.h"
#include "graph/concat.h"
#include "graph/expr.h"
#include "graph/join.h"
#include "graph/lower.h"
#include "graph/nearest.h"
#include "graph/tensor_map.h"
#include "graph/tensor_random.h"
#include "graph/user.h"
#include "graph/window.h"

granary_err
node_fail(const Granary__Node *node, granary_err err)
{
    return gr_fail_in(err, "node '%.100s' (%.40s)", node->name, node->op);
}

static const Granary__Attr *
find(const Granary__Node *node, const char *name)
{
    return gr_attr_find(node->attrs, node->n_attrs, name);
}

static int
compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A graph may have as many targets as nodes: sort, instead of comparing each with each. */
granary_err
find_repeated(char *const *strings, size_t count, const char **ret_string)
{
    char **sorted = malloc((count + 1) * sizeof *sorted);
    const char *repeated = NULL;

    if (sorted == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    if (count > 0) {
        memcpy(sorted, strings, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare_strings);
    }
    for (size_t i = 1; i < count && repeated == NULL; i++) {
        repeated = strcmp(sorted[i - 1], sorted[i]) == 0 ? sorted[i] : NULL;
    }
    free(sorted);
    *ret_string = repeated;
    return GRANARY_OK;
}

/* ---- kinds ---- */

static const char *
kind_text(Granary__Attr__Kind kind)
{
    switch (kind) {
    case GRANARY__ATTR__KIND__INT:
        return "an integer";
    case GRANARY__ATTR__KIND__DOUBLE:
        return "a number with a fraction";
    case GRANARY__ATTR__KIND__BOOL:
        return "true or false";
    case GRANARY__ATTR__KIND__STRING:
        return "a string";
    case GRANARY__ATTR__KIND__INTS:
        return "a list of integers";
    case GRANARY__ATTR__KIND__DOUBLES:
        return "a list of numbers";
    case GRANARY__ATTR__KIND__STRINGS:
        return "a list of strings";
    case GRANARY__ATTR__KIND__BOOLS:
        return "a list of true and false";
    case GRANARY__ATTR__KIND__MAP:
        return "a mapping";
    default:
        return "nothing";
    }
}

/* A message may come from anywhere: the fields must be those the kind promises. */
static bool
is_well_formed(const Granary__Attr *attr)
{
    switch (attr->kind) {
    case GRANARY__ATTR__KIND__INT:
    case GRANARY__ATTR__KIND__BOOL:
        return attr->n_ints == 1;
    case GRANARY__ATTR__KIND__DOUBLE:
        return attr->n_doubles == 1;
    case GRANARY__ATTR__KIND__STRING:
        return attr->n_strings == 1;
    case GRANARY__ATTR__KIND__MAP:
        return attr->n_keys == attr->n_strings;
    default:
        return true;
    }
}

static bool
all_utf8(char *const *strings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!gr_is_utf8(strings[i], strlen(strings[i]))) {
            return false;
        }
    }
    return true;
}

static bool
is_empty_list(const Granary__Attr *attr)
{
    return (attr->kind == GRANARY__ATTR__KIND__INTS || attr->kind == GRANARY__ATTR__KIND__DOUBLES ||
            attr->kind == GRANARY__ATTR__KIND__STRINGS || attr->kind == GRANARY__ATTR__KIND__BOOLS) &&
           attr->n_ints == 0 && attr->n_doubles == 0 && attr->n_strings == 0;
}

/* Bring an attribute to the kind a parameter wants. false: it is another one. */
static bool
adopt_kind(Granary__Attr *attr, enum gr_param_kind want)
{
    static const struct {
        Granary__Attr__Kind kind;
        Granary__Attr__Kind single; /* accepted instead: one element of the list */
    } kinds[] = {
        [GR_PARAM_INT] = {GRANARY__ATTR__KIND__INT, GRANARY__ATTR__KIND__INT},
        [GR_PARAM_NUMBER] = {GRANARY__ATTR__KIND__DOUBLE, GRANARY__ATTR__KIND__DOUBLE},
        [GR_PARAM_VALUE] = {GRANARY__ATTR__KIND__DOUBLE, GRANARY__ATTR__KIND__DOUBLE},
        [GR_PARAM_BOOL] = {GRANARY__ATTR__KIND__BOOL, GRANARY__ATTR__KIND__BOOL},
        [GR_PARAM_STRING] = {GRANARY__ATTR__KIND__STRING, GRANARY__ATTR__KIND__STRING},
        [GR_PARAM_INTS] = {GRANARY__ATTR__KIND__INTS, GRANARY__ATTR__KIND__INT},
        [GR_PARAM_BOOLS] = {GRANARY__ATTR__KIND__BOOLS, GRANARY__ATTR__KIND__BOOL},
        [GR_PARAM_STRINGS] = {GRANARY__ATTR__KIND__STRINGS, GRANARY__ATTR__KIND__STRING},
        [GR_PARAM_MAP] = {GRANARY__ATTR__KIND__MAP, GRANARY__ATTR__KIND__MAP},
    };
    bool list = kinds[want].kind != kinds[want].single;

    if ((want == GR_PARAM_NUMBER || want == GR_PARAM_VALUE) && attr->kind == GRANARY__ATTR__KIND__INT) {
        return true;
    }
    if (want == GR_PARAM_VALUE && attr->kind == GRANARY__ATTR__KIND__STRING) {
        return gr_attr_adopt_digits(attr);
    }
    if (attr->kind != kinds[want].kind && attr->kind != kinds[want].single && !(list && is_empty_list(attr))) {
        return false;
    }
    attr->kind = kinds[want].kind;
    return true;
}

static granary_err
no_parameter(const struct gr_param_info *params, size_t count, int op, const char *name)
{
    struct gr_nearest nearest = {.name = name};
    struct gr_buf known = {0};
    char hint[GR_HINT_MAX];

    for (size_t i = 0; i < count; i++) {
        if (params[i].op == op) {
            gr_nearest_offer(&nearest, params[i].name);
            gr_buf_addf(&known, "%s%s", known.size == 0 ? "; it has: " : ", ", params[i].name);
        }
    }
    (void)gr_fail(GRANARY_EINVAL, "no parameter '%.60s'%s", name,
                  nearest.best != NULL  ? gr_nearest_hint(&nearest, hint)
                  : known.bytes == NULL ? "; it has none"
                                        : known.bytes);
    gr_buf_free(&known);
    return GRANARY_EINVAL;
}

static granary_err
check_attr(const struct gr_param_info *params, size_t count, int op, Granary__Attr *attr)
{
    const struct gr_param_info *param = NULL;
    Granary__Attr__Kind kind = attr->kind;
    const char *repeated = NULL;
    granary_err err;

    for (size_t i = 0; i < count && param == NULL; i++) {
        param = params[i].op == op && strcmp(params[i].name, attr->name) == 0 ? &params[i] : NULL;
    }
    if (param == NULL) {
        return no_parameter(params, count, op, attr->name);
    }
    if (!is_well_formed(attr) || !adopt_kind(attr, param->kind)) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' needs %s, not %s", param->name, gr_param_kind_text(param->kind),
                       kind_text(kind));
    }
    if (!all_utf8(attr->strings, attr->n_strings) || !all_utf8(attr->keys, attr->n_keys)) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' is not UTF-8 text", param->name);
    }
    err = find_repeated(attr->keys, attr->n_keys, &repeated);
    return repeated != NULL ? gr_fail(GRANARY_EINVAL, "parameter '%s' has '%s' twice", param->name, repeated) : err;
}

granary_err
node_check_attrs(Granary__Node *node, const struct gr_param_info *params, size_t count, int op)
{
    for (size_t i = 0; i < node->n_attrs; i++) {
        granary_err err;

        if (find(node, node->attrs[i]->name) != node->attrs[i]) {
            return gr_fail(GRANARY_EINVAL, "parameter '%.60s' is given twice", node->attrs[i]->name);
        }
        if ((err = check_attr(params, count, op, node->attrs[i])) != GRANARY_OK) {
            return err;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (params[i].op == op && params[i].required && find(node, params[i].name) == NULL) {
            return gr_fail(GRANARY_EINVAL, "parameter '%s' is missing: %s (%s)", params[i].name,
                           gr_param_kind_text(params[i].kind), params[i].summary);
        }
    }
    return GRANARY_OK;
}

/* ---- what each operator demands beyond the kinds ---- */

/* A list of column names: there is one, none is empty, none comes twice. */
static granary_err
check_names(const Granary__Node *node, const char *name)
{
    const Granary__Attr *attr = find(node, name);
    const char *repeated = NULL;
    granary_err err;

    if (attr == NULL) {
        return GRANARY_OK;
    }
    if (attr->n_strings == 0) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' names no column", name);
    }
    if ((err = find_repeated(attr->strings, attr->n_strings, &repeated)) != GRANARY_OK) {
        return err;
    }
    if (repeated != NULL) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' names column '%s' twice", name, repeated);
    }
    for (size_t i = 0; i < attr->n_strings; i++) {
        if (attr->strings[i][0] == '\0') {
            return gr_fail(GRANARY_EINVAL, "parameter '%s' has an empty column name", name);
        }
    }
    return GRANARY_OK;
}

static granary_err
check_expression(const char *text)
{
    struct gr_expr *expr = NULL;
    granary_err err = gr_expr_parse(text, &expr);

    gr_expr_destroy(expr);
    return err;
}

static granary_err
check_delimiter(const Granary__Node *node)
{
    const char *delimiter = gr_attr_string(node->attrs, node->n_attrs, "delimiter", ",");

    if (strlen(delimiter) != 1 || strchr("\"\r\n", delimiter[0]) != NULL || (unsigned char)delimiter[0] >= 0x80) {
        return gr_fail(GRANARY_EINVAL, "parameter 'delimiter' needs one ASCII character, no quote and no line end");
    }
    return GRANARY_OK;
}

static granary_err
check_path(const Granary__Node *node)
{
    return gr_attr_string(node->attrs, node->n_attrs, "path", "")[0] == '\0'
               ? gr_fail(GRANARY_EINVAL, "parameter 'path' is empty")
               : GRANARY_OK;
}

static granary_err
check_read_parquet(const Granary__Node *node)
{
    (void)node;
    return gr_fail(GRANARY_EUNSUPPORTED, "Parquet files cannot be read yet: write the data as an Arrow file");
}

static granary_err
check_read_raw(const Granary__Node *node)
{
    const Granary__Attr *shape = find(node, "shape");
    const char *name = gr_attr_string(node->attrs, node->n_attrs, "dtype", "");
    granary_tensor tensor;
    granary_err err = check_path(node);

    if (err == GRANARY_OK && gr_dtype_parse(name) == GRANARY_NULLTYPE) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'dtype': there is no dtype '%.40s'", name);
    }
    if (err == GRANARY_OK && gr_attr_int(node->attrs, node->n_attrs, "offset", 0) < 0) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'offset' is negative");
    }
    return err == GRANARY_OK ? gr_npy_plan(gr_dtype_parse(name), (int)shape->n_ints, shape->ints, &tensor) : err;
}

static granary_err
check_write_csv(const Granary__Node *node)
{
    const char *null = gr_attr_string(node->attrs, node->n_attrs, "null_value", "");
    const char *delimiter = gr_attr_string(node->attrs, node->n_attrs, "delimiter", ",");
    granary_err err = check_path(node);

    if (err == GRANARY_OK) {
        err = check_delimiter(node);
    }
    return err == GRANARY_OK && (strpbrk(null, "\"\r\n") != NULL || strchr(null, delimiter[0]) != NULL)
               ? gr_fail(GRANARY_EINVAL,
                         "parameter 'null_value' has a quote, a line end or the delimiter, and could not "
                         "be read back: choose another text")
               : err;
}

static granary_err
check_read_csv(const Granary__Node *node)
{
    const Granary__Attr *dtypes = find(node, "dtypes");
    granary_err err = check_path(node);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; dtypes != NULL && i < dtypes->n_strings; i++) {
        granary_dtype dtype;

        if (!gr_csv_dtype_parse(dtypes->strings[i], &dtype)) {
            return gr_fail(GRANARY_EINVAL,
                           "parameter 'dtypes', column '%s': no dtype '%.40s'; there are: " GR_CSV_DTYPES,
                           dtypes->keys[i], dtypes->strings[i]);
        }
    }
    return check_delimiter(node);
}

static granary_err
check_table(const Granary__Node *node)
{
    const Granary__Attr *name = find(node, "name");
    const Granary__Attr *ids = find(node, "ids");

    if ((name == NULL) == (ids == NULL)) {
        return gr_fail(GRANARY_EINVAL, "it needs either parameter 'name' or parameter 'ids'");
    }
    if (ids != NULL && ids->n_strings == 0) {
        return gr_fail(GRANARY_EINVAL, "parameter 'ids' is empty");
    }
    return name == NULL || name->strings[0][0] != '\0' ? GRANARY_OK
                                                       : gr_fail(GRANARY_EINVAL, "parameter 'name' is empty");
}

static granary_err
check_array(const Granary__Node *node)
{
    const Granary__Attr *name = find(node, "name");
    bool whole = find(node, "ids") != NULL && find(node, "shape") != NULL && find(node, "dtype") != NULL;
    bool none = find(node, "ids") == NULL && find(node, "shape") == NULL && find(node, "dtype") == NULL &&
                find(node, "chunk") == NULL;

    if (name != NULL ? !none : !whole) {
        return gr_fail(GRANARY_EINVAL, "it needs either parameter 'name', or 'ids', 'shape' and 'dtype'");
    }
    if (name != NULL && name->strings[0][0] == '\0') {
        return gr_fail(GRANARY_EINVAL, "parameter 'name' is empty");
    }
    return name != NULL ? GRANARY_OK : user_check_object(node);
}

static granary_err
check_select(const Granary__Node *node)
{
    return check_names(node, "columns");
}

static granary_err
check_filter(const Granary__Node *node)
{
    return check_expression(gr_attr_string(node->attrs, node->n_attrs, "where", ""));
}

/* A mapping whose keys are names of new columns. */
static granary_err
check_new_columns(const Granary__Attr *attr)
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

static granary_err
check_assign(const Granary__Node *node)
{
    const Granary__Attr *columns = find(node, "columns");
    granary_err err = check_new_columns(columns);

    for (size_t i = 0; i < columns->n_strings && err == GRANARY_OK; i++) {
        err = check_expression(columns->strings[i]);
        if (err != GRANARY_OK) {
            err = gr_fail_in(err, "column '%.100s'", columns->keys[i]);
        }
    }
    return err;
}

static granary_err
check_groupby(const Granary__Node *node)
{
    const Granary__Attr *keys = find(node, "keys");
    const Granary__Attr *attr = find(node, "aggregate");
    struct gr_aggregate *aggregates = NULL;
    size_t count = 0;
    granary_err err;

    if ((keys->n_strings > 0 && (err = check_names(node, "keys")) != GRANARY_OK) ||
        (err = check_new_columns(attr)) != GRANARY_OK ||
        (err = gr_aggregates_parse(attr, &aggregates, &count)) != GRANARY_OK) {
        return err;
    }
    gr_aggregates_free(aggregates, count);
    for (size_t i = 0; i < attr->n_keys; i++) {
        for (size_t j = 0; j < keys->n_strings; j++) {
            if (strcmp(attr->keys[i], keys->strings[j]) == 0) {
                return gr_fail(GRANARY_EINVAL, "aggregate '%s' has the name of a key; choose another one",
                               attr->keys[i]);
            }
        }
    }
    return GRANARY_OK;
}

/* distinct, duplicated */
static granary_err
check_distinct(const Granary__Node *node)
{
    const char *keep = gr_attr_string(node->attrs, node->n_attrs, "keep", "first");
    granary_err err = check_names(node, "subset");

    if (err == GRANARY_OK && strcmp(keep, "first") != 0 && strcmp(keep, "last") != 0 && strcmp(keep, "none") != 0) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'keep' is '%.40s'; it can be 'first', 'last' or 'none'", keep);
    }
    return err;
}

/* value_counts, describe */
static granary_err
check_columns(const Granary__Node *node)
{
    return check_names(node, "columns");
}

/* Where nulls go: for all of so many keys, or for each. */
static granary_err
check_nulls(const Granary__Node *node, size_t keys)
{
    const Granary__Attr *nulls = find(node, "nulls");

    if (nulls != NULL && nulls->n_strings != 1 && nulls->n_strings != keys) {
        return gr_fail(GRANARY_EINVAL, "parameter 'nulls' has %zu values for %zu columns: give one, or one a column",
                       nulls->n_strings, keys);
    }
    for (size_t i = 0; nulls != NULL && i < nulls->n_strings; i++) {
        if (strcmp(nulls->strings[i], "first") != 0 && strcmp(nulls->strings[i], "last") != 0) {
            return gr_fail(GRANARY_EINVAL, "parameter 'nulls' is '%.40s'; it can be 'first' or 'last'",
                           nulls->strings[i]);
        }
    }
    return GRANARY_OK;
}

static granary_err
check_sort(const Granary__Node *node)
{
    const Granary__Attr *by = find(node, "by");
    const Granary__Attr *descending = find(node, "descending");
    granary_err err = check_names(node, "by");

    if (err == GRANARY_OK && descending != NULL && descending->n_ints != 1 && descending->n_ints != by->n_strings) {
        err =
            gr_fail(GRANARY_EINVAL, "parameter 'descending' has %zu values for %zu columns: give one, or one a column",
                    descending->n_ints, by->n_strings);
    }
    return err == GRANARY_OK ? check_nulls(node, by->n_strings) : err;
}

static granary_err
check_window(const Granary__Node *node)
{
    const Granary__Attr *by = find(node, "by");
    const Granary__Attr *descending = find(node, "descending");
    struct gr_window *windows = NULL;
    size_t count = 0;
    granary_err err = check_new_columns(find(node, "columns"));

    if (err == GRANARY_OK && (err = check_names(node, "partition")) == GRANARY_OK) {
        err = check_names(node, "by");
    }
    if (err == GRANARY_OK && by == NULL && (descending != NULL || find(node, "nulls") != NULL)) {
        err = gr_fail(GRANARY_EINVAL, "'descending' and 'nulls' belong to 'by', which is missing");
    }
    if (err == GRANARY_OK && descending != NULL && descending->n_ints != 1 && descending->n_ints != by->n_strings) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'descending' has %zu values for %zu columns", descending->n_ints,
                      by->n_strings);
    }
    if (err == GRANARY_OK && by != NULL) {
        err = check_nulls(node, by->n_strings);
    }
    if (err == GRANARY_OK) {
        err = gr_windows_parse(find(node, "columns"), &windows, &count);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        bool by_order = (windows[i].function == GR_WINDOW_RANK || windows[i].function == GR_WINDOW_DENSE_RANK) &&
                        windows[i].value == NULL;

        if (by_order && by == NULL) {
            err = gr_fail(GRANARY_EINVAL, "column '%.100s': a rank of no value needs 'by'", windows[i].name);
        }
    }
    gr_windows_free(windows, count);
    return err;
}

static granary_err
check_slice(const Granary__Node *node)
{
    if (gr_attr_int(node->attrs, node->n_attrs, "step", 1) == 0) {
        return gr_fail(GRANARY_EINVAL, "parameter 'step' cannot be 0");
    }
    return GRANARY_OK;
}

static granary_err
check_sample(const Granary__Node *node)
{
    double fraction = gr_attr_double(node->attrs, node->n_attrs, "fraction", 0);

    if ((find(node, "rows") != NULL) == (find(node, "fraction") != NULL)) {
        return gr_fail(GRANARY_EINVAL, "it needs 'rows' or 'fraction', and not both");
    }
    if (gr_attr_int(node->attrs, node->n_attrs, "rows", 0) < 0 || !(fraction >= 0 && fraction <= 1e6)) {
        return gr_fail(GRANARY_EINVAL, "parameters 'rows' and 'fraction' cannot be negative");
    }
    return GRANARY_OK;
}

static granary_err
check_melt(const Granary__Node *node)
{
    const Granary__Attr *ids = find(node, "id_vars");
    granary_err err = ids == NULL || ids->n_strings == 0 ? GRANARY_OK : check_names(node, "id_vars"); /* none is fine */

    return err == GRANARY_OK ? check_names(node, "value_vars") : err;
}

static granary_err
check_explode(const Granary__Node *node)
{
    if (gr_attr_string(node->attrs, node->n_attrs, "separator", "")[0] == '\0') {
        return gr_fail(GRANARY_EINVAL, "parameter 'separator' is empty");
    }
    return GRANARY_OK;
}

static granary_err
check_rebalance(const Granary__Node *node)
{
    if (gr_attr_int(node->attrs, node->n_attrs, "rows", 0) < 1) {
        return gr_fail(GRANARY_EINVAL, "parameter 'rows' must be at least 1");
    }
    return GRANARY_OK;
}

static granary_err
check_head(const Granary__Node *node)
{
    int64_t rows = gr_attr_int(node->attrs, node->n_attrs, "rows", 0);

    if (rows < 0) {
        return gr_fail(GRANARY_EINVAL, "parameter 'rows' is %lld; it cannot be negative", (long long)rows);
    }
    return GRANARY_OK;
}

static granary_err
check_join(const Granary__Node *node)
{
    struct gr_join join;
    granary_err err = gr_join_parse(node->attrs, node->n_attrs, &join);

    if (err == GRANARY_OK && (err = check_names(node, "on")) == GRANARY_OK &&
        (err = check_names(node, "left_on")) == GRANARY_OK) {
        err = check_names(node, "right_on");
    }
    return err;
}

static granary_err
check_concat(const Granary__Node *node)
{
    struct gr_concat concat;

    return gr_concat_parse(node->attrs, node->n_attrs, &concat);
}

static granary_err
check_random(const Granary__Node *node)
{
    struct gr_random random;

    return gr_random_read(gr_attr_string(node->attrs, node->n_attrs, "distribution", "uniform"), node->attrs,
                          node->n_attrs, &random);
}

static granary_err
check_arange(const Granary__Node *node)
{
    static const char *const names[] = {"start", "stop", "step"};

    for (int i = 0; i < 3; i++) {
        if (!isfinite(gr_attr_double(node->attrs, node->n_attrs, names[i], 1))) {
            return gr_fail(GRANARY_EINVAL, "parameter '%s' is not finite", names[i]);
        }
    }
    if (gr_attr_double(node->attrs, node->n_attrs, "step", 1) == 0) {
        return gr_fail(GRANARY_EINVAL, "parameter 'step' cannot be 0");
    }
    return GRANARY_OK;
}

/* NULL: nothing beyond the kinds. */
/* clang-format off */
static granary_err (*const checks[GR_TILE_COUNT])(const Granary__Node *node) = {
    [GR_TILE_read_csv] = check_read_csv,
    [GR_TILE_read_arrow] = check_path,
    [GR_TILE_read_parquet] = check_read_parquet,
    [GR_TILE_read_npy] = check_path,
    [GR_TILE_read_raw] = check_read_raw,
    [GR_TILE_write_csv] = check_write_csv,
    [GR_TILE_write_arrow] = check_path,
    [GR_TILE_write_npy] = check_path,
    [GR_TILE_select] = check_select,
    [GR_TILE_filter] = check_filter,
    [GR_TILE_assign] = check_assign,
    [GR_TILE_groupby] = check_groupby,
    [GR_TILE_distinct] = check_distinct,
    [GR_TILE_duplicated] = check_distinct,
    [GR_TILE_value_counts] = check_columns,
    [GR_TILE_describe] = check_columns,
    [GR_TILE_sort] = check_sort,
    [GR_TILE_head] = check_head,
    [GR_TILE_project] = check_assign,
    [GR_TILE_window] = check_window,
    [GR_TILE_slice] = check_slice,
    [GR_TILE_sample] = check_sample,
    [GR_TILE_melt] = check_melt,
    [GR_TILE_explode] = check_explode,
    [GR_TILE_rebalance] = check_rebalance,
    [GR_TILE_join] = check_join,
    [GR_TILE_concat] = check_concat,
    [GR_TILE_random] = check_random,
    [GR_TILE_arange] = check_arange,
    [GR_TILE_array] = check_array,
    [GR_TILE_object] = user_check_object,
    [GR_TILE_map_chunk] = user_check_map_chunk,
    [GR_TILE_call] = user_check_call,
    [GR_TILE_exec] = user_check_exec,
    [GR_TILE_null] = user_check_null,
    [GR_TILE_table] = check_table,
};
/* clang-format on */

static granary_err
check_inputs(const Granary__Node *node, enum gr_tile_op op)
{
    const struct gr_op_info *info = gr_op_info(op);
    size_t min = (size_t)info->min_inputs;
    size_t max = (size_t)info->max_inputs;

    if (node->n_inputs >= min && node->n_inputs <= max) {
        return GRANARY_OK;
    }
    if (max == 0) {
        return gr_fail(GRANARY_EINVAL, "it takes no input, but has %zu", node->n_inputs);
    }
    if (min == max) {
        return gr_fail(GRANARY_EINVAL, "it takes %zu input%s, but has %zu", min, min == 1 ? "" : "s", node->n_inputs);
    }
    return gr_fail(GRANARY_EINVAL, "it takes %zu to %zu inputs, but has %zu", min, max, node->n_inputs);
}

granary_err
node_check(Granary__Node *node, enum gr_tile_op op)
{
    size_t count;
    const struct gr_param_info *params = gr_param_info(&count);
    granary_err err = check_inputs(node, op);

    if (err == GRANARY_OK) {
        err = node_check_attrs(node, params, count, (int)op);
    }
    if (err == GRANARY_OK && gr_op_is_map(op)) {
        return gr_map_check(op, node);
    }
    if (err == GRANARY_OK && gr_op_is_lowered(op)) {
        return gr_lower_check(node, op);
    }
    return err == GRANARY_OK && checks[op] != NULL ? checks[op](node) : err;
}
