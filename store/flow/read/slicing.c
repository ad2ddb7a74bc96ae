/* Slices: found by their id, restored like objects, and pruned when their parent goes. */
#include "store/flow/read/slicing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/core/answer.h"
#include "store/flow/read/restore.h"
#include "store/object/object.h"

static granary_id
id_of(const struct index_object *parent, uint64_t from, uint64_t size)
{
    char text[GRANARY_ID_TEXT + 1];
    char range[80];

    granary_id_format(parent->id, text);
    (void)snprintf(range, sizeof range, "slice %" PRIx64 " %" PRIx64 " %" PRIx64, parent->stamp, from, size);
    return granary_id_from_name(text, range);
}

static void
answer(struct client *client, const struct gr_frame *request, granary_id id, uint64_t from, uint64_t size)
{
    struct gr_slice_reply reply = {.offset = from, .length = size};

    memcpy(reply.id, id.bytes, sizeof reply.id);
    client_answer(client, request, &reply, sizeof reply, NULL, 0);
}

granary_err
slice_request(struct client *client, const struct gr_frame *request, const struct gr_slice *slice)
{
    struct session *session = client->session;
    struct index_object parent;
    struct gr_slot *slot, *there;
    char text[GRANARY_ID_TEXT + 1];
    uint64_t footprint, from, size;
    granary_id id;
    granary_err err;

    memcpy(id.bytes, slice->id, sizeof id.bytes);
    granary_id_format(id, text);
    slot = index_find(&session->index, id);
    if (slot == NULL) {
        return client_answer_error(client, request, object_not_found(id));
    }
    if (GR_WORD_STATE(slot_word(slot)) != GR_SLOT_SPILLED) {
        return client_answer_error(client, request, gr_fail(GRANARY_ESTATE, "object %s: it is in memory", text));
    }
    parent = slot_object(slot);
    footprint = slot_footprint(slot);
    if (slice->length == 0 || slice->offset >= footprint || slice->length > footprint - slice->offset) {
        return client_answer_error(client, request,
                                   gr_fail(GRANARY_EINVAL, "object %s: no bytes %" PRIu64 " to %" PRIu64, text,
                                           slice->offset, slice->offset + slice->length));
    }
    level_frame_range(footprint, slice->offset, slice->length, &from, &size);
    id = id_of(&parent, from, size);
    there = index_find(&session->index, id);
    if (there != NULL && (slot_flags(there) & GR_FLAG_SLICE) == 0) {
        return client_answer_error(client, request,
                                   gr_fail(GRANARY_EEXIST, "object %s: an object has its slice's id", text));
    }
    if (there != NULL) {
        answer(client, request, id, from, size);
        return GRANARY_OK;
    }
    err = restore_request_slice(session, slot, id, from, size);
    if (err != GRANARY_OK) {
        return client_answer_error(client, request, err);
    }
    client->request = *request;
    client->waits = CLIENT_WAITS_SLICE;
    client->slice_id = id;
    return GRANARY_OK;
}

void
slice_answer(struct restore *restore, granary_err err)
{
    char message[512];

    (void)snprintf(message, sizeof message, "%s", granary_error_message());
    list_each (struct client, client, &restore->session->clients, in_session) {
        if (client->waits != CLIENT_WAITS_SLICE || memcmp(&client->slice_id, &restore->id, sizeof restore->id) != 0) {
            continue;
        }
        client->waits = CLIENT_READY;
        if (err == GRANARY_OK) {
            answer(client, &client->request, restore->id, restore->from, restore->footprint);
        } else {
            (void)client_answer_error(client, &client->request, gr_fail(err, "%s", message));
        }
    }
}
