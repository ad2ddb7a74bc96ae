/*
 * A frame as an array of structs. Each array of the tree is a block of its own and has a reference to the lease, so any
 * of them can be moved out and outlive the others.
 */
#include <stdlib.h>

#include "arrow/out/out.h"
#include "base/error.h"

/* Where a column without values has them: some readers want an address. The one offset of no strings is 0. */
static const _Alignas(64) char nothing[64];

enum { BUFFERS_MOST = 3 };

struct array_block {
    struct out_lease *lease;
    const void *buffers[BUFFERS_MOST];
    struct ArrowArray **pointers; /* to children; behind the arrays */
    struct ArrowArray arrays[];   /* the children, or the dictionary */
};

static void
array_release(struct ArrowArray *array)
{
    struct array_block *block = array->private_data;

    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL) { /* else it was moved out */
            array->children[i]->release(array->children[i]);
        }
    }
    if (array->dictionary != NULL && array->dictionary->release != NULL) {
        array->dictionary->release(array->dictionary);
    }
    out_lease_unref(block->lease);
    free(block);
    array->release = NULL;
}

/* An array of `below` others, which are all zero so far. */
static granary_err
array_create(struct out_lease *lease, size_t below, int64_t rows, struct ArrowArray *ret_array)
{
    struct array_block *block =
        calloc(1, sizeof *block + below * (sizeof block->arrays[0] + sizeof block->pointers[0]));

    if (block == NULL) {
        return gr_no_memory("an Arrow array");
    }
    out_lease_ref(lease);
    block->lease = lease;
    block->pointers = (struct ArrowArray **)(void *)(block->arrays + below);
    for (size_t i = 0; i < below; i++) {
        block->pointers[i] = &block->arrays[i];
    }
    *ret_array =
        (struct ArrowArray){.length = rows, .buffers = block->buffers, .release = array_release, .private_data = block};
    return GRANARY_OK;
}

static const void *
address_of(const void *buffer)
{
    return buffer == NULL ? nothing : buffer;
}

static granary_err
column_array(struct out_lease *lease, const granary_column *column, struct ArrowArray *ret_array)
{
    struct ArrowArray array;
    struct array_block *block;
    bool is_list = gr_dtype_is_list(column->dtype);
    granary_err err = array_create(lease, column->dictionary != NULL || is_list, column->rows, &array);

    if (err != GRANARY_OK) {
        return err;
    }
    block = array.private_data;
    array.null_count = column->dtype == GRANARY_NULLTYPE ? column->rows : column->null_count;
    if (column->dtype != GRANARY_NULLTYPE) {
        block->buffers[array.n_buffers++] = column->validity;
        if ((gr_dtype_is_text(column->dtype) && column->dictionary == NULL) || is_list) {
            block->buffers[array.n_buffers++] = address_of(column->offsets);
        }
        if (!is_list) {
            block->buffers[array.n_buffers++] = address_of(column->values);
        }
    }
    if (is_list) {
        array.children = block->pointers;
        err = column_array(lease, gr_list_items(column), array.children[0]);
        if (err != GRANARY_OK) {
            array_release(&array);
            return err;
        }
        array.n_children = 1;
    }
    if (column->dictionary != NULL) {
        array.dictionary = &block->arrays[0];
        err = column_array(lease, column->dictionary, array.dictionary);
        if (err != GRANARY_OK) {
            array_release(&array);
            return err;
        }
    }
    *ret_array = array;
    return GRANARY_OK;
}

granary_err
out_array(struct out_lease *lease, struct ArrowArray *ret_array)
{
    const granary_frame *frame = lease->frame;
    struct ArrowArray array;
    struct array_block *block;
    granary_err err = array_create(lease, frame->count, frame->rows, &array);

    if (err != GRANARY_OK) {
        return err;
    }
    block = array.private_data;
    array.n_buffers = 1;
    array.children = block->pointers;
    for (size_t i = 0; err == GRANARY_OK && i < frame->count; i++) {
        err = column_array(lease, &frame->columns[i].view, array.children[i]);
        array.n_children += err == GRANARY_OK;
    }
    if (err != GRANARY_OK) {
        array_release(&array);
        return err;
    }
    *ret_array = array;
    return GRANARY_OK;
}
