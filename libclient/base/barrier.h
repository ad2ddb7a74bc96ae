/* Stand-alone fences, in a form the thread sanitizer accepts (it knows operations on words only). */
#ifndef BASE_BARRIER_H
#define BASE_BARRIER_H

#include <stdatomic.h>

#if defined(__SANITIZE_THREAD__)
#define GR_NO_FENCES 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GR_NO_FENCES 1
#endif
#endif

/* What was written before is visible to everybody before anything after it is read. */
static inline void
barrier_full(void)
{
#ifdef GR_NO_FENCES
    static _Atomic unsigned word;

    atomic_fetch_add_explicit(&word, 1, memory_order_seq_cst);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* What was read or written before stays before the writes after it. */
static inline void
barrier_release(void)
{
#ifdef GR_NO_FENCES
    barrier_full();
#else
    atomic_thread_fence(memory_order_release);
#endif
}

/* What was read before stays before the reads and writes after it. */
static inline void
barrier_acquire(void)
{
#ifdef GR_NO_FENCES
    barrier_full();
#else
    atomic_thread_fence(memory_order_acquire);
#endif
}

#endif
