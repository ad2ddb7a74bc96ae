/* Regular expressions as SQL writes them: with options in a text of letters, and for the whole of a text. */
#include <string.h>

#include "sql/parse/private.h"

/* A text as written, in quotes. */
static bool
is_quoted(const struct sql_expr *expr)
{
    return expr->kind == SQL_LITERAL && expr->text[0] == '\'';
}

static bool
is_null(const struct sql_expr *expr)
{
    return expr->kind == SQL_LITERAL && strcmp(expr->text, "null") == 0;
}

/* before || pattern || after; of a pattern as written a longer one. */
static struct sql_expr *
around(struct parse *p, const char *before, struct sql_expr *pattern, const char *after)
{
    struct sql_expr *joined;

    if (pattern == NULL || (before[0] == '\0' && after[0] == '\0')) {
        return pattern;
    }
    if (is_quoted(pattern)) {
        return sql_parse_new_expr(
            p, SQL_LITERAL, pattern->position,
            sql_printf(p->q, "'%s%.*s%s'", before, (int)strlen(pattern->text) - 2, pattern->text + 1, after), 0);
    }
    joined = sql_parse_new_expr(p, SQL_FUNCTION, pattern->position, "concat", 3);
    if (joined != NULL) {
        joined->args[0] = sql_parse_new_expr(p, SQL_LITERAL, pattern->position, sql_printf(p->q, "'%s'", before), 0);
        joined->args[1] = pattern;
        joined->args[2] = sql_parse_new_expr(p, SQL_LITERAL, pattern->position, sql_printf(p->q, "'%s'", after), 0);
    }
    return p->q->err == GRANARY_OK ? joined : NULL;
}

struct sql_expr *
sql_parse_whole_pattern(struct parse *p, struct sql_expr *pattern)
{
    return around(p, "\\A(?:", pattern, ")\\z");
}

struct sql_expr *
sql_parse_any_case(struct parse *p, struct sql_expr *pattern)
{
    return around(p, "(?i)", pattern, "");
}

/* What options say; all zero: nothing. */
struct said {
    bool any_case;
    bool all;     /* of a replacement */
    bool literal; /* the pattern is a text */
    bool lines;   /* a dot is no line end */
};

/* Options are known when the statement is read: i and c, s (which holds anyhow) or m, n and p, l, g. false: refused */
static bool
take_options(struct parse *p, const struct sql_expr *options, struct said *said)
{
    if (!is_quoted(options)) {
        return sql_fail(p->q, GRANARY_EUNSUPPORTED, options->position,
                        "options of a regular expression are written in quotes, such as 'i'");
    }
    for (const char *at = options->text + 1; *at != '\'' && *at != '\0'; at++) {
        switch (*at) {
        case 'i':
        case 'c':
            said->any_case = *at == 'i';
            break;
        case 'g':
            said->all = true;
            break;
        case 'l':
            said->literal = true;
            break;
        case ' ':
        case '\t':
            break;
        case 'm':
        case 'n':
        case 'p':
        case 's':
            said->lines = *at != 's';
            break;
        default:
            return sql_fail(p->q, GRANARY_EUNSUPPORTED, options->position,
                            "option '%c' of a regular expression is not supported: i, c, l, m, n, p, s and g are", *at);
        }
    }
    return true;
}

/* Which argument has the options; 0: the function has none. */
static const struct {
    const char *name;
    const char *becomes;
    size_t options;
    bool whole;
} functions[] = {
    {"regexp_matches", "regexp_matches", 2, false},
    {"regexp_like", "regexp_matches", 2, false},
    {"regexp_full_match", "regexp_matches", 2, true},
    {"regexp_extract", "regexp_extract^", 3, false},
    {"regexp_replace", "regexp_replace", 3, false},
    {"regexp_extract_all", "regexp_extract_all", 3, false},
    {"string_split_regex", "regexp_split_to_array", 2, false},
    {"str_split_regex", "regexp_split_to_array", 2, false},
    {"regexp_split_to_array", "regexp_split_to_array", 2, false},
};

bool
sql_parse_is_regexp(const char *name, size_t count, size_t *ret_which)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strcmp(functions[i].name, name) == 0 && count >= 2 && count <= functions[i].options + 1) {
            *ret_which = i;
            return true;
        }
    }
    return false;
}

struct sql_expr *
sql_parse_regexp(struct parse *p, size_t which, PgQuery__Node *const *args, size_t count, int position)
{
    size_t options = functions[which].options;
    struct sql_expr *call = sql_parse_arguments(p, functions[which].becomes, args, count, position);
    struct said said = {.all = false};

    if (call == NULL) {
        return NULL;
    }
    if (strcmp(functions[which].becomes, "regexp_extract^") == 0 && count == 3 && is_null(call->args[2])) {
        return sql_parse_new_call(p, SQL_FUNCTION, position, "left", call->args[0],
                                  sql_parse_new_expr(p, SQL_LITERAL, position, "0", 0));
    }
    if (count > options) {
        if (!take_options(p, call->args[options], &said)) {
            return NULL;
        }
        if (said.all && strcmp(functions[which].becomes, "regexp_replace") != 0) {
            return sql_parse_refuse(p, position, "the option g of what replaces nothing is");
        }
        call->count = options;
        if (said.all) {
            call->args[options] = sql_parse_new_expr(p, SQL_LITERAL, position, "'g'", 0);
            call->count = options + 1;
        }
    }
    if (said.literal) {
        call->args[1] = sql_parse_new_call(p, SQL_FUNCTION, position, "regexp_escape", call->args[1], NULL);
    }
    if (functions[which].whole && call->args[1] != NULL) {
        call->args[1] = sql_parse_whole_pattern(p, call->args[1]);
    }
    if (said.lines && call->args[1] != NULL) {
        call->args[1] = around(p, "(?-s)", call->args[1], "");
    }
    if (said.any_case && call->args[1] != NULL) {
        call->args[1] = sql_parse_any_case(p, call->args[1]);
    }
    return p->q->err == GRANARY_OK && call->args[1] != NULL ? call : NULL;
}
