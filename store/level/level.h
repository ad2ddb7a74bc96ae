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

#include "granary/types.h"

/* An object's image is its data, padded, then its metadata, padded: GR_FOOTPRINT bytes. So much of it is one frame,
 * which is compressed, read and unpacked as one. */
#define LEVEL_FRAME ((uint64_t)256 << 10)

/* One object on its way between shared memory and a level. */
struct level_object {
    granary_id id;
    uint64_t serial; /* the store's own; not kept by the level */
    uint64_t data_size;
    uint32_t meta_size;
    uint64_t stamp;  /* of its slot: what tells it from another with the same id */
    int fd;          /* the shared memory it lies in, or goes to */
    uint64_t offset; /* ... at this offset */
    bool packed;     /* write: fd is another spill file, offset its place there: its frames are copied as they are */
    bool unreadable; /* set by write: what fd has is not what it should be */
    uint64_t place;  /* of its record in the file: set by write, used by read */
};

#define LEVEL_FILE_PERSISTENT 1u /* survives the machine's restart, and the store's orderly end */

/* What a file says of itself. */
struct level_file {
    uint32_t number;
    uint32_t flags; /* LEVEL_FILE_... */
    char session[64];
    uint64_t objects;
    uint64_t bytes;
    uint64_t created_ms;
    /* Of a scan. ESTATE: it was never completed; EVERSION another release wrote it; ECORRUPT; EIO. The message tells.
     */
    granary_err err;
    char path[600];
};

/* What a file's index says of one object. */
struct level_record {
    granary_id id;
    uint64_t stamp;
    uint64_t data_size;
    uint32_t meta_size;
    uint32_t frames;
    uint64_t place;
};

/* Who is told what a scan finds. A function that fails ends the scan with its error. */
struct level_visitor {
    void *context;
    /* A file; its records follow when file->err is OK. */
    granary_err (*file)(void *context, const struct level_file *file);
    granary_err (*record)(void *context, const struct level_file *file, const struct level_record *record);
};

struct level_options {
    const char *dir; /* disk, remote: of this instance's own */
};

struct level_capacity {
    uint64_t total; /* bytes */
    uint64_t available;
};

/* What reading has cost; added to. */
struct level_cost {
    uint64_t frames;
    uint64_t bytes;
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
     * file         number, flags, session
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

    /* The file goes; durably when it is persistent. A missing one is fine. */
    void (*remove)(void *self, uint32_t file, bool persistent);

    /* Tell of every file, reading only headers and indexes. Errors: EIO the directory · ENOMEM · the visitor's */
    granary_err (*scan)(void *self, const struct level_visitor *visitor);

    /* Remove every file that is not complete and persistent. */
    void (*clear)(void *self);
};

extern const struct level_ops level_gpu;
extern const struct level_ops level_memory;
extern const struct level_ops level_disk;
extern const struct level_ops level_remote;

/* Scan a directory of spill files without any store; nothing is changed. ENOENT: there is none. */
granary_err level_scan_directory(const char *dir, const struct level_visitor *visitor);

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
