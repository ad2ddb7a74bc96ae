/* CREATE TABLE, and CREATE TABLE AS, whose table has another name until it is complete. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "client/resolve.h"
#include "data/frame.h"
#include "granary/hold.h"
#include "mutable/durable/wish.h"
#include "sql/execute/execute.h"

/* Decimals of a table have a scale; how many digits there may be in front is not kept. */
static granary_dtype
dtype_of(struct sql_statement *q, const char *text)
{
    int digits = 0;
    int scale = 0;

    return sscanf(text, "decimal(%d, %d)", &digits, &scale) == 2 ? gr_dtype_parse(sql_printf(q, "decimal(%d)", scale))
                                                                 : gr_dtype_parse(text);
}

static granary_err
make_table(struct execution *e, const char *name, const granary_column *columns, size_t count)
{
    granary_mutable_options options = {.flags = 0};
    granary_mutable *table = NULL;
    granary_err err = gr_check_no_graph(e->q.client, name);

    if (err == GRANARY_OK && e->change->durable != NULL) {
        err = durable_wish(e->change->durable, &options);
    }
    err = err == GRANARY_OK ? granary_mutable_create_frame(e->q.client, name, columns, count, &options, &table) : err;
    granary_mutable_close(table);
    return err;
}

/* ---- AS ---- */

/* A table with the columns of the result. */
static granary_err
make_table_of_result(struct execution *e, const char *name)
{
    granary_frame *frame = NULL;
    granary_err err = execution_columns(e, e->label, &frame);
    const size_t count = err == GRANARY_OK ? granary_frame_columns(frame) : 0;
    granary_column *columns = SQL_ARRAY(&e->q, granary_column, count);

    for (size_t i = 0; columns != NULL && i < count; i++) {
        const granary_column *column = granary_frame_column(frame, i);

        columns[i] = (granary_column){.name = column->name,
                                      .dtype = column->dtype == GRANARY_NULLTYPE ? GRANARY_STRING : column->dtype};
    }
    if (err == GRANARY_OK) {
        err = columns == NULL ? e->q.err : make_table(e, name, columns, count);
    }
    granary_frame_close(frame);
    return err;
}

/* All rows of the statement's graph into a table. */
static granary_err
append_result(struct execution *e, const char *name)
{
    granary_graph *graph = granary_graph_create();
    granary_node rows = granary_graph_add(graph, "rows", "table", NULL, 0);
    granary_node all = granary_graph_add(graph, GRANARY_SQL_TARGET, "append_to", &rows, 1);
    char source[SQL_LABEL_MAX + sizeof GRANARY_SQL_TARGET + 1];
    char key[SQL_LABEL_MAX];
    granary_err err;

    (void)snprintf(key, sizeof key, SQL_LABEL_FILL, e->label);
    (void)snprintf(source, sizeof source, "%s/%s", e->label, GRANARY_SQL_TARGET);
    granary_node_set_string(graph, rows, "name", source);
    granary_node_set_string(graph, all, "name", name);
    granary_graph_target(graph, all);
    err = execution_run(e, graph, key);
    granary_graph_destroy(graph);
    err = execution_tell(e, err == GRANARY_OK ? execution_take_appended(e, key) : err);
    (void)granary_graph_delete(e->q.client, key);
    return err;
}

/* How often others may take the name meanwhile. */
#define REPLACE_TRIES 100

/* The table that has the name now gets another one, by which it is forgotten, and loses this one. */
static granary_err
take_place(const struct execution *e, const char *name, granary_id id)
{
    const granary_id none = {{0}};
    char old[SQL_LABEL_MAX];
    granary_err err = GRANARY_ESTATE;

    (void)snprintf(old, sizeof old, SQL_LABEL_OLD, e->label);
    for (int i = 0; i < REPLACE_TRIES && (err == GRANARY_ESTATE || err == GRANARY_ENOENT || err == GRANARY_EEXIST);
         i++) {
        granary_id previous;

        (void)sql_forget_name(e->q.client, old);
        err = granary_name_get(e->q.client, name, &previous);
        if (err == GRANARY_ENOENT) {
            err = granary_name_set(e->q.client, name, id, GRANARY_NAME_NEW, none, NULL);
        } else if (err == GRANARY_OK) {
            err = granary_name_set(e->q.client, old, previous, GRANARY_NAME_NEW, none, NULL);
            err = err == GRANARY_OK ? granary_name_set(e->q.client, name, id, GRANARY_NAME_ID, previous, NULL) : err;
        }
    }
    return err;
}

/* The name is that of the complete table, too. */
static granary_err
give_name(const struct execution *e, const char *name, const char *fresh)
{
    granary_id id;
    granary_err err = gr_check_no_graph(e->q.client, name);

    err = err == GRANARY_OK ? granary_name_get(e->q.client, fresh, &id) : err;
    if (err == GRANARY_OK && e->change->replaces) {
        return take_place(e, name, id);
    }
    return err == GRANARY_OK ? granary_name_set(e->q.client, name, id, GRANARY_NAME_NEW, (granary_id){{0}}, NULL) : err;
}

/* The table of the result. Whatever comes, its other name goes, and with that one that has no name of its own. */
static granary_err
make_and_fill(struct execution *e, const char *name)
{
    char fresh[SQL_LABEL_MAX];
    granary_err err, end_err;

    (void)snprintf(fresh, sizeof fresh, SQL_LABEL_NEW, e->label);
    err = make_table_of_result(e, fresh);
    err = err == GRANARY_OK ? append_result(e, fresh) : err;
    err = err == GRANARY_OK ? give_name(e, name, fresh) : err;
    err = execution_tell(e, err);
    end_err = sql_forget_table(e->q.client, e->label);
    return err == GRANARY_OK ? execution_tell(e, end_err) : err;
}

/* What may be replaced: nothing, or a table. */
static granary_err
check_replaced(const struct execution *e, const char *name)
{
    granary_mutable *table = NULL;
    granary_err err = granary_table_open(e->q.client, name, &table);

    granary_mutable_close(table);
    return err == GRANARY_ETYPE    ? gr_fail(GRANARY_EEXIST, "'%s' is no table, but a view or an object", name)
           : err == GRANARY_ENOENT ? gr_check_no_graph(e->q.client, name)
                                   : err;
}

/* An empty one takes the place of what has the name. */
static granary_err
replace_table(struct execution *e, const granary_column *columns)
{
    const char *name = e->change->tables[0]->name;
    char fresh[SQL_LABEL_MAX];
    granary_err err, end_err;

    (void)snprintf(fresh, sizeof fresh, SQL_LABEL_NEW, e->label);
    err = check_replaced(e, name);
    err = err == GRANARY_OK ? make_table(e, fresh, columns, e->change->field_count) : err;
    err = err == GRANARY_OK ? give_name(e, name, fresh) : err;
    err = execution_tell(e, err);
    end_err = sql_forget_table(e->q.client, e->label);
    return err == GRANARY_OK ? execution_tell(e, end_err) : err;
}

/* By a table, that is; what else may have the name tells its own. */
static granary_err
name_is_taken(const char *name)
{
    return gr_fail(GRANARY_EEXIST,
                   "table '%s': the name is taken: choose another, or write CREATE OR REPLACE TABLE, or IF NOT EXISTS",
                   name);
}

granary_err
execute_create(struct execution *e)
{
    const struct sql_change *change = e->change;
    granary_column *columns = SQL_ARRAY(&e->q, granary_column, change->field_count);
    granary_err err;

    for (size_t i = 0; columns != NULL && i < change->field_count; i++) {
        columns[i] =
            (granary_column){.name = change->fields[i].name, .dtype = dtype_of(&e->q, change->fields[i].dtype)};
    }
    if (columns == NULL) {
        return e->q.err;
    }
    if (change->replaces) {
        return replace_table(e, columns);
    }
    err = make_table(e, change->tables[0]->name, columns, change->field_count);
    if (err == GRANARY_EEXIST && !change->lenient && strstr(granary_error_message(), "taken by") == NULL) {
        err = name_is_taken(change->tables[0]->name);
    }
    return err == GRANARY_EEXIST && change->lenient ? GRANARY_OK : execution_tell(e, err);
}

granary_err
execute_create_as(struct execution *e)
{
    const char *name = e->change->tables[0]->name;
    granary_mutable *table = NULL;
    granary_err err = granary_table_open(e->q.client, name, &table);

    granary_mutable_close(table);
    if (e->change->replaces) {
        err = check_replaced(e, name);
        err = err == GRANARY_OK ? GRANARY_ENOENT : err;
    }
    if (err == GRANARY_OK) {
        return e->change->lenient ? err : execution_tell(e, name_is_taken(name));
    }
    if (err != GRANARY_ENOENT) {
        return execution_tell(e, err);
    }
    err = execution_plan_and_run(e, NULL);
    return err == GRANARY_OK ? make_and_fill(e, name) : err;
}
