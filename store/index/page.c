/* A page as an open-addressing table; tombstones keep probes of readers whole. */
#include "store/index/page.h"

#include <assert.h>

#include "base/barrier.h"
#include "store/index/index_step.h"

#define MASK (GR_PAGE_SLOTS - 1)

struct gr_slot *
page_find(struct gr_slot *page, const struct slot_key *key, unsigned states)
{
    uint32_t at = gr_page_home(key->hash);

    for (uint32_t n = 0; n < GR_PAGE_SLOTS; n++, at++) {
        struct gr_slot *slot = &page[at & MASK];
        enum gr_slot_state state = slot_state(slot);

        if (state == GR_SLOT_EMPTY) {
            return NULL;
        }
        if ((1u << state & states) != 0 && slot_has(slot, key)) {
            return slot;
        }
    }
    return NULL;
}

struct gr_slot *
page_find_serial(struct gr_slot *page, uint32_t home, uint64_t serial, uint64_t serial_mask)
{
    for (uint32_t n = 0; n < GR_PAGE_SLOTS; n++) {
        struct gr_slot *slot = &page[(home + n) & MASK];
        uint64_t word = slot_word(slot);

        if (GR_WORD_STATE(word) == GR_SLOT_EMPTY) {
            return NULL;
        }
        if (GR_WORD_STATE(word) != GR_SLOT_TOMB && (GR_WORD_SERIAL(word) & serial_mask) == serial) {
            return slot;
        }
    }
    return NULL;
}

struct gr_slot *
page_place(struct gr_slot *page, uint64_t hash)
{
    struct gr_slot *tomb = NULL;
    uint32_t at = gr_page_home(hash);

    for (uint32_t n = 0; n < GR_PAGE_SLOTS; n++, at++) {
        struct gr_slot *slot = &page[at & MASK];
        enum gr_slot_state state = slot_state(slot);

        if (state == GR_SLOT_EMPTY) {
            return tomb == NULL ? slot : tomb;
        }
        if (state == GR_SLOT_TOMB && tomb == NULL) {
            tomb = slot;
        }
    }
    return tomb;
}

void
page_insert(struct page_counts *counts, struct gr_slot *place, const struct index_object *object,
            enum gr_slot_state state)
{
    assert(!slot_is_taken(place));

    counts->filled += slot_state(place) == GR_SLOT_EMPTY;
    counts->taken++;
    slot_fill(place, object, GR_WORD(object->serial, state));
}

void
page_remove(struct gr_slot *page, struct page_counts *counts, struct gr_slot *slot)
{
    uint32_t at = (uint32_t)(slot - page);

    assert(slot_is_taken(slot));

    counts->taken--;
    atomic_store_explicit(&slot->word, GR_WORD(0, GR_SLOT_TOMB), memory_order_release);
    INDEX_STEP();
    /* A tombstone in front of an empty slot helps no probe. */
    if (slot_state(&page[(at + 1) & MASK]) != GR_SLOT_EMPTY) {
        return;
    }
    while (slot_state(&page[at & MASK]) == GR_SLOT_TOMB) {
        atomic_store_explicit(&page[at & MASK].word, GR_WORD(0, GR_SLOT_EMPTY), memory_order_release);
        INDEX_STEP();
        counts->filled--;
        at--;
    }
}

void
page_clear(struct gr_slot *page, struct page_counts *counts)
{
    for (uint32_t i = 0; i < GR_PAGE_SLOTS; i++) {
        atomic_store_explicit(&page[i].word, GR_WORD(0, GR_SLOT_EMPTY), memory_order_relaxed);
    }
    INDEX_STEP();
    *counts = (struct page_counts){0, 0};
}

void
page_copy(struct gr_slot *to, struct page_counts *counts, const struct gr_slot *from, uint32_t bit, uint32_t want)
{
    for (uint32_t i = 0; i < GR_PAGE_SLOTS; i++) {
        struct index_object object;
        uint64_t hash;

        if (!slot_is_taken(&from[i])) {
            continue;
        }
        hash = slot_hash(&from[i]);
        if ((gr_index_prefix(hash) & bit) == want) {
            object = slot_object(&from[i]);
            page_insert(counts, page_place(to, hash), &object, slot_state(&from[i]));
        }
    }
}

void
page_move(struct gr_slot *page)
{
    for (uint32_t i = 0; i < GR_PAGE_SLOTS; i++) {
        if (slot_is_taken(&page[i])) {
            atomic_store_explicit(&page[i].word, GR_WORD(GR_WORD_SERIAL(slot_word(&page[i])), GR_SLOT_MOVED),
                                  memory_order_relaxed);
            INDEX_STEP();
        }
    }
    barrier_full();
}
