/*
 * Numbers as the grammar does not know them: 1_000, 0x1F, 0o17, 0b11. They become what it knows, and blanks behind that. Blanks
 * beyond ASCII, which come with text that was copied from a page, become ASCII's.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sql/parse/dialect/dialect.h"
#include "sql/select/split.h"

static bool
is_in_word(char c)
{
    return sql_is_word_byte(c) || c == '$';
}

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
        if (*end != '_') {
            uint64_t digit = (uint64_t)digit_of(*end, base);

            fits = fits && value <= (UINT64_MAX - digit) / (uint64_t)base;
            value = value * (uint64_t)base + digit;
        }
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

/* How many bytes a blank beyond ASCII has there; 0: there is none. */
static size_t
wide_blank(const char *at)
{
    static const char *const blanks[] = {"\u00a0", "\u1680", "\u202f", "\u205f", "\u3000", "\ufeff"};

    for (size_t i = 0; i < sizeof blanks / sizeof blanks[0]; i++) {
        if (strncmp(at, blanks[i], strlen(blanks[i])) == 0) {
            return strlen(blanks[i]);
        }
    }
    /* U+2000 to U+200B */
    return strncmp(at, "\xe2\x80", 2) == 0 && (unsigned char)at[2] >= 0x80 && (unsigned char)at[2] <= 0x8b ? 3 : 0;
}

bool
dialect_numbers(struct sql_statement *q, char *text)
{
    struct sql_split split = {.mode = SQL_SPLIT_CODE};
    char *at = text;
    bool ok = true;

    while (*at != '\0' && ok) {
        bool is_code = split.mode == SQL_SPLIT_CODE || split.mode == SQL_SPLIT_STRING_END;
        char *end = at + 1;

        if (is_code) {
            memset(at, ' ', wide_blank(at));
        }
        if (is_code && !split.in_word && isdigit((unsigned char)*at)) {
            int base = *at == '0' ? base_of(at[1]) : 0;

            if (base > 0) {
                ok = put_based(q, text, at, base, &end);
            } else {
                end = put_decimal(at);
            }
        }
        while (at < end) {
            (void)sql_split_take(&split, *at++);
        }
    }
    return ok;
}
