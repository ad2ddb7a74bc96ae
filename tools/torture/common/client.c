/* Connecting with patience, and what the store's account must say. */
#include "torture/common/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

#define SAID       16    /* objects that are left */
#define HEAD_BYTES 96    /* ... and of each of them */
#define GET_MS     5000  /* ... that is on disk */
#define EMPTY_MS   10000 /* for the store to take note of deletions */

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

static void
say_bytes(const char *what, const void *bytes, uint64_t size)
{
    const unsigned char *at = bytes;

    (void)fprintf(stderr, ", %s ", what);
    for (uint64_t i = 0; i < size && i < HEAD_BYTES; i++) {
        (void)fprintf(stderr, at[i] >= ' ' && at[i] < 127 && at[i] != '\\' ? "%c" : "\\x%02x", at[i]);
    }
}

/* How it begins tells who made it. */
static void
say_head(granary_client *client, granary_id id)
{
    granary_view view;

    if (granary_object_get(client, id, GET_MS, &view) == GRANARY_OK) {
        say_bytes("meta", view.meta, view.meta_size);
        say_bytes("bytes", view.data, view.data_size);
        granary_object_release(client, &view);
    }
    (void)fputc('\n', stderr);
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
        (void)fprintf(stderr, "torture: left: object %s, %" PRIu64 " bytes, %s%s%s%u pins", id, infos[i].data_size,
                      infos[i].on_disk ? "on disk, " : "", infos[i].counted ? "counted, " : "",
                      infos[i].dropped ? "dropped, " : "", infos[i].pins);
        say_head(client, infos[i].id);
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
