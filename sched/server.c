/* One loop: receive a bounded number of messages, perform what follows from them, wait for sockets and moments. */
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
#include "contract/versions.h"
#include "message/zmq.h"
#include "sched/answers.h"
#include "sched/arena.h"
#include "sched/durable/keeper.h"
#include "sched/links/links.h"
#include "sched/machine.h"
#include "sched/owners.h"
#include "sched/page.h"
#include "sched/printed.h"
#include "sched/recall/recalls.h"
#include "sched/restore.h"
#include "sched/saved.h"
#include "sched/strings.h"

#define TURN_MESSAGES 4096 /* received from one endpoint before anything else is looked at */
/* How long executors that an earlier scheduler knew, and that live, may take to say what they have at hand. */
#define CLAIMS_MS 2000
/* ... and how long before their pages are looked at: who is at work cannot say it. */
#define BUSY_MS 300
/* How old what a page tells of amounts may be. */
#define AMOUNTS_MS 1000

struct server {
    struct gr_instance instance;
    struct manager *manager;
    struct arena *arena;
    struct gr_zmq_context *context;
    struct gr_zmq_socket *clients;
    struct gr_zmq_socket *pool;
    struct keeper keeper;
    struct links *links;
    struct answers *answers;
    struct owners *owners;
    struct gr_sched_page *page;
    int64_t amounts_ns; /* when they are to be noted on it; INT64_MAX: nothing has happened since */
    int *fds;           /* for the wait: stop, the keeper's, then one an executor, and one an owner of graphs */
    bool *ready;
    size_t fd_room;
    uint64_t epoch_checked;  /* the highest an executor told of that was looked into */
    int64_t busy_look_ns;    /* when their pages are to be looked at; INT64_MAX: that was done */
    int64_t claims_until_ns; /* executors of an earlier scheduler are waited for; INT64_MAX: no more */
};

/* ---- clients ---- */

/* A request that cannot be read for want of memory is not the client's mistake. */
static void *
request_alloc(void *server, size_t size)
{
    void *bytes = malloc(size);

    if (bytes == NULL) {
        manager_note_exhausted(((struct server *)server)->manager);
    }
    return bytes;
}

static void
request_free(void *server, void *bytes)
{
    (void)server;
    free(bytes);
}

_Static_assert(GR_WIRE_VERSION == GRANARY__VERSION__PROTOCOL, "one version, in two languages");

/* Ends the message as soon as it is unpacked: a graph may be large. */
static void
client_message(struct server *server, struct gr_zmq_message *message)
{
    ProtobufCAllocator allocator = {request_alloc, request_free, server};
    Granary__Request *request = granary__request__unpack(&allocator, message->size, message->bytes);
    bool whole = request != NULL && strings_are_whole(&granary__request__descriptor, message->bytes, message->size);
    int64_t pid = message->pid;
    char text[128];
    uint64_t ticket;

    gr_zmq_message_free(message);
    if (request == NULL) {
        gr_log_warn("CLIENT-PROTOCOL", "bytes=%zu not a request", message->size);
        answers_refuse_peer(server->answers, &message->peer, 0, GRANARY_EPROTO,
                            "the scheduler cannot read this request");
        return;
    }
    if (!gr_wire_known(request->version)) {
        gr_log_warn("CLIENT-VERSION", "version=%u", request->version);
        (void)snprintf(text, sizeof text, "the client speaks version %u, the scheduler %u: use one granary for both",
                       request->version, GR_WIRE_VERSION);
        answers_refuse_peer(server->answers, &message->peer, request->seq, GRANARY_EVERSION, text);
    } else if (!whole) {
        answers_refuse_peer(server->answers, &message->peer, request->seq, GRANARY_EINVAL,
                            "a text of the request has a NUL in it");
    } else if (!answers_ticket(server->answers, &message->peer, request->seq, &ticket)) {
        answers_refuse_peer(server->answers, &message->peer, request->seq, GRANARY_ENOMEM, "scheduler: out of memory");
    } else if (request->body_case == GRANARY__REQUEST__BODY_SUBMIT &&
               !owners_sign(server->owners, pid, request->submit)) {
        answers_refuse(server->answers, ticket, GRANARY_ECANCELLED, "the process that submitted the graph has ended");
    } else {
        manager_request(server->manager, ticket, request, gr_now_ns());
    }
    granary__request__free_unpacked(request, &allocator);
}

static void
pool_message(struct server *server, const struct gr_zmq_message *message)
{
    Granary__FromExecutor *report =
        granary__from_executor__unpack(arena_allocator(server->arena), message->size, message->bytes);

    if (report == NULL) { /* what was in it is told again with a registration */
        gr_log_warn("EXECUTOR-PROTOCOL", "pid=%lld bytes=%zu: cannot be read", (long long)message->pid, message->size);
        links_tell_unknown(server->links, &message->peer);
        return;
    }
    if (!gr_wire_known(report->version)) {
        gr_log_warn("EXECUTOR-VERSION", "pid=%lld speaks version %u, this scheduler %u: restart the instance",
                    (long long)message->pid, report->version, GR_WIRE_VERSION);
        links_refuse(server->links, &message->peer);
        return;
    }
    links_message(server->links, &message->peer, message->pid, report);
}

/* ---- actions ---- */

/* What is saved is on disk before anybody is told so. */
static void
save_results(struct server *server, struct action *actions, size_t count, const struct action *save)
{
    granary_err err = saved_write(&server->instance, &save->bytes);

    if (err != GRANARY_OK) {
        manager_save_failed(server->manager);
    }
    for (size_t i = 0; i < count && err != GRANARY_OK && save->ticket != TICKET_NONE; i++) {
        if (actions[i].kind == ACTION_REPLY && actions[i].ticket == save->ticket) {
            answers_refuse(server->answers, save->ticket, err, granary_error_message());
            actions[i].kind = ACTION_UNLOG; /* which has nothing to do */
        }
    }
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
        } else if (actions[i].kind == ACTION_UNLOG) {
            printed_remove(&server->instance, &actions[i].entry_key);
        } else if (actions[i].kind == ACTION_RELOG) {
            printed_rename(&server->instance, &actions[i].entry_key, &actions[i].bytes);
        } else if (actions[i].kind == ACTION_SAVE) {
            save_results(server, actions, count, &actions[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (actions[i].kind == ACTION_REPLY && !actions[i].when_durable) {
            answers_send(server->answers, actions[i].ticket, &actions[i].bytes);
        }
    }
    return actions;
}

/* The replies that wait for the state, and most of them for the disk: err is what became of the commit, number what is to be synced. */
static void
hold_replies(struct server *server, struct action *actions, size_t count, granary_err err, const char *why,
             uint64_t number)
{
    for (size_t i = 0; i < count; i++) {
        if (actions[i].kind != ACTION_REPLY || !actions[i].when_durable) {
            continue;
        }
        if (err != GRANARY_OK) {
            answers_refuse(server->answers, actions[i].ticket, err, why);
        } else if (number == 0 || actions[i].unsynced) {
            answers_send(server->answers, actions[i].ticket, &actions[i].bytes);
        } else {
            (void)answers_hold(server->answers, actions[i].ticket, &actions[i].bytes, actions[i].accepted, number);
        }
    }
}

static bool
keep_first(const struct action *actions, size_t count)
{
    bool first = false;

    for (size_t i = 0; i < count; i++) {
        first = first || actions[i].before_sends;
    }
    return first;
}

static void
perform(struct server *server)
{
    char(*rejected)[sizeof((struct action *)0)->accepted] = NULL;
    size_t rejected_count = 0;
    struct action *actions;
    char why[512] = "";
    uint64_t number;
    granary_err err;
    size_t count;

    actions = manager_actions(server->manager, &count);
    if (keep_first(actions, count)) {
        err = keeper_keep(&server->keeper, actions, count, &number);
        actions = send_all(server, count);
    } else {
        actions = send_all(server, count);
        err = keeper_keep(&server->keeper, actions, count, &number);
    }
    if (err != GRANARY_OK) {
        (void)snprintf(why, sizeof why, "%s", granary_error_message());
        rejected = calloc(count + 1, sizeof *rejected);
        if (rejected == NULL) {
            manager_note_exhausted(server->manager);
        }
    }
    hold_replies(server, actions, count, err, why, number);
    for (size_t i = 0; rejected != NULL && i < count; i++) {
        if (actions[i].accepted[0] != '\0') {
            memcpy(rejected[rejected_count++], actions[i].accepted, sizeof *rejected);
        }
    }
    manager_actions_done(server->manager, count);
    if (keeper_idle(&server->keeper)) {
        links_acknowledge(server->links);
    }
    for (size_t i = 0; i < rejected_count; i++) {
        manager_reject(server->manager, rejected[i], err, why);
    }
    free(rejected);
}

/* Replies that waited for the disk. */
static void
release_replies(struct server *server)
{
    char why[256];
    granary_err err;
    uint64_t number = keeper_synced(&server->keeper, &err, why);

    if (err != GRANARY_OK) {
        gr_log_error("STATE-SYNC", "%s", why);
    }
    answers_release(server->answers, number, err, why, server->manager);
}

/* ---- the loop ---- */

/*
 * The end of a graph that the scheduler before told of follows from reports it may not have kept. Clients are heard
 * when executors have told those again: nobody is told less than before.
 */
static bool
clients_are_heard(const struct server *server)
{
    return server->claims_until_ns == INT64_MAX;
}

/* Returns whether anything came. *ret_more: there may be more of it at once. */
static bool
receive_all(struct server *server, bool *ret_more)
{
    struct gr_zmq_message message;
    int from_pool = 0;
    int from_clients = 0;

    for (; from_pool < TURN_MESSAGES && gr_zmq_receive(server->pool, &message); from_pool++) {
        pool_message(server, &message);
        gr_zmq_message_free(&message);
        arena_reset(server->arena);
    }
    for (; from_clients < TURN_MESSAGES && clients_are_heard(server) && gr_zmq_receive(server->clients, &message);
         from_clients++) {
        client_message(server, &message);
    }
    *ret_more = from_pool == TURN_MESSAGES || from_clients == TURN_MESSAGES;
    return from_pool + from_clients > 0;
}

/* The descriptors of a wait: stop, the keeper's, the executors', the owners'. Returns how many; 0: no memory. */
static size_t
collect_fds(struct server *server, int stop_fd)
{
    const size_t executors = links_fds(server->links, NULL, 0);
    size_t count = 2 + executors + owners_fds(server->owners, NULL, 0);

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
    server->fds[1] = keeper_fd(&server->keeper);
    (void)links_fds(server->links, server->fds + 2, executors);
    (void)owners_fds(server->owners, server->fds + 2 + executors, count - 2 - executors);
    memset(server->ready, 0, count * sizeof *server->ready);
    return count;
}

/* What executors of an earlier scheduler have not claimed by now runs again. */
static void
close_claims(struct server *server)
{
    int64_t now = gr_now_ns();
    size_t expected;

    if (server->claims_until_ns == INT64_MAX) {
        return;
    }
    if (now >= server->busy_look_ns) {
        server->busy_look_ns = INT64_MAX;
        links_note_busy(server->links);
    }
    expected = links_expected(server->links);
    if (expected > 0 && now < server->claims_until_ns) {
        return;
    }
    if (expected > 0) {
        gr_log_warn("EXECUTORS-MISSING", "executors=%zu have not registered again in %d ms", expected, CLAIMS_MS);
        links_note_busy(server->links);
    }
    server->claims_until_ns = INT64_MAX;
    server->busy_look_ns = INT64_MAX;
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
    const int64_t moments[] = {
        manager_deadline(server->manager), links_deadline(server->links), keeper_deadline(&server->keeper),
        server->claims_until_ns,           server->busy_look_ns,          server->amounts_ns};
    int64_t deadline_ns = INT64_MAX;

    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        deadline_ns = moments[i] < deadline_ns ? moments[i] : deadline_ns;
    }
    return gr_left_ms(deadline_ns);
}

/* Something was lost for want of memory, and nobody says it again: the next scheduler begins with what is kept. */
static bool
is_exhausted(const struct server *server)
{
    return arena_failed(server->arena) || manager_exhausted(server->manager) || answers_exhausted(server->answers) ||
           server->keeper.exhausted;
}

static granary_err
fail_exhausted(void)
{
    return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory: the next one goes on from the state");
}

/*
 * Give out what may go, and perform what follows from all that happened. Returns whether more follows at once. It looks
 * twice: what was performed may let something else go, and another turn would ask every socket again to find that out.
 */
static bool
act(struct server *server, bool heard)
{
    size_t left;

    manager_dispatch(server->manager, gr_now_ns());
    (void)manager_actions(server->manager, &left);
    if (is_exhausted(server)) {
        return false;
    }
    if (left > 0 || heard) { /* a report that changed nothing is acknowledged, too */
        perform(server);
    }
    links_watch(server->links, gr_now_ns()); /* what has begun may have to be watched from now on */
    manager_dispatch(server->manager, gr_now_ns());
    (void)manager_actions(server->manager, &left);
    return left > 0;
}

/* A second after something was heard, and each second while more is. */
static void
note_amounts(struct server *server, bool heard)
{
    if (server->amounts_ns <= gr_now_ns()) {
        manager_note_amounts(server->manager);
        server->amounts_ns = INT64_MAX;
    }
    if (heard && server->amounts_ns == INT64_MAX) {
        server->amounts_ns = gr_deadline_ns(AMOUNTS_MS);
    }
}

granary_err
server_run(struct server *server, int stop_fd)
{
    struct gr_zmq_socket *const sockets[] = {server->pool, server->clients};
    bool busy = true; /* with what restoring left to do */

    while (!server->keeper.fenced) {
        size_t fd_count = collect_fds(server, stop_fd);
        bool more = false;
        bool heard;

        if (fd_count == 0) {
            return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
        }
        (void)gr_zmq_wait(sockets, clients_are_heard(server) ? 2 : 1, server->fds, server->ready, fd_count,
                          busy ? 0 : wait_ms(server));
        if (server->ready[0]) {
            return GRANARY_OK;
        }
        manager_expire(server->manager, gr_now_ns()); /* what has arrived meanwhile happened after that */
        heard = receive_all(server, &more);
        if (server->ready[1]) {
            release_replies(server);
        }
        for (size_t i = 2; i < fd_count; i++) {
            if (server->ready[i]) {
                links_process_ended(server->links, server->fds[i]);
                owners_process_ended(server->owners, server->fds[i], gr_now_ns());
            }
        }
        manager_set_unix_offset(server->manager, gr_wall_ms() * 1000000 - gr_now_ns());
        links_expire(server->links, gr_now_ns());
        check_epoch(server);
        close_claims(server);
        links_watch(server->links, gr_now_ns());
        busy = act(server, heard) || more;
        note_amounts(server, heard);
        if (is_exhausted(server)) {
            return fail_exhausted();
        }
        if (keeper_deadline(&server->keeper) <= gr_now_ns()) {
            keeper_expire(&server->keeper, gr_now_ns());
            if (keeper_idle(&server->keeper)) {
                links_acknowledge(server->links);
            }
            busy = busy || is_exhausted(server);
        }
    }
    return gr_fail(GRANARY_ESTATE, "another scheduler has taken over: this one, of epoch %llu, stops",
                   (unsigned long long)server->keeper.epoch);
}

/* ---- beginning and end ---- */

static void
tell_distances(struct manager *manager)
{
    uint32_t nodes = 0;
    uint32_t *rows = host_distances(&nodes);

    if (rows != NULL) {
        manager_set_distances(manager, nodes, rows);
    }
    free(rows);
}

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
    own = *options;
    own.host = host_of_machine(&server->instance);
    own.page = server->page = sched_page_create(&server->instance);
    server->manager = manager_create(&own);
    server->answers = answers_create();
    server->arena = arena_create();
    server->context = gr_zmq_context_create(1);
    if (server->manager == NULL || server->answers == NULL || server->arena == NULL || server->context == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    if (err == GRANARY_OK) {
        tell_distances(server->manager);
        (void)snprintf(path, sizeof path, "%s/state.db", instance->runtime);
        err = keeper_open(&server->keeper, state, path);
    }
    if (err == GRANARY_OK &&
        (server->links = links_create(server->manager, &server->instance, server->keeper.epoch)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    if (err == GRANARY_OK && (server->owners = owners_create(server->manager)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    if (err == GRANARY_OK) {
        err = restore_all(&server->keeper, server->manager, server->links);
        saved_read(&server->instance, server->manager);
        printed_sweep(&server->instance, server->manager);
        owners_restore(server->owners, gr_now_ns());
        server->claims_until_ns = gr_deadline_ns(CLAIMS_MS);
        server->busy_look_ns = gr_deadline_ns(BUSY_MS);
    }
    if (err == GRANARY_OK && is_exhausted(server)) {
        err = fail_exhausted();
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
        answers_open(server->answers, server->clients);
    }
    if (err != GRANARY_OK) {
        server_destroy(server);
        return err;
    }
    *ret_server = server;
    return GRANARY_OK;
}

uint64_t
server_epoch(const struct server *server)
{
    return server->keeper.epoch;
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
    owners_destroy(server->owners);
    manager_destroy(server->manager);
    sched_page_destroy(server->page);
    arena_destroy(server->arena);
    answers_destroy(server->answers);
    free(server->fds);
    free(server->ready);
    free(server);
}
