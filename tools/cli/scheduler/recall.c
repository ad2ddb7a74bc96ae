/* granary recall: results that need not be computed again. */
#include <stdio.h>
#include <string.h>

#include "cli/scheduler/table.h"
#include "granary/graph.h"

static granary_err
clear(granary_client *client)
{
    uint64_t count = 0;
    granary_err err = granary_recall_clear(client, &count);

    if (err == GRANARY_OK) {
        (void)printf("%llu forgotten\n", (unsigned long long)count);
    }
    return err;
}

static granary_err
save(granary_client *client)
{
    uint64_t count = 0;
    granary_err err = granary_recall_save(client, &count);

    if (err == GRANARY_OK) {
        (void)printf("%llu saved\n", (unsigned long long)count);
    }
    return err;
}

static granary_err
switch_on(granary_client *client)
{
    return granary_recall_switch(client, true);
}

static granary_err
switch_off(granary_client *client)
{
    return granary_recall_switch(client, false);
}

static const struct {
    const char *verb;
    granary_err (*run)(granary_client *client);
} verbs[] = {{"clear", clear}, {"save", save}, {"on", switch_on}, {"off", switch_off}};

static int
run_recall(struct cli *cli)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(cli->arguments[0], verbs[i].verb) == 0 && cli->count == 1) {
            int status = cli_connect_existing(cli);
            granary_err err = status == 0 ? verbs[i].run(cli->client) : GRANARY_OK;

            cli_disconnect(cli);
            return err == GRANARY_OK ? status : cli_fail(err, "recall: %s", verbs[i].verb);
        }
    }
    (void)fprintf(stderr, "granary: recall: list, clear, save, on or off: `granary recall --help` tells more\n");
    return 2;
}

static const struct command list = {
    .access = &table_access, COMMAND_SELF(struct table_view, .subject = "recalls"), .plain = true, .run = table_show};

static const struct command_row rows[] = {{.name = "list", .command = &list}, {0}};

const struct command command_recall = {.plain = true, .run = run_recall, .rows = rows};
