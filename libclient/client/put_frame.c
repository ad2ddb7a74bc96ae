/* Frames and tensors of the caller become objects. */
#include <string.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "data/caller.h"
#include "data/tensor.h"
#include "granary/frame.h"
#include "object/object.h"

#define ROOM_MS 30000 /* as granary_object_put() */

static granary_id
id_or_new(granary_id id)
{
    static const granary_id none = {{0}};

    return memcmp(&id, &none, sizeof id) == 0 ? granary_id_random() : id;
}

granary_err
granary_frame_put_with(granary_client *client, const granary_column *columns, size_t count, int64_t rows,
                       const granary_object_options *options, granary_id *id)
{
    granary_id new_id = id_or_new(*id);
    granary_frame *frame = NULL;
    uint64_t data_size, meta_size;
    granary_buffer buffer;
    granary_err err = gr_client_check(client);

    if (err == GRANARY_OK && (rows < 0 || (columns == NULL && count > 0))) {
        err = gr_fail(GRANARY_EINVAL, "frame: %zu columns of %lld rows", count, (long long)rows);
    }
    if (err != GRANARY_OK || (err = gr_caller_frame(columns, count, rows, &frame)) != GRANARY_OK) {
        return err;
    }
    err = gr_arrow_measure(frame, &data_size, &meta_size);
    if (err == GRANARY_OK) {
        err = granary_object_create_with(client, new_id, data_size, meta_size, options, &buffer);
    }
    if (err == GRANARY_OK) {
        gr_arrow_write(frame, buffer.data, buffer.meta);
        err = granary_object_seal(client, &buffer);
    }
    gr_frame_destroy(frame);
    if (err == GRANARY_OK) {
        *id = new_id;
    }
    return err;
}

granary_err
granary_frame_put(granary_client *client, const granary_column *columns, size_t count, int64_t rows, granary_id *id)
{
    return granary_frame_put_with(client, columns, count, rows, NULL, id);
}

/* ---- tensors ---- */

granary_err
granary_tensor_put(granary_client *client, const granary_tensor *tensor, granary_id *id)
{
    granary_id new_id = id_or_new(*id);
    granary_tensor planned;
    granary_buffer buffer;
    granary_err err = gr_client_check(client);

    if (err == GRANARY_OK) {
        err = gr_npy_plan(tensor->dtype, tensor->dims, tensor->shape, &planned);
    }
    if (err == GRANARY_OK && tensor->values == NULL && gr_tensor_elements(&planned) > 0) {
        err = gr_fail(GRANARY_EINVAL, "tensor: its values are missing");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    planned.values = tensor->values;
    err = granary_object_create(client, new_id, gr_npy_measure(&planned), 0, ROOM_MS, &buffer);
    if (err == GRANARY_OK) {
        gr_npy_write(&planned, buffer.data);
        err = granary_object_seal(client, &buffer);
    }
    if (err == GRANARY_OK) {
        *id = new_id;
    }
    return err;
}
