/*
 * Within the room: a statement as a tree. Made by parse/ of what libpg-query gives, with what is not supported refused;
 * names are bound by scope.c. Everything lies in the statement's region.
 */
#ifndef SQL_AST_H
#define SQL_AST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sql_select;
struct sql_column;
struct sql_target;
struct sql_result;
struct sql_around;
struct sql_table;

enum sql_kind {
    SQL_LITERAL, /* text: as expressions are written (graph/expr.h) */
    SQL_COLUMN,  /* name, perhaps with a table's */
    SQL_STAR,    /* all columns, perhaps of a table */
    SQL_AND,     /* any number of arguments */
    SQL_OR,
    SQL_INFIX, /* text: operator */
    SQL_PREFIX,
    SQL_POSTFIX,
    SQL_FUNCTION, /* text: its name */
    SQL_CASE,     /* condition, value, ..., else */
    SQL_IN,       /* value, list ...; negated */
    SQL_BETWEEN,  /* value, least, most; negated */
    SQL_LIKE,     /* text: like, ilike; value, pattern, perhaps escape; negated */
    SQL_CAST,     /* text: dtype */
    SQL_TRY_CAST,
    SQL_AGGREGATE, /* text: its name; no argument: of rows */
    SQL_SUBQUERY,
    SQL_LAMBDA, /* args[0]: an expression of a list's items, which the function around it takes as text */
    SQL_ITEM,   /* text: its name there; row_place: of which lambda, from the outermost, while they are parsed */
    SQL_RANDOM, /* text: the call as an expression, up to the number of the row */
};

enum sql_subquery {
    SQL_SCALAR, /* (select ...) as a value */
    SQL_EXISTS,
    SQL_ANY, /* args[0] = one of (select ...): IN; text: the operator, when it is another one */
};

enum sql_match {
    SQL_MATCH_ALL,
    SQL_MATCH_LIKE,
    SQL_MATCH_ILIKE,
    SQL_MATCH_WHOLE, /* a regular expression of the name */
    SQL_MATCH_PART,  /* ... of a part of it */
    SQL_MATCH_NAMES,
};

/* What `* EXCLUDE (a)`, COLUMNS('pattern') and their kin say beyond `*`. */
struct sql_star {
    bool is_columns; /* COLUMNS: it may stand in an expression */
    struct sql_expr **exclude;
    size_t exclude_count;
    struct sql_target *replace; /* expression AS column */
    size_t replace_count;
    struct sql_target *rename; /* column AS name */
    size_t rename_count;
    enum sql_match match;
    bool negated;
    const char *pattern;
    char escape; /* of LIKE, or NUL */
    const char **names;
    size_t name_count;
};

struct sql_expr {
    enum sql_kind kind;
    int position; /* in the statement, bytes from 0; -1: not known */
    const char *text;
    const char *table; /* COLUMN, STAR: its table as written, or NULL */
    struct sql_expr **args;
    size_t count;
    bool negated;
    bool ignores_nulls; /* AGGREGATE: lag and its like */
    uint8_t marks;      /* of COLLATE, while it is parsed (parse/collate.c) */
    /* AGGREGATE */
    const char *written; /* its name in the statement; of others: NULL, a FUNCTION's, or what is made up so */
    bool distinct;
    struct sql_expr *condition; /* FILTER (WHERE ...), or NULL */
    struct sql_order *unseen;   /* ORDER BY in a call whose value does not show it */
    size_t unseen_count;
    struct sql_window *over;  /* of a window function, or NULL */
    struct sql_order *within; /* rank(ORDER BY x): the ways of its last arguments, over a frame; their exprs are NULL */
    size_t within_count;
    struct sql_star *star; /* STAR: or NULL */
    /* SUBQUERY */
    enum sql_subquery subquery;
    struct sql_select *select;
    size_t row_size;  /* SCALAR: of that many columns; 0: of one */
    size_t row_place; /* ... the one that it is, from 0. COLUMN: of FROM, from 1, in place of a name; or 0 */
    /* COLUMN: set by sql_bind() */
    const struct sql_column *column;
};

/* ORDER BY */
struct sql_order {
    struct sql_expr *expr;
    bool descending;
    bool nulls_first;
};

enum sql_frame {
    SQL_FRAME_PARTITION, /* all of the partition */
    SQL_FRAME_PEERS,     /* from its beginning to the last row equal to this one */
    SQL_FRAME_SO_FAR,    /* from its beginning to this row */
    SQL_FRAME_LAST,      /* so many rows before, and this row */
    SQL_FRAME_OTHER,     /* as its bounds say */
};

/* A bound of a frame. */
struct sql_bound {
    const char *text;          /* "unbounded preceding", "current row", or what stands behind a distance: "preceding" */
    struct sql_expr *distance; /* or NULL */
};

/* OVER (...) */
struct sql_window {
    struct sql_expr **partition;
    size_t partition_count;
    struct sql_order *order;
    size_t order_count;
    enum sql_frame frame;
    int64_t back;     /* LAST: rows before this one */
    const char *mode; /* "rows", "range", "groups" */
    struct sql_bound bounds[2];
    const char *exclude; /* "exclude ties" or the like; NULL: nothing */
    int position;
};

enum sql_join { SQL_INNER, SQL_LEFT, SQL_RIGHT, SQL_FULL, SQL_CROSS, SQL_SEMI, SQL_ANTI, SQL_POSITIONAL };

enum sql_from_kind { SQL_FROM_TABLE, SQL_FROM_SELECT, SQL_FROM_JOIN, SQL_FROM_ROWS, SQL_FROM_UNNEST };

/* The function whose value is several rows; no expression has it. */
#define SQL_UNNEST "unnest"

/* *COLUMNS(...) among arguments: a function of an expression with COLUMNS, which stands for what it is of each column. */
#define SQL_UNPACK "unpack"

/* The function whose value is what SELECT calls its argument: CASE of that in the tree. */
#define SQL_ALIAS_OF "alias"

/* The aggregate that tells which keys a set of groups leaves out. */
#define SQL_GROUPING "grouping"

/* What the column of numbers of VALUES is called; no statement can say it. */
#define SQL_ROWS "#rows"

/* Of a file that is read or written: name => value. Of a list, and of what may be one, there are several texts. */
struct sql_option {
    const char *name;
    int position;
    const char **texts;
    size_t count;
};

struct sql_file {
    const char *format; /* "csv"; NULL: as the name's ending tells */
    struct sql_option *options;
    size_t count;
    bool is_copied; /* into a table, whose columns it has */
};

struct sql_from {
    enum sql_from_kind kind;
    int position;
    const char *alias;    /* or NULL */
    const char **columns; /* of the alias: new names of the first columns */
    size_t column_count;
    const char *function; /* its first column has that name, too, behind the alias; or NULL */
    /* TABLE */
    const char *name;
    const struct sql_from *before; /* the table named before it, anywhere in the statement */
    bool recurring;                /* recurring.NAME: all rows so far of a recursion */
    bool has_time;                 /* as it was then, in ns since 1970 */
    int64_t time;
    const struct sql_file *file;       /* it is a file, and this is said of it; or NULL */
    const struct sql_table *looked_at; /* for the names of its columns (reach.c) */
    /* SELECT */
    struct sql_select *select;
    enum { SQL_ABOUT_NOTHING, SQL_ABOUT_COLUMNS, SQL_ABOUT_VALUES } about; /* DESCRIBE, SUMMARIZE of it */
    /* ROWS: one column of the numbers from start, by steps, up to before stop */
    int64_t start;
    int64_t stop;
    int64_t step;
    /* UNNEST: a column of the items of each list, side by side */
    struct sql_expr **lists;
    size_t list_count;
    bool equal;      /* they are of one length */
    bool ordinality; /* ... and behind them one of their numbers, from 1 */
    /* JOIN */
    enum sql_join join;
    bool asof; /* INNER and the next six but CROSS: with the nearest row of the right side */
    struct sql_from *left;
    struct sql_from *right;
    struct sql_expr *on; /* or NULL */
    const char **using;  /* names */
    size_t using_count;
    bool natural;
};

/* SEMI and ANTI: rows of the left side alone. */
static inline bool
sql_is_semi(const struct sql_from *from)
{
    return from->join == SQL_SEMI || from->join == SQL_ANTI;
}

struct sql_target {
    struct sql_expr *expr;
    const char *alias; /* or NULL */
    bool written;      /* aliases in expr are written out, so that it has so many parts: targets.c */
    size_t nodes;
};

/* What naming a WITH query means while it is translated. */
enum sql_with_state {
    SQL_WITH_QUERY, /* the query */
    SQL_WITH_FIRST, /* nothing: its rows are not there yet */
    SQL_WITH_ROUND, /* the rows of the round before */
};

struct sql_with {
    const char *name;
    const char **columns;
    size_t column_count;
    struct sql_select *select;
    int position;
    const char **keys; /* USING KEY */
    size_t key_count;
    struct sql_result *result;    /* once it was translated */
    struct sql_result *recurring; /* of a round: all rows so far */
    bool recursive;               /* it may name itself */
    enum sql_with_state state;
    bool used;                       /* FROM has named it; of a round: in this one */
    bool is_walked;                  /* while it is found out what it names (reach.c), or that this is nothing */
    const struct sql_around *around; /* of the query that it stands before; or NULL */
};

/* PIVOT: rows become columns. A value of what is pivoted, or of several such side by side. */
struct sql_pivot_value {
    const char **texts; /* NULL: the null */
    size_t count;
    const char *name; /* of the column */
    int position;
};

/* What is pivoted: ON k, or ON k IN (1, 2). */
struct sql_pivot_key {
    struct sql_expr **exprs; /* more than one: (a, b) IN ((1, 2)) */
    size_t count;
    struct sql_pivot_value *values;
    size_t value_count;
    bool is_found;             /* the values are those that there are */
    struct sql_select *select; /* ... or that this one gives */
    int position;
};

/* A column of this table stands for the condition that makes an aggregate one of a single value's rows. */
#define SQL_PIVOTED "#pivot"

struct sql_pivot {
    int position;
    struct sql_pivot_key *keys;
    size_t count;
};

/* UNPIVOT: columns become rows. An item is a column, some side by side, or a star. */
struct sql_unpivot_item {
    struct sql_expr **exprs;
    size_t count;
    const char *name; /* or NULL */
};

struct sql_unpivot {
    int position;
    const char *name;    /* of the column of their names */
    const char **values; /* ... of their values */
    size_t value_count;
    struct sql_unpivot_item *items;
    size_t item_count;
    bool keeps_nulls;
};

/* Rows that are drawn at random from all that FROM gives. */
struct sql_sample {
    double fraction; /* -1: rows */
    int64_t rows;    /* at most */
    int64_t seed;
    int position;
};

/* Aggregates of a query's rows that stand in subqueries of it, which name columns in their place: the aliases. */
struct sql_lifted {
    struct sql_target *list;
    size_t count;
    size_t room;
};

enum sql_set { SQL_NO_SET, SQL_UNION, SQL_INTERSECT, SQL_EXCEPT };

struct sql_select {
    int position;
    struct sql_with *with;
    size_t with_count;
    /* A set operation of two, or else what follows. */
    enum sql_set set;
    bool all;
    bool by_name; /* UNION: columns of one name belong together */
    struct sql_select *left;
    struct sql_select *right;
    bool distinct;
    size_t distinct_on; /* the last so many of order: of rows equal in these only the first is left */
    struct sql_target *targets;
    size_t target_count;
    struct sql_from **from;
    size_t from_count;
    size_t value_rows; /* of VALUES; else 0 */
    struct sql_expr *where;
    struct sql_expr **group;
    size_t group_count;
    uint32_t *sets; /* ROLLUP and its kin: bit i, by the i-th expression of group; or NULL */
    size_t set_count;
    bool group_all; /* GROUP BY ALL */
    struct sql_expr *having;
    struct sql_expr *qualify;
    const struct sql_pivot *pivot; /* targets are what it aggregates, group its groups; or NULL */
    const struct sql_unpivot *unpivot;
    const struct sql_sample *sample; /* or NULL */
    /* Of either. */
    struct sql_order *order;
    size_t order_count;
    const struct sql_order *order_all; /* ORDER BY ALL: how; or NULL */
    int64_t limit;                     /* -1: none */
    const double *percent;             /* LIMIT 10%: so many of a hundred, or what limit_value is; or NULL */
    int64_t ties;                      /* WITH TIES: so many rows, and all equal to the last; or 0 */
    int64_t offset;
    struct sql_expr *limit_value; /* LIMIT and OFFSET of which a subquery is a part; or NULL */
    struct sql_expr *offset_value;
    struct sql_lifted *lifted; /* or NULL: it is made up, and has none */
    /* The names of what it gives, once they were asked for (reach.c). */
    const char **output_names;
    size_t output_count;
    enum { SQL_NOT_NAMED, SQL_BEING_NAMED, SQL_IS_NAMED } naming;
};

/* ---- statements that change tables ---- */

enum sql_change_kind {
    SQL_CREATE,
    SQL_CREATE_AS,
    SQL_INSERT,
    SQL_DELETE,
    SQL_UPDATE,
    SQL_DROP,
    SQL_SEAL,
    SQL_COPY_TO,
    SQL_CREATE_VIEW,
    SQL_DROP_VIEW,
};

/* A column that is made, filled or set. */
struct sql_field {
    const char *name;
    const char *dtype;     /* CREATE */
    struct sql_expr *expr; /* UPDATE */
    int position;
};

struct sql_change {
    enum sql_change_kind kind;
    int position;
    struct sql_from **tables; /* DROP: some; else one, perhaps with an alias */
    size_t table_count;
    bool lenient;             /* IF NOT EXISTS, IF EXISTS */
    bool replaces;            /* OR REPLACE */
    int query_position;       /* CREATE_VIEW: what stands behind AS */
    struct sql_field *fields; /* INSERT: none: all of the table's */
    size_t field_count;
    const char *durable; /* CREATE: WITH (durable = ...), or NULL */
    int durable_position;
    struct sql_select *select; /* CREATE_AS, CREATE_VIEW, INSERT, COPY_TO */
    const char *path;          /* COPY_TO */
    const struct sql_file *file;
    struct sql_expr *where; /* DELETE, UPDATE; or NULL */
};

#endif
