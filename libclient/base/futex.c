/* The futex system calls, and futex_waitv where the kernel has it. */
#include "base/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/* Where one cannot sleep on several words, the others are looked at this often. */
#define FEW_MS 5

void
gr_futex_wait(const _Atomic uint32_t *word, uint32_t expected, int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};

    /* The bitset form takes an absolute time on the monotonic clock. Shared, and the mapping may be read-only. */
    (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, deadline_ns == INT64_MAX ? NULL : &until, NULL,
                  FUTEX_BITSET_MATCH_ANY);
}

void
gr_futex_wait_many(const struct gr_futex *futexes, unsigned count, int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};
    struct futex_waitv waits[GR_FUTEX_MOST];
    int64_t soon_ns;

    for (unsigned i = 0; i < count; i++) {
        waits[i] =
            (struct futex_waitv){.uaddr = (uintptr_t)futexes[i].word, .val = futexes[i].expected, .flags = FUTEX_32};
    }
    if (syscall(SYS_futex_waitv, waits, count, 0, deadline_ns == INT64_MAX ? NULL : &until, CLOCK_MONOTONIC) < 0 &&
        errno == ENOSYS) {
        soon_ns = gr_deadline_ns(FEW_MS);
        gr_futex_wait(futexes[0].word, futexes[0].expected, deadline_ns < soon_ns ? deadline_ns : soon_ns);
    }
}

void
gr_futex_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void
gr_bell_ring(struct gr_bell *bell)
{
    if (atomic_load(&bell->waited) != 0) {
        atomic_store(&bell->waited, 0);
        (void)atomic_fetch_add(&bell->bell, 1);
        gr_futex_wake(&bell->bell);
    }
}
