/* ARRAY(SELECT ...): the rows of a subquery as one list, in their order; without rows it is empty. */
#include <string.h>

#include "sql/parse/functions/composed.h"

static bool
has_aggregate(const struct sql_expr *expr)
{
    bool has = expr->kind == SQL_AGGREGATE || expr->over != NULL ||
               (expr->kind == SQL_FUNCTION && strcmp(expr->text, SQL_UNNEST) == 0);

    for (size_t i = 0; i < expr->count && !has; i++) {
        has = expr->kind != SQL_SUBQUERY && has_aggregate(expr->args[i]);
    }
    return has;
}

/* Whether a list of its values, as an aggregate, takes the place of its rows. */
static bool
is_plain(const struct sql_select *select)
{
    return select->set == SQL_NO_SET && !select->distinct && select->distinct_on == 0 && select->group_count == 0 &&
           select->set_count == 0 && !select->group_all && select->having == NULL && select->qualify == NULL &&
           select->value_rows == 0 && select->order_all == NULL && select->limit < 0 && select->offset == 0 &&
           select->ties == 0 && !has_aggregate(select->targets[0].expr);
}

/* Whether ORDER BY names the only value: by its place, its name or itself. */
static bool
is_value(const struct sql_select *select, const struct sql_expr *key)
{
    const struct sql_select *first = select;
    const struct sql_target *target;

    while (first->set != SQL_NO_SET) {
        first = first->left;
    }
    target = &first->targets[0];
    if (target->expr->kind == SQL_STAR && key->kind == SQL_COLUMN) {
        return true; /* of the only column that there is */
    }
    if (key->kind == SQL_LITERAL) {
        return strcmp(key->text, "1") == 0;
    }
    if (target->alias != NULL && key->kind == SQL_COLUMN && key->table == NULL &&
        strcmp(key->text, target->alias) == 0) {
        return true;
    }
    return gathered_same(key, target->expr) ||
           (key->kind == SQL_COLUMN && target->expr->kind == SQL_COLUMN && strcmp(key->text, target->expr->text) == 0 &&
            (key->table == NULL || target->expr->table == NULL));
}

/* The query's rows become one: SELECT list(value ORDER BY ...) FROM ... */
static bool
gather_plain(const struct call *c, struct sql_select *select)
{
    struct sql_expr *value = select->targets[0].expr;
    struct sql_expr *list;

    for (size_t i = 0; i < select->order_count; i++) {
        if (is_value(select, select->order[i].expr)) {
            select->order[i].expr = value;
        } else if (has_aggregate(select->order[i].expr)) {
            return sql_fail(
                c->p->q, GRANARY_EUNSUPPORTED, select->order[i].expr->position,
                "ARRAY(SELECT ...) in the order of this is not supported: give it a name in a query of FROM");
        }
    }
    list = gathered_in_order(c, value, select->order, select->order_count, NULL);
    select->targets[0].expr = list;
    select->order_count = 0;
    return list != NULL;
}

/* SELECT list(value ORDER BY value) FROM (query) */
static struct sql_select *
gather_around(const struct call *c, struct sql_select *inner)
{
    struct sql_statement *q = c->p->q;
    struct sql_select *select = SQL_NEW(q, struct sql_select);
    struct sql_from **from = SQL_ARRAY(q, struct sql_from *, 1);
    struct sql_from *item = SQL_NEW(q, struct sql_from);
    struct sql_target *target = SQL_NEW(q, struct sql_target);
    struct sql_expr *value = sql_parse_new_expr(c->p, SQL_STAR, c->position, "*", 0);
    struct sql_order order = {.expr = value};
    bool ordered = inner->order_count > 0 || inner->order_all != NULL;

    if (value != NULL) { /* of the only column: a list of each */
        value->star = SQL_NEW(q, struct sql_star);
    }
    if (select == NULL || from == NULL || item == NULL || target == NULL || value == NULL || value->star == NULL) {
        return NULL;
    }
    value->star->is_columns = true;
    if (inner->order_count > 0 && (inner->distinct_on > 0 || !is_value(inner, inner->order[0].expr))) {
        (void)sql_fail(
            q, GRANARY_EUNSUPPORTED, inner->order[0].expr->position,
            "ARRAY(SELECT ...) with DISTINCT, groups, LIMIT or a set operation is ordered by its value alone: "
            "put the query into FROM, and write list(value ORDER BY ...)");
        return NULL;
    }
    if (ordered) {
        const struct sql_order *how = inner->order_all != NULL ? inner->order_all : &inner->order[0];

        order.descending = how->descending;
        order.nulls_first = how->nulls_first;
    }
    *item = (struct sql_from){.kind = SQL_FROM_SELECT, .position = inner->position, .select = inner};
    from[0] = item;
    target->expr = gathered_in_order(c, value, &order, ordered ? 1 : 0, NULL);
    *select = (struct sql_select){
        .position = c->position, .targets = target, .target_count = 1, .from = from, .from_count = 1, .limit = -1};
    return target->expr == NULL ? NULL : select;
}

/* `*` of one column: COLUMNS(*), which the list is written out for; of several that is more than one value. */
static void
only_column(struct parse *p, const struct sql_select *select, const struct sql_select *first)
{
    struct sql_expr *star = first->targets[0].expr;

    if (is_plain(select) && star->star == NULL) {
        star->star = SQL_NEW(p->q, struct sql_star);
    }
    if (is_plain(select) && star->star != NULL) {
        star->star->is_columns = true;
    }
}

struct sql_expr *
parse_listed(struct parse *p, struct sql_expr *subquery)
{
    struct sql_select *select = subquery->select;
    const struct sql_select *first = select;
    struct call c = {.p = p, .written = "array", .position = subquery->position};
    struct sql_expr *none;

    while (first->set != SQL_NO_SET) {
        first = first->left;
    }
    if (first->target_count == 1 && first->targets[0].expr->kind == SQL_STAR) {
        only_column(p, select, first);
    } else if (first->target_count != 1) {
        (void)sql_fail(p->q, GRANARY_EINVAL, subquery->position,
                       "ARRAY(SELECT ...) takes one value of each row: list the one that is meant");
        return NULL;
    }
    if (!is_plain(select)) {
        select = gather_around(&c, select);
    } else if (!gather_plain(&c, select)) {
        select = NULL;
    }
    if (select == NULL) {
        return NULL;
    }
    subquery->subquery = SQL_SCALAR;
    subquery->select = select;
    none = CALL(&c, SQL_FUNCTION, "list_distinct", CALL(&c, SQL_FUNCTION, "list_value", composed_literal(&c, "null")));
    return CALL(&c, SQL_FUNCTION, "coalesce", subquery, none);
}
