/* What SELECT lists: `*` written out, names of the values, and aliases where other expressions name them. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "graph/expr.h"
#include "sql/block.h"

static const char *
place_name(const struct sql_expr *expr)
{
    return expr->column != NULL ? expr->column->name : expr->text;
}

const char *
sql_target_name(const struct sql_target *target)
{
    return target->alias != NULL                                                 ? target->alias
           : target->expr->kind == SQL_COLUMN && target->expr->row_place > 0     ? place_name(target->expr)
           : target->expr->written != NULL                                       ? target->expr->written
           : target->expr->kind == SQL_LITERAL                                   ? "value"
           : target->expr->kind == SQL_CASE                                      ? "case"
           : target->expr->kind == SQL_SUBQUERY || target->expr->text[0] == '\0' ? "value"
           : target->expr->kind == SQL_INFIX || target->expr->kind == SQL_PREFIX || target->expr->kind == SQL_POSTFIX
               ? "value"
           : target->expr->kind == SQL_AGGREGATE ||
                   (target->expr->kind == SQL_FUNCTION && target->expr->written != NULL)
               ? target->expr->written
               : target->expr->text;
}

long
sql_position_in(struct sql_block *block, const struct sql_expr *expr, size_t count)
{
    const bool is_place = expr->kind == SQL_COLUMN && expr->row_place > 0;
    char *end;
    long number;

    if (expr->kind != SQL_LITERAL && !is_place) {
        return 0;
    }
    number = strtol(expr->text + is_place, &end, 10);
    if (*end != '\0' || end == expr->text + is_place) {
        return 0;
    }
    if (number < 1 || (size_t)number > count) {
        (void)sql_fail(block->q, GRANARY_EINVAL, expr->position, "position %ld: SELECT lists %zu value%s", number,
                       count, count == 1 ? "" : "s");
        return -1;
    }
    return number;
}

/* ---- aliases ---- */

/* Of a walk through an expression, in which aliases of the first `count` targets may stand. */
struct aliases {
    struct sql_block *block;
    struct sql_target *list;
    size_t count;
    size_t nodes;   /* of the expression, with what aliases mean written out */
    bool of_groups; /* in HAVING: a column that is no key may stand in aggregates alone, and else is the alias */
};

static struct sql_expr *put_aliases(struct aliases *a, struct sql_expr *expr);

/* The target that a name is the alias of: alone, or as alias.NAME; NULL: none. */
static struct sql_target *
find_alias(const struct aliases *a, const struct sql_expr *expr)
{
    bool may_be = expr->kind == SQL_COLUMN && (expr->table == NULL || strcasecmp(expr->table, "alias") == 0);

    for (size_t i = 0; may_be && i < a->count; i++) {
        if (a->list[i].alias != NULL && strcasecmp(a->list[i].alias, expr->text) == 0) {
            return &a->list[i];
        }
    }
    return NULL;
}

/* What a target is, with the aliases of those before it put in. */
static struct sql_expr *
put_target(struct aliases *a, struct sql_target *target)
{
    struct aliases before = {.block = a->block, .list = a->list, .count = (size_t)(target - a->list)};

    if (target->expr->kind == SQL_STAR) {
        return target->expr;
    }
    if (!target->written) {
        target->written = true;
        target->expr = put_aliases(&before, target->expr);
        target->nodes = before.nodes;
    }
    a->nodes += target->nodes;
    return target->expr;
}

static bool
put_list(struct aliases *a, struct sql_expr **exprs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        exprs[i] = put_aliases(a, exprs[i]);
        if (exprs[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* In what stands in FILTER and OVER. */
static bool
put_clauses(struct aliases *a, struct sql_expr *expr)
{
    if (expr->over != NULL && !put_list(a, expr->over->partition, expr->over->partition_count)) {
        return false;
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->order_count; i++) {
        if (!put_list(a, &expr->over->order[i].expr, 1)) {
            return false;
        }
    }
    for (size_t i = 0; expr->over != NULL && i < 2; i++) {
        if (expr->over->bounds[i].distance != NULL && !put_list(a, &expr->over->bounds[i].distance, 1)) {
            return false;
        }
    }
    return expr->condition == NULL || put_list(a, &expr->condition, 1);
}

/* Whether GROUP BY names that column, perhaps by its alias. */
static bool
is_key(const struct aliases *a, const char *name)
{
    const struct sql_select *select = a->block->select;
    bool found = select->group_all;

    for (size_t i = 0; i < select->group_count && !found; i++) {
        const struct sql_expr *key = select->group[i];
        const struct sql_target *target = find_alias(a, key);
        bool ambiguous = false;

        if (target != NULL && sql_find_column(a->block, key->table, key->text, &ambiguous) == NULL) {
            key = target->expr;
        }
        found = key->kind == SQL_COLUMN && strcasecmp(key->text, name) == 0;
    }
    return found;
}

/* The expression with aliases replaced by what they mean, where no column has their name. NULL: it has failed. */
static struct sql_expr *
put_aliases(struct aliases *a, struct sql_expr *expr)
{
    struct sql_target *target = find_alias(a, expr);
    const bool of_groups = a->of_groups;
    bool ambiguous = false;

    if (target != NULL && of_groups && sql_has_aggregate(target->expr) && !is_key(a, expr->text)) {
        return put_target(a, target);
    }
    a->of_groups = of_groups && expr->kind != SQL_AGGREGATE;
    if (target != NULL && sql_find_column(a->block, expr->table, expr->text, &ambiguous) == NULL && !ambiguous) {
        expr = put_target(a, target);
    } else if (!put_list(a, expr->args, expr->count) || !put_clauses(a, expr)) {
        return NULL;
    }
    a->of_groups = of_groups;
    if (expr != NULL && ++a->nodes > GR_EXPR_NODES && target != NULL) {
        (void)sql_fail(
            a->block->q, GRANARY_EUNSUPPORTED, expr->position,
            "with aliases written out this has more than %d operands and operators: compute parts of it in a "
            "subquery",
            GR_EXPR_NODES);
        return NULL;
    }
    return expr;
}

bool
sql_put_aliases(struct sql_block *block, struct sql_expr **expr)
{
    const struct sql_select *select = block->select;
    struct aliases a = {.block = block, .list = select->targets, .count = select->target_count};

    *expr = put_aliases(&a, *expr);
    return *expr != NULL;
}

/* The only column of that name which SELECT lists; NULL: there is none, or several. */
static const struct sql_target *
find_listed(const struct sql_targets *targets, const char *name)
{
    const struct sql_target *found = NULL;

    for (size_t i = 0; i < targets->count; i++) {
        const struct sql_target *target = &targets->list[i];

        if (target->alias == NULL && target->expr->kind == SQL_COLUMN && strcasecmp(target->expr->text, name) == 0) {
            if (found != NULL && found->expr->column != target->expr->column) {
                return NULL;
            }
            found = target;
        }
    }
    return found;
}

struct sql_expr *
sql_bind_with_aliases(struct sql_block *block, const struct sql_targets *targets, struct sql_expr *expr,
                      bool alias_first)
{
    struct aliases a = {
        .block = block, .list = targets->list, .count = targets->count, .of_groups = expr == block->select->having};
    const struct sql_target *target = alias_first ? find_alias(&a, expr) : NULL;
    bool ambiguous = false;

    if (alias_first && target == NULL && expr->kind == SQL_COLUMN && expr->table == NULL &&
        sql_find_column(block, NULL, expr->text, &ambiguous) != NULL && ambiguous) {
        target = find_listed(targets, expr->text);
    }
    if (target != NULL) {
        return target->expr;
    }
    expr = put_aliases(&a, expr);
    return expr != NULL && sql_bind(block, expr) ? expr : NULL;
}

/* ---- the list ---- */

bool
sql_expand_targets(struct sql_block *block, struct sql_targets *targets)
{
    const struct sql_select *select = block->select;
    struct aliases a = {.block = block, .list = select->targets, .count = select->target_count};
    size_t stars = 0;

    for (size_t i = 0; i < select->target_count; i++) {
        if (put_target(&a, &select->targets[i]) == NULL || !sql_unpack(block, select->targets[i].expr)) {
            return false;
        }
        stars += sql_star_in(select->targets[i].expr) != NULL;
    }
    targets->list = SQL_ARRAY(block->q, struct sql_target, select->target_count + stars * block->column_count);
    targets->count = 0;
    for (size_t i = 0; i < select->target_count && targets->list != NULL; i++) {
        struct sql_target *target = &select->targets[i];

        if (sql_star_in(target->expr) != NULL) {
            if (!sql_expand_star(block, target, targets)) {
                return false;
            }
        } else {
            if (!sql_bind(block, target->expr) || !sql_check_inner(block, target->expr)) {
                return false;
            }
            targets->list[targets->count++] = *target;
        }
    }
    return targets->list != NULL;
}

/* ---- ALL ---- */

/* GROUP BY ALL: by all that SELECT lists, but constants and what is aggregated. */
static void
group_by_all(const struct sql_targets *targets, struct sql_expr **group, size_t *ret_count)
{
    for (size_t i = 0; i < targets->count; i++) {
        struct sql_expr *expr = targets->list[i].expr;

        if (!sql_has_aggregate(expr) && !sql_has_window(expr) &&
            (sql_has(expr, SQL_COLUMN) || sql_has(expr, SQL_SUBQUERY))) {
            group[(*ret_count)++] = expr;
        }
    }
}

/* ORDER BY ALL: by all values that SELECT lists, as positions; what DISTINCT ON names stays behind them. */
static struct sql_order *
order_by_all(struct sql_statement *q, const struct sql_select *select, size_t count)
{
    struct sql_order *order = SQL_ARRAY(q, struct sql_order, count + select->order_count);
    struct sql_expr *exprs = SQL_ARRAY(q, struct sql_expr, count);

    for (size_t i = 0; i < count && order != NULL && exprs != NULL; i++) {
        exprs[i] =
            (struct sql_expr){.kind = SQL_LITERAL, .position = select->position, .text = sql_printf(q, "%zu", i + 1)};
        order[i] = *select->order_all;
        order[i].expr = &exprs[i];
    }
    for (size_t i = 0; i < select->order_count && order != NULL; i++) {
        order[count + i] = select->order[i];
    }
    return q->err == GRANARY_OK ? order : NULL;
}

const struct sql_select *
sql_write_all_out(struct sql_statement *q, const struct sql_select *select, const struct sql_targets *targets,
                  size_t count)
{
    struct sql_select *written;

    if (!select->group_all && select->order_all == NULL) {
        return select;
    }
    written = SQL_NEW(q, struct sql_select);
    if (written == NULL) {
        return NULL;
    }
    *written = *select;
    if (select->group_all) {
        written->group = SQL_ARRAY(q, struct sql_expr *, count);
        if (written->group != NULL) {
            group_by_all(targets, written->group, &written->group_count);
            written->group_all = false; /* of constants there are no groups */
        }
    }
    if (select->order_all != NULL) {
        written->order = order_by_all(q, select, count);
        written->order_count += count;
    }
    return q->err == GRANARY_OK ? written : NULL;
}
