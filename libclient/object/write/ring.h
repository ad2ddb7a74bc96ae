/*
 * The ring, on which this client tells the store what needs no message.
 * All but ring_wait() and granary_flush() with client->lock held.
 */
#ifndef OBJECT_WRITE_RING_H
#define OBJECT_WRITE_RING_H

#include <stdbool.h>

#include "contract/shm.h"
#include "granary/store.h"

/* Where a waiting thread finds the answer to its entry. */
struct ring_answer {
    granary_err err;
    bool done;
};

/* What this side remembers of a ring entry. */
struct ring_note {
    granary_id id;
    struct ring_answer *answer; /* NULL: nobody waits */
    bool report;                /* an error is the next flush's */
};

struct ring {
    uint64_t head;      /* entries ever filled */
    uint64_t harvested; /* entries whose answer was taken */
    uint64_t rung_at;   /* ring_tail when the doorbell was written last: it need not be again while tail stays */
    granary_err first_err;
    granary_id first_id;
    struct ring_note notes[GR_RING_ENTRIES];
};

/* Wake the store, whatever it does. Needs no lock. */
void client_ring_bell(granary_client *client);
/*
 * Fill an entry and wake the store. answer: may be NULL; else until ring_wait(). Gives the lock up while the ring is
 * full or the store is gone: hold no ticket. Errors: EUNREACHABLE
 */
granary_err ring_push(granary_client *client, const struct gr_ring_entry *entry, struct ring_answer *answer,
                      bool report, uint64_t *ret_position);
/* Fill an entry if that needs no waiting. */
void ring_try_push(granary_client *client, const struct gr_ring_entry *entry);
/* Nobody waits any more for those of these answers that did not come. */
void ring_forget(granary_client *client, const struct ring_answer *answers, size_t count);
/* Until the entry at position is answered; without the lock. Errors: the store's · EUNREACHABLE */
granary_err ring_wait(granary_client *client, uint64_t position, struct ring_answer *answer);

#endif
