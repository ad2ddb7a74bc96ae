/* granary version: of this program, and with --all of every process of the instance. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/command.h"
#include "cli/instance/processes.h"
#include "cli/print/listing.h"

struct version {
    bool all;
};

/* A process, with what it runs. */
struct running {
    struct process process;
    char version[64]; /* "": unknown */
};

static bool
is_other(const struct running *running)
{
    return running->version[0] != '\0' && strcmp(running->version, granary_version()) != 0;
}

static const char *
show_version(const void *row, char buffer[SHOW_TEXT])
{
    const struct running *running = row;

    (void)snprintf(buffer, SHOW_TEXT, "%s%s", running->version[0] != '\0' ? running->version : "?",
                   is_other(running) ? "  (another one)" : "");
    return buffer;
}

static const struct column columns[] = {{"process", "process", -10, COLUMN(struct running, process.name)},
                                        {"pid", "pid", 8, COLUMN(struct running, process.pid)},
                                        {"version", NULL, 0, COLUMN(struct running, version)},
                                        {NULL, "version", 0, .show = show_version},
                                        {0}};

/* Exit status 1 when one runs another version than this program. */
static int
print_all(const struct cli *cli, const struct gr_instance *instance)
{
    struct process *processes = NULL;
    struct listing listing;
    size_t count = 0;
    int status = 0;
    granary_err err = processes_list(instance, &processes, &count);

    if (err != GRANARY_OK) {
        return err;
    }
    listing_begin(&listing, columns, cli->json);
    if (!cli->json) {
        (void)printf("%-10s  %8s  %s\n", "granary", "-", granary_version());
    }
    for (size_t i = 0; i < count; i++) {
        struct running running = {.process = processes[i]};

        process_version(running.process.pid, running.version, sizeof running.version);
        listing_row(&listing, &running);
        status = is_other(&running) ? 1 : status;
    }
    listing_end(&listing);
    free(processes);
    return status;
}

static int
run_version(struct cli *cli)
{
    struct gr_instance instance;
    granary_err err;

    if (((struct version *)cli->self)->all) {
        err = gr_instance_resolve(cli->instance, &instance);
        return err == GRANARY_OK ? print_all(cli, &instance) : (int)err;
    }
    if (cli->json) {
        cli_print_value(cli, "version", granary_version());
    } else {
        (void)printf("granary %s\n", granary_version());
    }
    return 0;
}

static const struct gr_option version_options[] = {
    {"all", 'a', NULL, "print the version of every process of the instance; the status is 1 when one differs",
     GR_OPTION_FLAG(struct version, all)},
    {0}};

const struct command command_version = {
    .options = version_options, COMMAND_ZERO(struct version), .plain = true, .run = run_version};
