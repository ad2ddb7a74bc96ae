/* Opening and closing a client; what must hold across fork and the store's death. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "object/client.h"

_Atomic uint32_t client_fork_generation;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void
fork_in_child(void)
{
    atomic_fetch_add_explicit(&client_fork_generation, 1, memory_order_relaxed);
}

static void
fork_watch(void)
{
    (void)pthread_atfork(NULL, NULL, fork_in_child);
}

const char *
id_text(granary_id id)
{
    static _Thread_local char text[GRANARY_ID_TEXT + 1];

    granary_id_format(id, text);
    return text;
}

granary_err
gr_client_check(const granary_client *client)
{
    return client_is_ours(client)
               ? GRANARY_OK
               : gr_fail(GRANARY_EFORKED, "this client was opened before fork(): connect again in the child");
}

granary_err
client_lost(granary_client *client)
{
    atomic_store_explicit(&client->dead, true, memory_order_relaxed);
    return gr_fail(GRANARY_EUNREACHABLE,
                   "instance '%s': the store went away: start it again with `granary up` and connect anew",
                   client->instance.name);
}

bool
client_alive(granary_client *client)
{
    struct pollfd poller = {.fd = client->socket.fd, .events = POLLRDHUP};

    if (atomic_load_explicit(&client->dead, memory_order_relaxed)) {
        return false;
    }
    if (poll(&poller, 1, 0) == 1 && (poller.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0) {
        atomic_store_explicit(&client->dead, true, memory_order_relaxed);
        return false;
    }
    return true;
}

/* A whole shared file, at least as large as what lies in it. */
static granary_err
map_whole(int fd, size_t size, int protection, const char *what, void **ret_address)
{
    struct stat st;
    void *address;

    if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < size) {
        return gr_fail(GRANARY_EVERSION, "the store's %s is smaller than this library expects", what);
    }
    address = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED) {
        return gr_fail_errno("map the store's %s", what);
    }
    *ret_address = address;
    return GRANARY_OK;
}

static granary_err
take_hello(granary_client *client, struct gr_frame_in *frame)
{
    struct gr_hello_reply reply;
    void *address;
    granary_err err;

    if (frame->head.size < sizeof reply || frame->fd_count != 3) {
        return gr_fail(GRANARY_EPROTO, "the store's greeting has %u bytes and %d descriptors", frame->head.size,
                       frame->fd_count);
    }
    memcpy(&reply, frame->body, sizeof reply);
    client->capacity_bytes = reply.capacity_bytes;
    err = map_whole(frame->fds[0], sizeof *client->control, PROT_READ, "control segment", &address);
    if (err != GRANARY_OK) {
        return err;
    }
    client->control = address;
    err = map_whole(frame->fds[1], sizeof *client->page, PROT_READ | PROT_WRITE, "lease page", &address);
    if (err != GRANARY_OK) {
        return err;
    }
    client->page = address;
    client->doorbell = frame->fds[2];
    frame->fds[2] = -1;
    if (atomic_load_explicit(&client->control->magic, memory_order_acquire) != GR_CONTROL_MAGIC ||
        atomic_load_explicit(&client->page->magic, memory_order_acquire) != GR_LEASE_MAGIC ||
        client->control->version != GR_SHM_VERSION || client->page->version != GR_SHM_VERSION) {
        return gr_fail(GRANARY_EVERSION, "the store's shared memory has version %u, this library knows %u",
                       client->control->version, GR_SHM_VERSION);
    }
    client->ring.head = atomic_load_explicit(&client->page->ring_head, memory_order_relaxed);
    client->ring.harvested = client->ring.head;
    client->ring.rung_at = UINT64_MAX;
    return GRANARY_OK;
}

static granary_err
greet(granary_client *client, const char *tag, int timeout_ms)
{
    struct gr_hello hello = {.version = GR_STORE_VERSION, .shm_version = GR_SHM_VERSION};
    struct gr_frame_in frame = {.fd_count = 0};
    granary_err err;

    memcpy(hello.session, client->session, sizeof hello.session);
    hello.flags = client->existing ? GR_HELLO_EXISTING : 0;
    (void)strncpy(hello.tag, tag, sizeof hello.tag - 1);
    socket_take(client);
    err = socket_ask(client, GR_STORE_HELLO, &hello, sizeof hello, timeout_ms, &frame);
    if (err == GRANARY_OK) {
        err = take_hello(client, &frame);
        gr_frame_in_reset(&frame);
    }
    socket_give(client);
    return err;
}

static void
client_destroy(granary_client *client)
{
    segment_fini(client);
    if (client->control != NULL) {
        (void)munmap((void *)(uintptr_t)client->control, sizeof *client->control);
    }
    if (client->page != NULL) {
        (void)munmap(client->page, sizeof *client->page);
    }
    gr_fd_close(&client->doorbell);
    socket_fini(&client->socket);
    (void)pthread_mutex_destroy(&client->lock);
    (void)pthread_mutex_destroy(&client->maps_lock);
    (void)pthread_mutex_destroy(&client->extension_lock);
    free(client);
}

static granary_client *
client_create(void)
{
    granary_client *client = aligned_alloc(64, (sizeof *client + 63) / 64 * 64);
    void *top;

    if (client == NULL) {
        return NULL;
    }
    memset(client, 0, sizeof *client);
    client->doorbell = -1;
    client->socket.fd = -1;
    atomic_init(&client->map_limit, MAPS_KEPT);
    client->spin = sysconf(_SC_NPROCESSORS_ONLN) > 1;
    client->fork_generation = atomic_load_explicit(&client_fork_generation, memory_order_relaxed);
    (void)pthread_mutex_init(&client->lock, NULL);
    (void)pthread_mutex_init(&client->maps_lock, NULL);
    (void)pthread_mutex_init(&client->extension_lock, NULL);
    top = mmap(NULL, SEGMENT_TOP * sizeof *client->segments, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    client->segments = top == MAP_FAILED ? NULL : top;
    if (socket_init(&client->socket) != GRANARY_OK || client->segments == NULL) {
        client_destroy(client);
        return NULL;
    }
    return client;
}

static granary_err
reach(granary_client *client, const char *instance, const char *tag, int timeout_ms)
{
    granary_err err = gr_instance_resolve(instance, &client->instance);

    if (err != GRANARY_OK) {
        return err;
    }
    client->socket.fd = gr_unix_connect(client->instance.store_socket, &err);
    if (client->socket.fd < 0) {
        return err != GRANARY_EUNREACHABLE ? gr_fail_in(err, "instance '%s'", client->instance.name)
                                           : gr_fail(err, "instance '%s': no store at %s: start one with `granary up`",
                                                     client->instance.name, client->instance.store_socket);
    }
    err = greet(client, tag, timeout_ms);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "instance '%s'", client->instance.name);
    }
    return table_refresh(client);
}

granary_err
granary_connect(const granary_connect_options *options, granary_client **ret_client)
{
    static const granary_connect_options defaults = {.instance = NULL};
    granary_client *client;
    const char *session;
    const char *tag;
    granary_err err;

    if (ret_client == NULL) {
        return gr_fail(GRANARY_EINVAL, "connect: no place for the client");
    }
    options = options == NULL ? &defaults : options;
    session = options->session == NULL || options->session[0] == '\0' ? "default" : options->session;
    tag = options->tag == NULL ? program_invocation_short_name : options->tag;
    if (strlen(session) >= sizeof client->session) {
        return gr_fail(GRANARY_EINVAL, "session '%s': longer than %zu characters", session, sizeof client->session - 1);
    }
    (void)pthread_once(&fork_once, fork_watch);
    client = client_create();
    if (client == NULL) {
        return gr_fail(GRANARY_ENOMEM, "connect: out of memory");
    }
    memcpy(client->session, session, strlen(session) + 1);
    client->existing = options->existing;
    err = reach(client, options->instance, tag, options->timeout_ms <= 0 ? 5000 : options->timeout_ms);
    if (err != GRANARY_OK) {
        client_destroy(client);
        return err;
    }
    *ret_client = client;
    return GRANARY_OK;
}

void
granary_disconnect(granary_client *client)
{
    if (client == NULL) {
        return;
    }
    if (!client_is_ours(client)) {
        /* The parent's threads may have held the locks at fork: only unmap and close. */
        client_destroy(client);
        return;
    }
    if (client->extension != NULL) {
        client->extension_destroy(client->extension);
    }
    atomic_store_explicit(&client->page->leaving, 1, memory_order_release);
    client_destroy(client);
}

const struct gr_instance *
gr_client_instance(const granary_client *client)
{
    return &client->instance;
}

const char *
gr_client_session(const granary_client *client)
{
    return client->session;
}

granary_err
gr_client_extension(granary_client *client, granary_err (*create)(granary_client *client, void **ret_extension),
                    void (*destroy)(void *extension), void **ret_extension)
{
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK) {
        return err;
    }
    (void)pthread_mutex_lock(&client->extension_lock);
    if (client->extension == NULL) {
        client->extension_destroy = destroy;
        err = create(client, &client->extension);
    }
    if (err == GRANARY_OK) {
        *ret_extension = client->extension;
    }
    (void)pthread_mutex_unlock(&client->extension_lock);
    return err;
}
