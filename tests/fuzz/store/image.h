/*
 * What a store that was killed left behind, as files: taken once, laid out again for each input, and damaged as the
 * input says. Damage goes where something is: words that are not zero, of the files that say what there is.
 */
#ifndef FUZZ_STORE_IMAGE_H
#define FUZZ_STORE_IMAGE_H

#include <stdbool.h>

#include "granary/types.h"
#include "input.h"

#define IMAGE_OBJECTS 12u

/* One of the objects that are in it. */
struct image_object {
    granary_id id;
    const char *session;
    uint64_t data_size;
    unsigned seed;
    bool touched; /* by damage to what alone says where its bytes are, or to those */
};
extern struct image_object image_objects[IMAGE_OBJECTS];

/* Make a store with sessions, clients, objects in memory and on disk, and everything that is said of them; kill it. */
void image_take(uint64_t memory_bytes);
/* Whatever there is of the instance goes. */
void image_clear(void);
/* Lay out what was taken. */
void image_restore(void);
/* Damage it in as many places as the input says; objects are marked. */
void image_damage(struct input *input);

/* The bytes of an object. */
void image_fill(void *bytes, size_t size, unsigned seed);

#endif
