/* Parts of dates, and dates made. */
#include <string.h>

#include "data/value/calendar.h"
#include "data/value/tzone.h"
#include "kernel/rows/node.h"

static int64_t
floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Microseconds since midnight; the first day there is begins before int64 does. */
static int64_t
clock_of(int64_t at)
{
    int64_t rest = at % DAY_US;

    return rest < 0 ? rest + DAY_US : rest;
}

/* Days of what has microseconds, and what is left of them: a duration has whole days, and a rest of its sign. */
static int64_t
days_in(granary_dtype dtype, int64_t at)
{
    return dtype == GRANARY_DURATION ? at / DAY_US : floor_divide(at, DAY_US);
}

static int64_t
clock_in(granary_dtype dtype, int64_t at)
{
    return dtype == GRANARY_DURATION ? at % DAY_US : clock_of(at);
}

static int64_t
day_of_week(int64_t days)
{
    int64_t rest = (days + 3) % 7; /* 1970-01-01 was a Thursday; Monday is 0 */

    return rest < 0 ? rest + 7 : rest;
}

/* The ISO week: that of the year that has the week's Thursday. */
static int64_t
iso_week(int64_t days)
{
    int64_t thursday = days - day_of_week(days) + 3;

    return (thursday - gr_date_days(gr_date_civil(thursday).year, 1, 1)) / 7 + 1;
}

/* 202453; before year 1 the week is subtracted */
static int64_t
week_of_year(int64_t days)
{
    int64_t year = gr_date_civil(days - day_of_week(days) + 3).year;

    return year * 100 + (year > 0 ? iso_week(days) : -iso_week(days));
}

/*
 * As gr_date_civil(), for the years around us: divisions by constants become multiplications (C. Neri, L. Schneider,
 * "Euclidean affine functions and their application to calendar algorithms", 2022).
 */
static inline struct gr_civil
near_civil(int64_t days)
{
    uint32_t shifted = (uint32_t)(days + 719468 + 146097 * 10);
    uint32_t century = (4 * shifted + 3) / 146097;
    uint32_t of_century = (4 * shifted + 3) % 146097 / 4;
    uint64_t product = UINT64_C(2939745) * (4 * of_century + 3);
    uint32_t of_year = (uint32_t)product / 2939745 / 4;
    uint32_t third = 2141 * of_year + 197913;
    bool next = of_year >= 306;

    return (struct gr_civil){(int64_t)(100 * century + (uint32_t)(product >> 32)) - 4000 + next,
                             (int)(third >> 16) - (next ? 12 : 0), (int)((third & 0xffff) / 2141) + 1};
}

static inline int64_t
date_part(enum gr_expr_op op, int64_t days)
{
    struct gr_civil civil;

    switch (op) {
    case GR_OP_DAYOFWEEK:
        return day_of_week(days);
    case GR_OP_WEEK:
        return iso_week(days);
    default:
        break;
    }
    civil = days > -1000000 && days < 1000000 ? near_civil(days) : gr_date_civil(days);
    switch (op) {
    case GR_OP_YEAR:
        return civil.year;
    case GR_OP_QUARTER:
        return (civil.month + 2) / 3;
    case GR_OP_MONTH:
        return civil.month;
    case GR_OP_DAY:
        return civil.day;
    case GR_OP_DECADE:
        return civil.year / 10;
    case GR_OP_CENTURY: /* there is no year 0 between them */
        return civil.year > 0 ? (civil.year - 1) / 100 + 1 : civil.year / 100 - 1;
    case GR_OP_MILLENNIUM:
        return civil.year > 0 ? (civil.year - 1) / 1000 + 1 : civil.year / 1000 - 1;
    case GR_OP_ERA:
        return civil.year > 0;
    case GR_OP_ISOYEAR:
        return gr_date_civil(days - day_of_week(days) + 3).year;
    case GR_OP_YEARWEEK:
        return week_of_year(days);
    default: /* DAYOFYEAR */
        return days - gr_date_days(civil.year, 1, 1) + 1;
    }
}

static int64_t
clock_part(enum gr_expr_op op, int64_t clock)
{
    switch (op) {
    case GR_OP_HOUR:
        return clock / 3600000000;
    case GR_OP_MINUTE:
        return clock / 60000000 % 60;
    case GR_OP_SECOND:
        return clock / 1000000 % 60;
    case GR_OP_MILLISECONDS:
        return clock % 60000000 / 1000;
    case GR_OP_MICROSECONDS:
        return clock % 60000000;
    case GR_OP_NANOSECONDS:
        return clock % 60000000 * 1000;
    default: /* MICROSECOND */
        return clock % 1000000;
    }
}

granary_err
op_date_part(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    const int64_t *at = a->values;
    bool clock = a->dtype != GRANARY_DATE;
    void *room = node_room(node, node->base);
    int64_t *out = room;

    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t days = clock ? days_in(a->dtype, at[i]) : at[i];

        if (node->op == GR_OP_EPOCH) {
            ((double *)room)[i] = clock ? (double)at[i] / 1e6 : (double)at[i] * 86400.0;
        } else if (node->op == GR_OP_JULIAN) {
            ((double *)room)[i] = (double)(days + 2440588) + (clock ? (double)clock_of(at[i]) / (double)DAY_US : 0.0);
        } else if (node->op >= GR_OP_HOUR) {
            out[i] = clock ? clock_part(node->op, clock_in(a->dtype, at[i])) : 0;
        } else {
            out[i] = a->dtype == GRANARY_DURATION ? days : date_part(node->op, days);
        }
    }
    return GRANARY_OK;
}

/* ---- parts that rows name ---- */

/* What a row names. */
struct named_part {
    struct rows_text name;
    bool known;
    bool iso; /* days of the week are counted from Monday, 1 */
    enum gr_expr_op op;
};

/* A text that may name a part or a unit; "": none is as long. */
static const char *
short_name(struct rows_text name, char text[16])
{
    const size_t size = name.size < 16 ? name.size : 0;

    if (size > 0) {
        memcpy(text, name.bytes, size);
    }
    text[size] = '\0';
    return text;
}

static void
find_part(struct rows_text name, struct named_part *part)
{
    char text[16];

    part->name = name;
    part->known =
        gr_expr_part_named(short_name(name, text), &part->op) && part->op != GR_OP_EPOCH && part->op != GR_OP_JULIAN;
    part->iso = (text[0] | 0x20) == 'i';
}

static bool
part_one(const struct named_part *part, granary_dtype dtype, int64_t at, int64_t *ret_value)
{
    bool clock = dtype != GRANARY_DATE;

    if (!part->known || (dtype == GRANARY_TIME && part->op < GR_OP_HOUR) ||
        (dtype == GRANARY_DURATION && part->op < GR_OP_HOUR && part->op != GR_OP_DAY)) {
        return false;
    }
    if (part->op >= GR_OP_HOUR) {
        *ret_value = clock ? clock_part(part->op, clock_in(dtype, at)) : 0;
    } else if (dtype == GRANARY_DURATION) {
        *ret_value = days_in(dtype, at);
    } else {
        *ret_value = date_part(part->op, clock ? floor_divide(at, DAY_US) : at);
        if (part->op == GR_OP_DAYOFWEEK) {
            *ret_value = part->iso ? *ret_value + 1 : (*ret_value + 1) % 7;
        }
    }
    return true;
}

granary_err
op_date_part_of(struct node *node, int64_t n)
{
    const struct rows_text *names = node_texts(node->operands[0], n);
    const int64_t *at = node->operands[1]->values;
    int64_t *out = node_room(node, ROWS_INT);
    struct named_part part = {.known = false};

    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0;
        if (!node_counts(node, i)) {
            continue;
        }
        if (part.name.bytes == NULL || text_order(&part.name, &names[i]) != 0) {
            find_part(names[i], &part);
        }
        if (!part_one(&part, node->operands[1]->dtype, at[i], &out[i])) {
            node_mark_bad(node, i, n);
        }
    }
    return GRANARY_OK;
}

/* ---- made ---- */

/* Where days and clocks stay within what is computed with. */
static bool
is_day(int64_t days)
{
    return days >= INT32_MIN && days <= INT32_MAX;
}

static int64_t
truncated_day(const char *unit, int64_t days)
{
    struct gr_civil civil = gr_date_civil(days);

    if (strcmp(unit, "year") == 0) {
        return gr_date_days(civil.year, 1, 1);
    }
    if (strcmp(unit, "decade") == 0) {
        return gr_date_days(civil.year / 10 * 10, 1, 1);
    }
    if (strcmp(unit, "century") == 0) {
        return gr_date_days(civil.year / 100 * 100, 1, 1);
    }
    if (strcmp(unit, "millennium") == 0) {
        return gr_date_days(civil.year / 1000 * 1000, 1, 1);
    }
    if (strcmp(unit, "isoyear") == 0) {
        int64_t monday = days - day_of_week(days);

        return monday - (iso_week(days) - 1) * 7;
    }
    if (strcmp(unit, "quarter") == 0) {
        return gr_date_days(civil.year, (civil.month - 1) / 3 * 3 + 1, 1);
    }
    if (strcmp(unit, "month") == 0) {
        return gr_date_days(civil.year, civil.month, 1);
    }
    return strcmp(unit, "week") == 0 ? days - day_of_week(days) : days;
}

/* The unit that a row names; NULL: there is none. */
static const char *
unit_of_row(struct node *names, int64_t n, int64_t i)
{
    char text[16];

    return gr_expr_unit_named(short_name(node_texts(names, n)[i], text));
}

static bool
truncate_one(const struct node *node, const char *unit, int64_t at, int64_t *ret_value)
{
    bool clock = node->dtype != GRANARY_DATE;
    int64_t days = clock ? floor_divide(at, DAY_US) : at;
    int64_t step = strcmp(unit, "hour") == 0          ? INT64_C(3600000000)
                   : strcmp(unit, "minute") == 0      ? 60000000
                   : strcmp(unit, "second") == 0      ? 1000000
                   : strcmp(unit, "millisecond") == 0 ? 1000
                   : strcmp(unit, "microsecond") == 0 ? 1
                                                      : 0;

    if (step != 0) {
        *ret_value = at;
        return !clock || !__builtin_mul_overflow(floor_divide(at, step), step, ret_value);
    }
    days = truncated_day(unit, days);
    *ret_value = days;
    return clock ? !__builtin_mul_overflow(days, DAY_US, ret_value) : is_day(days);
}

static bool
add_interval_one(const struct node *node, int64_t at, int64_t *ret_value)
{
    const struct gr_expr *by = node->operands[1]->expr;
    bool clock = node->operands[0]->dtype != GRANARY_DATE;
    int64_t days = clock ? floor_divide(at, DAY_US) : at;
    int64_t rest = clock ? clock_of(at) : 0;

    if (node->dtype == GRANARY_TIME) { /* around the clock */
        *ret_value = clock_of(rest + (int64_t)(by->value.i % DAY_US));
        return true;
    }
    if (clock && by->months == 0) {
        return !__builtin_add_overflow(at, by->value.i, ret_value);
    }
    if (by->months != 0) {
        days = gr_date_add_months(days, by->months);
    }
    if (node->dtype == GRANARY_DATE) {
        *ret_value = days + (int64_t)(by->value.i / DAY_US);
        return is_day(*ret_value);
    }
    return !__builtin_mul_overflow(days, DAY_US, ret_value) && !__builtin_add_overflow(*ret_value, rest, ret_value) &&
           !__builtin_add_overflow(*ret_value, by->value.i, ret_value);
}

/* So many months are more than between any two days. */
#define MONTHS_MOST 200000000

static bool
add_months_one(const struct node *node, int64_t i, int64_t *ret_value)
{
    int64_t at = ((const int64_t *)node->operands[0]->values)[i];
    int64_t months = node_int_at(node->operands[1], i);
    bool clock = node->dtype != GRANARY_DATE;
    int64_t days = clock ? floor_divide(at, DAY_US) : at;

    if (months < -MONTHS_MOST || months > MONTHS_MOST) {
        return false;
    }
    days = gr_date_add_months(days, months);
    *ret_value = days;
    return clock ? !__builtin_mul_overflow(days, DAY_US, ret_value) &&
                       !__builtin_add_overflow(*ret_value, clock_of(at), ret_value)
                 : is_day(days);
}

static bool
last_day_one(const struct node *a, int64_t i, int64_t *ret_value)
{
    int64_t at = ((const int64_t *)a->values)[i];
    int64_t days = a->dtype == GRANARY_DATE ? at : floor_divide(at, DAY_US);
    struct gr_civil civil = gr_date_civil(days);

    *ret_value = gr_date_add_months(days - civil.day + 1, 1) - 1;
    return is_day(*ret_value);
}

static bool
make_one(const struct node *node, int64_t i, int64_t *ret_value)
{
    int64_t year = node_int_at(node->operands[0], i);
    int64_t month = node_int_at(node->operands[1], i);
    int64_t day = node_int_at(node->operands[2], i);
    struct gr_civil civil;

    *ret_value = 0;
    if (year < -5877641 || year > 5881580 || month < 1 || month > 12 || day < 1 || day > 31) {
        return false;
    }
    *ret_value = gr_date_days(year, (int)month, (int)day);
    civil = gr_date_civil(*ret_value);
    return civil.day == day && is_day(*ret_value); /* else the month has no such day */
}

/* ---- zones ---- */

static bool
shift_one(const struct gr_tzone *zone, bool to_clock, int64_t at, int64_t *ret_value)
{
    int64_t second = floor_divide(at, 1000000);
    int64_t offset = to_clock ? gr_tzone_offset(zone, second) : -gr_tzone_offset_of_clock(zone, second);

    return !__builtin_add_overflow(at, offset * 1000000, ret_value);
}

/* The one instant at which clocks show a time; false: there is none, or there are two. Clocks may have changed within the
 * day before or behind, so there are two offsets to try. */
static bool
localize_one(const struct gr_tzone *zone, int64_t at, int64_t *ret_value)
{
    int64_t clock = floor_divide(at, 1000000);
    int64_t before = gr_tzone_offset(zone, clock - 86400);
    int64_t behind = gr_tzone_offset(zone, clock + 86400);
    bool first = gr_tzone_offset(zone, clock - before) == before;
    bool second = behind != before && gr_tzone_offset(zone, clock - behind) == behind;

    return first != second && !__builtin_sub_overflow(at, (first ? before : behind) * 1000000, ret_value);
}

/* Mostly all rows have one zone: it is looked up once. */
static void
zones_apply(struct node *node, int64_t n, bool strictly)
{
    const struct rows_text *names = node_texts(node->operands[0], n);
    const int64_t *at = node->operands[1]->values;
    bool to_clock = node->operands[1]->dtype == GRANARY_TIMESTAMPTZ;
    int64_t *out = node_room(node, ROWS_INT);
    const struct gr_tzone *zone = NULL;
    const struct rows_text *known = NULL;

    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0;
        if (!node_counts(node, i)) {
            continue;
        }
        if (known == NULL || text_order(known, &names[i]) != 0) {
            known = &names[i];
            if (gr_tzone_find(known->size > 0 ? known->bytes : "", known->size, &zone) != GRANARY_OK) {
                zone = NULL;
            }
        }
        if (zone == NULL ||
            !(strictly ? localize_one(zone, at[i], &out[i]) : shift_one(zone, to_clock, at[i], &out[i]))) {
            node_mark_bad(node, i, n);
        }
    }
}

granary_err
op_timezone(struct node *node, int64_t n)
{
    zones_apply(node, n, false);
    return GRANARY_OK;
}

granary_err
op_tz_localize(struct node *node, int64_t n)
{
    zones_apply(node, n, true);
    return GRANARY_OK;
}

granary_err
op_date_make(struct node *node, int64_t n)
{
    int64_t *out = node_room(node, ROWS_INT);
    const struct gr_expr *first = node->op == GR_OP_DATE_TRUNC ? node->operands[0]->expr : NULL;
    const char *written = first != NULL && first->kind == GR_EXPR_LITERAL ? first->text : NULL;

    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        const char *unit = written;
        bool done;

        out[i] = 0;
        if (!node_counts(node, i)) {
            continue;
        }
        switch (node->op) {
        case GR_OP_DATE_TRUNC:
            unit = unit != NULL ? unit : unit_of_row(node->operands[0], n, i);
            done = unit != NULL && truncate_one(node, unit, ((const int64_t *)node->operands[1]->values)[i], &out[i]);
            break;
        case GR_OP_ADD_MONTHS:
            done = add_months_one(node, i, &out[i]);
            break;
        case GR_OP_LAST_DAY:
            done = last_day_one(node->operands[0], i, &out[i]);
            break;
        case GR_OP_ADD_INTERVAL:
            done = add_interval_one(node, ((const int64_t *)node->operands[0]->values)[i], &out[i]);
            break;
        default:
            done = make_one(node, i, &out[i]);
            break;
        }
        if (!done) {
            node_mark_bad(node, i, n);
        }
    }
    return GRANARY_OK;
}
