/* Looking at the index without a lease. */
#include "object/read/probe.h"

#include "base/futex.h"
#include "base/id.h"

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

enum find_result { FIND_FOUND, FIND_ABSENT, FIND_AGAIN };

static inline enum find_result
find_in(const granary_client *client, const uint64_t id[2], struct slot_copy *ret_copy)
{
    uint64_t hash = gr_slot_hash(id[0], id[1]);
    uint32_t prefix = gr_index_prefix(hash);
    struct probe probe = probe_begin(client, prefix);
    uint32_t at = gr_page_home(hash);

    for (uint32_t n = 0; n < GR_PAGE_SLOTS; n++, at++) {
        const struct gr_slot *slot = &probe.page[at % GR_PAGE_SLOTS];
        enum gr_slot_state state = GR_WORD_STATE(atomic_load_explicit(&slot->word, memory_order_acquire));

        if (state == GR_SLOT_EMPTY) {
            break;
        }
        if (state == GR_SLOT_TOMB || state == GR_SLOT_DELETING ||
            atomic_load_explicit(&slot->id[0], memory_order_relaxed) != id[0] ||
            atomic_load_explicit(&slot->id[1], memory_order_relaxed) != id[1]) {
            continue;
        }
        if (state == GR_SLOT_MOVED || !slot_read(slot, ret_copy) || GR_WORD_STATE(ret_copy->word) != state ||
            ret_copy->id[0] != id[0] || ret_copy->id[1] != id[1] || probe_replaced(&probe)) {
            return FIND_AGAIN;
        }
        return FIND_FOUND;
    }
    return probe_stale(client, prefix, &probe) ? FIND_AGAIN : FIND_ABSENT;
}

/* Ids travel as words: a load of 16 bytes behind two stores of 8 would wait for everything before it. */
static inline bool
look(const granary_client *client, const uint64_t id[2], struct slot_copy *ret_copy)
{
    enum find_result found;

    while ((found = find_in(client, id, ret_copy)) == FIND_AGAIN) {
        gr_cpu_relax();
    }
    return found == FIND_FOUND;
}

bool
slot_look(const granary_client *client, granary_id id, struct slot_copy *ret_copy)
{
    uint64_t words[2];

    gr_id_words(id, words);
    return look(client, words, ret_copy);
}

bool
slot_find(const granary_client *client, granary_id id, struct slot_copy *ret_copy)
{
    uint64_t words[2];
    bool found;

    gr_id_words(id, words);
    found = look(client, words, ret_copy);
    for (unsigned hops = 0; found && GR_WORD_STATE(ret_copy->word) == GR_SLOT_ALIAS; hops++) {
        words[0] = ret_copy->offset;
        words[1] = ret_copy->data_size;
        found = hops < ALIAS_HOPS && look(client, words, ret_copy);
    }
    return found;
}

static uint32_t
reversed(uint32_t bits)
{
    uint32_t result = 0;

    for (unsigned i = 0; i < GR_INDEX_MAX_DEPTH; i++) {
        result |= (bits >> i & 1) << (GR_INDEX_MAX_DEPTH - 1 - i);
    }
    return result;
}

static uint32_t
position_of(const struct slot_copy *copy)
{
    return reversed(gr_index_prefix(gr_slot_hash(copy->id[0], copy->id[1])));
}

/*
 * Positions are prefixes with their bits reversed: those of one page follow one another, and stay together when it is
 * split. A page may begin before the position: a store that died in a split, half of which was read, took it back.
 */
void
page_read(const granary_client *client, uint32_t *position, struct slot_copy *copies, size_t *ret_count)
{
    const struct gr_page_record *records = (const void *)(client->index + GR_INDEX_RECORDS_AT);
    uint32_t prefix = reversed(*position);
    struct probe probe;
    uint64_t word;
    uint32_t span;
    size_t count;

    do {
        probe = probe_begin(client, prefix);
        word = atomic_load_explicit(&records[GR_PAGE_OF_ENTRY(probe.entry)].word, memory_order_acquire);
        span = 1u << (GR_INDEX_MAX_DEPTH - GR_PAGE_DEPTH(word) % (GR_INDEX_MAX_DEPTH + 1));
        count = 0;
        for (uint32_t i = 0; i < GR_PAGE_SLOTS; i++) {
            enum gr_slot_state state;

            while (!slot_read(&probe.page[i], &copies[count])) {
                gr_cpu_relax();
            }
            state = GR_WORD_STATE(copies[count].word);
            count += state != GR_SLOT_EMPTY && state != GR_SLOT_TOMB &&
                     (*position % span == 0 || position_of(&copies[count]) >= *position);
        }
    } while (probe_stale(client, prefix, &probe));
    *ret_count = count;
    *position = (*position | (span - 1)) + 1;
}
