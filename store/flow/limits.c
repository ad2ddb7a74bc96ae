/* The account's capacity follows the budget, never below what is in use. */
#include "store/flow/limits.h"

#include <sys/statvfs.h>

#include "base/error.h"
#include "base/log.h"
#include "store/segment/depot.h"

#define LEAST_MEMORY ((uint64_t)1 << 20)

static granary_err
check_growth(const struct store *store, uint64_t memory)
{
    uint64_t capacity = store->account.bytes[GR_ACCOUNT_CAPACITY];
    struct statvfs shm;
    uint64_t left;

    if (memory < LEAST_MEMORY) {
        return gr_fail(GRANARY_EINVAL, "a budget of %llu bytes: at least 1M", (unsigned long long)memory);
    }
    if (memory <= capacity || statvfs("/dev/shm", &shm) < 0) {
        return GRANARY_OK;
    }
    left = (uint64_t)shm.f_bavail * shm.f_frsize;
    return memory - store->account.bytes[GR_ACCOUNT_CAPACITY] + store->account.bytes[GR_ACCOUNT_FREE] <= left
               ? GRANARY_OK
               : gr_fail(GRANARY_EFULL,
                         "a budget of %llu bytes does not fit /dev/shm, which has %llu bytes free: give less, or make "
                         "it larger (mount -o remount,size=... /dev/shm)",
                         (unsigned long long)memory, (unsigned long long)left);
}

granary_err
limits_set(struct store *store, const struct gr_limits *limits)
{
    granary_err err = limits->memory_bytes == UINT64_MAX ? GRANARY_OK : check_growth(store, limits->memory_bytes);

    if (err != GRANARY_OK) {
        return err;
    }
    if (limits->memory_bytes != UINT64_MAX) {
        store->limits.memory_bytes = limits->memory_bytes / 4096 * 4096;
    }
    if (limits->disk_bytes != UINT64_MAX) {
        store->depots->disk_quota = limits->disk_bytes;
        store->root.shm->disk_quota = limits->disk_bytes;
    }
    if (limits->user_bytes != UINT64_MAX) {
        store->limits.user_bytes = limits->user_bytes;
    }
    gr_log_info("LIMITS", "memory=%llu disk=%llu user=%llu", (unsigned long long)store->limits.memory_bytes,
                (unsigned long long)store->depots->disk_quota, (unsigned long long)store->limits.user_bytes);
    (void)limits_turn(store);
    store->serve_now = true;
    return GRANARY_OK;
}

uint64_t
limits_excess(const struct store *store)
{
    uint64_t capacity = store->account.bytes[GR_ACCOUNT_CAPACITY];

    return store->limits.memory_bytes != 0 && capacity > store->limits.memory_bytes
               ? capacity - store->limits.memory_bytes
               : 0;
}

uint64_t
limits_turn(struct store *store)
{
    struct account *account = &store->account;
    uint64_t capacity = account->bytes[GR_ACCOUNT_CAPACITY];
    uint64_t used = capacity - account->bytes[GR_ACCOUNT_FREE];
    uint64_t wish = store->limits.memory_bytes;

    if (wish == 0 || wish == capacity) {
        return 0;
    }
    account_resize(account, used > wish ? used : wish);
    store->root.shm->capacity = account->bytes[GR_ACCOUNT_CAPACITY];
    return limits_excess(store);
}
