/*
 * What several connections to the store's socket send, in pieces, as an input says: the store answers or drops them,
 * its account adds up after each step, and an honest client keeps its objects. See store/hostile.h.
 */
#include "fuzz/fuzz.h"
#include "hostile.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct input input = {bytes, size};

    hostile_run(&input, false);
    return 0;
}
