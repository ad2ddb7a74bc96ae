/* The objects of a simulated run: what is there, and what was made how often. */
#ifndef SIMULATE_STORE_H
#define SIMULATE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An object by its id, or a subtask by its number (and 0). */
struct played {
    uint64_t key[2];
    uint64_t bytes;
    uint32_t runs;
    uint32_t successes;
    bool used;
    bool there;
    bool lost; /* by a fault, and not made again since */
};

struct played_table {
    struct played *slots;
    size_t size, count; /* size: a power of two */
};

/* The entry of a key; made when it is new. Valid until the next call. NULL: out of memory */
struct played *played_get(struct played_table *table, uint64_t first, uint64_t second);
void played_free(struct played_table *table);

#endif
