/* Delete. */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "object/client.h"

granary_err
granary_object_delete(granary_client *client, granary_id id, int flags)
{
    bool wait = (flags & GRANARY_NOWAIT) == 0;
    struct gr_ring_entry entry = {.op = GR_RING_DELETE};
    struct ring_answer answer = {.done = false};
    granary_err err = gr_client_check(client);
    uint64_t position;

    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(entry.id, id.bytes, sizeof entry.id);
    (void)pthread_mutex_lock(&client->lock);
    err = ring_push(client, &entry, wait ? &answer : NULL, true, &position);
    (void)pthread_mutex_unlock(&client->lock);
    if (err != GRANARY_OK || !wait) {
        return err;
    }
    err = ring_wait(client, position, &answer);
    if (answer.done && err != GRANARY_OK) {
        return gr_fail(err, "object %s: %s", id_text(id), granary_error_text(err));
    }
    return err;
}
