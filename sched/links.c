#include "sched/links.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "sched/pack.h"
#include "sched/watch.h"

/* An executor's end is known at once; how it came about the pool tells, for which we wait so long. */
#define REASON_MS 200
/* How often executors are looked at, while something with limits runs or is to be given up. */
#define WATCH_NS 20000000
#define LOG_END  2048 /* bytes of what a dead subtask printed that are told */

#define SLOT_ANY UINT32_MAX

struct link {
    uint32_t number; /* 0: expected, not registered yet */
    bool pull;       /* part of another program */
    struct gr_zmq_peer peer;
    int64_t pid;
    uint64_t start_time;
    uint32_t slot;     /* or, of those embedded in one program, which of them */
    uint64_t reported; /* FromExecutor.sequence of the last report */
    uint64_t acknowledged;
    int pidfd;
    uint64_t busy; /* number 0: subtask it is at, and waited for; 0: none */
    uint32_t busy_attempt;
    int64_t gone_ns; /* its process has ended: until when we wait to be told why; 0: it lives */
};

struct links {
    struct manager *manager;
    const struct gr_instance *instance;
    struct gr_zmq_socket *socket;
    int64_t watch_at_ns;           /* when executors are to be looked at; INT64_MAX: never */
    struct gr_zmq_peer supervisor; /* of the executors; size 0: none has said anything */
    uint64_t epoch, epoch_seen;
    struct link *items;
    size_t count, room;
    uint32_t last_number;
};

struct links *
links_create(struct manager *manager, const struct gr_instance *instance, uint64_t epoch)
{
    struct links *links = calloc(1, sizeof *links);

    if (links != NULL) {
        links->manager = manager;
        links->instance = instance;
        links->watch_at_ns = INT64_MAX;
        links->epoch = epoch;
    }
    return links;
}

void
links_destroy(struct links *links)
{
    if (links != NULL) {
        for (size_t i = 0; i < links->count; i++) {
            gr_fd_close(&links->items[i].pidfd);
        }
        free(links->items);
        free(links);
    }
}

void
links_open(struct links *links, struct gr_zmq_socket *socket)
{
    links->socket = socket;
}

/* ---- finding ---- */

static struct link *
link_of_peer(struct links *links, const struct gr_zmq_peer *peer)
{
    for (size_t i = 0; i < links->count; i++) {
        const struct link *link = &links->items[i];

        if (link->number != 0 && link->peer.size == peer->size &&
            memcmp(link->peer.bytes, peer->bytes, peer->size) == 0) {
            return &links->items[i];
        }
    }
    return NULL;
}

static struct link *
link_of_number(struct links *links, uint32_t number)
{
    for (size_t i = 0; i < links->count; i++) {
        if (links->items[i].number == number) {
            return &links->items[i];
        }
    }
    return NULL;
}

static struct link *
link_of_process(struct links *links, int64_t pid, uint64_t start_time, uint32_t slot)
{
    for (size_t i = 0; i < links->count; i++) {
        const struct link *link = &links->items[i];

        if (link->pid == pid && link->start_time == start_time && (slot == SLOT_ANY || link->slot == slot)) {
            return &links->items[i];
        }
    }
    return NULL;
}

/* ---- coming and going ---- */

static void
link_gone(struct links *links, struct link *link)
{
    const char *runtime = links->instance->runtime;
    uint32_t number = link->number;
    uint64_t busy = link->busy;
    uint32_t busy_attempt = link->busy_attempt;
    struct gr_executor_state page;
    char logs[GR_LOGS_MAX];
    char text[LOG_END];

    gr_log_warn("EXECUTOR-GONE", "executor=%u pid=%lld", number, (long long)link->pid);
    if (number != 0 && watch_read(runtime, link->pid, link->start_time, &page)) {
        gr_instance_logs(links->instance, logs);
        manager_executor_was_at(links->manager, number, page.subtask, page.attempt,
                                watch_log_end(logs, page.log, text, sizeof text) > 0 ? text : NULL);
    }
    if (gr_process_start_time((pid_t)link->pid) != link->start_time) {
        watch_forget(runtime, link->pid);
    }
    manager_forget_executor(links->manager, link->pid, link->start_time, link->slot);
    gr_fd_close(&link->pidfd);
    *link = links->items[--links->count];
    if (number != 0) {
        manager_executor_died(links->manager, number);
    } else if (busy != 0) {
        manager_executor_busy_died(links->manager, busy, busy_attempt);
    }
}

/* It leaves by its own wish. */
static void
link_remove(struct links *links, struct link *link)
{
    uint32_t number = link->number;

    manager_forget_executor(links->manager, link->pid, link->start_time, link->slot);
    gr_fd_close(&link->pidfd);
    *link = links->items[--links->count];
    manager_executor_left(links->manager, number);
}

/* A process that lives now. NULL: it does not, or no memory; logged. */
static struct link *
link_add(struct links *links, int64_t pid, uint64_t start_time, uint32_t slot)
{
    int pidfd = -1;

    if (links->count == links->room) {
        size_t room = links->room * 2 + 8;
        struct link *grown = reallocarray(links->items, room, sizeof *grown);

        if (grown == NULL) {
            gr_log_error("OUT-OF-MEMORY", "pid=%lld is not used", (long long)pid);
            return NULL;
        }
        links->items = grown;
        links->room = room;
    }
    if (pid > 0 && pid <= INT32_MAX) {
        /* In this order: once the descriptor is open, the start time tells whose it is. */
        pidfd = gr_pidfd_open((pid_t)pid);
    }
    if (pidfd < 0 || gr_process_start_time((pid_t)pid) != start_time) {
        gr_fd_close(&pidfd);
        return NULL;
    }
    links->items[links->count] = (struct link){.pid = pid, .start_time = start_time, .slot = slot, .pidfd = pidfd};
    return &links->items[links->count++];
}

void
links_expect(struct links *links, int64_t pid, uint64_t start_time, uint32_t slot)
{
    if (link_add(links, pid, start_time, slot) == NULL) {
        manager_forget_executor(links->manager, pid, start_time, slot);
    }
}

void
links_note_busy(struct links *links)
{
    for (size_t i = 0; i < links->count; i++) {
        struct link *link = &links->items[i];
        struct gr_executor_state page;

        if (link->number == 0 && link->busy == 0 &&
            watch_read(links->instance->runtime, link->pid, link->start_time, &page) && page.subtask != 0) {
            link->busy = page.subtask;
            link->busy_attempt = page.attempt;
            manager_executor_busy(links->manager, page.subtask, page.attempt);
        }
    }
}

uint64_t
links_epoch_seen(const struct links *links)
{
    return links->epoch_seen;
}

size_t
links_expected(const struct links *links)
{
    size_t expected = 0;

    for (size_t i = 0; i < links->count; i++) {
        expected += links->items[i].number == 0 && links->items[i].busy == 0;
    }
    return expected;
}

static bool
process_has_ended(const struct link *link)
{
    struct pollfd process = {.fd = link->pidfd, .events = POLLIN};

    return poll(&process, 1, 0) > 0;
}

void
links_process_ended(struct links *links, int pidfd)
{
    for (size_t i = 0; i < links->count; i++) {
        struct link *link = &links->items[i];

        /* Since it was waited for the descriptor may have been closed, and be another executor's. */
        if (link->pidfd == pidfd && link->gone_ns == 0 && process_has_ended(link)) {
            /* One of the pool's is waited for no longer than it takes to be told why. */
            if (links->supervisor.size > 0 && !link->pull && link->number != 0) {
                link->gone_ns = gr_deadline_ns(REASON_MS);
                manager_executor_ended(links->manager, link->number);
            } else {
                link_gone(links, link);
            }
            return;
        }
    }
}

void
links_expire(struct links *links, int64_t now_ns)
{
    for (size_t i = links->count; i > 0; i--) {
        if (links->items[i - 1].gone_ns != 0 && links->items[i - 1].gone_ns <= now_ns) {
            link_gone(links, &links->items[i - 1]);
        }
    }
}

int64_t
links_deadline(const struct links *links)
{
    int64_t deadline_ns = links->watch_at_ns;

    for (size_t i = 0; i < links->count; i++) {
        int64_t gone_ns = links->items[i].gone_ns;

        deadline_ns = gone_ns != 0 && gone_ns < deadline_ns ? gone_ns : deadline_ns;
    }
    return deadline_ns;
}

size_t
links_fds(const struct links *links, int *fds, size_t room)
{
    for (size_t i = 0; i < links->count && i < room; i++) {
        fds[i] = links->items[i].gone_ns != 0 ? -1 : links->items[i].pidfd;
    }
    return links->count;
}

/* ---- to executors ---- */

void
links_send(struct links *links, uint32_t executor, struct gr_buf *bytes)
{
    struct link *link = executor == EXECUTOR_POOL ? NULL : link_of_number(links, executor);

    pack_epoch(bytes, links->epoch);
    if (executor == EXECUTOR_POOL && gr_buf_ok(bytes) &&
        gr_zmq_send(links->socket, &links->supervisor, bytes->bytes, bytes->size) != GRANARY_OK) {
        gr_log_warn("POOL-SEND", "%s", granary_error_message()); /* the order will be answered as late */
    }
    if (link == NULL) {
        return; /* it has died since */
    }
    if (!gr_buf_ok(bytes) || gr_zmq_send(links->socket, &link->peer, bytes->bytes, bytes->size) != GRANARY_OK) {
        gr_log_warn("EXECUTOR-SEND", "executor=%u pid=%lld: %s: it is given up", link->number, (long long)link->pid,
                    granary_error_message());
        if (!link->pull) {
            (void)gr_pidfd_kill(link->pidfd);
        }
        link_gone(links, link);
    }
}

void
links_give_up(struct links *links, const struct action *action)
{
    const struct link *link = link_of_number(links, action->executor);

    if (link == NULL || link->gone_ns != 0) {
        return; /* it has died since */
    }
    if (action->kind == ACTION_CANCEL) {
        watch_cancel(links->instance->runtime, link->pid, link->start_time, action->subtask);
    } else if (gr_pidfd_kill(link->pidfd) < 0) {
        gr_log_warn("EXECUTOR-KILL", "executor=%u pid=%lld: %s", link->number, (long long)link->pid, strerror(errno));
    }
}

static void
watch_all(struct links *links, int64_t now_ns)
{
    for (size_t i = 0; i < links->count; i++) {
        struct link *link = &links->items[i];
        struct manager_seen seen = {.running_ns = -1};
        struct gr_executor_state page;

        if (link->gone_ns != 0 || link->number == 0) {
            continue;
        }
        if (watch_read(links->instance->runtime, link->pid, link->start_time, &page)) {
            seen.idle = page.subtask == 0;
            seen.subtask = page.subtask;
            seen.attempt = page.attempt;
            seen.running_ns = seen.idle ? -1 : now_ns - page.since_ns;
            seen.waits_for = page.waits_for;
            seen.waits_since_ns = page.waits_since_ns;
        }
        seen.private_bytes = seen.idle ? 0 : watch_private_bytes(link->pid);
        manager_watch(links->manager, link->number, &seen, now_ns);
    }
}

void
links_watch(struct links *links, int64_t now_ns)
{
    if (!manager_watching(links->manager)) {
        links->watch_at_ns = INT64_MAX;
    } else if (links->watch_at_ns == INT64_MAX || links->watch_at_ns <= now_ns) {
        watch_all(links, now_ns);
        manager_watched(links->manager, now_ns);
        links->watch_at_ns = now_ns + WATCH_NS;
    }
}

/* Send what does no harm when it is lost, with the executor about to leave or to register anew. */
static void
tell(const struct links *links, const struct link *link, struct gr_buf *bytes)
{
    pack_epoch(bytes, links->epoch);
    if (gr_buf_ok(bytes)) {
        (void)gr_zmq_send(links->socket, &link->peer, bytes->bytes, bytes->size);
    }
    gr_buf_free(bytes);
}

static void
tell_number(const struct links *links, const struct link *link)
{
    struct gr_buf bytes = {0};

    pack_begin(&bytes);
    pack_registered(&bytes, link->number);
    tell(links, link, &bytes);
}

void
links_acknowledge(struct links *links)
{
    for (size_t i = 0; i < links->count; i++) {
        struct link *link = &links->items[i];
        struct gr_buf bytes = {0};

        if (link->number != 0 && link->reported > link->acknowledged) {
            link->acknowledged = link->reported;
            pack_begin(&bytes);
            pack_acknowledged(&bytes, link->acknowledged);
            tell(links, link, &bytes);
        }
    }
}

/* ---- from executors ---- */

/* NULL: it is refused. */
static struct link *
link_register(struct links *links, const struct gr_zmq_peer *peer, int64_t peer_pid, const Granary__Register *message)
{
    struct link *link = link_of_peer(links, peer);

    if (peer_pid != message->pid) {
        gr_log_warn("EXECUTOR-IMPOSTOR", "pid=%lld: process %lld says so", (long long)message->pid,
                    (long long)peer_pid);
        return NULL;
    }
    if (link != NULL && link->pid == message->pid && link->start_time == message->start_time &&
        link->slot == message->slot) {
        tell_number(links, link); /* asked twice */
        return link;
    }
    if (link != NULL) {
        link_gone(links, link);
    }
    link = link_of_process(links, message->pid, message->start_time, message->slot);
    if (link != NULL && link->number != 0) {
        link_remove(links, link); /* it has connected anew: it tells what it has */
        link = NULL;
    }
    if (link == NULL) {
        link = link_add(links, message->pid, message->start_time, message->slot);
    }
    if (link == NULL) {
        gr_log_warn("EXECUTOR-UNKNOWN", "pid=%lld started=%llu: no such process", (long long)message->pid,
                    (unsigned long long)message->start_time);
        return NULL;
    }
    links->epoch_seen = message->epoch > links->epoch_seen ? message->epoch : links->epoch_seen;
    link->number = ++links->last_number;
    link->peer = *peer;
    link->pull = message->pull;
    gr_log_info("EXECUTOR", "executor=%u pid=%lld node=%d slot=%u queued=%zu", link->number, (long long)link->pid,
                message->node, message->slot, message->n_queued);
    manager_executor_joined(links->manager, link->number, message->node, message->pid);
    manager_keep_executor(links->manager, link->pid, link->start_time, link->slot);
    manager_executor_claims(links->manager, link->number, message);
    if (message->pull) {
        manager_executor_pulls(links->manager, link->number, 0);
    }
    tell_number(links, link);
    return link;
}

static void
supervisor_says(struct links *links, const struct gr_zmq_peer *peer, int64_t peer_pid, const Granary__Pool *pool)
{
    if (peer_pid != pool->pid) {
        gr_log_warn("POOL-PROTOCOL", "pid=%lld says that it is the pool %lld", (long long)peer_pid,
                    (long long)pool->pid);
        return;
    }
    if (links->supervisor.size != peer->size || memcmp(links->supervisor.bytes, peer->bytes, peer->size) != 0) {
        gr_log_info("POOL", "pid=%lld slots=%u", (long long)pool->pid, pool->slots);
        links->supervisor = *peer;
    }
    manager_pool_slots(links->manager, pool->pid, pool->slots, (uint32_t)pool->n_slots_of_node);
    for (size_t i = 0; i < pool->n_deaths; i++) {
        const Granary__Death *death = pool->deaths[i];
        struct link *link = link_of_process(links, death->pid, death->start_time, SLOT_ANY);

        if (link != NULL && process_has_ended(link)) { /* whatever anybody says */
            if (link->number != 0) {
                manager_executor_death(links->manager, link->number, death->signal, death->status);
            }
            link_gone(links, link);
        }
    }
}

/* No process need end for that. It is told that this was heard. */
static void
link_leaves(struct links *links, struct link *link)
{
    struct gr_buf bytes = {0};

    gr_log_info("EXECUTOR-LEFT", "executor=%u pid=%lld", link->number, (long long)link->pid);
    pack_begin(&bytes);
    pack_dismissal(&bytes, false);
    tell(links, link, &bytes);
    link_remove(links, link);
}

void
links_message(struct links *links, const struct gr_zmq_peer *peer, int64_t peer_pid,
              const Granary__FromExecutor *report)
{
    struct link *link;
    uint32_t number;

    if (report->pool != NULL) {
        supervisor_says(links, peer, peer_pid, report->pool);
        return;
    }
    link =
        report->register_ != NULL ? link_register(links, peer, peer_pid, report->register_) : link_of_peer(links, peer);
    if (link == NULL) {
        gr_log_warn("EXECUTOR-UNKNOWN", "reports=%zu from one that is not registered", report->n_done);
        return;
    }
    number = link->number;
    if (report->freed != 0) {
        manager_freed(links->manager, number, report->freed);
    }
    link->reported = report->sequence > link->reported ? report->sequence : link->reported;
    for (size_t i = 0; i < report->n_done; i++) {
        manager_done(links->manager, number, report->done[i]);
    }
    if (link->busy != 0) { /* it was to tell of that now; else it never will */
        manager_executor_busy_died(links->manager, link->busy, link->busy_attempt);
        link->busy = 0;
    }
    if (link->pull && report->draining) {
        link_leaves(links, link);
    } else if (report->draining) {
        manager_executor_drain(links->manager, number, true);
    } else if (link->pull && report->want > 0) {
        manager_executor_pulls(links->manager, number, report->want - 1);
    }
}
