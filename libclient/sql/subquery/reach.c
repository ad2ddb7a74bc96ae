/*
 * What a query names of the queries around it, found out before anything of it is translated: names are looked up as
 * binding will do it, in the tables of each query and then in those further out.
 */
#include <string.h>
#include <strings.h>

#include "sql/block.h"

struct scope_name {
    const char *table; /* or NULL */
    const char *name;
};

/* The names that FROM of one query gives. */
struct scope {
    const struct scope *outer;
    const struct sql_select *select; /* whose aliases count, too; or NULL */
    size_t alias_count;              /* the first so many */
    struct scope_name *names;
    size_t count;
    size_t room;
    struct sql_expr *where; /* which its rows must pass; or NULL */
};

struct reaching {
    struct sql_statement *q;
    struct sql_block *block; /* NULL: only names of outputs are wanted */
    struct sql_block *base;  /* that names are looked up from, further out: those of a WITH query there; or NULL */
    struct sql_reached *reached;
    size_t room;
    struct sql_lifted *lifted; /* takes the block's aggregates; or NULL */
};

/* What an expression names. */
enum { INNER = 1, OUTER = 2, BETWEEN = 4 };

static bool walk_expr(struct reaching *r, const struct sql_expr *expr, const struct scope *scope, unsigned *named);
static bool walk_select(struct reaching *r, const struct sql_select *select, const struct scope *outer, bool is_first);
static bool walk_from(struct reaching *r, struct sql_from *from, struct scope *scope);

static bool
add_name(struct sql_statement *q, struct scope *scope, const char *table, const char *name)
{
    if (scope->count == scope->room) {
        size_t room = scope->room == 0 ? 32 : 2 * scope->room;
        struct scope_name *grown = SQL_ARRAY(q, struct scope_name, room);

        if (grown == NULL) {
            return false;
        }
        if (scope->count > 0) {
            memcpy(grown, scope->names, scope->count * sizeof *grown);
        }
        scope->names = grown;
        scope->room = room;
    }
    scope->names[scope->count++] = (struct scope_name){table, name};
    return true;
}

/* Columns of a table, of which FROM may give the first other names. */
static bool
add_names(struct sql_statement *q, struct scope *scope, const struct sql_from *from, const char *table,
          const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!add_name(q, scope, table, i < from->column_count ? from->columns[i] : names[i])) {
            return false;
        }
    }
    return true;
}

static bool
is_in_scope(const struct scope *scope, const struct sql_expr *expr)
{
    for (size_t i = 0; i < scope->count; i++) {
        const struct scope_name *name = &scope->names[i];

        if (strcasecmp(name->name, expr->text) == 0 &&
            (expr->table == NULL || sql_is_table(name->table, expr->table))) {
            return true;
        }
    }
    return false;
}

static bool
is_alias(const struct scope *scope, const struct sql_expr *expr)
{
    const struct sql_select *select = scope->select;

    for (size_t i = 0; select != NULL && expr->table == NULL && i < scope->alias_count; i++) {
        if (select->targets[i].alias != NULL && strcasecmp(select->targets[i].alias, expr->text) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- expressions ---- */

static bool
add_reached(struct reaching *r, const struct sql_column *column)
{
    struct sql_reached *reached = r->reached;

    for (size_t i = 0; i < reached->count; i++) {
        if (reached->columns[i] == column) {
            return true;
        }
    }
    if (reached->count == r->room) {
        size_t room = r->room == 0 ? 8 : 2 * r->room;
        const struct sql_column **grown = SQL_ARRAY(r->q, const struct sql_column *, room);

        if (grown == NULL) {
            return false;
        }
        if (reached->count > 0) {
            memcpy(grown, reached->columns, reached->count * sizeof(struct sql_column *));
        }
        reached->columns = grown;
        r->room = room;
    }
    reached->columns[reached->count++] = column;
    return true;
}

static bool
walk_column(struct reaching *r, const struct sql_expr *expr, const struct scope *scope, unsigned *named)
{
    const struct sql_column *column;
    bool ambiguous = false;

    if (expr->row_place > 0) { /* of its own FROM */
        *named |= INNER;
        return true;
    }
    for (const struct scope *s = scope; s != NULL; s = s->outer) {
        if (is_in_scope(s, expr) || is_alias(s, expr)) {
            *named |= s == scope ? INNER : BETWEEN;
            return true;
        }
    }
    column = sql_reach_column(r->base != NULL ? r->base : r->block, expr->table, expr->text, &ambiguous);
    if (column != NULL && r->base != NULL) {
        column = sql_carry(r->block, column);
    }
    if (column == NULL) { /* binding will tell */
        return r->q->err == GRANARY_OK;
    }
    *named |= OUTER;
    return add_reached(r, column);
}

/* An aggregate in a subquery is the block's when it names columns of that alone. */
static bool
lift_aggregate(struct reaching *r, const struct sql_expr *expr, const struct scope *scope)
{
    struct sql_statement *q = r->q;
    struct sql_lifted *lifted = r->lifted;
    struct sql_reached own = {.count = 0};
    struct reaching inner = {.q = q, .block = r->block, .reached = &own};
    struct sql_expr *copy;
    unsigned named = 0;

    for (size_t i = 0; i < expr->count; i++) {
        if (sql_has(expr->args[i], SQL_SUBQUERY) || !walk_expr(&inner, expr->args[i], scope, &named)) {
            return q->err == GRANARY_OK;
        }
    }
    if (expr->condition != NULL &&
        (sql_has(expr->condition, SQL_SUBQUERY) || !walk_expr(&inner, expr->condition, scope, &named))) {
        return q->err == GRANARY_OK;
    }
    for (size_t i = 0; i < own.count; i++) {
        named |= own.columns[i]->block == r->block ? 0 : BETWEEN;
    }
    if (named != OUTER) {
        return true;
    }
    copy = SQL_NEW(q, struct sql_expr);
    if (lifted->count == lifted->room) {
        struct sql_target *grown = SQL_ARRAY(q, struct sql_target, 2 * lifted->room + 4);

        if (grown == NULL) {
            return false;
        }
        if (lifted->count > 0) {
            memcpy(grown, lifted->list, lifted->count * sizeof *grown);
        }
        lifted->list = grown;
        lifted->room = 2 * lifted->room + 4;
    }
    if (copy == NULL) {
        return false;
    }
    *copy = *expr;
    lifted->list[lifted->count++] = (struct sql_target){.expr = copy, .alias = sql_fresh(q, "aggregate")};
    *(struct sql_expr *)expr = (struct sql_expr){
        .kind = SQL_COLUMN, .position = expr->position, .text = lifted->list[lifted->count - 1].alias};
    return q->err == GRANARY_OK;
}

static bool
walk_expr(struct reaching *r, const struct sql_expr *expr, const struct scope *scope, unsigned *named)
{
    const struct sql_window *over = expr->over;

    if (r->lifted != NULL && expr->kind == SQL_AGGREGATE && over == NULL && !lift_aggregate(r, expr, scope)) {
        return false;
    }

    if (expr->kind == SQL_COLUMN && !walk_column(r, expr, scope, named)) {
        return false;
    }
    for (size_t i = 0; i < expr->count; i++) {
        if (!walk_expr(r, expr->args[i], scope, named)) {
            return false;
        }
    }
    for (size_t i = 0; over != NULL && i < over->partition_count; i++) {
        if (!walk_expr(r, over->partition[i], scope, named)) {
            return false;
        }
    }
    for (size_t i = 0; over != NULL && i < over->order_count; i++) {
        if (!walk_expr(r, over->order[i].expr, scope, named)) {
            return false;
        }
    }
    return (expr->condition == NULL || walk_expr(r, expr->condition, scope, named)) &&
           (expr->kind != SQL_SUBQUERY || walk_select(r, expr->select, scope, false));
}

static bool
walk_some(struct reaching *r, const struct sql_expr *expr, const struct scope *scope)
{
    unsigned named = 0;

    return expr == NULL || walk_expr(r, expr, scope, &named);
}

/* A condition of WHERE of the query that is asked about: subqueries find their equalities by it. */
static bool
walk_condition(struct reaching *r, const struct sql_expr *expr, const struct scope *scope)
{
    unsigned sides[2] = {0, 0};
    unsigned named = 0;

    if (expr->kind == SQL_AND) {
        for (size_t i = 0; i < expr->count; i++) {
            if (!walk_condition(r, expr->args[i], scope)) {
                return false;
            }
        }
        return true;
    }
    if (sql_has(expr, SQL_SUBQUERY)) { /* columns may be known already that it names again */
        struct sql_reached own = {.count = 0};
        struct reaching inner = {.q = r->q, .block = r->block, .reached = &own};

        if (!walk_expr(&inner, expr, scope, &named)) {
            return false;
        }
        r->reached->beyond = r->reached->beyond || own.count > 0;
        return walk_expr(r, expr, scope, &named);
    }
    if (expr->kind == SQL_INFIX && strcmp(expr->text, "=") == 0) {
        if (!walk_expr(r, expr->args[0], scope, &sides[0]) || !walk_expr(r, expr->args[1], scope, &sides[1])) {
            return false;
        }
        if ((sides[0] == INNER && sides[1] == OUTER) || (sides[0] == OUTER && sides[1] == INNER)) {
            r->reached->equals++;
            return true;
        }
        named = sides[0] | sides[1];
    } else if (!walk_expr(r, expr, scope, &named)) {
        return false;
    }
    r->reached->others += (named & OUTER) != 0;
    return true;
}

/* ---- FROM ---- */

/* The names that a WITH query, or a view, gives to FROM. */
static bool
scope_with(struct sql_statement *q, const struct sql_from *from, const struct sql_with *with, struct scope *scope)
{
    const char *alias = from->alias != NULL ? from->alias : from->name;

    for (size_t i = 0; i < with->select->output_count; i++) {
        const char *name = i < from->column_count   ? from->columns[i]
                           : i < with->column_count ? with->columns[i]
                                                    : with->select->output_names[i];

        if (!add_name(q, scope, alias, name)) {
            return false;
        }
    }
    return true;
}

/* A WITH query further out that names columns of the query around its own: whoever names it names these. */
static bool
walk_with(struct reaching *r, struct sql_with *with, const struct sql_names *visible)
{
    const struct sql_names *now = r->q->names;
    struct sql_reached own = {.count = 0};
    struct reaching inner = {.q = r->q, .block = r->block, .reached = &own};
    bool ok;

    if (r->block == NULL || with->around == NULL || with->is_walked) { /* now, or it named none */
        return true;
    }
    for (const struct sql_block *block = r->block; block != with->around->block; block = block->outer) {
        if (block->outer == NULL) {
            return true;
        }
    }
    r->q->names = visible;
    inner.base = with->around->block;
    with->is_walked = true;
    ok = walk_select(&inner, with->select, NULL, false);
    with->is_walked = own.count == 0;
    r->q->names = now;
    for (size_t i = 0; i < own.count && ok; i++) {
        ok = add_reached(r, own.columns[i]);
    }
    return ok;
}

static bool
scope_table(struct reaching *r, struct sql_from *from, struct scope *scope)
{
    struct sql_statement *q = r->q;
    struct sql_with *with = sql_find_with(q, from->name);
    const struct sql_names *now = q->names;
    struct sql_names visible = {.count = 0};
    const char *const *names;
    const char *alias;
    size_t count;
    bool ok;

    if (with != NULL) {
        visible = sql_names_before(q, with);
        if (!walk_with(r, with, &visible)) {
            return false;
        }
    } else if (!sql_table_columns(q, from, scope->where, &names, &count, &alias, &with)) {
        return false;
    } else if (with == NULL) {
        return add_names(q, scope, from, alias, names, count);
    }
    q->names = &visible; /* a view sees none */
    ok = sql_name_outputs(q, with->select);
    q->names = now;
    return ok && scope_with(q, from, with, scope);
}

/* The names that an item of FROM gives; with a block, what is written in it is walked, too. */
static bool
walk_from(struct reaching *r, struct sql_from *from, struct scope *scope)
{
    const char *unnest = from->alias != NULL ? from->alias : SQL_UNNEST;
    size_t before = scope->count;

    switch (from->kind) {
    case SQL_FROM_TABLE:
        return scope_table(r, from, scope);
    case SQL_FROM_SELECT:
        if (from->about != SQL_ABOUT_NOTHING) {
            const char *const *names = sql_about_names(from, &before);

            return add_names(r->q, scope, from, from->alias, names, before);
        }
        return (r->block == NULL || walk_select(r, from->select, scope, false)) &&
               sql_name_outputs(r->q, from->select) &&
               add_names(r->q, scope, from, from->alias, from->select->output_names, from->select->output_count);
    case SQL_FROM_ROWS:
        return add_names(r->q, scope, from, from->alias != NULL ? from->alias : from->name, &from->name, 1);
    case SQL_FROM_UNNEST:
        for (size_t i = 0; i < from->list_count; i++) {
            if ((r->block != NULL && !walk_some(r, from->lists[i], scope)) ||
                !add_name(r->q, scope, unnest, i < from->column_count ? from->columns[i] : unnest)) {
                return false;
            }
        }
        return !from->ordinality ||
               add_name(r->q, scope, unnest,
                        from->list_count < from->column_count ? from->columns[from->list_count] : "ordinality");
    default:
        break;
    }
    if (!walk_from(r, from->left, scope)) {
        return false;
    }
    before = scope->count;
    if (!walk_from(r, from->right, scope) || (r->block != NULL && !walk_some(r, from->on, scope))) {
        return false;
    }
    if (from->join == SQL_SEMI || from->join == SQL_ANTI) {
        scope->count = before;
    }
    return true;
}

/* ---- the names of outputs ---- */

static bool
add_output(struct sql_statement *q, struct sql_select *select, size_t *room, const char *name)
{
    if (select->output_count == *room) {
        const char **grown = SQL_ARRAY(q, const char *, 2 * *room + 8);

        if (grown == NULL) {
            return false;
        }
        if (select->output_count > 0) {
            memcpy(grown, select->output_names, select->output_count * sizeof *grown);
        }
        select->output_names = grown;
        *room = 2 * *room + 8;
    }
    select->output_names[select->output_count++] = name;
    return true;
}

static bool
name_targets(struct sql_statement *q, struct sql_select *select)
{
    struct reaching r = {.q = q};
    struct scope scope = {.outer = NULL, .where = select->where};
    bool star = false;
    size_t room = 0;

    for (size_t i = 0; i < select->target_count; i++) {
        star = star || sql_star_in(select->targets[i].expr) != NULL;
    }
    for (size_t i = 0; star && i < select->from_count; i++) {
        if (!walk_from(&r, select->from[i], &scope)) {
            return false;
        }
    }
    for (size_t i = 0; i < select->target_count; i++) {
        const struct sql_expr *expr = sql_star_in(select->targets[i].expr);

        if (expr == NULL) {
            if (!add_output(q, select, &room, sql_target_name(&select->targets[i]))) {
                return false;
            }
            continue;
        }
        for (size_t k = 0; expr->star != NULL && k < expr->star->rename_count; k++) { /* rather too many than too few */
            if (!add_output(q, select, &room, expr->star->rename[k].alias)) {
                return false;
            }
        }
        for (size_t c = 0; c < scope.count; c++) {
            const char *table = scope.names[c].table;

            if ((expr->table == NULL || sql_is_table(table, expr->table)) &&
                !add_output(q, select, &room, scope.names[c].name)) {
                return false;
            }
        }
    }
    return true;
}

/* Of a query with PIVOT or UNPIVOT, by the names that its FROM gives. */
static bool
name_pivoted(struct sql_statement *q, struct sql_select *select)
{
    struct reaching r = {.q = q};
    struct scope scope = {.outer = NULL, .where = select->where};
    const char **names;
    struct sql_from_names from;

    for (size_t i = 0; i < select->from_count; i++) {
        if (!walk_from(&r, select->from[i], &scope)) {
            return false;
        }
    }
    names = SQL_ARRAY(q, const char *, scope.count);
    for (size_t i = 0; names != NULL && i < scope.count; i++) {
        names[i] = scope.names[i].name;
    }
    from = (struct sql_from_names){names, scope.count};
    return names != NULL && (select->pivot != NULL
                                 ? sql_pivot_outputs(q, select, &from, &select->output_names, &select->output_count)
                                 : sql_unpivot_outputs(q, select, &from, &select->output_names, &select->output_count));
}

/* UNION BY NAME: the right side's names, too. */
static bool
name_both(struct sql_statement *q, struct sql_select *select)
{
    const struct sql_select *left = select->left;
    const struct sql_select *right = select->right;
    const char **names = NULL;

    if (sql_name_outputs(q, select->right)) {
        names = SQL_ARRAY(q, const char *, left->output_count + right->output_count);
    }
    for (size_t i = 0; names != NULL && i < left->output_count; i++) {
        names[i] = left->output_names[i];
    }
    for (size_t i = 0; names != NULL && i < right->output_count; i++) {
        names[left->output_count + i] = right->output_names[i];
    }
    select->output_names = names;
    select->output_count = names == NULL ? 0 : left->output_count + right->output_count;
    return names != NULL;
}

/* Once for each query, however often it is named. One that names itself has no names while they are found. */
bool
sql_name_outputs(struct sql_statement *q, struct sql_select *select)
{
    const struct sql_names names = {select->with, select->with_count, q->names};
    const struct sql_names *before = q->names;
    bool ok = true;

    if (select->naming != SQL_NOT_NAMED) {
        return true;
    }
    select->naming = SQL_BEING_NAMED;
    q->names = &names;
    if (select->set != SQL_NO_SET) {
        ok = sql_name_outputs(q, select->left);
        select->output_names = select->left->output_names;
        select->output_count = select->left->output_count;
        ok = ok && (!select->by_name || name_both(q, select));
    } else {
        ok = select->pivot != NULL || select->unpivot != NULL ? name_pivoted(q, select) : name_targets(q, select);
    }
    q->names = before;
    select->naming = SQL_IS_NAMED;
    return ok;
}

/* ---- a query ---- */

/* What PIVOT or UNPIVOT names. */
static bool
walk_pivoted(struct reaching *r, const struct sql_select *select, const struct scope *scope)
{
    for (size_t i = 0; select->pivot != NULL && i < select->pivot->count; i++) {
        const struct sql_pivot_key *key = &select->pivot->keys[i];

        for (size_t k = 0; k < key->count; k++) {
            if (!walk_some(r, key->exprs[k], scope)) {
                return false;
            }
        }
        if (key->select != NULL && !walk_select(r, key->select, scope, false)) {
            return false;
        }
    }
    for (size_t i = 0; select->unpivot != NULL && i < select->unpivot->item_count; i++) {
        const struct sql_unpivot_item *item = &select->unpivot->items[i];

        for (size_t k = 0; k < item->count; k++) {
            if (!walk_some(r, item->exprs[k], scope)) {
                return false;
            }
        }
    }
    return true;
}

static bool
walk_clauses(struct reaching *r, const struct sql_select *select, struct scope *scope)
{
    scope->select = select; /* an alias is known in expressions behind it */
    for (size_t i = 0; i < select->target_count; i++) {
        scope->alias_count = i;
        if (!walk_some(r, select->targets[i].expr, scope)) {
            return false;
        }
    }
    scope->alias_count = select->target_count;
    for (size_t i = 0; i < select->group_count; i++) {
        if (!walk_some(r, select->group[i], scope)) {
            return false;
        }
    }
    if (!walk_pivoted(r, select, scope)) {
        return false;
    }
    for (size_t i = 0; i < select->order_count; i++) {
        if (!walk_some(r, select->order[i].expr, scope)) {
            return false;
        }
    }
    return walk_some(r, select->having, scope) && walk_some(r, select->qualify, scope);
}

static bool
walk_plain(struct reaching *r, const struct sql_select *select, const struct scope *outer, bool is_first)
{
    struct scope scope = {.outer = outer, .where = select->where};

    for (size_t i = 0; i < select->from_count; i++) {
        if (!walk_from(r, select->from[i], &scope)) {
            return false;
        }
    }
    if (!walk_clauses(r, select, &scope)) {
        return false;
    }
    if (!is_first) {
        return walk_some(r, select->where, &scope);
    }
    r->reached->beyond = r->reached->count > 0;
    return select->where == NULL || walk_condition(r, select->where, &scope);
}

static bool
walk_select(struct reaching *r, const struct sql_select *select, const struct scope *outer, bool is_first)
{
    struct sql_statement *q = r->q;
    const struct sql_names *before = q->names;
    struct sql_names names = {select->with, 0, q->names};
    bool ok = true;

    q->names = &names;
    for (size_t i = 0; i < select->with_count && ok; i++) { /* each sees those before it */
        names.count = i + select->with[i].recursive;
        ok = walk_select(r, select->with[i].select, outer, false);
    }
    names.count = select->with_count;
    if (ok && select->set != SQL_NO_SET) {
        ok = walk_select(r, select->left, outer, false) && walk_select(r, select->right, outer, false);
        r->reached->beyond = is_first ? r->reached->count > 0 : r->reached->beyond;
    } else if (ok) {
        ok = walk_plain(r, select, outer, is_first);
    }
    q->names = before;
    return ok;
}

bool
sql_reach_out(struct sql_block *block, const struct sql_select *select, struct sql_reached *ret_reached)
{
    struct reaching r = {.q = block->q, .block = block, .reached = ret_reached};
    const struct sql_block *has_columns = block;

    *ret_reached = (struct sql_reached){.count = 0};
    while (has_columns != NULL && has_columns->column_count == 0) {
        has_columns = has_columns->outer;
    }
    return has_columns == NULL || walk_select(&r, select, NULL, true);
}

bool
sql_lift_aggregates(struct sql_block *block, const struct sql_expr *expr)
{
    struct sql_reached reached = {.count = 0};
    struct reaching r = {.q = block->q, .block = block, .reached = &reached, .lifted = block->select->lifted};

    if (r.lifted == NULL || block->column_count == 0) {
        return true;
    }
    if (expr->kind == SQL_SUBQUERY && !walk_select(&r, expr->select, NULL, true)) {
        return false;
    }
    for (size_t i = 0; i < expr->count; i++) {
        if (!sql_lift_aggregates(block, expr->args[i])) {
            return false;
        }
    }
    return expr->condition == NULL || sql_lift_aggregates(block, expr->condition);
}
