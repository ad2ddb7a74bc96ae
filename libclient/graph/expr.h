/* clang-format off */
/*
 * Expressions over the columns of a frame: parsed, checked against a schema, evaluated by kernels
 * (executor/kernel/eval.c).
 *
 *   expr    := or
 *   or      := and { "or" and }
 *   and     := not { "and" not }
 *   not     := "not" not | compare
 *   compare := sum [ ("=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=") sum | "is" ["not"] "null" ]
 *   sum     := product { ("+" | "-") product }
 *   product := unary { ("*" | "/" | "%") unary }
 *   unary   := "-" unary | primary
 *   primary := number | 'text' | "text" | true | false | null | date 'YYYY-MM-DD' | timestamp 'YYYY-MM-DD hh:mm:ss'
 *            | name | `any name` | "(" expr ")" | function "(" expr ")"
 *   function: abs, sqrt, isnull, notnull, year, month, day, lower, length
 *
 * Keywords and functions in any case. A quote within quotes is doubled: 'it''s', `a``b`. Names without backquotes
 * begin with a letter or "_" and go on with those and digits; every character beyond ASCII counts as a letter.
 *
 * "&", "|", "~", "&&", "||", "!" are accepted for and, or, not; they bind like the words, so that
 * `a > 1 & b > 2` means what it says.
 *
 * Arithmetic: int64 op int64 is int64 except "/" (float64); overflow of int64 is an error of the subtask; x / 0 is
 * inf or nan; int % 0 is null. Null in arithmetic or comparison gives null; and/or are three-valued; filter keeps
 * true rows only. Bools and columns of no dtype (null literals) compare by = and != only.
 */
/* clang-format on */
#ifndef GRAPH_EXPR_H
#define GRAPH_EXPR_H

#include <stdbool.h>

#include "graph/schema.h"

enum gr_expr_kind { GR_EXPR_COLUMN, GR_EXPR_LITERAL, GR_EXPR_CALL };

/* Functions of one or two operands; the table is in expr.c. */
enum gr_expr_op {
    GR_OP_ADD,
    GR_OP_SUBTRACT,
    GR_OP_MULTIPLY,
    GR_OP_DIVIDE,
    GR_OP_MODULO,
    GR_OP_NEGATE,
    GR_OP_EQUAL,
    GR_OP_NOT_EQUAL,
    GR_OP_LESS,
    GR_OP_LESS_EQUAL,
    GR_OP_GREATER,
    GR_OP_GREATER_EQUAL,
    GR_OP_AND,
    GR_OP_OR,
    GR_OP_NOT,
    GR_OP_IS_NULL,
    GR_OP_IS_NOT_NULL,
    GR_OP_ABS,
    GR_OP_SQRT,
    GR_OP_YEAR,
    GR_OP_MONTH,
    GR_OP_DAY,
    GR_OP_LOWER,
    GR_OP_LENGTH,
    GR_OP_TO_FLOAT64,   /* inserted by the check: int64 -> float64 */
    GR_OP_TO_TIMESTAMP, /* inserted by the check: date -> timestamp */
};

struct gr_expr {
    enum gr_expr_kind kind;
    granary_dtype dtype; /* of the value; set by gr_expr_check() */
    int position;        /* in the text, characters from 1, for messages */
    /* COLUMN */
    char *column;
    int column_index; /* in the schema; set by gr_expr_check() */
    /* LITERAL: dtype tells which; is_null: of any type */
    bool is_null;
    union {
        int64_t i; /* INT64, BOOL (0/1), DATE, TIMESTAMP */
        double d;
    } value;
    char *text; /* STRING */
    size_t text_size;
    /* CALL */
    enum gr_expr_op op;
    struct gr_expr *operands[2];
};

/* How deep brackets, not and - may nest, and how many operands and operators there may be: what walks an expression
 * recurses at most that deep. */
enum { GR_EXPR_NESTING = 200, GR_EXPR_NODES = 4096 };

/* Parse NUL-terminated UTF-8. Errors: EINVAL "expression `...`, position 7: ..." · ENOMEM */
granary_err gr_expr_parse(const char *text, struct gr_expr **ret_expr);
void gr_expr_destroy(struct gr_expr *expr);

/*
 * Bind columns and give every node its dtype; conversions are inserted. A string literal compared with a date or
 * timestamp is read as one. An operand without a dtype (literal null, a column without any value) becomes a null of
 * the other operand's dtype. May be called again with a schema of the same dtypes in another order.
 *
 * Errors: ENOENT unknown column (with the nearest name there is) · ETYPE names operator and both types · EINVAL a
 * string that is no date. Messages begin with "position 7: "
 */
granary_err gr_expr_check(struct gr_expr *expr, const struct gr_schema *schema);

/* Mark in used[0..schema->count) the columns the expression reads, before or after the check. Unknown names are
 * skipped. */
void gr_expr_columns(const struct gr_expr *expr, const struct gr_schema *schema, bool *used);

/* "+" for GR_OP_ADD, "year" for GR_OP_YEAR. Static storage. */
const char *gr_expr_op_text(enum gr_expr_op op);

/* Days since 1970-01-01 of "YYYY-MM-DD" (years 0001 to 9999). false: it is none. */
bool gr_date_parse(const char *text, size_t size, int32_t *ret_days);
/* Microseconds since 1970-01-01T00:00:00 of a date, or "YYYY-MM-DDThh:mm[:ss[.ffffff]]" with "T" or a space. */
bool gr_timestamp_parse(const char *text, size_t size, int64_t *ret_microseconds);

#endif
