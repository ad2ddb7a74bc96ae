#include "read_tools.h"

#include <stdlib.h>

#include "data/arrow/arrow.h"
#include "data/tensor.h"
#include "unit/data/frames.h"

void
read_spill(granary_client *client, uint64_t n)
{
    assert_ok(granary_object_move(client, fixture_id(n), GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, 10000));
}

void
read_put_frame(granary_client *client, uint64_t n, const granary_frame *frame)
{
    struct object object = object_of(frame);

    assert_ok(
        granary_object_put(client, fixture_id(n), object.data, object.data_size, object.meta, object.meta_size, 0));
    object_free(&object);
}

void
read_put_tensor(granary_client *client, uint64_t n, int dims, const int64_t *shape)
{
    struct gr_tensor tensor;
    uint64_t size;
    void *file;

    assert_ok(gr_tensor_alloc(GRANARY_INT64, dims, shape, &tensor));
    for (int64_t i = 0; i < gr_tensor_elements(&tensor.view); i++) {
        ((int64_t *)tensor.owned)[i] = (int64_t)n * 1000000 + i;
    }
    size = gr_npy_measure(&tensor.view);
    file = gr_data_alloc(size);
    gr_npy_write(&tensor.view, file);
    assert_ok(granary_object_put(client, fixture_id(n), file, size, NULL, 0, 0));
    free(file);
    gr_tensor_free(&tensor);
}

granary_chunk
read_part(granary_client *client, uint64_t n, granary_selection select, const granary_read_options *options)
{
    granary_chunk_request request = {.id = fixture_id(n), .select = select};
    granary_chunk chunk;

    assert_ok(granary_chunk_read_many(client, &request, 1, options, &chunk));
    assert_int_equal(chunk.state, GRANARY_CHUNK_READ);
    assert_null(chunk.message);
    return chunk;
}

void
read_refuse(granary_client *client, uint64_t n, granary_selection select, granary_err err)
{
    granary_chunk_request request = {.id = fixture_id(n), .select = select};
    granary_chunk chunk;

    assert_err(granary_chunk_read_many(client, &request, 1, NULL, &chunk), err);
    assert_int_equal(chunk.err, err);
    assert_string_equal(chunk.message, granary_error_message());
    granary_chunk_release(client, &chunk, 1);
}
