/*
 * The link to the store: found at connect, lost when the store dies, found again when the next one serves.
 *
 *   no link     connect()                       greeting
 *   greeting    the answer to HELLO             linked, or dead
 *   linked      the socket hangs up             no link, until control->life tells of another store
 *   dead        never: the store was stopped, or does not know this client any more
 *
 * All of it happens with the ticket held, so one thread at a time looks for the store. The descriptors of the socket
 * and the doorbell keep their numbers, so that others may use them meanwhile without a lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/futex.h"
#include "contract/versions.h"
#include "object/client.h"

/* A store that took the instance over without a word to this client is found that late. */
#define LOOK_NS 200000000ll

/* ---- what is wrong with it, from any thread ---- */

bool
gr_client_is_over(const granary_client *client)
{
    return atomic_load_explicit(&client->link.dead, memory_order_acquire) ||
           atomic_load_explicit(&client->control->state, memory_order_acquire) == GR_CONTROL_CLOSED;
}

granary_err
link_check(granary_client *client)
{
    if (atomic_load_explicit(&client->link.dead, memory_order_acquire)) {
        return gr_fail(GRANARY_EUNREACHABLE, "%s", client->link.why);
    }
    return GRANARY_OK;
}

static bool
hung_up(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLRDHUP};

    return poll(&poller, 1, 0) == 1 && (poller.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

bool
client_alive(granary_client *client)
{
    return !atomic_load_explicit(&client->link.dead, memory_order_relaxed) && !link_is_stale(client) &&
           !hung_up(client->socket.fd);
}

static granary_err
link_die(granary_client *client, const char *why)
{
    struct link *link = &client->link;

    if (!atomic_load_explicit(&link->dead, memory_order_relaxed)) {
        (void)snprintf(link->why, sizeof link->why, "instance '%s': %s", client->instance.name, why);
        atomic_store_explicit(&link->dead, true, memory_order_release);
    }
    return link_check(client);
}

granary_err
link_settled(granary_client *client)
{
    /* While the store is away the index stays as it was, and true: nobody else changes it. */
    return atomic_load_explicit(&client->control->state, memory_order_acquire) == GR_CONTROL_CLOSED
               ? link_restore(client, 0)
               : link_check(client);
}

granary_err
link_broken(granary_client *client, granary_err err)
{
    char why[256];

    (void)snprintf(why, sizeof why, "%s", granary_error_message());
    (void)link_die(client, why);
    return gr_fail(err, "%s", client->link.why);
}

/* ---- HELLO ---- */

/* A whole shared file, at least as large as what lies in it. *ret_bytes: the file has so many; beyond is no memory. */
static granary_err
map_whole(int fd, size_t least, size_t size, int protection, const char *what, void **ret_address, size_t *ret_bytes)
{
    struct stat st;
    void *address;

    if (fstat(fd, &st) < 0) {
        return gr_fail_errno("the store's %s", what);
    }
    if ((uint64_t)st.st_size < least) {
        return gr_fail(GRANARY_EVERSION,
                       "the store's %s is smaller than this library expects: use one granary for both", what);
    }
    address = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED) {
        return gr_fail_errno("map the store's %s", what);
    }
    *ret_address = address;
    *ret_bytes = (size_t)st.st_size;
    return GRANARY_OK;
}

/* The first answer to HELLO: everything is new. */
static granary_err
take_first(granary_client *client, const struct gr_frame_in *frame)
{
    struct link *link = &client->link;
    void *address = NULL;
    size_t bytes = 0;
    granary_err err = map_whole(frame->fds[0], sizeof *client->control, sizeof *client->control, PROT_READ,
                                "control segment", &address, &bytes);

    if (err != GRANARY_OK) {
        return err;
    }
    client->control = address;
    err = map_whole(frame->fds[1], offsetof(struct gr_lease_page, latencies), sizeof *client->page,
                    PROT_READ | PROT_WRITE, "lease page", &address, &bytes);
    if (err != GRANARY_OK) {
        return err;
    }
    client->page = address;
    client->latencies = bytes < sizeof *client->page ? NULL : client->page->latencies;
    if (atomic_load_explicit(&client->control->magic, memory_order_acquire) != GR_CONTROL_MAGIC ||
        atomic_load_explicit(&client->page->magic, memory_order_acquire) != GR_LEASE_MAGIC ||
        !gr_shm_known(client->control->version) || client->page->version != client->control->version) {
        return gr_fail(GRANARY_EVERSION,
                       "the store's shared memory has version %u, this library knows %u: use one granary for both",
                       client->control->version, GR_SHM_VERSION);
    }
    if (fstat(frame->fds[0], &link->control_file) < 0 || fstat(frame->fds[1], &link->page_file) < 0) {
        return gr_fail_errno("the store's shared memory");
    }
    client->ring.head = atomic_load_explicit(&client->page->ring_head, memory_order_relaxed);
    client->ring.harvested = client->ring.head;
    return GRANARY_OK;
}

static bool
same_file(int fd, const struct stat *known)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_dev == known->st_dev && st.st_ino == known->st_ino;
}

/* An answer to HELLO with resume: what is mapped goes on, if it is still what the store has. */
static granary_err
take_again(granary_client *client, const struct gr_frame_in *frame, const struct gr_hello_reply *reply)
{
    const struct link *link = &client->link;

    if (reply->client != link->number || reply->session != client->control->session ||
        !same_file(frame->fds[0], &link->control_file) || !same_file(frame->fds[1], &link->page_file)) {
        return link_die(client, "the store was started anew and its objects are gone: connect anew");
    }
    return GRANARY_OK;
}

/* *place keeps its number from the first time on: another thread may be using it. *fd is spent. */
static granary_err
take_descriptor(int *fd, int *place)
{
    granary_err err = GRANARY_OK;

    if (*place < 0) {
        *place = *fd;
        *fd = -1;
    } else if (dup3(*fd, *place, O_CLOEXEC) < 0) {
        err = gr_fail_errno("a descriptor of the store");
    }
    gr_fd_close(fd);
    return err;
}

static granary_err
take_hello(granary_client *client, struct gr_frame_in *frame)
{
    struct link *link = &client->link;
    struct gr_hello_reply reply;
    granary_err err;

    err = socket_check_answer(GR_STORE_HELLO, frame);
    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(&reply, frame->body, sizeof reply);
    err = link->number == 0 ? take_first(client, frame) : take_again(client, frame, &reply);
    if (err == GRANARY_OK) {
        err = take_descriptor(&frame->fds[2], &client->doorbell);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    link->number = reply.client;
    atomic_store(&link->epoch, reply.epoch);
    atomic_store(&link->gave_up, false);
    (void)pthread_mutex_lock(&client->lock);
    client->capacity_bytes = reply.capacity_bytes;
    client->ring.rung_at = UINT64_MAX;
    (void)pthread_mutex_unlock(&client->lock);
    return GRANARY_OK;
}

static granary_err
link_greet(granary_client *client)
{
    struct link *link = &client->link;
    struct socket *s = &client->socket;
    struct gr_hello hello = {
        .version = GR_STORE_OLDEST,
        .shm_version = GR_SHM_OLDEST,
        .resume = link->number,
        .flags = client->existing ? GR_HELLO_EXISTING : 0,
    };
    struct gr_frame head = {.magic = GR_STORE_MAGIC, .op = GR_STORE_HELLO, .seq = ++s->seq, .size = sizeof hello};
    granary_err err;

    memcpy(hello.session, client->session, sizeof hello.session);
    memcpy(hello.tag, link->tag, sizeof hello.tag);
    err = gr_frame_send(s->fd, &head, &hello, NULL, 0);
    /* One that refuses to listen may have said why. */
    return err == GRANARY_EUNREACHABLE ? GRANARY_OK : err;
}

/* The answer to HELLO. One that does not come in time is awaited by the next who needs the store. */
static granary_err
link_greeted(granary_client *client, int64_t deadline_ns)
{
    struct link *link = &client->link;
    struct gr_frame_in frame = {.fd_count = 0};
    granary_err err = gr_frame_receive(client->socket.reader, client->socket.fd, deadline_ns, &frame);

    if (err == GRANARY_ETIMEDOUT) {
        return err;
    }
    link->greeting = false;
    if (err != GRANARY_OK) {
        return err;
    }
    if (frame.head.err != GRANARY_OK) {
        err = gr_fail((granary_err)frame.head.err, "%.*s", (int)frame.head.size, (const char *)frame.body);
        if (link->number != 0 && err == GRANARY_ENOENT) {
            err = link_die(client, "the store does not know this client any more: connect anew");
        }
    } else {
        err = take_hello(client, &frame);
    }
    gr_frame_in_reset(&frame);
    if (err != GRANARY_OK) {
        (void)shutdown(client->socket.fd, SHUT_RDWR);
    }
    return err;
}

/* Where a name leads to lies below /tmp, where others may have been first. */
static granary_err
check_server(const granary_client *client, int fd)
{
    struct ucred server = {0};
    socklen_t size = sizeof server;

    if (!client->instance.named) {
        return GRANARY_OK;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &server, &size) < 0) {
        return gr_fail_errno("%s", client->instance.store_socket);
    }
    return server.uid == geteuid()
               ? GRANARY_OK
               : gr_fail(GRANARY_EPERM,
                         "%s is served by uid %u, who was there first: choose another name, or if you trust that user "
                         "give the directory as --instance",
                         client->instance.store_socket, (unsigned)server.uid);
}

static int (*connector)(const char *path, granary_err *ret_err) = gr_unix_connect;

void
gr_client_set_connector(int (*connect)(const char *path, granary_err *ret_err))
{
    connector = connect;
}

/* One attempt. Errors: EUNREACHABLE nobody there, or dead · ETIMEDOUT no answer yet · what the store says */
static granary_err
link_try(granary_client *client, int64_t deadline_ns)
{
    struct link *link = &client->link;
    struct socket *s = &client->socket;
    granary_err err = GRANARY_OK;
    int fd;

    if (!link->greeting) {
        fd = connector(client->instance.store_socket, &err);
        if (fd < 0) {
            granary_err denied = err == GRANARY_EPERM ? gr_instance_check_own(client->instance.runtime) : GRANARY_OK;

            return denied == GRANARY_OK ? err : denied;
        }
        if ((err = check_server(client, fd)) != GRANARY_OK) {
            gr_fd_close(&fd);
            return err;
        }
        err = take_descriptor(&fd, &s->fd);
        if (err != GRANARY_OK) {
            return err;
        }
        gr_frame_reader_reset(s->reader);
        s->unanswered = 0;
        err = link_greet(client);
        if (err != GRANARY_OK) {
            return err;
        }
        link->greeting = true;
    }
    return link_greeted(client, deadline_ns);
}

granary_err
link_first(granary_client *client, int64_t deadline_ns)
{
    granary_err err;

    socket_take(client);
    err = link_try(client, deadline_ns);
    socket_give(client);
    return err;
}

/* ---- losing and finding it ---- */

static granary_err
link_away(granary_client *client)
{
    return gr_fail(GRANARY_EUNREACHABLE,
                   "instance '%s': the store went away and did not come back: start it again with `granary up`",
                   client->instance.name);
}

/* Try, and sleep, until a store serves that knows this client. Errors: EUNREACHABLE */
static granary_err
link_await(granary_client *client, int64_t patience_ns, int64_t until_ns)
{
    struct link *link = &client->link;
    const struct gr_control *control = client->control;

    for (;;) {
        uint32_t life = atomic_load(&control->life);
        int64_t now_ns;
        granary_err err;

        if (atomic_load(&control->state) == GR_CONTROL_CLOSED) {
            return link_die(client, "the store was stopped, or the session deleted");
        }
        err = link_try(client, until_ns);
        if (err == GRANARY_OK || atomic_load_explicit(&link->dead, memory_order_relaxed)) {
            return err;
        }
        if (err == GRANARY_EVERSION || err == GRANARY_EPROTO || err == GRANARY_EPERM) {
            return link_broken(client, err);
        }
        now_ns = gr_now_ns();
        if (now_ns >= patience_ns) {
            atomic_store(&link->gave_up_life, life);
            atomic_store(&link->gave_up, true);
        }
        if (now_ns >= until_ns || link_gave_up(client)) {
            return link_away(client);
        }
        gr_futex_wait(&control->life, life, until_ns - now_ns > LOOK_NS ? now_ns + LOOK_NS : until_ns);
    }
}

granary_err
link_hold(granary_client *client, int64_t deadline_ns)
{
    struct link *link = &client->link;
    int64_t patience_ns = link->reconnect_ms < 0 ? 0 : gr_deadline_ns(link->reconnect_ms);
    granary_err err = link_check(client);
    bool begun;

    if (err != GRANARY_OK || (!link->greeting && !link_is_stale(client) && !hung_up(client->socket.fd))) {
        return err;
    }
    begun = wait_begin(client, GR_WAIT_store, NULL, 0);
    err = link_await(client, patience_ns, deadline_ns < patience_ns ? deadline_ns : patience_ns);
    wait_end(client, begun);
    if (err == GRANARY_OK) {
        client_ring_bell(client); /* what was put into the ring meanwhile has been told to nobody */
    }
    return err;
}

granary_err
link_restore(granary_client *client, int64_t deadline_ns)
{
    granary_err err = link_check(client);

    if (err != GRANARY_OK) {
        return err;
    }
    if (!socket_take_until(client, deadline_ns)) {
        return link_away(client);
    }
    err = link_hold(client, deadline_ns);
    socket_give(client);
    return err;
}
