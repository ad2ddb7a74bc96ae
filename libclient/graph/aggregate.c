#include "graph/aggregate.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/nearest.h"

static const char *const names[] = {
    [GR_AGGREGATE_SIZE] = "size",       [GR_AGGREGATE_COUNT] = "count", [GR_AGGREGATE_SUM] = "sum",
    [GR_AGGREGATE_MEAN] = "mean",       [GR_AGGREGATE_MIN] = "min",     [GR_AGGREGATE_MAX] = "max",
    [GR_AGGREGATE_NUNIQUE] = "nunique",
};
enum { FUNCTIONS = sizeof names / sizeof names[0] };

/* The text without blanks around it. */
static void
trim(const char **text, size_t *size)
{
    while (*size > 0 && (*text)[0] == ' ') {
        (*text)++;
        (*size)--;
    }
    while (*size > 0 && (*text)[*size - 1] == ' ') {
        (*size)--;
    }
}

static granary_err
parse_function(const char *text, size_t size, enum gr_aggregate_function *ret_function)
{
    char name[32];
    char hint[GR_HINT_MAX];
    struct gr_nearest nearest = {.name = name};

    trim(&text, &size);
    size = size < sizeof name ? size : sizeof name - 1;
    memcpy(name, text, size);
    name[size] = '\0';
    for (int i = 0; i < FUNCTIONS; i++) {
        if (strcasecmp(name, names[i]) == 0) {
            *ret_function = (enum gr_aggregate_function)i;
            return GRANARY_OK;
        }
        gr_nearest_offer(&nearest, names[i]);
    }
    return gr_fail(GRANARY_EINVAL, "no function '%s'%s%s", name, gr_nearest_hint(&nearest, hint),
                   nearest.best == NULL ? "; there are: size, count, sum, mean, min, max, nunique" : "");
}

/* The column between the brackets, without backquotes around it. *gives*; NULL: no memory. */
static char *
column_name(const char *text, size_t size)
{
    size_t used = 0;
    bool quoted;
    char *name;

    /* Blanks at the ends belong to the name, but around backquotes they cannot. */
    const char *trimmed = text;
    size_t trimmed_size = size;

    trim(&trimmed, &trimmed_size);
    quoted = trimmed_size >= 2 && trimmed[0] == '`' && trimmed[trimmed_size - 1] == '`';
    if (!quoted) {
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
        return gr_fail(GRANARY_EINVAL, "'%s' needs a column: %s(column)", text, names[aggregate->function]);
    }
    if (close == NULL || close < open || strspn(close + 1, " ") != strlen(close + 1)) {
        return gr_fail(GRANARY_EINVAL, "'%s' does not end with ')'", text);
    }
    if (aggregate->function == GR_AGGREGATE_SIZE) {
        return strspn(open + 1, " ") == (size_t)(close - open - 1)
                   ? GRANARY_OK
                   : gr_fail(GRANARY_EINVAL, "size counts rows and takes no column; count(column) counts values");
    }
    aggregate->column = column_name(open + 1, (size_t)(close - open - 1));
    if (aggregate->column == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    if (aggregate->column[0] == '\0') {
        return gr_fail(GRANARY_EINVAL, "'%s' names no column", text);
    }
    return GRANARY_OK;
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
    }
    free(aggregates);
}

granary_err
gr_aggregate_dtype(enum gr_aggregate_function function, granary_dtype dtype, granary_dtype *ret_dtype)
{
    bool number =
        dtype == GRANARY_BOOL || dtype == GRANARY_INT64 || dtype == GRANARY_FLOAT64 || dtype == GRANARY_NULLTYPE;

    switch (function) {
    case GR_AGGREGATE_SIZE:
    case GR_AGGREGATE_COUNT:
    case GR_AGGREGATE_NUNIQUE:
        *ret_dtype = GRANARY_INT64;
        return GRANARY_OK;
    case GR_AGGREGATE_MIN:
    case GR_AGGREGATE_MAX:
        *ret_dtype = dtype;
        return GRANARY_OK;
    case GR_AGGREGATE_SUM:
    case GR_AGGREGATE_MEAN:
        if (!number) {
            return gr_fail(GRANARY_ETYPE, "%s needs numbers, not %s", names[function], granary_dtype_name(dtype));
        }
        *ret_dtype = function == GR_AGGREGATE_MEAN || dtype == GRANARY_FLOAT64 ? GRANARY_FLOAT64 : GRANARY_INT64;
        return GRANARY_OK;
    }
    return gr_fail(GRANARY_EINVAL, "no such function");
}
