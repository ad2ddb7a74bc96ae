/* The account: bytes move between entries, and the sum never changes. */
#include "store/base/account.h"

#include <assert.h>

#include "base/barrier.h"

void
account_init(struct account *account, uint64_t capacity)
{
    *account = (struct account){.changes = 1};
    account->bytes[GR_ACCOUNT_CAPACITY] = capacity;
    account->bytes[GR_ACCOUNT_FREE] = capacity;
}

void
account_move(struct account *account, enum gr_account from, enum gr_account to, uint64_t bytes)
{
    assert(from >= GR_ACCOUNT_FREE && from <= GR_ACCOUNT_POOLED && to >= GR_ACCOUNT_FREE && to <= GR_ACCOUNT_POOLED);
    assert(account->bytes[from] >= bytes);

    account->bytes[from] -= bytes;
    account->bytes[to] += bytes;
    account->changes++;
}

void
account_resize(struct account *account, uint64_t capacity)
{
    uint64_t used = account->bytes[GR_ACCOUNT_CAPACITY] - account->bytes[GR_ACCOUNT_FREE];

    assert(capacity >= used);

    account->bytes[GR_ACCOUNT_CAPACITY] = capacity;
    account->bytes[GR_ACCOUNT_FREE] = capacity - used;
    account->changes++;
}

void
account_add(struct account *account, enum gr_account which, uint64_t more)
{
    assert(which > GR_ACCOUNT_POOLED && which < GR_ACCOUNT_COUNT);

    account->bytes[which] += more;
    account->changes++;
}

void
account_take(struct account *account, enum gr_account which, uint64_t less)
{
    assert(which > GR_ACCOUNT_POOLED && which < GR_ACCOUNT_COUNT && account->bytes[which] >= less);

    account->bytes[which] -= less;
    account->changes++;
}

bool
account_balances(const struct account *account)
{
    uint64_t sum = 0;

    for (int part = GR_ACCOUNT_FREE; part <= GR_ACCOUNT_POOLED; part++) {
        sum += account->bytes[part];
    }
    return sum == account->bytes[GR_ACCOUNT_CAPACITY] && account->idle <= account->bytes[GR_ACCOUNT_POOLED] &&
           account->clean <= account->bytes[GR_ACCOUNT_SEALED] && account->pinned <= account->bytes[GR_ACCOUNT_SEALED];
}

void
account_publish(const struct account *account, struct gr_control *control)
{
    uint64_t version = atomic_load_explicit(&control->account_version, memory_order_relaxed);

    assert(account_balances(account));

    atomic_store_explicit(&control->account_version, version + 1, memory_order_relaxed);
    barrier_release();
    for (int i = 0; i < GR_ACCOUNT_COUNT; i++) {
        atomic_store_explicit(&control->account[i], account->bytes[i], memory_order_relaxed);
    }
    atomic_store_explicit(&control->account_version, version + 2, memory_order_release);
}
