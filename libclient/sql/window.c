/*
 * Window functions. The operator's cumulative functions give null where the value is null, and know no peers: what SQL
 * means is put together of several windows.
 */
#include <stdlib.h>
#include <string.h>

#include "sql/block.h"
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

/* row_number and its like, which know no frame. NULL: the statement has failed, or it is an aggregate. */
static const char *
add_ranking(struct windowing *w)
{
    const struct sql_expr *expr = w->expr;
    struct sql_statement *q = w->block->q;
    bool shifts = strcmp(expr->text, "lag") == 0 || strcmp(expr->text, "lead") == 0;
    bool tiles = strcmp(expr->text, "ntile") == 0;
    const char *value;
    int64_t rows = 1;

    if (!shifts && !tiles) {
        return expr->count > 0 ? NULL : add(w, &w->spec, sql_printf(q, "%s()", expr->text));
    }
    if (expr->count < 1 || expr->count > (shifts ? 2 : 1)) {
        (void)sql_fail(q, GRANARY_EUNSUPPORTED, expr->position, "'%s' takes %s", expr->text,
                       shifts ? "a value, and perhaps how many rows away" : "a number");
        return NULL;
    }
    if (tiles) {
        return read_rows(w, expr->args[0], 1, &rows) ? add(w, &w->spec, sql_printf(q, "ntile(%lld)", (long long)rows))
                                                     : NULL;
    }
    value = sql_text(w->block, expr->args[0]);
    return value == NULL || (expr->count == 2 && !read_rows(w, expr->args[1], -ROWS_MOST, &rows))
               ? NULL
               : add(w, &w->spec, sql_printf(q, "%s(%s, %lld)", expr->text, value, (long long)rows));
}

/* An aggregate of the frame. */
static const char *
add_aggregate(struct windowing *w)
{
    const struct sql_expr *expr = w->expr;
    struct sql_statement *q = w->block->q;
    const char *value = NULL;

    if (expr->distinct || expr->condition != NULL) {
        (void)sql_fail(q, GRANARY_EUNSUPPORTED, expr->position, "DISTINCT or FILTER with OVER is not supported");
        return NULL;
    }
    if (expr->count > 1 || (expr->count == 0 && strcmp(expr->text, "count") != 0)) {
        (void)sql_fail(q, GRANARY_EINVAL, expr->position, "this aggregate takes one argument");
        return NULL;
    }
    if (expr->count == 1 && (value = sql_text(w->block, expr->args[0])) == NULL) {
        return NULL;
    }
    if (strcmp(expr->text, "count") == 0) {
        return add_count(w, value);
    }
    if (strcmp(expr->text, "sum") == 0) {
        return add_sum(w, value);
    }
    if (strcmp(expr->text, "mean") == 0) {
        return add_mean(w, value);
    }
    if (strcmp(expr->text, "min") == 0 || strcmp(expr->text, "max") == 0) {
        return add_extreme(w, expr->text, value);
    }
    (void)sql_fail(q, GRANARY_EUNSUPPORTED, expr->position, "'%s' with OVER is not supported", expr->written);
    return NULL;
}

/* The value in the frame's first, last or n-th row, null and nan too. */
static const char *
add_nth(struct windowing *w)
{
    const struct sql_expr *expr = w->expr;
    struct sql_statement *q = w->block->q;
    enum sql_frame frame = expr->over->frame;
    bool last = strcmp(expr->text, "last_value") == 0;
    bool nth = strcmp(expr->text, "nth_value") == 0;
    long long back = (long long)expr->over->back;
    int64_t n = last ? -1 : 1;
    const char *value = expr->count > 0 ? sql_text(w->block, expr->args[0]) : NULL;
    const char *picked, *reached;

    if (expr->count != (nth ? 2u : 1u) || (nth && frame == SQL_FRAME_LAST)) {
        (void)sql_fail(q, GRANARY_EUNSUPPORTED, expr->position, "'%s' takes %s", expr->text,
                       nth ? "a value and a number, in a frame that begins with the partition" : "a value");
        return NULL;
    }
    if (value == NULL || (nth && !read_rows(w, expr->args[1], 1, &n)) ||
        (last && (frame == SQL_FRAME_SO_FAR || frame == SQL_FRAME_LAST))) {
        return value;
    }
    picked = add(w, last && frame == SQL_FRAME_PEERS ? &w->peers : &w->spec,
                 sql_printf(q, "nth(%s, %lld)", value, (long long)n));
    if (picked == NULL || (!nth && frame != SQL_FRAME_LAST)) {
        return picked;
    }
    if (nth) { /* where the frame has so many rows */
        reached = add_count(w, NULL);
        return reached == NULL
                   ? NULL
                   : sql_printf(q, "case when %s >= %lld then %s else null end", reached, (long long)n, picked);
    }
    reached = add(w, &w->spec, "row_number()"); /* so many rows back, or else in the partition's first row */
    value = reached == NULL ? NULL : add(w, &w->spec, sql_printf(q, "lag(%s, %lld)", value, back));
    return value == NULL ? NULL
                         : sql_printf(q, "case when %s > %lld then %s else %s end", reached, back, value, picked);
}

static bool
is_nth(const char *name)
{
    return strcmp(name, "first_value") == 0 || strcmp(name, "last_value") == 0 || strcmp(name, "nth_value") == 0;
}

static bool
is_ranking(const char *name)
{
    static const char *const names[] = {"row_number", "rank", "dense_rank", "ntile", "lag", "lead"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool
add_window(struct sql_block *block, const struct sql_expr *expr, const char *name)
{
    struct windowing w = {.block = block, .expr = expr, .name = name != NULL ? name : expr->written};
    const char *text;

    for (size_t i = 0; i < expr->count; i++) {
        if (sql_has_window(expr->args[i])) {
            return sql_fail(block->q, GRANARY_EINVAL, expr->position,
                            "a window function in a window function: use a subquery");
        }
    }
    if (!make_specs(&w)) {
        return false;
    }
    text = is_nth(expr->text) ? add_nth(&w) : is_ranking(expr->text) ? add_ranking(&w) : add_aggregate(&w);
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
