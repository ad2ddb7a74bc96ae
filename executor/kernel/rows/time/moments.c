/* Differences of dates and times, buckets of time, and moments made of numbers. */
#include <math.h>
#include <string.h>

#include "contract/int128.h"
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

/* How many beginnings of a unit lie between. Those of months divide years as numbers. false: more than an int64 counts */
static bool
borders_between(const struct unit *unit, granary_dtype dtype, int64_t a, int64_t b, int64_t *ret_count)
{
    if (unit->months > 0) {
        *ret_count =
            months_since_0(days_of(dtype, b)) / unit->months - months_since_0(days_of(dtype, a)) / unit->months;
    } else if (unit->is_week) { /* as in DuckDB: of the days between */
        *ret_count = (days_of(dtype, b) - days_of(dtype, a)) / 7;
    } else if (dtype == GRANARY_DATE) {
        return !__builtin_mul_overflow(b - a, DAY_US / unit->us, ret_count);
    } else {
        return !__builtin_sub_overflow(floor_divide(b, unit->us), floor_divide(a, unit->us), ret_count);
    }
    return true;
}

/* Whole months from a to a later b. The last day of b's month is as late as any of a's. */
static int64_t
whole_months(granary_dtype dtype, int64_t a, int64_t b)
{
    int64_t from = days_of(dtype, a);
    int64_t to = days_of(dtype, b);
    int64_t clock_a = dtype == GRANARY_DATE ? 0 : a - from * DAY_US;
    int64_t clock_b = dtype == GRANARY_DATE ? 0 : b - to * DAY_US;
    struct gr_civil first = gr_date_civil(from);
    struct gr_civil last = gr_date_civil(to);
    bool at_end = gr_date_civil(to + 1).day == 1;
    int day = at_end && first.day > last.day ? last.day : first.day;
    int64_t months = (last.year - first.year) * 12 + last.month - first.month;

    return months - (last.day < day || (last.day == day && clock_b < clock_a));
}

/* false: more than an int64 counts */
static bool
whole_units(const struct unit *unit, granary_dtype dtype, int64_t a, int64_t b, int64_t *ret_count)
{
    gr_int128 count = ((gr_int128)b - a) * (dtype == GRANARY_DATE ? DAY_US : 1) / (unit->us > 0 ? unit->us : 1);

    if (unit->months > 0) {
        count = a <= b ? whole_months(dtype, a, b) / unit->months : -(whole_months(dtype, b, a) / unit->months);
    }
    *ret_count = (int64_t)count;
    return count >= INT64_MIN && count <= INT64_MAX;
}

granary_err
op_date_diff(struct node *node, int64_t n)
{
    const struct unit unit = unit_of(node->operands[0]->expr->text);
    granary_dtype dtype = node->operands[1]->dtype;
    const int64_t *a = node->operands[1]->values;
    const int64_t *b = node->operands[2]->values;
    int64_t *out = node_room(node, ROWS_INT);

    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0;
        if (node_counts(node, i) && !(node->op == GR_OP_DATE_DIFF ? borders_between(&unit, dtype, a[i], b[i], &out[i])
                                                                  : whole_units(&unit, dtype, a[i], b[i], &out[i]))) {
            node_mark_bad(node, i, n);
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
    int64_t factor = (back || node->op == GR_OP_EPOCH_NS) ? 1000 : 1;
    int64_t divisor = !back && node->op == GR_OP_EPOCH_MS ? 1000 : 1;

    if (a->dtype == GRANARY_DATE) {
        factor *= DAY_US / divisor;
        divisor = 1;
    }
    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        bool done = !__builtin_mul_overflow(node_int_at(a, i) / divisor, factor, &out[i]);

        if (!done && node_counts(node, i)) {
            node_mark_bad(node, i, n);
        }
    }
    return GRANARY_OK;
}
