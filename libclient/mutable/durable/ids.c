/* Listings of the index by a prefix. */
#include "mutable/durable/ids.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"

#define AT_ONCE 64

granary_err
ids_walk(granary_client *client, uint64_t word, ids_take *take, void *context)
{
    granary_object_info *infos = calloc(AT_ONCE, sizeof *infos);
    char prefix[GRANARY_ID_TEXT + 1];
    const granary_object_filter filter = {.prefix = prefix};
    uint64_t cursor = 0;
    granary_err err = infos == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    granary_id_format(gr_id_from_words(word, 0), prefix);
    prefix[GRANARY_ID_TEXT / 2] = '\0';
    do {
        size_t count = 0;

        err = err == GRANARY_OK ? granary_object_list_page(client, &filter, &cursor, AT_ONCE, infos, &count) : err;
        for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
            err = take(context, infos[i].id);
        }
    } while (err == GRANARY_OK && cursor != 0);
    free(infos);
    return err;
}
