/*
 * Copies of objects below memory. An object has at most one at each level; PERSISTENT says of the one on disk that it
 * survives the machine's restart.
 *
 * The one that counts is found without a search: by the slot when the object is SPILLED, by session->on_disk otherwise.
 * It is the one on disk when there are two; the other, at the remote level, is in session->on_remote.
 */
#ifndef STORE_COPY_H
#define STORE_COPY_H

#include "store/core/core.h"
#include "store/segment/depot.h"

struct copy {
    uint32_t file;
    uint64_t place; /* in it */
};

/* Whether the object of this SEALED or SPILLED slot has a copy in that depot. */
bool copy_find(const struct session *session, const struct gr_slot *slot, enum depot_name depot, struct copy *ret_copy);

/* It has one in this file now, instead of any in the same depot. False: out of memory, nothing changed. */
bool copy_add(struct session *session, struct gr_slot *slot, struct spill_file *file, uint64_t place);

/* Give up the copy in that depot; the object is in memory, or has another one. */
void copy_drop(struct session *session, struct gr_slot *slot, enum depot_name depot);

/* The object goes: what it has at the remote level beside its copy on disk. */
void copy_forget_remote(struct session *session, const struct index_object *object);

#endif
