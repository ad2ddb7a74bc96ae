/* What columns have: how many different values and nulls (n_unique, null_count), and what describe tells of texts. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/dtype_class.h"
#include "graph/operators/aggregate.h"
#include "graph/rewrite/private.h"

/* ---- counts of each column ---- */

static const char *
different_text(struct rewrite *x, const struct gr_field *field)
{
    return rewrite_text(x, "nunique(%s)", rewrite_name(x, field->name));
}

static const char *
null_text(struct rewrite *x, const struct gr_field *field)
{
    const char *name = rewrite_name(x, field->name);

    return rewrite_text(x, "sum(case when %s then 1 else 0 end)",
                        rewrite_param_bool(x, "nans") ? rewrite_missing(x, field)
                                                      : rewrite_text(x, "%s is null", name));
}

/* One aggregate for each column that is named, or for all. */
static struct gr_node *
count_columns(struct rewrite *x, const char *(*make)(struct rewrite *, const struct gr_field *))
{
    const struct gr_schema *schema = rewrite_schema(x);
    bool named = rewrite_param(x, "columns") != NULL;

    for (size_t i = 0; i < schema->count; i++) {
        const struct gr_field *field = &schema->fields[i];

        if (!named || rewrite_is_listed(x, "columns", field->name)) {
            rewrite_entry(x, field->name, make(x, field));
        }
    }
    return rewrite_add(x, GR_TILE_aggregate, rewrite_input(x, 0), NULL, rewrite_map(x, "aggregate"), NULL);
}

REWRITE_AS(n_unique, count_columns(x, different_text))
REWRITE_AS(null_count, count_columns(x, null_text))

/* ---- describe ---- */

/* The statistics, and which of them there are of numbers, and of texts. */
static const struct {
    const char *name;
    const char *number; /* what is computed; NULL: nothing */
    const char *text;
} statistics[] = {{"count", "count(%s)", "count(%s)"},
                  {"unique", NULL, "nunique(%s)"},
                  {"top", NULL, "mode(%s)"},
                  {"freq", NULL, "mode_count(%s)"},
                  {"mean", "mean(%s)", NULL},
                  {"std", "std(%s)", NULL},
                  {"min", "min(%s)", NULL},
                  {"25%", "quantile(%s, 0.25)", NULL},
                  {"50%", "median(%s)", NULL},
                  {"75%", "quantile(%s, 0.75)", NULL},
                  {"max", "max(%s)", NULL}};

#define STATISTICS          (sizeof statistics / sizeof statistics[0])
#define STATISTICS_OF_TEXTS 4

/* Whether a column is described; fails for one that is named and cannot be. */
static bool
is_described(struct rewrite *x, const struct gr_field *field)
{
    enum gr_dtype_class class = gr_dtype_class(field->dtype);
    bool fits = class != GR_CLASS_LIST && class != GR_CLASS_BYTES &&
                (rewrite_param_is(x, "include", "all") || !gr_aggregate_describes(field->dtype));

    if (rewrite_param(x, "columns") == NULL) {
        return fits;
    }
    if (rewrite_is_listed(x, "columns", field->name) && !fits && x->err == GRANARY_OK) {
        x->err = gr_fail(GRANARY_ETYPE, "column '%.100s' is %s: 'include' is '%s', which does not describe it",
                         field->name, granary_dtype_name(field->dtype), rewrite_param_text(x, "include"));
    }
    return rewrite_is_listed(x, "columns", field->name);
}

/* The function's text with the column for %s. */
static const char *
aggregate_text(struct rewrite *x, const char *function, const char *name)
{
    const char *at = strstr(function, "%s");

    return rewrite_text(x, "%.*s%s%s", (int)(at - function), function, name, at + 2);
}

/* A statistic of a column: the last three of texts are null where there is no value. */
static const char *
statistic_text(struct rewrite *x, const struct gr_field *field, size_t c, size_t s)
{
    bool number = gr_aggregate_describes(field->dtype);
    const char *text = number ? statistics[s].number : statistics[s].text;

    if (text == NULL) {
        return "null";
    }
    return number   ? rewrite_text(x, "cast(`#%zu %zu` as float64)", c, s)
           : s == 0 ? rewrite_text(x, "cast(`#%zu 0` as string)", c)
                    : rewrite_text(x, "case when `#%zu 0` > 0 then cast(`#%zu %zu` as string) else null end", c, c, s);
}

static struct gr_node *
describe_columns(struct rewrite *x, const struct gr_field **fields, size_t count)
{
    size_t rows = rewrite_param_is(x, "include", "all") ? STATISTICS : STATISTICS_OF_TEXTS;
    const char *name = "case";
    struct gr_node *numbers, *made;

    for (size_t c = 0; c < count; c++) {
        bool number = gr_aggregate_describes(fields[c]->dtype);

        for (size_t s = 0; s < rows; s++) {
            const char *function = number ? statistics[s].number : statistics[s].text;

            if (function != NULL) {
                rewrite_entry(x, rewrite_text(x, "#%zu %zu", c, s),
                              aggregate_text(x, function, rewrite_name(x, fields[c]->name)));
            }
        }
    }
    made =
        rewrite_part(x, "statistics", GR_TILE_aggregate, rewrite_input(x, 0), NULL, rewrite_map(x, "aggregate"), NULL);
    numbers = rewrite_numbered(x, rows);
    made = rewrite_part(x, "rows", GR_TILE_join, numbers, made, rewrite_string(x, "how", "cross"), NULL);
    for (size_t s = 0; s < rows; s++) {
        name = rewrite_text(x, "%s when `#row` = %zu then %s", name, s, rewrite_quote(x, statistics[s].name));
    }
    rewrite_entry(x, "statistic", rewrite_text(x, "%s else null end", name));
    for (size_t c = 0; c < count; c++) {
        const char *text = "case";

        for (size_t s = 0; s < rows; s++) {
            text = rewrite_text(x, "%s when `#row` = %zu then %s", text, s, statistic_text(x, fields[c], c, s));
        }
        rewrite_entry(x, fields[c]->name, rewrite_text(x, "%s else null end", text));
    }
    return rewrite_add(x, GR_TILE_project, made, NULL, rewrite_map(x, "columns"), NULL);
}

struct gr_node *
rewrite_describe(struct rewrite *x)
{
    const struct gr_schema *schema = rewrite_schema(x);
    const struct gr_field **fields;
    struct gr_node *made;
    size_t count = 0;

    if (rewrite_param_is(x, "include", "numbers")) {
        return x->node;
    }
    fields = calloc(schema->count + 1, sizeof *fields);
    if (fields == NULL) {
        return rewrite_no_memory(x);
    }
    for (size_t i = 0; i < schema->count; i++) {
        fields[count] = &schema->fields[i];
        count += is_described(x, fields[count]);
    }
    for (size_t c = 0; c < count; c++) {
        if (strcmp(fields[c]->name, "statistic") == 0) {
            (void)rewrite_fail(x, "a column is called 'statistic', as the new one; rename it");
        }
    }
    made = count == 0 ? rewrite_fail(x, "there is no column that 'include' takes") : describe_columns(x, fields, count);
    free(fields);
    return made;
}
