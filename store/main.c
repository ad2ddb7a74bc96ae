/* granary-store: the store daemon of an instance. */
#include <argp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/daemon.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/log.h"
#include "base/size.h"
#include "base/stacks.h"
#include "store/store.h"

struct arguments {
    struct store_options options;
    int ready_fd; /* -1: nobody waits */
    bool die_with_parent;
};

enum {
    OPT_INSTANCE = 256,
    OPT_MEMORY,
    OPT_SPILL_DIR,
    OPT_DISK_QUOTA,
    OPT_HIGH_WATER,
    OPT_LOW_WATER,
    OPT_LEVELS,
    OPT_REMOTE_DIR,
    OPT_REMOTE_QUOTA,
    OPT_GROUP,
    OPT_READY_FD,
    OPT_DIE_WITH_PARENT,
    OPT_FRESH,
};

const char *argp_program_version = "granary-store " GRANARY_VERSION;

static const struct argp_option options[] = {
    {"instance", OPT_INSTANCE, "NAME|DIR", 0, "the instance to serve (default: $GRANARY_INSTANCE, else 'default')", 0},
    {"memory", OPT_MEMORY, "SIZE", 0,
     "memory budget; K, M, G, T are understood (default: half of what cgroup, RAM and /dev/shm allow)", 0},
    {"spill-dir", OPT_SPILL_DIR, "DIR", 0, "where objects go when memory is full (default: below /var/tmp)", 0},
    {"levels", OPT_LEVELS, "SET", 0,
     "levels to use, such as 'memory|disk|remote' (default: memory, disk, and remote with --remote-dir)", 0},
    {"remote-dir", OPT_REMOTE_DIR, "DIR", 0, "the remote level: a directory, such as a mounted share", 0},
    {"remote-quota", OPT_REMOTE_QUOTA, "SIZE", 0, "most bytes there (default: what it holds)", 0},
    {"disk-quota", OPT_DISK_QUOTA, "SIZE", 0, "most bytes of spill files (default: what the disk holds)", 0},
    {"high-water", OPT_HIGH_WATER, "PERCENT", 0,
     "of the budget in objects without a copy on disk: from here on they are written by themselves (default: 90)", 0},
    {"low-water", OPT_LOW_WATER, "PERCENT", 0, "... and until here (default: 75)", 0},
    {"group", OPT_GROUP, "GROUP", 0,
     "let members of this group connect too (default: only the user who runs the store)", 0},
    {"ready-fd", OPT_READY_FD, "N", 0, "write READY, or ERROR and why, to this descriptor", 0},
    {"fresh", OPT_FRESH, NULL, 0,
     "give up the objects that an earlier store of the instance left, instead of adopting them", 0},
    {"die-with-parent", OPT_DIE_WITH_PARENT, NULL, 0, "stop when the process that started this one ends", 0},
    {0},
};

static error_t
parse_size(struct argp_state *state, const char *text, uint64_t *ret_bytes)
{
    if (gr_size_parse(text, ret_bytes) != GRANARY_OK) {
        argp_error(state, "%s", granary_error_message());
    }
    return 0;
}

static error_t
parse_percent(struct argp_state *state, const char *text, unsigned *ret_percent)
{
    char *end;
    unsigned long percent = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || percent < 1 || percent > 100) {
        argp_error(state, "'%s' is not a percentage from 1 to 100", text);
    }
    *ret_percent = (unsigned)percent;
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
    case OPT_LEVELS:
        if (granary_levels_parse(text, &arguments->options.levels) != GRANARY_OK) {
            argp_error(state, "%s", granary_error_message());
        }
        return 0;
    case OPT_REMOTE_DIR:
        arguments->options.remote_dir = text;
        return 0;
    case OPT_REMOTE_QUOTA:
        return parse_size(state, text, &arguments->options.remote_quota_bytes);
    case OPT_DISK_QUOTA:
        return parse_size(state, text, &arguments->options.disk_quota_bytes);
    case OPT_HIGH_WATER:
        return parse_percent(state, text, &arguments->options.high_percent);
    case OPT_LOW_WATER:
        return parse_percent(state, text, &arguments->options.low_percent);
    case OPT_GROUP:
        arguments->options.group = text;
        return 0;
    case OPT_READY_FD:
        arguments->ready_fd = (int)strtol(text, &end, 10);
        if (*end != '\0' || arguments->ready_fd < 0) {
            argp_error(state, "'%s' is not a descriptor", text);
        }
        return 0;
    case OPT_FRESH:
        arguments->options.fresh = true;
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

/* Nobody of the same user may trace the store, or reach its descriptors through /proc. */
static void
conceal(void)
{
#ifndef __SANITIZE_ADDRESS__ /* whose leak check traces its own process */
    (void)prctl(PR_SET_DUMPABLE, 0);
#endif
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
    struct gr_instance instance;
    granary_err err = GRANARY_OK;

    argp_err_exit_status = granary_error_exit_status(GRANARY_EINVAL);
    gr_log_init("store");
    (void)umask(077); /* nothing is anybody else's between bind and chmod */
    (void)argp_parse(&parser, argc, argv, 0, NULL, &arguments);
    conceal();
    arguments.options.stop_fd = gr_daemon_open_stop();
    if (arguments.options.stop_fd < 0) {
        err = gr_fail_errno("signals");
    }
    if (err == GRANARY_OK) {
        err = gr_fault_arm(GR_FAULT_STORE);
    }
    if (err == GRANARY_OK && arguments.die_with_parent) {
        err = gr_daemon_follow(parent, SIGTERM);
    }
    if (err == GRANARY_OK && gr_instance_resolve(arguments.options.instance, &instance) == GRANARY_OK) {
        gr_stacks_install(instance.runtime);
    }
    if (err == GRANARY_OK) {
        err = store_create(&arguments.options, &store);
    }
    if (err != GRANARY_OK) {
        gr_log_error("STORE-FAILED", "%s", granary_error_message());
        gr_daemon_say_error(&arguments.ready_fd, err);
    } else {
        gr_daemon_say_ready(&arguments.ready_fd);
        store_run(store);
        gr_log_info("STORE-STOPPED", "after an orderly stop");
    }
    store_destroy(store);
    gr_fd_close(&arguments.options.stop_fd);
    return granary_error_exit_status(err);
}
