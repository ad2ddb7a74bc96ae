/* Reading an object piece by piece: in one lease when it is in memory, else window by window. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "granary/stream.h"
#include "object/read/probe.h"

#define WINDOW_BYTES ((uint64_t)8 << 20)

struct granary_reader {
    granary_client *client;
    granary_id id;
    uint64_t stamp; /* of the object, when it is read by windows */
    uint64_t size;
    uint64_t window;
    uint64_t at; /* where the next read begins */
    granary_view view;
    uint64_t view_at; /* where the view begins in the object */
    int timeout_ms;
};

static granary_err
open_whole(granary_reader *reader)
{
    granary_err err = granary_object_get(reader->client, reader->id, reader->timeout_ms, &reader->view);

    reader->size = err == GRANARY_OK ? reader->view.data_size : 0;
    return err;
}

granary_err
granary_reader_open(granary_client *client, granary_id id, uint64_t window, int timeout_ms, granary_reader **ret_reader)
{
    granary_err err = gr_client_check_wait(client, timeout_ms);
    struct slot_copy copy;
    granary_reader *reader;

    if (err != GRANARY_OK) {
        return err;
    }
    reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        return gr_fail(GRANARY_ENOMEM, "object %s: no memory for a reader", id_text(id));
    }
    *reader = (granary_reader){
        .client = client, .id = id, .window = window == 0 ? WINDOW_BYTES : window, .timeout_ms = timeout_ms};
    if (slot_find(client, id, &copy) && GR_WORD_STATE(copy.word) == GR_SLOT_SPILLED &&
        copy.data_size > reader->window) {
        reader->stamp = copy.stamp;
        reader->size = copy.data_size;
    } else {
        err = open_whole(reader);
    }
    if (err != GRANARY_OK) {
        free(reader);
        return err;
    }
    *ret_reader = reader;
    return GRANARY_OK;
}

uint64_t
granary_reader_size(const granary_reader *reader)
{
    return reader->size;
}

/* A view that has the byte at reader->at, which is not the end. */
static granary_err
move_window(granary_reader *reader)
{
    uint64_t left = reader->size - reader->at;
    struct slot_copy copy;
    granary_view view;
    granary_err err;

    if (reader->view.lease != 0 && reader->at >= reader->view_at &&
        reader->at - reader->view_at < reader->view.data_size) {
        return GRANARY_OK;
    }
    granary_object_release(reader->client, &reader->view);
    err = granary_object_get_range(reader->client, reader->id, reader->at,
                                   left < reader->window ? left : reader->window, reader->timeout_ms, &view);
    if (err != GRANARY_OK) {
        return err;
    }
    /* Stamps are never used twice: if it is the same object now, it was when the window was taken. */
    if (!slot_find(reader->client, reader->id, &copy) || copy.stamp != reader->stamp) {
        granary_object_release(reader->client, &view);
        return gr_fail(GRANARY_ENOENT, "object %s: deleted while it was read", id_text(reader->id));
    }
    reader->view = view;
    reader->view_at = reader->at;
    return GRANARY_OK;
}

granary_err
granary_reader_next(granary_reader *reader, uint64_t most, const void **ret_at, uint64_t *ret_size)
{
    granary_err err = gr_client_check(reader->client);
    bool more = reader->at < reader->size && most > 0;
    uint64_t skip = 0;
    uint64_t size = 0;

    if (err == GRANARY_OK && more) {
        err = move_window(reader);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (more) {
        skip = reader->at - reader->view_at;
        size = reader->view.data_size - skip < most ? reader->view.data_size - skip : most;
    }
    *ret_at = size == 0 ? "" : (const char *)reader->view.data + skip;
    *ret_size = size;
    reader->at += size;
    return GRANARY_OK;
}

granary_err
granary_reader_read(granary_reader *reader, void *to, uint64_t size, uint64_t *ret_size)
{
    uint64_t from = reader->at;
    uint64_t done = 0;
    uint64_t got = 1;
    granary_err err = gr_client_check(reader->client);

    if (err != GRANARY_OK) {
        return err;
    }
    while (done < size && got > 0) {
        const void *at;

        err = granary_reader_next(reader, size - done, &at, &got);
        if (err != GRANARY_OK) {
            reader->at = from;
            return err;
        }
        memcpy((char *)to + done, at, got);
        done += got;
    }
    *ret_size = done;
    return GRANARY_OK;
}

granary_err
granary_reader_seek(granary_reader *reader, uint64_t offset)
{
    granary_err err = gr_client_check(reader->client);

    if (err != GRANARY_OK) {
        return err;
    }
    if (offset > reader->size) {
        return gr_fail(GRANARY_EINVAL, "object %s: byte %llu is beyond its %llu", id_text(reader->id),
                       (unsigned long long)offset, (unsigned long long)reader->size);
    }
    reader->at = offset;
    return GRANARY_OK;
}

void
granary_reader_close(granary_reader *reader)
{
    if (reader != NULL) {
        granary_object_release(reader->client, &reader->view);
        free(reader);
    }
}
