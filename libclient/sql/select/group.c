/*
 * GROUP BY and aggregates. SQL's sum of no value is null, groupby's is 0 (and so with products and bools): the values
 * are counted, too. Which values there are to aggregate is computed before; what is made of aggregates, after.
 */
#include <stdlib.h>
#include <string.h>

#include "sql/block.h"
#include "sql/told.h"

/* Whether an aggregate of groups (of a window: is_window) is in an expression. */
static bool
has_call(const struct sql_expr *expr, bool is_window)
{
    bool has = expr->kind == SQL_AGGREGATE && (expr->over != NULL) == is_window;

    for (size_t i = 0; i < expr->count && !has; i++) {
        has = has_call(expr->args[i], is_window);
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->partition_count && !has; i++) {
        has = has_call(expr->over->partition[i], is_window);
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->order_count && !has; i++) {
        has = has_call(expr->over->order[i].expr, is_window);
    }
    for (size_t i = 0; expr->over != NULL && i < 2 && !has; i++) {
        has = expr->over->bounds[i].distance != NULL && has_call(expr->over->bounds[i].distance, is_window);
    }
    return has;
}

bool
sql_has_aggregate(const struct sql_expr *expr)
{
    return has_call(expr, false);
}

bool
sql_has_window(const struct sql_expr *expr)
{
    return has_call(expr, true);
}

bool
sql_groups(const struct sql_select *select)
{
    return select->group_count > 0 || select->set_count > 0 || select->group_all || select->having != NULL;
}

struct grouping {
    struct sql_block *block;
    const char **names; /* of the values that are aggregated, and their expressions */
    const char **texts;
    size_t value_count;
    struct sql_aggregates aggregates;
    size_t room;                       /* of each of them */
    const struct sql_expr **groupings; /* calls of GROUPING, and the columns that they become */
    const char **grouping_names;
    size_t grouping_count;
    const struct sql_expr *const *key_exprs; /* of GROUP BY, bound, by their places */
};

/* A new column with the value of an expression, one for equal ones. */
static const char *
value_of(struct grouping *g, const char *text)
{
    for (size_t i = 0; i < g->value_count; i++) {
        if (strcmp(g->texts[i], text) == 0) {
            return g->names[i];
        }
    }
    if (text[0] == '`' && strchr(text + 1, '`') == text + strlen(text) - 1) { /* it is a column */
        return sql_printf(g->block->q, "%.*s", (int)strlen(text) - 2, text + 1);
    }
    g->texts[g->value_count] = text;
    g->names[g->value_count] = sql_fresh(g->block->q, "value");
    return g->names[g->value_count++];
}

/* The column of an aggregate of a value (NULL: of rows), perhaps with a second argument; one for equal ones. */
static const char *
aggregate_of(struct grouping *g, const char *function, const char *value, const char *second)
{
    struct sql_statement *q = g->block->q;
    const char *text = value == NULL ? "size"
                                     : sql_printf(q, "%s(%s%s%s)", function, sql_quoted(q, value),
                                                  second == NULL ? "" : ", ", second == NULL ? "" : second);

    for (size_t i = 0; i < g->aggregates.count && text != NULL; i++) {
        if (strcmp(g->aggregates.texts[i], text) == 0) {
            return g->aggregates.names[i];
        }
    }
    if (text == NULL || g->aggregates.count == g->room) {
        return NULL;
    }
    g->aggregates.texts[g->aggregates.count] = text;
    g->aggregates.names[g->aggregates.count] = sql_fresh(q, value == NULL ? "count" : function);
    return g->aggregates.names[g->aggregates.count++];
}

const char *
sql_fraction(struct sql_block *block, const struct sql_expr *expr)
{
    const char *text = expr->text;

    if (expr->kind == SQL_LITERAL && text[strspn(text, "0123456789.eE+-")] == '\0' && strtod(text, NULL) >= 0 &&
        strtod(text, NULL) <= 1) {
        return text;
    }
    (void)sql_fail(block->q, GRANARY_EINVAL, expr->position, "the fraction must be a number from 0 to 1");
    return NULL;
}

/* The second argument of those that have one: a number, or another value. false: the statement has failed. */
static bool
second_of(struct grouping *g, const struct sql_expr *expr, const char **function, const char **ret_second)
{
    struct sql_statement *q = g->block->q;
    const char *comma = strchr(*function, ',');
    const char *text;

    *ret_second = comma == NULL ? NULL : comma + 2;
    *function = comma == NULL ? *function : sql_printf(q, "%.*s", (int)(comma - *function), *function);
    if (expr->count < 2) {
        return *function != NULL;
    }
    if (strcmp(*function, "quantile") == 0) {
        *ret_second = sql_fraction(g->block, expr->args[1]);
        return *ret_second != NULL;
    }
    text = sql_text(g->block, expr->args[1]);
    text = text == NULL ? NULL : value_of(g, text);
    *ret_second = text == NULL ? NULL : sql_quoted(q, text);
    return *ret_second != NULL;
}

/* What is aggregated: null where FILTER is not true. */
static const char *
argument_of(struct grouping *g, const struct sql_expr *expr)
{
    struct sql_statement *q = g->block->q;
    const char *value = expr->count == 0 ? "1" : sql_text(g->block, expr->args[0]);
    const char *condition;

    if (value == NULL || (expr->condition == NULL && expr->count == 0)) {
        return value;
    }
    if (expr->condition != NULL) {
        condition = sql_text(g->block, expr->condition);
        value = condition == NULL ? NULL : sql_printf(q, "case when %s then %s else null end", condition, value);
    }
    return value == NULL ? NULL : value_of(g, value);
}

bool
sql_takes_two(const char *function)
{
    enum { NOTHING = false, DDOF = false, FRACTION = true, ARGUMENT = true, ROWS = true };
    static const struct {
        const char *name;
        bool two;
    } rows[] = {
#define AGGREGATE(id, text, second, ...) {text, second},
#include "graph/operators/aggregates.def"
    };
    size_t at = 0;

    while (at < sizeof rows / sizeof rows[0] && strcmp(rows[at].name, function) != 0) {
        at++;
    }
    return at < sizeof rows / sizeof rows[0] && rows[at].two;
}

/* Whose columns an expression names: of the block (1), and of those around (2). */
static unsigned
whose(const struct sql_block *block, const struct sql_expr *expr)
{
    bool outer =
        expr->kind == SQL_COLUMN && (expr->column->block != block || sql_is_borrowed(block, expr->column->frame));
    unsigned of = expr->kind != SQL_COLUMN ? 0 : outer ? 2 : 1;

    for (size_t i = 0; i < expr->count; i++) {
        of |= whose(block, expr->args[i]);
    }
    return of;
}

/* The standard has it that an aggregate is of the query whose columns it names, in FILTER, too. */
static bool
is_of_outer(const struct sql_block *block, const struct sql_expr *expr)
{
    unsigned of = expr->condition == NULL ? 0 : whose(block, expr->condition);

    for (size_t i = 0; i < expr->count; i++) {
        of |= whose(block, expr->args[i]);
    }
    return of == 2 && !sql_has(expr, SQL_SUBQUERY);
}

static bool
add_aggregate(struct grouping *g, const struct sql_expr *expr)
{
    struct sql_block *block = g->block;
    struct sql_statement *q = block->q;
    const char *function = expr->text;
    bool of_rows = expr->count == 0 && expr->condition == NULL;
    const char *argument;
    const char *name;
    const char *text;
    const char *second = NULL;
    bool two = sql_takes_two(function);

    if (expr->count != (two ? 2 : 1) && !(expr->count == 0 && strcmp(function, "count") == 0)) {
        return sql_fail(q, GRANARY_EINVAL, expr->position, "this aggregate takes %s",
                        two ? "two arguments" : "one argument");
    }
    for (size_t i = 0; i < expr->count; i++) {
        if (sql_has_aggregate(expr->args[i])) {
            return sql_fail(q, GRANARY_EINVAL, expr->position, "an aggregate of an aggregate: use a subquery");
        }
    }
    if (expr->distinct && strcmp(function, "count") == 0) {
        function = "nunique";
    } else if (expr->distinct && strcmp(function, "min") != 0 && strcmp(function, "max") != 0) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, expr->position,
                        "DISTINCT in '%s' is not supported: aggregate a subquery with SELECT DISTINCT", expr->written);
    }
    if (is_of_outer(block, expr)) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, expr->position,
                        "'%s' of columns of the query around is an aggregate of that query's rows, which cannot stand "
                        "in a subquery: compute it in a query of FROM",
                        expr->written);
    }
    for (size_t i = 0; i < expr->count; i++) { /* of rows, before there are groups */
        if (!sql_join_subqueries(block, expr->args[i])) {
            return false;
        }
    }
    if (expr->condition != NULL && !sql_join_subqueries(block, expr->condition)) {
        return false;
    }
    argument = of_rows ? NULL : argument_of(g, expr);
    if ((!of_rows && argument == NULL) || !second_of(g, expr, &function, &second)) {
        return false;
    }
    name = aggregate_of(g, function, argument, second);
    sql_tell(q, name, expr->written, expr->position);
    text = name == NULL ? NULL : sql_quoted(q, name);
    if (text != NULL && (strcmp(function, "sum") == 0 || strcmp(function, "prod") == 0 ||
                         strcmp(function, "any") == 0 || strcmp(function, "all") == 0)) {
        const char *counted = aggregate_of(g, "count", argument, NULL);

        text = counted == NULL ? NULL
                               : sql_printf(q, "case when %s = 0 then null else %s end", sql_quoted(q, counted), text);
    }
    if (text != NULL && block->sparse &&
        (of_rows || strcmp(function, "count") == 0 || strcmp(function, "nunique") == 0)) { /* 0 of no rows */
        text = sql_printf(q, "coalesce(%s, 0)", text);
    }
    return sql_name_expr(block, expr, text);
}

/* GROUPING: a column beside the groups of each set. */
static bool
add_grouping(struct grouping *g, const struct sql_expr *expr)
{
    struct sql_statement *q = g->block->q;
    const char *name = sql_fresh(q, SQL_GROUPING);
    const char *text = name == NULL ? NULL : sql_quoted(q, name);

    g->groupings[g->grouping_count] = expr;
    g->grouping_names[g->grouping_count++] = name;
    if (text != NULL && g->block->sparse) { /* the set of all rows leaves all keys out, though it is of no rows */
        text = sql_printf(q, "coalesce(%s, %lld)", text, (1LL << expr->count) - 1);
    }
    return text != NULL && sql_name_expr(g->block, expr, text);
}

/* Every aggregate in an expression. */
static bool
add_aggregates(struct grouping *g, const struct sql_expr *expr)
{
    if (expr->kind == SQL_AGGREGATE && expr->over == NULL) {
        for (size_t i = 0; i < g->block->named_count; i++) {
            if (sql_equal(g->block->named[i].expr, expr)) {
                return true;
            }
        }
        if (strcmp(expr->text, SQL_GROUPING) == 0) {
            return add_grouping(g, expr);
        }
        return add_aggregate(g, expr);
    }
    for (size_t i = 0; i < expr->count; i++) {
        if (!add_aggregates(g, expr->args[i])) {
            return false;
        }
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->partition_count; i++) {
        if (!add_aggregates(g, expr->over->partition[i])) {
            return false;
        }
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->order_count; i++) {
        if (!add_aggregates(g, expr->over->order[i].expr)) {
            return false;
        }
    }
    for (size_t i = 0; expr->over != NULL && i < 2; i++) {
        if (expr->over->bounds[i].distance != NULL && !add_aggregates(g, expr->over->bounds[i].distance)) {
            return false;
        }
    }
    return true;
}

static size_t
count_aggregates(const struct sql_expr *expr)
{
    size_t count = expr->kind == SQL_AGGREGATE;

    for (size_t i = 0; i < expr->count; i++) {
        count += count_aggregates(expr->args[i]);
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->partition_count; i++) {
        count += count_aggregates(expr->over->partition[i]);
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->order_count; i++) {
        count += count_aggregates(expr->over->order[i].expr);
    }
    for (size_t i = 0; expr->over != NULL && i < 2; i++) {
        count += expr->over->bounds[i].distance != NULL ? count_aggregates(expr->over->bounds[i].distance) : 0;
    }
    return count;
}

/* Whether a key is one of a set's. */
static bool
is_in_set(const struct sql_block *block, uint32_t set, const char *key)
{
    for (size_t i = 0; i < block->select->group_count; i++) {
        if ((set >> i & 1) != 0 && strcmp(block->set_keys[i], key) == 0) {
            return true;
        }
    }
    return false;
}

/* Which of GROUPING's keys a set leaves out, as bits; the last one is the lowest. -1: one is no key. */
static int64_t
left_out(const struct grouping *g, const struct sql_expr *expr, uint32_t set)
{
    const struct sql_select *select = g->block->select;
    int64_t bits = 0;

    for (size_t a = 0; a < expr->count; a++) {
        size_t key = 0;
        bool in_set = select->set_count == 0;

        while (key < select->group_count && !sql_equal(g->key_exprs[key], expr->args[a])) {
            key++;
        }
        if (key == select->group_count) {
            (void)sql_fail(g->block->q, GRANARY_EINVAL, expr->args[a]->position,
                           "GROUPING takes expressions of GROUP BY, and this is none");
            return -1;
        }
        for (size_t k = key; k < select->group_count && !in_set; k++) { /* named again, it is the same key */
            in_set = (set >> k & 1) != 0 && sql_equal(g->key_exprs[k], expr->args[a]);
        }
        bits = 2 * bits + !in_set;
    }
    return bits;
}

/* The columns of GROUPING, beside the groups of a set. */
static bool
assign_groupings(struct grouping *g, struct sql_rel *rel, uint32_t set, int position)
{
    struct sql_statement *q = g->block->q;
    const char **texts = SQL_ARRAY(q, const char *, g->grouping_count);

    for (size_t i = 0; i < g->grouping_count && q->err == GRANARY_OK; i++) {
        texts[i] = sql_printf(q, "%lld", (long long)left_out(g, g->groupings[i], set));
    }
    return q->err == GRANARY_OK && sql_rel_assign(q, rel, g->grouping_names, texts, g->grouping_count, position);
}

/* ROLLUP and its kin: the groups of each set, one below the other; keys that a set leaves out are null. */
static bool
group_by_sets(struct grouping *g, const char *const *keys, size_t key_count, int position)
{
    struct sql_block *block = g->block;
    struct sql_statement *q = block->q;
    const struct sql_rel all = block->rel;
    size_t room = g->aggregates.count + key_count;
    const char **own = SQL_ARRAY(q, const char *, key_count + 1);
    struct sql_aggregates with = {SQL_ARRAY(q, const char *, room), SQL_ARRAY(q, const char *, room), 0};

    if (block->set_keys == NULL) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, position,
                        "ROLLUP, CUBE or GROUPING SETS in a subquery that names outer columns is not supported");
    }
    for (size_t s = 0; s < block->select->set_count && q->err == GRANARY_OK; s++) {
        struct sql_rel rel = all;
        size_t count = 0;

        with.count = 0;
        for (size_t a = 0; a < g->aggregates.count; a++) {
            with.names[with.count] = g->aggregates.names[a];
            with.texts[with.count++] = g->aggregates.texts[a];
        }
        for (size_t k = 0; k < key_count; k++) {
            if (is_in_set(block, block->select->sets[s], keys[k]) || sql_is_borrowed(block, keys[k])) {
                own[count++] = keys[k];
            } else { /* null, of the key's dtype */
                with.names[with.count] = keys[k];
                with.texts[with.count++] = sql_no_value(q, keys[k]);
            }
        }
        if (q->err != GRANARY_OK || !sql_rel_group(q, &rel, own, count, &with, position) ||
            !assign_groupings(g, &rel, block->select->sets[s], position) ||
            (s > 0 && !sql_rel_concat(q, &block->rel, &rel, position))) {
            return false;
        }
        block->rel = s == 0 ? rel : block->rel;
    }
    return q->err == GRANARY_OK;
}

bool
sql_group(struct sql_block *block, const char *const *keys, size_t key_count, struct sql_expr *const *exprs,
          size_t count, int position)
{
    struct sql_statement *q = block->q;
    struct grouping g = {.block = block};

    for (size_t i = 0; i < count; i++) {
        g.room += exprs[i] == NULL ? 0 : 2 * count_aggregates(exprs[i]); /* sum is counted, too; corr has two values */
    }
    g.room++;
    g.names = SQL_ARRAY(q, const char *, g.room);
    g.texts = SQL_ARRAY(q, const char *, g.room);
    g.aggregates.names = SQL_ARRAY(q, const char *, g.room);
    g.aggregates.texts = SQL_ARRAY(q, const char *, g.room);
    g.groupings = SQL_ARRAY(q, const struct sql_expr *, g.room);
    g.grouping_names = SQL_ARRAY(q, const char *, g.room);
    g.key_exprs = block->key_exprs;
    if (q->err != GRANARY_OK) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (exprs[i] != NULL && !add_aggregates(&g, exprs[i])) {
            return false;
        }
    }
    if (g.aggregates.count == 0 && aggregate_of(&g, "size", NULL, NULL) == NULL) { /* groups alone, or HAVING alone */
        return false;
    }
    if (!sql_rel_assign(q, &block->rel, g.names, g.texts, g.value_count, position)) {
        return false;
    }
    if (block->select->set_count > 0 && !(block->around != NULL && block->select->group_count == 0)) {
        return group_by_sets(&g, keys, key_count, position);
    }
    return sql_rel_group(q, &block->rel, keys, key_count, &g.aggregates, position) &&
           assign_groupings(&g, &block->rel, 0, position);
}
