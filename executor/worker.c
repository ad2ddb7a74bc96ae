#include "executor/worker.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/daemon.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/log.h"
#include "executor/answer.h"
#include "executor/endpoint.h"
#include "executor/host.h"
#include "executor/reports.h"
#include "executor/sessions.h"
#include "executor/subtask.h"
#include "message/zmq.h"
#include "object/object.h"

/* Answers are collected up to this number and age; one that took longer than LONG_NS is sent at once. */
#define ANSWERS_MAX 64
#define ANSWERS_NS  2000000
#define LONG_NS     1000000
/* How often an idle executor looks whether the scheduler is still the one it registered with. */
#define LOOK_MS 1000
/* How long a registration may stay unanswered before it is sent again. */
#define REGISTER_NS 1000000000
/* How often one whose scheduler has ended looks for the next one. */
#define SUCCESSOR_MS 5
/* With more reports than this that no scheduler has kept yet, nothing more is run. */
#define REPORTS_MAX 65536
/* How long one that leaves waits to be told that this was heard. */
#define LEAVE_MS 1000

struct worker {
    struct worker_options options;
    struct gr_instance instance;
    struct sessions sessions;
    struct host host;
    struct gr_zmq_context *zmq;
    struct gr_zmq_socket *socket;
    uint32_t number; /* the scheduler's for us; 0: not registered */
    struct endpoint endpoint;
    int64_t registered_ns;    /* when registration was sent */
    int64_t looked_ns;        /* at its socket */
    int64_t sought_ns;        /* for its process */
    Granary__Subtask **queue; /* queue[first .. first + count), in order */
    size_t first, count, room;
    struct reports reports;
    uint64_t epoch;      /* the highest seen: no scheduler with a lower one is obeyed */
    uint64_t freed;      /* the last order to free objects that was done */
    bool freed_unsaid;   /* the scheduler does not know yet */
    int scheduler;       /* pidfd: readable when the scheduler has ended; -1: none is known */
    bool orphaned;       /* it has */
    int64_t answered_ns; /* when answers were sent last */
    uint64_t received;   /* subtasks since it registered */
    uint64_t wanted;     /* of them, what the scheduler was told that it may send in all; pull only */
    bool standing;       /* what was asked for stays asked for between two polls */
    int poll_fd;         /* epoll: of the socket; -1 */
    bool die;
    bool replace; /* ... and have another process take the place */
    bool leaving; /* worn out: the scheduler was asked to let it go when it has done what it was given */
};

/* ---- to the scheduler ---- */

static granary_err
send_message(struct worker *worker, const Granary__FromExecutor *message)
{
    size_t size = granary__from_executor__get_packed_size(message);
    uint8_t *bytes = malloc(size);
    granary_err err;

    if (bytes == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a message of %zu bytes", size);
    }
    (void)granary__from_executor__pack(message, bytes);
    err = gr_zmq_send(worker->socket, NULL, bytes, size);
    free(bytes);
    return err;
}

static void
drop_queue(struct worker *worker)
{
    for (size_t i = 0; i < worker->count; i++) {
        granary__subtask__free_unpacked(worker->queue[worker->first + i], NULL);
    }
    worker->first = 0;
    worker->count = 0;
}

/* A descriptor that was closed has left the set by itself. */
static void
watch_socket(const struct worker *worker)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (worker->poll_fd >= 0) {
        (void)epoll_ctl(worker->poll_fd, EPOLL_CTL_ADD, gr_zmq_fd(worker->socket), &event);
    }
}

/* The process that is the scheduler now, if any. */
static bool
find_scheduler(struct worker *worker)
{
    char path[160];

    gr_fd_close(&worker->scheduler);
    (void)snprintf(path, sizeof path, "%s/sched.lock", worker->instance.runtime);
    worker->scheduler = gr_daemon_holder_open(path);
    return worker->scheduler >= 0;
}

/*
 * Tell whoever is the scheduler what is at hand and what became of the rest: what an earlier one gave goes on, if this
 * one knows of it.
 */
static granary_err
register_anew(struct worker *worker)
{
    Granary__Register registration = GRANARY__REGISTER__INIT;
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;
    uint64_t *numbers = NULL;
    uint32_t *attempts = NULL;
    granary_err err = GRANARY_OK;

    gr_zmq_close(worker->socket);
    worker->number = 0;
    worker->received = 0;
    worker->wanted = 0;
    worker->freed_unsaid = false; /* it names orders of its own */
    worker->orphaned = false;
    worker->registered_ns = gr_now_ns();
    if (worker->options.pull) {
        drop_queue(worker); /* it was asked for of another */
    }
    (void)find_scheduler(worker);
    worker->socket = gr_zmq_dealer(worker->zmq, worker->instance.pool_socket, &err);
    if (worker->socket == NULL) {
        return err;
    }
    watch_socket(worker);
    numbers = calloc(worker->count + 1, sizeof *numbers);
    attempts = calloc(worker->count + 1, sizeof *attempts);
    if (numbers == NULL || attempts == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "no memory to register");
        goto out;
    }
    for (size_t i = 0; i < worker->count; i++) {
        numbers[i] = worker->queue[worker->first + i]->number;
        attempts[i] = worker->queue[worker->first + i]->attempt;
    }
    registration.pid = getpid();
    registration.start_time = gr_process_start_time(getpid());
    registration.node = worker->options.node;
    registration.slot = (uint32_t)worker->options.slot;
    registration.pull = worker->options.pull;
    registration.epoch = worker->epoch;
    registration.queued = numbers;
    registration.attempts = attempts;
    registration.n_queued = registration.n_attempts = worker->count;
    message.version = GRANARY__VERSION__PROTOCOL;
    message.register_ = &registration;
    message.draining = worker->leaving;
    err = reports_fill(&worker->reports, true, &message);
    if (err == GRANARY_OK) {
        err = send_message(worker, &message);
    }
out:
    free(numbers);
    free(attempts);
    return err;
}

/* Register again when another scheduler has come, or the registration was lost with the one before. */
static granary_err
look_after_scheduler(struct worker *worker)
{
    struct pollfd scheduler = {.fd = worker->scheduler, .events = POLLIN};
    int64_t now = gr_now_ns();

    if (worker->scheduler >= 0 && poll(&scheduler, 1, 0) > 0) {
        gr_fd_close(&worker->scheduler);
        worker->orphaned = true;
        worker->sought_ns = 0;
    }
    if (worker->scheduler < 0 && now - worker->sought_ns >= (int64_t)SUCCESSOR_MS * 1000000) {
        worker->sought_ns = now;
        if (find_scheduler(worker) && worker->orphaned) {
            gr_log_info("SCHEDULER-CHANGED", "slot=%d: registering again", worker->options.slot);
            return register_anew(worker);
        }
    }
    if (worker->number == 0) {
        return now - worker->registered_ns > REGISTER_NS ? register_anew(worker) : GRANARY_OK;
    }
    if (now - worker->looked_ns < (int64_t)LOOK_MS * 1000000 / 2) {
        return GRANARY_OK;
    }
    worker->looked_ns = now;
    if (endpoint_changed(worker->instance.pool_socket, &worker->endpoint)) {
        gr_log_info("SCHEDULER-CHANGED", "slot=%d: registering again", worker->options.slot);
        return register_anew(worker);
    }
    return GRANARY_OK;
}

/* Wait for messages, or the scheduler's end. */
static void
wait_for_messages(const struct worker *worker, int timeout_ms)
{
    int look_ms = worker->orphaned ? SUCCESSOR_MS : LOOK_MS;
    bool ended;

    (void)gr_zmq_wait(&worker->socket, 1, &worker->scheduler, &ended, worker->scheduler >= 0,
                      timeout_ms >= 0 && timeout_ms < look_ms ? timeout_ms : look_ms);
}

static granary_err
send_answers(struct worker *worker)
{
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;
    granary_err err = look_after_scheduler(worker);

    /* Without a scheduler they stay: the next one is told when it is registered with. */
    if (err != GRANARY_OK || worker->orphaned || (worker->reports.unsent == 0 && !worker->freed_unsaid)) {
        return err;
    }
    message.version = GRANARY__VERSION__PROTOCOL;
    message.draining = worker->leaving;
    message.freed = worker->freed_unsaid ? worker->freed : 0;
    err = reports_fill(&worker->reports, false, &message);
    if (err == GRANARY_OK) {
        err = send_message(worker, &message);
    }
    while (err == GRANARY_EBUSY) { /* the scheduler is far behind: no use in running ahead */
        (void)usleep(10000);
        err = look_after_scheduler(worker);
        if (err != GRANARY_OK || worker->orphaned || worker->number == 0) {
            return err; /* the next one is told with the registration */
        }
        err = send_message(worker, &message);
    }
    worker->freed_unsaid = false;
    worker->answered_ns = gr_now_ns();
    return err;
}

/* Takes done. */
static granary_err
add_answer(struct worker *worker, Granary__Done *done)
{
    granary_err err = reports_add(&worker->reports, done);

    return err == GRANARY_OK && worker->reports.unsent >= ANSWERS_MAX ? send_answers(worker) : err;
}

/* ---- from the scheduler ---- */

static granary_err
enqueue(struct worker *worker, Granary__Subtask *subtask)
{
    if (worker->first + worker->count == worker->room) {
        if (worker->first > worker->room / 2) {
            memmove(worker->queue, worker->queue + worker->first, worker->count * sizeof *worker->queue);
            worker->first = 0;
        } else {
            size_t room = worker->room == 0 ? 64 : worker->room * 2;
            Granary__Subtask **queue = realloc(worker->queue, room * sizeof(Granary__Subtask *));

            if (queue == NULL) {
                return gr_fail(GRANARY_ENOMEM, "no memory for %zu subtasks", room);
            }
            worker->queue = queue;
            worker->room = room;
        }
    }
    worker->queue[worker->first + worker->count++] = subtask;
    return GRANARY_OK;
}

/* Take a subtask that has not started out of the queue, and say so. One that is gone was answered. */
static granary_err
cancel(struct worker *worker, uint64_t number)
{
    Granary__Subtask **queue = worker->queue + worker->first;

    for (size_t i = 0; i < worker->count; i++) {
        if (queue[i]->number == number) {
            Granary__Done *done = answer_create(queue[i], GRANARY_ECANCELLED, "cancelled before it started");

            if (done == NULL) {
                return gr_fail(GRANARY_ENOMEM, "no memory for an answer");
            }
            granary__subtask__free_unpacked(queue[i], NULL);
            worker->count--;
            memmove(queue + i, queue + i + 1, (worker->count - i) * sizeof *queue);
            return add_answer(worker, done);
        }
    }
    return GRANARY_OK;
}

/* Errors under the ids of results. What is there already stays: it was made before the rest failed. */
static granary_err
store_errors(granary_client *client, const Granary__ToExecutor *message)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < message->n_errors; i++) {
        const Granary__ErrorObject *error = message->errors[i];
        granary_id id;

        if (error->id.len == sizeof id.bytes) {
            memcpy(id.bytes, error->id.data, sizeof id.bytes);
            if (granary_object_put_error(client, id, (granary_err)error->err, error->message) == GRANARY_EUNREACHABLE &&
                !gr_client_is_over(client)) {
                err = gr_fail_in(GRANARY_EUNREACHABLE, "the store");
            }
        }
    }
    return err;
}

static granary_err
free_objects(struct worker *worker, const Granary__ToExecutor *message)
{
    granary_client *client;
    granary_err err = sessions_client(&worker->sessions, message->free_session, &client);

    if (err == GRANARY_ENOENT) {
        return GRANARY_OK; /* they went with their session */
    }
    if (err == GRANARY_OK) {
        err = store_errors(client, message);
    }
    for (size_t i = 0; err == GRANARY_OK && i < message->n_free; i++) {
        granary_id id;

        if (message->free[i].len == sizeof id.bytes) {
            memcpy(id.bytes, message->free[i].data, sizeof id.bytes);
            /* Whether it was still there does not matter: nobody wants it. */
            if (granary_object_delete(client, id, GRANARY_NOWAIT) == GRANARY_EUNREACHABLE &&
                !gr_client_is_over(client)) {
                err = gr_fail_in(GRANARY_EUNREACHABLE, "the store");
            }
        }
    }
    return err;
}

/* What it was given until the scheduler has heard this it still does. */
static granary_err
ask_to_leave(struct worker *worker)
{
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;

    message.version = GRANARY__VERSION__PROTOCOL;
    message.draining = true;
    return send_message(worker, &message);
}

static granary_err
handle(struct worker *worker, Granary__ToExecutor *message)
{
    granary_err err = GRANARY_OK;

    if (message->version != GRANARY__VERSION__PROTOCOL) {
        return gr_fail(GRANARY_EVERSION, "the scheduler speaks version %u, this executor %d; restart the instance",
                       message->version, (int)GRANARY__VERSION__PROTOCOL);
    }
    if (message->epoch < worker->epoch) {
        gr_log_warn("SCHEDULER-OLD", "slot=%d: epoch=%llu after %llu: it is not obeyed", worker->options.slot,
                    (unsigned long long)message->epoch, (unsigned long long)worker->epoch);
        return GRANARY_OK;
    }
    worker->epoch = message->epoch;
    reports_acknowledged(&worker->reports, message->acknowledged);
    if (message->registered != 0) {
        worker->number = message->registered;
        worker->host.number = message->registered;
        worker->looked_ns = gr_now_ns();
        (void)endpoint_look(worker->instance.pool_socket, &worker->endpoint);
        gr_log_debug("REGISTERED", "slot=%d number=%u", worker->options.slot, worker->number);
        if (worker->leaving) {
            err = ask_to_leave(worker);
        }
        if (worker->options.registered != NULL) {
            worker->options.registered(worker->options.context);
        }
    }
    for (size_t i = 0; err == GRANARY_OK && i < message->n_exports; i++) {
        err = libraries_add(&worker->host.libraries, message->exports[i]);
        message->exports[i] = NULL; /* the host owns it */
    }
    for (size_t i = 0; err == GRANARY_OK && i < message->n_run; i++) {
        err = enqueue(worker, message->run[i]);
        if (err == GRANARY_OK) {
            message->run[i] = NULL; /* the queue owns it */
            worker->received++;
        }
    }
    for (size_t i = 0; err == GRANARY_OK && i < message->n_cancel; i++) {
        err = cancel(worker, message->cancel[i]);
    }
    if (err == GRANARY_OK && message->n_free + message->n_errors > 0) {
        err = free_objects(worker, message);
        worker->freed = message->free_order;
        worker->freed_unsaid = true;
    }
    worker->die = worker->die || message->die;
    worker->replace = worker->replace || (message->die && message->replace);
    return err;
}

static granary_err
receive_all(struct worker *worker)
{
    struct gr_zmq_message message;
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && gr_zmq_receive(worker->socket, &message)) {
        Granary__ToExecutor *unpacked = granary__to_executor__unpack(NULL, message.size, message.bytes);

        gr_zmq_message_free(&message);
        if (unpacked == NULL) {
            gr_log_warn("SCHEDULER-PROTOCOL", "slot=%d: a message that cannot be read", worker->options.slot);
            continue;
        }
        err = handle(worker, unpacked);
        granary__to_executor__free_unpacked(unpacked, NULL);
    }
    return err;
}

/* ---- the loop ---- */

static bool
is_short(const Granary__Subtask *subtask)
{
    return subtask->n_ops == 1 && strcmp(subtask->ops[0]->op, "null") == 0;
}

/* Errors: EUNREACHABLE the store is gone · ENOMEM. That the session is not there, or ended meanwhile, is an answer. */
static granary_err
run_in_session(struct worker *worker, const Granary__Subtask *subtask, Granary__Done **ret_done)
{
    granary_client *client;
    granary_err err = sessions_client(&worker->sessions, subtask->session, &client);

    if (err == GRANARY_OK) {
        err = subtask_run(&worker->host, client, subtask, ret_done);
        if (err != GRANARY_EUNREACHABLE || !gr_client_is_over(client)) {
            return err;
        }
        /* The session has ended, or the store with all of them: who asks again is told. */
        err = sessions_client(&worker->sessions, subtask->session, &client);
        if (err == GRANARY_OK || err == GRANARY_ENOENT) {
            err = gr_fail(GRANARY_ENOENT, "session '%s': it was deleted", subtask->session);
        }
    }
    if (err == GRANARY_EUNREACHABLE) {
        return err;
    }
    *ret_done = answer_create(subtask, err, granary_error_message()); /* such as too many clients: others are served */
    return *ret_done == NULL ? gr_fail(GRANARY_ENOMEM, "no memory for an answer") : GRANARY_OK;
}

static granary_err
run_next(struct worker *worker)
{
    Granary__Subtask *subtask = worker->queue[worker->first];
    Granary__Done *done = NULL;
    granary_err err = GRANARY_OK;
    int64_t now;

    /* Nobody waits for answers behind a subtask that may take long. */
    if (worker->reports.unsent > 0 && !is_short(subtask)) {
        err = send_answers(worker);
        if (err != GRANARY_OK || worker->count == 0) { /* another scheduler: its work comes */
            return err;
        }
    }
    worker->first++;
    worker->count--;
    if (worker->count == 0) {
        worker->first = 0;
    }
    err = run_in_session(worker, subtask, &done);
    granary__subtask__free_unpacked(subtask, NULL);
    if (err != GRANARY_OK) {
        return err;
    }
    if (worker->host.worn_out && !worker->leaving) {
        worker->leaving = true;
        err = add_answer(worker, done);
        return err == GRANARY_OK ? send_answers(worker) : err;
    }
    now = gr_now_ns();
    if (done->nanoseconds > LONG_NS || now - worker->answered_ns > ANSWERS_NS) {
        err = add_answer(worker, done);
        return err == GRANARY_OK ? send_answers(worker) : err;
    }
    return add_answer(worker, done);
}

/* What it has done is to be known before it leaves; but not for ever. */
static granary_err
await_acknowledged(struct worker *worker)
{
    int64_t deadline = gr_deadline_ns(LEAVE_MS);
    granary_err err = send_answers(worker);

    while (err == GRANARY_OK && worker->reports.count > 0 && gr_now_ns() < deadline) {
        wait_for_messages(worker, gr_left_ms(deadline));
        err = receive_all(worker);
        if (err == GRANARY_OK) {
            err = send_answers(worker);
        }
    }
    return err;
}

granary_err
worker_run(struct worker *worker)
{
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && !worker->die) {
        err = receive_all(worker);
        if (err != GRANARY_OK || worker->die) {
            break;
        }
        if (worker->count > 0 && worker->reports.count < REPORTS_MAX) {
            err = run_next(worker);
            continue;
        }
        err = send_answers(worker);
        if (err == GRANARY_OK) {
            sessions_drop_ended(&worker->sessions);
            wait_for_messages(worker, -1);
        }
    }
    if (err == GRANARY_OK) {
        err = await_acknowledged(worker);
    }
    return err;
}

/* ---- asking for work ---- */

/* Tell the scheduler that it may send `more` subtasks, beside those that have arrived. */
static granary_err
ask(struct worker *worker, uint64_t more)
{
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;

    if (worker->number == 0 || worker->received + more == worker->wanted) {
        return GRANARY_OK;
    }
    worker->wanted = worker->received + more;
    message.version = GRANARY__VERSION__PROTOCOL;
    message.want = worker->wanted + 1;
    return send_message(worker, &message);
}

granary_err
worker_poll(struct worker *worker, int timeout_ms, uint32_t max, uint32_t *ret_ran)
{
    int64_t deadline = gr_deadline_ns(timeout_ms);
    granary_err err = GRANARY_OK;
    uint32_t ran = 0;

    for (;;) {
        size_t queued;

        err = receive_all(worker);
        if (err == GRANARY_OK) {
            err = look_after_scheduler(worker);
        }
        if (err == GRANARY_OK && worker->die) {
            err = gr_fail(GRANARY_ESTATE, "this worker was drained: it gets nothing more; destroy it");
        }
        queued = worker->count;
        if (err == GRANARY_OK && ran < max && max - ran > queued) {
            err = ask(worker, max - ran - queued);
        }
        if (err != GRANARY_OK || ran == max) {
            break;
        }
        if (queued > 0) {
            err = run_next(worker);
            ran += worker->count < queued;
            continue;
        }
        if (ran > 0 || gr_now_ns() >= deadline) {
            break;
        }
        wait_for_messages(worker, timeout_ms < 0 ? -1 : gr_left_ms(deadline));
    }
    if (err == GRANARY_OK && !worker->standing) {
        err = ask(worker, 0);
    }
    if (err == GRANARY_OK) {
        err = send_answers(worker);
    }
    *ret_ran = ran;
    return err;
}

granary_err
worker_fd(struct worker *worker, int *ret_fd)
{
    if (worker->poll_fd < 0) {
        worker->poll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (worker->poll_fd < 0) {
            return gr_fail_errno("epoll");
        }
        watch_socket(worker);
    }
    worker->standing = true;
    *ret_fd = worker->poll_fd;
    return GRANARY_OK;
}

/* Say that it leaves, and wait a moment until that was heard: closing the socket drops what was not sent. */
static void
leave(struct worker *worker)
{
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;
    int64_t deadline = gr_deadline_ns(LEAVE_MS);

    message.version = GRANARY__VERSION__PROTOCOL;
    message.draining = true;
    if (worker->number == 0 || !worker->options.pull || reports_fill(&worker->reports, false, &message) != GRANARY_OK ||
        send_message(worker, &message) != GRANARY_OK) {
        return;
    }
    worker->die = false;
    while (!worker->die && gr_now_ns() < deadline) {
        (void)gr_zmq_wait(&worker->socket, 1, NULL, NULL, 0, gr_left_ms(deadline));
        if (receive_all(worker) != GRANARY_OK) {
            return;
        }
    }
}

bool
worker_wants_replacement(const struct worker *worker)
{
    return worker->replace;
}

/* ---- beginning and end ---- */

granary_err
worker_create(const struct worker_options *options, struct worker **ret_worker)
{
    struct worker *worker = calloc(1, sizeof *worker);
    granary_client *client;
    granary_err err;

    if (worker == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a worker");
    }
    worker->options = *options;
    worker->poll_fd = -1;
    worker->scheduler = -1;
    sessions_init(&worker->sessions, options->instance, options->slot);
    err = gr_instance_resolve(options->instance, &worker->instance);
    if (err == GRANARY_OK) {
        err = sessions_client(&worker->sessions, NULL, &client);
    }
    if (err == GRANARY_OK) {
        err = host_create(&worker->host, options->instance, options->node, options->slot, options->pull);
    }
    worker->sessions.ended = host_session_ended;
    worker->sessions.context = &worker->host;
    if (err == GRANARY_OK && (worker->zmq = gr_zmq_context_create(1)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "no ZeroMQ context");
    }
    if (err == GRANARY_OK) {
        err = register_anew(worker);
    }
    if (err != GRANARY_OK) {
        worker_destroy(worker);
        return err;
    }
    *ret_worker = worker;
    return GRANARY_OK;
}

void
worker_destroy(struct worker *worker)
{
    if (worker == NULL) {
        return;
    }
    leave(worker);
    drop_queue(worker);
    reports_fini(&worker->reports);
    free(worker->queue);
    gr_fd_close(&worker->scheduler);
    gr_fd_close(&worker->poll_fd);
    gr_zmq_close(worker->socket);
    gr_zmq_context_destroy(worker->zmq);
    host_destroy(&worker->host);
    sessions_fini(&worker->sessions);
    free(worker);
}
