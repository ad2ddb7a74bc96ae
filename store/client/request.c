/* Requests about objects, room and levels: each is checked, done, and answered. */
#include "store/client/request.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "store/base/shmfile.h"
#include "store/client/client.h"
#include "store/client/hello.h"
#include "store/client/request_hold.h"
#include "store/client/request_session.h"
#include "store/core/counters.h"
#include "store/core/events.h"
#include "store/flow/memory.h"
#include "store/flow/move.h"
#include "store/flow/queue.h"
#include "store/flow/restore.h"
#include "store/flow/slice.h"
#include "store/object/object.h"
#include "store/object/session.h"

static granary_err
on_room(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_room room;

    memcpy(&room, frame->body, sizeof room);
    queue_request(client, &frame->head, &room);
    return GRANARY_OK;
}

/* The session's segment of that number; NULL: there is none. */
static const struct segment *
segment_of(const struct client *client, uint32_t number)
{
    const struct map_entry *entry = number == 0 ? NULL : map_find(&client->store->segments, map_key_number(number));
    const struct segment *segment = entry == NULL ? NULL : entry->value.pointer;

    return segment != NULL && segment->session == client->session ? segment : NULL;
}

/* The bytes of what a client may map, and the name of its file; 0 when there is no such thing. */
static uint64_t
mappable(struct client *client, const struct gr_map *map, const char **ret_kind)
{
    struct session *session = client->session;
    const struct segment *segment = segment_of(client, map->number);

    switch (map->kind) {
    case GR_MAP_INDEX:
        *ret_kind = "index";
        return map->number == 0 ? GR_INDEX_SPAN : 0;
    case GR_MAP_DATA:
        *ret_kind = "data";
        return segment != NULL ? segment->size : 0;
    case GR_MAP_EVENTS:
        *ret_kind = "events";
        return map->number == 0 ? events_bytes(session) : 0;
    case GR_MAP_COUNTERS:
        *ret_kind = "counters";
        return map->number == 0 ? counters_bytes(session) : 0;
    default:
        *ret_kind = "mapping";
        return 0;
    }
}

/* A descriptor of what is mappable; -1 with the error set. */
static int
open_mappable(struct client *client, const struct gr_map *map, const char *kind, granary_err *ret_err)
{
    const char *prefix = client->store->instance.shm_prefix;
    char name[96];

    if (map->kind == GR_MAP_DATA) {
        return segment_open_readonly(segment_of(client, map->number), prefix, ret_err);
    }
    if (map->kind == GR_MAP_COUNTERS) {
        return counters_descriptor(client->session, ret_err);
    }
    shmfile_name(name, prefix, client->session->number, kind, SHMFILE_NO_NUMBER);
    return shmfile_open_readonly(name, ret_err);
}

static granary_err
on_map(struct client *client, const struct gr_frame_in *frame)
{
    struct session *session = client->session;
    struct gr_map_reply reply;
    struct gr_map map;
    const char *kind;
    granary_err err;
    int fd;

    memcpy(&map, frame->body, sizeof map);
    err = map.kind == GR_MAP_EVENTS     ? events_open_session(session)
          : map.kind == GR_MAP_COUNTERS ? counters_open(session)
                                        : GRANARY_OK;
    if (err != GRANARY_OK) {
        return client_answer_error(client, &frame->head, err);
    }
    reply.size_bytes = mappable(client, &map, &kind);
    if (reply.size_bytes == 0) {
        return client_answer_error(client, &frame->head, gr_fail(GRANARY_ENOENT, "%s %u is gone", kind, map.number));
    }
    fd = open_mappable(client, &map, kind, &err);
    if (fd < 0) {
        return client_answer_error(client, &frame->head, err);
    }
    client_answer(client, &frame->head, &reply, sizeof reply, &fd, 1);
    gr_fd_close(&fd);
    return GRANARY_OK;
}

static granary_err
answer_plain(struct client *client, const struct gr_frame *request, granary_err err)
{
    if (err != GRANARY_OK) {
        return client_answer_error(client, request, err);
    }
    client_answer(client, request, NULL, 0, NULL, 0);
    return GRANARY_OK;
}

static struct gr_object_ref
ref_of(const struct gr_frame_in *frame, granary_id *ret_id)
{
    struct gr_object_ref ref;

    memcpy(&ref, frame->body, sizeof ref);
    memcpy(ret_id->bytes, ref.id, sizeof ret_id->bytes);
    return ref;
}

/* The id of the object that a request means: an alias stands for it. */
static void
resolve(const struct client *client, unsigned char bytes[GRANARY_ID_BYTES])
{
    granary_id id;

    memcpy(id.bytes, bytes, sizeof id.bytes);
    id = index_resolve(&client->session->index, id);
    memcpy(bytes, id.bytes, sizeof id.bytes);
}

static granary_err
on_restore(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_slot *slot;
    granary_id id;

    if (ref_of(frame, &id).request == GR_RESTORE_ANEW) {
        restore_anew(client->session, id);
    }
    return answer_plain(client, &frame->head, restore_request(client->session, id, &slot));
}

static granary_err
on_dead(struct client *client, const struct gr_frame_in *frame)
{
    unsigned char gone[1024];
    size_t numbers = frame->head.size / sizeof(uint32_t);

    if (frame->head.size % sizeof(uint32_t) != 0 || numbers > sizeof gone) {
        return gr_fail(GRANARY_EPROTO, "DEAD of %u bytes", frame->head.size);
    }
    for (size_t i = 0; i < numbers; i++) {
        uint32_t number;

        memcpy(&number, (const char *)frame->body + i * sizeof number, sizeof number);
        gone[i] = segment_of(client, number) == NULL;
    }
    client_answer(client, &frame->head, gone, numbers, NULL, 0);
    return GRANARY_OK;
}

static granary_err
on_move(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_move move;

    memcpy(&move, frame->body, sizeof move);
    resolve(client, move.id);
    return move_request(client, &frame->head, &move);
}

static granary_err
on_slice(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_slice slice;

    memcpy(&slice, frame->body, sizeof slice);
    resolve(client, slice.id);
    return slice_request(client, &frame->head, &slice);
}

static granary_err
on_ping(struct client *client, const struct gr_frame_in *frame)
{
    return answer_plain(client, &frame->head, GRANARY_OK);
}

static granary_err
on_hint(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_hint hint;
    granary_id id;

    memcpy(&hint, frame->body, sizeof hint);
    resolve(client, hint.id);
    memcpy(id.bytes, hint.id, sizeof id.bytes);
    if (hint.importance < -1 || hint.importance > 255 || hint.next_use < -1 || hint.next_use > 255) {
        return answer_plain(client, &frame->head,
                            gr_fail(GRANARY_EINVAL, "importance and next use are 0 to 255, or -1"));
    }
    return answer_plain(client, &frame->head, object_hint(client->session, id, hint.importance, hint.next_use));
}

#define ANY_SIZE UINT32_MAX

static const struct {
    granary_err (*handle)(struct client *client, const struct gr_frame_in *frame);
    const char *name;
    uint32_t size; /* of the body */
} requests[] = {
    [GR_STORE_HELLO] = {hello_handle, "HELLO", ANY_SIZE},
    [GR_STORE_ROOM] = {on_room, "ROOM", sizeof(struct gr_room)},
    [GR_STORE_MAP] = {on_map, "MAP", sizeof(struct gr_map)},
    [GR_STORE_RESTORE] = {on_restore, "RESTORE", sizeof(struct gr_object_ref)},
    [GR_STORE_LEASE] = {on_lease, "LEASE", sizeof(struct gr_object_ref)},
    [GR_STORE_UNLEASE] = {on_unlease, "UNLEASE", sizeof(struct gr_object_ref)},
    [GR_STORE_PIN] = {on_pin, "PIN", sizeof(struct gr_hold)},
    [GR_STORE_UNPIN] = {on_unpin, "UNPIN", sizeof(struct gr_hold)},
    [GR_STORE_DEAD] = {on_dead, "DEAD", ANY_SIZE},
    [GR_STORE_MOVE] = {on_move, "MOVE", sizeof(struct gr_move)},
    [GR_STORE_SLICE] = {on_slice, "SLICE", sizeof(struct gr_slice)},
    [GR_STORE_PING] = {on_ping, "PING", 0},
    [GR_STORE_HINT] = {on_hint, "HINT", sizeof(struct gr_hint)},
    [GR_STORE_SESSION_CREATE] = {on_session_create, "SESSION_CREATE", sizeof(struct gr_session_request)},
    [GR_STORE_SESSION_HAS] = {on_session_has, "SESSION_HAS", sizeof(struct gr_session_request)},
    [GR_STORE_SESSION_DELETE] = {on_session_delete, "SESSION_DELETE", sizeof(struct gr_session_request)},
    [GR_STORE_SESSION_LIST] = {on_session_list, "SESSION_LIST", sizeof(struct gr_session_request)},
    [GR_STORE_REF] = {on_ref, "REF", sizeof(struct gr_hold)},
    [GR_STORE_UNREF] = {on_unref, "UNREF", sizeof(struct gr_hold)},
    [GR_STORE_CONTAIN] = {on_contain, "CONTAIN", ANY_SIZE},
    [GR_STORE_ALIAS] = {on_alias, "ALIAS", sizeof(struct gr_alias)},
    [GR_STORE_NAME_SET] = {on_name_set, "NAME_SET", sizeof(struct gr_name)},
    [GR_STORE_NAME_GET] = {on_name_get, "NAME_GET", sizeof(struct gr_name)},
    [GR_STORE_NAME_LIST] = {on_name_list, "NAME_LIST", sizeof(struct gr_name)},
    [GR_STORE_HOLDS] = {on_holds, "HOLDS", sizeof(struct gr_holds)},
};

granary_err
request_handle(struct client *client, const struct gr_frame_in *frame)
{
    uint16_t op = frame->head.op;

    if (op >= sizeof requests / sizeof requests[0] || requests[op].handle == NULL) {
        return gr_fail(GRANARY_EPROTO, "unknown operation %u", op);
    }
    if (client->session == NULL && op != GR_STORE_HELLO) {
        return gr_fail(GRANARY_EPROTO, "%s before HELLO", requests[op].name);
    }
    if (client->waits != CLIENT_READY) {
        return gr_fail(GRANARY_EPROTO, "%s while another request is in progress", requests[op].name);
    }
    if (requests[op].size != ANY_SIZE && frame->head.size != requests[op].size) {
        return gr_fail(GRANARY_EPROTO, "%s of %u bytes", requests[op].name, frame->head.size);
    }
    /* What it put into its ring before it asked comes first. */
    if (client->session != NULL && !client->gone) {
        ring_drain_once(client);
    }
    return client->gone ? GRANARY_OK : requests[op].handle(client, frame);
}
