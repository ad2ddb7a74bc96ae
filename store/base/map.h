/* A hash map from 16 bytes (an id, or a number and 0) to 16 bytes. Zero is an empty one. */
#ifndef STORE_MAP_H
#define STORE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

struct map_key {
    uint64_t words[2]; /* never both zero */
};

struct map_entry {
    struct map_key key;
    union {
        uint64_t numbers[2];
        void *pointer;
    } value;
};

struct map {
    struct map_entry *entries;
    size_t count;
    size_t room; /* a power of two, or 0 */
};

struct map_key map_key_id(granary_id id);
struct map_key map_key_number(uint64_t number); /* not 0 */

/* The entry of a key, or NULL. Valid until the next map_add() or map_remove(). */
struct map_entry *map_find(const struct map *map, struct map_key key);

/* The entry of a key, made with a zero value when there is none; NULL: out of memory. */
struct map_entry *map_add(struct map *map, struct map_key key);

void map_remove(struct map *map, struct map_entry *entry);

/* The entry at or behind *position, which starts at 0; NULL at the end. Nothing may be added or removed meanwhile. */
struct map_entry *map_next(const struct map *map, size_t *position);

void map_free(struct map *map);

#endif
