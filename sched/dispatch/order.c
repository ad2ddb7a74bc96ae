/* Weighted fair queueing: lanes in a binary heap by priority, then by their sessions' virtual time. */

#include "sched/dispatch/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "sched/core/manager.h"
#include "sched/execution/graph.h"

#define CHARGE_MAX_NS 600000000000u   /* a guess is never more than ten minutes */
#define YOUNG_NS      5000000u        /* a graph is young until it has used as much */
#define OLD_TURN      4               /* every so manieth turn is an old one's, when there are both */
#define USED_MAX_NS   864000000000000 /* what a report says is bounded: ten days */

/* ---- the heap ---- */

static bool
goes_before(const struct lane *a, const struct lane *b)
{
    if (a->priority != b->priority) {
        return a->priority > b->priority;
    }
    if (a->session->virtual_ns != b->session->virtual_ns) {
        return a->session->virtual_ns < b->session->virtual_ns;
    }
    return a->session->served < b->session->served;
}

static void
heap_put(struct order *order, struct lane *lane, uint32_t at)
{
    order->heap[at] = lane;
    lane->heap_at = at;
}

/* The lane stands at a place where it may not belong. */
static void
heap_fix(struct order *order, struct lane *lane)
{
    uint32_t at = lane->heap_at;

    for (; at > 0 && goes_before(lane, order->heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap_put(order, order->heap[(at - 1) / 2], at);
    }
    for (;;) {
        uint32_t child = at * 2 + 1;

        if (child + 1 < order->heap_count && goes_before(order->heap[child + 1], order->heap[child])) {
            child++;
        }
        if (child >= order->heap_count || !goes_before(order->heap[child], lane)) {
            break;
        }
        heap_put(order, order->heap[child], at);
        at = child;
    }
    heap_put(order, lane, at);
}

static void
heap_add(struct order *order, struct lane *lane)
{
    assert(order->heap_count < order->lane_room);
    heap_put(order, lane, order->heap_count++);
    heap_fix(order, lane);
}

static void
heap_remove(struct order *order, struct lane *lane)
{
    struct lane *last = order->heap[--order->heap_count];
    uint32_t at = lane->heap_at;

    lane->heap_at = LANE_NOWHERE;
    if (last != lane) {
        heap_put(order, last, at);
        heap_fix(order, last);
    }
}

void
order_fini(struct order *order)
{
    free(order->heap);
    free(order->aside);
}

/* ---- lanes ---- */

static granary_err
reserve_lane(struct order *order)
{
    size_t heap_room = order->lane_room;
    size_t aside_room = order->lane_room;

    if (!gr_grow(&order->heap, &heap_room, order->lane_count, sizeof(struct lane *)) ||
        !gr_grow(&order->aside, &aside_room, order->lane_count, sizeof(struct lane *))) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    order->lane_room = (uint32_t)heap_room;
    return GRANARY_OK;
}

granary_err
order_attach(struct manager *manager, struct task_graph *graph, int32_t priority)
{
    struct session *session = graph->session;
    struct lane *lane;
    granary_err err;

    if (graph->order.lane != NULL) {
        return GRANARY_OK; /* it is planned once more */
    }
    LIST_FOREACH(lane, &session->lanes, link)
    {
        if (lane->priority == priority) {
            break;
        }
    }
    if (lane == NULL) {
        err = reserve_lane(manager->order);
        lane = err == GRANARY_OK ? calloc(1, sizeof *lane) : NULL;
        if (lane == NULL) {
            return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
        }
        TAILQ_INIT(&lane->runnable[0]);
        TAILQ_INIT(&lane->runnable[1]);
        lane->session = session;
        lane->priority = priority;
        lane->heap_at = LANE_NOWHERE;
        LIST_INSERT_HEAD(&session->lanes, lane, link);
        manager->order->lane_count++;
    }
    lane->graphs++;
    graph->order.lane = lane;
    return GRANARY_OK;
}

void
order_detach(struct manager *manager, struct task_graph *graph)
{
    struct lane *lane = graph->order.lane;

    if (lane == NULL) {
        return;
    }
    graph_sleep(manager, graph);
    graph->order.lane = NULL;
    if (--lane->graphs == 0) {
        LIST_REMOVE(lane, link);
        manager->order->lane_count--;
        free(lane);
    }
}

/* ---- runnable or not ---- */

static void
aside_remove(struct order *order, const struct lane *lane)
{
    for (uint32_t i = 0; i < order->aside_count; i++) {
        if (order->aside[i] == lane) {
            order->aside[i] = order->aside[--order->aside_count];
            return;
        }
    }
}

static void
join_list(struct lane *lane, struct task_graph *graph)
{
    graph->order.is_old = graph->order.used_ns >= YOUNG_NS;
    TAILQ_INSERT_TAIL(&lane->runnable[graph->order.is_old], graph, order.link);
    lane->counts[graph->order.is_old]++;
}

static void
leave_list(struct lane *lane, struct task_graph *graph)
{
    TAILQ_REMOVE(&lane->runnable[graph->order.is_old], graph, order.link);
    lane->counts[graph->order.is_old]--;
}

void
graph_sleep(struct manager *manager, struct task_graph *graph)
{
    struct lane *lane = graph->order.lane;

    if (!graph->order.is_runnable) {
        return;
    }
    leave_list(lane, graph);
    graph->order.is_runnable = false;
    manager->order->coded -= graph->order.is_coded;
    graph->order.is_coded = false;
    if (lane->counts[0] + lane->counts[1] == 0) {
        if (lane->heap_at != LANE_NOWHERE) {
            heap_remove(manager->order, lane);
        } else {
            aside_remove(manager->order, lane);
        }
    }
    if (--lane->session->runnable == 0) {
        LIST_REMOVE(lane->session, backlogged_link);
    }
}

/* It had nothing to run: what it did not use is lost. */
static void
session_comes_back(struct order *order, struct session *session)
{
    const struct session *other = LIST_FIRST(&order->backlogged);
    uint64_t least = other == NULL ? order->virtual_ns : other->virtual_ns;

    LIST_FOREACH(other, &order->backlogged, backlogged_link)
    {
        least = other->virtual_ns < least ? other->virtual_ns : least;
    }
    session->virtual_ns = session->virtual_ns > least ? session->virtual_ns : least;
    LIST_INSERT_HEAD(&order->backlogged, session, backlogged_link);
}

void
graph_wake(struct manager *manager, struct task_graph *graph)
{
    struct lane *lane = graph->order.lane;

    if (graph->awaits_claims) {
        return;
    }
    if (!graph->order.is_runnable) {
        if (lane->session->runnable++ == 0) {
            session_comes_back(manager->order, lane->session);
        }
        if (lane->counts[0] + lane->counts[1] == 0) {
            memset(lane->refused, 0, sizeof lane->refused);
            heap_add(manager->order, lane);
        }
        join_list(lane, graph);
        graph->order.is_runnable = true;
    }
    if (!graph->order.is_coded && execution_graph_has_user_code(graph->execution)) {
        graph->order.is_coded = true;
        manager->order->coded++;
    }
}

/* ---- a dispatch ---- */

struct task_graph *
order_next(struct manager *manager)
{
    const struct lane *lane = manager->order->heap_count == 0 ? NULL : manager->order->heap[0];
    bool old;

    if (lane == NULL) {
        return NULL;
    }
    old = lane->counts[0] <= lane->refused[0] ||
          (lane->turns % OLD_TURN == OLD_TURN - 1 && lane->counts[1] > lane->refused[1]);
    return TAILQ_FIRST(&lane->runnable[TAILQ_EMPTY(&lane->runnable[old]) ? !old : old]);
}

void
order_served(struct manager *manager, struct task_graph *graph)
{
    struct lane *lane = graph->order.lane;

    manager->order->virtual_ns = lane->session->virtual_ns;
    lane->session->served = ++manager->order->served;
    memset(lane->refused, 0, sizeof lane->refused);
    lane->turns++;
    leave_list(lane, graph);
    join_list(lane, graph);
}

void
order_refused(struct manager *manager, struct task_graph *graph)
{
    struct lane *lane = graph->order.lane;

    lane->refused[graph->order.is_old]++;
    TAILQ_REMOVE(&lane->runnable[graph->order.is_old], graph, order.link);
    TAILQ_INSERT_TAIL(&lane->runnable[graph->order.is_old], graph, order.link);
    if (lane->refused[0] >= lane->counts[0] && lane->refused[1] >= lane->counts[1]) {
        heap_remove(manager->order, lane);
        manager->order->aside[manager->order->aside_count++] = lane;
    }
}

void
order_resume(struct manager *manager)
{
    struct order *order = manager->order;

    for (uint32_t i = 0; i < order->aside_count; i++) {
        memset(order->aside[i]->refused, 0, sizeof order->aside[i]->refused);
        heap_add(order, order->aside[i]);
    }
    order->aside_count = 0;
}

/* ---- time used ---- */

static void
session_uses(struct manager *manager, struct session *session, int64_t nanoseconds)
{
    int64_t share = nanoseconds * WEIGHT_DEFAULT / (int64_t)session->weight;
    struct lane *lane;

    if (share < 0 && session->virtual_ns < (uint64_t)-share) {
        share = -(int64_t)session->virtual_ns;
    }
    session->virtual_ns += (uint64_t)share;
    LIST_FOREACH(lane, &session->lanes, link)
    {
        if (lane->heap_at != LANE_NOWHERE) {
            heap_fix(manager->order, lane);
        }
    }
}

void
order_charge(struct manager *manager, struct task_graph *graph, struct subtask *subtask, uint64_t nanoseconds)
{
    nanoseconds = nanoseconds < CHARGE_MAX_NS ? nanoseconds : CHARGE_MAX_NS;
    subtask->charged_us = (uint32_t)(nanoseconds / 1000);
    graph->order.used_ns += subtask->charged_us * 1000ull;
    session_uses(manager, graph->session, (int64_t)subtask->charged_us * 1000);
}

void
order_settle(struct manager *manager, struct task_graph *graph, struct subtask *subtask, uint64_t nanoseconds)
{
    int64_t used = nanoseconds < USED_MAX_NS ? (int64_t)nanoseconds : USED_MAX_NS;

    graph->order.used_ns += (uint64_t)used - subtask->charged_us * 1000ull; /* it was charged that before */
    session_uses(manager, graph->session, used - (int64_t)subtask->charged_us * 1000);
    subtask->charged_us = 0;
}
