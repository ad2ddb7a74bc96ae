/* Runs of small numbers: see bits.h. */
#include "kernel/parquet/bits.h"

void
hybrid_open(struct hybrid *hybrid, const uint8_t *bytes, size_t size, unsigned bits)
{
    *hybrid = (struct hybrid){.at = bytes, .end = bytes + size, .bits = bits};
}

/* The head of a run: a number of at most 32 bits. */
static bool
read_head(struct hybrid *hybrid, uint32_t *ret_head)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 35; shift += 7) {
        uint8_t byte;

        if (hybrid->at == hybrid->end) {
            return false;
        }
        byte = *hybrid->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            *ret_head = (uint32_t)value;
            return value <= UINT32_MAX;
        }
    }
    return false;
}

bool
hybrid_run(struct hybrid *hybrid)
{
    while (hybrid->left == 0) {
        size_t room;
        uint32_t head;

        if (!read_head(hybrid, &head)) {
            return false;
        }
        room = (size_t)(hybrid->end - hybrid->at);
        hybrid->packed = (head & 1) != 0;
        hybrid->left = head >> 1;
        if (hybrid->packed) {
            uint64_t size = hybrid->left * hybrid->bits;

            hybrid->left *= 8;
            if (size > room) { /* some writers leave out what pads the last one */
                size = room;
                hybrid->left = size * 8 / hybrid->bits;
                if (hybrid->left == 0) {
                    return false;
                }
            }
            hybrid->run = hybrid->at;
            hybrid->bit = 0;
            hybrid->at += size;
        } else {
            unsigned bytes = (hybrid->bits + 7) / 8;

            if (bytes > room) {
                return false;
            }
            hybrid->value = 0;
            memcpy(&hybrid->value, hybrid->at, bytes);
            hybrid->at += bytes;
            if (hybrid->bits < 32 && hybrid->value >> hybrid->bits != 0) {
                return false;
            }
        }
    }
    return true;
}

/* bits is a constant wherever it is called. */
static inline __attribute__((always_inline)) void
unpack_bits(const uint8_t *run, uint64_t bit, unsigned bits, uint32_t *numbers, size_t count)
{
    uint32_t mask = (uint32_t)(((uint64_t)1 << bits) - 1);

    for (size_t i = 0; i < count; i++, bit += bits) {
        numbers[i] = (uint32_t)(bits_load(run + (bit >> 3)) >> (bit & 7)) & mask;
    }
}

/* Eight numbers are so many bytes; from a byte's begin on, each stands at a constant place. */
static inline __attribute__((always_inline)) void
unpack_eights(const uint8_t *run, unsigned bits, uint32_t *numbers, size_t eights)
{
    uint32_t mask = (uint32_t)(((uint64_t)1 << bits) - 1);

    for (size_t e = 0; e < eights; e++, run += bits, numbers += 8) {
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) {
            numbers[i] = (uint32_t)(bits_load(run + (i * bits >> 3)) >> (i * bits & 7)) & mask;
        }
    }
}

static void
unpack_many(const uint8_t *run, unsigned bits, uint32_t *numbers, size_t eights)
{
    switch (bits) {
#define CASE(n)                                                                                                        \
    case n:                                                                                                            \
        unpack_eights(run, n, numbers, eights);                                                                        \
        break
        CASE(1);
        CASE(2);
        CASE(3);
        CASE(4);
        CASE(5);
        CASE(6);
        CASE(7);
        CASE(8);
        CASE(9);
        CASE(10);
        CASE(11);
        CASE(12);
        CASE(13);
        CASE(14);
        CASE(15);
        CASE(16);
        CASE(17);
        CASE(18);
        CASE(19);
        CASE(20);
#undef CASE
    default:
        unpack_eights(run, bits, numbers, eights);
    }
}

void
hybrid_unpack(struct hybrid *hybrid, uint32_t *numbers, size_t count)
{
    unsigned bits = hybrid->bits;
    size_t head = (size_t)(-(hybrid->bit / (bits == 0 ? 1 : bits)) & 7);
    size_t eights;

    hybrid->left -= count;
    if (bits == 0) {
        memset(numbers, 0, count * sizeof *numbers);
        return;
    }
    head = head < count ? head : count;
    unpack_bits(hybrid->run, hybrid->bit, bits, numbers, head);
    hybrid->bit += head * bits;
    numbers += head;
    count -= head;
    eights = count / 8;
    unpack_many(hybrid->run + hybrid->bit / 8, bits, numbers, eights);
    hybrid->bit += eights * 8 * bits;
    numbers += eights * 8;
    unpack_bits(hybrid->run, hybrid->bit, bits, numbers, count % 8);
    hybrid->bit += (count % 8) * bits;
}

bool
hybrid_take(struct hybrid *hybrid, uint32_t *numbers, size_t count)
{
    while (count > 0) {
        size_t run;

        if (!hybrid_run(hybrid)) {
            return false;
        }
        run = hybrid->left < count ? (size_t)hybrid->left : count;
        if (hybrid->packed) {
            hybrid_unpack(hybrid, numbers, run);
        } else {
            for (size_t i = 0; i < run; i++) {
                numbers[i] = hybrid->value;
            }
            hybrid->left -= run;
        }
        numbers += run;
        count -= run;
    }
    return true;
}

bool
hybrid_skip(struct hybrid *hybrid, uint64_t count)
{
    while (count > 0) {
        uint64_t run;

        if (!hybrid_run(hybrid)) {
            return false;
        }
        run = hybrid->left < count ? hybrid->left : count;
        hybrid->bit += run * hybrid->bits;
        hybrid->left -= run;
        count -= run;
    }
    return true;
}

int64_t
run_bits(uint8_t *dst, int64_t dst_at, const uint8_t *src, uint64_t src_at, int64_t count)
{
    int64_t ones = 0;

    while (count > 0) {
        unsigned shift = (unsigned)(dst_at & 7);
        int64_t step = count < 48 ? count : 48;
        uint64_t word = bits_load(src + (src_at >> 3)) >> (src_at & 7) & (((uint64_t)1 << step) - 1);
        unsigned bytes = ((unsigned)step + shift + 7) / 8;
        uint8_t *to = dst + (dst_at >> 3);

        ones += __builtin_popcountll(word);
        word <<= shift;
        for (unsigned b = 0; b < bytes; b++) {
            to[b] = (uint8_t)(to[b] | (uint8_t)(word >> (8 * b)));
        }
        dst_at += step;
        src_at += (uint64_t)step;
        count -= step;
    }
    return ones;
}

void
run_ones(uint8_t *dst, int64_t at, int64_t count)
{
    while (count > 0 && (at & 7) != 0) {
        dst[at >> 3] = (uint8_t)(dst[at >> 3] | 1u << (at & 7));
        at++;
        count--;
    }
    if (count >= 8) {
        memset(dst + (at >> 3), 0xff, (size_t)(count / 8));
        at += count / 8 * 8;
        count %= 8;
    }
    for (; count > 0; at++, count--) {
        dst[at >> 3] = (uint8_t)(dst[at >> 3] | 1u << (at & 7));
    }
}

int64_t
count_ones(const uint8_t *bits, int64_t from, int64_t to)
{
    int64_t ones = 0;

    for (int64_t step; from < to; from += step) {
        step = to - from < 48 ? to - from : 48;
        ones += __builtin_popcountll(bits_load(bits + (from >> 3)) >> (from & 7) & (((uint64_t)1 << step) - 1));
    }
    return ones;
}
