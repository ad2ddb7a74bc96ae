/* Requests about objects, room and levels: each is checked, done, and answered. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "store/base/shmfile.h"
#include "store/client/client.h"
#include "store/client/request.h"
#include "store/core/answer.h"
#include "store/core/events.h"
#include "store/core/shared.h"
#include "store/flow/limits.h"
#include "store/flow/move.h"
#include "store/flow/queue.h"
#include "store/flow/read/restore.h"
#include "store/flow/read/slicing.h"
#include "store/object/object.h"
#include "store/segment/segment.h"

granary_err
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
    const struct segment *segment = store_segment(client->store, number);

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
    case GR_MAP_MUTABLES:
        *ret_kind = "shared memory";
        return shared_bytes(session, map);
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
    if (shared_is(map)) {
        return shared_descriptor(client->session, map, ret_err);
    }
    shmfile_name(name, prefix, client->session->number, kind, SHMFILE_NO_NUMBER);
    return shmfile_open_readonly(name, ret_err);
}

granary_err
on_map(struct client *client, const struct gr_frame_in *frame)
{
    struct session *session = client->session;
    struct gr_map_reply reply;
    struct gr_map map;
    const char *kind;
    granary_err err;
    int fd;

    memcpy(&map, frame->body, sizeof map);
    err = map.kind == GR_MAP_EVENTS ? events_open_session(session)
          : shared_is(&map)         ? shared_open(session, &map)
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

static struct gr_object_ref
ref_of(const struct gr_frame_in *frame, granary_id *ret_id)
{
    struct gr_object_ref ref;

    memcpy(&ref, frame->body, sizeof ref);
    memcpy(ret_id->bytes, ref.id, sizeof ret_id->bytes);
    return ref;
}

granary_err
on_restore(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_slot *slot;
    granary_id id;

    if (ref_of(frame, &id).request == GR_RESTORE_ANEW) {
        restore_anew(client->session, id);
    }
    return request_answer(client, frame, restore_request(client->session, id, &slot), NULL, 0);
}

granary_err
on_dead(struct client *client, const struct gr_frame_in *frame)
{
    unsigned char gone[1024];
    size_t numbers = frame->head.size / sizeof(uint32_t);

    for (size_t i = 0; i < numbers; i++) {
        uint32_t number;

        memcpy(&number, (const char *)frame->body + i * sizeof number, sizeof number);
        gone[i] = segment_of(client, number) == NULL;
    }
    return request_answer(client, frame, GRANARY_OK, gone, numbers);
}

granary_err
on_move(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_move move;

    memcpy(&move, frame->body, sizeof move);
    (void)request_resolve(client, move.id);
    return move_request(client, &frame->head, &move);
}

granary_err
on_slice(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_slice slice;

    memcpy(&slice, frame->body, sizeof slice);
    (void)request_resolve(client, slice.id);
    return slice_request(client, &frame->head, &slice);
}

granary_err
on_ping(struct client *client, const struct gr_frame_in *frame)
{
    return request_answer(client, frame, GRANARY_OK, NULL, 0);
}

/* The supervisor, or who started the store by hand: nobody who merely uses it. */
granary_err
on_limits(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_limits limits;
    granary_err err = client->uid == geteuid() && client->pid == getppid()
                          ? GRANARY_OK
                          : gr_fail(GRANARY_EPERM, "limits: the process that started the store may change them alone: "
                                                   "use `granary reload`");

    memcpy(&limits, frame->body, sizeof limits);
    return request_answer(client, frame, err == GRANARY_OK ? limits_set(client->store, &limits) : err, NULL, 0);
}

granary_err
on_hint(struct client *client, const struct gr_frame_in *frame)
{
    struct gr_hint hint;
    granary_err err;
    granary_id id;

    memcpy(&hint, frame->body, sizeof hint);
    id = request_resolve(client, hint.id);
    err = hint.importance < -1 || hint.importance > 255 || hint.next_use < -1 || hint.next_use > 255
              ? gr_fail(GRANARY_EINVAL, "importance and next use are 0 to 255, or -1")
              : object_hint(client->session, id, hint.importance, hint.next_use);
    return request_answer(client, frame, err, NULL, 0);
}
