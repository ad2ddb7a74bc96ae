/*
 * The cut: a graph is checked, its types are learnt, and it is optimised as the scheduler does it; then each node finds its place
 * (place.c), flows become stages (stages.c), and these a plan (write.c, explain.c).
 */
#include "cut/cut.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "base/text/buf.h"
#include "client/builder.h"
#include "client/learn.h"
#include "cut/flow.h"
#include "optimize/graph.h"

#define SMALLEST_BYTES (INT64_C(64) * 1024 * 1024)

static granary_err
check_options(const granary_cut_options *options)
{
    if (options->partitions < 1 || options->partitions > GRANARY_CUT_PARTITIONS_MAX) {
        return gr_fail(GRANARY_EINVAL, "%" PRId64 " partitions: a graph is cut into 1 to %d", options->partitions,
                       GRANARY_CUT_PARTITIONS_MAX);
    }
    if (options->smallest_bytes < 0) {
        return gr_fail(GRANARY_EINVAL, "a source that is cut cannot have %" PRId64 " bytes", options->smallest_bytes);
    }
    if ((options->flags & ~GRANARY_CUT_TEXT) != 0) {
        return gr_fail(GRANARY_EUNSUPPORTED, "cutting: flags %#" PRIx64 " are not known", options->flags);
    }
    for (size_t i = 0; i < options->size_count; i++) {
        if (options->sizes[i].digest == NULL || options->sizes[i].bytes < 0) {
            return gr_fail(GRANARY_EINVAL, "cutting: size %zu has no digest, or less than no bytes", i);
        }
    }
    for (size_t i = 0; i < options->source_count; i++) {
        if (options->sources[i].name == NULL || options->sources[i].bytes < 0 || options->sources[i].partitions < 1) {
            return gr_fail(GRANARY_EINVAL, "cutting: source %zu has no name, less than no bytes, or no partition", i);
        }
    }
    return GRANARY_OK;
}

static granary_err
learn(granary_client *client, const Granary__Graph *message, struct gr_graph **ret_graph)
{
    struct gr_graph *learnt = NULL;
    granary_err err;

    if (message->level == GRANARY__GRAPH__LEVEL__CHUNK) {
        return gr_fail(GRANARY_EINVAL, "a graph of chunk operators is not cut: its chunks are in one place");
    }
    err = gr_learn(client, message, &learnt);
    err = err == GRANARY_OK ? gr_graph_optimize(learnt, ret_graph) : err;
    gr_graph_destroy(learnt);
    return err;
}

static void
cut_end(struct cut *cut, struct flow **flows, size_t flow_count)
{
    for (size_t i = 0; i < flow_count; i++) {
        attrs_free(&flows[i]->attrs);
    }
    gr_names_free(&cut->by_name);
    gr_region_destroy(cut->memory);
}

static granary_err
cut_graph(granary_client *client, const struct gr_graph *graph, const granary_cut_options *options,
          struct gr_buf *ret_plan)
{
    struct cut cut = {.client = client,
                      .options = options,
                      .parts = (size_t)options->partitions,
                      .smallest = (double)(options->smallest_bytes == 0 ? SMALLEST_BYTES : options->smallest_bytes),
                      .graph = graph,
                      .memory = gr_region_create()};
    struct flow **flows = NULL;
    size_t flow_count = 0;

    if (cut.memory == NULL) {
        return gr_fail(GRANARY_ENOMEM, "cutting: out of memory");
    }
    cut.values = cut_room(&cut, graph->count, sizeof *cut.values);
    cut.seen = cut_room(&cut, graph->count, sizeof *cut.seen);
    cut.pinned = cut_room(&cut, graph->count, sizeof *cut.pinned);
    cut.targets = cut_room(&cut, graph->target_count, sizeof *cut.targets);
    if (cut.err == GRANARY_OK) {
        place_all(&cut);
        flows = cut.flows;
        flow_count = cut.flow_count;
    }
    if (cut.err == GRANARY_OK) {
        stages_find(&cut);
    }
    if (cut.err == GRANARY_OK) {
        ((options->flags & GRANARY_CUT_TEXT) != 0 ? plan_explain : plan_write)(&cut, ret_plan);
    }
    if (cut.err == GRANARY_OK && !gr_buf_ok(ret_plan)) {
        cut_fail(&cut, gr_fail(GRANARY_ENOMEM, "cutting: out of memory"));
    }
    cut_end(&cut, flows, flow_count);
    return cut.err;
}

granary_err
gr_cut(granary_client *client, const Granary__Graph *message, const granary_cut_options *options, char **ret_json)
{
    struct gr_graph *graph = NULL;
    struct gr_buf plan = {0};
    granary_err err = check_options(options);

    err = err == GRANARY_OK ? learn(client, message, &graph) : err;
    err = err == GRANARY_OK ? cut_graph(client, graph, options, &plan) : err;
    if (err == GRANARY_OK) {
        *ret_json = gr_buf_take(&plan);
    }
    gr_buf_free(&plan);
    gr_graph_destroy(graph);
    return err;
}

granary_err
granary_graph_cut_sized(granary_client *client, const granary_graph *graph, const granary_cut_options *options,
                        char **ret_json, size_t options_size)
{
    granary_cut_options ours;
    Granary__Graph *message = NULL;
    granary_err err = gr_sized_take(&ours, sizeof ours, options, options_size);

    err = err == GRANARY_OK ? gr_builder_finish(graph, &message) : err;
    err = err == GRANARY_OK ? gr_cut(client, message, &ours, ret_json) : err;
    if (message != NULL) {
        granary__graph__free_unpacked(message, NULL);
    }
    return err;
}
