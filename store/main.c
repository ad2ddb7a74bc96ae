/* granary-store: the store daemon of an instance. */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/log.h"
#include "base/process/daemon.h"
#include "base/process/stacks.h"
#include "options/options.h"
#include "store/store.h"

struct arguments {
    struct store_options options;
    int ready_fd; /* -1: nobody waits */
    bool die_with_parent;
};

static granary_err
take_spill_dir(void *target, char *text)
{
    struct store_options *into = &((struct arguments *)target)->options;
    uint64_t limit;
    granary_err err = gr_option_directory(text, &limit);

    if (err == GRANARY_OK && into->spill_count == GR_SPILL_DIRS) {
        err = gr_fail(GRANARY_EINVAL, "'%s' is one more than the %u that there can be", text, GR_SPILL_DIRS);
    }
    if (err == GRANARY_OK) {
        into->spill[into->spill_count++] = (struct store_place){.dir = text, .quota = limit};
    }
    return err;
}

static const struct gr_option options[] = {
    {"instance", 0, "NAME|DIR", "serve this instance; default: $GRANARY_INSTANCE, else 'default'",
     GR_OPTION_TEXT(struct arguments, options.instance)},
    {"memory", 0, "SIZE", "give objects so much memory; default: half of what cgroup, RAM and /dev/shm allow",
     GR_OPTION_SIZE(struct arguments, options.memory_bytes, 0)},
    {"spill-dir", 0, "DIR[=SIZE]",
     "write objects there when memory is full, at most so many bytes; may be given several times; default: below "
     "/var/tmp",
     GR_OPTION_TAKE(take_spill_dir)},
    {"levels", 0, "SET", "use these levels, such as 'memory|disk'; default: memory, disk, and remote with --remote-dir",
     GR_OPTION_LEVELS(struct arguments, options.levels)},
    {"remote-dir", 0, "DIR", "use this directory, such as a mounted share, as the remote level; default: none",
     GR_OPTION_TEXT(struct arguments, options.remote_dir)},
    {"remote-quota", 0, "SIZE", "write at most so many bytes to the remote level; default: what it holds",
     GR_OPTION_SIZE(struct arguments, options.remote_quota_bytes, 0)},
    {"disk-quota", 0, "SIZE", "write at most so many bytes to disk, in all directories; default: what the disks hold",
     GR_OPTION_SIZE(struct arguments, options.disk_quota_bytes, 0)},
    {"high-water", 0, "PERCENT",
     "begin to write objects to disk when those without a copy there fill so much of the memory; default: 90",
     GR_OPTION_NUMBER(struct arguments, options.high_percent, 1, 100)},
    {"low-water", 0, "PERCENT", "end writing when they fill no more than so much of it; default: 75",
     GR_OPTION_NUMBER(struct arguments, options.low_percent, 1, 100)},
    {"group", 0, "GROUP", "let members of this group connect, too; default: only the user who runs the store",
     GR_OPTION_TEXT(struct arguments, options.group)},
    {"user-memory", 0, "SIZE", "let each member of the group have so much memory; default: no limit",
     GR_OPTION_SIZE(struct arguments, options.user_bytes, 0)},
    {"listen-fd", 0, "N", "serve the socket that listens at this descriptor, and leave its file alone",
     GR_OPTION_NUMBER(struct arguments, options.listen_fd, 3, INT_MAX)},
    {"ready-fd", 0, "N", "write READY, or ERROR STATUS MESSAGE, to this descriptor",
     GR_OPTION_NUMBER(struct arguments, ready_fd, 0, INT_MAX)},
    {"fresh", 0, NULL, "give up the objects that an earlier store of the instance left, instead of adopting them",
     GR_OPTION_FLAG(struct arguments, options.fresh)},
    {"die-with-parent", 0, NULL, "stop when the parent process ends",
     GR_OPTION_FLAG(struct arguments, die_with_parent)},
    {0}};

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
    struct arguments arguments = {.ready_fd = -1};
    const struct gr_options table = {.doc = "Serve the shared-memory objects of one granary instance until SIGTERM.",
                                     .sets = {{options, &arguments, NULL}}};
    pid_t parent = getppid();
    struct store *store = NULL;
    struct gr_instance instance;
    granary_err err = GRANARY_OK;

    gr_log_init("store");
    (void)umask(077); /* nothing is anybody else's between bind and chmod */
    (void)gr_options_parse(&table, argc, argv);
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
