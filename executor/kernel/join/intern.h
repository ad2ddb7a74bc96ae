/*
 * Numbered strings (data/texts.h) as a section of a built object; whoever reads it does not trust its bytes.
 *
 * Section: struct intern_head, slots (two uint32 each: tag, number + 1; 0: free; linear probing, at most half full),
 * count + 1 uint64 offsets, bytes.
 */
#ifndef KERNEL_JOIN_INTERN_H
#define KERNEL_JOIN_INTERN_H

#include "data/texts.h"

struct intern_head {
    uint64_t slot_count; /* a power of two */
    uint64_t count;
    uint64_t bytes;
};

uint64_t intern_section_size(const struct gr_texts *table);
void intern_write(const struct gr_texts *table, void *section);

/* A section that is read. */
struct intern_view {
    const struct gr_text_slot *slots;
    uint64_t slot_count;
    uint64_t count;
    const uint64_t *offsets;
    const char *bytes;
    uint64_t bytes_size;
};
/* Check a section's sizes. false: it cannot be one */
bool intern_open(const void *section, uint64_t size, struct intern_view *ret_view);
/* GR_TEXTS_NONE: it is not among them. */
uint32_t intern_find(const struct intern_view *view, const char *bytes, size_t size);

#endif
