/*
 * Sessions: whose graphs share what, with which weight, and what they have left to free.
 */
#ifndef SCHED_CORE_SESSION_H
#define SCHED_CORE_SESSION_H

#include <sys/queue.h>

#include "base/text/buf.h"
#include "granary/types.h"
#include "schema/granary.pb-c.h"

struct lane;
struct manager;

#define WEIGHT_DEFAULT 100
#define WEIGHT_MAX     1000

struct session {
    LIST_ENTRY(session) link;
    LIST_ENTRY(session) backlogged_link;
    LIST_HEAD(session_lanes, lane) lanes;
    uint32_t runnable;    /* graphs in them that may have ready subtasks; some: it is backlogged */
    uint32_t weight;      /* its share beside other sessions */
    uint64_t virtual_ns;  /* executor time used, by weight */
    uint64_t served;      /* order.served when it was served last */
    struct gr_buf frees;  /* fields `free` of a ToExecutor, packed */
    uint32_t graphs;      /* of this session, ended ones included */
    uint32_t orders;      /* free_orders that name it */
    uint64_t last_order;  /* number of its last one */
    bool has_errors;      /* errors are among its frees */
    uint32_t with_errors; /* orders with errors: what is ordered behind them goes to the same executor */
    uint64_t serial;      /* the how many-th one of the manager's, from 1 */
    int64_t ended_ns;     /* when a graph of it ended last */
    uint64_t used_ns;     /* time of executors it has had */
    char *name;
};

struct sessions {
    LIST_HEAD(session_list, session) list;
    uint64_t serials; /* there were so many */
};

granary_err session_check(const char *name); /* EINVAL: it can be no session's, or not be part of a key of the state */
struct session *session_get(struct manager *manager, const char *name); /* NULL: out of memory */
/* NULL: there is none of that name. */
struct session *session_find(const struct manager *manager, const char *name);
bool session_is_idle(const struct session *session);
void session_destroy(struct session *session);
void sessions_fini(struct sessions *sessions);
void request_session(struct manager *manager, uint64_t ticket, const Granary__SessionSet *request);
void manager_restore_session(struct manager *manager, const char *name, const void *set, size_t size);

#endif
