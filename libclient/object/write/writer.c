/* Writing an object piece by piece: an unsealed object that grows ahead of what is appended. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "granary/stream.h"
#include "object/client.h"

#define LEAST_BYTES ((uint64_t)4096)

struct granary_writer {
    granary_client *client;
    granary_buffer buffer;
    uint64_t size; /* appended */
    int timeout_ms;
};

granary_err
granary_writer_open_sized(granary_client *client, granary_id id, uint64_t size_hint,
                          const granary_object_options *theirs, granary_writer **ret_writer, size_t options_size)
{
    uint64_t size = size_hint < LEAST_BYTES ? LEAST_BYTES : size_hint;
    granary_object_options options;
    granary_writer *writer;
    granary_err err = gr_client_check(client);

    if (err == GRANARY_OK) {
        err = gr_sized_take(&options, sizeof options, theirs, options_size);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return gr_fail(GRANARY_ENOMEM, "object %s: no memory for a writer", id_text(id));
    }
    writer->client = client;
    writer->timeout_ms = options_timeout_ms(&options);
    err = granary_object_create_with(client, id, size, 0, &options, &writer->buffer);
    if (err != GRANARY_OK) {
        free(writer);
        return err;
    }
    *ret_writer = writer;
    return GRANARY_OK;
}

granary_err
granary_writer_reserve(granary_writer *writer, uint64_t size, void **ret_at)
{
    granary_buffer *buffer = &writer->buffer;
    granary_err err = gr_client_check(writer->client);

    if (err == GRANARY_OK && size > UINT64_MAX - writer->size) {
        return gr_fail(GRANARY_EINVAL, "object %s: more bytes than can be counted", id_text(buffer->id));
    }
    if (err == GRANARY_OK && writer->size + size > buffer->data_size) {
        uint64_t need = writer->size + size;
        uint64_t ahead = buffer->data_size + buffer->data_size / 4;

        /* Ahead of need if that costs no waiting. */
        err = ahead <= need ? GRANARY_EFULL : granary_buffer_resize(writer->client, buffer, ahead, 0);
        if (err == GRANARY_EFULL) {
            err = granary_buffer_resize(writer->client, buffer, need, writer->timeout_ms);
        }
    }
    if (err != GRANARY_OK) {
        return err;
    }
    *ret_at = (char *)buffer->data + writer->size;
    writer->size += size;
    return GRANARY_OK;
}

granary_err
granary_writer_append(granary_writer *writer, const void *data, uint64_t size)
{
    void *at;
    granary_err err = granary_writer_reserve(writer, size, &at);

    if (err == GRANARY_OK && size > 0) {
        memcpy(at, data, size);
    }
    return err;
}

granary_err
granary_writer_seal(granary_writer *writer, const void *meta, uint64_t meta_size)
{
    granary_buffer *buffer = &writer->buffer;
    granary_err err = gr_buffer_resize(writer->client, buffer, writer->size, meta_size, writer->timeout_ms);

    if (err == GRANARY_OK) {
        if (meta_size > 0) {
            memcpy(buffer->meta, meta, meta_size);
        }
        err = granary_object_seal(writer->client, buffer);
    }
    granary_object_abort(writer->client, buffer);
    free(writer);
    return err;
}

void
granary_writer_abort(granary_writer *writer)
{
    if (writer != NULL) {
        granary_object_abort(writer->client, &writer->buffer);
        free(writer);
    }
}
