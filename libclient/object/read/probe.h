/*
 * The index as this process reads it: mapped once, for good. No lock, no system call.
 *
 * A probe runs within the page its directory entry leads to. What it finds by its id is right; that it found nothing is
 * right as long as the entry is still the same.
 */
#ifndef OBJECT_READ_PROBE_H
#define OBJECT_READ_PROBE_H

#include "object/client.h"

/* So many aliases in a row are followed. */
#define ALIAS_HOPS 8

/* A page, and what led there. */
struct probe {
    const _Atomic uint64_t *place; /* in the directory */
    uint64_t entry;                /* what was there */
    const struct gr_slot *page;
};

static inline struct probe
probe_begin(const granary_client *client, uint32_t prefix)
{
    uint32_t depth = atomic_load_explicit(&client->control->depth, memory_order_acquire) % (GR_INDEX_MAX_DEPTH + 1);
    const _Atomic uint64_t *directory = (const void *)(client->index + GR_INDEX_DIRECTORY_AT);
    const struct gr_slot *pages = (const void *)(client->index + GR_INDEX_PAGES_AT);
    struct probe probe = {.place = &directory[prefix & ((1u << depth) - 1)]};

    probe.entry = atomic_load_explicit(probe.place, memory_order_acquire);
    probe.page = pages + GR_PAGE_OF_ENTRY(probe.entry) * GR_PAGE_SLOTS;
    return probe;
}

/* Whether the page was replaced since; the loads before stay before. For who found something there. */
static inline bool
probe_replaced(const struct probe *probe)
{
    return atomic_load_explicit(probe->place, memory_order_acquire) != probe->entry;
}

/* ... or the prefix leads elsewhere since, also by a deeper directory. For who found nothing. */
static inline bool
probe_stale(const granary_client *client, uint32_t prefix, const struct probe *probe)
{
    struct probe now = probe_begin(client, prefix);

    return now.place != probe->place || now.entry != probe->entry;
}

/* A slot's fields as one consistent reading. */
struct slot_copy {
    uint64_t word;
    uint64_t id[2];
    uint64_t offset;
    uint64_t data_size;
    uint64_t where_meta;
    uint64_t flags;
    uint64_t stamp;
};

/* Copy a slot. False: it changed meanwhile. */
bool slot_read(const struct gr_slot *slot, struct slot_copy *ret_copy);

/*
 * What is known of an id: true and a consistent copy (SEALED, RETIRING, SPILLED or BETWEEN), else false. An alias is
 * its target; slot_look() gives the alias itself (ALIAS). BETWEEN: where its bytes are is about to change, the rest of
 * the copy holds.
 */
bool slot_find(const granary_client *client, granary_id id, struct slot_copy *ret_copy);
bool slot_look(const granary_client *client, granary_id id, struct slot_copy *ret_copy);
/* What the public API tells of it. */
granary_object_info info_of(const struct slot_copy *copy);

/*
 * The index page by page. *position starts at 0 and is GR_INDEX_MAX_PAGES at the end; copies has room for
 * GR_PAGE_SLOTS. What is there all the while is met exactly once, in whatever way pages are split meanwhile. All states
 * but EMPTY, TOMB.
 */
void page_read(const granary_client *client, uint32_t *position, struct slot_copy *copies, size_t *ret_count);

#endif
