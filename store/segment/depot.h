/*
 * Depots: the levels that hold files, and which file is where.
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

struct depot {
    const struct level_ops *ops; /* NULL: this store does without it */
    void *self;
    char dir[512];
    uint64_t quota;   /* 0: none */
    uint64_t bytes;   /* its files take */
    int64_t retry_ns; /* a write failed: not before */
    int64_t said_ns;  /* when that was logged last; 0: the last one succeeded */
    granary_err said; /* ... and which error */
    uint64_t unsaid;  /* failures since */
    /* Files that are being removed; and whether one that is gone has to be so durably. */
    _Atomic uint32_t removals;
    _Atomic bool unsettled;
};

enum depot_name { DEPOT_DISK, DEPOT_REMOTE, DEPOTS };

struct spill_file {
    uint32_t number;
    enum depot_name depot;
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
    struct depot of[DEPOTS];
    struct map files; /* number -> struct spill_file */
    char error[512];  /* why the last spill failed, when no level can be spilled to; "" when it did not */
    int64_t retry_ns;
    bool thinned; /* an object less needs its copy: compaction has something to look at */
};

/* Make the levels of the options ready. Errors: EINVAL · EUNSUPPORTED · EPERM · EIO · ENOMEM */
granary_err depots_open(struct store *store, const struct store_options *options);
/* Files that are not persistent go, unless the root is detached. */
void depots_close(struct store *store);

/* Where the next spill goes: the uppermost level that is there and did not just fail. NULL: none. */
struct depot *depot_to_spill(struct store *store, int64_t now_ns);
/* A write failed; with what the thread's error message says. */
void depot_failed(struct store *store, struct depot *depot, int64_t now_ns);
/* ... logged: at once, then the same error once a minute, with how often it was. */
void depot_log_failure(struct depot *depot, uint32_t file, granary_err err, const char *why, int64_t now_ns);
/* Bytes that a new file may take. */
uint64_t depot_allowance(const struct depot *depot);
struct depot *depot_of(struct store *store, const struct spill_file *file);
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
