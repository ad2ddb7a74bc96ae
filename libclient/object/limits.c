/* One request. */
#include "object/limits.h"

#include "object/client.h"

granary_err
gr_store_limits(granary_client *client, const struct gr_limits *limits)
{
    struct gr_frame_in frame = {.fd_count = 0};
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK) {
        return err;
    }
    socket_take(client);
    err = socket_ask(client, GR_STORE_LIMITS, limits, sizeof *limits, REQUEST_TIMEOUT_MS, &frame);
    gr_frame_in_reset(&frame);
    socket_give(client);
    return err;
}
