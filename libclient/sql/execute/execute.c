/* Statements that change tables, run. What they write is one write of the mutable table. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "client/resolve.h"
#include "data/frame.h"
#include "mutable/handles.h"
#include "sql/execute/execute.h"
#include "sql/from/view.h"
#include "sql/parse/parse.h"
#include "sql/question.h"

/* What a call of the library says, at a place of the statement. */
static granary_err
tell_at(struct execution *e, granary_err err, int position)
{
    if (err != GRANARY_OK) {
        (void)sql_fail(&e->q, err, position, "%s", granary_error_message());
    }
    return err;
}

granary_err
execution_tell(struct execution *e, granary_err err)
{
    return tell_at(e, err, e->change->tables[0]->position);
}

granary_err
execution_open(struct execution *e, granary_mutable **ret_table)
{
    granary_err err = handles_take(e->q.client, e->change->tables[0]->name, ret_table);

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

/* ---- DROP TABLE, seal ---- */

/* ENOENT: there is no table or graph of that name. */
static granary_err
check_dropped(const struct execution *e, const char *name)
{
    granary_mutable *table = NULL;
    char *view = NULL;
    granary_err err = granary_table_open(e->q.client, name, &table);

    granary_mutable_close(table);
    if (err == GRANARY_ETYPE && sql_view_text(e->q.client, name, &view) == GRANARY_OK) {
        free(view);
        return gr_fail(GRANARY_ETYPE, "'%s' is a view: DROP VIEW forgets it", name);
    }
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
    return execution_tell(e, err);
}

/* ---- COPY ... TO ---- */

static granary_err
run_copy_to(struct execution *e)
{
    granary_frame *frame = NULL;
    const granary_frame *plain;
    granary_err err = execution_plan_and_run(e, NULL);

    err = err == GRANARY_OK ? execution_result(e, e->label, &frame, &plain) : err;
    if (err == GRANARY_OK) {
        e->done.rows = ((const int64_t *)granary_frame_column(plain, 0)->values)[0];
    }
    gr_frame_destroy(frame);
    return err;
}

/* ---- statements ---- */

static const struct {
    const char *command;
    granary_err (*run)(struct execution *e);
} commands[] = {
    [SQL_CREATE] = {"CREATE TABLE", execute_create},
    [SQL_CREATE_AS] = {"SELECT", execute_create_as},
    [SQL_INSERT] = {"INSERT", execute_insert},
    [SQL_DELETE] = {"DELETE", execute_rows},
    [SQL_UPDATE] = {"UPDATE", execute_rows},
    [SQL_DROP] = {"DROP TABLE", run_drop},
    [SQL_SEAL] = {"CALL", run_seal},
    [SQL_COPY_TO] = {"COPY", run_copy_to},
    [SQL_CREATE_VIEW] = {"CREATE VIEW", execute_create_view},
    [SQL_DROP_VIEW] = {"DROP VIEW", execute_drop_view},
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
    if (e->has_graph) {
        (void)granary_graph_delete(e->q.client, e->label);
    }
    return err;
}

/* *ret_again: a question was answered, and nothing has run yet. */
static granary_err
execute(struct execution *e, bool *ret_again)
{
    granary_err err;

    e->q.region = gr_region_create();
    e->q.graph = granary_graph_create();
    err = e->q.region == NULL || e->q.graph == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : run_statement(e);
    if (sql_asks(&e->q)) {
        err = sql_answer(&e->q);
        *ret_again = err == GRANARY_OK;
        if (err != GRANARY_OK) {
            (void)granary_sql_error(e->q.client, err, e->q.text, e->q.length);
        }
    } else if (err != GRANARY_OK && e->q.err != GRANARY_OK) {
        (void)gr_fail(err, "%s", e->q.message);
    }
    granary_graph_destroy(e->q.graph);
    if (e->q.region != NULL) {
        gr_region_destroy(e->q.region);
    }
    return err;
}

granary_err
gr_sql_execute(granary_client *client, const char *sql, size_t length, int timeout_ms, const char *label,
               granary_sql_done *ret_done)
{
    struct sql_asking asking = {.count = 0};
    struct execution e = {.q = {.text = sql, .length = length}};
    granary_err err = GRANARY_OK;
    bool again = true;

    if (sql == NULL || client == NULL) {
        return gr_fail(GRANARY_EINVAL, "the statement or the client is NULL");
    }
    while (again) {
        const bool all_files = e.q.all_files || sql_lacks_files(&e.q);

        e = (struct execution){
            .q = {.text = sql, .length = length, .client = client, .all_files = all_files, .asking = &asking},
            .timeout_ms = timeout_ms,
            .label = label};
        again = false;
        err = execute(&e, &again);
        again = again || (err != GRANARY_OK && sql_lacks_files(&e.q)); /* nothing has run yet */
    }
    sql_asking_free(&asking);
    if (err == GRANARY_OK) {
        *ret_done = e.done;
    }
    return err;
}

granary_err
granary_sql_execute_sized(granary_client *client, const char *sql, size_t length, int timeout_ms,
                          granary_sql_done *ret_done, size_t done_size)
{
    granary_sql_done done;
    char label[GRANARY_ID_TEXT + 1];
    granary_err err;

    granary_id_format(granary_id_random(), label);
    err = gr_sql_execute(client, sql, length, timeout_ms, label, &done);
    if (err == GRANARY_OK) {
        gr_sized_give(ret_done, done_size, &done, sizeof done);
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
