/*
 * Mappings: the index and data segments.
 *
 * A data segment that is gone may be unmapped although other threads look objects up. They touch its bytes only under
 * a lease, and no segment with a lease is gone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "object/client.h"

#define HUGE_PAGE ((uint64_t)2 << 20)

/* Address space may be limited although there is memory: then that is the remedy. */
static granary_err
no_mapping(uint64_t size_bytes)
{
    struct rlimit limit;

    if (errno == ENOMEM && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        return gr_fail(GRANARY_ENOMEM,
                       "%llu MiB of address space are more than this process may still have of its %llu: raise the "
                       "limit (ulimit -v)",
                       (unsigned long long)(size_bytes >> 20), (unsigned long long)(limit.rlim_cur >> 20));
    }
    return gr_fail_errno("map %llu bytes", (unsigned long long)size_bytes);
}

granary_err
segment_mmap(int fd, uint64_t size_bytes, int protection, void **ret_base)
{
    uint64_t spare = size_bytes < HUGE_PAGE ? 0 : HUGE_PAGE;
    struct stat st;
    char *reserved;
    char *base;
    size_t lead;

    if (fstat(fd, &st) < 0) {
        return gr_fail_errno("its file");
    }
    if ((uint64_t)st.st_size < size_bytes || size_bytes == 0) {
        return gr_fail(GRANARY_ECORRUPT, "its file has %llu of %llu bytes: some process has cut it",
                       (unsigned long long)st.st_size, (unsigned long long)size_bytes);
    }
    reserved = mmap(NULL, size_bytes + spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) {
        return no_mapping(size_bytes);
    }
    lead = spare == 0 ? 0 : (HUGE_PAGE - ((uintptr_t)reserved & (HUGE_PAGE - 1))) & (HUGE_PAGE - 1);
    base = FAULT_FAILS(client_map) ? MAP_FAILED
                                   : mmap(reserved + lead, size_bytes, protection, MAP_SHARED | MAP_FIXED, fd, 0);
    if (base == MAP_FAILED) {
        granary_err err = no_mapping(size_bytes);

        (void)munmap(reserved, size_bytes + spare);
        return err;
    }
    if (lead > 0) {
        (void)munmap(reserved, lead);
    }
    /* The kernel rounds the mapping up to pages; what is left of the reservation begins behind it. */
    size_bytes = (size_bytes + 4095) & ~(uint64_t)4095;
    if (spare > 0) {
        (void)munmap(base + size_bytes, spare - lead);
    }
    *ret_base = base;
    return GRANARY_OK;
}

static granary_err
fail_mapping(granary_err err, enum gr_map_kind kind, uint32_t number)
{
    switch (kind) {
    case GR_MAP_INDEX:
        return gr_fail_in(err, "the session's index");
    case GR_MAP_EVENTS:
        return gr_fail_in(err, "the session's events");
    case GR_MAP_COUNTERS:
        return gr_fail_in(err, "the session's counters");
    case GR_MAP_MUTABLES:
        return gr_fail_in(err, "the session's mutable tables");
    default:
        return gr_fail_in(err, "segment %u", number);
    }
}

/* Ask for a file of the session and map it; with the ticket held. ret_fd: may be NULL. */
static granary_err
map_asked(granary_client *client, enum gr_map_kind kind, uint32_t number, const char **ret_base, uint64_t *ret_size,
          int *ret_fd)
{
    int protection = kind == GR_MAP_COUNTERS || kind == GR_MAP_MUTABLES ? PROT_READ | PROT_WRITE : PROT_READ;
    struct gr_map request = {.kind = (uint32_t)kind, .number = number};
    struct gr_frame_in frame = {.fd_count = 0};
    struct gr_map_reply reply;
    granary_err err = socket_ask(client, GR_STORE_MAP, &request, sizeof request, EXISTS_WAIT_MS, &frame);
    void *base = NULL;

    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(&reply, frame.body, sizeof reply);
    err = segment_mmap(frame.fds[0], reply.size_bytes, protection, &base);
    err = err == GRANARY_OK ? GRANARY_OK : fail_mapping(err, kind, number);
    if (err == GRANARY_OK && ret_fd != NULL) {
        *ret_fd = frame.fds[0];
        frame.fds[0] = -1;
    }
    gr_frame_in_reset(&frame);
    if (err == GRANARY_OK) {
        *ret_base = base;
        *ret_size = reply.size_bytes;
    }
    return err;
}

/* ---- the index ---- */

granary_err
index_map(granary_client *client)
{
    const char *base;
    uint64_t size;
    granary_err err;

    socket_take(client);
    err = map_asked(client, GR_MAP_INDEX, 0, &base, &size, NULL);
    socket_give(client);
    if (err == GRANARY_OK && size != GR_INDEX_SPAN) {
        (void)munmap((void *)(uintptr_t)base, size);
        err = gr_fail(GRANARY_EPROTO, "the store's index has %llu bytes", (unsigned long long)size);
    }
    if (err == GRANARY_OK) {
        client->index = base;
    }
    return err;
}

/* ---- data segments ---- */

struct segment *
segment_entry(granary_client *client, uint32_t number)
{
    segment_leaf *place = &client->segments[number >> SEGMENT_LEAF_BITS];
    struct segment *leaf = atomic_load_explicit(place, memory_order_acquire);
    uint32_t end = atomic_load(&client->segment_end);

    if (leaf == NULL) {
        struct segment *fresh = calloc(SEGMENT_LEAF, sizeof *fresh);

        if (fresh == NULL) {
            return NULL;
        }
        if (atomic_compare_exchange_strong(place, &leaf, fresh)) {
            leaf = fresh;
        } else {
            free(fresh);
        }
    }
    while (end <= number && !atomic_compare_exchange_weak(&client->segment_end, &end, number + 1)) {
    }
    return &leaf[number & (SEGMENT_LEAF - 1)];
}

/* Whether a mapping reaches far enough; with maps_lock held. */
static bool
mapped_enough(granary_client *client, struct segment *segment, uint64_t min_bytes, const char **ret_base)
{
    bool enough;

    (void)pthread_mutex_lock(&client->maps_lock);
    *ret_base = atomic_load_explicit(&segment->base, memory_order_relaxed);
    enough = *ret_base != NULL && segment->size_bytes >= min_bytes;
    (void)pthread_mutex_unlock(&client->maps_lock);
    return enough;
}

granary_err
segment_map(granary_client *client, uint32_t number, uint64_t min_bytes, const char **ret_base)
{
    struct segment *segment = segment_entry(client, number);
    granary_err err = GRANARY_OK;
    const char *base;
    uint64_t size;

    if (segment == NULL) {
        return gr_fail(GRANARY_ENOMEM, "segment %u: out of memory", number);
    }
    if (!socket_take_patiently(client, EXISTS_WAIT_MS)) {
        return gr_fail(GRANARY_EUNREACHABLE,
                       "segment %u: the store does not answer: see `granary top --once`, and its log", number);
    }
    if (!mapped_enough(client, segment, min_bytes, &base)) {
        err = base != NULL ? gr_fail(GRANARY_EPROTO, "segment %u: an object reaches beyond its end", number)
                           : map_asked(client, GR_MAP_DATA, number, &base, &size, NULL);
        if (err == GRANARY_OK && size < min_bytes) {
            (void)munmap((void *)(uintptr_t)base, size);
            err = gr_fail(GRANARY_EPROTO, "segment %u: an object reaches beyond its end", number);
        }
        if (err == GRANARY_OK) {
            (void)pthread_mutex_lock(&client->maps_lock);
            segment->size_bytes = size;
            atomic_store_explicit(&segment->base, base, memory_order_release);
            (void)pthread_mutex_unlock(&client->maps_lock);
            atomic_fetch_add(&client->map_count, 1);
        }
    }
    socket_give(client);
    if (err == GRANARY_OK) {
        *ret_base = base;
    }
    return err;
}

granary_err
events_map(granary_client *client, const char **ret_base, uint64_t *ret_size)
{
    granary_err err;

    socket_take(client);
    err = map_asked(client, GR_MAP_EVENTS, 0, ret_base, ret_size, NULL);
    socket_give(client);
    return err;
}

granary_err
counters_map(granary_client *client, struct gr_counters **ret_counters)
{
    struct gr_counters *counters;
    granary_err err = GRANARY_OK;
    const char *base;
    uint64_t size;

    socket_take(client);
    counters = atomic_load(&client->counters);
    if (counters == NULL) {
        err = map_asked(client, GR_MAP_COUNTERS, 0, &base, &size, NULL);
        if (err == GRANARY_OK && size != sizeof *counters) {
            (void)munmap((void *)(uintptr_t)base, size);
            err = gr_fail(GRANARY_EPROTO, "the store's counters have %llu bytes", (unsigned long long)size);
        } else if (err == GRANARY_OK) {
            counters = (void *)(uintptr_t)base;
            atomic_store(&client->counters, counters);
        }
    }
    socket_give(client);
    if (err == GRANARY_OK) {
        *ret_counters = counters;
    }
    return err;
}

granary_err
gr_mutables_map(granary_client *client, uint32_t pages, struct gr_mutables_map *ret_map)
{
    granary_err err = gr_client_check(client);
    const char *base = NULL;
    uint64_t size = 0;
    int fd = -1;

    if (err == GRANARY_OK) {
        socket_take(client);
        err = map_asked(client, GR_MAP_MUTABLES, pages, &base, &size, &fd);
        socket_give(client);
    }
    if (err == GRANARY_OK && size < sizeof(struct gr_mutables) + pages * sizeof(struct gr_mutable)) {
        (void)munmap((void *)(uintptr_t)base, size);
        gr_fd_close(&fd);
        err = gr_fail(GRANARY_EPROTO, "the store's pages of mutable tables have %llu bytes", (unsigned long long)size);
    }
    if (err == GRANARY_OK) {
        void *at = (void *)(uintptr_t)base;

        *ret_map = (struct gr_mutables_map){
            .pages = (void *)((struct gr_mutables *)at + 1),
            .count = (uint32_t)((size - sizeof(struct gr_mutables)) / sizeof(struct gr_mutable)),
            .fd = fd,
            .base = at,
            .size = size,
        };
    }
    return err;
}

void
gr_mutables_unmap(struct gr_mutables_map *map)
{
    if (map->base != NULL) {
        (void)munmap(map->base, map->size);
        gr_fd_close(&map->fd);
        *map = (struct gr_mutables_map){.fd = -1};
    }
}

/* ---- unmapping ---- */

/* Forget the mappings of a segment that is gone. A room that is still ours is never gone. */
static void
segment_unmap(granary_client *client, struct segment *segment)
{
    struct room *room;

    (void)pthread_mutex_lock(&client->lock);
    room = segment->room;
    if (room != NULL && (room->ours || room->outstanding > 0)) {
        room = NULL;
    } else if (room != NULL) {
        room_forget_unretired(client, room);
        segment->room = NULL;
    }
    (void)pthread_mutex_unlock(&client->lock);
    (void)pthread_mutex_lock(&client->maps_lock);
    if (room != NULL) {
        (void)munmap(room->base, room->mapped_bytes);
        free(room);
        atomic_fetch_sub(&client->map_count, 1);
    }
    if (atomic_load_explicit(&segment->base, memory_order_relaxed) != NULL) {
        const char *base = atomic_exchange_explicit(&segment->base, NULL, memory_order_acq_rel);

        (void)munmap((void *)(uintptr_t)base, segment->size_bytes);
        atomic_fetch_sub(&client->map_count, 1);
    }
    (void)pthread_mutex_unlock(&client->maps_lock);
}

/* The next segments from *at on that have a mapping, at most count of them; with the ticket held. */
static uint32_t
segments_mapped(granary_client *client, uint64_t *at, uint32_t *numbers, uint32_t count)
{
    uint32_t end = atomic_load(&client->segment_end);
    uint32_t n = 0;

    (void)pthread_mutex_lock(&client->lock);
    for (; *at < end && n < count; (*at)++) {
        struct segment *leaf = atomic_load_explicit(&client->segments[*at >> SEGMENT_LEAF_BITS], memory_order_acquire);

        if (leaf == NULL) {
            *at |= SEGMENT_LEAF - 1;
        } else if (leaf[*at & (SEGMENT_LEAF - 1)].room != NULL ||
                   atomic_load_explicit(&leaf[*at & (SEGMENT_LEAF - 1)].base, memory_order_relaxed) != NULL) {
            numbers[n++] = (uint32_t)*at;
        }
    }
    (void)pthread_mutex_unlock(&client->lock);
    return n;
}

static void
unmap_dead(granary_client *client)
{
    uint32_t numbers[1024];
    uint64_t at = 0; /* one more than the last number there can be is not 0 */
    uint32_t count;

    socket_take(client);
    while ((count = segments_mapped(client, &at, numbers, 1024)) > 0) {
        struct gr_frame_in frame = {.fd_count = 0};
        uint32_t size = count * (uint32_t)sizeof numbers[0];

        if (socket_ask(client, GR_STORE_DEAD, numbers, size, REQUEST_TIMEOUT_MS, &frame) != GRANARY_OK) {
            break;
        }
        for (uint32_t i = 0; i < count && i < frame.head.size; i++) {
            struct segment *segment =
                ((const unsigned char *)frame.body)[i] == 1 ? segment_entry(client, numbers[i]) : NULL;

            if (segment != NULL) {
                segment_unmap(client, segment);
            }
        }
        gr_frame_in_reset(&frame);
    }
    socket_give(client);
}

void
segment_counted(granary_client *client)
{
    size_t limit = atomic_load(&client->map_limit);
    size_t count = atomic_load(&client->map_count);

    /* One thread moves the limit and cleans; others pass. */
    if (count <= limit || !atomic_compare_exchange_strong(&client->map_limit, &limit, SIZE_MAX)) {
        return;
    }
    unmap_dead(client);
    count = atomic_load(&client->map_count);
    atomic_store(&client->map_limit, count * 2 < MAPS_KEPT ? MAPS_KEPT : count * 2);
}

void
segment_fini(granary_client *client)
{
    if (client->index != NULL) {
        (void)munmap((void *)(uintptr_t)client->index, GR_INDEX_SPAN);
    }
    for (uint64_t i = 0; client->segments != NULL && i << SEGMENT_LEAF_BITS < atomic_load(&client->segment_end); i++) {
        struct segment *leaf = atomic_load_explicit(&client->segments[i], memory_order_relaxed);

        for (uint32_t j = 0; leaf != NULL && j < SEGMENT_LEAF; j++) {
            const char *base = atomic_load_explicit(&leaf[j].base, memory_order_relaxed);

            if (base != NULL) {
                (void)munmap((void *)(uintptr_t)base, leaf[j].size_bytes);
            }
            if (leaf[j].room != NULL) {
                (void)munmap(leaf[j].room->base, leaf[j].room->mapped_bytes);
                free(leaf[j].room);
            }
        }
        free(leaf);
    }
    if (client->segments != NULL) {
        (void)munmap(client->segments, SEGMENT_TOP * sizeof *client->segments);
    }
}
