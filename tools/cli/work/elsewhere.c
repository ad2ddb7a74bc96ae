/* Sizes that fragments find are kept, so that the next cut knows them. */
#include "cli/work/elsewhere.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/cluster/on.h"
#include "cli/work/parsed.h"
#include "cut/cut.h"
#include "graph_json/plan.h"

granary_err
elsewhere_open(struct run *run)
{
    const struct places_options options = {.on = run->on_where,
                                           .directory = run->directory,
                                           .instance = run->private_pid > 0 ? NULL : run->cli->instance,
                                           .home = run->cli->instance,
                                           .session = run->cli->session,
                                           .memory = run->private.memory,
                                           .executors = run->private.executors,
                                           .timeline = run->timeline};

    return on_open(&options, &run->on);
}

granary_err
elsewhere_show(const struct run *run, granary_client *client, const Granary__Graph *graph, int *ret_status)
{
    granary_cut_options options = {.partitions = run->fragments,
                                   .smallest_bytes = run->fragment_bytes,
                                   .sources = run->sources,
                                   .source_count = run->source_count,
                                   .flags = run->explain ? GRANARY_CUT_TEXT : 0};
    char *plan = NULL;
    granary_err err = gr_cut(client, graph, &options, &plan);

    if (err == GRANARY_OK) {
        *ret_status = cli_write_file("-", plan, strlen(plan));
    }
    free(plan);
    return err;
}

/* A plan for other machines, and the graph that gathers its results. */
static granary_err
cut_elsewhere(struct run *run, granary_client *client, const char *text, size_t size, char **ret_plan)
{
    granary_cut_options options = {.partitions = run->fragments > 0 ? run->fragments : (int64_t)on_places(run->on),
                                   .smallest_bytes = run->fragment_bytes,
                                   .sizes = run->sizes,
                                   .size_count = run->size_count};
    struct parsed parsed = {.message = NULL};
    granary_err err = parsed_read(text, size, &run->spooled, &parsed);

    err = err == GRANARY_OK ? gr_cut(client, parsed.message, &options, ret_plan) : err;
    parsed_free(&parsed);
    return err;
}

granary_err
elsewhere_plan(struct run *run, granary_client *client, const char *text, size_t size, Granary__Graph **ret_graph)
{
    const bool is_plan = gr_cutplan_is_meant(text, size);
    char *cut = NULL;
    granary_err err = is_plan ? GRANARY_OK : cut_elsewhere(run, client, text, size, &cut);

    if (err == GRANARY_OK) {
        err = on_plan(run->on, is_plan ? text : cut, is_plan ? size : strlen(cut), ret_graph);
    }
    free(cut);
    return err;
}

granary_err
elsewhere_run(struct run *run, granary_client *client, const char *text, size_t size, Granary__Graph **graph)
{
    const bool is_plan = gr_cutplan_is_meant(text, size);
    struct on_size found;
    granary_err err;

    for (;;) {
        const bool heeds = !is_plan && run->size_count < RUN_SIZES_MAX;
        char *digest = heeds ? run->digests[run->size_count] : NULL;

        err = on_run(run->on, client, run->timeout_ms, !run_discards(run), heeds ? &found : NULL);
        if (err != GRANARY_OK || !heeds || found.digest[0] == '\0') {
            return err;
        }
        memcpy(digest, found.digest, sizeof found.digest);
        run->sizes[run->size_count++] = (granary_cut_size){.digest = digest, .bytes = found.bytes};
        err = elsewhere_plan(run, client, text, size, graph);
        if (err != GRANARY_OK) {
            return err;
        }
    }
}
