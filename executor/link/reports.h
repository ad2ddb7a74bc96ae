/*
 * The reports of a worker about its subtasks, until they are known to be kept. A scheduler may die with what it was
 * told, and the next one is told again. Reports are sent in the order in which they were added.
 */
#ifndef EXECUTOR_LINK_REPORTS_H
#define EXECUTOR_LINK_REPORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/types.h"
#include "schema/granary.pb-c.h"

struct report {
    Granary__Done *done;
    char *session;     /* that it ran in */
    uint64_t sequence; /* of the message it was sent in last; 0: none yet */
};

/* Zero is an empty one. */
struct reports {
    struct report *items; /* items[first .. first + count), the oldest first; those not sent are the last */
    size_t first, count, room;
    size_t unsent;
    uint64_t sequence;       /* of the last message */
    Granary__Done **scratch; /* for a message */
    size_t scratch_room;
};

void reports_fini(struct reports *reports);

/* Takes done, of a subtask of that session. Errors: ENOMEM, then done is freed */
granary_err reports_add(struct reports *reports, Granary__Done *done, const char *session);
/* The last one added is of a subtask that an earlier scheduler gave: it is sent with its session. */
void reports_tell_session(struct reports *reports);

/* Put the unsent ones into a message; or all of them, with their sessions, for another scheduler: they count as sent
 * with it. What it points to is valid until the next call. Errors: ENOMEM */
granary_err reports_fill(struct reports *reports, bool all, Granary__FromExecutor *message);

/* Those of messages up to this one are kept. */
void reports_acknowledged(struct reports *reports, uint64_t sequence);

#endif
