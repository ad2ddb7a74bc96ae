/*
 * A client that spoils what it shares with the store: ring entries, heads, lease words, any byte of its page, and the
 * segments it was granted, which it writes, cuts off and punches. See store/hostile.h.
 */
#include "fuzz/fuzz.h"
#include "hostile.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct input input = {bytes, size};

    hostile_run(&input, true);
    return 0;
}
