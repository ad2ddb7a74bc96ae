/*
 * Numbered strings written as they lie in memory, so that a reader looks them up in place; looks are bounded, and
 * every offset is checked when it is used.
 */
#include "kernel/join/intern.h"

#include <stdlib.h>
#include <string.h>

uint64_t
intern_section_size(const struct gr_texts *table)
{
    return sizeof(struct intern_head) + table->slot_count * sizeof(struct gr_text_slot) +
           (table->count + 1) * sizeof(uint64_t) + gr_texts_bytes(table);
}

void
intern_write(const struct gr_texts *table, void *section)
{
    struct intern_head head = {table->slot_count, table->count, gr_texts_bytes(table)};
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
    if ((head.slot_count & (head.slot_count - 1)) != 0 || head.slot_count > size / sizeof(struct gr_text_slot) ||
        head.count > head.slot_count / 2) {
        return false;
    }
    size -= head.slot_count * sizeof(struct gr_text_slot);
    if (size < (head.count + 1) * sizeof(uint64_t) || size - (head.count + 1) * sizeof(uint64_t) != head.bytes) {
        return false;
    }
    at += sizeof head;
    *ret_view = (struct intern_view){.slots = (const struct gr_text_slot *)(const void *)at,
                                     .slot_count = head.slot_count,
                                     .count = head.count,
                                     .bytes_size = head.bytes};
    at += head.slot_count * sizeof(struct gr_text_slot);
    ret_view->offsets = (const uint64_t *)(const void *)at;
    ret_view->bytes = at + (head.count + 1) * sizeof(uint64_t);
    return true;
}

uint32_t
intern_find(const struct intern_view *view, const char *bytes, size_t size)
{
    uint64_t hash = gr_text_hash(bytes, size);
    uint64_t at = hash;

    /* Bounded: a table that was tampered with may have no free slot. */
    for (uint64_t looks = 0; looks < view->slot_count; looks++, at++) {
        struct gr_text_slot slot = view->slots[at & (view->slot_count - 1)];
        uint64_t from;

        if (slot.number == 0 || slot.number > view->count) {
            return GR_TEXTS_NONE;
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
    return GR_TEXTS_NONE;
}
