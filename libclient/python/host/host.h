/*
 * host: a library for executors whose one function is run by a program that stays: an interpreter with its modules loaded. host.c
 * keeps the programs, exchange.c speaks with them. docs/protocol.md, "Hosted functions", has what goes over their socket.
 */
#ifndef PYTHON_HOST_H
#define PYTHON_HOST_H

#include <stdint.h>
#include <sys/types.h>

#include "granary/call.h"

/* The program's end of the socket. */
#define HOST_FD 3

/* A program's exit status when it leaves between two calls (EX_TEMPFAIL): what it was sent meanwhile did not begin. */
#define HOST_LEFT 75

/* A program that runs, for one session of one executor. */
struct host {
    struct host *next; /* used before this one */
    char *command;     /* and environment: what it was started with */
    char *environment;
    pid_t pid; /* and its process group */
    int fd;    /* socket */
};

/* The session's programs, newest use first. */
struct hosts {
    struct host *first;
};

/*
 * Have the program run the call, and take its outputs.
 *
 * ret_broken  what is left of the conversation makes no sense: the program is to be ended
 * Errors      ECANCELLED · EFAILED what the program said, or that it died · EPROTO · of the outputs
 */
granary_err host_exchange(granary_call *call, struct host *host, bool *ret_broken);

#endif
