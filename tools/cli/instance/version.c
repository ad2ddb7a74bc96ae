/* granary version: of this program, and with --all of every process of the instance. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/arguments.h"
#include "cli/instance/processes.h"
#include "cli/print/json.h"

struct version {
    bool all;
};

/* Exit status 1 when one runs another version than this program. */
static int
print_all(const struct cli *cli, const struct gr_instance *instance)
{
    struct process *processes = NULL;
    struct json json = {0};
    size_t count = 0;
    int status = 0;
    granary_err err = processes_list(instance, &processes, &count);

    if (err != GRANARY_OK) {
        return cli_fail_plain(err);
    }
    if (cli->json) {
        json_open(&json, NULL, '[');
    } else {
        (void)printf("%-10s  %8s  %s\n%-10s  %8s  %s\n", "process", "pid", "version", "granary", "-",
                     granary_version());
    }
    for (size_t i = 0; i < count; i++) {
        char version[64];

        process_version(processes[i].pid, version, sizeof version);
        if (cli->json) {
            json_open(&json, NULL, '{');
            json_text(&json, "process", processes[i].name);
            json_signed(&json, "pid", processes[i].pid);
            json_text(&json, "version", version);
            json_close(&json);
        } else {
            (void)printf("%-10s  %8" PRId64 "  %s%s\n", processes[i].name, processes[i].pid,
                         version[0] != '\0' ? version : "?",
                         version[0] != '\0' && strcmp(version, granary_version()) != 0 ? "  (another one)" : "");
        }
        status = version[0] != '\0' && strcmp(version, granary_version()) != 0 ? 1 : status;
    }
    if (cli->json) {
        json_close(&json);
    }
    free(processes);
    return status;
}

int
command_version(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"all", 'a', NULL, "of every process of the instance; status 1 when one is not of this version",
         GR_OPTION_FLAG(struct version, all)},
        {0}};
    static const struct arguments arguments = {.options = options, .doc = "Print the version."};
    struct version version = {.all = false};
    struct gr_instance instance;
    granary_err err;

    (void)arguments_read(&arguments, &version, cli, argc, argv);
    if (version.all) {
        err = gr_instance_resolve(cli->instance, &instance);
        return err == GRANARY_OK ? print_all(cli, &instance) : cli_fail_plain(err);
    }
    (void)printf(cli->json ? "{\"version\": \"%s\"}\n" : "granary %s\n", granary_version());
    return 0;
}
