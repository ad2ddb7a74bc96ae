/* What the grammar says of text that it does not know, in words that help. */
#include <string.h>
#include <strings.h>

#include "sql/parse/private.h"

/* The last JOIN at the depth of brackets that ends there, which has no condition yet; -1: none. */
struct open_join {
    int at[64];
    int depth;
};

static bool
is_word(const char *text, const PgQuery__ScanToken *token, const char *word)
{
    return (size_t)(token->end - token->start) == strlen(word) &&
           strncasecmp(text + token->start, word, strlen(word)) == 0;
}

static void
follow(struct open_join *open, const char *text, PgQuery__ScanToken *const *tokens, size_t i)
{
    const PgQuery__ScanToken *token = tokens[i];
    int *at = &open->at[open->depth];

    if (is_word(text, token, "(") && open->depth + 1 < (int)(sizeof open->at / sizeof open->at[0])) {
        open->at[++open->depth] = -1;
    } else if (is_word(text, token, ")") && open->depth > 0) {
        open->depth--;
    } else if (is_word(text, token, "join")) {
        bool free = false; /* CROSS JOIN, NATURAL LEFT JOIN */

        for (size_t k = i; k > 0 && k + 3 > i && !free; k--) {
            free = is_word(text, tokens[k - 1], "cross") || is_word(text, tokens[k - 1], "natural");
        }
        *at = free ? -1 : token->start;
    } else if (is_word(text, token, "on") || is_word(text, token, "using")) {
        *at = -1;
    }
}

bool
parse_fail_syntax(struct sql_statement *q, const char *text, int at, const char *message)
{
    PgQuery__ScanResult *scan = parse_scan(q, text);
    struct open_join open = {.at = {-1}};
    size_t i = 0;

    for (; scan != NULL && i < scan->n_tokens && scan->tokens[i]->start < at; i++) {
        follow(&open, text, scan->tokens, i);
    }
    if (open.at[open.depth] >= 0 && strncmp(message, "syntax error", strlen("syntax error")) == 0) {
        (void)sql_fail(q, GRANARY_EINVAL, open.at[open.depth],
                       "this JOIN needs a condition: ON a.id = b.id, or USING (id)");
    } else if (scan != NULL && i > 0 && i < scan->n_tokens && is_word(text, scan->tokens[i], "=>")) {
        const PgQuery__ScanToken *name = scan->tokens[i - 1];
        const int size = (int)(name->end - name->start);

        (void)sql_fail(q, GRANARY_EINVAL, name->start, "%.*s is a word of SQL: write \"%.*s\" =>", size,
                       text + name->start, size, text + name->start);
    } else {
        (void)sql_fail(q, GRANARY_EINVAL, at, "%s", message);
    }
    parse_scan_free(scan);
    return false;
}
