/* Calls: requests get numbers, one thread reads the socket for all, and each answer goes to who waits for it. */
#include "client/user/call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/process/daemon.h"
#include "base/text/buf.h"
#include "contract/versions.h"
#include "dealer/dealer.h"
#include "object/object.h"

/* How long a supervised scheduler that died may take to come back. */
#define SUCCESSOR_MS 5000

/* A request under way; lives on its caller's stack. */
struct pending {
    struct pending *next;
    uint64_t seq;
    struct gr_buf bytes; /* packed, to be sent again to a new scheduler */
    bool once;           /* ... but not this one: done twice, it is another thing */
    bool asked_again;
    bool done;
    Granary__Reply *reply;
    granary_err err; /* done without a reply; why is in message */
    char message[256];
};

struct line {
    granary_client *client;
    pthread_mutex_t lock;   /* of everything below but what the owner uses */
    pthread_cond_t changed; /* owned, wanting or some call's done */
    bool owned;             /* a thread uses socket and scheduler_fd */
    uint32_t wanting;       /* threads that wait for the socket in order to send */
    int interrupt_fd;       /* eventfd: the owner is to give the socket back */
    uint64_t seq;
    struct pending *pending;
    /* the owner's */
    struct gr_dealer *socket; /* NULL: not connected */
    int scheduler_fd;         /* pidfd; -1: not connected */
};

/* ---- the connection; all by the owner ---- */

static void
line_close(struct line *line)
{
    gr_dealer_close(line->socket);
    line->socket = NULL;
    gr_fd_close(&line->scheduler_fd);
}

/* A pidfd of the instance's scheduler; -1: none runs. Its lock file tells which process it is, by start time, too. */
static int
scheduler_open(const struct gr_instance *instance)
{
    char path[160];

    (void)snprintf(path, sizeof path, "%s/sched.lock", instance->runtime);
    return gr_daemon_holder_open(path);
}

static bool
scheduler_dead(const struct line *line)
{
    struct pollfd poll_fd = {.fd = line->scheduler_fd, .events = POLLIN};

    return line->scheduler_fd < 0 || poll(&poll_fd, 1, 0) > 0;
}

/* At a group's store each member has one, and another user's is not to be reached: then the remedy is another one. */
static granary_err
fail_no_scheduler(const struct gr_instance *instance, const char *more)
{
    if (instance->shared[0] != '\0') {
        return gr_fail(GRANARY_EUNREACHABLE,
                       "instance %s: no scheduler of yours runs at the store in %s: start it with `granary up "
                       "--instance %s`",
                       instance->name, instance->shared, instance->shared);
    }
    return gr_instance_check_own(instance->runtime) != GRANARY_OK
               ? gr_fail_in(GRANARY_EUNREACHABLE, "instance %s: no scheduler can be reached", instance->name)
               : gr_fail(GRANARY_EUNREACHABLE,
                         "instance %s: its scheduler is not running%s: start it with `granary up`", instance->name,
                         more);
}

/* Connected to a scheduler that lives. */
static granary_err
line_open(struct line *line)
{
    const struct gr_instance *instance = gr_client_instance(line->client);
    granary_err err = GRANARY_OK;

    if (!scheduler_dead(line)) {
        return GRANARY_OK;
    }
    line_close(line);
    err = gr_instance_check_place(instance);
    if (err != GRANARY_OK) {
        return err;
    }
    errno = 0;
    line->scheduler_fd = scheduler_open(instance);
    if (line->scheduler_fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        return gr_fail_errno("instance %s: its scheduler", instance->name);
    }
    if (scheduler_dead(line)) {
        line_close(line);
        return fail_no_scheduler(instance, "");
    }
    err = gr_dealer_open(instance->sched_socket, &line->socket);
    if (err != GRANARY_OK) {
        line_close(line);
    }
    return err;
}

/* The same, waiting for a scheduler that takes over or is started again, if somebody sees to that. */
static granary_err
line_open_successor(struct line *line, int64_t deadline_ns)
{
    const struct gr_instance *instance = gr_client_instance(line->client);
    int64_t successor_ns = gr_deadline_ns(SUCCESSOR_MS);
    granary_err err;

    deadline_ns = successor_ns < deadline_ns ? successor_ns : deadline_ns;
    while ((err = line_open(line)) == GRANARY_EUNREACHABLE && gr_instance_supervised(instance) &&
           gr_now_ns() < deadline_ns) {
        (void)poll(NULL, 0, 10);
    }
    if (err == GRANARY_EUNREACHABLE) { /* looking for a supervisor has left a message of its own */
        err = fail_no_scheduler(instance,
                                ", and no other one has come; `granary status` tells whether the instance is still up");
    }
    return err;
}

/* ---- beginning and end ---- */

static void
line_destroy(void *extension)
{
    struct line *line = extension;

    if (line != NULL) {
        line_close(line);
        gr_fd_close(&line->interrupt_fd);
        (void)pthread_cond_destroy(&line->changed);
        (void)pthread_mutex_destroy(&line->lock);
        free(line);
    }
}

static granary_err
line_create(granary_client *client, void **ret_extension)
{
    struct line *line = calloc(1, sizeof *line);

    if (line == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    line->client = client;
    line->scheduler_fd = -1;
    (void)pthread_mutex_init(&line->lock, NULL);
    (void)pthread_cond_init(&line->changed, NULL);
    line->interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (line->interrupt_fd < 0) {
        line_destroy(line);
        return gr_fail(GRANARY_ENOMEM, "no resources for a connection to the scheduler");
    }
    *ret_extension = line;
    return GRANARY_OK;
}

/* ---- requests under way; with the lock ---- */

static void
pending_remove(struct line *line, const struct pending *call)
{
    struct pending **at = &line->pending;

    while (*at != NULL && *at != call) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = call->next;
    }
}

/* With what the thread's message says. */
static void
fail_one(struct pending *call, granary_err err)
{
    call->done = true;
    call->err = err;
    (void)snprintf(call->message, sizeof call->message, "%s", granary_error_message());
}

static void
fail_all(struct line *line, granary_err err)
{
    for (struct pending *call = line->pending; call != NULL; call = call->next) {
        if (!call->done) {
            fail_one(call, err);
        }
    }
}

static void
hand_out(struct line *line, Granary__Reply *reply)
{
    for (struct pending *call = line->pending; call != NULL; call = call->next) {
        if (call->seq == reply->seq && !call->done) {
            call->done = true;
            call->reply = reply;
            return;
        }
    }
    if (reply->seq == 0 && reply->err != GRANARY_OK) { /* to a request that could not be read: any of these */
        fail_all(line, gr_fail((granary_err)reply->err, "%s", reply->message));
    }
    granary__reply__free_unpacked(reply, NULL); /* else nobody waits for it any more */
}

/* ---- the owner's work ---- */

static void
receive_all(struct line *line)
{
    const void *bytes;
    size_t size;
    granary_err err;

    while ((err = gr_dealer_receive(line->socket, &bytes, &size)) == GRANARY_OK && bytes != NULL) {
        Granary__Reply *reply = granary__reply__unpack(NULL, size, bytes);

        (void)pthread_mutex_lock(&line->lock);
        if (reply != NULL) {
            hand_out(line, reply);
        } else { /* whose it is cannot be told */
            fail_all(line, gr_fail(GRANARY_ENOMEM, "an answer of the scheduler cannot be read"));
        }
        (void)pthread_mutex_unlock(&line->lock);
    }
    if (err != GRANARY_OK) {
        (void)pthread_mutex_lock(&line->lock);
        fail_all(line, err);
        (void)pthread_mutex_unlock(&line->lock);
    }
}

/* The scheduler has ended: ask its successor, if there is one or will be soon, everything again. Or its connection has: ask by another
 * one. */
static void
ask_again(struct line *line)
{
    granary_err err = line_open_successor(line, INT64_MAX);

    (void)pthread_mutex_lock(&line->lock);
    for (struct pending *call = line->pending; err == GRANARY_OK && call != NULL; call = call->next) {
        if (!call->done && call->once) {
            fail_one(call,
                     gr_fail(GRANARY_ELOST, "the scheduler, or the connection to it, ended before it answered: look "
                                            "what was done before ordering it again"));
        } else if (!call->done) {
            err = gr_dealer_send(line->socket, call->bytes.bytes, call->bytes.size);
            call->asked_again = true;
        }
    }
    if (err != GRANARY_OK) {
        fail_all(line, err);
    }
    (void)pthread_mutex_unlock(&line->lock);
}

/* Wait for answers until one comes, somebody wants to send, the scheduler dies, or the deadline. */
static void
owner_wait(struct line *line, int64_t deadline_ns)
{
    const int fds[] = {line->interrupt_fd, line->scheduler_fd};
    bool ready[2] = {false, false};
    uint64_t interrupts;

    if (line->socket != NULL &&
        gr_dealer_is_another(line->socket)) { /* what was asked by the lost one may not have come */
        line_close(line);
    }
    if (line->socket == NULL) {
        ask_again(line); /* an earlier owner found the scheduler gone */
        return;
    }
    (void)gr_dealer_wait(line->socket, fds, ready, 2, gr_left_ms(deadline_ns));
    if (ready[0]) {
        (void)!read(line->interrupt_fd, &interrupts, sizeof interrupts);
    }
    receive_all(line); /* what it said before its end counts */
    if (ready[1]) {
        ask_again(line);
    }
}

/* With the lock. Senders go first, or a waiter would never let go. */
static void
own_to_send(struct line *line)
{
    const uint64_t one = 1;

    line->wanting++;
    while (line->owned) {
        (void)!write(line->interrupt_fd, &one, sizeof one);
        (void)pthread_cond_wait(&line->changed, &line->lock);
    }
    line->wanting--;
    line->owned = true;
}

static void
disown(struct line *line)
{
    line->owned = false;
    (void)pthread_cond_broadcast(&line->changed);
}

static granary_err
transmit(struct line *line, struct pending *call, Granary__Request *request, int64_t deadline_ns)
{
    granary_err err;
    void *room;

    (void)pthread_mutex_lock(&line->lock);
    call->seq = ++line->seq;
    (void)pthread_mutex_unlock(&line->lock);
    request->version = GR_WIRE_OLDEST;
    request->seq = call->seq;
    call->once = request->body_case == GRANARY__REQUEST__BODY_POOL; /* numbers of executors are a scheduler's own */
    room = gr_buf_grow(&call->bytes, granary__request__get_packed_size(request));
    if (room == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    (void)granary__request__pack(request, room);

    (void)pthread_mutex_lock(&line->lock);
    own_to_send(line);
    (void)pthread_mutex_unlock(&line->lock);
    if (line->socket != NULL && scheduler_dead(line)) {
        ask_again(line); /* for the others; this one is not among them yet */
    }
    err = line_open_successor(line, deadline_ns);
    if (err == GRANARY_OK) {
        err = gr_dealer_send(line->socket, call->bytes.bytes, call->bytes.size);
    }
    (void)pthread_mutex_lock(&line->lock);
    if (err == GRANARY_OK) {
        call->next = line->pending;
        line->pending = call;
    }
    disown(line);
    (void)pthread_mutex_unlock(&line->lock);
    return err;
}

static void
wait_for(struct line *line, struct pending *call, int64_t deadline_ns)
{
    (void)pthread_mutex_lock(&line->lock);
    while (!call->done && gr_now_ns() < deadline_ns) {
        if (line->owned || line->wanting > 0) {
            /* The owner hands out our answer, too. Half a second bounds the wait for its deadline. */
            (void)gr_cond_wait_ns(&line->changed, &line->lock, gr_now_ns() + 500000000);
            continue;
        }
        line->owned = true;
        (void)pthread_mutex_unlock(&line->lock);
        owner_wait(line, deadline_ns);
        (void)pthread_mutex_lock(&line->lock);
        disown(line);
    }
    pending_remove(line, call);
    (void)pthread_mutex_unlock(&line->lock);
}

static granary_err
judge(const struct line *line, const struct pending *call)
{
    if (!call->done) {
        return gr_fail(GRANARY_ETIMEDOUT, "instance %s: its scheduler does not answer",
                       gr_client_instance(line->client)->name);
    }
    if (call->reply == NULL) {
        return gr_fail(call->err, "%s", call->message);
    }
    if (!gr_wire_known(call->reply->version)) {
        return gr_fail(GRANARY_EVERSION, "the scheduler speaks version %u, this library %u: use one granary for both",
                       call->reply->version, GR_WIRE_VERSION);
    }
    if (call->reply->err > 0 || strcmp(granary_error_name((granary_err)call->reply->err), "E?") == 0) {
        return gr_fail(GRANARY_EPROTO, "the scheduler answers with an unknown error (%d)", call->reply->err);
    }
    return call->reply->err == GRANARY_OK ? GRANARY_OK
                                          : gr_fail((granary_err)call->reply->err, "%s", call->reply->message);
}

/* Inside a subtask a wait for a graph could be one for itself: its slot would wait for work that waits for a slot. */
static granary_err
check_wait(const Granary__Request *request)
{
    bool waits = (request->body_case == GRANARY__REQUEST__BODY_WAIT && request->wait->timeout_ms != 0) ||
                 (request->body_case == GRANARY__REQUEST__BODY_SUBMIT && request->submit->wait_ms != 0) ||
                 (request->body_case == GRANARY__REQUEST__BODY_INFO && request->info->timeout_ms != 0) ||
                 (request->body_case == GRANARY__REQUEST__BODY_STOP && request->stop->wait);

    return waits && gr_client_in_call() != NULL
               ? gr_fail(GRANARY_ESTATE, "a function must not wait for a graph: it would hold its slot meanwhile; "
                                         "let the subtask go on as that graph with granary_call_go_on()")
               : GRANARY_OK;
}

int
call_patience_ms(int timeout_ms)
{
    return timeout_ms < 0                             ? GRANARY_FOREVER
           : timeout_ms > INT32_MAX - CALL_TIMEOUT_MS ? INT32_MAX
                                                      : timeout_ms + CALL_TIMEOUT_MS;
}

granary_err
call(granary_client *client, Granary__Request *request, int timeout_ms, Granary__Reply **ret_reply)
{
    struct pending pending = {.done = false};
    void *extension = NULL;
    granary_err err = gr_client_check(client);

    *ret_reply = NULL;
    if (err == GRANARY_OK) {
        err = check_wait(request);
    }
    if (err == GRANARY_OK) {
        err = gr_client_extension(client, GR_CLIENT_ROOM_CLIENT, line_create, line_destroy, &extension);
    }
    if (err == GRANARY_OK) {
        int64_t deadline_ns = gr_deadline_ns(timeout_ms);

        err = transmit(extension, &pending, request, deadline_ns);
        if (err == GRANARY_OK) {
            wait_for(extension, &pending, deadline_ns);
            err = judge(extension, &pending);
        }
    }
    if (err == GRANARY_ENOENT && pending.asked_again && request->body_case == GRANARY__REQUEST__BODY_DELETE) {
        err = GRANARY_OK; /* the scheduler before had done it, and could not say so any more */
    }
    gr_buf_free(&pending.bytes);
    *ret_reply = pending.reply;
    return err;
}
