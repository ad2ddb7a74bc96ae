/* Connecting with patience, and what the store's account must say. */
#include "torture/common/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

#define SAID     16    /* objects that are left */
#define EMPTY_MS 10000 /* for the store to take note of deletions */

granary_err
client_connect(const char *instance, int patience_ms, granary_client **ret_client)
{
    const granary_connect_options options = {
        .instance = instance, .tag = "torture", .timeout_ms = patience_ms, .reconnect_ms = patience_ms};
    int64_t deadline = gr_deadline_ns(patience_ms);
    granary_err err;

    while ((err = granary_connect(&options, ret_client)) == GRANARY_EUNREACHABLE && gr_now_ns() < deadline) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return err;
}

bool
client_account(granary_client *client, granary_store_stat *ret_stat)
{
    return granary_store_stat_get(client, ret_stat) == GRANARY_OK &&
           ret_stat->free_bytes + ret_stat->reserved_bytes + ret_stat->writing_bytes + ret_stat->sealed_bytes +
                   ret_stat->retiring_bytes + ret_stat->pooled_bytes ==
               ret_stat->capacity_bytes;
}

size_t
client_say_objects(granary_client *client)
{
    granary_object_info *infos = NULL;
    size_t count = 0;

    if (granary_object_list(client, &infos, &count) != GRANARY_OK) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i < count && i < SAID; i++) {
        char id[GRANARY_ID_TEXT + 1];

        granary_id_format(infos[i].id, id);
        (void)fprintf(stderr, "torture: left: object %s, %" PRIu64 " bytes, %s%s%s%u pins\n", id, infos[i].data_size,
                      infos[i].on_disk ? "on disk, " : "", infos[i].counted ? "counted, " : "",
                      infos[i].dropped ? "dropped, " : "", infos[i].pins);
    }
    free(infos);
    return count;
}

bool
client_await_empty(granary_client *client)
{
    int64_t deadline = gr_deadline_ns(EMPTY_MS);
    granary_store_stat stat = {0};

    while (!client_account(client, &stat) || stat.objects + stat.sealed_bytes + stat.disk_bytes > 0) {
        if (gr_now_ns() > deadline) {
            (void)fprintf(stderr,
                          "torture: %" PRIu64 " objects, %" PRIu64 " bytes in memory, %" PRIu64
                          " on disk after all were deleted\n",
                          stat.objects, stat.sealed_bytes, stat.disk_bytes);
            (void)client_say_objects(client);
            return false;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return true;
}
