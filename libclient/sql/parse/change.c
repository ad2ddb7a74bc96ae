/* Statements that change tables or files: CREATE TABLE, INSERT, DELETE, UPDATE, DROP TABLE, COPY, and CALL seal(). */
#include <string.h>

#include "sql/parse/private.h"

/* The table of a statement. */
static bool
take_table(struct parse *p, const PgQuery__RangeVar *table, struct sql_change *change)
{
    change->tables = SQL_ARRAY(p->q, struct sql_from *, 1);
    if (change->tables == NULL || (change->tables[0] = SQL_NEW(p->q, struct sql_from)) == NULL) {
        return false;
    }
    change->table_count = 1;
    change->position = table->location;
    return parse_table(p, table, change->tables[0]);
}

/* Two of the same name make no sense. */
static bool
check_fields(struct parse *p, const struct sql_change *change)
{
    for (size_t i = 0; i < change->field_count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(change->fields[i].name, change->fields[k].name) == 0) {
                return sql_fail(p->q, GRANARY_EINVAL, change->fields[i].position, "column '%s' is named twice",
                                change->fields[i].name);
            }
        }
    }
    return true;
}

static bool
fields_alloc(struct parse *p, struct sql_change *change, size_t count)
{
    change->field_count = count;
    change->fields = SQL_ARRAY(p->q, struct sql_field, count);
    return change->fields != NULL;
}

bool
parse_changed_table(struct parse *p, const PgQuery__RangeVar *table, PgQuery__Node *const *names, size_t count,
                    struct sql_change *change)
{
    if (!take_table(p, table, change) || !fields_alloc(p, change, count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        change->fields[i] =
            (struct sql_field){.name = parse_copy(p, parse_string(p, names[i])), .position = change->position};
    }
    return p->q->err == GRANARY_OK;
}

/* ---- CREATE TABLE ---- */

static bool
take_definition(struct parse *p, const PgQuery__Node *from, struct sql_field *field)
{
    const PgQuery__ColumnDef *definition = from->node_case == PG_QUERY__NODE__NODE_COLUMN_DEF ? from->column_def : NULL;

    if (definition == NULL || definition->n_constraints > 0) {
        return parse_unsupported(p, parse_place(definition == NULL ? &from->base : &definition->constraints[0]->base),
                                 "a constraint of a table is");
    }
    (void)TAKE(p, definition, is_local); /* always true */
    field->name = parse_copy(p, TAKE(p, definition, colname));
    field->position = definition->location;
    field->dtype = parse_dtype(p, TAKE(p, definition, type_name));
    return field->name != NULL && field->dtype != NULL;
}

/* WITH (durable = commit), or '100ms' */
static bool
take_options(struct parse *p, PgQuery__Node *const *options, size_t count, struct sql_change *change)
{
    for (size_t i = 0; i < count; i++) {
        const PgQuery__DefElem *option = options[i]->def_elem;
        const PgQuery__Node *value = TAKE(p, option, arg);
        const char *name = TAKE(p, option, defname);

        (void)TAKE(p, option, defaction); /* always the same here */
        if (strcmp(name, "durable") != 0 || value == NULL || option->defnamespace[0] != '\0') {
            return sql_fail(p->q, GRANARY_EUNSUPPORTED, option->location,
                            "a table has one option: WITH (durable = commit), none, or an interval as '100ms'");
        }
        change->durable_position = option->location;
        if (value->node_case == PG_QUERY__NODE__NODE_TYPE_NAME) { /* a word */
            (void)TAKE(p, value->type_name, typemod);
            change->durable = parse_copy(p, parse_last(p, TAKE(p, value->type_name, names), value->type_name->n_names));
        } else {
            change->durable = parse_copy(p, parse_string(p, value));
        }
    }
    return p->q->err == GRANARY_OK;
}

static bool
take_create(struct parse *p, const PgQuery__CreateStmt *from, struct sql_change *change)
{
    change->kind = SQL_CREATE;
    change->lenient = TAKE(p, from, if_not_exists) != 0;
    if (!take_table(p, TAKE(p, from, relation), change) || !fields_alloc(p, change, from->n_table_elts) ||
        !take_options(p, TAKE(p, from, options), from->n_options, change)) {
        return false;
    }
    for (size_t i = 0; i < from->n_table_elts; i++) {
        if (!take_definition(p, TAKE(p, from, table_elts)[i], &change->fields[i])) {
            return false;
        }
    }
    return from->n_table_elts > 0 ||
           sql_fail(p->q, GRANARY_EINVAL, change->position, "table '%s' needs columns", change->tables[0]->name);
}

static bool
take_create_as(struct parse *p, const PgQuery__CreateTableAsStmt *from, struct sql_change *change)
{
    const PgQuery__IntoClause *into = TAKE(p, from, into);
    const PgQuery__Node *query = TAKE(p, from, query);

    if (TAKE(p, from, objtype) != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE ||
        query->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
        return parse_unsupported(p, into->rel->location, "CREATE of anything but a table of a SELECT is");
    }
    change->kind = SQL_CREATE_AS;
    change->lenient = TAKE(p, from, if_not_exists) != 0;
    if (!parse_changed_table(p, TAKE(p, into, rel), TAKE(p, into, col_names), into->n_col_names, change)) {
        return false;
    }
    change->select = parse_select(p, query->select_stmt);
    return change->select != NULL;
}

/* ---- INSERT ---- */

static bool
take_insert(struct parse *p, const PgQuery__InsertStmt *from, struct sql_change *change)
{
    const PgQuery__Node *select = TAKE(p, from, select_stmt);

    if (TAKE(p, from, override) != PG_QUERY__OVERRIDING_KIND__OVERRIDING_NOT_SET) { /* what is not said */
        return parse_unsupported(p, from->relation->location, "OVERRIDING is");
    }
    change->kind = SQL_INSERT;
    if (!take_table(p, TAKE(p, from, relation), change) || !fields_alloc(p, change, from->n_cols)) {
        return false;
    }
    for (size_t i = 0; i < from->n_cols; i++) {
        const PgQuery__ResTarget *column = TAKE(p, from, cols)[i]->res_target;

        change->fields[i] =
            (struct sql_field){.name = parse_copy(p, TAKE(p, column, name)), .position = column->location};
    }
    if (select == NULL) {
        return parse_unsupported(p, change->position, "INSERT of DEFAULT VALUES is");
    }
    change->select = parse_select(p, select->select_stmt);
    return change->select != NULL;
}

/* ---- DELETE, UPDATE ---- */

static bool
take_where(struct parse *p, const PgQuery__Node *where, struct sql_change *change)
{
    change->where = where == NULL ? NULL : parse_expr(p, where);
    return where == NULL || change->where != NULL;
}

static bool
take_delete(struct parse *p, const PgQuery__DeleteStmt *from, struct sql_change *change)
{
    change->kind = SQL_DELETE;
    return take_table(p, TAKE(p, from, relation), change) && take_where(p, TAKE(p, from, where_clause), change);
}

static bool
take_update(struct parse *p, const PgQuery__UpdateStmt *from, struct sql_change *change)
{
    change->kind = SQL_UPDATE;
    if (!take_table(p, TAKE(p, from, relation), change) || !fields_alloc(p, change, from->n_target_list)) {
        return false;
    }
    for (size_t i = 0; i < from->n_target_list; i++) {
        const PgQuery__ResTarget *target = TAKE(p, from, target_list)[i]->res_target;

        change->fields[i] = (struct sql_field){.name = parse_copy(p, TAKE(p, target, name)),
                                               .position = target->location,
                                               .expr = parse_expr(p, TAKE(p, target, val))};
        if (change->fields[i].expr == NULL) {
            return false;
        }
    }
    return take_where(p, TAKE(p, from, where_clause), change);
}

/* ---- DROP TABLE, CALL seal() ---- */

/* The grammar keeps no places of what is dropped: names begin behind TABLE, IF EXISTS, and commas. */
static void
place_dropped(struct parse *p, struct sql_change *change)
{
    const char *text = sql_printf(p->q, "%.*s", (int)p->q->length, p->q->text);
    PgQuery__ScanResult *scan = text == NULL ? NULL : parse_scan(p->q, text);
    size_t begun = 0;
    bool begins = false;

    for (size_t i = 0; scan != NULL && i < scan->n_tokens; i++) {
        const PgQuery__ScanToken *token = scan->tokens[i];

        switch (token->token) {
        case PG_QUERY__TOKEN__SQL_COMMENT:
        case PG_QUERY__TOKEN__C_COMMENT:
        case PG_QUERY__TOKEN__IF_P:
            break;
        case PG_QUERY__TOKEN__TABLE:
        case PG_QUERY__TOKEN__VIEW:
        case PG_QUERY__TOKEN__EXISTS:
        case PG_QUERY__TOKEN__ASCII_44: /* a comma */
            begins = true;
            break;
        default:
            if (begins && begun < change->table_count) {
                change->tables[begun++]->position = token->start;
            }
            begins = false;
        }
    }
    parse_scan_free(scan);
}

static bool
take_drop(struct parse *p, const PgQuery__DropStmt *from, struct sql_change *change)
{
    const PgQuery__ObjectType type = TAKE(p, from, remove_type);

    if (type != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE && type != PG_QUERY__OBJECT_TYPE__OBJECT_VIEW) {
        return parse_unsupported(p, 0, "DROP of anything but tables and views is");
    }
    (void)TAKE(p, from, behavior); /* nothing depends on a table */
    change->kind = type == PG_QUERY__OBJECT_TYPE__OBJECT_VIEW ? SQL_DROP_VIEW : SQL_DROP;
    change->lenient = TAKE(p, from, missing_ok) != 0;
    change->tables = SQL_ARRAY(p->q, struct sql_from *, from->n_objects);
    for (size_t i = 0; change->tables != NULL && i < from->n_objects; i++) {
        const PgQuery__List *names = TAKE(p, from, objects)[i]->list;
        struct sql_from *table = SQL_NEW(p->q, struct sql_from);

        if (table == NULL) {
            return false;
        }
        *table = (struct sql_from){.kind = SQL_FROM_TABLE, .name = "", .position = -1};
        for (size_t k = 0; k < names->n_items && table->name != NULL; k++) {
            table->name =
                sql_printf(p->q, "%s%s%s", table->name, k > 0 ? "." : "", parse_string(p, TAKE(p, names, items)[k]));
        }
        change->tables[change->table_count++] = table;
    }
    place_dropped(p, change);
    return p->q->err == GRANARY_OK;
}

static bool
take_call(struct parse *p, const PgQuery__CallStmt *from, struct sql_change *change)
{
    const PgQuery__FuncCall *call = TAKE(p, from, funccall);
    const char *name = parse_last(p, TAKE(p, call, funcname), call->n_funcname);
    const PgQuery__Node *argument = call->n_args == 1 ? TAKE(p, call, args)[0] : NULL;
    const PgQuery__AConst *value =
        argument != NULL && argument->node_case == PG_QUERY__NODE__NODE_A_CONST ? argument->a_const : NULL;
    struct sql_from *table = SQL_NEW(p->q, struct sql_from);

    if (strcmp(name, "seal") != 0 || value == NULL || value->val_case != PG_QUERY__A__CONST__VAL_SVAL) {
        return parse_unsupported(p, call->location, "CALL of anything but seal('TABLE') is");
    }
    change->kind = SQL_SEAL;
    change->position = call->location;
    change->table_count = 1;
    change->tables = SQL_ARRAY(p->q, struct sql_from *, 1);
    if (table == NULL || change->tables == NULL) {
        return false;
    }
    *table = (struct sql_from){
        .kind = SQL_FROM_TABLE, .name = parse_copy(p, TAKE(p, value->sval, sval)), .position = value->location};
    change->tables[0] = table;
    return table->name != NULL;
}

struct sql_change *
parse_change(struct parse *p, const PgQuery__Node *from)
{
    struct sql_change *change = SQL_NEW(p->q, struct sql_change);
    bool ok;

    if (change == NULL) {
        return NULL;
    }
    switch (from == NULL ? PG_QUERY__NODE__NODE__NOT_SET : from->node_case) {
    case PG_QUERY__NODE__NODE_CREATE_STMT:
        ok = take_create(p, from->create_stmt, change);
        break;
    case PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT:
        ok = take_create_as(p, from->create_table_as_stmt, change);
        break;
    case PG_QUERY__NODE__NODE_INSERT_STMT:
        ok = take_insert(p, from->insert_stmt, change);
        break;
    case PG_QUERY__NODE__NODE_DELETE_STMT:
        ok = take_delete(p, from->delete_stmt, change);
        break;
    case PG_QUERY__NODE__NODE_UPDATE_STMT:
        ok = take_update(p, from->update_stmt, change);
        break;
    case PG_QUERY__NODE__NODE_DROP_STMT:
        ok = take_drop(p, from->drop_stmt, change);
        break;
    case PG_QUERY__NODE__NODE_VIEW_STMT:
        ok = parse_view_statement(p, from->view_stmt, change);
        break;
    case PG_QUERY__NODE__NODE_TRUNCATE_STMT:
        ok = parse_truncate(p, from->truncate_stmt, change);
        break;
    case PG_QUERY__NODE__NODE_CALL_STMT:
        ok = take_call(p, from->call_stmt, change);
        break;
    case PG_QUERY__NODE__NODE_COPY_STMT:
        ok = parse_copy_statement(p, from->copy_stmt, change);
        break;
    default:
        ok = sql_fail(p->q, GRANARY_EUNSUPPORTED, 0,
                      "only SELECT, CREATE TABLE, CREATE VIEW, INSERT, DELETE, UPDATE, TRUNCATE, DROP, COPY and "
                      "CALL seal('t') are supported");
        break;
    }
    change->replaces = change->replaces || p->q->replaces;
    if (ok && change->replaces && change->lenient) {
        ok = sql_fail(p->q, GRANARY_EINVAL, change->position, "OR REPLACE and IF NOT EXISTS: write one of them");
    }
    return ok && check_fields(p, change) ? change : NULL;
}
