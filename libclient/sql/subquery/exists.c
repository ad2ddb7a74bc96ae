/*
 * EXISTS, IN, ANY and ALL as conditions of rows: semi and anti joins, of which the conditions that are no equalities are asked
 * of the joined pairs.
 */
#include <string.h>

#include "sql/block.h"
#include "sql/subquery/subquery.h"

const char *
sub_operator(const struct sql_expr *expr)
{
    return expr->text[0] == '\0' ? "=" : expr->text;
}

bool
sub_is_in(const struct sql_expr *expr)
{
    return expr->subquery == SQL_ANY && strcmp(sub_operator(expr), "=") == 0;
}

bool
sub_plan_query(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr,
               const struct sql_reached *reached, struct correlation *c, struct sql_result *ret_result)
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

bool
sub_plan_matches(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr, bool takes_rest,
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
    simple = sub_is_simple(expr->select) && !reached.beyond && !(expr->select->distinct && expr->subquery == SQL_ANY) &&
             (reached.others == 0 || takes_rest);
    if (reached.count == 0 ? !sub_is_plain(expr->select) || expr->subquery == SQL_EXISTS : !simple) {
        size_t room = expr->count + 2;

        *c = (struct correlation){.outer = SQL_ARRAY(q, const char *, room), .inner = SQL_ARRAY(q, const char *, room)};
        if (q->err != GRANARY_OK || !sub_plan_query(block, rel, expr, &reached, c, ret_list)) {
            return false;
        }
        *ret_matches = ret_list->rel;
    } else {
        sub = sub_begin(block, expr->select, false);
        if (sub == NULL || !sub_correlate(block, rel, sub, expr->count + 2, c) ||
            (expr->subquery == SQL_ANY && !sql_block_finish(sub, false, ret_list))) {
            return false;
        }
        *ret_matches = expr->subquery == SQL_ANY ? ret_list->rel : sub->rel;
    }
    return expr->subquery != SQL_ANY || ret_list->count == expr->count ||
           sql_fail(q, GRANARY_EINVAL, expr->position, "%zu value%s compared with %zu column%s", expr->count,
                    expr->count == 1 ? " is" : "s are", ret_list->count, ret_list->count == 1 ? "" : "s");
}

bool
sub_add_compared(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr, struct sql_rel *matches,
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

bool
sub_add_any_key(struct sql_statement *q, struct sql_rel *rel, struct sql_rel *matches, int position,
                struct correlation *c)
{
    const char *one = "1";

    c->outer[0] = sql_fresh(q, "all");
    c->inner[0] = sql_fresh(q, "all");
    c->count = 1;
    return q->err == GRANARY_OK && sql_rel_assign(q, rel, &c->outer[0], &one, 1, position) &&
           sql_rel_assign(q, matches, &c->inner[0], &one, 1, position);
}

const char *
sub_comparison(struct sql_statement *q, const struct correlation *c, size_t from, size_t count, const char *operator)
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
    text = sub_comparison(q, c, c->count, expr->count, sub_operator(expr));
    if (text == NULL) {
        return false;
    }
    c->rest = sql_printf(q, maybe ? "%s%scoalesce(%s, true)" : "%s%s(%s)", c->rest == NULL ? "" : c->rest,
                         c->rest == NULL ? "" : " and ", text);
    return c->rest != NULL;
}

bool
sub_join_existence(struct sql_block *block, struct sql_rel *rel, struct sql_rel *matches, const struct sql_expr *expr,
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

bool
sub_filter_matches(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr, bool negated)
{
    struct sql_statement *q = block->q;
    bool not_in = negated && expr->subquery == SQL_ANY;
    bool null_aware;
    bool in = sub_is_in(expr);
    bool keyed;
    struct correlation c;
    struct sql_rel matches;
    struct sql_result list;
    const char *text;

    if (!sub_plan_matches(block, rel, expr, true, &matches, &c, &list)) {
        return false;
    }
    if (expr->subquery == SQL_EXISTS && c.count == 0 && c.rest == NULL) {
        return sub_join_existence(block, rel, &matches, expr, &text) &&
               sql_rel_filter(q, rel, negated ? sql_printf(q, "not %s", text) : text, expr->position);
    }
    if (!sub_add_compared(block, rel, expr, &matches, &list, &c)) {
        return false;
    }
    null_aware = not_in && in && c.count == 1 && c.rest == NULL;
    if (expr->subquery == SQL_ANY && !null_aware && (not_in || !in) && !compare_by_rest(q, expr, negated, &c)) {
        return false;
    }
    keyed = c.count > 0;
    if (!keyed && !sub_add_any_key(q, rel, &matches, expr->position, &c)) {
        return false;
    }
    /* NOT IN must see all nulls. */
    if (!null_aware && keyed && matches.rows > SUB_REDUCE_FACTOR * rel->rows &&
        !sub_reduce(q, &matches, rel, c.inner, c.outer, c.count, expr->position)) {
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
