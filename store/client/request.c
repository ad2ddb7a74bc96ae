/* The dispatch of requests: what is the same for all of them is checked, then their handler is called. */
#include "store/client/request.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "store/client/client.h"
#include "store/core/answer.h"
#include "store/object/session.h"
#include "wire/requests.h"

static request_handler *const handlers[] = {
#define REQUEST(name, number, handler, ...) [number] = on_##handler,
#include "contract/store_requests.def"
#undef REQUEST
};

granary_err
request_answer(struct client *client, const struct gr_frame_in *frame, granary_err err, const void *body, size_t size)
{
    if (err != GRANARY_OK) {
        return client_answer_error(client, &frame->head, err);
    }
    /* Who has the answer finds in the account what it was for. */
    if (client->session != NULL) {
        session_publish(client->session);
    }
    client_answer(client, &frame->head, body, size, NULL, 0);
    return GRANARY_OK;
}

granary_id
request_resolve(const struct client *client, unsigned char bytes[GRANARY_ID_BYTES])
{
    granary_id id;

    memcpy(id.bytes, bytes, sizeof id.bytes);
    id = index_resolve(&client->session->index, id);
    memcpy(bytes, id.bytes, sizeof id.bytes);
    return id;
}

granary_err
request_handle(struct client *client, const struct gr_frame_in *frame)
{
    const struct gr_store_request *request = gr_store_request(frame->head.op);
    granary_err err;

    if (request == NULL) {
        return gr_fail(GRANARY_EPROTO, "unknown operation %u", frame->head.op);
    }
    if ((client->session == NULL) != request->greets) {
        return gr_fail(GRANARY_EPROTO, request->greets ? "%s twice" : "%s before HELLO", request->name);
    }
    if (client->waits != CLIENT_READY) {
        return gr_fail(GRANARY_EPROTO, "%s while another request is in progress", request->name);
    }
    if (!gr_request_size_fits(&request->body, frame->head.size)) {
        return gr_fail(GRANARY_EPROTO, "%s of %u bytes", request->name, frame->head.size);
    }
    /* What it put into its ring before it asked comes first. */
    if (client->session != NULL) {
        ring_drain_once(client);
    }
    err = client->gone ? GRANARY_OK : handlers[frame->head.op](client, frame);
    assert(client->waits == CLIENT_READY || request->waits);
    return err;
}
