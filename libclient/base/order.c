/* Radix sort, the lowest digit first. Digits that are the same everywhere cost nothing but a look. */
#include "base/order.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define DIGIT_BITS 8u
#define KEY_DIGITS (64u / DIGIT_BITS)
#define DIGITS     (GR_ORDER_KEYS * KEY_DIGITS)
#define VALUES     ((size_t)1 << DIGIT_BITS)
#define HUGE_PAGE  ((uintptr_t)2 << 20)

/* Digit 0 weighs least: it is the last key's. */
static size_t
digit_of(const struct gr_ordered *item, unsigned digit)
{
    return item->keys[GR_ORDER_KEYS - 1 - digit / KEY_DIGITS] >> (digit % KEY_DIGITS * DIGIT_BITS) & (VALUES - 1);
}

/* Move everything from one array to the other, in the order of one digit. counts: of each value. */
static void
distribute(const struct gr_ordered *from, struct gr_ordered *to, size_t count, unsigned digit,
           const size_t counts[VALUES])
{
    size_t places[VALUES];
    size_t place = 0;

    for (size_t value = 0; value < VALUES; value++) {
        places[value] = place;
        place += counts[value];
    }
    for (size_t i = 0; i < count; i++) {
        to[places[digit_of(&from[i], digit)]++] = from[i];
    }
}

bool
gr_order(struct gr_ordered *items, size_t count)
{
    size_t(*counts)[VALUES] = calloc(DIGITS, sizeof *counts);
    struct gr_ordered *other = malloc((count + 1) * sizeof *other);
    struct gr_ordered *from = items;
    struct gr_ordered *to = other;

    if (counts == NULL || other == NULL) {
        free(counts);
        free(other);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        for (unsigned digit = 0; digit < DIGITS; digit++) {
            counts[digit][digit_of(&items[i], digit)]++;
        }
    }
    for (unsigned digit = 0; digit < DIGITS && count > 0; digit++) {
        if (counts[digit][digit_of(&items[0], digit)] < count) {
            struct gr_ordered *swap = from;

            distribute(from, to, count, digit, counts[digit]);
            from = to;
            to = swap;
        }
    }
    if (from != items) {
        memcpy(items, from, count * sizeof *items);
    }
    free(counts);
    free(other);
    return true;
}

void
gr_order_expect(void *bytes, size_t size)
{
    uintptr_t from = ((uintptr_t)bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uintptr_t end = ((uintptr_t)bytes + size) / HUGE_PAGE * HUGE_PAGE;

    if (from < end) {
        (void)madvise((char *)bytes + (from - (uintptr_t)bytes), end - from, MADV_HUGEPAGE);
    }
}
