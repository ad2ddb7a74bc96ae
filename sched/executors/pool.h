/*
 * The pool's size: orders of clients, and executors that are to leave.
 */
#ifndef SCHED_EXECUTORS_POOL_H
#define SCHED_EXECUTORS_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "schema/granary.pb-c.h"

struct manager;

/* An order to the pool that is answered when it is done. */
struct pool_order {
    LIST_ENTRY(pool_order) link;
    uint64_t ticket;
    int64_t deadline_ns;
    Granary__PoolOrder__Verb verb;
    size_t count;
    uint32_t executors[]; /* numbers */
};

/* The pool's supervisor, as the scheduler knows it. */
struct pool {
    bool there;
    int64_t pid;
    uint32_t nodes;  /* slots may be on those below */
    uint32_t slots;  /* that have or will have a process */
    uint32_t adding; /* ordered, and not among slots yet */
    LIST_HEAD(pool_orders, pool_order) orders;
};

/* It asks for its work: it may have been given so many subtasks in all; before the first call, none. */
void manager_executor_pulls(struct manager *manager, uint32_t number, uint64_t subtasks);
/* It gets nothing more; when it has nothing left it is told to leave, and with `replace` to let another take its place.
 */
void manager_executor_drain(struct manager *manager, uint32_t number, bool replace);
/*
 * What the pool's supervisor says: how many slots have or will have a process, on so many NUMA nodes. pid: its own;
 * another one than before begins with as many slots as the instance did, and is asked for those added since.
 */
void manager_pool_slots(struct manager *manager, int64_t pid, uint32_t slots, uint32_t nodes);

void request_pool(struct manager *manager, uint64_t ticket, const Granary__PoolOrder *order, int64_t now_ns);
void pool_settle(struct manager *manager); /* once a turn: who leaves, and which orders are done */
int64_t pool_deadline_ns(const struct manager *manager);
void pool_expire(struct manager *manager, int64_t now_ns);
void pool_fini(struct pool *pool);
/* Whether executors are to come that have not. */
bool pool_expects(const struct manager *manager);

#endif
