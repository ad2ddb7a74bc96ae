/* granary: the command line. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/fault/fault.h"
#include "bench/bench.h"
#include "cli/command/cli.h"
#include "torture/torture.h"

static const struct {
    const char *name; /* NULL: the title of the group that follows */
    int (*run)(struct cli *cli, int argc, char **argv);
    const char *usage;
    const char *summary;
} commands[] = {
#define COMMAND(name, usage, summary) {#name, command_##name, usage, summary},
#define GROUP(title)                  {NULL, NULL, NULL, title},
#include "cli/command/commands.def"
#undef COMMAND
#undef GROUP
};

static void
print_help(FILE *out)
{
    (void)fprintf(out, "Usage: granary COMMAND [OPTION...] [ARGUMENT...]\n"
                       "Shared-memory objects and analytics for the processes of one machine.\n");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (commands[i].name == NULL) {
            (void)fprintf(out, "\n%s\n", commands[i].summary);
        } else {
            (void)fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
        }
    }
    (void)fprintf(out, "\n`granary COMMAND --help` tells the options of a command.\n"
                       "Exit status: 0 ok, 1 the work failed, 2 usage, 3 nothing reachable, 4 not found, 5 full,\n"
                       "6 timed out, 7 not permitted, 8 damaged data.\n");
}

int
command_bench(struct cli *cli, int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } benches[] = {{"store", bench_store}, {"sched", bench_sched}, {"frame", bench_frame}, {"tensor", bench_tensor}};

    (void)cli;
    for (size_t i = 0; argc >= 2 && i < sizeof benches / sizeof benches[0]; i++) {
        if (strcmp(argv[1], benches[i].name) == 0) {
            return benches[i].run(argc - 1, argv + 1);
        }
    }
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        (void)printf("Usage: granary bench store|sched|frame|tensor [--quick] [--json]\n"
                     "Measure the store, the scheduler, or queries on frames and tensors beside other engines, on an\n"
                     "instance of its own. `granary bench frame --help` tells more options.\n\n"
                     "      --quick                a tenth of the samples\n"
                     "      --json                 print JSON\n");
        return 0;
    }
    (void)fprintf(stderr, "granary: bench: which one? granary bench store|sched|frame|tensor [--quick] [--json]\n");
    return 2;
}

int
command_torture(struct cli *cli, int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } kinds[] = {{"store", torture_store},
                 {"sched", torture_sched},
                 {"whole", torture_whole},
                 {"soak", torture_soak},
                 {"nth", torture_nth}};
    const char *kind = argc >= 2 ? argv[1] : "";

    (void)cli;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kind, kinds[i].name) == 0) {
            return kinds[i].run(argc - 1, argv + 1);
        }
    }
    if (strcmp(kind, "--help") == 0 || strcmp(kind, "-h") == 0) {
        (void)printf("Usage: granary torture store|sched|whole|soak|nth [OPTION...]\n"
                     "Torment a private store and its clients, a private instance with graphs at work, or both and "
                     "every process;\nor gently and for long; or let one thing after the other fail. `granary torture "
                     "store --help` tells the "
                     "options.\n");
        return 0;
    }
    (void)fprintf(stderr, "granary: torture: what? granary torture store|sched|whole|soak|nth [OPTION...]\n");
    return 2;
}

/* Every command but the one that tells what there is. */
static int
arm_faults(const char *command)
{
    granary_err err = gr_fault_arm(GR_FAULT_CLI);

    return err == GRANARY_OK || strcmp(command, "faults") == 0 ? 0 : cli_fail_plain(err);
}

int
main(int argc, char **argv)
{
    static char version[] = "version";
    char name[PATH_MAX];
    struct cli cli = {0};

    (void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write(), with a message; */
    (void)signal(SIGXFSZ, SIG_IGN); /* so is a file that may not grow */
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(argc < 2 ? stderr : stdout);
        return argc < 2 ? 2 : 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        argv[1] = version;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (commands[i].name != NULL && strcmp(argv[1], commands[i].name) == 0) {
            int status = arm_faults(argv[1]);

            status = status == 0 ? commands[i].run(&cli, argc - 1, argv + 1) : status;

            errno = 0;
            if ((fflush(stdout) != 0 || ferror(stdout)) && status == 0) {
                if (errno == EPIPE) {
                    return 128 + SIGPIPE;
                }
                (void)fprintf(stderr, "granary: %s: cannot be written%s%s\n", cli_stdout_name(name),
                              errno == 0 ? "" : ": ", errno == 0 ? "" : strerror(errno));
                status = 1;
            }
            return status;
        }
    }
    (void)fprintf(stderr, "granary: %s: no such command: %s\n", argv[1],
                  argv[1][0] == '-' ? "options come after the command" : "`granary --help` lists them");
    return 2;
}
