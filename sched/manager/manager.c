/* The manager: it makes one of each module, and tells them the time. */

#include "sched/manager/manager.h"

#include <stdlib.h>

#include "contract/sched_page.h"
#include "sched/dispatch/dispatch.h"
#include "sched/dispatch/estimates.h"
#include "sched/dispatch/order.h"
#include "sched/dispatch/reservations.h"
#include "sched/dispatch/resources.h"
#include "sched/durable/journal.h"
#include "sched/executors/frees.h"
#include "sched/executors/pool.h"
#include "sched/functions/exports.h"
#include "sched/graphs/deadline.h"
#include "sched/graphs/graphs.h"
#include "sched/graphs/tables.h"
#include "sched/graphs/wait.h"
#include "sched/history/history.h"
#include "sched/info/info.h"
#include "sched/manager/manager_private.h"
#include "sched/recall/recalls.h"

/* The modules whose structs are the manager's for life. */
struct whole {
    struct manager manager; /* the first: it is the whole, too */
    struct order order;
    struct distances distances;
    struct frees frees;
    struct pool pool;
    struct journal journal;
    struct history history;
    struct deadlines deadlines;
    struct waiters waiters;
    struct recalls recalls;
    struct gr_sched_page page; /* when there is no other */
};

static bool
modules_create(struct manager *manager)
{
    const struct manager_options *options = &manager->options;

    manager->reservations = reservations_create(options->memory_bytes, options->cores);
    manager->resources = resources_create(options->resources, options->resource_count);
    manager->estimates = estimates_create();
    manager->exports = exports_create();
    manager->info = info_create(options->unix_offset_ns / 1000000);
    return history_init(manager->history, options->history) && manager->reservations != NULL &&
           manager->resources != NULL && manager->estimates != NULL && manager->exports != NULL &&
           manager->info != NULL;
}

struct manager *
manager_create(const struct manager_options *options)
{
    struct whole *whole = calloc(1, sizeof *whole);
    struct manager *manager;

    if (whole == NULL) {
        return NULL;
    }
    manager = &whole->manager;
    manager->options = *options;
    manager->page = options->page != NULL ? options->page : &whole->page;
    manager->order = &whole->order;
    manager->distances = &whole->distances;
    manager->frees = &whole->frees;
    manager->pool = &whole->pool;
    manager->journal = &whole->journal;
    manager->history = &whole->history;
    manager->deadlines = &whole->deadlines;
    manager->waiters = &whole->waiters;
    manager->recalls = &whole->recalls;
    TAILQ_INIT(manager->deadlines);
    journal_init(manager->journal);
    recalls_init(manager->recalls);
    registry_init(&manager->registry);
    if (!modules_create(manager)) {
        manager_destroy(manager);
        return NULL;
    }
    reservations_use(manager->reservations, manager->resources);
    return manager;
}

void
manager_destroy(struct manager *manager)
{
    struct task_graph *graph;

    if (manager == NULL) {
        return;
    }
    FOREACH_GRAPH(graph, manager)
    {
        order_detach(manager, graph);
        past_forget(manager, graph);
        graph_destroy(graph);
    }
    executors_fini(&manager->executors);
    frees_drop(manager->frees->orders);
    sessions_fini(&manager->sessions);
    manager_actions_done(manager, manager->actions.count);
    free(manager->actions.items);
    info_destroy(manager->info);
    history_fini(manager->history);
    pool_fini(manager->pool);
    table_facts_destroy(manager->table_facts);
    order_fini(manager->order);
    reservations_destroy(manager->reservations);
    exports_destroy(manager->exports);
    resources_destroy(manager->resources);
    estimates_destroy(manager->estimates);
    distances_set(manager->distances, 0, NULL);
    registry_fini(&manager->registry);
    waiters_fini(manager->waiters);
    recalls_fini(manager->recalls);
    free(manager);
}

void
manager_set_distances(struct manager *manager, uint32_t nodes, const uint32_t *rows)
{
    distances_set(manager->distances, nodes, rows);
}

/* ---- time ---- */

int64_t
manager_deadline(const struct manager *manager)
{
    const int64_t deadlines[] = {deadline_next_ns(manager), info_deadline(manager), pool_deadline_ns(manager),
                                 waiters_deadline_ns(manager)};
    int64_t deadline = INT64_MAX;

    for (size_t i = 0; i < sizeof deadlines / sizeof deadlines[0]; i++) {
        deadline = deadlines[i] < deadline ? deadlines[i] : deadline;
    }
    return deadline;
}

void
manager_set_unix_offset(struct manager *manager, int64_t unix_offset_ns)
{
    manager->options.unix_offset_ns = unix_offset_ns;
}

void
manager_expire(struct manager *manager, int64_t now_ns)
{
    manager->now_ns = now_ns;
    deadline_expire(manager);
    info_expire(manager, now_ns);
    pool_expire(manager, now_ns);
    waiters_expire(manager, now_ns);
}
