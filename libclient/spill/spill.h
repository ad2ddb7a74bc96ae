/*
 * Spill files as who reads them needs them: what lies in a directory of them, which objects a file holds, and their
 * frames, verified but not unpacked. The levels (store/level) write and unpack them; whoever inspects an instance only
 * looks, and needs no LZ4 for that.
 */
#ifndef SPILL_SPILL_H
#define SPILL_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

/*
 * An object's image is its data, padded, then its metadata, padded: GR_FOOTPRINT bytes. So much of it is one frame, which
 * is packed, read and unpacked as one. Frames are small against a column of a chunk, so that little is read beside it.
 */
#define LEVEL_FRAME      ((uint64_t)64 << 10)
#define LEVEL_FRAME_MOST ((uint64_t)256 << 10) /* in files of version 2 */

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
#define LEVEL_FILE_OWNED      2u /* it says whose its session is; earlier releases did not */

/* What a file says of itself. */
struct level_file {
    uint32_t number;
    uint32_t flags; /* LEVEL_FILE_... */
    char session[64];
    uint32_t uid;           /* OWNED: who made the session */
    uint32_t session_flags; /* ... and how: GR_CONTROL_... */
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

/* What reading has cost; added to. */
struct level_cost {
    uint64_t frames;
    uint64_t bytes;
};

/* Scan a directory of spill files without any store; nothing is changed. ENOENT: there is none. */
granary_err level_scan_directory(const char *dir, const struct level_visitor *visitor);
/* The same for one file; file->err tells when it is not there. */
granary_err level_scan_file(const char *path, uint32_t number, const struct level_visitor *visitor);

/*
 * Whether what a scan found may be removed when nothing needs it: a file that was never completed, or that says of
 * itself that it is not persistent. What another release made, what a failing device hides, and a damaged file that may
 * hold persistent objects are not granary's to throw away.
 */
bool level_is_litter(const struct level_file *file);

/* Remove every such file. */
void level_clear_directory(const char *dir);

#endif
