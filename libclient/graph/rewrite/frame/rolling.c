/* Aggregates of the rows around each row: a window whose functions have frames, and a condition for min_periods. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/dtype_class.h"
#include "graph/rewrite/frame/times.h"
#include "graph/tensor/types.h"

static const char *const names[] = {
#define AGGREGATE(id, text, ...) text,
#include "graph/operators/aggregates.def"
};

struct rolling {
    const char *on; /* NULL: rows as they stand */
    int64_t rows;   /* of a window; 0: it has a duration, or no end */
    bool endless;
    int64_t least; /* min_periods */
    bool told;     /* it was given */
    bool center;
    bool left, right;  /* which ends are closed */
    const char *frame; /* as `window` has it */
};

/* ---- the frame ---- */

static const char *
rows_frame(struct rewrite *x, const struct rolling *r)
{
    int64_t ahead = r->center ? (r->rows - 1) / 2 : 0;
    int64_t from = r->rows - 1 - ahead + (r->left ? 1 : 0);
    int64_t to = ahead - (r->right ? 0 : 1);

    return to < 0 ? rewrite_text(x, "rows between %" PRId64 " preceding and 1 preceding", from)
                  : rewrite_text(x, "rows between %" PRId64 " preceding and %" PRId64 " following", from, to);
}

/* Times are whole microseconds, so an open end is a closed one a microsecond further in. */
static const char *
range_frame(struct rewrite *x, const struct rolling *r, int64_t width)
{
    bool halves = r->center && width % 2 == 1; /* no time is at the end of such a window */
    int64_t from = (r->center ? width / 2 : width) - (r->left || halves ? 0 : 1);
    int64_t to = (r->center ? width / 2 : 0) - (r->right || halves ? 0 : 1);
    const char *begin = rewrite_text(x, "interval '%" PRId64 " microseconds' preceding", from);

    return to < 0 ? rewrite_text(x, "range between %s and interval '1 microsecond' preceding", begin)
                  : rewrite_text(x, "range between %s and interval '%" PRId64 " microseconds' following", begin, to);
}

static bool
is_number(const char *text)
{
    return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

static bool
read_window(struct rewrite *x, struct rolling *r)
{
    const char *text = rewrite_param_text(x, "window");
    struct every every;

    r->endless = strcmp(text, "unbounded") == 0;
    if (r->endless && (r->center || !r->right)) {
        (void)rewrite_fail(
            x, "a window that is 'unbounded' ends at its row: it has no 'center', and is closed on the right");
        return false;
    }
    if (r->endless) {
        r->frame = r->on == NULL ? "rows between unbounded preceding and current row"
                                 : "range between unbounded preceding and current row";
        return true;
    }
    if (is_number(text)) {
        r->rows = strtoll(text, NULL, 10);
        if (strlen(text) > 9 || r->rows < 1) {
            (void)rewrite_fail(x, "parameter 'window' is '%.40s': a window has 1 to 999999999 rows", text);
            return false;
        }
        r->frame = rows_frame(x, r);
        return true;
    }
    if (!every_read(x, "window", false, &every)) {
        return false;
    }
    if (r->on == NULL || every.months != 0) {
        (void)(r->on == NULL
                   ? rewrite_fail(x, "a window of the duration '%.40s' needs 'on', a column of times", text)
                   : rewrite_fail(x, "parameter 'window' is '%.40s': months differ in length; write days", text));
        return false;
    }
    r->frame = range_frame(x, r, every.micros);
    return true;
}

static bool
read_parameters(struct rewrite *x, struct rolling *r)
{
    *r = (struct rolling){.on = rewrite_param_text(x, "on"),
                          .center = rewrite_param_bool(x, "center"),
                          .left = rewrite_param_is(x, "closed", "left") || rewrite_param_is(x, "closed", "both"),
                          .right = rewrite_param_is(x, "closed", "right") || rewrite_param_is(x, "closed", "both")};
    if (!read_window(x, r)) {
        return false;
    }
    r->told = rewrite_param(x, "min_periods") != NULL;
    r->least = r->told ? rewrite_param_int(x, "min_periods") : r->rows > 0 ? r->rows : 1;
    if (r->rows > 0 && r->least > r->rows) {
        (void)rewrite_fail(x, "parameter 'min_periods' is %" PRId64 ", more than the window of %" PRId64 " rows",
                           r->least, r->rows);
        return false;
    }
    return true;
}

/* ---- the functions ---- */

/* An argument as an expression: the column of that very name, or what it says. */
static const char *
argument(struct rewrite *x, const char *text)
{
    return gr_schema_find(rewrite_schema(x), text) >= 0 ? rewrite_name(x, text) : rewrite_text(x, "(%s)", text);
}

/* The function without its frame. */
static const char *
call_text(struct rewrite *x, const struct gr_aggregate *a)
{
    const char *value = a->column == NULL ? "" : argument(x, a->column);

    if (a->second != NULL) {
        return rewrite_text(x, "%s(%s, %s)", names[a->function], value, argument(x, a->second));
    }
    switch (a->function) {
    case GR_AGGREGATE_VAR:
    case GR_AGGREGATE_STD:
    case GR_AGGREGATE_SEM:
    case GR_AGGREGATE_QUANTILE:
        return rewrite_text(x, "%s(%s, %.17g)", names[a->function], value, a->number);
    default:
        return rewrite_text(x, "%s(%s)", names[a->function], value);
    }
}

/* The dtype of the argument; what is wrong with it is told later. */
static granary_dtype
argument_dtype(struct rewrite *x, const struct gr_aggregate *a)
{
    granary_dtype dtype = GRANARY_NULLTYPE;

    (void)gr_aggregate_argument(&x->graph->trees, a->column, rewrite_schema(x), &dtype);
    return dtype;
}

/* The same as a function of windows that goes from chunk to chunk; NULL: there is none for it. */
static const char *
moving_text(struct rewrite *x, const struct rolling *r, const struct gr_aggregate *a)
{
    const char *value = a->column == NULL ? NULL : argument(x, a->column);

    if (r->rows == 0 || r->center || r->left || !r->right || value == NULL) {
        return NULL;
    }
    if (a->function == GR_AGGREGATE_MEAN && gr_dtype_class(argument_dtype(x, a)) == GR_CLASS_MOMENT) {
        return NULL;
    }
    switch (a->function) {
    case GR_AGGREGATE_SUM:
    case GR_AGGREGATE_MEAN:
    case GR_AGGREGATE_MIN:
    case GR_AGGREGATE_MAX:
        return rewrite_text(x, "moving_%s(%s, %" PRId64 ")", names[a->function], value, r->rows);
    case GR_AGGREGATE_VAR:
    case GR_AGGREGATE_STD:
        return a->number != 1 ? NULL
                              : rewrite_text(x, "rolling_%s(%s, %" PRId64 ", 1)", names[a->function], value, r->rows);
    default:
        return NULL;
    }
}

static bool
counts_rows(const struct gr_aggregate *a)
{
    return a->function == GR_AGGREGATE_SIZE || a->function == GR_AGGREGATE_COUNT;
}

/* min_periods of a function: counts are told of no rows, too, unless it is given. */
static int64_t
least_of(const struct rolling *r, const struct gr_aggregate *a)
{
    return counts_rows(a) && !r->told ? 0 : r->least;
}

/* Whether a frame of no values gives null, where the aggregate of none is something. */
static bool
loses_nothing(const struct gr_aggregate *a)
{
    return a->function == GR_AGGREGATE_SUM || a->function == GR_AGGREGATE_PROD || a->function == GR_AGGREGATE_ANY ||
           a->function == GR_AGGREGATE_ALL;
}

/* Whether it is null by itself of fewer values than min_periods. */
static bool
knows_least(const struct rolling *r, const struct gr_aggregate *a)
{
    return (least_of(r, a) == 0 && !loses_nothing(a)) ||
           (least_of(r, a) == 1 && !counts_rows(a) && a->function != GR_AGGREGATE_NUNIQUE);
}

/* What min_periods counts; NULL: rows. */
static const char *
counted_text(struct rewrite *x, const struct gr_aggregate *a)
{
    const char *value, *second;

    if (counts_rows(a)) {
        return NULL;
    }
    value = argument(x, a->column);
    if (a->second == NULL) {
        return value;
    }
    second = argument(x, a->second);
    if (a->function != GR_AGGREGATE_CORR && a->function != GR_AGGREGATE_COV && a->function != GR_AGGREGATE_COV_POP) {
        return second;
    }
    return rewrite_text(x, "case when %s is null or isnan(cast(%s as float64)) then null else %s end", second, second,
                        value);
}

/* How many there are in the window. */
static const char *
count_text(struct rewrite *x, const struct rolling *r, const struct gr_aggregate *a)
{
    const char *counted = counted_text(x, a);

    if (counted != NULL && moving_text(x, r, a) != NULL) {
        if (!gr_dtype_is_float(argument_dtype(x, a))) {
            counted = rewrite_text(x, "case when %s is null then null else 1 end", counted);
        }
        return rewrite_text(x, "rolling_count(%s, %" PRId64 ", 0)", counted, r->rows);
    }
    return counted == NULL ? rewrite_text(x, "size() %s", r->frame)
                           : rewrite_text(x, "count(%s) %s", counted, r->frame);
}

/* The result of a row from what the windows have. */
static const char *
result_text(struct rewrite *x, const struct rolling *r, struct gr_node *windows, const struct gr_aggregate *a, size_t i)
{
    const struct gr_schema *schema = &windows->type.schema;
    int at = gr_schema_find(schema, rewrite_text(x, "#value %zu", i));
    const char *nothing = at < 0 ? NULL : nothing_text(a->function, schema->fields[at].dtype);
    const char *value = rewrite_text(x, "`#value %zu`", i);
    const char *condition = r->on == NULL ? "" : "`#on` is not null";

    if (least_of(r, a) == 0 && loses_nothing(a) && nothing != NULL) {
        value = rewrite_text(x, "coalesce(%s, %s)", value, nothing);
    }
    if (!knows_least(r, a)) {
        condition =
            rewrite_text(x, "%s%s`#count %zu` >= %" PRId64, condition, r->on == NULL ? "" : " and ", i, least_of(r, a));
    }
    return condition[0] == '\0' ? value : rewrite_text(x, "case when %s then %s else null end", condition, value);
}

/* ---- nodes ---- */

static struct gr_node *
add_windows(struct rewrite *x, const struct rolling *r, struct gr_node *rows, const struct gr_aggregate *all,
            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *moving = moving_text(x, r, &all[i]);

        rewrite_entry(x, rewrite_text(x, "#value %zu", i),
                      moving != NULL ? moving : rewrite_text(x, "%s %s", call_text(x, &all[i]), r->frame));
        if (!knows_least(r, &all[i])) {
            rewrite_entry(x, rewrite_text(x, "#count %zu", i), count_text(x, r, &all[i]));
        }
    }
    rewrite_set(x, rewrite_map(x, "columns"));
    rewrite_hand_on(x, "keys", "partition");
    if (r->on != NULL) {
        rewrite_set(x, rewrite_string(x, "by", "#on"));
    }
    return rewrite_part(x, "windows", GR_TILE_window, rows, NULL, NULL, NULL);
}

static struct gr_node *
drop_own(struct rewrite *x, const struct rolling *r, struct gr_node *rows, const struct gr_aggregate *all, size_t count)
{
    const char **own = calloc(2 * count + 1, sizeof *own);
    size_t many = 0;
    Granary__Attr *columns;

    if (own == NULL) {
        return rewrite_no_memory(x);
    }
    for (size_t i = 0; i < count; i++) {
        own[many++] = rewrite_text(x, "#value %zu", i);
        if (!knows_least(r, &all[i])) {
            own[many++] = rewrite_text(x, "#count %zu", i);
        }
    }
    if (r->on != NULL) {
        own[many++] = "#on";
    }
    columns = rewrite_strings(x, "columns", own, many);
    free(own);
    return rewrite_add(x, GR_TILE_drop, rows, NULL, columns, NULL);
}

static struct gr_node *
add_rolling(struct rewrite *x, const struct rolling *r, const struct gr_aggregate *all, size_t count)
{
    struct gr_node *rows = rewrite_input(x, 0), *windows;
    const char *on = r->on == NULL ? "" : time_text(x, "on", r->on);

    if (on == NULL) {
        return x->node;
    }
    if (r->on != NULL) {
        rewrite_entry(x, "#on", on);
        rows = rewrite_part(x, "times", GR_TILE_assign, rows, NULL, rewrite_map(x, "columns"), NULL);
    }
    windows = add_windows(x, r, rows, all, count);
    for (size_t i = 0; i < count; i++) {
        rewrite_entry(x, all[i].name, result_text(x, r, windows, &all[i], i));
    }
    rows = rewrite_part(x, "enough of them", GR_TILE_assign, windows, NULL, rewrite_map(x, "columns"), NULL);
    return drop_own(x, r, rows, all, count);
}

static struct gr_node *
rewrite_rolling(struct rewrite *x)
{
    struct gr_aggregate *all = NULL;
    size_t count = 0;
    struct rolling r;
    struct gr_node *rows;

    if (!read_parameters(x, &r)) {
        return x->node;
    }
    x->err = gr_aggregates_parse(rewrite_param(x, "columns"), &all, &count);
    rows = x->err != GRANARY_OK ? x->node : add_rolling(x, &r, all, count);
    gr_aggregates_free(all, count);
    return rows;
}

const struct gr_operator gr_op_rolling = {.rewrite = rewrite_rolling};
