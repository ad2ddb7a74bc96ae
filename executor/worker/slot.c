/*
 * What a process of the pool does before it is a worker: follow its parent, be the kernel's first choice when memory
 * is short, confine itself between its first connections and its first thread.
 */
#include "executor/worker/slot.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/process/daemon.h"
#include "base/process/stacks.h"
#include "executor/confine/confine.h"
#include "executor/worker/worker.h"
#include "object/object.h"

/* When the machine is out of memory it is rather user code that goes than the store. */
static void
prefer_as_victim(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!write(fd, "500", 3);
        (void)close(fd);
    }
}

/* Before memory is touched and threads start. */
static granary_err
options_settle(const struct slot_options *options)
{
    granary_err err = options->parent == 0 ? GRANARY_OK : gr_daemon_follow(options->parent, SIGKILL);

    if (err != GRANARY_OK) {
        return err;
    }
    if (options->ready_fd >= 0) {
        (void)fcntl(options->ready_fd, F_SETFD, FD_CLOEXEC);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    prefer_as_victim();
    /* Chunks come and go: keep their pages warm instead of asking the kernel for fresh ones each time. */
    (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
    return GRANARY_OK;
}

struct beginning {
    const struct slot_options *options;
    struct gr_instance instance;
    int ready_fd;
    bool confined, strict;
};

/* There is a store, its files are open, its threads not there. */
static granary_err
settle_in(void *context, enum gr_confinement *ret_rung)
{
    const struct beginning *beginning = context;
    char logs[GR_LOGS_MAX];
    granary_err err;

    gr_stacks_install(beginning->instance.runtime);
    if (!beginning->confined) {
        return GRANARY_OK;
    }
    gr_instance_logs(&beginning->instance, logs);
    err = confine_broker_start(&beginning->instance);
    if (err == GRANARY_OK) {
        gr_client_set_connector(confine_broker_connect);
        err = confine(&beginning->instance, logs, beginning->options->slot, beginning->strict, ret_rung);
    }
    return err;
}

/* The scheduler knows it: what comes next runs code of users. */
static void
begun(void *context)
{
    struct beginning *beginning = context;

    if (beginning->confined && confine_connections() != GRANARY_OK) {
        gr_daemon_say_error(&beginning->ready_fd, GRANARY_EPERM);
        _exit(granary_error_exit_status(GRANARY_EPERM));
    }
    gr_daemon_say_ready(&beginning->ready_fd);
}

granary_err
slot_run(const struct slot_options *options, bool *ret_replace)
{
    struct beginning beginning = {.options = options, .ready_fd = options->ready_fd};
    struct worker *worker = NULL;
    granary_err err = options_settle(options);

    if (err == GRANARY_OK) {
        err = gr_instance_resolve(options->instance, &beginning.instance);
    }
    if (err == GRANARY_OK) {
        err = confine_wished(&beginning.confined, &beginning.strict);
    }
    if (err == GRANARY_OK) {
        err = worker_create(
            &(struct worker_options){.instance = options->instance,
                                     .slot = options->slot,
                                     .node = options->node,
                                     .settle = settle_in,
                                     .find_scheduler = beginning.confined ? confine_broker_scheduler : NULL,
                                     .keeps_connections = beginning.confined,
                                     .registered = begun,
                                     .context = &beginning},
            &worker);
    }
    if (err == GRANARY_OK) {
        err = worker_run(worker);
        *ret_replace = worker_wants_replacement(worker);
    }
    if (err != GRANARY_OK) {
        gr_daemon_say_error(&beginning.ready_fd, err);
    }
    gr_fd_close(&beginning.ready_fd);
    worker_destroy(worker);
    return err;
}
