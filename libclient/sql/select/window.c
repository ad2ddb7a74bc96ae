/*
 * Window functions. Where the operator has a function of its own for an aggregate and a frame, that one is taken: the
 * cumulative ones give null where the value is null, and know no peers, so several windows are put together. All else is
 * an aggregate of the operator, or nth, with the frame as it is written.
 */
#include <stdlib.h>
#include <string.h>

#include "sql/block.h"
#include "sql/select/within.h"
#include "sql/told.h"

/* Of a partition that functions look at: what the operator takes. */
#define ROWS_MOST (1 << 30)

struct windowing {
    struct sql_block *block;
    const struct sql_expr *expr;
    const char *name;             /* of the columns that are made */
    struct sql_window_spec spec;  /* the partition, in its order */
    struct sql_window_spec whole; /* the partition */
    struct sql_window_spec peers; /* rows that are equal in that order, too */
};

static bool
make_specs(struct windowing *w)
{
    const struct sql_window *over = w->expr->over;
    struct sql_statement *q = w->block->q;
    size_t partitions = over->partition_count;
    const char **keys = SQL_ARRAY(q, const char *, partitions + 1);
    const char **all = SQL_ARRAY(q, const char *, partitions + 1 + over->order_count);
    const char **by = SQL_ARRAY(q, const char *, over->order_count);
    const char **nulls = SQL_ARRAY(q, const char *, over->order_count);
    bool *descending = SQL_ARRAY(q, bool, over->order_count);

    for (size_t i = 0; i < partitions && q->err == GRANARY_OK; i++) {
        keys[i] = sql_column_of(w->block, &w->block->rel, over->partition[i]);
    }
    for (size_t i = 0; i < over->order_count && q->err == GRANARY_OK; i++) {
        by[i] = sql_column_of(w->block, &w->block->rel, over->order[i].expr);
        nulls[i] = over->order[i].nulls_first ? "first" : "last";
        descending[i] = over->order[i].descending;
        all[partitions + (w->block->around != NULL) + i] = by[i];
    }
    if (q->err != GRANARY_OK) {
        return false;
    }
    if (w->block->around != NULL) { /* a partition for each row of the query around */
        keys[partitions++] = w->block->number->frame;
    }
    memcpy(all, keys, partitions * sizeof *all);
    w->whole = (struct sql_window_spec){
        .partition = keys, .partition_count = sql_without_twins(keys, partitions), .position = w->expr->position};
    w->peers = w->whole;
    w->peers.partition = all;
    w->peers.partition_count = sql_without_twins(all, partitions + over->order_count);
    w->spec = w->whole;
    w->spec.by = by;
    w->spec.nulls = nulls;
    w->spec.descending = descending;
    w->spec.by_count = over->order_count;
    return true;
}

/* A new column by a window's function; its name in backquotes. NULL: the statement has failed. */
static const char *
add(struct windowing *w, const struct sql_window_spec *spec, const char *text)
{
    struct sql_statement *q = w->block->q;
    const char *name = sql_fresh(q, w->name);

    sql_tell(q, name, w->expr->written, w->expr->position);
    return name != NULL && text != NULL && sql_rel_window(q, &w->block->rel, name, text, spec) ? sql_quoted(q, name)
                                                                                               : NULL;
}

/* From the partition's beginning; equal rows have what the last of them has, for they are in the order they stand. */
static const char *
add_so_far(struct windowing *w, const char *text)
{
    struct sql_statement *q = w->block->q;
    const char *column = add(w, &w->spec, text);

    return column != NULL && w->expr->over->frame == SQL_FRAME_PEERS
               ? add(w, &w->peers, sql_printf(q, "nth(%s, -1)", column))
               : column;
}

/* The frame as the operator has it. NULL: the statement has failed. */
static const char *
frame_text(struct windowing *w)
{
    const struct sql_window *over = w->expr->over;
    struct sql_statement *q = w->block->q;
    const char *bounds[2];

    if (over->frame == SQL_FRAME_PARTITION && over->exclude == NULL) {
        return "rows between unbounded preceding and unbounded following";
    }
    for (size_t i = 0; i < 2; i++) {
        const struct sql_bound *bound = &over->bounds[i];
        const char *distance = bound->distance != NULL ? sql_text(w->block, bound->distance) : NULL;

        if (bound->distance != NULL && distance == NULL) {
            return NULL;
        }
        bounds[i] = distance == NULL ? bound->text : sql_printf(q, "%s %s", distance, bound->text);
        if (bounds[i] == NULL) {
            return NULL;
        }
    }
    return sql_printf(q, "%s between %s and %s %s", over->mode, bounds[0], bounds[1],
                      over->exclude == NULL ? "" : over->exclude);
}

/* A function of the operator over the frame as it is written. NULL: the statement has failed. */
static const char *
add_framed(struct windowing *w, const char *text)
{
    const char *frame = text == NULL ? NULL : frame_text(w);

    return frame == NULL ? NULL : add(w, &w->spec, sql_printf(w->block->q, "%s %s", text, frame));
}

/* How many values (of NULL: rows) the frame has. */
static const char *
add_count(struct windowing *w, const char *value)
{
    struct sql_statement *q = w->block->q;
    /* A null is not equal to itself, nor is a nan, which is missing, too. */
    const char *ones = value == NULL ? "1" : sql_printf(q, "case when %s = %s then 1 else 0 end", value, value);

    if (ones == NULL) {
        return NULL;
    }
    switch (w->expr->over->frame) {
    case SQL_FRAME_PARTITION:
        return add(w, &w->whole, value == NULL ? "size()" : sql_printf(q, "count(%s)", value));
    case SQL_FRAME_LAST:
        return add(w, &w->spec, sql_printf(q, "moving_sum(%s, %lld)", ones, (long long)w->expr->over->back + 1));
    default:
        return add_so_far(w, sql_printf(q, "cumsum(%s)", ones));
    }
}

static const char *
add_sum(struct windowing *w, const char *value)
{
    struct sql_statement *q = w->block->q;
    const char *count;
    const char *sum;

    switch (w->expr->over->frame) {
    case SQL_FRAME_PARTITION: /* of nothing it is 0 there */
        count = add_count(w, value);
        sum = add(w, &w->whole, sql_printf(q, "sum(%s)", value));
        return count == NULL || sum == NULL ? NULL
                                            : sql_printf(q, "case when %s = 0 then null else %s end", count, sum);
    case SQL_FRAME_LAST:
        return add(w, &w->spec, sql_printf(q, "moving_sum(%s, %lld)", value, (long long)w->expr->over->back + 1));
    default:
        return add_so_far(w, sql_printf(q, "cumsum(%s, true)", value));
    }
}

static const char *
add_mean(struct windowing *w, const char *value)
{
    struct sql_statement *q = w->block->q;

    switch (w->expr->over->frame) {
    case SQL_FRAME_PARTITION:
        return add(w, &w->whole, sql_printf(q, "mean(%s)", value));
    case SQL_FRAME_LAST:
        return add(w, &w->spec, sql_printf(q, "moving_mean(%s, %lld)", value, (long long)w->expr->over->back + 1));
    default:
        return add_so_far(w, sql_printf(q, "cummean(%s, true)", value));
    }
}

/* min, max */
static const char *
add_extreme(struct windowing *w, const char *function, const char *value)
{
    struct sql_statement *q = w->block->q;

    switch (w->expr->over->frame) {
    case SQL_FRAME_PARTITION:
        return add(w, &w->whole, sql_printf(q, "%s(%s)", function, value));
    case SQL_FRAME_LAST:
        return add(w, &w->spec,
                   sql_printf(q, "moving_%s(%s, %lld)", function, value, (long long)w->expr->over->back + 1));
    default:
        return add_so_far(w, sql_printf(q, "cum%s(%s, true)", function, value));
    }
}

/* How many rows, as written. */
static bool
read_rows(struct windowing *w, const struct sql_expr *arg, int64_t least, int64_t *ret_rows)
{
    const char *text = arg->text + (arg->text[0] == '('); /* below 0 it is in brackets */
    char *end;
    long long rows = strtoll(text, &end, 10);

    if (arg->kind != SQL_LITERAL || end == text || (*end != '\0' && *end != ')') || rows < least || rows > ROWS_MOST) {
        return sql_fail(w->block->q, GRANARY_EINVAL, arg->position, "'%s' needs a whole number from %lld to %d here",
                        w->expr->text, (long long)least, ROWS_MOST);
    }
    *ret_rows = rows;
    return true;
}

/* row_number, rank and the like. Without ORDER BY all rows are equal. */
static const char *
add_rank(struct windowing *w)
{
    static const char *const equal[][2] = {{"rank", "cast(1 as int64)"},
                                           {"dense_rank", "cast(1 as int64)"},
                                           {"percent_rank", "cast(0 as float64)"},
                                           {"cume_dist", "cast(1 as float64)"}};

    for (size_t i = 0; i < sizeof equal / sizeof equal[0] && w->spec.by_count == 0; i++) {
        if (strcmp(equal[i][0], w->expr->text) == 0) {
            return equal[i][1];
        }
    }
    return add(w, &w->spec, sql_printf(w->block->q, "%s()", w->expr->text));
}

/* lag and lead, so many rows away. A default stands where no row is, and not where its value is null. */
static const char *
add_shift(struct windowing *w, int64_t rows)
{
    const struct sql_expr *expr = w->expr;
    struct sql_statement *q = w->block->q;
    bool lags = (strcmp(expr->text, "lag") == 0) == (rows >= 0);
    long long away = (long long)(rows < 0 ? -rows : rows);
    const char *value = sql_text(w->block, expr->args[0]);
    const char *shifted = value == NULL || rows == 0
                              ? NULL
                              : add(w, &w->spec,
                                    sql_printf(q, "%s(%s, %lld)%s", expr->text, value, (long long)rows,
                                               expr->ignores_nulls ? " ignore nulls" : ""));
    const char *other = shifted == NULL || expr->count < 3 ? NULL : sql_text(w->block, expr->args[2]);
    const char *number;
    const char *size;

    if (rows == 0) { /* the row itself, also where nulls are left out */
        return value;
    }
    if (shifted == NULL || expr->count < 3 || other == NULL) {
        return expr->count < 3 ? shifted : NULL;
    }
    if (expr->ignores_nulls) { /* no value of a row is null then */
        return sql_printf(q, "coalesce(%s, %s)", shifted, other);
    }
    number = add(w, &w->spec, "row_number()");
    if (number == NULL || lags) {
        return number == NULL ? NULL
                              : sql_printf(q, "case when %s <= %lld then %s else %s end", number, away, other, shifted);
    }
    size = add(w, &w->spec, "size()");
    return size == NULL
               ? NULL
               : sql_printf(q, "case when %s > %s - %lld then %s else %s end", number, size, away, other, shifted);
}

/* So many rows away as a column says, which is null where that is: lag where it is above 0, lead where it is below. */
static const char *
add_far(struct windowing *w)
{
    static const char *const ends[] = {"preceding", "following"};
    const struct sql_expr *expr = w->expr;
    struct sql_statement *q = w->block->q;
    bool leads = strcmp(expr->text, "lead") == 0;
    const char *value = sql_text(w->block, expr->args[0]);
    const char *away = value == NULL ? NULL : sql_text(w->block, expr->args[1]);
    const char *other = away == NULL ? NULL : expr->count < 3 ? "null" : sql_text(w->block, expr->args[2]);
    const char *found[2] = {NULL, NULL};
    const char *number = NULL;
    const char *size = NULL;

    if (expr->ignores_nulls) {
        (void)sql_fail(q, GRANARY_EUNSUPPORTED, expr->args[1]->position,
                       "'%s' with IGNORE NULLS needs a number of rows as written", expr->text);
        return NULL;
    }
    for (size_t i = 0; i < 2 && other != NULL; i++) {
        const char *rows =
            sql_printf(q, "(case when %s > %d then %d when %s > 0 then %s else 0 end)",
                       i == 0 ? away : sql_printf(q, "-(%s)", away), ROWS_MOST, ROWS_MOST,
                       i == 0 ? away : sql_printf(q, "-(%s)", away), i == 0 ? away : sql_printf(q, "-(%s)", away));

        found[i] = rows == NULL ? NULL
                                : add(w, &w->spec,
                                      sql_printf(q, "nth(%s, 1) rows between %s %s and %s %s", value, rows,
                                                 ends[leads != (i == 1)], rows, ends[leads != (i == 1)]));
        other = found[i] == NULL ? NULL : other;
    }
    number = other == NULL ? NULL : add(w, &w->spec, "row_number()");
    size = number == NULL ? NULL : add(w, &w->spec, "size()");
    if (size == NULL) {
        return NULL;
    }
    return leads ? sql_printf(q,
                              "case when %s > %s - %s or %s < 1 - %s then %s when %s >= 0 then %s when %s < 0 then %s "
                              "else null end",
                              away, size, number, away, number, other, away, found[0], away, found[1])
                 : sql_printf(q,
                              "case when %s >= %s or %s < %s - %s then %s when %s >= 0 then %s when %s < 0 then %s "
                              "else null end",
                              away, number, away, number, size, other, away, found[0], away, found[1]);
}

/* A straight line between the values, over the column of ORDER BY. */
static const char *
add_fill(struct windowing *w)
{
    const struct sql_expr *expr = w->expr;
    const char *value;

    if (expr->count != 1 || w->spec.by_count != 1) {
        (void)sql_fail(w->block->q, GRANARY_EINVAL, expr->position,
                       "'%s' takes a value, and one column in ORDER BY, over which it draws lines", expr->text);
        return NULL;
    }
    value = sql_text(w->block, expr->args[0]);
    return value == NULL ? NULL : add(w, &w->spec, sql_printf(w->block->q, "fill(%s)", value));
}

/* row_number and its like, which know no frame. NULL: the statement has failed, or it is an aggregate. */
static const char *
add_ranking(struct windowing *w)
{
    const struct sql_expr *expr = w->expr;
    struct sql_statement *q = w->block->q;
    bool shifts = strcmp(expr->text, "lag") == 0 || strcmp(expr->text, "lead") == 0;
    bool tiles = strcmp(expr->text, "ntile") == 0;
    int64_t rows = 1;

    if (strcmp(expr->text, "fill") == 0) {
        return add_fill(w);
    }
    if (!shifts && !tiles) {
        return expr->count > 0 ? NULL : add_rank(w);
    }
    if (expr->count < 1 || expr->count > (shifts ? 3 : 1)) {
        (void)sql_fail(q, GRANARY_EUNSUPPORTED, expr->position, "'%s' takes %s", expr->text,
                       shifts ? "a value, and perhaps how many rows away, and what is there where no row is"
                              : "a number");
        return NULL;
    }
    if (tiles) {
        return read_rows(w, expr->args[0], 1, &rows) ? add(w, &w->spec, sql_printf(q, "ntile(%lld)", (long long)rows))
                                                     : NULL;
    }
    if (expr->count > 1 && expr->args[1]->kind != SQL_LITERAL) {
        return add_far(w);
    }
    return expr->count > 1 && !read_rows(w, expr->args[1], -ROWS_MOST, &rows) ? NULL : add_shift(w, rows);
}

/* The second argument of those that have one: ", 0.25". "": none. NULL: the statement has failed. */
static const char *
second_argument(struct windowing *w, const char **function)
{
    const struct sql_expr *expr = w->expr;
    struct sql_statement *q = w->block->q;
    const char *comma = strchr(*function, ','); /* it goes without saying */
    const char *text;

    if (comma != NULL) {
        *function = sql_printf(q, "%.*s", (int)(comma - *function), *function);
        return *function == NULL ? NULL : comma;
    }
    if (expr->count < 2) {
        return "";
    }
    text =
        strcmp(*function, "quantile") == 0 ? sql_fraction(w->block, expr->args[1]) : sql_text(w->block, expr->args[1]);
    return text == NULL ? NULL : sql_printf(q, ", %s", text);
}

/* The aggregates that the operator has functions for, in frames that these know. */
static const char *
add_known(struct windowing *w, const char *function, const char *value)
{
    if (strcmp(function, "count") == 0) {
        return add_count(w, value);
    }
    if (strcmp(function, "sum") == 0) {
        return add_sum(w, value);
    }
    return strcmp(function, "mean") == 0 ? add_mean(w, value) : add_extreme(w, function, value);
}

static bool
is_known(const struct windowing *w, const char *function)
{
    static const char *const names[] = {"count", "sum", "mean", "min", "max"};
    bool known = false;

    for (size_t i = 0; i < sizeof names / sizeof names[0] && !known; i++) {
        known = strcmp(names[i], function) == 0;
    }
    return known && w->expr->over->frame != SQL_FRAME_OTHER;
}

/* What is aggregated: null where FILTER is not true. *ret_value NULL: rows. false: the statement has failed. */
static bool
value_of(struct windowing *w, const char **ret_value)
{
    const struct sql_expr *expr = w->expr;
    struct sql_statement *q = w->block->q;
    const char *value = expr->count == 0 ? "1" : sql_text(w->block, expr->args[0]);
    const char *condition;

    *ret_value = NULL;
    if (expr->condition == NULL && expr->count == 0) {
        return true;
    }
    if (value != NULL && expr->condition != NULL) {
        condition = sql_text(w->block, expr->condition);
        value = condition == NULL ? NULL : sql_printf(q, "case when %s then %s else null end", condition, value);
    }
    *ret_value = value;
    return value != NULL;
}

/* An aggregate of the frame. */
static const char *
add_aggregate(struct windowing *w)
{
    const struct sql_expr *expr = w->expr;
    struct sql_statement *q = w->block->q;
    const char *function = expr->text;
    bool two = sql_takes_two(function);
    const char *value = NULL;
    const char *second;

    if (expr->count != (two ? 2 : 1) && !(expr->count == 0 && strcmp(function, "count") == 0)) {
        (void)sql_fail(q, GRANARY_EINVAL, expr->position, "this aggregate takes %s",
                       two ? "two arguments" : "one argument");
        return NULL;
    }
    if (expr->distinct && strcmp(function, "count") == 0) {
        function = "nunique";
    } else if (expr->distinct && strcmp(function, "min") != 0 && strcmp(function, "max") != 0) {
        (void)sql_fail(q, GRANARY_EUNSUPPORTED, expr->position, "DISTINCT in '%s' is not supported: in count it is",
                       expr->written);
        return NULL;
    }
    second = value_of(w, &value) ? second_argument(w, &function) : NULL;
    if (second == NULL) {
        return NULL;
    }
    if (is_known(w, function)) {
        return add_known(w, function, value);
    }
    return add_framed(w, value == NULL ? "size()" : sql_printf(q, "%s(%s%s)", function, value, second));
}

/* The value in the frame's first, last or n-th row, null and nan too, unless nulls are ignored. */
static const char *
add_nth(struct windowing *w)
{
    const struct sql_expr *expr = w->expr;
    struct sql_statement *q = w->block->q;
    enum sql_frame frame = expr->over->frame;
    bool last = strcmp(expr->text, "last_value") == 0;
    bool nth = strcmp(expr->text, "nth_value") == 0;
    int64_t n = last ? -1 : 1;
    const char *value = expr->count > 0 ? sql_text(w->block, expr->args[0]) : NULL;
    const char *text;

    if (expr->count != (nth ? 2u : 1u)) {
        (void)sql_fail(q, GRANARY_EUNSUPPORTED, expr->position, "'%s' takes %s", expr->text,
                       nth ? "a value and a number" : "a value");
        return NULL;
    }
    if (value == NULL || (nth && !read_rows(w, expr->args[1], 1, &n))) {
        return value;
    }
    if (last && !expr->ignores_nulls && (frame == SQL_FRAME_SO_FAR || frame == SQL_FRAME_LAST)) {
        return value;
    }
    text = sql_printf(q, "nth(%s, %lld)%s", value, (long long)n, expr->ignores_nulls ? " ignore nulls" : "");
    if (last && !expr->ignores_nulls && frame == SQL_FRAME_PEERS) {
        return add(w, &w->peers, text);
    }
    if (!expr->ignores_nulls &&
        (frame == SQL_FRAME_PARTITION || (!nth && !last && frame != SQL_FRAME_OTHER && frame != SQL_FRAME_LAST))) {
        return add(w, &w->spec, text);
    }
    return add_framed(w, text);
}

static bool
is_nth(const char *name)
{
    return strcmp(name, "first_value") == 0 || strcmp(name, "last_value") == 0 || strcmp(name, "nth_value") == 0;
}

static bool
is_ranking(const char *name)
{
    static const char *const names[] = {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist",
                                        "ntile",      "lag",  "lead",       "fill"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- an order of the function's own ---- */

/* Whether a row is in its frame, which has bounds as written. */
static bool
frame_has_row(const struct sql_window *over)
{
    return strstr(over->bounds[0].text, "following") == NULL && strstr(over->bounds[1].text, "preceding") == NULL &&
           (over->exclude == NULL || strstr(over->exclude, "no others") != NULL ||
            strstr(over->exclude, "ties") != NULL);
}

/* A function's own order, over columns; behind it, for those that tell all rows apart, the window's. */
static bool
make_within(struct windowing *w, struct sql_expr *const *keys, struct sql_window_spec *ret_rank,
            struct sql_window_spec *ret_place)
{
    const size_t count = w->expr->within_count;
    const size_t most = count + w->spec.by_count;
    struct sql_statement *q = w->block->q;
    const char **by = SQL_ARRAY(q, const char *, most);
    const char **nulls = SQL_ARRAY(q, const char *, most);
    bool *descending = SQL_ARRAY(q, bool, most);
    size_t all = count;

    for (size_t i = 0; i < count && q->err == GRANARY_OK; i++) {
        by[i] = sql_column_of(w->block, &w->block->rel, keys[i]);
        nulls[i] = w->expr->within[i].nulls_first ? "first" : "last";
        descending[i] = w->expr->within[i].descending;
    }
    for (size_t i = 0; i < w->spec.by_count && q->err == GRANARY_OK; i++) {
        bool again = false;

        for (size_t k = 0; k < all; k++) {
            again = again || strcmp(by[k], w->spec.by[i]) == 0;
        }
        if (!again) {
            by[all] = w->spec.by[i];
            nulls[all] = w->spec.nulls[i];
            descending[all++] = w->spec.descending[i];
        }
    }
    *ret_rank = w->whole;
    ret_rank->by = by;
    ret_rank->nulls = nulls;
    ret_rank->descending = descending;
    ret_rank->by_count = count;
    *ret_place = *ret_rank;
    ret_place->by_count = all;
    return q->err == GRANARY_OK;
}

/* rank(ORDER BY x) and its like over frames. NULL: the statement has failed. */
static const char *
add_within(struct windowing *w, struct sql_expr *const *keys)
{
    static const char *const counting[] = {"rank", "percent_rank", "cume_dist"};
    const struct sql_expr *expr = w->expr;
    struct sql_statement *q = w->block->q;
    struct sql_within within = {0};
    struct sql_window_spec ranked;
    struct sql_window_spec placed;
    int64_t n = 1;
    bool counts = false;
    bool nth = strcmp(expr->text, "nth_value") == 0;
    bool tiles = strcmp(expr->text, "ntile") == 0;
    bool valued = is_nth(expr->text) || strcmp(expr->text, "lag") == 0 || strcmp(expr->text, "lead") == 0;
    const size_t least = nth ? 2 : valued || tiles ? 1 : 0;
    const size_t most = nth ? 2 : valued && !is_nth(expr->text) ? 3 : least;

    for (size_t i = 0; i < sizeof counting / sizeof counting[0]; i++) {
        counts = counts || strcmp(counting[i], expr->text) == 0;
    }
    if (expr->count < least || expr->count > most || expr->ignores_nulls || strcmp(expr->text, "dense_rank") == 0 ||
        (!counts && !is_nth(expr->text) && !frame_has_row(expr->over))) {
        (void)sql_fail(q, GRANARY_EUNSUPPORTED, expr->position,
                       "ORDER BY in '%s' is not supported with these arguments, or over a frame without the row itself",
                       expr->text);
        return NULL;
    }
    if (tiles ? !read_rows(w, expr->args[0], 1, &n)
              : expr->count > 1 && !read_rows(w, expr->args[1], nth ? 1 : -ROWS_MOST, &n)) {
        return NULL;
    }
    within.n = n;
    if (!make_within(w, keys, &ranked, &placed)) {
        return NULL;
    }
    within.rank = add(w, &ranked, "dense_rank()");
    within.place = within.rank == NULL ? NULL : add(w, &placed, "row_number()");
    within.ranks = within.place == NULL ? NULL : add_framed(w, sql_printf(q, "list(%s)", within.rank));
    within.places = within.ranks == NULL ? NULL : add_framed(w, sql_printf(q, "list(%s)", within.place));
    if (within.places != NULL && valued) {
        within.value = sql_text(w->block, expr->args[0]);
        within.value = within.value == NULL ? NULL : add_framed(w, sql_printf(q, "array(%s)", within.value));
    }
    if (within.value != NULL && expr->count > 2) {
        within.other = sql_text(w->block, expr->args[2]);
    }
    return q->err != GRANARY_OK ? NULL : sql_within_text(q, expr->text, &within);
}

static bool
add_window(struct sql_block *block, const struct sql_expr *expr, const char *name)
{
    struct sql_expr own = *expr;
    struct windowing w = {.block = block, .expr = &own, .name = name != NULL ? name : expr->written};
    const char *text;

    own.count -= expr->within_count;

    for (size_t i = 0; i < expr->count; i++) {
        if (sql_has_window(expr->args[i])) {
            return sql_fail(block->q, GRANARY_EINVAL, expr->position,
                            "a window function in a window function: use a subquery");
        }
    }
    if (!make_specs(&w)) {
        return false;
    }
    text = expr->within_count > 0   ? add_within(&w, expr->args + own.count)
           : is_nth(expr->text)     ? add_nth(&w)
           : is_ranking(expr->text) ? add_ranking(&w)
                                    : add_aggregate(&w);
    if (text == NULL) {
        return sql_fail(block->q, GRANARY_EINVAL, expr->position, "'%s' takes no argument", expr->text);
    }
    return sql_name_expr(block, expr, text);
}

bool
sql_add_windows(struct sql_block *block, const struct sql_expr *expr, const char *name)
{
    if (expr->kind == SQL_AGGREGATE && expr->over != NULL) {
        for (size_t i = 0; i < block->named_count; i++) {
            if (block->named[i].expr == expr) {
                return true;
            }
        }
        return add_window(block, expr, name);
    }
    for (size_t i = 0; i < expr->count; i++) {
        if (!sql_add_windows(block, expr->args[i], NULL)) {
            return false;
        }
    }
    return true;
}
