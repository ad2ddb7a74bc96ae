/* json_transform(j, '"INTEGER"') and its kin: a value of the type that a JSON tells, or a list of such values. */
#include <string.h>
#include <strings.h>

#include "sql/parse/functions/composed.h"

#define TEXT "json_extract_string($1, '$')"

struct transform {
    struct parse *p;
    int position;
    bool strict; /* what does not fit is an error, and no null */
};

static struct sql_expr *
form(const struct transform *t, const char *text, struct sql_expr *a, struct sql_expr *b, struct sql_expr *c)
{
    struct sql_expr *args[] = {a, b, c};
    const struct call call = {.p = t->p, .args = args, .count = 3, .position = t->position};

    return a == NULL ? NULL : composed_read(&call, text);
}

static struct sql_expr *
cast(const struct transform *t, struct sql_expr *value, const char *dtype)
{
    return sql_parse_new_call(t->p, t->strict ? SQL_CAST : SQL_TRY_CAST, t->position, dtype, value, NULL);
}

static bool
begins(const char *dtype, const char *with)
{
    return strncmp(dtype, with, strlen(with)) == 0;
}

/* Numbers are made of bools, too, and integers of floats; moments of strings alone. */
static struct sql_expr *
value_of(const struct transform *t, struct sql_expr *json, const char *dtype)
{
    static const char number[] = "if(=(json_type($1), 'BOOLEAN'), if(=(json($1), 'true'), '1', '0'), " TEXT ")";
    static const char real[] = "if(=(json_type($1), 'DOUBLE'), $2, $3)";
    static const char truth[] = "if(=(json_type($1), 'VARCHAR'), " TEXT ", if(=(json_type($1), 'BOOLEAN'), " TEXT
                                ", if(is_null($2), null, if(=($2, 0e0), 'false', 'true'))))";
    bool integer = begins(dtype, "int") || begins(dtype, "uint");

    if (strcmp(dtype, "json") == 0) {
        return form(t, "json($1)", json, NULL, NULL);
    }
    if (strcmp(dtype, "null") == 0) { /* nothing has that type */
        return cast(t, form(t, "if(=(json_type($1), ''), '0', null)", json, NULL, NULL), "int32");
    }
    if (strcmp(dtype, "string") == 0) {
        return form(t, TEXT, json, NULL, NULL);
    }
    if (strcmp(dtype, "bool") == 0) {
        struct sql_expr *of =
            cast(t,
                 form(t, "if(=(json_type($1), 'BOOLEAN'), null, if(=(json_type($1), 'VARCHAR'), null, " TEXT "))", json,
                      NULL, NULL),
                 "float64");

        return cast(t, form(t, truth, json, of, NULL), dtype);
    }
    if (integer) {
        struct sql_expr *of =
            cast(t, form(t, "if(=(json_type($1), 'DOUBLE'), " TEXT ", null)", json, NULL, NULL), "float64");

        return form(t, real, json, cast(t, of, dtype), cast(t, form(t, number, json, NULL, NULL), dtype));
    }
    if (begins(dtype, "float") || begins(dtype, "decimal")) {
        return cast(t, form(t, number, json, NULL, NULL), dtype);
    }
    return cast(
        t,
        form(t, t->strict || strcmp(dtype, "binary") == 0 ? TEXT : "if(=(json_type($1), 'VARCHAR'), " TEXT ", null)",
             json, NULL, NULL),
        dtype);
}

static struct sql_expr *
list_of(const struct transform *t, struct sql_expr *json, const char *dtype)
{
    const char *list = t->strict ? "if(=(json_type($1), 'ARRAY'), json_extract_all($1, '$[*]'), "
                                   "list_value(error('json_transform_strict: this is no array')))"
                                 : "if(=(json_type($1), 'ARRAY'), json_extract_all($1, '$[*]'), null)";
    struct sql_expr *value = value_of(t, sql_parse_json_item(t->p, t->position), dtype);

    return value == NULL ? NULL : sql_parse_json_each(t->p, form(t, list, json, NULL, NULL), value, t->position);
}

/* A type as text. NULL: it is none that can be, which the statement then says. */
static const char *
dtype_of(const struct transform *t, const char *name, size_t size)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ (,)[]";
    struct sql_statement *q = t->p->q;
    const char *query = sql_printf(q, "SELECT CAST(NULL AS %.*s)", (int)size, name);
    bool named = strspn(name, letters) >= size && query != NULL;
    struct sql_select *select = NULL;

    if (size == 4 && (strncasecmp(name, "json", 4) == 0 || strncasecmp(name, "null", 4) == 0)) {
        return *name == 'j' || *name == 'J' ? "json" : "null";
    }
    if (named) {
        select = sql_parse_inner(q, query, "json_transform", t->position);
    }
    if (select != NULL && select->target_count == 1 && select->targets[0].expr->kind == SQL_CAST) {
        return select->targets[0].expr->text;
    }
    (void)sql_fail(q, GRANARY_EINVAL, t->position, "json_transform: '%.*s' is no type of values", (int)size, name);
    return NULL;
}

/* What stands between two marks, with blanks around them. false: something else does */
static bool
between(const char **begin, const char **end, char first, char last)
{
    while (*begin < *end && **begin == ' ') {
        (*begin)++;
    }
    while (*end > *begin && (*end)[-1] == ' ') {
        (*end)--;
    }
    if (*end - *begin < 3 || **begin != first || (*end)[-1] != last) {
        return false;
    }
    (*begin)++;
    (*end)--;
    return true;
}

static struct sql_expr *
transform(const struct transform *t, struct sql_expr *json, const struct sql_expr *structure)
{
    const char *begin = structure->text;
    const char *end = begin + strlen(begin);
    bool ok = structure->kind == SQL_LITERAL && between(&begin, &end, '\'', '\'');
    bool list = ok && between(&begin, &end, '[', ']');
    const char *dtype;

    if (!ok || !between(&begin, &end, '"', '"')) {
        (void)sql_fail(t->p->q, GRANARY_EUNSUPPORTED, t->position,
                       "json_transform takes a type as written, '\"INTEGER\"', or a list of it, '[\"INTEGER\"]'; there "
                       "are no structs: extract members by their paths");
        return NULL;
    }
    dtype = dtype_of(t, begin, (size_t)(end - begin));
    if (dtype != NULL && begins(dtype, "list(") && list) {
        (void)sql_fail(t->p->q, GRANARY_EUNSUPPORTED, t->position, "json_transform: there are no lists of lists");
        return NULL;
    }
    if (dtype != NULL && begins(dtype, "list(")) {
        dtype = sql_printf(t->p->q, "%.*s", (int)strlen(dtype) - 6, dtype + 5);
        list = true;
    }
    return dtype == NULL ? NULL : list ? list_of(t, json, dtype) : value_of(t, json, dtype);
}

bool
sql_parse_json_transform(struct parse *p, const PgQuery__FuncCall *call, const char *name, PgQuery__Node *const *args,
                         struct sql_expr **ret_expr)
{
    static const char *const names[] = {"json_transform", "from_json", "json_transform_strict", "from_json_strict",
                                        NULL};
    const struct transform t = {.p = p, .position = call->location, .strict = strstr(name, "_strict") != NULL};
    struct sql_expr **values;

    if (call->n_args != 2 || !sql_parse_is_one_of(name, names)) {
        return false;
    }
    values = parse_exprs(p, args, 2);
    *ret_expr = values == NULL ? NULL : transform(&t, values[0], values[1]);
    if (*ret_expr != NULL) {
        (*ret_expr)->written = parse_copy(p, name);
    }
    return true;
}
