/*
 * Depots: the directories of the levels that hold files, and which file is where. The disk level may have several: each
 * takes files by what it moves in a second, and one that is full or fails leaves them to the others.
 *
 * A file is needed by the objects in it, and by jobs that read it; the last of them removes it.
 */
#ifndef STORE_DEPOT_H
#define STORE_DEPOT_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/types.h"
#include "store/base/map.h"
#include "store/core/options.h"
#include "store/level/level.h"

struct session;
struct store;

enum depot_name { DEPOT_DISK, DEPOT_REMOTE, DEPOTS }; /* the levels */

#define DEPOT_PLACES (GR_SPILL_DIRS + 1)

struct depot {
    enum depot_name name;
    const struct level_ops *ops; /* NULL: this store does without it */
    void *self;
    struct gr_spill_place *place; /* in the root: where it is, and how it does */
    double turn;      /* seconds that it would have taken for all that was given to it, see depot_choose() */
    unsigned row;     /* writes that failed, one after the other */
    int64_t retry_ns; /* a write failed: not before */
    int64_t said_ns;  /* when that was logged last; 0: the last one succeeded */
    granary_err said; /* ... and which error */
    uint64_t unsaid;  /* failures since */
    /* Files that are being removed; and whether one that is gone has to be so durably. */
    _Atomic uint32_t removals;
    _Atomic bool unsettled;
};

struct spill_file {
    uint32_t number;
    struct depot *depot;
    struct session *session;
    uint32_t flags;   /* LEVEL_FILE_... */
    uint64_t holders; /* objects that need it, and jobs that read it */
    uint64_t bytes;
    uint64_t raw;  /* bytes of the objects it was made of */
    uint64_t live; /* ... of those that still need it */
    bool rewriting;
    bool stuck; /* could not be rewritten: it is damaged */
};

/* What the store holds of it. */
struct depots {
    struct depot of[DEPOT_PLACES]; /* as the root's places */
    uint64_t disk_quota;           /* of the disk level as a whole; 0: none */
    double turn;                   /* of the one that was taken last */
    struct map files;              /* number -> struct spill_file */
    char error[512];               /* why the last spill failed, when no level can be spilled to; "" when it did not */
    int64_t retry_ns;
    bool thinned; /* an object less needs its copy: compaction has something to look at */
};

/* Make the levels of the options ready. Errors: EINVAL · EUNSUPPORTED · EPERM · EIO · ENOMEM */
granary_err depots_open(struct store *store, const struct store_options *options);
/* Files that are not persistent go, unless the root is detached. */
void depots_close(struct store *store);

/* Whether this store has that level. */
bool depot_there(const struct store *store, enum depot_name name);
/*
 * Where a new file of a level goes, of so many bytes: who fails waits until the others do, so does who has no room, and
 * among equals each has its share by its speed. NULL: there is none but those of `without`, a bit for each place.
 */
struct depot *depot_choose(struct store *store, enum depot_name name, uint64_t bytes, unsigned without, int64_t now_ns);
/* The bit of a place. */
unsigned depot_bit(const struct store *store, const struct depot *depot);
/* Where the next spill goes: at the uppermost level that is there and did not just fail. NULL: nowhere. */
struct depot *depot_to_spill(struct store *store, uint64_t bytes, int64_t now_ns);
/* It gets a file of so many bytes. */
void depot_charge(struct store *store, struct depot *depot, uint64_t bytes);
/* That was written, */
void depot_worked(struct depot *depot);
/* ... or was not; */
void depot_blame(struct depot *depot, granary_err err);
/* ... and it is to rest for a while, with what the thread's error message says. */
void depot_failed(struct store *store, struct depot *depot, granary_err err, int64_t now_ns);
/* ... logged: at once, then the same error once a minute, with how often it was. */
void depot_log_failure(struct depot *depot, uint32_t file, granary_err err, const char *why, int64_t now_ns);
/* Bytes that a new file may take. */
uint64_t depot_allowance(const struct store *store, const struct depot *depot);
/* The flag of a slot whose object has a copy in this file. */
uint64_t depot_flag(const struct spill_file *file);

/* What a new file is to say of itself; flags: LEVEL_FILE_PERSISTENT or 0. */
void file_sign(struct level_file *ret_file, const struct session *session, uint32_t flags);
/*
 * A complete file is known from here on; it has one holder, the caller.
 * NULL: out of memory; the file stays.
 */
struct spill_file *file_add(struct store *store, struct depot *depot, struct session *session,
                            const struct level_file *file, uint64_t bytes);
/* The same of a file that was just written: without memory it goes, for nobody needs it yet. */
struct spill_file *file_add_new(struct store *store, struct depot *depot, struct session *session,
                                const struct level_file *file, uint64_t bytes);
struct spill_file *file_find(const struct store *store, uint32_t number);
/* One more holder, of so many bytes; and one less. The last one removes the file, in a worker. */
void file_hold(struct spill_file *file, uint64_t raw);
void file_release(struct store *store, uint32_t number, uint64_t raw);
/* Forget all files; they stay where they are. */
void files_forget(struct store *store);

#endif
