/*
 * COLLATE: a value that is compared by another one, its key: lower(x) for NOCASE, strip_accents(x) for NOACCENT,
 * nfc_normalize(x) for NFC, and collation_key(x, 'de') for a language. It is marked, and functions of texts hand the mark on.
 * Where values are compared or sorted, keys take their place. Anything else that meets a marked value is refused, as it might
 * have to compare it.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "graph/expr.h"
#include "sql/parse/private.h"

enum { NOCASE = 1, NOACCENT = 2, NFC = 4, LANGUAGE = 8 };

/* Of all languages in a statement, a bit each. */
#define LANGUAGES ((uint8_t) ~(LANGUAGE - 1))

static const struct {
    const char *name;
    uint8_t marks;
    const char *function; /* that makes the key */
} collations[] = {
    {"nfc", NFC, "nfc_normalize"},
    {"nocase", NOCASE, "lower"},
    {"noaccent", NOACCENT, "strip_accents"},
    {"c", 0, NULL}, /* as texts are compared anyway: by their bytes */
    {"posix", 0, NULL},
    {"binary", 0, NULL},
    {"default", 0, NULL},
};

enum { COLLATIONS = sizeof collations / sizeof collations[0] };

/* Functions whose texts are compared as their arguments. */
static const char *const handing[] = {"concat", "concat^", "concat_ws", "lower",    "upper",
                                      "trim",   "ltrim",   "rtrim",     "left",     "right",
                                      "repeat", "reverse", "substring", "coalesce", NULL};

/* Functions that look for one text in another. */
static const char *const looking[] = {"contains", "startswith", "endswith", "starts_with", "ends_with",
                                      "position", "strpos",     "instr",    "find",        NULL};

/* Functions that look for a text in a list. */
static const char *const searching[] = {"list_contains",  "list_has",      "array_contains",
                                        "array_has",      "list_position", "list_indexof",
                                        "array_position", "array_indexof", NULL};

/* The mark of a language by its name: de, fr_ca. 0: it is no such name, or the statement has too many. */
static uint8_t
language_mark(struct parse *p, const char *name)
{
    const size_t letters = strspn(name, "abcdefghijklmnopqrstuvwxyz");
    size_t at = 0;

    if (letters < 2 || letters > 3 || (name[letters] != '\0' && name[letters] != '_') || strlen(name) > 15 ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz_") != strlen(name)) {
        return 0;
    }
    while (at < p->language_count && strcmp(p->languages[at], name) != 0) {
        at++;
    }
    if (at == PARSE_LANGUAGES) {
        return 0;
    }
    if (at == p->language_count) {
        p->languages[p->language_count++] = parse_copy(p, name);
    }
    return (uint8_t)(LANGUAGE << at);
}

/* expr COLLATE nocase.noaccent, COLLATE de */
struct sql_expr *
parse_collate(struct parse *p, const PgQuery__CollateClause *from)
{
    struct sql_expr *expr = parse_expr(p, TAKE(p, from, arg));
    PgQuery__Node *const *names = TAKE(p, from, collname);

    for (size_t i = 0; i < from->n_collname && expr != NULL; i++) {
        const char *name = parse_string(p, names[i]);
        size_t at = 0;
        uint8_t language;

        while (at < COLLATIONS && strcasecmp(collations[at].name, name) != 0) {
            at++;
        }
        language = at == COLLATIONS ? language_mark(p, name) : 0;
        if (at == COLLATIONS && language == 0) {
            (void)sql_fail(
                p->q, GRANARY_EUNSUPPORTED, from->location,
                "collation '%.60s' is not supported: NOCASE, NOACCENT, NFC, C, POSIX and languages, such as de or "
                "fr_ca, are, up to %d of these in a statement",
                name, PARSE_LANGUAGES);
            return NULL;
        }
        expr->marks |= at == COLLATIONS ? language : collations[at].marks;
    }
    p->collates = p->collates || (expr != NULL && expr->marks != 0);
    return expr;
}

/* ---- keys ---- */

/* What a text is compared by in its language. */
static struct sql_expr *
language_key(struct parse *p, struct sql_expr *text, uint8_t marks)
{
    const char *language = NULL;

    for (size_t i = 0; i < p->language_count; i++) {
        if ((marks & (LANGUAGE << i)) != 0) {
            if (language != NULL) {
                (void)sql_fail(p->q, GRANARY_EINVAL, text->position,
                               "COLLATE of two languages, %s and %s, for one text", language, p->languages[i]);
                return NULL;
            }
            language = p->languages[i];
        }
    }
    return sql_parse_new_call(
        p, SQL_FUNCTION, text->position, "collation_key", text,
        sql_parse_new_expr(p, SQL_LITERAL, text->position, sql_printf(p->q, "'%s'", language), 0));
}

/* What a value with those marks is compared by. */
static struct sql_expr *
key_of(struct parse *p, const struct sql_expr *expr, uint8_t marks)
{
    struct sql_expr *key = SQL_NEW(p->q, struct sql_expr);

    if (key != NULL) {
        *key = *expr;
        key->marks = 0;
    }
    for (size_t i = 0; i < COLLATIONS && key != NULL; i++) {
        if (collations[i].function != NULL && (marks & collations[i].marks) != 0) {
            key = sql_parse_new_call(p, SQL_FUNCTION, expr->position, collations[i].function, key, NULL);
        }
    }
    return key == NULL || (marks & LANGUAGES) == 0 ? key : language_key(p, key, marks);
}

/* The first so many arguments are compared with each other. */
static bool
put_keys(struct parse *p, struct sql_expr *expr, size_t count, uint8_t marks)
{
    for (size_t i = 0; i < count; i++) {
        expr->args[i] = key_of(p, expr->args[i], marks);
        if (expr->args[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* The keys of a list's items, and that of what is looked for. */
static bool
put_list_keys(struct parse *p, struct sql_expr *expr, uint8_t marks)
{
    struct sql_expr *item = sql_parse_json_item(p, expr->position);
    struct sql_expr *key = item == NULL || expr->count != 2 ? NULL : key_of(p, item, marks);

    if (key == NULL) {
        return p->q->err == GRANARY_OK &&
               sql_fail(p->q, GRANARY_EINVAL, expr->position, "'%s' takes a list and a value", expr->text);
    }
    expr->args[0] = sql_parse_json_each(p, expr->args[0], key, expr->position);
    expr->args[1] = key_of(p, expr->args[1], marks);
    return expr->args[0] != NULL && expr->args[1] != NULL;
}

/* x IN (SELECT y): the rows are those keys, too. */
static bool
put_subquery_key(struct parse *p, struct sql_expr *expr, uint8_t marks)
{
    struct sql_select *select = expr->select;

    if (expr->count != 1 || select->set != SQL_NO_SET || select->target_count != 1 || select->value_rows > 0 ||
        select->targets[0].expr->kind == SQL_STAR || select->order_count > 0 || select->limit >= 0) {
        return parse_unsupported(p, expr->position, "COLLATE beside such a subquery is");
    }
    select->targets[0].expr = key_of(p, select->targets[0].expr, marks);
    return select->targets[0].expr != NULL && put_keys(p, expr, 1, marks);
}

/* What an expression does with arguments that have marks. false: the statement has failed. */
static bool
settle_one(struct parse *p, struct sql_expr *expr, uint8_t marks)
{
    switch (expr->kind) {
    case SQL_INFIX:
        if (strchr("=<>!", expr->text[0]) != NULL) {
            return put_keys(p, expr, 2, marks);
        }
        break;
    case SQL_IN:
    case SQL_BETWEEN:
        return put_keys(p, expr, expr->count, marks);
    case SQL_LIKE: /* languages compare whole texts alone */
        return put_keys(p, expr, 2, marks & (uint8_t)~LANGUAGES);
    case SQL_POSTFIX: /* is null */
        return true;
    case SQL_SUBQUERY:
        return put_subquery_key(p, expr, marks);
    case SQL_CAST:
    case SQL_TRY_CAST:
        if (strcmp(expr->text, "string") == 0) {
            expr->marks |= marks;
        }
        return true;
    case SQL_FUNCTION:
        if (sql_parse_is_one_of(expr->text, handing)) {
            expr->marks |= marks;
            return true;
        }
        if (sql_parse_is_one_of(expr->text, searching)) {
            return put_list_keys(p, expr, marks);
        }
        if (sql_parse_is_one_of(expr->text, looking)) {
            return put_keys(p, expr, expr->count, marks & (uint8_t)~LANGUAGES);
        }
        break;
    default:
        break;
    }
    return sql_fail(p->q, GRANARY_EUNSUPPORTED, expr->position,
                    "COLLATE of what this is made of is not supported: write COLLATE where values are compared");
}

static bool
settle(struct parse *p, struct sql_expr *expr)
{
    uint8_t marks = 0;

    for (size_t i = 0; i < expr->count; i++) {
        if (!settle(p, expr->args[i])) {
            return false;
        }
        marks |= expr->args[i]->marks;
    }
    if (marks != 0 && !settle_one(p, expr, marks)) {
        return false;
    }
    for (size_t i = 0; i < expr->count && marks != 0; i++) { /* they are handed on, or of no matter */
        if (expr->args[i]->marks != 0 && (expr->args[i] = key_of(p, expr->args[i], 0)) == NULL) {
            return false;
        }
    }
    return true;
}

struct sql_expr *
parse_settle(struct parse *p, struct sql_expr *expr)
{
    return expr == NULL || !p->collates || settle(p, expr) ? expr : NULL;
}

/* ---- clauses ---- */

struct sql_expr *
parse_key(struct parse *p, struct sql_expr *expr)
{
    return expr == NULL || expr->marks == 0 ? expr : key_of(p, expr, expr->marks);
}

/* The target that is meant by its place or its alias; NULL: none. */
static const struct sql_target *
target_of(const struct sql_select *select, const struct sql_expr *expr)
{
    if (expr->kind == SQL_LITERAL && expr->text[strspn(expr->text, "0123456789")] == '\0') {
        const size_t place = strtoul(expr->text, NULL, 10);

        return place >= 1 && place <= select->target_count ? &select->targets[place - 1] : NULL;
    }
    for (size_t i = 0; expr->kind == SQL_COLUMN && expr->table == NULL && i < select->target_count; i++) {
        if (select->targets[i].alias != NULL && strcasecmp(select->targets[i].alias, expr->text) == 0) {
            return &select->targets[i];
        }
    }
    return NULL;
}

/* ORDER BY ALL of values with marks, written out. */
static bool
write_all_out(struct parse *p, struct sql_select *select)
{
    bool marked = false;

    for (size_t i = 0; i < select->target_count; i++) {
        marked = marked || select->targets[i].expr->marks != 0;
    }
    if (!marked) {
        return true;
    }
    select->order = SQL_ARRAY(p->q, struct sql_order, select->target_count);
    for (size_t i = 0; select->order != NULL && i < select->target_count; i++) {
        if (select->targets[i].expr->kind == SQL_STAR) {
            return parse_unsupported(p, select->targets[i].expr->position, "ORDER BY ALL of * beside COLLATE is");
        }
        select->order[i] = *select->order_all;
        select->order[i].expr = select->targets[i].expr;
    }
    select->order_all = NULL;
    select->order_count = select->target_count;
    return select->order != NULL;
}

bool
parse_sort_keys(struct parse *p, struct sql_select *select)
{
    if (select->order_all != NULL && !write_all_out(p, select)) {
        return false;
    }
    for (size_t i = 0; i < select->order_count; i++) {
        struct sql_expr *expr = select->order[i].expr;
        const struct sql_target *target = target_of(select, expr);
        const uint8_t marks = expr->marks != 0 || target == NULL ? expr->marks : target->expr->marks;

        if (marks != 0) {
            if (expr->kind == SQL_LITERAL && target == NULL) {
                return parse_unsupported(p, expr->position, "COLLATE of a position that is no value of SELECT is");
            }
            if (target != NULL && target->expr->kind == SQL_STAR) {
                return parse_unsupported(p, expr->position, "COLLATE of a position of * is");
            }
            select->order[i].expr = key_of(p, target != NULL ? target->expr : expr, marks);
        }
    }
    return p->q->err == GRANARY_OK;
}

bool
parse_unmarked(struct parse *p, const struct sql_expr *expr)
{
    return expr == NULL || expr->marks == 0 ||
           parse_unsupported(p, expr->position, "COLLATE of a value that is kept is not kept with it, so it is");
}

/* Whether all of a query's values may have marks: of the statement itself, whose rows are not compared. */
bool
parse_check_marks(struct parse *p, const struct sql_select *select)
{
    const bool free = p->is_query && p->depth == 1 && !select->distinct && select->group_count == 0 &&
                      !select->group_all && select->distinct_on == 0;

    for (size_t i = 0; !free && i < select->target_count; i++) {
        if (!parse_unmarked(p, select->targets[i].expr)) {
            return false;
        }
    }
    return true;
}
