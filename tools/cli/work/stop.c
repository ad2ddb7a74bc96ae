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

enum { KEY_KILL_AFTER = 0x5200, KEY_NO_WAIT, KEY_FOLLOW };

/* ---- stop ---- */

struct stop {
    struct cli *cli;
    const char *key;
    int kill_after_ms;
    bool no_wait;
};

static error_t
parse_stop(int key, char *arg, struct argp_state *state)
{
    struct stop *stop = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = stop->cli;
        return 0;
    case KEY_KILL_AFTER:
        stop->kill_after_ms = arguments_duration(state, arg);
        return 0;
    case KEY_NO_WAIT:
        stop->no_wait = true;
        return 0;
    case ARGP_KEY_ARG:
        if (stop->key != NULL) {
            argp_usage(state);
        }
        stop->key = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_usage(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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
    static const struct argp_option options[] = {
        {"kill-after", KEY_KILL_AFTER, "DURATION", 0,
         "executors whose subtasks have not stopped by then are killed, and replaced; 10; negative: never", 0},
        {"no-wait", KEY_NO_WAIT, NULL, 0, "ask only: return before its subtasks have stopped, and kill none", 0},
        {0}};
    static const struct argp_child children[] = {{&cli_common_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options,
        parse_stop,
        "KEY",
        "Stop a graph: what waits is dropped, what runs is asked to stop, then killed, and "
        "what was made is freed. Prints what that gave back when it is done.",
        children,
        NULL,
        NULL};
    struct stop stop = {.cli = cli, .kill_after_ms = KILL_AFTER_MS};
    granary_receipt receipt;
    granary_client *client;
    granary_err err;
    int status = 0;

    cli_parse(&argp, argc, argv, &stop);
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

static error_t
parse_results(int key, char *arg, struct argp_state *state)
{
    struct results *results = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = results->cli;
        return 0;
    case KEY_FOLLOW:
        results->follow = true;
        return 0;
    case ARGP_KEY_ARG:
        if (results->target != NULL) {
            argp_usage(state);
        }
        *(results->key == NULL ? &results->key : &results->target) = arg;
        return 0;
    case ARGP_KEY_END:
        if (results->key == NULL) {
            argp_error(state, "which graph's? `granary graphs` lists them");
        } else if (results->target == NULL) {
            argp_error(state, "which target of graph '%s'? `granary meta %s` lists them", results->key, results->key);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* A line for a chunk, at once: who reads it may be a pipe. */
static void
print_chunk(const struct results *results, uint64_t position, granary_id id, bool there)
{
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(id, text);
    if (results->cli->json) {
        (void)printf("{\"chunk\": %" PRIu64 ", \"id\": \"%s\", \"there\": %s}\n", position, text,
                     there ? "true" : "false");
    } else {
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
    static const struct argp_option options[] = {
        {"follow", KEY_FOLLOW, NULL, 0, "each as soon as it is made, in order, until there are no more", 0}, {0}};
    static const struct argp_child children[] = {{&cli_common_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options,      parse_results,
        "KEY TARGET", "Print the ids of a target's chunks, one a line; with --json an object a line.",
        children,     NULL,
        NULL};
    struct results results = {.cli = cli};
    granary_client *client;
    granary_err err;
    int status = 0;

    cli_parse(&argp, argc, argv, &results);
    client = scheduler_connect(cli, &status);
    if (client == NULL) {
        return status;
    }
    err = results.follow ? follow(&results, client) : list(&results, client);
    granary_disconnect(client);
    return err == GRANARY_OK ? 0 : cli_fail(err, "results");
}
