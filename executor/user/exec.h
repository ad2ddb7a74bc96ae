/*
 * A program that runs as an operator: exec_open.c gathers what it is started with, exec_start.c starts it, exec.c
 * attends to it.
 */
#ifndef EXECUTOR_USER_EXEC_H
#define EXECUTOR_USER_EXEC_H

#include <sys/types.h>

#include "executor/user/call.h"

struct exec {
    struct user_op *op;
    char **argv; /* its strings are the operator's */
    char **environment;
    size_t environment_count;
    int *fds;              /* inputs, all above those they become */
    int input;             /* its standard one */
    struct output *output; /* NULL: its output is printed */
    uint64_t size;         /* of the output so far */
    uint64_t error_size;   /* printed on standard error */
    int output_pipe[2];
    int error_pipe[2];
    pid_t pid;
    int pidfd;
    int64_t deadline_ns;
};

/* Command, environment, inputs and pipes. Errors: EINVAL of the operator · ENOMEM · errno's */
granary_err exec_open(struct exec *exec);
/* Give back what was opened, whatever it was. */
void exec_close(struct exec *exec);

/* Start it. Errors: ENOENT no such program · errno's */
granary_err exec_start(struct exec *exec);

#endif
