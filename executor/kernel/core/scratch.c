/*
 * A few blocks a thread, kept in thread-specific data. When more is kept than may be, the smallest go first. Small
 * requests are malloc()'s.
 */
#include "kernel/core/scratch.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    BLOCKS = 16,
    ALIGNMENT = 64,
    SMALL = 64 << 10, /* what malloc() keeps by itself */
};

#define KEPT_MAX ((size_t)512 << 20)

struct block {
    char *memory;
    size_t size;
    bool taken;
};

struct scratch {
    struct block blocks[BLOCKS];
    size_t kept; /* bytes of blocks that are not taken */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void
scratch_destroy(void *value)
{
    struct scratch *scratch = value;

    for (size_t i = 0; i < BLOCKS; i++) {
        free(scratch->blocks[i].memory);
    }
    free(scratch);
}

static void
make_key(void)
{
    has_key = pthread_key_create(&key, scratch_destroy) == 0;
}

/* The thread's, or NULL: every block is then allocated anew. */
static struct scratch *
scratch_here(bool make)
{
    struct scratch *scratch;

    (void)pthread_once(&once, make_key);
    if (!has_key) {
        return NULL;
    }
    scratch = pthread_getspecific(key);
    if (scratch == NULL && make && (scratch = calloc(1, sizeof *scratch)) != NULL &&
        pthread_setspecific(key, scratch) != 0) {
        free(scratch);
        scratch = NULL;
    }
    return scratch;
}

void *
scratch_alloc(size_t size)
{
    struct scratch *scratch = size > SMALL ? scratch_here(true) : NULL;
    struct block *best = NULL;
    struct block *empty = NULL;
    void *memory;

    for (size_t i = 0; scratch != NULL && i < BLOCKS; i++) {
        struct block *block = &scratch->blocks[i];

        if (block->memory == NULL) {
            empty = block;
        } else if (!block->taken && block->size >= size && (best == NULL || block->size < best->size)) {
            best = block;
        }
    }
    if (best != NULL) {
        best->taken = true;
        scratch->kept -= best->size;
        return best->memory;
    }
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size / 4 * 5 + ALIGNMENT) / ALIGNMENT * ALIGNMENT; /* the next one is perhaps a little larger */
    memory = aligned_alloc(ALIGNMENT, size);
    if (memory != NULL && empty != NULL) {
        *empty = (struct block){memory, size, true};
    }
    return memory;
}

/* The smallest kept blocks go first: a large one serves for them, too. */
static void
scratch_trim(struct scratch *scratch)
{
    while (scratch->kept > KEPT_MAX) {
        struct block *least = NULL;

        for (size_t i = 0; i < BLOCKS; i++) {
            struct block *block = &scratch->blocks[i];

            if (block->memory != NULL && !block->taken && (least == NULL || block->size < least->size)) {
                least = block;
            }
        }
        scratch->kept -= least->size;
        free(least->memory);
        *least = (struct block){0};
    }
}

void
scratch_free(void *memory)
{
    struct scratch *scratch = memory == NULL ? NULL : scratch_here(false);

    for (size_t i = 0; scratch != NULL && i < BLOCKS; i++) {
        struct block *block = &scratch->blocks[i];

        if (block->memory == memory) {
            block->taken = false;
            scratch->kept += block->size;
            scratch_trim(scratch);
            return;
        }
    }
    free(memory);
}
