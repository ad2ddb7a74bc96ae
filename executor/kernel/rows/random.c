/*
 * Numbers that look random, of a seed and a count: splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, 2014), asked at any place. The seed is mixed first, so that seeds side by side have nothing in common.
 */
#include "kernel/rows/text/text.h"

#include "base/id.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static uint64_t
bits_at(int64_t seed, uint64_t place)
{
    return gr_mix64(gr_mix64((uint64_t)seed + GOLDEN) + (place + 1) * GOLDEN);
}

bool
text_random_of(struct text_call *call)
{
    call->real = (double)(bits_at(call->ints[0], (uint64_t)call->ints[1]) >> 11) * 0x1p-53;
    return true;
}

/* Version 4: all but six bits are random. */
bool
text_uuid_of(struct text_call *call)
{
    uint64_t place = 2 * (uint64_t)call->ints[1];
    uint64_t high = (bits_at(call->ints[0], place) & ~UINT64_C(0xf000)) | UINT64_C(0x4000);
    uint64_t low = (bits_at(call->ints[0], place + 1) & (~UINT64_C(0) >> 2)) | UINT64_C(1) << 63;

    gr_buf_addf(call->out, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xffff),
                (unsigned)(high & 0xffff), (unsigned)(low >> 48), (unsigned long long)(low & UINT64_C(0xffffffffffff)));
    return true;
}
