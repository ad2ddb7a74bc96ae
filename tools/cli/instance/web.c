/* granary web, report: this process becomes granary-web, which reads its own options. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command/command.h"
#include "cli/instance/supervisor/daemons.h"

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

struct report {
    const char *output;
};

static int
run_report(struct cli *cli)
{
    const struct report *report = cli->self;
    char path[PATH_MAX];
    char *argv[9] = {(char *)(uintptr_t) "granary report", (char *)(uintptr_t) "--report", cli->arguments[0],
                     (char *)(uintptr_t) "--output",
                     (char *)(uintptr_t)(report->output != NULL ? report->output : "report.html")};
    granary_err err = daemon_program("granary-web", path);

    if (cli->instance != NULL) {
        argv[5] = (char *)(uintptr_t) "--instance";
        argv[6] = (char *)(uintptr_t)cli->instance;
    }
    if (err == GRANARY_OK) {
        (void)execv(path, argv);
        err = gr_fail_errno("%s", path);
    }
    return err;
}

static const struct gr_option report_options[] = {
    {"output", 'o', "FILE", "write the report to FILE; default: report.html", GR_OPTION_TEXT(struct report, output)},
    {0}};

const struct command command_report = {.options = report_options, COMMAND_ZERO(struct report), .run = run_report};

const struct command command_web = {.alone = true, .program = run_web};
