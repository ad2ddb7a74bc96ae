/* A hash table of positions with linear probing; the names stay where they are. */
#include "base/text/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"

/* So few are compared one by one as fast. */
enum { FEW = 16 };

static const char *
name_at(const struct gr_named *array, size_t i)
{
    return *(const char *const *)((const char *)array->first + i * array->stride);
}

static size_t
slot_of(const struct gr_names *names, const char *name)
{
    return gr_hash64(name, strlen(name)) & (names->room - 1);
}

static void
put(struct gr_names *names, const struct gr_named *array, size_t position)
{
    const char *name = name_at(array, position);
    size_t slot = name == NULL ? 0 : slot_of(names, name);

    while (name != NULL && names->slots[slot] != 0) {
        slot = (slot + 1) & (names->room - 1);
    }
    if (name != NULL) {
        names->slots[slot] = (uint32_t)position + 1;
    }
}

/* Slots for `count` names, of which those that are there are put. false: out of memory, or no slots are needed */
static bool
make_room(struct gr_names *names, const struct gr_named *array, size_t count)
{
    size_t room = names->room == 0 ? 4 * FEW : names->room;
    uint32_t *slots;

    while (room < 2 * count) {
        room *= 2;
    }
    if (room == names->room) {
        return true;
    }
    slots = calloc(room, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    free(names->slots);
    names->slots = slots;
    names->room = room;
    for (size_t i = 0; i < names->count; i++) {
        put(names, array, i);
    }
    return true;
}

void
gr_names_add(struct gr_names *names, struct gr_named array)
{
    if (names->count + 1 != array.count || array.count >= UINT32_MAX) {
        return;
    }
    if (array.count > FEW) {
        if (!make_room(names, &array, array.count)) {
            return;
        }
        put(names, &array, names->count);
    }
    names->count++;
}

void
gr_names_fill(struct gr_names *names, struct gr_named array)
{
    const size_t count = array.count;

    if (count > FEW && count < UINT32_MAX && make_room(names, &array, count)) {
        for (size_t i = 0; i < count; i++) {
            put(names, &array, i);
        }
    }
    names->count = count <= FEW || names->slots != NULL ? count : 0;
}

static int
search(const struct gr_named *array, const char *name)
{
    for (size_t i = 0; i < array->count; i++) {
        const char *own = name_at(array, i);

        if (own != NULL && strcmp(own, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

int
gr_names_find(const struct gr_names *names, struct gr_named array, const char *name)
{
    size_t slot;

    if (names->slots == NULL || names->count != array.count) {
        return search(&array, name);
    }
    slot = slot_of(names, name);
    while (names->slots[slot] != 0 && strcmp(name_at(&array, names->slots[slot] - 1), name) != 0) {
        slot = (slot + 1) & (names->room - 1);
    }
    return (int)names->slots[slot] - 1;
}

void
gr_names_free(struct gr_names *names)
{
    free(names->slots);
    *names = (struct gr_names){0};
}
