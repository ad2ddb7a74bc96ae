#include "sched/server.h"

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
#include "sched/links.h"
#include "sched/pack.h"

#define TURN_MESSAGES 4096 /* received from one endpoint before anything else is looked at */
/* How long executors that an earlier scheduler knew, and that live, may take to say what they have at hand. */
#define CLAIMS_MS 2000

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
    struct keeper keeper;
    struct links *links;
    struct pending *pending;
    uint64_t pending_count, pending_room;
    uint64_t pending_free; /* list; UINT64_MAX: empty */
    int *fds;              /* for the wait: stop, then one an executor */
    bool *ready;
    size_t fd_room;
    uint64_t epoch_checked;  /* the highest an executor told of that was looked into */
    int64_t claims_until_ns; /* executors of an earlier scheduler are waited for; INT64_MAX: no more */
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

static void
pool_message(struct server *server, const struct gr_zmq_message *message)
{
    Granary__FromExecutor *report =
        granary__from_executor__unpack(arena_allocator(server->arena), message->size, message->bytes);

    if (report == NULL || report->version != GRANARY__VERSION__PROTOCOL) {
        gr_log_warn("EXECUTOR-PROTOCOL", "bytes=%zu version=%u", message->size, report == NULL ? 0 : report->version);
        return;
    }
    links_message(server->links, &message->peer, message->pid, report);
}

/* ---- actions ---- */

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

            actions[i].bytes = (struct gr_buf){0};
            links_send(server->links, send.executor, &send.bytes);
            gr_buf_free(&send.bytes);
            actions = manager_actions(server->manager, &(size_t){0}); /* a dead executor may have added some */
        } else if (actions[i].kind == ACTION_CANCEL || actions[i].kind == ACTION_KILL) {
            links_give_up(server->links, &actions[i]);
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
    if (keeper_idle(&server->keeper)) {
        links_acknowledge(server->links);
    }
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

/* The descriptors of a wait: stop, then the executors'. Returns how many; 0: no memory. */
static size_t
collect_fds(struct server *server, int stop_fd)
{
    size_t count = 1 + links_fds(server->links, NULL, 0);

    if (count > server->fd_room) {
        size_t room = count * 2 + 8;
        int *fds = reallocarray(server->fds, room, sizeof *fds);
        bool *ready = reallocarray(server->ready, room, sizeof *ready);

        server->fds = fds != NULL ? fds : server->fds;
        server->ready = ready != NULL ? ready : server->ready;
        if (fds == NULL || ready == NULL) {
            return 0;
        }
        server->fd_room = room;
    }
    server->fds[0] = stop_fd;
    (void)links_fds(server->links, server->fds + 1, server->fd_room - 1);
    memset(server->ready, 0, count * sizeof *server->ready);
    return count;
}

/* What executors of an earlier scheduler have not claimed by now runs again. */
static void
close_claims(struct server *server)
{
    size_t expected = links_expected(server->links);

    if (server->claims_until_ns == INT64_MAX || (expected > 0 && gr_now_ns() < server->claims_until_ns)) {
        return;
    }
    if (expected > 0) {
        gr_log_warn("EXECUTORS-MISSING", "executors=%zu have not registered again in %d ms", expected, CLAIMS_MS);
    }
    server->claims_until_ns = INT64_MAX;
    manager_claims_end(server->manager);
}

/* An executor says that a later scheduler was active. The state knows. */
static void
check_epoch(struct server *server)
{
    if (links_epoch_seen(server->links) > server->epoch_checked) {
        server->epoch_checked = links_epoch_seen(server->links);
        if (server->epoch_checked > server->keeper.epoch) {
            (void)keeper_check(&server->keeper);
        }
    }
}

static int
wait_ms(const struct server *server)
{
    const int64_t moments[] = {manager_deadline(server->manager), links_deadline(server->links),
                               server->keeper.commit_at_ns, server->claims_until_ns};
    int64_t deadline_ns = INT64_MAX;

    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        deadline_ns = moments[i] < deadline_ns ? moments[i] : deadline_ns;
    }
    return gr_left_ms(deadline_ns);
}

granary_err
server_run(struct server *server, int stop_fd)
{
    struct gr_zmq_socket *const sockets[] = {server->pool, server->clients};
    bool busy = true; /* with what restoring left to do */

    while (!server->keeper.fenced) {
        size_t fd_count = collect_fds(server, stop_fd);
        size_t left;

        if (fd_count == 0) {
            return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
        }
        (void)gr_zmq_wait(sockets, 2, server->fds, server->ready, fd_count, busy ? 0 : wait_ms(server));
        if (server->ready[0]) {
            return GRANARY_OK;
        }
        manager_expire(server->manager, gr_now_ns()); /* what has arrived meanwhile happened after that */
        busy = receive_all(server);
        for (size_t i = 1; i < fd_count; i++) {
            if (server->ready[i]) {
                links_process_ended(server->links, server->fds[i]);
            }
        }
        manager_set_unix_offset(server->manager, gr_wall_ms() * 1000000 - gr_now_ns());
        links_expire(server->links, gr_now_ns());
        check_epoch(server);
        close_claims(server);
        links_watch(server->links, gr_now_ns());
        manager_dispatch(server->manager, gr_now_ns());
        (void)manager_actions(server->manager, &left);
        if (left > 0 || busy) { /* a report that changed nothing is acknowledged, too */
            perform(server);
            (void)manager_actions(server->manager, &left);
            busy = busy || left > 0;
        }
        if (server->keeper.commit_at_ns <= gr_now_ns() && keeper_commit(&server->keeper, false) == GRANARY_OK) {
            links_acknowledge(server->links);
        }
    }
    return gr_fail(GRANARY_ESTATE, "another scheduler has taken over: this one, of epoch %llu, stops",
                   (unsigned long long)server->keeper.epoch);
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
    own = *options;
    own.host = host_of_machine(&server->instance);
    server->manager = manager_create(&own);
    server->arena = arena_create();
    server->context = gr_zmq_context_create(1);
    if (server->manager == NULL || server->arena == NULL || server->context == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    if (err == GRANARY_OK) {
        (void)snprintf(path, sizeof path, "%s/state.db", instance->runtime);
        err = keeper_open(&server->keeper, state, path);
    }
    if (err == GRANARY_OK &&
        (server->links = links_create(server->manager, &server->instance, server->keeper.epoch)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    if (err == GRANARY_OK) {
        err = keeper_restore(&server->keeper, server->manager, server->links);
        server->claims_until_ns = gr_deadline_ns(CLAIMS_MS);
    }
    if (err == GRANARY_OK) {
        perform(server);
    }
    if (err == GRANARY_OK) {
        server->pool = gr_zmq_router(server->context, instance->pool_socket, &err);
    }
    if (err == GRANARY_OK) {
        links_open(server->links, server->pool);
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
    links_destroy(server->links);
    manager_destroy(server->manager);
    arena_destroy(server->arena);
    free(server->pending);
    free(server->fds);
    free(server->ready);
    free(server);
}
