/* Slots written so that a reader at any moment sees the old one, the new one, or none. */
#include "store/index/slot.h"

#include "base/barrier.h"
#include "base/id.h"
#include "store/index/index_step.h"

struct slot_key
slot_key_of(granary_id id)
{
    struct slot_key key;

    gr_id_words(id, key.words);
    key.hash = gr_slot_hash(key.words[0], key.words[1]);
    return key;
}

static inline void
fill(struct gr_slot *slot, const struct index_object *object, uint64_t word, bool steps)
{
    uint64_t words[2];

    gr_id_words(object->id, words);
    /* Readers of what lay here before have seen its word change long ago; they check it once more. */
    barrier_release();
    atomic_store_explicit(&slot->id[0], words[0], memory_order_relaxed);
    atomic_store_explicit(&slot->id[1], words[1], memory_order_relaxed);
    atomic_store_explicit(&slot->offset, object->offset, memory_order_relaxed);
    if (steps) {
        INDEX_STEP();
    }
    atomic_store_explicit(&slot->data_size, object->data_size, memory_order_relaxed);
    atomic_store_explicit(&slot->where_meta, (uint64_t)object->where << 32 | object->meta_size, memory_order_relaxed);
    atomic_store_explicit(&slot->flags, object->flags, memory_order_relaxed);
    atomic_store_explicit(&slot->stamp, object->stamp, memory_order_relaxed);
    if (steps) {
        INDEX_STEP();
    }
    atomic_store_explicit(&slot->word, word, memory_order_release);
    if (steps) {
        INDEX_STEP();
    }
}

static __attribute__((cold, noinline)) void
fill_in_steps(struct gr_slot *slot, const struct index_object *object, uint64_t word)
{
    fill(slot, object, word, true);
}

/* Part of every seal: a function that calls nothing saves no registers. */
void
slot_fill(struct gr_slot *slot, const struct index_object *object, uint64_t word)
{
    if (__builtin_expect(INDEX_HAS_STEPS, false)) {
        fill_in_steps(slot, object, word);
    } else {
        fill(slot, object, word, false);
    }
}

void
slot_rewrite(struct gr_slot *slot, const struct index_object *object, enum gr_slot_state state)
{
    atomic_store_explicit(&slot->word, GR_WORD(object->serial, GR_SLOT_BETWEEN), memory_order_relaxed);
    INDEX_STEP();
    slot_fill(slot, object, GR_WORD(object->serial, state));
}

struct index_object
slot_object(const struct gr_slot *slot)
{
    uint64_t where_meta = atomic_load_explicit(&slot->where_meta, memory_order_relaxed);

    return (struct index_object){
        .id = gr_id_from_words(atomic_load_explicit(&slot->id[0], memory_order_relaxed),
                               atomic_load_explicit(&slot->id[1], memory_order_relaxed)),
        .serial = GR_WORD_SERIAL(slot_word(slot)),
        .offset = atomic_load_explicit(&slot->offset, memory_order_relaxed),
        .data_size = atomic_load_explicit(&slot->data_size, memory_order_relaxed),
        .meta_size = (uint32_t)where_meta,
        .where = (uint32_t)(where_meta >> 32),
        .flags = slot_flags(slot),
        .stamp = atomic_load_explicit(&slot->stamp, memory_order_relaxed),
    };
}
