/* Delete, pin, unpin. */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "granary/hold.h"
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

granary_err
granary_object_pin(granary_client *client, granary_id id, granary_pin_scope scope)
{
    granary_err err = gr_client_check(client);
    struct lease lease;

    if (err != GRANARY_OK) {
        return err;
    }
    if (scope != GRANARY_PIN_CLIENT && scope != GRANARY_PIN_SESSION) {
        return gr_fail(GRANARY_EINVAL, "object %s: no such pin scope: %d", id_text(id), (int)scope);
    }
    /* Under a lease the object is in memory and stays: the store answers at once, and others may use the socket. */
    err = lease_wait(client, id, true, 0, &lease);
    if (err != GRANARY_OK) {
        return err;
    }
    err = socket_ask_object(client, GR_STORE_PIN, id, lease.serial, (uint32_t)scope, REQUEST_TIMEOUT_MS);
    lease_end(client, lease.serial, lease.handle);
    return err;
}

granary_err
granary_object_unpin(granary_client *client, granary_id id, granary_pin_scope scope)
{
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK) {
        return err;
    }
    if (scope != GRANARY_PIN_CLIENT && scope != GRANARY_PIN_SESSION) {
        return gr_fail(GRANARY_EINVAL, "object %s: no such pin scope: %d", id_text(id), (int)scope);
    }
    return socket_ask_object(client, GR_STORE_UNPIN, id, 0, (uint32_t)scope, REQUEST_TIMEOUT_MS);
}
