/* clang-format off */
/*
 * Expressions over the columns of a frame: parsed, checked against a schema, evaluated by kernels (kernel/rows/rows.h).
 * docs/graph-format.md tells users what they can write and what it means.
 *
 *   expr    := or
 *   or      := and { ("or" | "||" | "|") and }
 *   and     := not { ("and" | "&&" | "&") not }
 *   not     := ("not" | "!" | "~") not | compare
 *   compare := sum [ ("=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=") sum | "is" ["not"] "null"
 *                  | ("=^" | "!=^" | "<^" | "<=^" | ">^" | ">=^") sum
 *                  | ["not"] "in" "(" expr { "," expr } ")" | ["not"] "between" sum "and" sum
 *                  | ["not"] ("like" | "ilike") sum ["escape" sum] ]
 *   sum     := product { ("+" | "-") product }
 *   product := unary { ("*" | "/" | "//" | "%") unary }
 *   unary   := "-" unary | primary
 *   primary := number | 'text' | "text" | true | false | null | date 'YYYY-MM-DD' | timestamp 'YYYY-MM-DD hh:mm:ss'
 *            | time 'hh:mm:ss' | timestamptz 'YYYY-MM-DD hh:mm:ss+hh:mm'
 *            | interval '3' month | interval '1 year 2 days' | name | `any name` | "(" expr ")"
 *            | "case" [expr] "when" expr "then" expr { ... } ["else" expr] "end"
 *            | ("cast" | "try_cast") "(" expr "as" dtype ")" | "extract" "(" part "from" expr ")"
 *            | function "(" [expr { "," expr }] ")"
 *
 * number  := digits ["." digits] ["^"] | digits ["." digits] ("e" | "E") ["+" | "-"] digits
 *
 * Keywords and functions in any case. A quote within quotes is doubled: 'it''s', `a``b`. Names without backquotes
 * begin with a letter or "_" and go on with those and digits; every character beyond ASCII counts as a letter.
 *
 * "&", "|", "~", "&&", "||", "!" bind like the words, so that `a > 1 & b > 2` means what it says. "||" between strings
 * joins them.
 */
/* clang-format on */
#ifndef GRAPH_EXPR_H
#define GRAPH_EXPR_H

#include <stdbool.h>

#include "base/text/buf.h"
#include "contract/int128.h"
#include "graph/schema.h"

enum gr_expr_kind { GR_EXPR_COLUMN, GR_EXPR_LITERAL, GR_EXPR_CALL };

enum gr_expr_op {
#define EXPR_OP(id, ...) GR_OP_##id,
#include "graph/expr/ops.def"
    GR_OP_COUNT
};

/* Whether a value may be impossible to compute, and why. */
struct gr_expr_failure {
    enum { GR_FAILS_NEVER, GR_FAILS_EXACT /* not of floats */, GR_FAILS_WITH_ESCAPE, GR_FAILS } when;
    const char *reason; /* what a message says before the operands; NULL: an overflow, or what a cast says */
};

/*
 * The trees that the parser makes have these forms; the check keeps them:
 *
 *   IN        operands: value, list ...
 *   CASE      condition, value, condition, value, ..., else   (also of if(); an odd number)
 *   CAST      to expr->target; CONVERT is the same, put in by the check and left out when printed
 *   ADD_INTERVAL  date or timestamp, interval literal; put in by the check
 */
struct gr_expr {
    enum gr_expr_kind kind;
    granary_dtype dtype; /* of the value; set by gr_expr_check() */
    int position;        /* in the text, characters from 1, for messages; 0: it was not written */
    /* COLUMN */
    char *column;
    int column_index; /* in the schema; set by gr_expr_check() */
    /* LITERAL: dtype tells which; is_null: of any type */
    bool is_null;
    bool is_number; /* as written, without a dtype of its own: it takes that of what it meets */
    bool is_exact; /* is_number: written with a mark (1.5^); alone it is a decimal and no float64, so scale is not -1 */
    int scale;     /* is_number: digits behind the point, value.i counts 10^-scale; -1: only value.d tells it */
    int months;    /* of an interval (dtype DURATION), which has value.i microseconds, too */
    bool is_interval;
    struct {
        /* integers, BOOL (0/1), moments, DURATION, DECIMAL (times 10^scale of the dtype); beyond int64 only of
         * UINT64, DECIMAL and numbers as written */
        gr_int128 i;
        double d; /* FLOAT64, FLOAT32 */
    } value;
    char *text; /* STRING; NUL-terminated */
    size_t text_size;
    /* CALL */
    enum gr_expr_op op;
    granary_dtype target; /* CAST, TRY_CAST, CONVERT */
    int digits;           /* CAST, TRY_CAST to a decimal: it has so many at most; 0: as many as there is room for */
    size_t operand_count;
    struct gr_expr **operands;
};

/* How deep brackets, not and - may nest, and how many operands and operators there may be: what walks an expression
 * recurses at most that deep. */
enum { GR_EXPR_NESTING = 1100, GR_EXPR_NODES = 4096, GR_EXPR_LISTED = 1 << 20 };

/* Parse NUL-terminated UTF-8. Errors: EINVAL "expression `...`, position 7: ..." · ENOMEM */
granary_err gr_expr_parse(const char *text, struct gr_expr **ret_expr);
void gr_expr_destroy(struct gr_expr *expr); /* NULL is fine */

/* The trees of a graph: each of its texts is parsed once, whoever asks. Empty when all is zero. */
struct gr_trees {
    struct gr_tree *places; /* a hash table of trees.c */
    size_t count, room;
};
/* The tree of a text, which stays the trees' and is not changed. Errors: as gr_expr_parse() */
granary_err gr_trees_find(struct gr_trees *trees, const char *text, const struct gr_expr **ret_expr);
/* *Gives* a copy that is checked. Errors: as gr_expr_parse(), gr_expr_check(); the message names the expression */
granary_err
gr_trees_check(struct gr_trees *trees, const char *text, const struct gr_schema *schema, struct gr_expr **ret_expr);
void gr_trees_free(struct gr_trees *trees);

/* A function as docs/operators.md tells it. */
struct gr_function_info {
    enum gr_expr_op op;
    const char *name;
    const char *takes;     /* "s, from, count" */
    int least;             /* operands */
    const char *signature; /* as in graph/expr/ops.def; "": a rule of its own */
    const char *summary;
};
/* All of them. Static storage. */
const struct gr_function_info *gr_function_info(size_t *ret_count);
/* The dtype it gives; "": that depends. */
const char *gr_function_gives(const struct gr_function_info *info);
/* "substring(s, from[, count])" */
void gr_function_print_call(const struct gr_function_info *info, struct gr_buf *out);
/* Its other names: "; also `substr`" */
void gr_function_print_names(const struct gr_function_info *info, struct gr_buf *out);

/* Whether there is a function of that name, in letters of any case. Errors: EINVAL "no function 'yaer'; did you mean
 * ..." */
granary_err gr_expr_check_function(const char *name);
/* The function of a part of dates and times by one of its names; DAYOFWEEK also stands for "isodow". false: there is none. */
bool gr_expr_part_named(const char *name, enum gr_expr_op *ret_op);
/* What kernels call a unit that date_trunc() knows; NULL: there is none. */
const char *gr_expr_unit_named(const char *name);

/*
 * Bind columns and give every node its dtype; conversions are inserted, constants folded. A string literal compared
 * with a date or timestamp is read as one. An operand without a dtype (literal null, a column without any value)
 * becomes a null of the other operand's dtype. May be called again with a schema of the same dtypes in another order.
 *
 * Errors: ENOENT unknown column (with the nearest name there is) · ETYPE names operator and both types · EINVAL a
 * string that is no date. Messages begin with "position 7: "
 */
granary_err gr_expr_check(struct gr_expr *expr, const struct gr_schema *schema);

/* Mark in used[0..schema->count) the columns the expression reads, before or after the check. Unknown names are
 * skipped. */
void gr_expr_columns(const struct gr_expr *expr, const struct gr_schema *schema, bool *used);

/* The comparison that says the same with its sides exchanged: > for <; others as they are. */
enum gr_expr_op gr_expr_op_mirrored(enum gr_expr_op op);
/* Of a total comparison (">^") the plain one (">"); others as they are. */
enum gr_expr_op gr_expr_op_plain(enum gr_expr_op op);
/* Whether a plain comparison is true of values of which the left one is less (order < 0), equal (0) or greater. */
bool gr_expr_op_holds(enum gr_expr_op op, int order);
/* What SQL and typeof() call a dtype that is no decimal and no list; NULL: there is no name. */
const char *gr_dtype_sql_name(granary_dtype dtype);
/* "+" for GR_OP_ADD, "year" for GR_OP_YEAR. Static storage. */
const char *gr_expr_op_text(enum gr_expr_op op);
struct gr_expr_failure gr_expr_op_failure(enum gr_expr_op op);

/* ---- for who rewrites expressions, before or after the check; what was checked must be checked again ---- */

/* As text that gives the same tree when it is parsed (and checked, when expr was). */
void gr_expr_print(const struct gr_expr *expr, struct gr_buf *out);
/* The same in one step; *gives*. NULL: out of memory */
char *gr_expr_text(const struct gr_expr *expr);
/* A column's name as it stands in an expression: in backquotes when it must. */
void gr_expr_print_name(const char *name, struct gr_buf *out);

/* Errors: ENOMEM */
granary_err gr_expr_copy(const struct gr_expr *expr, struct gr_expr **ret_expr);

/* Whether both give the same value of the same row. False says nothing. */
bool gr_expr_equal(const struct gr_expr *a, const struct gr_expr *b);

/* Give columns the names that find() returns for theirs; NULL: it keeps its own. Errors: ENOMEM, which leaves it partly
 * done */
typedef const char *gr_expr_find(const char *column, const void *context);
granary_err gr_expr_rename(struct gr_expr *expr, gr_expr_find *find, const void *context);

/* The parts that "and" joins, in their order, borrowed from expr; at least one. *ret_parts is to be freed. Errors:
 * ENOMEM */
granary_err gr_expr_conjuncts(const struct gr_expr *expr, const struct gr_expr ***ret_parts, size_t *ret_count);

/* A condition that is true where all are; a NULL among them is left out. Their parts follow one another: however many
 * are joined one by one, it nests no deeper. *gives* a tree of copies, NULL when there are none. Errors: EINVAL together
 * they are too long · ENOMEM */
granary_err gr_expr_and(const struct gr_expr *const *exprs, size_t count, struct gr_expr **ret_expr);

/* A call; for tests and for who makes expressions. *Takes* the operands, also when it fails. Errors: ENOMEM (an operand
 * may be NULL: out of memory when it was made) */
granary_err gr_expr_call(enum gr_expr_op op, struct gr_expr *const *operands, size_t count, struct gr_expr **ret_expr);

/* How many nodes; literals that `in` lists are none. */
size_t gr_expr_size(const struct gr_expr *expr);

/* -1, 0, 1: an integer beside a float that is no NaN, in order of their exact values. */
int gr_order_mixed(gr_int128 a, double b);
/* -1, 0, 1: a * factor beside b, all within a decimal's digits: however many those of the product are. */
int gr_order_scaled(gr_int128 a, gr_int128 factor, gr_int128 b);
/* 10^power, 0 to 38: how many units of a decimal of that scale are 1. */
gr_int128 gr_power_of_ten(int power);
/* units / unit, halves away from 0. */
gr_int128 gr_decimal_round(gr_int128 units, gr_int128 unit);
/* The float64 nearest to a decimal. */
double gr_decimal_real(gr_int128 units, int scale);

/* Whether no row can make it fail: no arithmetic that overflows, no cast. After the check. */
bool gr_expr_is_safe(const struct gr_expr *expr);

#endif
