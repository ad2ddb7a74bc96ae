/* The supervisor seen from outside: started, found, stopped. What it does itself is in supervise.c. */
#include "cli/instance/supervisor/supervisor_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/process/daemon.h"
#include "cli/instance/supervisor/leftovers.h"
#include "topology/topology.h"

/* So long the lock may be held by somebody who only looks, on a machine that is busy. */
#define LOOK_MS 2000

static granary_err
lock_take(const struct gr_instance *instance, bool create, int *ret_fd, pid_t *ret_holder)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/" LEFTOVERS_LOCK, instance->runtime);
    return gr_daemon_lock(path, create, ret_fd, ret_holder);
}

/*
 * To become its holder for life. Who only looks whether there is one (`granary status`) has to take the lock for that,
 * for microseconds, and writes no pid into it.
 */
static granary_err
lock_own(const struct gr_instance *instance, int *ret_fd, pid_t *ret_holder)
{
    int64_t deadline = gr_deadline_ns(LOOK_MS);
    granary_err err;

    while ((err = lock_take(instance, true, ret_fd, ret_holder)) == GRANARY_EBUSY && !gr_process_lives(*ret_holder) &&
           gr_now_ns() < deadline) {
        (void)poll(NULL, 0, 1);
    }
    return err;
}

/* What the supervisor reported: its start's error. */
static granary_err
read_report(int fd)
{
    char message[1024];
    size_t used = 0;
    int32_t code;
    ssize_t n;

    do {
        n = read(fd, &code, sizeof code);
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof code) {
        return gr_fail(GRANARY_EFAILED, "the supervisor ended before the instance was ready");
    }
    if (code == 0) {
        return GRANARY_OK;
    }
    while (used < sizeof message - 1 && (n = read(fd, message + used, sizeof message - 1 - used)) > 0) {
        used += (size_t)n;
    }
    message[used] = '\0';
    return gr_fail((granary_err)code, "%s", message);
}

/* Who is told to end while an instance starts does not want it: it is stopped. */
static granary_err
await_report(int fd, pid_t pid)
{
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    bool stopped = false;
    struct signalfd_siginfo told;
    sigset_t stop, before;
    int signal_fd;
    granary_err err;

    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGINT);
    (void)sigaddset(&stop, SIGTERM);
    (void)sigaddset(&stop, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &stop, &before);
    signal_fd = fds[1].fd = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
    while (fds[0].revents == 0) {
        if (poll(fds, 2, -1) > 0 && read(signal_fd, &told, sizeof told) > 0) {
            stopped = kill(pid, SIGTERM) == 0;
        }
    }
    err = read_report(fd);
    gr_fd_close(&signal_fd);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return err == GRANARY_OK && stopped ? gr_fail(GRANARY_ECANCELLED, "stopped when it was just up") : err;
}

/* The daemons run elsewhere and find a topology file by its whole path. One that is wrong is to be told at once. */
static granary_err
settle_topology(void)
{
    const char *name = getenv("GRANARY_TOPOLOGY");
    struct topology topology;
    char path[PATH_MAX];

    if (name != NULL && name[0] != '\0' && (realpath(name, path) == NULL || setenv("GRANARY_TOPOLOGY", path, 1) < 0)) {
        return gr_fail_errno("topology file %s", name);
    }
    return topology_read(&topology);
}

/* Its directory, and the lock that says that an instance is up. Errors: EEXIST one is · EINVAL, EPERM the directory */
static granary_err
take_place(struct supervisor *self)
{
    const struct supervisor_options *options = self->options;
    pid_t holder;
    granary_err err = gr_instance_check_own(options->instance.runtime);

    if (err == GRANARY_OK) {
        err = gr_instance_make(&options->instance);
    }
    if (err == GRANARY_OK && options->listen_fd == 0) {
        err = leftovers_check_directory(&options->instance);
    }
    if (err == GRANARY_OK) {
        err = lock_own(&options->instance, &self->lock_fd, &holder);
        if (err == GRANARY_EBUSY) {
            err = gr_fail(GRANARY_EEXIST,
                          "instance %s is up already (pid %d in %s): use it, or stop it with `granary down`, or choose "
                          "another name with --instance",
                          options->instance.name, (int)holder, options->instance.runtime);
        }
    }
    return err;
}

/* After fork(): report_fd hears when all is ready. Never returns. */
static void
become_supervisor(struct supervisor *self, pid_t parent, int report_fd)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    granary_err err;

    /* A group of its own: a signal for everything in the foreground must leave somebody who cleans up. */
    (void)setsid();
    if (self->options->die_with_parent) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) {
            _exit(1);
        }
    }
    (void)prctl(PR_SET_NAME, "granary-superv");
    (void)chdir("/");
    (void)dup2(null_fd, STDIN_FILENO);
    (void)dup2(null_fd, STDOUT_FILENO);
    err = supervisor_main(self, report_fd);
    gr_fault_end();
    _exit(granary_error_exit_status(err));
}

granary_err
supervisor_start(const struct supervisor_options *options, pid_t *ret_pid)
{
    struct supervisor self = {.options = options, .lock_fd = -1, .signal_fd = -1, .stop_fd = -1, .notify = {.fd = -1}};
    pid_t parent = getpid();
    pid_t pid = -1;
    int report[2] = {-1, -1};
    granary_err err = settle_topology();

    err = err == GRANARY_OK ? take_place(&self) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    daemons_init(self.daemons);
    self.other_count = options->schedulers > 1 ? options->schedulers - 1 : 0;
    for (int i = 0; i < self.other_count; i++) {
        self.others[i] = DAEMON_SCHED_INIT;
    }
    /* Nobody holds the lock: whatever shared memory bears the instance's name was left by a dead one. */
    leftovers_await(&options->instance);
    self.found = leftovers_found(&options->instance);

    if (options->foreground) {
        err = supervisor_main(&self, -1);
        goto out;
    }
    if (pipe2(report, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
        err = gr_fail_errno("cannot start the supervisor");
        goto out;
    }
    if (pid == 0) {
        (void)close(report[0]);
        become_supervisor(&self, parent, report[1]);
    }
    gr_fd_close(&report[1]);
    err = options->die_with_parent ? read_report(report[0]) : await_report(report[0], pid);
    if (err != GRANARY_OK) {
        (void)waitpid(pid, NULL, 0);
    } else if (ret_pid != NULL) {
        *ret_pid = pid;
    }
out:
    gr_fd_close(&report[0]);
    gr_fd_close(&report[1]);
    gr_fd_close(&self.lock_fd); /* the supervisor has its own copy of the same lock */
    return err;
}

pid_t
supervisor_running(const struct gr_instance *instance)
{
    pid_t holder = 0;
    int fd = -1;

    (void)lock_take(instance, false, &fd, &holder);
    gr_fd_close(&fd);
    return holder;
}

/* Have a supervisor stop, by SIGTERM or SIGUSR2, and wait for its end; that it has ended already is fine. */
static granary_err
stop_supervisor(const struct gr_instance *instance, pid_t pid, int how)
{
    struct pollfd poller = {.fd = gr_pidfd_open(pid), .events = POLLIN};
    int64_t deadline = gr_deadline_ns(4 * DAEMON_STOP_TIMEOUT_MS);
    granary_err err = GRANARY_OK;
    int ended;

    if (poller.fd < 0) {
        return errno == ESRCH ? GRANARY_OK : gr_fail_errno("supervisor %d", (int)pid);
    }
    if (kill(pid, how) < 0 && errno != ESRCH) {
        err = gr_fail_errno("supervisor %d", (int)pid);
        goto out;
    }
    (void)kill(pid, SIGCONT); /* a stopped one cannot hear */
    do {
        ended = poll(&poller, 1, gr_left_ms(deadline));
    } while (ended < 0);
    if (ended == 0) {
        err = gr_fail(GRANARY_ETIMEDOUT, "the supervisor (pid %d) does not stop: see %s/log", (int)pid,
                      instance->runtime);
    }
out:
    gr_fd_close(&poller.fd);
    return err;
}

/* A store that was started by hand is not ours to stop, and its shared memory not ours to remove. */
static granary_err
sweep(const struct gr_instance *instance)
{
    char path[PATH_MAX];
    int fd = -1;

    (void)snprintf(path, sizeof path, "%s/store.lock", instance->runtime);
    if (gr_daemon_lock(path, false, &fd, NULL) == GRANARY_EBUSY) {
        return gr_fail(GRANARY_EBUSY,
                       "a store that was started by hand serves %s: stop that process; `granary top --once` tells its "
                       "pid",
                       instance->runtime);
    }
    leftovers_sweep(instance, false); /* with the lock held, where there is one: no store starts meanwhile */
    gr_fd_close(&fd);
    return GRANARY_OK;
}

granary_err
supervisor_stop(const struct gr_instance *instance, bool *ret_stale)
{
    pid_t holder;
    int fd = -1;
    granary_err err = gr_instance_check_own(instance->runtime);
    bool stale;

    if (err == GRANARY_OK) {
        err = lock_take(instance, false, &fd, &holder);
    }
    if (err == GRANARY_EPERM) {
        return err;
    }
    stale = err != GRANARY_EBUSY;
    if (err == GRANARY_EBUSY) {
        if (holder < 0) {
            return gr_fail(err, "the instance at %s is just being started: try again", instance->runtime);
        }
        err = stop_supervisor(instance, holder, SIGTERM);
        if (err != GRANARY_OK) {
            return err;
        }
        /* When it was killed rather than stopped, its daemons end by themselves, and we clean up. */
        (void)lock_take(instance, false, &fd, NULL);
    } else if (err != GRANARY_OK && !leftovers_found(instance)) {
        return gr_fail(GRANARY_EUNREACHABLE, "no instance is up at %s", instance->runtime);
    }
    err = GRANARY_OK;
    if (fd >= 0 || stale) {
        leftovers_await(instance);
        err = sweep(instance);
        gr_fd_close(&fd);
    }
    if (ret_stale != NULL) {
        *ret_stale = stale;
    }
    return err;
}

granary_err
supervisor_make_way(const struct gr_instance *instance)
{
    granary_err err = gr_instance_check_own(instance->runtime);
    pid_t holder = err == GRANARY_OK ? supervisor_running(instance) : 0;

    /* One of a release that does not know the signal is killed by it, which comes to the same. */
    return err == GRANARY_OK && holder > 0 ? stop_supervisor(instance, holder, SIGUSR2) : err;
}
