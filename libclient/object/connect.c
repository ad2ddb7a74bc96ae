/* Opening and closing a client; what must hold across fork. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/sized.h"
#include "base/text/duration.h"
#include "object/client.h"
#include "object/object.h"

#define RETRY_MS     10
#define RECONNECT_MS 10000

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
gr_client_check_wait(const granary_client *client, int timeout_ms)
{
    granary_err err = gr_client_check(client);

    return err == GRANARY_OK ? gr_timeout_check(timeout_ms) : err;
}

static _Thread_local const struct gr_in_call *client_in_call;

void
gr_client_set_in_call(const struct gr_in_call *in_call)
{
    client_in_call = in_call;
}

const struct gr_in_call *
gr_client_in_call(void)
{
    return client_in_call;
}

void
client_waits(const granary_id *id)
{
    if (client_in_call != NULL) {
        client_in_call->waits(client_in_call->context, id);
    }
}

static _Thread_local const struct gr_given_up *client_given_up;

void
gr_client_set_given_up(const struct gr_given_up *given_up)
{
    client_given_up = given_up;
}

bool
client_is_given_up(void)
{
    return client_given_up != NULL && client_given_up->is_so(client_given_up->context);
}

static void
client_destroy(granary_client *client)
{
    segment_fini(client);
    free(client->open.marks);
    if (client->control != NULL) {
        (void)munmap((void *)(uintptr_t)client->control, sizeof *client->control);
    }
    if (atomic_load(&client->counters) != NULL) {
        (void)munmap(atomic_load(&client->counters), sizeof(struct gr_counters));
    }
    if (client->page != NULL) {
        (void)munmap(client->page, sizeof *client->page);
    }
    gr_fd_close(&client->doorbell);
    socket_fini(&client->socket);
    (void)pthread_mutex_destroy(&client->lock);
    (void)pthread_mutex_destroy(&client->maps_lock);
    (void)pthread_mutex_destroy(&client->counted.lock);
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
    atomic_init(&client->holders, 1);
    atomic_init(&client->map_limit, MAPS_KEPT);
    client->spin = sysconf(_SC_NPROCESSORS_ONLN) > 1;
    client->fork_generation = atomic_load_explicit(&client_fork_generation, memory_order_relaxed);
    (void)pthread_mutex_init(&client->lock, NULL);
    (void)pthread_mutex_init(&client->maps_lock, NULL);
    (void)pthread_mutex_init(&client->counted.lock, NULL);
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

/* Whether somebody starts the store again who died. A member of its group sees that there is such a process, not which. */
static bool
is_supervised(const struct gr_instance *instance)
{
    char path[160];

    (void)snprintf(path, sizeof path, "%s/lock", instance->shared);
    return instance->shared[0] != '\0' ? access(path, F_OK) == 0 : gr_instance_supervised(instance);
}

static granary_err
reach(granary_client *client, const char *instance, int timeout_ms)
{
    int64_t deadline_ns = gr_deadline_ns(timeout_ms);
    granary_err err = gr_instance_resolve(instance, &client->instance);

    if (err != GRANARY_OK) {
        return err;
    }
    /* A store that died is started again by its supervisor, if there is one. */
    while ((err = link_first(client, deadline_ns)) == GRANARY_EUNREACHABLE && gr_now_ns() < deadline_ns &&
           is_supervised(&client->instance)) {
        (void)poll(NULL, 0, RETRY_MS);
    }
    switch (err) {
    case GRANARY_OK:
        return index_map(client);
    case GRANARY_EUNREACHABLE:
        if (client->socket.fd >= 0) {
            return gr_fail(err,
                           "instance '%s': the store at %s hung up: it has ended, or has no room for one more client: "
                           "see its log",
                           client->instance.name, client->instance.store_socket);
        }
        return gr_fail(err, "instance '%s': no store at %s: %s", client->instance.name, client->instance.store_socket,
                       client->instance.shared[0] != '\0' ? "ask its user to start it" : "start one with `granary up`");
    case GRANARY_ETIMEDOUT:
        return gr_fail(GRANARY_EUNREACHABLE,
                       "instance '%s': the store does not answer: see `granary top --once`, and its log",
                       client->instance.name);
    default:
        return gr_fail_in(err, "instance '%s'", client->instance.name);
    }
}

granary_err
granary_connect_sized(const granary_connect_options *theirs, granary_client **ret_client, size_t options_size)
{
    granary_connect_options options;
    granary_client *client;
    const char *session;
    const char *tag;
    granary_err err;

    if (ret_client == NULL) {
        return gr_fail(GRANARY_EINVAL, "connect: no place for the client");
    }
    if ((err = gr_sized_take(&options, sizeof options, theirs, options_size)) != GRANARY_OK) {
        return gr_fail_in(err, "connect");
    }
    session = options.session == NULL || options.session[0] == '\0' ? "default" : options.session;
    tag = options.tag == NULL ? program_invocation_short_name : options.tag;
    if (strlen(session) >= sizeof client->session) {
        return gr_fail(GRANARY_EINVAL, "session '%s': longer than %zu characters", session, sizeof client->session - 1);
    }
    if ((err = gr_timeout_check(options.timeout_ms)) != GRANARY_OK) {
        return gr_fail_in(err, "connect");
    }
    if (options.reconnect_ms < -1) {
        return gr_fail(GRANARY_EINVAL, "connect: reconnect_ms is %d: it is 0 or more, or -1 not to wait for a store",
                       options.reconnect_ms);
    }
    err = gr_fault_arm(GR_FAULT_CLIENT);
    if (err != GRANARY_OK) {
        return err;
    }
    (void)pthread_once(&fork_once, fork_watch);
    client = client_create();
    if (client == NULL) {
        return gr_fail(GRANARY_ENOMEM, "connect: out of memory");
    }
    memcpy(client->session, session, strlen(session) + 1);
    client->existing = options.existing;
    (void)strncpy(client->link.tag, tag, sizeof client->link.tag - 1);
    client->link.reconnect_ms = options.reconnect_ms == 0 ? RECONNECT_MS : options.reconnect_ms;
    err = reach(client, options.instance, options.timeout_ms == 0 ? 5000 : options.timeout_ms);
    if (err != GRANARY_OK) {
        client_destroy(client);
        return err;
    }
    *ret_client = client;
    return GRANARY_OK;
}

static void
client_close(granary_client *client)
{
    if (!client_is_ours(client)) {
        /* The parent's threads may have held the locks at fork: only unmap and close. */
        client_destroy(client);
        return;
    }
    for (size_t i = GR_CLIENT_ROOMS; i-- > 0;) {
        if (client->extensions[i].self != NULL) {
            client->extensions[i].destroy(client->extensions[i].self);
        }
    }
    atomic_store_explicit(&client->page->leaving, 1, memory_order_release);
    client_destroy(client);
}

void
gr_client_hold(granary_client *client)
{
    atomic_fetch_add_explicit(&client->holders, 1, memory_order_relaxed);
}

void
gr_client_let_go(granary_client *client)
{
    /* Release what this thread did with it, acquire what the others did, before it goes. */
    if (atomic_fetch_sub_explicit(&client->holders, 1, memory_order_acq_rel) == 1) {
        client_close(client);
    }
}

void
granary_disconnect(granary_client *client)
{
    if (client != NULL) {
        gr_client_let_go(client);
    }
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
gr_client_extension(granary_client *client, enum gr_client_room room,
                    granary_err (*create)(granary_client *client, void **ret_extension),
                    void (*destroy)(void *extension), void **ret_extension)
{
    struct extension *extension = &client->extensions[room];
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK) {
        return err;
    }
    (void)pthread_mutex_lock(&client->extension_lock);
    if (extension->self == NULL) {
        extension->destroy = destroy;
        err = create(client, &extension->self);
    }
    if (err == GRANARY_OK) {
        *ret_extension = extension->self;
    }
    (void)pthread_mutex_unlock(&client->extension_lock);
    return err;
}
