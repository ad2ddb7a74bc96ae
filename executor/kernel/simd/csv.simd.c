/*
 * Bytes of CSV compared 64 at a time: each comparison gives a mask, and the positions of its bits are written eight
 * at a time without a question.
 */
#include "kernel/simd/csv.h"

#include <string.h>

#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

/* Bit i: bytes[i] is that byte. */
#if defined(__AVX512BW__)
typedef struct {
    __m512i v;
} block;

static inline block
load(const char *bytes)
{
    return (block){_mm512_loadu_si512((const void *)bytes)};
}

static inline uint64_t
equal(block b, char byte)
{
    return _mm512_cmpeq_epi8_mask(b.v, _mm512_set1_epi8(byte));
}

static inline bool
is_wide(block b)
{
    return _mm512_movepi8_mask(b.v) != 0;
}
#elif defined(__AVX2__)
typedef struct {
    __m256i v[2];
} block;

static inline block
load(const char *bytes)
{
    return (block){{_mm256_loadu_si256((const __m256i *)(const void *)bytes),
                    _mm256_loadu_si256((const __m256i *)(const void *)(bytes + 32))}};
}

static inline uint64_t
equal(block b, char byte)
{
    __m256i wanted = _mm256_set1_epi8(byte);
    uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b.v[0], wanted));
    uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b.v[1], wanted));

    return low | (uint64_t)high << 32;
}

static inline bool
is_wide(block b)
{
    return _mm256_movemask_epi8(_mm256_or_si256(b.v[0], b.v[1])) != 0;
}
#elif defined(__SSE2__)
typedef struct {
    __m128i v[4];
} block;

static inline block
load(const char *bytes)
{
    block b;

    for (int i = 0; i < 4; i++) {
        b.v[i] = _mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * i));
    }
    return b;
}

static inline uint64_t
equal(block b, char byte)
{
    __m128i wanted = _mm_set1_epi8(byte);
    uint64_t bits = 0;

    for (int i = 0; i < 4; i++) {
        bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(b.v[i], wanted)) << (16 * i);
    }
    return bits;
}

static inline bool
is_wide(block b)
{
    return _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(b.v[0], b.v[1]), _mm_or_si128(b.v[2], b.v[3]))) != 0;
}
#else
typedef struct {
    char v[64];
} block;

static inline block
load(const char *bytes)
{
    block b;

    memcpy(b.v, bytes, sizeof b.v);
    return b;
}

static inline uint64_t
equal(block b, char byte)
{
    uint64_t bits = 0;

    for (int i = 0; i < 64; i++) {
        bits |= (uint64_t)(b.v[i] == byte) << i;
    }
    return bits;
}

static inline bool
is_wide(block b)
{
    unsigned all = 0;

    for (int i = 0; i < 64; i++) {
        all |= (unsigned char)b.v[i];
    }
    return all >= 0x80;
}
#endif

/* The last bytes, with others that count for nothing behind them. */
static inline block
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

size_t
SIMD(csv_stops)(const char *bytes, size_t size, char delimiter, uint32_t first, uint32_t *ret_at)
{
    uint32_t *to = ret_at;

    for (size_t i = 0; i < size; i += 64) {
        block b = load(bytes + i);
        uint64_t stops = equal(b, delimiter) | equal(b, '\n') | equal(b, '\r') | equal(b, '"');
        uint32_t *end;

        stops &= below(size - i);
        end = to + __builtin_popcountll(stops);
        /* Eight at a time without a question: what is too many is overwritten. */
        while (to < end) {
            for (int k = 0; k < 8; k++) {
                to[k] = first + (uint32_t)i + (uint32_t)(stops == 0 ? 0 : __builtin_ctzll(stops));
                stops &= stops - 1;
            }
            to += 8;
        }
        to = end;
    }
    return (size_t)(to - ret_at);
}

uint64_t
SIMD(csv_count)(const char *bytes, size_t size, char byte)
{
    uint64_t count = 0;
    size_t i = 0;

    for (; i + 64 <= size; i += 64) {
        count += (uint64_t)__builtin_popcountll(equal(load(bytes + i), byte));
    }
    if (i < size) {
        count += (uint64_t)__builtin_popcountll(equal(load_rest(bytes + i, size - i), byte) & below(size - i));
    }
    return count;
}

uint64_t
SIMD(csv_line_ends)(const char *bytes, size_t size, bool in_run)
{
    uint64_t carry = in_run;
    uint64_t count = 0;

    for (size_t i = 0; i < size; i += 64) {
        block b = size - i >= 64 ? load(bytes + i) : load_rest(bytes + i, size - i);
        uint64_t ends = (equal(b, '\n') | equal(b, '\r')) & below(size - i);

        count += (uint64_t)__builtin_popcountll(ends & ~(ends << 1 | carry));
        carry = ends >> 63;
    }
    return count;
}

void
SIMD(csv_look)(const char *bytes, size_t size, struct csv_looks *looks)
{
    uint64_t carry = looks->in_run;
    uint64_t quotes = 0;
    bool wide = false;

    for (size_t i = 0; i < size; i += 64) {
        size_t now = size - i < 64 ? size - i : 64;
        block b = now == 64 ? load(bytes + i) : load_rest(bytes + i, now);
        uint64_t feeds = equal(b, '\n') & below(now);
        uint64_t ends = feeds | (equal(b, '\r') & below(now));

        looks->lines += (uint64_t)__builtin_popcountll(feeds);
        looks->line_ends += (uint64_t)__builtin_popcountll(ends & ~(ends << 1 | carry));
        carry = ends >> (now - 1) & 1;
        quotes |= equal(b, '"') & below(now);
        wide |= is_wide(b);
    }
    looks->in_run = carry != 0;
    looks->quotes |= quotes != 0;
    looks->wide |= wide;
}
