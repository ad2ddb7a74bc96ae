/* format('{} {:05d}', ...) and printf('%s %05d', ...): what a format as written says, as a call of concat. */
#include <string.h>

#include "data/value/spec.h"
#include "sql/parse/private.h"

struct format {
    struct parse *p;
    const struct sql_expr *from; /* the arguments: the format, and values */
    struct sql_expr *made;       /* the parts, joined */
    const char *name;
    const char *at;
    size_t next;   /* the value that a place without a number takes, from 1 */
    bool *used;    /* of each argument: a place takes it */
    bool numbered; /* places have numbers */
};

static bool
refuse(const struct format *f, const char *why)
{
    return sql_fail(f->p->q, GRANARY_EINVAL, f->from->args[0]->position, "the format of '%s' %s", f->name, why);
}

/* Bytes of the format, in which a quote is written twice. */
static void
add_text(struct format *f, const char *from, size_t size)
{
    char *quoted = size == 0 ? NULL : SQL_ARRAY(f->p->q, char, size + 3);

    if (quoted == NULL) {
        return;
    }
    quoted[0] = '\'';
    memcpy(quoted + 1, from, size);
    quoted[size + 1] = '\'';
    f->made->args[f->made->count++] = sql_parse_new_expr(f->p, SQL_LITERAL, f->from->args[0]->position, quoted, 0);
}

static bool
add_value(struct format *f, size_t which, const char *said)
{
    struct gr_spec spec;
    struct sql_expr *value;

    if (which == 0 || which >= f->from->count) {
        return refuse(f, "has more places than there are values");
    }
    if (said == NULL || !gr_spec_parse(said, strlen(said), &spec)) {
        return said != NULL && refuse(f, "has a place that is not known: '{:>8}', '{:05d}', '{:.2f}', '{:,}', '%8s', "
                                         "'%05d' and '%.2f' are");
    }
    value = f->from->args[which];
    f->used[which] = true;
    value = sql_parse_new_call(f->p, SQL_FUNCTION, value->position, "format^", value,
                               sql_parse_new_expr(f->p, SQL_LITERAL, value->position, sql_literal(f->p->q, said), 0));
    f->made->args[f->made->count++] = value;
    return value != NULL;
}

/* %c: the character of a number. */
static bool
add_letter(struct format *f, size_t which)
{
    struct sql_expr *letter;

    if (which >= f->from->count) {
        return refuse(f, "has more places than there are values");
    }
    letter = sql_parse_new_call(f->p, SQL_FUNCTION, f->from->args[which]->position, "chr", f->from->args[which], NULL);
    f->made->args[f->made->count++] = letter;
    return letter != NULL;
}

/* {}, {1}, {:05d}: at is behind the bracket. */
static bool
add_place(struct format *f)
{
    size_t digits = strspn(f->at, "0123456789");
    size_t which = 0;
    const char *said = "";

    for (size_t i = 0; i < digits && which < f->from->count; i++) {
        which = 10 * which + (size_t)(f->at[i] - '0');
    }
    if ((digits > 0) != f->numbered && (f->next > 1 || f->numbered)) {
        return refuse(f, "has places with numbers and without: give all of them one");
    }
    f->numbered = digits > 0;
    which = digits > 0 ? which + 1 : f->next++;
    f->at += digits;
    if (*f->at == ':') {
        bool quote = strncmp(++f->at, "''", 2) == 0; /* as a text has it */
        size_t size = quote ? 2 : strcspn(f->at, "{}'");

        said = quote ? "'" : sql_printf(f->p->q, "%.*s", (int)size, f->at);
        f->at += size;
    }
    if (*f->at != '}') {
        return refuse(f, "has a bracket that nothing closes: write '{{' for a bracket itself");
    }
    f->at++;
    return said != NULL && strpbrk(said, "hH") == NULL ? add_value(f, which, said) : add_value(f, which, "?");
}

/* %d, %-8s, %05.1f: at is behind the percent sign. */
static bool
add_percent(struct format *f)
{
    size_t flags = strspn(f->at, "-+ 0,_");
    const char *rest = f->at + flags;
    size_t size = strspn(rest, "0123456789.");
    const char *letters = rest + size + strspn(rest + size, "hl");
    char type = *letters;
    bool has[128] = {false};

    for (size_t i = 0; i < flags; i++) {
        has[(unsigned char)f->at[i]] = true;
    }
    if (flags == 0 && strncmp(f->at, "''", 2) == 0 && (f->at[2] == 'd' || f->at[2] == 'i')) { /* a quote */
        f->at += 3;
        return add_value(f, f->next++, "'d");
    }
    if (type == 'c' && letters == f->at) {
        f->at++;
        return add_letter(f, f->next++);
    }
    if (flags == 0 && size == 1 && rest[0] == '.' && (type == 'd' || type == 'i')) { /* a point between thousands */
        f->at = letters + 1;
        return add_value(f, f->next++, "t.d");
    }
    if (size >= 2 && strncmp(rest + size - 2, ".0", 2) == 0 && (type == 'd' || type == 'i')) {
        size -= 2; /* no digit less than there is */
    }
    if (size > 0 && rest[size - 1] == '.' && (type == 'f' || type == 'F')) { /* no digit behind it */
        rest = sql_printf(f->p->q, "%.*s0", (int)size++, rest);
    }
    if (type == '\0' || rest == NULL || strchr("sdixXfFeEgG", type) == NULL ||
        (type == 's' && letters != rest + size)) {
        return add_value(f, f->next, "?");
    }
    f->at = letters + 1;
    if (has[','] || has['_']) { /* between thousands */
        bool alone = size == 0 || rest[0] == '.';

        return add_value(f, f->next++,
                         sql_printf(f->p->q, "%s%s%s%s%.*s%c", !alone ? "?" : "",
                                    has['+']   ? "+"
                                    : has[' '] ? " "
                                               : "",
                                    has['-'] || has['0'] ? "?" : "", has[','] ? "," : "_", (int)size, rest,
                                    type == 'i' ? 'd' : type));
    }
    return add_value(f, f->next++,
                     sql_printf(f->p->q, "%s%s%s%.*s%c", has['-'] ? "<" : ">",
                                has['+']   ? "+"
                                : has[' '] ? " "
                                           : "",
                                has['0'] ? "0" : "", (int)size, rest,
                                type == 'i'   ? 'd'
                                : type == 'x' ? 'h'
                                : type == 'X' ? 'H'
                                              : type));
}

static bool
add_parts(struct format *f, const char *end, bool percent)
{
    bool ok = true;

    while (ok && f->at < end && f->p->q->err == GRANARY_OK) {
        const char *from = f->at;
        char c = *from;

        if (c == (percent ? '%' : '{') && f->at[1] != c) {
            f->at++;
            ok = percent ? add_percent(f) : add_place(f);
        } else if (percent ? c == '%' : c == '{' || c == '}') { /* written twice */
            ok = f->at[1] == c || refuse(f, "has a bracket that nothing opens: write '}}' for a bracket itself");
            add_text(f, from, 1);
            f->at += 2;
        } else {
            f->at += strcspn(f->at, percent ? "%" : "{}");
            f->at = f->at > end ? end : f->at;
            add_text(f, from, (size_t)(f->at - from));
        }
    }
    return ok && f->p->q->err == GRANARY_OK;
}

/* A null among the values that no place takes gives null, too. */
static struct sql_expr *
unless_null(struct format *f, struct sql_expr *made)
{
    for (size_t i = 1; i < f->from->count && made != NULL; i++) {
        struct sql_expr *value = f->from->args[i];
        bool known = value->kind == SQL_LITERAL && strcmp(value->text, "null") != 0;
        struct sql_expr *when = f->used[i] || known ? NULL : sql_parse_new_expr(f->p, SQL_CASE, made->position, "", 3);

        if (when != NULL) {
            when->args[0] = sql_parse_new_call(f->p, SQL_POSTFIX, made->position, "is null", value, NULL);
            when->args[1] = sql_parse_new_expr(f->p, SQL_LITERAL, made->position, "null", 0);
            when->args[2] = made;
            when->written = parse_copy(f->p, f->name);
            made = when;
        }
    }
    return f->p->q->err == GRANARY_OK ? made : NULL;
}

struct sql_expr *
sql_parse_format(struct parse *p, const char *name, PgQuery__Node *const *args, size_t count, int position)
{
    struct sql_expr *from = sql_parse_arguments(p, "concat", args, count, position);
    struct format f = {.p = p, .from = from, .name = name, .next = 1};
    const char *text = from == NULL ? NULL : from->args[0]->text;

    if (from == NULL) {
        return NULL;
    }
    if (from->args[0]->kind == SQL_LITERAL && strcmp(text, "null") == 0) {
        return sql_parse_new_call(p, SQL_CAST, position, "string", from->args[0], NULL);
    }
    if (from->args[0]->kind != SQL_LITERAL || text[0] != '\'') {
        (void)refuse(&f, "must be a text as written");
        return NULL;
    }
    f.at = text + 1;
    f.made = sql_parse_new_expr(p, SQL_FUNCTION, position, "concat", strlen(text) + 1);
    f.used = SQL_ARRAY(p->q, bool, count);
    if (f.made == NULL || f.used == NULL) {
        return NULL;
    }
    f.made->count = 0;
    if (!add_parts(&f, text + strlen(text) - 1, strcmp(name, "printf") == 0)) {
        return NULL;
    }
    return unless_null(&f, f.made->count > 0 ? f.made : sql_parse_new_expr(p, SQL_LITERAL, position, "''", 0));
}
