/* The supervisor's process. */
#include "cli/instance/supervisor/supervisor_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process/daemon.h"
#include "base/process/roster.h"
#include "cli/instance/logs.h"
#include "cli/instance/reload.h"
#include "cli/instance/supervisor/daemons.h"
#include "cli/instance/supervisor/leftovers.h"
#include "cli/scheduler/scheduler.h"
#include "granary/granary.h"
#include "granary/info.h"

/* A daemon that ended so often, each time so soon after its start, will do so again. */
#define QUICK_DEATHS 5
#define QUICK_NS     1000000000
/* One that says why it cannot start anew may be luckier after so long ... */
#define PAUSE_MS 200
/* ... and when that was in vain, too, after so long. */
#define RETRY_NS 2000000000
/* How long to wait, before instance.json is written, for a scheduler that takes over. */
#define ACTIVE_MS 1000
/* How long a group's store, and executors, may take for results to be freed in it. */
#define FORGET_MS 2000

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

/* Whether the store is a group's: it goes on when this ends. */
static bool
is_member(const struct supervisor *self)
{
    return self->options->instance.shared[0] != '\0';
}

/* A session goes from the scheduler's list when all that it has to free is free. Errors: ETIMEDOUT */
static granary_err
forget_sessions(granary_client *client)
{
    int64_t deadline = gr_deadline_ns(FORGET_MS);
    granary_query query = {.subject = "sessions"};
    granary_table *sessions = NULL;
    granary_err err = granary_info(client, &query, &sessions);

    while (err == GRANARY_OK && granary_table_rows(sessions) > 0) {
        for (size_t i = 0; err == GRANARY_OK && i < granary_table_rows(sessions); i++) {
            err = granary_graph_delete_all(client, granary_table_text(sessions, i, "name"), NULL);
        }
        query.since_version = granary_table_version(sessions);
        query.timeout_ms = gr_left_ms(deadline);
        granary_table_free(sessions);
        sessions = NULL;
        err = err == GRANARY_OK ? granary_info(client, &query, &sessions) : err;
    }
    granary_table_free(sessions);
    return err;
}

/* What graphs have yielded is in a store that goes on, and nobody would know of it any more. */
static void
forget_results(const struct supervisor *self)
{
    granary_connect_options options = {
        .instance = self->options->instance.runtime, .tag = "supervisor", .timeout_ms = FORGET_MS, .reconnect_ms = -1};
    granary_client *client = NULL;
    long stopped;
    granary_err err = scheduler_stopped(&self->options->instance, &stopped)
                          ? gr_fail(GRANARY_EUNREACHABLE, "the scheduler, pid %ld, is stopped", stopped)
                          : granary_connect(&options, &client);

    err = err == GRANARY_OK ? forget_sessions(client) : err;
    if (err != GRANARY_OK) {
        gr_log_warn("RESULTS-STAY", "what graphs have yielded stays in the store at %s: %s",
                    self->options->instance.shared, granary_error_message());
    }
    granary_disconnect(client);
}

static void
stop_all(struct supervisor *self)
{
    daemon_stop(&self->daemons[DAEMON_WEB]);
    if (is_member(self) && self->daemons[DAEMON_POOL].pid > 0) {
        forget_results(self);
    }
    daemon_stop(&self->daemons[DAEMON_POOL]);
    stop_schedulers(self);
    daemon_stop(&self->daemons[DAEMON_STORE]);
    leftovers_sweep(&self->options->instance, self->options->listen_fd > 0);
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
    daemon_stop(&self->daemons[DAEMON_WEB]);
    daemon_stop(&self->daemons[DAEMON_POOL]);
    stop_schedulers(self);
    daemon_kill(&self->daemons[DAEMON_STORE]);
}

/* Renamed: who reads it finds the one before or this one, whole. */
static granary_err
write_instance_file(const struct supervisor *self)
{
    const struct supervisor_options *options = self->options;
    const struct daemon *store = &self->daemons[DAEMON_STORE];
    const struct daemon *sched = &self->daemons[DAEMON_SCHED];
    const struct daemon *pool = &self->daemons[DAEMON_POOL];
    const struct daemon *web = &self->daemons[DAEMON_WEB];
    int restarts = sched->restarts;
    char path[PATH_MAX], made[PATH_MAX];
    char text[2048], page[64] = "", own_store[64] = "";
    int length;
    granary_err err;
    int fd;

    for (int i = 0; i < self->other_count; i++) {
        restarts += self->others[i].restarts;
    }
    (void)snprintf(path, sizeof path, "%s/instance.json", options->instance.runtime);
    (void)snprintf(made, sizeof made, "%s/instance.json.new", options->instance.runtime);
    if (web->pid > 0) { /* a page that is not there has no pid, not even 0: somebody might kill that */
        (void)snprintf(page, sizeof page, "\"web_pid\": %d, \"web_restarts\": %d, ", (int)web->pid, web->restarts);
    }
    if (!is_member(self)) {
        (void)snprintf(own_store, sizeof own_store, "\"store_pid\": %d, ", (int)store->pid);
    }
    length = snprintf(text, sizeof text,
                      "{\"version\": \"%s\", \"supervisor_pid\": %d, %s\"sched_pid\": %d, \"pool_pid\": %d, "
                      "\"store_restarts\": %d, \"sched_restarts\": %d, \"pool_restarts\": %d, "
                      "%s\"executors\": %d, \"started_at_ms\": %lld, \"shm_prefix\": \"%s\"}\n",
                      granary_version(), (int)getpid(), own_store, (int)active_scheduler(self), (int)pool->pid,
                      store->restarts, restarts, pool->restarts, page, options->executors, (long long)self->started_ms,
                      options->instance.shm_prefix);
    fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return gr_fail_errno("%s", made);
    }
    err = gr_write_all(fd, text, (size_t)length);
    gr_fd_close(&fd);
    return err == GRANARY_OK && rename(made, path) < 0 ? gr_fail_errno("%s", path) : err;
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

/* The group's store stands where one of our own would: all that is told this directory finds it. */
static granary_err
link_store(const struct supervisor *self)
{
    const struct gr_instance *instance = &self->options->instance;
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/store.sock", instance->runtime);
    (void)unlink(path);
    return symlink(instance->store_socket, path) == 0 ? GRANARY_OK : gr_fail_errno("%s", path);
}

static granary_err
start_all(struct supervisor *self)
{
    granary_err err;

    self->started_ms = gr_wall_ms();
    err = is_member(self)
              ? link_store(self)
              : daemon_start(&self->daemons[DAEMON_STORE], self->options, self->options->memory, NULL, self->stop_fd);

    if (err == GRANARY_OK) {
        err = ask_memory(self);
    }
    for (int i = 0; i <= self->other_count && err == GRANARY_OK; i++) {
        err = daemon_start(scheduler(self, i), self->options, self->memory, NULL, self->stop_fd);
    }
    if (err == GRANARY_OK) {
        err = daemon_start(&self->daemons[DAEMON_POOL], self->options, self->memory, &self->daemons[DAEMON_SCHED],
                           self->stop_fd);
    }
    if (err == GRANARY_OK && self->options->http != NULL) {
        err = daemon_start(&self->daemons[DAEMON_WEB], self->options, NULL, NULL, self->stop_fd);
    }
    return err == GRANARY_OK ? write_instance_file(self) : err;
}

/* Start one in the place of one that is gone. */
static granary_err
start_again(const struct supervisor *self, struct daemon *daemon, const struct daemon *needs)
{
    granary_err err = daemon_start(daemon, self->options, self->memory, needs, self->stop_fd);

    daemon->restarts++;
    if (err != GRANARY_OK) {
        gr_log_warn("DAEMON-START", "%s", granary_error_message());
        /* It has ended, or will; this takes note. A store that serves already would take its objects along in order. */
        if (daemon->kind == DAEMON_STORE) {
            daemon_kill(daemon);
        } else {
            daemon_stop(daemon);
        }
    }
    return err;
}

/* The instance runs: a disk, or memory, that fails for a moment is no reason to end it. Not for ever. */
static bool
may_try_again(granary_err err, int tries)
{
    if (err == GRANARY_OK || err == GRANARY_ETIMEDOUT || err == GRANARY_ECANCELLED || tries == QUICK_DEATHS) {
        return false;
    }
    if (err != GRANARY_ELOST) {
        (void)poll(NULL, 0, PAUSE_MS);
    }
    return true;
}

/* Start the store anew: it takes over what the last one had. */
static granary_err
store_again(struct supervisor *self)
{
    granary_err err;
    int tries = 0;

    do {
        err = start_again(self, &self->daemons[DAEMON_STORE], NULL);
    } while (may_try_again(err, ++tries));
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
    granary_err err;
    int tries = 0;

    do {
        err = GRANARY_OK;
        for (int i = 0; i <= self->other_count && err == GRANARY_OK; i++) {
            if (scheduler_has_ended(scheduler(self, i))) {
                err = start_again(self, scheduler(self, i), NULL);
            }
        }
        if (err == GRANARY_OK && pool->pid == 0) {
            /* With one on standby there is somebody to become ready with. */
            err = start_again(self, pool, self->other_count > 0 ? NULL : &self->daemons[DAEMON_SCHED]);
        }
    } while (may_try_again(err, ++tries));
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

/* Memory, disk or descriptors that others have taken come back some day. */
static bool
may_pass(granary_err err)
{
    return err == GRANARY_EFULL || err == GRANARY_ENOMEM || err == GRANARY_EIO;
}

/* A scheduler, or the pool, has ended, and that was noted. */
static bool
sched_is_missing(struct supervisor *self)
{
    bool missing = self->daemons[DAEMON_POOL].pid == 0;

    for (int i = 0; i <= self->other_count; i++) {
        missing = missing || scheduler(self, i)->pid == 0;
    }
    return missing;
}

/* Start what is gone anew; what cannot be now is tried again later. False: it cannot be at all. */
static bool
bring_back(struct supervisor *self)
{
    const struct daemon *store = &self->daemons[DAEMON_STORE];
    const struct daemon *late = store;
    granary_err err = store->pid == 0 && !is_member(self) ? store_again(self) : GRANARY_OK;

    if (err == GRANARY_OK && sched_is_missing(self)) {
        late = &self->daemons[DAEMON_SCHED];
        err = sched_again(self);
        if (err == GRANARY_OK) {
            await_active(self);
        }
        if (err == GRANARY_OK && self->memory_changed && self->other_count > 0) {
            reload_tell_budget(self);
        }
    }
    self->retry_ns = INT64_MAX;
    if (err == GRANARY_ECANCELLED) {
        return true; /* what asks for the end is looked at next */
    }
    if (err != GRANARY_OK) {
        gr_log_error("DAEMON-START", "%s: see %s/log/%s.log%s", granary_error_message(),
                     self->options->instance.runtime, late->name, may_pass(err) ? "; it is tried again" : "");
        self->retry_ns = gr_now_ns() + RETRY_NS;
        return may_pass(err);
    }
    (void)write_instance_file(self);
    return true;
}

/* The page ended by itself. The instance works without: one that ends again and again stays away. */
static void
replace_web(struct supervisor *self, struct daemon *web)
{
    web->quick_deaths = gr_now_ns() - web->ready_ns < QUICK_NS ? web->quick_deaths + 1 : 0;
    if (web->quick_deaths <= QUICK_DEATHS) {
        (void)start_again(self, web, NULL);
    }
    (void)write_instance_file(self);
}

/*
 * A daemon ended by itself. The store finds everything as the last one left it. The scheduler keeps accepted graphs
 * in its state, and executors wait for the next one. So all of them come back.
 */
static bool
replace_daemon(struct supervisor *self, struct daemon *daemon, int status)
{
    gr_log_error("DAEMON-DIED", "daemon=%s pid=%d %s=%d", daemon->name, (int)daemon->pid,
                 WIFSIGNALED(status) ? "signal" : "exit", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    daemon->pid = 0;
    if (daemon->kind == DAEMON_WEB) {
        replace_web(self, daemon);
        return true;
    }
    if (dies_at_once(daemon, status)) {
        gr_log_error(
            "DAEMON-DIES",
            "the %s ended %d times within a second of its start: the instance ends: see %s/log/%s.log; `granary up` "
            "tries again with the same objects, `granary down` gives them up",
            daemon->name, daemon->quick_deaths, self->options->instance.runtime, daemon->name);
        return false;
    }
    return bring_back(self);
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

/* Readable when something was done to the lock file; -1: nobody can tell. */
static int
watch_lock(const struct supervisor *self)
{
    char path[PATH_MAX];
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    (void)snprintf(path, sizeof path, "%s/lock", self->options->instance.runtime);
    if (fd >= 0 && inotify_add_watch(fd, path, IN_ATTRIB) < 0) {
        gr_fd_close(&fd);
    }
    return fd;
}

/* The same descriptor tells when something was written to a log. */
static void
watch_logs(const struct supervisor *self)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/log", self->options->instance.runtime);
    (void)inotify_add_watch(self->watch_fd, path, IN_MODIFY);
}

/* When the next thing is due by itself. */
static int64_t
due_ns(const struct supervisor *self)
{
    int64_t due_ns = self->watchdog_ns < self->retry_ns ? self->watchdog_ns : self->retry_ns;

    due_ns = self->pressure.next_ns < due_ns ? self->pressure.next_ns : due_ns;
    return self->pressure.calm_ns < due_ns ? self->pressure.calm_ns : due_ns;
}

/* The service manager hears that this process is not stuck, twice in the time that it gives. */
static void
tell_watchdog(struct supervisor *self)
{
    int64_t now_ns = gr_now_ns();

    if (self->notify.watchdog_ns > 0 && now_ns >= self->watchdog_ns) {
        gr_notify_tell(&self->notify, "WATCHDOG=1");
        self->watchdog_ns = now_ns + self->notify.watchdog_ns / 2;
    }
}

/*
 * Wait for a signal, or until something is to be tried again. False: somebody has removed the runtime directory: nobody
 * can reach the instance any more, and another one could be started in its place, with the same shared memory.
 */
static bool
wait_for_signal(struct supervisor *self, bool *ret_stop)
{
    struct pollfd fds[4] = {{.fd = self->signal_fd, .events = POLLIN},
                            {.fd = self->watch_fd, .events = POLLIN},
                            {.fd = self->stop_fd, .events = POLLIN},
                            {.fd = self->pressure.is_trigger ? self->pressure.fd : -1, .events = POLLPRI}};
    struct stat lock;
    char events[512];

    do {
        tell_watchdog(self);
        (void)poll(fds, 4, gr_left_ms(due_ns(self)));
        pressure_turn(&self->pressure, fds[3].revents);
        fds[3].fd = self->pressure.is_trigger ? self->pressure.fd : -1;
        if ((fds[1].revents & POLLIN) != 0) {
            (void)!read(self->watch_fd, events, sizeof events);
            logs_rotate(self->options);
        }
        if (fstat(self->lock_fd, &lock) == 0 && lock.st_nlink == 0) {
            gr_log_error("DIRECTORY-GONE", "%s was removed: the instance ends; `granary up` has its objects again",
                         self->options->instance.runtime);
            return false;
        }
    } while (((fds[0].revents | fds[2].revents) & POLLIN) == 0 && gr_now_ns() < self->retry_ns);
    *ret_stop = (fds[2].revents & POLLIN) != 0;
    return true;
}

/* The service manager's list of services says how it is. */
static void
tell_state(const struct supervisor *self, const char *state)
{
    int restarts = 0;

    for (int i = 0; i < DAEMONS; i++) {
        restarts += self->daemons[i].restarts;
    }
    for (int i = 0; i < self->other_count; i++) {
        restarts += self->others[i].restarts;
    }
    gr_notify_tell(&self->notify, "%sSTATUS=%d executors, %d restart%s of daemons; %s", state, self->options->executors,
                   restarts, restarts == 1 ? "" : "s", self->options->instance.runtime);
}

/* Until a signal asks for the end. False: a daemon is gone for good, or the directory. */
static bool
supervise(struct supervisor *self)
{
    for (;;) {
        struct signalfd_siginfo info;
        bool stop = false;
        pid_t pid;
        int status;

        if (!wait_for_signal(self, &stop)) {
            return false;
        }
        if (stop && read(self->stop_fd, &info, sizeof info) == (ssize_t)sizeof info) {
            self->makes_way = info.ssi_signo == SIGUSR2;
            return true;
        }
        if (gr_now_ns() >= self->retry_ns && !bring_back(self)) {
            return false;
        }
        if (read(self->signal_fd, &info, sizeof info) != (ssize_t)sizeof info) {
            continue;
        }
        if (info.ssi_signo == SIGHUP) {
            gr_notify_tell(&self->notify, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(gr_now_ns() / 1000));
            reload_run(self->reload, self);
            tell_state(self, "READY=1\n");
            continue;
        }
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            struct daemon *daemon = daemon_of(self, pid);

            if (daemon != NULL && !replace_daemon(self, daemon, status)) {
                return false;
            }
        }
        tell_state(self, "");
    }
}

/* Signals are read from two descriptors: what ends the instance also ends the wait for a daemon that starts. */
static granary_err
open_signals(struct supervisor *self)
{
    sigset_t stop, rest, all;

    (void)sigemptyset(&stop);
    (void)sigemptyset(&rest);
    (void)sigaddset(&stop, SIGTERM);
    (void)sigaddset(&stop, SIGINT);
    (void)sigaddset(&stop, SIGUSR2);
    (void)sigaddset(&rest, SIGHUP);
    (void)sigaddset(&rest, SIGCHLD);
    (void)sigorset(&all, &stop, &rest);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)signal(SIGCHLD, SIG_DFL);
    self->stop_fd = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
    self->signal_fd = signalfd(-1, &rest, SFD_CLOEXEC | SFD_NONBLOCK);
    return self->stop_fd < 0 || self->signal_fd < 0 ? gr_fail_errno("signalfd") : GRANARY_OK;
}

static granary_err
begin(struct supervisor *self)
{
    char pid[32];
    granary_err err = open_signals(self);

    self->watch_fd = watch_lock(self);
    self->retry_ns = INT64_MAX;
    self->watchdog_ns = self->notify.watchdog_ns > 0 ? 0 : INT64_MAX;
    err = err == GRANARY_OK ? logs_open(self->options) : err;
    watch_logs(self);
    (void)snprintf(pid, sizeof pid, "%d\n", (int)getpid());
    err = err == GRANARY_OK ? gr_daemon_lock_write(self->lock_fd, pid) : err;
    return err == GRANARY_OK ? start_all(self) : err;
}

/* What has started goes again, and the error is told. */
static void
fail_start(struct supervisor *self, granary_err err, int report_fd)
{
    int32_t code = err;
    char message[1024];

    /* What follows may fail, too, and must not hide why. */
    (void)snprintf(message, sizeof message, "%s", granary_error_message());
    gr_notify_tell(&self->notify, "STOPPING=1\nSTATUS=%s", message);
    if (self->found) {
        give_up(self);
    } else {
        stop_all(self);
    }
    if (report_fd >= 0) {
        (void)gr_write_all(report_fd, &code, sizeof code);
        (void)gr_write_all(report_fd, message, strlen(message));
    }
    (void)gr_fail(err, "%s", message);
}

/* In the foreground stderr stays where it is, which is the service's log; the file has the same. */
static void
open_log(const struct supervisor *self)
{
    char path[PATH_MAX];
    int log_fd;

    (void)snprintf(path, sizeof path, "%s/log/supervisor.log", self->options->instance.runtime);
    log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    log_fd = log_fd >= 0 ? log_fd : open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)dup2(log_fd, STDOUT_FILENO);
    (void)dup2(log_fd, STDERR_FILENO);
    gr_fd_close(&log_fd);
    gr_log_init("supervisor");
}

granary_err
supervisor_main(struct supervisor *self, int report_fd)
{
    granary_err err;
    int32_t code = 0;
    bool asked;

    if (self->options->foreground) {
        gr_notify_open(&self->notify);
        gr_notify_tell(&self->notify, "STATUS=starting");
    }
    self->current = *self->options;
    self->options = &self->current;
    self->pressure = (struct pressure){.fd = -1, .next_ns = INT64_MAX, .calm_ns = INT64_MAX};
    err = self->options->settings == NULL ? GRANARY_OK : reload_create(self->options->settings, &self->reload);
    err = err == GRANARY_OK ? begin(self) : err;
    if (err != GRANARY_OK) {
        fail_start(self, err, report_fd);
        goto out;
    }
    if (self->options->ready != NULL) {
        self->options->ready(self->options->context);
    }
    open_log(self);
    gr_log_info("UP", "runtime=%s executors=%d", self->options->instance.runtime, self->options->executors);
    if (report_fd >= 0) {
        (void)gr_write_all(report_fd, &code, sizeof code);
        (void)close(report_fd);
    }
    if (self->options->pressure && !is_member(self)) {
        pressure_open(&self->pressure, &self->options->instance, strtoull(self->memory, NULL, 10));
    }
    tell_state(self, "READY=1\n");
    asked = supervise(self);
    gr_notify_tell(&self->notify, "STOPPING=1\nSTATUS=%s", asked ? "stopping" : "the instance cannot go on");
    if (self->makes_way) {
        gr_log_info("MAKES-WAY", "another supervisor takes the instance over, with its objects");
        give_up(self);
    } else if (asked) {
        stop_all(self);
    } else {
        give_up(self);
        err = gr_fail(GRANARY_EFAILED, "the instance cannot go on: its log says why");
    }
out:
    pressure_close(&self->pressure);
    reload_destroy(self->reload);
    gr_notify_close(&self->notify);
    gr_fd_close(&self->signal_fd);
    gr_fd_close(&self->stop_fd);
    gr_fd_close(&self->watch_fd);
    return err;
}
