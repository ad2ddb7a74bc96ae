/* What a worker does at the scheduler's order, but run subtasks: those it puts into its queue. */
#include "executor/worker/private.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "contract/versions.h"
#include "executor/link/answer.h"
#include "mutable/durable/ids.h"
#include "mutable/source.h"
#include "object/object.h"

#define LEAST_IMPORTANT 1

void
worker_drop_queue(struct worker *worker)
{
    for (size_t i = 0; i < worker->count; i++) {
        granary__subtask__free_unpacked(worker->queue[worker->first + i], NULL);
    }
    worker->first = 0;
    worker->count = 0;
    worker->carried = 0;
}

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
            Granary__Subtask *subtask = queue[i];
            Granary__Done *done = answer_create(subtask, GRANARY_ECANCELLED, "cancelled before it started");
            granary_err err;

            if (done == NULL) {
                return gr_fail(GRANARY_ENOMEM, "no memory for an answer");
            }
            worker->count--;
            worker->carried -= i < worker->carried;
            memmove(queue + i, queue + i + 1, (worker->count - i) * sizeof *queue);
            err = worker_add_answer(worker, done, subtask->session, false); /* it has made nothing */
            granary__subtask__free_unpacked(subtask, NULL);
            return err;
        }
    }
    return GRANARY_OK;
}

/* Whether an object was still there does not matter, nor that its session is over. */
static granary_err
unless_unreachable(granary_client *client, granary_err err)
{
    return err == GRANARY_EUNREACHABLE && !gr_client_is_over(client) ? gr_fail_in(err, "the store") : GRANARY_OK;
}

static granary_err
delete_object(granary_client *client, granary_id id)
{
    return granary_object_delete(client, id, GRANARY_NOWAIT);
}

static granary_err
make_spare(granary_client *client, granary_id id)
{
    return granary_object_hint(client, id, LEAST_IMPORTANT, -1);
}

static granary_err
each_id(granary_client *client, const ProtobufCBinaryData *ids, size_t count,
        granary_err (*what)(granary_client *client, granary_id id))
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        granary_id id;

        if (ids[i].len == sizeof id.bytes) {
            memcpy(id.bytes, ids[i].data, sizeof id.bytes);
            err = unless_unreachable(client, what(client, id));
        }
    }
    return err;
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
            err = unless_unreachable(client,
                                     granary_object_put_error(client, id, (granary_err)error->err, error->message));
        }
    }
    return err;
}

static granary_err
end_one(void *client, granary_id id)
{
    return unless_unreachable(client, source_end(client, id));
}

/* All that a plan has made, whoever of its executors and schedulers knew of it. Without memory somebody else is told. */
static granary_err
free_plan(granary_client *client, uint64_t plan)
{
    granary_err err = ids_walk(client, plan, end_one, client);

    return gr_client_is_over(client) ? GRANARY_OK : err;
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
    if (err == GRANARY_OK) {
        err = each_id(client, message->free, message->n_free, delete_object);
    }
    for (size_t i = 0; err == GRANARY_OK && i < message->n_free_plans; i++) {
        err = free_plan(client, message->free_plans[i]);
    }
    if (err == GRANARY_OK) {
        err = each_id(client, message->spare, message->n_spare, make_spare);
    }
    if (err == GRANARY_OK) {
        err = each_id(client, message->end_snapshot, message->n_end_snapshot, source_end);
    }
    return err;
}

static granary_err
handle(struct worker *worker, Granary__ToExecutor *message)
{
    granary_err err = GRANARY_OK;

    if (!gr_wire_known(message->version)) {
        return gr_fail(GRANARY_EVERSION, "the scheduler speaks version %u, this executor %d; restart the instance",
                       message->version, GR_WIRE_VERSION);
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
        if (worker->endpoint.ino == 0) { /* it was bound after the registration was on its way */
            (void)endpoint_look(worker->instance.pool_socket, &worker->endpoint);
        }
        gr_log_debug("REGISTERED", "slot=%d number=%u", worker->options.slot, worker->number);
        if (worker->leaving) {
            err = worker_ask_to_leave(worker);
        }
        if (worker->options.registered != NULL) {
            worker->options.registered(worker->options.context);
        }
    }
    if (message->unknown && worker->number != 0) {
        return worker_register_anew(worker);
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
    if (err == GRANARY_OK &&
        message->n_free + message->n_free_plans + message->n_end_snapshot + message->n_spare + message->n_errors > 0) {
        err = free_objects(worker, message);
        worker->freed = message->free_order;
        worker->freed_unsaid = true;
    }
    worker->die = worker->die || message->die;
    worker->replace = worker->replace || (message->die && message->replace);
    return err;
}

granary_err
worker_receive(struct worker *worker)
{
    granary_err err = GRANARY_OK;
    const void *bytes;
    size_t size;

    while (err == GRANARY_OK && (err = gr_dealer_receive(worker->socket, &bytes, &size)) == GRANARY_OK &&
           bytes != NULL) {
        Granary__ToExecutor *unpacked = granary__to_executor__unpack(NULL, size, bytes);

        if (worker->away) { /* of the dead scheduler */
            granary__to_executor__free_unpacked(unpacked, NULL);
            continue;
        }
        if (unpacked == NULL) {
            /* Somebody may wait for what it orders: the next executor is given it again. */
            return gr_fail(GRANARY_EPROTO,
                           "an order of the scheduler, %zu bytes, cannot be read: damaged, or no memory", size);
        }
        err = handle(worker, unpacked);
        granary__to_executor__free_unpacked(unpacked, NULL);
    }
    return err;
}
