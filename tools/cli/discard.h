/*
 * A graph that is to leave nothing, whatever ends the command that runs it, kill -9 and Ctrl-C too: a small process
 * beside it waits for its end, and forgets the graph if the command has not done so.
 */
#ifndef CLI_DISCARD_H
#define CLI_DISCARD_H

#include <sys/types.h>

#include "cli.h"

struct discard {
    pid_t pid; /* of the process beside it; 0: none */
    int fd;    /* its end tells ours */
};

/* To be called before there are threads. Without a process (no memory, too many) the graph may stay: that is said on
 * stderr, and the command goes on. */
void discard_begin(const struct cli *cli, struct discard *ret_discard);
/* This graph; once. */
void discard_graph(const struct discard *discard, const char *key);
/* Nothing is to be forgotten any more. */
void discard_end(struct discard *discard);

#endif
