/* granary: the command line. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault/fault.h"
#include "bench/bench.h"
#include "cli/command/command.h"
#include "cli/manual/manual.h"
#include "torture/torture.h"

const struct command command_bench = {.rows = bench_rows, .which = "which one?"};

const struct command command_torture = {.rows = torture_rows, .which = "what?"};

/* Without a command: the title of the group that follows. */
static const struct command_row rows[] = {
#define COMMAND(name, usage, summary, doc) {#name, usage, summary, doc, &command_##name},
#define GROUP(title)                       {.summary = title},
#include "cli/command/commands.def"
#undef COMMAND
#undef GROUP
    {0}};

static void
print_help(FILE *out)
{
    (void)fprintf(out, "Usage: granary COMMAND [OPTION...] [ARGUMENT...]\n"
                       "Shared-memory objects and analytics for the processes of one machine.\n");
    for (const struct command_row *row = rows; row->summary != NULL; row++) {
        if (row->name == NULL) {
            (void)fprintf(out, "\n%s\n", row->summary);
        } else {
            (void)fprintf(out, "  %-9s %s\n", row->name, row->summary);
        }
    }
    (void)fprintf(out, "\n`granary COMMAND --help` tells the options of a command.\n" COMMAND_STATUS "\n");
}

/* `granary help`; with --man, --completion or --complete, for those who install it, and for shells. */
static int
print_help_of(int count, char **words)
{
    const char *what = count > 0 ? words[0] : "";

    if (strcmp(what, "--man") == 0) {
        return count > 1 && words[1][0] == '/' ? manual_write(rows, words[1])
                                               : manual_print(rows, count > 1 ? words[1] : NULL);
    }
    if (strcmp(what, "--completion") == 0) {
        return complete_script(count > 1 ? words[1] : "bash");
    }
    if (strcmp(what, "--complete") == 0) {
        complete_print(rows, count - 1, words + 1);
    } else {
        print_help(stdout);
    }
    return 0;
}

/* Every command but the one that tells what there is. */
static int
arm_faults(const char *command)
{
    granary_err err = gr_fault_arm(GR_FAULT_CLI);

    return err == GRANARY_OK || strcmp(command, "faults") == 0 ? 0 : cli_fail_plain(err);
}

/* A result that is measured is computed. The torture decides for itself, whatever its tests say. */
static void
set_recall(char **words)
{
    if (strcmp(words[0], "bench") == 0) {
        bool measures = words[1] != NULL && strcmp(words[1], "--help") != 0 &&
                        (words[2] == NULL || strcmp(words[2], "--help") != 0);

        (void)setenv("GRANARY_RECALL", "off", 1);
        if (measures) {
            (void)fprintf(stderr, "granary: bench: recall is off\n");
        }
    } else if (strcmp(words[0], "torture") == 0) {
        (void)setenv("GRANARY_RECALL", "eager", 1); /* of small graphs, too, steps are kept and recalled */
    }
}

/* What stdout did not take is a failure of a command that went well. */
static int
end_output(int status)
{
    char name[PATH_MAX];

    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || status != 0) {
        return status;
    }
    if (errno == EPIPE) {
        return 128 + SIGPIPE;
    }
    (void)fprintf(stderr, "granary: %s: cannot be written%s%s\n", cli_stdout_name(name), errno == 0 ? "" : ": ",
                  errno == 0 ? "" : strerror(errno));
    return 1;
}

int
main(int argc, char **argv)
{
    static char version[] = "version";
    const struct command_row *row;
    struct cli cli = {0};
    int status;

    (void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write(), with a message; */
    (void)signal(SIGXFSZ, SIG_IGN); /* so is a file that may not grow */
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0 || strcmp(argv[1], "-h") == 0) {
        if (argc < 2) {
            print_help(stderr);
            return 2;
        }
        return print_help_of(argc - 2, argv + 2);
    }
    if (strcmp(argv[1], "--version") == 0) {
        argv[1] = version;
    }
    row = command_find(rows, argv[1]);
    if (row != NULL) {
        status = arm_faults(argv[1]);
        set_recall(argv + 1);
        status = status == 0 ? cli_run(row, &cli, argc - 1, argv + 1) : status;
        return end_output(status);
    }
    (void)fprintf(stderr, "granary: %s: no such command: %s\n", argv[1],
                  argv[1][0] == '-' ? "options come after the command" : "`granary --help` lists them");
    return 2;
}
