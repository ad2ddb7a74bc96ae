/* Dtypes of functions: by their signatures, and of casts and others with a rule of their own. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "data/value/spec.h"
#include "data/value/tzone.h"
#include "graph/expr/check/check.h"

/* Counted in days or microseconds. */
static bool
is_of_units(granary_dtype dtype)
{
    return gr_dtype_class(dtype) == GR_CLASS_MOMENT || gr_dtype_class(dtype) == GR_CLASS_DURATION;
}

/* Whether values of one dtype, no lists, are cast to another. */
static bool
casts(granary_dtype from, granary_dtype to)
{
    bool numbers = expr_is_numeric(from) && expr_is_numeric(to);
    bool texts = from == GRANARY_STRING || to == GRANARY_STRING;
    bool bools = (from == GRANARY_BOOL && expr_is_numeric(to)) || (to == GRANARY_BOOL && expr_is_numeric(from));
    bool times = (expr_has_day(from) && expr_has_day(to)) || (expr_is_integer(from) && is_of_units(to)) ||
                 (expr_is_integer(to) && is_of_units(from)) ||
                 (to == GRANARY_TIME && (from == GRANARY_TIMESTAMP || from == GRANARY_TIMESTAMPTZ));

    return from == to || numbers || texts || bools || times;
}

granary_err
expr_check_cast(struct gr_expr *expr)
{
    granary_dtype from = expr->operands[0]->dtype;
    granary_dtype to = expr->target;
    bool lists = expr_is_list(from) && expr_is_list(to);
    struct expr_shown shown;

    if (from == GRANARY_STRING && expr_is_list(to)) {
        granary_err err = expr_parse_list(expr);

        if (err != GRANARY_OK) {
            return err;
        }
        from = expr->operands[0]->dtype;
        lists = true;
    }
    if (expr->op == GR_OP_CAST && lists && from != to) {
        granary_err err = expr_cast_items(expr->operands[0], to);

        if (err != GRANARY_OK) {
            return err;
        }
        from = expr->operands[0]->dtype;
    }
    if (from == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[0], to);
    } else if (lists ? from != to && (expr->op != GR_OP_CAST || !casts(GRANARY_LIST_ITEM(from), GRANARY_LIST_ITEM(to)))
               : expr_is_list(from) != expr_is_list(to) ? to != GRANARY_STRING
                                                        : !casts(from, to)) {
        return gr_fail(GRANARY_ETYPE, "position %d: %s cannot be cast to %s", expr->position,
                       expr_show(expr->operands[0], &shown), granary_dtype_name(to));
    }
    expr->dtype = to;
    expr_fold(expr);
    return GRANARY_OK;
}

granary_err
expr_check_convert(struct gr_expr *expr)
{
    (void)expr; /* an earlier check made it and gave it its dtype */
    return GRANARY_OK;
}

granary_err
expr_check_timezone(struct gr_expr *expr)
{
    const struct gr_expr *zone = expr->operands[0];
    const struct gr_tzone *found;
    granary_err err = GRANARY_OK;

    if (zone->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[0], GRANARY_STRING);
    }
    if (zone->dtype != GRANARY_STRING) {
        return expr_wrong_operand(expr, 0, "a time zone, such as 'Europe/Berlin',");
    }
    if (expr_is_text(zone) && gr_tzone_find(zone->text, zone->text_size, &found) != GRANARY_OK) {
        return gr_fail_in(GRANARY_EINVAL, "position %d", zone->position);
    }
    if (expr->operands[1]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[1], GRANARY_TIMESTAMPTZ);
    }
    if (expr->operands[1]->dtype == GRANARY_DATE) {
        err = expr_convert(&expr->operands[1], GRANARY_TIMESTAMP);
    }
    if (err == GRANARY_OK && !expr_has_day(expr->operands[1]->dtype)) {
        return expr_wrong_operand(expr, 1, "a timestamp or timestamptz");
    }
    expr->dtype =
        err == GRANARY_OK && expr->operands[1]->dtype == GRANARY_TIMESTAMPTZ ? GRANARY_TIMESTAMP : GRANARY_TIMESTAMPTZ;
    return err;
}

granary_err
expr_check_tz_localize(struct gr_expr *expr)
{
    granary_err err;

    if (expr->operands[1]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[1], GRANARY_TIMESTAMP);
    }
    err = expr_check_timezone(expr);
    return err == GRANARY_OK && expr->operands[1]->dtype != GRANARY_TIMESTAMP
               ? expr_wrong_operand(expr, 1, "a timestamp, which is no instant yet,")
               : err;
}

static const struct {
    char letter;
    const char *wants;
    granary_dtype alone;
} letters[] = {
    {'s', "a string", GRANARY_STRING},
    {'i', "an integer", GRANARY_INT64},
    {'n', "a number", GRANARY_FLOAT64},
    {'x', "a number", GRANARY_FLOAT64},
    {'t', "a date or timestamp", GRANARY_DATE},
    {'*', "a value", GRANARY_STRING},
    {'p', "a date, time, timestamp or duration", GRANARY_TIMESTAMP},
    {'r', "a date, timestamp or duration", GRANARY_TIMESTAMP},
    {'y', "a binary", GRANARY_BINARY},
    {'w', "a string or binary", GRANARY_STRING},
};

static bool
letter_takes(char letter, const struct gr_expr *expr)
{
    switch (letter) {
    case 's':
        return expr->dtype == GRANARY_STRING;
    case 'y':
        return expr->dtype == GRANARY_BINARY;
    case 'w':
        return gr_dtype_is_text(expr->dtype);
    case 'i':
        return expr_is_integer(expr->dtype);
    case 'n':
    case 'x':
        return expr_is_numeric(expr->dtype);
    case 't':
        return expr_has_day(expr->dtype);
    case 'p':
        return expr_has_day(expr->dtype) || expr->dtype == GRANARY_TIME || expr->dtype == GRANARY_DURATION;
    case 'r':
        return expr_has_day(expr->dtype) || expr->dtype == GRANARY_DURATION;
    default:
        return true;
    }
}

static granary_dtype
letter_gives(char letter, const struct gr_expr *expr)
{
    switch (letter) {
    case 's':
        return GRANARY_STRING;
    case 'i':
        return GRANARY_INT64;
    case 'y':
        return GRANARY_BINARY;
    case 'f':
        return GRANARY_FLOAT64;
    case 'b':
        return GRANARY_BOOL;
    case 'd':
        return GRANARY_DATE;
    case 'm':
        return GRANARY_TIMESTAMP;
    default:
        return expr->operands[0]->dtype;
    }
}

granary_err
expr_check_signature(struct gr_expr *expr)
{
    const char *signature = expr_signature(expr->op);
    const char *letter = signature;
    bool small = true; /* all are float32 */

    for (size_t i = 0; i < expr->operand_count; i++) {
        struct gr_expr *operand = expr->operands[i];
        size_t at = 0;

        while (letters[at].letter != *letter) {
            at++;
        }
        if (operand->dtype == GRANARY_NULLTYPE) {
            expr_become_null(operand, letters[at].alone);
        }
        if (expr_is_text(operand) && (expr_is_numeric(letters[at].alone) || *letter == 'y')) {
            granary_err err = expr_read_argument(expr, operand, letters[at].alone);

            if (err != GRANARY_OK) {
                return err;
            }
        }
        if (!letter_takes(*letter, operand)) {
            return expr_wrong_operand(expr, i, letters[at].wants);
        }
        small = small && (operand->dtype == GRANARY_FLOAT32 || expr_is_weak(operand));
        letter += letter[1] != '>';
    }
    if (signature[0] == 'x') {
        for (size_t i = 0; i < expr->operand_count; i++) {
            bool weak = expr_is_weak(expr->operands[i]);
            granary_err err = expr_convert(&expr->operands[i], small && !weak ? GRANARY_FLOAT32 : GRANARY_FLOAT64);

            if (err != GRANARY_OK) {
                return err;
            }
        }
    }
    expr->dtype = letter_gives(letter[strlen(letter) - 1], expr);
    if (signature[0] == 'x' && expr->dtype != GRANARY_BOOL && !small) {
        expr->dtype = GRANARY_FLOAT64;
    }
    return GRANARY_OK;
}

/* Strings, or binaries. What is neither becomes a string. */
granary_err
expr_check_joined(struct gr_expr *expr)
{
    granary_dtype dtype = GRANARY_STRING;

    for (size_t i = 0; i < expr->operand_count; i++) {
        if (expr_is_list(expr->operands[i]->dtype)) {
            expr->op = expr->operand_count == 2 ? GR_OP_LIST_BEHIND : GR_OP_LIST_CONCAT; /* SQL's || has two */
            return expr_check_list_concat(expr);
        }
    }
    for (size_t i = 0; i < expr->operand_count; i++) {
        dtype = expr->operands[i]->dtype == GRANARY_BINARY ? GRANARY_BINARY : dtype;
    }
    for (size_t i = 0; i < expr->operand_count; i++) {
        struct gr_expr *operand = expr->operands[i];
        granary_err err = GRANARY_OK;

        if (operand->dtype == GRANARY_NULLTYPE) {
            expr_become_null(operand, dtype);
        } else if (dtype == GRANARY_BINARY && expr_is_text(operand)) {
            err = expr_read_argument(expr, operand, dtype);
        } else if (dtype == GRANARY_STRING && operand->dtype != dtype && !expr_is_list(operand->dtype)) {
            err = expr_cast_call(&expr->operands[i], dtype);
        }
        if (err != GRANARY_OK || expr->operands[i]->dtype != dtype) {
            return err != GRANARY_OK ? err
                                     : expr_wrong_operand(expr, i, dtype == GRANARY_BINARY ? "a binary" : "a string");
        }
    }
    expr->dtype = dtype;
    return GRANARY_OK;
}

/* How many digits behind the point are left, as far as that is known: each row may ask for others. */
static int
digits_left(const struct gr_expr *rounding, int scale)
{
    const struct gr_expr *asked = rounding->operand_count > 1 ? rounding->operands[1] : NULL;

    if (asked == NULL) {
        return 0;
    }
    return !expr_is_literal(asked) || asked->value.i > scale ? scale : asked->value.i < 0 ? 0 : (int)asked->value.i;
}

granary_err
expr_check_short(struct gr_expr *expr)
{
    granary_err err = expr_check_signature(expr);

    if (err == GRANARY_OK && expr_is_decimal(expr->dtype)) {
        expr->dtype = GRANARY_DECIMAL(digits_left(expr, gr_dtype_scale(expr->dtype)));
    }
    return err;
}

/* Texts of any dtype; or lists. */
granary_err
expr_check_joined_there(struct gr_expr *expr)
{
    for (size_t i = 0; i < expr->operand_count && expr->op == GR_OP_CONCAT_THERE; i++) {
        if (expr_is_list(expr->operands[i]->dtype)) {
            expr->op = GR_OP_LIST_CONCAT;
            return expr_check_list_concat(expr);
        }
    }
    for (size_t i = 0; i < expr->operand_count; i++) {
        granary_err err = GRANARY_OK;

        if (expr->operands[i]->dtype == GRANARY_NULLTYPE) {
            expr_become_null(expr->operands[i], GRANARY_STRING);
        } else if (expr->operands[i]->dtype != GRANARY_STRING) {
            err = expr_cast_call(&expr->operands[i], GRANARY_STRING);
        }
        if (err != GRANARY_OK) {
            return err;
        }
    }
    expr->dtype = GRANARY_STRING;
    return GRANARY_OK;
}

/* Integers, of which each of two has the dtype that holds both. */
granary_err
expr_check_bits(struct gr_expr *expr)
{
    bool shifts = expr->op == GR_OP_SHIFT_LEFT || expr->op == GR_OP_SHIFT_RIGHT;
    granary_err err;

    expr_settle_nulls(expr, GRANARY_INT64);
    err = expr_read_texts(expr);
    for (size_t i = 0; i < expr->operand_count && err == GRANARY_OK; i++) {
        struct gr_expr *operand = expr->operands[i];

        if (expr_is_weak(operand) && operand->dtype == GRANARY_INT64) {
            bool alone = expr->op == GR_OP_BIT_COUNT && gr_dtype_fits(GRANARY_INT32, operand->value.i);

            expr_adopt(operand, alone ? GRANARY_INT32 : expr->operands[i == 0 ? expr->operand_count - 1 : 0]->dtype,
                       false);
        }
        err = expr_is_integer(operand->dtype) ? GRANARY_OK : expr_wrong_operand(expr, i, "an integer");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    expr->dtype = expr->operand_count == 1 || shifts ? expr->operands[0]->dtype
                                                     : expr_promote(expr->operands[0]->dtype, expr->operands[1]->dtype);
    if (!expr_is_integer(expr->dtype)) {
        return expr_wrong_type(expr, "integers that one dtype holds");
    }
    expr->dtype = expr->op == GR_OP_BIT_COUNT   ? GRANARY_INT64
                  : expr->op == GR_OP_FACTORIAL ? GRANARY_DECIMAL(0)
                                                : expr->dtype;
    return GRANARY_OK;
}

/* Of an integer another function: its digits, and not its bytes. */
granary_err
expr_check_based(struct gr_expr *expr)
{
    if (expr_is_integer(expr->operands[0]->dtype)) {
        expr->op = expr->op == GR_OP_HEX ? GR_OP_HEX_INTEGER : GR_OP_BIN_INTEGER;
    }
    return expr_check_signature(expr);
}

/* Which types of formats a value has; NULL: none. */
static const char *
formats_of(granary_dtype dtype)
{
    bool reals = gr_dtype_class(dtype) == GR_CLASS_DECIMAL || dtype == GRANARY_FLOAT64 || dtype == GRANARY_FLOAT32;

    return dtype == GRANARY_BOOL                                                 ? "sd"
           : dtype == GRANARY_UINT64                                             ? NULL
           : expr_is_integer(dtype)                                              ? "dxXobhH"
           : reals                                                               ? "fFeEgG"
           : gr_dtype_is_text(dtype) || gr_dtype_class(dtype) == GR_CLASS_MOMENT ? "s"
                                                                                 : NULL;
}

/* A value as an integer, a float64 or a string, whichever of these its format writes. */
granary_err
expr_check_formatted(struct gr_expr *expr)
{
    const struct gr_expr *said = expr->operands[1];
    struct gr_spec spec;
    granary_dtype dtype;
    const char *types;

    expr->dtype = GRANARY_STRING;
    if (!expr_is_literal(said) || said->dtype != GRANARY_STRING || !gr_spec_parse(said->text, said->text_size, &spec)) {
        return expr_wrong_operand(expr, 1, "a format as written: '>8', '05d', '.2f' or ','");
    }
    if (expr->operands[0]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[0], GRANARY_STRING);
        return GRANARY_OK;
    }
    dtype = expr->operands[0]->dtype;
    types = formats_of(dtype);
    if (types == NULL || (spec.type != '\0' && strchr(types, spec.type) == NULL)) {
        return expr_wrong_operand(expr, 0,
                                  types == NULL ? "a string, number, bool, date or timestamp"
                                                : "a value that this type of format writes: cast it");
    }
    if (types[0] == 'f') {
        return spec.precision == 0 && spec.type == '\0'
                   ? expr_wrong_operand(expr, 1, "a type behind the digits of a float: '.2f'")
               : dtype == GRANARY_FLOAT32 ? GRANARY_OK
                                          : expr_convert(&expr->operands[0], GRANARY_FLOAT64);
    }
    if (types[0] == 'd' || spec.type == 'd') {
        return spec.precision >= 0     ? expr_wrong_operand(expr, 1, "no digits behind a point of an integer")
               : dtype == GRANARY_BOOL ? expr_cast_call(&expr->operands[0], GRANARY_INT64)
                                       : GRANARY_OK;
    }
    if (spec.sign != '\0' || spec.zeros || spec.group != '\0') {
        return expr_wrong_operand(expr, 1, "no sign, zeros or groups of what is no number");
    }
    return dtype == GRANARY_STRING ? GRANARY_OK : expr_cast_call(&expr->operands[0], GRANARY_STRING);
}

/* ---- names of dtypes ---- */

const char *
gr_dtype_sql_name(granary_dtype dtype)
{
    static const struct {
        granary_dtype dtype;
        const char *name;
    } names[] = {
        {GRANARY_BOOL, "BOOLEAN"},
        {GRANARY_INT8, "TINYINT"},
        {GRANARY_INT16, "SMALLINT"},
        {GRANARY_INT32, "INTEGER"},
        {GRANARY_INT64, "BIGINT"},
        {GRANARY_UINT8, "UTINYINT"},
        {GRANARY_UINT16, "USMALLINT"},
        {GRANARY_UINT32, "UINTEGER"},
        {GRANARY_UINT64, "UBIGINT"},
        {GRANARY_FLOAT32, "FLOAT"},
        {GRANARY_FLOAT64, "DOUBLE"},
        {GRANARY_STRING, "VARCHAR"},
        {GRANARY_BINARY, "BLOB"},
        {GRANARY_DATE, "DATE"},
        {GRANARY_TIME, "TIME"},
        {GRANARY_TIMESTAMP, "TIMESTAMP"},
        {GRANARY_TIMESTAMPTZ, "TIMESTAMP WITH TIME ZONE"},
        {GRANARY_DURATION, "INTERVAL"},
    };
    size_t i = 0;

    while (i < sizeof names / sizeof names[0] && names[i].dtype != dtype) {
        i++;
    }
    return i < sizeof names / sizeof names[0] ? names[i].name : NULL;
}

/* A constant. How many digits a decimal may have is not kept. */
granary_err
expr_check_typeof(struct gr_expr *expr)
{
    const struct gr_expr *operand = expr->operands[0];
    granary_dtype dtype = operand->dtype;
    const char *lists[] = {"", "[]", "[][]", "[][][]"};
    size_t deep = 0;
    bool small =
        expr_is_weak(operand) && operand->dtype == GRANARY_INT64 && gr_dtype_fits(GRANARY_INT32, operand->value.i);
    const char *name;
    char *text = NULL;

    for (; expr_is_list(dtype) && deep + 1 < sizeof lists / sizeof lists[0]; deep++) {
        dtype = GRANARY_LIST_ITEM(dtype);
    }
    name = dtype == GRANARY_NULLTYPE ? "\"NULL\"" : gr_dtype_sql_name(small ? GRANARY_INT32 : dtype);
    if (name == NULL) {
        return expr_wrong_type(expr, "a value that is no decimal");
    }
    if (asprintf(&text, "%s%s", name, lists[deep]) < 0) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    expr_become_null(expr, GRANARY_STRING);
    expr->is_null = false;
    expr->text = text;
    expr->text_size = strlen(text);
    return GRANARY_OK;
}
