/* What a worker says to the scheduler, and how it finds out that there is another one. */
#include "executor/worker/private.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process/daemon.h"
#include "contract/versions.h"

/* With so many answers they are sent. */
#define ANSWERS_MAX 64
/* How often an idle executor looks whether the scheduler is still the one it registered with. */
#define LOOK_MS 1000
/* How long a registration may stay unanswered before it is sent again. */
#define REGISTER_NS 1000000000
/* How often one whose scheduler has ended looks for the next one. */
#define SUCCESSOR_MS 5

granary_err
worker_send(struct worker *worker, const Granary__FromExecutor *message)
{
    size_t size = granary__from_executor__get_packed_size(message);
    uint8_t *bytes = malloc(size);
    granary_err err;

    if (bytes == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a message of %zu bytes", size);
    }
    (void)granary__from_executor__pack(message, bytes);
    err = gr_dealer_send(worker->socket, bytes, size);
    free(bytes);
    return err;
}

/* The process that is the scheduler now, if any. */
static bool
find_scheduler(struct worker *worker)
{
    char path[160];

    gr_fd_close(&worker->scheduler);
    (void)snprintf(path, sizeof path, "%s/sched.lock", worker->instance.runtime);
    worker->scheduler =
        worker->options.find_scheduler == NULL ? gr_daemon_holder_open(path) : worker->options.find_scheduler(path);
    return worker->scheduler >= 0;
}

granary_err
worker_register(struct worker *worker)
{
    Granary__Register registration = GRANARY__REGISTER__INIT;
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;
    uint64_t *numbers = NULL;
    uint32_t *attempts = NULL;
    granary_err err = GRANARY_OK;

    if (worker->options.keeps_connections && worker->epoch > 0) { /* another process registers with the next one */
        worker->die = worker->replace = true;
        return GRANARY_OK;
    }
    gr_dealer_close(worker->socket);
    worker->socket = NULL;
    worker->number = 0;
    worker->received = 0;
    worker->wanted = 0;
    worker->freed_unsaid = false; /* it names orders of its own */
    worker->orphaned = worker->away = false;
    worker->registered_ns = gr_now_ns();
    if (worker->options.pull) {
        worker_drop_queue(worker); /* it was asked for of another */
    }
    worker->carried = worker->count;
    /*
     * Before it connects: the answer may come when another one has bound the endpoint already. Where there is a
     * scheduler the file is its own, for it removes what a dead one left before it says that it is there. Where there
     * is none yet, the file is nobody's.
     */
    worker->endpoint = (struct endpoint){0};
    if (find_scheduler(worker)) {
        (void)endpoint_look(worker->instance.pool_socket, &worker->endpoint);
    }
    if (FAULT_FAILS(executor_register)) {
        return gr_fail_errno("register");
    }
    err = gr_dealer_open(worker->instance.pool_socket, &worker->socket);
    if (err != GRANARY_OK) {
        return err;
    }
    gr_dealer_watch(worker->socket, worker->poll_fd);
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
    message.version = GR_WIRE_OLDEST;
    message.register_ = &registration;
    message.draining = worker->leaving;
    err = reports_fill(&worker->reports, true, &message);
    if (err == GRANARY_OK) {
        err = worker_send(worker, &message);
    }
out:
    free(numbers);
    free(attempts);
    return err;
}

granary_err
worker_register_anew(struct worker *worker)
{
    gr_log_warn("CONNECTION-BROKEN", "slot=%d: registering again", worker->options.slot);
    return worker_register(worker);
}

granary_err
worker_look_after_scheduler(struct worker *worker)
{
    struct pollfd scheduler = {.fd = worker->scheduler, .events = POLLIN};
    int64_t now = gr_now_ns();

    if (worker->scheduler >= 0 && poll(&scheduler, 1, 0) > 0) {
        gr_fd_close(&worker->scheduler);
        worker->orphaned = true;
        worker->sought_ns = 0;
    }
    if (worker->orphaned && now - worker->seen_ns > WORKER_AWAY_NS) {
        worker->away = true;
        worker_drop_queue(worker);
    }
    worker->seen_ns = now;
    if (worker->scheduler < 0 && now - worker->sought_ns >= (int64_t)SUCCESSOR_MS * 1000000) {
        worker->sought_ns = now;
        if (find_scheduler(worker) && worker->orphaned) {
            gr_log_info("SCHEDULER-CHANGED", "slot=%d: registering again", worker->options.slot);
            return worker_register(worker);
        }
    }
    if (worker->number == 0) {
        return now - worker->registered_ns > REGISTER_NS ? worker_register(worker) : GRANARY_OK;
    }
    if (gr_dealer_is_another(worker->socket)) { /* by garbage, of which the scheduler read no further */
        return worker_register_anew(worker);
    }
    if (now - worker->looked_ns < (int64_t)LOOK_MS * 1000000 / 2) {
        return GRANARY_OK;
    }
    worker->looked_ns = now;
    if (endpoint_changed(worker->instance.pool_socket, &worker->endpoint)) {
        gr_log_info("SCHEDULER-CHANGED", "slot=%d: registering again", worker->options.slot);
        return worker_register(worker);
    }
    return GRANARY_OK;
}

void
worker_wait(const struct worker *worker, int timeout_ms)
{
    int look_ms = worker->orphaned ? SUCCESSOR_MS : LOOK_MS;
    bool ended;

    (void)gr_dealer_wait(worker->socket, &worker->scheduler, &ended, 1,
                         timeout_ms >= 0 && timeout_ms < look_ms ? timeout_ms : look_ms);
}

granary_err
worker_send_answers(struct worker *worker)
{
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;
    granary_err err = worker_look_after_scheduler(worker);

    /* Without a scheduler they stay: the next one is told when it is registered with. */
    if (err != GRANARY_OK || worker->orphaned || (worker->reports.unsent == 0 && !worker->freed_unsaid)) {
        return err;
    }
    message.version = GR_WIRE_OLDEST;
    message.draining = worker->leaving;
    message.freed = worker->freed_unsaid ? worker->freed : 0;
    err = reports_fill(&worker->reports, false, &message);
    if (err == GRANARY_OK) {
        err = worker_send(worker, &message);
    }
    while (err == GRANARY_EBUSY) { /* the scheduler is far behind: no use in running ahead */
        (void)usleep(10000);
        err = worker_look_after_scheduler(worker);
        if (err != GRANARY_OK || worker->orphaned || worker->number == 0) {
            return err; /* the next one is told with the registration */
        }
        err = worker_send(worker, &message);
    }
    worker->freed_unsaid = false;
    worker->answered_ns = gr_now_ns();
    return err;
}

granary_err
worker_add_answer(struct worker *worker, Granary__Done *done, const char *session, bool carried)
{
    granary_err err = reports_add(&worker->reports, done, session);

    if (err == GRANARY_OK && carried) {
        reports_tell_session(&worker->reports);
    }
    return err == GRANARY_OK && worker->reports.unsent >= ANSWERS_MAX ? worker_send_answers(worker) : err;
}

granary_err
worker_ask_to_leave(struct worker *worker)
{
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;

    message.version = GR_WIRE_OLDEST;
    message.draining = true;
    return worker_send(worker, &message);
}

void
worker_leave(struct worker *worker)
{
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;
    int64_t deadline = gr_deadline_ns(LEAVE_MS);

    message.version = GR_WIRE_OLDEST;
    message.draining = true;
    if (worker->number == 0 || !worker->options.pull || reports_fill(&worker->reports, false, &message) != GRANARY_OK ||
        worker_send(worker, &message) != GRANARY_OK) {
        return;
    }
    worker->die = false;
    while (!worker->die && gr_now_ns() < deadline) {
        (void)gr_dealer_wait(worker->socket, NULL, NULL, 0, gr_left_ms(deadline));
        if (worker_receive(worker) != GRANARY_OK) {
            return;
        }
    }
}
