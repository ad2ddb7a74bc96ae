/* Futexes on words shared between processes. */
#ifndef BASE_FUTEX_H
#define BASE_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

#include "contract/bell.h"

/* Sleep while *word == expected, until woken or the deadline (monotonic ns; INT64_MAX: never). Spurious returns happen.
 */
void gr_futex_wait(const _Atomic uint32_t *word, uint32_t expected, int64_t deadline_ns);

/* The same on up to GR_FUTEX_MOST words: sleep while each is what is expected. On a kernel that cannot (before 5.16),
 * sleep on the first, for a few milliseconds at most. */
struct gr_futex {
    const _Atomic uint32_t *word;
    uint32_t expected;
};
#define GR_FUTEX_MOST 128u
void gr_futex_wait_many(const struct gr_futex *futexes, unsigned count, int64_t deadline_ns);

/* Something has happened: wake who sleeps on the bell. */
void gr_bell_ring(struct gr_bell *bell);
/* About to sleep. Look whether it has happened already; if not, gr_futex_wait() for another bell than what is returned. */
static inline uint32_t
gr_bell_await(struct gr_bell *bell)
{
    const uint32_t was = atomic_load(&bell->bell);

    atomic_store(&bell->waited, 1);
    return was;
}

/* Wake everybody who sleeps on the word. */
void gr_futex_wake(_Atomic uint32_t *word);

/* Tell the core that this is a spin loop. */
static inline void
gr_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

#endif
