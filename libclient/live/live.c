/*
 * Live queries: a result, then a wait, then what is new. Each step cuts the tables at one time. What was appended since the cut
 * before is read from the table and put as an object, over which graphs run. Whatever else happened to it, or to what
 * it is joined with, makes a step that reads all.
 */
#include "granary/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/sized.h"
#include "client/builder.h"
#include "data/frame.h"
#include "granary/mutable.h"
#include "granary/sql.h"
#include "graph/graph.h"
#include "live/forget.h"
#include "live/plan.h"
#include "live/sides.h"
#include "mutable/read.h"
#include "object/object.h"
#include "sql/about.h"
#include "sql/execute/forget.h"

/* Graphs of a live query: their keys are its label and this. */
enum own_graph { INPUT, RESULT, GROUPS, OTHER_GROUPS, OWN_GRAPHS };

#define MESSAGE_MAX 2048
#define TRIES_MAX   4 /* of a step whose sides change while it runs */

struct granary_live {
    granary_client *client;
    char label[GRANARY_ID_TEXT + 1];
    char *sql;
    size_t length;
    struct live_plan plan;
    bool *grows;              /* by nodes of the plan's graph: it reads a mutable table */
    granary_mutable **tables; /* that grow, as nodes read them */
    size_t table_count;
    uint64_t sides;        /* what else it reads, as it was when the statement was translated */
    int64_t time;          /* of the last result */
    bool has_result;       /* there was one, and the next one may build on it */
    bool is_sealed;        /* the last result was of the tables' end */
    bool left[OWN_GRAPHS]; /* that graph is of an earlier step: no scheduler was there to delete it */
    enum own_graph groups; /* GROUPS: graph that has the known groups, or had them */
    granary_id known;
};

/* ---- what it makes ---- */

static void
key_of(const char *label, enum own_graph graph, char ret_key[GRANARY_KEY_MAX])
{
    static const char *const names[OWN_GRAPHS] = {"input", "result", "groups", "more-groups"};

    (void)snprintf(ret_key, GRANARY_KEY_MAX, "%s-%s", label, names[graph]);
}

/* Rows that are new, for the graphs of one step. */
static granary_id
rows_id(const char *label)
{
    return granary_id_from_key("live", label, strlen(label));
}

granary_err
gr_live_forget(granary_client *client, const char *label)
{
    granary_err err = GRANARY_OK;

    for (int i = 0; i < SQL_FORGET_PASSES * OWN_GRAPHS && err == GRANARY_OK; i++) {
        char key[GRANARY_KEY_MAX];

        key_of(label, (enum own_graph)(i % OWN_GRAPHS), key);
        err = sql_forget_graph(client, key);
    }
    if (granary_object_contains(client, rows_id(label))) { /* the message stays */
        (void)granary_object_delete(client, rows_id(label), 0);
    }
    return err;
}

/* ---- open ---- */

/* The tables that a graph's nodes read and that grow. */
static granary_err
open_tables(granary_live *live)
{
    const Granary__Graph *graph = live->plan.graph;

    for (size_t i = 0; i < graph->n_nodes; i++) {
        const Granary__Node *node = graph->nodes[i];
        const char *name = gr_attr_string(node->attrs, node->n_attrs, "name", NULL);
        granary_mutable *table = NULL;
        granary_err err;

        if (strcmp(node->op, "table") != 0 || name == NULL || strlen(name) > GRANARY_TEXT_MAX ||
            gr_attr_find(node->attrs, node->n_attrs, "time") != NULL) {
            continue;
        }
        err = granary_mutable_open(live->client, name, &table);
        if (err == GRANARY_ENOENT || err == GRANARY_ETYPE || err == GRANARY_ESEALED) {
            continue; /* a kept result, or one that does not change any more */
        }
        if (err != GRANARY_OK) {
            return err;
        }
        live->grows[i] = true;
        live->tables[live->table_count++] = table;
    }
    return GRANARY_OK;
}

static void
close_tables(granary_live *live)
{
    for (size_t i = 0; i < live->table_count; i++) {
        granary_mutable_close(live->tables[i]);
    }
    free(live->tables);
    free(live->grows);
    live->tables = NULL;
    live->grows = NULL;
    live->table_count = 0;
    if (live->plan.graph != NULL) {
        live_plan_free(&live->plan);
    }
}

/* The statement's graph, with its tables as they are now: none may grow any more. */
static granary_err
translate(granary_live *live)
{
    granary_graph *graph = NULL;
    Granary__Graph *message = NULL;
    granary_err err = gr_sql_fixed_graph(live->client, live->sql, live->length, &graph);

    err = err == GRANARY_OK ? gr_builder_finish(graph, &message) : err;
    granary_graph_destroy(graph);
    if (err != GRANARY_OK) {
        return err;
    }
    live->plan.graph = message;
    live->grows = calloc(message->n_nodes + 1, sizeof *live->grows);
    live->tables = calloc(message->n_nodes + 1, sizeof(granary_mutable *));
    err = live->grows == NULL || live->tables == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : open_tables(live);
    err = err == GRANARY_OK ? live_sides(live->client, message, live->grows, &live->sides) : err;
    if (err == GRANARY_OK) {
        live_plan_make(message, live->grows, &live->plan);
    }
    return err;
}

granary_err
granary_live_open(granary_client *client, const char *sql, size_t length, granary_live **ret_live)
{
    char label[GRANARY_ID_TEXT + 1];

    granary_id_format(granary_id_random(), label);
    return gr_live_open(client, sql, length, label, ret_live);
}

granary_err
gr_live_open(granary_client *client, const char *sql, size_t length, const char *label, granary_live **ret_live)
{
    granary_live *live = calloc(1, sizeof *live);
    granary_err err = live == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : gr_client_check(client);

    if (live == NULL) {
        return err;
    }
    live->client = client;
    live->length = length;
    (void)snprintf(live->label, sizeof live->label, "%s", label);
    live->groups = GROUPS;
    live->sql = malloc(length + 1);
    err = err == GRANARY_OK && live->sql == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : err;
    if (err == GRANARY_OK && granary_sql_changes(sql, length)) {
        err = gr_fail(GRANARY_EINVAL, "a live query is a SELECT, and this changes tables: `granary sql` runs it");
    }
    if (err == GRANARY_OK) {
        memcpy(live->sql, sql, length);
        err = translate(live);
    }
    if (err == GRANARY_OK && live->table_count == 0) {
        err = gr_fail(GRANARY_EINVAL, "none of its tables changes: `granary sql` gives its result");
    }
    if (err != GRANARY_OK) {
        granary_live_close(live);
        return err;
    }
    *ret_live = live;
    return GRANARY_OK;
}

granary_live_how
granary_live_kind(const granary_live *live)
{
    return live->plan.how;
}

/* ---- graphs ---- */

/* One that is not there is fine. */
static granary_err
free_key(granary_live *live, enum own_graph graph)
{
    char key[GRANARY_KEY_MAX];
    granary_err err;

    key_of(live->label, graph, key);
    err = granary_graph_delete(live->client, key);
    live->left[graph] = err != GRANARY_OK && err != GRANARY_ENOENT;
    return live->left[graph] ? err : GRANARY_OK;
}

/*
 * Run a graph to its end; it is destroyed. An error is told in the statement's words. One that was left of an earlier step
 * may be the same graph, over other rows of the same name: the scheduler would give its result again.
 */
static granary_err
run(granary_live *live, granary_graph *graph, enum own_graph as)
{
    char key[GRANARY_KEY_MAX], ran[GRANARY_KEY_MAX];
    /* What is asked once is not to be kept for others, and goes with this process. */
    const granary_graph_options options = {.key = key, .flags = GRANARY_GRAPH_NO_RECALL | GRANARY_GRAPH_OWNED};
    granary_err err = live->left[as] ? free_key(live, as) : GRANARY_OK;

    key_of(live->label, as, key);
    err = err == GRANARY_OK ? granary_graph_run(live->client, graph, &options, GRANARY_FOREVER, ran, NULL) : err;
    if (err == GRANARY_EEXIST &&
        (err = free_key(live, as)) == GRANARY_OK) { /* somebody else's: keys are the query's own */
        err = granary_graph_run(live->client, graph, &options, GRANARY_FOREVER, ran, NULL);
    }
    granary_graph_destroy(graph);
    return err == GRANARY_OK ? err : granary_sql_error(live->client, err, live->sql, live->length);
}

/* The thread's message stays. One that cannot be deleted now is deleted before the next of its name runs. */
static void
drop(granary_live *live, enum own_graph graph)
{
    char message[MESSAGE_MAX];

    (void)snprintf(message, sizeof message, "%s", granary_error_message());
    (void)free_key(live, graph);
    (void)gr_fail(GRANARY_OK, "%s", message);
}

/* The only chunk of a target. */
static granary_err
chunk_of(granary_live *live, enum own_graph graph, const char *target, granary_id *ret_id)
{
    char key[GRANARY_KEY_MAX];
    granary_result result;
    granary_err err;

    key_of(live->label, graph, key);
    err = granary_graph_result(live->client, key, target, &result);

    if (err == GRANARY_OK) {
        err = result.chunk_count == 1 ? GRANARY_OK
                                      : gr_fail(GRANARY_EFAILED, "%s has %zu chunks", target, result.chunk_count);
        *ret_id = result.chunk_count == 1 ? result.chunks[0] : *ret_id;
        granary_result_free(&result);
    }
    return err;
}

/* The result of a SELECT over rows, whole. */
static granary_err
step_whole(granary_live *live, const struct live_rows *rows)
{
    granary_graph *graph = NULL;
    granary_err err = live_plan_whole(&live->plan, live->grows, rows, &graph);

    return err == GRANARY_OK ? run(live, graph, RESULT) : err;
}

/* Rows are added to the groups that are known. */
static granary_err
step_groups(granary_live *live, const struct live_rows *rows)
{
    const enum own_graph groups = live->groups == GROUPS ? OTHER_GROUPS : GROUPS;
    granary_result chunks = {.chunk_count = 0};
    granary_id known = {{0}}, done = {{0}};
    granary_graph *graph = NULL;
    char input[GRANARY_KEY_MAX];
    granary_err err = live_plan_input(&live->plan, rows, &graph);

    key_of(live->label, INPUT, input);
    err = err == GRANARY_OK ? run(live, graph, INPUT) : err;
    err =
        err == GRANARY_OK ? granary_graph_result(live->client, input, live_plan_input_name(&live->plan), &chunks) : err;
    err =
        err == GRANARY_OK ? live_plan_groups(&live->plan, chunks.chunks, chunks.chunk_count, live->known, &graph) : err;
    err = err == GRANARY_OK ? run(live, graph, groups) : err;
    err = err == GRANARY_OK ? chunk_of(live, groups, LIVE_KNOWN, &known) : err;
    err = err == GRANARY_OK ? chunk_of(live, groups, LIVE_DONE, &done) : err;
    err = err == GRANARY_OK ? live_plan_rest(&live->plan, done, &graph) : err;
    err = err == GRANARY_OK ? run(live, graph, RESULT) : err;
    granary_result_free(&chunks);
    drop(live, INPUT);
    drop(live, err == GRANARY_OK ? live->groups : groups);
    if (err == GRANARY_OK) {
        live->groups = groups;
        live->known = known;
    }
    return err;
}

static granary_err
step_over(granary_live *live, const struct live_rows *rows)
{
    return live->plan.how == GRANARY_LIVE_GROUPS ? step_groups(live, rows) : step_whole(live, rows);
}

/* ---- a step ---- */

/* Nothing that was computed before counts any more. */
static void
forget(granary_live *live)
{
    if (live->plan.how == GRANARY_LIVE_GROUPS) {
        drop(live, live->groups);
    }
    live->known = (granary_id){{0}};
    live->has_result = false;
}

static granary_err
count_all(granary_live *live, uint64_t *ret_rows)
{
    granary_err err = GRANARY_OK;

    *ret_rows = 0;
    for (size_t i = 0; err == GRANARY_OK && i < live->plan.graph->n_nodes; i++) {
        const Granary__Node *node = live->plan.graph->nodes[i];
        granary_mutable_info info;

        if (live->grows[i]) {
            err = granary_mutable_describe(live->client, gr_attr_string(node->attrs, node->n_attrs, "name", ""), &info);
            *ret_rows += err == GRANARY_OK ? (uint64_t)info.rows : 0;
        }
    }
    return err;
}

/* All rows are read, by executors. */
static granary_err
step_anew(granary_live *live, granary_live_step *step)
{
    const struct live_rows rows = {.time = step->time};
    granary_err err;

    forget(live);
    step->anew = true;
    err = count_all(live, &step->rows_read);
    return err == GRANARY_OK ? step_over(live, &rows) : err;
}

/* The rows that are new, as an object. ret_changes: not 0: earlier ones are others now */
static granary_err
read_new(granary_live *live, int64_t time, granary_id *ret_id, uint64_t *ret_rows, uint64_t *ret_changes)
{
    granary_frame *frame = NULL;
    granary_column *columns = NULL;
    granary_err err = granary_mutable_read_since(live->tables[0], live->time, time, &frame, NULL, ret_changes);

    if (err == GRANARY_OK && *ret_changes == 0) {
        columns = calloc(frame->count + 1, sizeof *columns);
        err = columns == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
        for (size_t i = 0; err == GRANARY_OK && i < frame->count; i++) {
            columns[i] = frame->columns[i].view;
        }
        *ret_rows = (uint64_t)frame->rows;
        err = err == GRANARY_OK ? granary_frame_put_with(live->client, columns, frame->count, frame->rows,
                                                         &(granary_object_options){.counted = true}, ret_id)
                                : err; /* it goes with this process */
    }
    free(columns);
    granary_frame_close(frame);
    return err;
}

/* Only what is new is read, where that is all that has happened. */
static granary_err
step_on(granary_live *live, granary_live_step *step)
{
    granary_id id = rows_id(live->label);
    const struct live_rows rows = {.ids = &id, .count = 1};
    uint64_t changes = 0;
    granary_err err = read_new(live, step->time, &id, &step->rows_read, &changes);

    if (err == GRANARY_ESTATE || (err == GRANARY_OK && changes > 0)) {
        return step_anew(live, step);
    }
    if (err == GRANARY_OK) {
        step->added = live->plan.how == GRANARY_LIVE_ROWS;
        err = step_over(live, &rows);
        (void)granary_object_delete(live->client, id, 0);
    }
    return err;
}

/* The time to read at. Errors: ESEALED */
static granary_err
cut(granary_live *live, int64_t *ret_time)
{
    granary_err err;

    *ret_time = GRANARY_NOW;
    err = granary_cut(live->tables, live->table_count, ret_time);
    if (err == GRANARY_OK && *ret_time == GRANARY_NOW) { /* nobody has written anything: before all that may come */
        *ret_time = 0;
        err = granary_cut(live->tables, live->table_count, ret_time);
    }
    return err;
}

/* No table changes any more: the result that stays. */
static granary_err
step_last(granary_live *live, granary_live_step *step)
{
    granary_graph *graph = NULL;
    granary_err err = gr_sql_fixed_graph(live->client, live->sql, live->length, &graph);

    step->time = INT64_MAX;
    step->anew = true;
    err = err == GRANARY_OK ? run(live, graph, RESULT) : err;
    live->is_sealed = err == GRANARY_OK;
    return err;
}

/* A table was sealed, or what it is joined with is another one: the statement is another one now. */
static granary_err
step_renewed(granary_live *live, granary_live_step *step)
{
    granary_err err;

    forget(live);
    close_tables(live);
    err = translate(live);
    if (err != GRANARY_OK || live->table_count == 0) {
        return err == GRANARY_OK ? step_last(live, step) : err;
    }
    err = cut(live, &step->time);
    return err == GRANARY_OK ? step_anew(live, step) : err;
}

static granary_err
try_step(granary_live *live, granary_live_step *step, bool goes_on)
{
    uint64_t sides = 0;
    granary_err err = live_sides(live->client, live->plan.graph, live->grows, &sides);

    /* How a statement is planned depends on how large its tables are: one that reads all is planned anew. */
    if (err != GRANARY_OK || sides != live->sides || (live->has_result && live->plan.how == GRANARY_LIVE_WHOLE)) {
        return err == GRANARY_OK ? step_renewed(live, step) : err;
    }
    err = cut(live, &step->time);
    err = err != GRANARY_OK ? err : goes_on ? step_on(live, step) : step_anew(live, step);
    return err == GRANARY_ESEALED ? step_renewed(live, step) : err;
}

static granary_err
make_step(granary_live *live, granary_live_step *step)
{
    bool goes_on = live->has_result && live->plan.how != GRANARY_LIVE_WHOLE;
    bool changes = true;
    granary_err err = GRANARY_OK;

    for (int tries = 0; err == GRANARY_OK && changes; tries++) {
        uint64_t sides = live->sides;

        drop(live, RESULT);
        *step = (granary_live_step){.time = 0};
        err = tries < TRIES_MAX
                  ? try_step(live, step, goes_on)
                  : gr_fail(GRANARY_ESTATE, "what the table is joined with changed each time it was read");
        live->has_result = goes_on = false;
        err = err == GRANARY_OK && !live->is_sealed ? live_sides(live->client, live->plan.graph, live->grows, &sides)
                                                    : err;
        changes = sides != live->sides && !live->is_sealed;
    }
    if (err != GRANARY_OK) {
        forget(live);
        return err;
    }
    live->time = step->time;
    live->has_result = true;
    key_of(live->label, RESULT, step->key);
    return GRANARY_OK;
}

granary_err
granary_live_next_sized(granary_live *live, int timeout_ms, granary_live_step *ret_step, size_t step_size)
{
    granary_live_step step = {.time = 0};
    granary_err err = gr_client_check_wait(live->client, timeout_ms);

    if (err == GRANARY_OK && live->is_sealed) {
        return gr_fail(GRANARY_ESEALED, "its tables were sealed: the last result stays");
    }
    if (err == GRANARY_OK && live->has_result) {
        err = gr_mutables_watch(live->tables, live->table_count, live->time, timeout_ms);
        err = err == GRANARY_ESEALED ? GRANARY_OK : err; /* that is news, too */
    }
    err = err == GRANARY_OK ? make_step(live, &step) : err;
    if (err == GRANARY_OK) {
        gr_sized_give(ret_step, step_size, &step, sizeof step);
    }
    return err;
}

void
granary_live_close(granary_live *live)
{
    if (live == NULL) {
        return;
    }
    if (live->sql != NULL && gr_client_check(live->client) == GRANARY_OK) { /* else it is the parent's */
        drop(live, RESULT);
        drop(live, live->groups);
    }
    close_tables(live);
    free(live->sql);
    free(live);
}
