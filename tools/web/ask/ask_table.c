/*
 * Tables of the scheduler. A page of one has `next`, the cursor of what follows, also when there is nothing yet: who asks
 * again from there gets only what is new. Where a subject ends is found by asking for single rows, twice as far each time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/print/json.h"
#include "cli/scheduler/scheduler.h"
#include "granary/store.h"
#include "web/ask/ask.h"

#define FAR        (UINT64_C(1) << 60)
#define NODES_MAX  512
#define NODE_NAME  128
#define NODE_PAGES 512 /* of subtasks: what is beyond is not counted, and the answer says so */

static granary_err
connect_to(const struct gr_instance *instance, granary_client **client)
{
    const granary_connect_options options = {
        .instance = instance->runtime, .tag = "web", .timeout_ms = 2000, .reconnect_ms = -1};
    const char *trouble = scheduler_trouble(instance);

    if (trouble != NULL) {
        return gr_fail(GRANARY_EUNREACHABLE, "%s", trouble);
    }
    return *client != NULL ? GRANARY_OK : granary_connect(&options, client);
}

/* Whether there is a row at this position or behind it. */
static granary_err
is_there(granary_client *client, const granary_query *from, uint64_t position, bool *ret_there)
{
    granary_query query = *from;
    granary_table *table = NULL;
    granary_err err;

    query.cursor = position;
    query.limit = 1;
    err = granary_info(client, &query, &table);
    *ret_there = granary_table_rows(table) > 0;
    granary_table_free(table);
    return err;
}

/* The position behind the last row; `from` when nothing is there or behind it. */
static granary_err
find_end(granary_client *client, const granary_query *query, uint64_t from, uint64_t *ret_end)
{
    uint64_t low = from, high = from; /* something is at low or behind it, nothing at high */
    uint64_t step = 1;
    bool there = true;
    granary_err err = is_there(client, query, from, &there);

    while (err == GRANARY_OK && there && high < FAR) {
        low = high;
        high += step;
        step *= 2;
        err = is_there(client, query, high, &there);
    }
    while (err == GRANARY_OK && high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        err = is_there(client, query, middle, &there);
        low = there ? middle : low;
        high = there ? high : middle;
    }
    *ret_end = high;
    return err;
}

static void
write_number(struct json *json, const char *key, uint64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, number); /* too large for a number of JavaScript */
    json_text(json, key, text);
}

static void
write_table(struct json *json, const char *subject, const granary_table *table, uint64_t next)
{
    json_open(json, NULL, '{');
    json_text(json, "subject", subject);
    write_number(json, "version", granary_table_version(table));
    write_number(json, "next", next);
    json_bool(json, "more", granary_table_cursor(table) != 0);
    json_open(json, "fields", '[');
    for (size_t c = 0; c < granary_table_fields(table); c++) {
        json_text(json, NULL, granary_table_field(table, c));
    }
    json_close(json);
    json_open(json, "rows", '[');
    for (size_t r = 0; r < granary_table_rows(table); r++) {
        json_open(json, NULL, '[');
        for (size_t c = 0; c < granary_table_fields(table); c++) {
            json_cell(json, NULL, granary_table_cell(table, r, c));
        }
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

static granary_err
answer_table(granary_client *client, const struct question *question, FILE *out)
{
    granary_query query = {.subject = question->row->name,
                           .keys = question->key_count > 0 ? question->keys : NULL,
                           .key_count = question->key_count,
                           .fields = question->field_count > 0 ? question->fields : NULL,
                           .field_count = question->field_count,
                           .cursor = question->cursor,
                           .limit = question->limit};
    granary_table *table = NULL;
    struct json json = {.out = out};
    uint64_t next = 0;
    granary_err err = GRANARY_OK;

    if (question->last > 0) {
        err = find_end(client, &query, 1, &next);
        query.cursor = next > question->last ? next - question->last : 1;
    }
    err = err == GRANARY_OK ? granary_info(client, &query, &table) : err;
    if (err == GRANARY_OK) {
        next = granary_table_cursor(table);
        if (next == 0 && query.key_count == 0) {
            err = find_end(client, &query, (query.cursor > 0 ? query.cursor : 1) + granary_table_rows(table), &next);
        }
    }
    if (err == GRANARY_OK) {
        write_table(&json, query.subject, table, next);
    }
    granary_table_free(table);
    return err;
}

/* ---- subtasks by node ---- */

static const char *const states[] = {
#define SUBTASK_STATE(name, NAME) #name,
#include "contract/states.def"
};
#define STATES (sizeof states / sizeof states[0])

struct node {
    char name[NODE_NAME];
    uint64_t counts[STATES];
    int64_t time_ns, bytes;
};

static struct node *
node_of(struct node *nodes, size_t *count, const char *name)
{
    for (size_t i = *count; i-- > 0;) { /* subtasks of a node come together */
        if (strncmp(nodes[i].name, name, NODE_NAME - 1) == 0) {
            return &nodes[i];
        }
    }
    if (*count == NODES_MAX) {
        return NULL;
    }
    (void)snprintf(nodes[*count].name, NODE_NAME, "%s", name);
    return &nodes[(*count)++];
}

static void
count_rows(struct node *nodes, size_t *count, const granary_table *table)
{
    for (size_t r = 0; r < granary_table_rows(table); r++) {
        struct node *node = node_of(nodes, count, granary_table_text(table, r, "node"));
        int64_t started = granary_table_int(table, r, "started_ns"), ended = granary_table_int(table, r, "ended_ns");

        for (size_t s = 0; s < STATES && node != NULL; s++) {
            node->counts[s] += strcmp(states[s], granary_table_text(table, r, "state")) == 0;
        }
        if (node != NULL && started > 0 && ended > started) {
            node->time_ns += ended - started;
            node->bytes += granary_table_int(table, r, "out_bytes");
        }
    }
}

static granary_err
answer_nodes(granary_client *client, const struct question *question, FILE *out)
{
    static const char *const fields[] = {"node", "state", "started_ns", "ended_ns", "out_bytes"};
    granary_query query = {.subject = "subtasks",
                           .keys = question->keys,
                           .key_count = question->key_count,
                           .fields = fields,
                           .field_count = sizeof fields / sizeof fields[0],
                           .limit = 8192};
    struct node *nodes = calloc(NODES_MAX, sizeof *nodes);
    struct json json = {.out = out};
    size_t count = 0;
    int pages = 0;
    granary_err err = nodes == NULL              ? gr_no_memory("nodes")
                      : question->key_count != 1 ? gr_fail(GRANARY_EINVAL, "nodes: of which graph? key=KEY")
                                                 : GRANARY_OK;

    while (err == GRANARY_OK && pages++ < NODE_PAGES) {
        granary_table *table = NULL;

        err = granary_info(client, &query, &table);
        if (err == GRANARY_OK) {
            count_rows(nodes, &count, table);
            query.cursor = granary_table_cursor(table);
        }
        granary_table_free(table);
        if (query.cursor == 0) {
            break;
        }
    }
    if (err == GRANARY_OK) {
        json_open(&json, NULL, '{');
        json_bool(&json, "more", query.cursor != 0);
        json_open(&json, "nodes", '[');
        for (size_t i = 0; i < count; i++) {
            json_open(&json, NULL, '{');
            json_text(&json, "node", nodes[i].name);
            for (size_t s = 0; s < STATES; s++) {
                json_unsigned(&json, states[s], nodes[i].counts[s]);
            }
            json_signed(&json, "time_ns", nodes[i].time_ns);
            json_signed(&json, "bytes", nodes[i].bytes);
            json_close(&json);
        }
        json_close(&json);
        json_close(&json);
    }
    free(nodes);
    return err;
}

struct answer
ask_table(const struct gr_instance *instance, granary_client **client, const struct question *question)
{
    struct answer answer = {.status = 200, .type = "application/json"};
    FILE *out = open_memstream(&answer.body, &answer.size);
    granary_err err = out == NULL ? gr_no_memory("an answer") : connect_to(instance, client);

    if (err == GRANARY_OK) {
        err = strcmp(question->row->name, "nodes") == 0 ? answer_nodes(*client, question, out)
                                                        : answer_table(*client, question, out);
    }
    if (out != NULL && fclose(out) != 0 && err == GRANARY_OK) {
        err = gr_no_memory("an answer");
    }
    if (err == GRANARY_OK) {
        return answer;
    }
    free(answer.body);
    if (err != GRANARY_EINVAL && err != GRANARY_ENOENT) {
        answer = answer_failure(err);
        granary_disconnect(*client); /* another store or scheduler is another connection */
        *client = NULL;
        return answer;
    }
    return answer_failure(err);
}
