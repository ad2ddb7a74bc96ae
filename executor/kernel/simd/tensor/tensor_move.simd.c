/*
 * Transposed in parts of 64 x 64 elements that stay in the cache, and within them in squares of 8 x 8 in registers;
 * whole lines are written past the caches.
 */
#include "kernel/simd/tensor/tensor_move.h"

#include <stdbool.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define PART 64 /* a part of 64 x 64 elements stays in the cache */

static void
plain(uint64_t *restrict out, int64_t out_stride, const uint64_t *restrict in, int64_t in_stride, int64_t rows,
      int64_t columns)
{
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) {
            out[r * out_stride + c] = in[c * in_stride + r];
        }
    }
}

#if defined(__AVX512F__)

/* Eight columns of eight become eight rows: pairs, fours and halves change places. lines: out + r * out_stride are
 * such, and are written past the caches. */
static void
eight(uint64_t *out, int64_t out_stride, const uint64_t *in, int64_t in_stride, bool lines)
{
    __m512i x[8], y[8];

    for (int i = 0; i < 8; i++) {
        x[i] = _mm512_loadu_si512((const void *)(in + i * in_stride));
    }
    for (int i = 0; i < 8; i += 2) {
        y[i] = _mm512_unpacklo_epi64(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_epi64(x[i], x[i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        x[i] = _mm512_shuffle_i64x2(y[i], y[i + 2], 0x88);
        x[i + 2] = _mm512_shuffle_i64x2(y[i], y[i + 2], 0xdd);
        x[i + 4] = _mm512_shuffle_i64x2(y[i + 4], y[i + 6], 0x88);
        x[i + 6] = _mm512_shuffle_i64x2(y[i + 4], y[i + 6], 0xdd);
    }
    for (int i = 0; i < 4; i++) {
        y[i] = _mm512_shuffle_i64x2(x[i], x[i + 4], 0x88);
        y[i + 4] = _mm512_shuffle_i64x2(x[i], x[i + 4], 0xdd);
    }
    for (int i = 0; i < 8; i++) {
        if (lines) {
            _mm512_stream_si512((void *)(out + i * out_stride), y[i]);
        } else {
            _mm512_storeu_si512((void *)(out + i * out_stride), y[i]);
        }
    }
}

#endif

void
SIMD(tensor_transpose)(uint64_t *out, int64_t out_stride, const uint64_t *in, int64_t in_stride, int64_t rows,
                       int64_t columns)
{
    for (int64_t r = 0; r < rows; r += PART) {
        int64_t height = rows - r < PART ? rows - r : PART;

        for (int64_t c = 0; c < columns; c += PART) {
            int64_t width = columns - c < PART ? columns - c : PART;
            uint64_t *to = out + r * out_stride + c;
            const uint64_t *from = in + c * in_stride + r;
#if defined(__AVX512F__)
            bool lines = ((uintptr_t)to & 63) == 0 && out_stride % 8 == 0;

            for (int64_t i = 0; i + 8 <= height; i += 8) {
                for (int64_t k = 0; k + 8 <= width; k += 8) {
                    /* The part behind this one: its short rows are too far apart for the processor to look ahead. */
                    if (c + PART + k + 8 <= columns) {
                        for (int row = 0; row < 8; row++) {
                            _mm_prefetch((const char *)(from + (PART + k + row) * in_stride + i), _MM_HINT_T1);
                        }
                    }
                    eight(to + i * out_stride + k, out_stride, from + k * in_stride + i, in_stride, lines);
                }
                plain(to + i * out_stride + width / 8 * 8, out_stride, from + width / 8 * 8 * in_stride + i, in_stride,
                      8, width % 8);
            }
            plain(to + height / 8 * 8 * out_stride, out_stride, from + height / 8 * 8, in_stride, height % 8, width);
#else
            plain(to, out_stride, from, in_stride, height, width);
#endif
        }
    }
#if defined(__x86_64__)
    _mm_sfence();
#endif
}
