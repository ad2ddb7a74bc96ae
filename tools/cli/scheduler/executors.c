/* granary executors: who they are; more of them, fewer, other ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/arguments.h"
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
    static const struct gr_option options[] = {
        {"node", 0, "NODE", "add: NUMA node to be on; default: where fewest are",
         GR_OPTION_NUMBER(struct executors, node, 0, 1023)},
        {"timeout", 0, "DURATION",
         "how long to wait until it is done (status 6 when it takes longer); default: as long as it takes",
         GR_OPTION_MS(struct executors, timeout_ms)},
        {"pages", 0, NULL, "list what their pages tell, without asking the scheduler",
         GR_OPTION_FLAG(struct executors, pages)},
        {0}};
    static const struct arguments arguments = {
        .options = options,
        .usage = "[NUMBER...]\nadd N\ndrain NUMBER...\nkill NUMBER...\nrecycle [NUMBER...]",
        .doc =
            "List executors; start more; let some finish their work and leave; kill some; replace some, or all, by new "
            "processes once they have finished their work. When no scheduler answers, the list is what their pages "
            "tell.",
        .most = ARGUMENTS_MANY};
    struct executors self = {.view = {.cli = cli}, .node = -1, .timeout_ms = GRANARY_FOREVER};
    int first = table_arguments(&arguments, &self, &self.view, argc, argv);
    granary_client *client;
    int status = 0;

    if (first == argc || (argv[first][0] >= '0' && argv[first][0] <= '9')) {
        self.view.keys = (const char *const *)(argv + first);
        self.view.key_count = (size_t)(argc - first);
        return executor_list(&self.view, self.pages);
    }
    client = cli_connect_existing(cli, &status);
    if (client != NULL) {
        status = order(&self, client, argv[first], argv + first + 1, (size_t)(argc - first - 1));
        granary_disconnect(client);
    }
    return status;
}
