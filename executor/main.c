/* granary-executor: the pool's supervisor (--pool), or the executor of one slot, which the supervisor starts. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/log.h"
#include "base/process/daemon.h"
#include "contract/executor_page.h"
#include "executor/pool/pool.h"
#include "executor/worker/slot.h"
#include "options/options.h"
#include "try.h"

struct arguments {
    bool pool;
    const char *instance;
    int executors;
    int ready_fd;
    bool die_with_parent;
    int slot;
    int node;
    int parent;
    const char *library;
    int answer_fd;
};

static granary_err
check(void *target)
{
    const struct arguments *arguments = target;
    bool complete = arguments->pool ? arguments->executors >= 0 : arguments->slot >= 0;

    return arguments->library != NULL || complete
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "either --pool with --executors, or --slot");
}

static const struct gr_option options[] = {
    {"pool", 'p', NULL, "start executors, and keep them running", GR_OPTION_FLAG(struct arguments, pool)},
    {"instance", 'i', "NAME|DIR", "serve this instance; default: $GRANARY_INSTANCE, else 'default'",
     GR_OPTION_TEXT(struct arguments, instance)},
    {"executors", 'n', "COUNT", "with --pool: start so many executors",
     GR_OPTION_NUMBER(struct arguments, executors, 0, POOL_SLOTS_MAX)},
    {"ready-fd", 0, "FD", "write READY, or ERROR STATUS MESSAGE, to this descriptor",
     GR_OPTION_NUMBER(struct arguments, ready_fd, 0, INT_MAX)},
    {"die-with-parent", 0, NULL, "with --pool: stop when the parent process ends",
     GR_OPTION_FLAG(struct arguments, die_with_parent)},
    {"slot", 0, "NUMBER", "be the executor of this slot", GR_OPTION_NUMBER(struct arguments, slot, 0, 1023),
     .group = 1},
    {"node", 0, "NUMBER", "run on this NUMA node", GR_OPTION_NUMBER(struct arguments, node, 0, INT_MAX), .group = 1},
    {"parent", 0, "PID", "stop when this process, the pool, ends",
     GR_OPTION_NUMBER(struct arguments, parent, 1, INT_MAX), .group = 1},
    {"try-library", 0, "FILE", "load a library on trial, and answer with what it declares",
     GR_OPTION_TEXT(struct arguments, library), .group = 2},
    {"answer-fd", 0, "FD", "answer on this descriptor; default: standard output",
     GR_OPTION_NUMBER(struct arguments, answer_fd, 0, INT_MAX), .group = 2},
    {0}};

/*
 * OpenBLAS starts its threads when it is loaded. Executors are the parallelism here, and the pool must have no threads
 * when it forks: begin again with that said.
 */
static void
without_blas_threads(char **argv)
{
    const char *threads = getenv("OPENBLAS_NUM_THREADS");

    if (threads == NULL || strcmp(threads, "1") != 0) {
        if (setenv("OPENBLAS_NUM_THREADS", "1", 1) == 0) {
            (void)execv("/proc/self/exe", argv);
        }
    }
}

static granary_err
run(const struct arguments *arguments, bool *ret_replace)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

    if (arguments->pool) {
        if (length < 0) {
            return gr_fail_errno("/proc/self/exe");
        }
        program[length] = '\0';
        return pool_run(&(struct pool_options){
            .program = program,
            .instance = arguments->instance,
            .executors = arguments->executors,
            .ready_fd = arguments->ready_fd,
            .die_with_parent = arguments->die_with_parent,
        });
    }
    return slot_run(
        &(struct slot_options){
            .instance = arguments->instance,
            .slot = arguments->slot,
            .node = arguments->node,
            .parent = arguments->parent,
            .ready_fd = arguments->ready_fd,
        },
        ret_replace);
}

static granary_err
arm_faults(const struct arguments *arguments)
{
    int ready_fd = arguments->ready_fd;
    granary_err err = gr_fault_arm(GR_FAULT_EXECUTOR);

    if (err != GRANARY_OK) {
        gr_daemon_say_error(&ready_fd, err);
    }
    return err;
}

int
main(int argc, char **argv)
{
    struct arguments arguments = {.executors = -1, .ready_fd = -1, .slot = -1, .answer_fd = STDOUT_FILENO};
    const struct gr_options table = {
        .doc = "Run the subtasks of one granary instance.\v`granary up` starts it; nobody else needs to.",
        .sets = {{options, &arguments, NULL}},
        .check = check};
    bool replace = false;
    granary_err err;

    without_blas_threads(argv);
    (void)gr_options_parse(&table, argc, argv);
    gr_log_init(arguments.pool ? "pool" : "executor");
    if (arguments.library != NULL) {
        err = try_library(arguments.library, arguments.answer_fd);
        _exit(granary_error_exit_status(err));
    }
    err = arm_faults(&arguments);
    if (err == GRANARY_OK) {
        err = run(&arguments, &replace);
    }
    if (err != GRANARY_OK) {
        gr_log_error("LEAVE", "%s", granary_error_message());
        return granary_error_exit_status(err);
    }
    return replace ? GR_EXECUTOR_REPLACE : 0;
}
