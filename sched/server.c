#include "sched/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "message/zmq.h"
#include "sched/arena.h"
#include "sched/keeper.h"
#include "sched/pack.h"
#include "sched/watch.h"

#define TURN_MESSAGES 4096 /* received from one endpoint before anything else is looked at */
/* An executor's end is known at once; how it came about the pool tells, for which we wait so long. */
#define REASON_NS 200000000
/* How often executors are looked at, while something with limits runs or is to be given up. */
#define WATCH_NS 20000000
#define LOG_END  2048 /* bytes of what a dead subtask printed that are told */
#define SLOT_ANY UINT32_MAX

struct executor_link {
    uint32_t number;
    struct gr_zmq_peer peer;
    int64_t pid;
    uint64_t start_time;
    uint32_t slot; /* or, of those embedded in one program, which of them */
    int pidfd;
    bool pull;
    int64_t gone_ns; /* its process has ended: until when we wait to be told why; 0: it lives */
};

/* A client's request that is not answered yet: its position is the ticket. */
struct pending {
    struct gr_zmq_peer peer;
    uint64_t seq;
    uint64_t next_free;
};

struct server {
    struct gr_instance instance;
    struct manager *manager;
    struct arena *arena;
    struct gr_zmq_context *context;
    struct gr_zmq_socket *clients;
    struct gr_zmq_socket *pool;
    struct gr_zmq_peer supervisor; /* of the executors; size 0: none has said anything */
    struct keeper keeper;
    int64_t watch_at_ns; /* when executors are to be looked at; INT64_MAX: never */
    struct executor_link *links;
    size_t link_count, link_room;
    uint32_t last_number;
    struct pending *pending;
    uint64_t pending_count, pending_room;
    uint64_t pending_free; /* list; UINT64_MAX: empty */
    int *fds;              /* for the wait: stop, then one a link */
    bool *ready;
};

/* ---- clients ---- */

static bool
ticket_new(struct server *server, const struct gr_zmq_peer *peer, uint64_t seq, uint64_t *ret_ticket)
{
    uint64_t ticket = server->pending_free;

    if (ticket != UINT64_MAX) {
        server->pending_free = server->pending[ticket].next_free;
    } else {
        if (server->pending_count == server->pending_room) {
            uint64_t room = server->pending_room * 2 + 64;
            struct pending *grown = reallocarray(server->pending, room, sizeof *grown);

            if (grown == NULL) {
                return false;
            }
            server->pending = grown;
            server->pending_room = room;
        }
        ticket = server->pending_count++;
    }
    server->pending[ticket].peer = *peer;
    server->pending[ticket].seq = seq;
    *ret_ticket = ticket;
    return true;
}

/* Answer what cannot even become a request. */
static void
refuse(struct server *server, const struct gr_zmq_peer *peer, uint64_t seq, granary_err err, const char *message)
{
    Granary__Reply reply = GRANARY__REPLY__INIT;
    struct gr_buf bytes = {0};
    void *room;

    reply.version = GRANARY__VERSION__PROTOCOL;
    reply.seq = seq;
    reply.err = err;
    reply.message = (char *)(uintptr_t)message;
    room = gr_buf_grow(&bytes, granary__reply__get_packed_size(&reply));
    if (room != NULL) {
        (void)granary__reply__pack(&reply, room);
        (void)gr_zmq_send(server->clients, peer, bytes.bytes, bytes.size);
    }
    gr_buf_free(&bytes);
}

static void
client_message(struct server *server, const struct gr_zmq_message *message)
{
    Granary__Request *request = granary__request__unpack(NULL, message->size, message->bytes);
    char text[128];
    uint64_t ticket;

    if (request == NULL) {
        gr_log_warn("CLIENT-PROTOCOL", "bytes=%zu not a request", message->size);
        refuse(server, &message->peer, 0, GRANARY_EPROTO, "the scheduler cannot read this request");
        return;
    }
    if (request->version != GRANARY__VERSION__PROTOCOL) {
        gr_log_warn("CLIENT-VERSION", "version=%u", request->version);
        (void)snprintf(text, sizeof text, "the client speaks version %u, the scheduler %u: use one granary for both",
                       request->version, (unsigned)GRANARY__VERSION__PROTOCOL);
        refuse(server, &message->peer, request->seq, GRANARY_EVERSION, text);
    } else if (!ticket_new(server, &message->peer, request->seq, &ticket)) {
        refuse(server, &message->peer, request->seq, GRANARY_ENOMEM, "scheduler: out of memory");
    } else {
        manager_request(server->manager, ticket, request, gr_now_ns());
    }
    granary__request__free_unpacked(request, NULL);
}

/* ---- executors ---- */

static struct executor_link *
link_of_peer(struct server *server, const struct gr_zmq_peer *peer)
{
    for (size_t i = 0; i < server->link_count; i++) {
        const struct gr_zmq_peer *other = &server->links[i].peer;

        if (other->size == peer->size && memcmp(other->bytes, peer->bytes, peer->size) == 0) {
            return &server->links[i];
        }
    }
    return NULL;
}

static struct executor_link *
link_of_number(struct server *server, uint32_t number)
{
    for (size_t i = 0; i < server->link_count; i++) {
        if (server->links[i].number == number) {
            return &server->links[i];
        }
    }
    return NULL;
}

static struct executor_link *
link_of_process(struct server *server, int64_t pid, uint64_t start_time, uint32_t slot)
{
    for (size_t i = 0; i < server->link_count; i++) {
        const struct executor_link *link = &server->links[i];

        if (link->pid == pid && link->start_time == start_time && (slot == SLOT_ANY || link->slot == slot)) {
            return &server->links[i];
        }
    }
    return NULL;
}

static void
link_gone(struct server *server, struct executor_link *link)
{
    const char *runtime = server->instance.runtime;
    uint32_t number = link->number;
    struct gr_executor_state page;
    char logs[160];
    char text[LOG_END];

    gr_log_warn("EXECUTOR-GONE", "executor=%u pid=%lld", number, (long long)link->pid);
    if (watch_read(runtime, link->pid, link->start_time, &page)) {
        (void)snprintf(logs, sizeof logs, "%s/" GR_LOGS, server->instance.spill_default);
        manager_executor_was_at(server->manager, number, page.subtask, page.attempt,
                                watch_log_end(logs, page.log, text, sizeof text) > 0 ? text : NULL);
    }
    if (gr_process_start_time((pid_t)link->pid) != link->start_time) {
        watch_forget(runtime, link->pid);
    }
    gr_fd_close(&link->pidfd);
    *link = server->links[--server->link_count];
    manager_executor_died(server->manager, number);
}

/* Its process has ended. One of the pool's is waited for no longer than it takes to be told why. */
static void
link_ended(struct server *server, struct executor_link *link)
{
    if (server->supervisor.size > 0 && !link->pull) {
        link->gone_ns = gr_deadline_ns(REASON_NS / 1000000);
    } else {
        link_gone(server, link);
    }
}

static void
links_expire(struct server *server, int64_t now_ns)
{
    for (size_t i = server->link_count; i > 0; i--) {
        if (server->links[i - 1].gone_ns != 0 && server->links[i - 1].gone_ns <= now_ns) {
            link_gone(server, &server->links[i - 1]);
        }
    }
}

/* When links_expire() is due. */
static int64_t
links_deadline(const struct server *server)
{
    int64_t deadline_ns = INT64_MAX;

    for (size_t i = 0; i < server->link_count; i++) {
        int64_t gone_ns = server->links[i].gone_ns;

        deadline_ns = gone_ns != 0 && gone_ns < deadline_ns ? gone_ns : deadline_ns;
    }
    return deadline_ns;
}

static void
supervisor_says(struct server *server, const struct gr_zmq_peer *peer, const Granary__Pool *pool)
{
    if (server->supervisor.size != peer->size || memcmp(server->supervisor.bytes, peer->bytes, peer->size) != 0) {
        gr_log_info("POOL", "pid=%lld slots=%u", (long long)pool->pid, pool->slots);
        server->supervisor = *peer;
    }
    manager_pool_slots(server->manager, pool->slots);
    for (size_t i = 0; i < pool->n_deaths; i++) {
        const Granary__Death *death = pool->deaths[i];
        struct executor_link *link = link_of_process(server, death->pid, death->start_time, SLOT_ANY);

        if (link != NULL) {
            manager_executor_death(server->manager, link->number, death->signal, death->status);
            link_gone(server, link);
        }
    }
}

/* ---- watching them ---- */

static void
watch_all(struct server *server, int64_t now_ns)
{
    for (size_t i = 0; i < server->link_count; i++) {
        struct executor_link *link = &server->links[i];
        struct manager_seen seen = {.running_ns = -1};
        struct gr_executor_state page;

        if (link->gone_ns != 0) {
            continue;
        }
        if (watch_read(server->instance.runtime, link->pid, link->start_time, &page)) {
            if (page.subtask == 0) {
                continue; /* idle, or between two */
            }
            seen.subtask = page.subtask;
            seen.attempt = page.attempt;
            seen.running_ns = now_ns - page.since_ns;
        }
        seen.private_bytes = watch_private_bytes(link->pid);
        manager_watch(server->manager, link->number, &seen, now_ns);
    }
}

/* After the events of a turn. */
static void
watch_when_due(struct server *server, int64_t now_ns)
{
    if (!manager_watching(server->manager)) {
        server->watch_at_ns = INT64_MAX;
    } else if (server->watch_at_ns == INT64_MAX || server->watch_at_ns <= now_ns) {
        watch_all(server, now_ns);
        server->watch_at_ns = now_ns + WATCH_NS;
    }
}

static void
tell_number(struct server *server, const struct executor_link *link)
{
    struct gr_buf bytes = {0};

    pack_begin(&bytes);
    pack_registered(&bytes, link->number);
    if (gr_buf_ok(&bytes)) {
        (void)gr_zmq_send(server->pool, &link->peer, bytes.bytes, bytes.size);
    }
    gr_buf_free(&bytes);
}

static bool
links_room(struct server *server)
{
    size_t room = server->link_room * 2 + 8;
    struct executor_link *links;
    int *fds;
    bool *ready;

    if (server->link_count < server->link_room) {
        return true;
    }
    links = reallocarray(server->links, room, sizeof *links);
    server->links = links != NULL ? links : server->links;
    fds = reallocarray(server->fds, room + 1, sizeof *fds);
    server->fds = fds != NULL ? fds : server->fds;
    ready = reallocarray(server->ready, room + 1, sizeof *ready);
    server->ready = ready != NULL ? ready : server->ready;
    if (links == NULL || fds == NULL || ready == NULL) {
        return false;
    }
    server->link_room = room;
    return true;
}

static void
executor_registers(struct server *server, const struct gr_zmq_peer *peer, const Granary__Register *message)
{
    struct executor_link *link = link_of_peer(server, peer);
    int pidfd;

    if (link != NULL) {
        if (link->pid == message->pid && link->start_time == message->start_time && link->slot == message->slot) {
            tell_number(server, link); /* asked twice */
            return;
        }
        link_gone(server, link);
    }
    link = link_of_process(server, message->pid, message->start_time, message->slot);
    if (link != NULL) {
        link_gone(server, link); /* it has connected anew: what it had is not answered any more */
    }
    if (message->pid <= 0 || message->pid > INT32_MAX) {
        gr_log_warn("EXECUTOR-PROTOCOL", "pid=%lld", (long long)message->pid);
        return;
    }
    /* In this order: once the descriptor is open, the start time tells whose it is. */
    pidfd = gr_pidfd_open((pid_t)message->pid);
    if (pidfd < 0 || gr_process_start_time((pid_t)message->pid) != message->start_time || !links_room(server)) {
        gr_log_warn("EXECUTOR-UNKNOWN", "pid=%lld started=%llu: no such process", (long long)message->pid,
                    (unsigned long long)message->start_time);
        gr_fd_close(&pidfd);
        return;
    }
    link = &server->links[server->link_count++];
    *link = (struct executor_link){.number = ++server->last_number,
                                   .peer = *peer,
                                   .pid = message->pid,
                                   .start_time = message->start_time,
                                   .slot = message->slot,
                                   .pidfd = pidfd,
                                   .pull = message->pull};
    gr_log_info("EXECUTOR", "executor=%u pid=%lld node=%d slot=%u", link->number, (long long)link->pid, message->node,
                message->slot);
    tell_number(server, link);
    manager_executor_joined(server->manager, link->number, message->node, message->pid);
    if (message->pull) {
        manager_executor_pulls(server->manager, link->number, 0);
    }
}

/* It leaves: no process need end for that. It is told that this was heard. */
static void
embedded_leaves(struct server *server, struct executor_link *link)
{
    struct gr_buf bytes = {0};
    uint32_t number = link->number;

    gr_log_info("EXECUTOR-LEFT", "executor=%u pid=%lld", number, (long long)link->pid);
    pack_begin(&bytes);
    pack_dismissal(&bytes, false);
    if (gr_buf_ok(&bytes)) {
        (void)gr_zmq_send(server->pool, &link->peer, bytes.bytes, bytes.size);
    }
    gr_buf_free(&bytes);
    gr_fd_close(&link->pidfd);
    *link = server->links[--server->link_count];
    manager_executor_left(server->manager, number);
}

static void
pool_message(struct server *server, const struct gr_zmq_message *message)
{
    Granary__FromExecutor *report =
        granary__from_executor__unpack(arena_allocator(server->arena), message->size, message->bytes);
    struct executor_link *link;

    if (report == NULL || report->version != GRANARY__VERSION__PROTOCOL) {
        gr_log_warn("EXECUTOR-PROTOCOL", "bytes=%zu version=%u", message->size, report == NULL ? 0 : report->version);
        return;
    }
    if (report->register_ != NULL) {
        executor_registers(server, &message->peer, report->register_);
    }
    if (report->pool != NULL) {
        supervisor_says(server, &message->peer, report->pool);
        return;
    }
    link = link_of_peer(server, &message->peer);
    if (link == NULL) {
        gr_log_warn("EXECUTOR-UNKNOWN", "reports=%zu from one that is not registered", report->n_done);
        return;
    }
    for (size_t i = 0; i < report->n_done; i++) {
        manager_done(server->manager, link->number, report->done[i]);
    }
    if (link->pull && report->draining) {
        embedded_leaves(server, link);
    } else if (report->draining) {
        manager_executor_drain(server->manager, link->number, true);
    } else if (link->pull && report->want > 0) {
        manager_executor_pulls(server->manager, link->number, report->want - 1);
    }
}

/* ---- actions ---- */

static void
send_to_executor(struct server *server, const struct action *action)
{
    struct executor_link *link = link_of_number(server, action->executor);

    if (action->executor == EXECUTOR_POOL && gr_buf_ok(&action->bytes) &&
        gr_zmq_send(server->pool, &server->supervisor, action->bytes.bytes, action->bytes.size) != GRANARY_OK) {
        gr_log_warn("POOL-SEND", "%s", granary_error_message()); /* the order will be answered as late */
    }
    if (link == NULL) {
        return; /* it has died since */
    }
    if (!gr_buf_ok(&action->bytes) ||
        gr_zmq_send(server->pool, &link->peer, action->bytes.bytes, action->bytes.size) != GRANARY_OK) {
        gr_log_warn("EXECUTOR-SEND", "executor=%u: %s", link->number, granary_error_message());
        /* What was sent is unknown; its process is of no use to us any more. */
        link_gone(server, link);
    }
}

/* Ask its user code to stop, or end it. */
static void
give_up(struct server *server, const struct action *action)
{
    const struct executor_link *link = link_of_number(server, action->executor);

    if (link == NULL || link->gone_ns != 0) {
        return; /* it has died since */
    }
    if (action->kind == ACTION_CANCEL) {
        watch_cancel(server->instance.runtime, link->pid, link->start_time, action->subtask);
    } else if (gr_pidfd_kill(link->pidfd) < 0) {
        gr_log_warn("EXECUTOR-KILL", "executor=%u pid=%lld: %s", link->number, (long long)link->pid, strerror(errno));
    }
}

static void
answer(struct server *server, struct action *action)
{
    struct pending *pending = &server->pending[action->ticket];

    pack_reply_seq(&action->bytes, pending->seq);
    if (gr_buf_ok(&action->bytes)) {
        /* A client that is gone needs no answer. */
        (void)gr_zmq_send(server->clients, &pending->peer, action->bytes.bytes, action->bytes.size);
    }
    pending->next_free = server->pending_free;
    server->pending_free = action->ticket;
}

/* The submission could not be made durable: say so instead. */
static void
answer_refusal(struct server *server, const struct action *action, granary_err err, const char *why)
{
    struct pending *pending = &server->pending[action->ticket];

    refuse(server, &pending->peer, pending->seq, err, why);
    pending->next_free = server->pending_free;
    server->pending_free = action->ticket;
}

/* Send what need not wait for the disk. Returns the actions, which may have moved. */
static struct action *
send_all(struct server *server, size_t count)
{
    struct action *actions = manager_actions(server->manager, &(size_t){0});

    for (size_t i = 0; i < count; i++) {
        if (actions[i].kind == ACTION_SEND) {
            struct action send = actions[i];

            send_to_executor(server, &send);
            actions = manager_actions(server->manager, &(size_t){0}); /* a dead executor may have added some */
        } else if (actions[i].kind == ACTION_CANCEL || actions[i].kind == ACTION_KILL) {
            give_up(server, &actions[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (actions[i].kind == ACTION_REPLY && !actions[i].when_durable) {
            answer(server, &actions[i]);
        }
    }
    return actions;
}

static void
perform(struct server *server)
{
    char(*rejected)[sizeof((struct action *)0)->accepted] = NULL;
    size_t rejected_count = 0;
    struct action *actions;
    char why[512] = "";
    granary_err err;
    size_t count;

    (void)manager_actions(server->manager, &count);
    actions = send_all(server, count);
    err = keeper_keep(&server->keeper, actions, count);
    if (err != GRANARY_OK) {
        (void)snprintf(why, sizeof why, "%s", granary_error_message());
        rejected = calloc(count + 1, sizeof *rejected);
    }
    for (size_t i = 0; i < count; i++) {
        if (actions[i].kind != ACTION_REPLY || !actions[i].when_durable) {
            continue;
        }
        if (err == GRANARY_OK) {
            answer(server, &actions[i]);
            continue;
        }
        answer_refusal(server, &actions[i], err, why);
        if (rejected != NULL && actions[i].accepted[0] != '\0') {
            memcpy(rejected[rejected_count++], actions[i].accepted, sizeof *rejected);
        }
    }
    manager_actions_done(server->manager, count);
    for (size_t i = 0; i < rejected_count; i++) {
        manager_reject(server->manager, rejected[i]);
    }
    free(rejected);
}

/* ---- the loop ---- */

static bool
receive_all(struct server *server)
{
    struct gr_zmq_message message;
    bool any = false;

    for (int i = 0; i < TURN_MESSAGES && gr_zmq_receive(server->pool, &message); i++) {
        pool_message(server, &message);
        gr_zmq_message_free(&message);
        arena_reset(server->arena);
        any = true;
    }
    for (int i = 0; i < TURN_MESSAGES && gr_zmq_receive(server->clients, &message); i++) {
        client_message(server, &message);
        gr_zmq_message_free(&message);
        any = true;
    }
    return any;
}

void
server_run(struct server *server, int stop_fd)
{
    struct gr_zmq_socket *const sockets[] = {server->pool, server->clients};
    bool busy = false;

    for (;;) {
        size_t links = server->link_count;
        size_t left;
        int64_t deadline_ns = manager_deadline(server->manager);
        int timeout_ms;

        deadline_ns = links_deadline(server) < deadline_ns ? links_deadline(server) : deadline_ns;
        deadline_ns = server->watch_at_ns < deadline_ns ? server->watch_at_ns : deadline_ns;
        deadline_ns = server->keeper.commit_at_ns < deadline_ns ? server->keeper.commit_at_ns : deadline_ns;
        timeout_ms = busy ? 0 : gr_left_ms(deadline_ns);
        server->fds[0] = stop_fd;
        for (size_t i = 0; i < links; i++) {
            server->fds[1 + i] = server->links[i].gone_ns != 0 ? -1 : server->links[i].pidfd;
        }
        memset(server->ready, 0, (1 + links) * sizeof *server->ready);
        (void)gr_zmq_wait(sockets, 2, server->fds, server->ready, 1 + links, timeout_ms);
        if (server->ready[0]) {
            return;
        }
        manager_expire(server->manager, gr_now_ns()); /* what has arrived meanwhile happened after that */
        busy = receive_all(server);
        /* From the last: link_gone() puts the last one into the gap. New links were added behind these. */
        for (size_t i = links; i > 0; i--) {
            struct executor_link *link = NULL;

            for (size_t k = 0; server->ready[i] && k < server->link_count; k++) {
                link = server->links[k].pidfd == server->fds[i] ? &server->links[k] : link;
            }
            if (link != NULL && link->gone_ns == 0) {
                link_ended(server, link);
            }
        }
        manager_set_unix_offset(server->manager, gr_wall_ms() * 1000000 - gr_now_ns());
        links_expire(server, gr_now_ns());
        watch_when_due(server, gr_now_ns());
        manager_dispatch(server->manager, gr_now_ns());
        (void)manager_actions(server->manager, &left);
        if (left > 0) {
            perform(server);
            (void)manager_actions(server->manager, &left);
            busy = busy || left > 0;
        }
        if (server->keeper.commit_at_ns <= gr_now_ns()) {
            (void)keeper_commit(&server->keeper);
        }
    }
}

/* ---- beginning and end ---- */

granary_err
server_create(const struct gr_instance *instance, const struct state_ops *state, const struct manager_options *options,
              struct server **ret_server)
{
    struct server *server = calloc(1, sizeof *server);
    struct manager_options own;
    char path[256];
    granary_err err = GRANARY_OK;

    if (server == NULL) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    server->instance = *instance;
    server->pending_free = UINT64_MAX;
    server->watch_at_ns = INT64_MAX;
    own = *options;
    own.host = host_of_machine(&server->instance);
    server->manager = manager_create(&own);
    server->arena = arena_create();
    server->context = gr_zmq_context_create(1);
    if (server->manager == NULL || server->arena == NULL || server->context == NULL || !links_room(server)) {
        err = gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    if (err == GRANARY_OK) {
        (void)snprintf(path, sizeof path, "%s/state.db", instance->runtime);
        err = keeper_open(&server->keeper, state, path);
    }
    if (err == GRANARY_OK) {
        err = keeper_restore(&server->keeper, server->manager);
    }
    if (err == GRANARY_OK) {
        perform(server);
    }
    if (err == GRANARY_OK) {
        server->pool = gr_zmq_router(server->context, instance->pool_socket, &err);
    }
    if (err == GRANARY_OK) {
        server->clients = gr_zmq_router(server->context, instance->sched_socket, &err);
    }
    if (err != GRANARY_OK) {
        server_destroy(server);
        return err;
    }
    *ret_server = server;
    return GRANARY_OK;
}

void
server_destroy(struct server *server)
{
    if (server == NULL) {
        return;
    }
    if (server->clients != NULL) {
        gr_zmq_close(server->clients);
        (void)unlink(server->instance.sched_socket);
    }
    if (server->pool != NULL) {
        gr_zmq_close(server->pool);
        (void)unlink(server->instance.pool_socket);
    }
    gr_zmq_context_destroy(server->context);
    keeper_close(&server->keeper);
    for (size_t i = 0; i < server->link_count; i++) {
        gr_fd_close(&server->links[i].pidfd);
    }
    manager_destroy(server->manager);
    arena_destroy(server->arena);
    free(server->links);
    free(server->pending);
    free(server->fds);
    free(server->ready);
    free(server);
}
