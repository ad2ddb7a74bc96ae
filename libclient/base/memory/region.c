/* Regions: blocks of doubling size, from which memory is taken by moving a mark. */
#include "base/memory/region.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES (4u * 1024) /* then each block is twice the one before, up to ... */
#define BLOCK_BYTES (256u * 1024)

struct block {
    struct block *next;
    size_t size;
    _Alignas(16) unsigned char bytes[];
};

struct gr_region {
    struct block *blocks; /* the one in use first; it is kept by a reset */
    size_t used;          /* of the first */
};

struct gr_region *
gr_region_create(void)
{
    return calloc(1, sizeof(struct gr_region));
}

void
gr_region_destroy(struct gr_region *region)
{
    if (region != NULL) {
        while (region->blocks != NULL) {
            struct block *next = region->blocks->next;

            free(region->blocks);
            region->blocks = next;
        }
        free(region);
    }
}

void *
gr_region_alloc(struct gr_region *region, size_t size)
{
    void *bytes;

    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size + 15) & ~(size_t)15;
    if (region->blocks == NULL || region->blocks->size - region->used < size) {
        size_t block_size = region->blocks == NULL ? FIRST_BYTES : region->blocks->size * 2;
        struct block *block;

        block_size = block_size > BLOCK_BYTES ? BLOCK_BYTES : block_size;
        block_size = block_size > size ? block_size : size;
        block = malloc(sizeof *block + block_size);
        if (block == NULL) {
            return NULL;
        }
        *block = (struct block){.next = region->blocks, .size = block_size};
        region->blocks = block;
        region->used = 0;
    }
    bytes = region->blocks->bytes + region->used;
    region->used += size;
    return bytes;
}

void *
gr_region_zalloc(struct gr_region *region, size_t count, size_t size)
{
    void *bytes = size != 0 && count > SIZE_MAX / 2 / size ? NULL : gr_region_alloc(region, count * size);

    if (bytes != NULL) {
        memset(bytes, 0, count * size);
    }
    return bytes;
}

void
gr_region_reset(struct gr_region *region)
{
    struct block *kept = region->blocks; /* the largest, unless something huge came before it */

    while (kept != NULL && kept->next != NULL) {
        struct block *next = kept->next;

        kept->next = next->next;
        free(next);
    }
    /* One huge thing must not be remembered for ever. */
    if (kept != NULL && kept->size > BLOCK_BYTES) {
        free(kept);
        region->blocks = NULL;
    }
    region->used = 0;
}

void
gr_region_absorb(struct gr_region *region, struct gr_region *other)
{
    struct block **last = &region->blocks;

    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = other->blocks;
    if (region->blocks == other->blocks) {
        region->used = other->used;
    }
    free(other);
}
