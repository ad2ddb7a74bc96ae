/* Orders of joins: dynamic programming over sets of tables (Selinger et al., 1979), greedy beyond nine tables. */
#include "sql/select/order.h"

#include <math.h>
#include <string.h>

/* What a row costs, beside one that is looked up in a small table. */
#define COST_LOOKUP_LARGE 2.0 /* in a table that no cache holds */
#define COST_BUILD        3.0
#define COST_BUILD_JOINED 5.0 /* of a join's result, which is written for it */
#define COST_RESULT       1.0
#define LARGE_ROWS        50000.0
/* A join of all rows with all rows comes after any other. */
#define COST_CROSS 1e6

/* Tables that are joined: how many rows that gives, and at which cost. */
struct joined {
    double rows;
    double cost;
    uint64_t left; /* the side that looks up; 0: a single table, or not joined */
    bool apart;    /* by all rows with all rows */
};

int
sql_order_crosses(const struct sql_order_link *link, uint64_t left, uint64_t right)
{
    if (link->items != 0) {
        return (link->items & left) != 0 && (link->items & right) != 0;
    }
    if ((link->sides[0] & ~left) == 0 && (link->sides[1] & ~right) == 0) {
        return 1;
    }
    return (link->sides[1] & ~left) == 0 && (link->sides[0] & ~right) == 0 ? -1 : 0;
}

static double
largest_base(const struct sql_order_problem *p, uint64_t items)
{
    double most = 1;

    for (; items != 0; items &= items - 1) {
        most = fmax(most, p->tables[__builtin_ctzll(items)].base);
    }
    return most;
}

/* Rows of two sides joined. Keys of several columns have no more values than the tables they are of have rows. */
static double
joined_rows(const struct sql_order_problem *p, uint64_t left, double left_rows, uint64_t right, double right_rows,
            bool *ret_linked)
{
    uint64_t keyed = 0;
    double distinct = 1;
    double rows;

    for (size_t i = 0; i < p->link_count; i++) {
        const struct sql_order_link *link = &p->links[i];

        if (sql_order_crosses(link, left, right) != 0) {
            keyed |= link->items | link->sides[0] | link->sides[1];
            distinct *= fmax(link->distinct, 1);
        }
    }
    *ret_linked = keyed != 0;
    if (keyed != 0) {
        distinct = fmin(distinct, fmin(largest_base(p, keyed & left), largest_base(p, keyed & right)));
    }
    rows = left_rows * right_rows / distinct;
    for (size_t i = 0; i < p->filter_count; i++) {
        uint64_t items = p->filters[i].items;

        if ((items & ~(left | right)) == 0 && (items & ~left) != 0 && (items & ~right) != 0) {
            rows *= p->filters[i].part;
        }
    }
    return fmax(rows, 1);
}

static double
join_cost(const struct joined *probing, const struct joined *built, double rows, bool linked)
{
    double lookup = built->rows > LARGE_ROWS ? COST_LOOKUP_LARGE : 1;
    double build = built->left != 0 ? COST_BUILD_JOINED : COST_BUILD;

    return probing->cost + built->cost + probing->rows * lookup + built->rows * build + rows * COST_RESULT +
           (linked ? 0 : (rows + 1) * COST_CROSS);
}

/* Make of two sides a better way to have them joined than *best, if it is one (best->cost < 0: there is none yet). */
static void
offer(const struct sql_order_problem *p, uint64_t left, const struct joined *a, uint64_t right, const struct joined *b,
      struct joined *best)
{
    bool linked;
    double rows = joined_rows(p, left, a->rows, right, b->rows, &linked);
    bool apart = !linked || a->apart || b->apart;
    double cost;

    if (best->cost >= 0 && apart != best->apart) {
        if (apart) {
            return;
        }
        best->cost = -1;
    }
    rows = best->cost < 0 ? rows : fmin(rows, best->rows); /* the same however they are joined */
    cost = join_cost(a, b, rows, linked);
    if (best->cost < 0 || cost < best->cost) {
        *best = (struct joined){.cost = cost, .left = left, .apart = apart};
    }
    cost = join_cost(b, a, rows, linked);
    if (cost < best->cost) {
        *best = (struct joined){.cost = cost, .left = right, .apart = apart};
    }
    best->rows = rows;
}

/* ---- few tables: every order ---- */

/* The joins that give `all`, from single tables on. */
static size_t
list_joins(const struct joined *best, uint64_t all, struct sql_order_join *joins)
{
    uint64_t left = best[all].left;
    size_t count;

    if (left == 0) {
        return 0;
    }
    count = list_joins(best, left, joins); /* as deep as there are tables */
    count += list_joins(best, all & ~left, joins + count);
    joins[count] = (struct sql_order_join){left, all & ~left, best[all].rows};
    return count + 1;
}

static bool
order_exactly(struct sql_statement *q, const struct sql_order_problem *p, struct sql_order_join *joins)
{
    uint64_t all = ((uint64_t)1 << p->table_count) - 1;
    struct joined *best = SQL_ARRAY(q, struct joined, all + 1);

    if (best == NULL) {
        return false;
    }
    for (uint64_t set = 1; set <= all; set++) {
        uint64_t lowest = set & -set;

        if (set == lowest) {
            best[set].rows = fmax(p->tables[__builtin_ctzll(set)].rows, 1);
            continue;
        }
        best[set].cost = -1;
        for (uint64_t left = (set - 1) & set; left != 0; left = (left - 1) & set) {
            if ((left & lowest) != 0) { /* each two sides once */
                offer(p, left, &best[left], set & ~left, &best[set & ~left], &best[set]);
            }
        }
    }
    (void)list_joins(best, all, joins);
    return true;
}

/* ---- many: the cheapest next ---- */

static void
order_greedily(const struct sql_order_problem *p, struct sql_order_join *joins)
{
    struct joined sides[64];
    uint64_t sets[64];
    size_t count = p->table_count;

    for (size_t i = 0; i < count; i++) {
        sides[i] = (struct joined){.rows = fmax(p->tables[i].rows, 1)};
        sets[i] = (uint64_t)1 << i;
    }
    for (size_t join = 0; count > 1; join++) {
        struct joined best = {.cost = -1};
        double best_cost = 0;
        size_t a = 0;
        size_t b = 1;

        for (size_t i = 0; i < count; i++) {
            for (size_t k = i + 1; k < count; k++) {
                struct joined way = {.cost = -1};
                double cost;

                offer(p, sets[i], &sides[i], sets[k], &sides[k], &way);
                cost = way.cost - sides[i].cost - sides[k].cost; /* what they cost is spent */
                if (best.cost < 0 || cost < best_cost) {
                    best = way;
                    best_cost = cost;
                    a = i;
                    b = k;
                }
            }
        }
        joins[join] = (struct sql_order_join){best.left, (sets[a] | sets[b]) & ~best.left, best.rows};
        sets[a] |= sets[b];
        sides[a] = best;
        count--;
        sets[b] = sets[count];
        sides[b] = sides[count];
    }
}

const struct sql_order_join *
sql_order_joins(struct sql_statement *q, const struct sql_order_problem *problem)
{
    struct sql_order_join *joins = SQL_ARRAY(q, struct sql_order_join, problem->table_count);

    if (joins != NULL && problem->table_count > SQL_ORDER_EXACT) {
        order_greedily(problem, joins);
    } else if (joins != NULL && !order_exactly(q, problem, joins)) {
        return NULL;
    }
    return joins;
}
