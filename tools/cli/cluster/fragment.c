/*
 * granary cluster fragment: what one machine does for a plan. Chunks come from files, a graph runs, its chunks go to files.
 *
 * A runner may be killed at any moment: its graph and the chunks it took belong to its connection, and files count only
 * when the last one of them is there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/process/limits.h"
#include "cli/cluster/child.h"
#include "cli/cluster/chunks.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/inputs.h"
#include "cli/cluster/look/facts.h"
#include "cli/cluster/look/trace.h"
#include "cli/cluster/slurm/node.h"
#include "cli/cluster/slurm/pilot.h"
#include "cli/instance/private.h"
#include "cli/print/listing.h"
#include "client/submit.h"
#include "graph_json/plan.h"

#define PLAN_MAX ((size_t)256 << 20)

struct fragment {
    const char *directory;
    const char *node; /* this machine's name; NULL: the host's */
    bool runs;
    struct supervisor_options private;
    pid_t private_pid;
    struct gr_cutplan *plan;
    const struct gr_cutplan_stage *stage;
    struct chunks_of of;
    char host[CHUNKS_NODE];
};

/* ---- what to run ---- */

static granary_err
read_plan(struct fragment *fragment, const char *path)
{
    char *text = NULL;
    size_t size;
    granary_err err = gr_file_read(path, PLAN_MAX, &text, &size);

    if (err == GRANARY_OK) {
        err = gr_cutplan_from_json(text, size, &fragment->plan);
        err = err == GRANARY_OK ? GRANARY_OK : gr_fail_in(err, "%s", path);
    }
    free(text);
    return err;
}

static granary_err
check_version(const struct fragment *fragment)
{
    return strcmp(fragment->plan->version, granary_version()) == 0
               ? GRANARY_OK
               : gr_fail(GRANARY_EVERSION,
                         "the plan is of granary %s, and %s has %s: install the same version on all machines",
                         fragment->plan->version, fragment->node, granary_version());
}

static granary_err
find_fragment(struct fragment *fragment, const char *stage, const char *partition)
{
    const struct gr_cutplan *plan = fragment->plan;
    size_t s = gr_cutplan_find(plan, stage);
    char *end;
    unsigned long p = strtoul(partition, &end, 10);

    if (s == plan->stage_count) {
        return gr_fail(GRANARY_ENOENT, "the plan has no stage '%.60s'", stage);
    }
    if (*end != '\0' || end == partition || p >= plan->stages[s].partitions) {
        return gr_fail(GRANARY_EINVAL, "stage '%s' has partitions 0 to %u, and no '%.60s'", stage,
                       plan->stages[s].partitions - 1, partition);
    }
    fragment->stage = &plan->stages[s];
    fragment->of = (struct chunks_of){fragment->directory, fragment->stage->digest, (uint32_t)p};
    return GRANARY_OK;
}

/* ---- its run ---- */

/* Whether the graph of this key has succeeded. One that has failed makes room for the next. */
static granary_err
look_for(granary_client *client, const char *key, bool *ret_done)
{
    granary_graph_status status = {0};
    granary_err err = granary_graph_wait(client, key, GRANARY_FOREVER, &status);

    *ret_done = err == GRANARY_OK;
    if (err == GRANARY_OK || err == GRANARY_ENOENT) {
        return GRANARY_OK;
    }
    if (status.state == GRANARY_GRAPH_FAILED || status.state == GRANARY_GRAPH_CANCELLED) {
        err = granary_graph_delete(client, key);
        return err == GRANARY_ENOENT ? GRANARY_OK : err;
    }
    return err;
}

/* Wait for the graph's end. What it ran is told also of one that fails. */
static granary_err
wait_for(const struct fragment *fragment, granary_client *client, const char *key)
{
    char message[CHILD_MESSAGE_MAX];
    granary_err err = granary_graph_wait(client, key, GRANARY_FOREVER, NULL);

    if (fragment->runs) {
        (void)snprintf(message, sizeof message, "%s", granary_error_message());
        (void)trace_print_runs(client, key);
        err = err == GRANARY_OK ? err : gr_fail(err, "%s", message);
    }
    return err;
}

/* Run the graph and write its result. It is deleted then: the files are what others read. */
static granary_err
run_graph(const struct fragment *fragment, granary_client *client, size_t *ret_count, uint64_t *ret_bytes)
{
    Granary__Graph *graph = fragment->stage->graph;
    granary_graph_options options = {.flags = GRANARY_GRAPH_OWNED | GRANARY_GRAPH_PASSING};
    char key[GRANARY_KEY_MAX];
    granary_result result = {0};
    bool done;
    granary_err err;

    (void)snprintf(key, sizeof key, FACTS_FRAGMENT "%s-%u", fragment->of.digest, fragment->of.partition);
    options.key = key;
    err = look_for(client, key, &done);
    if (err == GRANARY_OK && !done) {
        err = inputs_take(fragment->plan, fragment->stage, fragment->of.partition, fragment->directory, client);
        err = err == GRANARY_OK ? gr_submit(client, graph, &options, true, key) : err;
        err = err == GRANARY_OK ? wait_for(fragment, client, key) : err;
    }
    err = err == GRANARY_OK ? granary_graph_result(client, key, graph->targets[0], &result) : err;
    if (err == GRANARY_OK && fragment->stage->chunks != 0 && result.chunk_count != fragment->stage->chunks) {
        err = gr_fail(GRANARY_EFAILED, "its result has %zu chunks, and the plan says %u", result.chunk_count,
                      fragment->stage->chunks);
    }
    err = err == GRANARY_OK ? chunks_write(&fragment->of, client, &result, fragment->node, ret_bytes) : err;
    *ret_count = result.chunk_count;
    granary_result_free(&result);
    if (err == GRANARY_OK) {
        (void)granary_graph_delete(client, key);
    }
    return err;
}

/* Use the instance that is up, or a private one when none was named. */
static granary_err
open_instance(struct cli *cli, struct fragment *fragment)
{
    static char directory[PRIVATE_DIRECTORY];
    const char *named = cli->instance != NULL ? cli->instance : getenv("GRANARY_INSTANCE");
    struct gr_instance instance;
    granary_err err = gr_instance_resolve(cli->instance, &instance);

    if (err == GRANARY_OK && supervisor_running(&instance) == 0 && (named == NULL || named[0] == '\0')) {
        fragment->private.executors = fragment->private.executors == 0 ? gr_usable_cpus() : fragment->private.executors;
        err = private_start(&fragment->private, &instance, directory, &fragment->private_pid);
        cli->instance = directory;
    }
    if (err == GRANARY_OK) {
        granary_connect_options options = {.instance = cli->instance, .session = cli->session, .tag = "fragment"};

        err = granary_connect(&options, &cli->client);
    }
    return err;
}

/* ---- the command ---- */

struct told {
    const char *stage;
    unsigned partition, partitions;
    uint64_t chunks, bytes;
    double seconds;
    const char *node;
    bool was_there;
};

static const struct column told_columns[] = {{"stage", NULL, 0, COLUMN(struct told, stage)},
                                             {"partition", NULL, 0, COLUMN(struct told, partition)},
                                             {"partitions", NULL, 0, COLUMN(struct told, partitions)},
                                             {"chunks", NULL, 0, COLUMN(struct told, chunks)},
                                             {"bytes", NULL, 0, COLUMN(struct told, bytes)},
                                             {"seconds", NULL, 0, COLUMN(struct told, seconds)},
                                             {"node", NULL, 0, COLUMN(struct told, node)},
                                             {"was_there", NULL, 0, COLUMN(struct told, was_there)},
                                             {0}};

static void
tell(const struct cli *cli, const struct told *told)
{
    char size[32];

    if (cli->json) {
        listing_one(told_columns, true, told);
    } else {
        (void)printf("stage %s, partition %u of %u: %llu chunk%s, %s%s%s\n", told->stage, told->partition,
                     told->partitions, (unsigned long long)told->chunks, cli_plural(told->chunks),
                     cli_format_size(told->bytes, size), told->was_there ? ", there already, made on " : ", on ",
                     told->node);
    }
}

/* What is there, if it is whole. Anything less is made anew. Errors: EPERM somebody else's */
static granary_err
look(const struct fragment *fragment, struct told *told, char node[CHUNKS_NODE])
{
    struct chunks chunks = {.count = 0};
    granary_err err = chunks_read(&fragment->of, &chunks);
    bool was_read = err == GRANARY_OK;

    err = was_read ? chunks_verify(&fragment->of, &chunks) : err;
    if (was_read && err != GRANARY_OK && err != GRANARY_EPERM) {
        cli_note("cluster fragment: %s: it is made anew", granary_error_message());
        chunks_spoil(&fragment->of);
    }
    told->was_there = err == GRANARY_OK;
    told->chunks = chunks.count;
    for (size_t k = 0; k < chunks.count; k++) {
        told->bytes += chunks.files[k].bytes;
    }
    (void)snprintf(node, CHUNKS_NODE, "%s", chunks.node);
    chunks_free(&chunks);
    return err == GRANARY_EPERM ? err : GRANARY_OK;
}

static granary_err
check_directory(const char *directory)
{
    return access(directory, W_OK | X_OK) == 0 ? GRANARY_OK : gr_fail_errno("--directory %s", directory);
}

static granary_err
do_fragment(struct cli *cli, struct fragment *fragment, struct told *told)
{
    static char node[CHUNKS_NODE];
    int64_t started = gr_now_ns();
    size_t count = 0;
    granary_err err;

    told->stage = fragment->stage->name;
    told->partition = fragment->of.partition;
    told->partitions = fragment->stage->partitions;
    err = look(fragment, told, node);
    told->node = told->was_there ? node : fragment->node;
    if (err == GRANARY_OK && !told->was_there) {
        err = open_instance(cli, fragment);
        err = err == GRANARY_OK ? run_graph(fragment, cli->client, &count, &told->bytes) : err;
        told->chunks = count;
        if (err == GRANARY_OK) {
            pilot_count(fragment->directory, fragment->node);
        }
    }
    told->seconds = (double)(gr_now_ns() - started) / 1e9;
    return err == GRANARY_OK
               ? err
               : gr_fail_in(err, "stage '%s', partition %u, on %s", told->stage, told->partition, fragment->node);
}

static int
run_fragment(struct cli *cli)
{
    struct fragment *fragment = cli->self;
    struct told told = {0};
    granary_err err = GRANARY_OK;

    if (fragment->directory == NULL) {
        return gr_fail(GRANARY_EINVAL, "--directory DIR: name the directory that all machines see");
    }
    if (fragment->node == NULL) {
        fragment->node = node_name(fragment->host);
    }
    err = check_directory(fragment->directory);
    err = err == GRANARY_OK ? read_plan(fragment, cli->arguments[0]) : err;
    err = err == GRANARY_OK ? check_version(fragment) : err;
    err = err == GRANARY_OK ? find_fragment(fragment, cli->arguments[1], cli->arguments[2]) : err;
    err = err == GRANARY_OK ? do_fragment(cli, fragment, &told) : err;
    if (err == GRANARY_OK) {
        tell(cli, &told);
    }
    return err;
}

static void
end_fragment(struct cli *cli)
{
    struct fragment *fragment = cli->self;

    cli_disconnect(cli);
    private_stop(&fragment->private, &fragment->private_pid);
    gr_cutplan_destroy(fragment->plan);
}

static const struct gr_option fragment_options[] = {
    {"directory", 0, "DIR", "where results lie; all machines see this directory",
     GR_OPTION_TEXT(struct fragment, directory)},
    {"node", 0, "NAME", "what messages call this machine; default: its host name",
     GR_OPTION_TEXT(struct fragment, node)},
    {"runs", 0, NULL, "print when which executor ran what, as lines by this machine's clock",
     GR_OPTION_FLAG(struct fragment, runs)},
    {"executors", 'e', "N", "start N executors in the private instance, when no instance is up",
     GR_OPTION_NUMBER(struct fragment, private.executors, 1, 1024), .group = 1},
    {"memory", 0, "SIZE", "give the private instance this much memory, when no instance is up",
     GR_OPTION_SIZE(struct fragment, private.memory, 1), .as_text = true, .group = 1},
    {0}};

const struct command cluster_fragment = {
    .options = fragment_options, COMMAND_ZERO(struct fragment), .run = run_fragment, .end = end_fragment};
