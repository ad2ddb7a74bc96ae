/* A region behind protobuf-c's allocator: freeing does nothing, a reset gives all back. */
#include "sched/arena.h"

#include <stdlib.h>

#include "base/memory/region.h"

struct arena {
    struct gr_region *region;
    ProtobufCAllocator allocator;
    bool failed;
};

static void *
allocator_alloc(void *context, size_t size)
{
    struct arena *arena = context;
    void *bytes = gr_region_alloc(arena->region, size);

    arena->failed = arena->failed || bytes == NULL;
    return bytes;
}

static void
allocator_free(void *context, void *pointer)
{
    (void)context;
    (void)pointer;
}

struct arena *
arena_create(void)
{
    struct arena *arena = calloc(1, sizeof *arena);

    if (arena == NULL || (arena->region = gr_region_create()) == NULL) {
        free(arena);
        return NULL;
    }
    arena->allocator = (ProtobufCAllocator){allocator_alloc, allocator_free, arena};
    return arena;
}

void
arena_destroy(struct arena *arena)
{
    if (arena != NULL) {
        gr_region_destroy(arena->region);
        free(arena);
    }
}

void
arena_reset(struct arena *arena)
{
    gr_region_reset(arena->region);
}

ProtobufCAllocator *
arena_allocator(struct arena *arena)
{
    return &arena->allocator;
}

bool
arena_failed(const struct arena *arena)
{
    return arena->failed;
}
