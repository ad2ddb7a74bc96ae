/* Messages out: of this handle's group, lane by lane. */
#include "channel/channel.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/id.h"
#include "base/sized.h"
#include "object/object.h"

#define STAY       64u /* messages from one lane before the others are looked at */
#define SPINS      64u /* looks before a sleep: a writer that is at work puts the next one meanwhile */
#define SPIN_PAUSE 16u

/* ---- rings ---- */

void
ring_close(granary_channel *channel, struct ring_view *view)
{
    if (view->number != 0) {
        granary_object_release(channel->client, &view->view);
        view->number = 0;
    }
}

granary_err
ring_open(granary_channel *channel, struct ring_view *view, uint32_t lane)
{
    /* Behind the head that was looked at: who moved it had said before which ring it is. */
    const uint32_t number = atomic_load(&channel->shared->lane[lane].ring);
    const uint64_t size = channel->what.ring_bytes;
    struct gr_channel_ring head;
    granary_err err;

    if (view->number == number && number != 0) {
        return GRANARY_OK;
    }
    ring_close(channel, view);
    err = granary_object_get(channel->client, kept_id(channel->id, GR_MUTABLE_RING, lane, number - 1), 0, &view->view);
    if (err != GRANARY_OK) {
        return err == GRANARY_ENOENT ? gr_fail(GRANARY_ECORRUPT, "the ring of writer %u is gone", lane) : err;
    }
    view->number = number;
    if (view->view.data_size == sizeof head + size) {
        memcpy(&head, view->view.data, sizeof head);
        view->ring = (struct ring){
            .bytes = (const unsigned char *)view->view.data + sizeof head, .base = head.base, .size = size};
        if (head.magic == GR_CHANNEL_MAGIC && head.bytes == size) {
            return GRANARY_OK;
        }
    }
    ring_close(channel, view);
    return gr_fail(GRANARY_ECORRUPT, "the ring of writer %u is none", lane);
}

/* ---- done ---- */

static void
done(granary_channel *channel)
{
    struct reader *reader = &channel->reader;

    if (!reader->has_message || reader->how != READING_MEMBER) {
        return;
    }
    reader->has_message = false;
    cursor_done(&reader->cursor);
    if (reader->is_object) {
        granary_object_release(channel->client, &reader->object);
        reader->is_object = false;
        /* The object goes now, and not when its writer comes by. */
        (void)channel_sweep(channel->shared, reader->lane, &reader->ring[reader->lane].ring, channel_passed, channel);
    }
    channel_tell_room(channel->shared, reader->lane);
    if (channel_is_sealed(channel->shared)) {
        gr_bell_ring(&channel->shared->bell); /* others may wait to hear that it was the last */
    }
}

void
granary_channel_done(granary_channel *channel)
{
    if (channel_check(channel) == GRANARY_OK) {
        (void)pthread_mutex_lock(&channel->get_lock);
        done(channel);
        (void)pthread_mutex_unlock(&channel->get_lock);
    }
}

/* ---- get ---- */

/* What was taken becomes the caller's message. Errors: ENOENT the object is gone */
static granary_err
message_of(granary_channel *channel, uint32_t lane, const struct place *place, granary_message *ret_message)
{
    struct reader *reader = &channel->reader;
    granary_message message = {.data = place->data, .size = place->size, .number = place->number, .writer = lane};
    granary_err err = GRANARY_OK;

    reader->lane = lane;
    reader->has_message = true;
    if (place->kind == GR_ENTRY_OBJECT) {
        memcpy(message.id.bytes, place->data, sizeof message.id.bytes);
        err = granary_object_get(channel->client, message.id, 0, &reader->object);
        if (err == GRANARY_OK) {
            reader->is_object = true;
            message.data = reader->object.data;
            message.size = reader->object.data_size;
        } else {
            done(channel);
        }
    }
    *ret_message = message;
    return err;
}

/* A message of the lane, if there is one: true, or an error that ends the search. */
static bool
lane_next(granary_channel *channel, uint32_t lane, granary_message *ret_message, granary_err *ret_err)
{
    struct reader *reader = &channel->reader;
    struct ring_view *view = &reader->ring[lane];
    uint64_t taken, head;

    while (cursor_has(&reader->cursor, lane, &taken, &head)) {
        granary_err err = ring_open(channel, view, lane);
        struct place place;

        if (err == GRANARY_ECORRUPT && !cursor_skip(&reader->cursor, lane, taken, head)) {
            continue; /* others took the message meanwhile, and the ring went with its writer */
        }
        if (err != GRANARY_OK) {
            *ret_err = err;
            return true;
        }
        switch (cursor_take(&reader->cursor, lane, taken, head, &view->ring, &place)) {
        case TAKE_DONE:
            *ret_err = message_of(channel, lane, &place, ret_message);
            return true;
        case TAKE_WRONG:
            if (cursor_skip(&reader->cursor, lane, taken, head)) {
                *ret_err = gr_fail(GRANARY_ECORRUPT,
                                   "writer %u put no message where one should begin: the rest of it is dropped", lane);
                return true;
            }
            break;
        default:
            break;
        }
    }
    return false;
}

/* What a dead reader of this group had. */
static bool
next_of_dead(granary_channel *channel, granary_message *ret_message, granary_err *ret_err)
{
    struct reader *reader = &channel->reader;
    uint64_t position = 0;
    struct place place;
    uint32_t lane = 0;

    if (!member_mourn(channel, &lane, &position)) {
        return false;
    }
    *ret_err = ring_open(channel, &reader->ring[lane], lane);
    if (*ret_err == GRANARY_OK &&
        !place_at(&reader->ring[lane].ring, position, channel_head(channel->shared, lane), &place)) {
        *ret_err = gr_fail(GRANARY_ECORRUPT, "a message that a dead reader had is none");
    }
    if (*ret_err != GRANARY_OK) {
        cursor_done(&reader->cursor);
        return true;
    }
    *ret_err = message_of(channel, lane, &place, ret_message);
    ret_message->again = true;
    return true;
}

/* A message that is there. */
static bool
next_there(granary_channel *channel, granary_message *ret_message, granary_err *ret_err)
{
    struct reader *reader = &channel->reader;
    const uint32_t lanes = channel_lanes(channel->shared);
    uint32_t lane = reader->lane;

    if (reader->is_mourning) {
        reader->is_mourning = false;
        if (next_of_dead(channel, ret_message, ret_err)) {
            return true;
        }
    }
    if (reader->stayed++ >= STAY) {
        reader->stayed = 0;
        lane++;
    }
    for (uint32_t i = 0; i < lanes; i++, lane++) {
        lane = lane < lanes ? lane : 0;
        if (lane_next(channel, lane, ret_message, ret_err)) {
            reader->stayed = lane == reader->lane ? reader->stayed : 0;
            return true;
        }
    }
    return false;
}

static bool
next(granary_channel *channel, granary_message *ret_message, granary_err *ret_err)
{
    return channel->reader.how == READING_OBSERVER ? observer_next(channel, ret_message, ret_err)
                                                   : next_there(channel, ret_message, ret_err);
}

/* Nothing is there: is there anything to come? */
static granary_err
check_end(granary_channel *channel)
{
    return channel_is_sealed(channel->shared) &&
                   (channel->reader.how == READING_OBSERVER || cursor_is_drained(&channel->reader.cursor))
               ? gr_fail(GRANARY_ESEALED, "it was sealed, and all of it has been read")
               : GRANARY_OK;
}

static granary_err
get(granary_channel *channel, int timeout_ms, granary_message *ret_message)
{
    struct gr_bell *bell = &channel->shared->bell;
    int64_t deadline_ns = -1; /* the clock is asked only by who waits */
    granary_err err = GRANARY_OK;

    for (uint32_t spins = timeout_ms == 0 ? SPINS : 0; !next(channel, ret_message, &err); spins++) {
        bool is_sealed;
        uint32_t was;

        if (spins < SPINS) {
            for (uint32_t i = 0; i < SPIN_PAUSE; i++) {
                gr_cpu_relax();
            }
            continue;
        }
        /* Before the last look: what was put before a seal is seen by who has seen the seal. */
        is_sealed = channel_is_sealed(channel->shared);
        was = gr_bell_await(bell);
        channel->reader.is_mourning = channel->reader.how == READING_MEMBER;
        if (next(channel, ret_message, &err)) {
            break;
        }
        err = channel_check_life(channel);
        err = err == GRANARY_OK && is_sealed ? check_end(channel) : err;
        deadline_ns = deadline_ns < 0 ? gr_deadline_ns(timeout_ms) : deadline_ns;
        if (err == GRANARY_OK && gr_now_ns() >= deadline_ns) {
            err = gr_fail(GRANARY_ETIMEDOUT, "no message came");
        }
        if (err != GRANARY_OK) {
            break;
        }
        gr_futex_wait(&bell->bell, was,
                      deadline_ns - CHANNEL_LOOK_NS > gr_now_ns() ? gr_now_ns() + CHANNEL_LOOK_NS : deadline_ns);
    }
    return err;
}

granary_err
granary_channel_get_sized(granary_channel *channel, int timeout_ms, granary_message *ret_message, size_t message_size)
{
    granary_err err = gr_client_check_wait(channel->client, timeout_ms);
    granary_message message = {.data = NULL};

    (void)pthread_mutex_lock(&channel->get_lock);
    err = err == GRANARY_OK ? channel_check(channel) : err;
    if (err == GRANARY_OK) {
        done(channel);
        if (channel->reader.how == READING_NOT) {
            err = member_join(channel, NULL, GRANARY_CHANNEL_NEXT);
            channel->reader.is_mourning = true;
        }
    }
    err = err == GRANARY_OK ? get(channel, timeout_ms, &message) : err;
    (void)pthread_mutex_unlock(&channel->get_lock);
    if (err == GRANARY_OK) {
        gr_sized_give(ret_message, message_size, &message, sizeof message);
    }
    return channel_told(channel, err);
}

/* ---- how to read ---- */

/* What join and observe begin with. */
static granary_err
check_new(const granary_channel *channel, granary_channel_from from)
{
    granary_err err = channel_check(channel);

    if (err == GRANARY_OK && channel->reader.how != READING_NOT) {
        return gr_fail(GRANARY_ESTATE, "this handle reads already: open another one");
    }
    return err != GRANARY_OK || from == GRANARY_CHANNEL_NEXT || from == GRANARY_CHANNEL_OLDEST
               ? err
               : gr_fail(GRANARY_EINVAL, "from %d: there is none such", (int)from);
}

granary_err
granary_channel_join(granary_channel *channel, const char *name, granary_channel_from from)
{
    granary_err err;

    (void)pthread_mutex_lock(&channel->get_lock);
    err = check_new(channel, from);
    if (err == GRANARY_OK && name != NULL && channel->what.broadcast == 0) {
        err = gr_fail(GRANARY_EUNSUPPORTED, "it is a queue: its readers share all messages, and have no names");
    }
    if (err == GRANARY_OK && name != NULL && (name[0] == '\0' || strlen(name) > GRANARY_TEXT_MAX)) {
        err = gr_fail(GRANARY_EINVAL, "a reader's name has 1 to %d bytes", GRANARY_TEXT_MAX);
    }
    err = err == GRANARY_OK ? member_join(channel, name, from) : err;
    channel->reader.is_mourning = err == GRANARY_OK;
    (void)pthread_mutex_unlock(&channel->get_lock);
    return channel_told(channel, err);
}

granary_err
granary_channel_observe(granary_channel *channel, granary_channel_from from)
{
    granary_err err;

    (void)pthread_mutex_lock(&channel->get_lock);
    err = check_new(channel, from);
    if (err == GRANARY_OK) {
        observer_begin(channel, from);
    }
    (void)pthread_mutex_unlock(&channel->get_lock);
    return channel_told(channel, err);
}
