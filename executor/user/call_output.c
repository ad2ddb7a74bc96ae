/* Outputs made where they will stay: in the store, sealed when all went well. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "data/arrow/arrow.h"
#include "executor/link/answer.h"
#include "executor/user/call.h"

#define LEASED_MS 100 /* an output moves once; a wait for room while inputs are leased may be for what they keep */

void
value_of_bytes(const void *bytes, uint64_t size, const void *meta, uint64_t meta_size, struct gr_value *ret_value)
{
    struct gr_value value = {.kind = GR_VALUE_BYTES, .bytes = bytes, .bytes_size = size};

    if (size >= 6 && memcmp(bytes, "ARROW1", 6) == 0 &&
        gr_arrow_read(bytes, size, meta, meta_size, &value.frame) == GRANARY_OK) {
        value.kind = GR_VALUE_FRAME;
    } else if (size >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0 &&
               gr_npy_read(bytes, size, &value.tensor.view) == GRANARY_OK) {
        value.kind = GR_VALUE_TENSOR;
    }
    *ret_value = value;
}

static granary_id
id_of(const struct output *output)
{
    granary_id id;

    memcpy(id.bytes, output->id->data, sizeof id.bytes);
    return id;
}

static granary_err
heap_create(struct output *output, uint64_t size)
{
    output->heap = gr_data_alloc(size);
    if (output->heap == NULL) {
        return gr_fail(GRANARY_ENOMEM, "an output of %llu bytes: out of memory", (unsigned long long)size);
    }
    output->size = size;
    output->given = true;
    return GRANARY_OK;
}

/* Who leases inputs does not wait for room, which what it leases cannot make: the output gets it when they are gone. */
static int
patience_ms(const struct user_op *op)
{
    return op->leased ? LEASED_MS : ROOM_MS;
}

granary_err
output_create(struct user_op *op, struct output *output, uint64_t size)
{
    int64_t start = gr_now_ns();
    granary_err err;

    if (output->id->len == 0) {
        return heap_create(output, size);
    }
    page_phase(&op->host->page, GR_PHASE_STORE);
    err = granary_object_create(op->client, id_of(output), size, 0, patience_ms(op), &output->buffer);
    page_phase(&op->host->page, GR_PHASE_RUN);
    op->store_ns += gr_now_ns() - start;
    if (err == GRANARY_EEXIST) {
        /* An earlier attempt made it: the same work gives the same bytes, which nobody needs once more. */
        return heap_create(output, size);
    }
    if (err == GRANARY_EFULL && op->leased) {
        output->later = true;
        return heap_create(output, size);
    }
    if (err == GRANARY_OK) {
        output->in_store = true;
        output->given = true;
        output->size = size;
    }
    return err;
}

void *
output_data(const struct output *output)
{
    return output->in_store ? output->buffer.data : output->heap;
}

granary_err
output_resize(struct user_op *op, struct output *output, uint64_t size)
{
    int64_t start = gr_now_ns();
    granary_err err = GRANARY_EFULL;
    void *heap;

    if (output->in_store) {
        err = granary_buffer_resize(op->client, &output->buffer, size, patience_ms(op));
        op->store_ns += gr_now_ns() - start;
    }
    if (err != GRANARY_EFULL || (output->in_store && !op->leased)) {
        output->size = err == GRANARY_OK ? size : output->size;
        return err;
    }
    heap = gr_data_alloc(size);
    if (heap == NULL) {
        return gr_fail(GRANARY_ENOMEM, "an output of %llu bytes: out of memory", (unsigned long long)size);
    }
    memcpy(heap, output_data(output), size < output->size ? size : output->size);
    if (output->in_store) {
        granary_object_abort(op->client, &output->buffer);
        output->in_store = false;
        output->later = true;
    }
    free(output->heap);
    output->heap = heap;
    output->size = size;
    return GRANARY_OK;
}

granary_err
output_keep(struct user_op *op, struct output *output, size_t i)
{
    struct gr_value value;
    granary_err err;
    int64_t start;

    value_of_bytes(output_data(output), output->size, NULL, 0, &value);
    if (output->id->len == 0 || output->later) {
        value.owned_bytes = output->heap; /* a frame or tensor borrows from them */
        output->heap = NULL;
        op->outputs[i] = value;
        return GRANARY_OK;
    }
    err = answer_add_output(op->done, &value, output->id, output->size);
    gr_value_free(&value);
    if (err == GRANARY_OK && output->in_store) {
        start = gr_now_ns();
        page_phase(&op->host->page, GR_PHASE_STORE);
        err = granary_object_seal(op->client, &output->buffer);
        op->store_ns += gr_now_ns() - start;
        output->in_store = false; /* spent, success or not */
        err = err == GRANARY_EEXIST ? GRANARY_OK : err;
    }
    op->sealed[i] = err == GRANARY_OK;
    return err;
}

void
output_drop(struct user_op *op, struct output *output)
{
    if (output->in_store) {
        granary_object_abort(op->client, &output->buffer);
        output->in_store = false;
    }
    free(output->heap);
    output->heap = NULL;
}
