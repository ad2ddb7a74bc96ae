/* The pool's size: orders of clients, and executors that are to leave. */

#include "sched/executors/pool.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "sched/core/manager.h"
#include "sched/core/pack.h"
#include "sched/dispatch/reservations.h"

#define SLOTS_MAX 1024

/* ---- events ---- */

void
manager_executor_pulls(struct manager *manager, uint32_t number, uint64_t subtasks)
{
    struct executor *executor = executor_find(manager, number);

    if (executor != NULL) {
        executor->pull = true;
        if (!executor->draining) {
            reservations_limit(manager->reservations, number, subtasks);
        }
    }
}

void
manager_executor_drain(struct manager *manager, uint32_t number, bool replace)
{
    struct executor *executor = executor_find(manager, number);

    if (executor != NULL && !executor->draining) {
        executor->draining = true;
        executor->replace = replace;
        reservations_close(manager->reservations, number);
    }
}

/* Ask the pool for more slots. */
static void
order_slots(struct manager *manager, uint32_t count, int32_t node)
{
    Granary__PoolOrder order = GRANARY__POOL_ORDER__INIT;
    struct action *action = send_begin(manager, EXECUTOR_POOL);

    if (action != NULL) {
        order.verb = GRANARY__POOL_ORDER__VERB__ADD;
        order.count = count;
        order.node = node;
        pack_pool_order(&action->bytes, &order);
        manager->pool->adding += count;
    }
}

void
manager_pool_slots(struct manager *manager, int64_t pid, uint32_t slots, uint32_t nodes)
{
    struct pool *pool = manager->pool;
    uint32_t more = pool->there && slots > pool->slots ? slots - pool->slots : 0;
    uint32_t had = pool->slots + pool->adding;

    if (pool->there && pid != pool->pid) {
        pool->adding = 0;
        pool->slots = slots;
        if (had > slots) {
            order_slots(manager, had - slots, -1);
        }
    } else {
        pool->adding -= more < pool->adding ? more : pool->adding;
        pool->slots = slots;
    }
    pool->there = true;
    pool->pid = pid;
    pool->nodes = nodes;
}

/* ---- orders ---- */

/* Whether every slot of the pool has an executor that is here, or on its way out. */
static bool
is_complete(const struct manager *manager)
{
    uint32_t here = 0;

    for (size_t i = 0; i < manager->executors.count; i++) {
        const struct executor *executor = &manager->executors.items[i];

        here += !executor->pull && (!executor->draining || !executor->replace);
    }
    return manager->pool->adding == 0 && here >= manager->pool->slots;
}

static bool
is_done(struct manager *manager, const struct pool_order *order)
{
    for (size_t i = 0; i < order->count; i++) {
        if (executor_find(manager, order->executors[i]) != NULL) {
            return false;
        }
    }
    return order->verb == GRANARY__POOL_ORDER__VERB__DRAIN || order->verb == GRANARY__POOL_ORDER__VERB__BUDGET ||
           is_complete(manager);
}

/* "executor 3 runs KEY/7": what the order waits for. */
static void
say_late(struct manager *manager, const struct pool_order *order)
{
    char text[512];
    size_t used = 0;

    used += (size_t)snprintf(text, sizeof text, "the pool");
    for (size_t i = 0; i < order->count && used < sizeof text - 160; i++) {
        uint64_t first = reservations_first(manager->reservations, order->executors[i]);
        const struct task_graph *graph = first == 0 ? NULL : graph_of_number(manager, first);

        if (executor_find(manager, order->executors[i]) == NULL) {
            continue;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s executor %u", used > 8 ? "," : ":",
                                 order->executors[i]);
        used += (size_t)(graph == NULL
                             ? snprintf(text + used, sizeof text - used, " has not left")
                             : snprintf(text + used, sizeof text - used, " runs %s/%u", graph->key, (uint32_t)first));
    }
    if (used == 8) {
        (void)snprintf(text + used, sizeof text - used, ": executors of %u slots have not come", manager->pool->slots);
    }
    (void)gr_fail(GRANARY_ETIMEDOUT, "%s; it goes on: see `granary executors`", text);
    reply_error(manager, order->ticket, GRANARY_ETIMEDOUT, granary_error_message());
}

static void
order_drop(struct pool_order *order)
{
    LIST_REMOVE(order, link);
    free(order);
}

void
pool_settle(struct manager *manager)
{
    struct pool_order *order = LIST_FIRST(&manager->pool->orders);

    for (size_t i = 0; i < manager->executors.count; i++) {
        struct executor *executor = &manager->executors.items[i];
        struct action *action;

        if (!executor->draining || executor->dismissed ||
            reservations_in_flight(manager->reservations, executor->number) > 0) {
            continue;
        }
        action = send_begin(manager, executor->number);
        if (action != NULL) {
            pack_dismissal(&action->bytes, executor->replace);
            executor->dismissed = true;
        }
    }
    while (order != NULL) {
        struct pool_order *next = LIST_NEXT(order, link);

        if (is_done(manager, order)) {
            reply_ok(manager, order->ticket);
            order_drop(order);
        }
        order = next;
    }
}

int64_t
pool_deadline_ns(const struct manager *manager)
{
    const struct pool_order *order;
    int64_t deadline_ns = INT64_MAX;

    LIST_FOREACH(order, &manager->pool->orders, link)
    {
        deadline_ns = order->deadline_ns < deadline_ns ? order->deadline_ns : deadline_ns;
    }
    return deadline_ns;
}

void
pool_expire(struct manager *manager, int64_t now_ns)
{
    struct pool_order *order = LIST_FIRST(&manager->pool->orders);

    while (order != NULL) {
        struct pool_order *next = LIST_NEXT(order, link);

        if (order->deadline_ns <= now_ns) {
            say_late(manager, order);
            order_drop(order);
        }
        order = next;
    }
}

void
pool_fini(struct pool *pool)
{
    while (!LIST_EMPTY(&pool->orders)) {
        order_drop(LIST_FIRST(&pool->orders));
    }
}

bool
pool_expects(const struct manager *manager)
{
    return manager->pool->adding > 0 || manager->executors.count < manager->pool->slots;
}

/* ---- requests ---- */

static granary_err
check_add(const struct manager *manager, const Granary__PoolOrder *order)
{
    const struct pool *pool = manager->pool;

    if (!pool->there) {
        return gr_fail(GRANARY_EUNREACHABLE, "no pool is connected to the scheduler: see log/pool.log of the instance");
    }
    if (order->node >= 0 && (uint32_t)order->node >= pool->nodes) {
        return gr_fail(GRANARY_EINVAL, "there is no NUMA node %d for executors: `granary bands` lists them",
                       order->node);
    }
    if (order->count < 1 || order->count > SLOTS_MAX || pool->slots + pool->adding + order->count > SLOTS_MAX) {
        return gr_fail(GRANARY_EINVAL, "%u executors more: there are %u, and a pool has at most %d", order->count,
                       pool->slots + pool->adding, SLOTS_MAX);
    }
    return GRANARY_OK;
}

static granary_err
check_executors(struct manager *manager, const Granary__PoolOrder *order)
{
    bool recycle = order->verb == GRANARY__POOL_ORDER__VERB__RECYCLE;

    if (order->n_executors == 0 && !recycle) {
        return gr_fail(GRANARY_EINVAL, "which executors? `granary executors` lists them");
    }
    for (size_t i = 0; i < order->n_executors; i++) {
        const struct executor *executor = executor_find(manager, order->executors[i]);

        if (executor == NULL) {
            return gr_fail(GRANARY_ENOENT, "executor %u: not found: `granary executors` lists them",
                           order->executors[i]);
        }
        if (executor->pull && order->verb != GRANARY__POOL_ORDER__VERB__DRAIN) {
            return gr_fail(GRANARY_EINVAL,
                           "executor %u: embedded in another program, process %lld: it can be drained, or that "
                           "program be ended",
                           executor->number, (long long)executor->pid);
        }
    }
    return GRANARY_OK;
}

static void
carry_out(struct manager *manager, struct pool_order *order, const Granary__PoolOrder *request)
{
    struct action *action;

    if (order->verb == GRANARY__POOL_ORDER__VERB__ADD) {
        order_slots(manager, request->count, request->node);
        return;
    }
    if (order->verb == GRANARY__POOL_ORDER__VERB__BUDGET) {
        manager->options.memory_bytes = request->memory_bytes;
        return;
    }
    for (size_t i = 0; i < order->count; i++) {
        if (order->verb != GRANARY__POOL_ORDER__VERB__KILL) {
            manager_executor_drain(manager, order->executors[i], order->verb == GRANARY__POOL_ORDER__VERB__RECYCLE);
            continue;
        }
        action = action_add(manager, ACTION_KILL);
        if (action != NULL) {
            action->executor = order->executors[i];
            executor_find(manager, order->executors[i])->blameless = true;
        }
    }
}

void
request_pool(struct manager *manager, uint64_t ticket, const Granary__PoolOrder *request, int64_t now_ns)
{
    bool all = request->verb == GRANARY__POOL_ORDER__VERB__RECYCLE && request->n_executors == 0;
    size_t count = all ? manager->executors.count : request->n_executors;
    struct pool_order *order = NULL;
    granary_err err;

    switch (request->verb) {
    case GRANARY__POOL_ORDER__VERB__ADD:
        err = check_add(manager, request);
        count = 0;
        break;
    case GRANARY__POOL_ORDER__VERB__DRAIN:
    case GRANARY__POOL_ORDER__VERB__KILL:
    case GRANARY__POOL_ORDER__VERB__RECYCLE:
        err = check_executors(manager, request);
        break;
    case GRANARY__POOL_ORDER__VERB__BUDGET:
        err = GRANARY_OK;
        count = 0;
        break;
    default:
        err = gr_fail(GRANARY_EPROTO, "the scheduler does not know this order to the pool");
        break;
    }
    if (err == GRANARY_OK && (order = calloc(1, sizeof *order + count * sizeof order->executors[0])) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    if (err != GRANARY_OK) {
        reply_failure(manager, ticket, err);
        return;
    }
    order->ticket = ticket;
    order->verb = request->verb;
    order->deadline_ns = wait_until_ns(request->timeout_ms, now_ns);
    for (size_t i = 0; i < count; i++) {
        if (!all || !manager->executors.items[i].pull) {
            order->executors[order->count++] = all ? manager->executors.items[i].number : request->executors[i];
        }
    }
    LIST_INSERT_HEAD(&manager->pool->orders, order, link);
    carry_out(manager, order, request);
}
