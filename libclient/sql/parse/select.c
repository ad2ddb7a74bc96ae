/* SELECT and what FROM lists. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sql/parse/private.h"

const char *
parse_string(const PgQuery__Node *node)
{
    return node != NULL && node->node_case == PG_QUERY__NODE__NODE_STRING ? node->string->sval : "";
}

const char *
parse_copy(struct parse *p, const char *text)
{
    return sql_printf(p->q, "%s", text);
}

bool
parse_unsupported(struct parse *p, int position, const char *what)
{
    return sql_fail(p->q, GRANARY_EUNSUPPORTED, position, "%s not supported", what);
}

static bool
parse_names(struct parse *p, PgQuery__Node *const *from, size_t count, const char ***ret_names)
{
    *ret_names = SQL_ARRAY(p->q, const char *, count);
    for (size_t i = 0; i < count && *ret_names != NULL; i++) {
        (*ret_names)[i] = parse_copy(p, parse_string(from[i]));
    }
    return p->q->err == GRANARY_OK;
}

/* ---- FROM ---- */

static struct sql_from *parse_from(struct parse *p, const PgQuery__Node *from);

bool
parse_alias(struct parse *p, const PgQuery__Alias *alias, struct sql_from *item)
{
    if (alias == NULL) {
        return true;
    }
    item->alias = parse_copy(p, alias->aliasname);
    item->column_count = alias->n_colnames;
    return parse_names(p, alias->colnames, alias->n_colnames, &item->columns);
}

static bool
parse_table(struct parse *p, const PgQuery__RangeVar *table, struct sql_from *item)
{
    item->kind = SQL_FROM_TABLE;
    item->position = table->location;
    if (table->relname[0] == '#' && table->schemaname[0] == '\0') { /* parse.c put it there */
        size_t number = strtoul(table->relname + 1, NULL, 10);

        item->name = p->files[number < 256 ? number : 255];
        if (item->name == NULL) {
            return sql_fail(p->q, GRANARY_ENOENT, table->location, "there is no table '%s'", table->relname);
        }
    } else if (table->catalogname[0] != '\0') {
        item->name = sql_printf(p->q, "%s.%s.%s", table->catalogname, table->schemaname, table->relname);
    } else if (table->schemaname[0] != '\0') {
        item->name = sql_printf(p->q, "%s.%s", table->schemaname, table->relname);
    } else {
        item->name = parse_copy(p, table->relname);
    }
    return item->name != NULL && parse_alias(p, table->alias, item);
}

static bool
parse_join(struct parse *p, const PgQuery__JoinExpr *join, struct sql_from *item)
{
    static const enum sql_join joins[] = {
        [PG_QUERY__JOIN_TYPE__JOIN_INNER] = SQL_INNER,
        [PG_QUERY__JOIN_TYPE__JOIN_LEFT] = SQL_LEFT,
        [PG_QUERY__JOIN_TYPE__JOIN_RIGHT] = SQL_RIGHT,
        [PG_QUERY__JOIN_TYPE__JOIN_FULL] = SQL_FULL,
    };

    if (join->jointype < PG_QUERY__JOIN_TYPE__JOIN_INNER || join->jointype > PG_QUERY__JOIN_TYPE__JOIN_RIGHT) {
        return parse_unsupported(p, item->position, "this kind of join is");
    }
    if (join->alias != NULL || join->join_using_alias != NULL) {
        return parse_unsupported(p, item->position, "an alias of a join is");
    }
    item->kind = SQL_FROM_JOIN;
    item->join = joins[join->jointype];
    item->natural = join->is_natural != 0;
    item->left = parse_from(p, join->larg);
    item->right = item->left == NULL ? NULL : parse_from(p, join->rarg);
    if (item->right == NULL) {
        return false;
    }
    item->position = item->right->position;
    item->using_count = join->n_using_clause;
    if (!parse_names(p, join->using_clause, join->n_using_clause, &item->using)) {
        return false;
    }
    if (join->quals != NULL) {
        item->on = parse_expr(p, join->quals);
        return item->on != NULL;
    }
    if (item->join == SQL_INNER && item->using_count == 0 && !item->natural) {
        item->join = SQL_CROSS;
    }
    return true;
}

static struct sql_from *
parse_from(struct parse *p, const PgQuery__Node *from)
{
    struct sql_from *item = SQL_NEW(p->q, struct sql_from);
    bool ok = false;

    if (item == NULL) {
        return NULL;
    }
    if (++p->depth > SQL_NESTING) {
        (void)sql_fail(p->q, GRANARY_EINVAL, -1, "joins and subqueries nest more than %d deep", SQL_NESTING);
        return NULL;
    }
    item->position = -1;
    switch (from->node_case) {
    case PG_QUERY__NODE__NODE_RANGE_VAR:
        ok = parse_table(p, from->range_var, item);
        break;
    case PG_QUERY__NODE__NODE_JOIN_EXPR:
        ok = parse_join(p, from->join_expr, item);
        break;
    case PG_QUERY__NODE__NODE_RANGE_SUBSELECT:
        if (from->range_subselect->lateral) {
            ok = parse_unsupported(p, -1, "LATERAL is");
            break;
        }
        item->kind = SQL_FROM_SELECT;
        item->select = parse_select(p, from->range_subselect->subquery->select_stmt);
        item->position = item->select == NULL ? -1 : item->select->position;
        ok = item->select != NULL && parse_alias(p, from->range_subselect->alias, item);
        break;
    case PG_QUERY__NODE__NODE_RANGE_FUNCTION:
        ok = parse_series(p, from->range_function, item);
        break;
    default:
        ok = parse_unsupported(p, -1, "this form of FROM is");
        break;
    }
    p->depth--;
    return ok ? item : NULL;
}

/* ---- WITH, ORDER BY, LIMIT ---- */

static bool
parse_with(struct parse *p, const PgQuery__WithClause *with, struct sql_select *select)
{
    if (with == NULL) {
        return true;
    }
    if (with->recursive) {
        return parse_unsupported(p, with->location, "WITH RECURSIVE is");
    }
    select->with_count = with->n_ctes;
    select->with = SQL_ARRAY(p->q, struct sql_with, with->n_ctes);
    for (size_t i = 0; i < with->n_ctes && select->with != NULL; i++) {
        const PgQuery__CommonTableExpr *cte = with->ctes[i]->common_table_expr;
        struct sql_with *to = &select->with[i];

        if (cte->ctequery == NULL || cte->ctequery->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
            return parse_unsupported(p, cte->location, "WITH of anything but SELECT is");
        }
        to->name = parse_copy(p, cte->ctename);
        to->position = cte->location;
        to->column_count = cte->n_aliascolnames;
        if (to->name == NULL || !parse_names(p, cte->aliascolnames, cte->n_aliascolnames, &to->columns)) {
            return false;
        }
        to->select = parse_select(p, cte->ctequery->select_stmt);
        if (to->select == NULL) {
            return false;
        }
    }
    return select->with != NULL;
}

bool
parse_order(struct parse *p, PgQuery__Node *const *from, size_t count, struct sql_order **ret_order)
{
    struct sql_order *order = SQL_ARRAY(p->q, struct sql_order, count);

    for (size_t i = 0; i < count && order != NULL; i++) {
        const PgQuery__SortBy *by = from[i]->sort_by;

        if (by->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_USING) {
            return parse_unsupported(p, by->location, "ORDER BY ... USING is");
        }
        order[i].expr = parse_expr(p, by->node);
        order[i].descending = by->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_DESC;
        order[i].nulls_first = by->sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST;
        if (order[i].expr == NULL) {
            return false;
        }
    }
    *ret_order = order;
    return order != NULL;
}

/* A whole number that is no expression. */
bool
parse_count(struct parse *p, const PgQuery__Node *from, const char *what, int64_t absent, int64_t *ret_count)
{
    const PgQuery__AConst *value;

    *ret_count = absent;
    if (from == NULL) {
        return true;
    }
    value = from->node_case == PG_QUERY__NODE__NODE_A_CONST ? from->a_const : NULL;
    if (value != NULL && value->isnull) { /* LIMIT ALL */
        return true;
    }
    if (value != NULL && value->val_case == PG_QUERY__A__CONST__VAL_IVAL && value->ival->ival >= 0) {
        *ret_count = value->ival->ival;
        return true;
    }
    if (value != NULL && value->val_case == PG_QUERY__A__CONST__VAL_FVAL) {
        char *end;
        long long count = strtoll(value->fval->fval, &end, 10);

        if (*end == '\0' && count >= 0 && count < LLONG_MAX) {
            *ret_count = count;
            return true;
        }
    }
    return sql_fail(p->q, GRANARY_EINVAL, value == NULL ? -1 : value->location, "%s needs a whole number, 0 or more",
                    what);
}

/* ---- SELECT ---- */

static bool
parse_targets(struct parse *p, const PgQuery__SelectStmt *from, struct sql_select *select)
{
    select->target_count = from->n_target_list;
    select->targets = SQL_ARRAY(p->q, struct sql_target, from->n_target_list);
    for (size_t i = 0; i < from->n_target_list && select->targets != NULL; i++) {
        const PgQuery__ResTarget *target = from->target_list[i]->res_target;

        select->targets[i].expr = parse_expr(p, target->val);
        if (select->targets[i].expr == NULL) {
            return false;
        }
        if (select->position < 0) {
            select->position = select->targets[i].expr->position;
        }
        if (target->name[0] != '\0') {
            select->targets[i].alias = parse_copy(p, target->name);
        }
    }
    return p->q->err == GRANARY_OK;
}

/* What is refused by name. */
static bool
check_clauses(struct parse *p, const PgQuery__SelectStmt *from, const struct sql_select *select)
{
    if (from->into_clause != NULL) {
        return parse_unsupported(p, select->position, "SELECT INTO is");
    }
    if (from->n_locking_clause > 0) {
        return parse_unsupported(p, select->position, "FOR UPDATE is");
    }
    if (from->limit_option == PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_WITH_TIES) {
        return parse_unsupported(p, select->position, "WITH TIES is");
    }
    return true;
}

/* WHERE, HAVING and GROUP BY. */
static bool
parse_conditions(struct parse *p, const PgQuery__SelectStmt *from, struct sql_select *select)
{
    if (from->where_clause != NULL && (select->where = parse_expr(p, from->where_clause)) == NULL) {
        return false;
    }
    if (from->having_clause != NULL && (select->having = parse_expr(p, from->having_clause)) == NULL) {
        return false;
    }
    return parse_group(p, from, select);
}

static bool
has_distinct_on(const PgQuery__SelectStmt *from)
{
    return from->n_distinct_clause > 0 && from->distinct_clause[0]->node_case != PG_QUERY__NODE__NODE__NOT_SET;
}

static bool
parse_plain(struct parse *p, const PgQuery__SelectStmt *from, struct sql_select *select)
{
    if (!parse_targets(p, from, select) || !check_clauses(p, from, select)) {
        return false;
    }
    select->distinct = from->n_distinct_clause > 0 && !has_distinct_on(from);
    select->from_count = from->n_from_clause;
    select->from = SQL_ARRAY(p->q, struct sql_from *, from->n_from_clause + 1);
    if (from->n_from_clause == 0) { /* one row, of which nothing is taken */
        return parse_without_from(p, 1, select) && parse_conditions(p, from, select);
    }
    for (size_t i = 0; i < from->n_from_clause && select->from != NULL; i++) {
        select->from[i] = parse_from(p, from->from_clause[i]);
        if (select->from[i] == NULL) {
            return false;
        }
    }
    return parse_conditions(p, from, select);
}

/* ORDER BY; what DISTINCT ON names stands behind it. */
static bool
parse_orders(struct parse *p, const PgQuery__SelectStmt *from, struct sql_select *select)
{
    size_t sorted = from->n_sort_clause;
    struct sql_order *order;

    if (!parse_order(p, from->sort_clause, sorted, &select->order)) {
        return false;
    }
    select->order_count = sorted;
    if (!has_distinct_on(from)) {
        return true;
    }
    select->distinct_on = from->n_distinct_clause;
    order = SQL_ARRAY(p->q, struct sql_order, sorted + select->distinct_on);
    if (order == NULL) {
        return false;
    }
    for (size_t i = 0; i < sorted; i++) {
        order[i] = select->order[i];
    }
    for (size_t i = 0; i < select->distinct_on; i++) {
        order[sorted + i].expr = parse_expr(p, from->distinct_clause[i]);
        if (order[sorted + i].expr == NULL) {
            return false;
        }
    }
    select->order = order;
    select->order_count += select->distinct_on;
    return true;
}

struct sql_select *
parse_select(struct parse *p, const PgQuery__SelectStmt *from)
{
    static const enum sql_set sets[] = {
        [PG_QUERY__SET_OPERATION__SETOP_UNION] = SQL_UNION,
        [PG_QUERY__SET_OPERATION__SETOP_INTERSECT] = SQL_INTERSECT,
        [PG_QUERY__SET_OPERATION__SETOP_EXCEPT] = SQL_EXCEPT,
    };
    struct sql_select *select = SQL_NEW(p->q, struct sql_select);
    const PgQuery__SelectStmt *around = p->select;
    bool ok;

    if (select == NULL) {
        return NULL;
    }
    p->select = from;
    if (++p->depth > SQL_NESTING) {
        (void)sql_fail(p->q, GRANARY_EINVAL, -1, "queries nest more than %d deep", SQL_NESTING);
        return NULL;
    }
    select->position = -1;
    ok = parse_with(p, from->with_clause, select);
    if (ok && from->op >= PG_QUERY__SET_OPERATION__SETOP_UNION) {
        select->set = sets[from->op];
        select->all = from->all != 0;
        select->left = parse_select(p, from->larg);
        select->right = select->left == NULL ? NULL : parse_select(p, from->rarg);
        ok = select->right != NULL;
        select->position = ok ? select->right->position : -1;
    } else if (ok) {
        ok = from->n_values_lists > 0 ? parse_values(p, from, select) : parse_plain(p, from, select);
    }
    ok = ok && parse_orders(p, from, select) && parse_count(p, from->limit_count, "LIMIT", -1, &select->limit) &&
         parse_count(p, from->limit_offset, "OFFSET", 0, &select->offset);
    p->depth--;
    p->select = around;
    return ok ? select : NULL;
}
