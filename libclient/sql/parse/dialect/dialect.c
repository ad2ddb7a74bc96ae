/* The list of tokens, the table of rules, and the text that comes of them (dialect.h). */
#include "sql/parse/dialect/dialect.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Asked of each token in turn, and of what rules make behind it. */
static const struct {
    const char *word;
    dialect_rule *rule;
} rules[] = {
    /* An operator would bind as any that somebody makes up: between `+` and `=`. */
    {"//", dialect_quotient},
    {"**", dialect_power},
    {"==", dialect_equal},
    {"#", dialect_place},
    {"+#", dialect_place},
    {"-#", dialect_place},
    {"*#", dialect_place},
    {"/#", dialect_place},
    {"=#", dialect_place},
    {"localtime", dialect_value_name},
    {"localtimestamp", dialect_value_name},
    {"current_date", dialect_value_name},
    {"current_time", dialect_value_name},
    {"current_timestamp", dialect_value_name},
    {"user", dialect_value_name},
    {"current_user", dialect_value_name},
    {"session_user", dialect_value_name},
    {"columns", dialect_columns},
    {"[", dialect_list},
    {"(", dialect_subquery},
    {".", dialect_dot},
    {"in", dialect_in},
    {"*", dialect_star},
    {",", dialect_comma},
    {":", dialect_colon},
    {"as", dialect_as},
    {"%", dialect_percent},
    {"percent", dialect_percent},
    {"try_cast", dialect_try}, /* only CAST takes AS */
    {"join", dialect_join},
    {"semi", dialect_semi},
    {"anti", dialect_semi},
    {"asof", dialect_other_join},
    {"positional", dialect_other_join},
    {"describe", dialect_about},
    {"desc", dialect_about},
    {"show", dialect_about},
    {"summarize", dialect_about},
    {"from", dialect_from},
    {"pivot", dialect_pivot},
    {"pivot_wider", dialect_pivot},
    {"unpivot", dialect_unpivot},
    {"pivot_longer", dialect_unpivot},
    {"all", dialect_all},
    {"qualify", dialect_qualify},
    {"tablesample", dialect_tablesample},
    {"using", dialect_using},
    {"values", dialect_values},
    {"union", dialect_set},
    {"intersect", dialect_set},
    {"except", dialect_set},
    {"interval", dialect_interval},
    {"filter", dialect_filter},
    {"not", dialect_not_null},
    {"decimal", dialect_decimal},
    {"numeric", dialect_decimal},
    {"dec", dialect_decimal},
    {"ignore", dialect_nulls},
    {"respect", dialect_nulls},
    {"order", dialect_order},
};

enum { RULES = sizeof rules / sizeof rules[0], NAME_BYTES = 63 };

/* ---- tokens ---- */

bool
dialect_is(const struct dialect_token *token, const char *word)
{
    return token != NULL && tolower((unsigned char)token->text[0]) == word[0] &&
           strncasecmp(token->text, word, (size_t)token->size) == 0 && word[token->size] == '\0' && token->size > 0;
}

bool
dialect_is_one(const struct dialect_token *token, const char *const *words)
{
    while (*words != NULL && !dialect_is(token, *words)) {
        words++;
    }
    return *words != NULL;
}

bool
dialect_is_name(const struct dialect_token *token)
{
    return token != NULL && token->is_name && !token->is_reserved;
}

bool
dialect_is_end(const struct dialect_token *token)
{
    static const char *const ends[] = {")", "]", ";", NULL};

    return token->next == NULL || dialect_is_one(token, ends);
}

void
dialect_note(struct dialect *d, struct dialect_token *token, enum parse_noted what)
{
    d->noted += token->note == 0;
    token->note = (uint8_t)(what + 1);
}

void
dialect_replace(struct dialect *d, struct dialect_token *token, const char *with)
{
    token->text = with;
    token->size = (int)strlen(with);
    token->kept = false;
    d->made_bytes += (size_t)token->size + 1;
    d->changed = true;
}

void
dialect_remove(struct dialect *d, struct dialect_token *token)
{
    token->prev->next = token->next;
    token->next->prev = token->prev;
    token->removed = true;
    d->changed = true;
}

static void
link_before(struct dialect *d, struct dialect_token *token, struct dialect_token *before)
{
    token->prev = before->prev;
    token->next = before;
    before->prev->next = token;
    before->prev = token;
    d->changed = true;
}

struct dialect_token *
dialect_add(struct dialect *d, struct dialect_token *before, const char *text, const struct dialect_token *at)
{
    struct dialect_token *token = SQL_NEW(d->q, struct dialect_token);

    if (token != NULL) {
        *token = (struct dialect_token){.text = text, .size = (int)strlen(text), .at = at->at, .end = -1};
        d->made_bytes += (size_t)token->size + 1;
        link_before(d, token, before);
    }
    return token;
}

void
dialect_move(struct dialect *d, struct dialect_token *from, struct dialect_token *to, struct dialect_token *before)
{
    from->prev->next = to->next;
    to->next->prev = from->prev;
    from->prev = before->prev;
    before->prev->next = from;
    to->next = before;
    before->prev = to;
    d->made_bytes += 2;
    d->changed = true;
}

/* Whether the token is a bracket that opens. */
static bool
opens(const struct dialect_token *token)
{
    return token->pair != NULL && (token->text[0] == '(' || token->text[0] == '[');
}

struct dialect_token *
dialect_after(struct dialect_token *token)
{
    return token->next == NULL || dialect_is_end(token) ? token : opens(token) ? token->pair->next : token->next;
}

struct dialect_token *
dialect_find(struct dialect_token *from, const char *const *words)
{
    struct dialect_token *token = from;

    while (!dialect_is_end(token) && !dialect_is_one(token, words)) {
        token = opens(token) ? token->pair->next : token->next;
    }
    return token;
}

bool
dialect_is_clause(const struct dialect_token *token)
{
    static const char *const words[] = {"from",   "where", "group", "having",    "window", "qualify", "order", "limit",
                                        "offset", "fetch", "union", "intersect", "except", "into",    "for",   NULL};

    return (dialect_is_one(token, words) && !(dialect_is(token, "from") && dialect_is(token->prev, "distinct"))) ||
           (dialect_is(token, "using") && token->next != NULL && dialect_is(token->next, "sample"));
}

struct dialect_token *
dialect_clause_end(struct dialect_token *token)
{
    while (!dialect_is_end(token) && !dialect_is_clause(token)) {
        token = opens(token) ? token->pair->next : token->next;
    }
    return token;
}

/* ---- the list ---- */

/* Brackets know each other; those that have none stay alone, as the grammar will tell. */
static bool
pair_brackets(struct dialect *d)
{
    struct dialect_token **open = SQL_ARRAY(d->q, struct dialect_token *, d->count);
    size_t depth = 0;

    for (struct dialect_token *token = d->first.next; open != NULL && token != &d->last; token = token->next) {
        char c = token->size == 1 ? token->text[0] : '\0';

        if (c == '(' || c == '[') {
            open[depth++] = token;
        } else if ((c == ')' || c == ']') && depth > 0 && open[depth - 1]->text[0] == (c == ')' ? '(' : '[')) {
            token->pair = open[--depth];
            open[depth]->pair = token;
        }
    }
    return open != NULL;
}

static bool
is_value(const PgQuery__ScanToken *token)
{
    switch (token->token) {
    case PG_QUERY__TOKEN__SCONST:
    case PG_QUERY__TOKEN__ICONST:
    case PG_QUERY__TOKEN__FCONST:
    case PG_QUERY__TOKEN__BCONST:
    case PG_QUERY__TOKEN__XCONST:
    case PG_QUERY__TOKEN__USCONST:
    case PG_QUERY__TOKEN__PARAM:
        return true;
    default:
        return false;
    }
}

static bool
is_name(const PgQuery__ScanToken *token)
{
    return token->token == PG_QUERY__TOKEN__IDENT || token->token == PG_QUERY__TOKEN__UIDENT ||
           token->keyword_kind != PG_QUERY__KEYWORD_KIND__NO_KEYWORD;
}

/* The grammar cuts longer names off, so that another one would be meant. */
static bool
check_name(struct dialect *d, const struct dialect_token *name)
{
    const bool quoted = name->text[0] == '"';
    int size = quoted ? name->size - 2 : name->size;

    for (int i = 1; quoted && i + 2 < name->size; i++) {
        if (name->text[i] == '"') { /* two stand for one */
            size--;
            i++;
        }
    }
    return size <= NAME_BYTES ||
           sql_fail(d->q, GRANARY_EUNSUPPORTED, name->at,
                    "a name of %d bytes is not supported, but of %d at most; a file's name stands in single quotes",
                    size, NAME_BYTES);
}

static bool
list_tokens(struct dialect *d, const PgQuery__ScanResult *scan)
{
    struct dialect_token *tokens = SQL_ARRAY(d->q, struct dialect_token, scan->n_tokens);
    size_t count = 0;

    d->first = (struct dialect_token){.text = "", .at = 0, .end = 0, .next = &d->last};
    d->last =
        (struct dialect_token){.text = "", .at = (int)strlen(d->text), .end = (int)strlen(d->text), .prev = &d->first};
    for (size_t i = 0; tokens != NULL && i < scan->n_tokens; i++) {
        const PgQuery__ScanToken *from = scan->tokens[i];

        if (from->token == PG_QUERY__TOKEN__SQL_COMMENT || from->token == PG_QUERY__TOKEN__C_COMMENT) {
            continue;
        }
        tokens[count] =
            (struct dialect_token){.text = d->text + from->start,
                                   .size = from->end - from->start,
                                   .at = from->start,
                                   .end = from->end,
                                   .kept = true,
                                   .is_value = is_value(from),
                                   .is_name = is_name(from),
                                   .is_reserved = from->keyword_kind == PG_QUERY__KEYWORD_KIND__RESERVED_KEYWORD};
        if (tokens[count].is_name && tokens[count].size > NAME_BYTES && !check_name(d, &tokens[count])) {
            return false;
        }
        link_before(d, &tokens[count++], &d->last);
    }
    d->changed = false;
    d->tokens = tokens;
    d->count = count;
    return tokens != NULL && pair_brackets(d);
}

/* In the statement's order, wherever rules before have moved a token. */
static void
apply_rules(struct dialect *d)
{
    for (size_t t = 0; t < d->count && d->q->err == GRANARY_OK; t++) {
        struct dialect_token *token = &d->tokens[t];

        if (token->is_name && !token->removed) {
            dialect_lambda(d, token);
        }
        for (size_t i = 0; i < RULES && !token->is_value && !token->removed; i++) {
            if (dialect_is(token, rules[i].word)) {
                rules[i].rule(d, token);
                break;
            }
        }
    }
}

/* ---- the text ---- */

struct writer {
    struct dialect *d;
    char *text;
    size_t size;
    struct sql_moved *moved;
    size_t moved_count;
    struct parse_note *notes;
    size_t note_count;
};

/* What follows stands there in the statement: all of it at one place, or byte by byte. */
static void
map_place(struct writer *w, int given, bool fixed)
{
    struct sql_moved *last = w->moved_count == 0 ? NULL : &w->moved[w->moved_count - 1];

    if (last == NULL || fixed || last->fixed || given - last->given != (int)w->size - last->parsed) {
        w->moved[w->moved_count++] = (struct sql_moved){(int)w->size, given, fixed};
    }
}

static void
write_bytes(struct writer *w, const char *bytes, size_t size)
{
    memcpy(w->text + w->size, bytes, size);
    w->size += size;
}

/* What stood between two tokens that still follow each other; else a blank. */
static void
write_gap(struct writer *w, const struct dialect_token *before, const struct dialect_token *token)
{
    const char *text = w->d->text;
    size_t size = (size_t)(token->at - before->end);

    if (token->kept && before->kept && before->end <= token->at && strspn(text + before->end, " \t\r\n\f\v") >= size) {
        write_bytes(w, text + before->end, size);
    } else {
        write_bytes(w, " ", 1);
    }
}

static char *
write_tokens(struct dialect *d, const struct parse_note **ret_notes, size_t *ret_note_count)
{
    size_t count = 0;
    struct writer w = {.d = d};

    for (const struct dialect_token *token = d->first.next; token != NULL; token = token->next) {
        count++;
    }
    w.notes = SQL_ARRAY(d->q, struct parse_note, d->noted);
    w.moved = d->changed ? SQL_ARRAY(d->q, struct sql_moved, 2 * count) : NULL;
    w.text = d->changed ? SQL_ARRAY(d->q, char, strlen(d->text) + d->made_bytes + count + 1) : NULL;
    if (d->q->err != GRANARY_OK) {
        return NULL;
    }
    for (const struct dialect_token *token = d->first.next; token != NULL; token = token->next) {
        if (d->changed) {
            write_gap(&w, token->prev, token);
            map_place(&w, token->at, !token->kept && token != &d->last);
        }
        if (token->note != 0) {
            w.notes[w.note_count++] = (struct parse_note){d->changed ? (int)w.size : token->at, token->note - 1};
        }
        if (d->changed) {
            write_bytes(&w, token->text, (size_t)token->size);
        }
    }
    if (d->changed) {
        d->q->moved = w.moved;
        d->q->moved_count = w.moved_count;
    }
    *ret_notes = w.notes;
    *ret_note_count = w.note_count;
    return w.text;
}

char *
dialect_rewrite(struct sql_statement *q, char *text, const struct parse_note **ret_notes, size_t *ret_note_count)
{
    struct dialect d = {.q = q, .text = text};
    PgQuery__ScanResult *scan;
    char *written = NULL;

    if (!dialect_numbers(q, text)) {
        return NULL;
    }
    scan = parse_scan(q, text);
    if (scan != NULL && list_tokens(&d, scan)) { /* a text that it cannot scan is the parser's to refuse */
        apply_rules(&d);
        written = q->err == GRANARY_OK ? write_tokens(&d, ret_notes, ret_note_count) : NULL;
    }
    parse_scan_free(scan);
    return q->err != GRANARY_OK ? NULL : written != NULL ? written : text;
}
