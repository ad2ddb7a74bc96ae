/* What a subtask reads: leased, or copied when memory is short. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/id.h"
#include "data/arrow/arrow.h"
#include "executor/link/answer.h"
#include "executor/subtask/private.h"
#include "granary/hold.h"

#define LEASED_SHARE 2 /* of the store's memory, what one leases at once */
#define WAYS_GIVEN   3 /* times that leases are given up for one that is missing */

#define ALIGNED(size) (((size) + 63) / 64 * 64)

size_t
run_find_input(const struct run *run, granary_id id, uint32_t part)
{
    size_t i = 0;

    while (i < run->input_count && (run->inputs[i].part != part || !gr_id_equal(run->inputs[i].id, id))) {
        i++;
    }
    return i;
}

granary_err
run_collect_inputs(struct run *run)
{
    const Granary__Subtask *subtask = run->subtask;
    size_t room = 0;

    for (size_t o = 0; o < subtask->n_ops; o++) {
        room += subtask->ops[o]->n_inputs;
    }
    run->inputs = calloc(room + 1, sizeof *run->inputs);
    run->views = calloc(room + 1, sizeof *run->views);
    if (run->inputs == NULL || run->views == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%zu inputs: out of memory", room);
    }
    for (size_t o = 0; o < subtask->n_ops; o++) {
        const Granary__ChunkOp *op = subtask->ops[o];

        for (size_t i = 0; i < op->n_inputs; i++) {
            const Granary__Operand *operand = op->inputs[i];
            bool good = is_object(operand) ? operand->object.len == GRANARY_ID_BYTES
                                           : operand->op < o && operand->part == 0 &&
                                                 operand->output < subtask->ops[operand->op]->n_outputs;

            if (!good) {
                return gr_fail(GRANARY_EPROTO, "operator %zu, input %zu: no such operand", o, i);
            }
            if (is_object(operand) && run_find_input(run, id_of(&operand->object), operand->part) == run->input_count) {
                run->inputs[run->input_count].part = operand->part;
                run->inputs[run->input_count].foreign = operand->foreign;
                run->inputs[run->input_count++].id = id_of(&operand->object);
            }
        }
        for (size_t i = 0; i < op->n_outputs; i++) {
            if (op->outputs[i].len != 0 && op->outputs[i].len != GRANARY_ID_BYTES) {
                return gr_fail(GRANARY_EPROTO, "operator %zu, output %zu: an id has 16 bytes", o, i);
            }
        }
    }
    return GRANARY_OK;
}

/* Tell the scheduler which inputs are gone, so that it has them made again. A damaged one is dropped to make room. */
static granary_err
inputs_failed(struct run *run, granary_err err, size_t failed)
{
    char why[1024];
    granary_err cause;

    (void)snprintf(why, sizeof why, "%s", granary_error_message());
    if (err != GRANARY_EUNREACHABLE &&
        granary_object_error(run->client, run->inputs[failed].id, &cause, NULL, 0) == GRANARY_OK) {
        run->done->user_failed = true; /* it is there, as an error: to make it again is not for this graph */
        return gr_fail(err, "an input has failed: %s", why);
    }
    (void)gr_fail(err, "%s", why);
    if (err == GRANARY_ETIMEDOUT) { /* it exists: there was no room for it */
        err = gr_fail(GRANARY_EFULL, "%s", why);
    }
    if (err == GRANARY_ECORRUPT) {
        (void)granary_object_delete(run->client, run->inputs[failed].id, 0);
        err = gr_fail(GRANARY_ENOENT, "an input is damaged and has to be made again");
    }
    if (err != GRANARY_ENOENT) {
        return store_failed(run, err);
    }
    for (size_t i = 0; i < run->input_count; i++) {
        if ((i == failed || !granary_object_contains(run->client, run->inputs[i].id)) &&
            !answer_add_bytes(&run->done->lost, &run->done->n_lost, run->inputs[i].id.bytes, GRANARY_ID_BYTES)) {
            return gr_fail(GRANARY_ENOMEM, "no memory for an answer");
        }
    }
    return err;
}

void
run_release_inputs(struct run *run)
{
    if (run->leased) {
        granary_object_release_many(run->client, run->views, run->input_count);
        run->leased = false;
    }
}

/* ---- all at once ---- */

/* The objects that are read as they are. */
struct whole {
    granary_id *ids;
    granary_view *views;
    size_t *positions; /* among the inputs */
    size_t count;
};

static void
whole_fini(struct whole *whole)
{
    free(whole->ids);
    free(whole->views);
    free(whole->positions);
}

static granary_err
whole_init(const struct run *run, struct whole *whole)
{
    *whole = (struct whole){.ids = malloc((run->input_count + 1) * sizeof *whole->ids),
                            .views = malloc((run->input_count + 1) * sizeof *whole->views),
                            .positions = malloc((run->input_count + 1) * sizeof *whole->positions)};
    if (whole->ids == NULL || whole->views == NULL || whole->positions == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%zu inputs: out of memory", run->input_count);
    }
    for (size_t i = 0; i < run->input_count; i++) {
        if (run->inputs[i].part == 0 && run->inputs[i].read == NULL) {
            whole->positions[whole->count] = i;
            whole->ids[whole->count++] = run->inputs[i].id;
        }
    }
    return GRANARY_OK;
}

/* Until it is in memory, with nothing leased. */
static granary_err
bring_back(struct run *run, granary_id id)
{
    granary_view view;
    granary_err err = granary_object_get(run->client, id, 0, &view);

    if (err == GRANARY_OK) {
        granary_object_release(run->client, &view);
    }
    return err;
}

/* A view of a private copy, that user code cannot write to either. */
static granary_err
copy_view(struct input *input, const granary_view *view, granary_view *ret_view)
{
    uint64_t meta_at = ALIGNED(view->data_size);
    char *copy;

    input->copy_size = meta_at + view->meta_size + 1;
    copy = mmap(NULL, input->copy_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) {
        return gr_fail(GRANARY_ENOMEM, "an input of %llu bytes: out of memory", (unsigned long long)view->data_size);
    }
    input->copy = copy;
    memcpy(copy, view->data, view->data_size);
    if (view->meta_size > 0) {
        memcpy(copy + meta_at, view->meta, view->meta_size);
    }
    (void)mprotect(copy, input->copy_size, PROT_READ);
    *ret_view = (granary_view){.id = input->id,
                               .data = copy,
                               .data_size = view->data_size,
                               .meta = view->meta_size == 0 ? NULL : copy + meta_at,
                               .meta_size = view->meta_size};
    return GRANARY_OK;
}

/* Each by itself: there is room for any of them, as long as nobody who waits leases others. */
static granary_err
copy_whole(struct run *run, struct whole *whole, size_t *ret_failed)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < whole->count && err == GRANARY_OK; i++) {
        granary_view view;

        *ret_failed = i;
        err = granary_object_get(run->client, whole->ids[i], 0, &view);
        if (err == GRANARY_OK) {
            err = copy_view(&run->inputs[whole->positions[i]], &view, &whole->views[i]);
            granary_object_release(run->client, &view);
        }
    }
    return err;
}

/* Whether they are so much of the store's memory that it will hardly hold them all at once. */
static bool
is_too_much(struct run *run, const struct whole *whole)
{
    granary_object_info info;
    uint64_t bytes = 0;

    for (size_t i = 0; i < whole->count && whole->count > 1; i++) {
        bytes += granary_object_info_get(run->client, whole->ids[i], &info) == GRANARY_OK ? info.data_size : 0;
    }
    return bytes > 0 && parts_capacity(&run->host->parts, run->client) / LEASED_SHARE < bytes;
}

/*
 * They were sealed before this subtask was sent: one that is not there is lost, a spilled one is brought back. What is
 * leased cannot make room: several who lease some of what they read could wait for each other's. So nobody waits for
 * long with leases: all are given up while one is waited for, and when others push it out again and again, copies do.
 * So they do at once when memory will hardly hold all of them, unless it does hold them now.
 */
static granary_err
lease_whole(struct run *run, struct whole *whole, size_t *ret_failed)
{
    size_t missing = 0;
    granary_err err = GRANARY_OK;
    bool much;

    if (FAULT_FAILS(input_lease)) {
        *ret_failed = 0;
        return gr_fail_errno("an input cannot be leased");
    }
    much = is_too_much(run, whole);
    for (unsigned tries = 0; err == GRANARY_OK; tries++) {
        err = granary_object_get_some(run->client, whole->ids, whole->count, much ? 0 : GIVE_WAY_MS, whole->views,
                                      &missing, ret_failed);
        if (err != GRANARY_OK || missing == 0) {
            return err;
        }
        *ret_failed = 0;
        while (whole->views[*ret_failed].lease != 0) {
            ++*ret_failed;
        }
        granary_object_release_many(run->client, whole->views, whole->count);
        if (much || tries == WAYS_GIVEN) {
            return copy_whole(run, whole, ret_failed);
        }
        err = bring_back(run, whole->ids[*ret_failed]);
    }
    return err;
}

/* Parts first: to copy them takes room for a moment, which is found as long as nothing is leased. */
granary_err
run_lease_inputs(struct run *run)
{
    struct whole whole = {.count = 0};
    size_t failed = SIZE_MAX;
    granary_err err;

    run->leased = true; /* what is not leased yet is all zero */
    err = run_get_parts(run, &failed);
    if (err == GRANARY_OK) {
        run_read_spilled(run);
        failed = SIZE_MAX;
        err = whole_init(run, &whole);
    }
    if (err == GRANARY_OK && whole.count > 0) {
        err = lease_whole(run, &whole, &failed);
        failed = err == GRANARY_OK ? failed : whole.positions[failed];
    }
    run->leased = false;
    for (size_t i = 0; err == GRANARY_OK && i < whole.count; i++) {
        run->views[whole.positions[i]] = whole.views[i];
        run->done->in_bytes += whole.views[i].data_size;
    }
    for (size_t i = 0; i < run->input_count && !run->leased; i++) {
        run->leased = run->views[i].lease != 0;
    }
    whole_fini(&whole);
    return err == GRANARY_OK || failed == SIZE_MAX ? err : inputs_failed(run, err, failed);
}

/* ---- one by itself ---- */

granary_err
run_lease_input(struct run *run, size_t position)
{
    granary_err err;

    if (run->views[position].lease != 0) {
        return GRANARY_OK;
    }
    err = granary_object_get(run->client, run->inputs[position].id, 0, &run->views[position]);
    run->leased = true; /* what is not leased is all zero */
    if (err != GRANARY_OK) {
        run->views[position] = (granary_view){0};
        return inputs_failed(run, err, position);
    }
    return GRANARY_OK;
}

void
run_release_input(struct run *run, size_t position)
{
    run_drop_read(&run->inputs[position]);
    gr_value_free(&run->inputs[position].value);
    granary_object_release(run->client, &run->views[position]);
    run->views[position] = (granary_view){0};
}

granary_err
run_open_input(struct run *run, size_t position)
{
    const granary_view *view = &run->views[position];
    struct gr_value *value = &run->inputs[position].value;
    granary_err err = GRANARY_OK;

    if (value->kind != GR_VALUE_NONE) {
        return GRANARY_OK;
    }
    if (run->inputs[position].part > 0) {
        err = gr_packed_open(view->data, &run->inputs[position].entry, &value->frame);
        value->kind = err == GRANARY_OK ? GR_VALUE_FRAME : GR_VALUE_NONE;
    } else if (view->data_size >= 6 && memcmp(view->data, "ARROW1", 6) == 0) {
        /* Of a file that somebody put here, what can be read: its other columns hinder nobody who does not want them. */
        err = gr_arrow_read_columns(view->data, view->data_size, view->meta, view->meta_size, NULL, 0, &value->frame);
        value->kind = err == GRANARY_OK ? GR_VALUE_FRAME : GR_VALUE_NONE;
        if (err == GRANARY_OK && run->inputs[position].foreign) {
            err = gr_frame_check(value->frame);
        }
    } else if (view->data_size >= 6 && memcmp(view->data, "\x93NUMPY", 6) == 0) {
        err = gr_npy_open(view->data, view->data_size, &value->tensor);
        value->kind = err == GRANARY_OK ? GR_VALUE_TENSOR : GR_VALUE_NONE;
    } else {
        value->bytes = view->data;
        value->bytes_size = view->data_size;
        value->kind = GR_VALUE_BYTES;
    }
    return err;
}
