/*
 * What the commands of `granary` share: a connection, errors and values. Data goes to stdout, the rest to stderr as
 * `granary: what: why: what to do`.
 */
#ifndef CLI_H
#define CLI_H

#include <limits.h>
#include <stdbool.h>

#include "base/instance.h"
#include "granary/granary.h"

struct cli {
    const char *instance; /* --instance, or NULL: the environment, else "default" */
    const char *session;  /* --session, or NULL */
    bool json;
    const char *name;       /* of the command, as errors begin */
    const char *usage_name; /* "granary NAME" */
    void *self;             /* the command's own struct: its options, and what it needs */
    char **arguments;       /* behind the options */
    int count;
    granary_client *client; /* cli_connect(); NULL: there is none */
};

/* Print `granary: WHAT: message` of the calling thread's last error and return its exit status. */
int cli_fail(granary_err err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a message that names its thing already, as the library's about objects do. */
int cli_fail_plain(granary_err err);

/* Print `granary: TEXT` on stderr: nothing has failed. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Connect cli->client to the instance's store, for what stores something: a session that is named and not there is
 * made, and said to be. Returns the exit status, with the error printed.
 */
int cli_connect(struct cli *cli);
/* The same for what looks at what is there, or works on it: a session that is named and not there is an error, not
 * made. */
int cli_connect_existing(struct cli *cli);

/* 1536 as "1.5 KiB". Returns buffer. */
const char *cli_format_size(uint64_t bytes, char buffer[32]);

/* The ending of a noun after a number. */
static inline const char *
cli_plural(uint64_t number)
{
    return number == 1 ? "" : "s";
}

/* An id from a unique prefix of its hex digits, or from "name:NAME": what NAME is bound to, else the object that
 * `put --id-from` gave its id. Prints the error. Returns the exit status. */
int cli_find(granary_client *client, const char *text, granary_id *ret_id);

/* A value on a line of its own; with --json, an object with it. */
void cli_print_value(const struct cli *cli, const char *key, const char *text);
void cli_print_id(const struct cli *cli, granary_id id);

/* What errors call stdout: the file that it was redirected to, or "stdout". */
const char *cli_stdout_name(char buffer[PATH_MAX]);
/* Write to stdout or a file; a failing stdout ends in an error message. */
int cli_write_file(const char *path, const void *bytes, size_t size);
/* Remove a file that could not be written to its end: nobody is to take half of it for the whole. What is no regular file
 * stays. */
void cli_remove_half(const char *path);

#endif
