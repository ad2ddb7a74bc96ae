/*
 * What happens to objects. The slot is the truth; these functions keep account, segments, maps and slot in step.
 */
#ifndef STORE_OBJECT_H
#define STORE_OBJECT_H

#include "store/core/core.h"

#define OBJECTS_TOUCHED 1024u

struct family;
struct spill_file;

/* What the store holds of it. */
struct objects {
    uint16_t touched[OBJECTS_TOUCHED]; /* wait words bumped since the last wake */
    unsigned touched_count;
    struct session *touched_session;
    int64_t slice_look_ns;     /* when slices were last told from older ones: see object_evict() */
    uint64_t slice_look_stamp; /* the highest stamp then */
    uint64_t slice_old_stamp;  /* ... and at the look before: slices up to it have had their time */
};

/* A deleted object that somebody still leases. */
struct deleting {
    granary_id id;
    uint64_t serial;
    uint64_t footprint;
    struct segment *segment;
    struct family *family; /* what it contains, which stays as long */
};

/* A ring entry, copied out of the client's page before anything is checked. */
struct ring_request {
    uint8_t op;
    uint8_t flags; /* GR_SEAL_... */
    uint8_t importance;
    uint8_t next_use;
    granary_id id;
    uint32_t segment;
    uint32_t meta_size;
    uint64_t offset;
    uint64_t data_size;
};

/* Publish what the client built. Errors: EINVAL the request is impossible · EEXIST · EFULL */
granary_err object_seal(struct client *client, const struct ring_request *request);

/* Whether that has been done already: the object is there, at that place. */
bool object_is_sealed(struct client *client, const struct ring_request *request);

/* Whether there is something of that id to delete. */
bool object_can_be_deleted(const struct session *session, granary_id id);
/* Delete by id: an object that references, names or containers keep ends with them. Errors: ENOENT · ENOMEM */
granary_err object_delete(struct session *session, granary_id id);
/* Delete it now, whatever is said about it. */
granary_err object_end(struct session *session, struct gr_slot *slot);

/* "object ...: not found" as an error. */
granary_err object_not_found(granary_id id);

/* Whether anybody leases it. Only after slot_enter() is the answer "nobody" final. */
bool session_holds(const struct session *session, uint64_t serial);

/* A DELETING object that a store left behind. False: out of memory. */
bool object_adopt_deleting(struct session *session, struct gr_slot *slot, struct segment *segment);

/* Let go of deleted objects that nobody leases any more, with so many looks. True: there are more to look at. */
bool session_recheck_deleting(struct session *session, unsigned *looks);

/* Drop an unpinned SEALED object that has a copy on disk from memory. False: somebody leases it. */
bool object_evict(struct session *session, struct gr_slot *slot);

/* A copy of a SEALED object lies in a spill file now. False: out of memory, it stays without. */
bool object_note_copy(struct session *session, struct gr_slot *slot, struct spill_file *file, uint64_t place);

/* A SPILLED object lies in a segment again; segment_expect() went before. False: out of memory, nothing changed. */
bool object_note_return(struct session *session, struct gr_slot *slot, struct segment *segment, uint64_t offset);

/* What its creator or a user said of its future; -1 leaves a value as it is. Errors: ENOENT */
granary_err object_hint(struct session *session, granary_id id, int importance, int next_use);

/* One pin of the object more, or less; the ledger says whose. */
void object_note_pin(struct session *session, struct gr_slot *slot);
void object_note_unpin(struct session *session, struct gr_slot *slot);

/* A part of a spilled object lies in a segment: an object of its own; segment_expect() went before. False: there is no
 * memory, or no room in the index. */
bool object_slice(struct session *session, granary_id id, struct segment *segment, uint64_t offset, uint64_t size,
                  uint64_t *ret_serial);
/* It goes, now or with its last lease. */
void object_drop_slice(struct session *session, struct gr_slot *slot);

/* Bump the wait word of an id; flush_touched() wakes those who sleep on the bumped words. */
void session_touch(struct session *session, granary_id id);
void store_flush_touched(struct store *store);
void session_forget_touched(struct session *session); /* it goes: who sleeps on its words is woken now */

#endif
