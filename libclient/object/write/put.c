/* Create, seal, abort, put. */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/sized.h"
#include "object/read/probe.h"

#define ROOM_WAIT_MS 30000

granary_err
size_check(granary_id id, uint64_t data_size, uint64_t meta_size)
{
    if (data_size > GR_MAX_OBJECT || meta_size > GR_MAX_META) {
        return gr_fail(GRANARY_EINVAL, "object %s: more than %llu bytes of data or %llu of metadata", id_text(id),
                       (unsigned long long)GR_MAX_OBJECT, (unsigned long long)GR_MAX_META);
    }
    return GRANARY_OK;
}

static granary_err
create_check(granary_client *client, granary_id id, uint64_t data_size, uint64_t meta_size, int timeout_ms)
{
    granary_err err = gr_client_check_wait(client, timeout_ms);
    struct slot_copy copy;

    if (err != GRANARY_OK) {
        return err;
    }
    if (gr_id_is_zero(id)) {
        return gr_fail(GRANARY_EINVAL, "object id: all zero names no object");
    }
    if ((err = size_check(id, data_size, meta_size)) != GRANARY_OK || (err = link_check(client)) != GRANARY_OK) {
        return err;
    }
    if (slot_find(client, id, &copy)) {
        return gr_fail(GRANARY_EEXIST, "object %s: exists already", id_text(id));
    }
    return GRANARY_OK;
}

granary_err
gr_buffer_keep(granary_client *client, const granary_buffer *buffer)
{
    struct room *room;

    if (client_is_strict(client)) {
        return gr_fail(GRANARY_EUNSUPPORTED, "session '%s' is strict: no sealed object can be written",
                       client->session);
    }
    (void)pthread_mutex_lock(&client->lock);
    room = buffer_is_open(client, buffer->state) ? room_of(client, buffer->segment) : NULL;
    if (room != NULL) {
        room->outstanding++;
    }
    (void)pthread_mutex_unlock(&client->lock);
    return room != NULL ? GRANARY_OK : buffer_is_spent(buffer->id);
}

void
gr_buffer_let_go(granary_client *client, uint32_t segment)
{
    struct room *room;

    (void)pthread_mutex_lock(&client->lock);
    room = room_of(client, segment);
    if (room != NULL) {
        room_settle(client, room);
    }
    (void)pthread_mutex_unlock(&client->lock);
}

granary_err
buffer_is_spent(granary_id id)
{
    return gr_fail(GRANARY_ESTATE, "object %s: sealed or aborted already", id_text(id));
}

granary_err
granary_object_create(granary_client *client, granary_id id, uint64_t data_size, uint64_t meta_size, int timeout_ms,
                      granary_buffer *ret_buffer)
{
    granary_err err = create_check(client, id, data_size, meta_size, timeout_ms);
    struct room *room;
    uint32_t mark = 0;
    uint64_t offset;
    char *at;

    if (err != GRANARY_OK) {
        return err;
    }
    (void)pthread_mutex_lock(&client->lock);
    err = buffer_open(client, &mark);
    if (err == GRANARY_OK) {
        err = room_carve(client, GR_FOOTPRINT(data_size, meta_size), 0, gr_deadline_ns(timeout_ms), &room, &offset);
    }
    if (err != GRANARY_OK) {
        buffer_close(client, mark);
    }
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
        .state = mark,
    };
    return GRANARY_OK;
}

int
options_timeout_ms(const granary_object_options *options)
{
    int timeout_ms = options->timeout_ms;

    return timeout_ms == 0 ? ROOM_WAIT_MS : timeout_ms == GRANARY_AT_ONCE ? 0 : timeout_ms;
}

/* What is impossible is refused before anything is made. */
static granary_err
options_check(granary_id id, const granary_object_options *options)
{
    const granary_levels levels = GRANARY_LEVEL_GPU | GRANARY_LEVEL_MEMORY | GRANARY_LEVEL_DISK | GRANARY_LEVEL_REMOTE;

    if (options->importance < 0 || options->importance > 255 || options->next_use < 0 || options->next_use > 255) {
        return gr_fail(GRANARY_EINVAL, "object %s: importance and next use are 0 to 255", id_text(id));
    }
    if ((options->persist & ~levels) != 0) {
        return gr_fail(GRANARY_EINVAL, "object %s: no such level: %u", id_text(id), options->persist & ~levels);
    }
    if (options->contains_count > 0 && options->contains == NULL) {
        return gr_fail(GRANARY_EINVAL, "object %s: %zu contained objects, but no ids", id_text(id),
                       options->contains_count);
    }
    return GRANARY_OK;
}

/* A store that lacks one of the levels says so, also of an object that is not there yet, as this one. */
static granary_err
levels_check(granary_client *client, granary_id id, granary_levels levels)
{
    granary_err err = levels == 0 ? GRANARY_OK : granary_object_move(client, id, levels, 0, 0);

    return err == GRANARY_ENOENT ? GRANARY_OK : err == GRANARY_OK ? err : gr_fail_in(err, "object %s", id_text(id));
}

/* What options ask of the store for a buffer that is there. */
static granary_err
options_send(granary_client *client, granary_id id, const granary_object_options *options)
{
    granary_err err = levels_check(client, id, options->persist);

    return err == GRANARY_OK && options->contains_count > 0
               ? contain_send(client, id, options->contains, options->contains_count)
               : err;
}

granary_err
granary_object_create_with_sized(granary_client *client, granary_id id, uint64_t data_size, uint64_t meta_size,
                                 const granary_object_options *theirs, granary_buffer *ret_buffer, size_t options_size)
{
    granary_object_options options;
    granary_buffer buffer;
    granary_err err = gr_sized_take(&options, sizeof options, theirs, options_size);

    if (err == GRANARY_OK) {
        err = options_check(id, &options);
    }
    if (err == GRANARY_OK) {
        err = granary_object_create(client, id, data_size, meta_size, options_timeout_ms(&options), &buffer);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    buffer.importance = (uint8_t)options.importance;
    buffer.next_use = (uint8_t)options.next_use;
    buffer.flags = options.counted ? GR_SEAL_COUNTED : 0;
    buffer.persist = options.persist;
    err = options_send(client, id, &options);
    if (err != GRANARY_OK) {
        granary_object_abort(client, &buffer);
        return err;
    }
    buffer.flags |= options.contains_count > 0 ? GR_SEAL_PARENT : 0;
    *ret_buffer = buffer;
    return GRANARY_OK;
}

/* Copies at the levels the object is to lie on, beside memory, where it is sealed. */
static granary_err
object_persist(granary_client *client, granary_id id, granary_levels levels)
{
    granary_err err = granary_object_move(client, id, levels, 0, PERSIST_WAIT_MS);

    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(id, text);
    return err == GRANARY_OK ? GRANARY_OK : gr_fail_in(err, "object %s: sealed in memory, but not copied", text);
}

static granary_err
object_seal(granary_client *client, granary_buffer *buffer, int flags)
{
    bool wait = (flags & GRANARY_NOWAIT) == 0 || buffer->persist != 0;
    struct gr_ring_entry entry = {.op = GR_RING_SEAL};
    struct ring_answer answer = {.done = false};
    granary_err err = gr_client_check(client);
    struct room *room;
    uint64_t position;

    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(entry.id, buffer->id.bytes, sizeof entry.id);
    entry.segment = buffer->segment;
    entry.offset = buffer->offset;
    entry.data_size = buffer->data_size;
    entry.meta_size = (uint32_t)buffer->meta_size;
    entry.importance = buffer->importance;
    entry.next_use = buffer->next_use;
    entry.flags = (uint8_t)buffer->flags;
    (void)pthread_mutex_lock(&client->lock);
    if (!buffer_is_open(client, buffer->state)) {
        (void)pthread_mutex_unlock(&client->lock);
        return buffer_is_spent(buffer->id);
    }
    buffer_close(client, buffer->state);
    buffer->state = 0;
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
    return err == GRANARY_OK && buffer->persist != 0 ? object_persist(client, buffer->id, buffer->persist) : err;
}

/* So many are not timed, then one is: see client.h. */
#define UNTIMED 63

/* When this call began, if it is to be timed; else 0. */
static int64_t
began(granary_client *client, enum timed_call call, const granary_buffer *buffer)
{
    if (!client_is_due(client, call, buffer)) {
        return 0;
    }
    atomic_store_explicit(countdown_of(client, call, buffer), UNTIMED, memory_order_relaxed);
    return gr_now_ns();
}

static void
ended(const granary_client *client, enum gr_latency_kind kind, int64_t began_ns, granary_err err)
{
    if (began_ns != 0 && err == GRANARY_OK) {
        client_timed(client, kind, began_ns);
    }
}

granary_err
granary_object_seal(granary_client *client, granary_buffer *buffer)
{
    int64_t began_ns = began(client, TIMED_SEAL, buffer);
    granary_err err = object_seal(client, buffer, 0);

    ended(client, GR_LATENCY_seal, began_ns, err);
    return err;
}

void
granary_object_abort(granary_client *client, granary_buffer *buffer)
{
    bool open;

    if (buffer == NULL || !client_is_ours(client)) {
        return;
    }
    (void)pthread_mutex_lock(&client->lock);
    open = buffer_is_open(client, buffer->state);
    if (open) {
        buffer_close(client, buffer->state);
        room_give(client, buffer);
    }
    (void)pthread_mutex_unlock(&client->lock);
    buffer->state = 0;
    if (open && (buffer->flags & GR_SEAL_PARENT) != 0) {
        contain_cancel(client, buffer->id);
    }
}

granary_err
granary_object_put(granary_client *client, granary_id id, const void *data, uint64_t data_size, const void *meta,
                   uint64_t meta_size, int flags)
{
    return granary_object_put_with(client, id, data, data_size, meta, meta_size, NULL, flags);
}

granary_err
granary_object_put_with_sized(granary_client *client, granary_id id, const void *data, uint64_t data_size,
                              const void *meta, uint64_t meta_size, const granary_object_options *options, int flags,
                              size_t options_size)
{
    granary_buffer buffer;
    int64_t began_ns = began(client, TIMED_PUT, &buffer);
    granary_err err =
        granary_object_create_with_sized(client, id, data_size, meta_size, options, &buffer, options_size);

    if (err != GRANARY_OK) {
        return err;
    }
    if (data_size > 0) {
        memcpy(buffer.data, data, data_size);
    }
    if (meta_size > 0) {
        memcpy(buffer.meta, meta, meta_size);
    }
    err = object_seal(client, &buffer, flags);
    ended(client, GR_LATENCY_put, began_ns, err);
    return err;
}
