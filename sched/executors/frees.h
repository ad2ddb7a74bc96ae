/*
 * What nobody needs any more: executors are told to free it. An order is kept until it is known to be done, so that
 * neither an executor's death nor a scheduler's leaves objects behind.
 */
#ifndef SCHED_EXECUTORS_FREES_H
#define SCHED_EXECUTORS_FREES_H

#include "base/text/buf.h"
#include "schema/granary.pb-c.h"

struct executor;
struct manager;
struct session;
struct task_graph;

/*
 * Objects an executor was told to free. It works in order: when it says so, or reports on a message it was sent later,
 * they are gone. When it dies before, somebody else is told; when the scheduler does, the next one tells.
 */
struct free_order {
    struct free_order *next;
    uint64_t number;      /* of all there were, whichever scheduler gave it */
    uint64_t token_order; /* of the last token granted before it was sent */
    struct session *session;
    bool has_errors;
    struct gr_buf frees;
};

struct frees {
    struct free_order *orders; /* nobody is told yet, the oldest first */
    uint64_t last;             /* number of the last one there was */
    bool restored;             /* of earlier graphs, perhaps of keys that come again */
};

void frees_collect(struct manager *manager, struct task_graph *graph);
/*
 * What an executor made that was not to make it any more: it stood still, or was cut off, while another scheduler gave
 * the subtask to somebody else, or ended the graph. Nobody reads it, and what had its id before was freed: it would
 * stay. graph: NULL: it is deleted
 */
void frees_add_strays(struct manager *manager, const struct task_graph *graph, const Granary__Done *done);
/* What plans of the graph have made that it was begun with before, and that were dropped. */
void frees_add_dropped(struct task_graph *graph);
void frees_send(struct manager *manager); /* somebody is told of everything there is to free */
/* It has reported on the token granted as token_order: what it was told to free before it got that is gone. */
void frees_done(struct manager *manager, struct executor *executor, uint64_t token_order);
/* It is dead: somebody else is to free what it may not have freed. An object that is gone already does no harm. */
void frees_reclaim(struct manager *manager, struct executor *executor);
void frees_drop(struct free_order *orders); /* forget them */
/* Whether what the graph left is freed: no order of its session is under way that may name it. */
bool frees_are_done(const struct manager *manager, struct task_graph *graph);
/* It has done this free_order, and those it was given before. */
void manager_freed(struct manager *manager, uint32_t executor, uint64_t free_order);
void manager_restore_frees(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size);

#endif
