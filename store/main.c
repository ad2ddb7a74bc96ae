/* granary-store: the store daemon of an instance. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "store/store.h"

struct arguments {
    struct store_options options;
    int ready_fd; /* -1: nobody waits */
    bool die_with_parent;
};

enum { OPT_INSTANCE = 256, OPT_MEMORY, OPT_SPILL_DIR, OPT_DISK_QUOTA, OPT_READY_FD, OPT_DIE_WITH_PARENT };

const char *argp_program_version = "granary-store " GRANARY_VERSION;

static const struct argp_option options[] = {
    {"instance", OPT_INSTANCE, "NAME|DIR", 0, "the instance to serve (default: $GRANARY_INSTANCE, else 'default')", 0},
    {"memory", OPT_MEMORY, "SIZE", 0,
     "memory budget; K, M, G, T are understood (default: half of what cgroup, RAM and /dev/shm allow)", 0},
    {"spill-dir", OPT_SPILL_DIR, "DIR", 0, "where objects go when memory is full (default: below /var/tmp)", 0},
    {"disk-quota", OPT_DISK_QUOTA, "SIZE", 0, "most bytes of spill files (default: what the disk holds)", 0},
    {"ready-fd", OPT_READY_FD, "N", 0, "write READY, or ERROR and why, to this descriptor", 0},
    {"die-with-parent", OPT_DIE_WITH_PARENT, NULL, 0, "stop when the process that started this one ends", 0},
    {0},
};

static error_t
parse_size(struct argp_state *state, const char *text, uint64_t *ret_bytes)
{
    if (store_parse_size(text, ret_bytes) != GRANARY_OK) {
        argp_error(state, "%s", granary_error_message());
    }
    return 0;
}

static error_t
parse(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    char *end;

    switch (key) {
    case OPT_INSTANCE:
        arguments->options.instance = text;
        return 0;
    case OPT_MEMORY:
        return parse_size(state, text, &arguments->options.memory_bytes);
    case OPT_SPILL_DIR:
        arguments->options.spill_dir = text;
        return 0;
    case OPT_DISK_QUOTA:
        return parse_size(state, text, &arguments->options.disk_quota_bytes);
    case OPT_READY_FD:
        arguments->ready_fd = (int)strtol(text, &end, 10);
        if (*end != '\0' || arguments->ready_fd < 0) {
            argp_error(state, "'%s' is not a descriptor", text);
        }
        return 0;
    case OPT_DIE_WITH_PARENT:
        arguments->die_with_parent = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void
tell(int *ready_fd, const char *text)
{
    if (*ready_fd >= 0) {
        (void)gr_write_all(*ready_fd, text, strlen(text));
        gr_fd_close(ready_fd);
    }
}

/* SIGTERM and SIGINT become readable; nothing else interrupts the loop. */
static int
open_signals(void)
{
    sigset_t set;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static granary_err
follow_parent(bool die_with_parent, pid_t parent)
{
    if (!die_with_parent) {
        return GRANARY_OK;
    }
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0) {
        return gr_fail_errno("--die-with-parent");
    }
    /* It may have ended before the kernel knew that we care. */
    return getppid() == parent ? GRANARY_OK : gr_fail(GRANARY_ECANCELLED, "the process that started this one is gone");
}

int
main(int argc, char **argv)
{
    static const struct argp parser = {
        options, parse, NULL, "Serve the shared-memory objects of one granary instance until SIGTERM.",
        NULL,    NULL,  NULL};
    struct arguments arguments = {.ready_fd = -1};
    pid_t parent = getppid();
    struct store *store = NULL;
    char text[1200];
    granary_err err;

    argp_err_exit_status = granary_error_exit_status(GRANARY_EINVAL);
    gr_log_init("store");
    (void)argp_parse(&parser, argc, argv, 0, NULL, &arguments);
    arguments.options.stop_fd = open_signals();
    err = arguments.options.stop_fd < 0 ? gr_fail_errno("signals") : follow_parent(arguments.die_with_parent, parent);
    if (err == GRANARY_OK) {
        err = store_create(&arguments.options, &store);
    }
    if (err != GRANARY_OK) {
        (void)snprintf(text, sizeof text, "ERROR %d %s\n", granary_error_exit_status(err), granary_error_message());
        gr_log_error("STORE-FAILED", "%s", granary_error_message());
        tell(&arguments.ready_fd, text);
    } else {
        tell(&arguments.ready_fd, "READY\n");
        store_run(store);
        gr_log_info("STORE-STOPPED", "after an orderly stop");
    }
    store_destroy(store);
    gr_fd_close(&arguments.options.stop_fd);
    return granary_error_exit_status(err);
}
