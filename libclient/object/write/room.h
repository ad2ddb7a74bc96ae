/* Rooms: data segments that this process may write. All of it with client->lock held. */
#ifndef OBJECT_WRITE_ROOM_H
#define OBJECT_WRITE_ROOM_H

#include <stdbool.h>

#include "granary/store.h"

/* A data segment this process may write, or could: an idle one keeps its mapping for when it is granted again. */
struct room {
    uint32_t segment;
    uint32_t outstanding; /* objects created and not yet sealed or aborted */
    char *base;
    uint64_t mapped_bytes;
    uint64_t size_bytes; /* granted */
    uint64_t used;       /* carved */
    uint64_t populated;  /* bytes from the start that have pages: touching them is never a SIGBUS */
    bool fresh;          /* mapped just now: whatever pages there are, touching them is a fault each */
    bool ours;           /* granted and not yet retired */
    bool current;        /* small objects are carved here */
    struct room *next;   /* in unretired */
};

/*
 * Take room for an object of footprint bytes; ahead: more that it may need later, if a room of its own can have it.
 * Gives the lock up while it asks the store. Errors: EFULL · EUNREACHABLE · ENOMEM
 */
granary_err room_carve(granary_client *client, uint64_t footprint, uint64_t ahead, int64_t deadline_ns,
                       struct room **ret_room, uint64_t *ret_offset);
/*
 * Pages for the room up to end, which is where what was carved last is to end. May give the lock up. False: the room
 * has no space for that, or /dev/shm has not.
 */
bool room_extend(granary_client *client, struct room *room, uint64_t end);
/* An object of the room was sealed or aborted; retires the room when it was the last of one that is full. */
void room_settle(granary_client *client, struct room *room);
/* Give back what an unsealed object takes. */
void room_give(granary_client *client, const granary_buffer *buffer);
/* In a strict session an object is sealed only when its writer can write it no more: forget the writable mapping. */
void room_surrender(struct room *room);
/* It need not be retired any more: the store has forgotten it, or granted it anew. */
void room_forget_unretired(granary_client *client, const struct room *room);
/* A segment that was granted and cannot be used. Takes the lock itself. */
void room_return(granary_client *client, uint32_t segment);
/* Whether what the last request for room was granted may be used: a store that came after may have taken it back. */
bool room_take_granted(granary_client *client);
/* The room of a segment this process may write, or NULL. */
struct room *room_of(granary_client *client, uint32_t segment);

#endif
