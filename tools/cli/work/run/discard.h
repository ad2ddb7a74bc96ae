/*
 * A graph, or a statement that changes tables, that is to leave nothing, whatever ends the command that runs it. A small
 * process beside the command waits for its end, and forgets it if the command has not done so. It also removes a file that
 * the graph reads. When the command is interrupted (Ctrl-C, SIGTERM) it waits for that, says on stderr what became of the
 * graph, and exits with 128 and the signal's number.
 */
#ifndef CLI_DISCARD_H
#define CLI_DISCARD_H

#include <sys/types.h>

#include "cli/command/cli.h"

struct discard {
    pid_t pid; /* of the process beside it; 0: none */
    int fd;    /* its end tells ours */
};

struct discard_options {
    const char *what;  /* in messages: "sql", "load t" */
    const char *stays; /* the name that goes on meaning what it meant before; NULL: none */
    const char *file;  /* one that ends with the command, too, whatever ends it; NULL: none */
    /* What the key names is no graph: forget it, and return an exit status. And what is told when that is done, and when
     * nobody knows. */
    int (*forget)(struct cli *cli, const char *key);
    const char *outcome;
    const char *unsure;
    bool only_interrupted; /* kill -9 leaves the graph, and so does a normal end */
    pid_t private_pid; /* of the supervisor of an instance that ends with the command: nothing else is needed; or 0 */
};

/* To be called before there are threads, and once. Without a process (no memory, too many) the graph may stay: that is
 * said on stderr, and the command goes on. */
void discard_begin(const struct cli *cli, const struct discard_options *options, struct discard *ret_discard);
/* This graph is submitted next; once. A signal that comes before the answer takes effect behind it. is_fresh: the key is
 * nobody else's, whatever the answer is: a kill may come before that. */
void discard_submitting(const struct discard *discard, const char *key, bool is_fresh);
void discard_submitted(const struct discard *discard, const char *key);
/* It stays, under this key. */
void discard_keep(const struct discard *discard, const char *key);
/* Nothing is to be forgotten any more. */
void discard_end(struct discard *discard);

#endif
