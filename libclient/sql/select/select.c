/* SELECT's own clauses, in the order they work: grouping, HAVING, windows, QUALIFY, the values, DISTINCT, ORDER BY. */
#include <stdlib.h>
#include <string.h>

#include "sql/block.h"
#include "sql/told.h"

/* ---- grouping ---- */

/* A column of its own with the values of one. NULL: the statement has failed. */
static const char *
copy_column(struct sql_block *block, const char *name, int position)
{
    const char *own = sql_fresh(block->q, name);
    const char *text = own == NULL ? NULL : sql_quoted(block->q, name);

    return text != NULL && sql_rel_assign(block->q, &block->rel, &own, &text, 1, position) ? own : NULL;
}

/* GROUP BY's columns in the frame, which stand for its expressions from then on. */
static bool
group_keys(struct sql_block *block, const struct sql_targets *targets, const char **keys, struct sql_named *named)
{
    const struct sql_select *select = block->select;

    for (size_t i = 0; i < select->group_count; i++) {
        struct sql_expr *expr = select->group[i];
        long position = expr->kind == SQL_LITERAL ? sql_position_in(block, expr, targets->count) : 0;

        if (position < 0) {
            return false;
        }
        expr = position > 0 ? targets->list[position - 1].expr : sql_bind_with_aliases(block, targets, expr, false);
        if (expr == NULL || !sql_check_inner(block, expr)) {
            return false;
        }
        if (sql_has_aggregate(expr) || sql_has_window(expr)) {
            return sql_fail(block->q, GRANARY_EINVAL, expr->position, "GROUP BY of an aggregate");
        }
        if (!sql_join_subqueries(block, expr)) {
            return false;
        }
        for (size_t k = 0; k < i && keys[i] == NULL; k++) { /* sets name it again: it is one key */
            keys[i] = sql_equal(named[k].expr, expr) ? keys[k] : NULL;
        }
        keys[i] = keys[i] != NULL ? keys[i] : sql_column_of(block, &block->rel, expr);
        if (keys[i] != NULL && select->set_count > 0 && block->around != NULL && sql_is_borrowed(block, keys[i])) {
            keys[i] = copy_column(block, keys[i], expr->position); /* it is null in sets that leave it out */
        }
        if (keys[i] == NULL) {
            return false;
        }
        named[i] = (struct sql_named){expr, sql_quoted(block->q, keys[i])};
    }
    return true;
}

/* The groups are those of each row of the query around. Without GROUP BY each row has one, though it is of no rows, and so has
 * a set of all rows. */
static bool
add_around_keys(struct sql_block *block, const char **keys, size_t *key_count)
{
    const struct sql_select *select = block->select;
    size_t whole = 0; /* sets of all rows */

    for (size_t i = 0; i < select->set_count; i++) {
        whole += select->sets[i] == 0;
    }
    if (whole > 1) {
        return sql_fail(
            block->q, GRANARY_EUNSUPPORTED, select->position,
            "GROUPING SETS with several sets of all rows is not supported in a subquery that names columns of "
            "the query around: write UNION ALL");
    }
    keys[(*key_count)++] = block->number->frame;
    block->sparse = select->group_count == 0 || whole == 1;
    return true;
}

/* Whether what follows the groups needs columns of the query around: of one that is a key there is no other need. */
static bool
needs_around(const struct sql_block *block, struct sql_expr *const *exprs, size_t count)
{
    bool needs = block->sparse;

    for (size_t i = 0; i < count && !needs && block->around != NULL; i++) {
        needs = exprs[i] != NULL && sql_names_borrowed(block, exprs[i]);
    }
    return needs;
}

/* What subqueries name in the place of the block's aggregates. */
static bool
bind_lifted(struct sql_block *block, const struct sql_targets *targets, const struct sql_order *order)
{
    const struct sql_select *select = block->select;
    bool ok = true;

    for (size_t i = 0; i < targets->count && ok; i++) {
        ok = sql_lift_aggregates(block, targets->list[i].expr);
    }
    for (size_t i = 0; i < select->order_count && ok; i++) {
        ok = sql_lift_aggregates(block, order[i].expr);
    }
    ok = ok && (select->having == NULL || sql_lift_aggregates(block, select->having)) &&
         (select->qualify == NULL || sql_lift_aggregates(block, select->qualify));
    for (size_t i = 0; ok && select->lifted != NULL && i < select->lifted->count; i++) {
        ok = sql_bind(block, select->lifted->list[i].expr);
    }
    return ok;
}

static bool
add_lifted(struct sql_block *block)
{
    const struct sql_lifted *lifted = block->select->lifted;

    for (size_t i = 0; lifted != NULL && i < lifted->count; i++) {
        const char *frame = sql_column_of(block, &block->rel, lifted->list[i].expr);

        if (frame == NULL || !sql_add_column(block, NULL, lifted->list[i].alias, frame, 0)) {
            return false;
        }
        block->columns[block->column_count - 1]->lifted = true;
    }
    return true;
}

static bool
group_block(struct sql_block *block, const struct sql_targets *targets, struct sql_order *order)
{
    const struct sql_select *select = block->select;
    struct sql_statement *q = block->q;
    const size_t lifted = select->lifted == NULL ? 0 : select->lifted->count;
    size_t count = targets->count + 2 + select->order_count + lifted;
    struct sql_expr **exprs = SQL_ARRAY(q, struct sql_expr *, count);
    const char **keys = SQL_ARRAY(q, const char *, select->group_count + 1);
    struct sql_named *named = SQL_ARRAY(q, struct sql_named, select->group_count);
    size_t key_count = select->group_count;

    if (q->err != GRANARY_OK || !group_keys(block, targets, keys, named)) {
        return false;
    }
    block->key_exprs = SQL_ARRAY(q, const struct sql_expr *, select->group_count);
    for (size_t i = 0; i < select->group_count && block->key_exprs != NULL; i++) {
        block->key_exprs[i] = named[i].expr;
    }
    for (size_t i = 0; i < targets->count; i++) {
        exprs[i] = targets->list[i].expr;
    }
    exprs[targets->count] = select->having;
    exprs[targets->count + 1] = select->qualify;
    for (size_t i = 0; i < select->order_count; i++) {
        exprs[targets->count + 2 + i] = order[i].expr;
    }
    for (size_t i = 0; i < lifted; i++) {
        exprs[count - lifted + i] = select->lifted->list[i].expr;
    }
    if (select->set_count > 0) {
        block->set_keys = SQL_ARRAY(q, const char *, select->group_count + 1);
        for (size_t i = 0; i < select->group_count && block->set_keys != NULL; i++) {
            block->set_keys[i] = keys[i];
        }
    }
    if (block->around != NULL && !add_around_keys(block, keys, &key_count)) {
        return false;
    }
    if (!sql_group(block, keys, sql_without_twins(keys, key_count), exprs, count,
                   select->group_count > 0 ? select->group[0]->position : select->position)) {
        return false;
    }
    if (needs_around(block, exprs, count) && !sql_keep_around(block, block->sparse)) {
        return false;
    }
    for (size_t i = 0; i < select->group_count; i++) {
        if (!sql_name_expr(block, named[i].expr, named[i].text)) {
            return false;
        }
    }
    block->grouped = true;
    return add_lifted(block);
}

/* HAVING, or QUALIFY: rows for which it is true. */
static bool
keep_rows_for(struct sql_block *block, struct sql_expr *condition)
{
    const char *text = sql_join_subqueries(block, condition) ? sql_text(block, condition) : NULL;

    block->rel.rows *= 0.3;
    return text != NULL && sql_rel_filter(block->q, &block->rel, text, condition->position);
}

static bool
apply_having(struct sql_block *block)
{
    struct sql_expr *having = block->select->having;

    if (having != NULL && sql_has_window(having)) {
        return sql_fail(block->q, GRANARY_EINVAL, having->position,
                        "a window function in HAVING: put the query into a subquery, and the condition into WHERE");
    }
    return having == NULL || keep_rows_for(block, having);
}

/* Its condition is about windows' values. */
static bool
apply_qualify(struct sql_block *block)
{
    return block->select->qualify == NULL || keep_rows_for(block, block->select->qualify);
}

/* ---- order ---- */

/* ORDER BY's expressions, bound; aliases and positions are the targets'. */
static bool
bind_order(struct sql_block *block, const struct sql_targets *targets, struct sql_order **ret_order)
{
    const struct sql_select *select = block->select;
    struct sql_order *order = SQL_ARRAY(block->q, struct sql_order, select->order_count);

    for (size_t i = 0; i < select->order_count && order != NULL; i++) {
        long position = sql_position_in(block, select->order[i].expr, targets->count);

        order[i] = select->order[i];
        order[i].expr = position < 0   ? NULL
                        : position > 0 ? targets->list[position - 1].expr
                                       : sql_bind_with_aliases(block, targets, order[i].expr, true);
        if (order[i].expr == NULL || !sql_check_inner(block, order[i].expr)) {
            return false;
        }
    }
    *ret_order = order;
    return order != NULL;
}

/* ---- SELECT ---- */

/* The list whose items a target is; NULL: it is a value. */
static const struct sql_expr *
unnested(const struct sql_expr *expr)
{
    return expr->kind == SQL_FUNCTION && strcmp(expr->text, SQL_UNNEST) == 0 && expr->count == 1 ? expr->args[0] : NULL;
}

/* How many calls of unnest() an expression has that is none itself; to: they go there, unless it is NULL. */
static size_t
unnests_within(const struct sql_expr *expr, const struct sql_expr **to)
{
    size_t count = 0;

    for (size_t i = 0; i < expr->count; i++) {
        if (unnested(expr->args[i]) == NULL) {
            count += unnests_within(expr->args[i], to == NULL ? NULL : to + count);
        } else if (to != NULL) {
            to[count++] = expr->args[i];
        } else {
            count++;
        }
    }
    return count;
}

/* The calls in SELECT's list: of each target itself, or all within it. NULL: the statement has failed. */
static const struct sql_expr **
list_unnests(struct sql_block *block, const struct sql_targets *targets, size_t *ret_count)
{
    const struct sql_expr **calls;
    size_t count = 0;

    for (size_t i = 0; i < targets->count; i++) {
        count += unnested(targets->list[i].expr) != NULL ? 1 : unnests_within(targets->list[i].expr, NULL);
    }
    calls = SQL_ARRAY(block->q, const struct sql_expr *, count);
    *ret_count = count;
    count = 0;
    for (size_t i = 0; i < targets->count && calls != NULL; i++) {
        if (unnested(targets->list[i].expr) != NULL) {
            calls[count++] = targets->list[i].expr;
        } else {
            count += unnests_within(targets->list[i].expr, calls + count);
        }
    }
    return calls;
}

/* A row for each item of the lists, all of them side by side; then what is computed of the items. */
static bool
unnest_targets(struct sql_block *block, const struct sql_targets *targets, struct sql_result *result)
{
    struct sql_statement *q = block->q;
    size_t count;
    const struct sql_expr **calls = list_unnests(block, targets, &count);
    const char **names = SQL_ARRAY(q, const char *, count);

    for (size_t i = 0; i < count && names != NULL && calls != NULL; i++) {
        const char *column = sql_column_of(block, &block->rel, calls[i]->args[0]);
        const char *text = column == NULL ? NULL : sql_quoted(q, column);

        names[i] = sql_fresh(q, calls[i]->written != NULL ? calls[i]->written : SQL_UNNEST);
        if (text == NULL || names[i] == NULL ||
            !sql_rel_assign(q, &block->rel, &names[i], &text, 1, calls[i]->position)) {
            return false;
        }
    }
    for (size_t i = 0; count > 1 && i < count && calls != NULL; i++) {
        if (calls[i]->negated) {
            return sql_fail(q, GRANARY_EUNSUPPORTED, calls[i]->position,
                            "unnest() of several levels stands beside no other one: unnest level by level");
        }
    }
    if (calls == NULL || names == NULL || count == 0) {
        return calls != NULL && names != NULL;
    }
    if (!sql_rel_unnest(q, &block->rel, names, count, false, false, block->select->position)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!sql_name_expr(block, calls[i], sql_quoted(q, names[i]))) {
            return false;
        }
    }
    for (size_t i = 0, at = 0; i < targets->count; i++) {
        const struct sql_expr *expr = targets->list[i].expr;

        if (unnested(expr) != NULL) {
            result->outputs[i].frame = names[at++];
        } else if (unnests_within(expr, NULL) > 0) {
            at += unnests_within(expr, NULL);
            result->outputs[i].frame = sql_column_of(block, &block->rel, expr);
        }
        if (result->outputs[i].frame == NULL) {
            return false;
        }
    }
    return true;
}

/* More targets become columns of one node, as the scheduler thinks about each node. */
#define TARGETS_APART 64

/* Expressions that become new columns together. */
struct batch {
    const char **names;
    const char **texts;
    size_t count;
};

/* The target's column: one of the batch, unless it is a column already. NULL: the statement has failed. */
static const char *
batch_column(struct sql_block *block, const struct sql_expr *expr, struct batch *batch)
{
    const char *text = sql_text(block, expr);
    const char *name = text == NULL ? NULL : sql_column_named(block, expr, text);

    if (text == NULL || name != NULL) {
        return name;
    }
    name = sql_fresh(block->q, "value");
    sql_tell(block->q, name, NULL, expr->position);
    batch->names[batch->count] = name;
    batch->texts[batch->count++] = text;
    return name;
}

/* Each target's column in the frame. */
static bool
compute_targets(struct sql_block *block, const struct sql_targets *targets, struct sql_result *ret_result)
{
    struct sql_statement *q = block->q;
    struct batch batch = {SQL_ARRAY(q, const char *, targets->count), SQL_ARRAY(q, const char *, targets->count), 0};

    ret_result->count = targets->count;
    ret_result->outputs = SQL_ARRAY(q, struct sql_output, targets->count);
    for (size_t i = 0; i < targets->count && q->err == GRANARY_OK; i++) {
        struct sql_expr *expr = targets->list[i].expr;
        const struct sql_expr *list = unnested(expr);

        if (!sql_join_subqueries(block, expr)) {
            return false;
        }
        ret_result->outputs[i].name = sql_target_name(&targets->list[i]);
        if (list == NULL && unnests_within(expr, NULL) > 0) {
            continue; /* not before unnest_targets() */
        }
        ret_result->outputs[i].frame = targets->count > TARGETS_APART
                                           ? batch_column(block, list != NULL ? list : expr, &batch)
                                           : sql_column_of(block, &block->rel, list != NULL ? list : expr);
        if (ret_result->outputs[i].frame == NULL) {
            return false;
        }
    }
    return q->err == GRANARY_OK &&
           sql_rel_assign(q, &block->rel, batch.names, batch.texts, batch.count, block->select->position);
}

/* Only the targets' columns, each row once. ORDER BY can name nothing else then. */
static bool
make_distinct(struct sql_block *block, const struct sql_result *result)
{
    const char **names = SQL_ARRAY(block->q, const char *, result->count + 1);
    size_t count = result->count;

    for (size_t i = 0; i < result->count && names != NULL; i++) {
        names[i] = result->outputs[i].frame;
    }
    if (names != NULL && block->around != NULL) {
        names[count++] = block->number->frame;
    }
    return names != NULL && sql_rel_distinct(block->q, &block->rel, names, count, block->select->position);
}

static bool
compute_order(struct sql_block *block, const struct sql_targets *targets, const struct sql_result *result,
              const struct sql_order *order, const char **columns)
{
    for (size_t i = 0; i < block->select->order_count; i++) {
        size_t t = 0;

        while (t < targets->count && !sql_equal(targets->list[t].expr, order[i].expr)) {
            t++;
        }
        if (t < targets->count) {
            columns[i] = result->outputs[t].frame;
        } else if (block->select->distinct) {
            return sql_fail(block->q, GRANARY_EINVAL, order[i].expr->position,
                            "with DISTINCT, ORDER BY takes what SELECT lists");
        } else {
            columns[i] =
                sql_join_subqueries(block, order[i].expr) ? sql_column_of(block, &block->rel, order[i].expr) : NULL;
        }
        if (columns[i] == NULL) {
            return false;
        }
    }
    return true;
}

static bool
add_windows(struct sql_block *block, const struct sql_targets *targets, const struct sql_order *order)
{
    for (size_t i = 0; i < targets->count; i++) {
        if (sql_has_window(targets->list[i].expr) && !sql_join_subqueries(block, targets->list[i].expr)) {
            return false;
        }
        if (!sql_add_windows(block, targets->list[i].expr, targets->list[i].alias)) {
            return false;
        }
    }
    for (size_t i = 0; i < block->select->order_count; i++) {
        if (!sql_add_windows(block, order[i].expr, NULL)) {
            return false;
        }
    }
    return block->select->qualify == NULL || sql_add_windows(block, block->select->qualify, NULL);
}

/* HAVING or QUALIFY, in which aliases of SELECT may stand. */
static bool
bind_condition(struct sql_block *block, const struct sql_targets *targets, struct sql_expr *condition)
{
    return condition == NULL ||
           (sql_bind_with_aliases(block, targets, condition, false) != NULL && sql_check_inner(block, condition));
}

/* Whether any value or condition has what `has` looks for. */
static bool
any_has(const struct sql_select *select, const struct sql_targets *targets, bool (*has)(const struct sql_expr *expr))
{
    bool found = select->qualify != NULL && has(select->qualify);

    for (size_t i = 0; i < targets->count && !found; i++) {
        found = has(targets->list[i].expr);
    }
    return found;
}

bool
sql_block_finish(struct sql_block *block, bool ordered, struct sql_result *ret_result)
{
    struct sql_statement *q = block->q;
    const struct sql_select *select = block->select;
    const struct sql_unpivot *unpivot = select->unpivot;
    struct sql_targets targets;
    struct sql_order *order = NULL;
    const char **columns;
    bool grouped;

    if (select->pivot != NULL || select->unpivot != NULL) {
        select = select->pivot != NULL ? sql_write_pivot(block) : sql_write_unpivot(block);
        if (select == NULL) {
            return false;
        }
        block->select = select;
    }
    if (!sql_expand_targets(block, &targets)) {
        return false;
    }
    if (targets.count == 0) {
        return sql_fail(q, GRANARY_EINVAL, select->position, "SELECT lists no value");
    }
    select = sql_write_all_out(q, select, &targets, targets.count);
    select = select == NULL ? NULL : sql_expand_order(block, select);
    columns = select == NULL ? NULL : SQL_ARRAY(q, const char *, select->order_count);
    if (columns == NULL) {
        return false;
    }
    block->select = select;
    if (!bind_order(block, &targets, &order) || !bind_condition(block, &targets, select->having) ||
        !bind_condition(block, &targets, select->qualify)) {
        return false;
    }
    if (select->qualify != NULL && !any_has(select, &targets, sql_has_window)) {
        return sql_fail(q, GRANARY_EINVAL, select->qualify->position,
                        "QUALIFY is about window functions, of which there is none here: put the condition into WHERE");
    }
    if (!bind_lifted(block, &targets, order)) {
        return false;
    }
    grouped = sql_groups(select) || any_has(select, &targets, sql_has_aggregate) ||
              (select->lifted != NULL && select->lifted->count > 0);
    for (size_t i = 0; i < select->order_count && !grouped; i++) {
        grouped = sql_has_aggregate(order[i].expr);
    }
    if ((grouped && !group_block(block, &targets, order)) || !apply_having(block) ||
        !add_windows(block, &targets, order) || !apply_qualify(block) ||
        !compute_targets(block, &targets, ret_result) || !unnest_targets(block, &targets, ret_result) ||
        (unpivot != NULL && !sql_unpivot_cut(block, unpivot, ret_result)) ||
        (select->distinct && !make_distinct(block, ret_result)) ||
        !compute_order(block, &targets, ret_result, order, columns) ||
        !sql_sort_and_cut(q, &block->rel, select, order, columns, ordered,
                          block->around != NULL ? block->number->frame : NULL)) {
        return false;
    }
    ret_result->rel = block->rel;
    ret_result->number = block->around != NULL ? block->number->frame : NULL;
    return true;
}
