/*
 * A page of the index: an open-addressing table of GR_PAGE_SLOTS slots, with linear probing that wraps within the page.
 *
 * A slot's word goes first when an object leaves (readers that lease see it change) and last when one comes.
 */
#ifndef STORE_PAGE_H
#define STORE_PAGE_H

#include "store/index/slot.h"

/* So many slots may be not EMPTY before the page is split or rebuilt: probes stay short. */
#define PAGE_FULL (GR_PAGE_SLOTS * 85 / 100)

/* What the store remembers of a page; derived from its slots. */
struct page_counts {
    uint16_t filled; /* slots that are not EMPTY */
    uint16_t taken;  /* slots that hold something */
};

/* The first slot of an id in one of these states (1 << state), or NULL. */
struct gr_slot *page_find(struct gr_slot *page, const struct slot_key *key, unsigned states);
/* The slot with a serial whose hash begins its probe there, in any state but TOMB, or NULL. serial_mask: the bits. */
struct gr_slot *page_find_serial(struct gr_slot *page, uint32_t home, uint64_t serial, uint64_t serial_mask);

/* A slot for a new object: the first TOMB of its probe, else the EMPTY one at its end; NULL: there is none. */
struct gr_slot *page_place(struct gr_slot *page, uint64_t hash);

/* Fill what page_place() gave. */
void page_insert(struct page_counts *counts, struct gr_slot *place, const struct index_object *object,
                 enum gr_slot_state state);
/* A slot that holds nothing any more: TOMB, or EMPTY where no probe needs it. */
void page_remove(struct gr_slot *page, struct page_counts *counts, struct gr_slot *slot);

/* Empty a page that readers may still look at because they came by a directory entry of long ago. */
void page_clear(struct gr_slot *page, struct page_counts *counts);
/* Copy what is taken and has `bit` (0: any) of its prefix equal to `want`, words and all. */
void page_copy(struct gr_slot *to, struct page_counts *counts, const struct gr_slot *from, uint32_t bit, uint32_t want);
/* Every taken slot says MOVED. Whoever leased by it before is seen by every retirement from here on. */
void page_move(struct gr_slot *page);

#endif
