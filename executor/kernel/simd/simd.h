/*
 * Loops compiled for several instruction sets, one of which is chosen when the program runs.
 *
 * A file executor/kernel/simd/NAME.simd.c is compiled three times: for the machine's baseline, AVX2 (with FMA and BMI2)
 * and AVX-512 (F, BW, CD, DQ, VL). It defines its functions as SIMD(name); the header simd/NAME.h beside it declares
 * each by SIMD_DECLARE(result, name, (parameters)), and a caller calls SIMD_CALL(name)(arguments).
 *
 * All three must give the same bits: they are compiled with -ffp-contract=off; where fma() is part of an algorithm,
 * write it out. Whoever needs one path in tests calls gr_simd_limit().
 */
#ifndef KERNEL_SIMD_SIMD_H
#define KERNEL_SIMD_SIMD_H

enum gr_simd { GR_SIMD_BASE, GR_SIMD_AVX2, GR_SIMD_AVX512 };

/* What the processor can do, or less when limited. */
enum gr_simd gr_simd_level(void);
/* Use at most that from now on. For tests; not while kernels run. */
void gr_simd_limit(enum gr_simd level);

#ifdef SIMD_SUFFIX /* inside a .simd.c file */
#define SIMD_PASTE_(name, suffix) name##suffix
#define SIMD_PASTE(name, suffix)  SIMD_PASTE_(name, suffix)
#define SIMD(name)                SIMD_PASTE(name, SIMD_SUFFIX)
#endif

#if defined(__x86_64__)
#define SIMD_DECLARE(result, name, parameters)                                                                         \
    result name##_base parameters;                                                                                     \
    result name##_avx2 parameters;                                                                                     \
    result name##_avx512 parameters
#define SIMD_CALL(name)                                                                                                \
    (gr_simd_level() == GR_SIMD_AVX512 ? name##_avx512 : gr_simd_level() == GR_SIMD_AVX2 ? name##_avx2 : name##_base)
#else
#define SIMD_DECLARE(result, name, parameters) result name##_base parameters
#define SIMD_CALL(name)                        (name##_base)
#endif

#endif
