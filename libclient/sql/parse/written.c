/* Functions of one row that are others, or constants. */
#include <string.h>
#include <strings.h>

#include "sql/parse/private.h"

/* The second argument says what separates parts (null: nothing special), or whether the ending goes. */
static struct sql_expr *
parse_file_name(struct parse *p, const PgQuery__FuncCall *call, PgQuery__Node *const *args)
{
    struct sql_expr *part = sql_parse_arguments(p, "parse_filename", args, 2, call->location);
    const char *said;

    if (part == NULL) {
        return NULL;
    }
    said = part->args[1]->kind == SQL_LITERAL ? part->args[1]->text : "";
    if (strcmp(said, "true") == 0 || strcmp(said, "false") == 0) {
        part->text = said[0] == 't' ? "parse_filename^" : part->text;
        part->count = 1;
        return part;
    }
    part->args[1] = sql_parse_new_call(p, SQL_FUNCTION, call->location, "coalesce", part->args[1],
                                       sql_parse_new_expr(p, SQL_LITERAL, call->location, "''", 0));
    return part->args[1] == NULL ? NULL : part;
}

/* strptime(s, [format, ...]): by the first format that fits; what the last one does not take is its error. */
static struct sql_expr *
parse_by_formats(struct parse *p, const PgQuery__FuncCall *call, const char *name, PgQuery__Node *const *args)
{
    struct sql_expr *from =
        sql_parse_arguments(p, name[0] == 't' ? "try_strptime" : "strptime", args, 2, call->location);
    const struct sql_expr *list = from == NULL ? NULL : from->args[1];
    struct sql_expr *made;

    if (list == NULL || list->kind != SQL_FUNCTION || strcmp(list->text, "list_value") != 0 || list->count == 0) {
        return from;
    }
    made = sql_parse_new_expr(p, SQL_FUNCTION, call->location, "coalesce", list->count);
    for (size_t i = 0; i < list->count && made != NULL; i++) {
        if (list->args[i]->kind != SQL_LITERAL || list->args[i]->text[0] != '\'') {
            return from; /* refused as a list: a null at the end would hide what fits none */
        }
        made->args[i] =
            sql_parse_new_call(p, SQL_FUNCTION, call->location, i + 1 < list->count ? "try_strptime" : from->text,
                               from->args[0], list->args[i]);
        made = made->args[i] == NULL ? NULL : made;
    }
    return made;
}

/* encode(bytes, 'hex'), decode(text, 'base64'), as PostgreSQL has them. */
static struct sql_expr *
parse_coded(struct parse *p, const PgQuery__FuncCall *call, const char *name, PgQuery__Node *const *args)
{
    static const char *const functions[2][2] = {{"hex", "base64"}, {"unhex", "from_base64"}};
    bool decodes = name[0] == 'd';
    struct sql_expr *made = sql_parse_arguments(p, "hex", args, 2, call->location);
    const char *form = made == NULL || made->args[1]->kind != SQL_LITERAL ? "" : made->args[1]->text;
    bool base64 = strcasecmp(form, "'base64'") == 0;

    if (made == NULL) {
        return NULL;
    }
    if (!base64 && strcasecmp(form, "'hex'") != 0) {
        (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, call->location, "%s() takes 'hex' or 'base64' as its form", name);
        return NULL;
    }
    made->text = functions[decodes][base64];
    made->count = 1;
    return decodes || base64 ? made : sql_parse_new_call(p, SQL_FUNCTION, call->location, "lower", made, NULL);
}

/* concat(VARIADIC l), concat_ws(',', VARIADIC l): the items of a list as one text. false: it is none of these. */
static bool
parse_variadic(struct parse *p, const PgQuery__FuncCall *call, const char *name, PgQuery__Node *const *args,
               struct sql_expr **ret_expr)
{
    bool separated = strcmp(name, "concat_ws") == 0 && call->n_args == 2;
    struct sql_expr **values;

    if (!call->func_variadic || (!separated && (strcmp(name, "concat") != 0 || call->n_args != 1))) {
        return false;
    }
    (void)TAKE(p, call, func_variadic);
    values = parse_exprs(p, args, call->n_args);
    *ret_expr =
        values == NULL
            ? NULL
            : sql_parse_new_call(p, SQL_FUNCTION, call->location, "list_join", values[call->n_args - 1],
                                 separated ? values[0] : sql_parse_new_expr(p, SQL_LITERAL, call->location, "''", 0));
    if (*ret_expr != NULL) {
        (*ret_expr)->written = parse_copy(p, name);
    }
    return true;
}

/* alias(x): what SELECT calls x, in each of its rows. Of a value that is no column the name is that behind AS, which is put in
 * later (select.c). */
static struct sql_expr *
parse_alias_of(struct parse *p, PgQuery__Node *const *args, int position)
{
    struct sql_expr *value = parse_expr(p, args[0]);
    struct sql_expr *made = value == NULL ? NULL : sql_parse_new_expr(p, SQL_CASE, position, "", 3);

    if (made == NULL) {
        return NULL;
    }
    made->written = SQL_ALIAS_OF;
    made->args[0] = sql_parse_new_call(p, SQL_POSTFIX, position, "is null", value, NULL);
    made->args[1] = sql_parse_new_expr(p, SQL_LITERAL, position,
                                       sql_literal(p->q, value->kind == SQL_COLUMN ? value->text : ""), 0);
    made->args[2] = made->args[1];
    return p->q->err == GRANARY_OK ? made : NULL;
}

bool
sql_parse_written_out(struct parse *p, const PgQuery__FuncCall *call, const char *name, PgQuery__Node *const *args,
                      struct sql_expr **ret_expr)
{
    static const char *const constants[][2] = {{"pi", "3.141592653589793e0"}, {"e", "2.718281828459045e0"}};

    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
        if (strcmp(constants[i][0], name) == 0 && call->n_args == 0) {
            *ret_expr = sql_parse_new_expr(p, SQL_LITERAL, call->location, constants[i][1], 0);
            return true;
        }
    }
    if (call->n_args == 3 && (strcmp(name, "if") == 0 || strcmp(name, "iff") == 0 || strcmp(name, "ifelse") == 0)) {
        *ret_expr = sql_parse_arguments(p, "if", args, 3, call->location);
        return true;
    }
    if (call->n_args > 0 && (strcmp(name, "format") == 0 || strcmp(name, "printf") == 0)) {
        *ret_expr = sql_parse_format(p, name, args, call->n_args, call->location);
        return true;
    }
    if (call->n_args == 1 && strcmp(name, SQL_ALIAS_OF) == 0) {
        *ret_expr = parse_alias_of(p, args, call->location);
        return true;
    }
    if (parse_variadic(p, call, name, args, ret_expr)) {
        return true;
    }
    if (call->n_args == 2 && (strcmp(name, "strptime") == 0 || strcmp(name, "try_strptime") == 0)) {
        *ret_expr = parse_by_formats(p, call, name, args);
        return true;
    }
    if (call->n_args == 2 && (strcmp(name, "encode") == 0 || strcmp(name, "decode") == 0)) {
        *ret_expr = parse_coded(p, call, name, args);
        return true;
    }
    if (sql_parse_json(p, call, name, args, ret_expr)) {
        return true;
    }
    if (call->n_args == 2 && strcmp(name, "parse_filename") == 0) {
        *ret_expr = parse_file_name(p, call, args);
        return true;
    }
    if (call->n_args == 3 && strcmp(name, "nvl2") == 0) {
        struct sql_expr *choice = sql_parse_arguments(p, "if", args, 3, call->location);

        if (choice != NULL) {
            choice->args[0] = sql_parse_new_call(p, SQL_POSTFIX, call->location, "is not null", choice->args[0], NULL);
        }
        *ret_expr = choice;
        return true;
    }
    return false;
}
