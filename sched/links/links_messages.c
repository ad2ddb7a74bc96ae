/* What executors and their pool say. */
#include "sched/links/links_private.h"

#include <string.h>

#include "base/log.h"
#include "base/text/buf.h"
#include "sched/core/pack.h"

static void
take_reports(struct links *links, uint32_t number, const Granary__FromExecutor *report)
{
    for (size_t i = 0; i < report->n_done; i++) {
        manager_done(links->manager, number, report->done[i]);
    }
}

/* NULL: it is refused. */
static struct link *
link_register(struct links *links, const struct gr_zmq_peer *peer, int64_t peer_pid,
              const Granary__FromExecutor *report)
{
    const Granary__Register *message = report->register_;
    struct link *link = link_of_peer(links, peer);

    if (peer_pid != message->pid) {
        gr_log_warn("EXECUTOR-IMPOSTOR", "pid=%lld: process %lld says so", (long long)message->pid,
                    (long long)peer_pid);
        return NULL;
    }
    if (link != NULL && link->pid == message->pid && link->start_time == message->start_time &&
        link->slot == message->slot) {
        link_tell_number(links, link); /* asked twice */
        return link;
    }
    if (link != NULL) {
        link_gone(links, link);
    }
    link = link_of_process(links, message->pid, message->start_time, message->slot);
    if (link != NULL && link->number != 0) {
        /* It has connected anew, and tells what it has done; what it was given besides goes back. */
        take_reports(links, link->number, report);
        link_remove(links, link);
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
    link_tell_number(links, link);
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

        if (link != NULL && link_has_ended(link)) { /* whatever anybody says */
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
    link_tell(links, &link->peer, &bytes);
    link_remove(links, link);
}

void
links_tell_unknown(const struct links *links, const struct gr_zmq_peer *peer)
{
    struct gr_buf bytes = {0};

    pack_begin(&bytes);
    pack_unknown(&bytes);
    link_tell(links, peer, &bytes);
}

void
links_refuse(const struct links *links, const struct gr_zmq_peer *peer)
{
    struct gr_buf bytes = {0};

    pack_begin(&bytes);
    link_tell(links, peer, &bytes);
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
    link = report->register_ != NULL ? link_register(links, peer, peer_pid, report) : link_of_peer(links, peer);
    if (link == NULL) {
        gr_log_warn("EXECUTOR-UNKNOWN", "pid=%lld reports=%zu from one that is not registered", (long long)peer_pid,
                    report->n_done);
        if (report->register_ == NULL) {
            links_tell_unknown(links, peer);
        }
        return;
    }
    number = link->number;
    if (report->freed != 0) {
        manager_freed(links->manager, number, report->freed);
    }
    link->reported = report->sequence > link->reported ? report->sequence : link->reported;
    take_reports(links, number, report);
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
