/*
 * The index of a session: the table of slots in shared memory that its clients read without a message.
 *
 * The store is the only writer. A slot's word goes first when an object leaves (readers that lease see it change) and
 * last when one comes. When a table gets full, a new one is built, published, and every slot of the old one is MOVED.
 */
#ifndef STORE_INDEX_H
#define STORE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/shm.h"
#include "granary/types.h"

#define INDEX_FIRST_LOG2 14u

struct index {
    struct gr_slot *slots;
    uint64_t size;    /* slots in the table */
    uint64_t filled;  /* not EMPTY */
    uint64_t objects; /* neither EMPTY nor TOMB */
    uint32_t number;  /* of the table */
    uint32_t session;
    _Atomic uint64_t *published; /* gr_control.table */
    char prefix[48];
    uint32_t growths;
    /* after a growth: where each slot of the old table went (UINT32_MAX: nowhere); called before the old one goes */
    void (*moved)(void *context, const uint32_t *new_place);
    void *context;
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

/*
 * Make an empty table and publish it. prefix, session and moved are as in the struct.
 * Errors: EFULL no shared memory · ENOMEM
 */
granary_err index_init(struct index *index, const char *prefix, uint32_t session, _Atomic uint64_t *published);
/* Unlink and forget; a zero index is fine. */
void index_fini(struct index *index);

/* The slot of a sealed or spilled object, or NULL. */
struct gr_slot *index_find(const struct index *index, granary_id id);
/* ... of exactly this serial, in any state (DELETING too), or NULL. */
struct gr_slot *index_find_serial(const struct index *index, granary_id id, uint64_t serial);

/* Add a SEALED object. Errors: EEXIST the id is there · EFULL the table cannot grow. */
granary_err index_insert(struct index *index, const struct index_object *object, struct gr_slot **ret_slot);

/* The next slot that holds an object, in any state, from *position on, which starts at 0; NULL at the end. */
struct gr_slot *index_next(const struct index *index, uint64_t *position);

/* A slot that holds nothing any more: TOMB, or EMPTY where no probe needs it. */
void index_remove(struct index *index, struct gr_slot *slot);

/* Change what a slot says; the word ends as serial and state. */
void slot_rewrite(struct gr_slot *slot, const struct index_object *object, enum gr_slot_state state);
struct index_object slot_object(const struct gr_slot *slot);

static inline uint64_t
slot_word(const struct gr_slot *slot)
{
    return atomic_load_explicit(&slot->word, memory_order_relaxed);
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
