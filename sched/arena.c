#include "sched/arena.h"

#include <stdlib.h>

#define BLOCK_BYTES (256u * 1024)

struct block {
    struct block *next;
    size_t size;
    _Alignas(16) unsigned char bytes[];
};

struct arena {
    struct block *blocks; /* the one in use first; the last is kept by a reset */
    size_t used;          /* of the first */
    ProtobufCAllocator allocator;
};

/* 16-byte aligned. */
static void *
allocator_alloc(void *data, size_t size)
{
    struct arena *arena = data;
    void *bytes;

    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size + 15) & ~(size_t)15;
    if (arena->blocks == NULL || arena->blocks->size - arena->used < size) {
        size_t block_size = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        struct block *block = malloc(sizeof *block + block_size);

        if (block == NULL) {
            return NULL;
        }
        *block = (struct block){.next = arena->blocks, .size = block_size};
        arena->blocks = block;
        arena->used = 0;
    }
    bytes = arena->blocks->bytes + arena->used;
    arena->used += size;
    return bytes;
}

static void
allocator_free(void *arena, void *pointer)
{
    (void)arena;
    (void)pointer;
}

struct arena *
arena_create(void)
{
    struct arena *arena = calloc(1, sizeof *arena);

    if (arena != NULL) {
        arena->allocator = (ProtobufCAllocator){allocator_alloc, allocator_free, arena};
    }
    return arena;
}

void
arena_destroy(struct arena *arena)
{
    if (arena != NULL) {
        while (arena->blocks != NULL) {
            struct block *next = arena->blocks->next;

            free(arena->blocks);
            arena->blocks = next;
        }
        free(arena);
    }
}

void
arena_reset(struct arena *arena)
{
    while (arena->blocks != NULL && arena->blocks->next != NULL) {
        struct block *next = arena->blocks->next;

        free(arena->blocks);
        arena->blocks = next;
    }
    /* One huge message must not be remembered for ever. */
    if (arena->blocks != NULL && arena->blocks->size > BLOCK_BYTES) {
        free(arena->blocks);
        arena->blocks = NULL;
    }
    arena->used = 0;
}

ProtobufCAllocator *
arena_allocator(struct arena *arena)
{
    return &arena->allocator;
}
