/* Differences of dates and times, buckets of time, and moments made of numbers. */
#include <math.h>
#include <string.h>

#include "data/value/calendar.h"
#include "kernel/rows/node.h"

#define SECOND_US  INT64_C(1000000)
#define EPOCH_2000 10957 /* days; buckets of months begin here, others at the Monday after it */

static int64_t
floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* ---- units ---- */

/* So many months, or microseconds, that a unit has. */
struct unit {
    int64_t months;
    int64_t us;
    bool is_week;
};

static struct unit
unit_of(const char *name)
{
    static const struct {
        const char *name;
        struct unit unit;
    } units[] = {
        {"year", {12, 0, false}},
        {"quarter", {3, 0, false}},
        {"month", {1, 0, false}},
        {"decade", {120, 0, false}},
        {"century", {1200, 0, false}},
        {"millennium", {12000, 0, false}},
        {"week", {0, 7 * DAY_US, true}},
        {"day", {0, DAY_US, false}},
        {"hour", {0, 3600 * SECOND_US, false}},
        {"minute", {0, 60 * SECOND_US, false}},
        {"second", {0, SECOND_US, false}},
        {"millisecond", {0, 1000, false}},
        {"microsecond", {0, 1, false}},
    };
    size_t i = 0;

    while (i + 1 < sizeof units / sizeof units[0] && strcmp(units[i].name, name) != 0) {
        i++;
    }
    return units[i].unit;
}

static int64_t
days_of(granary_dtype dtype, int64_t at)
{
    return dtype == GRANARY_DATE ? at : floor_divide(at, DAY_US);
}

static int64_t
months_since_0(int64_t days)
{
    struct gr_civil civil = gr_date_civil(days);

    return civil.year * 12 + civil.month - 1;
}

/* ---- differences ---- */

/* How many beginnings of a unit lie between. Those of months divide years as numbers. */
static int64_t
borders_between(const struct unit *unit, granary_dtype dtype, int64_t a, int64_t b)
{
    if (unit->months > 0) {
        return months_since_0(days_of(dtype, b)) / unit->months - months_since_0(days_of(dtype, a)) / unit->months;
    }
    if (unit->is_week) { /* as in DuckDB: of the days between */
        return (days_of(dtype, b) - days_of(dtype, a)) / 7;
    }
    return dtype == GRANARY_DATE ? b - a : floor_divide(b, unit->us) - floor_divide(a, unit->us);
}

/* Whole months from a to a later b. The last day of b's month is as late as any of a's. */
static int64_t
whole_months(int64_t a, int64_t b)
{
    int64_t from = floor_divide(a, DAY_US);
    int64_t to = floor_divide(b, DAY_US);
    int64_t clock_a = a - from * DAY_US;
    int64_t clock_b = b - to * DAY_US;
    struct gr_civil first = gr_date_civil(from);
    struct gr_civil last = gr_date_civil(to);
    bool at_end = gr_date_civil(to + 1).day == 1;
    int day = at_end && first.day > last.day ? last.day : first.day;
    int64_t months = (last.year - first.year) * 12 + last.month - first.month;

    return months - (last.day < day || (last.day == day && clock_b < clock_a));
}

static int64_t
whole_units(const struct unit *unit, int64_t a, int64_t b)
{
    if (unit->months == 0) {
        return (b - a) / unit->us;
    }
    return a <= b ? whole_months(a, b) / unit->months : -(whole_months(b, a) / unit->months);
}

granary_err
op_date_diff(struct node *node, int64_t n)
{
    const struct unit unit = unit_of(node->operands[0]->expr->text);
    granary_dtype dtype = node->operands[1]->dtype;
    const int64_t *a = node->operands[1]->values;
    const int64_t *b = node->operands[2]->values;
    int64_t *out = node_room(node, ROWS_INT);
    int64_t scale = dtype == GRANARY_DATE ? DAY_US : 1;

    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t from = 0;
        int64_t to = 0;
        int64_t between;

        out[i] = 0;
        if (!node_counts(node, i)) {
            continue;
        }
        if (node->op == GR_OP_DATE_DIFF) {
            out[i] = borders_between(&unit, dtype, a[i], b[i]);
        } else if (__builtin_mul_overflow(a[i], scale, &from) || __builtin_mul_overflow(b[i], scale, &to) ||
                   __builtin_sub_overflow(to, from, &between)) {
            node_mark_bad(node, i, n);
        } else {
            out[i] = whole_units(&unit, from, to);
        }
    }
    return GRANARY_OK;
}

/* ---- buckets ---- */

/* The beginning of the bucket, in months since year 0. */
static bool
bucket_of_months(granary_dtype dtype, int64_t at, int64_t width, int64_t *ret_value)
{
    int64_t origin = months_since_0(EPOCH_2000);
    int64_t months = origin + floor_divide(months_since_0(days_of(dtype, at)) - origin, width) * width;
    int64_t year = floor_divide(months, 12);
    int64_t days = gr_date_days(year, (int)(months - year * 12) + 1, 1);

    *ret_value = days;
    return dtype == GRANARY_DATE || !__builtin_mul_overflow(days, DAY_US, ret_value);
}

static bool
bucket_of_time(int64_t at, int64_t width, int64_t origin, int64_t *ret_value)
{
    int64_t since;

    return !__builtin_sub_overflow(at, origin, &since) &&
           !__builtin_mul_overflow(floor_divide(since, width), width, &since) &&
           !__builtin_add_overflow(origin, since, ret_value);
}

granary_err
op_time_bucket(struct node *node, int64_t n)
{
    const struct gr_expr *width = node->operands[0]->expr;
    const struct node *shift = node->count > 2 ? node->operands[2] : NULL;
    granary_dtype dtype = node->operands[1]->dtype;
    const int64_t *at = node->operands[1]->values;
    int64_t scale = dtype == GRANARY_DATE ? DAY_US : 1;
    int64_t *out = node_room(node, ROWS_INT);

    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t value = 0;
        int64_t origin = (EPOCH_2000 + 2) * DAY_US;
        bool done;

        out[i] = 0;
        if (!node_counts(node, i)) {
            continue;
        }
        if (width->months > 0) {
            done = bucket_of_months(dtype, at[i], width->months, &value);
            out[i] = value;
        } else {
            if (shift != NULL) {
                origin = shift->dtype == GRANARY_DURATION
                             ? origin + ((const int64_t *)shift->values)[i] % (int64_t)width->value.i
                             : ((const int64_t *)shift->values)[i] * scale;
            }
            done = !__builtin_mul_overflow(at[i], scale, &value) &&
                   bucket_of_time(value, (int64_t)width->value.i, origin, &value);
            out[i] = floor_divide(value, scale);
        }
        if (!done) {
            node_mark_bad(node, i, n);
        }
    }
    return GRANARY_OK;
}

/* ---- made of numbers ---- */

/* Hours, minutes and seconds as microseconds. false: there is no such time. */
static bool
clock_of_parts(struct node *const *parts, int64_t i, int64_t *ret_us)
{
    int64_t hour = node_int_at(parts[0], i);
    int64_t minute = node_int_at(parts[1], i);
    double second = ((const double *)parts[2]->values)[i];

    *ret_us = 0;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || !(second >= 0 && second < 60)) {
        return false;
    }
    *ret_us = (hour * 60 + minute) * 60 * SECOND_US + (int64_t)rint(second * 1e6);
    return true;
}

granary_err
op_clock_make(struct node *node, int64_t n)
{
    bool has_day = node->op == GR_OP_MAKE_TIMESTAMP;
    int64_t *out = node_room(node, ROWS_INT);

    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t year, month, day;
        int64_t days = 0;
        bool done;

        out[i] = 0;
        if (!node_counts(node, i)) {
            continue;
        }
        done = clock_of_parts(node->operands + (has_day ? 3 : 0), i, &out[i]);
        if (done && has_day) {
            year = node_int_at(node->operands[0], i);
            month = node_int_at(node->operands[1], i);
            day = node_int_at(node->operands[2], i);
            done = year >= -9999 && year <= 99999 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
            days = done ? gr_date_days(year, (int)month, (int)day) : 0;
            done = done && gr_date_civil(days).day == day;
            out[i] += days * DAY_US;
        }
        if (!done) {
            node_mark_bad(node, i, n);
        }
    }
    return GRANARY_OK;
}

/* epoch_ms() and its kin, of moments; of whole milliseconds the timestamp. */
granary_err
op_epoch_units(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    int64_t *out = node_room(node, ROWS_INT);
    bool back = node->dtype == GRANARY_TIMESTAMP;

    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = node_int_at(a, i);
        bool done = true;

        if (node->op == GR_OP_EPOCH_US) {
            out[i] = at;
        } else if (back || node->op == GR_OP_EPOCH_NS) {
            done = !__builtin_mul_overflow(at, 1000, &out[i]);
        } else {
            out[i] = floor_divide(at, 1000);
        }
        if (!done && node_counts(node, i)) {
            node_mark_bad(node, i, n);
        }
    }
    return GRANARY_OK;
}
