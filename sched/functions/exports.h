/*
 * The libraries that sessions have exported. Pure, a part of the task manager: no clock, no I/O.
 *
 * Life of a library (one version of one name)
 *
 *   state     entered by   found by name   next
 *   EXPORTED  add          yes             LEFT, - (unexport, when no graph runs it)
 *   LEFT      unexport     no              EXPORTED (add), - (when the last graph that runs it has ended)
 *
 * A session's exports are counted: the sequence of a library is the count when it was added last. Executors get them in
 * that order, so a subtask that needs a sequence needs everything before it, too. Of several versions the one with the
 * highest sequence is the newest.
 */
#ifndef SCHED_FUNCTIONS_EXPORTS_H
#define SCHED_FUNCTIONS_EXPORTS_H

#include <stdbool.h>

#include "base/text/buf.h"
#include "graph/user/function.h"
#include "schema/granary.pb-c.h"

struct exports;
struct shelf; /* a session's; it stays as long as the exports do */

struct exported {
    Granary__Library *library; /* as it is kept, with its sequence; owned */
    bool left;
};

/* NULL: out of memory. */
struct exports *exports_create(void);
void exports_destroy(struct exports *exports);

/* A session's libraries; NULL: it has never exported one, or no memory when it is to be made. */
struct shelf *exports_of(const struct exports *exports, const char *session);

/*
 * Add a library. The newest version of its name, exported already, stays as it is; else it becomes the newest, with
 * the next sequence.
 *
 * library       only read; its sequence is not
 * ret_exported  valid until the next change
 * ret_changed   it is to be kept
 * ret_replaced  object of the same version that it takes the place of; all zero: there was none
 * Errors        EINVAL the message says what is wrong with it · ENOMEM
 */
granary_err exports_add(struct exports *exports, const Granary__Library *library, const struct exported **ret_exported,
                        bool *ret_changed, granary_id *ret_replaced);
/* As an earlier scheduler kept it, LEFT or not; takes it, whatever becomes of it. Errors: EINVAL, ENOMEM */
granary_err exports_restore(struct exports *exports, Granary__Library *library);

/* The function that a node's text means. Errors: ENOENT, with what is near, or a reusable variable it asks for is not
 * there · EINVAL, in several libraries or no name */
granary_err
exports_find(const struct shelf *shelf, const char *session, const char *text, struct gr_function *ret_function);

/* One library is unexported: LEFT. NULL: none of that name and version ("": any) is exported. */
const struct exported *
exports_leave(struct exports *exports, struct shelf *shelf, const char *name, const char *version);
/* The error ENOENT for a library that is not exported, with the nearest name. */
granary_err exports_no_library(const struct shelf *shelf, const char *session, const char *name, const char *version);

/* Libraries that are LEFT: the next one from *position on; NULL: no more. */
const struct exported *exports_next_left(const struct shelf *shelf, size_t *position);
/* How many there are in all sessions. */
size_t exports_left(const struct exports *exports);
/* Forget one that is LEFT. */
void exports_drop(struct exports *exports, struct shelf *shelf, const struct exported *exported);

/* Append what an executor that has everything up to `after` is to be sent, as fields of a ToExecutor, in order. Returns
 * the sequence it has then. */
uint64_t exports_pack(const struct shelf *shelf, uint64_t after, struct gr_buf *message);

/* Every exported library of a session in order, for listings: calls visit. */
void exports_visit(const struct exports *exports,
                   void (*visit)(void *context, const Granary__Library *library, bool left), void *context);

#endif
