/*
 * A command of `granary`: a row of commands.def with its words, and a struct with what it takes, what is opened for it
 * and what it does. From these come parsing, --help, the manual page and completion.
 *
 *      const struct command command_wait = {
 *          .options = wait_options,
 *          COMMAND_SELF(struct wait, .timeout_ms = GRANARY_FOREVER),
 *          .access = &access_session,
 *          .run = run_wait};
 *
 * Functions that return int return 0, an exit status after an error that they printed, or a granary_err (negative),
 * which is printed for them: as `granary: NAME: message`, or, of a plain command, as `granary: message`.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/command/cli.h"
#include "options/options.h"

/* What a command works on: options that come with it, and how it is opened. */
struct access {
    const struct gr_option *options; /* of self, which begins with the struct they are of; NULL: none */
    granary_err (*note)(void *self, const struct gr_option *option, char *text); /* each that is given; or NULL */
    int (*open)(struct cli *cli);                                                /* NULL: the command does */
    void (*close)(struct cli *cli);                                              /* only what was opened */
};

/* A connection to the store, cli->client: of cli_connect_existing(), and of cli_connect(). */
extern const struct access access_session;
extern const struct access access_storing;
void cli_disconnect(struct cli *cli); /* how they close */

struct command {
    const struct gr_option *options; /* of self; NULL: none of its own */
    const struct access *access;     /* NULL: nothing is opened */
    size_t size;                     /* of self */
    const void *self;                /* as it is before the options are read; NULL: all zero */
    bool numbers;                    /* an argument may be a negative number */
    bool counts;                     /* it has words of its own for a wrong number of arguments */
    bool plain;                      /* errors name their thing, and so not the command */
    bool alone;                      /* it has none of the options that every command has */
    /* Whether what is given goes together. Errors: EINVAL, with a message. NULL: it does */
    granary_err (*check)(struct cli *cli);
    int (*prepare)(struct cli *cli); /* before anything is opened; or NULL */
    int (*run)(struct cli *cli);
    /* Instead of run: for each argument, and for the object that each names. An error does not end it: the first one is
     * what the command ends with. */
    int (*each)(struct cli *cli, char *argument);
    int (*object)(struct cli *cli, granary_id id);
    void (*end)(struct cli *cli);          /* whatever has become of it; or NULL */
    int (*program)(int argc, char **argv); /* instead of all: it reads its arguments itself */
    const struct command_row *rows; /* what the first argument may name, behind the options of its own; NULL: nothing */
    const char *which;              /* it has to, before any option: the question when it does not */
};

/* A command by its name. Of a list the last one has neither name nor summary. */
struct command_row {
    const char *name;
    const char *usage; /* of what follows the options; one form a line */
    const char *summary;
    const char *doc;
    const struct command *command;
};

#define COMMAND_STATUS                                                                                                 \
    "Exit status: 0 ok, 1 the work failed, 2 usage, 3 nothing reachable, 4 not found, 5 full,\n"                       \
    "6 timed out, 7 not permitted, 8 damaged data."

/* --instance, --session and --json. */
extern const struct gr_option command_options[];

/* NULL: none has that name. rows may be NULL. */
const struct command_row *command_find(const struct command_row *rows, const char *name);

/* Its own struct, with what differs from zero. */
#define COMMAND_SELF(type, ...)                                                                                        \
    .size = sizeof(type), .self = &(const type)                                                                        \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define COMMAND_ZERO(type) .size = sizeof(type)

#define COMMAND(name, usage, summary, doc) extern const struct command command_##name;
#define GROUP(title)
#include "cli/command/commands.def"
#undef COMMAND
#undef GROUP

/* argv[0] is the command's name. Returns the exit status. */
int cli_run(const struct command_row *row, struct cli *cli, int argc, char **argv);

#endif
