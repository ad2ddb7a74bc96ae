/* What a subtask makes: sealed at once, or when it leases nothing any more. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "data/arrow/arrow.h"
#include "executor/link/answer.h"
#include "executor/subtask/placed.h"
#include "executor/subtask/private.h"
#include "kernel/core/scratch.h"

/* A result that nobody waits for must have taken so many times the time that it takes to write it. */
#define SPARE_WORTH 1.0

static uint64_t
output_measure(const struct gr_value *value, uint64_t *ret_meta_size, granary_err *ret_err)
{
    uint64_t size = 0;

    *ret_meta_size = 0;
    *ret_err = GRANARY_OK;
    if (value->bytes != NULL) {
        size = value->bytes_size; /* whatever is in them: user code gave them so */
    } else if (value->kind == GR_VALUE_FRAME) {
        *ret_err = gr_arrow_measure(value->frame, &size, ret_meta_size);
    } else if (value->kind == GR_VALUE_TENSOR) {
        size = gr_npy_measure(&value->tensor.view);
    } else if (value->kind != GR_VALUE_BYTES) {
        *ret_err = gr_fail(GRANARY_EFAILED, "the operator gave no value");
    }
    return size;
}

/* Its bytes as those of an object. meta may be NULL when it has none. */
static void
write_value(const struct gr_value *value, uint64_t size, void *data, void *meta)
{
    if (value->bytes != NULL) {
        memcpy(data, value->bytes, size);
    } else if (value->kind == GR_VALUE_FRAME) {
        gr_arrow_write(value->frame, data, meta);
    } else if (value->kind == GR_VALUE_TENSOR) {
        gr_npy_write(&value->tensor.view, data);
    }
}

/*
 * There is no room while the inputs are leased, from which the value may borrow. A leased object cannot make room, so
 * two that do so could wait for each other. A copy waits until the subtask leases nothing any more.
 */
static granary_err
put_off(struct run *run, const struct gr_value *value, granary_id id, uint64_t size, uint64_t meta_size)
{
    struct late *grown = reallocarray(run->late, run->late_count + 1, sizeof *grown);
    uint64_t meta_at = (size + 63) / 64 * 64;
    char *copy = grown == NULL ? NULL : scratch_alloc(meta_at + meta_size + 1);

    run->late = grown == NULL ? run->late : grown;
    if (copy == NULL) {
        return gr_fail(GRANARY_ENOMEM, "an output of %llu bytes: out of memory", (unsigned long long)size);
    }
    write_value(value, size, copy, meta_size > 0 ? copy + meta_at : NULL);
    run->late[run->late_count++] =
        (struct late){.id = id, .data = copy, .size = size, .meta = copy + meta_at, .meta_size = meta_size};
    return GRANARY_OK;
}

static granary_err
seal(struct run *run, granary_buffer *buffer)
{
    if (FAULT_FAILS(output_seal)) {
        granary_err err = gr_fail_errno("an output cannot be sealed");

        granary_object_abort(run->client, buffer);
        return err;
    }
    return granary_object_seal(run->client, buffer);
}

granary_err
run_keep_late(struct run *run)
{
    int64_t start = gr_now_ns();
    granary_err err = GRANARY_OK;

    page_phase(&run->host->page, GR_PHASE_STORE);
    run_release_inputs(run);
    placed_give_up(run->placed);
    for (size_t i = 0; i < run->late_count && err == GRANARY_OK; i++) {
        const struct late *late = &run->late[i];
        granary_buffer buffer;

        err = granary_object_create(run->client, late->id, late->size, late->meta_size, ROOM_MS, &buffer);
        if (err == GRANARY_OK) {
            memcpy(buffer.data, late->data, late->size);
            if (late->meta_size > 0) {
                memcpy(buffer.meta, late->meta, late->meta_size);
            }
            err = seal(run, &buffer);
        }
        err = err == GRANARY_EEXIST ? GRANARY_OK : store_failed(run, err);
    }
    run->store_ns += gr_now_ns() - start;
    return err;
}

void
run_drop_late(struct run *run)
{
    for (size_t i = 0; i < run->late_count; i++) {
        scratch_free(run->late[i].data);
    }
    free(run->late);
}

/* How long it may wait for room. */
static int
patience_ms(const struct run *run)
{
    return !run->leased ? ROOM_MS : run->late_count == 0 ? GIVE_WAY_MS : 0;
}

/* Put a value into the store. An earlier attempt may have done so already: the same work gives the same bytes. */
static granary_err
seal_value(struct run *run, const struct gr_value *value, granary_id id, uint64_t size, uint64_t meta_size)
{
    granary_buffer buffer;
    bool in_way = run->placed->in_store; /* the room it has, which is of no use now */
    granary_err err = in_way ? GRANARY_EFULL
                      : FAULT_FAILS(output_create)
                          ? gr_fail_errno("an output")
                          : granary_object_create(run->client, id, size, meta_size, patience_ms(run), &buffer);

    if (err == GRANARY_OK) {
        write_value(value, size, buffer.data, buffer.meta);
        err = seal(run, &buffer);
    } else if (err == GRANARY_EFULL && (run->leased || in_way)) {
        err = put_off(run, value, id, size, meta_size);
    }
    return err == GRANARY_EEXIST ? GRANARY_OK : store_failed(run, err);
}

bool
run_are_owned(const struct gr_value *values, size_t count)
{
    size_t i = 0;

    while (i < count && gr_value_is_owned(&values[i])) {
        i++;
    }
    return i == count;
}

/* Whether a result saves much time for its bytes: to write it takes a small part of that. */
static bool
is_worth(const struct run *run, uint64_t size)
{
    const double write_ns = 30e3 + 0.5 * (double)size; /* an object, and pages that are new */

    return (double)(gr_now_ns() - run->start_ns - run->store_ns) >= SPARE_WORTH * write_ns;
}

/* What nobody waits for: it is kept if it is worth it, and there is room. Returns whether it is there. */
static bool
keep_spare(struct run *run, const struct gr_value *value, const Granary__ChunkOp *op, granary_id id, uint64_t size,
           uint64_t meta_size)
{
    const granary_object_options options = {.importance = 1, /* the first to leave memory */
                                            .timeout_ms = GRANARY_AT_ONCE};
    granary_buffer buffer;
    granary_err err;

    if (size > op->spare_bytes || (!op->wished && !is_worth(run, size))) {
        return false;
    }
    err = granary_object_create_with(run->client, id, size, meta_size, &options, &buffer);
    if (err == GRANARY_OK) {
        write_value(value, size, buffer.data, buffer.meta);
        err = seal(run, &buffer);
    }
    return err == GRANARY_OK || err == GRANARY_EEXIST;
}

granary_err
run_keep_output(struct run *run, const Granary__ChunkOp *op, const struct gr_value *values, size_t i)
{
    uint64_t meta_size;
    granary_err err = GRANARY_OK;
    uint64_t size = output_measure(&values[i], &meta_size, &err);

    if (err == GRANARY_OK && op->spare_bytes > 0 &&
        !keep_spare(run, &values[i], op, id_of(&op->outputs[i]), size, meta_size)) {
        return GRANARY_OK;
    }
    if (err == GRANARY_OK && op->spare_bytes == 0) {
        err = seal_value(run, &values[i], id_of(&op->outputs[i]), size, meta_size);
    }
    return err == GRANARY_OK ? answer_add_output(run->done, &values[i], &op->outputs[i], size) : err;
}

granary_err
run_keep_outputs(struct run *run, const Granary__ChunkOp *op, const struct gr_value *values, const bool *sealed)
{
    int64_t start = gr_now_ns();
    granary_err err = GRANARY_OK;

    page_phase(&run->host->page, GR_PHASE_STORE);
    for (size_t i = run->kept_outputs; err == GRANARY_OK && i < op->n_outputs; i++) {
        if (op->outputs[i].len > 0 && (sealed == NULL || !sealed[i])) {
            err = run_keep_output(run, op, values, i);
        }
    }
    run->store_ns += gr_now_ns() - start;
    return err;
}
