/* json_object('name', x, ...), json_array(x, ...) and to_json(x). JSON is a text here: what makes JSON is told by its name, and is
 * not put in quotes again. */
#include <string.h>

#include "sql/parse/private.h"

/* Whether an expression as written makes JSON. */
static bool
is_json(const struct sql_expr *expr)
{
    static const char *const names[] = {"json",       "json_extract",     "json_extract_path", "json_object",
                                        "json_array", "json_group_array", "json_group_object", "to_json",
                                        "json_quote", "array_to_json",    "json_merge_patch",  "json_structure"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if ((expr->kind == SQL_FUNCTION && strcmp(expr->text, names[i]) == 0) ||
            (expr->written != NULL && strcmp(expr->written, names[i]) == 0)) {
            return true;
        }
    }
    return false;
}

struct sql_expr *
sql_parse_json_of(struct parse *p, struct sql_expr *value, int position)
{
    struct sql_expr *joined = sql_parse_json_joined(p, value, position);

    if (joined == NULL || joined != value || is_json(value)) {
        return joined;
    }
    return sql_parse_new_call(p, SQL_FUNCTION, position, "to_json", value, NULL);
}

/* The same, where a null is one of JSON. */
static struct sql_expr *
value_of(struct parse *p, struct sql_expr *value, int position)
{
    return sql_parse_new_call(p, SQL_FUNCTION, position, "coalesce", sql_parse_json_of(p, value, position),
                              sql_parse_new_expr(p, SQL_LITERAL, position, "'null'", 0));
}

static struct sql_expr *
text(struct parse *p, const char *quoted, int position)
{
    return sql_parse_new_expr(p, SQL_LITERAL, position, quoted, 0);
}

/* The values between brackets, behind their names where there are some. */
static struct sql_expr *
make_json(struct parse *p, struct sql_expr *const *args, size_t count, bool object, int position)
{
    struct sql_expr *made = sql_parse_new_expr(p, SQL_FUNCTION, position, "concat", 2 * count + 2);
    size_t at = 0;

    if (made == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        bool name = object && i % 2 == 0;
        struct sql_expr *value = args[i];

        made->args[at++] = text(p, object && !name ? "':'" : i > 0 ? "','" : object ? "'{'" : "'['", position);
        value = name ? sql_parse_new_call(p, SQL_CAST, position, "string", value, NULL) : value;
        made->args[at++] =
            name ? sql_parse_new_call(p, SQL_FUNCTION, position, "to_json", value, NULL) : value_of(p, value, position);
    }
    made->args[at++] = text(p, count == 0 ? (object ? "'{}'" : "'[]'") : object ? "'}'" : "']'", position);
    made->count = at;
    for (size_t i = 0; i < at && made != NULL; i++) {
        made = made->args[i] == NULL ? NULL : made;
    }
    return made;
}

/* json_extract(j, [path, ...]): a list with what each path gives; null of null. */
static struct sql_expr *
of_paths(struct parse *p, const char *name, struct sql_expr *const *args, int position)
{
    const struct sql_expr *paths = args[1];
    struct sql_expr *list = sql_parse_new_expr(p, SQL_FUNCTION, position, "list_value", paths->count);
    struct sql_expr *made = sql_parse_new_expr(p, SQL_CASE, position, "", 3);

    for (size_t i = 0; i < paths->count && list != NULL; i++) {
        list->args[i] = sql_parse_new_call(p, SQL_FUNCTION, position, name, args[0], paths->args[i]);
        list = list->args[i] == NULL ? NULL : list;
    }
    if (list == NULL || made == NULL) {
        return NULL;
    }
    made->args[0] = sql_parse_new_call(p, SQL_POSTFIX, position, "is null", args[0], NULL);
    made->args[1] = sql_parse_new_expr(p, SQL_LITERAL, position, "null", 0);
    made->args[2] = list;
    return made->args[0] == NULL || made->args[1] == NULL ? NULL : made;
}

/* The function that takes one path where this one has a list of them; NULL: it is none. */
static const char *
path_function(const char *name)
{
    static const char *const names[][2] = {{"json_extract", "json_extract"},
                                           {"json_extract_path", "json_extract"},
                                           {"json_extract_string", "json_extract_string"},
                                           {"json_extract_path_text", "json_extract_string"},
                                           {"json_type", "json_type"},
                                           {"json_exists", "json_exists"},
                                           {"json_array_length", "json_array_length"},
                                           {"json_value", "json_value"}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i][0], name) == 0) {
            return names[i][1];
        }
    }
    return NULL;
}

/* json_merge_patch(a, b, ...): one after the other. A null before all others is replaced by them. */
static struct sql_expr *
merge(struct parse *p, struct sql_expr *const *values, size_t count, int position)
{
    struct sql_expr *merged = values[0];

    for (size_t i = 1; i < count && merged != NULL; i++) {
        merged = sql_parse_new_call(
            p, SQL_FUNCTION, position, "json_merge_patch",
            sql_parse_new_call(p, SQL_FUNCTION, position, "coalesce", merged, text(p, "'null'", position)), values[i]);
    }
    return merged;
}

/* A function of JSON, and perhaps of one path, which may lead to several values. */
static struct sql_expr *
by_path(struct parse *p, const char *function, struct sql_expr *const *values, size_t count, int position)
{
    struct sql_expr *value = sql_parse_json_joined(p, values[0], position);

    return count == 1 ? sql_parse_new_call(p, SQL_FUNCTION, position, function, value, NULL)
                      : sql_parse_json_paths(p, function, value, values[1], position);
}

bool
sql_parse_json(struct parse *p, const PgQuery__FuncCall *call, const char *name, PgQuery__Node *const *args,
               struct sql_expr **ret_expr)
{
    bool object = strcmp(name, "json_object") == 0;
    bool one = strcmp(name, "to_json") == 0 || strcmp(name, "json_quote") == 0 || strcmp(name, "array_to_json") == 0 ||
               strcmp(name, "row_to_json") == 0;
    const char *of_path = call->n_args == 1 || call->n_args == 2 ? path_function(name) : NULL;
    bool merges = call->n_args > 1 && strcmp(name, "json_merge_patch") == 0;
    struct sql_expr **values;

    if (sql_parse_json_transform(p, call, name, args, ret_expr)) {
        return true;
    }
    if (of_path != NULL && call->n_args == 2 && args[1]->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR) {
        values = parse_exprs(p, args, 2);
        *ret_expr = values == NULL || values[1]->count == 0 ? NULL : of_paths(p, of_path, values, call->location);
        return *ret_expr != NULL || p->q->err != GRANARY_OK;
    }
    if (of_path != NULL || merges) {
        values = parse_exprs(p, args, call->n_args);
        *ret_expr = values == NULL ? NULL
                    : merges       ? merge(p, values, call->n_args, call->location)
                                   : by_path(p, of_path, values, call->n_args, call->location);
        if (*ret_expr != NULL) {
            (*ret_expr)->written = parse_copy(p, name);
        }
        return true;
    }
    if (!object && strcmp(name, "json_array") != 0 && (!one || call->n_args != 1)) {
        return false;
    }
    *ret_expr = NULL;
    values = parse_exprs(p, args, call->n_args);
    if (object && call->n_args % 2 != 0) {
        (void)sql_fail(p->q, GRANARY_EINVAL, call->location, "json_object takes names and values: json_object('n', 1)");
    } else if (values != NULL && one) {
        *ret_expr = sql_parse_json_of(p, values[0], call->location);
    } else if (values != NULL) {
        *ret_expr = make_json(p, values, call->n_args, object, call->location);
    }
    return true;
}
