/* Names of columns that match: LIKE by bytes, other patterns by POSIX, in whose words they are written. */
#include "sql/select/star_names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static size_t
character(const char *text)
{
    size_t size = text[0] != '\0';

    while ((text[size] & 0xc0) == 0x80) {
        size++;
    }
    return size;
}

static bool
same_letter(char a, char b, bool fold)
{
    return fold ? tolower((unsigned char)a) == tolower((unsigned char)b) : a == b;
}

/* LIKE, or with `fold` ILIKE: % is any text, _ a character; behind `escape`, which may be none, they are signs. */
static bool
is_like(const char *name, const char *pattern, char escape, bool fold)
{
    const char *after = NULL; /* the last %, and what it has taken up to now */
    const char *taken = NULL;

    while (*name != '\0' || *pattern != '\0') {
        const bool sign = escape != '\0' && *pattern == escape && pattern[1] != '\0';

        if (sign && *name != '\0' && same_letter(*name, pattern[1], fold)) {
            name++;
            pattern += 2;
        } else if (*pattern == '%' && !sign) {
            after = ++pattern;
            taken = name;
        } else if (*name != '\0' && *pattern == '_' && !sign) {
            name += character(name);
            pattern++;
        } else if (*name != '\0' && !sign && same_letter(*name, *pattern, fold)) {
            name++;
            pattern++;
        } else if (after != NULL && *taken != '\0') {
            taken += character(taken);
            name = taken;
            pattern = after;
        } else {
            return false;
        }
    }
    return true;
}

/* The pattern in POSIX's words, which mean the same: others are refused. */
static const char *
posix_pattern(struct sql_statement *q, const struct sql_expr *star, bool *ret_fold)
{
    static const char *const classes[][2] = {{"d", "[0-9]"}, {"w", "[0-9A-Za-z_]"}, {"s", "[ \t\n\r\f\v]"}};
    const char *from = star->star->pattern;
    struct gr_buf out = {0};
    bool in_bracket = false;
    bool ok = true;
    const char *text;

    *ret_fold = strncmp(from, "(?i)", 4) == 0;
    from += *ret_fold ? 4 : 0;
    gr_buf_addf(&out, star->star->match == SQL_MATCH_WHOLE ? "^(" : "");
    for (; *from != '\0' && ok; from++) {
        size_t class = 0;

        if (*from == '\\' && isalnum((unsigned char)from[1]) != 0) {
            while (class < 3 && classes[class][0][0] != from[1]) {
                class ++;
            }
            ok = class < 3 && !in_bracket;
            gr_buf_addf(&out, "%s", ok ? classes[class][1] : "");
            from++;
        } else if (*from == '\\' && from[1] != '\0') {
            ok = !in_bracket;
            gr_buf_add(&out, from++, 2);
        } else {
            ok = !(*from == '(' && from[1] == '?' && !in_bracket) &&
                 !(strchr("*+?}", *from) != NULL && strchr("*+?", from[1]) != NULL && from[1] != '\0' && !in_bracket);
            in_bracket = in_bracket ? *from != ']' || from[-1] == '[' || from[-1] == '^' : *from == '[';
            gr_buf_add(&out, from, 1);
        }
    }
    gr_buf_addf(&out, star->star->match == SQL_MATCH_WHOLE ? ")$" : "");
    text = ok && gr_buf_ok(&out) ? sql_printf(q, "%s", out.bytes == NULL ? "" : out.bytes) : NULL;
    gr_buf_free(&out);
    if (!ok) {
        (void)sql_fail(
            q, GRANARY_EUNSUPPORTED, star->position,
            "this pattern of names is not supported: it may have . * + ? | ( ) [ ] { } ^ $ \\d \\w \\s, and (?i) "
            "in front");
    }
    return text;
}

bool
sql_open_matcher(struct sql_statement *q, const struct sql_expr *star, struct sql_matcher *m)
{
    const enum sql_match match = star->star->match;
    const char *text;
    bool fold;

    *m = (struct sql_matcher){.compiled = false};
    if (match != SQL_MATCH_PART && match != SQL_MATCH_WHOLE) {
        return true;
    }
    text = posix_pattern(q, star, &fold);
    if (text == NULL) {
        return false;
    }
    m->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* bytes are characters, whatever the program has set */
    m->before = m->locale == (locale_t)0 ? (locale_t)0 : uselocale(m->locale);
    m->compiled = m->locale != (locale_t)0 && regcomp(&m->regex, text, REG_EXTENDED | (fold ? REG_ICASE : 0)) == 0;
    return m->compiled ||
           sql_fail(q, GRANARY_EINVAL, star->position, "'%s' is no pattern of names", star->star->pattern);
}

void
sql_close_matcher(struct sql_matcher *m)
{
    if (m->compiled) {
        regfree(&m->regex);
    }
    if (m->locale != (locale_t)0) {
        (void)uselocale(m->before);
        freelocale(m->locale);
    }
}

bool
sql_matches(const struct sql_star *star, struct sql_matcher *m, const char *name, regmatch_t parts[SQL_GROUPS_MAX])
{
    bool found = false;

    switch (star->match) {
    case SQL_MATCH_ALL:
        return true;
    case SQL_MATCH_LIKE:
    case SQL_MATCH_ILIKE:
        found = is_like(name, star->pattern, star->escape, star->match == SQL_MATCH_ILIKE);
        break;
    case SQL_MATCH_NAMES:
        for (size_t i = 0; i < star->name_count && !found; i++) {
            found = strcasecmp(star->names[i], name) == 0;
        }
        break;
    case SQL_MATCH_PART:
    case SQL_MATCH_WHOLE:
        found = regexec(&m->regex, name, SQL_GROUPS_MAX, parts, 0) == 0;
        break;
    }
    return found != star->negated;
}
