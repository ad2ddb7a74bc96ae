/* Files in a statement: read_csv('x.csv', delimiter => ';') in FROM, and COPY, with what is said of the file. */
#include <stdlib.h>
#include <string.h>

#include "sql/parse/private.h"

#define READ "read_"

/* ---- values ---- */

/* A constant as text: "true", "12", "a". NULL: it is none. */
static const char *
constant_text(struct parse *p, const PgQuery__Node *node)
{
    const PgQuery__AConst *value = node->node_case == PG_QUERY__NODE__NODE_A_CONST ? node->a_const : NULL;

    if (node->node_case == PG_QUERY__NODE__NODE_STRING) {
        return parse_copy(p, TAKE(p, node->string, sval));
    }
    if (node->node_case == PG_QUERY__NODE__NODE_INTEGER) {
        return sql_printf(p->q, "%d", TAKE(p, node->integer, ival));
    }
    if (node->node_case == PG_QUERY__NODE__NODE_FLOAT) {
        return parse_copy(p, TAKE(p, node->float_, fval));
    }
    if (node->node_case == PG_QUERY__NODE__NODE_BOOLEAN) {
        return TAKE(p, node->boolean, boolval) ? "true" : "false";
    }
    switch (value == NULL ? PG_QUERY__A__CONST__VAL__NOT_SET : value->val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL:
        return sql_printf(p->q, "%d", TAKE(p, value->ival, ival));
    case PG_QUERY__A__CONST__VAL_FVAL:
        return parse_copy(p, TAKE(p, value->fval, fval));
    case PG_QUERY__A__CONST__VAL_BOOLVAL:
        return TAKE(p, value->boolval, boolval) ? "true" : "false";
    case PG_QUERY__A__CONST__VAL_SVAL:
        return parse_copy(p, TAKE(p, value->sval, sval));
    default:
        return NULL;
    }
}

/* A constant, or a list of them: ARRAY['a', 'b'], ('a', 'b'). node NULL: nothing was said but the name: true */
static bool
take_value(struct parse *p, const PgQuery__Node *node, struct sql_option *option)
{
    PgQuery__Node *const *items = (PgQuery__Node *const *)&node;
    size_t count = 1;

    if (node == NULL) {
        option->texts = SQL_ARRAY(p->q, const char *, 1);
        if (option->texts != NULL) {
            option->texts[0] = "true";
            option->count = 1;
        }
        return option->texts != NULL;
    }
    if (node->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR) {
        count = node->a_array_expr->n_elements;
        items = TAKE(p, node->a_array_expr, elements);
    } else if (node->node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
        count = node->row_expr->n_args;
        items = TAKE(p, node->row_expr, args);
    } else if (node->node_case == PG_QUERY__NODE__NODE_LIST) {
        count = node->list->n_items;
        items = TAKE(p, node->list, items);
    }
    option->texts = SQL_ARRAY(p->q, const char *, count);
    for (size_t i = 0; option->texts != NULL && i < count; i++) {
        option->texts[i] = constant_text(p, items[i]);
        if (option->texts[i] == NULL) {
            return sql_fail(p->q, GRANARY_EINVAL, option->position,
                            "option '%s' needs a text, a number, true or false, or a list: ARRAY['a', 'b']",
                            option->name);
        }
    }
    option->count = count;
    return option->texts != NULL;
}

const char *
parse_path(struct parse *p, const char *name)
{
    const char *home = name != NULL && strncmp(name, "~/", 2) == 0 ? getenv("HOME") : NULL;

    return home == NULL ? name : sql_printf(p->q, "%s%s", home, name + 1);
}

static struct sql_file *
new_file(struct parse *p, const char *format, size_t options)
{
    struct sql_file *file = SQL_NEW(p->q, struct sql_file);

    if (file != NULL) {
        file->format = format;
        file->options = SQL_ARRAY(p->q, struct sql_option, options);
    }
    return file != NULL && file->options != NULL && p->q->err == GRANARY_OK ? file : NULL;
}

/* Two of the same name make no sense. */
static bool
add_option(struct parse *p, struct sql_file *file, const char *name, int position, const PgQuery__Node *value)
{
    struct sql_option *option = &file->options[file->count];

    for (size_t i = 0; i < file->count; i++) {
        if (strcmp(file->options[i].name, name) == 0) {
            return sql_fail(p->q, GRANARY_EINVAL, position, "option '%s' is given twice", name);
        }
    }
    *option = (struct sql_option){.name = parse_copy(p, name), .position = position};
    file->count++;
    return option->name != NULL && take_value(p, value, option);
}

/* ---- read_csv(...) ---- */

static bool
is_text(const PgQuery__Node *node)
{
    return node->node_case == PG_QUERY__NODE__NODE_A_CONST && node->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL;
}

/* Behind a database's name stands that of a table. */
static bool
is_table(const struct sql_file *file, const PgQuery__Node *node)
{
    return strcmp(file->format, "sqlite") == 0 && file->count == 0 && is_text(node);
}

/* name => value, or name = value */
static bool
take_argument(struct parse *p, const PgQuery__Node *node, struct sql_file *file)
{
    const PgQuery__AExpr *equal = node->node_case == PG_QUERY__NODE__NODE_A_EXPR ? node->a_expr : NULL;
    const PgQuery__ColumnRef *column = NULL;

    if (is_table(file, node)) {
        return add_option(p, file, "table", node->a_const->location, node);
    }
    if (node->node_case == PG_QUERY__NODE__NODE_NAMED_ARG_EXPR) {
        (void)TAKE(p, node->named_arg_expr, argnumber);
        return add_option(p, file, TAKE(p, node->named_arg_expr, name), node->named_arg_expr->location,
                          TAKE(p, node->named_arg_expr, arg));
    }
    if (equal != NULL && TAKE(p, equal, kind) == PG_QUERY__A__EXPR__KIND__AEXPR_OP &&
        strcmp(parse_last(p, TAKE(p, equal, name), equal->n_name), "=") == 0 && equal->lexpr != NULL &&
        equal->lexpr->node_case == PG_QUERY__NODE__NODE_COLUMN_REF && equal->lexpr->column_ref->n_fields == 1) {
        column = TAKE(p, equal, lexpr)->column_ref;
        return add_option(p, file, parse_string(p, TAKE(p, column, fields)[0]), column->location,
                          TAKE(p, equal, rexpr));
    }
    return sql_fail(p->q, GRANARY_EINVAL, parse_place(&node->base),
                    "behind the file's name stand options: delimiter => ';'");
}

/* The format that a reader is of. NULL: it is no reader */
static const char *
format_of_reader(const char *name)
{
    static const struct {
        const char *name;
        const char *format;
    } others[] = {{"read_csv_auto", "csv"},
                  {"parquet_scan", "parquet"},
                  {"read_json_auto", "json"},
                  {"read_ndjson_auto", "ndjson"}};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(name, others[i].name) == 0) {
            return others[i].format;
        }
    }
    return strncmp(name, READ, strlen(READ)) == 0 ? name + strlen(READ) : NULL;
}

bool
parse_is_reader(const char *name)
{
    return format_of_reader(name) != NULL;
}

/* ['a.csv', 'b.csv']: the first is the name, the others are the option `paths`. */
static bool
take_files(struct parse *p, const PgQuery__FuncCall *call, struct sql_file *file, struct sql_from *item)
{
    const PgQuery__AArrayExpr *list = call->args[0]->a_array_expr;
    struct sql_option *paths = &file->options[0];
    bool texts = list->n_elements > 0;

    for (size_t i = 0; i < list->n_elements && texts; i++) {
        texts = is_text(list->elements[i]);
    }
    if (!texts) {
        return sql_fail(p->q, GRANARY_EINVAL, list->location, "%s needs names of files: %s(['a.csv', 'b.csv'])",
                        item->name, item->name);
    }
    if (!add_option(p, file, "paths", list->location, call->args[0])) {
        return false;
    }
    for (size_t i = 0; i < paths->count; i++) {
        paths->texts[i] = parse_path(p, paths->texts[i]);
    }
    item->position = list->location;
    item->name = paths->texts[0];
    paths->texts++;
    paths->count--;
    file->count -= paths->count == 0;
    return true;
}

bool
parse_reader(struct parse *p, const PgQuery__FuncCall *call, struct sql_from *item)
{
    PgQuery__Node *const *args = TAKE(p, call, args);
    struct sql_file *file = new_file(p, format_of_reader(item->name), call->n_args);
    bool many = call->n_args > 0 && args[0]->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR;

    if (file == NULL) {
        return false;
    }
    if (call->n_args == 0 || (!many && !is_text(args[0]))) {
        return sql_fail(p->q, GRANARY_EINVAL, call->location, "%s needs the name of a file first: %s('FILE')",
                        item->name, item->name);
    }
    item->kind = SQL_FROM_TABLE;
    item->file = file;
    if (many && !take_files(p, call, file, item)) {
        return false;
    }
    if (!many) {
        item->position = args[0]->a_const->location;
        item->name = parse_path(p, constant_text(p, args[0]));
    }
    for (size_t i = 1; i < call->n_args; i++) {
        if (!take_argument(p, args[i], file)) {
            return false;
        }
    }
    return item->name != NULL;
}

/* ---- COPY ---- */

/* WITH (FORMAT csv, ...), or the same without brackets. */
static struct sql_file *
take_options(struct parse *p, const PgQuery__CopyStmt *from)
{
    PgQuery__Node *const *options = TAKE(p, from, options);
    struct sql_file *file = new_file(p, NULL, from->n_options);

    for (size_t i = 0; file != NULL && i < from->n_options; i++) {
        const PgQuery__DefElem *option = options[i]->def_elem;
        const char *name = TAKE(p, option, defname);
        const PgQuery__Node *value = TAKE(p, option, arg);

        (void)TAKE(p, option, defaction); /* always the same here */
        if (strcmp(name, "format") == 0) {
            file->format = value == NULL ? NULL : constant_text(p, value);
            if (file->format == NULL) {
                (void)sql_fail(p->q, GRANARY_EINVAL, option->location, "FORMAT needs a name: FORMAT csv");
            }
        } else {
            (void)add_option(p, file, name, option->location, value);
        }
    }
    return p->q->err == GRANARY_OK ? file : NULL;
}

struct sql_select *
parse_select_all(struct parse *p, struct sql_from *item)
{
    struct sql_select *select = SQL_NEW(p->q, struct sql_select);
    struct sql_from **from = SQL_ARRAY(p->q, struct sql_from *, 1);
    struct sql_target *targets = SQL_ARRAY(p->q, struct sql_target, 1);

    if (select == NULL || from == NULL || targets == NULL) {
        return NULL;
    }
    from[0] = item;
    targets[0].expr = sql_parse_new_expr(p, SQL_STAR, item->position, "", 0);
    *select = (struct sql_select){
        .position = item->position, .targets = targets, .target_count = 1, .from = from, .from_count = 1, .limit = -1};
    return targets[0].expr == NULL ? NULL : select;
}

/* COPY t (a, b) TO: those columns alone. */
static bool
pick_columns(struct parse *p, const struct sql_change *change, struct sql_select *select)
{
    if (change->field_count == 0) {
        return true;
    }
    select->target_count = change->field_count;
    select->targets = SQL_ARRAY(p->q, struct sql_target, change->field_count);
    for (size_t i = 0; select->targets != NULL && i < change->field_count; i++) {
        select->targets[i].expr =
            sql_parse_new_expr(p, SQL_COLUMN, change->fields[i].position, change->fields[i].name, 0);
    }
    return p->q->err == GRANARY_OK;
}

/* COPY t FROM 'file' is INSERT INTO t SELECT * FROM 'file'. */
static bool
copy_from(struct parse *p, const PgQuery__CopyStmt *from, struct sql_file *file, struct sql_change *change)
{
    struct sql_from *item = SQL_NEW(p->q, struct sql_from);

    if (item == NULL) {
        return false;
    }
    file->is_copied = true;
    *item = (struct sql_from){.kind = SQL_FROM_TABLE, .position = change->position, .name = change->path, .file = file};
    change->kind = SQL_INSERT;
    change->select = parse_select_all(p, item);
    if (change->select != NULL && TAKE(p, from, where_clause) != NULL) {
        change->select->where = parse_expr(p, from->where_clause);
    }
    return p->q->err == GRANARY_OK;
}

bool
parse_copy_statement(struct parse *p, const PgQuery__CopyStmt *from, struct sql_change *change)
{
    const PgQuery__Node *query = TAKE(p, from, query);
    struct sql_file *file = take_options(p, from);

    change->kind = SQL_COPY_TO;
    change->file = file;
    change->path = parse_path(p, parse_copy(p, TAKE(p, from, filename)));
    if (file == NULL || change->path == NULL) {
        return false;
    }
    if (from->is_program || change->path[0] == '\0') {
        return parse_unsupported(p, 0, "COPY of anything but a file is");
    }
    if (query == NULL) {
        if (!parse_changed_table(p, TAKE(p, from, relation), TAKE(p, from, attlist), from->n_attlist, change)) {
            return false;
        }
        if (TAKE(p, from, is_from)) {
            return copy_from(p, from, file, change);
        }
        change->select = parse_select_all(p, change->tables[0]);
        return change->select != NULL && pick_columns(p, change, change->select);
    }
    if (query->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
        return parse_unsupported(p, 0, "COPY of anything but a SELECT is");
    }
    change->select = parse_select(p, query->select_stmt);
    change->position = change->select == NULL ? 0 : change->select->position;
    return change->select != NULL;
}
