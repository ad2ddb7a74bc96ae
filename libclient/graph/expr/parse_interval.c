/* Intervals: `interval '90' day`, `interval '1 year 2 months'`. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "graph/expr/check.h"
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

/* Add "COUNT UNIT" to an interval; the unit may end in s. false: no such unit, or too much. */
static bool
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
                return false;
            }
            interval->months += (int)count * units[i].months;
            return interval->months >= -EXPR_MONTHS_MOST && interval->months <= EXPR_MONTHS_MOST;
        }
        if (__builtin_mul_overflow(count, units[i].microseconds, &microseconds) ||
            __builtin_add_overflow((int64_t)interval->value.i, microseconds, &microseconds)) {
            return false;
        }
        interval->value.i = microseconds;
        return true;
    }
    return false;
}

/* "3 months -2 days": pairs of an integer and a unit; or an integer alone, whose unit is the word that follows. */
static bool
interval_read(struct gr_expr *interval, const char *text, const struct token *unit)
{
    const char *at = text + strspn(text, " ");
    bool any = false;

    while (*at != '\0') {
        char *end;
        int64_t count;
        size_t size;

        if (strspn(at, "+-0123456789") == 0 || strspn(at, "+-0123456789") > 19) {
            return false;
        }
        count = strtoll(at, &end, 10);
        at = end + strspn(end, " ");
        if (*at == '\0') {
            return !any && end > text && unit != NULL && interval_add(interval, count, unit->start, unit->size);
        }
        size = strcspn(at, " ");
        if (!interval_add(interval, count, at, size)) {
            return false;
        }
        at += size + strspn(at + size, " ");
        any = true;
    }
    return any && unit == NULL;
}

granary_err
parse_interval(struct parser *parser, const struct token *word, struct gr_expr **ret_expr)
{
    const struct token count = parser->lexer.token;
    struct token unit = {0};
    struct gr_expr *expr = NULL;
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
    if (err == GRANARY_OK && !interval_read(expr, text, unit.start != NULL ? &unit : NULL)) {
        err = lexer_fail(&parser->lexer, count.position,
                         "'%.60s' is no interval: interval '90' day, interval '1 year 2 months'; units are year, "
                         "quarter, month, week, day, hour, minute, second, millisecond, microsecond",
                         text);
    }
    free(text);
    if (err != GRANARY_OK) {
        gr_expr_destroy(expr);
        return err;
    }
    *ret_expr = expr;
    return GRANARY_OK;
}
