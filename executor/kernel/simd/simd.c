/* Which of the compiled variants this machine runs: looked up once, by CPUID. */
#include "kernel/simd/simd.h"

#include <stdatomic.h>

/* What was found out, plus one; 0: nothing yet. Two threads that find out together find the same. */
static atomic_int known;

static enum gr_simd
detect(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2")) {
        return GR_SIMD_AVX512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
        return GR_SIMD_AVX2;
    }
#endif
    return GR_SIMD_BASE;
}

enum gr_simd
gr_simd_level(void)
{
    int level = atomic_load_explicit(&known, memory_order_relaxed);

    if (level == 0) {
        level = (int)detect() + 1;
        atomic_store_explicit(&known, level, memory_order_relaxed);
    }
    return (enum gr_simd)(level - 1);
}

void
gr_simd_limit(enum gr_simd level)
{
    enum gr_simd best = detect();

    atomic_store_explicit(&known, (int)(level < best ? level : best) + 1, memory_order_relaxed);
}
