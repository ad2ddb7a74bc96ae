/*
 * An instance made by hand in a directory, as a copy of one: session 1 "default" with an index of two pages, segment 5,
 * client 7 with a lease page, a ledger of some records and a flight recorder. Tests change what they like: the files
 * are mapped here.
 */
#ifndef TESTS_INSPECT_MADE_H
#define TESTS_INSPECT_MADE_H

#include <stdbool.h>

#include "contract/mutable.h"
#include "contract/shm.h"
#include "granary/inspect.h"

#define MADE_SEGMENT       5u
#define MADE_SEGMENT_BYTES ((uint64_t)4 << 20)
#define MADE_CLIENT        7u
#define MADE_LEDGER        64u
#define MADE_EVENTS        16u
#define MADE_PAGES         4u
#define MADE_SPILL_FILE    9u

struct made {
    char dir[64];
    struct gr_root *root;
    struct gr_control *control;
    char *index;
    struct gr_ledger *ledger;
    struct gr_lease_page *lease;
    struct gr_events *events;
    struct gr_mutables *tables; /* NULL before made_table() */
    uint64_t next_serial;
    uint64_t next_offset; /* in the segment */
    uint32_t events_made;
};

void made_init(struct made *made);
void made_fini(struct made *made);

/* The n-th id. */
granary_id made_id(uint64_t n);

/* Seal object n: a slot where its hash belongs, the next bytes of the segment, and the account to match. */
struct gr_slot *made_object(struct made *made, uint64_t n, uint64_t data_size, uint32_t meta_size);

/* An empty slot for an id, where a reader finds it. */
struct gr_slot *made_slot(struct made *made, granary_id id);

struct gr_page_record *made_page(struct made *made, uint32_t page);
uint64_t *made_directory(struct made *made);

/* A hazard of client 7. */
void made_lease(struct made *made, uint64_t serial, uint32_t count);

struct gr_ledger_record *made_record(struct made *made, enum gr_ledger_kind kind, granary_id id, const char *text);

void made_event(struct made *made, enum gr_event_kind kind, granary_id id, uint64_t a, uint64_t b);

/* A table of that id, whose log says more than there is, and one object of it; once. */
void made_table(struct made *made, granary_id id);

#endif
