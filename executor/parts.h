/*
 * Inputs that are one frame each of packed ones (data/packed.h). A lease of a frame keeps all of its object in memory,
 * or of a spilled one the frames of its file around it, and a reader of a shuffle has as many of them as there are
 * chunks: in little memory they are copied one after the other, so that nobody holds what another one waits for.
 */
#ifndef EXECUTOR_PARTS_H
#define EXECUTOR_PARTS_H

#include <stddef.h>

#include "data/packed.h"
#include "granary/store.h"

enum { PARTS_TABLES = 512 };

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
};

void parts_destroy(struct parts *parts);

/* The store's memory, asked for once; UINT64_MAX: not known. */
uint64_t parts_capacity(struct parts *parts, granary_client *client);

struct run;

/* Get all inputs that are parts: views of run, or copies. *ret_failed: the input that could not be had.
 * Errors: as granary_object_get_range() · ECORRUPT */
granary_err parts_get(struct run *run, size_t *ret_failed);

#endif
