/* granary await, forget: until graphs have ended; and when nobody needs them any more. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "cli/command/arguments.h"
#include "cli/command/cli.h"
#include "cli/print/json.h"
#include "cli/scheduler/scheduler.h"
#include "granary/graph.h"

struct await {
    int timeout_ms;
};

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
    static const struct gr_option options[] = {{"timeout", 0, "DURATION",
                                                "give up after so long, with status 6; default: never",
                                                GR_OPTION_MS(struct await, timeout_ms)},
                                               {0}};
    static const struct arguments arguments = {
        .options = options,
        .usage = "KEY...",
        .doc = "Wait until graphs have ended. The first failure ends the wait, with its message.",
        .least = 1,
        .most = ARGUMENTS_MANY};
    struct await await = {.timeout_ms = GRANARY_FOREVER};
    int first = arguments_read(&arguments, &await, cli, argc, argv);
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
    static const struct arguments arguments = {
        .usage = "KEY...",
        .doc = "Delete graphs: their records, and their results. One that runs is stopped first.",
        .least = 1,
        .most = ARGUMENTS_MANY};
    int first = arguments_read(&arguments, NULL, cli, argc, argv);
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
