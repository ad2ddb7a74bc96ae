/* granary stop, results: a graph is given up; chunks of its targets as they are made. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/print/listing.h"
#include "cli/scheduler/scheduler.h"

#define KILL_AFTER_MS 10000

/* ---- stop ---- */

struct stop {
    int kill_after_ms;
    bool no_wait;
};

/* What came of it. */
struct stopped {
    const char *key;
    granary_receipt receipt;
};

static const char *
stop_sentence(const void *row, char buffer[SHOW_TEXT])
{
    const struct stopped *stopped = row;
    const granary_receipt *receipt = &stopped->receipt;
    char size[32];

    (void)snprintf(buffer, SHOW_TEXT,
                   "%s: %" PRIu64 " subtasks dropped, %" PRIu64 " stopped, %" PRIu64 " killed; %" PRIu64
                   " objects, %s freed",
                   stopped->key, receipt->dropped, receipt->stopped, receipt->killed, receipt->freed_objects,
                   cli_format_size(receipt->freed_bytes, size));
    return buffer;
}

static const struct column stop_columns[] = {{NULL, "", 0, .show = stop_sentence},
                                             {"graph", NULL, 0, COLUMN(struct stopped, key)},
                                             {"dropped", NULL, 0, COLUMN(struct stopped, receipt.dropped)},
                                             {"stopped", NULL, 0, COLUMN(struct stopped, receipt.stopped)},
                                             {"killed", NULL, 0, COLUMN(struct stopped, receipt.killed)},
                                             {"freed_objects", NULL, 0, COLUMN(struct stopped, receipt.freed_objects)},
                                             {"freed_bytes", NULL, 0, COLUMN(struct stopped, receipt.freed_bytes)},
                                             {0}};

static int
run_stop(struct cli *cli)
{
    const struct stop *stop = cli->self;
    struct stopped stopped = {.key = cli->arguments[0]};
    granary_err err;

    if (stop->no_wait) {
        return granary_graph_stop(cli->client, stopped.key);
    }
    err = granary_graph_cancel(cli->client, stopped.key, stop->kill_after_ms, &stopped.receipt);
    if (err == GRANARY_OK) {
        listing_one(stop_columns, cli->json, &stopped);
    }
    return err;
}

static const struct gr_option stop_options[] = {
    {"kill-after", 0, "DURATION",
     "kill and replace executors whose subtasks have not stopped after this time; default: 10 s; negative: never",
     GR_OPTION_MS(struct stop, kill_after_ms)},
    {"no-wait", 0, NULL, "return at once: ask the subtasks to stop, and kill none",
     GR_OPTION_FLAG(struct stop, no_wait)},
    {0}};

const struct command command_stop = {.options = stop_options,
                                     .access = &scheduler_session,
                                     COMMAND_SELF(struct stop, .kill_after_ms = KILL_AFTER_MS),
                                     .run = run_stop};

/* ---- results ---- */

struct results {
    bool follow;
};

struct chunk {
    uint64_t position;
    granary_id id;
    bool there;
};

static const char *
chunk_text(const void *row, char buffer[SHOW_TEXT])
{
    const struct chunk *chunk = row;

    granary_id_format(chunk->id, buffer);
    (void)strcat(buffer, chunk->there ? "" : "  (not there)");
    return buffer;
}

/* A line for a chunk, at once: who reads it may be a pipe. */
static void
print_chunk(const struct cli *cli, uint64_t position, granary_id id, bool there)
{
    static const struct column columns[] = {{NULL, "", 0, .show = chunk_text},
                                            {"chunk", NULL, 0, COLUMN(struct chunk, position)},
                                            {"id", NULL, 0, COLUMN(struct chunk, id)},
                                            {"there", NULL, 0, COLUMN(struct chunk, there)},
                                            {0}};

    listing_one(columns, cli->json, &(struct chunk){position, id, there});
    (void)fflush(stdout);
}

static granary_err
follow_results(const struct cli *cli, const char *key, const char *target)
{
    uint64_t cursor = 0;
    granary_err err;

    for (;;) {
        granary_id id;

        err = granary_graph_next(cli->client, key, target, &cursor, GRANARY_FOREVER, &id);
        if (err != GRANARY_OK) {
            /* No more is how it ends, but when there was nothing that is worth saying. */
            return err == GRANARY_ENOENT && cursor > 0 ? GRANARY_OK : err;
        }
        print_chunk(cli, cursor - 1, id, true);
    }
}

static granary_err
list_results(const struct cli *cli, const char *key, const char *target)
{
    granary_result result = {0};
    granary_err err = granary_graph_result(cli->client, key, target, &result);

    for (size_t i = 0; err == GRANARY_OK && i < result.chunk_count; i++) {
        print_chunk(cli, i, result.chunks[i], result.chunk_there[i]);
    }
    granary_result_free(&result);
    return err;
}

static int
check_results(struct cli *cli)
{
    return cli->count == 2   ? GRANARY_OK
           : cli->count > 2  ? gr_fail(GRANARY_EINVAL, "one target at a time: '%s' is one too many", cli->arguments[2])
           : cli->count == 0 ? gr_fail(GRANARY_EINVAL, "which graph's? `granary graphs` lists them")
                             : gr_fail(GRANARY_EINVAL, "which target of graph '%s'? `granary meta %s` lists them",
                                       cli->arguments[0], cli->arguments[0]);
}

static int
run_results(struct cli *cli)
{
    return (((struct results *)cli->self)->follow ? follow_results : list_results)(cli, cli->arguments[0],
                                                                                   cli->arguments[1]);
}

static const struct gr_option results_options[] = {
    {"follow", 0, NULL, "print each chunk as soon as it is made, in order, until there are no more",
     GR_OPTION_FLAG(struct results, follow)},
    {0}};

const struct command command_results = {.options = results_options,
                                        .access = &scheduler_session,
                                        COMMAND_ZERO(struct results),
                                        .prepare = check_results,
                                        .counts = true,
                                        .run = run_results};
