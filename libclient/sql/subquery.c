/*
 * Subqueries become joins. The equalities of a subquery with the outer query's columns are the keys of the join. The
 * rest of its conditions must hold of a pair of rows, and is asked of the joined pairs. A subquery that names those
 * columns elsewhere is computed for the numbered rows of the outer query (around.c), and joined by the number.
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
           select->set_count < 2 && select->having == NULL && select->limit != 0 && select->offset == 0 &&
           select->limit_value == NULL && select->offset_value == NULL;
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
            select->offset == 0 && select->limit_value == NULL && select->offset_value == NULL);
}

/* Whether it is one SELECT by itself. */
static bool
is_plain(const struct sql_select *select)
{
    return select->set == SQL_NO_SET && select->with_count == 0;
}

/* Whether its rows are those that its conditions leave, so that conditions on outer columns may be asked afterwards. */
static bool
is_simple(const struct sql_select *select)
{
    return is_plain(select) && !is_grouped(select) && !cuts(select) && !unnests(select) && select->qualify == NULL;
}

/* ---- EXISTS and IN as conditions ---- */

/* The operator of IN, ANY or ALL, as expressions have it; SQL's order has nan as the largest. */
static const char *
operator_of(const struct sql_expr *expr)
{
    return expr->text[0] == '\0' ? "=" : expr->text;
}

static bool
is_in(const struct sql_expr *expr)
{
    return expr->subquery == SQL_ANY && strcmp(operator_of(expr), "=") == 0;
}

/* What the subquery of an expression gives, as a relation, whatever its form; rel: the outer rows, which may get a
 * number, and are joined by it then. *ret_result may lack outputs of EXISTS. */
static bool
plan_query(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr, const struct sql_reached *reached,
           struct correlation *c, struct sql_result *ret_result)
{
    struct sql_statement *q = block->q;
    const struct sql_around *around;

    if (reached->count == 0) {
        return sql_plan(q, expr->select, false, ret_result);
    }
    for (size_t i = 0; i < reached->count; i++) {
        if (reached->columns[i]->block != block) {
            return sql_fail(q, GRANARY_EUNSUPPORTED, expr->position,
                            "'%s' is a column of a query further out, which cannot be named here",
                            reached->columns[i]->name);
        }
    }
    around = sql_number_rows(block, rel, expr->position);
    if (around == NULL || !sql_plan_for(q, expr->select, around, ret_result)) {
        return false;
    }
    c->outer[c->count] = around->number;
    c->inner[c->count++] = ret_result->number;
    return true;
}

/* The subquery of IN or EXISTS as a relation, its outputs, and the columns of both that must be equal. */
static bool
plan_matches(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr, bool takes_rest,
             struct sql_rel *ret_matches, struct correlation *ret_correlation, struct sql_result *ret_list)
{
    struct sql_statement *q = block->q;
    struct correlation *c = ret_correlation;
    struct sql_block *sub;
    struct sql_reached reached;
    bool simple;

    *ret_list = (struct sql_result){.count = 0};
    if (!sql_reach_out(block, expr->select, &reached)) {
        return false;
    }
    simple = is_simple(expr->select) && !reached.beyond && !(expr->select->distinct && expr->subquery == SQL_ANY) &&
             (reached.others == 0 || takes_rest);
    if (reached.count == 0 ? !is_plain(expr->select) || expr->subquery == SQL_EXISTS : !simple) {
        size_t room = expr->count + 2;

        *c = (struct correlation){.outer = SQL_ARRAY(q, const char *, room), .inner = SQL_ARRAY(q, const char *, room)};
        if (q->err != GRANARY_OK || !plan_query(block, rel, expr, &reached, c, ret_list)) {
            return false;
        }
        *ret_matches = ret_list->rel;
    } else {
        sub = begin_subquery(block, expr->select, false);
        if (sub == NULL || !correlate(block, rel, sub, expr->count + 2, c) ||
            (expr->subquery == SQL_ANY && !sql_block_finish(sub, false, ret_list))) {
            return false;
        }
        *ret_matches = expr->subquery == SQL_ANY ? ret_list->rel : sub->rel;
    }
    return expr->subquery != SQL_ANY || ret_list->count == expr->count ||
           sql_fail(q, GRANARY_EINVAL, expr->position, "%zu value%s compared with %zu column%s", expr->count,
                    expr->count == 1 ? " is" : "s are", ret_list->count, ret_list->count == 1 ? "" : "s");
}

/* What IN compares becomes keys, too. */
static bool
add_compared(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr, struct sql_rel *matches,
             const struct sql_result *list, struct correlation *c)
{
    struct sql_statement *q = block->q;

    for (size_t i = 0; i < expr->count && q->err == GRANARY_OK; i++) {
        c->outer[c->count] =
            sql_other_column(q, rel, c->outer, c->count, sql_column_of(block, rel, expr->args[i]), expr->position);
        c->inner[c->count] = sql_other_column(q, matches, c->inner, c->count, list->outputs[i].frame, expr->position);
        c->count++;
    }
    return q->err == GRANARY_OK;
}

/* Without keys every row meets every row: both sides get a column that is equal. */
static bool
add_any_key(struct sql_statement *q, struct sql_rel *rel, struct sql_rel *matches, int position, struct correlation *c)
{
    const char *one = "1";

    c->outer[0] = sql_fresh(q, "all");
    c->inner[0] = sql_fresh(q, "all");
    c->count = 1;
    return q->err == GRANARY_OK && sql_rel_assign(q, rel, &c->outer[0], &one, 1, position) &&
           sql_rel_assign(q, matches, &c->inner[0], &one, 1, position);
}

/*
 * What is compared, of columns outer[from..] and inner[from..], as an expression: all equal; or in the order of rows,
 * (a, b) < (c, d): a < c or (a = c and b < d).
 */
static const char *
comparison(struct sql_statement *q, const struct correlation *c, size_t from, size_t count, const char *operator)
{
    const char *text = NULL;
    bool ordered = operator[0] == '<' || operator[0] == '>';

    for (size_t i = count; i-- > 0;) {
        const char *a = sql_quoted(q, c->outer[from + i]);
        const char *b = sql_quoted(q, c->inner[from + i]);

        if (a == NULL || b == NULL || (i + 1 < count && text == NULL)) {
            return NULL;
        }
        if (i + 1 == count) {
            text = sql_printf(q, "%s %s^ %s", a, operator, b);
        } else if (ordered) {
            text = sql_printf(q, "(%s %.1s^ %s or (%s =^ %s and (%s)))", a, operator, b, a, b, text);
        } else {
            text = sql_printf(q, "(%s %s^ %s %s (%s))", a, operator, b, operator[0] == '=' ? "and" : "or", text);
        }
    }
    return text;
}

/* The columns that are compared are taken out of the keys, into the rest. maybe: a pair of which that is not known is
 * one, too. */
static bool
compare_by_rest(struct sql_statement *q, const struct sql_expr *expr, bool maybe, struct correlation *c)
{
    const char *text;

    c->count -= expr->count;
    text = comparison(q, c, c->count, expr->count, operator_of(expr));
    if (text == NULL) {
        return false;
    }
    c->rest = sql_printf(q, maybe ? "%s%scoalesce(%s, true)" : "%s%s(%s)", c->rest == NULL ? "" : c->rest,
                         c->rest == NULL ? "" : " and ", text);
    return c->rest != NULL;
}

/* EXISTS of a query that names nothing of the outer one: whether it has rows, beside every row. */
static bool
join_existence(struct sql_block *block, struct sql_rel *rel, struct sql_rel *matches, const struct sql_expr *expr,
               const char **ret_text)
{
    struct sql_statement *q = block->q;
    const char *rows = sql_fresh(q, "rows");
    const char *size = "size";

    *ret_text = rows == NULL ? NULL : sql_printf(q, "(`%s` > 0)", rows);
    return *ret_text != NULL && sql_rel_head(q, matches, 0, 1, expr->position) &&
           sql_rel_group(q, matches, NULL, 0, &(struct sql_aggregates){&rows, &size, 1}, expr->position) &&
           sql_rel_join(q, rel, matches, &(struct sql_join_spec){.how = "inner", .position = expr->position});
}

/* Rows of *rel for which IN or EXISTS is true, or with `negated` not. */
static bool
filter_matches(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr, bool negated)
{
    struct sql_statement *q = block->q;
    bool not_in = negated && expr->subquery == SQL_ANY;
    bool null_aware;
    bool in = is_in(expr);
    bool keyed;
    struct correlation c;
    struct sql_rel matches;
    struct sql_result list;
    const char *text;

    if (!plan_matches(block, rel, expr, true, &matches, &c, &list)) {
        return false;
    }
    if (expr->subquery == SQL_EXISTS && c.count == 0 && c.rest == NULL) {
        return join_existence(block, rel, &matches, expr, &text) &&
               sql_rel_filter(q, rel, negated ? sql_printf(q, "not %s", text) : text, expr->position);
    }
    if (!add_compared(block, rel, expr, &matches, &list, &c)) {
        return false;
    }
    null_aware = not_in && in && c.count == 1 && c.rest == NULL;
    if (expr->subquery == SQL_ANY && !null_aware && (not_in || !in) && !compare_by_rest(q, expr, negated, &c)) {
        return false;
    }
    keyed = c.count > 0;
    if (!keyed && !add_any_key(q, rel, &matches, expr->position, &c)) {
        return false;
    }
    /* NOT IN must see all nulls. */
    if (!null_aware && keyed && matches.rows > REDUCE_FACTOR * rel->rows &&
        !reduce(q, &matches, rel, c.inner, c.outer, c.count, expr->position)) {
        return false;
    }
    return sql_rel_join(q, rel, &matches,
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
 * ANY as a value, in its general form: of the pairs of an outer row and a value for which the comparison is not false,
 * those are counted for which it is true. No such pair: it is false; none that is true: it is null.
 */
static bool
mark_pairs(struct sql_block *block, struct sql_expr *expr, struct sql_rel *matches, struct correlation *c)
{
    struct sql_statement *q = block->q;
    size_t keys = c->count - expr->count;
    const char *text = comparison(q, c, keys, expr->count, operator_of(expr));
    const struct sql_around *around = sql_number_rows(block, &block->rel, expr->position);
    struct sql_rel pairs = block->rel;
    const char *names[3] = {sql_fresh(q, "is"), sql_fresh(q, "values"), sql_fresh(q, "values")};
    const char *aggregates[2] = {"size", NULL};
    const char *number = sql_fresh(q, "outer");
    const char *renamed;

    if (text == NULL || around == NULL || q->err != GRANARY_OK) {
        return false;
    }
    aggregates[1] = sql_printf(q, "count(case when `%s` then 1 else null end)", names[0]);
    renamed = sql_quoted(q, around->number);
    if (q->err != GRANARY_OK ||
        !sql_rel_join(q, &pairs, matches,
                      &(struct sql_join_spec){.how = "inner",
                                              .left_on = c->outer,
                                              .right_on = c->inner,
                                              .count = keys,
                                              .where = sql_printf(q, "coalesce(%s, true)", text),
                                              .position = expr->position}) ||
        !sql_rel_project(q, &pairs, (const char *[]){number, names[0]}, (const char *[]){renamed, text}, 2,
                         expr->position) ||
        !sql_rel_group(q, &pairs, &number, 1, &(struct sql_aggregates){&names[1], aggregates, 2}, expr->position) ||
        !sql_rel_join(q, &block->rel, &pairs,
                      &(struct sql_join_spec){.how = "left",
                                              .left_on = &around->number,
                                              .right_on = &number,
                                              .count = 1,
                                              .position = expr->position})) {
        return false;
    }
    return sql_name_expr(
        block, expr,
        sql_printf(q, "(case when `%s` > 0 then true when `%s` > 0 then null else false end)", names[2], names[1]));
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
    struct sql_result list;
    const char *mark = sql_fresh(q, "match");
    const char *truth = "true";
    const char *counts[2];

    if (mark == NULL || !plan_matches(block, &block->rel, expr, false, &matches, &c, &list)) {
        return false;
    }
    if (c.rest != NULL) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, c.rest_position,
                        "IN or EXISTS within OR, NOT or CASE is bound to the outer query by equalities only");
    }
    if (expr->subquery == SQL_EXISTS && c.count == 0) {
        return join_existence(block, &block->rel, &matches, expr, &truth) && sql_name_expr(block, expr, truth);
    }
    if (!add_compared(block, &block->rel, expr, &matches, &list, &c)) {
        return false;
    }
    if (expr->count > 1 || (expr->subquery == SQL_ANY && !is_in(expr))) {
        return mark_pairs(block, expr, &matches, &c);
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

static bool
is_null_literal(const struct sql_expr *expr)
{
    return expr->kind == SQL_LITERAL && strcmp(expr->text, "null") == 0;
}

/* Whether a null without a type is compared with values, or a value with such nulls. */
static bool
compares_null(const struct sql_expr *expr)
{
    const struct sql_select *select = expr->select;

    return expr->subquery == SQL_ANY && expr->count == 1 &&
           (is_null_literal(expr->args[0]) ||
            (select->set == SQL_NO_SET && select->target_count == 1 && is_null_literal(select->targets[0].expr)));
}

/* Then it is null where there are values, and else false. */
static bool
mark_null(struct sql_block *block, struct sql_expr *expr)
{
    struct sql_expr *exists = SQL_NEW(block->q, struct sql_expr);
    const char *text;

    if (exists == NULL) {
        return false;
    }
    *exists = *expr;
    exists->subquery = SQL_EXISTS;
    exists->count = 0;
    text = mark_matches(block, exists) ? sql_text(block, exists) : NULL;
    return text != NULL &&
           sql_name_expr(block, expr, sql_printf(block->q, "(case when %s then null else false end)", text));
}

/* The column of a subquery that is a value. NULL: it has another number of them. */
static const char *
value_column(struct sql_statement *q, const struct sql_expr *expr, const struct sql_result *result)
{
    size_t size = expr->row_size > 0 ? expr->row_size : 1;

    if (result->count != size) {
        (void)sql_fail(q, GRANARY_EINVAL, expr->position,
                       size == 1 ? "a subquery that is a value has one column, not %zu"
                                 : "a subquery has %zu columns, and is compared with %zu values",
                       result->count, size);
        return NULL;
    }
    return result->outputs[expr->row_place].frame;
}

/* A value that is an error where there are several rows: of each number, or (NULL) of all. */
static bool
take_single(struct sql_statement *q, struct sql_rel *rel, const char *number, const char *value, int position,
            const char **ret_value)
{
    const char *rows = sql_fresh(q, "rows");
    const char *text = q->err != GRANARY_OK ? NULL : sql_printf(q, "single(%s, `%s`)", sql_quoted(q, value), rows);

    *ret_value = sql_fresh(q, "value");
    return q->err == GRANARY_OK && (number != NULL || sql_rel_head(q, rel, 0, 2, position)) &&
           sql_rel_window(q, rel, rows, "size()",
                          &(struct sql_window_spec){
                              .partition = &number, .partition_count = number != NULL, .position = position}) &&
           sql_rel_assign(q, rel, ret_value, &text, 1, position);
}

/* A value beside every row, or null when there is none. */
static bool
join_perhaps(struct sql_block *block, struct sql_rel *value, int position)
{
    struct sql_statement *q = block->q;
    struct correlation c = {.outer = SQL_ARRAY(q, const char *, 1), .inner = SQL_ARRAY(q, const char *, 1)};

    return q->err == GRANARY_OK && add_any_key(q, &block->rel, value, position, &c) &&
           left_join(block, value, &c, position);
}

/* (SELECT ...) that names nothing of the outer query: one row, beside every row. */
static bool
join_value(struct sql_block *block, struct sql_expr *expr)
{
    struct sql_statement *q = block->q;
    bool plain = is_plain(expr->select);
    struct sql_block *sub = plain ? begin_subquery(block, expr->select, true) : NULL;
    struct sql_result result;
    const char *name;

    if (plain ? sub == NULL || !sql_block_finish(sub, false, &result) : !sql_plan(q, expr->select, false, &result)) {
        return false;
    }
    name = value_column(q, expr, &result);
    if (name == NULL || !sql_rel_select(q, &result.rel, &name, 1, expr->position)) {
        return false;
    }
    if (!plain || !is_one_row(expr->select)) {
        return take_single(q, &result.rel, NULL, name, expr->position, &name) &&
               sql_rel_select(q, &result.rel, &name, 1, expr->position) &&
               join_perhaps(block, &result.rel, expr->position) && sql_name_expr(block, expr, sql_quoted(q, name));
    }
    return sql_rel_join(q, &block->rel, &result.rel,
                        &(struct sql_join_spec){.how = "inner", .position = expr->position}) &&
           sql_name_expr(block, expr, sql_quoted(q, name));
}

/* A value for each row of the outer query, whatever the subquery is. */
static bool
join_numbered_value(struct sql_block *block, struct sql_expr *expr, const struct sql_reached *reached)
{
    struct sql_statement *q = block->q;
    struct correlation c = {.outer = SQL_ARRAY(q, const char *, 1), .inner = SQL_ARRAY(q, const char *, 1)};
    const char *columns[2];
    const char *names[2];
    const char *texts[2];
    struct sql_result result;

    if (c.outer == NULL || c.inner == NULL || !plan_query(block, &block->rel, expr, reached, &c, &result)) {
        return false;
    }
    columns[0] = c.inner[0];
    columns[1] = value_column(q, expr, &result);
    if (columns[1] == NULL) {
        return false;
    }
    if (!(is_plain(expr->select) && is_one_row(expr->select)) &&
        !take_single(q, &result.rel, columns[0], columns[1], expr->position, &columns[1])) {
        return false;
    }
    for (int i = 0; i < 2 && q->err == GRANARY_OK; i++) {
        texts[i] = sql_quoted(q, columns[i]);
        names[i] = sql_fresh(q, i == 0 ? "outer" : "value");
    }
    c.inner[0] = names[0];
    return q->err == GRANARY_OK && sql_rel_project(q, &result.rel, names, texts, 2, expr->position) &&
           left_join(block, &result.rel, &c, expr->position) && sql_name_expr(block, expr, sql_quoted(q, names[1]));
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

    if (!correlate(block, &block->rel, sub, 0, &c)) {
        return false;
    }
    if (c.rest != NULL) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, c.rest_position,
                        "this condition on columns of the outer query is not supported in a subquery that is a value");
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
    const struct sql_select *select = expr->select;
    struct sql_reached reached;
    struct sql_block *sub;

    if (!sql_reach_out(block, select, &reached)) {
        return false;
    }
    if (reached.count == 0) {
        return join_value(block, expr);
    }
    if (!is_plain(select) || reached.beyond || reached.others > 0 || !is_one_group(select) || expr->row_size > 0 ||
        select->target_count != 1 || sql_star_in(select->targets[0].expr) != NULL || select->set_count > 0 ||
        select->distinct || sql_has(select->targets[0].expr, SQL_SUBQUERY) || sql_has_window(select->targets[0].expr)) {
        return join_numbered_value(block, expr, &reached);
    }
    sub = begin_subquery(block, select, true);
    return sub != NULL && join_correlated_value(block, sub, expr);
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
        return expr->subquery == SQL_SCALAR ? join_scalar(block, expr)
               : compares_null(expr)        ? mark_null(block, expr)
                                            : mark_matches(block, expr);
    }
    if (expr->kind == SQL_RANDOM) {
        return sql_number_random(block, expr);
    }
    if (expr->kind == SQL_LAMBDA && sql_has(expr, SQL_RANDOM)) {
        return true; /* each item would need a number: it is refused where it is written */
    }
    for (size_t i = 0; i < expr->count; i++) {
        if (!sql_join_subqueries(block, expr->args[i])) {
            return false;
        }
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->partition_count; i++) {
        if (!sql_join_subqueries(block, expr->over->partition[i])) {
            return false;
        }
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->order_count; i++) {
        if (!sql_join_subqueries(block, expr->over->order[i].expr)) {
            return false;
        }
    }
    return expr->condition == NULL || sql_join_subqueries(block, expr->condition);
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
    if (expr->kind == SQL_SUBQUERY && expr->subquery != SQL_SCALAR && !compares_null(expr)) {
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
