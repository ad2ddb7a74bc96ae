/* Resizing what is not sealed yet. */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "object/client.h"

#define AHEAD_LEAST ((uint64_t)64 << 10)

/* A buffer whose object would have other sizes. */
static granary_buffer
resized(const granary_buffer *buffer, char *data, uint64_t data_size, uint64_t meta_size)
{
    granary_buffer other = *buffer;

    other.data = data;
    other.data_size = data_size;
    other.meta = meta_size == 0 ? NULL : data + GR_ALIGNED(data_size);
    other.meta_size = meta_size;
    return other;
}

static uint64_t
smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Where it lies: smaller, or larger when nothing lies behind it and its room has space. With the lock. */
static bool
resize_in_place(granary_client *client, granary_buffer *buffer, uint64_t data_size, uint64_t meta_size)
{
    uint64_t end = buffer->offset + GR_FOOTPRINT(buffer->data_size, buffer->meta_size);
    uint64_t new_end = buffer->offset + GR_FOOTPRINT(data_size, meta_size);
    struct room *room = room_of(client, buffer->segment);
    bool last = room != NULL && room->used == end;
    granary_buffer other;

    if (last && new_end > end && !room_extend(client, room, new_end)) {
        return false;
    }
    if (!last && new_end > end) {
        return false;
    }
    other = resized(buffer, buffer->data, data_size, meta_size);
    if (buffer->meta_size > 0 && meta_size > 0) {
        memmove(other.meta, buffer->meta, smaller(buffer->meta_size, meta_size));
    }
    if (last) {
        room->used = new_end;
    }
    *buffer = other;
    return true;
}

/* With the lock, which is given up meanwhile: somewhere else, with half as much again ahead of need: growing by pieces
 * then copies each byte three times at most.
 */
static granary_err
resize_elsewhere(granary_client *client, granary_buffer *buffer, uint64_t data_size, uint64_t meta_size,
                 int64_t deadline_ns)
{
    uint64_t footprint = GR_FOOTPRINT(data_size, meta_size);
    granary_buffer other;
    struct room *room;
    uint64_t offset;
    granary_err err;

    err = room_carve(client, footprint, footprint / 2 + AHEAD_LEAST, deadline_ns, &room, &offset);
    if (err != GRANARY_OK) {
        return err;
    }
    /* Nobody else is in the way of a large copy. */
    (void)pthread_mutex_unlock(&client->lock);
    other = resized(buffer, room->base + offset, data_size, meta_size);
    other.offset = offset;
    other.segment = room->segment;
    memcpy(other.data, buffer->data, smaller(buffer->data_size, data_size));
    if (buffer->meta_size > 0 && meta_size > 0) {
        memcpy(other.meta, buffer->meta, smaller(buffer->meta_size, meta_size));
    }
    (void)pthread_mutex_lock(&client->lock);
    room_give(client, buffer);
    *buffer = other;
    return GRANARY_OK;
}

granary_err
gr_buffer_resize(granary_client *client, granary_buffer *buffer, uint64_t data_size, uint64_t meta_size, int timeout_ms)
{
    granary_err err = gr_client_check_wait(client, timeout_ms);

    if (err != GRANARY_OK) {
        return err;
    }
    err = size_check(buffer->id, data_size, meta_size);
    if (err != GRANARY_OK) {
        return err;
    }
    (void)pthread_mutex_lock(&client->lock);
    if (!buffer_is_open(client, buffer->state)) {
        (void)pthread_mutex_unlock(&client->lock);
        return buffer_is_spent(buffer->id);
    }
    if (!resize_in_place(client, buffer, data_size, meta_size)) {
        err = resize_elsewhere(client, buffer, data_size, meta_size, gr_deadline_ns(timeout_ms));
    }
    if (err == GRANARY_OK) {
        buffer_renew(client, &buffer->state);
    }
    (void)pthread_mutex_unlock(&client->lock);
    return err == GRANARY_OK ? GRANARY_OK : gr_fail_in(err, "object %s", id_text(buffer->id));
}

granary_err
granary_buffer_resize(granary_client *client, granary_buffer *buffer, uint64_t data_size, int timeout_ms)
{
    return gr_buffer_resize(client, buffer, data_size, buffer->meta_size, timeout_ms);
}
