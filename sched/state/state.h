/*
 * What a scheduler keeps across restarts: entries (space, key) -> value with a version. One scheduler at a time uses a
 * state; one thread. docs/formats.md, "scheduler state", describes the file.
 *
 * Changes are visible to later calls at once and kept when commit() has returned OK, all of a turn together. When
 * commit() fails, every change since the commit before is undone.
 *
 * A writer holds the lock of a name: state_lock() makes it the owner and gives a fence, a number higher than all
 * before. A writer that finds another fence at state_fence() has been replaced and must not commit.
 *
 * Errors common to all: EFULL disk full · EPERM read-only · ECORRUPT damaged, the message says what to do · EIO
 */
#ifndef STATE_STATE_H
#define STATE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/buf.h"
#include "granary/types.h"

#define STATE_ANY       UINT64_MAX /* put: whatever is there */
#define STATE_ABSENT    0          /* put: nothing may be there */
#define STATE_KEY_MAX   1024       /* bytes */
#define STATE_SPACE_MAX 32         /* characters; a space is a word such as "graphs" */

struct state_put {
    const char *space;
    const void *key;
    size_t key_size; /* 1 to STATE_KEY_MAX; keys are ordered as memcmp() does */
    const void *value;
    size_t value_size;
    uint64_t expected; /* version that must be there, STATE_ABSENT or STATE_ANY; versions begin at 1 */
};

/* One entry of a scan; the pointers are valid during the visit only. value is NULL in scan_keys. */
struct state_entry {
    const void *key;
    size_t key_size;
    const void *value;
    size_t value_size;
    uint64_t version;
};
/* Must not change the state. Not OK ends the scan with that error. */
typedef granary_err state_visit(void *context, const struct state_entry *entry);

/* The entries of a space in the order of their keys, behind `after` (size 0: from the first), at most limit. */
struct state_range {
    const char *space;
    const void *after;
    size_t after_size;
    size_t limit; /* 0: all */
};

struct state_ops {
    const char *name; /* as in --state NAME */
    size_t self_size; /* the caller hands every call this much memory, zeroed before open() */

    /* path: of the file, made when missing. Errors: EVERSION another schema · EBUSY another process has it */
    granary_err (*open)(void *self, const char *path);
    /* Accepts what a failed open() left. Drops what was not committed. */
    void (*close)(void *self);

    /* The value is added to ret_value; ret_version may be NULL. Errors: ENOENT */
    granary_err (*get)(void *self, const char *space, const void *key, size_t key_size, struct gr_buf *ret_value,
                       uint64_t *ret_version);
    granary_err (*scan)(void *self, const struct state_range *range, state_visit *visit, void *context);
    granary_err (*scan_keys)(void *self, const struct state_range *range, state_visit *visit, void *context);

    /* ret_version may be NULL. Errors: ESTATE another version is there · EINVAL key or space too long */
    granary_err (*put)(void *self, const struct state_put *put, uint64_t *ret_version);
    /* All or nothing. Errors: as put */
    granary_err (*put_txn)(void *self, const struct state_put *puts, size_t count);
    /* Rename; the version goes on. Errors: ENOENT · EEXIST something has the new name */
    granary_err (*mv)(void *self, const char *space, const void *key, size_t key_size, const char *new_space,
                      const void *new_key, size_t new_key_size);
    /* Errors: ENOENT */
    granary_err (*delete)(void *self, const char *space, const void *key, size_t key_size);
    /* Every entry whose key begins with the prefix (1 to STATE_KEY_MAX bytes); that there is none is fine. */
    granary_err (*delete_all)(void *self, const char *space, const void *prefix, size_t prefix_size);

    /* Kept when this returns OK, whatever becomes of this process. Free when nothing changed. */
    granary_err (*commit)(void *self);
    /*
     * What was committed before this was called is kept when it returns OK, whatever becomes of the machine's power.
     * Unlike the others it may be called by another thread meanwhile, one at a time. NULL: there is nothing to wait
     * for.
     */
    granary_err (*sync)(void *self);
    /* Undo what was not committed. A backend that cannot fail half-way may leave it: doing it again does no harm. */
    void (*rollback)(void *self);
};

extern const struct state_ops state_memory; /* ends with the process; path is ignored */
extern const struct state_ops state_sqlite;

/* The backend of that name, or NULL. */
const struct state_ops *state_find(const char *name);

/*
 * Become the owner of a lock, from whoever has it; durable on return. The caller knows otherwise that the owner before
 * is gone or is to stop (a file lock tells).
 *
 * owner      text, for people
 * at_least   the fence is no lower: a clock here keeps fences growing when a state is lost
 * ret_fence  higher than any given before for this name
 * Errors     the backend's
 */
granary_err state_lock(const struct state_ops *ops, void *self, const char *name, const char *owner, uint64_t at_least,
                       uint64_t *ret_fence);
/* The fence given last, 0 when none was. Errors: the backend's */
granary_err state_fence(const struct state_ops *ops, void *self, const char *name, uint64_t *ret_fence);

/* EINVAL with a message when a name cannot be used. */
granary_err state_check(const char *space, const void *key, size_t key_size);

#endif
