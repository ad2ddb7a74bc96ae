/* granary executors: who they are; more of them, fewer, other ones. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "granary/pool.h"
#include "json.h"

enum { KEY_NODE = 0x5000, KEY_TIMEOUT };

struct executors {
    struct arguments arguments;
    int node;
    int timeout_ms;
};

/* ---- the list ---- */

static void
print_executor(const granary_table *table, size_t row)
{
    const char *graph = granary_table_text(table, row, "graph");

    (void)printf("%6" PRId64 " %8" PRId64 " %-9s %4" PRId64 " %4" PRId64 " %-4s %8" PRId64 " %8" PRId64,
                 granary_table_int(table, row, "number"), granary_table_int(table, row, "pid"),
                 granary_table_text(table, row, "state"), granary_table_int(table, row, "slot"),
                 granary_table_int(table, row, "node"), granary_table_text(table, row, "mode"),
                 granary_table_int(table, row, "done"), granary_table_int(table, row, "failures"));
    if (graph[0] != '\0') {
        (void)printf("  %s/%" PRId64 " (%s)", graph, granary_table_int(table, row, "subtask"),
                     granary_table_text(table, row, "phase"));
    }
    (void)printf("\n");
}

static void
print_executor_json(struct json *json, const granary_table *table, size_t row)
{
    json_open(json, NULL, '{');
    for (size_t i = 0; i < granary_table_fields(table); i++) {
        const char *field = granary_table_field(table, i);
        granary_cell_value cell = granary_table_cell(table, row, i);

        if (cell.kind == GRANARY_CELL_INT) {
            json_signed(json, field, cell.integer);
        } else if (cell.kind == GRANARY_CELL_REAL) {
            json_real(json, field, cell.real);
        } else {
            json_text(json, field, cell.text);
        }
    }
    json_close(json);
}

static granary_err
list_executors(granary_client *client, bool as_json)
{
    struct json json = {0};
    granary_query query = {.subject = "executors"};
    granary_err err;

    if (as_json) {
        json_open(&json, NULL, '[');
    } else {
        (void)printf("%6s %8s %-9s %4s %4s %-4s %8s %8s  %s\n", "NUMBER", "PID", "STATE", "SLOT", "NODE", "MODE",
                     "DONE", "FAILURES", "RUNS");
    }
    do {
        granary_table *table;

        err = granary_info(client, &query, &table);
        if (err != GRANARY_OK) {
            return err;
        }
        for (size_t row = 0; row < granary_table_rows(table); row++) {
            if (as_json) {
                print_executor_json(&json, table, row);
            } else {
                print_executor(table, row);
            }
        }
        query.cursor = granary_table_cursor(table);
        granary_table_free(table);
    } while (query.cursor != 0);
    if (as_json) {
        json_close(&json);
    }
    return GRANARY_OK;
}

/* ---- orders ---- */

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    struct executors *self = state->input;

    switch (key) {
    case KEY_NODE:
        self->node = (int)arguments_number(state, arg, 0, 1023);
        return 0;
    case KEY_TIMEOUT:
        self->timeout_ms = arguments_seconds(state, arg);
        return 0;
    default:
        return arguments_key(key, state);
    }
}

/* Numbers of executors, or for add how many. -1: one is no number; said */
static int
read_numbers(char **texts, size_t count, uint32_t *ret_numbers)
{
    for (size_t i = 0; i < count; i++) {
        char *end;
        unsigned long long number = strtoull(texts[i], &end, 10);

        if (end == texts[i] || *end != '\0' || number == 0 || number > UINT32_MAX) {
            (void)fprintf(stderr, "granary: executors: '%s' is no number from 1 up\n", texts[i]);
            return -1;
        }
        ret_numbers[i] = (uint32_t)number;
    }
    return 0;
}

static const struct {
    const char *verb;
    granary_err (*run)(granary_client *client, const uint32_t *executors, size_t count, int timeout_ms);
    size_t least;
} verbs[] = {{"drain", granary_pool_drain, 1}, {"kill", granary_pool_kill, 1}, {"recycle", granary_pool_recycle, 0}};

/* The exit status; 2 when it is not understood. */
static int
order(const struct executors *self, granary_client *client, const char *verb, char **texts, size_t count)
{
    uint32_t *numbers = calloc(count + 1, sizeof *numbers);
    granary_err err = GRANARY_OK;
    bool known = false;
    int status = 2;

    if (numbers == NULL || read_numbers(texts, count, numbers) < 0) {
        goto out;
    }
    if (strcmp(verb, "add") == 0 && count == 1) {
        known = true;
        err = granary_pool_add(client, numbers[0], self->node, self->timeout_ms);
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verb, verbs[i].verb) == 0 && count >= verbs[i].least) {
            known = true;
            err = verbs[i].run(client, numbers, count, self->timeout_ms);
        }
    }
    if (!known) {
        (void)fprintf(stderr, "granary: executors: add N, drain NUMBER..., kill NUMBER... or recycle [NUMBER...]: "
                              "`granary executors --help` tells more\n");
    } else {
        status = err == GRANARY_OK ? 0 : cli_fail(err, "executors: %s", verb);
    }
out:
    free(numbers);
    return status;
}

int
command_executors(struct cli *cli, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"node", KEY_NODE, "NODE", 0, "add: NUMA node to be on; default: where fewest are", 0},
        {"timeout", KEY_TIMEOUT, "SECONDS", 0,
         "how long to wait until it is done (status 6 when it takes longer); default: as long as it takes", 0},
        {0}};
    struct executors self = {.arguments = {.cli = cli}, .node = -1, .timeout_ms = GRANARY_FOREVER};
    int first = arguments_read(options, parse, "[add N | drain NUMBER... | kill NUMBER... | recycle [NUMBER...]]",
                               "List executors; start more; let some finish their work and leave; kill some; replace "
                               "some, or all, by new processes once they have finished their work.",
                               0, ARGUMENTS_MANY, argc, argv, &self.arguments);
    granary_client *client;
    granary_err err;
    int status = 0;

    client = cli_connect(cli, &status);
    if (client == NULL) {
        return status;
    }
    if (first < argc) {
        status = order(&self, client, argv[first], argv + first + 1, (size_t)(argc - first - 1));
    } else {
        err = list_executors(client, cli->json);
        status = err == GRANARY_OK ? 0 : cli_fail(err, "executors");
    }
    granary_disconnect(client);
    return status;
}
