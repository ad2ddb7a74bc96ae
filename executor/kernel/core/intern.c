#include "kernel/core/intern.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

#define SLOTS_MIN 64

static bool
slots_double(struct intern_table *table)
{
    uint64_t count = table->slot_count == 0 ? SLOTS_MIN : 2 * table->slot_count;
    struct intern_slot *slots = calloc(count, sizeof *slots);

    if (slots == NULL) {
        return false;
    }
    for (uint64_t number = 0; number < table->count; number++) {
        uint64_t from = table->offsets[number];
        uint64_t hash = XXH3_64bits(table->bytes + from, (size_t)(table->offsets[number + 1] - from));
        uint64_t at = hash & (count - 1);

        while (slots[at].number != 0) {
            at = (at + 1) & (count - 1);
        }
        slots[at] = (struct intern_slot){(uint32_t)(hash >> 32), (uint32_t)number + 1};
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = count;
    return true;
}

static bool
make_room(struct intern_table *table, size_t size)
{
    uint64_t used = table->count > 0 ? table->offsets[table->count] : 0;

    if (table->count + 2 > table->room) {
        uint64_t room = table->room == 0 ? 64 : 2 * table->room;
        uint64_t *offsets = realloc(table->offsets, room * sizeof *offsets);

        if (offsets == NULL) {
            return false;
        }
        offsets[0] = 0;
        table->offsets = offsets;
        table->room = room;
    }
    if (used + size > table->bytes_room || table->bytes == NULL) {
        uint64_t room = 2 * (used + size) + 256;
        char *bytes = realloc(table->bytes, room);

        if (bytes == NULL) {
            return false;
        }
        table->bytes = bytes;
        table->bytes_room = room;
    }
    return 2 * (table->count + 1) <= table->slot_count || slots_double(table);
}

granary_err
intern_add(struct intern_table *table, const char *bytes, size_t size, uint32_t *ret_number)
{
    uint64_t hash = XXH3_64bits(bytes, size);
    uint64_t at;

    if (!make_room(table, size)) {
        return gr_fail(GRANARY_ENOMEM, "join: out of memory for %llu keys", (unsigned long long)table->count + 1);
    }
    if (table->count >= INTERN_NONE - 1) {
        return gr_fail(GRANARY_EFULL, "join: more than 4294967293 different keys");
    }
    for (at = hash & (table->slot_count - 1); table->slots[at].number != 0; at = (at + 1) & (table->slot_count - 1)) {
        uint32_t number = table->slots[at].number - 1;
        uint64_t from = table->offsets[number];

        if (table->slots[at].tag == (uint32_t)(hash >> 32) && table->offsets[number + 1] - from == size &&
            memcmp(table->bytes + from, bytes, size) == 0) {
            *ret_number = number;
            return GRANARY_OK;
        }
    }
    table->slots[at] = (struct intern_slot){(uint32_t)(hash >> 32), (uint32_t)table->count + 1};
    if (size > 0) {
        memcpy(table->bytes + table->offsets[table->count], bytes, size);
    }
    table->offsets[table->count + 1] = table->offsets[table->count] + size;
    *ret_number = (uint32_t)table->count++;
    return GRANARY_OK;
}

void
intern_free(struct intern_table *table)
{
    free(table->slots);
    free(table->offsets);
    free(table->bytes);
    *table = (struct intern_table){0};
}

/* ---- sections ---- */

static uint64_t
text_bytes(const struct intern_table *table)
{
    return table->count > 0 ? table->offsets[table->count] : 0;
}

uint64_t
intern_section_size(const struct intern_table *table)
{
    return sizeof(struct intern_head) + table->slot_count * sizeof(struct intern_slot) +
           (table->count + 1) * sizeof(uint64_t) + text_bytes(table);
}

void
intern_write(const struct intern_table *table, void *section)
{
    struct intern_head head = {table->slot_count, table->count, text_bytes(table)};
    char *to = section;
    const uint64_t zero = 0;

    memcpy(to, &head, sizeof head);
    to += sizeof head;
    if (table->count == 0) {
        memset(to, 0, table->slot_count * sizeof *table->slots);
        memcpy(to + table->slot_count * sizeof *table->slots, &zero, sizeof zero);
        return;
    }
    memcpy(to, table->slots, table->slot_count * sizeof *table->slots);
    to += table->slot_count * sizeof *table->slots;
    memcpy(to, table->offsets, (table->count + 1) * sizeof *table->offsets);
    to += (table->count + 1) * sizeof *table->offsets;
    memcpy(to, table->bytes, head.bytes);
}

bool
intern_open(const void *section, uint64_t size, struct intern_view *ret_view)
{
    const char *at = section;
    struct intern_head head;

    if (size < sizeof head) {
        return false;
    }
    memcpy(&head, at, sizeof head);
    size -= sizeof head;
    if ((head.slot_count & (head.slot_count - 1)) != 0 || head.slot_count > size / sizeof(struct intern_slot) ||
        head.count > head.slot_count / 2) {
        return false;
    }
    size -= head.slot_count * sizeof(struct intern_slot);
    if (size < (head.count + 1) * sizeof(uint64_t) || size - (head.count + 1) * sizeof(uint64_t) != head.bytes) {
        return false;
    }
    at += sizeof head;
    *ret_view = (struct intern_view){.slots = (const struct intern_slot *)(const void *)at,
                                     .slot_count = head.slot_count,
                                     .count = head.count,
                                     .bytes_size = head.bytes};
    at += head.slot_count * sizeof(struct intern_slot);
    ret_view->offsets = (const uint64_t *)(const void *)at;
    ret_view->bytes = at + (head.count + 1) * sizeof(uint64_t);
    return true;
}

uint32_t
intern_find(const struct intern_view *view, const char *bytes, size_t size)
{
    uint64_t hash = XXH3_64bits(bytes, size);
    uint64_t at = hash;

    /* Bounded: a table that was tampered with may have no free slot. */
    for (uint64_t looks = 0; looks < view->slot_count; looks++, at++) {
        struct intern_slot slot = view->slots[at & (view->slot_count - 1)];
        uint64_t from;

        if (slot.number == 0 || slot.number > view->count) {
            return INTERN_NONE;
        }
        if (slot.tag != (uint32_t)(hash >> 32)) {
            continue;
        }
        from = view->offsets[slot.number - 1];
        if (from <= view->bytes_size && size <= view->bytes_size - from && view->offsets[slot.number] - from == size &&
            memcmp(view->bytes + from, bytes, size) == 0) {
            return slot.number - 1;
        }
    }
    return INTERN_NONE;
}
