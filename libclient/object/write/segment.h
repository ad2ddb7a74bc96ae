/* Mappings of the index and of data segments. */
#ifndef OBJECT_WRITE_SEGMENT_H
#define OBJECT_WRITE_SEGMENT_H

#include <stdatomic.h>

#include "granary/store.h"

struct room;

/* What this process has mapped of one data segment. */
struct segment {
    _Atomic(const char *) base; /* read-only; NULL: not mapped */
    uint64_t size_bytes;        /* of base; under maps_lock */
    struct room *room;          /* the writable mapping; under lock */
};

/* So many mappings may lie around before dead ones are looked for. */
#define MAPS_KEPT 256u

#define SEGMENT_LEAF_BITS 12
#define SEGMENT_LEAF      (1u << SEGMENT_LEAF_BITS)
#define SEGMENT_TOP       (1u << (32 - SEGMENT_LEAF_BITS))

typedef _Atomic(struct segment *) segment_leaf;

/* Map the index, once for the life of the client. Errors: EUNREACHABLE · EPROTO · ENOMEM */
granary_err index_map(granary_client *client);

/*
 * Map a data segment to read; it may be mapped already. min_bytes: what the caller will reach.
 * Errors: ENOENT the segment is gone · EUNREACHABLE · ENOMEM · EPROTO
 */
granary_err segment_map(granary_client *client, uint32_t number, uint64_t min_bytes, const char **ret_base);
/* Map the session's ring of events, made when needed; the mapping is the caller's. Errors: EUNREACHABLE · ENOMEM ·
 * EPROTO · EFULL */
granary_err events_map(granary_client *client, const char **ret_base, uint64_t *ret_size);
/* The session's table of counters, made when needed, to be written; it stays mapped. Errors: as events_map() */
granary_err counters_map(granary_client *client, struct gr_counters **ret_counters);
/* The entry of a segment, made when needed; NULL when out of memory. */
struct segment *segment_entry(granary_client *client, uint32_t number);
/* Unmap dead segments when there are many mappings. Takes the ticket: hold no lock. */
void segment_counted(granary_client *client);
/* Map size bytes of a descriptor, 2 MiB-aligned when it is that large. Errors: ECORRUPT it has fewer · ENOMEM */
granary_err segment_mmap(int fd, uint64_t size_bytes, int protection, void **ret_base);
/* Unmap everything. */
void segment_fini(granary_client *client);

#endif
