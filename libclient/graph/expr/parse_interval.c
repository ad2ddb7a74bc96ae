/* Intervals: `interval '90' day`, `interval '1 year 2 months'`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "data/value/calendar.h"
#include "graph/expr/check/check.h"
#include "graph/expr/parser.h"

static const struct unit {
    const char *name;
    int months;
    int64_t microseconds;
} units[] = {
    {"year", 12, 0},          {"quarter", 3, 0},       {"month", 1, 0},         {"week", 0, 604800000000},
    {"day", 0, 86400000000},  {"hour", 0, 3600000000}, {"minute", 0, 60000000}, {"second", 0, 1000000},
    {"millisecond", 0, 1000}, {"microsecond", 0, 1},
};

enum read { READ, NO_INTERVAL, TOO_LARGE };

static enum read
add_microseconds(struct gr_expr *interval, int64_t microseconds)
{
    if (__builtin_add_overflow((int64_t)interval->value.i, microseconds, &microseconds)) {
        return TOO_LARGE;
    }
    interval->value.i = microseconds;
    return READ;
}

/* Add "COUNT UNIT" to an interval; the unit may end in s. */
static enum read
interval_add(struct gr_expr *interval, int64_t count, const char *unit, size_t size)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t name = strlen(units[i].name);
        int64_t microseconds;

        if (size < name || strncasecmp(unit, units[i].name, name) != 0 ||
            (size > name && (size > name + 1 || (unit[name] != 's' && unit[name] != 'S')))) {
            continue;
        }
        if (units[i].months > 0) {
            if (count < -EXPR_MONTHS_MOST || count > EXPR_MONTHS_MOST) {
                return TOO_LARGE;
            }
            interval->months += (int)count * units[i].months;
            return interval->months >= -EXPR_MONTHS_MOST && interval->months <= EXPR_MONTHS_MOST ? READ : TOO_LARGE;
        }
        return __builtin_mul_overflow(count, units[i].microseconds, &microseconds)
                   ? TOO_LARGE
                   : add_microseconds(interval, microseconds);
    }
    return NO_INTERVAL;
}

/* "04:05:06.7", "-4:05": the hours may have any number of digits. */
static enum read
interval_add_clock(struct gr_expr *interval, const char *text, size_t size)
{
    bool minus = text[0] == '-';
    size_t sign = minus || text[0] == '+';
    char clock[40];
    int64_t microseconds;
    int length = snprintf(clock, sizeof clock, "%s0%.*s", minus ? "-" : "", (int)(size - sign), text + sign);

    return (size_t)length < sizeof clock && gr_span_parse(clock, (size_t)length, &microseconds)
               ? add_microseconds(interval, microseconds)
               : NO_INTERVAL;
}

/* "3 months -2 days 04:05:06": pairs of an integer and a unit, and a clock; or an integer alone, whose unit is the word that
 * follows. */
static enum read
interval_read(struct gr_expr *interval, const char *text, const struct token *unit)
{
    const char *at = text + strspn(text, " ");
    bool any = false;

    while (*at != '\0') {
        size_t size = strcspn(at, " ");
        enum read read;
        char *end;
        int64_t count;
        bool large;

        if (memchr(at, ':', size) != NULL) {
            read = interval_add_clock(interval, at, size);
        } else {
            errno = 0;
            count = strtoll(at, &end, 10);
            large = errno != 0;
            if (end == at) {
                return NO_INTERVAL;
            }
            at = end + strspn(end, " ");
            if (*at == '\0' && (any || unit == NULL)) {
                return NO_INTERVAL;
            }
            size = strcspn(at, " ");
            if (large) {
                return TOO_LARGE;
            }
            if (*at == '\0') {
                return interval_add(interval, count, unit->start, unit->size);
            }
            read = interval_add(interval, count, at, size);
        }
        if (read != READ) {
            return read;
        }
        at += size + strspn(at + size, " ");
        any = true;
    }
    return any && unit == NULL ? READ : NO_INTERVAL;
}

granary_err
parse_interval(struct parser *parser, const struct token *word, struct gr_expr **ret_expr)
{
    const struct token count = parser->lexer.token;
    struct token unit = {0};
    struct gr_expr *expr = NULL;
    enum read read;
    size_t size;
    char *text = count.kind == TOKEN_TEXT ? token_unquote(&count, &size) : strndup(count.start, count.size);
    granary_err err = text == NULL ? parser_no_memory() : parser_new(parser, GR_EXPR_LITERAL, word->position, &expr);

    if (err == GRANARY_OK) {
        expr->dtype = GRANARY_DURATION;
        expr->is_interval = true;
        err = lexer_next(&parser->lexer);
    }
    if (err == GRANARY_OK && parser->lexer.token.kind == TOKEN_NAME) {
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
            size_t name = strlen(units[i].name);

            if (strncasecmp(parser->lexer.token.start, units[i].name, name) == 0 &&
                parser->lexer.token.size <= name + 1) {
                unit = parser->lexer.token;
            }
        }
        err = unit.start != NULL ? lexer_next(&parser->lexer) : GRANARY_OK;
    }
    read = err == GRANARY_OK ? interval_read(expr, text, unit.start != NULL ? &unit : NULL) : READ;
    if (read == NO_INTERVAL) {
        err = lexer_fail(&parser->lexer, count.position,
                         "'%.60s' is no interval: interval '90' day, interval '1 year 2 months', interval '3 days "
                         "04:05:06'; units are year, quarter, month, week, day, hour, minute, second, millisecond, "
                         "microsecond",
                         text);
    } else if (read == TOO_LARGE) {
        err = lexer_fail(&parser->lexer, count.position,
                         "the interval '%.60s' is too large: months and years reach %d years, the rest %d days", text,
                         EXPR_MONTHS_MOST / 12, 106751991);
    }
    free(text);
    if (err != GRANARY_OK) {
        gr_expr_destroy(expr);
        return err;
    }
    *ret_expr = expr;
    return GRANARY_OK;
}
