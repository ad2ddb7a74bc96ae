/* granary web: this process becomes granary-web, which reads its own options. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command/command.h"
#include "cli/instance/daemons.h"

static int
run_web(int argc, char **argv)
{
    char path[PATH_MAX];
    granary_err err = daemon_program("granary-web", path);

    (void)argc;
    if (err == GRANARY_OK) {
        argv[0] = (char *)(uintptr_t) "granary web";
        (void)execv(path, argv);
        err = gr_fail_errno("%s", path);
    }
    (void)fprintf(stderr, "granary: web: %s\n", granary_error_message());
    return granary_error_exit_status(err);
}

const struct command command_web = {.alone = true, .program = run_web};
