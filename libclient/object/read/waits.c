/* What this process waits for, told in its lease page to who looks on: the first of its threads that does tells. */
#include "base/clock.h"
#include "base/id.h"
#include "object/client.h"

bool
wait_begin(granary_client *client, enum gr_wait_kind kind, const granary_id *id, uint64_t bytes)
{
    struct gr_lease_page *page = client->page;
    uint64_t words[2] = {0, 0};
    uint32_t none = GR_WAIT_none;

    if (page == NULL || !atomic_compare_exchange_strong(&page->wait_kind, &none, GR_WAIT_BEGINS)) {
        return false;
    }
    if (id != NULL) {
        gr_id_words(*id, words);
    }
    atomic_store_explicit(&page->wait_id[0], words[0], memory_order_relaxed);
    atomic_store_explicit(&page->wait_id[1], words[1], memory_order_relaxed);
    atomic_store_explicit(&page->wait_bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&page->wait_since_ms, gr_wall_ms(), memory_order_relaxed);
    atomic_store_explicit(&page->wait_kind, kind, memory_order_release);
    return true;
}

void
wait_end(granary_client *client, bool begun)
{
    if (begun) {
        atomic_store_explicit(&client->page->wait_kind, GR_WAIT_none, memory_order_release);
    }
}

bool
gr_client_waits_for_room(const granary_client *client, uint64_t *ret_bytes)
{
    *ret_bytes = atomic_load_explicit(&client->page->wait_bytes, memory_order_relaxed);
    return atomic_load_explicit(&client->page->wait_kind, memory_order_acquire) == GR_WAIT_room;
}
