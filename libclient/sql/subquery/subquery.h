/* Within the room: what the files about subqueries share. */
#ifndef SQL_SUBQUERY_H
#define SQL_SUBQUERY_H

#include "sql/block.h"

/* A side that has so many times the rows of the other one is reduced first to what that will look up in it. */
#define SUB_REDUCE_FACTOR 4

/* Of a subquery: equalities with the outer query as columns of both, and the other correlated conditions. */
struct correlation {
    const char **outer; /* columns of the outer relation */
    const char **inner;
    size_t count;
    const char *rest; /* NULL: there is no other */
    int rest_position;
};

/* ---- correlated.c ---- */

/* Leave of *rel the rows that have an equal one in `by`. */
bool sub_reduce(struct sql_statement *q, struct sql_rel *rel, const struct sql_rel *by, const char *const *keys,
                const char *const *by_keys, size_t count, int position);
bool sub_correlate(struct sql_block *block, struct sql_rel *rel, struct sql_block *sub, size_t extra,
                   struct correlation *ret_correlation);
/* reduces: it is a value for each row of block->rel. */
struct sql_block *sub_begin(struct sql_block *block, const struct sql_select *select, bool reduces);
/* Whether it has aggregates of all rows together: one row whatever there is. */
bool sub_is_one_group(const struct sql_select *select);
/* Whether it has one row whatever there is: so has a SELECT without FROM or VALUES of one row, too. */
bool sub_is_one_row(const struct sql_select *select);
/* Whether it is one SELECT by itself. */
bool sub_is_plain(const struct sql_select *select);
/* Whether its rows are those that its conditions leave, so that conditions on outer columns may be asked afterwards. */
bool sub_is_simple(const struct sql_select *select);

/* ---- exists.c ---- */

/* The operator of IN, ANY or ALL, as expressions have it; SQL's order has nan as the largest. */
const char *sub_operator(const struct sql_expr *expr);
bool sub_is_in(const struct sql_expr *expr);
/* What the subquery of an expression gives, as a relation, whatever its form; rel: the outer rows, which may get a
 * number, and are joined by it then. *ret_result may lack outputs of EXISTS. */
bool sub_plan_query(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr,
                    const struct sql_reached *reached, struct correlation *c, struct sql_result *ret_result);
/* The subquery of IN or EXISTS as a relation, its outputs, and the columns of both that must be equal. */
bool sub_plan_matches(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr, bool takes_rest,
                      struct sql_rel *ret_matches, struct correlation *ret_correlation, struct sql_result *ret_list);
/* What IN compares becomes keys, too. */
bool sub_add_compared(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr,
                      struct sql_rel *matches, const struct sql_result *list, struct correlation *c);
/* Without keys every row meets every row: both sides get a column that is equal. */
bool sub_add_any_key(struct sql_statement *q, struct sql_rel *rel, struct sql_rel *matches, int position,
                     struct correlation *c);
/*
 * What is compared, of columns outer[from..] and inner[from..], as an expression: all equal; or in the order of rows,
 * (a, b) < (c, d): a < c or (a = c and b < d).
 */
const char *
sub_comparison(struct sql_statement *q, const struct correlation *c, size_t from, size_t count, const char *operator);
/* EXISTS of a query that names nothing of the outer one: whether it has rows, beside every row. */
bool sub_join_existence(struct sql_block *block, struct sql_rel *rel, struct sql_rel *matches,
                        const struct sql_expr *expr, const char **ret_text);
/* Rows of *rel for which IN or EXISTS is true, or with `negated` not. */
bool sub_filter_matches(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr, bool negated);

/* ---- marks.c ---- */

bool sub_left_join(struct sql_block *block, const struct sql_rel *right, const struct correlation *c, int position);
/*
 * IN or EXISTS as a value: true beside the rows that have a match. IN is null, not false, of a null, and where a null
 * is among the values; of no values at all it is false.
 */
bool sub_mark_matches(struct sql_block *block, struct sql_expr *expr);
/* Whether a null without a type is compared with values, or a value with such nulls. */
bool sub_compares_null(const struct sql_expr *expr);
/* Then it is null where there are values, and else false. */
bool sub_mark_null(struct sql_block *block, struct sql_expr *expr);

#endif
