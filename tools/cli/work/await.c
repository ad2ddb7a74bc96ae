/* granary await, forget: until graphs have ended; and when nobody needs them any more. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "cli/print/listing.h"
#include "cli/scheduler/scheduler.h"
#include "granary/graph.h"

struct await {
    int timeout_ms;
};

struct ended {
    const char *key;
    granary_graph_status status;
};

static const char *
end_sentence(const void *row, char buffer[SHOW_TEXT])
{
    const struct ended *ended = row;

    (void)snprintf(buffer, SHOW_TEXT, "%s: succeeded, %" PRIu64 " subtasks", ended->key, ended->status.subtasks_done);
    return buffer;
}

static const struct column columns[] = {{NULL, "", 0, .show = end_sentence},
                                        {"graph", NULL, 0, COLUMN(struct ended, key)},
                                        {"subtasks", NULL, 0, COLUMN(struct ended, status.subtasks_total)},
                                        {"done", NULL, 0, COLUMN(struct ended, status.subtasks_done)},
                                        {"retries", NULL, 0, COLUMN(struct ended, status.retries)},
                                        {0}};

static int
run_await(struct cli *cli)
{
    int timeout_ms = ((struct await *)cli->self)->timeout_ms;
    int64_t deadline_ns = gr_deadline_ns(timeout_ms);

    for (int i = 0; i < cli->count; i++) {
        struct ended ended = {.key = cli->arguments[i]};
        granary_err err = granary_graph_wait(cli->client, ended.key,
                                             timeout_ms < 0 ? GRANARY_FOREVER : gr_left_ms(deadline_ns), &ended.status);

        if (err != GRANARY_OK) {
            return cli_fail(err, "await %s", ended.key);
        }
        listing_one(columns, cli->json, &ended);
    }
    return 0;
}

static const struct gr_option await_options[] = {{"timeout", 0, "DURATION",
                                                  "give up after this time, with status 6; default: never",
                                                  GR_OPTION_MS(struct await, timeout_ms)},
                                                 {0}};

const struct command command_await = {.options = await_options,
                                      .access = &scheduler_session,
                                      COMMAND_SELF(struct await, .timeout_ms = GRANARY_FOREVER),
                                      .run = run_await};

static int
forget_graph(struct cli *cli, char *argument)
{
    return granary_graph_delete(cli->client, argument);
}

const struct command command_forget = {.access = &scheduler_session, .each = forget_graph};
