/*
 * A buffer is made in the store when a kernel says how large its output will be, and sealed when the last operator
 * has left it as it is.
 */
#include "executor/subtask/placed.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "executor/link/answer.h"
#include "executor/subtask/private.h"
#include "object/object.h"

/* Operators whose output is columns of their input, as they are. */
static bool
passes_on(const Granary__ChunkOp *op)
{
    return op->n_inputs == 1 && !is_object(op->inputs[0]) && op->inputs[0]->output == 0 &&
           (strcmp(op->op, "select") == 0 || strcmp(op->op, "project") == 0);
}

size_t
placed_yielder(const Granary__Subtask *subtask)
{
    size_t o = subtask->n_ops;

    while (o > 0 && subtask->ops[o - 1]->n_outputs == 0) {
        o--;
    }
    return o == 0 ? SIZE_MAX : o - 1;
}

size_t
placed_maker(const Granary__Subtask *subtask)
{
    size_t o = placed_yielder(subtask);

    if (o == SIZE_MAX || subtask->ops[o]->n_outputs != 1 || subtask->ops[o]->outputs[0].len == 0) {
        return SIZE_MAX;
    }
    while (o > 0 && passes_on(subtask->ops[o]) && subtask->ops[o]->inputs[0]->op == o - 1 &&
           subtask->ops[o - 1]->n_outputs == 1) {
        o--;
    }
    return o;
}

/* Without waiting: the inputs are leased, and what is leased cannot make room. */
static bool
create(struct placed *placed, uint64_t data_size, uint64_t meta_size)
{
    int64_t start = gr_now_ns();
    bool made = !placed->in_store && granary_object_create(placed->run->client, id_of(&placed->op->outputs[0]),
                                                           data_size, meta_size, 0, &placed->buffer) == GRANARY_OK;

    placed->in_store = placed->in_store || made;
    placed->run->store_ns += gr_now_ns() - start;
    return made;
}

static void *
place_tensor(struct gr_kernel_call *call, const granary_tensor *tensor)
{
    struct placed *placed = call->placing;

    return create(placed, gr_npy_measure(tensor), 0) ? gr_npy_begin(tensor, placed->buffer.data) : NULL;
}

/* A frame, or bytes; of a frame the directory comes behind, in room that was counted. */
static void *
place_bytes(struct gr_place *place, uint64_t size)
{
    struct placed *placed = (struct placed *)(void *)place;

    placed->in_place = create(placed, size, 0);
    return placed->in_place ? placed->buffer.data : NULL;
}

void
placed_offer(struct placed *placed, struct run *run, struct gr_kernel_call *call)
{
    *placed = (struct placed){.run = run, .op = run->subtask->ops[run->yielder], .place = {.room = place_bytes}};
    if (call->op == placed->op) {
        call->place = place_tensor;
        call->placing = placed;
    }
    gr_place_set(&placed->place);
}

void
placed_close(struct placed *placed)
{
    placed->place.closed = true;
}

/* EFULL: it does not fit. */
static granary_err
complete_frame(struct placed *placed, const struct gr_value *value)
{
    struct gr_directory_column *places;
    uint64_t meta_size = gr_directory_size(value->frame);
    struct gr_place room = placed->place;
    uint64_t data_size;
    granary_err err;

    /* The directory lies behind the file. */
    room.size -= meta_size + 64 < room.size ? meta_size + 64 : room.size;
    err = gr_arrow_place_write(value->frame, &room, &places, &data_size);
    if (err != GRANARY_OK) {
        return err;
    }
    err = gr_buffer_resize(placed->run->client, &placed->buffer, data_size, meta_size, 0);
    if (err == GRANARY_OK) {
        gr_arrow_place_directory(value->frame, places, data_size, placed->buffer.meta);
    }
    free(places);
    return err;
}

/* Whether what is there is the value. */
static bool
complete(struct placed *placed, const struct gr_value *value)
{
    if (value->kind == GR_VALUE_FRAME && value->bytes == NULL) {
        return complete_frame(placed, value) == GRANARY_OK;
    }
    return value->kind == GR_VALUE_BYTES && value->bytes == placed->place.file &&
           value->bytes_size == placed->buffer.data_size;
}

granary_err
placed_settle(struct placed *placed, const struct gr_value *value, bool *ret_sealed)
{
    struct run *run = placed->run;
    int64_t start = gr_now_ns();
    granary_err err = GRANARY_OK;

    *ret_sealed = false;
    if (!placed->in_store) {
        return GRANARY_OK;
    }
    if (placed->in_place && !complete(placed, value)) {
        return GRANARY_OK; /* run_keep_outputs() makes it */
    }
    err = answer_add_output(run->done, value, &placed->op->outputs[0], placed->buffer.data_size);
    if (err != GRANARY_OK) {
        return err;
    }
    placed->in_store = false;
    err = granary_object_seal(run->client, &placed->buffer);
    *ret_sealed = err == GRANARY_OK || err == GRANARY_EEXIST;
    run->store_ns += gr_now_ns() - start;
    return *ret_sealed ? GRANARY_OK : store_failed(run, err);
}

void
placed_give_up(struct placed *placed)
{
    if (placed->in_store) {
        granary_object_abort(placed->run->client, &placed->buffer);
        placed->in_store = false;
    }
}

void
placed_drop(struct placed *placed)
{
    placed_give_up(placed);
    gr_place_set(NULL);
}
