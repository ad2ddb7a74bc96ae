/*
 * A greatest fixed point: all waits are taken to be stuck, and those that somebody else could end are taken out
 * again.
 */

#include "sched/executors/waits.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"
#include "base/log.h"
#include "sched/core/manager.h"
#include "sched/dispatch/reservations.h"
#include "sched/execution/graph_private.h"
#include "sched/executors/pool.h"
#include "sched/executors/verdict.h"

/* Pages are looked at one after another: what they tell must have been so for this long. */
#define SURE_NS   1000000000
#define NAMED_MAX 5

/* A question being answered: the graphs, and the waits that are held to be stuck so far. */
struct search {
    struct manager *manager;
    const struct wait *waits;
    size_t count;
    const bool *stuck;
};

/* The wait of an executor that is held to be stuck; NULL: it will be free some time. */
static const struct wait *
stuck_at(const struct search *search, uint32_t executor)
{
    for (size_t i = 0; i < search->count; i++) {
        if (search->stuck[i] && search->waits[i].executor == executor) {
            return &search->waits[i];
        }
    }
    return NULL;
}

static bool
any_will_be_free(const struct search *search)
{
    const struct manager *manager = search->manager;

    for (size_t i = 0; i < manager->executors.count; i++) {
        if (!manager->executors.items[i].draining && stuck_at(search, manager->executors.items[i].number) == NULL) {
            return true;
        }
    }
    return pool_expects(manager);
}

/* Subtasks of a graph still to be looked at, each once. */
struct list {
    uint32_t *items;
    uint32_t count;
    bool *seen;
};

static void
list_add(struct list *list, uint32_t number)
{
    if (!list->seen[number]) {
        list->seen[number] = true;
        list->items[list->count++] = number;
    }
}

/* What a waiting subtask misses. */
static void
list_add_missing(struct list *list, const struct execution_graph *execution, const struct subtask *subtask)
{
    for (uint32_t i = 0; i < subtask->input_count; i++) {
        const struct object *object = &execution->objects.items[execution->links.items[subtask->first_input + i]];

        if (object->state != OBJECT_PRESENT && object->producer < execution->subtasks.count) {
            list_add(list, object->producer);
        }
    }
    for (uint32_t i = 0; i < subtask->before_count; i++) {
        uint32_t before = execution->links.items[subtask->first_before + i];

        if (!execution->subtasks.items[before].passed) {
            list_add(list, before);
        }
    }
}

/*
 * Whether an unfinished subtask will end, when those held to be stuck stay so and all others end. That is so when
 * everything it needs, and they need, has an executor that will be free. Out of memory: it is taken to go on.
 */
static bool
can_go_on(const struct search *search, const struct task_graph *graph, uint32_t number)
{
    const struct execution_graph *execution = graph->execution;
    uint32_t total = execution->subtasks.count;
    struct list list = {.items = calloc(total + 1, sizeof *list.items), .seen = calloc(total + 1, sizeof *list.seen)};
    bool good = true;

    if (list.items != NULL && list.seen != NULL && number < total) {
        list_add(&list, number);
    }
    while (good && list.count > 0) {
        const struct subtask *subtask = &execution->subtasks.items[list.items[--list.count]];

        switch ((enum subtask_state)subtask->state) {
        case SUBTASK_RUNNING: /* at work, or behind what is */
            good = stuck_at(search, reservations_holder(search->manager->reservations, subtask->token)) == NULL;
            break;
        case SUBTASK_READY:
        case SUBTASK_PARKED:
        case SUBTASK_AWAY: /* what it goes on as still runs, and needs executors, too */
            good = any_will_be_free(search);
            break;
        case SUBTASK_WAITING:
            list_add_missing(&list, execution, subtask);
            break;
        default:
            break;
        }
    }
    free(list.items);
    free(list.seen);
    return good;
}

/* The graph that is to make an object; NULL: none, or it is made. */
static struct task_graph *
maker_of(struct manager *manager, granary_id id, uint32_t *ret_number)
{
    struct task_graph *graph;

    FOREACH_GRAPH(graph, manager)
    {
        uint32_t position = graph->execution == NULL ? NONE : object_find(graph->execution, id);

        if (position != NONE && graph->execution->objects.items[position].state == OBJECT_MISSING) {
            *ret_number = graph->execution->objects.items[position].producer;
            return graph;
        }
    }
    return NULL;
}

/*
 * Find the waits that can never end: the largest set of them in which each waits for something only others of the set
 * could bring about. What somebody outside may do is taken to happen.
 *
 * ret_stuck  one a wait
 * Returns    how many
 */
static size_t
waits_find_stuck(struct manager *manager, const struct wait *waits, size_t count, bool *ret_stuck)
{
    size_t stuck = count;
    bool changed = true;

    for (size_t i = 0; i < count; i++) {
        ret_stuck[i] = true;
    }
    while (changed) {
        changed = false;
        for (size_t i = 0; i < count; i++) {
            const struct search search = {manager, waits, count, ret_stuck};
            uint32_t number = 0;
            struct task_graph *graph = ret_stuck[i] ? maker_of(manager, waits[i].object, &number) : NULL;

            if (ret_stuck[i] && (graph == NULL || can_go_on(&search, graph, number))) {
                ret_stuck[i] = false;
                changed = true;
                stuck--;
            }
        }
    }
    return stuck;
}

/* ---- breaking ---- */

/* The waits that are still so, as the pages told of them. Returns how many. */
static size_t
waits_collect(struct manager *manager, int64_t now_ns, struct wait *waits)
{
    size_t count = 0;

    for (size_t i = 0; i < manager->executors.count; i++) {
        const struct wait *wait = &manager->executors.items[i].wait;
        struct task_graph *graph;
        const struct subtask *subtask = subtask_of_number(manager, wait->subtask, &graph);

        if (subtask != NULL && subtask->state == SUBTASK_RUNNING && subtask->attempt == wait->attempt &&
            !gr_id_is_zero(wait->object) && now_ns - wait->since_ns >= SURE_NS &&
            reservations_holder(manager->reservations, subtask->token) == wait->executor &&
            !verdict_is_of(&manager->executors.items[i], wait->subtask,
                           wait->attempt)) { /* that one will be free soon */
            waits[count++] = *wait;
        }
    }
    return count;
}

static void
name_wait(struct manager *manager, const struct wait *wait, struct gr_buf *text)
{
    char id[GRANARY_ID_TEXT + 1];
    uint32_t number = 0;
    const struct task_graph *waiter = graph_of_number(manager, wait->subtask);
    const struct task_graph *maker = maker_of(manager, wait->object, &number);

    granary_id_format(wait->object, id);
    gr_buf_addf(text, "%s/%u at executor %u waits for object %.12s..., which ", waiter == NULL ? "?" : waiter->key,
                (uint32_t)wait->subtask, wait->executor, id);
    gr_buf_addf(text, "%s/%u is to make", maker == NULL ? "?" : maker->key, number);
}

void
waits_break(struct manager *manager, int64_t now_ns)
{
    size_t room = manager->executors.count;
    struct wait *waits = calloc(room + 1, sizeof *waits);
    bool *stuck = calloc(room + 1, sizeof *stuck);
    const struct wait *youngest = NULL;
    struct gr_buf names = {0};
    size_t count = 0;
    size_t named = 0;

    if (waits != NULL && stuck != NULL) {
        count = waits_collect(manager, now_ns, waits);
    }
    if (count > 0 && waits_find_stuck(manager, waits, count, stuck) > 0) {
        for (size_t i = 0; i < count; i++) {
            if (stuck[i] && named++ < NAMED_MAX) {
                gr_buf_addf(&names, "%s", named > 1 ? "; " : "");
                name_wait(manager, &waits[i], &names);
            }
            if (stuck[i] && (youngest == NULL || waits[i].since_ns > youngest->since_ns)) {
                youngest = &waits[i];
            }
        }
        (void)gr_fail(GRANARY_ESTATE,
                      "it waited inside a subtask for what cannot be made while it waits (%s): make it an input, or go "
                      "on as a graph with granary_call_go_on()",
                      gr_buf_ok(&names) ? names.bytes : "");
        gr_log_warn("WAIT-CYCLE", "subtasks=%zu executor=%u: %s", named, youngest->executor, granary_error_message());
        subtask_give_up(manager, executor_find(manager, youngest->executor), youngest->subtask, youngest->attempt,
                        GRANARY_ESTATE, now_ns);
    }
    gr_buf_free(&names);
    free(waits);
    free(stuck);
}
