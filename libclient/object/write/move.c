/* Where objects lie: moves between levels, prefetch, hints. */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "object/read/probe.h"

#define LEVELS (GRANARY_LEVEL_GPU | GRANARY_LEVEL_MEMORY | GRANARY_LEVEL_DISK | GRANARY_LEVEL_REMOTE)
/* The socket is lent to other threads this often while the store moves something. */
#define SLICE_MS 250

#define MOVE_BACKGROUND 1u

granary_err
granary_object_move(granary_client *client, granary_id id, granary_levels to, granary_levels from, int timeout_ms)
{
    int64_t deadline_ns = gr_deadline_ns(timeout_ms);
    struct gr_move move = {.to = to, .from = from, .flags = timeout_ms == 0 ? MOVE_BACKGROUND : 0};
    granary_err err = gr_client_check_wait(client, timeout_ms);
    int64_t left;
    bool begun;

    if (err != GRANARY_OK) {
        return err;
    }
    if (((to | from) & ~LEVELS) != 0 || (to & from) != 0 || (to | from) == 0) {
        return gr_fail(GRANARY_EINVAL, "object %s: to %u, from %u: sets of levels that differ are expected",
                       id_text(id), to, from);
    }
    memcpy(move.id, id.bytes, sizeof move.id);
    begun = wait_begin(client, GR_WAIT_object, &id, 0);
    do {
        left = deadline_ns == INT64_MAX ? SLICE_MS : gr_left_ms(deadline_ns);
        move.timeout_ms = left < SLICE_MS ? left : SLICE_MS;
        err = socket_request(client, GR_STORE_MOVE, &move, sizeof move, NULL);
    } while (err == GRANARY_ETIMEDOUT && left > SLICE_MS);
    wait_end(client, begun);
    return err;
}

granary_err
granary_object_prefetch(granary_client *client, const granary_id *ids, size_t count)
{
    struct gr_move move = {.to = GRANARY_LEVEL_MEMORY, .flags = MOVE_BACKGROUND};
    granary_err err = gr_client_check(client);

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        struct slot_copy copy;

        /* One that leaves memory at this moment is asked for as well: the store sees it when it has left. */
        if (!slot_find(client, ids[i], &copy) || GR_WORD_STATE(copy.word) == GR_SLOT_SEALED) {
            continue;
        }
        memcpy(move.id, ids[i].bytes, sizeof move.id);
        err = socket_request(client, GR_STORE_MOVE, &move, sizeof move, NULL);
        /* What cannot be brought back is told to who gets it; without a store nothing more can be asked. */
        err = err == GRANARY_EUNREACHABLE || err == GRANARY_EPROTO ? err : GRANARY_OK;
    }
    return err;
}

granary_err
granary_object_hint(granary_client *client, granary_id id, int importance, int next_use)
{
    struct gr_hint hint = {.importance = importance, .next_use = next_use};
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK) {
        return err;
    }
    if (importance < -1 || importance > 255 || next_use < -1 || next_use > 255) {
        return gr_fail(GRANARY_EINVAL, "object %s: importance and next use are 0 to 255, or -1", id_text(id));
    }
    memcpy(hint.id, id.bytes, sizeof hint.id);
    return socket_request(client, GR_STORE_HINT, &hint, sizeof hint, NULL);
}
