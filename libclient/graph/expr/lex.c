/* The lexer of expressions: one token ahead, with its place in characters for messages. */
#include "graph/expr/lex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

granary_err
lexer_fail(const struct lexer *lexer, int position, const char *format, ...)
{
    char what[400];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return gr_fail(GRANARY_EINVAL, "expression `%.240s%s`, position %d: %s", lexer->text,
                   strlen(lexer->text) > 240 ? "..." : "", position, what);
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
begins_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static void
step(struct lexer *lexer, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++, lexer->at++) {
        /* Continuation bytes of UTF-8 are no characters of their own. */
        lexer->position += ((unsigned char)*lexer->at & 0xc0) != 0x80;
    }
}

/* Bytes of the number at text: digits [. digits], or . digits; then [^] or [e [sign] digits] */
static size_t
number_size(const char *text, enum token_kind *ret_kind)
{
    size_t size = strspn(text, "0123456789");

    *ret_kind = TOKEN_INT;
    if (text[size] == '.') {
        *ret_kind = TOKEN_DOUBLE;
        size += 1 + strspn(text + size + 1, "0123456789");
    }
    if (text[size] == 'e' || text[size] == 'E') {
        size_t sign = text[size + 1] == '+' || text[size + 1] == '-';
        size_t digits = strspn(text + size + 1 + sign, "0123456789");

        if (digits > 0) {
            *ret_kind = TOKEN_DOUBLE;
            size += 1 + sign + digits;
        }
    } else if (text[size] == '^') {
        size++;
    }
    return size;
}

/* Bytes up to and with the closing quote; 0: there is none. */
static size_t
quoted_size(const char *text)
{
    char quote = text[0];

    for (size_t i = 1; text[i] != '\0'; i++) {
        if (text[i] != quote) {
            continue;
        }
        if (text[i + 1] != quote) {
            return i + 1;
        }
        i++;
    }
    return 0;
}

static size_t
symbol_size(const char *text)
{
    static const char *const longer[] = {
        "!=^", "<=^", ">=^", "=^", "<^", ">^", "==", "!=", "<>", "<=", ">=", "&&", "||", "//"};

    for (size_t i = 0; i < sizeof longer / sizeof longer[0]; i++) {
        if (strncmp(text, longer[i], strlen(longer[i])) == 0) {
            return strlen(longer[i]);
        }
    }
    return strchr("=<>+-*/%(),&|~!", text[0]) != NULL ? 1 : 0;
}

static granary_err
no_symbol(const struct lexer *lexer, int position, char c)
{
    if ((unsigned char)c < 0x20 || c == 0x7f) {
        return lexer_fail(lexer, position, "a control character has no meaning here");
    }
    return lexer_fail(lexer, position, "'%c' has no meaning here; names with such characters stand in backquotes", c);
}

static granary_err
read_token(struct lexer *lexer, struct token *token)
{
    const char *at = lexer->at;

    if (*at == '\0') {
        token->kind = TOKEN_END;
        token->size = 0;
    } else if (*at == '\'' || *at == '"' || *at == '`') {
        token->kind = *at == '`' ? TOKEN_QUOTED_NAME : TOKEN_TEXT;
        token->size = quoted_size(at);
        if (token->size == 0) {
            return lexer_fail(lexer, token->position, "the %s begun here does not end: a closing %c is missing",
                              *at == '`' ? "name" : "text", *at);
        }
    } else if (is_digit(*at) || (*at == '.' && is_digit(at[1]))) {
        token->size = number_size(at, &token->kind);
        if (begins_name(at[token->size]) || at[token->size] == '.') {
            return lexer_fail(lexer, token->position,
                              "'%.*s...' is no number; a name that begins with a digit stands "
                              "in backquotes",
                              (int)token->size + 1, at);
        }
    } else if (begins_name(*at)) {
        token->kind = TOKEN_NAME;
        token->size = 1;
        while (begins_name(at[token->size]) || is_digit(at[token->size])) {
            token->size++;
        }
        token->size += at[token->size] == '^' && at[token->size + 1] == '('; /* SQL's function of that name */
    } else {
        token->kind = TOKEN_SYMBOL;
        token->size = symbol_size(at);
        if (token->size == 0) {
            return no_symbol(lexer, token->position, *at);
        }
    }
    return GRANARY_OK;
}

granary_err
lexer_next(struct lexer *lexer)
{
    struct token token = {0};
    granary_err err;

    step(lexer, strspn(lexer->at, " \t\r\n"));
    token.position = lexer->position;
    token.start = lexer->at;
    err = read_token(lexer, &token);
    if (err != GRANARY_OK) {
        return err;
    }
    step(lexer, token.size);
    lexer->token = token;
    return GRANARY_OK;
}

bool
token_is(const struct token *token, const char *text)
{
    return (token->kind == TOKEN_SYMBOL || token->kind == TOKEN_NAME) && strlen(text) == token->size &&
           strncasecmp(token->start, text, token->size) == 0;
}

bool
lexer_is_plain_name(const char *name)
{
    static const char *const words[] = {"and",  "or",   "not",  "is",    "in",   "between",  "like",     "ilike",
                                        "case", "when", "then", "else",  "end",  "escape",   "as",       "from",
                                        "true", "null", "date", "false", "cast", "interval", "timestamp"};
    size_t size = strlen(name);

    for (size_t i = 0; i < size; i++) {
        if (!begins_name(name[i]) && (i == 0 || !is_digit(name[i]))) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(name, words[i]) == 0) {
            return false;
        }
    }
    return size > 0;
}

const char *
token_show(const struct token *token, char ret_text[48])
{
    if (token->kind == TOKEN_END) {
        return "the end";
    }
    if (token->size > 30) {
        size_t size = 30;

        /* Not within a character. */
        while (((unsigned char)token->start[size] & 0xc0) == 0x80) {
            size--;
        }
        (void)snprintf(ret_text, 48, "%.*s...", (int)size, token->start);
    } else if (token->kind == TOKEN_TEXT || token->kind == TOKEN_QUOTED_NAME) {
        (void)snprintf(ret_text, 48, "%.*s", (int)token->size, token->start);
    } else {
        (void)snprintf(ret_text, 48, "'%.*s'", (int)token->size, token->start);
    }
    return ret_text;
}

char *
token_unquote(const struct token *token, size_t *ret_size)
{
    char *text = malloc(token->size);
    size_t size = 0;

    if (text == NULL) {
        return NULL;
    }
    for (size_t i = 1; i + 1 < token->size; i++) {
        text[size++] = token->start[i];
        if (token->start[i] == token->start[0]) {
            i++; /* doubled */
        }
    }
    text[size] = '\0';
    *ret_size = size;
    return text;
}
