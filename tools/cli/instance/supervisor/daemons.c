/* A daemon is forked with its log for stderr and a pipe on which it says READY, or why it cannot start. */
#include "cli/instance/supervisor/daemons.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process/daemon.h"

#define READY_FD         3
#define LISTEN_FD        4
#define READY_TIMEOUT_MS 60000
#define ARGUMENTS_MAX    48

/* ---- starting ---- */

void
daemons_init(struct daemon daemons[static DAEMONS])
{
    daemons[DAEMON_STORE] = (struct daemon){.kind = DAEMON_STORE, .name = "store", .program = "granary-store"};
    daemons[DAEMON_SCHED] = DAEMON_SCHED_INIT;
    daemons[DAEMON_POOL] = (struct daemon){.kind = DAEMON_POOL, .name = "pool", .program = "granary-executor"};
    daemons[DAEMON_WEB] = (struct daemon){.kind = DAEMON_WEB, .name = "web", .program = "granary-web"};
}

static int
number_of(const char *text, const char *daemon, const char *what)
{
    char key[32];
    const char *at;

    (void)snprintf(key, sizeof key, "\"%s_%s\": ", daemon, what);
    at = strstr(text, key);
    return at == NULL ? 0 : (int)strtol(at + strlen(key), NULL, 10);
}

void
daemons_recall(const struct gr_instance *instance, struct daemon ret_daemons[static DAEMONS])
{
    char path[PATH_MAX];
    char *text = NULL;
    size_t size;

    daemons_init(ret_daemons);
    (void)snprintf(path, sizeof path, "%s/instance.json", instance->runtime);
    if (gr_file_read(path, 1 << 16, &text, &size) != GRANARY_OK) {
        return;
    }
    for (size_t i = 0; i < DAEMONS; i++) {
        ret_daemons[i].pid = number_of(text, ret_daemons[i].name, "pid");
        ret_daemons[i].restarts = number_of(text, ret_daemons[i].name, "restarts");
    }
    free(text);
}

granary_err
daemon_program(const char *program, char *path)
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

/* The log takes what it prints; the pipe on which it says READY becomes READY_FD. */
static void
redirect(const struct daemon *daemon, const char *runtime, int ready_fd)
{
    char log[PATH_MAX];
    int fd;

    (void)snprintf(log, sizeof log, "%s/log/%s.log", runtime, daemon->name);
    fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    if (fd < 0) {
        fd = open("/dev/null", O_WRONLY); /* a disk that is full, say, is no reason to have no daemon */
    }
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
}

static size_t
add(const char **argv, size_t argc, const char *option, const char *value)
{
    if (value != NULL) {
        argv[argc++] = option;
        argv[argc++] = value;
    }
    return argc;
}

/* The child's side of daemon_start(). */
static void
become_daemon(const struct daemon *daemon, const struct supervisor_options *options, const char *memory,
              const char *path, int ready_fd, pid_t supervisor)
{
    bool in_order = daemon->kind != DAEMON_STORE || options->die_with_parent;
    const char *argv[ARGUMENTS_MAX] = {path, "--ready-fd=3"};
    size_t argc = add(argv, 2, "--instance", options->instance.runtime);
    char executors[16];
    sigset_t none;

    /* A store that stops in order takes its objects along: the next one is to adopt them. The others follow from here
     * on, for the program would not know whom to follow if the supervisor died before it has begun. */
    if (gr_daemon_follow(supervisor, in_order ? SIGTERM : SIGKILL) != GRANARY_OK) {
        _exit(1);
    }
    if (in_order) {
        argv[argc++] = "--die-with-parent";
    }
    if (options->foreground) {
        (void)setpgid(0, 0); /* a terminal's Ctrl-C is for the supervisor, who ends all in order */
    }
    redirect(daemon, options->instance.runtime, ready_fd);
    switch (daemon->kind) {
    case DAEMON_STORE:
        argc = add(argv, argc, "--memory", memory);
        for (size_t i = 0; options->spill_dirs != NULL && options->spill_dirs[i] != NULL; i++) {
            argc = add(argv, argc, "--spill-dir", options->spill_dirs[i]);
        }
        argc = add(argv, argc, "--disk-quota", options->disk_quota);
        argc = add(argv, argc, "--remote-dir", options->remote_dir);
        argc = add(argv, argc, "--levels", options->levels);
        argc = add(argv, argc, "--group", options->group);
        argc = add(argv, argc, "--user-memory", options->user_memory);
        if (options->listen_fd > 0) {
            (void)dup2(options->listen_fd, LISTEN_FD);
            argc = add(argv, argc, "--listen-fd", "4");
        }
        break;
    case DAEMON_SCHED:
        argc = add(argv, argc, "--memory", memory);
        argc = add(argv, argc, "--state", options->state);
        argc = add(argv, argc, "--chunk-bytes", options->chunk_bytes);
        argc = add(argv, argc, "--history", options->history);
        argc = add(argv, argc, "--resource", options->resources);
        if (options->schedulers > 1) {
            argv[argc++] = "--standby";
        }
        break;
    case DAEMON_WEB:
        argc = add(argv, argc, "--listen", options->http[0] == '\0' ? NULL : options->http);
        break;
    default:
        argv[argc++] = "--pool";
        (void)snprintf(executors, sizeof executors, "%d", options->executors);
        argc = add(argv, argc, "--executors", executors);
        break;
    }
    argv[argc] = NULL;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)(FAULT_FAILS(daemon_exec) || execv(path, (char *const *)(uintptr_t)argv) < 0);
    _exit(127);
}

/* Wait for the one line a daemon says about its start, unless the one it needs for that ends. */
static granary_err
read_ready(const char *name, int fd, const struct daemon *needs, int needs_fd, int stop_fd,
           const struct gr_instance *instance)
{
    int64_t deadline = gr_deadline_ns(READY_TIMEOUT_MS);
    char line[GR_DAEMON_LINE_MAX] = "";
    const char *message;
    size_t used = 0;
    granary_err err;

    while (strchr(line, '\n') == NULL && used < sizeof line - 1) {
        struct pollfd pollers[3] = {
            {.fd = fd, .events = POLLIN}, {.fd = needs_fd, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
        ssize_t n;

        if (poll(pollers, 3, gr_left_ms(deadline)) == 0) {
            return gr_fail(GRANARY_ETIMEDOUT, "the %s was not ready within %d s: see %s/log/%s.log", name,
                           READY_TIMEOUT_MS / 1000, instance->runtime, name);
        }
        if (pollers[2].revents != 0) {
            return gr_fail(GRANARY_ECANCELLED, "stopped while the %s was started", name);
        }
        if (pollers[0].revents == 0 && pollers[1].revents != 0) {
            return gr_fail(GRANARY_ELOST, "the %s ended while the %s was started", needs->name, name);
        }
        if (pollers[0].revents == 0) {
            continue;
        }
        n = read(fd, line + used, sizeof line - 1 - used);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            break;
        }
        used += n > 0 ? (size_t)n : 0;
        line[used] = '\0';
    }
    if (!gr_daemon_heard(line, &err, &message)) {
        return gr_fail(GRANARY_ELOST, "the %s ended before it was ready", name);
    }
    return err == GRANARY_OK ? GRANARY_OK : gr_fail(err, "%s: %s", name, message);
}

granary_err
daemon_start(struct daemon *daemon, const struct supervisor_options *options, const char *memory,
             const struct daemon *needs, int stop_fd)
{
    char path[PATH_MAX];
    pid_t supervisor;
    int ready[2];
    int needs_fd;
    granary_err err = daemon_program(daemon->program, path);

    if (err != GRANARY_OK) {
        return err;
    }
    if (pipe2(ready, O_CLOEXEC) < 0) {
        return gr_fail_errno("pipe");
    }
    supervisor = getpid();
    daemon->pid = FAULT_FAILS(daemon_fork) ? -1 : fork();
    if (daemon->pid == 0) {
        become_daemon(daemon, options, memory, path, ready[1], supervisor);
    }
    gr_fd_close(&ready[1]);
    if (daemon->pid < 0) {
        daemon->pid = 0;
        err = gr_fail_errno("fork");
    } else {
        needs_fd = needs == NULL ? -1 : gr_pidfd_open(needs->pid);
        err = FAULT_FAILS(daemon_ready)
                  ? gr_fail_errno("the %s", daemon->name)
                  : read_ready(daemon->name, ready[0], needs, needs_fd, stop_fd, &options->instance);
        gr_fd_close(&needs_fd);
    }
    gr_fd_close(&ready[0]);
    daemon->ready_ns = gr_now_ns();
    return err;
}

/* ---- stopping ---- */

void
daemon_stop(struct daemon *daemon)
{
    int64_t deadline = gr_deadline_ns(DAEMON_STOP_TIMEOUT_MS);
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

void
daemon_kill(struct daemon *daemon)
{
    if (daemon->pid > 0) {
        (void)kill(daemon->pid, SIGKILL);
        (void)waitpid(daemon->pid, NULL, 0);
        daemon->pid = 0;
    }
}
