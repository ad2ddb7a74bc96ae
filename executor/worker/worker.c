/*
 * The loop of a worker: hear orders, run the first of the queue, send answers; while a scheduler is away it goes on
 * with what it was given.
 */
#include "executor/worker/private.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "executor/link/answer.h"
#include "executor/subtask/subtask.h"
#include "object/object.h"

/* Answers are collected up to this age; one that took longer than LONG_NS is sent at once. */
#define ANSWERS_NS 2000000
#define LONG_NS    1000000
/* With more reports than this that no scheduler has kept yet, nothing more is run. */
#define REPORTS_MAX 65536

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

/* Takes done. It is sent now if somebody may wait for it. */
static granary_err
report(struct worker *worker, const Granary__Subtask *subtask, Granary__Done *done, bool carried)
{
    bool last = worker->host.worn_out && !worker->leaving;
    bool soon = done->nanoseconds > LONG_NS || gr_now_ns() - worker->answered_ns > ANSWERS_NS;
    granary_err err;

    worker->leaving = worker->leaving || last;
    err = worker_add_answer(worker, done, subtask->session, carried);
    return err == GRANARY_OK && (last || soon) ? worker_send_answers(worker) : err;
}

granary_err
worker_run_next(struct worker *worker)
{
    Granary__Subtask *subtask;
    Granary__Done *done = NULL;
    granary_err err = GRANARY_OK;
    bool carried;

    /* It was stopped, or at one subtask for long: is what is at hand still its own? */
    if (gr_now_ns() - worker->seen_ns > WORKER_AWAY_NS) {
        err = worker_look_after_scheduler(worker);
        if (err != GRANARY_OK || worker->count == 0) {
            return err;
        }
    }
    subtask = worker->queue[worker->first];
    /* Nobody waits for answers behind a subtask that may take long. */
    if (worker->reports.unsent > 0 && !is_short(subtask)) {
        err = worker_send_answers(worker);
        if (err != GRANARY_OK || worker->count == 0) { /* another scheduler: its work comes */
            return err;
        }
        subtask = worker->queue[worker->first];
    }
    worker->first++;
    worker->count--;
    worker->carried -= carried = worker->carried > 0;
    if (worker->count == 0) {
        worker->first = 0;
    }
    err = run_in_session(worker, subtask, &done);
    if (err == GRANARY_OK) {
        err = report(worker, subtask, done, carried);
    }
    granary__subtask__free_unpacked(subtask, NULL);
    return err;
}

/* What it has done is to be known before it leaves; but not for ever. */
static granary_err
await_acknowledged(struct worker *worker)
{
    int64_t deadline = gr_deadline_ns(LEAVE_MS);
    granary_err err = worker_send_answers(worker);

    while (err == GRANARY_OK && worker->reports.count > 0 && gr_now_ns() < deadline) {
        worker_wait(worker, gr_left_ms(deadline));
        err = worker_receive(worker);
        if (err == GRANARY_OK) {
            err = worker_send_answers(worker);
        }
    }
    return err;
}

granary_err
worker_run(struct worker *worker)
{
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && !worker->die) {
        err = worker_receive(worker);
        if (err != GRANARY_OK || worker->die) {
            break;
        }
        if (worker->count > 0 && worker->reports.count < REPORTS_MAX) {
            err = worker_run_next(worker);
            continue;
        }
        err = worker_send_answers(worker);
        if (err == GRANARY_OK) {
            sessions_drop_ended(&worker->sessions);
            worker_wait(worker, -1);
        }
    }
    if (err == GRANARY_OK) {
        err = await_acknowledged(worker);
    }
    return err;
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
    enum gr_confinement confined = GR_CONFINED_NOT;
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
    if (err == GRANARY_OK) { /* after the store: where there is none, nothing is made */
        err = host_create(&worker->host, options->instance, options->node, options->slot, options->pull);
    }
    if (err == GRANARY_OK && options->settle != NULL) {
        err = options->settle(options->context, &confined);
        page_confined(&worker->host.page, confined);
    }
    worker->sessions.ended = host_session_ended;
    worker->sessions.context = &worker->host;
    if (err == GRANARY_OK) {
        err = worker_register(worker);
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
    worker_leave(worker);
    worker_drop_queue(worker);
    reports_fini(&worker->reports);
    free(worker->queue);
    gr_fd_close(&worker->scheduler);
    gr_fd_close(&worker->poll_fd);
    gr_dealer_close(worker->socket);
    host_destroy(&worker->host);
    sessions_fini(&worker->sessions);
    free(worker);
}
