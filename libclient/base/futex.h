/* Futexes on words shared between processes. */
#ifndef BASE_FUTEX_H
#define BASE_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/* Sleep while *word == expected, until woken or the deadline (monotonic ns; INT64_MAX: never). Spurious returns happen.
 */
void gr_futex_wait(const _Atomic uint32_t *word, uint32_t expected, int64_t deadline_ns);

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
