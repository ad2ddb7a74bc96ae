/*
 * Where bytes lie when they do not lie in shared memory: one table of functions per kind of place.
 *
 * write and read may run in different threads at once, on different files.
 */
#ifndef STORE_LEVEL_H
#define STORE_LEVEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

/* One object on its way between shared memory and a level. */
struct level_object {
    granary_id id;
    uint64_t serial; /* the store's own; not kept by the level */
    uint64_t data_size;
    uint32_t meta_size;
    uint64_t stamp;  /* of its slot: what tells it from another with the same id */
    int fd;          /* the shared memory it lies in, or goes to */
    uint64_t offset; /* ... at this offset, GR_FOOTPRINT bytes */
    uint64_t place;  /* in the file: set by write, used by read */
    bool unreadable; /* set by write: its shared memory is not what it should be */
};

struct level_ops {
    const char *name;

    /* Make dir ready (created private when missing; what an earlier store left there is removed). */
    granary_err (*open)(const char *dir, void **ret_self);
    /* Remove everything that is left, and the directory. NULL is fine. */
    void (*close)(void *self);

    /*
     * Write objects into a new file, all or none.
     *
     * allowance    bytes the file may take at most
     * ret_written  bytes it takes
     * Errors       EFULL · EIO · ...: nothing is left behind; the message names the directory
     *              ECORRUPT: an object's own bytes cannot be read, because its writer truncated the segment; it is
     *              marked unreadable
     */
    granary_err (*write)(void *self, uint32_t file, const char *session, struct level_object *objects, size_t count,
                         uint64_t allowance, uint64_t *ret_written);

    /*
     * Read one object back into shared memory; every byte was verified when it returns OK.
     *
     * Errors  ECORRUPT the file is damaged, short, missing or another one · EFULL no shared memory · EIO
     */
    granary_err (*read)(void *self, uint32_t file, const struct level_object *object);

    void (*remove)(void *self, uint32_t file);
};

extern const struct level_ops level_disk;

#endif
