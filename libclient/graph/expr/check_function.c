/* Dtypes of functions: by their signatures, and of casts and others with a rule of their own. */
#include <string.h>

#include "base/error.h"
#include "data/value/tzone.h"
#include "graph/expr/check.h"

/* Counted in days or microseconds. */
static bool
is_of_units(granary_dtype dtype)
{
    return gr_dtype_class(dtype) == GR_CLASS_MOMENT || gr_dtype_class(dtype) == GR_CLASS_DURATION;
}

granary_err
expr_check_cast(struct gr_expr *expr)
{
    granary_dtype from = expr->operands[0]->dtype;
    granary_dtype to = expr->target;
    bool numbers = expr_is_numeric(from) && expr_is_numeric(to);
    bool texts = from == GRANARY_STRING || to == GRANARY_STRING;
    bool bools = (from == GRANARY_BOOL && expr_is_numeric(to)) || (to == GRANARY_BOOL && expr_is_numeric(from));
    bool times = (expr_has_day(from) && expr_has_day(to)) || (expr_is_integer(from) && is_of_units(to)) ||
                 (expr_is_integer(to) && is_of_units(from)) ||
                 (to == GRANARY_TIME && (from == GRANARY_TIMESTAMP || from == GRANARY_TIMESTAMPTZ));
    struct expr_shown shown;

    if (expr->op == GR_OP_CAST && expr_is_list(from) && expr_is_list(to) && from != to) {
        granary_err err = expr_cast_items(expr->operands[0], to);

        if (err != GRANARY_OK) {
            return err;
        }
        from = expr->operands[0]->dtype;
    }
    if (from == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[0], to);
    } else if (expr_is_list(from) != expr_is_list(to) ? to != GRANARY_STRING : expr_is_list(from) && from != to) {
        return gr_fail(GRANARY_ETYPE, "position %d: %s cannot be cast to %s", expr->position,
                       expr_show(expr->operands[0], &shown), granary_dtype_name(to));
    } else if (!(from == to || numbers || texts || bools || times)) {
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
expr_check_date_trunc(struct gr_expr *expr)
{
    const struct gr_expr *unit = expr->operands[0];

    if (!expr_is_literal(unit) || unit->dtype != GRANARY_STRING) {
        return expr_wrong_operand(expr, 0, "a unit in quotes, such as 'month',");
    }
    if (expr->operands[1]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[1], GRANARY_DATE);
    }
    if (!expr_has_day(expr->operands[1]->dtype)) {
        return expr_wrong_operand(expr, 1, "a date or timestamp");
    }
    static const char *const names[] = {"year", "quarter", "month", "week", "day", "hour", "minute", "second"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(unit->text, names[i]) == 0) {
            expr->dtype = expr->operands[1]->dtype;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EINVAL,
                   "position %d: date_trunc() knows year, quarter, month, week, day, hour, minute, second, not '%.60s'",
                   unit->position, unit->text);
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
    {'c', "a date, time or timestamp", GRANARY_TIMESTAMP},
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
    case 'c':
        return expr_has_day(expr->dtype) || expr->dtype == GRANARY_TIME;
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

/* Strings, or binaries. */
granary_err
expr_check_joined(struct gr_expr *expr)
{
    granary_dtype dtype = GRANARY_STRING;

    for (size_t i = 0; i < expr->operand_count; i++) {
        if (expr_is_list(expr->operands[i]->dtype)) {
            expr->op = GR_OP_LIST_CONCAT;
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
        }
        if (err != GRANARY_OK || operand->dtype != dtype) {
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
