/* What an executor knows of the store: its memory, and where the frames of packed objects are (data/layout/packed.h). */
#ifndef EXECUTOR_USER_PARTS_H
#define EXECUTOR_USER_PARTS_H

#include <stddef.h>

#include "data/layout/packed.h"
#include "granary/store.h"

enum { PARTS_TABLES = 512, PARTS_READ = 64 };

/* Where the frames of an object are. Serials are never used again, so what is known of one stays true. */
struct parts_table {
    uint64_t serial; /* 0: none */
    struct gr_packed_head head;
    struct gr_packed_entry *entries;
};

/* Of an executor; all zero to begin with. */
struct parts {
    uint64_t capacity_bytes; /* of the store; 0: not known yet */
    struct parts_table tables[PARTS_TABLES];
    uint64_t read[PARTS_READ]; /* serials of spilled objects read as a whole lately; a ring */
    size_t read_next;
};

void parts_destroy(struct parts *parts);

/* The store's memory, asked for once; UINT64_MAX: not known. */
uint64_t parts_capacity(struct parts *parts, granary_client *client);

/*
 * Where a frame is in an object of packed ones. The object's bytes may be others than they are said to be: beyond the
 * object its range is refused.
 *
 * serial   of the object; 0: not known
 * Errors   as granary_object_get_range() · ECORRUPT
 */
granary_err parts_find(struct parts *parts, granary_client *client, granary_id id, uint64_t serial, uint32_t part,
                       struct gr_packed_entry *ret_entry);

#endif
