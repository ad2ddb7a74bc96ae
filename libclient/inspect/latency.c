/*
 * Latencies: the root has the store's, and those of clients that have gone; lease pages have those of clients that are
 * there. While the store adds a client's to the root, both are looked at again, so that none counts twice or not at all.
 */
#include "inspect/latency.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/barrier.h"
#include "base/error.h"
#include "inspect/inspector.h"

/* Then what was read last counts: a store may have been killed while it added one. */
#define TRIES 16

static void
add(struct gr_latency *to, const struct gr_latency *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i].sum_ns += from[i].sum_ns;
        for (size_t b = 0; b < GR_LATENCY_BUCKETS; b++) {
            to[i].buckets[b] += from[i].buckets[b];
        }
    }
}

/* A page that is gone, or was made without them, has none. */
static void
add_clients(const struct granary_inspector *inspector, const struct client_copy *client, struct gr_latency *latencies)
{
    struct gr_latency timed[GR_LATENCY_CLIENTS];
    struct file file = FILE_NONE;
    char name[96];

    file_name(name, client->session, "lease", client->number);
    if (file_open(inspector, name, &file) == GRANARY_OK &&
        file.size >= offsetof(struct gr_lease_page, latencies) + sizeof timed &&
        file_read(&file, offsetof(struct gr_lease_page, latencies), timed, sizeof timed) == GRANARY_OK) {
        add(latencies, timed, GR_LATENCY_CLIENTS);
    }
    file_close(&file);
}

static granary_err
look(const struct granary_inspector *inspector, const struct file *root, struct gr_latency *latencies)
{
    struct client_copy *clients = NULL;
    size_t count = 0;
    granary_err err =
        file_read(root, offsetof(struct gr_root, latencies), latencies, GR_LATENCY_COUNT * sizeof *latencies);

    if (err == GRANARY_OK) {
        err = root_clients(inspector, &clients, &count);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        add_clients(inspector, &clients[i], latencies);
    }
    free(clients);
    return err;
}

granary_err
gr_inspect_latencies(granary_inspector *inspector, struct gr_latency ret_latencies[GR_LATENCY_COUNT])
{
    struct gr_latency latencies[GR_LATENCY_COUNT];
    struct file file = FILE_NONE;
    uint64_t before, after = 1;
    granary_err err = file_open(inspector, "root", &file);

    if (err == GRANARY_OK && file.size < sizeof(struct gr_root)) {
        err = gr_fail(GRANARY_EUNSUPPORTED, "root: it was made by an earlier release, which times nothing");
    }
    for (int tries = 0; tries < TRIES && err == GRANARY_OK; tries++) {
        err = file_read(&file, offsetof(struct gr_root, latency_turn), &before, sizeof before);
        barrier_full();
        err = err == GRANARY_OK ? look(inspector, &file, latencies) : err;
        barrier_full();
        err = err == GRANARY_OK ? file_read(&file, offsetof(struct gr_root, latency_turn), &after, sizeof after) : err;
        if (before == after && after % 2 == 0) {
            break;
        }
    }
    file_close(&file);
    if (err == GRANARY_OK) {
        memcpy(ret_latencies, latencies, sizeof latencies);
    }
    return err;
}
