/* Numbers as the grammar does not know them: 1_000, 0x1F, 0o17, 0b11. They become what it knows, and blanks behind that. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sql/parse/dialect.h"

static bool
is_in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || ((unsigned char)c & 0x80) != 0;
}

/* ---- what holds no number ---- */

/* Behind a text in such quotes. Doubled quotes are two texts in a row. */
static char *
behind_quotes(char *at, bool escapes)
{
    char quote = *at++;

    while (*at != '\0' && *at != quote) {
        at += escapes && *at == '\\' && at[1] != '\0' ? 2 : 1;
    }
    return *at == '\0' ? at : at + 1;
}

static char *
behind_word(char *at)
{
    while (is_in_word(*at)) {
        at++;
    }
    return at;
}

/* Comments in comments have to end, too. */
static char *
behind_comment(char *at)
{
    size_t depth = 0;

    do {
        bool begins = at[0] == '/' && at[1] == '*';
        bool ends = at[0] == '*' && at[1] == '/';

        depth += begins;
        depth -= ends;
        at += begins || ends ? 2 : 1;
    } while (*at != '\0' && depth > 0);
    return at;
}

/* $$text$$, $tag$text$tag$, or a parameter. */
static char *
behind_dollar(char *at)
{
    char *tag = at + 1;
    size_t size;

    while (is_in_word(*tag) && *tag != '$') {
        tag++;
    }
    if (*tag != '$' || isdigit((unsigned char)at[1])) {
        return behind_word(at);
    }
    size = (size_t)(tag + 1 - at);
    for (tag++; *tag != '\0' && strncmp(tag, at, size) != 0;) {
        tag++;
    }
    return *tag == '\0' ? tag : tag + size;
}

/* ---- numbers ---- */

/* Of the letter behind 0; 0: it is none. */
static int
base_of(char letter)
{
    switch (letter) {
    case 'x':
    case 'X':
        return 16;
    case 'o':
    case 'O':
        return 8;
    case 'b':
    case 'B':
        return 2;
    default:
        return 0;
    }
}

/* -1: no digit of that base */
static int
digit_of(char c, int base)
{
    int digit = isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10 : base;

    return digit < base ? digit : -1;
}

/* Whether an underscore stands there between two digits. */
static bool
is_joint(const char *at, int base)
{
    return *at == '_' && digit_of(at[-1], base) >= 0 && digit_of(at[1], base) >= 0;
}

/* The number in its place, behind it blanks. */
static bool
put_based(struct sql_statement *q, const char *text, char *at, int base, char **ret_end)
{
    uint64_t value = 0;
    bool fits = true;
    char *end = at + 2;
    char decimal[24];
    size_t size;

    for (; digit_of(*end, base) >= 0 || is_joint(end, base); end++) {
        fits = fits && (value >> 59) == 0;
        value = *end == '_' ? value : value * (uint64_t)base + (uint64_t)digit_of(*end, base);
    }
    *ret_end = end;
    if (end == at + 2 || is_in_word(*end)) { /* as the grammar will say */
        return true;
    }
    size = (size_t)snprintf(decimal, sizeof decimal, "%llu", (unsigned long long)value);
    if (!fits || size > (size_t)(end - at)) {
        return sql_fail(q, GRANARY_EINVAL, (int)(at - text),
                        "'%.*s' is too large for a number of this form: write it with decimal digits", (int)(end - at),
                        at);
    }
    memset(at, ' ', (size_t)(end - at));
    memcpy(at, decimal, size);
    return true;
}

/* A decimal one: without its underscores. */
static char *
put_decimal(char *at)
{
    char *to = at;
    char *end = at;
    bool joints = false;
    bool point = false;
    bool exponent = false;

    for (; *end != '\0'; end++) {
        bool first_point = *end == '.' && !point && !exponent;
        bool first_e = (*end == 'e' || *end == 'E') && !exponent &&
                       isdigit((unsigned char)end[end[1] == '+' || end[1] == '-' ? 2 : 1]);

        if (!isdigit((unsigned char)*end) && !is_joint(end, 10) && !first_point && !first_e) {
            break;
        }
        joints = joints || *end == '_';
        point = point || first_point;
        exponent = exponent || first_e;
        end += first_e && !isdigit((unsigned char)end[1]);
    }
    if (joints && !is_in_word(*end)) {
        for (const char *from = at; from < end; from++) {
            if (*from != '_') {
                *to++ = *from;
            }
        }
        memset(to, ' ', (size_t)(end - to));
    }
    return end;
}

bool
dialect_numbers(struct sql_statement *q, char *text)
{
    char *at = text;
    bool ok = true;

    while (*at != '\0' && ok) {
        if (at[0] == '-' && at[1] == '-') {
            at += strcspn(at, "\n\r");
        } else if (at[0] == '/' && at[1] == '*') {
            at = behind_comment(at);
        } else if (*at == '\'' || *at == '"') {
            at = behind_quotes(at, false);
        } else if (*at == '$') {
            at = behind_dollar(at);
        } else if ((*at == 'e' || *at == 'E') && at[1] == '\'') {
            at = behind_quotes(at + 1, true);
        } else if (*at == '0' && base_of(at[1]) > 0) {
            ok = put_based(q, text, at, base_of(at[1]), &at);
            at = behind_word(at);
        } else if (isdigit((unsigned char)*at)) {
            at = behind_word(put_decimal(at));
        } else {
            at = is_in_word(*at) ? behind_word(at) : at + 1;
        }
    }
    return ok;
}
