/* granary-executor: the pool's supervisor (--pool), or the executor of one slot, which the supervisor starts. */
#include <argp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/daemon.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/log.h"
#include "contract/executor_page.h"
#include "executor/pool/pool.h"
#include "executor/worker/slot.h"
#include "try.h"

const char *argp_program_version = "granary-executor " GRANARY_VERSION;

enum { OPTION_READY = 256, OPTION_DIE, OPTION_SLOT, OPTION_NODE, OPTION_PARENT, OPTION_TRY, OPTION_ANSWER };

struct arguments {
    bool pool;
    const char *instance;
    long executors;
    long ready_fd;
    bool die_with_parent;
    long slot;
    long node;
    long parent;
    const char *library;
    long answer_fd;
};

static const struct argp_option options[] = {
    {"pool", 'p', NULL, 0, "Start executors and keep them running", 0},
    {"instance", 'i', "NAME", 0, "Instance: a name, or its directory", 0},
    {"executors", 'n', "COUNT", 0, "With --pool: how many", 0},
    {"ready-fd", OPTION_READY, "FD", 0, "Say \"READY\" there, or \"ERROR <status> <why>\"", 0},
    {"die-with-parent", OPTION_DIE, NULL, 0, "With --pool: leave when the parent dies", 0},
    {"slot", OPTION_SLOT, "NUMBER", 0, "Be the executor of this slot", 1},
    {"node", OPTION_NODE, "NUMBER", 0, "NUMA node it is on", 1},
    {"parent", OPTION_PARENT, "PID", 0, "The pool: without it there is no reason to live", 1},
    {"try-library", OPTION_TRY, "FILE", 0, "Load a library on trial and answer what it declares", 2},
    {"answer-fd", OPTION_ANSWER, "FD", 0, "Where to answer; standard output", 2},
    {0},
};

static long
parse_number(struct argp_state *state, const char *option, const char *text, long min, long max)
{
    char *rest;
    long value = strtol(text, &rest, 10);

    if (*text == '\0' || *rest != '\0' || value < min || value > max) {
        argp_error(state, "--%s: '%s' is not a number from %ld to %ld", option, text, min, max);
    }
    return value;
}

static error_t
parse(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 'p':
        arguments->pool = true;
        return 0;
    case 'i':
        arguments->instance = text;
        return 0;
    case 'n':
        arguments->executors = parse_number(state, "executors", text, 0, POOL_SLOTS_MAX);
        return 0;
    case OPTION_READY:
        arguments->ready_fd = parse_number(state, "ready-fd", text, 0, INT_MAX);
        return 0;
    case OPTION_DIE:
        arguments->die_with_parent = true;
        return 0;
    case OPTION_SLOT:
        arguments->slot = parse_number(state, "slot", text, 0, 1023);
        return 0;
    case OPTION_NODE:
        arguments->node = parse_number(state, "node", text, 0, INT_MAX);
        return 0;
    case OPTION_PARENT:
        arguments->parent = parse_number(state, "parent", text, 1, INT_MAX);
        return 0;
    case OPTION_TRY:
        arguments->library = text;
        return 0;
    case OPTION_ANSWER:
        arguments->answer_fd = parse_number(state, "answer-fd", text, 0, INT_MAX);
        return 0;
    case ARGP_KEY_END:
        if (arguments->library != NULL) {
            return 0;
        }
        if (arguments->pool ? arguments->executors < 0 : arguments->slot < 0) {
            argp_error(state, "either --pool with --executors, or --slot");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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
            .executors = (int)arguments->executors,
            .ready_fd = (int)arguments->ready_fd,
            .die_with_parent = arguments->die_with_parent,
        });
    }
    return slot_run(
        &(struct slot_options){
            .instance = arguments->instance,
            .slot = (int)arguments->slot,
            .node = (int)arguments->node,
            .parent = (int)arguments->parent,
            .ready_fd = (int)arguments->ready_fd,
        },
        ret_replace);
}

static granary_err
arm_faults(const struct arguments *arguments)
{
    int ready_fd = (int)arguments->ready_fd;
    granary_err err = gr_fault_arm(GR_FAULT_EXECUTOR);

    if (err != GRANARY_OK) {
        gr_daemon_say_error(&ready_fd, err);
    }
    return err;
}

int
main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Run the subtasks of a granary instance.\vgranary up starts it; nobody else needs to.",
    };
    struct arguments arguments = {.executors = -1, .ready_fd = -1, .slot = -1, .answer_fd = STDOUT_FILENO};
    bool replace = false;
    granary_err err;

    without_blas_threads(argv);
    argp_err_exit_status = granary_error_exit_status(GRANARY_EINVAL);
    (void)argp_parse(&argp, argc, argv, ARGP_NO_ARGS, NULL, &arguments);
    gr_log_init(arguments.pool ? "pool" : "executor");
    if (arguments.library != NULL) {
        err = try_library(arguments.library, (int)arguments.answer_fd);
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
