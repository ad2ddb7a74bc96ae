#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "granary/store.h"

#define READY_FD         3
#define READY_TIMEOUT_MS 60000
#define STOP_TIMEOUT_MS  10000

enum { STORE, SCHED, POOL, DAEMONS };

struct daemon {
    const char *name; /* of its log file */
    const char *program;
    pid_t pid; /* 0: not running */
};

struct supervisor {
    const struct supervisor_options *options;
    int lock_fd;
    int signal_fd;
    struct daemon daemons[DAEMONS]; /* in starting order; stopped in reverse */
    char capacity[32];              /* the store's budget in bytes, once it is up: the scheduler plans with it */
};

static const struct daemon daemons_at_rest[DAEMONS] = {
    [STORE] = {"store", "granary-store", 0},
    [SCHED] = {"sched", "granary-sched", 0},
    [POOL] = {"pool", "granary-executor", 0},
};

static void
lock_path(const struct gr_instance *instance, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/lock", instance->runtime);
}

/* Open the lock file. Returns it locked, or -1: *ret_holder is the pid of who holds it (0: nobody, there is no file).
 */
static int
lock_try(const struct gr_instance *instance, int flags, pid_t *ret_holder)
{
    char path[PATH_MAX];
    char text[32] = "";
    int fd;

    *ret_holder = 0;
    lock_path(instance, path);
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) {
        return fd;
    }
    if (pread(fd, text, sizeof text - 1, 0) > 0) {
        *ret_holder = (pid_t)strtol(text, NULL, 10);
    }
    if (*ret_holder <= 0) {
        *ret_holder = -1; /* it has just begun and has not written its pid */
    }
    gr_fd_close(&fd);
    return -1;
}

/* What a dead instance left. The caller holds the lock, or there is none. */
static void
sweep(const struct gr_instance *instance)
{
    (void)gr_instance_sweep_shm(instance);
    gr_remove_tree(instance->spill_default);
    gr_remove_tree(instance->runtime);
    /* The directory above is ours when we made it for the first instance; it goes with the last one. */
    if (strstr(instance->runtime, "granary") != NULL) {
        char parent[PATH_MAX];
        char *slash;

        (void)snprintf(parent, sizeof parent, "%s", instance->runtime);
        slash = strrchr(parent, '/');
        if (slash != NULL && slash != parent) {
            *slash = '\0';
            slash = strrchr(parent, '/');
            if (slash != NULL && strncmp(slash + 1, "granary", 7) == 0) {
                (void)rmdir(parent);
            }
        }
    }
}

/* Whether a process is a daemon of this instance, and not another one that has got its pid. */
static bool
is_daemon_of(pid_t pid, const struct gr_instance *instance)
{
    char path[64];
    char command[4096];
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    n = read(fd, command, sizeof command);
    gr_fd_close(&fd);
    return n > 0 && memmem(command, (size_t)n, instance->runtime, strlen(instance->runtime)) != NULL;
}

/* The supervisor was killed: its daemons are told so by the kernel and end by themselves, which may take a moment. */
static void
await_orphans(const struct gr_instance *instance)
{
    static const char *const keys[] = {"\"store_pid\": ", "\"sched_pid\": ", "\"pool_pid\": "};
    int64_t deadline = gr_deadline_ns(STOP_TIMEOUT_MS);
    char path[PATH_MAX];
    char *text = NULL;
    size_t size;

    (void)snprintf(path, sizeof path, "%s/instance.json", instance->runtime);
    if (gr_file_read(path, 1 << 16, &text, &size) != GRANARY_OK) {
        return;
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *at = strstr(text, keys[i]);
        pid_t pid = at == NULL ? 0 : (pid_t)strtol(at + strlen(keys[i]), NULL, 10);
        struct pollfd poller = {.fd = pid > 0 ? gr_pidfd_open(pid) : -1, .events = POLLIN};

        if (poller.fd >= 0 && is_daemon_of(pid, instance)) {
            (void)kill(pid, SIGCONT);
            (void)poll(&poller, 1, gr_left_ms(deadline));
            (void)kill(pid, SIGKILL);
        }
        gr_fd_close(&poller.fd);
    }
    free(text);
}

static granary_err
program_path(const char *program, char path[PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;

    if (n < 0) {
        return gr_fail_errno("/proc/self/exe");
    }
    self[n] = '\0';
    slash = strrchr(self, '/');
    *(slash == NULL ? self : slash) = '\0';
    if (snprintf(path, PATH_MAX, "%s/%s", self, program) >= PATH_MAX || access(path, X_OK) < 0) {
        return gr_fail(GRANARY_ENOENT, "%s: not found beside the granary command in %s: build or install it", program,
                       self);
    }
    return GRANARY_OK;
}

static void
run_daemon(const struct supervisor *self, const struct daemon *daemon, const char *path, int ready_fd)
{
    const struct supervisor_options *options = self->options;
    char log[PATH_MAX];
    char executors[16];
    const char *argv[24];
    size_t argc = 0;
    sigset_t none;
    int fd;

    (void)snprintf(log, sizeof log, "%s/log/%s.log", options->instance.runtime, daemon->name);
    fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0) {
        _exit(1);
    }
    (void)close(fd);
    fd = open("/dev/null", O_RDONLY);
    (void)dup2(fd, STDIN_FILENO);
    if (fd > READY_FD) {
        (void)close(fd);
    }
    if (ready_fd == READY_FD) {
        (void)fcntl(READY_FD, F_SETFD, 0);
    } else {
        (void)dup2(ready_fd, READY_FD);
    }

    argv[argc++] = path;
    argv[argc++] = "--instance";
    argv[argc++] = options->instance.runtime;
    argv[argc++] = "--ready-fd=3";
    argv[argc++] = "--die-with-parent";
    if (daemon == &self->daemons[POOL]) {
        (void)snprintf(executors, sizeof executors, "%d", options->executors);
        argv[argc++] = "--pool";
        argv[argc++] = "--executors";
        argv[argc++] = executors;
    }
    if (daemon == &self->daemons[STORE] && options->memory != NULL) {
        argv[argc++] = "--memory";
        argv[argc++] = options->memory;
    }
    if (daemon == &self->daemons[SCHED]) {
        argv[argc++] = "--memory";
        argv[argc++] = self->capacity;
    }
    if (daemon == &self->daemons[STORE] && options->spill_dir != NULL) {
        argv[argc++] = "--spill-dir";
        argv[argc++] = options->spill_dir;
    }
    if (daemon == &self->daemons[SCHED] && options->state != NULL) {
        argv[argc++] = "--state";
        argv[argc++] = options->state;
    }
    if (daemon == &self->daemons[SCHED] && options->chunk_bytes != NULL) {
        argv[argc++] = "--chunk-bytes";
        argv[argc++] = options->chunk_bytes;
    }
    argv[argc] = NULL;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)execv(path, (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* Which error an exit status stands for; the first of those that share one. */
static granary_err
error_of_exit_status(int status)
{
    for (int err = 0; err > -64; err--) {
        if (granary_error_exit_status((granary_err)err) == status) {
            return (granary_err)err;
        }
    }
    return GRANARY_EFAILED;
}

/* Wait for the one line a daemon says about its start. */
static granary_err
read_ready(const char *name, int fd, const struct gr_instance *instance)
{
    int64_t deadline = gr_deadline_ns(READY_TIMEOUT_MS);
    char line[1024] = "";
    size_t used = 0;

    while (strchr(line, '\n') == NULL && used < sizeof line - 1) {
        struct pollfd poller = {.fd = fd, .events = POLLIN};
        ssize_t n;

        if (poll(&poller, 1, gr_left_ms(deadline)) == 0) {
            return gr_fail(GRANARY_ETIMEDOUT, "the %s was not ready within %d s: see %s/log/%s.log", name,
                           READY_TIMEOUT_MS / 1000, instance->runtime, name);
        }
        n = read(fd, line + used, sizeof line - 1 - used);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            break;
        }
        used += n > 0 ? (size_t)n : 0;
        line[used] = '\0';
    }
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "READY") == 0) {
        return GRANARY_OK;
    }
    if (strncmp(line, "ERROR ", 6) == 0) {
        char *message;
        long status = strtol(line + 6, &message, 10);

        return gr_fail(error_of_exit_status((int)status), "%s:%s", name, message);
    }
    return gr_fail(GRANARY_EFAILED, "the %s ended before it was ready", name);
}

static granary_err
start_daemon(struct supervisor *self, struct daemon *daemon)
{
    char path[PATH_MAX];
    int ready[2];
    granary_err err = program_path(daemon->program, path);

    if (err != GRANARY_OK) {
        return err;
    }
    if (pipe2(ready, O_CLOEXEC) < 0) {
        return gr_fail_errno("pipe");
    }
    daemon->pid = fork();
    if (daemon->pid == 0) {
        run_daemon(self, daemon, path, ready[1]);
    }
    gr_fd_close(&ready[1]);
    if (daemon->pid < 0) {
        daemon->pid = 0;
        err = gr_fail_errno("fork");
    } else {
        err = read_ready(daemon->name, ready[0], &self->options->instance);
    }
    gr_fd_close(&ready[0]);
    return err;
}

/* SIGTERM, then SIGKILL when it takes too long. */
static void
stop_daemon(struct daemon *daemon)
{
    int64_t deadline = gr_deadline_ns(STOP_TIMEOUT_MS);
    struct pollfd poller = {.events = POLLIN};

    if (daemon->pid <= 0) {
        return;
    }
    poller.fd = gr_pidfd_open(daemon->pid);
    (void)kill(daemon->pid, SIGTERM);
    (void)kill(daemon->pid, SIGCONT); /* a stopped one cannot hear */
    while (poller.fd >= 0 && poll(&poller, 1, gr_left_ms(deadline)) < 0 && errno == EINTR) {
    }
    if ((poller.revents & POLLIN) == 0) {
        gr_log_warn("STOP-TIMEOUT", "daemon=%s pid=%d", daemon->name, (int)daemon->pid);
        (void)kill(daemon->pid, SIGKILL);
    }
    (void)waitpid(daemon->pid, NULL, 0);
    gr_fd_close(&poller.fd);
    daemon->pid = 0;
}

static void
stop_all(struct supervisor *self)
{
    for (int i = DAEMONS - 1; i >= 0; i--) {
        stop_daemon(&self->daemons[i]);
    }
    sweep(&self->options->instance);
}

static granary_err
write_instance_file(const struct supervisor *self)
{
    const struct supervisor_options *options = self->options;
    char path[PATH_MAX];
    char text[2048];
    int length;
    granary_err err;
    int fd;

    (void)snprintf(path, sizeof path, "%s/instance.json", options->instance.runtime);
    length = snprintf(
        text, sizeof text,
        "{\"version\": \"%s\", \"supervisor_pid\": %d, \"store_pid\": %d, \"sched_pid\": %d, \"pool_pid\": %d, "
        "\"executors\": %d, \"started_at_ms\": %lld, \"shm_prefix\": \"%s\"}\n",
        granary_version(), (int)getpid(), (int)self->daemons[STORE].pid, (int)self->daemons[SCHED].pid,
        (int)self->daemons[POOL].pid, options->executors, (long long)gr_wall_ms(), options->instance.shm_prefix);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return gr_fail_errno("%s", path);
    }
    err = gr_write_all(fd, text, (size_t)length);
    gr_fd_close(&fd);
    return err;
}

static granary_err
ask_capacity(struct supervisor *self)
{
    granary_connect_options options = {.instance = self->options->instance.runtime, .tag = "supervisor"};
    granary_client *client = NULL;
    granary_store_stat stat;
    granary_err err = granary_connect(&options, &client);

    if (err == GRANARY_OK) {
        err = granary_store_stat_get(client, &stat);
    }
    if (err == GRANARY_OK) {
        (void)snprintf(self->capacity, sizeof self->capacity, "%llu", (unsigned long long)stat.capacity_bytes);
    }
    granary_disconnect(client);
    return err;
}

static granary_err
start_all(struct supervisor *self)
{
    granary_err err = start_daemon(self, &self->daemons[STORE]);

    if (err == GRANARY_OK) {
        err = ask_capacity(self);
    }
    for (int i = STORE + 1; i < DAEMONS && err == GRANARY_OK; i++) {
        err = start_daemon(self, &self->daemons[i]);
    }
    return err == GRANARY_OK ? write_instance_file(self) : err;
}

/*
 * A daemon ended by itself. The scheduler keeps what it accepted in its state and executors belong to a scheduler, so
 * those two come back; without the store there are no objects, and the instance ends.
 */
static bool
replace_daemon(struct supervisor *self, struct daemon *daemon)
{
    gr_log_error("DAEMON-DIED", "daemon=%s pid=%d", daemon->name, (int)daemon->pid);
    daemon->pid = 0;
    if (daemon == &self->daemons[STORE]) {
        return false;
    }
    stop_daemon(&self->daemons[POOL]);
    if (daemon == &self->daemons[SCHED] && start_daemon(self, daemon) != GRANARY_OK) {
        gr_log_error("DAEMON-START", "%s", granary_error_message());
        return false;
    }
    if (start_daemon(self, &self->daemons[POOL]) != GRANARY_OK) {
        gr_log_error("DAEMON-START", "%s", granary_error_message());
        return false;
    }
    (void)write_instance_file(self);
    return true;
}

static void
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
            return;
        }
        if (info.ssi_signo != SIGCHLD) {
            return;
        }
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            for (int i = 0; i < DAEMONS; i++) {
                if (self->daemons[i].pid == pid && !replace_daemon(self, &self->daemons[i])) {
                    return;
                }
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
    if (err == GRANARY_OK &&
        (ftruncate(self->lock_fd, 0) < 0 || pwrite(self->lock_fd, pid, strlen(pid), 0) != (ssize_t)strlen(pid))) {
        err = gr_fail_errno("%s/lock", self->options->instance.runtime);
    }
    if (err == GRANARY_OK) {
        err = start_all(self);
    }
    if (err != GRANARY_OK) {
        char message[1024];

        /* What follows may fail, too, and must not hide why. */
        (void)snprintf(message, sizeof message, "%s", granary_error_message());
        stop_all(self);
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
    supervise(self);
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

granary_err
supervisor_start(const struct supervisor_options *options, pid_t *ret_pid)
{
    struct supervisor self = {.options = options, .lock_fd = -1, .signal_fd = -1};
    pid_t parent = getpid();
    pid_t holder;
    pid_t pid = -1;
    int report[2] = {-1, -1};
    granary_err err = gr_mkdir_private(options->instance.runtime);

    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(self.daemons, daemons_at_rest, sizeof self.daemons);
    self.lock_fd = lock_try(&options->instance, O_CREAT, &holder);
    if (self.lock_fd < 0) {
        return holder == 0 ? gr_fail_errno("%s/lock", options->instance.runtime)
                           : gr_fail(GRANARY_EEXIST,
                                     "instance %s is up already (pid %d in %s): use it, or stop it with "
                                     "`granary down`, or choose another name with --instance",
                                     options->instance.name, (int)holder, options->instance.runtime);
    }
    /* Nobody holds the lock: whatever shared memory bears the instance's name belongs to a dead one. */
    await_orphans(&options->instance);
    (void)gr_instance_sweep_shm(&options->instance);

    if (pipe2(report, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
        err = gr_fail_errno("cannot start the supervisor");
        goto out;
    }
    if (pid == 0) {
        int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (options->die_with_parent) {
            (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (getppid() != parent) {
                _exit(1);
            }
        } else {
            (void)setsid();
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
    pid_t holder;
    int fd = lock_try(instance, 0, &holder);

    gr_fd_close(&fd);
    return holder;
}

granary_err
supervisor_stop(const struct gr_instance *instance, bool *ret_stale)
{
    struct pollfd poller = {.fd = -1, .events = POLLIN};
    pid_t holder;
    int fd = lock_try(instance, 0, &holder);
    granary_err err = GRANARY_OK;
    int64_t deadline = gr_deadline_ns(4 * STOP_TIMEOUT_MS);

    if (fd >= 0) { /* a dead instance's directory */
        await_orphans(instance);
        sweep(instance);
        gr_fd_close(&fd);
        if (ret_stale != NULL) {
            *ret_stale = true;
        }
        return GRANARY_OK;
    }
    if (holder <= 0) {
        int left = gr_instance_sweep_shm(instance);

        if (left > 0 && ret_stale != NULL) {
            *ret_stale = true;
        }
        return left > 0 ? GRANARY_OK : gr_fail(GRANARY_EUNREACHABLE, "no instance is up at %s", instance->runtime);
    }
    poller.fd = gr_pidfd_open(holder);
    if (poller.fd < 0) {
        return errno == ESRCH ? supervisor_stop(instance, ret_stale) : gr_fail_errno("supervisor %d", (int)holder);
    }
    if (kill(holder, SIGTERM) < 0 && errno != ESRCH) {
        err = gr_fail_errno("supervisor %d", (int)holder);
        goto out;
    }
    (void)kill(holder, SIGCONT);
    for (;;) {
        int n = poll(&poller, 1, gr_left_ms(deadline));

        if (n > 0) {
            break;
        }
        if (n == 0) {
            err = gr_fail(GRANARY_ETIMEDOUT, "the supervisor (pid %d) does not stop: see %s/log", (int)holder,
                          instance->runtime);
            goto out;
        }
    }
    /* It was perhaps killed rather than stopped: then its children end by themselves, and we clean up. */
    fd = lock_try(instance, 0, &holder);
    if (fd >= 0) {
        await_orphans(instance);
        sweep(instance);
        gr_fd_close(&fd);
    }
    if (ret_stale != NULL) {
        *ret_stale = false;
    }
out:
    gr_fd_close(&poller.fd);
    return err;
}
