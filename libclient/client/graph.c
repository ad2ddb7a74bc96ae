/* Graphs of the public API that run in the scheduler. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory/grow.h"
#include "base/sized.h"
#include "base/text/duration.h"
#include "client/builder.h"
#include "client/resolve.h"
#include "client/submit.h"
#include "client/user/call.h"
#include "client/user/library.h"
#include "granary/call.h"
#include "granary/graph.h"
#include "granary/info.h"
#include "graph/graph.h"
#include "object/object.h"

#define DIMS_MAX 8

/* What runs in a session that is to be deleted is asked to end, and killed so much later. */
#define STOP_GRACE_MS 1000

static void
reply_free(Granary__Reply *reply)
{
    if (reply != NULL) {
        granary__reply__free_unpacked(reply, NULL);
    }
}

/* A protobuf string is not const, but packing only reads it. */
static char *
borrow(const char *text)
{
    return (char *)(uintptr_t)text;
}

static granary_err
check_wait(const granary_client *client, const char *key, int timeout_ms)
{
    granary_err err = gr_client_check_wait(client, timeout_ms);

    return err == GRANARY_OK ? gr_graph_check_key(key) : err;
}

granary_env
granary_env_get(void)
{
    return gr_client_in_call() != NULL ? GRANARY_ENV_EXEC : GRANARY_ENV_CLIENT;
}

/* ---- while it runs ---- */

granary_err
granary_graph_wait_sized(granary_client *client, const char *key, int timeout_ms, granary_graph_status *ret_status,
                         size_t status_size)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__GraphWait wait = GRANARY__GRAPH_WAIT__INIT;
    Granary__Reply *reply = NULL;
    granary_err err = check_wait(client, key, timeout_ms);

    if (err != GRANARY_OK) {
        return err;
    }
    wait.key = borrow(key);
    wait.timeout_ms = timeout_ms;
    request.body_case = GRANARY__REQUEST__BODY_WAIT;
    request.wait = &wait;
    err = call(client, &request, call_patience_ms(timeout_ms), &reply);
    gr_status_take(reply, ret_status, status_size);
    reply_free(reply);
    return err;
}

/* A request that names a graph. */
static granary_err
call_ref(granary_client *client, Granary__Request__BodyCase which, const char *key, const char *target,
         Granary__Reply **ret_reply)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__GraphRef ref = GRANARY__GRAPH_REF__INIT;
    granary_err err = gr_graph_check_key(key);

    *ret_reply = NULL;
    if (err != GRANARY_OK) {
        return err;
    }
    ref.key = borrow(key);
    ref.target = borrow(target);
    request.body_case = which;
    request.stop = &ref; /* the members of a oneof share their place */
    return call(client, &request, CALL_TIMEOUT_MS, ret_reply);
}

granary_err
granary_graph_stop(granary_client *client, const char *key)
{
    Granary__Reply *reply;
    granary_err err = call_ref(client, GRANARY__REQUEST__BODY_STOP, key, "", &reply);

    reply_free(reply);
    return err;
}

granary_err
granary_graph_cancel_sized(granary_client *client, const char *key, int kill_after_ms, granary_receipt *ret_receipt,
                           size_t receipt_size)
{
    granary_receipt receipt;
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__GraphRef ref = GRANARY__GRAPH_REF__INIT;
    Granary__Reply *reply = NULL;
    granary_err err = check_wait(client, key, kill_after_ms);

    if (err != GRANARY_OK) {
        return err;
    }
    ref.key = borrow(key);
    ref.wait = true;
    ref.kill_after_ms = kill_after_ms;
    request.body_case = GRANARY__REQUEST__BODY_STOP;
    request.stop = &ref;
    err = call(client, &request, GRANARY_FOREVER, &reply);
    if (err == GRANARY_OK && reply->receipt == NULL) {
        err = gr_fail(GRANARY_EPROTO, "the scheduler's answer has no receipt");
    }
    if (err == GRANARY_OK) {
        receipt = (granary_receipt){.dropped = reply->receipt->dropped,
                                    .stopped = reply->receipt->stopped,
                                    .killed = reply->receipt->killed,
                                    .freed_objects = reply->receipt->freed_objects,
                                    .freed_bytes = reply->receipt->freed_bytes};
        gr_sized_give(ret_receipt, receipt_size, &receipt, sizeof receipt);
    }
    reply_free(reply);
    return err;
}

granary_err
granary_graph_delete(granary_client *client, const char *key)
{
    Granary__Reply *reply;
    granary_err err = call_ref(client, GRANARY__REQUEST__BODY_DELETE, key, "", &reply);

    reply_free(reply);
    return err;
}

granary_err
granary_graph_rename(granary_client *client, const char *key, const char *new_key, bool replace)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__Rename rename = GRANARY__RENAME__INIT;
    Granary__Reply *reply = NULL;
    granary_err err = gr_graph_check_key(key);

    if (err == GRANARY_OK) {
        err = gr_graph_check_key(new_key);
    }
    err = err == GRANARY_OK ? gr_check_no_table(client, new_key) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    rename.key = borrow(key);
    rename.new_key = borrow(new_key);
    rename.replace = replace;
    request.body_case = GRANARY__REQUEST__BODY_RENAME;
    request.rename = &rename;
    err = call(client, &request, CALL_TIMEOUT_MS, &reply);
    reply_free(reply);
    return err;
}

/* Do it to each graph of the session; *count of them it was done to. Those that are gone by then do not count. */
static granary_err
each_graph(granary_client *client, const char *session, granary_err (*act)(granary_client *client, const char *key),
           uint64_t *count)
{
    static const char *const fields[] = {"key", "session"};
    granary_query query = {.subject = "graphs", .fields = fields, .field_count = 2};
    granary_err err = GRANARY_OK;

    do {
        granary_table *table;

        err = granary_info(client, &query, &table);
        if (err != GRANARY_OK) {
            return err;
        }
        for (size_t row = 0; err == GRANARY_OK && row < granary_table_rows(table); row++) {
            if (strcmp(granary_table_text(table, row, "session"), session) == 0) {
                err = act(client, granary_table_text(table, row, "key"));
                *count += err == GRANARY_OK;
                err = err == GRANARY_ENOENT ? GRANARY_OK : err;
            }
        }
        query.cursor = granary_table_cursor(table);
        granary_table_free(table);
    } while (err == GRANARY_OK && query.cursor != 0);
    return err;
}

static granary_err
cancel_and_delete(granary_client *client, const char *key)
{
    granary_err err = granary_graph_cancel(client, key, STOP_GRACE_MS, NULL);

    return err == GRANARY_OK ? granary_graph_delete(client, key) : err;
}

/* ---- recall ---- */

static granary_err
call_recall(granary_client *client, Granary__RecallOrder *order, uint64_t *ret_count)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__Reply *reply = NULL;
    granary_err err = gr_client_check(client);

    if (err == GRANARY_OK) {
        request.body_case = GRANARY__REQUEST__BODY_RECALL;
        request.recall = order;
        err = call(client, &request, CALL_TIMEOUT_MS, &reply);
    }
    if (err == GRANARY_OK && ret_count != NULL) {
        *ret_count = strtoull(reply->text, NULL, 10);
    }
    reply_free(reply);
    return err;
}

static granary_err
clear_recall(granary_client *client, const char *session, uint64_t *ret_count)
{
    Granary__RecallOrder order = GRANARY__RECALL_ORDER__INIT;

    order.session = borrow(session);
    order.clear = true;
    return call_recall(client, &order, ret_count);
}

granary_err
granary_recall_clear(granary_client *client, uint64_t *ret_count)
{
    granary_err err = gr_client_check(client);

    return err == GRANARY_OK ? clear_recall(client, gr_client_session(client), ret_count) : err;
}

/* A line of what is known: move its objects to disk, and note its number. What is gone is not saved, and no error. */
static granary_err
save_line(granary_client *client, char *line, uint64_t *ret_number, bool *ret_saved)
{
    char *rest;
    char *word = strtok_r(line, " ", &rest);
    granary_err err = GRANARY_OK;

    *ret_number = word == NULL ? 0 : strtoull(word, NULL, 10);
    while (err == GRANARY_OK && (word = strtok_r(NULL, " ", &rest)) != NULL) {
        granary_id id;

        err = granary_id_parse(word, strlen(word), &id);
        err = err == GRANARY_OK ? granary_object_move(client, id, GRANARY_LEVEL_DISK, 0, GRANARY_FOREVER) : err;
    }
    *ret_saved = err == GRANARY_OK && *ret_number != 0;
    return err == GRANARY_ENOENT ? GRANARY_OK : err;
}

granary_err
granary_recall_save(granary_client *client, uint64_t *ret_count)
{
    Granary__RecallOrder order = GRANARY__RECALL_ORDER__INIT;
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__Reply *reply = NULL;
    uint64_t *numbers = NULL;
    size_t room = 0;
    char *rest;
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK) {
        return err;
    }
    order.session = borrow(gr_client_session(client));
    order.save = 1;
    request.body_case = GRANARY__REQUEST__BODY_RECALL;
    request.recall = &order;
    err = call(client, &request, CALL_TIMEOUT_MS, &reply);
    for (char *line = err == GRANARY_OK ? strtok_r(reply->text, "\n", &rest) : NULL; line != NULL && err == GRANARY_OK;
         line = strtok_r(NULL, "\n", &rest)) {
        bool saved = false;

        if (!gr_grow(&numbers, &room, order.n_numbers, sizeof *numbers)) {
            err = gr_fail(GRANARY_ENOMEM, "out of memory");
            break;
        }
        err = save_line(client, line, &numbers[order.n_numbers], &saved);
        order.n_numbers += saved;
    }
    reply_free(reply);
    order.numbers = numbers;
    order.save = 2;
    if (err == GRANARY_OK) {
        err = call_recall(client, &order, ret_count);
    }
    free(numbers);
    return err;
}

granary_err
granary_recall_switch(granary_client *client, bool on)
{
    Granary__RecallOrder order = GRANARY__RECALL_ORDER__INIT;

    order.set = on ? 1 : 2;
    return call_recall(client, &order, NULL);
}

granary_err
granary_graph_delete_all(granary_client *client, const char *session, uint64_t *ret_count)
{
    uint64_t stopped = 0;
    uint64_t deleted = 0;
    granary_err err;

    if (session == NULL) {
        return gr_fail(GRANARY_EINVAL, "session: NULL");
    }
    /* All are told to stop before the first is waited for. */
    err = each_graph(client, session, granary_graph_stop, &stopped);
    if (err == GRANARY_OK) {
        err = each_graph(client, session, cancel_and_delete, &deleted);
    }
    if (err == GRANARY_OK) {
        err = gr_unexport_all(client, session);
    }
    if (err == GRANARY_OK) {
        err = clear_recall(client, session, NULL);
    }
    if (err == GRANARY_OK && ret_count != NULL) {
        *ret_count = deleted;
    }
    return err;
}

static granary_err
tell_plan(granary_client *client, const char *key, const char *how, char **ret_text)
{
    Granary__Reply *reply;
    granary_err err = call_ref(client, GRANARY__REQUEST__BODY_EXPLAIN, key, how, &reply);

    if (err == GRANARY_OK) {
        char *text = strdup(reply->text);

        if (text == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "out of memory");
        } else {
            *ret_text = text;
        }
    }
    reply_free(reply);
    return err;
}

granary_err
granary_graph_explain(granary_client *client, const char *key, char **ret_text)
{
    return tell_plan(client, key, "", ret_text);
}

granary_err
granary_graph_analyze(granary_client *client, const char *key, char **ret_text)
{
    return tell_plan(client, key, "analyze", ret_text);
}

granary_err
granary_session_weight(granary_client *client, const char *session, uint32_t weight)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__SessionSet set = GRANARY__SESSION_SET__INIT;
    Granary__Reply *reply = NULL;
    granary_err err = gr_client_check(client);

    if (err == GRANARY_OK) {
        set.session = borrow(session != NULL ? session : gr_client_session(client));
        set.weight = weight;
        request.body_case = GRANARY__REQUEST__BODY_SESSION;
        request.session = &set;
        err = call(client, &request, CALL_TIMEOUT_MS, &reply);
    }
    reply_free(reply);
    return err;
}

/* ---- results ---- */

static granary_err
result_from_message(const Granary__Result *message, granary_result *ret_result)
{
    granary_result result = {
        .chunk_count = message->n_chunks, .is_tensor = message->is_tensor, .is_objects = message->is_objects};

    if (message->n_shape > DIMS_MAX || message->n_splits != message->n_shape) {
        return gr_fail(GRANARY_EPROTO, "the scheduler describes a result of %zu dimensions", message->n_shape);
    }
    result.chunks = calloc(message->n_chunks + 1, sizeof *result.chunks);
    result.chunk_rows = calloc(message->n_chunks + 1, sizeof *result.chunk_rows);
    result.chunk_there = calloc(message->n_chunks + 1, sizeof *result.chunk_there);
    result.complete = message->complete;
    if (result.chunks == NULL || result.chunk_rows == NULL || result.chunk_there == NULL) {
        granary_result_free(&result);
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < message->n_chunks; i++) {
        if (message->chunks[i]->id.len != GRANARY_ID_BYTES) {
            granary_result_free(&result);
            return gr_fail(GRANARY_EPROTO, "the scheduler names an object by %zu bytes", message->chunks[i]->id.len);
        }
        memcpy(result.chunks[i].bytes, message->chunks[i]->id.data, GRANARY_ID_BYTES);
        result.chunk_rows[i] = message->chunks[i]->rows;
        result.chunk_there[i] = message->chunks[i]->there;
    }
    result.dims = (int)message->n_shape;
    for (size_t i = 0; i < message->n_shape; i++) {
        result.shape[i] = message->shape[i];
        result.splits[i] = message->splits[i];
    }
    *ret_result = result;
    return GRANARY_OK;
}

granary_err
granary_graph_result_sized(granary_client *client, const char *key, const char *target, granary_result *ret_result,
                           size_t result_size)
{
    granary_result result;
    Granary__Reply *reply = NULL;
    granary_err err;

    if (target == NULL) {
        return gr_fail(GRANARY_EINVAL, "target: NULL");
    }
    err = call_ref(client, GRANARY__REQUEST__BODY_RESULT, key, target, &reply);
    if (err == GRANARY_OK) {
        err = reply->result == NULL ? gr_fail(GRANARY_EPROTO, "the scheduler's answer has no result")
                                    : result_from_message(reply->result, &result);
    }
    if (err == GRANARY_OK) {
        gr_sized_give(ret_result, result_size, &result, sizeof result);
    }
    reply_free(reply);
    return err;
}

granary_err
granary_graph_next(granary_client *client, const char *key, const char *target, uint64_t *cursor, int timeout_ms,
                   granary_id *ret_id)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__GraphRef ref = GRANARY__GRAPH_REF__INIT;
    Granary__Reply *reply = NULL;
    granary_err err = check_wait(client, key, timeout_ms);

    if (err != GRANARY_OK) {
        return err;
    }
    if (target == NULL || cursor == NULL) {
        return gr_fail(GRANARY_EINVAL, "target or cursor: NULL");
    }
    ref.key = borrow(key);
    ref.target = borrow(target);
    ref.follow = true;
    ref.cursor = *cursor;
    ref.limit = 1;
    ref.timeout_ms = timeout_ms;
    request.body_case = GRANARY__REQUEST__BODY_RESULT;
    request.result = &ref;
    err = call(client, &request, call_patience_ms(timeout_ms), &reply);
    if (err == GRANARY_OK && (reply->result == NULL || reply->result->n_chunks != 1 ||
                              reply->result->chunks[0]->id.len != GRANARY_ID_BYTES)) {
        err = gr_fail(GRANARY_EPROTO, "the scheduler's answer has no chunk");
    }
    if (err == GRANARY_OK) {
        memcpy(ret_id->bytes, reply->result->chunks[0]->id.data, GRANARY_ID_BYTES);
        *cursor += 1;
    }
    reply_free(reply);
    return err;
}

void
granary_result_free_sized(granary_result *result, size_t result_size)
{
    granary_result ours = {.chunks = NULL};

    gr_sized_give(&ours, sizeof ours, result, result == NULL ? 0 : result_size);
    free(ours.chunks);
    free(ours.chunk_rows);
    free(ours.chunk_there);
    gr_sized_give(result, result_size, &ours, 0);
}

/* ---- the pool ---- */

granary_err
granary_executor_list_sized(granary_client *client, granary_executor_info **ret_infos, size_t *ret_count,
                            size_t info_size)
{
    size_t count = 0;
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__ClusterInfo info = GRANARY__CLUSTER_INFO__INIT;
    Granary__Reply *reply = NULL;
    granary_executor_info *infos = NULL;
    granary_err err;

    request.body_case = GRANARY__REQUEST__BODY_CLUSTER;
    request.cluster = &info;
    err = call(client, &request, CALL_TIMEOUT_MS, &reply);
    if (err == GRANARY_OK && reply->cluster == NULL) {
        err = gr_fail(GRANARY_EPROTO, "the scheduler's answer has no executors");
    }
    if (err == GRANARY_OK) {
        infos = calloc(reply->cluster->n_executors + 1, sizeof *infos);
        err = infos == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        count = reply->cluster->n_executors;
        for (size_t i = 0; i < count; i++) {
            const Granary__Executor *executor = reply->cluster->executors[i];

            infos[i] = (granary_executor_info){.number = executor->number,
                                               .pid = executor->pid,
                                               .numa_node = executor->node,
                                               .busy = executor->busy,
                                               .subtasks_done = executor->done,
                                               .failures = executor->failures};
        }
    }
    reply_free(reply);
    return gr_sized_give_list(err, infos, sizeof *infos, count, ret_infos, info_size, ret_count);
}
