/*
 * EXISTS, IN, ANY and ALL as values: what they say of each row becomes a column, by counts of what matches and of nulls, or by
 * numbered rows.
 */
#include <string.h>

#include "sql/block.h"
#include "sql/subquery/subquery.h"

bool
sub_left_join(struct sql_block *block, const struct sql_rel *right, const struct correlation *c, int position)
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
           sub_left_join(block, &values, &keys, position);
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
    const char *text = sub_comparison(q, c, keys, expr->count, sub_operator(expr));
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

bool
sub_mark_matches(struct sql_block *block, struct sql_expr *expr)
{
    struct sql_statement *q = block->q;
    struct correlation c;
    struct sql_rel matches;
    struct sql_result list;
    const char *mark = sql_fresh(q, "match");
    const char *truth = "true";
    const char *counts[2];

    if (mark == NULL || !sub_plan_matches(block, &block->rel, expr, false, &matches, &c, &list)) {
        return false;
    }
    if (c.rest != NULL) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, c.rest_position,
                        "IN or EXISTS within OR, NOT or CASE is bound to the outer query by equalities only");
    }
    if (expr->subquery == SQL_EXISTS && c.count == 0) {
        return sub_join_existence(block, &block->rel, &matches, expr, &truth) && sql_name_expr(block, expr, truth);
    }
    if (!sub_add_compared(block, &block->rel, expr, &matches, &list, &c)) {
        return false;
    }
    if (expr->count > 1 || (expr->subquery == SQL_ANY && !sub_is_in(expr))) {
        return mark_pairs(block, expr, &matches, &c);
    }
    if (expr->subquery == SQL_ANY && !join_counts(block, matches, &c, expr->position, counts)) {
        return false;
    }
    if (!sql_rel_distinct(q, &matches, c.inner, c.count, expr->position) ||
        !sql_rel_assign(q, &matches, &mark, &truth, 1, expr->position) ||
        !sub_left_join(block, &matches, &c, expr->position)) {
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

bool
sub_compares_null(const struct sql_expr *expr)
{
    const struct sql_select *select = expr->select;

    return expr->subquery == SQL_ANY && expr->count == 1 &&
           (is_null_literal(expr->args[0]) ||
            (select->set == SQL_NO_SET && select->target_count == 1 && is_null_literal(select->targets[0].expr)));
}

bool
sub_mark_null(struct sql_block *block, struct sql_expr *expr)
{
    struct sql_expr *exists = SQL_NEW(block->q, struct sql_expr);
    const char *text;

    if (exists == NULL) {
        return false;
    }
    *exists = *expr;
    exists->subquery = SQL_EXISTS;
    exists->count = 0;
    text = sub_mark_matches(block, exists) ? sql_text(block, exists) : NULL;
    return text != NULL &&
           sql_name_expr(block, expr, sql_printf(block->q, "(case when %s then null else false end)", text));
}
