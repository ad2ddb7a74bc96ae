/* One loop over poll(): signals, the pipes of executors that start, the scheduler. Nothing in it waits. */
#include "executor/pool/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/log.h"
#include "base/process/daemon.h"
#include "base/process/executor_page.h"
#include "executor/confine/confine.h"
#include "executor/pool/link.h"
#include "executor/pool/orphans.h"
#include "executor/pool/slot.h"
#include "topology/topology.h"

/* How long executors may take to leave before they are killed. */
#define LEAVE_MS 2000

struct pool {
    const struct pool_options *options;
    struct gr_instance instance;
    struct slot_command command;
    struct slot *slots;
    int slot_count, slot_room;
    int *fds; /* to wait for: one a slot, the signals, the scheduler */
    bool *ready;
    struct pool_link *link;
    struct topology topology;
    int nodes[TOPOLOGY_NODES_MAX]; /* where slots may be */
    size_t node_count;
    int signal_fd;
    int ready_fd;
    bool stopping;
};

/* ---- slots ---- */

static granary_err
room_for(struct pool *pool, int count)
{
    struct slot *slots = realloc(pool->slots, (size_t)(count + 1) * sizeof *slots);
    int *fds;
    bool *ready;

    pool->slots = slots != NULL ? slots : pool->slots;
    fds = realloc(pool->fds, (size_t)(count + 2) * sizeof *fds);
    pool->fds = fds != NULL ? fds : pool->fds;
    ready = realloc(pool->ready, (size_t)(count + 2) * sizeof *ready);
    pool->ready = ready != NULL ? ready : pool->ready;
    if (slots == NULL || fds == NULL || ready == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%d executors: out of memory", count);
    }
    pool->slot_room = count;
    return GRANARY_OK;
}

static uint32_t
slots_on(const struct pool *pool, int node)
{
    uint32_t count = 0;

    for (int i = 0; i < pool->slot_count; i++) {
        count += slot_in_use(&pool->slots[i]) && pool->slots[i].node == node;
    }
    return count;
}

/* Where fewest slots are. */
static int
emptiest_node(const struct pool *pool)
{
    int best = pool->nodes[0];

    for (size_t i = 1; i < pool->node_count; i++) {
        best = slots_on(pool, pool->nodes[i]) < slots_on(pool, best) ? pool->nodes[i] : best;
    }
    return best;
}

static bool
may_be_on(const struct pool *pool, int node)
{
    for (size_t i = 0; i < pool->node_count; i++) {
        if (pool->nodes[i] == node) {
            return true;
        }
    }
    return false;
}

/* One slot more: one that was given up, or a new one. node: -1 where fewest are. */
static granary_err
slot_add(struct pool *pool, int node)
{
    granary_err err;

    node = may_be_on(pool, node) ? node : emptiest_node(pool);
    for (int i = 0; i < pool->slot_count; i++) {
        if (!slot_in_use(&pool->slots[i])) {
            slot_revive(&pool->slots[i], node);
            return GRANARY_OK;
        }
    }
    if (pool->slot_count == POOL_SLOTS_MAX) {
        return gr_fail(GRANARY_EFULL, "a pool has at most %d executors", POOL_SLOTS_MAX);
    }
    if (pool->slot_count == pool->slot_room) {
        err = room_for(pool, pool->slot_room * 2 + 8);
        if (err != GRANARY_OK) {
            return err;
        }
    }
    slot_init(&pool->slots[pool->slot_count], pool->slot_count, node);
    pool->slot_count++;
    return GRANARY_OK;
}

static void
tell_slots(struct pool *pool)
{
    uint32_t of_node[TOPOLOGY_NODES_MAX] = {0};
    uint32_t slots = 0;

    for (int i = 0; i < pool->slot_count; i++) {
        const struct slot *slot = &pool->slots[i];

        if (slot_in_use(slot)) {
            slots++;
            of_node[slot->node]++;
        }
    }
    pool_link_slots(pool->link, slots, of_node, pool->topology.count);
}

static bool
is_executor(const void *context, pid_t pid)
{
    const struct pool *pool = context;

    for (int i = 0; i < pool->slot_count; i++) {
        if (pool->slots[i].pid == pid) {
            return true;
        }
    }
    return false;
}

static void
reap(struct pool *pool)
{
    bool died = false;

    for (int i = 0; i < pool->slot_count; i++) {
        struct slot *slot = &pool->slots[i];
        pid_t pid = slot->pid;
        int status;

        if (pid <= 0 || waitpid(pid, &status, WNOHANG) != pid) {
            continue;
        }
        status = slot_look_back(slot, pool->instance.runtime, status);
        pool_link_death(pool->link, slot->pid, slot->start_time, status);
        if (pool->stopping) {
            slot->pid = 0;
        } else {
            slot_died(slot, status);
        }
        orphans_kill(pid, is_executor, pool);
        died = true;
    }
    if (died) { /* theirs, and those of a pool that was killed */
        gr_executor_pages_trim(pool->instance.runtime, GR_EXECUTOR_PAGES_DEAD);
    }
    orphans_reap(is_executor, pool);
}

/* READY once every slot runs. */
static void
tell_ready(struct pool *pool)
{
    for (int i = 0; i < pool->slot_count; i++) {
        if (pool->slots[i].state != SLOT_RUNNING) {
            return;
        }
    }
    if (pool->ready_fd >= 0) {
        gr_log_info("POOL-READY", "executors=%d", pool->slot_count);
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

static void
take_orders(struct pool *pool)
{
    Granary__ToExecutor *message;

    while ((message = pool_link_next(pool->link)) != NULL) {
        const Granary__PoolOrder *order = message->pool;

        if (order->verb == GRANARY__POOL_ORDER__VERB__ADD) {
            granary_err err = GRANARY_OK;

            gr_log_info("POOL-ADD", "count=%u node=%d", order->count, order->node);
            for (uint32_t i = 0; err == GRANARY_OK && i < order->count; i++) {
                err = slot_add(pool, order->node);
            }
            if (err != GRANARY_OK) {
                gr_log_error("POOL-ADD", "%s", granary_error_message());
            }
        }
        granary__to_executor__free_unpacked(message, NULL);
    }
}

/* Wait for signals, pipes and the scheduler, at most until deadline_ns. */
static void
wait_for_events(struct pool *pool, int64_t deadline_ns)
{
    struct gr_dealer *socket = pool_link_socket(pool->link);
    int64_t look_ns = gr_deadline_ns(pool_link_patience_ms(pool->link));

    for (int i = 0; i < pool->slot_count; i++) {
        pool->fds[i] = pool->slots[i].ready_fd;
    }
    pool->fds[pool->slot_count] = pool->signal_fd;
    pool->fds[pool->slot_count + 1] = pool_link_fd(pool->link);
    (void)gr_dealer_wait(socket, pool->fds, pool->ready, (size_t)pool->slot_count + 2,
                         gr_left_ms(look_ns < deadline_ns ? look_ns : deadline_ns));
    take_signals(pool);
}

/* Start what waits for it. Returns when the next one is due; *ret_lost: how many slots are given up. */
static int64_t
start_due(struct pool *pool, int *ret_lost)
{
    int64_t now = gr_now_ns();
    int64_t next = INT64_MAX;

    *ret_lost = 0;
    for (int i = 0; i < pool->slot_count; i++) {
        struct slot *slot = &pool->slots[i];

        if (slot->state == SLOT_WAITING && slot->start_again_ns <= now) {
            slot_start(slot, &pool->command);
        }
        if (slot->state == SLOT_WAITING && slot->start_again_ns < next) {
            next = slot->start_again_ns;
        }
        *ret_lost += slot->state == SLOT_LOST;
    }
    return next;
}

static bool
any_in_use(const struct pool *pool)
{
    for (int i = 0; i < pool->slot_count; i++) {
        if (slot_in_use(&pool->slots[i])) {
            return true;
        }
    }
    return false;
}

static granary_err
run(struct pool *pool)
{
    granary_err err = GRANARY_OK;

    while (!pool->stopping) {
        int lost;
        int64_t next = start_due(pool, &lost);

        if (lost > 0 && (!any_in_use(pool) || pool->ready_fd >= 0)) {
            return gr_fail(GRANARY_EFAILED, "executors die before they are ready, %d in a row; the log above says why",
                           SLOT_DEATHS_MAX);
        }
        tell_slots(pool);
        tell_ready(pool);
        wait_for_events(pool, next);
        for (int i = 0; i < pool->slot_count; i++) {
            struct slot *slot = &pool->slots[i];

            if (slot->ready_fd >= 0 && pool->ready[i]) {
                err = slot_listen(slot);
                if (err != GRANARY_OK && pool->ready_fd >= 0) {
                    return err; /* whoever starts us wants to know why it does not work */
                }
            }
        }
        reap(pool);
        take_orders(pool);
        pool_link_look(pool->link);
    }
    return GRANARY_OK;
}

/* ---- beginning and end ---- */

static void
signal_all(const struct pool *pool, int signal)
{
    for (int i = 0; i < pool->slot_count; i++) {
        if (pool->slots[i].pid > 0) {
            (void)kill(pool->slots[i].pid, signal);
        }
    }
}

static bool
any_alive(const struct pool *pool)
{
    for (int i = 0; i < pool->slot_count; i++) {
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
    for (int i = 0; i < pool->slot_count; i++) {
        if (pool->slots[i].pid > 0) {
            while (waitpid(pool->slots[i].pid, NULL, 0) < 0 && errno == EINTR) {
            }
            (void)slot_look_back(&pool->slots[i], pool->instance.runtime, 0);
        }
        pool->slots[i].pid = 0;
        gr_fd_close(&pool->slots[i].ready_fd);
    }
    orphans_kill(0, is_executor, pool);
}

static granary_err
pool_init(struct pool *pool, const struct pool_options *options)
{
    bool confined, strict;
    sigset_t mask;
    granary_err err;

    *pool = (struct pool){.options = options,
                          .command = {.program = options->program, .instance = options->instance},
                          .signal_fd = -1,
                          .ready_fd = options->ready_fd};
    err = gr_instance_resolve(options->instance, &pool->instance);
    if (err == GRANARY_OK) {
        err = topology_read(&pool->topology);
    }
    if (err == GRANARY_OK) {
        err = confine_wished(&confined, &strict);
    }
    if (err == GRANARY_OK && confined && (pool->command.environment = confine_environment()) == NULL) {
        err = gr_no_memory("executors");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    pool->command.topology = &pool->topology;
    pool->node_count = topology_usable(&pool->topology, pool->nodes);
    (void)gr_daemon_raise_files(); /* a pipe an executor that starts */
    orphans_adopt();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, no death could be told */
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGTERM);
    (void)sigaddset(&mask, SIGINT);
    (void)sigaddset(&mask, SIGCHLD);
    /* Before any thread starts, which inherits it. */
    (void)sigprocmask(SIG_BLOCK, &mask, &pool->command.mask);
    pool->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    err = pool->signal_fd < 0 ? gr_fail_errno("signalfd") : room_for(pool, options->executors);
    gr_executor_pages_trim(pool->instance.runtime, GR_EXECUTOR_PAGES_DEAD);
    for (int i = 0; err == GRANARY_OK && i < options->executors; i++) {
        err = slot_add(pool, -1);
    }
    return err == GRANARY_OK ? pool_link_open(options->instance, &pool->link) : err;
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
    if (pool.link != NULL) {
        stop_all(&pool);
    }
    pool_link_close(pool.link);
    gr_fd_close(&pool.ready_fd);
    gr_fd_close(&pool.signal_fd);
    free(pool.command.environment);
    free(pool.slots);
    free(pool.fds);
    free(pool.ready);
    return err;
}
