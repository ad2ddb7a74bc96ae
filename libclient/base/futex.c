#include "base/futex.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void
gr_futex_wait(const _Atomic uint32_t *word, uint32_t expected, int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};

    /* The bitset form takes an absolute time on the monotonic clock. Shared, and the mapping may be read-only. */
    (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, deadline_ns == INT64_MAX ? NULL : &until, NULL,
                  FUTEX_BITSET_MATCH_ANY);
}

void
gr_futex_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
