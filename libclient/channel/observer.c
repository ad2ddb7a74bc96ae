/*
 * Messages looked at as they pass. An observer is in nobody's way: it copies a message, and then looks whether that was
 * swept meanwhile, as readers of a seqlock do.
 */
#include "channel/channel.h"

#include <stdlib.h>
#include <string.h>

#include "base/barrier.h"
#include "base/error.h"

void
observer_begin(granary_channel *channel, granary_channel_from from)
{
    struct reader *reader = &channel->reader;

    for (uint32_t i = 0; i < GR_CHANNEL_LANES; i++) {
        const struct gr_channel_lane *lane = &channel->shared->lane[i];

        reader->position[i] =
            from == GRANARY_CHANNEL_OLDEST ? channel_swept(channel->shared, i) : channel_head(channel->shared, i);
        reader->number[i] = from == GRANARY_CHANNEL_OLDEST ? UINT64_MAX : atomic_load(&lane->messages);
    }
    reader->how = READING_OBSERVER;
}

/* Copy the bytes, which may be written over meanwhile: word by word, so that each is one or the other. */
static bool
copy(struct reader *reader, const unsigned char *from, size_t size)
{
    const _Atomic uint64_t *words = (const void *)from;
    uint64_t *to;

    if (size > reader->copy_size) {
        void *more = realloc(reader->copy, size + sizeof(uint64_t) * 2);

        if (more == NULL) {
            return false;
        }
        reader->copy = more;
        reader->copy_size = size;
    }
    to = reader->copy;
    for (size_t i = 0; i < (size + 7) / 8; i++) {
        to[i] = atomic_load_explicit(&words[i], memory_order_relaxed);
    }
    return true;
}

/* The message at this observer's position of a lane, if it is still there. False: it is gone, look again. */
static bool
observe(granary_channel *channel, uint32_t lane, uint64_t head, granary_message *message, granary_err *ret_err)
{
    struct reader *reader = &channel->reader;
    struct ring_view *view = &reader->ring[lane];
    const uint64_t position = reader->position[lane];
    struct place place;
    bool is_there;

    *ret_err = ring_open(channel, view, lane);
    if (*ret_err != GRANARY_OK) {
        reader->position[lane] = head; /* its writer has ended, and the ring with it */
        *ret_err = *ret_err == GRANARY_ECORRUPT ? GRANARY_OK : *ret_err;
        return *ret_err != GRANARY_OK;
    }
    is_there = place_at(&view->ring, position, head, &place);
    if (is_there && !copy(reader, place.data, place.size)) {
        *ret_err = gr_fail(GRANARY_ENOMEM, "out of memory");
        return true;
    }
    barrier_acquire();
    if (channel_swept(channel->shared, lane) > position) {
        return false; /* nobody waits for an observer */
    }
    if (!is_there) {
        reader->position[lane] = head;
        *ret_err = gr_fail(GRANARY_ECORRUPT, "writer %u put no message where one should begin", lane);
        return true;
    }
    *message = (granary_message){.data = reader->copy, .size = place.size, .number = place.number, .writer = lane};
    if (place.kind == GR_ENTRY_OBJECT) {
        memcpy(message->id.bytes, reader->copy, sizeof message->id.bytes);
        message->data = NULL;
        message->size = 0;
    }
    if (reader->number[lane] != UINT64_MAX && place.number > reader->number[lane]) {
        message->missed = place.number - reader->number[lane];
    }
    reader->number[lane] = place.number + 1;
    reader->position[lane] = place.end;
    return true;
}

bool
observer_next(granary_channel *channel, granary_message *ret_message, granary_err *ret_err)
{
    struct reader *reader = &channel->reader;
    const uint32_t lanes = channel_lanes(channel->shared);

    for (uint32_t i = 0; i < lanes; i++) {
        const uint32_t lane = (reader->lane + i) % lanes;

        for (;;) {
            const uint64_t swept = channel_swept(channel->shared, lane), head = channel_head(channel->shared, lane);

            reader->position[lane] = reader->position[lane] > swept ? reader->position[lane] : swept;
            if (reader->position[lane] >= head) {
                break;
            }
            if (observe(channel, lane, head, ret_message, ret_err)) {
                reader->lane = lane;
                return true;
            }
        }
    }
    return false;
}
