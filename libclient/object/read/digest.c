/* Digests: computed from the bytes where they lie. */
#include "base/id.h"
#include "object/client.h"

granary_err
granary_object_digest(granary_client *client, granary_id id, int timeout_ms, char ret_text[33])
{
    granary_view view;
    granary_err err = granary_object_get(client, id, timeout_ms, &view);

    if (err == GRANARY_OK) {
        gr_hash128_format(view.data, view.data_size, ret_text);
        granary_object_release(client, &view);
    }
    return err;
}
