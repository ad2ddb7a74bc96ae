/*
 * memory: objects, names and pages of tables in plain memory, in place of a store: the linker puts these functions where the room
 * `mutable` calls the client's. Each object has memory of its own, so that a sanitizer sees the byte behind it. Nothing waits.
 */
#ifndef FUZZ_MUTABLE_MEMORY_H
#define FUZZ_MUTABLE_MEMORY_H

#include "contract/mutable.h"
#include "granary/store.h"

#define MEMORY_PAGES 2u

struct thing {
    granary_id id;
    void *data;
    uint64_t data_size;
    void *meta;
    uint64_t meta_size;
    bool sealed;
    bool gone;
};

/* Everything is empty. Returns what stands for the client of it. */
granary_client *memory_begin(void);
void memory_end(void);

/* Objects so far, those that are gone included, in the order in which they were made. */
size_t memory_count(void);
struct thing *memory_thing(size_t i);

struct gr_mutable *memory_pages(void);

/* The machine was restarted: what was not made persistent is gone, pages and names too. */
void memory_restart(void);

#endif
