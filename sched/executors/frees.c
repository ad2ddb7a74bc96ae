/*
 * What nobody needs any more: executors are told to free it. An order is kept until it is known to be done, so that
 * neither an executor's death nor a scheduler's leaves objects behind.
 */

#include "sched/executors/frees.h"

#include <stdlib.h>
#include <string.h>

#include "sched/core/manager.h"
#include "sched/core/pack.h"
#include "sched/dispatch/reservations.h"
#include "sched/recall/recalls.h"

void
frees_collect(struct manager *manager, struct task_graph *graph)
{
    const granary_id *ids;
    size_t count = execution_graph_freed(graph->execution, &ids);

    (void)manager;
    for (size_t i = 0; i < count; i++) {
        pack_free(&graph->session->frees, ids[i]);
    }
}

void
frees_add_dropped(struct task_graph *graph)
{
    uint64_t plan;

    for (size_t at = 0; event_log_dropped(&graph->journal.log, &at, &plan);) {
        pack_free_plan(&graph->session->frees, plan);
    }
}

/* ids are of one graph and never come again: when it is gone, nobody wants them but who may recall them. */
static bool
is_wanted(const struct manager *manager, const struct task_graph *graph, granary_id id)
{
    if (recalls_own(manager->recalls, id)) {
        return true;
    }
    if (graph == NULL) {
        return false;
    }
    for (size_t i = 0; i < graph->results.kept_count; i++) {
        if (memcmp(&graph->results.kept[i], &id, sizeof id) == 0) {
            return true;
        }
    }
    return graph->execution != NULL && !execution_graph_object_freed(graph->execution, id);
}

void
frees_add_strays(struct manager *manager, const struct task_graph *graph, const Granary__Done *done)
{
    const char *name = graph != NULL ? graph->session->name : done->session;
    struct session *session;

    if (done->n_outputs == 0 || name[0] == '\0' || session_check(name) != GRANARY_OK) {
        return;
    }
    session = session_get(manager, name);
    manager->exhausted = manager->exhausted || session == NULL;
    for (size_t i = 0; session != NULL && i < done->n_outputs; i++) {
        granary_id id;

        if (done->outputs[i]->id.len != sizeof id.bytes) {
            continue;
        }
        memcpy(id.bytes, done->outputs[i]->id.data, sizeof id.bytes);
        if (!is_wanted(manager, graph, id)) {
            pack_free(&session->frees, id);
        }
    }
}

/* ---- orders ---- */

static void
order_append(struct free_order **list, struct free_order *order)
{
    while (*list != NULL) {
        list = &(*list)->next;
    }
    order->next = NULL;
    *list = order;
}

/* What a session has to free becomes an order. */
static void
order_create(struct manager *manager, struct session *session)
{
    struct free_order *order = calloc(1, sizeof *order);
    uint64_t number = manager->frees->last + 1;
    struct action *action =
        order == NULL ? NULL : entry_add_number(manager, ACTION_KEEP, MANAGER_FREES, number, sizeof number);

    if (action == NULL) {
        manager->exhausted = true;
        free(order);
        return;
    }
    order->number = manager->frees->last = number;
    session->last_order = order->number;
    order->session = session;
    order->frees = session->frees;
    order->has_errors = session->has_errors;
    session->frees = (struct gr_buf){0};
    session->has_errors = false;
    session->with_errors += order->has_errors;
    session->orders++;
    order_append(&manager->frees->orders, order);
    gr_buf_add(&action->bytes, session->name, strlen(session->name) + 1);
    gr_buf_add(&action->bytes, order->frees.bytes, order->frees.size);
}

static void
order_destroy(struct free_order *order)
{
    order->session->orders--;
    order->session->with_errors -= order->has_errors;
    gr_buf_free(&order->frees);
    free(order);
}

static void
order_send(struct manager *manager, struct executor *executor, struct free_order *order)
{
    struct action *action = send_begin(manager, executor->number);

    order->token_order = reservations_last_order(manager->reservations);
    order_append(&executor->free_orders, order);
    if (action != NULL) {
        gr_buf_add(&action->bytes, order->frees.bytes, order->frees.size);
        pack_free_session(&action->bytes, order->session->name, order->number);
    }
}

/* One that has less to do than another, and always takes what it is sent, is the better one to free things. */
static bool
is_better_to_free(const struct manager *manager, const struct executor *executor, const struct executor *other)
{
    bool waits = executor->pull || executor->draining;
    bool other_waits = other->pull || other->draining;

    return waits != other_waits ? other_waits
                                : reservations_in_flight(manager->reservations, executor->number) <
                                      reservations_in_flight(manager->reservations, other->number);
}

/*
 * An error is stored and later freed, in this order: while an executor has errors to store, it gets what the session
 * has to free, too. NULL: none has.
 */
static struct executor *
who_has_errors(struct manager *manager, const struct session *session)
{
    for (size_t i = 0; i < manager->executors.count && session->with_errors > 0; i++) {
        for (const struct free_order *order = manager->executors.items[i].free_orders; order != NULL;
             order = order->next) {
            if (order->session == session && order->has_errors) {
                return &manager->executors.items[i];
            }
        }
    }
    return NULL;
}

/* NULL: there are none. */
static struct executor *
best_to_free(struct manager *manager)
{
    struct executor *best = NULL;

    for (size_t i = 0; i < manager->executors.count; i++) {
        struct executor *executor = &manager->executors.items[i];

        if (best == NULL || is_better_to_free(manager, executor, best)) {
            best = executor;
        }
    }
    return best;
}

void
frees_send(struct manager *manager)
{
    struct session *session = LIST_FIRST(&manager->sessions.list);
    struct executor *least;

    while (session != NULL) {
        struct session *next = LIST_NEXT(session, link);

        manager->exhausted = manager->exhausted || !gr_buf_ok(&session->frees);
        if (session->frees.size > 0) {
            order_create(manager, session);
        }
        if (session_is_idle(session)) {
            session_destroy(session);
            info_changed(manager, INFO_BIT(sessions));
        }
        session = next;
    }
    least = manager->frees->orders == NULL ? NULL : best_to_free(manager); /* looks at all of them: only when needed */
    while (least != NULL && manager->frees->orders != NULL) {
        struct free_order *order = manager->frees->orders;
        struct executor *bound = who_has_errors(manager, order->session);

        manager->frees->orders = order->next;
        order_send(manager, bound != NULL ? bound : least, order);
    }
}

/* ---- what became of them ---- */

static void
first_done(struct manager *manager, struct executor *executor)
{
    struct free_order *order = executor->free_orders;

    executor->free_orders = order->next;
    (void)entry_add_number(manager, ACTION_FORGET, MANAGER_FREES, order->number, sizeof order->number);
    order_destroy(order);
}

void
frees_done(struct manager *manager, struct executor *executor, uint64_t token_order)
{
    while (executor->free_orders != NULL && executor->free_orders->token_order < token_order) {
        first_done(manager, executor);
    }
}

void
manager_freed(struct manager *manager, uint32_t executor_number, uint64_t number)
{
    struct executor *executor = executor_find(manager, executor_number);
    const struct free_order *order = executor == NULL ? NULL : executor->free_orders;

    while (order != NULL && order->number != number) {
        order = order->next;
    }
    while (order != NULL) { /* it works in order */
        bool last = executor->free_orders == order;

        first_done(manager, executor);
        order = last ? NULL : order;
    }
}

void
frees_reclaim(struct manager *manager, struct executor *executor)
{
    while (executor->free_orders != NULL) {
        struct free_order *order = executor->free_orders;

        executor->free_orders = order->next;
        order_append(&manager->frees->orders, order);
    }
}

void
frees_drop(struct free_order *orders)
{
    while (orders != NULL) {
        struct free_order *next = orders->next;

        order_destroy(orders);
        orders = next;
    }
}

/* Whether one of them is the session's, and not behind `until`. */
static bool
names_session(const struct free_order *orders, const struct session *session, uint64_t until)
{
    while (orders != NULL && (orders->session != session || orders->number > until)) {
        orders = orders->next;
    }
    return orders != NULL;
}

bool
frees_are_done(const struct manager *manager, struct task_graph *graph)
{
    const struct session *session = graph->session;
    bool pending;

    if (graph->end.frees_until == 0) {
        if (session->frees.size > 0 && session->last_order <= graph->end.frees_after) {
            return false;
        }
        graph->end.frees_until = session->last_order;
    }
    pending = names_session(manager->frees->orders, session, graph->end.frees_until);
    for (size_t i = 0; i < manager->executors.count && !pending; i++) {
        pending = names_session(manager->executors.items[i].free_orders, session, graph->end.frees_until);
    }
    return !pending;
}

void
manager_restore_frees(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size)
{
    const char *name = value;
    size_t length = strnlen(name, size);
    struct free_order *order = calloc(1, sizeof *order);

    if (order == NULL || key_size != sizeof order->number || length == size ||
        (order->session = session_get(manager, name)) == NULL) {
        manager->exhausted = manager->exhausted || order == NULL || (key_size == sizeof order->number && length < size);
        free(order);
        return;
    }
    order->number = number_of_key(key, key_size);
    gr_buf_add(&order->frees, name + length + 1, size - length - 1);
    manager->exhausted = manager->exhausted || !gr_buf_ok(&order->frees);
    order->session->orders++;
    order->has_errors = true; /* it may have some */
    order->session->with_errors++;
    order_append(&manager->frees->orders, order);
    manager->frees->last = order->number > manager->frees->last ? order->number : manager->frees->last;
    manager->frees->restored = true;
}
