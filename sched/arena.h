/*
 * Memory for one received message: protobuf-c unpacks into it, and one reset gives everything back. Unpacking a batch
 * of reports then costs no malloc.
 */
#ifndef SCHED_ARENA_H
#define SCHED_ARENA_H

#include <stdbool.h>

#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

struct arena;

/* NULL: out of memory. */
struct arena *arena_create(void);
void arena_destroy(struct arena *arena);

/* Give back everything that was allocated; what is unpacked is valid until then. */
void arena_reset(struct arena *arena);

/* For granary__..__unpack(). Freeing through it does nothing. Lives as long as the arena. */
ProtobufCAllocator *arena_allocator(struct arena *arena);

/* Whether there was no memory for something, ever. */
bool arena_failed(const struct arena *arena);

#endif
