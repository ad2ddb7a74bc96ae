/* 64 bytes of text at once: which of them are a given byte, as a mask. For .simd.c files only. */
#ifndef KERNEL_SIMD_BYTES64_H
#define KERNEL_SIMD_BYTES64_H

#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Bit i: bytes[i] is that byte. */
#if defined(__AVX512BW__)
typedef struct {
    __m512i v;
} bytes64;

static inline bytes64
load(const char *bytes)
{
    return (bytes64){_mm512_loadu_si512((const void *)bytes)};
}

static inline uint64_t
equal(bytes64 block, char byte)
{
    return _mm512_cmpeq_epi8_mask(block.v, _mm512_set1_epi8(byte));
}

static inline bool
is_wide(bytes64 block)
{
    return _mm512_movepi8_mask(block.v) != 0;
}
#elif defined(__AVX2__)
typedef struct {
    __m256i v[2];
} bytes64;

static inline bytes64
load(const char *bytes)
{
    return (bytes64){{_mm256_loadu_si256((const __m256i *)(const void *)bytes),
                      _mm256_loadu_si256((const __m256i *)(const void *)(bytes + 32))}};
}

static inline uint64_t
equal(bytes64 block, char byte)
{
    __m256i wanted = _mm256_set1_epi8(byte);
    uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(block.v[0], wanted));
    uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(block.v[1], wanted));

    return low | (uint64_t)high << 32;
}

static inline bool
is_wide(bytes64 block)
{
    return _mm256_movemask_epi8(_mm256_or_si256(block.v[0], block.v[1])) != 0;
}
#elif defined(__SSE2__)
typedef struct {
    __m128i v[4];
} bytes64;

static inline bytes64
load(const char *bytes)
{
    bytes64 block;

    for (int i = 0; i < 4; i++) {
        block.v[i] = _mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * i));
    }
    return block;
}

static inline uint64_t
equal(bytes64 block, char byte)
{
    __m128i wanted = _mm_set1_epi8(byte);
    uint64_t bits = 0;

    for (int i = 0; i < 4; i++) {
        bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block.v[i], wanted)) << (16 * i);
    }
    return bits;
}

static inline bool
is_wide(bytes64 block)
{
    return _mm_movemask_epi8(
               _mm_or_si128(_mm_or_si128(block.v[0], block.v[1]), _mm_or_si128(block.v[2], block.v[3]))) != 0;
}
#else
typedef struct {
    char v[64];
} bytes64;

static inline bytes64
load(const char *bytes)
{
    bytes64 block;

    memcpy(block.v, bytes, sizeof block.v);
    return block;
}

static inline uint64_t
equal(bytes64 block, char byte)
{
    uint64_t bits = 0;

    for (int i = 0; i < 64; i++) {
        bits |= (uint64_t)(block.v[i] == byte) << i;
    }
    return bits;
}

static inline bool
is_wide(bytes64 block)
{
    unsigned all = 0;

    for (int i = 0; i < 64; i++) {
        all |= (unsigned char)block.v[i];
    }
    return all >= 0x80;
}
#endif

/* The last bytes, with others that count for nothing behind them. */
static inline bytes64
load_rest(const char *bytes, size_t size)
{
    char rest[64] = {0};

    memcpy(rest, bytes, size);
    return load(rest);
}

static inline uint64_t
below(size_t size)
{
    return size >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << size) - 1;
}

#endif
