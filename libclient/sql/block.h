/*
 * Within the room: one SELECT being translated. Its FROM and WHERE become one relation (from.c), with subqueries joined
 * to it (subquery.c); grouping (group.c) and the rest (select.c) follow.
 */
#ifndef SQL_BLOCK_H
#define SQL_BLOCK_H

#include "base/text/buf.h"
#include "sql/rel.h"

#define SQL_ITEMS_MAX 64

struct sql_block;

/* A column that names lead to. */
struct sql_column {
    const char *table; /* as it is called; NULL: nothing */
    const char *name;
    const char *also;  /* another name, where no column has that one; or NULL */
    bool also_alone;   /* ... without its table's name, too */
    const char *frame; /* the frame's column */
    struct sql_block *block;
    int item;    /* of the block's FROM: bit of masks */
    bool hidden; /* of the right side of USING: only with its table's name */
    bool joined; /* of an outer join's right side, while others become one item */
    bool lifted; /* an aggregate of groups, for subqueries */
    bool empty;  /* NULL as written, in all rows */
};

/* What stands for an expression from now on: an aggregate, a grouping expression, a subquery. */
struct sql_named {
    const struct sql_expr *expr;
    const char *text;
};

/*
 * The rows of the query around for which a subquery is computed, all at once: each has a number. The subquery joins
 * them to its tables, and carries the number through all that it does.
 */
struct sql_around {
    struct sql_block *block; /* whose columns may be named */
    struct sql_rel rel;      /* its rows */
    const char *number;      /* the frame's column */
};

/* A column of the query around, in a block that has joined its rows. */
struct sql_borrowed {
    const struct sql_column *of;
    const char *text; /* as an expression of the query around */
    struct sql_column *here;
};

struct sql_block {
    struct sql_statement *q;
    const struct sql_select *select;
    struct sql_block *outer;         /* the query around, whose columns may be named; or NULL */
    const struct sql_around *around; /* its rows, which are joined; NULL: its columns stand in conditions alone */
    struct sql_column *number;       /* of those rows, in the block's relation */
    granary_node borrowing;          /* the node that has the borrowed columns */
    struct sql_borrowed *borrowed;
    size_t borrowed_count;
    size_t borrowed_room;
    struct sql_column **columns;
    size_t column_count;
    size_t column_room;
    struct sql_rel items[SQL_ITEMS_MAX];
    size_t item_count;
    struct sql_expr *where;      /* while tables are added: what rows of each must pass to be in the result; or NULL */
    struct sql_expr **conjuncts; /* of ON and WHERE */
    size_t conjunct_count;
    size_t conjunct_room;
    size_t conjunct_floor;        /* while an outer join is added: those before it */
    struct sql_expr **correlated; /* those that name the outer query's columns */
    size_t correlated_count;
    struct sql_rel rel; /* of all of FROM and WHERE, then of what follows */
    struct sql_named *named;
    size_t named_count;
    size_t named_room;
    const char **set_keys; /* of select->sets: the columns that GROUP BY's expressions have become, by their places */
    const struct sql_expr **key_exprs; /* of GROUP BY, bound, by their places */
    bool grouped;                      /* columns are those of groups */
    bool sparse;                       /* a row may have no group, and null where that has aggregates */
};

/* What a query gives. */
struct sql_output {
    const char *name;
    const char *frame;
};
struct sql_result {
    struct sql_rel rel;
    struct sql_output *outputs;
    size_t count;
    const char *number; /* of the rows of the query around, in the frame; NULL: it is about none */
};

/* ---- scope.c ---- */

/* Whether a table that FROM calls so is meant by a name: "db.schema.t" by t, schema.t and db.t, too. table may be NULL. */
bool sql_is_table(const char *table, const char *name);
bool sql_add_column(struct sql_block *block, const char *table, const char *name, const char *frame, int item);
/* Bind the columns an expression names; ENOENT, EINVAL when there is none or more than one. Subqueries are not gone
 * into. */
bool sql_bind(struct sql_block *block, struct sql_expr *expr);
/* Whether it is to_json() of a table in FROM, which then is written out; or that has failed. */
bool sql_bind_whole(struct sql_block *block, struct sql_expr *expr);
/* The column that a name means in a block and those around it, as the block has it; NULL: none. */
const struct sql_column *
sql_reach_column(struct sql_block *block, const char *table, const char *name, bool *ret_ambiguous);
/* The column of this name in the block itself; NULL: none, and nothing has failed. */
const struct sql_column *
sql_find_column(const struct sql_block *block, const char *table, const char *name, bool *ret_ambiguous);
/* Items of the block that an expression's columns are of. */
uint64_t sql_mask(const struct sql_block *block, const struct sql_expr *expr);
/* The same with its subqueries: an item too many where only binding would tell whose column a name is. */
uint64_t sql_reach(struct sql_block *block, const struct sql_expr *expr);
/* Whether an expression has a node of the kind; subqueries are not gone into. */
bool sql_has(const struct sql_expr *expr, enum sql_kind kind);
/* Whether it names a column of another block than this. */
bool sql_is_outer(const struct sql_block *block, const struct sql_expr *expr);
/* An error where it does, outside of WHERE. */
bool sql_check_inner(struct sql_block *block, const struct sql_expr *expr);
bool sql_equal(const struct sql_expr *a, const struct sql_expr *b);

/* ---- around.c ---- */

/* The rows of the query around become an item of the block, which has not begun. */
bool sql_join_around(struct sql_block *block);
/* A column of the query around, as the block has it. NULL: the statement has failed. */
const struct sql_column *sql_borrow(struct sql_block *block, const struct sql_column *of);
/* A column of the block or of one around it, as the block has it. NULL: it has none, or the statement has failed. */
const struct sql_column *sql_carry(struct sql_block *block, const struct sql_column *column);
/* Whether a column of the frame is the number of those rows, or one that was borrowed of them. */
bool sql_is_borrowed(const struct sql_block *block, const char *frame);
/* The block's groups stand beside the rows of the query around, with what was borrowed of these; all: also of rows that
 * have no group. */
bool sql_keep_around(struct sql_block *block, bool all);
/* Whether an expression names borrowed columns outside of aggregates, or may do so in a subquery. */
bool sql_names_borrowed(const struct sql_block *block, const struct sql_expr *expr);
/* The rows of rel get numbers, so that a query can be translated for each of them. NULL: the statement has failed. */
struct sql_around *sql_number_rows(struct sql_block *block, struct sql_rel *rel, int position);
/* Both columns are equal, as a condition of the block. */
bool
sql_add_equal(struct sql_block *block, const struct sql_column *left, const struct sql_column *right, int position);

/* ---- reach.c ---- */

/* What a query names of the queries around it. */
struct sql_reached {
    const struct sql_column **columns; /* as `block` has them */
    size_t count;
    size_t equals; /* conditions that are equalities of its own columns with those of the block */
    size_t others; /* other conditions with such columns */
    bool beyond;   /* it names them outside of conditions of its own WHERE that AND joins, too */
};

/* block: right around the query. false: the statement has failed. */
bool sql_reach_out(struct sql_block *block, const struct sql_select *select, struct sql_reached *ret_reached);

/* What the columns of a query are called, in its output_names: rather too many than too few. false: the statement has
 * failed. */
bool sql_name_outputs(struct sql_statement *q, struct sql_select *select);

/* Aggregates of the block's rows that stand in subqueries of an expression become columns there, and are added to
 * block->select->lifted. */
bool sql_lift_aggregates(struct sql_block *block, const struct sql_expr *expr);

/* ---- text.c ---- */

bool sql_name_expr(struct sql_block *block, const struct sql_expr *expr, const char *text);
/* As expressions are written. NULL: the statement has failed. */
const char *sql_text(struct sql_block *block, const struct sql_expr *expr);
/* Whether the graph's function of that name has a mark when SQL means it: of decimals it leaves fewer digits then. */
bool sql_is_rounding(const char *name, size_t size);
/* The frame's column that an expression of that text is. NULL: none has its value yet, or the statement has failed. */
const char *sql_column_named(struct sql_block *block, const struct sql_expr *expr, const char *text);
/* The frame's column that has the expression's value; it is computed when there is none. */
const char *sql_column_of(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr);

/* ---- from.c ---- */

/* FROM and WHERE of a SELECT: the tables with the conditions on each, and what is correlated; and then joined to
 * block->rel. */
bool sql_block_tables(struct sql_block *block);
bool sql_block_begin(struct sql_block *block);

/* A subquery as the next item, whatever it names. */
bool sql_add_select(struct sql_block *block, const struct sql_from *from);

/* ---- using.c ---- */

/* USING or NATURAL of a join whose sides' columns begin there: its equalities become conjuncts. */
bool sql_join_using(struct sql_block *block, const struct sql_from *from, size_t left_begin, size_t right_begin);

/* ---- about_from.c ---- */

/* (DESCRIBE ...) or (SUMMARIZE ...) as the next item. */
bool sql_add_about(struct sql_block *block, const struct sql_from *from);
/* What the columns of that are called. */
const char *const *sql_about_names(const struct sql_from *from, size_t *ret_count);

/* ---- unnest.c ---- */

/* outer: rows whose lists have no items stay, with nulls. */
bool sql_add_unnest(struct sql_block *block, const struct sql_from *from, bool outer);

/* ---- where.c ---- */

bool sql_add_conjunct(struct sql_block *block, struct sql_expr *expr);
/* The parts that AND joins are added to the block's. */
bool sql_add_conjuncts(struct sql_block *block, struct sql_expr *expr);
/* How much of a table a condition leaves, about. */
double sql_selectivity(const struct sql_expr *expr);
/* Conditions that name the outer query's columns are its business. */
bool sql_take_correlated(struct sql_block *block);
/* What OR says about single tables, and about all its branches. */
bool sql_look_into_ors(struct sql_block *block);
/* Conditions on one table go to it; IN (SELECT ...) too, which is computed once and cheap to ask. */
bool sql_filter_items(struct sql_block *block);
/* Apply to rel, of the tables joined, every condition on them that is left, those with subqueries only when asked for. */
bool sql_apply_ready(struct sql_block *block, struct sql_rel *rel, uint64_t joined, bool with_subqueries);

/* ---- joins.c ---- */

/* Equalities between two relations, as columns of both. */
struct sql_links {
    const char *left[SQL_ITEMS_MAX];
    const char *right[SQL_ITEMS_MAX];
    size_t count;
    int position;
};

/* The condition of an ASOF JOIN: sides[0] becomes the join. */
bool sql_asof_join(struct sql_block *block, struct sql_expr *const *conditions, size_t count, struct sql_rel sides[2],
                   const uint64_t masks[2], const struct sql_from *from);
/* Whether a condition is an equality between one part of the tables and another. */
bool sql_is_link(const struct sql_block *block, const struct sql_expr *expr, uint64_t *ret_left, uint64_t *ret_right);
/* forward: the left side is the equality's first argument */
bool sql_add_link(struct sql_block *block, struct sql_links *links, struct sql_rel *left, struct sql_rel *right,
                  const struct sql_expr *expr, bool forward);
/* All items of the block become block->rel, along the equalities among its conditions. */
bool sql_join_items(struct sql_block *block);
/* ... and the one item that there is. */
bool sql_collapse_items(struct sql_block *block);

/* ---- table.c ---- */

/* The columns of a file or stored table, or (ret_with) the view, of whose rows those count that pass `where`. false: the statement has failed. */
bool
sql_table_columns(struct sql_statement *q, struct sql_from *from, struct sql_expr *where, const char *const **ret_names,
                  size_t *ret_count, const char **ret_alias, struct sql_with **ret_with);
/* A file, a stored table or a WITH query as the next item of the block. */
bool sql_add_table(struct sql_block *block, const struct sql_from *from);
/* A column of numbers, as VALUES and generate_series() need them. */
bool sql_add_rows(struct sql_block *block, const struct sql_from *from);
/* The columns of a result as those of the next item. */
bool
sql_add_result(struct sql_block *block, const struct sql_from *from, const char *name, const struct sql_result *result);

/* ---- subquery.c ---- */

/* A conjunct with subqueries: rows of *rel are left for which it is true. */
bool sql_filter_subquery(struct sql_block *block, struct sql_rel *rel, struct sql_expr *conjunct);
/* random() gets a number of its row, which its text names. */
bool sql_number_random(struct sql_block *block, struct sql_expr *expr);
/* Subqueries in an expression are joined to block->rel, and named. */
bool sql_join_subqueries(struct sql_block *block, struct sql_expr *expr);

/* ---- group.c ---- */

/* Whether it has GROUP BY or HAVING; GROUP BY () is a group of all rows. */
bool sql_groups(const struct sql_select *select);
bool sql_has_aggregate(const struct sql_expr *expr);
bool sql_has_window(const struct sql_expr *expr);
/* Whether SQL's aggregate has two arguments. */
bool sql_takes_two(const char *function);
/* The fraction of a quantile, as written. NULL: it is none, and the statement has failed. */
const char *sql_fraction(struct sql_block *block, const struct sql_expr *expr);
/* Group block->rel by frame columns, and name the aggregates in exprs (any may be NULL). extra_keys: of decorrelation
 */
bool sql_group(struct sql_block *block, const char *const *keys, size_t key_count, struct sql_expr *const *exprs,
               size_t count, int position);

/* ---- window.c ---- */

/* Window functions in an expression become columns of block->rel, and are named. name: as SQL calls what the expression
 * gives; NULL: by its function */
bool sql_add_windows(struct sql_block *block, const struct sql_expr *expr, const char *name);

/* ---- targets.c ---- */

/* All that SELECT lists, with * written out. */
struct sql_targets {
    struct sql_target *list;
    size_t count;
};
bool sql_expand_targets(struct sql_block *block, struct sql_targets *targets);
/* What SELECT calls a value. */
const char *sql_target_name(const struct sql_target *target);
/* 1 to count when an expression is a position in SELECT's list; 0: it is none; -1: it is no good one. */
long sql_position_in(struct sql_block *block, const struct sql_expr *expr, size_t count);
/* Aliases in an expression, which is not bound yet, become what they mean, where no column has their name. */
bool sql_put_aliases(struct sql_block *block, struct sql_expr **expr);
/* The same, and bind it. alias_first: an alias that is all of it is meant before a column. NULL: it has failed. */
struct sql_expr *sql_bind_with_aliases(struct sql_block *block, const struct sql_targets *targets,
                                       struct sql_expr *expr, bool alias_first);
/* The SELECT with GROUP BY ALL and ORDER BY ALL written out, of `count` targets. NULL: the statement has failed. */
const struct sql_select *sql_write_all_out(struct sql_statement *q, const struct sql_select *select,
                                           const struct sql_targets *targets, size_t count);

/* ---- stars.c ---- */

/* Arguments of the expression that are calls of SQL_UNPACK become what those stand for. */
bool sql_unpack(struct sql_block *block, struct sql_expr *expr);
/* The first star in an expression, which is not of SQL_UNPACK; NULL: it has none. */
const struct sql_expr *sql_star_in(const struct sql_expr *expr);
/* Add a target with a star in it, for each column that this stands for, bound. */
bool sql_expand_star(struct sql_block *block, const struct sql_target *target, struct sql_targets *targets);
/* The SELECT with COLUMNS in its ORDER BY and DISTINCT ON written out. NULL: the statement has failed. */
const struct sql_select *sql_expand_order(struct sql_block *block, const struct sql_select *select);
/* A condition with COLUMNS in it must be true of each. */
bool sql_expand_condition(struct sql_block *block, struct sql_expr **condition);

/* ---- pivot.c ---- */

/* Names that a query's FROM gives. */
struct sql_from_names {
    const char *const *names;
    size_t count;
};
/* What the columns of a query with PIVOT are called, as far as that is known. */
bool sql_pivot_outputs(struct sql_statement *q, const struct sql_select *select, const struct sql_from_names *from,
                       const char ***ret_names, size_t *ret_count);
/* The SELECT that one with PIVOT is, by the block's columns. NULL: the statement has failed. */
const struct sql_select *sql_write_pivot(struct sql_block *block);
/* Add the names of the columns in an expression, which is not gone into for subqueries. */
bool sql_add_named(struct sql_statement *q, const struct sql_expr *expr, struct gr_buf *names);
/* Whether a name is one of those, which end in NUL each. */
bool sql_is_named(const struct gr_buf *names, const char *name);
/* The block's column, as SELECT has it. NULL: the statement has failed. */
struct sql_expr *sql_column_expr(struct sql_block *block, const struct sql_column *column, int position);

/* ---- unpivot.c ---- */

/* The same for UNPIVOT; too many of the names. */
bool sql_unpivot_outputs(struct sql_statement *q, const struct sql_select *select, const struct sql_from_names *from,
                         const char ***ret_names, size_t *ret_count);
const struct sql_select *sql_write_unpivot(struct sql_block *block);
/* Of its rows those with values are left. */
bool sql_unpivot_cut(struct sql_block *block, const struct sql_unpivot *unpivot, struct sql_result *result);

/* ---- select.c ---- */

/* What follows FROM and WHERE. */
bool sql_block_finish(struct sql_block *block, bool ordered, struct sql_result *ret_result);

/* ---- cut.c ---- */

/* Sort by columns, nulls at the end unless told otherwise, and cut. ordered: though nothing is cut. number: for each row
 * of the query around; or NULL */
bool sql_sort_and_cut(struct sql_statement *q, struct sql_rel *rel, const struct sql_select *select,
                      const struct sql_order *order, const char *const *columns, bool ordered, const char *number);

/* ---- set.c ---- */

/* around: as sql_plan_for() has it, or NULL */
bool sql_plan_set(struct sql_statement *q, const struct sql_select *select, const struct sql_around *around,
                  bool ordered, struct sql_result *ret_result);

/* ---- plan.c ---- */

/* A query by itself. ordered: its ORDER BY counts although it has no LIMIT. That is so for the statement, and for
 * tables in FROM, whose rows may be all there is to the query around. */
bool sql_plan(struct sql_statement *q, const struct sql_select *select, bool ordered, struct sql_result *ret_result);
/* The same for each row of the query around; around NULL: by itself, and in no order. */
bool sql_plan_for(struct sql_statement *q, const struct sql_select *select, const struct sql_around *around,
                  struct sql_result *ret_result);
/* The WITH query of that name; NULL: there is none. */
struct sql_with *sql_find_with(const struct sql_statement *q, const char *name);
/* The names that a WITH query sees: of those before it, of itself when it may name that, and further out. */
struct sql_names sql_names_before(const struct sql_statement *q, const struct sql_with *with);
/* What it gives, translated once. NULL: the statement has failed. */
const struct sql_result *sql_with_result(struct sql_statement *q, struct sql_with *with);

/* ---- recursive.c ---- */

/* One that may name itself. around: as sql_plan_for() has it, or NULL */
bool sql_plan_recursive(struct sql_statement *q, struct sql_with *with, const struct sql_around *around,
                        struct sql_result *ret_result);
/* That FROM may name it there. */
bool sql_check_recursive(struct sql_statement *q, const struct sql_with *with, int position);

#endif
