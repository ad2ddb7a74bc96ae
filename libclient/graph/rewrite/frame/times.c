/* Durations: numbers with units, one after the other; what goes by time. */
#include "graph/rewrite/frame/times.h"

#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000)
#define DAY    (86400 * SECOND)

static const struct unit {
    const char *name;
    int64_t months;
    int64_t micros;
} units[] = {{"us", 0, 1},
             {"ms", 0, 1000},
             {"s", 0, SECOND},
             {"S", 0, SECOND},
             {"min", 0, 60 * SECOND},
             {"m", 0, 60 * SECOND},
             {"T", 0, 60 * SECOND},
             {"h", 0, 3600 * SECOND},
             {"H", 0, 3600 * SECOND},
             {"d", 0, DAY},
             {"D", 0, DAY},
             {"w", 0, 7 * DAY},
             {"W", 0, 7 * DAY},
             {"mo", 1, 0},
             {"MS", 1, 0},
             {"q", 3, 0},
             {"QS", 3, 0},
             {"y", 12, 0},
             {"YS", 12, 0},
             {"AS", 12, 0}};

static const struct unit *
find_unit(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i].name) == size && strncmp(units[i].name, text, size) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

static bool
not_a_duration(struct rewrite *x, const char *param, const char *text)
{
    static const char *const ends[] = {"M", "Q", "Y", "A"};
    const char *unit = text + strspn(text, "+-0123456789");

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (strcmp(unit, ends[i]) == 0) {
            (void)rewrite_fail(x,
                               "parameter '%s' is '%.40s': intervals of months have the name of their first day: "
                               "write MS, QS or YS",
                               param, text);
            return false;
        }
    }
    (void)rewrite_fail(
        x,
        "parameter '%s' is '%.40s': write a number with a unit, such as '15min', '1h30min' or '7d'; units "
        "are us, ms, s, min, h, D, W, and of months MS, QS, YS",
        param, text);
    return false;
}

/* One number with its unit is added. */
static bool
add_unit(const char **text, struct every *every)
{
    char *end;
    long long count = strtoll(*text, &end, 10);
    size_t size = strcspn(end, "+-0123456789");
    const struct unit *unit = find_unit(end, size);
    int64_t micros;

    count = end == *text ? 1 : count;
    if (unit == NULL || count < 0 || count > INT32_MAX || __builtin_mul_overflow(count, unit->micros, &micros) ||
        __builtin_add_overflow(every->micros, micros, &every->micros)) {
        return false;
    }
    every->months += count * unit->months;
    every->weeks = every->weeks || strcmp(unit->name, "w") == 0 || strcmp(unit->name, "W") == 0;
    *text = end + size;
    return true;
}

bool
every_read(struct rewrite *x, const char *param, bool may_be_negative, struct every *ret_every)
{
    const char *whole = rewrite_param_text(x, param);
    const char *text = whole;
    bool negative = may_be_negative && whole[0] == '-';
    struct every every = {0, 0, false};

    text += negative ? 1 : 0;
    do {
        if (!add_unit(&text, &every)) {
            return not_a_duration(x, param, whole);
        }
    } while (*text != '\0');
    if ((every.months != 0 && every.micros != 0) || every.months > 120000 ||
        (every.months == 0 && every.micros == 0 && !may_be_negative)) {
        return not_a_duration(x, param, whole);
    }
    *ret_every = (struct every){negative ? -every.months : every.months, negative ? -every.micros : every.micros,
                                every.weeks && every.micros % (7 * DAY) == 0};
    return true;
}

const char *
time_text(struct rewrite *x, const char *param, const char *column)
{
    const struct gr_schema *schema = rewrite_schema(x);
    int at = gr_schema_find(schema, column);
    granary_dtype dtype = at < 0 ? GRANARY_NULLTYPE : schema->fields[at].dtype;

    if (dtype != GRANARY_DATE && dtype != GRANARY_TIMESTAMP && dtype != GRANARY_TIMESTAMPTZ) {
        (void)rewrite_fail(
            x, "parameter '%s': column '%.80s' is %s: dates or timestamps are needed; to_datetime makes them", param,
            column, granary_dtype_name(dtype));
        return NULL;
    }
    return dtype == GRANARY_TIMESTAMP ? rewrite_name(x, column)
                                      : rewrite_text(x, "cast(%s as timestamp)", rewrite_name(x, column));
}

const char *
nothing_text(enum gr_aggregate_function function, granary_dtype dtype)
{
    switch (function) {
    case GR_AGGREGATE_SIZE:
    case GR_AGGREGATE_COUNT:
    case GR_AGGREGATE_NUNIQUE:
        return "0";
    case GR_AGGREGATE_SUM:
        return dtype == GRANARY_DURATION ? "cast('00:00:00' as duration)" : "0";
    case GR_AGGREGATE_PROD:
        return "1";
    case GR_AGGREGATE_ANY:
        return "false";
    case GR_AGGREGATE_ALL:
        return "true";
    default:
        return NULL;
    }
}
