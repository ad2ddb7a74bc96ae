/* Clients made and dropped. What a dropped one held is ended in slices of the loop's turns. */
#include "store/client/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "store/base/lease_region.h"
#include "store/base/shmfile.h"
#include "store/client/doze.h"
#include "store/client/greeting.h"
#include "store/client/request.h"
#include "store/core/admit.h"
#include "store/core/events.h"
#include "store/object/hold.h"
#include "store/object/session.h"
#include "store/segment/memory.h"
#include "wire/frame.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* A connection that never becomes a client: told why, and closed. */
static granary_err
refuse(int fd, granary_err err)
{
    const char *message = granary_error_message();
    struct gr_frame head = {
        .magic = GR_STORE_MAGIC, .op = GR_STORE_HELLO, .err = err, .size = (uint32_t)strlen(message)};
    char unread[256];

    gr_log_warn("CLIENT-REFUSED", "why=%s", message);
    (void)gr_frame_send(fd, &head, message, NULL, 0);
    /* Closed with something unread, the connection is reset, and the peer does not get to read why. */
    (void)shutdown(fd, SHUT_RD);
    while (recv(fd, unread, sizeof unread, MSG_DONTWAIT) > 0) {
    }
    gr_fd_close(&fd);
    return err;
}

static int
pidfd_of(int fd, pid_t pid)
{
    socklen_t size = sizeof(int);
    int pidfd = -1;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0) {
        return pidfd;
    }
    return gr_pidfd_open(pid);
}

granary_err
client_alloc(struct store *store, struct client **ret_client)
{
    struct client *client = calloc(1, sizeof *client);

    if (client == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for one more client");
    }
    client->store = store;
    client->fd = client->pidfd = client->doorbell_fd = -1;
    client->socket_source = (struct source){SOURCE_CLIENT_SOCKET, client};
    client->process_source = (struct source){SOURCE_CLIENT_PROCESS, client};
    client->doorbell_source = (struct source){SOURCE_DOORBELL, client};
    list_init(&client->in_store);
    list_init(&client->in_session);
    list_init(&client->in_strangers);
    list_init(&client->in_queue);
    list_init(&client->in_active);
    *ret_client = client;
    return GRANARY_OK;
}

/* The client may keep the open file for ever: closing ours would not take it out of the epoll set. */
static void
close_doorbell(struct client *client)
{
    if (client->doorbell_fd >= 0) {
        (void)epoll_ctl(client->store->doors.epoll_fd, EPOLL_CTL_DEL, client->doorbell_fd, NULL);
        gr_fd_close(&client->doorbell_fd);
    }
}

void
client_free(struct client *client)
{
    close_doorbell(client);
    gr_fd_close(&client->fd);
    gr_fd_close(&client->pidfd);
    gr_frame_reader_destroy(client->reader);
    free(client);
}

granary_err
client_accept(struct store *store, int fd)
{
    struct ucred peer = {0};
    struct client *client;
    granary_err err = admit_peer(store, fd, &peer);

    if (err != GRANARY_OK) {
        return refuse(fd, err);
    }
    if (store->clients.count >= store->clients.most && !greeting_cut_short(store)) {
        return refuse(
            fd, gr_fail(GRANARY_EFULL, "the store has %u clients already, and takes no more", store->clients.count));
    }
    if ((err = admit_client(store, peer.uid)) != GRANARY_OK || (err = client_alloc(store, &client)) != GRANARY_OK) {
        return refuse(fd, err);
    }
    client->fd = fd;
    client->pid = peer.pid;
    client->uid = peer.uid;
    client->pidfd = pidfd_of(fd, peer.pid);
    client->reader = gr_frame_reader_create(false);
    if (client->reader == NULL || source_watch(store, fd, &client->socket_source, EPOLLIN | EPOLLRDHUP) < 0 ||
        (client->pidfd >= 0 && source_watch(store, client->pidfd, &client->process_source, EPOLLIN | EPOLLRDHUP) < 0)) {
        client->fd = -1;
        client_free(client);
        return refuse(fd, gr_fail(GRANARY_ENOMEM, "no memory for one more client"));
    }
    list_append(&store->clients.all, &client->in_store);
    store->clients.count++;
    greeting_await(client, gr_now_ns());
    return GRANARY_OK;
}

granary_err
client_open_doorbell(struct client *client)
{
    client->doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (client->doorbell_fd < 0 ||
        source_watch(client->store, client->doorbell_fd, &client->doorbell_source, EPOLLIN | EPOLLET) < 0) {
        gr_fd_close(&client->doorbell_fd);
        return gr_fail_errno("a doorbell for a client");
    }
    return GRANARY_OK;
}

void
client_join(struct client *client, struct session *session)
{
    struct store *store = client->store;

    client->session = session;
    list_remove(&client->in_strangers);
    list_append(&session->clients, &client->in_session);
    session->client_count++;
    session_used(session);
    doze_note_bell(store); /* it may have filled its ring before it could know that nobody looks */
    store->clients.rings++;
    store->account.changes++;
}

void
client_join_orphan(struct client *client, struct session *session)
{
    list_append(&client->store->clients.all, &client->in_store);
    client->store->clients.orphans++;
    client_join(client, session);
}

/* pid and start time: another process may have the pid by now. What cannot be read now is no sign of that. */
static bool
is_its_process(const struct client *client)
{
    uint64_t started = client->pid > 0 ? gr_process_start_time(client->pid) : 0;

    return client->pid > 0 &&
           (started == client->record->start_time || (started == 0 && errno != ENOENT && errno != ESRCH));
}

static bool
has_left(const struct client *client)
{
    return atomic_load_explicit(&client->page->leaving, memory_order_acquire) != 0;
}

bool
client_watch_process(struct client *client)
{
    client->pidfd = client->pid > 0 ? gr_pidfd_open(client->pid) : -1;
    if (has_left(client) || !is_its_process(client)) {
        return false;
    }
    if (client->pidfd >= 0 &&
        source_watch(client->store, client->pidfd, &client->process_source, EPOLLIN | EPOLLRDHUP) < 0) {
        gr_fd_close(&client->pidfd);
    }
    return true;
}

void
clients_check_orphans(struct store *store)
{
    list_each (struct client, client, &store->clients.all, in_store) {
        if (client_is_orphan(client) && (has_left(client) || (client->pidfd < 0 && !is_its_process(client)))) {
            client_drop(client, NULL);
        }
    }
}

struct client *
client_find_orphan(const struct client *who, uint32_t number)
{
    list_each (struct client, client, &who->store->clients.all, in_store) {
        if (client_is_orphan(client) && client->number == number && client->pid == who->pid &&
            client->uid == who->uid && is_its_process(client)) {
            return client;
        }
    }
    return NULL;
}

granary_err
client_take_socket(struct client *orphan, struct client *from)
{
    struct store *store = orphan->store;
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data = {.ptr = &orphan->socket_source}};

    if (epoll_ctl(store->doors.epoll_fd, EPOLL_CTL_MOD, from->fd, &event) < 0) {
        return gr_fail_errno("watch a client that came back");
    }
    orphan->fd = from->fd;
    orphan->reader = from->reader;
    from->fd = -1;
    from->reader = NULL;
    from->gone = true;
    list_remove(&from->in_strangers);
    gr_fd_close(&from->pidfd);
    list_append(&store->clients.gone, &from->in_store);
    store->clients.orphans--;
    return GRANARY_OK;
}

static void
leave_session(struct client *client)
{
    struct session *session = client->session;
    struct store *store = client->store;
    char name[96];

    /* What it had put into its ring before it went is complete, and counts. */
    ring_drain_once(client);
    list_remove(&client->in_session);
    session->client_count--;
    session_used(session);
    store->clients.rings--;
    store->account.changes++;
    root_take_latencies(&store->root, client->page->latencies);
    lease_region_unmap(store->clients.leases, client->page_place);
    client->page = NULL;
    FAULT_STEP(client_leaves);
    shmfile_name(name, store->instance.shm_prefix, session->number, "lease", client->number);
    (void)shm_unlink(name);
    FAULT_STEP(client_lease_unlinked);
    hold_client_gone(client);
    memory_writer_gone(client);
    session->recheck_deleting = true;
    root_drop_client(client->record);
    client->record = NULL;
}

void
client_drop(struct client *client, const char *why)
{
    struct store *store = client->store;

    if (client->gone) {
        return;
    }
    client->gone = true;
    if (why != NULL) {
        event_note(store, client->session, GR_EVENT_CLIENT_DROPPED, NULL, (uint64_t)client->pid, 0, client->number);
        gr_log_warn("CLIENT-PROTOCOL", "client=%u pid=%d tag=%s why=%s", client->number, (int)client->pid, client->tag,
                    why);
    }
    if (client->session != NULL) {
        if (why != NULL) {
            count(client->session, GR_COUNTER_protocol_errors, 1);
        } else {
            bool leaving = atomic_load_explicit(&client->page->leaving, memory_order_acquire) != 0;

            event_note(store, client->session, GR_EVENT_CLIENT_GONE, NULL, (uint64_t)client->pid, leaving,
                       client->number);
            count(client->session, GR_COUNTER_clients_lost, leaving ? 0 : 1);
        }
        leave_session(client);
    }
    list_remove(&client->in_queue);
    list_remove(&client->in_active);
    list_remove(&client->in_strangers);
    list_append(&store->clients.gone, &client->in_store);
    if (client->fd >= 0) {
        store->clients.count--;
    } else {
        store->clients.orphans--;
    }
    gr_fd_close(&client->fd);
    gr_fd_close(&client->pidfd);
    close_doorbell(client);
}

void
clients_bury(struct store *store)
{
    list_each (struct client, client, &store->clients.gone, in_store) {
        list_remove(&client->in_store);
        client_free(client);
    }
}

void
client_readable(struct client *client)
{
    struct gr_frame_in frame;
    granary_err err, fill;

    fill = gr_frame_reader_fill(client->reader, client->fd);
    if (fill == GRANARY_EPROTO) {
        client_drop(client, granary_error_message());
        return;
    }
    while (!client->gone && gr_frame_reader_next(client->reader, &frame, &err)) {
        err = request_handle(client, &frame);
        gr_frame_in_reset(&frame);
        if (err == GRANARY_EPROTO) {
            client_drop(client, granary_error_message());
            return;
        }
        if (err == GRANARY_EVERSION || client->doomed) {
            client_drop(client, client->deaf ? "it does not read its answers" : NULL);
            return;
        }
    }
    if (!client->gone && err != GRANARY_OK) {
        client_drop(client, granary_error_message());
    } else if (fill != GRANARY_OK) {
        client_drop(client, NULL);
    }
}
