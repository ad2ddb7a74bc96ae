#include "executor/slot.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "base/daemon.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/stacks.h"
#include "executor/worker.h"

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
settle(const struct slot_options *options)
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

static void
say_ready(void *context)
{
    gr_daemon_say_ready(context);
}

granary_err
slot_run(const struct slot_options *options, bool *ret_replace)
{
    int ready_fd = options->ready_fd;
    struct worker *worker = NULL;
    struct gr_instance instance;
    granary_err err = settle(options);

    if (err == GRANARY_OK) {
        err = worker_create(&(struct worker_options){.instance = options->instance,
                                                     .slot = options->slot,
                                                     .node = options->node,
                                                     .registered = say_ready,
                                                     .context = &ready_fd},
                            &worker);
    }
    if (err == GRANARY_OK && gr_instance_resolve(options->instance, &instance) == GRANARY_OK) {
        gr_stacks_install(instance.runtime);
    }
    if (err == GRANARY_OK) {
        err = worker_run(worker);
        *ret_replace = worker_wants_replacement(worker);
    }
    if (err != GRANARY_OK) {
        gr_daemon_say_error(&ready_fd, err);
    }
    gr_fd_close(&ready_fd);
    worker_destroy(worker);
    return err;
}
