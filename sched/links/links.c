/* Executors' processes, by pid and start time, with their pidfds; messages to them, and what their pages tell. */
#include "base/memory/grow.h"
#include "sched/links/links_private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text/buf.h"
#include "sched/core/pack.h"
#include "sched/watch.h"

/* An executor's end is known at once; how it came about the pool tells, for which we wait so long. */
#define REASON_MS 200
/* How often executors are looked at, while something with limits runs or is to be given up. */
#define WATCH_NS 20000000
#define LOG_END  2048 /* bytes of what a dead subtask printed that are told */

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

struct link *
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

struct link *
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

void
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

void
link_remove(struct links *links, struct link *link)
{
    uint32_t number = link->number;

    manager_forget_executor(links->manager, link->pid, link->start_time, link->slot);
    gr_fd_close(&link->pidfd);
    *link = links->items[--links->count];
    manager_executor_left(links->manager, number);
}

struct link *
link_add(struct links *links, int64_t pid, uint64_t start_time, uint32_t slot)
{
    int pidfd = -1;

    if (!gr_grow(&links->items, &links->room, links->count, sizeof *links->items)) {
        gr_log_error("OUT-OF-MEMORY", "pid=%lld is not used", (long long)pid);
        manager_note_exhausted(links->manager);
        return NULL;
    }
    if (pid > 0 && pid <= INT32_MAX) {
        pidfd = gr_process_open((pid_t)pid, start_time);
    }
    if (pidfd < 0) {
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

bool
link_has_ended(const struct link *link)
{
    return gr_pidfd_ended(link->pidfd);
}

void
links_process_ended(struct links *links, int pidfd)
{
    for (size_t i = 0; i < links->count; i++) {
        struct link *link = &links->items[i];

        /* Since it was waited for the descriptor may have been closed, and be another executor's. */
        if (link->pidfd == pidfd && link->gone_ns == 0 && link_has_ended(link)) {
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
    granary_err err;

    pack_epoch(bytes, links->epoch);
    if (executor == EXECUTOR_POOL && gr_buf_ok(bytes) &&
        gr_zmq_send(links->socket, &links->supervisor, bytes->bytes, bytes->size) != GRANARY_OK) {
        gr_log_warn("POOL-SEND", "%s", granary_error_message()); /* the order will be answered as late */
    }
    if (link == NULL) {
        return; /* it has died since */
    }
    err = gr_buf_ok(bytes) ? gr_zmq_send(links->socket, &link->peer, bytes->bytes, bytes->size)
                           : gr_fail(GRANARY_ENOMEM, "no memory for a message");
    if (err == GRANARY_EUNREACHABLE && !link->pull) {
        /* Its connection broke. It connects anew and claims what it has; the rest goes back then, or when it ends. */
        gr_log_warn("EXECUTOR-SEND", "executor=%u pid=%lld: %s", link->number, (long long)link->pid,
                    granary_error_message());
    } else if (err != GRANARY_OK) {
        gr_log_warn("EXECUTOR-SEND", "executor=%u pid=%lld: %s: it is given up", link->number, (long long)link->pid,
                    granary_error_message());
        if (!link->pull) {
            (void)gr_pidfd_signal(link->pidfd, SIGKILL);
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
    } else if (gr_pidfd_signal(link->pidfd, SIGKILL) < 0) {
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
        int64_t program = 0;

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
            program = page.program;
        }
        if (!seen.idle) {
            seen.private_bytes = watch_private_bytes(link->pid) + (program > 0 ? watch_private_bytes(program) : 0);
        }
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

void
link_tell(const struct links *links, const struct gr_zmq_peer *peer, struct gr_buf *bytes)
{
    pack_epoch(bytes, links->epoch);
    if (gr_buf_ok(bytes)) {
        (void)gr_zmq_send(links->socket, peer, bytes->bytes, bytes->size);
    } else {
        manager_note_exhausted(links->manager); /* who waits for that would wait for good */
    }
    gr_buf_free(bytes);
}

void
link_tell_number(const struct links *links, const struct link *link)
{
    struct gr_buf bytes = {0};

    pack_begin(&bytes);
    pack_registered(&bytes, link->number);
    link_tell(links, &link->peer, &bytes);
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
            link_tell(links, &link->peer, &bytes);
        }
    }
}
