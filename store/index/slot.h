/*
 * Slots of the index as their one writer sees them.
 *
 * Readers look on at any time, so a slot's word goes first when it changes what it says, and comes last.
 */
#ifndef STORE_SLOT_H
#define STORE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/shm.h"
#include "granary/types.h"

/* An id as the index wants it. */
struct slot_key {
    uint64_t words[2];
    uint64_t hash;
};

/* What a slot says of an object. */
struct index_object {
    granary_id id;
    uint64_t serial;
    uint64_t offset;
    uint64_t data_size;
    uint32_t meta_size;
    uint32_t where; /* segment or spill file */
    uint64_t flags;
    uint64_t stamp;
};

struct slot_key slot_key_of(granary_id id);

/*
 * Change what a slot says; the word ends as serial and state. On the way it is BETWEEN: a store that dies in the
 * middle leaves an object whose spill file is the truth. So it comes from RETIRING only after nobody was found to
 * hold it.
 */
void slot_rewrite(struct gr_slot *slot, const struct index_object *object, enum gr_slot_state state);
struct index_object slot_object(const struct gr_slot *slot);

/* The fields of a slot whose word says that it holds nothing; then its word. */
void slot_fill(struct gr_slot *slot, const struct index_object *object, uint64_t word);

static inline uint64_t
slot_word(const struct gr_slot *slot)
{
    return atomic_load_explicit(&slot->word, memory_order_relaxed);
}

static inline enum gr_slot_state
slot_state(const struct gr_slot *slot)
{
    return GR_WORD_STATE(slot_word(slot));
}

/* Whether there is anything in it: an object in any state, or an alias. */
static inline bool
slot_is_taken(const struct gr_slot *slot)
{
    enum gr_slot_state state = slot_state(slot);

    return state != GR_SLOT_EMPTY && state != GR_SLOT_TOMB && state != GR_SLOT_MOVED;
}

static inline bool
slot_has(const struct gr_slot *slot, const struct slot_key *key)
{
    return atomic_load_explicit(&slot->id[0], memory_order_relaxed) == key->words[0] &&
           atomic_load_explicit(&slot->id[1], memory_order_relaxed) == key->words[1];
}

static inline uint64_t
slot_hash(const struct gr_slot *slot)
{
    return gr_slot_hash(atomic_load_explicit(&slot->id[0], memory_order_relaxed),
                        atomic_load_explicit(&slot->id[1], memory_order_relaxed));
}

static inline uint64_t
slot_flags(const struct gr_slot *slot)
{
    return atomic_load_explicit(&slot->flags, memory_order_relaxed);
}

static inline void
slot_set_flags(struct gr_slot *slot, uint64_t flags)
{
    atomic_store_explicit(&slot->flags, flags, memory_order_relaxed);
}

static inline uint32_t
slot_where(const struct gr_slot *slot)
{
    return (uint32_t)(atomic_load_explicit(&slot->where_meta, memory_order_relaxed) >> 32);
}

static inline uint64_t
slot_footprint(const struct gr_slot *slot)
{
    uint64_t data_size = atomic_load_explicit(&slot->data_size, memory_order_relaxed);
    uint64_t meta_size = (uint32_t)atomic_load_explicit(&slot->where_meta, memory_order_relaxed);

    return GR_FOOTPRINT(data_size, meta_size);
}

/* Enter a state and see every hazard that was published before (Dekker: see contract/shm.h). */
static inline void
slot_enter(struct gr_slot *slot, enum gr_slot_state state)
{
    uint64_t word = slot_word(slot);

    (void)atomic_exchange_explicit(&slot->word, GR_WORD(GR_WORD_SERIAL(word), state), memory_order_seq_cst);
}

#endif
