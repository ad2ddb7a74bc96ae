/* Memory is given up by who asks for that: the session's objects that are least worth it go to disk. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "object/client.h"

enum { PAGE = 1024 };

struct victims {
    granary_object_info *infos;
    size_t count, room;
};

static granary_err
add_page(granary_client *client, uint64_t *cursor, struct victims *victims)
{
    static const granary_object_filter filter = {.states = 1u << GRANARY_OBJECT_SEALED};
    granary_object_info *grown;
    granary_object_info *page;
    size_t count = 0;
    granary_err err;

    if (victims->room - victims->count < PAGE) {
        victims->room = victims->room * 2 + PAGE;
        grown = reallocarray(victims->infos, victims->room, sizeof *grown);
        if (grown == NULL) {
            return gr_fail(GRANARY_ENOMEM, "evict: out of memory");
        }
        victims->infos = grown;
    }
    page = victims->infos + victims->count;
    err = granary_object_list_page(client, &filter, cursor, PAGE, page, &count);
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        victims->infos[victims->count] = page[i];
        victims->count += page[i].pins == 0;
    }
    return err;
}

/* The least important first; of those, what is needed last; of those, the oldest. */
static int
compare(const void *a, const void *b)
{
    const granary_object_info *one = a;
    const granary_object_info *other = b;
    int importance = (one->importance > other->importance) - (one->importance < other->importance);
    int next_use = (one->next_use < other->next_use) - (one->next_use > other->next_use);
    int sealed = (one->sealed_at_ms > other->sealed_at_ms) - (one->sealed_at_ms < other->sealed_at_ms);

    return importance != 0 ? importance : next_use != 0 ? next_use : sealed;
}

granary_err
granary_evict(granary_client *client, uint64_t bytes, int timeout_ms, uint64_t *ret_bytes)
{
    int64_t deadline_ns = gr_deadline_ns(timeout_ms);
    granary_err err = gr_client_check_wait(client, timeout_ms);
    struct victims victims = {.infos = NULL};
    uint64_t cursor = 0;

    *ret_bytes = 0;
    do {
        err = err == GRANARY_OK ? add_page(client, &cursor, &victims) : err;
    } while (err == GRANARY_OK && cursor != 0);
    if (err == GRANARY_OK && victims.count > 1) {
        qsort(victims.infos, victims.count, sizeof *victims.infos, compare);
    }
    for (size_t i = 0; err == GRANARY_OK && i < victims.count && *ret_bytes < bytes; i++) {
        const granary_object_info *info = &victims.infos[i];

        err = granary_object_move(client, info->id, 0, GRANARY_LEVEL_MEMORY, gr_left_ms(deadline_ns));
        *ret_bytes += err == GRANARY_OK ? info->data_size + info->meta_size : 0;
        if (err == GRANARY_EBUSY || err == GRANARY_ENOENT) { /* leased, pinned or deleted meanwhile */
            err = GRANARY_OK;
        }
    }
    free(victims.infos);
    return err;
}
