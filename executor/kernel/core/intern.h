/*
 * Strings (and other bytes) numbered: 0, 1, ... in the order in which they are first seen. Made on the heap; read from
 * a section of a built object, whose bytes are not trusted.
 *
 * Section: struct intern_head, slots (two uint32 each: tag, number + 1; 0: free; linear probing, at most half full),
 * count + 1 uint64 offsets, bytes.
 */
#ifndef KERNEL_CORE_INTERN_H
#define KERNEL_CORE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

#define INTERN_NONE UINT32_MAX

struct intern_slot {
    uint32_t tag;    /* upper half of the hash */
    uint32_t number; /* + 1 */
};

struct intern_head {
    uint64_t slot_count; /* a power of two */
    uint64_t count;
    uint64_t bytes;
};

struct intern_table {
    struct intern_slot *slots;
    uint64_t slot_count;
    uint64_t *offsets; /* count + 1 */
    uint64_t count;
    uint64_t room;
    char *bytes;
    uint64_t bytes_room;
};

/* The number of a string, a new one if it is new. table is zero before the first. Errors: ENOMEM · EFULL 2^32 - 2
 * strings */
granary_err intern_add(struct intern_table *table, const char *bytes, size_t size, uint32_t *ret_number);
void intern_free(struct intern_table *table);

uint64_t intern_section_size(const struct intern_table *table);
void intern_write(const struct intern_table *table, void *section);

/* A section that is read. */
struct intern_view {
    const struct intern_slot *slots;
    uint64_t slot_count;
    uint64_t count;
    const uint64_t *offsets;
    const char *bytes;
    uint64_t bytes_size;
};
/* Check a section's sizes. false: it cannot be one */
bool intern_open(const void *section, uint64_t size, struct intern_view *ret_view);
/* INTERN_NONE: it is not among them. */
uint32_t intern_find(const struct intern_view *view, const char *bytes, size_t size);

#endif
