/* SELECT and what FROM lists. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/parse/private.h"

static int
compare_places(const void *a, const void *b)
{
    return ((const struct parse_note *)a)->at - ((const struct parse_note *)b)->at;
}

bool
parse_is_noted(const struct parse *p, int position, enum parse_noted what)
{
    const struct parse_note key = {position, what};
    const struct parse_note *note =
        p->note_count == 0 ? NULL : bsearch(&key, p->notes, p->note_count, sizeof key, compare_places);

    return note != NULL && note->what == what;
}

bool
parse_is_all(struct parse *p, const PgQuery__Node *node)
{
    bool is_all =
        node->node_case == PG_QUERY__NODE__NODE_COLUMN_REF && parse_is_noted(p, node->column_ref->location, NOTED_ALL);

    if (is_all) {
        (void)parse_string(p, TAKE(p, node->column_ref, fields)[0]);
    }
    return is_all;
}

const char *
parse_string(struct parse *p, const PgQuery__Node *node)
{
    return node != NULL && node->node_case == PG_QUERY__NODE__NODE_STRING ? TAKE(p, node->string, sval) : "";
}

const char *
parse_last(struct parse *p, PgQuery__Node *const *names, size_t count)
{
    if (count == 2 && strcmp(names[0]->string->sval, "pg_catalog") == 0) { /* the grammar puts it there */
        (void)parse_string(p, names[0]);
    }
    return count == 0 ? "" : parse_string(p, names[count - 1]);
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
        (*ret_names)[i] = parse_copy(p, parse_string(p, from[i]));
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
    item->alias = parse_copy(p, TAKE(p, alias, aliasname));
    if (item->alias != NULL && strcmp(item->alias, SQL_NAMELESS) == 0) { /* as PostgreSQL and DuckDB call it */
        item->alias = p->nameless == 0 ? "unnamed_subquery" : sql_printf(p->q, "unnamed_subquery%zu", p->nameless + 1);
        p->nameless++;
    }
    item->column_count = alias->n_colnames;
    return parse_names(p, TAKE(p, alias, colnames), alias->n_colnames, &item->columns);
}

bool
parse_table(struct parse *p, const PgQuery__RangeVar *table, struct sql_from *item)
{
    const char *name = TAKE(p, table, relname);
    const char *schema = TAKE(p, table, schemaname);
    const char *catalog = TAKE(p, table, catalogname);

    item->kind = SQL_FROM_TABLE;
    item->position = table->location;
    if (strcmp(TAKE(p, table, relpersistence), "p") != 0) {
        return parse_unsupported(p, table->location, "TEMP or UNLOGGED of a table is");
    }
    if (name[0] == '#' && schema[0] == '\0') { /* parse.c put it there */
        size_t number = strtoul(name + 1, NULL, 10);

        item->name = p->files[number < 256 ? number : 255];
        if (item->name == NULL) {
            return sql_fail(p->q, GRANARY_ENOENT, table->location, "there is no table '%s'", name);
        }
        item->name = parse_path(p, item->name);
    } else if (strcmp(schema, "recurring") == 0 && catalog[0] == '\0') {
        item->recurring = true;
        item->name = parse_copy(p, name);
    } else {
        item->name = sql_printf(p->q, "%s%s%s%s%s", catalog, catalog[0] == '\0' ? "" : ".", schema,
                                schema[0] == '\0' ? "" : ".", name);
    }
    item->before = p->q->named;
    p->q->named = item;
    return item->name != NULL && parse_alias(p, TAKE(p, table, alias), item);
}

/* What was noted of a join: the last JOIN before its right side tells. */
static enum parse_noted
noted_join(const struct parse *p, const PgQuery__JoinExpr *join)
{
    int right = parse_place(&join->rarg->base);

    for (size_t i = p->note_count; i > 0; i--) {
        const struct parse_note *note = &p->notes[i - 1];

        if (note->at < right && note->what >= NOTED_JOIN) {
            return note->what;
        }
    }
    return NOTED_JOIN;
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
    enum parse_noted noted;

    item->kind = SQL_FROM_JOIN;
    item->join = joins[TAKE(p, join, jointype)]; /* the grammar makes no other */
    noted = noted_join(p, join);
    if (item->join == SQL_LEFT) { /* or what was written in its place */
        item->join = noted == NOTED_SEMI || noted == NOTED_ASOF_SEMI   ? SQL_SEMI
                     : noted == NOTED_ANTI || noted == NOTED_ASOF_ANTI ? SQL_ANTI
                                                                       : SQL_LEFT;
    }
    item->asof = noted >= NOTED_ASOF;
    item->natural = TAKE(p, join, is_natural) != 0;
    item->left = parse_from(p, TAKE(p, join, larg));
    item->right = item->left == NULL ? NULL : parse_from(p, TAKE(p, join, rarg));
    if (item->right == NULL) {
        return false;
    }
    item->position = item->right->position;
    item->using_count = join->n_using_clause;
    if (!parse_names(p, TAKE(p, join, using_clause), join->n_using_clause, &item->using)) {
        return false;
    }
    if (TAKE(p, join, quals) != NULL) {
        item->on = parse_condition(p, TAKE(p, join, quals));
        return item->on != NULL;
    }
    if (item->join == SQL_INNER && item->using_count == 0 && !item->natural && !item->asof) {
        item->join = noted_join(p, join) == NOTED_POSITIONAL ? SQL_POSITIONAL : SQL_CROSS;
    }
    return true;
}

/* (a JOIN b) AS c is (SELECT * FROM a JOIN b) AS c: only c can be named. */
static bool
parse_join_alias(struct parse *p, const PgQuery__Alias *alias, struct sql_from *item)
{
    struct sql_from *join = alias == NULL ? item : SQL_NEW(p->q, struct sql_from);

    if (alias == NULL || join == NULL) {
        return join != NULL;
    }
    *join = *item;
    *item = (struct sql_from){.kind = SQL_FROM_SELECT, .position = join->position};
    item->select = parse_select_all(p, join);
    return item->select != NULL && parse_alias(p, alias, item);
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
        (void)sql_fail(p->q, GRANARY_EINVAL, parse_place(&from->base), "joins and subqueries nest more than %d deep",
                       SQL_NESTING);
        return NULL;
    }
    item->position = -1;
    switch (from->node_case) {
    case PG_QUERY__NODE__NODE_RANGE_VAR:
        ok = parse_table(p, from->range_var, item);
        break;
    case PG_QUERY__NODE__NODE_JOIN_EXPR:
        ok = parse_join(p, from->join_expr, item) && parse_join_alias(p, TAKE(p, from->join_expr, alias), item);
        break;
    case PG_QUERY__NODE__NODE_RANGE_SUBSELECT:
        item->kind = SQL_FROM_SELECT;
        (void)TAKE(p, from->range_subselect, lateral); /* goes without saying */
        item->select = parse_select(p, TAKE(p, from->range_subselect, subquery)->select_stmt);
        item->position = item->select == NULL ? -1 : item->select->position;
        ok = item->select != NULL && parse_alias(p, TAKE(p, from->range_subselect, alias), item);
        if (ok && item->alias != NULL && item->column_count == 0) {
            item->about = strcmp(item->alias, SQL_DESCRIBED) == 0    ? SQL_ABOUT_COLUMNS
                          : strcmp(item->alias, SQL_SUMMARIZED) == 0 ? SQL_ABOUT_VALUES
                                                                     : SQL_ABOUT_NOTHING;
        }
        break;
    case PG_QUERY__NODE__NODE_RANGE_FUNCTION:
        ok = parse_range_function(p, from->range_function, item);
        break;
    default:
        ok = parse_unsupported(p, parse_place(&from->base), "this form of FROM is");
        break;
    }
    p->depth--;
    return ok ? item : NULL;
}

/* ---- WITH, ORDER BY, LIMIT ---- */

/* USING KEY, which dialect_using_key() has made CYCLE of. */
static bool
parse_keys(struct parse *p, const PgQuery__CTECycleClause *cycle, struct sql_with *to)
{
    if (cycle == NULL) {
        return true;
    }
    if (strcmp(TAKE(p, cycle, cycle_mark_column), SQL_KEY_MARK) != 0) {
        return parse_unsupported(p, cycle->location, "CYCLE of WITH RECURSIVE is");
    }
    (void)TAKE(p, cycle, cycle_path_column);
    (void)parse_place(&cycle->base);
    if (cycle->cycle_mark_value != NULL) {
        (void)parse_expr(p, TAKE(p, cycle, cycle_mark_value));
    }
    if (cycle->cycle_mark_default != NULL) {
        (void)parse_expr(p, TAKE(p, cycle, cycle_mark_default));
    }
    to->key_count = cycle->n_cycle_col_list;
    return parse_names(p, TAKE(p, cycle, cycle_col_list), cycle->n_cycle_col_list, &to->keys);
}

static bool
parse_with(struct parse *p, const PgQuery__WithClause *with, struct sql_select *select)
{
    if (with == NULL) {
        return true;
    }
    select->with_count = with->n_ctes;
    select->with = SQL_ARRAY(p->q, struct sql_with, with->n_ctes);
    for (size_t i = 0; i < with->n_ctes && select->with != NULL; i++) {
        const PgQuery__CommonTableExpr *cte = TAKE(p, with, ctes)[i]->common_table_expr;
        struct sql_with *to = &select->with[i];

        const PgQuery__Node *query = TAKE(p, cte, ctequery);

        if (query == NULL || query->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
            return parse_unsupported(p, cte->location, "WITH of anything but SELECT is");
        }
        to->name = parse_copy(p, TAKE(p, cte, ctename));
        to->recursive = TAKE(p, with, recursive) != 0;
        to->position = cte->location;
        to->column_count = cte->n_aliascolnames;
        for (size_t k = 0; to->name != NULL && k < i; k++) {
            if (strcasecmp(select->with[k].name, to->name) == 0) {
                return sql_fail(p->q, GRANARY_EINVAL, cte->location, "two queries of WITH are called '%s'", to->name);
            }
        }
        if (to->name == NULL || !parse_names(p, TAKE(p, cte, aliascolnames), cte->n_aliascolnames, &to->columns)) {
            return false;
        }
        to->select = parse_select(p, query->select_stmt);
        if (to->select == NULL || !parse_keys(p, TAKE(p, cte, cycle_clause), to)) {
            return false;
        }
    }
    return select->with != NULL;
}

/*
 * create_sort_key(x, 'DESC NULLS FIRST') in ORDER BY is x in that order. *from becomes x. false: the statement has failed.
 */
static bool
take_sort_key(struct parse *p, const PgQuery__Node **from, struct sql_order *order)
{
    static const char *const ways[] = {"ASC NULLS LAST", "DESC NULLS LAST", "ASC NULLS FIRST", "DESC NULLS FIRST"};
    const PgQuery__FuncCall *call = (*from)->node_case == PG_QUERY__NODE__NODE_FUNC_CALL ? (*from)->func_call : NULL;
    const PgQuery__Node *way = call != NULL && call->n_args == 2 && call->n_funcname == 1 ? call->args[1] : NULL;
    size_t i = 0;

    if (way == NULL || strcmp(call->funcname[0]->string->sval, "create_sort_key") != 0 ||
        way->node_case != PG_QUERY__NODE__NODE_A_CONST || way->a_const->val_case != PG_QUERY__A__CONST__VAL_SVAL) {
        return true;
    }
    while (i < 4 && strcasecmp(ways[i], way->a_const->sval->sval) != 0) {
        i++;
    }
    if (i == 4) {
        return sql_fail(p->q, GRANARY_EUNSUPPORTED, call->location,
                        "a sort key needs ASC or DESC, and NULLS FIRST or LAST");
    }
    (void)parse_last(p, TAKE(p, call, funcname), call->n_funcname);
    parse_take(p, &way->a_const->sval->sval);
    *from = TAKE(p, call, args)[0];
    order->nulls_first = i / 2 != order->descending; /* descending keys are that of the other order */
    order->descending = i % 2 != order->descending;
    return true;
}

static bool
parse_sorts(struct parse *p, PgQuery__Node *const *from, size_t count, struct sql_order **ret_order)
{
    struct sql_order *order = SQL_ARRAY(p->q, struct sql_order, count);

    for (size_t i = 0; i < count && order != NULL; i++) {
        const PgQuery__SortBy *by = from[i]->sort_by;
        const PgQuery__Node *key = TAKE(p, by, node);

        order[i].descending = TAKE(p, by, sortby_dir) == PG_QUERY__SORT_BY_DIR__SORTBY_DESC;
        order[i].nulls_first = TAKE(p, by, sortby_nulls) == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST;
        order[i].expr = take_sort_key(p, &key, &order[i]) ? parse_expr(p, key) : NULL;
        if (order[i].expr == NULL) {
            return false;
        }
    }
    *ret_order = order;
    return order != NULL;
}

bool
parse_order(struct parse *p, PgQuery__Node *const *from, size_t count, struct sql_order **ret_order)
{
    bool ok = parse_sorts(p, from, count, ret_order);

    for (size_t i = 0; ok && i < count; i++) {
        (*ret_order)[i].expr = parse_key(p, (*ret_order)[i].expr);
        ok = (*ret_order)[i].expr != NULL;
    }
    return ok;
}

/* ---- SELECT ---- */

static bool
parse_targets(struct parse *p, const PgQuery__SelectStmt *from, struct sql_select *select)
{
    select->target_count = from->n_target_list;
    select->targets = SQL_ARRAY(p->q, struct sql_target, from->n_target_list);
    for (size_t i = 0; i < from->n_target_list && select->targets != NULL; i++) {
        const PgQuery__ResTarget *target = TAKE(p, from, target_list)[i]->res_target;

        select->targets[i].expr = parse_expr(p, TAKE(p, target, val));
        if (select->targets[i].expr == NULL) {
            return false;
        }
        if (select->position < 0) {
            select->position = select->targets[i].expr->position;
        }
        if (TAKE(p, target, name)[0] != '\0') {
            select->targets[i].alias = parse_copy(p, TAKE(p, target, name));
            if (select->targets[i].expr->written != NULL && select->targets[i].alias != NULL &&
                strcmp(select->targets[i].expr->written, SQL_ALIAS_OF) == 0) {
                select->targets[i].expr->args[1]->text = sql_literal(p->q, select->targets[i].alias);
            }
        }
    }
    return p->q->err == GRANARY_OK;
}

/* WHERE, HAVING and GROUP BY. */
static bool
parse_conditions(struct parse *p, const PgQuery__SelectStmt *from, struct sql_select *select)
{
    if (from->where_clause != NULL && (select->where = parse_condition(p, TAKE(p, from, where_clause))) == NULL) {
        return false;
    }
    if (from->having_clause != NULL && (select->having = parse_condition(p, TAKE(p, from, having_clause))) == NULL) {
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
    if (!parse_windows(p, TAKE(p, from, window_clause), from->n_window_clause, select) ||
        !parse_targets(p, from, select)) {
        return false;
    }
    p->pivots = false;
    (void)TAKE(p, from, distinct_clause); /* what ON names is taken by parse_orders() */
    select->distinct = from->n_distinct_clause > 0 && !has_distinct_on(from);
    select->from_count = from->n_from_clause;
    select->from = SQL_ARRAY(p->q, struct sql_from *, from->n_from_clause + 1);
    if (from->n_from_clause == 0) { /* one row, of which nothing is taken */
        return parse_without_from(p, 1, select) && parse_conditions(p, from, select);
    }
    for (size_t i = 0; i < from->n_from_clause && select->from != NULL; i++) {
        select->from[i] = parse_from(p, TAKE(p, from, from_clause)[i]);
        if (select->from[i] == NULL) {
            return false;
        }
    }
    return parse_conditions(p, from, select);
}

/* ORDER BY ALL: only how. */
static const struct sql_order *
parse_order_all(struct parse *p, const PgQuery__SortBy *by)
{
    struct sql_order *order = SQL_NEW(p->q, struct sql_order);

    (void)TAKE(p, by, node);
    if (order != NULL) {
        order->descending = TAKE(p, by, sortby_dir) == PG_QUERY__SORT_BY_DIR__SORTBY_DESC;
        order->nulls_first = TAKE(p, by, sortby_nulls) == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST;
    }
    return order;
}

/* ORDER BY; what DISTINCT ON names stands behind it. */
static bool
parse_orders(struct parse *p, const PgQuery__SelectStmt *from, struct sql_select *select)
{
    size_t sorted = from->n_sort_clause;
    struct sql_order *order;

    if (sorted == 1 && parse_is_all(p, from->sort_clause[0]->sort_by->node)) {
        select->order_all = parse_order_all(p, TAKE(p, from, sort_clause)[0]->sort_by);
        sorted = 0;
    }
    if (!parse_sorts(p, TAKE(p, from, sort_clause), sorted, &select->order)) {
        return false;
    }
    select->order_count = sorted;
    if (p->collates && !parse_sort_keys(p, select)) {
        return false;
    }
    sorted = select->order_count;
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
        order[sorted + i].expr = parse_expr(p, TAKE(p, from, distinct_clause)[i]);
        if (order[sorted + i].expr == NULL || !parse_unmarked(p, order[sorted + i].expr)) {
            return false;
        }
    }
    select->order = order;
    select->order_count += select->distinct_on;
    return true;
}

/* Whether the last set operation before its right side goes by names. */
static bool
is_by_name(const struct parse *p, const PgQuery__SelectStmt *right)
{
    const int place = parse_place(&right->base);
    size_t i = p->note_count;

    while (i > 0 && !(p->notes[i - 1].at < place &&
                      (p->notes[i - 1].what == NOTED_SET || p->notes[i - 1].what == NOTED_BY_NAME))) {
        i--;
    }
    return i > 0 && p->notes[i - 1].what == NOTED_BY_NAME;
}

/* An expression as a name that only equal ones have; NULL: there is none, or no memory. */
static const char *
written_name(struct parse *p, const struct sql_expr *expr)
{
    const char *text = expr->over == NULL && expr->condition == NULL && expr->kind != SQL_SUBQUERY
                           ? sql_printf(p->q, "%s%s%s%s", expr->distinct || expr->negated ? "!" : "",
                                        expr->table == NULL ? "" : expr->table, expr->table == NULL ? "" : ".",
                                        expr->written != NULL ? expr->written : expr->text)
                           : NULL;

    for (size_t i = 0; i < expr->count && text != NULL; i++) {
        const char *part = written_name(p, expr->args[i]);

        text = part == NULL ? NULL : sql_printf(p->q, "%s%s%s", text, i == 0 ? "(" : ", ", part);
    }
    return text == NULL || expr->count == 0 ? text : sql_printf(p->q, "%s)", text);
}

static bool
has_star(const struct sql_expr *expr)
{
    bool has = expr->kind == SQL_STAR;

    for (size_t i = 0; i < expr->count && !has; i++) {
        has = has_star(expr->args[i]);
    }
    return has;
}

/* BY NAME: what has no name is called as it is written, so that only equal values come together. */
static bool
name_values(struct parse *p, const struct sql_select *select)
{
    if (select->set != SQL_NO_SET) {
        return name_values(p, select->left);
    }
    for (size_t i = 0; i < select->target_count; i++) {
        struct sql_target *target = &select->targets[i];

        if (target->alias != NULL || target->expr->kind == SQL_COLUMN || has_star(target->expr)) {
            continue;
        }
        target->alias = written_name(p, target->expr);
        if (target->alias == NULL) {
            return sql_fail(p->q, GRANARY_EUNSUPPORTED, target->expr->position,
                            "BY NAME: give this value a name, AS n");
        }
    }
    return p->q->err == GRANARY_OK;
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
    const struct named_window *windows = p->windows;
    size_t window_count = p->window_count;
    const bool pivots = p->pivots;
    const size_t nameless = p->nameless;
    bool ok;

    if (select == NULL) {
        return NULL;
    }
    p->windows = NULL; /* those of a query around cannot be named */
    p->window_count = 0;
    p->pivots = false;
    p->nameless = 0;
    if (++p->depth > SQL_NESTING) {
        (void)sql_fail(p->q, GRANARY_EINVAL, parse_place(&from->base), "queries nest more than %d deep", SQL_NESTING);
        return NULL;
    }
    select->position = -1;
    select->lifted = SQL_NEW(p->q, struct sql_lifted);
    ok = parse_with(p, TAKE(p, from, with_clause), select);
    if (ok && TAKE(p, from, op) >= PG_QUERY__SET_OPERATION__SETOP_UNION) {
        select->set = sets[TAKE(p, from, op)];
        select->all = TAKE(p, from, all) != 0;
        select->by_name = select->set == SQL_UNION && is_by_name(p, from->rarg);
        select->left = parse_select(p, TAKE(p, from, larg));
        select->right = select->left == NULL ? NULL : parse_select(p, TAKE(p, from, rarg));
        ok = select->right != NULL &&
             (!select->by_name || (name_values(p, select->left) && name_values(p, select->right)));
        select->position = ok ? select->right->position : -1;
    } else if (ok) {
        ok = from->n_values_lists > 0 ? parse_values(p, from, select) : parse_plain(p, from, select);
    }
    ok = ok && parse_orders(p, from, select) && parse_limit(p, from, select) && parse_check_marks(p, select);
    p->depth--;
    p->windows = windows;
    p->window_count = window_count;
    p->pivots = pivots;
    p->nameless = nameless;
    return ok ? select : NULL;
}
