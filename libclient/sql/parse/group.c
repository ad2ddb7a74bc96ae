/* GROUP BY: its expressions, and with ROLLUP, CUBE or GROUPING SETS by which of them each set of groups is made. */
#include <string.h>

#include "sql/parse/private.h"

#define EXPRS_MAX 32
#define SETS_MAX  64
/* Bits of a number. */
#define GROUPING_MAX 31

/* Sets of GROUP BY's expressions, by their places: bit i is the i-th. */
struct sets {
    uint32_t of[SETS_MAX];
    size_t count;
};

struct group {
    struct parse *p;
    struct sql_select *select;
};

static bool parse_sets(struct group *g, const PgQuery__Node *from, struct sets *ret_sets);

static bool
add_set(struct group *g, struct sets *sets, uint32_t set)
{
    if (sets->count == SETS_MAX) {
        return sql_fail(g->p->q, GRANARY_EUNSUPPORTED, g->select->position, "GROUP BY of more than %d sets", SETS_MAX);
    }
    sets->of[sets->count++] = set;
    return true;
}

/* An expression of GROUP BY. */
static struct sql_expr *
parse_group_key(struct parse *p, const PgQuery__Node *from)
{
    struct sql_expr *expr = parse_expr(p, from);

    if (expr != NULL && expr->kind == SQL_LITERAL && !parse_unmarked(p, expr)) {
        return NULL;
    }
    return parse_key(p, expr);
}

/* An expression as the next one. */
static bool
add_expr(struct group *g, const PgQuery__Node *from, uint32_t *set)
{
    struct sql_expr *expr = parse_group_key(g->p, from);

    if (expr == NULL) {
        return false;
    }
    if (g->select->group_count == EXPRS_MAX) {
        return sql_fail(g->p->q, GRANARY_EUNSUPPORTED, expr->position, "GROUP BY of more than %d expressions",
                        EXPRS_MAX);
    }
    *set |= UINT32_C(1) << g->select->group_count;
    g->select->group[g->select->group_count++] = expr;
    return true;
}

/* The same, or several in brackets, which may be in others. */
static bool
add_exprs(struct group *g, const PgQuery__Node *from, uint32_t *set)
{
    bool several = from->node_case == PG_QUERY__NODE__NODE_ROW_EXPR;
    bool ok = several || add_expr(g, from, set);

    for (size_t i = 0; several && ok && i < from->row_expr->n_args; i++) {
        ok = add_exprs(g, TAKE(g->p, from->row_expr, args)[i], set);
    }
    return ok;
}

/* ROLLUP: all, all but the last, ..., none. CUBE: every choice. */
static bool
add_choices(struct group *g, const PgQuery__GroupingSet *from, struct sets *sets)
{
    bool cube = TAKE(g->p, from, kind) == PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_CUBE;
    size_t count = from->n_content;
    uint32_t parts[EXPRS_MAX] = {0};
    bool ok = true;

    if (count > (cube ? 6 : EXPRS_MAX)) {
        return sql_fail(g->p->q, GRANARY_EUNSUPPORTED, from->location, "%s of so many expressions",
                        cube ? "CUBE" : "ROLLUP");
    }
    for (size_t i = 0; i < count && ok; i++) {
        ok = add_exprs(g, TAKE(g->p, from, content)[i], &parts[i]);
    }
    for (size_t choice = cube ? (size_t)1 << count : count + 1; ok && choice > 0; choice--) {
        uint32_t set = 0;

        for (size_t i = 0; i < count; i++) {
            bool in = cube ? ((choice - 1) >> (count - 1 - i) & 1) != 0 : i < choice - 1;

            set |= in ? parts[i] : 0;
        }
        ok = add_set(g, sets, set);
    }
    return ok;
}

static bool
parse_grouping_set(struct group *g, const PgQuery__GroupingSet *from, struct sets *sets)
{
    switch (TAKE(g->p, from, kind)) {
    case PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_EMPTY:
        return add_set(g, sets, 0);
    case PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_ROLLUP:
    case PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_CUBE:
        return add_choices(g, from, sets);
    default:
        break;
    }
    for (size_t i = 0; i < from->n_content; i++) {
        struct sets inner = {.count = 0};

        if (!parse_sets(g, TAKE(g->p, from, content)[i], &inner)) {
            return false;
        }
        for (size_t k = 0; k < inner.count; k++) {
            if (!add_set(g, sets, inner.of[k])) {
                return false;
            }
        }
    }
    return true;
}

static bool
parse_sets(struct group *g, const PgQuery__Node *from, struct sets *ret_sets)
{
    uint32_t set = 0;

    if (from->node_case == PG_QUERY__NODE__NODE_GROUPING_SET) {
        return parse_grouping_set(g, from->grouping_set, ret_sets);
    }
    return add_exprs(g, from, &set) && add_set(g, ret_sets, set);
}

/* Every set of one with every set of the other. */
static bool
multiply(struct group *g, struct sets *sets, const struct sets *by)
{
    struct sets before = *sets;
    bool ok = true;

    sets->count = 0;
    for (size_t i = 0; i < before.count; i++) {
        for (size_t k = 0; k < by->count && ok; k++) {
            ok = add_set(g, sets, before.of[i] | by->of[k]);
        }
    }
    return ok;
}

bool
parse_group(struct parse *p, const PgQuery__SelectStmt *from, struct sql_select *select)
{
    struct group group = {p, select};
    struct sets sets = {.of = {0}, .count = 1};
    bool several = false;
    bool rows = false; /* (a, b): a, b */

    if (from->n_group_clause == 1 && parse_is_all(p, from->group_clause[0])) {
        (void)TAKE(p, from, group_clause);
        select->group_all = true;
        return true;
    }
    for (size_t i = 0; i < from->n_group_clause; i++) {
        several = several || from->group_clause[i]->node_case == PG_QUERY__NODE__NODE_GROUPING_SET;
        rows = rows || from->group_clause[i]->node_case == PG_QUERY__NODE__NODE_ROW_EXPR;
    }
    if (!several && !rows) {
        select->group_count = from->n_group_clause;
        select->group = SQL_ARRAY(p->q, struct sql_expr *, from->n_group_clause);
        for (size_t i = 0; i < from->n_group_clause && select->group != NULL; i++) {
            select->group[i] = parse_group_key(p, TAKE(p, from, group_clause)[i]);
            if (select->group[i] == NULL) {
                return false;
            }
        }
        return select->group != NULL;
    }
    select->group = SQL_ARRAY(p->q, struct sql_expr *, EXPRS_MAX);
    for (size_t i = 0; i < from->n_group_clause && select->group != NULL; i++) {
        struct sets more = {.count = 0};

        if (!parse_sets(&group, TAKE(p, from, group_clause)[i], &more) || !multiply(&group, &sets, &more)) {
            return false;
        }
    }
    if (!several) {
        return select->group != NULL;
    }
    select->set_count = sets.count;
    select->sets = SQL_ARRAY(p->q, uint32_t, sets.count);
    if (select->group == NULL || select->sets == NULL) {
        return false;
    }
    memcpy(select->sets, sets.of, sets.count * sizeof *sets.of);
    return true;
}

struct sql_expr *
sql_parse_grouping(struct parse *p, PgQuery__Node *const *args, size_t count, int position)
{
    struct sql_expr *expr = sql_parse_new_expr(p, SQL_AGGREGATE, position, SQL_GROUPING, 0);

    if (expr == NULL) {
        return NULL;
    }
    if (count < 1 || count > GROUPING_MAX) {
        (void)sql_fail(p->q, GRANARY_EINVAL, position, "GROUPING takes 1 to %d expressions of GROUP BY", GROUPING_MAX);
        return NULL;
    }
    expr->written = SQL_GROUPING;
    expr->count = count;
    expr->args = parse_exprs(p, args, count);
    return expr->args == NULL ? NULL : expr;
}
