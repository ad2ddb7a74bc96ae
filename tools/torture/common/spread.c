/* A place is the position of a value's highest bit, and the four bits behind it. */
#include "torture/common/spread.h"

#define PLACES (64 * SPREAD_STEPS)

static unsigned
spread_place(uint64_t value)
{
    unsigned power = value < SPREAD_STEPS ? 4 : 63 - (unsigned)__builtin_clzll(value);

    return value < SPREAD_STEPS ? (unsigned)value : power * SPREAD_STEPS + (unsigned)(value >> (power - 4) & 15);
}

/* The highest value of a place. */
static uint64_t
spread_most(unsigned place)
{
    unsigned power = place / SPREAD_STEPS;

    return place < SPREAD_STEPS ? place : (((uint64_t)SPREAD_STEPS + place % SPREAD_STEPS + 1) << (power - 4)) - 1;
}

void
spread_note(struct spread *spread, uint64_t value)
{
    atomic_fetch_add_explicit(&spread->counts[spread_place(value)], 1, memory_order_relaxed);
}

uint64_t
spread_count(const struct spread *spread)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < PLACES; i++) {
        count += atomic_load(&spread->counts[i]);
    }
    return count;
}

uint64_t
spread_quantile(const struct spread *spread, uint64_t of_1000)
{
    const uint64_t wanted = (spread_count(spread) * of_1000 + 999) / 1000;
    uint64_t count = 0;

    for (unsigned i = 0; wanted > 0 && i < PLACES; i++) {
        count += atomic_load(&spread->counts[i]);
        if (count >= wanted) {
            return spread_most(i);
        }
    }
    return 0;
}
