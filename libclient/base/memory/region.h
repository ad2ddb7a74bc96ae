/*
 * Memory for many small things that go together: each costs a few instructions, and all are given back at once.
 */
#ifndef BASE_REGION_H
#define BASE_REGION_H

#include <stddef.h>

struct gr_region;

/* NULL: out of memory. */
struct gr_region *gr_region_create(void);
void gr_region_destroy(struct gr_region *region);

/* 16-byte aligned, not zeroed; valid until the next reset. NULL: out of memory. */
void *gr_region_alloc(struct gr_region *region, size_t size);
/* Zeroed. */
void *gr_region_zalloc(struct gr_region *region, size_t count, size_t size);

/* Give back everything that was allocated. */
void gr_region_reset(struct gr_region *region);

/* What `other` has belongs to region from now on; other is destroyed. */
void gr_region_absorb(struct gr_region *region, struct gr_region *other);

#endif
