/*
 * Subqueries become joins. The equalities of a subquery with the outer query's columns are the keys of the join. The
 * rest of its conditions must hold of a pair of rows, and is asked of the joined pairs.
 */
#include <string.h>

#include "sql/block.h"

/* A side that has so many times the rows of the other one is reduced first to what that will look up in it. */
#define REDUCE_FACTOR 4

/* Of a subquery: equalities with the outer query as columns of both, and the other correlated conditions. */
struct correlation {
    const char **outer; /* columns of the outer relation */
    const char **inner;
    size_t count;
    const char *rest; /* NULL: there is no other */
    int rest_position;
};

/* Whether an expression names columns of `outer` only. */
static bool
is_of(const struct sql_block *outer, const struct sql_expr *expr)
{
    bool is = expr->kind != SQL_SUBQUERY && (expr->kind != SQL_COLUMN || expr->column->block == outer);

    for (size_t i = 0; i < expr->count && is; i++) {
        is = is_of(outer, expr->args[i]);
    }
    return is;
}

static bool
has_column(const struct sql_expr *expr)
{
    return sql_has(expr, SQL_COLUMN);
}

/* Columns must be of the subquery or of the query around it. */
static bool
check_reach(const struct sql_block *sub, const struct sql_expr *expr)
{
    if (expr->kind == SQL_COLUMN && expr->column->block != sub && expr->column->block != sub->outer) {
        return sql_fail(sub->q, GRANARY_EUNSUPPORTED, expr->position,
                        "'%s' is a column of a query further out: only the query right around can be referred to",
                        expr->text);
    }
    if (expr->kind == SQL_SUBQUERY) {
        return sql_fail(sub->q, GRANARY_EUNSUPPORTED, expr->position,
                        "a subquery in a condition on columns of the outer query is not supported");
    }
    for (size_t i = 0; i < expr->count; i++) {
        if (!check_reach(sub, expr->args[i])) {
            return false;
        }
    }
    return true;
}

/* Which argument of an equality with the outer query is of that one; -1: it is no such equality. */
static int
outer_side(const struct sql_block *block, const struct sql_block *sub, const struct sql_expr *expr)
{
    int outer = -1;

    for (int side = 0; expr->kind == SQL_INFIX && strcmp(expr->text, "=") == 0 && side < 2; side++) {
        if (is_of(block, expr->args[side]) && has_column(expr->args[side]) && is_of(sub, expr->args[1 - side]) &&
            has_column(expr->args[1 - side])) {
            outer = side;
        }
    }
    return outer;
}

/* Leave of *rel the rows that have an equal one in `by`. */
static bool
reduce(struct sql_statement *q, struct sql_rel *rel, const struct sql_rel *by, const char *const *keys,
       const char *const *by_keys, size_t count, int position)
{
    double rows = REDUCE_FACTOR * by->rows;

    rel->rows = rows < rel->rows ? rows : rel->rows;
    return sql_rel_join(q, rel, by,
                        &(struct sql_join_spec){
                            .how = "semi", .left_on = keys, .right_on = by_keys, .count = count, .position = position});
}

static bool
correlate(struct sql_block *block, struct sql_rel *rel, struct sql_block *sub, size_t extra,
          struct correlation *ret_correlation)
{
    struct sql_statement *q = block->q;
    size_t room = sub->correlated_count + extra;
    struct correlation c = {.outer = SQL_ARRAY(q, const char *, room), .inner = SQL_ARRAY(q, const char *, room)};

    for (size_t i = 0; i < sub->correlated_count && q->err == GRANARY_OK; i++) {
        struct sql_expr *expr = sub->correlated[i];
        int outer;

        if (!check_reach(sub, expr)) {
            return false;
        }
        outer = outer_side(block, sub, expr);
        if (outer < 0) {
            const char *text = sql_text(sub, expr);

            c.rest = c.rest == NULL || text == NULL ? text : sql_printf(q, "%s and %s", c.rest, text);
            c.rest_position = expr->position;
            continue;
        }
        c.outer[c.count] =
            sql_other_column(q, rel, c.outer, c.count, sql_column_of(block, rel, expr->args[outer]), expr->position);
        c.inner[c.count] = sql_other_column(q, &sub->rel, c.inner, c.count,
                                            sql_column_of(sub, &sub->rel, expr->args[1 - outer]), expr->position);
        c.count++;
    }
    *ret_correlation = c;
    return q->err == GRANARY_OK;
}

/*
 * A value for each row of the outer query is an aggregate over some rows of the subquery: those that some row of the
 * outer query asks for. Others are left out before anything is computed of them ("magic sets"). A table of the
 * subquery is reduced by what its own columns are equal to.
 */
static bool
reduce_item(struct sql_block *block, struct sql_block *sub, int item)
{
    struct sql_statement *q = block->q;
    struct sql_rel *rel = &sub->items[item];
    size_t room = sub->correlated_count;
    const char **outer = SQL_ARRAY(q, const char *, room);
    const char **inner = SQL_ARRAY(q, const char *, room);
    size_t count = 0;

    for (size_t i = 0; i < sub->correlated_count && q->err == GRANARY_OK; i++) {
        const struct sql_expr *expr = sub->correlated[i];
        int side = outer_side(block, sub, expr);

        if (side >= 0 && sql_mask(sub, expr->args[1 - side]) == (uint64_t)1 << item) {
            outer[count] = sql_other_column(q, &block->rel, outer, count,
                                            sql_column_of(block, &block->rel, expr->args[side]), expr->position);
            inner[count] =
                sql_other_column(q, rel, inner, count, sql_column_of(sub, rel, expr->args[1 - side]), expr->position);
            count++;
        }
    }
    if (q->err != GRANARY_OK) {
        return false;
    }
    return count == 0 || reduce(q, rel, &block->rel, inner, outer, count, sub->select->position);
}

static bool
reduce_items(struct sql_block *block, struct sql_block *sub)
{
    for (int item = 0; item < (int)sub->item_count; item++) {
        if (sub->items[item].rows > REDUCE_FACTOR * block->rel.rows && !reduce_item(block, sub, item)) {
            return false;
        }
    }
    return true;
}

/* Whether it reads tables alone, and no expression of its FROM and WHERE becomes a text that names their columns. */
static bool
reads_tables(struct sql_statement *q, const struct sql_select *select)
{
    bool only = select->where == NULL || !sql_has(select->where, SQL_SUBQUERY);

    for (size_t i = 0; i < select->from_count && only; i++) {
        only = select->from[i]->kind == SQL_FROM_TABLE && sql_find_with(q, select->from[i]->name) == NULL;
    }
    return only;
}

/* Its tables' columns alone, under names that the query around does not have. */
static bool
part_names(struct sql_block *sub)
{
    struct sql_statement *q = sub->q;
    const char **names = SQL_ARRAY(q, const char *, sub->column_count);
    const char **texts = SQL_ARRAY(q, const char *, sub->column_count);

    for (size_t i = 0; i < sub->column_count && q->err == GRANARY_OK; i++) {
        struct sql_column *column = sub->columns[i];

        texts[i] = sql_quoted(q, column->frame);
        column->frame = sql_take_name(q, column->frame) ? column->frame : sql_fresh(q, column->name);
        names[i] = column->frame;
    }
    return q->err == GRANARY_OK &&
           sql_rel_project(q, &sub->rel, names, texts, sub->column_count, sub->select->position);
}

/*
 * Tables are joined under their own names, and columns renamed afterwards: so steps that the query around has, too, are
 * equal to its, and are done once.
 */
static bool
join_subquery(struct sql_block *block, struct sql_block *sub, bool reduces)
{
    struct sql_taken around = block->q->taken;
    bool apart = reads_tables(block->q, sub->select);
    bool ok;

    if (apart) {
        block->q->taken = (struct sql_taken){.count = 0};
    }
    ok = sql_block_tables(sub) && (!reduces || reduce_items(block, sub)) && sql_join_items(sub);
    if (apart) {
        block->q->taken = around;
    }
    return ok && (!apart || part_names(sub));
}

/* reduces: it is a value for each row of block->rel. */
static struct sql_block *
begin_subquery(struct sql_block *block, const struct sql_select *select, bool reduces)
{
    struct sql_block *sub = SQL_NEW(block->q, struct sql_block);

    if (sub == NULL) {
        return NULL;
    }
    if (select->set != SQL_NO_SET || select->with_count > 0) {
        (void)sql_fail(block->q, GRANARY_EUNSUPPORTED, select->position,
                       "UNION or WITH in a subquery that stands in an expression is not supported: put it into WITH");
        return NULL;
    }
    *sub = (struct sql_block){.q = block->q, .select = select, .outer = block};
    return join_subquery(block, sub, reduces) ? sub : NULL;
}

static bool
is_grouped(const struct sql_select *select)
{
    bool grouped = sql_groups(select);

    for (size_t i = 0; i < select->target_count && !grouped; i++) {
        grouped = sql_has_aggregate(select->targets[i].expr);
    }
    return grouped;
}

/* Whether not all of its rows are left. */
static bool
cuts(const struct sql_select *select)
{
    return select->limit >= 0 || select->offset > 0 || select->distinct_on > 0;
}

/* Whether it has aggregates of all rows together: one row whatever there is. */
static bool
is_one_group(const struct sql_select *select)
{
    return is_grouped(select) && select->group_count == 0 && !select->group_all && select->qualify == NULL &&
           select->set_count < 2 && select->having == NULL && select->limit != 0 && select->offset == 0;
}

static bool
unnests(const struct sql_select *select)
{
    bool any = false;

    for (size_t i = 0; i < select->target_count; i++) {
        any = any ||
              (select->targets[i].expr->kind == SQL_FUNCTION && strcmp(select->targets[i].expr->text, SQL_UNNEST) == 0);
    }
    return any;
}

/* Whether it has one row whatever there is: so has a SELECT without FROM or VALUES of one row, too. */
static bool
is_one_row(const struct sql_select *select)
{
    const struct sql_from *only = select->from_count == 1 ? select->from[0] : NULL;

    if (unnests(select)) {
        return false;
    }
    return is_one_group(select) ||
           (only != NULL && only->kind == SQL_FROM_ROWS && only->stop - only->start == only->step &&
            select->where == NULL && select->qualify == NULL && !sql_groups(select) && select->limit != 0 &&
            select->offset == 0);
}

/* ---- EXISTS and IN as conditions ---- */

/* What IN's subquery gives: of any form when it names nothing of the outer query. */
static struct sql_block *
plan_list(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr,
          struct correlation *ret_correlation, struct sql_result *ret_result)
{
    struct sql_statement *q = block->q;
    const struct sql_select *select = expr->select;
    bool plain = select->set == SQL_NO_SET && select->with_count == 0;
    struct sql_block *sub = plain ? begin_subquery(block, select, false) : SQL_NEW(q, struct sql_block);

    if (sub == NULL) {
        return NULL;
    }
    if (!plain) {
        *sub = (struct sql_block){.q = q, .select = select, .outer = block};
    }
    if (!correlate(block, rel, sub, expr->count, ret_correlation)) {
        return NULL;
    }
    if (sub->correlated_count > 0 && (is_grouped(select) || cuts(select) || select->distinct)) {
        (void)sql_fail(
            q, GRANARY_EUNSUPPORTED, expr->position,
            "aggregates, DISTINCT, LIMIT or OFFSET in IN that names columns of the outer query are not supported");
        return NULL;
    }
    if (!(plain ? sql_block_finish(sub, false, ret_result) : sql_plan(q, select, false, ret_result))) {
        return NULL;
    }
    if (ret_result->count != expr->count) {
        (void)sql_fail(q, GRANARY_EINVAL, expr->position, "%zu value%s compared with %zu column%s", expr->count,
                       expr->count == 1 ? " is" : "s are", ret_result->count, ret_result->count == 1 ? "" : "s");
        return NULL;
    }
    sub->rel = ret_result->rel;
    return sub;
}

/* The subquery of IN or EXISTS as a relation, and the columns of both that must be equal. */
static bool
plan_matches(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr, struct sql_rel *ret_matches,
             struct correlation *ret_correlation)
{
    struct sql_statement *q = block->q;
    struct correlation *c = ret_correlation;
    struct sql_result list = {.count = 0};
    struct sql_block *sub;

    if (expr->subquery == SQL_ANY) {
        sub = plan_list(block, rel, expr, c, &list);
    } else {
        sub = begin_subquery(block, expr->select, false);
        if (sub != NULL && (is_grouped(expr->select) || cuts(expr->select))) {
            return sql_fail(q, GRANARY_EUNSUPPORTED, expr->position,
                            "aggregates, LIMIT or OFFSET in EXISTS are not supported");
        }
        sub = sub != NULL && correlate(block, rel, sub, 0, c) ? sub : NULL;
    }
    if (sub == NULL) {
        return false;
    }
    for (size_t i = 0; i < expr->count; i++) {
        c->outer[c->count] =
            sql_other_column(q, rel, c->outer, c->count, sql_column_of(block, rel, expr->args[i]), expr->position);
        c->inner[c->count] = sql_other_column(q, &sub->rel, c->inner, c->count, list.outputs[i].frame, expr->position);
        c->count++;
    }
    *ret_matches = sub->rel;
    return q->err == GRANARY_OK &&
           (c->count > 0 || sql_fail(q, GRANARY_EUNSUPPORTED, expr->position,
                                     "EXISTS needs an equality between columns of its query and of the outer one"));
}

/* NOT IN of columns that are compared beside others: no row with the others' values may be equal, or equal for all one
 * knows. Those that are compared are taken out of the keys, into the rest. */
static bool
compare_by_rest(struct sql_statement *q, const struct sql_expr *expr, struct correlation *c)
{
    const char *equal = "";

    c->count -= expr->count;
    if (c->count == 0) {
        return sql_fail(
            q, GRANARY_EUNSUPPORTED, expr->position,
            "NOT IN of several columns, or with another condition on the outer query than equalities, is not "
            "supported: write NOT EXISTS");
    }
    for (size_t i = 0; i < expr->count; i++) {
        const char *outer = sql_quoted(q, c->outer[c->count + i]);
        const char *inner = sql_quoted(q, c->inner[c->count + i]);

        if (outer == NULL || inner == NULL || equal == NULL) {
            return false;
        }
        equal = sql_printf(q, "%s%s%s =^ %s", equal, i == 0 ? "" : " and ", outer, inner);
    }
    if (equal == NULL) {
        return false;
    }
    c->rest =
        sql_printf(q, "%s%scoalesce(%s, true)", c->rest == NULL ? "" : c->rest, c->rest == NULL ? "" : " and ", equal);
    return c->rest != NULL;
}

/* Rows of *rel for which IN or EXISTS is true, or with `negated` not. */
static bool
filter_matches(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr, bool negated)
{
    bool not_in = negated && expr->subquery == SQL_ANY;
    bool null_aware;
    struct correlation c;
    struct sql_rel matches;

    if (!plan_matches(block, rel, expr, &matches, &c)) {
        return false;
    }
    null_aware = not_in && c.count == 1 && c.rest == NULL;
    if (not_in && !null_aware && !compare_by_rest(block->q, expr, &c)) {
        return false;
    }
    /* NOT IN must see all nulls. */
    if (!null_aware && matches.rows > REDUCE_FACTOR * rel->rows &&
        !reduce(block->q, &matches, rel, c.inner, c.outer, c.count, expr->position)) {
        return false;
    }
    return sql_rel_join(block->q, rel, &matches,
                        &(struct sql_join_spec){.how = negated ? "anti" : "semi",
                                                .left_on = c.outer,
                                                .right_on = c.inner,
                                                .count = c.count,
                                                .where = c.rest,
                                                .null_aware = null_aware,
                                                .position = expr->position});
}

/* ---- values ---- */

static bool
left_join(struct sql_block *block, const struct sql_rel *right, const struct correlation *c, int position)
{
    return sql_rel_join(
        block->q, &block->rel, right,
        &(struct sql_join_spec){
            .how = "left", .left_on = c->outer, .right_on = c->inner, .count = c->count, .position = position});
}

/* Beside each row: how many values IN's subquery has for it, and how many that are not null (nulls: there is none). */
static bool
join_counts(struct sql_block *block, struct sql_rel values, const struct correlation *c, int position,
            const char *ret_counts[2])
{
    struct sql_statement *q = block->q;
    struct correlation keys = {.outer = c->outer, .inner = SQL_ARRAY(q, const char *, c->count), .count = c->count - 1};
    const char **texts = SQL_ARRAY(q, const char *, c->count);
    const char *aggregates[2] = {"size", NULL};

    for (size_t i = 0; i < c->count && q->err == GRANARY_OK; i++) {
        keys.inner[i] = sql_fresh(q, "in");
        texts[i] = sql_quoted(q, c->inner[i]);
    }
    ret_counts[0] = sql_fresh(q, "values");
    ret_counts[1] = sql_fresh(q, "values");
    if (q->err != GRANARY_OK) {
        return false;
    }
    aggregates[1] = sql_printf(q, "count(%s)", sql_quoted(q, keys.inner[keys.count]));
    return aggregates[1] != NULL && sql_rel_project(q, &values, keys.inner, texts, c->count, position) &&
           sql_rel_group(q, &values, keys.inner, keys.count, &(struct sql_aggregates){ret_counts, aggregates, 2},
                         position) &&
           left_join(block, &values, &keys, position);
}

/*
 * IN or EXISTS as a value: true beside the rows that have a match. IN is null, not false, of a null, and where a null
 * is among the values; of no values at all it is false.
 */
static bool
mark_matches(struct sql_block *block, struct sql_expr *expr)
{
    struct sql_statement *q = block->q;
    struct correlation c;
    struct sql_rel matches;
    const char *mark = sql_fresh(q, "match");
    const char *truth = "true";
    const char *counts[2];

    if (mark == NULL || !plan_matches(block, &block->rel, expr, &matches, &c)) {
        return false;
    }
    if (c.rest != NULL) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, c.rest_position,
                        "IN or EXISTS within OR, NOT or CASE is bound to the outer query by equalities only");
    }
    if (expr->count > 1) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, expr->position,
                        "IN of several columns within OR, NOT or CASE is not supported: write EXISTS");
    }
    if (expr->subquery == SQL_ANY && !join_counts(block, matches, &c, expr->position, counts)) {
        return false;
    }
    if (!sql_rel_distinct(q, &matches, c.inner, c.count, expr->position) ||
        !sql_rel_assign(q, &matches, &mark, &truth, 1, expr->position) ||
        !left_join(block, &matches, &c, expr->position)) {
        return false;
    }
    if (expr->subquery != SQL_ANY) {
        return sql_name_expr(block, expr, sql_printf(q, "(`%s` is not null)", mark));
    }
    return sql_name_expr(
        block, expr,
        sql_printf(q,
                   "(case when `%s` is not null then true when `%s` < `%s` or (`%s` > 0 and %s is null) "
                   "then null else false end)",
                   mark, counts[1], counts[0], counts[0], sql_quoted(q, c.outer[c.count - 1])));
}

/* (SELECT ...) that names nothing of the outer query: one row, beside every row. */
static bool
join_value(struct sql_block *block, struct sql_block *sub, struct sql_expr *expr)
{
    struct sql_statement *q = block->q;
    struct sql_result result;
    const char *name;

    if (!is_one_row(expr->select) && expr->select->limit != 1) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, expr->position,
                        "a subquery that is a value must have one row for sure: aggregate it, or write LIMIT 1");
    }
    if (!sql_block_finish(sub, false, &result)) {
        return false;
    }
    name = result.outputs[0].frame;
    if (!sql_rel_select(q, &result.rel, &name, 1, expr->position)) {
        return false;
    }
    if (!is_one_row(expr->select)) { /* of no row it is null: that stands behind */
        const char *none = sql_no_value(q, name);
        struct sql_rel nulls = result.rel;

        if (none == NULL ||
            !sql_rel_group(q, &nulls, NULL, 0, &(struct sql_aggregates){&name, &none, 1}, expr->position) ||
            !sql_rel_concat(q, &result.rel, &nulls, expr->position) ||
            !sql_rel_head(q, &result.rel, 0, 1, expr->position)) {
            return false;
        }
    }
    return sql_rel_join(q, &block->rel, &result.rel,
                        &(struct sql_join_spec){.how = "inner", .position = expr->position}) &&
           sql_name_expr(block, expr, sql_quoted(q, name));
}

/* One value for each value of the outer query's columns, of aggregates by those. It is computed beside the outer row,
 * where a group that is missing has aggregates of nothing. */
static bool
join_correlated_value(struct sql_block *block, struct sql_block *sub, struct sql_expr *expr)
{
    struct sql_statement *q = block->q;
    struct sql_expr *target = expr->select->targets[0].expr;
    const char *value = sql_fresh(q, "value");
    const char *text;
    struct correlation c;

    if (!is_one_group(expr->select) || target->kind == SQL_STAR) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, expr->position,
                        "a subquery that is a value and names columns of the outer query must be an aggregate");
    }
    if (!correlate(block, &block->rel, sub, 0, &c)) {
        return false;
    }
    if (c.rest != NULL) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, c.rest_position,
                        "a subquery that is a value can be bound to the outer query by equalities only");
    }
    if (!sql_bind(sub, target) || !sql_check_inner(sub, target)) {
        return false;
    }
    sub->sparse = true;
    if (!sql_group(sub, c.inner, c.count, &target, 1, expr->position)) {
        return false;
    }
    sub->grouped = true;
    text = sql_text(sub, target);
    return text != NULL && value != NULL && left_join(block, &sub->rel, &c, expr->position) &&
           sql_rel_assign(q, &block->rel, &value, &text, 1, expr->position) &&
           sql_name_expr(block, expr, sql_quoted(q, value));
}

static bool
join_scalar(struct sql_block *block, struct sql_expr *expr)
{
    struct sql_block *sub = begin_subquery(block, expr->select, true);

    if (sub == NULL) {
        return false;
    }
    if (expr->select->target_count != 1) {
        return sql_fail(block->q, GRANARY_EINVAL, expr->position, "a subquery that is a value has one column, not %zu",
                        expr->select->target_count);
    }
    return sub->correlated_count == 0 ? join_value(block, sub, expr) : join_correlated_value(block, sub, expr);
}

bool
sql_join_subqueries(struct sql_block *block, struct sql_expr *expr)
{
    if (expr->kind == SQL_SUBQUERY) {
        for (size_t i = 0; i < block->named_count; i++) {
            if (block->named[i].expr == expr) {
                return true;
            }
        }
        return expr->subquery == SQL_SCALAR ? join_scalar(block, expr) : mark_matches(block, expr);
    }
    for (size_t i = 0; i < expr->count; i++) {
        if (!sql_join_subqueries(block, expr->args[i])) {
            return false;
        }
    }
    return true;
}

bool
sql_filter_subquery(struct sql_block *block, struct sql_rel *rel, struct sql_expr *conjunct)
{
    struct sql_expr *expr = conjunct;
    bool negated = false;
    const char *text;

    while (expr->kind == SQL_PREFIX && strcmp(expr->text, "not") == 0) {
        negated = !negated;
        expr = expr->args[0];
    }
    if (expr->kind == SQL_SUBQUERY && expr->subquery != SQL_SCALAR) {
        return filter_matches(block, rel, expr, negated);
    }
    block->rel = *rel; /* which values are joined to */
    if (!sql_join_subqueries(block, conjunct)) {
        return false;
    }
    *rel = block->rel;
    text = sql_text(block, conjunct);
    return text != NULL && sql_rel_filter(block->q, rel, text, conjunct->position);
}
