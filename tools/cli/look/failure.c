/* Error objects are small and empty; the store is connected to when the first of them turns up. */
#include "cli/look/failure.h"
#include "cli/print/show.h"

#include "contract/error_object.h"

/* A listing does not wait for a store that is stopped. */
#define CONNECT_MS 300

bool
failures_read(struct failures *failures, const struct look *look, const granary_object_info *info, granary_err *ret_err,
              char text[SHOW_TEXT])
{
    granary_connect_options options = {.instance = look->cli->instance,
                                       .session = look->cli->session,
                                       .timeout_ms = CONNECT_MS,
                                       .reconnect_ms = -1,
                                       .existing = true};

    if (info->data_size != 0 || info->meta_size < sizeof(struct gr_error_object) || look->copy != NULL ||
        (info->state != GRANARY_OBJECT_SEALED && info->state != GRANARY_OBJECT_SPILLED)) {
        return false;
    }
    if (!failures->tried) {
        failures->tried = true;
        (void)granary_connect(&options, &failures->client);
    }
    return failures->client != NULL &&
           granary_object_error(failures->client, info->id, ret_err, text, SHOW_TEXT) == GRANARY_OK;
}

void
failures_close(struct failures *failures)
{
    granary_disconnect(failures->client);
    *failures = (struct failures){.tried = false};
}
