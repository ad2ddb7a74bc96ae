/* granary await, forget: until graphs have ended; and when nobody needs them any more. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "cli/command/arguments.h"
#include "cli/command/cli.h"
#include "cli/print/json.h"
#include "cli/scheduler/scheduler.h"
#include "granary/graph.h"

enum { KEY_TIMEOUT = 0x5300 };

struct await {
    struct arguments arguments;
    int timeout_ms;
};

static error_t
parse_await(int key, char *arg, struct argp_state *state)
{
    struct await *await = state->input;

    if (key != KEY_TIMEOUT) {
        return arguments_key(key, state);
    }
    await->timeout_ms = arguments_duration(state, arg);
    return 0;
}

static void
print_end(const struct cli *cli, const char *key, const granary_graph_status *status)
{
    struct json json = {0};

    if (cli->json) {
        json_open(&json, NULL, '{');
        json_text(&json, "graph", key);
        json_unsigned(&json, "subtasks", status->subtasks_total);
        json_unsigned(&json, "done", status->subtasks_done);
        json_unsigned(&json, "retries", status->retries);
        json_close(&json);
    } else {
        (void)printf("%s: succeeded, %" PRIu64 " subtasks\n", key, status->subtasks_done);
    }
}

int
command_await(struct cli *cli, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"timeout", KEY_TIMEOUT, "DURATION", 0, "give up after so long, with status 6; default: never", 0}, {0}};
    struct await await = {.arguments = {.cli = cli}, .timeout_ms = GRANARY_FOREVER};
    int first = arguments_read(options, parse_await, "KEY...",
                               "Wait until graphs have ended. The first that has failed is told, and ends it.", 1,
                               ARGUMENTS_MANY, argc, argv, &await.arguments);
    int64_t deadline_ns = gr_deadline_ns(await.timeout_ms);
    int status = 0;
    granary_client *client = scheduler_connect(cli, &status);

    for (int i = first; client != NULL && i < argc && status == 0; i++) {
        granary_graph_status graph = {.subtasks_total = 0};
        granary_err err = granary_graph_wait(client, argv[i],
                                             await.timeout_ms < 0 ? GRANARY_FOREVER : gr_left_ms(deadline_ns), &graph);

        if (err == GRANARY_OK) {
            print_end(cli, argv[i], &graph);
        } else {
            status = cli_fail(err, "await %s", argv[i]);
        }
    }
    granary_disconnect(client);
    return status;
}

int
command_forget(struct cli *cli, int argc, char **argv)
{
    struct arguments arguments = {.cli = cli};
    int first = arguments_read(NULL, arguments_parse, "KEY...",
                               "Delete graphs: their records, and their results. One that runs is stopped first.", 1,
                               ARGUMENTS_MANY, argc, argv, &arguments);
    int status = 0;
    granary_client *client = scheduler_connect(cli, &status);

    for (int i = first; client != NULL && i < argc; i++) {
        granary_err err = granary_graph_delete(client, argv[i]);

        if (err != GRANARY_OK) {
            status = cli_fail(err, "forget");
        }
    }
    granary_disconnect(client);
    return status;
}
