#include "executor/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
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
#include "executor/topology.h"

/* So many executors in a row that die before they are ready give the slot up; between them are growing pauses. */
#define POOL_DEATHS_MAX 10
#define PAUSE_MAX_MS    1000
/* How long executors may take to leave before they are killed. */
#define LEAVE_MS 2000

enum slot_state { SLOT_STARTING, SLOT_RUNNING, SLOT_WAITING, SLOT_EMPTY, SLOT_LOST, SLOT_STATES };

static const bool may_enter[SLOT_STATES][SLOT_STATES] = {
    /* from           to */
    [SLOT_STARTING] = {[SLOT_RUNNING] = true, [SLOT_WAITING] = true, [SLOT_EMPTY] = true, [SLOT_LOST] = true},
    [SLOT_RUNNING] = {[SLOT_WAITING] = true, [SLOT_EMPTY] = true},
    [SLOT_WAITING] = {[SLOT_STARTING] = true},
};

struct slot {
    enum slot_state state;
    pid_t pid; /* 0: none */
    int node;
    int ready_fd;                  /* its executor's pipe, until it is ready; -1 */
    int64_t start_again_ns;        /* WAITING */
    int deaths;                    /* before being ready, in a row */
    char said[GR_DAEMON_LINE_MAX]; /* so far, through the pipe */
    size_t said_size;
};

struct pool {
    const struct pool_options *options;
    struct slot *slots;
    struct pollfd *polls; /* one a slot, and the signals */
    int signal_fd;
    int ready_fd;
    sigset_t old_mask;
    bool stopping;
};

static void
slot_enter(struct slot *slot, enum slot_state next)
{
    if (!may_enter[slot->state][next]) {
        abort(); /* our own mistake */
    }
    slot->state = next;
}

/* ---- starting ---- */

/* In the child, between fork and exec. */
static void
become_executor(const struct pool *pool, const struct slot *slot, pid_t parent, int ready_fd)
{
    char number[16], node[16], pid[16], ready[16];
    const char *args[] = {pool->options->program, "--slot", number, "--node", node, "--parent", pid,
                          "--ready-fd",           ready,    NULL,   NULL,     NULL};

    (void)snprintf(number, sizeof number, "%d", (int)(slot - pool->slots));
    (void)snprintf(node, sizeof node, "%d", slot->node);
    (void)snprintf(pid, sizeof pid, "%d", (int)parent);
    (void)snprintf(ready, sizeof ready, "%d", ready_fd);
    if (pool->options->instance != NULL) {
        args[9] = "--instance";
        args[10] = pool->options->instance;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)sigprocmask(SIG_SETMASK, &pool->old_mask, NULL);
    (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC); /* whatever somebody left open */
    (void)fcntl(ready_fd, F_SETFD, 0);
    if (getppid() == parent) { /* else it died before it could be our death signal */
        (void)execv(pool->options->program, (char *const *)(uintptr_t)args);
    }
    _exit(127);
}

static void slot_died(struct pool *pool, struct slot *slot, int status);

static void
slot_start(struct pool *pool, struct slot *slot)
{
    int pipe_fds[2] = {-1, -1};
    pid_t parent = getpid();
    pid_t pid = pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0 ? -1 : fork();

    if (pid == 0) {
        become_executor(pool, slot, parent, pipe_fds[1]);
    }
    slot->said_size = 0;
    gr_fd_close(&pipe_fds[1]);
    if (pid < 0) {
        gr_log_error("POOL-START", "slot=%d: %s", (int)(slot - pool->slots), strerror(errno));
        gr_fd_close(&pipe_fds[0]);
        slot_died(pool, slot, -1);
        return;
    }
    slot->pid = pid;
    slot->ready_fd = pipe_fds[0];
}

/* ---- deaths ---- */

static void
slot_died(struct pool *pool, struct slot *slot, int status)
{
    int number = (int)(slot - pool->slots);
    int64_t now = gr_now_ns();
    int64_t pause_ms;
    int pid = (int)slot->pid;

    slot->pid = 0;
    gr_fd_close(&slot->ready_fd);
    if (pool->stopping) {
        return;
    }
    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        gr_log_info("EXECUTOR-LEFT", "slot=%d pid=%d", number, pid);
        slot_enter(slot, SLOT_EMPTY);
        return;
    }
    /* One that worked may be killed as often as somebody likes. */
    slot->deaths = slot->state == SLOT_STARTING ? slot->deaths + 1 : 0;
    if (status >= 0) {
        gr_log_warn("EXECUTOR-DIED", "slot=%d pid=%d %s=%d", number, pid, WIFSIGNALED(status) ? "signal" : "exit",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    if (slot->deaths >= POOL_DEATHS_MAX) {
        gr_log_error("SLOT-LOST", "slot=%d: %d executors in a row died before they were ready; it stays empty", number,
                     slot->deaths);
        slot_enter(slot, SLOT_LOST);
        return;
    }
    /* The first is replaced at once, then 20, 40, 80 ... ms later. */
    pause_ms = slot->deaths < 2 ? 0 : (int64_t)10 << (slot->deaths - 1);
    slot->start_again_ns = now + (pause_ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause_ms) * 1000000;
    slot_enter(slot, SLOT_WAITING);
}

static void
reap(struct pool *pool)
{
    for (int i = 0; i < pool->options->executors; i++) {
        struct slot *slot = &pool->slots[i];
        int status;

        if (slot->pid > 0 && waitpid(slot->pid, &status, WNOHANG) == slot->pid) {
            slot_died(pool, slot, status);
        }
    }
}

/* ---- what executors say ---- */

/* Read a slot's pipe. Errors: what the executor said, when it said ERROR. */
static granary_err
slot_listen(struct slot *slot)
{
    ssize_t size = read(slot->ready_fd, slot->said + slot->said_size, sizeof slot->said - 1 - slot->said_size);
    granary_err err = GRANARY_OK;
    const char *why;

    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        return GRANARY_OK;
    }
    slot->said_size += size > 0 ? (size_t)size : 0;
    slot->said[slot->said_size] = '\0';
    if (size > 0 && strchr(slot->said, '\n') == NULL && slot->said_size < sizeof slot->said - 1) {
        return GRANARY_OK;
    }
    gr_fd_close(&slot->ready_fd); /* its death, if it is that, is told by SIGCHLD */
    if (!gr_daemon_heard(slot->said, &err, &why)) {
        return GRANARY_OK;
    }
    if (err != GRANARY_OK) {
        return gr_fail(err, "%s", why);
    }
    slot_enter(slot, SLOT_RUNNING);
    return GRANARY_OK;
}

/* READY once every slot runs. */
static void
tell_ready(struct pool *pool)
{
    for (int i = 0; i < pool->options->executors; i++) {
        if (pool->slots[i].state != SLOT_RUNNING) {
            return;
        }
    }
    if (pool->ready_fd >= 0) {
        gr_log_info("POOL-READY", "executors=%d", pool->options->executors);
        gr_daemon_say_ready(&pool->ready_fd);
    }
}

/* ---- the loop ---- */

static void
take_signals(struct pool *pool)
{
    struct signalfd_siginfo info;

    while (read(pool->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        pool->stopping = pool->stopping || info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT;
    }
}

/* Wait for signals and pipes, at most until deadline_ns. */
static void
wait_for_events(struct pool *pool, int64_t deadline_ns)
{
    int count = pool->options->executors;

    for (int i = 0; i < count; i++) {
        pool->polls[i] = (struct pollfd){.fd = pool->slots[i].ready_fd, .events = POLLIN};
    }
    pool->polls[count] = (struct pollfd){.fd = pool->signal_fd, .events = POLLIN};
    (void)poll(pool->polls, (nfds_t)count + 1, gr_left_ms(deadline_ns));
    take_signals(pool);
}

/* Start what waits for it. Returns when the next one is due; *ret_alive: how many slots are not given up. */
static int64_t
start_due(struct pool *pool, int *ret_alive)
{
    int64_t now = gr_now_ns();
    int64_t next = INT64_MAX;

    *ret_alive = 0;
    for (int i = 0; i < pool->options->executors; i++) {
        struct slot *slot = &pool->slots[i];

        if (slot->state == SLOT_WAITING && slot->start_again_ns <= now) {
            slot_enter(slot, SLOT_STARTING);
            slot_start(pool, slot);
        }
        if (slot->state == SLOT_WAITING && slot->start_again_ns < next) {
            next = slot->start_again_ns;
        }
        *ret_alive += slot->state != SLOT_LOST;
    }
    return next;
}

static granary_err
run(struct pool *pool)
{
    granary_err err = GRANARY_OK;

    while (!pool->stopping) {
        int alive;
        int64_t next = start_due(pool, &alive);

        if (alive == 0 || (alive < pool->options->executors && pool->ready_fd >= 0)) {
            return gr_fail(GRANARY_EFAILED, "executors die before they are ready, %d in a row; the log above says why",
                           POOL_DEATHS_MAX);
        }
        wait_for_events(pool, next);
        for (int i = 0; i < pool->options->executors; i++) {
            struct slot *slot = &pool->slots[i];

            if (slot->ready_fd >= 0 && pool->polls[i].fd == slot->ready_fd && pool->polls[i].revents != 0) {
                err = slot_listen(slot);
                if (err != GRANARY_OK && pool->ready_fd >= 0) {
                    return err; /* whoever starts us wants to know why it does not work */
                }
            }
        }
        reap(pool);
        tell_ready(pool);
    }
    return GRANARY_OK;
}

static void
signal_all(const struct pool *pool, int signal)
{
    for (int i = 0; i < pool->options->executors; i++) {
        if (pool->slots[i].pid > 0) {
            (void)kill(pool->slots[i].pid, signal);
        }
    }
}

static bool
any_alive(const struct pool *pool)
{
    for (int i = 0; i < pool->options->executors; i++) {
        if (pool->slots[i].pid > 0) {
            return true;
        }
    }
    return false;
}

/* All executors leave, or are killed; none is left when this returns. */
static void
stop_all(struct pool *pool)
{
    int64_t deadline = gr_deadline_ns(LEAVE_MS);

    pool->stopping = true;
    signal_all(pool, SIGTERM);
    while (any_alive(pool) && gr_now_ns() < deadline) {
        reap(pool);
        if (any_alive(pool)) {
            wait_for_events(pool, deadline);
        }
    }
    signal_all(pool, SIGKILL);
    for (int i = 0; i < pool->options->executors; i++) {
        if (pool->slots[i].pid > 0) {
            while (waitpid(pool->slots[i].pid, NULL, 0) < 0 && errno == EINTR) {
            }
        }
        gr_fd_close(&pool->slots[i].ready_fd);
    }
}

static granary_err
pool_init(struct pool *pool, const struct pool_options *options)
{
    int nodes[TOPOLOGY_NODES_MAX];
    size_t node_count = topology_nodes(nodes);
    sigset_t mask;

    *pool = (struct pool){.options = options, .signal_fd = -1, .ready_fd = options->ready_fd};
    pool->slots = calloc((size_t)options->executors, sizeof *pool->slots);
    pool->polls = calloc((size_t)options->executors + 1, sizeof *pool->polls);
    if (pool->slots == NULL || pool->polls == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%d executors: out of memory", options->executors);
    }
    for (int i = 0; i < options->executors; i++) {
        pool->slots[i] = (struct slot){.state = SLOT_WAITING, .node = nodes[(size_t)i % node_count], .ready_fd = -1};
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, no death could be told */
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGTERM);
    (void)sigaddset(&mask, SIGINT);
    (void)sigaddset(&mask, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &mask, &pool->old_mask);
    pool->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    return pool->signal_fd < 0 ? gr_fail_errno("signalfd") : GRANARY_OK;
}

granary_err
pool_run(const struct pool_options *options)
{
    pid_t parent = getppid();
    struct pool pool;
    granary_err err;

    if (options->ready_fd >= 0) {
        (void)fcntl(options->ready_fd, F_SETFD, FD_CLOEXEC);
    }
    err = pool_init(&pool, options);
    if (err == GRANARY_OK && options->die_with_parent) {
        err = gr_daemon_follow(parent, SIGTERM);
    }
    if (err == GRANARY_OK) {
        err = run(&pool);
    }
    if (err != GRANARY_OK) {
        gr_daemon_say_error(&pool.ready_fd, err);
    }
    if (pool.slots != NULL) {
        stop_all(&pool);
    }
    gr_fd_close(&pool.ready_fd);
    gr_fd_close(&pool.signal_fd);
    free(pool.slots);
    free(pool.polls);
    return err;
}
