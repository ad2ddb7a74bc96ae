/* granary timeline: the runs of a graph's subtasks as a Chrome trace (chrome://tracing, ui.perfetto.dev). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/print/json.h"
#include "cli/scheduler/scheduler.h"

/*
 * In trace's words: a process is a band, a thread an executor. A run is a slice that holds those of its phases: lease
 * (getting inputs), run, store (creating and sealing outputs). Times are microseconds of CLOCK_MONOTONIC, bytes are
 * arguments. A run that was lost with its executor is an instant: when it began is not known.
 */

#define EXECUTORS_MAX 4096

struct timeline {
    bool all;
    struct json json;
    bool *named; /* executors that have a name in the trace */
    int64_t made_bytes;
    int64_t last_ns; /* of the counter: it does not go back */
};

static void
time_field(struct timeline *timeline, const char *key, int64_t ns)
{
    char text[48];

    (void)snprintf(text, sizeof text, "%" PRId64 ".%03" PRId64, ns / 1000, ns % 1000);
    json_number(&timeline->json, key, text);
}

/* Open an event; its args may follow before it is closed. */
static void
begin(struct timeline *timeline, const char *name, const char *phase, int64_t band, int64_t executor)
{
    json_open(&timeline->json, NULL, '{');
    json_text(&timeline->json, "name", name);
    json_text(&timeline->json, "ph", phase);
    json_signed(&timeline->json, "pid", band);
    json_signed(&timeline->json, "tid", executor);
}

static void
slice(struct timeline *timeline, const char *name, int64_t band, int64_t executor, int64_t from_ns, int64_t to_ns)
{
    if (to_ns > from_ns) {
        begin(timeline, name, "X", band, executor);
        time_field(timeline, "ts", from_ns);
        time_field(timeline, "dur", to_ns - from_ns);
        json_close(&timeline->json);
    }
}

static void
name_executor(struct timeline *timeline, int64_t band, int64_t executor)
{
    char text[48];

    if (executor < 0 || executor >= EXECUTORS_MAX || timeline->named[executor]) {
        return;
    }
    timeline->named[executor] = true;
    begin(timeline, "process_name", "M", band, executor);
    json_open(&timeline->json, "args", '{');
    (void)snprintf(text, sizeof text, "band %" PRId64, band);
    json_text(&timeline->json, "name", text);
    json_close(&timeline->json);
    json_close(&timeline->json);
    begin(timeline, "thread_name", "M", band, executor);
    json_open(&timeline->json, "args", '{');
    (void)snprintf(text, sizeof text, "executor %" PRId64, executor);
    json_text(&timeline->json, "name", text);
    json_close(&timeline->json);
    json_close(&timeline->json);
}

/* Bytes stored so far: a counter beside the slices. */
static void
count_bytes(struct timeline *timeline, int64_t band, int64_t at_ns, int64_t bytes)
{
    timeline->made_bytes += bytes;
    timeline->last_ns = at_ns > timeline->last_ns ? at_ns : timeline->last_ns;
    if (bytes > 0) {
        begin(timeline, "bytes stored", "C", band, 0);
        time_field(timeline, "ts", timeline->last_ns);
        json_open(&timeline->json, "args", '{');
        json_signed(&timeline->json, "bytes", timeline->made_bytes);
        json_close(&timeline->json);
        json_close(&timeline->json);
    }
}

static void
print_args(struct timeline *timeline, const granary_table *table, size_t row, const char *key)
{
    static const char *const numbers[] = {"in_bytes", "out_bytes", "peak_bytes", "sent_ns", "ready_ns"};
    static const char *const texts[] = {"ops", "state", "error", "message", "log"};

    json_open(&timeline->json, "args", '{');
    json_text(&timeline->json, "subtask", granary_table_text(table, row, key));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *text = granary_table_text(table, row, texts[i]);

        if (text[0] != '\0') {
            json_text(&timeline->json, texts[i], text);
        }
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int64_t number = granary_table_int(table, row, numbers[i]);

        if (number != 0) {
            json_signed(&timeline->json, numbers[i], number);
        }
    }
    json_close(&timeline->json);
}

/* A run that has ended, or is under way until end_ns. key: the field that names it. */
static void
print_run(struct timeline *timeline, const granary_table *table, size_t row, const char *key, int64_t ended_ns)
{
    int64_t band = granary_table_int(table, row, "band");
    int64_t executor = granary_table_int(table, row, "executor");
    int64_t started_ns = granary_table_int(table, row, "started_ns");
    int64_t leased_ns = started_ns + granary_table_int(table, row, "lease_ns");
    int64_t stores_ns = ended_ns - granary_table_int(table, row, "store_ns");
    const char *node = granary_table_text(table, row, "node");
    bool known = started_ns > 0 && ended_ns >= started_ns;

    name_executor(timeline, band, executor);
    begin(timeline, node[0] != '\0' ? node : granary_table_text(table, row, key), known ? "X" : "i", band, executor);
    time_field(timeline, "ts", known ? started_ns : ended_ns);
    if (known) {
        time_field(timeline, "dur", ended_ns - started_ns);
    } else {
        json_text(&timeline->json, "s", "t");
    }
    print_args(timeline, table, row, key);
    json_close(&timeline->json);
    if (!known) {
        return;
    }
    leased_ns = leased_ns < ended_ns ? leased_ns : ended_ns;
    stores_ns = stores_ns > leased_ns ? stores_ns : leased_ns;
    if (leased_ns > started_ns || stores_ns < ended_ns) {
        slice(timeline, "lease", band, executor, started_ns, leased_ns);
        slice(timeline, "run", band, executor, leased_ns, stores_ns);
        slice(timeline, "store", band, executor, stores_ns, ended_ns);
    }
    count_bytes(timeline, band, ended_ns, granary_table_int(table, row, "out_bytes"));
}

/* Everything of a subject, page by page. */
static granary_err
print_subject(struct timeline *timeline, granary_client *client, granary_query *query)
{
    bool running = strcmp(query->subject, "subtasks") == 0;
    granary_err err;

    query->cursor = 0;
    do {
        granary_table *table = NULL;

        err = granary_info(client, query, &table);
        for (size_t i = 0; i < granary_table_rows(table); i++) {
            if (!running) {
                print_run(timeline, table, i, "run", granary_table_int(table, i, "ended_ns"));
            } else if (strcmp(granary_table_text(table, i, "state"), "running") == 0 &&
                       granary_table_int(table, i, "started_ns") > 0) {
                print_run(timeline, table, i, "subtask", gr_now_ns());
            }
        }
        query->cursor = granary_table_cursor(table);
        granary_table_free(table);
    } while (err == GRANARY_OK && query->cursor != 0 && ferror(stdout) == 0);
    return err;
}

static int
prepare_timeline(struct cli *cli)
{
    struct timeline *timeline = cli->self;

    if ((cli->count == 0) != timeline->all) {
        (void)fprintf(stderr, "granary: timeline: which graphs? GRAPH... or --all\n");
        return 2;
    }
    timeline->named = calloc(EXECUTORS_MAX, sizeof *timeline->named);
    return timeline->named == NULL ? cli_fail(gr_fail(GRANARY_ENOMEM, "out of memory"), "timeline") : 0;
}

static int
run_timeline(struct cli *cli)
{
    struct timeline *timeline = cli->self;
    granary_query query = {.subject = "graphs",
                           .limit = 10000,
                           .keys = timeline->all ? NULL : (const char *const *)cli->arguments,
                           .key_count = (size_t)cli->count};
    granary_table *table = NULL;
    /* Ask before anything is printed: a key that is not there is an error and no trace. */
    granary_err err = granary_info(cli->client, &query, &table);

    granary_table_free(table);
    if (err == GRANARY_OK) {
        json_open(&timeline->json, NULL, '[');
        query.subject = "runs";
        err = print_subject(timeline, cli->client, &query);
        query.subject = "subtasks";
        err = err == GRANARY_OK ? print_subject(timeline, cli->client, &query) : err;
        json_close(&timeline->json);
    }
    return err;
}

static void
end_timeline(struct cli *cli)
{
    free(((struct timeline *)cli->self)->named);
}

static const struct gr_option timeline_options[] = {
    {"all", 'a', NULL, "show all graphs that are known", GR_OPTION_FLAG(struct timeline, all)}, {0}};

const struct command command_timeline = {.options = timeline_options,
                                         .access = &scheduler_session,
                                         COMMAND_ZERO(struct timeline),
                                         .plain = true,
                                         .prepare = prepare_timeline,
                                         .counts = true,
                                         .run = run_timeline,
                                         .end = end_timeline};
