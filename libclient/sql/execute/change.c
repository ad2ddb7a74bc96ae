/*
 * What a statement is to change, as a graph. An INSERT is a SELECT whose values are cast to the table's columns. A DELETE or
 * UPDATE is a SELECT of the rows' positions, FROM (SELECT *, row_number() OVER () FROM t) t WHERE ...
 */
#include "sql/execute/change.h"

#include <string.h>

#include "granary/frame.h"
#include "granary/sql.h"
#include "sql/execute/values.h"
#include "sql/from/file.h"
#include "sql/told.h"

/* ---- targets ---- */

/* The names SELECT gives, made different where they are not: a, a_1. */
static const char *
final_name(struct sql_statement *q, const struct sql_result *result, const char *const *names, size_t i)
{
    const char *name = result->outputs[i].name;

    for (unsigned number = 1;; number++) {
        bool taken = false;

        for (size_t k = 0; k < i && !taken; k++) {
            taken = strcmp(names[k], name) == 0;
        }
        if (!taken) {
            return name;
        }
        name = sql_printf(q, "%s_%u", result->outputs[i].name, number);
        if (name == NULL) {
            return NULL;
        }
    }
}

/* The columns of a result as users see them, in a node of that name. */
static granary_node
add_final(struct sql_statement *q, const char *node_name, const struct sql_result *result, const char *const *given)
{
    const char **names = SQL_ARRAY(q, const char *, result->count);
    granary_node node = granary_graph_add(q->graph, node_name, "project", &result->rel.node, 1);

    for (size_t i = 0; i < result->count && q->err == GRANARY_OK; i++) {
        const char *text = sql_quoted(q, result->outputs[i].frame);

        names[i] = given != NULL ? given[i] : final_name(q, result, names, i);
        if (names[i] != NULL && text != NULL) {
            granary_node_set_entry(q->graph, node, "columns", names[i], text);
        }
    }
    return node;
}

bool
sql_add_target(struct sql_statement *q, const struct sql_result *result, const char *const *given)
{
    granary_graph_target(q->graph, add_final(q, GRANARY_SQL_TARGET, result, given));
    return q->err == GRANARY_OK;
}

/* ---- columns of the table ---- */

static const granary_column *
find_field(struct sql_statement *q, const struct sql_change *change, const granary_frame *schema, size_t field)
{
    const granary_column *column = granary_frame_column_named(schema, change->fields[field].name);

    if (column == NULL) {
        (void)sql_fail(q, GRANARY_ENOENT, change->fields[field].position, "table '%s' has no column '%s'",
                       change->tables[0]->name, change->fields[field].name);
    }
    return column;
}

static bool
check_fields(struct sql_statement *q, const struct sql_change *change, const granary_frame *schema)
{
    bool ok = true;

    for (size_t i = 0; ok && i < change->field_count; i++) {
        ok = find_field(q, change, schema, i) != NULL;
    }
    return ok;
}

/* ---- INSERT ---- */

/* Which of the values is for a column of the table, + 1; 0: none is, and it becomes null. */
static size_t
value_of(const struct sql_change *change, size_t given, const char *name, size_t position)
{
    for (size_t i = 0; i < change->field_count; i++) {
        if (strcmp(change->fields[i].name, name) == 0) {
            return i + 1;
        }
    }
    return change->field_count == 0 && position < given ? position + 1 : 0;
}

/* A value in a column's dtype; errors point at the value. */
static const char *
cast_value(struct sql_statement *q, const struct sql_change *change, const struct sql_result *result, size_t value,
           const granary_column *column)
{
    const struct sql_select *select = change->select;
    const char *text =
        sql_printf(q, "cast(%s as %s)", value == 0 ? "null" : sql_quoted(q, result->outputs[value - 1].frame),
                   granary_dtype_name(column->dtype));
    const bool is_listed = value > 0 && value <= select->target_count && select->set == SQL_NO_SET &&
                           sql_star_in(select->targets[0].expr) == NULL;

    if (text != NULL) {
        sql_tell(q, text, NULL, is_listed ? select->targets[value - 1].expr->position : change->position);
    }
    return text;
}

static bool
check_count(struct sql_statement *q, const struct sql_change *change, size_t columns, size_t given)
{
    const size_t wanted = change->field_count > 0 ? change->field_count : columns;

    if (given > wanted || (given < wanted && change->field_count > 0)) {
        return sql_fail(q, GRANARY_EINVAL, change->select->position >= 0 ? change->select->position : change->position,
                        "%zu columns need as many values, and not %zu", wanted, given);
    }
    return true;
}

static bool
plan_insert(struct sql_statement *q, const struct sql_change *change, const granary_frame *schema)
{
    const size_t count = granary_frame_columns(schema);
    const char **names = SQL_ARRAY(q, const char *, count);
    const char **texts = SQL_ARRAY(q, const char *, count);
    struct sql_result result;
    granary_node node;

    if (names == NULL || texts == NULL || !check_fields(q, change, schema)) {
        return false;
    }
    if (!sql_cast_values(q, change, schema) || !sql_plan(q, change->select, true, &result) ||
        !check_count(q, change, count, result.count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const granary_column *column = granary_frame_column(schema, i);

        names[i] = column->name;
        texts[i] = cast_value(q, change, &result, value_of(change, result.count, column->name, i), column);
    }
    if (q->err != GRANARY_OK || !sql_rel_project(q, &result.rel, names, texts, count, change->position)) {
        return false;
    }
    node = granary_graph_add(q->graph, GRANARY_SQL_TARGET, "append_to", &result.rel.node, 1);
    granary_node_set_string(q->graph, node, "name", change->tables[0]->name);
    granary_graph_target(q->graph, node);
    return true;
}

/* ---- CREATE TABLE AS ---- */

static bool
plan_create_as(struct sql_statement *q, const struct sql_change *change)
{
    struct sql_result result;

    if (!sql_plan(q, change->select, true, &result)) {
        return false;
    }
    if (change->field_count > result.count) {
        return sql_fail(q, GRANARY_EINVAL, change->position, "there are %zu names for %zu columns", change->field_count,
                        result.count);
    }
    for (size_t i = 0; i < change->field_count; i++) {
        result.outputs[i].name = change->fields[i].name;
    }
    return sql_add_target(q, &result, NULL);
}

/* ---- COPY ... TO ---- */

/* The file, and as the target how many rows it has. */
static bool
plan_copy_to(struct sql_statement *q, const struct sql_change *change)
{
    const struct gr_format_ending *ending = NULL;
    const struct gr_format *format = sql_file_format(q, change->file, change->path, change->position, &ending);
    struct sql_result result;
    granary_node rows, file, count;

    if (format == NULL || !sql_plan(q, change->select, true, &result)) {
        return false;
    }
    rows = add_final(q, "rows of COPY", &result, NULL);
    file = sql_file_node(q, "write", format, ending, change->file, change->path, change->position, &rows, 1);
    count = granary_graph_add(q->graph, GRANARY_SQL_TARGET, "groupby", &rows, 1);
    granary_node_set_strings(q->graph, count, "keys", NULL, 0);
    granary_node_set_entry(q->graph, count, "aggregate", "rows", "size");
    granary_graph_target(q->graph, file);
    granary_graph_target(q->graph, count);
    return q->err == GRANARY_OK;
}

/* ---- DELETE, UPDATE ---- */

/* What the row's position in the table, from 1, is called: as no column of it is. NULL: the statement has failed. */
static const char *
row_name(struct sql_statement *q, const granary_frame *schema)
{
    const char *name = "#row";

    while (name != NULL && granary_frame_column_named(schema, name) != NULL) {
        name = sql_printf(q, "#%s", name);
    }
    return name;
}

static struct sql_expr *
new_expr(struct sql_statement *q, const struct sql_change *change, enum sql_kind kind, const char *text)
{
    struct sql_expr *expr = SQL_NEW(q, struct sql_expr);

    if (expr != NULL) {
        *expr = (struct sql_expr){.kind = kind, .position = change->position, .text = text};
    }
    return expr;
}

/* SELECT *, row_number() OVER () AS row FROM t */
static struct sql_select *
numbered_rows(struct sql_statement *q, const struct sql_change *change, const char *row)
{
    struct sql_select *select = SQL_NEW(q, struct sql_select);
    struct sql_target *targets = SQL_ARRAY(q, struct sql_target, 2);
    struct sql_expr *number = new_expr(q, change, SQL_AGGREGATE, "row_number");
    struct sql_window *window = SQL_NEW(q, struct sql_window);
    struct sql_from *table = SQL_NEW(q, struct sql_from);
    struct sql_from **from = SQL_ARRAY(q, struct sql_from *, 1);

    if (select == NULL || targets == NULL || number == NULL || window == NULL || table == NULL || from == NULL) {
        return NULL;
    }
    *table = *change->tables[0];
    table->alias = NULL;
    from[0] = table;
    *window = (struct sql_window){.frame = SQL_FRAME_PARTITION, .position = change->position};
    number->written = "row_number";
    number->over = window;
    number->args = SQL_ARRAY(q, struct sql_expr *, 1);
    targets[0] = (struct sql_target){.expr = new_expr(q, change, SQL_STAR, NULL)};
    targets[1] = (struct sql_target){.expr = number, .alias = row};
    *select = (struct sql_select){.position = change->position,
                                  .targets = targets,
                                  .target_count = 2,
                                  .from = from,
                                  .from_count = 1,
                                  .limit = -1};
    return number->args == NULL || targets[0].expr == NULL ? NULL : select;
}

/* What a field is set to, in the column's dtype. */
static struct sql_expr *
set_expr(struct sql_statement *q, const struct sql_change *change, const granary_frame *schema, size_t field)
{
    const granary_column *column = find_field(q, change, schema, field);

    return column == NULL ? NULL : sql_cast_to(q, change->fields[field].expr, column, change->fields[field].position);
}

/* SELECT row, cast(...), ... FROM (numbered rows) t WHERE ... */
static bool
plan_rows(struct sql_statement *q, const struct sql_change *change, const granary_frame *schema)
{
    const size_t count = change->field_count + 1;
    struct sql_target *targets = SQL_ARRAY(q, struct sql_target, count);
    const char *row = row_name(q, schema);
    const char **names = SQL_ARRAY(q, const char *, count);
    struct sql_from *rows = SQL_NEW(q, struct sql_from);
    struct sql_select select = {.position = change->position,
                                .targets = targets,
                                .target_count = count,
                                .from = &rows,
                                .from_count = 1,
                                .where = change->where,
                                .limit = -1};
    struct sql_result result;

    if (targets == NULL || names == NULL || rows == NULL || row == NULL) {
        return false;
    }
    *rows = (struct sql_from){.kind = SQL_FROM_SELECT,
                              .position = change->position,
                              .alias =
                                  change->tables[0]->alias != NULL ? change->tables[0]->alias : change->tables[0]->name,
                              .select = numbered_rows(q, change, row)};
    names[0] = SQL_CHANGE_ROW;
    targets[0] = (struct sql_target){.expr = new_expr(q, change, SQL_COLUMN, row)};
    for (size_t i = 0; i < change->field_count; i++) {
        names[i + 1] = sql_printf(q, SQL_CHANGE_VALUE, i);
        targets[i + 1] = (struct sql_target){.expr = set_expr(q, change, schema, i)};
        if (targets[i + 1].expr == NULL || names[i + 1] == NULL) {
            return false;
        }
    }
    return rows->select != NULL && targets[0].expr != NULL && sql_plan(q, &select, true, &result) &&
           sql_add_target(q, &result, names);
}

bool
sql_change_plan(struct sql_statement *q, const struct sql_change *change, const granary_frame *schema)
{
    switch (change->kind) {
    case SQL_INSERT:
        return plan_insert(q, change, schema);
    case SQL_CREATE_AS:
        return plan_create_as(q, change);
    case SQL_COPY_TO:
        return plan_copy_to(q, change);
    default:
        return plan_rows(q, change, schema);
    }
}
