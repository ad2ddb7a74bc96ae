/*
 * Where bytes lie: one table of functions per level.
 *
 *   name    is it there?                     holds
 *   gpu     never yet: probe() says why      -
 *   memory  /dev/shm                         what the index and the segments say; only probe() is asked of the table
 *   disk    a directory                      spill files: O_DIRECT where the file system knows it
 *   remote  a directory, such as a mount     spill files: plain I/O, and every file is fsynced before it counts
 *
 * Files are made whole and never changed (docs/formats.md): under a temporary name, renamed when complete. Functions
 * may run in different threads at once, on different files; several read() also on one.
 */
#ifndef STORE_LEVEL_H
#define STORE_LEVEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spill/spill.h"

struct level_options {
    const char *dir; /* disk, remote: of this instance's own */
};

struct level_capacity {
    uint64_t total; /* bytes */
    uint64_t available;
};

#define LEVEL_SEEKABLE   1u /* a range is read without the rest */
#define LEVEL_WRITABLE   2u /* the functions below probe are there */
#define LEVEL_PERSISTENT 4u /* what lies there can survive the machine's restart */

struct level_ops {
    const char *name;
    granary_level level;
    unsigned flags;

    /*
     * Whether the level can be used, and how much room it has.
     *
     * Errors  EUNSUPPORTED it cannot; the message says why · EIO · EPERM
     */
    granary_err (*probe)(const struct level_options *options, struct level_capacity *ret_capacity);

    /* Make its directory ready: created private when missing; what is there stays. Errors: EINVAL · EPERM · EIO · ...
     */
    granary_err (*open)(const struct level_options *options, void **ret_self);
    /* Forget it; the directory goes when it is empty. NULL is fine. */
    void (*close)(void *self);

    /*
     * Write objects into a new file, all or none; it is complete when this returns OK, and durable when it is
     * persistent.
     *
     * file         number, flags, session, whose that is
     * allowance    bytes the file may take at most
     * ret_written  bytes it takes
     * Errors       EFULL · EIO · ...: nothing is left behind; the message names the file
     *              ECORRUPT: an object's own bytes cannot be read (its writer truncated the segment, or its packed copy
     *              is damaged); it is marked unreadable
     */
    granary_err (*write)(void *self, const struct level_file *file, struct level_object *objects, size_t count,
                         uint64_t allowance, uint64_t *ret_written);

    /*
     * Read a part of an object's image into shared memory; every byte was verified when it returns OK.
     *
     * from, size  a multiple of LEVEL_FRAME, and as many or up to the end; it is put at object->offset
     * cost        may be NULL
     * Errors      ECORRUPT the file is damaged, short, missing or another one; the message names object, file and
     *             byte · EFULL no shared memory · EIO · ENOMEM
     */
    granary_err (*read)(void *self, uint32_t file, const struct level_object *object, uint64_t from, uint64_t size,
                        struct level_cost *cost);

    /* What the file says of the object at object->place. Errors: as read */
    granary_err (*info)(void *self, uint32_t file, const struct level_object *object, struct level_record *ret_record);

    /* A descriptor of the file, for packed objects; -1 and an error message. */
    int (*open_file)(void *self, uint32_t file, granary_err *ret_err);

    /* The file goes. A missing one is fine. */
    void (*remove)(void *self, uint32_t file);
    /* Files that went before do so durably. */
    void (*settle)(void *self);

    /* Tell of every file, reading only headers and indexes. Errors: EIO the directory · ENOMEM · the visitor's */
    granary_err (*scan)(void *self, const struct level_visitor *visitor);

    /* The same of one file. */
    granary_err (*records)(void *self, uint32_t file, const struct level_visitor *visitor);

    /* Remove every file that is not complete and persistent. */
    void (*clear)(void *self);

    /* Bytes of objects a second that were written and read lately; 0: not known yet. */
    uint64_t (*speed)(void *self);
};

extern const struct level_ops level_gpu;
extern const struct level_ops level_memory;
extern const struct level_ops level_disk;
extern const struct level_ops level_remote;

/* The part of an image that [offset, offset + length) needs: whole frames. */
static inline void
level_frame_range(uint64_t footprint, uint64_t offset, uint64_t length, uint64_t *ret_from, uint64_t *ret_size)
{
    uint64_t from = offset / LEVEL_FRAME * LEVEL_FRAME;
    uint64_t to = (offset + length + LEVEL_FRAME - 1) / LEVEL_FRAME * LEVEL_FRAME;

    *ret_from = from;
    *ret_size = (to < footprint ? to : footprint) - from;
}

#endif
