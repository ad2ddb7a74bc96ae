/* Reading parts of many chunks: which objects are meant, what became of them, and how the reader wants them. */
#include "client/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/sized.h"
#include "base/text/buf.h"
#include "data/layout/directory.h"
#include "object/object.h"

/* A call, and what the last request was about: the next one is often about the same target. */
struct batch {
    granary_client *client;
    const granary_read_options *options;
    const char *codec;
    int64_t began_ns, deadline_ns;
    uint64_t no_room_bytes;     /* the least that could not be brought back, see spilled_bytes(); 0: all could */
    const char *graph, *target; /* of result, which is complete; NULL: there is none */
    granary_result result;
};

/* ---- how bytes are handed out ---- */

static const char *const codecs[] = {"none", "lz4"};
#define CODECS (sizeof codecs / sizeof codecs[0])

/* NULL: it is not known here. */
static const char *
find_codec(const char *name)
{
    for (size_t i = 0; i < CODECS; i++) {
        if (strcmp(name, codecs[i]) == 0) {
            return codecs[i];
        }
    }
    return NULL;
}

/* The first one of the reader's that is known. Errors: EUNSUPPORTED names both lists */
static granary_err
choose_codec(const granary_read_options *options, const char **ret_codec)
{
    const char *codec = options->accept == NULL ? codecs[0] : NULL;
    struct gr_buf text = {0};
    granary_err err;

    for (size_t i = 0; codec == NULL && i < options->accept_count; i++) {
        codec = find_codec(options->accept[i]);
    }
    if (codec != NULL) {
        *ret_codec = codec;
        return GRANARY_OK;
    }
    for (size_t i = 0; i < options->accept_count; i++) {
        gr_buf_addf(&text, "%s%s", i == 0 ? "" : ", ", options->accept[i]);
    }
    err = gr_fail(GRANARY_EUNSUPPORTED, "the reader accepts %s, but there are none, lz4 only: accept one of these",
                  text.size > 0 && gr_buf_ok(&text) ? text.bytes : "nothing");
    gr_buf_free(&text);
    return err;
}

/* ---- which object ---- */

/* Fail with what became of the chunk. */
static granary_err
became(granary_chunk *chunk, granary_chunk_state state, granary_err err)
{
    chunk->state = state;
    return err;
}

/* The result of the target, if it is complete; else *ret_known is false. */
static granary_err
find_result(struct batch *batch, const granary_chunk_request *request, granary_chunk *chunk, bool *ret_known)
{
    granary_result result = {.complete = false};
    granary_err err;

    *ret_known = batch->graph != NULL && strcmp(batch->graph, request->graph) == 0 &&
                 strcmp(batch->target, request->target) == 0;
    if (*ret_known) {
        return GRANARY_OK;
    }
    err = granary_graph_result(batch->client, request->graph, request->target, &result);
    if (err == GRANARY_ESTATE) { /* it has ended without: with its own error */
        err = granary_graph_wait(batch->client, request->graph, 0, NULL);
        err = err == GRANARY_OK ? GRANARY_ESTATE : err;
    }
    if (err != GRANARY_OK) {
        return became(chunk, err == GRANARY_ENOENT ? GRANARY_CHUNK_MISSING : GRANARY_CHUNK_FAILED, err);
    }
    if (!result.complete) {
        granary_result_free(&result);
        return GRANARY_OK;
    }
    granary_result_free(&batch->result);
    batch->result = result;
    batch->graph = request->graph;
    batch->target = request->target;
    *ret_known = true;
    return GRANARY_OK;
}

static granary_err
no_such_chunk(const granary_chunk_request *request, size_t count)
{
    return gr_fail(GRANARY_EINVAL, "target '%s' of graph %s: no chunk %llu, there are %zu", request->target,
                   request->graph, (unsigned long long)request->chunk, count);
}

/* A chunk of a graph that runs, as soon as it is made. */
static granary_err
wait_for_chunk(struct batch *batch, const granary_chunk_request *request, granary_chunk *chunk)
{
    uint64_t position = request->chunk;
    granary_err err = granary_graph_next(batch->client, request->graph, request->target, &position,
                                         gr_left_ms(batch->deadline_ns), &chunk->id);

    if (err == GRANARY_ETIMEDOUT) {
        err = gr_fail(batch->options->timeout_ms == 0 ? GRANARY_ESTATE : GRANARY_ETIMEDOUT,
                      "graph %s still runs: chunk %llu of target '%s' is not ready", request->graph,
                      (unsigned long long)request->chunk, request->target);
        return became(chunk, GRANARY_CHUNK_NOT_READY, err);
    }
    if (err == GRANARY_ENOENT) { /* no such chunk, or the graph has been deleted meanwhile */
        granary_result result;

        err = granary_graph_result(batch->client, request->graph, request->target, &result);
        if (err == GRANARY_OK) {
            err = no_such_chunk(request, result.chunk_count);
            granary_result_free(&result);
            return err;
        }
    }
    if (err != GRANARY_OK) {
        return became(chunk, err == GRANARY_ENOENT ? GRANARY_CHUNK_MISSING : GRANARY_CHUNK_FAILED, err);
    }
    return GRANARY_OK;
}

static granary_err
find_id(struct batch *batch, const granary_chunk_request *request, granary_chunk *chunk)
{
    bool known = false;
    granary_err err;

    if (request->graph == NULL) {
        chunk->id = request->id;
        return GRANARY_OK;
    }
    if (request->target == NULL) {
        return gr_fail(GRANARY_EINVAL, "graph %s: no target is named", request->graph);
    }
    err = find_result(batch, request, chunk, &known);
    if (err != GRANARY_OK) {
        return err;
    }
    if (!known) {
        return wait_for_chunk(batch, request, chunk);
    }
    if (request->chunk >= batch->result.chunk_count) {
        return no_such_chunk(request, batch->result.chunk_count);
    }
    chunk->id = batch->result.chunks[request->chunk];
    return GRANARY_OK;
}

/* Why an object that should be there is not. */
static granary_err
tell_missing(struct batch *batch, const granary_chunk_request *request, granary_chunk *chunk, granary_err err)
{
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(chunk->id, text);
    if (gr_client_was_deleted(batch->client, chunk->id)) {
        return became(chunk, GRANARY_CHUNK_DELETED, gr_fail(GRANARY_ENOENT, "object %s: it was deleted", text));
    }
    if (request->graph != NULL) {
        err =
            gr_fail(GRANARY_ELOST,
                    "object %s, chunk %llu of target '%s' of graph %s: it is lost: forget the graph, and run it again",
                    text, (unsigned long long)request->chunk, request->target, request->graph);
        return became(chunk, GRANARY_CHUNK_LOST, err);
    }
    err = err == GRANARY_ETIMEDOUT ? gr_fail(err, "object %s: not there in time, which was %.3g s", text,
                                             (double)(gr_now_ns() - batch->began_ns) / 1e9)
                                   : gr_fail(GRANARY_ENOENT, "object %s: not found", text);
    return became(chunk, GRANARY_CHUNK_MISSING, err);
}

/* Until the object is there. A graph's chunk is, or will never be. */
static granary_err
wait_for_object(struct batch *batch, const granary_chunk_request *request, granary_chunk *chunk)
{
    int left = request->graph != NULL ? 0 : gr_left_ms(batch->deadline_ns);
    granary_err err = GRANARY_OK;

    if (granary_object_contains(batch->client, chunk->id)) {
        return GRANARY_OK;
    }
    if (left != 0) {
        err = granary_object_wait(batch->client, &chunk->id, 1, 1, left, NULL);
    }
    if ((err == GRANARY_OK && left == 0) || err == GRANARY_ETIMEDOUT) {
        err = tell_missing(batch, request, chunk, err);
    }
    return err;
}

/* ---- what is read ---- */

void
read_drop(granary_client *client, granary_chunk *chunk)
{
    granary_object_release(client, &chunk->view);
    granary_frame_close(chunk->frame);
    granary_frame_close(chunk->base);
    free(chunk->owned);
    chunk->frame = NULL;
    chunk->base = NULL;
    chunk->owned = NULL;
    chunk->data = NULL;
    chunk->tensor.values = NULL;
    chunk->mapped = false;
}

/* What the object is, by its first bytes. Errors: as get */
static granary_err
find_kind(const struct reading *reading, granary_chunk_kind *ret_kind)
{
    uint64_t size = reading->data_size < 8 ? reading->data_size : 8;
    granary_view view;
    granary_err err = granary_object_get_range(reading->client, reading->id, 0, size, reading->timeout_ms, &view);

    if (err == GRANARY_OK) {
        *ret_kind = size >= 6 && memcmp(view.data, "ARROW1", 6) == 0      ? GRANARY_CHUNK_FRAME
                    : size >= 6 && memcmp(view.data, "\x93NUMPY", 6) == 0 ? GRANARY_CHUNK_TENSOR
                                                                          : GRANARY_CHUNK_BYTES;
        granary_object_release(reading->client, &view);
    }
    return err;
}

static granary_err
check_kind(const granary_selection *select, granary_chunk_kind kind)
{
    switch (select->kind) {
    case GRANARY_SELECT_ALL:
    case GRANARY_SELECT_BYTES:
        return select->columns == NULL || (select->kind == GRANARY_SELECT_ALL && kind == GRANARY_CHUNK_FRAME)
                   ? GRANARY_OK
                   : gr_fail(GRANARY_ETYPE, "columns are selected of what is no frame: select bytes, or all of it");
    case GRANARY_SELECT_ROWS:
    case GRANARY_SELECT_INDICES:
        return kind == GRANARY_CHUNK_FRAME
                   ? GRANARY_OK
                   : gr_fail(GRANARY_ETYPE,
                             "rows are selected of what is no frame: select bytes, elements of a tensor, or all of it");
    case GRANARY_SELECT_ELEMENTS:
        return kind == GRANARY_CHUNK_TENSOR
                   ? GRANARY_OK
                   : gr_fail(GRANARY_ETYPE,
                             "elements are selected of what is no tensor: select rows of a frame, or bytes");
    }
    return gr_fail(GRANARY_EINVAL, "selection: there is no kind %d", (int)select->kind);
}

/* The chunk is what was mapped, if that went well. Returns err. */
static granary_err
chunk_is_view(granary_err err, granary_chunk *chunk)
{
    if (err == GRANARY_OK) {
        chunk->data = chunk->view.data;
        chunk->data_size = chunk->view.data_size;
        chunk->mapped = true;
    }
    return err;
}

static granary_err
read_bytes(const struct reading *reading, granary_chunk *chunk)
{
    int64_t first, step, count;
    granary_err err = granary_slice_resolve(reading->select->rows, (int64_t)reading->data_size, &first, &step, &count);

    if (err != GRANARY_OK) {
        return gr_fail_in(err, "bytes");
    }
    if (step != 1) {
        return gr_fail(GRANARY_EINVAL, "bytes: step %lld: only neighbours can be read", (long long)step);
    }
    err = granary_object_get_range(reading->client, reading->id, (uint64_t)first, (uint64_t)count, reading->timeout_ms,
                                   &chunk->view);
    return chunk_is_view(err, chunk);
}

/* All of the object as the bytes it has. */
static granary_err
read_whole(const struct reading *reading, bool lz4, granary_chunk *chunk)
{
    granary_err err;

    if (lz4 && read_spilled_lz4(reading, chunk)) {
        return GRANARY_OK;
    }
    err = granary_object_get(reading->client, reading->id, reading->timeout_ms, &chunk->view);
    return chunk_is_view(err, chunk);
}

/* The selection, as the reader wants it. */
static granary_err
read_selection(const struct batch *batch, const struct reading *reading, granary_chunk *chunk)
{
    const granary_selection *select = reading->select;
    bool lz4 = batch->codec != codecs[0];
    bool file = batch->options->as_file || lz4;
    granary_err err;

    if (select->kind == GRANARY_SELECT_BYTES) {
        chunk->kind = GRANARY_CHUNK_BYTES;
        err = read_bytes(reading, chunk);
    } else if (select->kind == GRANARY_SELECT_ALL && select->columns == NULL &&
               (file || chunk->kind == GRANARY_CHUNK_BYTES)) {
        err = read_whole(reading, lz4, chunk);
    } else {
        err = chunk->kind == GRANARY_CHUNK_FRAME ? read_frame(reading, chunk) : read_tensor(reading, chunk);
        if (err == GRANARY_OK && file) {
            err = read_as_file(reading->client, chunk);
        }
    }
    if (err == GRANARY_OK && !chunk->passed_through) {
        chunk->raw_size = chunk->data_size;
        err = lz4 ? read_encode_lz4(reading->client, chunk) : GRANARY_OK;
    }
    return err;
}

/* About how much has to be brought back for a selection: of a part nearly nothing. */
static uint64_t
spilled_bytes(const struct reading *reading)
{
    const bool whole = reading->select->kind == GRANARY_SELECT_ALL && reading->select->columns == NULL;

    return reading->in_memory ? 0 : whole ? reading->data_size : 1;
}

/* What did not fit beside the chunks of this call does not fit later, either: it waits once, not for each chunk. */
static granary_err
check_room(const struct batch *batch, const struct reading *reading)
{
    return batch->no_room_bytes == 0 || spilled_bytes(reading) < batch->no_room_bytes
               ? GRANARY_OK
               : gr_fail(GRANARY_EFULL,
                         "it was not brought back, as there was no room for a chunk before it: read fewer "
                         "at a time, and release them");
}

/* The object that is there, and the same from the first to the last byte. */
static granary_err
read_object(struct batch *batch, const granary_selection *select, granary_chunk *chunk)
{
    struct reading reading = {.client = batch->client, .select = select};
    granary_object_info info;
    uint64_t before, after;
    granary_err err = granary_object_info_get(batch->client, chunk->id, &info);

    if (err != GRANARY_OK || (err = gr_client_stamp(batch->client, chunk->id, &before)) != GRANARY_OK) {
        return err;
    }
    chunk->id = info.id; /* an alias stands for it */
    reading.id = info.id;
    reading.data_size = info.data_size;
    reading.meta_size = info.meta_size;
    reading.in_memory = info.state == GRANARY_OBJECT_SEALED;
    err = check_room(batch, &reading);
    if (err != GRANARY_OK) {
        return err;
    }
    if (info.data_size == 0) { /* it may be an error, stored in the place of an object */
        err = granary_object_get(batch->client, chunk->id, reading.timeout_ms, &chunk->view);
        granary_object_release(batch->client, &chunk->view);
    }
    if (err == GRANARY_OK) {
        err = find_kind(&reading, &chunk->kind);
    }
    if (err == GRANARY_OK) {
        err = check_kind(select, chunk->kind);
    }
    if (err == GRANARY_OK) {
        err = read_selection(batch, &reading, chunk);
    }
    if (err == GRANARY_EFULL && !reading.in_memory) {
        batch->no_room_bytes = spilled_bytes(&reading);
    }
    /* What is leased as a whole is one object; what was read in parts must be. */
    if (err == GRANARY_OK && !chunk->mapped &&
        (gr_client_stamp(batch->client, chunk->id, &after) != GRANARY_OK || after != before)) {
        err = gr_fail(GRANARY_ENOENT, "the object was deleted while it was read");
    }
    return err;
}

static granary_err
read_one(struct batch *batch, const granary_chunk_request *request, granary_chunk *chunk)
{
    granary_err err = find_id(batch, request, chunk);

    if (err == GRANARY_OK) {
        err = wait_for_object(batch, request, chunk);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = read_object(batch, &request->select, chunk);
    if (err == GRANARY_OK && batch->options->checksum && chunk->data != NULL) {
        chunk->checksum = gr_hash64(chunk->data, chunk->data_size);
    }
    if (err == GRANARY_ENOENT && !granary_object_contains(batch->client, chunk->id)) {
        err = tell_missing(batch, request, chunk, err);
    }
    return err;
}

/* Note the thread's error in a chunk, which has nothing then. */
static void
settle(granary_client *client, granary_chunk *chunk, granary_err err)
{
    chunk->err = err;
    if (err == GRANARY_OK) {
        chunk->state = GRANARY_CHUNK_READ;
        return;
    }
    chunk->message = strdup(granary_error_message());
    chunk->state = chunk->state == 0 ? GRANARY_CHUNK_FAILED : chunk->state;
    if (client != NULL) {
        read_drop(client, chunk);
    }
}

granary_err
granary_chunk_read_many_sized(granary_client *client, const granary_chunk_request *requests, size_t count,
                              const granary_read_options *theirs, granary_chunk *ret_chunks, size_t request_size,
                              size_t options_size, size_t chunk_size)
{
    granary_read_options options;
    struct batch batch = {.client = client, .options = &options};
    granary_err first = gr_sized_take(&options, sizeof options, theirs, options_size);
    granary_chunk failed = {.err = GRANARY_OK};

    if (first == GRANARY_OK) {
        first = gr_client_check_wait(client, options.timeout_ms);
    }
    batch.began_ns = gr_now_ns();
    batch.deadline_ns = gr_deadline_ns(options.timeout_ms);
    if (first == GRANARY_OK) {
        first = choose_codec(&options, &batch.codec);
    }
    for (size_t i = 0; i < count; i++) {
        granary_chunk chunk = {.codec = batch.codec};
        granary_chunk_request request;
        granary_err err = first;

        if (batch.codec != NULL) {
            err = gr_sized_take(&request, sizeof request, (const char *)requests + i * request_size, request_size);
            err = err == GRANARY_OK ? read_one(&batch, &request, &chunk) : err;
        }
        settle(batch.codec == NULL ? NULL : client, &chunk, err);
        gr_sized_give((char *)ret_chunks + i * chunk_size, chunk_size, &chunk, sizeof chunk);
        failed = failed.err == GRANARY_OK ? chunk : failed;
    }
    granary_result_free(&batch.result);
    /* The message is of the first failure, not of the last. */
    return failed.err == GRANARY_OK || batch.codec == NULL
               ? first
               : gr_fail(failed.err, "%s", failed.message == NULL ? "" : failed.message);
}

void
granary_chunk_release_sized(granary_client *client, granary_chunk *chunks, size_t count, size_t chunk_size)
{
    for (size_t i = 0; i < count; i++) {
        granary_chunk *theirs = (granary_chunk *)((char *)chunks + i * chunk_size);
        granary_chunk chunk;

        gr_sized_give(&chunk, sizeof chunk, theirs, chunk_size);
        read_drop(client, &chunk);
        free(chunk.message);
        gr_sized_give(theirs, chunk_size, &chunk, 0);
    }
}
