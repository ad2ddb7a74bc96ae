/* Messages in: this handle's lane, room in its ring, and objects that are too large for it. */
#include "channel/channel.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/id.h"
#include "object/object.h"

/* An object that was reserved takes a little room in the ring when it is committed. */
#define COMMIT_MS 30000

static uint64_t
ring_units(const granary_channel *channel)
{
    return channel->what.ring_bytes / GR_CHANNEL_UNIT;
}

/* ---- room ---- */

/* Everything that readers are done with is free. Errors: ECORRUPT */
static granary_err
sweep(granary_channel *channel, uint32_t lane, const struct ring *ring)
{
    return channel_sweep(channel->shared, lane, ring, channel_passed, channel)
               ? GRANARY_OK
               : gr_fail(GRANARY_ECORRUPT, "the ring of writer %u has no message where one should begin", lane);
}

/* Objects of this writer that wait. */
static uint32_t
objects_waiting(granary_channel *channel)
{
    struct writer *writer = &channel->writer;
    const uint64_t swept = channel_swept(channel->shared, writer->lane);

    while (writer->objects > 0 && writer->object_end[writer->first_object] <= swept) {
        writer->first_object = (writer->first_object + 1) % channel->what.objects;
        writer->objects--;
    }
    return writer->objects;
}

/* Up to which position is to be swept before so many units, and an object, can be put; 0: they can. */
static uint64_t
room_at(granary_channel *channel, uint64_t units, bool is_object)
{
    const struct writer *writer = &channel->writer;
    const uint64_t swept = channel_swept(channel->shared, writer->lane), all = ring_units(channel);

    if (is_object && objects_waiting(channel) == channel->what.objects) {
        return writer->object_end[writer->first_object];
    }
    if (writer->head + units <= swept + all) {
        return 0;
    }
    /* A quarter of the ring more, or all of it: whoever wakes this writer does so once for many messages. */
    units += all / 4;
    return writer->head + units - all < writer->head ? writer->head + units - all : writer->head;
}

/* Sleep until a position of the lane is swept or the deadline. */
static granary_err
wait_swept(granary_channel *channel, uint64_t position, int64_t deadline_ns)
{
    struct gr_channel_lane *lane = &channel->shared->lane[channel->writer.lane];
    const int64_t now_ns = gr_now_ns();
    granary_err err = channel_check_life(channel);
    uint32_t bell;

    atomic_store(&lane->room_at, position);
    bell = gr_bell_await(&lane->room);
    if (err != GRANARY_OK || channel_limit(channel->shared, channel->writer.lane) >= position) {
        return err;
    }
    if ((atomic_load(&lane->head) & GR_HEAD_SEALED) != 0) {
        return channel_fail_sealed();
    }
    if (now_ns >= deadline_ns) {
        return gr_fail(GRANARY_ETIMEDOUT,
                       "no room in time: a reader is slow, stopped, or away: see `granary channel "
                       "info %s`",
                       channel->name);
    }
    gr_futex_wait(&lane->room.bell, bell,
                  deadline_ns - now_ns > CHANNEL_LOOK_NS ? now_ns + CHANNEL_LOOK_NS : deadline_ns);
    if (atomic_load(&lane->room.bell) == bell) {
        members_reap(channel);
    }
    return GRANARY_OK;
}

static granary_err
find_room(granary_channel *channel, uint64_t units, bool is_object, int timeout_ms)
{
    granary_err err = GRANARY_OK;
    int64_t deadline_ns = -1; /* the clock is asked only by who waits */

    while (err == GRANARY_OK) {
        uint64_t until = room_at(channel, units, is_object);

        if (until == 0) {
            return GRANARY_OK;
        }
        err = sweep(channel, channel->writer.lane, &channel->writer.ring);
        if (err == GRANARY_OK && (until = room_at(channel, units, is_object)) != 0) {
            deadline_ns = deadline_ns < 0 ? gr_deadline_ns(timeout_ms) : deadline_ns;
            err = wait_swept(channel, until, deadline_ns);
        }
    }
    return err;
}

/* ---- a lane ---- */

/*
 * Whether all of a lane is done with, which this handle has locked. Without a reader messages stay for one that may come,
 * unless they have to go. Errors: as ring_open() · ECORRUPT
 */
static granary_err
lane_is_free(granary_channel *channel, uint32_t lane, bool may_drop, bool *ret_free)
{
    struct ring_view view = {.number = 0};
    granary_err err = GRANARY_OK;

    *ret_free = channel_swept(channel->shared, lane) == channel_head(channel->shared, lane);
    if (!*ret_free && (may_drop || channel_has_readers(channel->shared))) {
        err = ring_open(channel, &view, lane);
        err = err == GRANARY_OK ? sweep(channel, lane, &view.ring) : err;
        ring_close(channel, &view);
        *ret_free = channel_swept(channel->shared, lane) == channel_head(channel->shared, lane);
    }
    return err;
}

/* Lock a lane of which all is done with. GR_CHANNEL_LANES: there is none; *ret_other is one that nobody writes in. */
static uint32_t
lane_lock_free(granary_channel *channel, bool may_drop, uint32_t *ret_other)
{
    *ret_other = GR_CHANNEL_LANES;
    for (uint32_t i = 0; i < GR_CHANNEL_LANES; i++) {
        bool is_free = false;

        if (page_try(&channel->page, i)) {
            /* Of one that cannot be read another one may do. */
            if (lane_is_free(channel, i, may_drop, &is_free) == GRANARY_OK && is_free) {
                return i;
            }
            page_leave(&channel->page, i);
            *ret_other = i;
        }
    }
    return GR_CHANNEL_LANES;
}

/* The same, or else one whose messages are to be waited for. */
static granary_err
lane_lock(granary_channel *channel, bool *ret_free)
{
    uint32_t other, lane = lane_lock_free(channel, false, &other);

    lane = lane < GR_CHANNEL_LANES ? lane : lane_lock_free(channel, true, &other);
    *ret_free = lane < GR_CHANNEL_LANES;
    channel->writer.lane = *ret_free ? lane : other;
    if (*ret_free || (other < GR_CHANNEL_LANES && page_try(&channel->page, other))) {
        return GRANARY_OK;
    }
    return gr_fail(GRANARY_EFULL, "%u writers are at it already: close one", GR_CHANNEL_LANES);
}

/* The lane's messages are all of writers that are gone: wait until they are done with. */
static granary_err
lane_await(granary_channel *channel, int timeout_ms)
{
    const int64_t deadline_ns = gr_deadline_ns(timeout_ms);
    const uint32_t lane = channel->writer.lane;
    bool is_free = false;
    granary_err err = lane_is_free(channel, lane, true, &is_free);

    while (err == GRANARY_OK && !is_free) {
        err = wait_swept(channel, channel_head(channel->shared, lane), deadline_ns);
        err = err == GRANARY_OK ? lane_is_free(channel, lane, true, &is_free) : err;
    }
    return err == GRANARY_ETIMEDOUT
               ? gr_fail(err, "no room in time: %u writers that have ended left messages that nobody has taken yet",
                         GR_CHANNEL_LANES)
               : err;
}

/* A ring for the lane, which is free. */
static granary_err
ring_make(granary_channel *channel, int timeout_ms)
{
    struct writer *writer = &channel->writer;
    struct gr_channel_lane *lane = &channel->shared->lane[writer->lane];
    const uint32_t before = atomic_load(&lane->ring);
    const uint64_t size = sizeof(struct gr_channel_ring) + channel->what.ring_bytes;
    granary_buffer buffer;
    granary_err err;

    /* The number is taken before there is an object: none is used twice. Nobody looks at it before the head moves. */
    atomic_store(&lane->ring, before + 1);
    err = kept_create(channel->client, kept_id(channel->id, GR_MUTABLE_RING, writer->lane, before), size, 0, timeout_ms,
                      &buffer);
    if (err != GRANARY_OK) {
        return err;
    }
    *(struct gr_channel_ring *)buffer.data =
        (struct gr_channel_ring){.magic = GR_CHANNEL_MAGIC,
                                 .base = channel_head(channel->shared, writer->lane),
                                 .bytes = channel->what.ring_bytes};
    err = kept_seal(channel->client, channel->id, &buffer, &writer->kept);
    if (err == GRANARY_OK && before > 0) {
        kept_unrefer(channel->client, channel->id, kept_id(channel->id, GR_MUTABLE_RING, writer->lane, before - 1));
    }
    return err;
}

static granary_err
lane_begin(granary_channel *channel, int timeout_ms)
{
    struct writer *writer = &channel->writer;
    bool is_free = false;
    granary_err err;

    if (writer->object_end == NULL) {
        writer->object_end = calloc(channel->what.objects, sizeof *writer->object_end);
    }
    if (writer->object_end == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = lane_lock(channel, &is_free);
    if (err != GRANARY_OK) {
        return err;
    }
    channel_show(&channel->shared->lanes, writer->lane + 1);
    err = is_free ? GRANARY_OK : lane_await(channel, timeout_ms);
    /* An object's timeout of 0 is the default one. */
    err = err == GRANARY_OK ? ring_make(channel, timeout_ms == 0 ? GRANARY_AT_ONCE : timeout_ms) : err;
    if (err != GRANARY_OK) {
        page_leave(&channel->page, writer->lane);
        return err;
    }
    writer->head = channel_head(channel->shared, writer->lane);
    writer->number = atomic_load(&channel->shared->lane[writer->lane].messages);
    writer->ring = (struct ring){.bytes = (const unsigned char *)writer->kept.data + sizeof(struct gr_channel_ring),
                                 .base = writer->head,
                                 .size = channel->what.ring_bytes};
    writer->first_object = writer->objects = 0;
    writer->has_lane = true;
    return GRANARY_OK;
}

static void
reserved_drop(granary_channel *channel)
{
    struct reserved *reserved = &channel->writer.reserved;

    if (reserved->is_open && reserved->is_object) {
        granary_object_abort(channel->client, &reserved->buffer);
    }
    reserved->is_open = false;
}

void
writer_leave(granary_channel *channel)
{
    struct writer *writer = &channel->writer;

    reserved_drop(channel);
    if (writer->has_lane) {
        kept_close(&writer->kept);
        page_leave(&channel->page, writer->lane);
        writer->has_lane = false;
    }
    free(writer->object_end);
    writer->object_end = NULL;
}

/* ---- entries ---- */

static struct gr_channel_entry *
entry_of(const struct writer *writer, uint64_t position)
{
    const uint64_t offset = (position - writer->ring.base) * GR_CHANNEL_UNIT & (writer->ring.size - 1);

    return (struct gr_channel_entry *)(void *)((unsigned char *)(uintptr_t)writer->ring.bytes + offset);
}

/* What all calls of a writer begin with. */
static granary_err
writer_check(granary_channel *channel, int timeout_ms)
{
    granary_err err = channel_check(channel);

    reserved_drop(channel);
    if (err == GRANARY_OK && channel_is_sealed(channel->shared)) {
        err = channel_fail_sealed();
    }
    return err != GRANARY_OK || channel->writer.has_lane ? err : lane_begin(channel, timeout_ms);
}

/* Room for an entry: its data at *ret_at. */
static granary_err
entry_reserve(granary_channel *channel, enum gr_entry_kind kind, uint64_t size, int timeout_ms, void **ret_at)
{
    struct writer *writer = &channel->writer;
    const uint64_t own = 1 + (size + GR_CHANNEL_UNIT - 1) / GR_CHANNEL_UNIT, all = ring_units(channel);
    const uint64_t left = all - (writer->head - writer->ring.base) % all;
    const uint64_t skipped = own > left ? left : 0;
    granary_err err = writer->head + all < GR_CHANNEL_POSITION_MOST
                          ? find_room(channel, own + skipped, kind == GR_ENTRY_OBJECT, timeout_ms)
                          : gr_fail(GRANARY_EFULL, "64 PiB went through this writer's ring: make another channel");

    if (err == GRANARY_OK) {
        if (skipped > 0) {
            atomic_store_explicit(&entry_of(writer, writer->head)->kind_size,
                                  GR_ENTRY(GR_ENTRY_PAD, (left - 1) * GR_CHANNEL_UNIT), memory_order_relaxed);
        }
        writer->reserved = (struct reserved){
            .is_open = true, .units = own + skipped, .at = writer->head + skipped, .word = GR_ENTRY(kind, size)};
        *ret_at = entry_of(writer, writer->reserved.at) + 1;
    }
    return err;
}

static granary_err
entry_commit(granary_channel *channel)
{
    struct writer *writer = &channel->writer;
    struct gr_channel_lane *lane = &channel->shared->lane[writer->lane];
    struct gr_channel_entry *entry = entry_of(writer, writer->reserved.at);
    uint64_t head = GR_HEAD(writer->head, 0);
    const uint64_t end = writer->head + writer->reserved.units;

    atomic_store_explicit(&entry->kind_size, writer->reserved.word, memory_order_relaxed);
    atomic_store_explicit(&entry->number, writer->number, memory_order_relaxed);
    writer->reserved.is_open = false;
    if (!atomic_compare_exchange_strong(&lane->head, &head, GR_HEAD(end, 0))) {
        return head == GR_HEAD(writer->head, GR_HEAD_SEALED)
                   ? channel_fail_sealed()
                   : gr_fail(GRANARY_EPROTO, "another process has changed the lane of writer %u", writer->lane);
    }
    if (GR_ENTRY_KIND(writer->reserved.word) == GR_ENTRY_OBJECT) {
        writer->object_end[(writer->first_object + writer->objects++) % channel->what.objects] = end;
    }
    writer->head = end;
    atomic_store_explicit(&lane->messages, ++writer->number, memory_order_relaxed);
    gr_bell_ring(&channel->shared->bell);
    return GRANARY_OK;
}

/* ---- objects ---- */

static granary_err
put_object(granary_channel *channel, granary_id id, int timeout_ms)
{
    granary_err err = kept_refer(channel->client, channel->id, id);
    void *at;

    if (err != GRANARY_OK) {
        return err;
    }
    err = entry_reserve(channel, GR_ENTRY_OBJECT, sizeof id.bytes, timeout_ms, &at);
    if (err == GRANARY_OK) {
        memcpy(at, id.bytes, sizeof id.bytes);
        err = entry_commit(channel);
    }
    if (err != GRANARY_OK) {
        kept_unrefer(channel->client, channel->id, id);
    }
    return err;
}

granary_err
granary_channel_put_object(granary_channel *channel, granary_id id, int timeout_ms)
{
    granary_err err = gr_client_check_wait(channel->client, timeout_ms);

    (void)pthread_mutex_lock(&channel->put_lock);
    err = err == GRANARY_OK ? writer_check(channel, timeout_ms) : err;
    err = err == GRANARY_OK ? put_object(channel, id, timeout_ms) : err;
    (void)pthread_mutex_unlock(&channel->put_lock);
    return channel_told(channel, err);
}

/* A message that is too large for the ring. */
static granary_err
object_reserve(granary_channel *channel, uint64_t size, int timeout_ms, void **ret_at)
{
    struct reserved *reserved = &channel->writer.reserved;
    const granary_object_options options = {.counted = true,
                                            .timeout_ms = timeout_ms == 0 ? GRANARY_AT_ONCE : timeout_ms};
    granary_err err =
        granary_object_create_with(channel->client, granary_id_random(), size, 0, &options, &reserved->buffer);

    if (err == GRANARY_OK) {
        reserved->is_open = reserved->is_object = true;
        *ret_at = reserved->buffer.data;
    }
    return err;
}

/* It is counted, and the channel has the only reference. */
static granary_err
object_commit(granary_channel *channel, int timeout_ms)
{
    granary_buffer buffer = channel->writer.reserved.buffer;
    const granary_id id = buffer.id;
    granary_err err;

    channel->writer.reserved.is_open = false;
    err = granary_object_seal(channel->client, &buffer);
    return err == GRANARY_OK ? put_object(channel, id, timeout_ms) : err;
}

/* ---- put ---- */

static granary_err
reserve(granary_channel *channel, uint64_t size, int timeout_ms, void **ret_at)
{
    granary_err err = writer_check(channel, timeout_ms);

    if (err != GRANARY_OK) {
        return err;
    }
    channel->writer.reserved.is_object = false;
    return size <= channel->what.ring_bytes / 4 - sizeof(struct gr_channel_entry)
               ? entry_reserve(channel, GR_ENTRY_BYTES, size, timeout_ms, ret_at)
               : object_reserve(channel, size, timeout_ms, ret_at);
}

static granary_err
commit(granary_channel *channel, int timeout_ms)
{
    return channel->writer.reserved.is_object ? object_commit(channel, timeout_ms) : entry_commit(channel);
}

granary_err
granary_channel_put(granary_channel *channel, const void *data, uint64_t size, int timeout_ms)
{
    granary_err err = gr_client_check_wait(channel->client, timeout_ms);
    void *at = NULL;

    (void)pthread_mutex_lock(&channel->put_lock);
    err = err == GRANARY_OK ? reserve(channel, size, timeout_ms, &at) : err;
    if (err == GRANARY_OK) {
        if (size > 0) {
            memcpy(at, data, size);
        }
        err = commit(channel, timeout_ms);
    }
    (void)pthread_mutex_unlock(&channel->put_lock);
    return channel_told(channel, err);
}

granary_err
granary_channel_reserve(granary_channel *channel, uint64_t size, int timeout_ms, void **ret_at)
{
    granary_err err = gr_client_check_wait(channel->client, timeout_ms);

    (void)pthread_mutex_lock(&channel->put_lock);
    err = err == GRANARY_OK ? reserve(channel, size, timeout_ms, ret_at) : err;
    (void)pthread_mutex_unlock(&channel->put_lock);
    return channel_told(channel, err);
}

granary_err
granary_channel_commit(granary_channel *channel)
{
    granary_err err = channel_check(channel);

    (void)pthread_mutex_lock(&channel->put_lock);
    if (err == GRANARY_OK && !channel->writer.reserved.is_open) {
        err = gr_fail(GRANARY_ESTATE, "nothing is reserved");
    }
    err = err == GRANARY_OK ? commit(channel, COMMIT_MS) : err;
    (void)pthread_mutex_unlock(&channel->put_lock);
    return channel_told(channel, err);
}
