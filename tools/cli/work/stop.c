/* granary stop, results: a graph is given up; chunks of its targets as they are made. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "cli/command/arguments.h"
#include "cli/command/cli.h"
#include "cli/print/json.h"
#include "cli/scheduler/scheduler.h"

#define KILL_AFTER_MS 10000

/* ---- stop ---- */

struct stop {
    struct cli *cli;
    const char *key;
    int kill_after_ms;
    bool no_wait;
};

static void
print_receipt(const struct stop *stop, const granary_receipt *receipt)
{
    struct json json = {0};
    char size[32];

    if (stop->cli->json) {
        json_open(&json, NULL, '{');
        json_text(&json, "graph", stop->key);
        json_unsigned(&json, "dropped", receipt->dropped);
        json_unsigned(&json, "stopped", receipt->stopped);
        json_unsigned(&json, "killed", receipt->killed);
        json_unsigned(&json, "freed_objects", receipt->freed_objects);
        json_unsigned(&json, "freed_bytes", receipt->freed_bytes);
        json_close(&json);
    } else {
        (void)printf("%s: %" PRIu64 " subtasks dropped, %" PRIu64 " stopped, %" PRIu64 " killed; %" PRIu64
                     " objects, %s freed\n",
                     stop->key, receipt->dropped, receipt->stopped, receipt->killed, receipt->freed_objects,
                     cli_format_size(receipt->freed_bytes, size));
    }
}

int
command_stop(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"kill-after", 0, "DURATION",
         "executors whose subtasks have not stopped by then are killed, and replaced; 10; negative: never",
         GR_OPTION_MS(struct stop, kill_after_ms)},
        {"no-wait", 0, NULL, "only ask: return before its subtasks have stopped, and kill none",
         GR_OPTION_FLAG(struct stop, no_wait)},
        {0}};
    static const struct arguments arguments = {
        .options = options,
        .usage = "KEY",
        .doc =
            "Stop a graph. Waiting subtasks are dropped, running ones are asked to stop and then killed, and results "
            "are freed. Prints what that gave back.",
        .least = 1,
        .most = 1};
    struct stop stop = {.cli = cli, .kill_after_ms = KILL_AFTER_MS};
    int first = arguments_read(&arguments, &stop, cli, argc, argv);
    granary_receipt receipt;
    granary_client *client;
    granary_err err;
    int status = 0;

    stop.key = argv[first];
    client = scheduler_connect(cli, &status);
    if (client == NULL) {
        return status;
    }
    if (stop.no_wait) {
        err = granary_graph_stop(client, stop.key);
    } else {
        err = granary_graph_cancel(client, stop.key, stop.kill_after_ms, &receipt);
        if (err == GRANARY_OK) {
            print_receipt(&stop, &receipt);
        }
    }
    granary_disconnect(client);
    return err == GRANARY_OK ? 0 : cli_fail(err, "stop");
}

/* ---- results ---- */

struct results {
    struct cli *cli;
    const char *key;
    const char *target;
    bool follow;
};

/* A line for a chunk, at once: who reads it may be a pipe. */
static void
print_chunk(const struct results *results, uint64_t position, granary_id id, bool there)
{
    struct json json = {0};
    char text[GRANARY_ID_TEXT + 1];

    if (results->cli->json) {
        json_open(&json, NULL, '{');
        json_unsigned(&json, "chunk", position);
        json_id(&json, "id", id);
        json_bool(&json, "there", there);
        json_close(&json);
    } else {
        granary_id_format(id, text);
        (void)printf("%s%s\n", text, there ? "" : "  (not there)");
    }
    (void)fflush(stdout);
}

static granary_err
follow(const struct results *results, granary_client *client)
{
    uint64_t cursor = 0;
    granary_err err;

    for (;;) {
        granary_id id;

        err = granary_graph_next(client, results->key, results->target, &cursor, GRANARY_FOREVER, &id);
        if (err != GRANARY_OK) {
            /* No more is how it ends, but when there was nothing that is worth saying. */
            return err == GRANARY_ENOENT && cursor > 0 ? GRANARY_OK : err;
        }
        print_chunk(results, cursor - 1, id, true);
    }
}

static granary_err
list(const struct results *results, granary_client *client)
{
    granary_result result = {0};
    granary_err err = granary_graph_result(client, results->key, results->target, &result);

    for (size_t i = 0; err == GRANARY_OK && i < result.chunk_count; i++) {
        print_chunk(results, i, result.chunks[i], result.chunk_there[i]);
    }
    granary_result_free(&result);
    return err;
}

int
command_results(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {{"follow", 0, NULL,
                                                "each as soon as it is made, in order, until there are no more",
                                                GR_OPTION_FLAG(struct results, follow)},
                                               {0}};
    static const struct arguments arguments = {
        .options = options,
        .usage = "KEY TARGET",
        .doc = "Print the ids of a target's chunks, one a line; with --json an object a line.",
        .most = 2};
    struct results results = {.cli = cli};
    int first = arguments_read(&arguments, &results, cli, argc, argv);
    granary_client *client;
    granary_err err;
    int status = 0;

    if (argc - first < 2) {
        err = argc == first ? gr_fail(GRANARY_EINVAL, "which graph's? `granary graphs` lists them")
                            : gr_fail(GRANARY_EINVAL, "which target of graph '%s'? `granary meta %s` lists them",
                                      argv[first], argv[first]);
        return cli_fail(err, "results");
    }
    results.key = argv[first];
    results.target = argv[first + 1];
    client = scheduler_connect(cli, &status);
    if (client == NULL) {
        return status;
    }
    err = results.follow ? follow(&results, client) : list(&results, client);
    granary_disconnect(client);
    return err == GRANARY_OK ? 0 : cli_fail(err, "results");
}
