/* granary executors: who they are; more of them, fewer, other ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/scheduler/executor_list.h"
#include "granary/pool.h"

struct executors {
    struct table_view view;
    bool pages;
    int node;
    int timeout_ms;
};

/* ---- orders ---- */

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

/* A verb and the executors that it is for. Returns the exit status; 2 when it is not understood. */
static int
give_order(const struct executors *self, struct cli *cli)
{
    const char *verb = cli->arguments[0];
    size_t count = (size_t)cli->count - 1;
    uint32_t *numbers = calloc(count + 1, sizeof *numbers);
    granary_err err = GRANARY_OK;
    bool known = false;
    int status = 2;

    if (numbers == NULL || read_numbers(cli->arguments + 1, count, numbers) < 0) {
        goto out;
    }
    if (strcmp(verb, "add") == 0 && count == 1) {
        known = true;
        err = granary_pool_add(cli->client, numbers[0], self->node, self->timeout_ms);
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verb, verbs[i].verb) == 0 && count >= verbs[i].least) {
            known = true;
            err = verbs[i].run(cli->client, numbers, count, self->timeout_ms);
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

static int
run_executors(struct cli *cli)
{
    struct executors *executors = cli->self;
    int status;

    if (cli->count == 0 || (cli->arguments[0][0] >= '0' && cli->arguments[0][0] <= '9')) {
        return executor_list(cli, executors->pages);
    }
    status = cli_connect_existing(cli);
    status = status == 0 ? give_order(executors, cli) : status;
    cli_disconnect(cli);
    return status;
}

/* Who opens what depends on the verb. */
static const struct access executors_access = {.options = table_options};
static const struct gr_option executors_options[] = {
    {"node", 0, "NODE", "add: start them on this NUMA node; default: where fewest are",
     GR_OPTION_NUMBER(struct executors, node, 0, 1023)},
    {"timeout", 0, "DURATION", "give up waiting after this time, with status 6; default: never",
     GR_OPTION_MS(struct executors, timeout_ms)},
    {"pages", 0, NULL, "list executors from their pages in shared memory, without asking the scheduler",
     GR_OPTION_FLAG(struct executors, pages)},
    {0}};

const struct command command_executors = {
    .options = executors_options,
    .access = &executors_access,
    COMMAND_SELF(struct executors, .node = -1, .timeout_ms = GRANARY_FOREVER,
                 .view = {.subject = "executors",
                          .shown = "number,pid,state,mode,confined,node,slot,phase,graph,subtask,since_ms,progress,"
                                   "queued,done,failures,rss_bytes"}),
    .run = run_executors};
