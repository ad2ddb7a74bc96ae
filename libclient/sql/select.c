/* SELECT's own clauses, in the order they work: grouping, HAVING, the values, DISTINCT, ORDER BY, LIMIT; and UNION. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/block.h"
#include "sql/told.h"

struct sql_with *
sql_find_with(const struct sql_statement *q, const char *name)
{
    for (const struct sql_names *names = q->names; names != NULL; names = names->outer) {
        for (size_t i = 0; i < names->count; i++) {
            if (strcasecmp(names->with[i].name, name) == 0) {
                return &names->with[i];
            }
        }
    }
    return NULL;
}

struct sql_names
sql_names_before(const struct sql_statement *q, const struct sql_with *with)
{
    const struct sql_names *names = q->names;

    while (names->with == NULL || with < names->with || with >= names->with + names->count) { /* where it stands */
        names = names->outer;
    }
    return (struct sql_names){names->with, (size_t)(with - names->with) + with->recursive, names->outer};
}

const struct sql_result *
sql_with_result(struct sql_statement *q, struct sql_with *with)
{
    struct sql_names visible;
    struct sql_result *result;
    bool ok;

    if (with->result != NULL) {
        return with->result;
    }
    result = SQL_NEW(q, struct sql_result);
    if (result == NULL) {
        return NULL;
    }
    visible = sql_names_before(q, with);
    {
        const struct sql_names *now = q->names;

        q->names = &visible;
        ok = with->recursive ? sql_plan_recursive(q, with, result) : sql_plan(q, with->select, true, result);
        q->names = now;
    }
    if (!ok) {
        return NULL;
    }
    if (with->column_count > result->count) {
        (void)sql_fail(q, GRANARY_EINVAL, with->position, "'%s' has %zu columns, but %zu names are given", with->name,
                       result->count, with->column_count);
        return NULL;
    }
    for (size_t i = 0; i < with->column_count; i++) {
        result->outputs[i].name = with->columns[i];
    }
    with->result = result;
    return result;
}

/* ---- grouping ---- */

/* GROUP BY's columns in the frame, which stand for its expressions from then on. */
static bool
group_keys(struct sql_block *block, const struct sql_targets *targets, const char **keys, struct sql_named *named)
{
    const struct sql_select *select = block->select;

    for (size_t i = 0; i < select->group_count; i++) {
        struct sql_expr *expr = select->group[i];
        long position = sql_position_in(block, expr, targets->count);

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
        if (keys[i] == NULL) {
            return false;
        }
        named[i] = (struct sql_named){expr, sql_quoted(block->q, keys[i])};
    }
    return true;
}

/* The groups are those of each row of the query around. Without GROUP BY each row has one, though it is of no rows. */
static bool
add_around_keys(struct sql_block *block, const char **keys, size_t *key_count)
{
    const struct sql_select *select = block->select;

    for (size_t i = 0; i < select->set_count; i++) {
        if (select->sets[i] == 0 && (select->set_count > 1 || select->group_count > 0)) {
            return sql_fail(block->q, GRANARY_EUNSUPPORTED, select->position,
                            "ROLLUP, CUBE or GROUPING SETS with a set of all rows is not supported in a subquery that "
                            "names columns of the query around: write UNION ALL");
        }
    }
    for (size_t i = 0; select->set_count > 0 && i < *key_count; i++) {
        if (sql_is_borrowed(block, keys[i])) {
            return sql_fail(block->q, GRANARY_EUNSUPPORTED, select->position,
                            "GROUPING SETS of columns of the query around is not supported");
        }
    }
    keys[(*key_count)++] = block->number->frame;
    block->sparse = select->group_count == 0;
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

static bool
group_block(struct sql_block *block, const struct sql_targets *targets, struct sql_order *order)
{
    const struct sql_select *select = block->select;
    struct sql_statement *q = block->q;
    size_t count = targets->count + 2 + select->order_count;
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
    return true;
}

static bool
apply_having(struct sql_block *block)
{
    struct sql_expr *having = block->select->having;
    const char *text;

    if (having == NULL) {
        return true;
    }
    if (sql_has_window(having)) {
        return sql_fail(block->q, GRANARY_EINVAL, having->position,
                        "a window function in HAVING: put the query into a subquery, and the condition into WHERE");
    }
    if (!sql_join_subqueries(block, having)) {
        return false;
    }
    text = sql_text(block, having);
    block->rel.rows *= 0.3;
    return text != NULL && sql_rel_filter(block->q, &block->rel, text, having->position);
}

/* QUALIFY: rows for which a condition about windows' values is true. */
static bool
apply_qualify(struct sql_block *block)
{
    struct sql_expr *qualify = block->select->qualify;
    const char *text;

    if (qualify == NULL) {
        return true;
    }
    if (!sql_join_subqueries(block, qualify)) {
        return false;
    }
    text = sql_text(block, qualify);
    block->rel.rows *= 0.3;
    return text != NULL && sql_rel_filter(block->q, &block->rel, text, qualify->position);
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

/* The SELECT with ALL written out. NULL: the statement has failed. */
static const struct sql_select *
write_all_out(struct sql_statement *q, const struct sql_select *select, const struct sql_targets *targets, size_t count)
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

/* LIMIT in percent, and WITH TIES: by the number of each row, how many there are, and its rank. */
static bool
cut_by_number(struct sql_statement *q, struct sql_rel *rel, const struct sql_select *select,
              const struct sql_window_spec *order)
{
    const struct sql_window_spec all = {.position = select->position};
    const char *number = sql_fresh(q, "row");
    const char *bound = sql_fresh(q, "bound");
    const char *where = NULL;

    if (number == NULL || bound == NULL || !sql_rel_window(q, rel, number, "row_number()", &all) ||
        !sql_rel_window(q, rel, bound, select->ties > 0 ? "rank()" : "size()", select->ties > 0 ? order : &all)) {
        return false;
    }
    if (select->ties > 0) {
        where = sql_printf(q, "`%s` > %lld and `%s` <= %lld", number, (long long)select->offset, bound,
                           (long long)(select->offset + select->ties));
    } else { /* rows that are left count behind OFFSET */
        where = sql_printf(q, "`%s` > %lld and `%s` <= %lld + floor(`%s` * %.17g / 100e0)", number,
                           (long long)select->offset, number, (long long)select->offset, bound, *select->percent);
    }
    return where != NULL && sql_rel_filter(q, rel, where, select->position);
}

/* The first row of each of DISTINCT ON, for each row of the query around. */
static bool
cut_to_first(struct sql_statement *q, struct sql_rel *rel, const struct sql_select *select,
             const struct sql_window_spec *spec)
{
    struct sql_window_spec each = *spec;
    const char **partition = SQL_ARRAY(q, const char *, 1 + select->distinct_on);
    const char *row = sql_fresh(q, "row");

    if (partition == NULL || row == NULL) {
        return false;
    }
    partition[0] = spec->partition[0];
    for (size_t i = 0; i < select->distinct_on; i++) {
        partition[1 + i] = spec->by[select->order_count - select->distinct_on + i];
    }
    each.partition = partition;
    each.partition_count = sql_without_twins(partition, 1 + select->distinct_on);
    return sql_rel_window(q, rel, row, "row_number()", &each) &&
           sql_rel_filter(q, rel, sql_printf(q, "`%s` = 1", row), select->position);
}

/* LIMIT and OFFSET for each row of the query around. */
static bool
cut_each(struct sql_statement *q, struct sql_rel *rel, const struct sql_select *select,
         const struct sql_window_spec *spec)
{
    int64_t most = select->limit > INT64_MAX - select->offset ? INT64_MAX : select->offset + select->limit;
    const char *row;

    if (select->distinct_on > 0 && !cut_to_first(q, rel, select, spec)) {
        return false;
    }
    if (select->limit < 0 && select->offset == 0) {
        return true;
    }
    row = sql_fresh(q, "row");
    return row != NULL && sql_rel_window(q, rel, row, "row_number()", spec) &&
           sql_rel_filter(q, rel,
                          select->limit < 0 ? sql_printf(q, "`%s` > %lld", row, (long long)select->offset)
                                            : sql_printf(q, "`%s` > %lld and `%s` <= %lld", row,
                                                         (long long)select->offset, row, (long long)most),
                          select->position);
}

/* LIMIT or OFFSET that a subquery gives, as an expression of the rows beside which it stands; a number as written is one,
 * too. */
static const char *
cut_value(struct sql_block *block, struct sql_expr *value, int64_t written)
{
    if (value == NULL) {
        return sql_printf(block->q, "%lld", (long long)written);
    }
    return sql_bind(block, value) && sql_join_subqueries(block, value) ? sql_text(block, value) : NULL;
}

/* Where rows are cut of which the number is not known yet. A null cuts nothing, and what is below 0 counts as 0. The
 * condition is of the rows' number, which gets its column later. */
static const char *
join_cut(struct sql_statement *q, struct sql_rel *rel, const struct sql_select *select, const char *row)
{
    struct sql_block block = {.q = q, .select = select, .rel = *rel};
    const char *offset = cut_value(&block, select->offset_value, select->offset);
    const char *limit = offset == NULL ? NULL : cut_value(&block, select->limit_value, select->limit);

    *rel = block.rel;
    return limit == NULL || row == NULL
               ? NULL
               : sql_printf(q, "`%s` > coalesce(%s, 0) and `%s` - greatest(coalesce(%s, 0), 0) <= coalesce(%s, `%s`)",
                            row, offset, row, offset, limit, row);
}

/* Sort and cut by values of subqueries. */
static bool
cut_by_values(struct sql_statement *q, struct sql_rel *rel, const struct sql_select *select,
              const struct sql_window_spec *order)
{
    const char *row = sql_fresh(q, "row");
    const char *where = join_cut(q, rel, select, row);

    return where != NULL &&
           (order->by_count == 0 || sql_rel_sort(q, rel, order->by, order->descending, order->nulls, order->by_count,
                                                 select->order[0].expr->position)) &&
           (select->distinct_on == 0 || sql_rel_first(q, rel, order->by + select->order_count - select->distinct_on,
                                                      select->distinct_on, select->position)) &&
           sql_rel_window(q, rel, row, "row_number()", &(struct sql_window_spec){.position = select->position}) &&
           sql_rel_filter(q, rel, where, select->position);
}

/* Sort by columns, nulls at the end unless told otherwise, and cut. number: for each row of the query around; or NULL */
static bool
sort_and_cut(struct sql_statement *q, struct sql_rel *rel, const struct sql_select *select,
             const struct sql_order *order, const char *const *columns, bool ordered, const char *number)
{
    size_t count = select->order_count;
    const char **by = SQL_ARRAY(q, const char *, count);
    bool *descending = SQL_ARRAY(q, bool, count);
    const char **nulls = SQL_ARRAY(q, const char *, count);
    bool values = select->limit_value != NULL || select->offset_value != NULL;

    if (by == NULL || descending == NULL || nulls == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        by[i] = columns[i];
        descending[i] = order[i].descending;
        nulls[i] = order[i].nulls_first ? "first" : "last";
    }
    if (number != NULL && (select->ties > 0 || select->percent != NULL || values)) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, select->position,
                        "WITH TIES and LIMIT of a percentage or of a subquery in a subquery that names columns of the "
                        "query around are "
                        "not supported: put the condition on a window function");
    }
    if (number != NULL) {
        return cut_each(q, rel, select,
                        &(struct sql_window_spec){.partition = &number,
                                                  .partition_count = 1,
                                                  .by = by,
                                                  .descending = descending,
                                                  .nulls = nulls,
                                                  .by_count = count,
                                                  .position = select->position});
    }
    if (values) {
        return cut_by_values(
            q, rel, select,
            &(struct sql_window_spec){.by = by, .descending = descending, .nulls = nulls, .by_count = count});
    }
    if (count > 0 && (ordered || select->limit >= 0 || select->offset > 0 || select->distinct_on > 0) &&
        !sql_rel_sort(q, rel, by, descending, nulls, count, order[0].expr->position)) {
        return false;
    }
    if (select->distinct_on > 0 && !sql_rel_first(q, rel, columns + select->order_count - select->distinct_on,
                                                  select->distinct_on, select->position)) {
        return false;
    }
    if (select->ties > 0 || select->percent != NULL) {
        return cut_by_number(
            q, rel, select,
            &(struct sql_window_spec){
                .by = by, .descending = descending, .nulls = nulls, .by_count = count, .position = select->position});
    }
    return (select->limit < 0 && select->offset == 0) ||
           sql_rel_head(q, rel, select->offset, select->limit, select->position);
}

/* ---- SELECT ---- */

/* The list whose items a target is; NULL: it is a value. */
static const struct sql_expr *
unnested(const struct sql_expr *expr)
{
    return expr->kind == SQL_FUNCTION && strcmp(expr->text, SQL_UNNEST) == 0 && expr->count == 1 ? expr->args[0] : NULL;
}

/* A row for each item of the lists that are targets, all of them side by side. */
static bool
unnest_targets(struct sql_block *block, const struct sql_targets *targets, struct sql_result *result)
{
    struct sql_statement *q = block->q;
    const char **names = SQL_ARRAY(q, const char *, targets->count);
    size_t count = 0;

    for (size_t i = 0; i < targets->count && names != NULL; i++) {
        const char *text = unnested(targets->list[i].expr) == NULL ? NULL : sql_quoted(q, result->outputs[i].frame);

        if (text == NULL) {
            continue;
        }
        names[count] = sql_fresh(q, sql_target_name(&targets->list[i]));
        if (names[count] == NULL ||
            !sql_rel_assign(q, &block->rel, &names[count], &text, 1, targets->list[i].expr->position)) {
            return false;
        }
        count++;
    }
    if (names == NULL || count == 0) {
        return names != NULL;
    }
    if (!sql_rel_unnest(q, &block->rel, names, count, false, block->select->position)) {
        return false;
    }
    for (size_t i = 0, at = 0; i < targets->count; i++) {
        if (unnested(targets->list[i].expr) != NULL) {
            result->outputs[i].frame = names[at++];
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
    struct sql_targets targets;
    struct sql_order *order = NULL;
    const char **columns;
    bool grouped;

    if (!sql_expand_targets(block, &targets)) {
        return false;
    }
    if (targets.count == 0) {
        return sql_fail(q, GRANARY_EINVAL, select->position, "SELECT lists no value");
    }
    select = write_all_out(q, select, &targets, targets.count);
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
    grouped = sql_groups(select) || any_has(select, &targets, sql_has_aggregate);
    for (size_t i = 0; i < select->order_count && !grouped; i++) {
        grouped = sql_has_aggregate(order[i].expr);
    }
    if ((grouped && !group_block(block, &targets, order)) || !apply_having(block) ||
        !add_windows(block, &targets, order) || !apply_qualify(block) ||
        !compute_targets(block, &targets, ret_result) || !unnest_targets(block, &targets, ret_result) ||
        (select->distinct && !make_distinct(block, ret_result)) ||
        !compute_order(block, &targets, ret_result, order, columns) ||
        !sort_and_cut(q, &block->rel, select, order, columns, ordered,
                      block->around != NULL ? block->number->frame : NULL)) {
        return false;
    }
    ret_result->rel = block->rel;
    ret_result->number = block->around != NULL ? block->number->frame : NULL;
    return true;
}

/* ---- set operations ---- */

/* One side of a set operation. */
struct side {
    const struct sql_select *select;
    struct sql_result *result;
    const char *number;              /* by which rows of both sides are told apart */
    const struct sql_expr **untyped; /* by column: a text or null as written, which takes the other side's dtype */
};

static bool
is_null(const struct sql_expr *expr)
{
    return expr != NULL && strcmp(expr->text, "null") == 0;
}

/* The text or null that stands as the i-th value of a list; NULL: it is something else. (What ROLLUP lists may be null
 * in some rows.) */
static const struct sql_expr *
untyped_value(const struct sql_select *select, size_t i)
{
    bool plain = select->set == SQL_NO_SET && select->group_count == 0 && !select->group_all;
    const struct sql_expr *expr;

    for (size_t t = 0; t < select->target_count && plain; t++) {
        plain = sql_star_in(select->targets[t].expr) == NULL;
    }
    plain = plain && i < select->target_count; /* behind them, rows of the query around are numbered */
    expr = plain ? select->targets[i].expr : NULL;
    return plain && expr->kind == SQL_LITERAL && (expr->text[0] == '\'' || is_null(expr)) ? expr : NULL;
}

/* The same of a set operation, whose sides may all have null there. */
static const struct sql_expr *
untyped_target(const struct sql_select *select, size_t i)
{
    const struct sql_expr *left = select->set == SQL_NO_SET ? NULL : untyped_target(select->left, i);
    const struct sql_expr *right = is_null(left) ? untyped_target(select->right, i) : NULL;

    if (select->set != SQL_NO_SET) {
        return is_null(right) ? right : NULL; /* null in all rows, of no dtype */
    }
    return untyped_value(select, i);
}

/* Where the other side has a dtype. Whether there is any. */
static bool
find_untyped(struct sql_statement *q, struct side sides[2])
{
    size_t count = sides[0].result->count;
    bool any = false;

    sides[0].untyped = SQL_ARRAY(q, const struct sql_expr *, count);
    sides[1].untyped = SQL_ARRAY(q, const struct sql_expr *, count);
    for (size_t i = 0; i < count && q->err == GRANARY_OK; i++) {
        const struct sql_expr *left = untyped_target(sides[0].select, i);
        const struct sql_expr *right = untyped_target(sides[1].select, i);

        sides[0].untyped[i] = right == NULL || (is_null(left) && !is_null(right)) ? left : NULL;
        sides[1].untyped[i] = left == NULL || (is_null(right) && !is_null(left)) ? right : NULL;
        any = any || sides[0].untyped[i] != NULL || sides[1].untyped[i] != NULL;
    }
    return any;
}

/* The outputs under new names, which both sides then have, but those without a dtype; and mark, if it is not NULL: the
 * side's number. */
static bool
rename_outputs(struct sql_statement *q, const struct side *side, const char *mark, const char *const *names,
               int position)
{
    struct sql_result *result = side->result;
    const char **to = SQL_ARRAY(q, const char *, result->count + 1);
    const char **texts = SQL_ARRAY(q, const char *, result->count + 1);
    size_t count = 0;

    for (size_t i = 0; i < result->count && to != NULL && texts != NULL; i++) {
        if (side->untyped[i] == NULL) {
            to[count] = names[i];
            texts[count++] = sql_quoted(q, result->outputs[i].frame);
        }
        result->outputs[i].frame = names[i];
    }
    if (mark != NULL && q->err == GRANARY_OK) {
        to[count] = mark;
        texts[count++] = side->number;
    }
    return q->err == GRANARY_OK && sql_rel_project(q, &result->rel, to, texts, count, position);
}

/* The texts of a side, in the rows of both, beside the values of the other one. */
static bool
put_untyped(struct sql_statement *q, struct sql_rel *rel, const struct side *side, const char *mark,
            const char *const *names)
{
    for (size_t i = 0; i < side->result->count; i++) {
        const struct sql_expr *text = side->untyped[i];

        if (text != NULL && !is_null(text)) {
            const char *value = sql_printf(q, "case when `%s` = %s then %s else %s end", mark, side->number, text->text,
                                           sql_quoted(q, names[i]));

            if (q->err != GRANARY_OK || !sql_rel_assign(q, rel, &names[i], &value, 1, text->position)) {
                return false;
            }
        }
    }
    return true;
}

/* The place at which a SELECT of a set operation, the first that does, gives a value this name; 0: none does. */
static long
place_of(const struct sql_select *select, const char *name, size_t count)
{
    long place = 0;

    if (select->set != SQL_NO_SET) {
        place = place_of(select->left, name, count);
        return place > 0 ? place : place_of(select->right, name, count);
    }
    for (size_t t = 0; t < select->target_count && select->target_count == count && place == 0; t++) {
        const struct sql_target *target = &select->targets[t];
        const char *own = target->alias != NULL              ? target->alias
                          : target->expr->kind == SQL_COLUMN ? target->expr->text
                                                             : "";

        place = sql_star_in(target->expr) == NULL && strcasecmp(own, name) == 0 ? (long)t + 1 : 0;
    }
    return place;
}

/* What ORDER BY of a set operation names that is no column of its result: by its name on another side. */
static long
place_beside(const struct sql_select *select, const struct sql_result *result, const struct sql_expr *expr)
{
    bool named = expr->kind == SQL_COLUMN && expr->table == NULL;

    for (size_t i = 0; i < result->count && named; i++) {
        named = strcasecmp(result->outputs[i].name, expr->text) != 0;
    }
    return named ? place_of(select, expr->text, result->count) : 0;
}

static bool
order_set(struct sql_statement *q, const struct sql_select *select, bool ordered, struct sql_result *result)
{
    struct sql_block block = {.q = q, .rel = result->rel};
    const char **columns;

    select = write_all_out(q, select, NULL, result->count);
    columns = select == NULL ? NULL : SQL_ARRAY(q, const char *, select->order_count);
    block.select = select;
    for (size_t i = 0; i < result->count && columns != NULL; i++) {
        if (!sql_add_column(&block, NULL, result->outputs[i].name, result->outputs[i].frame, 0)) {
            return false;
        }
    }
    for (size_t i = 0; i < select->order_count && columns != NULL; i++) {
        struct sql_expr *expr = select->order[i].expr;
        long position = sql_position_in(&block, expr, result->count);

        position = position == 0 ? place_beside(select, result, expr) : position;
        if (position < 0 || (position == 0 && !sql_bind(&block, expr))) {
            return false;
        }
        columns[i] = position > 0 ? result->outputs[position - 1].frame : sql_column_of(&block, &block.rel, expr);
        if (columns[i] == NULL) {
            return false;
        }
    }
    if (columns == NULL || !sort_and_cut(q, &block.rel, select, select->order, columns, ordered, result->number)) {
        return false;
    }
    result->rel = block.rel;
    return true;
}

/* INTERSECT, EXCEPT: rows of both sides in groups, nulls equal to nulls, which are on both sides, or on the left alone.
 */
static bool
compare_sides(struct sql_statement *q, struct sql_rel *both, const char *mark, const char *const *names, size_t count,
              const struct sql_select *select)
{
    const char *sides[2] = {sql_fresh(q, "first"), sql_fresh(q, "last")};
    const char *texts[2] = {sql_printf(q, "min(`%s`)", mark), sql_printf(q, "max(`%s`)", mark)};
    const char *where = select->set == SQL_EXCEPT ? sql_printf(q, "`%s` = 1", sides[1])
                                                  : sql_printf(q, "`%s` = 1 and `%s` = 2", sides[0], sides[1]);

    size_t key_count = count;
    const char **keys = SQL_ARRAY(q, const char *, count + 1);

    if (keys == NULL || q->err != GRANARY_OK) {
        return false;
    }
    memcpy(keys, names, count * sizeof *keys);
    if (select->all) { /* equal rows of a side are told apart by numbers, which those of the other side have, too */
        const char *copy = sql_fresh(q, "copy");

        keys[count] = mark;
        if (copy == NULL ||
            !sql_rel_window(q, both, copy, "row_number()",
                            &(struct sql_window_spec){
                                .partition = keys, .partition_count = count + 1, .position = select->position})) {
            return false;
        }
        keys[key_count++] = copy;
    }
    return sql_rel_group(q, both, keys, key_count, &(struct sql_aggregates){sides, texts, 2}, select->position) &&
           sql_rel_filter(q, both, where, select->position) && sql_rel_select(q, both, names, count, select->position);
}

/* Rows of both sides in one frame; with `mark` a column that tells which side they are of. */
static bool
join_sides(struct sql_statement *q, const struct side sides[2], const char *mark, const char *const *names,
           int position)
{
    struct sql_rel *rel = &sides[0].result->rel;

    for (int i = 0; i < 2; i++) {
        if (!rename_outputs(q, &sides[i], mark, names, position)) {
            return false;
        }
    }
    return sql_rel_concat(q, rel, &sides[1].result->rel, position) && put_untyped(q, rel, &sides[0], mark, names) &&
           put_untyped(q, rel, &sides[1], mark, names);
}

/* The number of the row of the query around, as one more output of a side. */
static bool
add_number(struct sql_statement *q, struct sql_result *result)
{
    struct sql_output *outputs = SQL_ARRAY(q, struct sql_output, result->count + 1);

    if (outputs == NULL) {
        return false;
    }
    memcpy(outputs, result->outputs, result->count * sizeof *outputs);
    outputs[result->count++] = (struct sql_output){"outer", result->number};
    result->outputs = outputs;
    return true;
}

static bool plan(struct sql_statement *q, const struct sql_select *select, const struct sql_around *around,
                 bool ordered, struct sql_result *ret_result);

/* Rows of both sides, as UNION and its kin have them. */
static bool
plan_sides(struct sql_statement *q, const struct sql_select *select, const struct sql_around *around,
           struct sql_result *ret_result)
{
    struct sql_rel *rel = &ret_result->rel;
    struct sql_result right;
    struct side sides[2] = {{select->left, ret_result, "1", NULL}, {select->right, &right, "2", NULL}};
    const char **names;
    const char *mark = NULL;

    if (!plan(q, select->left, around, false, ret_result) || !plan(q, select->right, around, false, &right)) {
        return false;
    }
    if (ret_result->count != right.count) {
        return sql_fail(q, GRANARY_EINVAL, select->position, "one side lists %zu values, the other %zu",
                        ret_result->count, right.count);
    }
    if (around != NULL && (!add_number(q, ret_result) || !add_number(q, &right))) {
        return false;
    }
    names = SQL_ARRAY(q, const char *, right.count);
    for (size_t i = 0; i < right.count && names != NULL; i++) {
        names[i] = sql_fresh(q, ret_result->outputs[i].name);
    }
    if (find_untyped(q, sides) || select->set != SQL_UNION) {
        mark = sql_fresh(q, "side");
    }
    if (q->err != GRANARY_OK || !join_sides(q, sides, mark, names, select->position)) {
        return false;
    }
    if (select->set != SQL_UNION) {
        return compare_sides(q, rel, mark, names, right.count, select);
    }
    return !select->all   ? sql_rel_distinct(q, rel, names, right.count, select->position)
           : mark != NULL ? sql_rel_select(q, rel, names, right.count, select->position)
                          : true;
}

static bool
plan_set(struct sql_statement *q, const struct sql_select *select, const struct sql_around *around, bool ordered,
         struct sql_result *ret_result)
{
    if (!plan_sides(q, select, around, ret_result)) {
        return false;
    }
    ret_result->number = around == NULL ? NULL : ret_result->outputs[--ret_result->count].frame;
    return order_set(q, select, ordered, ret_result);
}

static bool
plan(struct sql_statement *q, const struct sql_select *select, const struct sql_around *around, bool ordered,
     struct sql_result *ret_result)
{
    const struct sql_names names = {select->with, select->with_count, q->names};
    const struct sql_names *before = q->names;
    struct sql_block *block;
    bool ok;

    if (++q->depth > SQL_NESTING) {
        return sql_fail(q, GRANARY_EINVAL, select->position, "queries nest more than %d deep", SQL_NESTING);
    }
    for (size_t i = 0; i < select->with_count; i++) {
        select->with[i].around = around;
    }
    q->names = &names;
    if (select->set != SQL_NO_SET) {
        ok = plan_set(q, select, around, ordered, ret_result);
    } else {
        block = SQL_NEW(q, struct sql_block);
        if (block != NULL) {
            *block = (struct sql_block){
                .q = q, .select = select, .outer = around == NULL ? NULL : around->block, .around = around};
        }
        ok = block != NULL && sql_block_begin(block) && sql_block_finish(block, ordered, ret_result);
    }
    q->names = before;
    q->depth--;
    return ok;
}

bool
sql_plan(struct sql_statement *q, const struct sql_select *select, bool ordered, struct sql_result *ret_result)
{
    return plan(q, select, NULL, ordered, ret_result);
}

bool
sql_plan_for(struct sql_statement *q, const struct sql_select *select, const struct sql_around *around,
             struct sql_result *ret_result)
{
    return plan(q, select, around, false, ret_result);
}
