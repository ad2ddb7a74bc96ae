/* The plan is written where all places see it, run, and removed with all results when the answer is here. */
#include "cli/cluster/on.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/cluster/child.h"
#include "cli/cluster/dask.h"
#include "cli/cluster/drive.h"
#include "cli/cluster/look/clock.h"
#include "cli/cluster/slurm/node.h"
#include "cli/command/cli.h"
#include "graph_json/plan.h"

#define PLANS_MAX 16
#define TRIES     3 /* to take the results */

struct on {
    struct dask *dask; /* NULL: places have the fragments */
    char *text;        /* Dask's plan */
    size_t size;
    struct places places;
    struct gr_cutplan *plan;
    struct gr_cutplan *before[PLANS_MAX]; /* whose results lie there, too */
    size_t before_count;
    struct trace trace;
    struct trace_clock *clocks; /* NULL: no trace is wanted */
    struct record *record;
    Granary__Graph *graph; /* which gathers the results, with a node for each target */
    char plan_path[PATH_MAX];
};

/* Who is told what happens: a record for others, and the timeline. */
static granary_err
watch(struct on *on, const char *timeline)
{
    granary_err err = record_create(&on->places, &on->record);

    if (err != GRANARY_OK || timeline == NULL) {
        return err;
    }
    on->places.traces = true;
    trace_begin(&on->trace, timeline);
    err = clock_ask(&on->places, &on->clocks);
    for (size_t p = 0; p <= on->places.count && err == GRANARY_OK; p++) {
        bool is_home = p == on->places.count;

        trace_machine(&on->trace, p + 1, is_home ? "home" : on->places.list[p].name, is_home ? NULL : &on->clocks[p]);
    }
    return err;
}

granary_err
on_open(const struct places_options *options, struct on **ret_on)
{
    bool is_dask = dask_address(options->on) != NULL;
    struct on *on;
    granary_err err;

    on = calloc(1, sizeof *on);
    err = on == NULL ? gr_no_memory("plan")
          : is_dask  ? dask_open(options, &on->dask)
                     : places_open(options, &on->places);
    if (err != GRANARY_OK) {
        free(on);
        return err;
    }
    if (!is_dask) {
        err = watch(on, options->timeline);
    }
    if (err != GRANARY_OK) {
        char message[CHILD_MESSAGE_MAX];

        (void)snprintf(message, sizeof message, "%s", granary_error_message());
        on_close(on);
        return gr_fail(err, "%s", message); /* not what its end may say */
    }
    *ret_on = on;
    return GRANARY_OK;
}

/* The plan that is to run becomes one of those before. */
static void
forget_plan(struct on *on)
{
    if (on->plan_path[0] != '\0') {
        (void)unlink(on->plan_path);
        on->plan_path[0] = '\0';
    }
    if (on->plan != NULL && on->before_count < PLANS_MAX) {
        on->before[on->before_count++] = on->plan;
    } else {
        gr_cutplan_destroy(on->plan);
    }
    granary__graph__free_unpacked(on->graph, NULL);
    on->plan = NULL;
    on->graph = NULL;
}

void
on_close(struct on *on)
{
    if (on == NULL) {
        return;
    }
    forget_plan(on);
    for (size_t i = 0; i < on->before_count; i++) {
        gr_cutplan_destroy(on->before[i]);
    }
    if (trace_end(&on->trace) != GRANARY_OK) {
        cli_note("%s", granary_error_message());
    }
    record_destroy(on->record);
    if (on->dask == NULL) {
        places_close(&on->places);
    }
    dask_close(on->dask);
    free(on->clocks);
    free(on->text);
    free(on);
}

size_t
on_places(const struct on *on)
{
    return on->dask != NULL ? dask_workers(on->dask) : on->places.count;
}

static granary_err
write_plan(struct on *on, const char *text, size_t size)
{
    granary_err err;
    int fd;

    if (on->dask != NULL) {
        on->text = strndup(text, size);
        on->size = size;
        return on->text == NULL ? gr_no_memory("plan") : GRANARY_OK;
    }
    if (snprintf(on->plan_path, sizeof on->plan_path, "%s/plan-XXXXXX", on->places.directory) >=
        (int)sizeof on->plan_path) {
        on->plan_path[0] = '\0';
        return gr_fail(GRANARY_EINVAL, "%.60s...: path too long", on->places.directory);
    }
    fd = mkstemp(on->plan_path);
    if (fd < 0) {
        err = gr_fail_errno("%s", on->plan_path);
        on->plan_path[0] = '\0';
        return err;
    }
    err = gr_write_all(fd, text, size);
    if (close(fd) < 0 && err == GRANARY_OK) {
        err = gr_fail_errno("close");
    }
    return err == GRANARY_OK ? err : gr_fail_in(err, "%s", on->plan_path);
}

/* ---- the graph that gathers ---- */

static granary_err
add_target(Granary__Graph *graph, const char *name)
{
    Granary__Node *node = malloc(sizeof *node);
    char *copy = strdup(name);
    char *target = strdup(name);

    if (node == NULL || copy == NULL || target == NULL) {
        free(node);
        free(copy);
        free(target);
        return gr_no_memory("graph");
    }
    granary__node__init(node);
    node->name = copy;
    graph->nodes[graph->n_nodes++] = node;
    graph->targets[graph->n_targets++] = target;
    return node_become(node, "table");
}

granary_err
on_plan(struct on *on, const char *text, size_t size, Granary__Graph **ret_graph)
{
    Granary__Graph *graph;
    granary_err err;

    forget_plan(on);
    err = gr_cutplan_from_json(text, size, &on->plan);
    if (err != GRANARY_OK) {
        return err;
    }
    graph = on->graph = malloc(sizeof *graph);
    if (graph == NULL) {
        return gr_no_memory("graph");
    }
    granary__graph__init(graph);
    graph->nodes = calloc(on->plan->target_count, sizeof *graph->nodes);
    graph->targets = calloc(on->plan->target_count, sizeof *graph->targets);
    err = graph->nodes == NULL || graph->targets == NULL ? gr_no_memory("graph") : GRANARY_OK;
    for (size_t t = 0; t < on->plan->target_count && err == GRANARY_OK; t++) {
        err = add_target(graph, on->plan->targets[t].name);
    }
    err = err == GRANARY_OK ? write_plan(on, text, size) : err;
    *ret_graph = graph;
    return err;
}

static granary_err
take_chunks(const struct chunks_of *of, const struct chunks *chunks, granary_client *client, Granary__Node *node)
{
    granary_id *ids = calloc(chunks->count + 1, sizeof *ids);
    granary_err err = ids == NULL ? gr_no_memory("chunks") : GRANARY_OK;

    for (size_t k = 0; k < chunks->count && err == GRANARY_OK; k++) {
        err = chunks_take(of, chunks, k, client, &ids[k]);
    }
    err = err == GRANARY_OK ? node_set_ids(node, ids, chunks->count) : err;
    if (err == GRANARY_OK && chunks->is_tensor && chunks->count > 0) {
        err = node_set_tensor(node, client, ids[0], chunks->shape, chunks->dims);
    }
    free(ids);
    return err;
}

static granary_err
gather(const struct on *on, const struct gr_cutplan_target *target, granary_client *client, Granary__Node *node)
{
    const struct chunks_of of = {on->places.directory, on->plan->stages[target->stage].digest, 0};
    struct chunks chunks = {.count = 0};
    granary_err err = chunks_read(&of, &chunks);

    if (err == GRANARY_OK && chunks.is_objects) {
        err = gr_fail(GRANARY_ETYPE, "it has objects, which cannot be printed: only frames and tensors can");
    }
    err = err == GRANARY_OK ? take_chunks(&of, &chunks, client, node) : err;
    chunks_free(&chunks);
    return err == GRANARY_OK ? err : gr_fail_in(err, "target '%s'", target->name);
}

static granary_err
gather_all(const struct on *on, granary_client *client)
{
    granary_err err = GRANARY_OK;

    for (size_t t = 0; t < on->plan->target_count && err == GRANARY_OK; t++) {
        err = gather(on, &on->plan->targets[t], client, on->graph->nodes[t]);
    }
    return err;
}

static void
sweep_plan(const struct on *on, const struct gr_cutplan *plan)
{
    const char **digests = calloc(plan->stage_count, sizeof *digests);

    for (size_t s = 0; digests != NULL && s < plan->stage_count; s++) {
        digests[s] = plan->stages[s].digest;
    }
    if (digests != NULL) {
        chunks_sweep(on->places.directory, digests, plan->stage_count);
    }
    free(digests);
}

granary_err
on_run(struct on *on, granary_client *client, int timeout_ms, bool copies, struct on_size *ret_size)
{
    const struct drive_watch watch = {&on->trace, on->clocks, on->record};
    bool heeds = ret_size != NULL && on->before_count + 1 < PLANS_MAX;
    size_t wrong;
    uint64_t bytes = 0;
    granary_err err;

    if (ret_size != NULL) {
        ret_size->digest[0] = '\0';
    }
    if (on->dask != NULL) { /* its driver heeds sizes itself */
        return dask_run(on->dask, on->text, on->size, timeout_ms, client, on->graph);
    }
    wrong = on->plan->stage_count;
    /* Results that were damaged, or that another run in this directory has removed, are made anew. */
    for (int tries = 1, again = 1; again; tries++) {
        err = drive(&on->places, on->plan, on->plan_path, timeout_ms, &watch, heeds ? &wrong : NULL,
                    heeds ? &bytes : NULL);
        if (err == GRANARY_OK && wrong < on->plan->stage_count) {
            (void)snprintf(ret_size->digest, sizeof ret_size->digest, "%s", on->plan->stages[wrong].digest);
            ret_size->bytes = (int64_t)bytes;
            return err;
        }
        again = 0;
        if (err == GRANARY_OK && (err = gather_all(on, client)) != GRANARY_OK) {
            again = (err == GRANARY_ECORRUPT || err == GRANARY_ENOENT) && tries < TRIES;
        }
        if (again) {
            cli_note("%s: it is made anew", granary_error_message());
        }
    }
    for (size_t t = 0; t < on->plan->target_count && err == GRANARY_OK && copies; t++) {
        err = node_copy(on->graph, t);
    }
    if (err == GRANARY_OK) { /* a run that has failed leaves them for the next one */
        sweep_plan(on, on->plan);
        for (size_t i = 0; i < on->before_count; i++) {
            sweep_plan(on, on->before[i]);
        }
    }
    return err;
}
