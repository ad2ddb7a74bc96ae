/* Dtypes of functions that count in units of time, and of moments that are made. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "graph/expr/check/check.h"

/* Parts of moments, what they are called, and the unit that a moment with such a part is cut to or counted in, as kernels call
 * it; NULL: there is none. Of a part of weeks or years it is the day. */
static const struct part {
    enum gr_expr_op op;
    const char *unit;
    const char *names[6];
} parts[] = {
    {GR_OP_YEAR, "year", {"year", "years", "y", "yr", "yrs"}},
    {GR_OP_QUARTER, "quarter", {"quarter", "quarters"}},
    {GR_OP_MONTH, "month", {"month", "months", "mon", "mons"}},
    {GR_OP_WEEK, "week", {"week", "weeks", "w", "weekofyear"}},
    {GR_OP_DAY, "day", {"day", "days", "d", "dayofmonth"}},
    {GR_OP_DAYOFWEEK, "day", {"dow", "isodow", "dayofweek", "weekday"}},
    {GR_OP_DAYOFYEAR, "day", {"doy", "dayofyear"}},
    {GR_OP_HOUR, "hour", {"hour", "hours", "h", "hr", "hrs"}},
    {GR_OP_MINUTE, "minute", {"minute", "minutes", "m", "min", "mins"}},
    {GR_OP_SECOND, "second", {"second", "seconds", "s", "sec", "secs"}},
    {GR_OP_MILLISECONDS, "millisecond", {"millisecond", "milliseconds", "ms", "msec", "msecs"}},
    {GR_OP_MICROSECONDS, "microsecond", {"microsecond", "microseconds", "us", "usec", "usecs"}},
    {GR_OP_NANOSECONDS, NULL, {"nanosecond", "nanoseconds"}},
    {GR_OP_DECADE, "decade", {"decade", "decades", "dec", "decs"}},
    {GR_OP_CENTURY, "century", {"century", "centuries", "cent", "c"}},
    {GR_OP_MILLENNIUM, "millennium", {"millennium", "millennia", "mil", "millenium"}},
    {GR_OP_ERA, NULL, {"era"}},
    {GR_OP_ISOYEAR, "isoyear", {"isoyear"}},
    {GR_OP_YEARWEEK, NULL, {"yearweek"}},
    {GR_OP_JULIAN, "day", {"julian"}},
    {GR_OP_EPOCH, NULL, {"epoch"}},
};

/* NULL: there is none */
static const struct part *
part_named(const char *name)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        for (size_t k = 0; k < sizeof parts[i].names / sizeof parts[i].names[0] && parts[i].names[k] != NULL; k++) {
            if (strcasecmp(parts[i].names[k], name) == 0) {
                return &parts[i];
            }
        }
    }
    return NULL;
}

bool
gr_expr_part_named(const char *name, enum gr_expr_op *ret_op)
{
    const struct part *part = part_named(name);

    *ret_op = part != NULL ? part->op : *ret_op;
    return part != NULL;
}

const char *
gr_expr_unit_named(const char *name)
{
    const struct part *part = part_named(name);

    return part != NULL ? part->unit : NULL;
}

/* The unit in quotes, operand 0, gets the kernels' name. isoyear: whether that is one */
static granary_err
check_unit(struct gr_expr *expr, bool isoyear)
{
    struct gr_expr *unit = expr->operands[0];
    const char *name;
    char *copy;

    if (!expr_is_text(unit)) {
        return expr_wrong_operand(expr, 0, "a unit in quotes, such as 'month',");
    }
    name = gr_expr_unit_named(unit->text);
    if (name == NULL || (!isoyear && strcmp(name, "isoyear") == 0)) {
        return gr_fail(GRANARY_EINVAL,
                       "position %d: %s() knows year, quarter, month, week, day, hour, minute, second, millisecond, "
                       "microsecond, decade, century, millennium, not '%.60s'",
                       unit->position, gr_expr_op_text(expr->op), unit->text);
    }
    copy = strdup(name);
    if (copy == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    free(unit->text);
    unit->text = copy;
    unit->text_size = strlen(copy);
    return GRANARY_OK;
}

/* A text as written is a date, or a timestamp. */
static granary_err
read_moment(const struct gr_expr *expr, struct gr_expr *operand)
{
    if (operand->dtype == GRANARY_NULLTYPE) {
        expr_become_null(operand, GRANARY_TIMESTAMP);
    }
    return expr_is_text(operand) ? expr_read_argument(expr, operand, GRANARY_TIMESTAMP) : GRANARY_OK;
}

/* A date becomes its midnight; what has a time of day stays. It is a cast from then on. */
granary_err
expr_check_moment(struct gr_expr *expr)
{
    granary_dtype dtype = expr->operands[0]->dtype;

    expr->op = GR_OP_CAST;
    expr->target = dtype == GRANARY_DATE || dtype == GRANARY_NULLTYPE ? GRANARY_TIMESTAMP : dtype;
    return expr_check_cast(expr);
}

granary_err
expr_check_date_trunc(struct gr_expr *expr)
{
    struct gr_expr *unit = expr->operands[0];
    granary_err err = GRANARY_OK;

    if (unit->dtype == GRANARY_NULLTYPE) {
        expr_become_null(unit, GRANARY_STRING);
    }
    if (unit->dtype != GRANARY_STRING || expr_is_text(unit)) { /* else each row says it */
        err = check_unit(expr, true);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (expr->operands[1]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[1], GRANARY_DATE);
    }
    if (!expr_has_day(expr->operands[1]->dtype)) {
        return expr_wrong_operand(expr, 1, "a date or timestamp");
    }
    expr->dtype = expr->operands[1]->dtype;
    return GRANARY_OK;
}

granary_err
expr_check_date_part(struct gr_expr *expr)
{
    struct gr_expr *at = expr->operands[1];

    if (expr->operands[0]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[0], GRANARY_STRING);
    }
    if (at->dtype == GRANARY_NULLTYPE) {
        expr_become_null(at, GRANARY_DATE);
    }
    expr->dtype = GRANARY_INT64;
    if (expr->operands[0]->dtype != GRANARY_STRING) {
        return expr_wrong_operand(expr, 0, "the name of a part");
    }
    return expr_has_day(at->dtype) || at->dtype == GRANARY_TIME || at->dtype == GRANARY_DURATION
               ? GRANARY_OK
               : expr_wrong_operand(expr, 1, "a date, time, timestamp or duration");
}

/* Two of one dtype. */
granary_err
expr_check_date_diff(struct gr_expr *expr)
{
    granary_err err = check_unit(expr, false);
    granary_dtype dtype;

    for (size_t i = 1; i < 3 && err == GRANARY_OK; i++) {
        err = read_moment(expr, expr->operands[i]);
        if (err == GRANARY_OK && !expr_has_day(expr->operands[i]->dtype) && expr->operands[i]->dtype != GRANARY_TIME) {
            err = expr_wrong_operand(expr, i, "a date, time or timestamp");
        }
    }
    if (err != GRANARY_OK) {
        return err;
    }
    dtype = expr->operands[1]->dtype;
    if (dtype != expr->operands[2]->dtype) {
        if (!expr_is_temporal(dtype) || !expr_is_temporal(expr->operands[2]->dtype)) {
            return expr_wrong_operand(expr, 2, "what its argument before is");
        }
        err = expr_convert(&expr->operands[1], GRANARY_TIMESTAMP);
        err = err == GRANARY_OK ? expr_convert(&expr->operands[2], GRANARY_TIMESTAMP) : err;
    }
    expr->dtype = GRANARY_INT64;
    return err;
}

/* The width is an interval as written, of months or of microseconds. */
granary_err
expr_check_time_bucket(struct gr_expr *expr)
{
    struct gr_expr *width = expr->operands[0];
    granary_err err;

    if (expr_is_text(width)) {
        err = expr_read_argument(expr, width, GRANARY_DURATION);
        if (err != GRANARY_OK) {
            return err;
        }
    }
    if (!expr_is_literal(width) || !width->is_interval || (width->months != 0) == (width->value.i != 0) ||
        width->months < 0 || width->value.i < 0) {
        return expr_wrong_operand(expr, 0, "an interval as written, of months or of days and less,");
    }
    err = read_moment(expr, expr->operands[1]);
    if (err != GRANARY_OK) {
        return err;
    }
    if (!expr_has_day(expr->operands[1]->dtype)) {
        return expr_wrong_operand(expr, 1, "a date or timestamp");
    }
    expr->dtype = expr->operands[1]->dtype;
    if (expr->operand_count == 2) {
        return GRANARY_OK;
    }
    if (width->months != 0 || expr->operands[2]->months != 0) {
        return expr_wrong_operand(expr, 2, "no origin beside months, and no months");
    }
    err = expr->operands[2]->dtype == GRANARY_DURATION ? GRANARY_OK : read_moment(expr, expr->operands[2]);
    if (err == GRANARY_OK && expr->operands[2]->dtype != expr->dtype && expr->operands[2]->dtype != GRANARY_DURATION) {
        if (!expr_is_temporal(expr->dtype) || !expr_is_temporal(expr->operands[2]->dtype)) {
            return expr_wrong_operand(expr, 2, "a moment of that dtype, or an interval");
        }
        err = expr_convert(&expr->operands[1], GRANARY_TIMESTAMP);
        err = err == GRANARY_OK ? expr_convert(&expr->operands[2], GRANARY_TIMESTAMP) : err;
        expr->dtype = GRANARY_TIMESTAMP;
    }
    return err;
}

/* Whole numbers, and seconds with a fraction. */
granary_err
expr_check_clock_make(struct gr_expr *expr)
{
    size_t last = expr->operand_count - 1;

    for (size_t i = 0; i <= last; i++) {
        struct gr_expr *operand = expr->operands[i];
        granary_err err = GRANARY_OK;

        if (operand->dtype == GRANARY_NULLTYPE) {
            expr_become_null(operand, i == last ? GRANARY_FLOAT64 : GRANARY_INT64);
        } else if (expr_is_text(operand)) {
            err = expr_read_argument(expr, operand, i == last ? GRANARY_FLOAT64 : GRANARY_INT64);
        }
        if (err == GRANARY_OK && !(i == last ? expr_is_numeric(operand->dtype) : expr_is_integer(operand->dtype))) {
            err = expr_wrong_operand(expr, i, i == last ? "a number" : "an integer");
        }
        if (err != GRANARY_OK) {
            return err;
        }
    }
    expr->dtype = last == 2 ? GRANARY_TIME : GRANARY_TIMESTAMP;
    return expr_convert(&expr->operands[last], GRANARY_FLOAT64);
}

granary_err
expr_check_epoch_units(struct gr_expr *expr)
{
    struct gr_expr *operand = expr->operands[0];
    granary_err err = expr_is_integer(operand->dtype) ? GRANARY_OK : read_moment(expr, operand);

    if (err == GRANARY_OK && expr->op == GR_OP_EPOCH_MS && expr_is_integer(operand->dtype)) {
        expr->dtype = GRANARY_TIMESTAMP;
        return GRANARY_OK;
    }
    if (err == GRANARY_OK && !expr_has_day(operand->dtype) && operand->dtype != GRANARY_TIME &&
        operand->dtype != GRANARY_DURATION) {
        return expr_wrong_type(expr, "a date, time, timestamp or duration");
    }
    expr->dtype = GRANARY_INT64;
    return err;
}
