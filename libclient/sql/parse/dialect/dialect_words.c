/* Rules about single words and operators. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "sql/parse/dialect/dialect.h"

/* ---- operators ---- */

void
dialect_quotient(struct dialect *d, struct dialect_token *token)
{
    dialect_note(d, token, NOTED_QUOTIENT);
    dialect_replace(d, token, "/");
}

void
dialect_power(struct dialect *d, struct dialect_token *token)
{
    dialect_replace(d, token, "^");
}

void
dialect_equal(struct dialect *d, struct dialect_token *token)
{
    dialect_replace(d, token, "=");
}

/* Whether an expression may begin behind the token. */
static bool
begins_value(const struct dialect_token *before)
{
    static const char *const closing[] = {")", "]", "end", "null", "true", "false", NULL};
    static const char *const words[] = {"by", "between", "like", "ilike", "is", NULL};

    return !before->is_value && !dialect_is_one(before, closing) &&
           (!dialect_is_name(before) || dialect_is_one(before, words));
}

/* #2, the second column of FROM or, in ORDER BY, of SELECT: a column whose place is noted. */
void
dialect_place(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *number = token->next;
    const char *name;

    if (!number->is_value || number->at != token->end || number->text[0] == '\'' ||
        (token->size == 1 && !begins_value(token->prev))) {
        return;
    }
    if (token->size > 1) { /* a+#2 */
        struct dialect_token *sign = dialect_add(d, token, token->text, token);

        if (sign == NULL) {
            return;
        }
        sign->size = 1;
    }
    name = sql_printf(d->q, "\"#%.*s\"", number->size, number->text);
    if (name != NULL) {
        dialect_replace(d, token, name);
        dialect_note(d, token, NOTED_PLACE);
        dialect_remove(d, number);
    }
}

void
dialect_try(struct dialect *d, struct dialect_token *token)
{
    if (dialect_is(token->next, "(")) {
        dialect_note(d, token, NOTED_TRY);
        dialect_replace(d, token, "cast");
    }
}

/* ---- joins ---- */

/* Each JOIN is noted: the last one before a table tells how it is joined. */
void
dialect_join(struct dialect *d, struct dialect_token *token)
{
    if (token->note == 0) {
        dialect_note(d, token, NOTED_JOIN);
    }
}

/* Whether a word behind `token` is the name of something, however it reads. */
static bool
is_named(const struct dialect_token *token)
{
    static const char *const begins[] = {"from", "join", "as", ",", ".", "(", NULL};

    return dialect_is_one(token->prev, begins) || token->prev->prev == NULL;
}

/* SEMI JOIN and ANTI JOIN, which the grammar would take for an alias: LEFT JOIN, noted. */
void
dialect_semi(struct dialect *d, struct dialect_token *token)
{
    if (is_named(token) || !dialect_is(token->next, "join")) {
        return;
    }
    if (dialect_is(token->prev, "left")) { /* LEFT SEMI JOIN is the same */
        dialect_remove(d, token->prev);
    }
    dialect_note(d, token->next, dialect_is(token, "semi") ? NOTED_SEMI : NOTED_ANTI);
    dialect_replace(d, token, "left");
}

/* POSITIONAL JOIN is CROSS JOIN, noted; ASOF [LEFT ...] JOIN is JOIN or LEFT JOIN ..., noted; ASOF SEMI JOIN is LEFT
 * JOIN, noted. */
void
dialect_other_join(struct dialect *d, struct dialect_token *token)
{
    static const char *const joins[] = {"join", "left", "right", "inner", "full", "semi", "anti", NULL};
    static const char *const sides[] = {"left", "right", "full", "inner", "outer", NULL};
    struct dialect_token *join = token->next;
    int note = NOTED_ASOF;

    if (is_named(token) || !dialect_is_one(join, joins)) {
        return;
    }
    if (dialect_is(token, "asof") && (dialect_is(join, "semi") || dialect_is(join, "anti"))) {
        note = dialect_is(join, "semi") ? NOTED_ASOF_SEMI : NOTED_ASOF_ANTI;
        dialect_replace(d, join, "left");
        join = join->next;
    }
    while (dialect_is(token, "asof") && dialect_is_one(join, sides)) {
        join = join->next;
    }
    if (!dialect_is(join, "join")) {
        (void)sql_fail(d->q, GRANARY_EUNSUPPORTED, token->at, "%.*s %.*s JOIN is not supported", token->size,
                       token->text, join->size, join->text);
    } else if (dialect_is(token, "asof")) {
        dialect_note(d, join, note);
        dialect_remove(d, token);
    } else {
        dialect_note(d, join, NOTED_POSITIONAL);
        dialect_replace(d, token, "cross");
    }
}

/* ---- lists ---- */

/* Whether a bracket there begins a list: behind a value it takes a part of that, or tells of a type. */
static bool
begins_list(const struct dialect_token *before)
{
    static const char *const values[] = {"array", "end", "true", "false", "null", ")", "]", NULL};

    return !dialect_is_one(before, values) && !before->is_value && (!before->is_name || before->is_reserved);
}

/* Where a list or a call begins whose last bracket that is, and of which a part may be taken; NULL: it is neither. */
static struct dialect_token *
subject_of(struct dialect_token *bracket)
{
    static const char *const others[] = {"filter", "over", "group", "in", "as", "any", "all", "some", "using", NULL};
    struct dialect_token *word = bracket->pair == NULL ? NULL : bracket->pair->prev;

    if (word == NULL || word->prev == NULL) {
        return NULL;
    }
    if (dialect_is(bracket, "]")) {
        return dialect_is(word, "array") ? word : NULL;
    }
    if (!dialect_is(bracket, ")") || !word->is_name || dialect_is_one(word, others) || dialect_is(word->prev, "::") ||
        dialect_is(word->prev, "as") || dialect_is(word->prev, ".") ||
        (word->is_reserved && !dialect_is(word, "cast"))) {
        return NULL;
    }
    return word;
}

/* Lists as DuckDB writes them: [1, 2] becomes ARRAY[1, 2]. The grammar takes parts of what stands in brackets: f(x)[1]
 * becomes (f(x))[1], and 'text'[1] ('text')[1]. */
void
dialect_list(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *subject;

    if (token->prev->prev == NULL || dialect_step(d, token)) {
        return;
    }
    subject = token->prev->is_value && token->prev->text[0] == '\'' ? token->prev : subject_of(token->prev);
    if (subject != NULL && token->pair != NULL && token->pair != token->next) {
        struct dialect_token *open = dialect_add(d, subject, "(", subject);
        struct dialect_token *close = dialect_add(d, token, ")", token);

        if (open != NULL && close != NULL) {
            open->pair = close;
            close->pair = open;
        }
    } else if (begins_list(token->prev)) {
        if (!dialect_comprehension(d, token)) {
            (void)dialect_add(d, token, "array", token);
        }
    }
}

/* 'name' becomes "name". */
static void
quote_name(struct dialect *d, struct dialect_token *name)
{
    char *quoted = name->is_value && name->text[0] == '\'' ? SQL_ARRAY(d->q, char, 2 * (size_t)name->size) : NULL;
    char *to = quoted;

    if (quoted == NULL || name->size < 3) {
        return;
    }
    *to++ = '"';
    for (int i = 1; i + 1 < name->size; i++) {
        *to++ = name->text[i];
        if (name->text[i] == '"') {
            *to++ = '"';
        }
        i += name->text[i] == '\'';
    }
    *to++ = '"';
    dialect_replace(d, name, quoted);
    name->is_value = false;
    name->is_name = true;
}

/* AS 'name' is AS "name"; AS t('a', 'b') is AS t("a", "b"). */
void
dialect_as(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *name = token->next;
    struct dialect_token *column;

    quote_name(d, name);
    if (!dialect_is_name(name) || !dialect_is(name->next, "(") || name->next->pair == NULL) {
        return;
    }
    for (column = name->next->next; column->is_value && dialect_is(column->next, ","); column = column->next->next) {
        quote_name(d, column);
    }
    if (column->next == name->next->pair) {
        quote_name(d, column);
    }
}

/* AS localtime: the word is a name in all of the statement, and not the function. */
void
dialect_value_name(struct dialect *d, struct dialect_token *token)
{
    const struct dialect_token word = *token;
    char *small = dialect_is(token->prev, "as") ? sql_printf(d->q, "\"%.*s\"", word.size, word.text) : NULL;

    for (char *c = small; c != NULL && *c != '\0'; c++) {
        *c = (char)tolower((unsigned char)*c);
    }
    for (size_t i = 0; small != NULL && i < d->count; i++) {
        struct dialect_token *same = &d->tokens[i];

        if (!same->removed && same->is_name && same->size == word.size &&
            strncasecmp(same->text, word.text, (size_t)word.size) == 0) {
            dialect_replace(d, same, small);
            same->is_reserved = false;
        }
    }
}

/* FILTER (condition) is FILTER (WHERE condition). */
void
dialect_filter(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *open = token->next;

    if (dialect_is(token->prev, ")") && dialect_is(open, "(") && open->pair != NULL && open->next != open->pair &&
        !dialect_is(open->next, "where")) {
        (void)dialect_add(d, open->next, "where", open);
    }
}

/* x NOT NULL is x IS NOT NULL, where queries stand. */
void
dialect_not_null(struct dialect *d, struct dialect_token *token)
{
    static const char *const makes[] = {"create", "alter", NULL};

    if (dialect_is(token->next, "null") && !begins_value(token->prev) && !dialect_is_one(d->first.next, makes)) {
        (void)dialect_add(d, token, "is", token);
    }
}

/* DECIMAL() is DECIMAL. */
void
dialect_decimal(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *open = token->next;

    if (dialect_is(open, "(") && open->pair != NULL && open->next == open->pair) {
        dialect_remove(d, open->pair);
        dialect_remove(d, open);
    }
}

/* ---- intervals ---- */

/* What the unit is called where granary reads it, its zeros, and how it counts numbers with a fraction. */
static const struct unit {
    const char *word;
    const char *name;
    const char *zeros;
    const char *factor; /* of a fraction's unit; NULL: a fraction is cut off */
    const char *part;
    bool in_grammar; /* without an s */
} units[] = {
    {"year", "year", "", NULL, "year", true},
    {"month", "month", "", NULL, "month", true},
    {"day", "day", "", NULL, "day", true},
    {"hour", "hour", "", NULL, "hour", true},
    {"minute", "minute", "", NULL, "minute", true},
    {"second", "second", "", "1000000.0", "microsecond", true},
    {"week", "week", "", NULL, "week", false},
    {"quarter", "quarter", "", NULL, "quarter", false},
    {"decade", "year", "0", NULL, "year", false},
    {"century", "year", "00", NULL, "year", false},
    {"centuries", "year", "00", NULL, "year", false},
    {"millennium", "year", "000", NULL, "year", false},
    {"millennia", "year", "000", NULL, "year", false},
    {"millisecond", "millisecond", "", "1000.0", "microsecond", false},
    {"microsecond", "microsecond", "", NULL, "microsecond", false},
};

/* Of the unit a token is, which may end in s. NULL: it is none. */
static const struct unit *
find_unit(const struct dialect_token *token)
{
    struct dialect_token singular = *token;

    singular.size -= token->size > 1 && (token->text[token->size - 1] | 0x20) == 's';
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (dialect_is(token, units[i].word) || dialect_is(&singular, units[i].word)) {
            return &units[i];
        }
    }
    return NULL;
}

/* INTERVAL 3 WEEKS, INTERVAL '3' WEEKS: INTERVAL '3 week' */
static void
put_unit(struct dialect *d, struct dialect_token *number, const struct unit *unit)
{
    int quote = number->text[0] == '\'';
    const char *text =
        sql_printf(d->q, "'%.*s%s %s'", number->size - 2 * quote, number->text + quote, unit->zeros, unit->name);

    if (text != NULL) {
        dialect_replace(d, number, text);
        dialect_remove(d, number->next);
    }
}

/* INTERVAL (n) DAY: cast(trunc((n)) as bigint) * INTERVAL '1 day' */
static void
multiply_unit(struct dialect *d, struct dialect_token *interval, const struct unit *unit)
{
    struct dialect_token *open = interval->next;
    struct dialect_token *behind = open->pair->next->next;
    const char *one = sql_printf(d->q, "'1%s %s'", unit->zeros, unit->part);
    const char *const before[] = {"(", "cast", "(", "trunc", "(", NULL};
    const char *const after[] = {")", "as", "bigint", ")", "*", "interval", one, ")", NULL};

    dialect_remove(d, open->pair->next);
    for (size_t i = 0; before[i] != NULL; i++) {
        (void)dialect_add(d, interval, before[i], interval);
    }
    if (unit->factor != NULL) {
        (void)dialect_add(d, behind, "*", interval);
        (void)dialect_add(d, behind, unit->factor, interval);
    }
    for (size_t i = 0; after[i] != NULL; i++) {
        (void)dialect_add(d, behind, after[i], interval);
    }
    dialect_remove(d, interval);
}

static bool
is_whole(const struct dialect_token *token)
{
    return token->is_value && strspn(token->text, "0123456789") >= (size_t)token->size;
}

void
dialect_interval(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *number = token->next;
    bool bracket = dialect_is(number, "(") && number->pair != NULL;
    struct dialect_token *word = bracket ? number->pair->next : number->next;
    const struct unit *unit = number->next == NULL || word->next == NULL ? NULL : find_unit(word);

    if (unit == NULL) {
        return;
    }
    if (bracket && number->next->next == number->pair &&
        is_whole(number->next)) { /* (3), which is folded as months, too */
        dialect_remove(d, number->pair);
        dialect_remove(d, number);
        put_unit(d, token->next, unit);
    } else if (bracket) {
        multiply_unit(d, token, unit);
    } else if (is_whole(number) || (number->text[0] == '\'' && (!unit->in_grammar || !dialect_is(word, unit->word)))) {
        put_unit(d, number, unit);
    }
}

/* ---- windows ---- */

/* IGNORE NULLS and RESPECT NULLS in a call or behind it: the call's name is noted. */
void
dialect_nulls(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *close = token->next->next;

    if (!dialect_is(token->next, "nulls") || close == NULL) {
        return;
    }
    close = dialect_is(close, ")") ? close : token->prev; /* lag(x IGNORE NULLS), lag(x) IGNORE NULLS */
    if (!dialect_is(close, ")") || close->pair == NULL || !close->pair->prev->is_name) {
        return;
    }
    dialect_note(d, close->pair->prev, dialect_is(token, "ignore") ? NOTED_IGNORE_NULLS : NOTED_RESPECT_NULLS);
    dialect_remove(d, token->next);
    dialect_remove(d, token);
}

/* rank(ORDER BY x) OVER is rank() WITHIN GROUP (ORDER BY x) OVER. */
void
dialect_order(struct dialect *d, struct dialect_token *token)
{
    static const char *const within[] = {")", "within", "group", "(", NULL};
    struct dialect_token *open = token->prev;

    if (dialect_is(open, "(") && open->pair != NULL && open->prev->is_name && dialect_is(token->next, "by") &&
        dialect_is(open->pair->next, "over")) {
        dialect_add_all(d, token, within, token);
    }
}

/* ---- stars ---- */

/* Whether `*` stands for columns, and is no product. */
static bool
is_star(const struct dialect_token *token)
{
    static const char *const before[] = {"select", "distinct", "all", ",", "(", ".", NULL};
    const struct dialect_token *on = token->prev->pair == NULL ? NULL : token->prev->pair->prev;

    return dialect_is_one(token->prev, before) ||
           (dialect_is(token->prev, ")") && on != NULL && dialect_is(on, "on") && dialect_is(on->prev, "distinct"));
}

/* A clause behind a star, as a call: its word is replaced, and its items stand in brackets. NULL: it is none. */
static struct dialect_token *
put_list(struct dialect *d, struct dialect_token *word, const char *name, bool pairs)
{
    struct dialect_token *open = word->next;
    struct dialect_token *end;

    dialect_replace(d, word, name);
    for (end = open; !pairs && end->next != NULL && end != open->pair; end = end->next) {
        quote_name(d, end);
        if (!dialect_is(open, "(")) {
            break;
        }
    }
    if (!dialect_is(open, "(") || open->pair == NULL) { /* a single item */
        end = pairs ? dialect_find(open, (const char *const[]){"as", NULL})->next : open->next;
        while (!pairs && end != NULL && dialect_is(end, ".")) {
            end = end->next->next;
        }
        if (end == NULL || end->next == NULL) {
            return word->next;
        }
        open = dialect_add(d, open, "(", word);
        end = dialect_add(d, pairs ? end->next : end, ")", word);
        if (open == NULL || end == NULL) {
            return NULL;
        }
        open->pair = end;
        end->pair = open;
    }
    for (struct dialect_token *token = open->next; pairs && token != open->pair && !dialect_is_end(token);
         token = dialect_after(token)) {
        if (dialect_is(token, "as")) {
            dialect_replace(d, token, ",");
        }
    }
    return open->pair->next;
}

/* [NOT] LIKE 'pattern' as a call. */
static struct dialect_token *
put_match(struct dialect *d, struct dialect_token *word)
{
    static const char *const names[][2] = {
        {"\"#like\"", "\"#notlike\""}, {"\"#ilike\"", "\"#notilike\""}, {"\"#similar\"", "\"#notsimilar\""}};
    bool negated = dialect_is(word, "not");
    struct dialect_token *like = negated ? word->next : word;
    bool similar = dialect_is(like, "similar") && dialect_is(like->next, "to");
    size_t which = dialect_is(like, "like") ? 0 : dialect_is(like, "ilike") ? 1 : similar ? 2 : 3;
    struct dialect_token *pattern = similar ? like->next->next : like->next;

    if (which > 2 || pattern->next == NULL || !pattern->is_value) {
        return NULL;
    }
    dialect_replace(d, like, names[which][negated]);
    if (negated) {
        dialect_remove(d, word);
    }
    if (similar) {
        dialect_remove(d, like->next);
    }
    (void)dialect_add(d, pattern, "(", pattern);
    if (which < 2 && dialect_is(pattern->next, "escape") && pattern->next->next->is_value) {
        dialect_replace(d, pattern->next, ",");
        pattern = pattern->next->next;
    }
    return dialect_add(d, pattern->next, ")", pattern) == NULL ? NULL : pattern->next->next;
}

/* The next clause behind a star, made a call; where it ends. NULL: there is none. */
static struct dialect_token *
put_clause(struct dialect *d, struct dialect_token *word)
{
    static const char *const matches[] = {"not", "like", "ilike", "similar", NULL};

    if (dialect_is(word, "exclude")) {
        return put_list(d, word, "\"#exclude\"", false);
    }
    if (dialect_is(word, "replace")) {
        return put_list(d, word, "\"#replace\"", true);
    }
    if (dialect_is(word, "rename")) {
        return put_list(d, word, "\"#rename\"", true);
    }
    return word->next != NULL && word->next->next != NULL && dialect_is_one(word, matches) ? put_match(d, word) : NULL;
}

/* * EXCLUDE (a) LIKE 'x%' becomes "#star"("#exclude"(a), "#like"('x%')); t.* is its first argument. */
void
dialect_star(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *begin = token;
    struct dialect_token *clause = token->next;
    struct dialect_token *end = is_star(token) ? put_clause(d, clause) : NULL;
    struct dialect_token *name;

    if (dialect_is(token->next, "columns") && dialect_is(token->next->next, "(") && token->next->next->pair != NULL &&
        is_star(token)) { /* *COLUMNS(...) is unpack(COLUMNS(...)) */
        static const char *const lists[] = {"(", ",", NULL};

        if (dialect_is_one(token->prev, lists)) {
            (void)dialect_add_brackets(d, token->next, token->next->next->pair->next, token);
            dialect_replace(d, token, SQL_UNPACK);
        } else {
            dialect_remove(d, token);
        }
        return;
    }
    if (dialect_is(token->prev, "by")) { /* GROUP BY *, ORDER BY * */
        dialect_all(d, token);
        for (; token->note == 0 && dialect_is(token, "*"); token = token->next->next) { /* ORDER BY *, * */
            dialect_replace(d, token, "columns(*)");
            if (!dialect_is(token->next, ",")) {
                break;
            }
        }
        return;
    }
    if (end == NULL) {
        return;
    }
    while (dialect_is(begin->prev, ".") && begin->prev->prev->prev != NULL) {
        begin = begin->prev->prev;
    }
    name = dialect_add(d, begin, "\"#star\"", token);
    (void)dialect_add(d, begin, "(", token);
    if (begin != token) {
        (void)dialect_add(d, clause, ",", clause);
    } else {
        dialect_remove(d, token);
    }
    for (clause = end; (end = put_clause(d, clause)) != NULL; clause = end) {
        (void)dialect_add(d, clause, ",", clause);
    }
    (void)dialect_add(d, clause, ")", token);
    if (name != NULL) {
        dialect_note(d, name, NOTED_STAR);
    }
}

/* ---- limits ---- */

/* LIMIT 10%, LIMIT (5 + 5) PERCENT */
void
dialect_percent(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *last = token->prev;
    struct dialect_token *first = last->pair != NULL ? last->pair : last;
    struct dialect_token *name;

    if (!dialect_is(first->prev, "limit") || first == token || first->prev->prev == NULL ||
        !(dialect_is_end(token->next) || dialect_is_clause(token->next))) {
        return;
    }
    name = dialect_add(d, first, "\"#percent\"", first);
    (void)dialect_add(d, first, "(", first);
    (void)dialect_add(d, token, ")", token);
    dialect_remove(d, token);
    if (name != NULL) {
        dialect_note(d, name, NOTED_PERCENT);
    }
}
