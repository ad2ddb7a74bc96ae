/* See text.h. */
#include "kernel/simd/text.h"

#include "kernel/simd/bytes64.h"

size_t
SIMD(text_find)(const char *text, size_t size, const char *wanted, size_t wanted_size)
{
    const size_t last = wanted_size - 1;
    const size_t places = size < wanted_size ? 0 : size - last;

    for (size_t at = 0; at < places; at += 64) {
        size_t now = places - at < 64 ? places - at : 64;
        bytes64 begins = now == 64 ? load(text + at) : load_rest(text + at, now);
        bytes64 ends = now == 64 ? load(text + at + last) : load_rest(text + at + last, now);
        uint64_t mask = equal(begins, wanted[0]) & equal(ends, wanted[last]) & below(now);

        for (; mask != 0; mask &= mask - 1) {
            size_t place = at + (size_t)__builtin_ctzll(mask);

            if (memcmp(text + place, wanted, wanted_size) == 0) {
                return place;
            }
        }
    }
    return size;
}
