/* What is played has tables: entries under two numbers each, with open addressing. */
#include "simulate/store.h"

#include <stdlib.h>

#include "simulate/world.h"

static struct played *
slot_of(const struct played_table *table, uint64_t first, uint64_t second)
{
    size_t at = (size_t)world_mix(first, second) & (table->size - 1);

    while (table->slots[at].used && (table->slots[at].key[0] != first || table->slots[at].key[1] != second)) {
        at = (at + 1) & (table->size - 1);
    }
    return &table->slots[at];
}

static bool
grow(struct played_table *table)
{
    struct played_table grown = {.size = table->size == 0 ? 256 : table->size * 2, .count = table->count};

    if (table->count * 2 < table->size) {
        return true;
    }
    grown.slots = calloc(grown.size, sizeof *grown.slots);
    if (grown.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < table->size; i++) {
        if (table->slots[i].used) {
            *slot_of(&grown, table->slots[i].key[0], table->slots[i].key[1]) = table->slots[i];
        }
    }
    free(table->slots);
    *table = grown;
    return true;
}

struct played *
played_get(struct played_table *table, uint64_t first, uint64_t second)
{
    struct played *slot;

    if (!grow(table)) {
        return NULL;
    }
    slot = slot_of(table, first, second);
    if (!slot->used) {
        *slot = (struct played){.key = {first, second}, .used = true};
        table->count++;
    }
    return slot;
}

void
played_free(struct played_table *table)
{
    free(table->slots);
    *table = (struct played_table){0};
}
