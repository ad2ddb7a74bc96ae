/* Looking an id up in the index without a lease. */
#include "base/futex.h"
#include "base/id.h"
#include "object/client.h"

bool
slot_read(const struct gr_slot *slot, struct slot_copy *ret_copy)
{
    /* Acquire keeps the last load of word behind them; a fence would too, but thread sanitizers do not know it. */
    ret_copy->word = atomic_load_explicit(&slot->word, memory_order_acquire);
    ret_copy->id[0] = atomic_load_explicit(&slot->id[0], memory_order_acquire);
    ret_copy->id[1] = atomic_load_explicit(&slot->id[1], memory_order_acquire);
    ret_copy->offset = atomic_load_explicit(&slot->offset, memory_order_acquire);
    ret_copy->data_size = atomic_load_explicit(&slot->data_size, memory_order_acquire);
    ret_copy->where_meta = atomic_load_explicit(&slot->where_meta, memory_order_acquire);
    ret_copy->flags = atomic_load_explicit(&slot->flags, memory_order_acquire);
    ret_copy->stamp = atomic_load_explicit(&slot->stamp, memory_order_acquire);
    return atomic_load_explicit(&slot->word, memory_order_relaxed) == ret_copy->word;
}

enum find_result { FIND_FOUND, FIND_ABSENT, FIND_AGAIN, FIND_TABLE };

static enum find_result
find_in(const struct table *table, const uint64_t id[2], struct slot_copy *ret_copy)
{
    uint64_t at = gr_slot_hash(id[0], id[1]);

    for (uint64_t n = 0; n <= table->mask; n++, at++) {
        const struct gr_slot *slot = &table->slots[at & table->mask];
        enum gr_slot_state state = GR_WORD_STATE(atomic_load_explicit(&slot->word, memory_order_acquire));

        if (state == GR_SLOT_EMPTY) {
            return FIND_ABSENT;
        }
        if (state == GR_SLOT_MOVED) {
            return FIND_TABLE;
        }
        if (state == GR_SLOT_TOMB || state == GR_SLOT_DELETING ||
            atomic_load_explicit(&slot->id[0], memory_order_relaxed) != id[0] ||
            atomic_load_explicit(&slot->id[1], memory_order_relaxed) != id[1]) {
            continue;
        }
        if (!slot_read(slot, ret_copy) || GR_WORD_STATE(ret_copy->word) != state || ret_copy->id[0] != id[0] ||
            ret_copy->id[1] != id[1]) {
            return FIND_AGAIN;
        }
        return FIND_FOUND;
    }
    return FIND_ABSENT;
}

bool
slot_find(granary_client *client, granary_id id, struct slot_copy *ret_copy)
{
    uint64_t words[2];

    gr_id_words(id, words);
    for (;;) {
        const struct table *table = atomic_load_explicit(&client->table, memory_order_acquire);
        enum find_result found = FIND_TABLE;

        if (table->key == atomic_load_explicit(&client->control->table, memory_order_acquire)) {
            found = find_in(table, words, ret_copy);
        }
        switch (found) {
        case FIND_FOUND:
            return true;
        case FIND_ABSENT:
            return false;
        case FIND_TABLE:
            if (table_refresh(client) != GRANARY_OK) {
                return false;
            }
            /* fall through */
        case FIND_AGAIN:
            gr_cpu_relax();
        }
    }
}
