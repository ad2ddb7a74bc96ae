/* Create, seal, abort, put. */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "object/client.h"

#define BUFFER_OPEN 0x6f70656eu /* granary_buffer.state between create and seal or abort */
#define PUT_WAIT_MS 30000

static granary_err
create_check(granary_client *client, granary_id id, uint64_t data_size, uint64_t meta_size)
{
    struct slot_copy copy;
    granary_err err;

    if (!client_is_ours(client)) {
        return gr_client_check(client);
    }
    if (gr_id_is_zero(id)) {
        return gr_fail(GRANARY_EINVAL, "object id: all zero names no object");
    }
    if (data_size > GR_MAX_OBJECT || meta_size > GR_MAX_META) {
        return gr_fail(GRANARY_EINVAL, "object %s: more than %llu bytes of data or %llu of metadata", id_text(id),
                       (unsigned long long)GR_MAX_OBJECT, (unsigned long long)GR_MAX_META);
    }
    if ((err = link_check(client)) != GRANARY_OK) {
        return err;
    }
    if (slot_find(client, id, &copy)) {
        return gr_fail(GRANARY_EEXIST, "object %s: exists already", id_text(id));
    }
    return GRANARY_OK;
}

granary_err
granary_object_create(granary_client *client, granary_id id, uint64_t data_size, uint64_t meta_size, int timeout_ms,
                      granary_buffer *ret_buffer)
{
    granary_err err = create_check(client, id, data_size, meta_size);
    struct room *room;
    uint64_t offset;
    char *at;

    if (err != GRANARY_OK) {
        return err;
    }
    (void)pthread_mutex_lock(&client->lock);
    err = room_carve(client, GR_FOOTPRINT(data_size, meta_size), gr_deadline_ns(timeout_ms), &room, &offset);
    (void)pthread_mutex_unlock(&client->lock);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "object %s", id_text(id));
    }
    at = room->base + offset;
    *ret_buffer = (granary_buffer){
        .id = id,
        .data = at,
        .data_size = data_size,
        .meta = meta_size == 0 ? NULL : at + GR_ALIGNED(data_size),
        .meta_size = meta_size,
        .offset = offset,
        .segment = room->segment,
        .state = BUFFER_OPEN,
    };
    return GRANARY_OK;
}

static granary_err
object_seal(granary_client *client, granary_buffer *buffer, int flags)
{
    bool wait = (flags & GRANARY_NOWAIT) == 0;
    struct gr_ring_entry entry = {.op = GR_RING_SEAL};
    struct ring_answer answer = {.done = false};
    granary_err err = gr_client_check(client);
    struct room *room;
    uint64_t position;

    if (err != GRANARY_OK) {
        return err;
    }
    if (buffer->state != BUFFER_OPEN) {
        return gr_fail(GRANARY_ESTATE, "object %s: sealed or aborted already", id_text(buffer->id));
    }
    memcpy(entry.id, buffer->id.bytes, sizeof entry.id);
    entry.segment = buffer->segment;
    entry.offset = buffer->offset;
    entry.data_size = buffer->data_size;
    entry.meta_size = (uint32_t)buffer->meta_size;
    buffer->state = 0;
    (void)pthread_mutex_lock(&client->lock);
    room = room_of(client, buffer->segment);
    if (room != NULL && client_is_strict(client)) {
        room_surrender(room);
        entry.flags |= GR_SEAL_STRICT;
    }
    err = ring_push(client, &entry, wait ? &answer : NULL, true, &position);
    if (room != NULL) {
        room_settle(client, room);
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (err != GRANARY_OK || !wait) {
        return err;
    }
    err = ring_wait(client, position, &answer);
    if (answer.done && err != GRANARY_OK) {
        return gr_fail(err, "object %s: %s", id_text(buffer->id),
                       err == GRANARY_EEXIST ? "exists already" : granary_error_text(err));
    }
    return err;
}

granary_err
granary_object_seal(granary_client *client, granary_buffer *buffer)
{
    return object_seal(client, buffer, 0);
}

void
granary_object_abort(granary_client *client, granary_buffer *buffer)
{
    uint64_t footprint;
    struct room *room;

    if (buffer == NULL || buffer->state != BUFFER_OPEN || !client_is_ours(client)) {
        return;
    }
    buffer->state = 0;
    footprint = GR_FOOTPRINT(buffer->data_size, buffer->meta_size);
    (void)pthread_mutex_lock(&client->lock);
    room = room_of(client, buffer->segment);
    if (room != NULL) {
        if (room->used == buffer->offset + footprint) {
            room->used = buffer->offset; /* the last one carved: its room is free at once */
        }
        room_settle(client, room);
    }
    (void)pthread_mutex_unlock(&client->lock);
}

granary_err
granary_object_put(granary_client *client, granary_id id, const void *data, uint64_t data_size, const void *meta,
                   uint64_t meta_size, int flags)
{
    granary_buffer buffer;
    granary_err err = granary_object_create(client, id, data_size, meta_size, PUT_WAIT_MS, &buffer);

    if (err != GRANARY_OK) {
        return err;
    }
    if (data_size > 0) {
        memcpy(buffer.data, data, data_size);
    }
    if (meta_size > 0) {
        memcpy(buffer.meta, meta, meta_size);
    }
    return object_seal(client, &buffer, flags);
}
