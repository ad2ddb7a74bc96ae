/* Within the folder: PostgreSQL's tree to ours. Each returns NULL (or false) when the statement has failed. */
#ifndef SQL_PARSE_PRIVATE_H
#define SQL_PARSE_PRIVATE_H

#include <pg_query/pg_query.pb-c.h>

#include "sql/parse/parse.h"

/* What a place in the statement means beyond what the grammar says of it (dialect.h). */
enum parse_noted {
    NOTED_QUOTIENT,      /* an operator `/` is `//` */
    NOTED_TRY,           /* CAST is TRY_CAST */
    NOTED_IGNORE_NULLS,  /* the function called leaves nulls out */
    NOTED_RESPECT_NULLS, /* ... keeps them */
    NOTED_PLACE,         /* a column is the one at that place: #2 */
    NOTED_STAR,          /* a call is a star and what is said of it */
    NOTED_PERCENT,       /* a call is a part of a hundred */
    NOTED_ALL,           /* a column of GROUP BY or ORDER BY is ALL */
    NOTED_IN_LIST,       /* IN is of one list, whose items are meant */
    NOTED_QUALIFY,       /* a window's partition is the condition of QUALIFY */
    NOTED_PIVOT,         /* a window's partition is what PIVOT says */
    NOTED_UNPIVOT,       /* ... UNPIVOT */
    NOTED_SAMPLE,        /* ... TABLESAMPLE or USING SAMPLE */
    NOTED_SET,           /* UNION, INTERSECT or EXCEPT, each of which is noted */
    NOTED_BY_NAME,       /* UNION BY NAME */
    NOTED_JOIN,          /* as it stands; those from here on are of JOINs, each of which is noted */
    NOTED_SEMI,          /* LEFT JOIN is SEMI JOIN */
    NOTED_ANTI,
    NOTED_POSITIONAL, /* CROSS JOIN is POSITIONAL JOIN */
    NOTED_ASOF,       /* JOIN or LEFT JOIN ... is ASOF JOIN */
    NOTED_ASOF_SEMI,  /* LEFT JOIN is ASOF SEMI JOIN */
    NOTED_ASOF_ANTI,
};

struct parse_note {
    int at;
    enum parse_noted what;
};

struct named_window {
    const char *name;
    const PgQuery__WindowDef *from;
    struct sql_window *window;
};

/* Languages of COLLATE in a statement, at most. */
enum { PARSE_LANGUAGES = 5 };

struct parse {
    struct sql_statement *q;
    const char **files;             /* names that stood in single quotes; table "#N" is the N-th */
    const struct parse_note *notes; /* by their places */
    size_t note_count;
    int depth;
    const struct named_window *windows; /* of the WINDOW clause of the SELECT being parsed */
    size_t window_count;
    const struct lambda *lambda;            /* that is being parsed, or NULL */
    size_t nameless;                        /* subqueries without an alias in FROM of the SELECT being parsed */
    bool collates;                          /* COLLATE was seen */
    const char *languages[PARSE_LANGUAGES]; /* of COLLATE */
    size_t language_count;
    bool is_query;   /* the statement is a SELECT */
    bool has_values; /* VALUES were seen, whose columns are col0 and so on: */
    bool counts_from_zero;
    bool pivots;        /* aggregates are those of PIVOT */
    int64_t moment;     /* that the statement runs at, microseconds since 1970; 0: not asked for so far */
    const void **taken; /* fields of the tree: a hash table of their places */
    size_t taken_count;
    size_t taken_room;
};

/* Names of what an expression of a list's items is given. */
struct lambda {
    const struct lambda *outer;
    size_t depth; /* 1: it is in no other one */
    const char *names[3];
    const char *columns[3]; /* what the function calls them (graph/expr/check/check_lambda.c) */
    size_t count;
};

/* What CYCLE marks where it stands for USING KEY. */
#define SQL_KEY_MARK "#key"

/* The alias of a subquery that has none. */
#define SQL_NAMELESS "#subquery"
/* ... of one that DESCRIBE or SUMMARIZE is about. */
#define SQL_DESCRIBED  "#described"
#define SQL_SUMMARIZED "#summarized"

/* A field of the grammar's tree, to be used: what is set and taken by nobody is an error. Looking is done without. */
#define TAKE(p, node, field) (parse_take((p), &(node)->field), (node)->field)

struct sql_select *parse_select(struct parse *p, const PgQuery__SelectStmt *from);
/* A statement that is no SELECT. */
struct sql_change *parse_change(struct parse *p, const PgQuery__Node *from);
/* Those of view.c. */
bool parse_view_statement(struct parse *p, const PgQuery__ViewStmt *from, struct sql_change *change);
bool parse_truncate(struct parse *p, const PgQuery__TruncateStmt *from, struct sql_change *change);
/* A table of FROM, or the only one of a statement that changes it. */
bool parse_table(struct parse *p, const PgQuery__RangeVar *table, struct sql_from *item);
struct sql_expr *parse_expr(struct parse *p, const PgQuery__Node *from);
/* ARRAY(SELECT ...), of the subquery in it. */
struct sql_expr *parse_listed(struct parse *p, struct sql_expr *subquery);
/* Of WHERE and its kin: a literal, a column or a computed number is made a bool. */
struct sql_expr *parse_condition(struct parse *p, const PgQuery__Node *from);
struct sql_expr **parse_exprs(struct parse *p, PgQuery__Node *const *from, size_t count);
/* The arguments of a call in their places, also those that are given by name (named.c). NULL: the statement has failed. */
struct sql_expr **sql_parse_call_arguments(struct parse *p, const PgQuery__FuncCall *call, size_t *ret_count);
bool parse_order(struct parse *p, PgQuery__Node *const *from, size_t count, struct sql_order **ret_order);
/* WINDOW of a SELECT becomes the names that OVER has, the condition of QUALIFY, and what PIVOT or UNPIVOT says. */
bool parse_windows(struct parse *p, PgQuery__Node *const *from, size_t count, struct sql_select *select);
bool parse_alias(struct parse *p, const PgQuery__Alias *alias, struct sql_from *item);

/* ---- value.c ---- */

struct sql_expr *sql_parse_constant(struct parse *p, const PgQuery__AConst *value);
struct sql_expr *sql_parse_cast(struct parse *p, const PgQuery__TypeCast *cast);
/* A type as granary calls it: "decimal(10, 2)". NULL: there is none such. */
const char *parse_dtype(struct parse *p, const PgQuery__TypeName *from);

/* ---- operator.c ---- */

struct sql_expr *sql_parse_a_expr(struct parse *p, const PgQuery__AExpr *from);
struct sql_expr *sql_parse_bool(struct parse *p, const PgQuery__BoolExpr *from);
struct sql_expr *sql_parse_truth(struct parse *p, const PgQuery__BooleanTest *from);
struct sql_expr *sql_parse_case(struct parse *p, const PgQuery__CaseExpr *from);

/* A comparison as expressions have it, or its opposite; NULL: the operator is none. */
const char *sql_parse_comparison(const char *operator, bool opposite);

/* ---- function.c ---- */

/* A call of a function of expressions. */
struct sql_expr *
sql_parse_arguments(struct parse *p, const char *name, PgQuery__Node *const *args, size_t count, int position);
struct sql_expr *sql_parse_function(struct parse *p, const PgQuery__FuncCall *call);
/* 1 - x of a fraction as written, exactly. */
struct sql_expr *sql_parse_complement(struct parse *p, const struct sql_expr *fraction);
/* OVER (...) or OVER name. */
struct sql_window *sql_parse_window(struct parse *p, const PgQuery__WindowDef *from);

/* ---- composed.c ---- */

/* NULL in place of a number is a number: aggregates of it are null. */
void sql_parse_type_null(struct parse *p, const char *aggregate, struct sql_expr **args, size_t count);
/* Whether DISTINCT in an aggregate of that name may change its value. */
bool sql_parse_minds_distinct(const char *name);
/* Whether a call is made up of others; then *ret_expr is it, or NULL where the statement has failed. */
bool sql_parse_composed(struct parse *p, const PgQuery__FuncCall *call, const char *name, struct sql_expr **ret_expr);
/* names: the last is NULL. */
bool sql_parse_is_one_of(const char *name, const char *const *names);
/* A function of composed.def that has a form of two arguments. */
struct sql_expr *
sql_parse_form_of_two(struct parse *p, const char *name, int position, struct sql_expr *left, struct sql_expr *right);

/* The argument of unnest(): a null as written becomes a list. NULL: it is, or the statement has failed */
struct sql_expr *sql_parse_null_list(struct parse *p, struct sql_expr *list);

/* ---- nested.c ---- */

/* flatten(), unnest() and functions that are given a list of lists as written; false: it is none of these. */
bool sql_parse_nested(struct parse *p, const PgQuery__FuncCall *call, const char *name, struct sql_expr **ret_expr);
/* Whether it is a list of lists as written. */
bool nested_is(const struct sql_expr *expr);
/* It as a list of so many levels of an item's type; of none: as text. An item of it. */
struct sql_expr *nested_cast(struct parse *p, struct sql_expr *list, const char *item, size_t levels, int position);
struct sql_expr *nested_item(struct parse *p, struct sql_expr *list, struct sql_expr *place);

/* GROUPING(a, b): a bit for each, which is 1 where the set of groups leaves the key out. */
struct sql_expr *sql_parse_grouping(struct parse *p, PgQuery__Node *const *args, size_t count, int position);

/* ---- lambda.c ---- */

/* list_transform() and its kin; false: it is none of these. */
bool sql_parse_lambda(struct parse *p, const PgQuery__FuncCall *call, const char *name, struct sql_expr **ret_expr);
/* What a name stands for in the lambda that is being parsed; NULL: nothing. */
struct sql_expr *sql_parse_item(struct parse *p, const char *name, int position);
/* Whether functions of that name take lambdas. */
bool sql_parse_takes_lambda(const char *name, size_t size);

/* ---- limit.c ---- */

/* LIMIT, OFFSET, FETCH; behind ORDER BY. */
bool parse_limit(struct parse *p, const PgQuery__SelectStmt *from, struct sql_select *select);

/* ---- star.c ---- */

/* A call that NOTED_STAR is at. */
struct sql_expr *sql_parse_star(struct parse *p, const PgQuery__FuncCall *call);
struct sql_expr *sql_parse_columns(struct parse *p, const PgQuery__FuncCall *call);

/* ---- collate.c ---- */

struct sql_expr *parse_collate(struct parse *p, const PgQuery__CollateClause *from);
/* What was parsed, with COLLATE in it settled. expr may be NULL; NULL: the statement has failed */
struct sql_expr *parse_settle(struct parse *p, struct sql_expr *expr);
/* What a value is sorted or grouped by. */
struct sql_expr *parse_key(struct parse *p, struct sql_expr *expr);
/* ORDER BY of a query, by the keys of what it names. */
bool parse_sort_keys(struct parse *p, struct sql_select *select);
/* A value whose COLLATE would be lost. */
bool parse_unmarked(struct parse *p, const struct sql_expr *expr);
bool parse_check_marks(struct parse *p, const struct sql_select *select);

/* ---- pivot.c ---- */

/* The window that dialect_pivot() has made of PIVOT or UNPIVOT. */
bool parse_pivot(struct parse *p, const PgQuery__WindowDef *from, struct sql_select *select);
bool parse_unpivot(struct parse *p, const PgQuery__WindowDef *from, struct sql_select *select);
/* The one that dialect_sample.c has made. */
bool parse_sample(struct parse *p, const PgQuery__WindowDef *from, struct sql_select *select);
/* FILTER of an aggregate (or NULL) with what PIVOT adds to it where it stands there. NULL: nothing, or it has failed. */
struct sql_expr *parse_pivoted(struct parse *p, struct sql_expr *condition, int position);

/* ---- moment.c ---- */

/* CURRENT_DATE and its kin. */
struct sql_expr *sql_parse_sql_value(struct parse *p, const PgQuery__SQLValueFunction *from);
/* Functions of dates and times that become something else; false: it is none of them. */
bool
sql_parse_moment_function(struct parse *p, const PgQuery__FuncCall *call, const char *name, struct sql_expr **ret_expr);

/* ---- regexp.c ---- */

/* The pattern for all of a text; letters of any case. NULL: the statement has failed, or pattern is NULL */
struct sql_expr *sql_parse_whole_pattern(struct parse *p, struct sql_expr *pattern);
struct sql_expr *sql_parse_any_case(struct parse *p, struct sql_expr *pattern);
/* format() and printf(): the first argument must be a text as written. */
struct sql_expr *
sql_parse_format(struct parse *p, const char *name, PgQuery__Node *const *args, size_t count, int position);

/* ---- written.c ---- */

/* A call that is written as others, or a constant; false: it is none of these. */
bool sql_parse_written_out(struct parse *p, const PgQuery__FuncCall *call, const char *name, PgQuery__Node *const *args,
                           struct sql_expr **ret_expr);

/* ---- random.c ---- */

/* random() and its kin; false: it is none of them. */
bool sql_parse_random(struct parse *p, const PgQuery__FuncCall *call, const char *name, struct sql_expr **ret_expr);

/* ---- json.c ---- */

/* A value as JSON; what is JSON stays. NULL: the statement has failed, or value is NULL */
struct sql_expr *sql_parse_json_of(struct parse *p, struct sql_expr *value, int position);
/* json_object() and its kin; false: it is none of them. */
bool sql_parse_json(struct parse *p, const PgQuery__FuncCall *call, const char *name, PgQuery__Node *const *args,
                    struct sql_expr **ret_expr);

/* ---- json_lists.c ---- */

/* A function of a JSON and a path; of a path to several values a list of what it gives. */
struct sql_expr *sql_parse_json_paths(struct parse *p, const char *function, struct sql_expr *value,
                                      struct sql_expr *path, int position);
/* The list of several values as an array; anything else as it is. */
struct sql_expr *sql_parse_json_joined(struct parse *p, struct sql_expr *value, int position);
/* An item of a list, and a list of what comes of each. */
struct sql_expr *sql_parse_json_item(struct parse *p, int position);
struct sql_expr *sql_parse_json_each(struct parse *p, struct sql_expr *list, struct sql_expr *value, int position);
/* json_each() and json_tree() in FROM, by the name of the function; call has one or two arguments. */
bool sql_parse_json_rows(struct parse *p, const PgQuery__RangeFunction *from, const PgQuery__FuncCall *call,
                         struct sql_from *rows);

/* ---- json_transform.c ---- */

/* json_transform() and its kin; false: it is none of them. */
bool sql_parse_json_transform(struct parse *p, const PgQuery__FuncCall *call, const char *name,
                              PgQuery__Node *const *args, struct sql_expr **ret_expr);

/* A function of regular expressions with so many arguments, perhaps with options. */
bool sql_parse_is_regexp(const char *name, size_t count, size_t *ret_which);
struct sql_expr *
sql_parse_regexp(struct parse *p, size_t which, PgQuery__Node *const *args, size_t count, int position);

/* ---- expr.c ---- */

/* With room for count arguments. text NULL: the statement has failed */
struct sql_expr *sql_parse_new_expr(struct parse *p, enum sql_kind kind, int position, const char *text, size_t count);
/* Of one argument (b NULL) or two; either may have failed. */
struct sql_expr *sql_parse_new_call(struct parse *p, enum sql_kind kind, int position, const char *text,
                                    struct sql_expr *a, struct sql_expr *b);
struct sql_expr *sql_parse_new_negation(struct parse *p, struct sql_expr *expr);
/* parse_unsupported() as an expression: NULL */
struct sql_expr *sql_parse_refuse(struct parse *p, int position, const char *what);

/* ---- rows.c ---- */

/* generate_series(first, last, step), range(first, before, step), at(table, time) */
bool parse_range_function(struct parse *p, const PgQuery__RangeFunction *from, struct sql_from *item);
/* The numbers from 0 to below count as the only item of FROM, which `*` does not show. */
bool parse_without_from(struct parse *p, size_t count, struct sql_select *select);
/* VALUES (...), ... */
bool parse_values(struct parse *p, const PgQuery__SelectStmt *from, struct sql_select *select);

/* ---- series.c ---- */

/* generate_series(DATE, DATE, INTERVAL) and its kin in FROM; call has three arguments. */
bool sql_parse_moments(struct parse *p, const PgQuery__FuncCall *call, bool inclusive, struct sql_from *item);

/* generate_series() and range() of numbers, of which some are large: start, stop and step. */
bool sql_parse_large_numbers(struct parse *p, const PgQuery__FuncCall *call, const int64_t numbers[3], bool inclusive,
                             struct sql_from *item);

/* query('SELECT ...') in FROM; call has one argument. */
bool sql_parse_query(struct parse *p, const PgQuery__FuncCall *call, struct sql_from *item);

/* repeat(value, count) in FROM; call has two arguments. */
bool sql_parse_repeat(struct parse *p, const PgQuery__FuncCall *call, struct sql_from *item);

/* ---- change.c ---- */

/* The table of a statement that changes it, and columns of it that are named. */
bool parse_changed_table(struct parse *p, const PgQuery__RangeVar *table, PgQuery__Node *const *names, size_t count,
                         struct sql_change *change);

/* ---- file.c ---- */

/* A file's name, in which ~/ at the beginning is the user's directory. */
const char *parse_path(struct parse *p, const char *name);
/* read_csv and its kin */
bool parse_is_reader(const char *name);
/* Its call in FROM; item->name is the function's, and becomes the file's. */
bool parse_reader(struct parse *p, const PgQuery__FuncCall *call, struct sql_from *item);
/* SELECT * FROM item */
struct sql_select *parse_select_all(struct parse *p, struct sql_from *item);
/* COPY ... TO, or COPY ... FROM, which becomes an INSERT. */
bool parse_copy_statement(struct parse *p, const PgQuery__CopyStmt *from, struct sql_change *change);

/* ---- group.c ---- */

bool parse_group(struct parse *p, const PgQuery__SelectStmt *from, struct sql_select *select);

/* The grammar's tokens of the text, for parse_scan_free(). NULL: it knows none in it, as the parser will tell; or no
 * memory, which the statement then says. */
PgQuery__ScanResult *parse_scan(struct sql_statement *q, const char *text);
void parse_scan_free(PgQuery__ScanResult *scan);

/* ---- syntax.c ---- */

/* The grammar has refused the text there: false. */
bool parse_fail_syntax(struct sql_statement *q, const char *text, int at, const char *message);

/* ---- used.c ---- */

void parse_take(struct parse *p, const void *place);
/* Everything that is set in the tree was taken; false: the statement fails with the first that was not. */
bool parse_check_used(struct parse *p, const ProtobufCMessage *tree);
/* The first place in the statement that a part of the tree has; -1: none is known. */
int parse_place(const ProtobufCMessage *part);

/* ---- helpers ---- */

bool parse_is_noted(const struct parse *p, int position, enum parse_noted what);
/* Whether it is the ALL of GROUP BY or ORDER BY, which is then taken. */
bool parse_is_all(struct parse *p, const PgQuery__Node *node);
/* A String node's text, or "". */
const char *parse_string(struct parse *p, const PgQuery__Node *node);
/* The last part of a name, which may stand behind pg_catalog; or "". */
const char *parse_last(struct parse *p, PgQuery__Node *const *names, size_t count);
/* A copy in the statement's memory. */
const char *parse_copy(struct parse *p, const char *text);
/* "NAME is not supported" */
bool parse_unsupported(struct parse *p, int position, const char *what);

#endif
