/* What the parts of the check share: dtypes that meet, conversions, folding. In this room only. */
#ifndef GRAPH_EXPR_CHECK_H
#define GRAPH_EXPR_CHECK_H

#include "contract/int128.h"
#include "data/frame.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"

static inline bool
expr_is_integer(granary_dtype dtype)
{
    return gr_dtype_is_integer(dtype);
}
static inline bool
expr_is_decimal(granary_dtype dtype)
{
    return gr_dtype_kind(dtype) == GRANARY_DECIMAL;
}
static inline bool
expr_is_exact(granary_dtype dtype)
{
    return expr_is_integer(dtype) || expr_is_decimal(dtype);
}
static inline bool
expr_is_float(granary_dtype dtype)
{
    return gr_dtype_is_float(dtype);
}
static inline bool
expr_is_numeric(granary_dtype dtype)
{
    return gr_dtype_is_number(dtype);
}
/* Those that meet each other. */
static inline bool
expr_is_list(granary_dtype dtype)
{
    return gr_dtype_is_list(dtype);
}
static inline bool
expr_is_temporal(granary_dtype dtype)
{
    return dtype == GRANARY_DATE || dtype == GRANARY_TIMESTAMP;
}
/* Those that have a day. */
static inline bool
expr_has_day(granary_dtype dtype)
{
    return expr_is_temporal(dtype) || dtype == GRANARY_TIMESTAMPTZ;
}
static inline bool
expr_is_literal(const struct gr_expr *expr)
{
    return expr->kind == GR_EXPR_LITERAL && !expr->is_null;
}
static inline bool
expr_is_weak(const struct gr_expr *expr)
{
    return expr_is_literal(expr) && expr->is_number;
}

/* How a text of that dtype is written, behind a message that it is none; "": as anybody would. */
const char *expr_form_of(granary_dtype dtype);
/* What a text says as microseconds: a timestamp, instant or time. false: it is none of that dtype */
bool expr_read_clock(granary_dtype dtype, const char *text, size_t size, int64_t *ret_microseconds);

/* Of an interval: from year 0 to 9999. */
enum { EXPR_MONTHS_MOST = 120000 };

/* The float64 nearest to what digits with a point or exponent say, whatever locale a host program has set. false: out
 * of memory */
bool expr_read_real(const char *text, double *ret_value);

/* Units of 10^-scale as digits with a point. Returns where in ret_text they begin. */
enum { EXPR_DECIMAL_TEXT = 48 };
const char *expr_decimal_text(gr_int128 units, int scale, char ret_text[EXPR_DECIMAL_TEXT]);

/* A cast of a list of values as written is one of each value; other lists stay as they are. */
granary_err expr_cast_items(struct gr_expr *list, granary_dtype to);
/* A cast of a string to a list becomes one of the list that it says. Errors: ENOMEM */
granary_err expr_parse_list(struct gr_expr *cast);
/* Whether a list is [] or one of nulls as written, which may be of any dtype; and it gets one. */
bool expr_list_is_open(const struct gr_expr *list);
void expr_list_become(struct gr_expr *list, granary_dtype dtype);
/* Operand i is a list; a null becomes one of strings. Errors: ETYPE */
granary_err expr_need_list(struct gr_expr *expr, size_t i);
/* It is a string; a null becomes one. Errors: ETYPE */
granary_err expr_need_text(struct gr_expr *expr, size_t i);
/* [], or a list of nulls as written, becomes one of that dtype. false: it is another list */
bool expr_nulls_become(struct gr_expr *list, granary_dtype dtype);
/* Lists of different numbers become lists of one dtype. Errors: ENOMEM */
granary_err expr_widen_lists(struct gr_expr ***slots, size_t count);
/* [] and lists of nulls as written take the dtype of another list among these. */
void expr_adopt_lists(struct gr_expr ***slots, size_t count);

/* The dtype of a number as written that meets no other: int64, or the next that holds it; with a point float64. With a
 * mark int64 or a decimal. */
granary_dtype expr_dtype_alone(const struct gr_expr *number);

/* A number as written (not scale -1) in units of 10^-scale, halves away from 0. false: they are more than a decimal's
 * digits */
bool expr_number_units(const struct gr_expr *number, int scale, gr_int128 *ret_units);

/* The dtype of two numbers' sum, as in NumPy; decimals: the larger scale; with floats float64. Both are numeric. */
granary_dtype expr_promote(granary_dtype a, granary_dtype b);

/* A number as written takes the dtype of what it meets, if that holds it exactly (floats: rounded). keep_scale: beside
 * a decimal it becomes one with the scale it has. */
void expr_adopt(struct gr_expr *literal, granary_dtype dtype, bool keep_scale);

/* The same where values are only compared: an integer stays one beside floats that do not hold it, and beside integers
 * a fraction whose float64 is whole becomes a decimal. */
void expr_adopt_compared(struct gr_expr *literal, granary_dtype dtype);

/* Put a conversion around an operand, unless values of both dtypes are computed alike; literals are converted at once.
 * Errors: ENOMEM */
granary_err expr_convert(struct gr_expr **slot, granary_dtype dtype);

/* The same, of whatever both dtypes are. Errors: ENOMEM */
granary_err expr_cast_to(struct gr_expr **slot, granary_dtype dtype);

/* A call of CAST around an operand, whatever it is: one that may fail, and stays when the expression is checked again. A
 * string becomes a value, or a value a string. Errors: ENOMEM */
granary_err expr_cast_call(struct gr_expr **slot, granary_dtype dtype);

/* Whether a string beside a value of that dtype is read as one of it. */
bool expr_reads_strings(granary_dtype dtype);
/* A string that is no literal becomes a value of the dtype that it stands beside. Errors: ENOMEM */
granary_err expr_read_strings(struct gr_expr **slot, granary_dtype dtype);
/* A number is true when it is not 0; a text as written is read. What is neither stays. Errors: ENOMEM, EINVAL */
granary_err expr_become_truth(struct gr_expr **slot);

/* A null literal, or a node without a dtype, becomes a null of that dtype. */
void expr_become_null(struct gr_expr *expr, granary_dtype dtype);

/* Whether it is a text as written: it is read as a value of what it stands beside. */
bool expr_is_text(const struct gr_expr *expr);

/* A text as written becomes a literal: beside dates and timestamps one of either, beside decimals a number as written,
 * else of that dtype; beside lists a cast. Errors: EINVAL it is none; `beside`: what it met */
granary_err expr_read_text(struct gr_expr *text, granary_dtype dtype, const char *beside);

/*
 * Give several operands one dtype: nulls, numbers and texts as written adapt.
 * exact     integers beside numbers with a point become decimals, where values are only compared; else float64
 * alone     when no operand has a dtype
 * Errors    ETYPE *ret_clash: the first operand that does not fit to those before (no message) · EINVAL · ENOMEM
 */
granary_err expr_unify(struct gr_expr ***slots, size_t count, bool exact, granary_dtype alone, granary_dtype *ret_dtype,
                       size_t *ret_clash);

/* An operand as messages show it: "string (`Wildlife Species`)". Returns ret_shown->text. */
struct expr_shown {
    char text[160];
};
const char *expr_show(const struct gr_expr *expr, struct expr_shown *ret_shown);

/* ETYPE: the operator needs something else than its operands are. */
granary_err expr_wrong_type(const struct gr_expr *expr, const char *wants);
/* The same of one argument of a function. */
granary_err expr_wrong_operand(const struct gr_expr *expr, size_t i, const char *wants);
/* Operands without a dtype take that of the other one, or `alone`. */
void expr_settle_nulls(struct gr_expr *expr, granary_dtype alone);
/* A text as written beside a value of another dtype is read as one. Errors: EINVAL */
granary_err expr_read_texts(struct gr_expr *expr);
/* A text as written where a function takes a number. Errors: EINVAL */
granary_err expr_read_argument(const struct gr_expr *expr, struct gr_expr *text, granary_dtype dtype);
/* Errors: ENOMEM */
granary_err expr_convert_both(struct gr_expr *expr, granary_dtype dtype);

/* The operators' own rules, as graph/expr/ops.def names them. Operands have dtypes, and expr gets its. */
#define TYPES(signature)
#define CHECK(name)                               granary_err expr_check_##name(struct gr_expr *expr);
#define CHECK_TYPES(name, signature)              CHECK(name)
#define EXPR_OP(id, text, least, most, rule, ...) rule
#include "graph/expr/ops.def"
#undef TYPES
#undef CHECK
#undef CHECK_TYPES

/* As graph/expr/ops.def has it; NULL: there is none. */
const char *expr_signature(enum gr_expr_op op);
/* The rule of functions that have nothing but a signature. Errors: ETYPE, EINVAL, ENOMEM */
granary_err expr_check_signature(struct gr_expr *expr);

/* Of operators with intervals of months: only dates and timestamps have room for them. Errors: ETYPE */
granary_err expr_check_months(struct gr_expr *expr);
granary_err expr_months_alone(const struct gr_expr *expr);

/* Replace a call of literals by its value where that is known here. */
void expr_fold(struct gr_expr *expr);
/* The same for a sum of intervals as written, an interval times a whole number, and its negation. */
void expr_fold_intervals(struct gr_expr *expr);

#endif
