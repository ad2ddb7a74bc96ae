/* A table's objects, from the first byte to the last one that is written. */
#include "mutable/core/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "object/object.h"

/* Never evicted, from the moment it is sealed: a pin comes a moment later, and again a moment after a store has died. What
 * left memory in between would come back elsewhere, and its writer write where nobody reads. */
#define STAYS 255

granary_id
kept_id(granary_id table, enum gr_mutable_object kind, uint32_t lane, uint64_t number)
{
    return gr_id_of_part(table, kind, lane, number);
}

/* The owner of a table's references. */
static void
kept_owner(granary_id table, char ret_owner[GRANARY_TEXT_MAX + 1])
{
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(table, text);
    (void)snprintf(ret_owner, GRANARY_TEXT_MAX + 1, "table:%s", text);
}

granary_err
kept_create(granary_client *client, granary_id id, uint64_t data_size, uint64_t meta_size, int timeout_ms,
            granary_buffer *ret_buffer)
{
    const granary_object_options options = {.counted = true, .importance = STAYS, .timeout_ms = timeout_ms};

    return granary_object_create_with(client, id, data_size, meta_size, &options, ret_buffer);
}

void
kept_let_leave(granary_client *client, granary_id id)
{
    /* An error leaves it in memory to the end of the table. */
    (void)granary_object_hint(client, id, 0, -1);
}

granary_err
kept_seal(granary_client *client, granary_id table, granary_buffer *buffer, struct kept *ret_kept)
{
    struct kept kept = {.client = client,
                        .id = buffer->id,
                        .data = buffer->data,
                        .meta = buffer->meta,
                        .size = buffer->data_size,
                        .meta_size = buffer->meta_size,
                        .segment = buffer->segment,
                        .is_open = true};
    granary_err err = gr_buffer_keep(client, buffer);

    if (err != GRANARY_OK) {
        granary_object_abort(client, buffer);
        return err;
    }
    err = granary_object_seal(client, buffer);
    err = err == GRANARY_OK ? kept_refer(client, table, kept.id) : err;
    err = err == GRANARY_OK ? granary_pin(client, kept.id, GRANARY_PIN_CLIENT, "written", &kept.pin) : err;
    if (err != GRANARY_OK) {
        gr_buffer_let_go(client, kept.segment);
        kept_let_leave(client, kept.id);
        return err;
    }
    *ret_kept = kept;
    return GRANARY_OK;
}

void
kept_close(struct kept *kept)
{
    if (kept->is_open) {
        /* An error leaves the pin to the end of the client. */
        (void)granary_unpin(kept->client, kept->pin);
        kept_let_leave(kept->client, kept->id);
        gr_buffer_let_go(kept->client, kept->segment);
        kept->is_open = false;
    }
}

granary_err
kept_refer(granary_client *client, granary_id table, granary_id id)
{
    char owner[GRANARY_TEXT_MAX + 1];

    kept_owner(table, owner);
    return granary_reference(client, id, owner, NULL);
}

void
kept_unrefer(granary_client *client, granary_id table, granary_id id)
{
    char owner[GRANARY_TEXT_MAX + 1];

    kept_owner(table, owner);
    /* An error leaves it to the end of the table. */
    (void)granary_unreference(client, id, owner);
}

granary_err
kept_drop_all(granary_client *client, granary_id table)
{
    char owner[GRANARY_TEXT_MAX + 1];
    granary_hold *holds = NULL;
    size_t count = 0;
    granary_err err = granary_holds(client, NULL, &holds, &count);

    kept_owner(table, owner);
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        if (holds[i].kind == GRANARY_HOLD_REFERENCE && strcmp(holds[i].text, owner) == 0) {
            err = granary_unreference(client, holds[i].id, owner);
            err = err == GRANARY_ENOENT ? GRANARY_OK : err; /* somebody else deletes the table, too */
        }
    }
    free(holds);
    return err;
}
