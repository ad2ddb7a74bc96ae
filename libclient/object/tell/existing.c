/* Objects that were there when a subscription began: told first, as if they were sealed now. */
#include <stdlib.h>

#include "base/error.h"
#include "object/tell/subscription.h"

enum { PAGE = 256 };

static granary_err
next_page(granary_subscription *subscription)
{
    static const granary_object_filter filter = {.states = 1u << GRANARY_OBJECT_SEALED | 1u << GRANARY_OBJECT_SPILLED};
    struct existing *existing = &subscription->existing;
    granary_err err;

    if (existing->infos == NULL) {
        existing->infos = calloc(PAGE, sizeof *existing->infos);
    }
    if (existing->infos == NULL) {
        return gr_fail(GRANARY_ENOMEM, "subscription: out of memory");
    }
    existing->at = 0;
    err = granary_object_list_page(subscription->client, &filter, &existing->cursor, PAGE, existing->infos,
                                   &existing->count);
    existing->wanted = err != GRANARY_OK || existing->cursor != 0;
    return err;
}

granary_err
existing_take(granary_subscription *subscription, bool *ret_there, granary_event *ret_event)
{
    struct existing *existing = &subscription->existing;
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && existing->at == existing->count && existing->wanted) {
        err = next_page(subscription);
    }
    *ret_there = err == GRANARY_OK && existing->at < existing->count;
    if (*ret_there) {
        const granary_object_info *info = &existing->infos[existing->at++];

        *ret_event = (granary_event){.kind = GRANARY_EVENT_SEAL,
                                     .id = info->id,
                                     .size = info->data_size,
                                     .time_ns = info->sealed_at_ms * 1000000};
    } else if (err == GRANARY_OK) {
        existing_free(existing);
    }
    return err;
}

void
existing_free(struct existing *existing)
{
    free(existing->infos);
    *existing = (struct existing){.wanted = false};
}
