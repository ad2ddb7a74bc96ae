/* Bringing spilled objects back. */
#ifndef STORE_RESTORE_H
#define STORE_RESTORE_H

#include "store/core/core.h"
#include "store/level/level.h"

struct depot;

/* What the store holds of it. */
struct restores {
    struct list waiting;   /* for memory */
    struct list arenas;    /* sessions that have one: a segment that small objects share */
    struct reading *batch; /* of small ones, not submitted yet */
};

/* An object, or a slice of one, on its way back into memory. */
struct restore {
    struct list in_queue; /* store->restores->waiting, until a job runs */
    uint64_t ticket;      /* place in line, among the requests for room */
    struct session *session;
    granary_id id;
    uint64_t serial;
    uint32_t file;
    const struct depot *depot;
    struct segment *segment;
    uint64_t footprint;
    unsigned node; /* NUMA, where it was before */
    int64_t began_ns;
    int64_t deadline_ns;
    bool slice;    /* a part: `id` is the slice's, object.id the object's */
    bool prefetch; /* nobody waits for it */
    uint64_t from; /* in the object's image */
    struct level_object object;
    unsigned parts; /* jobs under way */
    struct level_cost cost;
    granary_err err; /* of the jobs, and its message */
    char message[512];
};

void restores_init(struct restores *restores);

/*
 * OK: the object is in memory (*ret_slot) or on its way (*ret_slot is NULL).
 * Errors: ENOENT · what went wrong the last time · ENOMEM
 */
granary_err restore_request(struct session *session, granary_id id, struct gr_slot **ret_slot);

/* The same for a part of a spilled object, under an id of its own. OK: it is on its way. Errors: ENOMEM */
granary_err
restore_request_slice(struct session *session, const struct gr_slot *slot, granary_id id, uint64_t from, uint64_t size);

/*
 * Who asks now was not there when it could not be brought back: unless it is damaged, that is forgotten, and tried
 * again. The others who waited try again with it.
 */
void restore_anew(struct session *session, granary_id id);

/* After an adoption: objects that are pinned come back. */
void restore_pinned(struct session *session);

/* All of its jobs have run. */
void restore_finished(struct restore *restore);

/*
 * Start restores, in the order they came. Returns the bytes that the first one lacks which has to wait for memory; 0:
 * none has to. One that waits for its session's quota holds no other up.
 */
uint64_t restore_serve(struct store *store, int64_t now_ns);

/* The place in line of the first who waits; somebody must. */
uint64_t restore_ticket(const struct store *store);

/* The bytes of that one. */
uint64_t restore_first_bytes(const struct store *store);

/* What waits for memory in a session that is being deleted, and was not begun, is not brought back. */
void restore_forget(struct session *session);

/* Forget what waits and what failed in a session that ends. */
void restore_fini(struct session *session);

#endif
