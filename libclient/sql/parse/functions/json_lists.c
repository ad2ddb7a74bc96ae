/* JSON as lists: paths with `*` and `..`, which lead to several values; json_each() and json_tree() in FROM. */
#include <string.h>

#include "sql/parse/functions/composed.h"

/* ---- lists ---- */

struct sql_expr *
sql_parse_json_item(struct parse *p, int position)
{
    return sql_parse_new_expr(p, SQL_ITEM, position, "x", 0);
}

struct sql_expr *
sql_parse_json_each(struct parse *p, struct sql_expr *list, struct sql_expr *value, int position)
{
    return sql_parse_new_call(p, SQL_FUNCTION, position, "list_transform", list,
                              sql_parse_new_call(p, SQL_LAMBDA, position, "", value, NULL));
}

static struct sql_expr *
text(struct parse *p, const char *quoted, int position)
{
    return sql_parse_new_expr(p, SQL_LITERAL, position, quoted, 0);
}

/* ---- paths ---- */

/* Whether a path as written leads to several values: * or [*], or .. between its names. */
static bool
is_of_many(const struct sql_expr *path)
{
    bool quoted = false;
    bool many = false;

    if (path->kind != SQL_LITERAL || strncmp(path->text, "'$", 2) != 0) {
        return false;
    }
    for (const char *c = path->text + 2; *c != '\0' && !many; c++) {
        c += quoted && *c == '\\' && c[1] != '\0';
        quoted = quoted != (*c == '"');
        many = !quoted && ((strchr(".[", c[-1]) != NULL && *c == '*') || (c[-1] == '.' && *c == '.'));
    }
    return many;
}

struct sql_expr *
sql_parse_json_paths(struct parse *p, const char *function, struct sql_expr *value, struct sql_expr *path, int position)
{
    struct sql_expr *all;

    if (value == NULL || path == NULL || !is_of_many(path)) {
        return sql_parse_new_call(p, SQL_FUNCTION, position, function, value, path);
    }
    all = sql_parse_new_call(p, SQL_FUNCTION, position, "json_extract_all", value, path);
    return strcmp(function, "json_extract") == 0
               ? all
               : sql_parse_json_each(p, all,
                                     sql_parse_new_call(p, SQL_FUNCTION, position, function,
                                                        sql_parse_json_item(p, position), text(p, "'$'", position)),
                                     position);
}

struct sql_expr *
sql_parse_json_joined(struct parse *p, struct sql_expr *value, int position)
{
    const struct call call = {.p = p, .args = &value, .count = 1, .position = position};
    bool all = value != NULL && value->kind == SQL_FUNCTION && strcmp(value->text, "json_extract_all") == 0;

    return all ? composed_read(&call, "||(||('[', list_join($1, ',')), ']')") : value;
}

/* ---- FROM ---- */

/* json_each(j, path) and json_tree(j, path): a list for each column, side by side. */
bool
sql_parse_json_rows(struct parse *p, const PgQuery__RangeFunction *from, const PgQuery__FuncCall *call,
                    struct sql_from *rows)
{
    static const char *const names[] = {
#define JSON_PART(id, name) name,
#include "graph/json_parts.def"
    };
    enum { COLUMNS = sizeof names / sizeof names[0] };
    struct sql_expr **args = parse_exprs(p, TAKE(p, call, args), call->n_args);
    const char **columns = SQL_ARRAY(p->q, const char *, COLUMNS);

    (void)TAKE(p, from, lateral);
    rows->kind = SQL_FROM_UNNEST;
    rows->list_count = COLUMNS;
    rows->equal = true;
    rows->lists = SQL_ARRAY(p->q, struct sql_expr *, COLUMNS);
    if (args == NULL || columns == NULL || rows->lists == NULL || !parse_alias(p, TAKE(p, from, alias), rows)) {
        return false;
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        struct sql_expr *list = sql_parse_new_expr(p, SQL_FUNCTION, call->location, rows->name, 3);

        if (list == NULL) {
            return false;
        }
        list->args[0] = args[0];
        list->args[1] = call->n_args > 1 ? args[1] : text(p, "'$'", call->location);
        list->args[2] = text(p, sql_printf(p->q, "'%s'", names[i]), call->location);
        if (strcmp(names[i], "id") == 0 || strcmp(names[i], "parent") == 0) {
            list = sql_parse_json_each(
                p, list,
                sql_parse_new_call(p, SQL_CAST, call->location, "int64", sql_parse_json_item(p, call->location), NULL),
                call->location);
        }
        rows->lists[i] = list;
        columns[i] = i < rows->column_count ? rows->columns[i] : names[i];
    }
    if (rows->column_count <= COLUMNS) { /* else the names are too many, which is told later */
        rows->columns = columns;
        rows->column_count = COLUMNS;
    }
    rows->alias = rows->alias != NULL ? rows->alias : rows->name;
    return p->q->err == GRANARY_OK;
}
