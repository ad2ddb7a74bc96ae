/*
 * Statements that change tables, run. What they write is one write of the mutable table. DELETE and UPDATE hold the
 * table's lock from their look at its rows to the write.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "client/builder.h"
#include "client/resolve.h"
#include "data/frame.h"
#include "granary/mutable.h"
#include "granary/read.h"
#include "granary/sql.h"
#include "graph/graph.h"
#include "mutable/durable/wish.h"
#include "mutable/read.h"
#include "sql/change.h"
#include "sql/parse/parse.h"

struct execution {
    struct sql_statement q;
    const struct sql_change *change;
    int timeout_ms;
    char key[GRANARY_KEY_MAX]; /* of the graph that has run; "": none has */
    granary_sql_done done;
};

/* What a call of the library says, at a place of the statement. */
static granary_err
tell_at(struct execution *e, granary_err err, int position)
{
    if (err != GRANARY_OK) {
        (void)sql_fail(&e->q, err, position, "%s", granary_error_message());
    }
    return err;
}

/* The same at the statement's table. */
static granary_err
tell(struct execution *e, granary_err err)
{
    return tell_at(e, err, e->change->tables[0]->position);
}

/* ---- graphs ---- */

static void
graph_drop(struct execution *e)
{
    if (e->key[0] != '\0') {
        (void)granary_graph_delete(e->q.client, e->key);
        e->key[0] = '\0';
    }
}

/* Run the statement's graph, and keep its results. */
static granary_err
graph_run(struct execution *e, granary_graph *graph)
{
    granary_err err = granary_graph_run(e->q.client, graph, NULL, e->timeout_ms, e->key, NULL);

    if (err == GRANARY_ETIMEDOUT) {
        (void)granary_graph_cancel(e->q.client, e->key, 0, NULL);
    }
    if (err != GRANARY_OK) {
        err = granary_sql_error(e->q.client, err, e->q.text, e->q.length);
        (void)sql_fail(&e->q, err, -1, "%s", granary_error_message());
        graph_drop(e);
    }
    return err;
}

static granary_err
plan_and_run(struct execution *e, const granary_frame *schema)
{
    return sql_change_plan(&e->q, e->change, schema) ? graph_run(e, e->q.graph) : e->q.err;
}

/* The node that reads a table as it is now: there is one at most. NULL: none does. */
static const Granary__Node *
find_reader(const Granary__Graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const Granary__Node *node = graph->nodes[i];

        if (strcmp(node->op, "table") == 0 && gr_attr_find(node->attrs, node->n_attrs, "time") == NULL &&
            strcmp(gr_attr_string(node->attrs, node->n_attrs, "name", ""), name) == 0) {
            return node;
        }
    }
    return NULL;
}

/* Fix the moment at which the graph reads its tables, and tell which it is. */
static granary_err
graph_fix(struct execution *e, int64_t *ret_time)
{
    const Granary__Node *reader = NULL;
    Granary__Graph *message;
    granary_err err = gr_builder_open(e->q.graph, &message);

    if (err == GRANARY_OK) {
        reader = find_reader(message, e->change->tables[0]->name);
        err = reader != NULL ? gr_resolve_objects(e->q.client, message, NULL)
                             : gr_fail(GRANARY_EFAILED, "the statement does not read its table: report this");
    }
    if (err == GRANARY_OK) {
        *ret_time = gr_attr_int(reader->attrs, reader->n_attrs, "time", GRANARY_NOW);
    }
    return err;
}

/* A chunk of the result, as a copy: all of them leased at once may be more than memory. rows: GRANARY_ROWS_REST: all */
static granary_err
chunk_read(struct execution *e, granary_id id, int64_t rows, granary_frame **ret_frame)
{
    return granary_frame_read_rows(e->q.client, id, 0, rows, NULL, 0, GRANARY_FOREVER, ret_frame);
}

static void
frames_close(granary_frame **frames, size_t count)
{
    for (size_t i = 0; frames != NULL && i < count; i++) {
        granary_frame_close(frames[i]);
    }
    free(frames);
}

/* The result as one frame, to be destroyed, and the same with plain columns, which goes with it. */
static granary_err
result_read(struct execution *e, granary_frame **ret_frame, const granary_frame **ret_plain)
{
    granary_result result = {.chunk_count = 0};
    granary_frame **frames = NULL;
    granary_err err = granary_graph_result(e->q.client, e->key, GRANARY_SQL_TARGET, &result);

    if (err == GRANARY_OK) {
        frames = calloc(result.chunk_count + 1, sizeof(granary_frame *));
        err = frames == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    }
    for (size_t i = 0; err == GRANARY_OK && i < result.chunk_count; i++) {
        err = chunk_read(e, result.chunks[i], GRANARY_ROWS_REST, &frames[i]);
    }
    err =
        err == GRANARY_OK ? gr_frame_concat((const granary_frame *const *)frames, result.chunk_count, ret_frame) : err;
    err = err == GRANARY_OK ? gr_frame_plain(*ret_frame, ret_plain) : err;
    frames_close(frames, result.chunk_count);
    granary_result_free(&result);
    return err;
}

/* ---- names ---- */

static granary_err
open_table(struct execution *e, granary_mutable **ret_table)
{
    granary_err err = granary_mutable_open(e->q.client, e->change->tables[0]->name, ret_table);

    if (err == GRANARY_OK && granary_mutable_schema(*ret_table) == NULL) {
        err = gr_fail(GRANARY_ETYPE, "'%s' is a tensor, which has no rows", e->change->tables[0]->name);
    }
    if (err == GRANARY_ENOENT) {
        err = gr_check_no_graph(e->q.client, e->change->tables[0]->name) != GRANARY_OK
                  ? gr_fail(GRANARY_ETYPE, "table '%s' does not change: CREATE TABLE makes one that does",
                            e->change->tables[0]->name)
                  : gr_fail(err, "there is no table '%s': CREATE TABLE makes one", e->change->tables[0]->name);
    }
    return err;
}

/* ---- CREATE TABLE ---- */

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

static granary_err
run_create(struct execution *e)
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
    err = make_table(e, change->tables[0]->name, columns, change->field_count);
    return err == GRANARY_EEXIST && change->lenient ? GRANARY_OK : tell(e, err);
}

/* The first chunk of the result, without rows. */
static granary_err
result_columns(struct execution *e, granary_frame **ret_frame)
{
    granary_result result;
    granary_err err = granary_graph_result(e->q.client, e->key, GRANARY_SQL_TARGET, &result);

    if (err != GRANARY_OK) {
        return err;
    }
    err = result.chunk_count == 0 ? gr_fail(GRANARY_EFAILED, "the SELECT has no result")
                                  : chunk_read(e, result.chunks[0], 0, ret_frame);
    granary_result_free(&result);
    return err;
}

/* A table with the columns of the result. */
static granary_err
make_table_of_result(struct execution *e, const char *name)
{
    granary_frame *frame = NULL;
    granary_err err = result_columns(e, &frame);
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

/* What append_to has told. */
static granary_err
take_appended(struct execution *e)
{
    granary_frame *frame = NULL;
    const granary_frame *plain;
    granary_err err = result_read(e, &frame, &plain);

    if (err == GRANARY_OK) {
        e->done.rows = ((const int64_t *)granary_frame_column_named(plain, "rows")->values)[0];
        e->done.time = ((const int64_t *)granary_frame_column_named(plain, "time")->values)[0];
    }
    gr_frame_destroy(frame);
    return err;
}

/* All rows of a result into a table. */
static granary_err
append_result(struct execution *e, const char *from, const char *name)
{
    granary_graph *graph = granary_graph_create();
    granary_node rows = granary_graph_add(graph, "rows", "table", NULL, 0);
    granary_node all = granary_graph_add(graph, GRANARY_SQL_TARGET, "append_to", &rows, 1);
    char source[GRANARY_KEY_MAX + sizeof GRANARY_SQL_TARGET + 1];
    granary_err err;

    (void)snprintf(source, sizeof source, "%s/%s", from, GRANARY_SQL_TARGET);
    granary_node_set_string(graph, rows, "name", source);
    granary_node_set_string(graph, all, "name", name);
    granary_graph_target(graph, all);
    err = granary_graph_run(e->q.client, graph, NULL, e->timeout_ms, e->key, NULL);
    granary_graph_destroy(graph);
    err = err == GRANARY_OK ? take_appended(e) : err;
    graph_drop(e);
    return err;
}

/* The table has another name until it is complete. */
static granary_err
make_and_fill(struct execution *e, const char *result)
{
    const char *name = e->change->tables[0]->name;
    char fresh[GRANARY_ID_TEXT + 1];
    granary_id id;
    granary_err err;

    granary_id_format(granary_id_random(), fresh);
    err = make_table_of_result(e, fresh);
    if (err != GRANARY_OK) {
        return err;
    }
    err = append_result(e, result, fresh);
    err = err == GRANARY_OK ? gr_check_no_graph(e->q.client, name) : err;
    err = err == GRANARY_OK ? granary_name_get(e->q.client, fresh, &id) : err;
    err = err == GRANARY_OK ? granary_name_set(e->q.client, name, id, GRANARY_NAME_NEW, (granary_id){{0}}, NULL) : err;
    if (err != GRANARY_OK) {
        const granary_err why = gr_fail(err, "%s", granary_error_message());

        if (granary_mutable_delete(e->q.client, fresh) == GRANARY_OK || why != GRANARY_OK) {
            return why;
        }
    }
    return granary_name_set(e->q.client, fresh, (granary_id){{0}}, GRANARY_NAME_ANY, id, NULL);
}

static granary_err
run_create_as(struct execution *e)
{
    const char *name = e->change->tables[0]->name;
    char result[GRANARY_KEY_MAX];
    granary_mutable *table = NULL;
    granary_err err = granary_table_open(e->q.client, name, &table);

    granary_mutable_close(table);
    if (err == GRANARY_OK) {
        return e->change->lenient ? err : tell(e, gr_fail(GRANARY_EEXIST, "table '%s': the name is taken", name));
    }
    if (err != GRANARY_ENOENT) {
        return tell(e, err);
    }
    err = plan_and_run(e, NULL);
    if (err == GRANARY_OK) {
        memcpy(result, e->key, sizeof result);
        err = tell(e, make_and_fill(e, result));
        (void)granary_graph_delete(e->q.client, result);
        e->key[0] = '\0';
    }
    return err;
}

/* ---- INSERT ---- */

static granary_err
run_insert(struct execution *e)
{
    granary_mutable *table = NULL;
    granary_err err = tell(e, open_table(e, &table));

    err = err == GRANARY_OK ? plan_and_run(e, granary_mutable_schema(table)) : err;
    granary_mutable_close(table);
    return err == GRANARY_OK ? tell(e, take_appended(e)) : err;
}

/* ---- DELETE, UPDATE ---- */

/* Positions, from 1, become numbers of rows. */
static granary_err
number_rows(granary_mutable *table, int64_t time, int64_t *rows, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        rows[i]--;
    }
    return read_numbers_of(table, time, rows, (size_t)count, rows);
}

static granary_err
write_fields(struct execution *e, granary_mutable *table, const granary_rows *rows, const granary_frame *frame)
{
    granary_column *columns = SQL_ARRAY(&e->q, granary_column, e->change->field_count);

    if (columns == NULL) {
        return e->q.err;
    }
    for (size_t i = 0; i < e->change->field_count; i++) {
        columns[i] = *granary_frame_column(frame, i + 1);
        columns[i].name = e->change->fields[i].name;
    }
    return granary_mutable_write_rows(table, rows, columns, e->change->field_count, NULL, &e->done.time);
}

/* The rows that the graph has found are deleted, or written over. */
static granary_err
change_rows(struct execution *e, granary_mutable *table, int64_t time)
{
    granary_frame *frame = NULL;
    const granary_frame *plain = NULL;
    int64_t *numbers = NULL;
    granary_err err = result_read(e, &frame, &plain);
    const int64_t count = err == GRANARY_OK ? granary_frame_rows(plain) : 0;

    e->done.rows = count;
    if (count > 0) {
        numbers = malloc((size_t)count * sizeof *numbers);
        err = numbers == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    }
    if (numbers != NULL) {
        const granary_rows rows = {.numbers = numbers, .count = (size_t)count};

        memcpy(numbers, granary_frame_column(plain, 0)->values, (size_t)count * sizeof *numbers);
        err = number_rows(table, time, numbers, count);
        if (err == GRANARY_OK) {
            err = e->change->kind == SQL_DELETE
                      ? granary_mutable_delete_rows(table, &rows, NULL, &e->done.rows, &e->done.time)
                      : write_fields(e, table, &rows, plain);
        }
    }
    free(numbers);
    gr_frame_destroy(frame);
    return err;
}

/* All tables of the statement are read at one moment, at which the rows have their numbers. */
static granary_err
run_rows_locked(struct execution *e, granary_mutable *table)
{
    int64_t time = GRANARY_NOW;
    granary_err err = sql_change_plan(&e->q, e->change, granary_mutable_schema(table)) ? GRANARY_OK : e->q.err;

    err = err == GRANARY_OK ? tell(e, graph_fix(e, &time)) : err;
    err = err == GRANARY_OK ? graph_run(e, e->q.graph) : err;
    return err == GRANARY_OK ? tell(e, change_rows(e, table, time)) : err;
}

static granary_err
run_rows(struct execution *e)
{
    granary_mutable *table = NULL;
    granary_err err = open_table(e, &table);

    err = tell(e, err == GRANARY_OK ? granary_mutable_lock(table) : err);
    if (err == GRANARY_OK) {
        err = run_rows_locked(e, table);
        granary_mutable_unlock(table);
    }
    granary_mutable_close(table);
    return err;
}

/* ---- DROP TABLE, seal ---- */

/* ENOENT: there is no table or graph of that name. */
static granary_err
check_dropped(const struct execution *e, const char *name)
{
    granary_mutable *table = NULL;
    granary_err err = granary_table_open(e->q.client, name, &table);

    granary_mutable_close(table);
    if (err == GRANARY_ENOENT && gr_check_no_graph(e->q.client, name) != GRANARY_OK) {
        err = GRANARY_OK;
    }
    return err == GRANARY_ENOENT ? gr_fail(err, "there is no table '%s'", name) : err;
}

/* One that has gone since it was looked for is dropped, too. */
static granary_err
drop_table(const struct execution *e, const char *name)
{
    granary_err err = granary_mutable_delete(e->q.client, name);

    if (err == GRANARY_ENOENT && gr_check_no_graph(e->q.client, name) != GRANARY_OK) {
        err = granary_graph_delete(e->q.client, name);
    }
    return err == GRANARY_ENOENT ? GRANARY_OK : err;
}

/* None is dropped where one of them is not there. */
static granary_err
run_drop(struct execution *e)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < e->change->table_count && !e->change->lenient; i++) {
        err = tell_at(e, check_dropped(e, e->change->tables[i]->name), e->change->tables[i]->position);
    }
    for (size_t i = 0; err == GRANARY_OK && i < e->change->table_count; i++) {
        err = tell_at(e, drop_table(e, e->change->tables[i]->name), e->change->tables[i]->position);
    }
    return err;
}

static granary_err
run_seal(struct execution *e)
{
    granary_mutable *table = NULL;
    granary_err err = granary_mutable_open(e->q.client, e->change->tables[0]->name, &table);

    err = err == GRANARY_OK ? granary_mutable_seal(table, GRANARY_NOW, NULL) : err;
    granary_mutable_close(table);
    return tell(e, err);
}

/* ---- statements ---- */

static const struct {
    const char *command;
    granary_err (*run)(struct execution *e);
} commands[] = {
    [SQL_CREATE] = {"CREATE TABLE", run_create},
    [SQL_CREATE_AS] = {"SELECT", run_create_as},
    [SQL_INSERT] = {"INSERT", run_insert},
    [SQL_DELETE] = {"DELETE", run_rows},
    [SQL_UPDATE] = {"UPDATE", run_rows},
    [SQL_DROP] = {"DROP TABLE", run_drop},
    [SQL_SEAL] = {"CALL", run_seal},
};

static granary_err
run_statement(struct execution *e)
{
    granary_err err;

    e->change = sql_parse(&e->q).change;
    if (e->change == NULL) {
        return e->q.err != GRANARY_OK ? e->q.err
                                      : (sql_fail(&e->q, GRANARY_EUNSUPPORTED, -1,
                                                  "the statement changes no table: granary_sql_graph() is for SELECT"),
                                         e->q.err);
    }
    e->done = (granary_sql_done){.command = commands[e->change->kind].command, .rows = -1};
    err = commands[e->change->kind].run(e);
    graph_drop(e);
    return err;
}

granary_err
granary_sql_execute_sized(granary_client *client, const char *sql, size_t length, int timeout_ms,
                          granary_sql_done *ret_done, size_t done_size)
{
    struct execution e = {.q = {.text = sql, .length = length, .client = client}, .timeout_ms = timeout_ms};
    granary_err err = GRANARY_OK;

    if (sql == NULL || client == NULL) {
        return gr_fail(GRANARY_EINVAL, "the statement or the client is NULL");
    }
    e.q.region = gr_region_create();
    e.q.graph = granary_graph_create();
    err = e.q.region == NULL || e.q.graph == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : run_statement(&e);
    if (err != GRANARY_OK && e.q.err != GRANARY_OK) {
        (void)gr_fail(err, "%s", e.q.message);
    }
    if (err == GRANARY_OK) {
        gr_sized_give(ret_done, done_size, &e.done, sizeof e.done);
    }
    granary_graph_destroy(e.q.graph);
    if (e.q.region != NULL) {
        gr_region_destroy(e.q.region);
    }
    return err;
}

bool
granary_sql_changes(const char *sql, size_t length)
{
    struct sql_statement q = {.text = sql, .length = length};
    bool changes = false;

    q.region = sql == NULL ? NULL : gr_region_create();
    if (q.region != NULL) {
        changes = sql_parse(&q).change != NULL;
        gr_region_destroy(q.region);
    }
    return changes;
}
