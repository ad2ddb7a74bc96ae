/* granary executors: who they are; more of them, fewer, other ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/arguments.h"
#include "cli/scheduler/executor_list.h"
#include "granary/pool.h"

enum { KEY_NODE = 0x5000, KEY_TIMEOUT, KEY_PAGES };

struct executors {
    struct table_view view;
    bool pages;
    int node;
    int timeout_ms;
    int first; /* argument that is no option */
};

/* ---- orders ---- */

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    struct executors *self = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &self->view;
        return 0;
    case KEY_PAGES:
        self->pages = true;
        return 0;
    case ARGP_KEY_ARGS:
        self->first = state->next;
        return 0;
    case KEY_NODE:
        self->node = (int)arguments_number(state, arg, 0, 1023);
        return 0;
    case KEY_TIMEOUT:
        self->timeout_ms = arguments_duration(state, arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
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
        {"timeout", KEY_TIMEOUT, "DURATION", 0,
         "how long to wait until it is done (status 6 when it takes longer); default: as long as it takes", 0},
        {"pages", KEY_PAGES, NULL, 0, "list what their pages tell, without asking the scheduler", 0},
        {0}};
    static const struct argp_child children[] = {{&table_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options,
        parse,
        "[NUMBER...]\nadd N\ndrain NUMBER...\nkill NUMBER...\nrecycle [NUMBER...]",
        "List executors; start more; let some finish their work and leave; kill some; replace some, or all, by new "
        "processes once they have finished their work. When no scheduler answers, the list is what their pages tell.",
        children,
        NULL,
        NULL};
    struct executors self = {.view = {.cli = cli}, .node = -1, .timeout_ms = GRANARY_FOREVER, .first = argc};
    granary_client *client;
    int status = 0;

    cli_parse(&argp, argc, argv, &self);
    if (self.first == argc || (argv[self.first][0] >= '0' && argv[self.first][0] <= '9')) {
        self.view.keys = (const char *const *)(argv + self.first);
        self.view.key_count = (size_t)(argc - self.first);
        return executor_list(&self.view, self.pages);
    }
    client = cli_connect_existing(cli, &status);
    if (client != NULL) {
        status = order(&self, client, argv[self.first], argv + self.first + 1, (size_t)(argc - self.first - 1));
        granary_disconnect(client);
    }
    return status;
}
