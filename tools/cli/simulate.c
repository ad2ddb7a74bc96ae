/* granary simulate: the scheduler plays schedules; it has the options. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command/command.h"
#include "cli/instance/supervisor/daemons.h"

static int
run_simulation(int argc, char **argv)
{
    char **arguments = calloc((size_t)argc + 2, sizeof *arguments);
    char path[PATH_MAX];
    granary_err err = daemon_program("granary-sched", path);

    if (err == GRANARY_OK && arguments == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    if (err == GRANARY_OK) {
        arguments[0] = (char *)(uintptr_t) "granary simulate";
        arguments[1] = (char *)(uintptr_t) "--simulate";
        for (int i = 1; i < argc; i++) {
            arguments[i + 1] = argv[i];
        }
        (void)execv(path, arguments);
        err = gr_fail_errno("%s", path);
    }
    free(arguments);
    return cli_fail(err, "simulate");
}

const struct command command_simulate = {.alone = true, .program = run_simulation};
