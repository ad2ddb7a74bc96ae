/* The hash map: open addressing with linear probing and backward shifts, hashed with a secret of the process. */
#include "store/base/map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/id.h"
#include "contract/shm.h"

struct map_key
map_key_id(granary_id id)
{
    struct map_key key;

    gr_id_words(id, key.words);
    return key;
}

struct map_key
map_key_number(uint64_t number)
{
    return (struct map_key){{number, 0}};
}

/* Ids are the clients' to choose: who knew the hash would choose those that all have the same. The kernel gives each
 * process 16 bytes that nobody else knows. */
static uint64_t secret[2];

static void
learn_secret(void)
{
    const void *bytes = (const void *)getauxval(AT_RANDOM); // NOLINT(performance-no-int-to-ptr)

    if (bytes != NULL) {
        memcpy(secret, bytes, sizeof secret);
    }
}

static size_t
home_of(const struct map *map, struct map_key key)
{
    return (size_t)gr_slot_hash(key.words[0] ^ secret[0], key.words[1] ^ secret[1]) & (map->room - 1);
}

static int
is_free(const struct map_entry *entry)
{
    return (entry->key.words[0] | entry->key.words[1]) == 0;
}

/* Where the key is, or the free place where it would go. */
static struct map_entry *
place_of(const struct map *map, struct map_key key)
{
    size_t at = home_of(map, key);

    while (!is_free(&map->entries[at]) && memcmp(&map->entries[at].key, &key, sizeof key) != 0) {
        at = (at + 1) & (map->room - 1);
    }
    return &map->entries[at];
}

struct map_entry *
map_find(const struct map *map, struct map_key key)
{
    struct map_entry *entry;

    if (map->count == 0) {
        return NULL;
    }
    entry = place_of(map, key);
    return is_free(entry) ? NULL : entry;
}

static int
grow(struct map *map)
{
    struct map bigger = {.room = map->room == 0 ? 16 : map->room * 2, .count = map->count};

    bigger.entries = calloc(bigger.room, sizeof *bigger.entries);
    if (bigger.entries == NULL) {
        return -1;
    }
    if (map->room == 0 && secret[0] == 0) { /* before there is any entry in any map */
        learn_secret();
    }
    for (size_t i = 0; i < map->room; i++) {
        if (!is_free(&map->entries[i])) {
            *place_of(&bigger, map->entries[i].key) = map->entries[i];
        }
    }
    free(map->entries);
    *map = bigger;
    return 0;
}

struct map_entry *
map_add(struct map *map, struct map_key key)
{
    struct map_entry *entry = map_find(map, key);

    if (entry != NULL) {
        return entry;
    }
    if ((map->count + 1) * 4 > map->room * 3 && grow(map) < 0) {
        return NULL;
    }
    entry = place_of(map, key);
    *entry = (struct map_entry){.key = key};
    map->count++;
    return entry;
}

/* Backward shift: whoever probed past the hole moves into it, so no tombstones are needed. */
void
map_remove(struct map *map, struct map_entry *entry)
{
    size_t mask = map->room - 1;
    size_t hole = (size_t)(entry - map->entries);

    for (size_t at = (hole + 1) & mask; !is_free(&map->entries[at]); at = (at + 1) & mask) {
        size_t home = home_of(map, map->entries[at].key);

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->entries[hole] = map->entries[at];
            hole = at;
        }
    }
    memset(&map->entries[hole], 0, sizeof map->entries[hole]);
    map->count--;
}

struct map_entry *
map_next(const struct map *map, size_t *position)
{
    for (; *position < map->room; ++*position) {
        if (!is_free(&map->entries[*position])) {
            return &map->entries[(*position)++];
        }
    }
    return NULL;
}

void
map_free(struct map *map)
{
    free(map->entries);
    *map = (struct map){0};
}
