#include "graph/lower.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "data/frame.h"
#include "graph/expr.h"

/* What is being rewritten. */
struct source {
    enum gr_tile_op op;
    Granary__Attr *const *attrs;
    size_t count;
    const struct gr_schema *input;
};

/* A mapping of columns to expressions being made. Out of memory sticks. */
struct entries {
    char **keys;
    char **texts;
    size_t count;
    bool failed;
};

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory");
}

static const Granary__Attr *
find(const struct source *source, const char *name)
{
    return gr_attr_find(source->attrs, source->count, name);
}

static const char *
find_string(const struct source *source, const char *name, const char *fallback)
{
    return gr_attr_string(source->attrs, source->count, name, fallback);
}

/* ---- what is made ---- */

void
gr_lowered_free(struct gr_lowered *lowered)
{
    for (size_t i = 0; i < lowered->count; i++) {
        granary__attr__free_unpacked(lowered->attrs[i], NULL);
    }
    free(lowered->attrs);
    *lowered = (struct gr_lowered){0};
}

/* *Takes* the attribute; NULL fails. */
static granary_err
lowered_add(struct gr_lowered *lowered, Granary__Attr *attr)
{
    Granary__Attr **attrs =
        attr == NULL ? NULL : realloc(lowered->attrs, (lowered->count + 1) * sizeof *lowered->attrs);

    if (attrs == NULL) {
        if (attr != NULL) {
            granary__attr__free_unpacked(attr, NULL);
        }
        return out_of_memory();
    }
    lowered->attrs = attrs;
    lowered->attrs[lowered->count++] = attr;
    return GRANARY_OK;
}

/* *Takes* text; NULL, or a buffer that failed before it, is out of memory. */
static void
entries_add(struct entries *entries, const char *key, char *text)
{
    char **keys = realloc(entries->keys, (entries->count + 1) * sizeof *keys);
    char **texts = keys == NULL ? NULL : realloc(entries->texts, (entries->count + 1) * sizeof *texts);
    char *copy = strdup(key);

    entries->keys = keys != NULL ? keys : entries->keys;
    entries->texts = texts != NULL ? texts : entries->texts;
    if (keys == NULL || texts == NULL || copy == NULL || text == NULL) {
        entries->failed = true;
        free(copy);
        free(text);
        return;
    }
    entries->keys[entries->count] = copy;
    entries->texts[entries->count++] = text;
}

/* The text of a buffer, which is then empty. */
static char *
buffer_take(struct gr_buf *buffer)
{
    char *text = gr_buf_ok(buffer) && buffer->bytes != NULL ? strdup(buffer->bytes) : NULL;

    gr_buf_free(buffer);
    *buffer = (struct gr_buf){0};
    return text;
}

/* End with an operator that has the entries as its parameter `name`, or with an error from before. */
static granary_err
entries_finish(struct entries *entries, granary_err err, const char *name, enum gr_tile_op op,
               struct gr_lowered *lowered)
{
    if (err == GRANARY_OK && entries->failed) {
        err = out_of_memory();
    }
    if (err == GRANARY_OK) {
        lowered->op = op;
        err = lowered_add(lowered, gr_attr_new_map(name, entries->keys, entries->texts, entries->count));
    }
    for (size_t i = 0; i < entries->count; i++) {
        free(entries->keys[i]);
        free(entries->texts[i]);
    }
    free(entries->keys);
    free(entries->texts);
    return err;
}

static void
add_name(struct gr_buf *buffer, const char *name)
{
    gr_expr_print_name(name, buffer);
}

static void
add_quoted(struct gr_buf *text, const char *value)
{
    gr_buf_addf(text, "'");
    for (const char *c = value; *c != '\0'; c++) {
        gr_buf_addf(text, *c == '\'' ? "''" : "%c", *c);
    }
    gr_buf_addf(text, "'");
}

/* ---- which columns ---- */

static bool
is_float(granary_dtype dtype)
{
    return dtype == GRANARY_FLOAT64 || dtype == GRANARY_FLOAT32;
}

static bool
is_number(granary_dtype dtype)
{
    switch (gr_dtype_kind(dtype)) {
    case GRANARY_INT8:
    case GRANARY_INT16:
    case GRANARY_INT32:
    case GRANARY_INT64:
    case GRANARY_UINT8:
    case GRANARY_UINT16:
    case GRANARY_UINT32:
    case GRANARY_UINT64:
    case GRANARY_FLOAT32:
    case GRANARY_FLOAT64:
    case GRANARY_DECIMAL:
        return true;
    default:
        return false;
    }
}

/* Every name of a list, or of a mapping's keys, must be a column. */
static granary_err
check_columns(const struct source *source, const Granary__Attr *attr)
{
    bool map = attr != NULL && attr->kind == GRANARY__ATTR__KIND__MAP;
    size_t count = attr == NULL ? 0 : map ? attr->n_keys : attr->n_strings;

    for (size_t i = 0; i < count; i++) {
        const char *name = map ? attr->keys[i] : attr->strings[i];

        if (gr_schema_find(source->input, name) < 0) {
            return gr_fail_in(gr_schema_no_column(source->input, name), "parameter '%s'", attr->name);
        }
    }
    return GRANARY_OK;
}

/* Whether a list has the name; no list has all. */
static bool
is_listed(const Granary__Attr *names, const char *name)
{
    for (size_t i = 0; names != NULL && i < names->n_strings; i++) {
        if (strcmp(names->strings[i], name) == 0) {
            return true;
        }
    }
    return names == NULL;
}

/* "name is null", of floats "(name is null or isnan(name))". */
static void
add_missing(struct gr_buf *buffer, const struct gr_field *field)
{
    gr_buf_addf(buffer, is_float(field->dtype) ? "(" : "");
    add_name(buffer, field->name);
    gr_buf_addf(buffer, " is null");
    if (is_float(field->dtype)) {
        gr_buf_addf(buffer, " or isnan(");
        add_name(buffer, field->name);
        gr_buf_addf(buffer, "))");
    }
}

/* ---- columns chosen and named ---- */

static granary_err
lower_drop(const struct source *source, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = find(source, "columns");
    char **names = calloc(source->input->count + 1, sizeof *names);
    size_t count = 0;
    granary_err err = names == NULL ? out_of_memory() : check_columns(source, columns);

    for (size_t i = 0; i < source->input->count && err == GRANARY_OK; i++) {
        if (!is_listed(columns, source->input->fields[i].name)) {
            names[count++] = source->input->fields[i].name;
        }
    }
    if (err == GRANARY_OK && count == 0) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'columns' names all columns: none would be left");
    }
    if (err == GRANARY_OK) {
        lowered->op = GR_TILE_select;
        err = lowered_add(lowered, gr_attr_new_strings("columns", names, count));
    }
    free(names);
    return err;
}

static granary_err
lower_rename(const struct source *source, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = find(source, "columns");
    struct entries entries = {0};
    granary_err err = check_columns(source, columns);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < source->input->count; i++) {
        const char *name = source->input->fields[i].name;
        const char *renamed = name;
        struct gr_buf text = {0};

        for (size_t k = 0; k < columns->n_keys; k++) {
            renamed = strcmp(columns->keys[k], name) == 0 ? columns->strings[k] : renamed;
        }
        for (size_t k = 0; k < entries.count && err == GRANARY_OK; k++) {
            if (strcmp(entries.keys[k], renamed) == 0) {
                err = gr_fail(GRANARY_EINVAL, "parameter 'columns': two columns would be called '%.100s'", renamed);
            }
        }
        add_name(&text, name);
        entries_add(&entries, renamed, buffer_take(&text));
    }
    return entries_finish(&entries, err, "columns", GR_TILE_project, lowered);
}

/* ---- missing values ---- */

static granary_err
lower_dropna(const struct source *source, struct gr_lowered *lowered)
{
    const Granary__Attr *subset = find(source, "subset");
    int64_t thresh = gr_attr_int(source->attrs, source->count, "thresh", -1);
    bool all = strcmp(find_string(source, "how", "any"), "all") == 0;
    struct gr_buf where = {0};
    size_t used = 0;
    char *text;
    granary_err err = check_columns(source, subset);

    for (size_t i = 0; i < source->input->count && err == GRANARY_OK; i++) {
        const struct gr_field *field = &source->input->fields[i];

        if (!is_listed(subset, field->name)) {
            continue;
        }
        if (thresh >= 0) {
            gr_buf_addf(&where, "%scase when ", used++ > 0 ? " + " : "");
            add_missing(&where, field);
            gr_buf_addf(&where, " then 0 else 1 end");
        } else {
            gr_buf_addf(&where, "%snot ", used++ > 0 ? all ? " or " : " and " : "");
            add_missing(&where, field);
        }
    }
    if (err == GRANARY_OK && thresh >= 0) {
        gr_buf_addf(&where, " >= %" PRId64, thresh);
    }
    text = buffer_take(&where);
    if (err == GRANARY_OK) {
        lowered->op = GR_TILE_filter;
        err = text == NULL ? out_of_memory() : lowered_add(lowered, gr_attr_new_string("where", text));
    }
    free(text);
    return err;
}

static granary_err
fill_by_window(const struct source *source, const char *method, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = find(source, "columns");
    int64_t limit = gr_attr_int(source->attrs, source->count, "limit", -1);
    struct entries entries = {0};

    for (size_t i = 0; i < source->input->count; i++) {
        const char *name = source->input->fields[i].name;
        struct gr_buf text = {0};

        if (!is_listed(columns, name)) {
            continue;
        }
        gr_buf_addf(&text, "%s(", method);
        add_name(&text, name);
        if (limit >= 0) {
            gr_buf_addf(&text, ", %" PRId64, limit);
        }
        gr_buf_addf(&text, ")");
        entries_add(&entries, name, buffer_take(&text));
    }
    return entries_finish(&entries, GRANARY_OK, "columns", GR_TILE_window, lowered);
}

/* What is wrong for the first column that an expression does not fit for more than its dtype; "": nothing is. */
struct misfit {
    char why[640];
};

/* Whether an expression can be put in where this column has no value, as far as dtypes go: a text beside dates must be
 * a date. Only asked when nobody named the column; what cannot be parsed is told later. */
static bool
fits(const char *text, const struct gr_schema *input, const struct gr_field *field, struct misfit *misfit)
{
    struct gr_expr *expr = NULL;
    granary_err err = gr_expr_parse(text, &expr);
    bool good = err != GRANARY_OK || (err = gr_expr_check(expr, input), err != GRANARY_ETYPE && err != GRANARY_EINVAL);

    if (!good && err == GRANARY_EINVAL && misfit->why[0] == '\0') {
        (void)snprintf(misfit->why, sizeof misfit->why, "column '%.100s': expression `%.240s`, %.240s", field->name,
                       text, granary_error_message());
    }
    gr_expr_destroy(expr);
    return good;
}

/* Nobody's dtype alone is to blame when the expression is wrong by itself. */
static granary_err
fail_misfit(const struct misfit *misfit)
{
    return misfit->why[0] != '\0' ? gr_fail(GRANARY_EINVAL, "%s", misfit->why)
                                  : gr_fail(GRANARY_ETYPE, "no column has a dtype that the value fits");
}

static void
add_filled(struct gr_buf *text, const struct gr_field *field, const char *value)
{
    if (is_float(field->dtype)) {
        gr_buf_addf(text, "case when ");
        add_missing(text, field);
        gr_buf_addf(text, " then (%s) else ", value);
        add_name(text, field->name);
        gr_buf_addf(text, " end");
    } else {
        gr_buf_addf(text, "coalesce(");
        add_name(text, field->name);
        gr_buf_addf(text, ", %s)", value);
    }
}

static granary_err
lower_fillna(const struct source *source, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = find(source, "columns");
    const Granary__Attr *values = find(source, "values");
    const char *value = find_string(source, "value", NULL);
    const char *method = find_string(source, "method", NULL);
    struct misfit misfit = {.why = ""};
    struct entries entries = {0};
    granary_err err = check_columns(source, columns);

    if (err == GRANARY_OK) {
        err = check_columns(source, values);
    }
    if (err != GRANARY_OK || method != NULL) {
        return err != GRANARY_OK ? err : fill_by_window(source, method, lowered);
    }
    for (size_t i = 0; i < source->input->count; i++) {
        const struct gr_field *field = &source->input->fields[i];
        struct gr_buf text = {0};
        const char *with = value != NULL && is_listed(columns, field->name) ? value : NULL;
        char *made;

        for (size_t k = 0; values != NULL && k < values->n_keys; k++) {
            with = strcmp(values->keys[k], field->name) == 0 ? values->strings[k] : with;
        }
        if (with == NULL) {
            continue;
        }
        add_filled(&text, field, with);
        made = buffer_take(&text);
        if (made != NULL && value != NULL && columns == NULL && !fits(made, source->input, field, &misfit)) {
            free(made); /* a number does not fill strings: pandas would make a column of objects */
            continue;
        }
        entries_add(&entries, field->name, made);
    }
    if (entries.count == 0 && !entries.failed) {
        err = fail_misfit(&misfit);
    }
    return entries_finish(&entries, err, "columns", GR_TILE_assign, lowered);
}

/* ---- values ---- */

static void
add_replaced(struct gr_buf *text, const struct gr_field *field, const Granary__Attr *map)
{
    gr_buf_addf(text, "case");
    for (size_t k = 0; k < map->n_keys; k++) {
        gr_buf_addf(text, " when ");
        if (strcmp(map->keys[k], "null") == 0) {
            add_missing(text, field);
        } else {
            add_name(text, field->name);
            gr_buf_addf(text, " = (%s)", map->keys[k]);
        }
        gr_buf_addf(text, " then (%s)", map->strings[k]);
    }
    gr_buf_addf(text, " else ");
    add_name(text, field->name);
    gr_buf_addf(text, " end");
}

static void
add_clipped(struct gr_buf *text, const struct gr_field *field, const Granary__Attr *bound, const char *sign)
{
    if (bound == NULL) {
        return;
    }
    gr_buf_addf(text, " when ");
    add_name(text, field->name);
    if (bound->kind == GRANARY__ATTR__KIND__STRING) {
        gr_buf_addf(text, " %s %s^ then %s^", sign, bound->strings[0], bound->strings[0]);
    } else if (bound->kind == GRANARY__ATTR__KIND__INT) {
        gr_buf_addf(text, " %s %" PRId64 " then %" PRId64, sign, bound->ints[0], bound->ints[0]);
    } else {
        gr_buf_addf(text, " %s %.17g then %.17g", sign, bound->doubles[0], bound->doubles[0]);
    }
}

/* One expression for each column that is listed, or that can have one; what: added to text. */
static granary_err
lower_columns(const struct source *source, void (*add)(struct gr_buf *, const struct source *, const struct gr_field *),
              bool (*applies)(granary_dtype), struct gr_lowered *lowered)
{
    const Granary__Attr *columns = find(source, "columns");
    struct misfit misfit = {.why = ""};
    struct entries entries = {0};
    granary_err err = check_columns(source, columns);

    for (size_t i = 0; i < source->input->count && err == GRANARY_OK; i++) {
        const struct gr_field *field = &source->input->fields[i];
        struct gr_buf text = {0};
        char *made;

        if (!is_listed(columns, field->name) || (columns == NULL && applies != NULL && !applies(field->dtype))) {
            continue;
        }
        add(&text, source, field);
        made = buffer_take(&text);
        if (made != NULL && columns == NULL && !fits(made, source->input, field, &misfit)) {
            free(made);
            continue;
        }
        entries_add(&entries, field->name, made);
    }
    if (err == GRANARY_OK && entries.count == 0 && !entries.failed) {
        err = fail_misfit(&misfit);
    }
    return entries_finish(&entries, err, "columns", GR_TILE_assign, lowered);
}

static void
make_replaced(struct gr_buf *text, const struct source *source, const struct gr_field *field)
{
    add_replaced(text, field, find(source, "values"));
}

static granary_err
lower_replace(const struct source *source, struct gr_lowered *lowered)
{
    return lower_columns(source, make_replaced, NULL, lowered);
}

static void
make_clipped(struct gr_buf *text, const struct source *source, const struct gr_field *field)
{
    gr_buf_addf(text, "case");
    add_clipped(text, field, find(source, "lower"), "<");
    add_clipped(text, field, find(source, "upper"), ">");
    gr_buf_addf(text, " else ");
    add_name(text, field->name);
    gr_buf_addf(text, " end");
}

static granary_err
lower_clip(const struct source *source, struct gr_lowered *lowered)
{
    return lower_columns(source, make_clipped, is_number, lowered);
}

static void
make_where(struct gr_buf *text, const struct source *source, const struct gr_field *field)
{
    const char *condition = find_string(source, "condition", "");
    const char *other = find_string(source, "other", "null");

    gr_buf_addf(text, "case when (%s) then ", condition);
    if (source->op == GR_TILE_mask_columns) {
        gr_buf_addf(text, "(%s) else ", other);
        add_name(text, field->name);
    } else {
        add_name(text, field->name);
        gr_buf_addf(text, " else (%s)", other);
    }
    gr_buf_addf(text, " end");
}

static granary_err
lower_where(const struct source *source, struct gr_lowered *lowered)
{
    return lower_columns(source, make_where, NULL, lowered);
}

static void
make_parsed(struct gr_buf *text, const struct source *source, const struct gr_field *field)
{
    bool coerce = strcmp(find_string(source, "errors", "raise"), "coerce") == 0;
    const char *format = find_string(source, "format", NULL);

    if (format != NULL) {
        gr_buf_addf(text, "%sstrptime(", coerce ? "try_" : "");
        add_name(text, field->name);
        gr_buf_addf(text, ", ");
        add_quoted(text, format);
        gr_buf_addf(text, ")");
        return;
    }
    gr_buf_addf(text, "%scast(", coerce ? "try_" : "");
    add_name(text, field->name);
    gr_buf_addf(text, source->op == GR_TILE_to_datetime ? " as timestamp)" : " as float64)");
}

static granary_err
lower_parsed(const struct source *source, struct gr_lowered *lowered)
{
    return lower_columns(source, make_parsed, NULL, lowered);
}

static granary_err
lower_astype(const struct source *source, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = find(source, "columns");
    bool coerce = strcmp(find_string(source, "errors", "raise"), "coerce") == 0;
    struct entries entries = {0};
    granary_err err = check_columns(source, columns);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t k = 0; k < columns->n_keys; k++) {
        struct gr_buf text = {0};

        gr_buf_addf(&text, "%scast(", coerce ? "try_" : "");
        add_name(&text, columns->keys[k]);
        gr_buf_addf(&text, " as %s)", columns->strings[k]);
        entries_add(&entries, columns->keys[k], buffer_take(&text));
    }
    return entries_finish(&entries, GRANARY_OK, "columns", GR_TILE_assign, lowered);
}

/* ---- bins and categories ---- */

static granary_err
lower_cut(const struct source *source, struct gr_lowered *lowered)
{
    const char *column = find_string(source, "column", "");
    const Granary__Attr *bins = find(source, "bins");
    const Granary__Attr *labels = find(source, "labels");
    bool right = gr_attr_bool(source->attrs, source->count, "right", true);
    bool lowest = gr_attr_bool(source->attrs, source->count, "include_lowest", false);
    int at = gr_schema_find(source->input, column);
    struct gr_buf text = {0};
    struct entries entries = {0};

    if (at < 0) {
        return gr_fail_in(gr_schema_no_column(source->input, column), "parameter 'column'");
    }
    gr_buf_addf(&text, "case");
    for (size_t b = 0; b + 1 < bins->n_strings; b++) {
        bool closed = right ? b == 0 && lowest : true;
        struct gr_buf label = {0};
        char *made;

        gr_buf_addf(&text, " when ");
        add_name(&text, column);
        gr_buf_addf(&text, " %s %s and ", closed ? ">=" : ">", bins->strings[b]);
        add_name(&text, column);
        gr_buf_addf(&text, " %s %s then ", right ? "<=" : "<", bins->strings[b + 1]);
        if (labels == NULL) {
            gr_buf_addf(&label, "%s%s, %s%s", right ? "(" : "[", bins->strings[b], bins->strings[b + 1],
                        right ? "]" : ")");
        } else {
            gr_buf_addf(&label, "%s", labels->strings[b]);
        }
        made = buffer_take(&label);
        if (made == NULL) {
            entries.failed = true;
        } else {
            add_quoted(&text, made);
        }
        free(made);
    }
    gr_buf_addf(&text, " else null end");
    entries_add(&entries, find_string(source, "name", column), buffer_take(&text));
    return entries_finish(&entries, GRANARY_OK, "columns", GR_TILE_assign, lowered);
}

static granary_err
lower_get_dummies(const struct source *source, struct gr_lowered *lowered)
{
    const char *column = find_string(source, "column", "");
    const Granary__Attr *categories = find(source, "categories");
    const char *prefix = find_string(source, "prefix", column);
    int at = gr_schema_find(source->input, column);
    struct entries entries = {0};

    if (at < 0) {
        return gr_fail_in(gr_schema_no_column(source->input, column), "parameter 'column'");
    }
    for (size_t i = 0; i < source->input->count; i++) {
        struct gr_buf text = {0};

        if ((int)i != at) {
            add_name(&text, source->input->fields[i].name);
            entries_add(&entries, source->input->fields[i].name, buffer_take(&text));
        }
    }
    for (size_t c = 0; c < categories->n_strings; c++) {
        struct gr_buf text = {0};
        struct gr_buf name = {0};
        char *made;

        gr_buf_addf(&text, "coalesce(");
        add_name(&text, column);
        gr_buf_addf(&text, " = ");
        if (source->input->fields[at].dtype == GRANARY_STRING) {
            add_quoted(&text, categories->strings[c]);
        } else {
            gr_buf_addf(&text, "%s", categories->strings[c]);
        }
        gr_buf_addf(&text, ", false)");
        gr_buf_addf(&name, "%s%s%s", prefix, prefix[0] != '\0' ? "_" : "", categories->strings[c]);
        made = buffer_take(&name);
        if (made == NULL) {
            entries.failed = true;
            gr_buf_free(&text);
        } else {
            entries_add(&entries, made, buffer_take(&text));
        }
        free(made);
    }
    return entries_finish(&entries, GRANARY_OK, "columns", GR_TILE_project, lowered);
}

/* ---- the largest and smallest ---- */

static granary_err
lower_extremes(const struct source *source, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = find(source, "columns");
    bool descending = source->op == GR_TILE_nlargest;
    granary_err err = check_columns(source, columns);

    if (err == GRANARY_OK) {
        lowered->op = GR_TILE_sort;
        lowered->limit = gr_attr_int(source->attrs, source->count, "rows", 0);
        err = lowered_add(lowered, gr_attr_new_strings("by", columns->strings, columns->n_strings));
    }
    if (err == GRANARY_OK) {
        err = lowered_add(lowered, gr_attr_new_bools("descending", &descending, 1));
    }
    return err;
}

/* ---- one group of all rows ---- */

static granary_err
lower_aggregate(const struct source *source, struct gr_lowered *lowered)
{
    granary_err err;

    lowered->op = GR_TILE_groupby;
    err = lowered_add(lowered, gr_attr_new_strings("keys", NULL, 0));
    return err == GRANARY_OK ? lowered_add(lowered, gr_attr_copy(find(source, "aggregate"))) : err;
}

/* ---- rows ---- */

static granary_err
lower_tail(const struct source *source, struct gr_lowered *lowered)
{
    int64_t rows = gr_attr_int(source->attrs, source->count, "rows", 0);

    lowered->op = GR_TILE_slice;
    return lowered_add(lowered, rows > 0 ? gr_attr_new_int("start", -rows) : gr_attr_new_int("stop", 0));
}

/* A groupby of all rows; *takes* the aggregates. */
static granary_err
finish_total(struct entries *entries, granary_err err, struct gr_lowered *lowered)
{
    err = entries_finish(entries, err, "aggregate", GR_TILE_groupby, lowered);
    return err == GRANARY_OK ? lowered_add(lowered, gr_attr_new_strings("keys", NULL, 0)) : err;
}

static granary_err
lower_quantile(const struct source *source, struct gr_lowered *lowered)
{
    const Granary__Attr *columns = find(source, "columns");
    struct entries entries = {0};
    granary_err err = check_columns(source, columns);

    for (size_t i = 0; i < (columns != NULL ? columns->n_strings : source->input->count) && err == GRANARY_OK; i++) {
        const struct gr_field *field = columns == NULL ? &source->input->fields[i] : NULL;
        const char *name = columns != NULL ? columns->strings[i] : field->name;
        struct gr_buf text = {0};

        if (columns != NULL || is_number(field->dtype)) {
            gr_buf_addf(&text, "quantile(");
            add_name(&text, name);
            gr_buf_addf(&text, ", %.17g)", gr_attr_double(source->attrs, source->count, "q", 0.5));
            entries_add(&entries, name, buffer_take(&text));
        }
    }
    if (err == GRANARY_OK && entries.count == 0 && !entries.failed) {
        err = gr_fail(GRANARY_ETYPE, "no column has numbers");
    }
    return finish_total(&entries, err, lowered);
}

static granary_err
lower_count_rows(const struct source *source, struct gr_lowered *lowered)
{
    struct entries entries = {0};

    entries_add(&entries, find_string(source, "name", "rows"), strdup("size"));
    return finish_total(&entries, GRANARY_OK, lowered);
}

static granary_err
lower_reset_index(const struct source *source, struct gr_lowered *lowered)
{
    const char *name = find_string(source, "name", "index");
    struct entries entries = {0};

    if (gr_schema_find(source->input, name) >= 0) {
        return gr_fail(GRANARY_EINVAL, "there is a column '%.100s' already: choose another 'name'", name);
    }
    entries_add(&entries, name, strdup("cumcount()"));
    return entries_finish(&entries, GRANARY_OK, "columns", GR_TILE_window, lowered);
}

/* ---- the table ---- */

typedef granary_err lower_rule(const struct source *source, struct gr_lowered *lowered);

static lower_rule *const rules[GR_TILE_COUNT] = {
    [GR_TILE_drop] = lower_drop,
    [GR_TILE_rename] = lower_rename,
    [GR_TILE_dropna] = lower_dropna,
    [GR_TILE_fillna] = lower_fillna,
    [GR_TILE_replace] = lower_replace,
    [GR_TILE_astype_columns] = lower_astype,
    [GR_TILE_clip_columns] = lower_clip,
    [GR_TILE_where_columns] = lower_where,
    [GR_TILE_mask_columns] = lower_where,
    [GR_TILE_nlargest] = lower_extremes,
    [GR_TILE_nsmallest] = lower_extremes,
    [GR_TILE_cut] = lower_cut,
    [GR_TILE_get_dummies] = lower_get_dummies,
    [GR_TILE_to_datetime] = lower_parsed,
    [GR_TILE_to_numeric] = lower_parsed,
    [GR_TILE_aggregate] = lower_aggregate,
    [GR_TILE_tail] = lower_tail,
    [GR_TILE_quantile] = lower_quantile,
    [GR_TILE_count_rows] = lower_count_rows,
    [GR_TILE_reset_index] = lower_reset_index,
};

bool
gr_op_is_lowered(enum gr_tile_op op)
{
    return rules[op] != NULL;
}

granary_err
gr_lower(enum gr_tile_op op, Granary__Attr *const *attrs, size_t count, const struct gr_schema *input,
         struct gr_lowered *ret_lowered)
{
    struct source source = {.op = op, .attrs = attrs, .count = count, .input = input};
    struct gr_lowered lowered = {.op = op, .limit = -1};
    granary_err err = rules[op](&source, &lowered);

    if (err != GRANARY_OK) {
        gr_lowered_free(&lowered);
        return err;
    }
    *ret_lowered = lowered;
    return GRANARY_OK;
}

/* ---- what can be said without the input ---- */

static granary_err
check_choice(const struct source *source, const char *name, const char *first, const char *second)
{
    const char *value = find_string(source, name, first);

    if (strcmp(value, first) != 0 && strcmp(value, second) != 0) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' is '%.40s'; it can be '%s' or '%s'", name, value, first, second);
    }
    return GRANARY_OK;
}

static granary_err
check_fillna(const struct source *source)
{
    bool value = find(source, "value") != NULL || find(source, "values") != NULL;
    bool method = find(source, "method") != NULL;

    if (value == method) {
        return gr_fail(GRANARY_EINVAL, "it needs 'value' or 'values', or else 'method'");
    }
    if (find(source, "limit") != NULL && (!method || gr_attr_int(source->attrs, source->count, "limit", 0) < 0)) {
        return gr_fail(GRANARY_EINVAL, "parameter 'limit' belongs to 'method', and cannot be negative");
    }
    return check_choice(source, "method", "ffill", "bfill");
}

static granary_err
check_cut(const struct source *source)
{
    const Granary__Attr *bins = find(source, "bins");
    const Granary__Attr *labels = find(source, "labels");
    double before = -INFINITY;

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

granary_err
gr_lower_check(const Granary__Node *node, enum gr_tile_op op)
{
    struct source source = {.op = op, .attrs = node->attrs, .count = node->n_attrs};
    static const char *const lists[] = {"columns", "subset", "values"};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const Granary__Attr *attr = find(&source, lists[i]);

        if (attr != NULL && attr->n_strings == 0) {
            return gr_fail(GRANARY_EINVAL, "parameter '%s' is empty", attr->name);
        }
    }
    switch (op) {
    case GR_TILE_dropna:
        return check_choice(&source, "how", "any", "all");
    case GR_TILE_fillna:
        return check_fillna(&source);
    case GR_TILE_clip_columns:
        if (find(&source, "lower") == NULL && find(&source, "upper") == NULL) {
            err = gr_fail(GRANARY_EINVAL, "it needs 'lower' or 'upper'");
        }
        return err;
    case GR_TILE_astype_columns:
    case GR_TILE_to_datetime:
    case GR_TILE_to_numeric:
        return check_choice(&source, "errors", "raise", "coerce");
    case GR_TILE_nlargest:
    case GR_TILE_nsmallest:
    case GR_TILE_tail:
        if (gr_attr_int(node->attrs, node->n_attrs, "rows", 0) < 0) {
            err = gr_fail(GRANARY_EINVAL, "parameter 'rows' cannot be negative");
        }
        return err;
    case GR_TILE_cut:
        return check_cut(&source);
    case GR_TILE_quantile:
        if (!(gr_attr_double(node->attrs, node->n_attrs, "q", 0.5) >= 0 &&
              gr_attr_double(node->attrs, node->n_attrs, "q", 0.5) <= 1)) {
            err = gr_fail(GRANARY_EINVAL, "parameter 'q' is not from 0 to 1");
        }
        return err;
    default:
        return GRANARY_OK;
    }
}
