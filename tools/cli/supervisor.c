#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/daemon.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/roster.h"
#include "daemons.h"
#include "granary/store.h"
#include "leftovers.h"
#include "topology/topology.h"

/* A daemon that ended so often, each time so soon after its start, will do so again. */
#define QUICK_DEATHS 5
#define QUICK_NS     1000000000
/* How long to wait, before instance.json is written, for a scheduler that takes over. */
#define ACTIVE_MS 1000

struct supervisor {
    const struct supervisor_options *options;
    int lock_fd;
    int signal_fd;
    struct daemon daemons[DAEMONS];                      /* in starting order; stopped in reverse */
    struct daemon others[SUPERVISOR_SCHEDULERS_MAX - 1]; /* schedulers beside the one in daemons; which is active, the
                                                            roster tells */
    int other_count;
    char memory[32]; /* the store's budget in bytes, once it is up: the scheduler plans with it */
    int64_t started_ms;
    bool found; /* what another one left when it was killed: the store adopts it */
};

static granary_err
lock_take(const struct gr_instance *instance, bool create, int *ret_fd, pid_t *ret_holder)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/" LEFTOVERS_LOCK, instance->runtime);
    return gr_daemon_lock(path, create, ret_fd, ret_holder);
}

/* Scheduler i of all: the one in daemons is the first. */
static struct daemon *
scheduler(struct supervisor *self, int i)
{
    return i == 0 ? &self->daemons[DAEMON_SCHED] : &self->others[i - 1];
}

/* The process that is the active scheduler, or any that may become it; 0: none runs. */
static pid_t
active_scheduler(const struct supervisor *self)
{
    struct gr_roster_entry entry;

    if (gr_roster_read(&self->options->instance, &entry, 1) > 0 && entry.active) {
        return (pid_t)entry.pid;
    }
    return self->daemons[DAEMON_SCHED].pid;
}

/* One that waited is active in a moment. */
static void
await_active(const struct supervisor *self)
{
    struct gr_roster_entry entry;
    int64_t deadline = gr_deadline_ns(ACTIVE_MS);

    while ((gr_roster_read(&self->options->instance, &entry, 1) == 0 || !entry.active) && gr_now_ns() < deadline) {
        (void)poll(NULL, 0, 5);
    }
}

/* Those that wait end first, or they would take over. */
static void
stop_schedulers(struct supervisor *self)
{
    pid_t active = active_scheduler(self);

    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i <= self->other_count; i++) {
            if (pass == 1 || scheduler(self, i)->pid != active) {
                daemon_stop(scheduler(self, i));
            }
        }
    }
}

static void
stop_all(struct supervisor *self)
{
    daemon_stop(&self->daemons[DAEMON_POOL]);
    stop_schedulers(self);
    daemon_stop(&self->daemons[DAEMON_STORE]);
    leftovers_sweep(&self->options->instance);
}

/*
 * The instance cannot go on, and nobody asked for its end. An orderly stop would take the objects along; so the store
 * is killed, and what it has waits for `granary up`, or for `granary down`. Of a private instance nobody would come.
 */
static void
give_up(struct supervisor *self)
{
    if (self->options->die_with_parent) {
        stop_all(self);
        return;
    }
    daemon_stop(&self->daemons[DAEMON_POOL]);
    stop_schedulers(self);
    daemon_kill(&self->daemons[DAEMON_STORE]);
}

static granary_err
write_instance_file(const struct supervisor *self)
{
    const struct supervisor_options *options = self->options;
    const struct daemon *store = &self->daemons[DAEMON_STORE];
    const struct daemon *sched = &self->daemons[DAEMON_SCHED];
    const struct daemon *pool = &self->daemons[DAEMON_POOL];
    int restarts = sched->restarts;
    char path[PATH_MAX];
    char text[2048];
    int length;
    granary_err err;
    int fd;

    for (int i = 0; i < self->other_count; i++) {
        restarts += self->others[i].restarts;
    }
    (void)snprintf(path, sizeof path, "%s/instance.json", options->instance.runtime);
    length = snprintf(
        text, sizeof text,
        "{\"version\": \"%s\", \"supervisor_pid\": %d, \"store_pid\": %d, \"sched_pid\": %d, \"pool_pid\": %d, "
        "\"store_restarts\": %d, \"sched_restarts\": %d, \"pool_restarts\": %d, "
        "\"executors\": %d, \"started_at_ms\": %lld, \"shm_prefix\": \"%s\"}\n",
        granary_version(), (int)getpid(), (int)store->pid, (int)active_scheduler(self), (int)pool->pid, store->restarts,
        restarts, pool->restarts, options->executors, (long long)self->started_ms, options->instance.shm_prefix);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return gr_fail_errno("%s", path);
    }
    err = gr_write_all(fd, text, (size_t)length);
    gr_fd_close(&fd);
    return err;
}

static granary_err
ask_memory(struct supervisor *self)
{
    granary_connect_options options = {.instance = self->options->instance.runtime, .tag = "supervisor"};
    granary_client *client = NULL;
    granary_store_stat stat;
    granary_err err = granary_connect(&options, &client);

    if (err == GRANARY_OK) {
        err = granary_store_stat_get(client, &stat);
    }
    if (err == GRANARY_OK) {
        (void)snprintf(self->memory, sizeof self->memory, "%llu", (unsigned long long)stat.capacity_bytes);
    }
    granary_disconnect(client);
    return err;
}

static granary_err
start_all(struct supervisor *self)
{
    granary_err err;

    self->started_ms = gr_wall_ms();
    err = daemon_start(&self->daemons[DAEMON_STORE], self->options, self->options->memory, NULL);

    if (err == GRANARY_OK) {
        err = ask_memory(self);
    }
    for (int i = 0; i <= self->other_count && err == GRANARY_OK; i++) {
        err = daemon_start(scheduler(self, i), self->options, self->memory, NULL);
    }
    if (err == GRANARY_OK) {
        err = daemon_start(&self->daemons[DAEMON_POOL], self->options, self->memory, &self->daemons[DAEMON_SCHED]);
    }
    return err == GRANARY_OK ? write_instance_file(self) : err;
}

/* Start the store anew: it takes over what the last one had. One that ends meanwhile is tried again, but not for ever.
 */
static granary_err
store_again(struct supervisor *self)
{
    struct daemon *store = &self->daemons[DAEMON_STORE];
    granary_err err = GRANARY_ELOST;

    for (int tries = 0; tries < QUICK_DEATHS && err == GRANARY_ELOST; tries++) {
        daemon_stop(store); /* one that ended while it started; this takes note */
        err = daemon_start(store, self->options, self->memory, NULL);
        store->restarts++;
    }
    return err;
}

/* A scheduler that has ended while we were busy is noted. */
static bool
scheduler_has_ended(struct daemon *daemon)
{
    if (daemon->pid > 0 && waitpid(daemon->pid, NULL, WNOHANG) == daemon->pid) {
        daemon->pid = 0;
    }
    return daemon->pid == 0;
}

/* Start the schedulers and the pool that are gone anew; likewise. Executors outlive schedulers. */
static granary_err
sched_again(struct supervisor *self)
{
    struct daemon *pool = &self->daemons[DAEMON_POOL];
    granary_err err = GRANARY_ELOST;

    for (int tries = 0; tries < QUICK_DEATHS && err == GRANARY_ELOST; tries++) {
        err = GRANARY_OK;
        for (int i = 0; i <= self->other_count && err == GRANARY_OK; i++) {
            struct daemon *sched = scheduler(self, i);

            if (scheduler_has_ended(sched)) {
                err = daemon_start(sched, self->options, self->memory, NULL);
                sched->restarts++;
            }
        }
        if (err == GRANARY_OK && pool->pid == 0) {
            /* With one on standby there is somebody to become ready with. */
            err = daemon_start(pool, self->options, self->memory,
                               self->other_count > 0 ? NULL : &self->daemons[DAEMON_SCHED]);
            pool->restarts++;
            if (err == GRANARY_ELOST) {
                daemon_stop(pool);
            }
        }
    }
    return err;
}

/*
 * A graph that makes the scheduler crash is resumed by the next one, and so on: that must end. So for the store. One
 * that somebody else killed has not shown that it cannot live.
 */
static bool
dies_at_once(struct daemon *daemon, int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        return false;
    }
    daemon->quick_deaths = gr_now_ns() - daemon->ready_ns < QUICK_NS ? daemon->quick_deaths + 1 : 0;
    return daemon->kind != DAEMON_POOL && daemon->quick_deaths > QUICK_DEATHS;
}

/*
 * A daemon ended by itself. The store finds everything as the last one left it, the scheduler keeps what it accepted in
 * its state, and executors wait for the next one: all of them come back.
 */
static bool
replace_daemon(struct supervisor *self, struct daemon *daemon, int status)
{
    granary_err err;

    gr_log_error("DAEMON-DIED", "daemon=%s pid=%d", daemon->name, (int)daemon->pid);
    daemon->pid = 0;
    if (dies_at_once(daemon, status)) {
        gr_log_error(
            "DAEMON-DIES",
            "the %s ended %d times within a second of its start: the instance ends: see %s/log/%s.log; `granary up` "
            "tries again with the same objects, `granary down` gives them up",
            daemon->name, daemon->quick_deaths, self->options->instance.runtime, daemon->name);
        return false;
    }
    err = daemon->kind == DAEMON_STORE ? store_again(self) : sched_again(self);
    if (err != GRANARY_OK) {
        gr_log_error("DAEMON-START", "%s: see %s/log/%s.log", granary_error_message(), self->options->instance.runtime,
                     daemon->name);
        return false;
    }
    if (daemon->kind == DAEMON_SCHED) {
        await_active(self);
    }
    (void)write_instance_file(self);
    return true;
}

/* The daemon that was this process; NULL: it was noted already. */
static struct daemon *
daemon_of(struct supervisor *self, pid_t pid)
{
    for (int i = 0; i < DAEMONS; i++) {
        if (self->daemons[i].pid == pid) {
            return &self->daemons[i];
        }
    }
    for (int i = 0; i < self->other_count; i++) {
        if (self->others[i].pid == pid) {
            return &self->others[i];
        }
    }
    return NULL;
}

/* Until a signal asks for the end. False: a daemon is gone for good. */
static bool
supervise(struct supervisor *self)
{
    for (;;) {
        struct signalfd_siginfo info;
        pid_t pid;
        int status;

        if (read(self->signal_fd, &info, sizeof info) != (ssize_t)sizeof info) {
            if (errno == EINTR) {
                continue;
            }
            return true;
        }
        if (info.ssi_signo != SIGCHLD) {
            return true;
        }
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            struct daemon *daemon = daemon_of(self, pid);

            if (daemon != NULL && !replace_daemon(self, daemon, status)) {
                return false;
            }
        }
    }
}

/* The supervisor's process. Says on report_fd how the start went: an error and its message, or 0. */
static void
supervisor_main(struct supervisor *self, int report_fd)
{
    char path[PATH_MAX];
    char pid[32];
    sigset_t mask;
    granary_err err;
    int32_t code;
    int log_fd;

    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGTERM);
    (void)sigaddset(&mask, SIGINT);
    (void)sigaddset(&mask, SIGHUP);
    (void)sigaddset(&mask, SIGCHLD);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    (void)signal(SIGCHLD, SIG_DFL);
    self->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC);

    (void)snprintf(path, sizeof path, "%s/log", self->options->instance.runtime);
    err = self->signal_fd < 0 ? gr_fail_errno("signalfd") : gr_mkdir_private(path);
    (void)snprintf(pid, sizeof pid, "%d\n", (int)getpid());
    if (err == GRANARY_OK) {
        err = gr_daemon_lock_write(self->lock_fd, pid);
    }
    if (err == GRANARY_OK) {
        err = start_all(self);
    }
    if (err != GRANARY_OK) {
        char message[1024];

        /* What follows may fail, too, and must not hide why. */
        (void)snprintf(message, sizeof message, "%s", granary_error_message());
        if (self->found) {
            give_up(self);
        } else {
            stop_all(self);
        }
        code = err;
        (void)gr_write_all(report_fd, &code, sizeof code);
        (void)gr_write_all(report_fd, message, strlen(message));
        _exit(granary_error_exit_status(err));
    }
    (void)snprintf(path, sizeof path, "%s/log/supervisor.log", self->options->instance.runtime);
    log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    (void)dup2(log_fd, STDOUT_FILENO);
    (void)dup2(log_fd, STDERR_FILENO);
    gr_log_init("supervisor");
    gr_log_info("UP", "runtime=%s executors=%d", self->options->instance.runtime, self->options->executors);

    code = 0;
    (void)gr_write_all(report_fd, &code, sizeof code);
    (void)close(report_fd);
    if (!supervise(self)) {
        give_up(self);
        _exit(granary_error_exit_status(GRANARY_EFAILED));
    }
    stop_all(self);
    _exit(0);
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

granary_err
supervisor_start(const struct supervisor_options *options, pid_t *ret_pid)
{
    struct supervisor self = {.options = options, .lock_fd = -1, .signal_fd = -1};
    pid_t parent = getpid();
    pid_t holder;
    pid_t pid = -1;
    int report[2] = {-1, -1};
    granary_err err = settle_topology();

    if (err == GRANARY_OK) {
        err = gr_mkdir_private(options->instance.runtime);
    }
    if (err == GRANARY_OK) {
        err = leftovers_check_directory(&options->instance);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    daemons_init(self.daemons);
    self.other_count = options->schedulers > 1 ? options->schedulers - 1 : 0;
    for (int i = 0; i < self.other_count; i++) {
        self.others[i] = DAEMON_SCHED_INIT;
    }
    err = lock_take(&options->instance, true, &self.lock_fd, &holder);
    if (err == GRANARY_EBUSY) {
        return gr_fail(GRANARY_EEXIST,
                       "instance %s is up already (pid %d in %s): use it, or stop it with `granary down`, or choose "
                       "another name with --instance",
                       options->instance.name, (int)holder, options->instance.runtime);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    /* Nobody holds the lock: whatever shared memory bears the instance's name was left by a dead one. */
    leftovers_await(&options->instance);
    self.found = leftovers_found(&options->instance);

    if (pipe2(report, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
        err = gr_fail_errno("cannot start the supervisor");
        goto out;
    }
    if (pid == 0) {
        int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

        /* A group of its own: a signal for everything in the foreground must leave somebody who cleans up. */
        (void)setsid();
        if (options->die_with_parent) {
            (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (getppid() != parent) {
                _exit(1);
            }
        }
        (void)prctl(PR_SET_NAME, "granary-superv");
        (void)chdir("/");
        (void)dup2(null_fd, STDIN_FILENO);
        (void)dup2(null_fd, STDOUT_FILENO);
        (void)close(report[0]);
        supervisor_main(&self, report[1]);
    }
    gr_fd_close(&report[1]);
    err = read_report(report[0]);
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

/* Have a supervisor stop and wait for its end; that it has ended already is fine. */
static granary_err
stop_supervisor(const struct gr_instance *instance, pid_t pid)
{
    struct pollfd poller = {.fd = gr_pidfd_open(pid), .events = POLLIN};
    int64_t deadline = gr_deadline_ns(4 * DAEMON_STOP_TIMEOUT_MS);
    granary_err err = GRANARY_OK;
    int ended;

    if (poller.fd < 0) {
        return errno == ESRCH ? GRANARY_OK : gr_fail_errno("supervisor %d", (int)pid);
    }
    if (kill(pid, SIGTERM) < 0 && errno != ESRCH) {
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
    leftovers_sweep(instance); /* with the lock held, where there is one: no store starts meanwhile */
    gr_fd_close(&fd);
    return GRANARY_OK;
}

granary_err
supervisor_stop(const struct gr_instance *instance, bool *ret_stale)
{
    pid_t holder;
    int fd = -1;
    granary_err err = lock_take(instance, false, &fd, &holder);
    bool stale = err != GRANARY_EBUSY;

    if (err == GRANARY_EBUSY) {
        if (holder < 0) {
            return gr_fail(err, "the instance at %s is just being started: try again", instance->runtime);
        }
        err = stop_supervisor(instance, holder);
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
