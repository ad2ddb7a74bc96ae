/* Where the frames of a stream come from. */
#include <stdlib.h>
#include <string.h>

#include "arrow/out/out.h"
#include "base/error.h"
#include "granary/graph.h"
#include "granary/hold.h"
#include "mutable/snapshot.h"
#include "mutable/table.h"
#include "object/object.h"

/* ---- one after the other ---- */

/* ENOENT of a graph's next chunk: there are no more, unless the graph or chunks of it are gone. */
static granary_err
graph_ended(const struct out_source *source, bool *ret_end)
{
    granary_result result;
    granary_err err = granary_graph_result(source->client, source->key, source->target, &result);

    if (err != GRANARY_OK) {
        return err;
    }
    if (result.chunk_count > source->cursor) {
        err = gr_fail(GRANARY_ELOST, "graph '%s': chunk %llu of target '%s' is gone: it was replaced while it was read",
                      source->key, (unsigned long long)source->cursor, source->target);
    }
    granary_result_free(&result);
    *ret_end = err == GRANARY_OK;
    return err;
}

granary_err
out_source_next(struct out_source *source, granary_view *ret_view, bool *ret_end)
{
    granary_id id = {{0}};
    granary_err err = gr_client_check(source->client);

    *ret_end = false;
    if (err == GRANARY_OK && source->key != NULL) {
        err = granary_graph_next(source->client, source->key, source->target, &source->cursor, GRANARY_FOREVER, &id);
        if (err == GRANARY_ENOENT) {
            return graph_ended(source, ret_end);
        }
    } else if (err == GRANARY_OK && source->at < source->count) {
        id = source->ids[source->at++];
    } else if (err == GRANARY_OK) {
        *ret_end = true;
        return GRANARY_OK;
    }
    return err == GRANARY_OK ? granary_object_get(source->client, id, 0, ret_view) : err;
}

void
out_source_end(struct out_source *source)
{
    if (source->is_held) {
        (void)granary_unreference(source->client, source->held, NULL);
    }
    free(source->ids);
    free(source->key);
    free(source->target);
    if (source->client != NULL) {
        gr_client_let_go(source->client);
    }
    *source = (struct out_source){.client = NULL};
}

static void
source_begin(granary_client *client, struct out_source *ret_source)
{
    gr_client_hold(client);
    *ret_source = (struct out_source){.client = client};
}

/* The end of making one. */
static granary_err
source_give(struct out_source *source, granary_err err, struct ArrowArrayStream *ret_stream)
{
    if (err != GRANARY_OK) {
        out_source_end(source);
        return err;
    }
    return out_stream(source, ret_stream);
}

/* ---- kinds ---- */

granary_err
granary_frames_stream(granary_client *client, const granary_id *ids, size_t count, struct ArrowArrayStream *ret_stream)
{
    struct out_source source;
    granary_err err = gr_client_check(client);

    if (err == GRANARY_OK && count == 0) {
        err = gr_fail(GRANARY_EINVAL, "a stream of no objects: its columns are those of the first one");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    source_begin(client, &source);
    source.ids = calloc(count, sizeof *ids);
    source.count = count;
    if (source.ids == NULL) {
        err = gr_no_memory("an Arrow stream");
    } else {
        memcpy(source.ids, ids, count * sizeof *ids);
    }
    return source_give(&source, err, ret_stream);
}

/* That there is such a target, and that it is no tensor. What a failed graph failed of is told by its first chunk. */
static granary_err
check_target(granary_client *client, const char *key, const char *target)
{
    granary_result result;
    granary_err err = granary_graph_result(client, key, target, &result);

    if (err != GRANARY_OK) {
        return err == GRANARY_ESTATE ? GRANARY_OK : err;
    }
    if (result.is_tensor) {
        err = gr_fail(GRANARY_ETYPE, "graph '%s': target '%s' is a tensor: Arrow streams are of frames", key, target);
    }
    granary_result_free(&result);
    return err;
}

granary_err
granary_target_stream(granary_client *client, const char *key, const char *target, struct ArrowArrayStream *ret_stream)
{
    struct out_source source;
    granary_err err = gr_client_check(client);

    err = err == GRANARY_OK ? check_target(client, key, target) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    source_begin(client, &source);
    source.key = strdup(key);
    source.target = strdup(target);
    if (source.key == NULL || source.target == NULL) {
        err = gr_no_memory("an Arrow stream");
    }
    return source_give(&source, err, ret_stream);
}

/* Keep an object for the source; and its parts are the ids. */
static granary_err
source_hold(struct out_source *source, granary_id id)
{
    granary_err err = granary_reference(source->client, id, NULL, NULL);

    source->held = id;
    source->is_held = err == GRANARY_OK;
    return err == GRANARY_OK ? granary_sealed_parts(source->client, id, &source->ids, &source->count) : err;
}

granary_err
granary_table_stream(granary_mutable *table, int64_t time, struct ArrowArrayStream *ret_stream)
{
    granary_id id = table->id;
    struct out_source source;
    granary_err err = gr_client_check(table->client);

    err = err == GRANARY_OK ? table_check_frame(table) : err;
    if (err == GRANARY_OK && !table_is_fixed(table)) {
        id = granary_id_random();
        err = snapshot_as(table, time, id, true);
    }
    if (err != GRANARY_OK) {
        return table_told(table, err);
    }
    source_begin(table->client, &source);
    return source_give(&source, table_told(table, source_hold(&source, id)), ret_stream);
}
