/* Aggregates from text, and what each takes and gives by its row of graph/operators/aggregates.def. */
#include "graph/operators/aggregate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/frame.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"
#include "graph/operators/nearest.h"

enum second { SECOND_NOTHING, SECOND_DDOF, SECOND_FRACTION, SECOND_ARGUMENT, SECOND_ROWS };
enum values { VALUES_ANY, VALUES_ADDABLE, VALUES_NUMBER, VALUES_BETWEEN, VALUES_ORDERED, VALUES_WHOLE };

/* From SAME on a group of no value has none. */
enum gives {
    GIVES_INT,
    GIVES_BOOL,
    GIVES_SUM,
    GIVES_PRODUCT,
    GIVES_SAME,
    GIVES_BETWEEN,
    GIVES_SPREAD,
    GIVES_REAL,
    GIVES_LIST
};
enum order { ORDER_BLIND, ORDER_ZEROS, ORDER_SEES };

static const struct function {
    const char *name;
    enum second second;
    enum values values;
    enum gives gives;
    enum order order;
    bool keeps_values;
} functions[] = {
#define NONE                0
#define SUM                 0
#define MOMENTS             0
#define ITEM(kind, measure) KEPT_##kind
#define KEPT_COUNT          0
#define KEPT_VALUE          0
#define KEPT_LIST           1
#define AGGREGATE(id, text, second, takes, gives, order, part, ...)                                                    \
    {text, SECOND_##second, VALUES_##takes, GIVES_##gives, ORDER_##order, part},
#include "graph/operators/aggregates.def"
};
#undef NONE
#undef SUM
#undef MOMENTS
#undef ITEM
enum { FUNCTIONS = sizeof functions / sizeof functions[0], NAMES_TEXT_MAX = 512 };

static granary_err
parse_function(const char *text, size_t size, enum gr_aggregate_function *ret_function)
{
    char name[32];
    char hint[GR_HINT_MAX];
    struct gr_nearest nearest = {.name = name};
    char known[NAMES_TEXT_MAX] = "";
    size_t used = 0;

    text = gr_trim_spaces(text, &size);
    size = size < sizeof name ? size : sizeof name - 1;
    memcpy(name, text, size);
    name[size] = '\0';
    for (int i = 0; i < FUNCTIONS; i++) {
        if (strcasecmp(name, functions[i].name) == 0) {
            *ret_function = (enum gr_aggregate_function)i;
            return GRANARY_OK;
        }
        gr_nearest_offer(&nearest, functions[i].name);
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i == 0 ? "; there are: " : ", ",
                                 functions[i].name);
    }
    return gr_fail(GRANARY_EINVAL, "no function '%s'%s%s", name, gr_nearest_hint(&nearest, hint),
                   nearest.best == NULL ? known : "");
}

bool
gr_aggregate_exists(const char *name)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        if (strcasecmp(name, functions[i].name) == 0) {
            return true;
        }
    }
    return false;
}

void
gr_aggregates_offer(struct gr_nearest *nearest)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        gr_nearest_offer(nearest, functions[i].name);
    }
}

/* Whether all of the text is one name in backquotes: those within are doubled. */
static bool
is_quoted(const char *text, size_t size)
{
    if (size < 2 || text[0] != '`' || text[size - 1] != '`') {
        return false;
    }
    for (size_t i = 1; i + 1 < size; i++) {
        if (text[i] == '`' && (i + 2 >= size || text[++i] != '`')) {
            return false;
        }
    }
    return true;
}

/* An argument, without backquotes around it. *gives*; NULL: no memory. */
static char *
argument(const char *text, size_t size)
{
    size_t used = 0;
    char *name;

    /* Blanks at the ends belong to the name, but around backquotes they cannot. */
    const char *trimmed = text;
    size_t trimmed_size = size;

    trimmed = gr_trim_spaces(trimmed, &trimmed_size);
    if (!is_quoted(trimmed, trimmed_size)) {
        return strndup(text, size);
    }
    name = malloc(trimmed_size);
    for (size_t i = 1; name != NULL && i + 1 < trimmed_size; i++) {
        name[used++] = trimmed[i];
        if (trimmed[i] == '`' && i + 2 < trimmed_size && trimmed[i + 1] == '`') {
            i++;
        }
    }
    if (name != NULL) {
        name[used] = '\0';
    }
    return name;
}

/* Where the last comma is that stands in no brackets and no quotes; size: there is none. */
static size_t
last_comma(const char *text, size_t size)
{
    size_t found = size;
    char quote = '\0';
    int depth = 0;

    for (size_t i = 0; i < size; i++) {
        if (quote != '\0') {
            quote = text[i] == quote ? '\0' : quote;
        } else if (text[i] == '`' || text[i] == '\'' || text[i] == '"') {
            quote = text[i];
        } else if (text[i] == '(') {
            depth++;
        } else if (text[i] == ')') {
            depth--;
        } else if (text[i] == ',' && depth == 0) {
            found = i;
        }
    }
    return found;
}

/* The second argument as a number in its range. */
static granary_err
parse_number(const char *text, size_t size, enum second second, double *ret_number)
{
    const char *name = second == SECOND_FRACTION ? "a fraction from 0 to 1"
                       : second == SECOND_DDOF   ? "a number of degrees of freedom, 0 or more"
                                                 : "a number of rows from 1 to 1000";
    char copy[64];
    char *end;
    double number;
    bool fits;

    text = gr_trim_spaces(text, &size);
    if (size == 0 || size >= sizeof copy) {
        return gr_fail(GRANARY_EINVAL, "the second argument must be %s", name);
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    number = strtod(copy, &end);
    fits = *end == '\0' && number >= 0.0 && (second != SECOND_FRACTION || number <= 1.0) &&
           (second == SECOND_FRACTION || (floor(number) == number && number <= 1e9)) &&
           (second != SECOND_ROWS || (number >= 1.0 && number <= GR_AGGREGATE_ROWS_MAX));
    if (!fits) {
        return gr_fail(GRANARY_EINVAL, "the second argument must be %s, not '%s'", name, copy);
    }
    *ret_number = number;
    return GRANARY_OK;
}

/* What is between the brackets. */
static granary_err
parse_arguments(const char *text, size_t size, struct gr_aggregate *aggregate)
{
    const struct function *function = &functions[aggregate->function];
    size_t first = function->second == SECOND_NOTHING ? size : last_comma(text, size);
    granary_err err = GRANARY_OK;
    bool fraction = function->second == SECOND_FRACTION || aggregate->function == GR_AGGREGATE_MEDIAN;

    aggregate->number = function->second == SECOND_DDOF ? 1.0 : fraction ? 0.5 : 0.0;
    if (first == size && (function->second == SECOND_ARGUMENT || function->second == SECOND_ROWS)) {
        return gr_fail(GRANARY_EINVAL, "%s needs a second argument: %s", function->name,
                       function->second == SECOND_ROWS ? "how many" : "the other column");
    }
    if (first < size && function->second == SECOND_ARGUMENT) {
        const char *second = text + first + 1;
        size_t second_size = size - first - 1;

        second = gr_trim_spaces(second, &second_size);
        aggregate->second = argument(second, second_size);
        if (aggregate->second == NULL) {
            return gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        if (aggregate->second[0] == '\0') {
            return gr_fail(GRANARY_EINVAL, "the second argument of %s names no column", function->name);
        }
    } else if (first < size) {
        err = parse_number(text + first + 1, size - first - 1, function->second, &aggregate->number);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    aggregate->column = argument(text, first);
    if (aggregate->column == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    return aggregate->column[0] == '\0' ? gr_fail(GRANARY_EINVAL, "%s names no column", function->name) : GRANARY_OK;
}

/* On failure *aggregate is left for gr_aggregates_free(). */
static granary_err
parse_one(const char *text, struct gr_aggregate *aggregate)
{
    const char *open = strchr(text, '(');
    const char *close = strrchr(text, ')');
    granary_err err = parse_function(text, open == NULL ? strlen(text) : (size_t)(open - text), &aggregate->function);

    if (err != GRANARY_OK) {
        return err;
    }
    if (open == NULL && aggregate->function == GR_AGGREGATE_SIZE) {
        return GRANARY_OK;
    }
    if (open == NULL) {
        return gr_fail(GRANARY_EINVAL, "'%s' needs a column: %s(column)", text, functions[aggregate->function].name);
    }
    if (close == NULL || close < open || strspn(close + 1, " ") != strlen(close + 1)) {
        return gr_fail(GRANARY_EINVAL, "'%s' does not end with ')'", text);
    }
    if (aggregate->function == GR_AGGREGATE_SIZE) {
        return strspn(open + 1, " ") == (size_t)(close - open - 1)
                   ? GRANARY_OK
                   : gr_fail(GRANARY_EINVAL, "size counts rows and takes no column; count(column) counts values");
    }
    return parse_arguments(open + 1, (size_t)(close - open - 1), aggregate);
}

granary_err
gr_aggregates_parse(const Granary__Attr *attr, struct gr_aggregate **ret_aggregates, size_t *ret_count)
{
    struct gr_aggregate *aggregates;
    size_t count = attr->n_keys;
    granary_err err = GRANARY_OK;

    if (attr->kind != GRANARY__ATTR__KIND__MAP || attr->n_strings != count) {
        return gr_fail(GRANARY_EINVAL, "aggregate: it is no mapping");
    }
    aggregates = calloc(count + 1, sizeof *aggregates);
    if (aggregates == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        aggregates[i].name = strdup(attr->keys[i]);
        err = aggregates[i].name == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory")
                                         : parse_one(attr->strings[i], &aggregates[i]);
        if (err != GRANARY_OK) {
            err = gr_fail_in(err, "aggregate '%s'", attr->keys[i]);
        }
    }
    for (size_t i = 0; i < count && err == GRANARY_OK && count > 1; i++) {
        if (gr_aggregate_is_rows(&aggregates[i])) {
            err = gr_fail(GRANARY_EINVAL, "aggregate '%s': %s gives several rows a group and stands alone",
                          aggregates[i].name, functions[aggregates[i].function].name);
        }
    }
    if (err != GRANARY_OK) {
        gr_aggregates_free(aggregates, count);
        return err;
    }
    *ret_aggregates = aggregates;
    *ret_count = count;
    return GRANARY_OK;
}

void
gr_aggregates_free(struct gr_aggregate *aggregates, size_t count)
{
    for (size_t i = 0; aggregates != NULL && i < count; i++) {
        free(aggregates[i].name);
        free(aggregates[i].column);
        free(aggregates[i].second);
    }
    free(aggregates);
}

static bool
takes(enum values values, enum gr_dtype_class kind)
{
    switch (values) {
    case VALUES_ANY:
        return true;
    case VALUES_ADDABLE:
        return kind < GR_CLASS_MOMENT;
    case VALUES_NUMBER:
        return kind <= GR_CLASS_DECIMAL;
    case VALUES_BETWEEN:
        return kind <= GR_CLASS_MOMENT;
    case VALUES_ORDERED:
        return kind <= GR_CLASS_MOMENT && kind != GR_CLASS_BOOL;
    case VALUES_WHOLE:
        return kind == GR_CLASS_SIGNED || kind == GR_CLASS_UNSIGNED;
    }
    return false;
}

static granary_dtype
dtype_given(enum gives gives, enum gr_dtype_class kind, granary_dtype dtype)
{
    bool stays = kind == GR_CLASS_DURATION || dtype == GRANARY_FLOAT32;

    switch (gives) {
    case GIVES_INT:
        return GRANARY_INT64;
    case GIVES_BOOL:
        return GRANARY_BOOL;
    case GIVES_SUM:
    case GIVES_PRODUCT:
        return kind == GR_CLASS_REAL || (kind == GR_CLASS_DECIMAL && gives == GIVES_SUM) || kind == GR_CLASS_DURATION
                   ? dtype
               : kind == GR_CLASS_DECIMAL  ? GRANARY_FLOAT64
               : kind == GR_CLASS_UNSIGNED ? GRANARY_UINT64
                                           : GRANARY_INT64;
    case GIVES_SAME:
        return dtype;
    case GIVES_BETWEEN: /* two dates is a time of day */
        return dtype == GRANARY_DATE ? GRANARY_TIMESTAMP : stays || kind == GR_CLASS_MOMENT ? dtype : GRANARY_FLOAT64;
    case GIVES_SPREAD:
        return dtype == GRANARY_FLOAT32 ? dtype : GRANARY_FLOAT64;
    case GIVES_LIST:
        return GRANARY_LIST(dtype == GRANARY_NULLTYPE ? GRANARY_STRING : dtype);
    case GIVES_REAL:
        break;
    }
    return GRANARY_FLOAT64;
}

granary_err
gr_aggregate_dtype(enum gr_aggregate_function function, granary_dtype dtype, granary_dtype *ret_dtype)
{
    enum gr_dtype_class kind = gr_dtype_class(dtype);

    if (kind == GR_CLASS_LIST && function != GR_AGGREGATE_SIZE && function != GR_AGGREGATE_COUNT) {
        return gr_fail(GRANARY_ETYPE, "%s takes no lists, such as %s: explode the column, or take a value of each list",
                       functions[function].name, granary_dtype_name(dtype));
    }
    if (function != GR_AGGREGATE_SIZE && !takes(functions[function].values, kind)) {
        return gr_fail(GRANARY_ETYPE, "%s needs %s, not %s", functions[function].name,
                       functions[function].values == VALUES_WHOLE ? "integers" : "numbers", granary_dtype_name(dtype));
    }
    *ret_dtype = dtype_given(functions[function].gives, kind, dtype);
    return GRANARY_OK;
}

bool
gr_aggregate_has_nulls(enum gr_aggregate_function function)
{
    return functions[function].gives >= GIVES_SAME;
}

bool
gr_aggregate_keeps_values(enum gr_aggregate_function function)
{
    return functions[function].keeps_values;
}

bool
gr_aggregate_is_blind(enum gr_aggregate_function function, granary_dtype dtype)
{
    enum order order = functions[function].order;

    return order == ORDER_BLIND || (order == ORDER_ZEROS && gr_dtype_class(dtype) != GR_CLASS_REAL);
}

bool
gr_aggregate_describes(granary_dtype dtype)
{
    enum gr_dtype_class kind = gr_dtype_class(dtype);

    return kind == GR_CLASS_SIGNED || kind == GR_CLASS_UNSIGNED || kind == GR_CLASS_REAL || kind == GR_CLASS_DECIMAL;
}

granary_err
gr_aggregate_argument(struct gr_trees *trees, const char *text, const struct gr_schema *schema,
                      granary_dtype *ret_dtype)
{
    const struct gr_expr *plain;
    struct gr_expr *expr = NULL;
    int index = gr_schema_find(schema, text);
    granary_err err;

    if (index >= 0) {
        *ret_dtype = schema->fields[index].dtype;
        return GRANARY_OK;
    }
    err = gr_trees_find(trees, text, &plain);
    if (err == GRANARY_EINVAL && strpbrk(text, "+-*/%()<>='\"") == NULL) {
        return gr_schema_no_column(schema, text); /* a name that is no expression: the column is what is missing */
    }
    if (err == GRANARY_OK && plain->kind == GR_EXPR_COLUMN && gr_schema_find(schema, plain->column) < 0) {
        return gr_schema_no_column(schema, plain->column);
    }
    if (err == GRANARY_OK) {
        err = gr_trees_check(trees, text, schema, &expr);
    }
    if (err == GRANARY_OK) {
        *ret_dtype = expr->dtype;
    }
    gr_expr_destroy(expr);
    return err;
}
