/*
 * Subtasks, objects and the ready ones among them. Adding is in add.c, events are in events.c,
 * reading is in read.c.
 */
#include <assert.h>
#include <stdlib.h>

#include "sched/execution/graph_private.h"

static const bool may_enter[SUBTASK_STATES][SUBTASK_STATES] = {
    /* from               to */
    [SUBTASK_WAITING] =
        {[SUBTASK_READY] = true, [SUBTASK_RUNNING] = true, [SUBTASK_FAILED] = true, [SUBTASK_CANCELLED] = true},
    [SUBTASK_READY] =
        {[SUBTASK_RUNNING] = true, [SUBTASK_WAITING] = true, [SUBTASK_FAILED] = true, [SUBTASK_CANCELLED] = true},
    [SUBTASK_RUNNING] = {[SUBTASK_SUCCEEDED] = true,
                         [SUBTASK_READY] = true,
                         [SUBTASK_WAITING] = true,
                         [SUBTASK_PARKED] = true,
                         [SUBTASK_AWAY] = true,
                         [SUBTASK_FAILED] = true,
                         [SUBTASK_CANCELLED] = true},
    [SUBTASK_PARKED] = {[SUBTASK_READY] = true, [SUBTASK_WAITING] = true, [SUBTASK_CANCELLED] = true},
    [SUBTASK_SUCCEEDED] = {[SUBTASK_WAITING] = true, [SUBTASK_READY] = true},
    [SUBTASK_AWAY] =
        {[SUBTASK_WAITING] = true, [SUBTASK_READY] = true, [SUBTASK_FAILED] = true, [SUBTASK_CANCELLED] = true},
};

void
memory_failed(struct execution_graph *graph)
{
    graph->failed_memory = true;
    if (!graph->adding && graph->exhausted != NULL) {
        *graph->exhausted = true;
    }
}

bool
vector_grow(struct execution_graph *graph, void *vector_items, uint32_t count, uint32_t *room, size_t more,
            size_t item_size)
{
    void **items = vector_items;
    size_t want = (size_t)count + more;
    size_t size = *room;
    void *grown;

    if (want <= size) {
        return true;
    }
    size = size * 2 < want ? want : size * 2;
    size = size < 16 ? 16 : size;
    grown = size < UINT32_MAX ? reallocarray(*items, size, item_size) : NULL;
    if (grown == NULL) {
        memory_failed(graph);
        return false;
    }
    *items = grown;
    *room = (uint32_t)size;
    return true;
}
struct execution_graph *
execution_graph_create(void)
{
    struct execution_graph *graph = calloc(1, sizeof *graph);

    if (graph == NULL || (graph->packed = gr_region_create()) == NULL) {
        free(graph);
        return NULL;
    }
    graph->moment = 1;
    return graph;
}

void
execution_graph_count_watched(struct execution_graph *graph, uint64_t *counter)
{
    graph->watched = counter;
}

void
execution_graph_tell_exhausted(struct execution_graph *graph, bool *exhausted)
{
    graph->exhausted = exhausted;
}

void
execution_graph_destroy(struct execution_graph *graph)
{
    if (graph == NULL) {
        return;
    }
    gr_region_destroy(graph->packed);
    free(graph->subtasks.items);
    free(graph->objects.items);
    free(graph->user_codes.items);
    free(graph->edges.items);
    free(graph->links.items);
    for (uint32_t i = 0; i < graph->classes.count; i++) {
        free(graph->classes.items[i].heap.items);
    }
    free(graph->classes.items);
    free(graph->again.items);
    free(graph->freed.items);
    free(graph->failed.items);
    free(graph->doomed.items);
    free(graph->bodies.items);
    free(graph->table);
    free(graph);
}

/* ---- ready ones ---- */

static void
heap_push(struct execution_graph *graph, struct ready_class *class, uint64_t item)
{
    uint64_t *heap;
    uint32_t at;

    if (!vector_grow(graph, &class->heap.items, class->heap.count, &class->heap.room, 1, sizeof item)) {
        return;
    }
    heap = class->heap.items;
    for (at = class->heap.count++; at > 0 && heap[(at - 1) / 4] > item; at = (at - 1) / 4) {
        heap[at] = heap[(at - 1) / 4];
    }
    heap[at] = item;
}

static void
heap_pop(struct ready_class *class)
{
    uint64_t *heap = class->heap.items;
    uint32_t count = --class->heap.count;
    uint64_t last = heap[count];
    uint32_t at = 0;

    for (;;) {
        uint32_t first = at * 4 + 1;
        uint32_t least = first;

        for (uint32_t child = first + 1; child < first + 4 && child < count; child++) {
            least = heap[child] < heap[least] ? child : least;
        }
        if (first >= count || heap[least] >= last) {
            break;
        }
        heap[at] = heap[least];
        at = least;
    }
    heap[at] = last;
}

bool
class_get(struct execution_graph *graph, uint32_t need, bool roots, uint32_t *ret_class)
{
    uint32_t at = 0;

    while (at < graph->classes.count &&
           (graph->classes.items[at].need != need || graph->classes.items[at].roots != roots)) {
        at++;
    }
    if (at == graph->classes.count) {
        if (!GROW(classes, 1)) {
            return false;
        }
        graph->classes.items[graph->classes.count++] = (struct ready_class){.need = need, .roots = roots};
    }
    *ret_class = at;
    return true;
}

static uint64_t *
counter_of(struct execution_graph *graph, enum subtask_state state)
{
    switch (state) {
    case SUBTASK_WAITING:
        return &graph->waiting;
    case SUBTASK_READY:
        return &graph->counts.ready;
    case SUBTASK_RUNNING:
        return &graph->counts.running;
    case SUBTASK_PARKED:
        return &graph->counts.parked;
    case SUBTASK_SUCCEEDED:
        return &graph->counts.succeeded;
    case SUBTASK_FAILED:
        return &graph->counts.failed;
    case SUBTASK_AWAY:
        return &graph->away;
    default:
        return NULL;
    }
}

void
subtask_enter(struct execution_graph *graph, uint32_t number, enum subtask_state next)
{
    struct subtask *subtask = &graph->subtasks.items[number];
    uint64_t *counter;

    assert(may_enter[subtask->state][next]);
    (void)may_enter; /* unused without assertions */
    counter = counter_of(graph, subtask->state);
    if (counter != NULL) {
        *counter -= 1;
    }
    counter = counter_of(graph, next);
    if (counter != NULL) {
        *counter += 1;
    }
    if (graph->watched != NULL && subtask->user_code != NONE) {
        *graph->watched += next == SUBTASK_RUNNING;
        *graph->watched -= subtask->state == SUBTASK_RUNNING;
    }
    if (subtask->is_root) {
        graph->counts.roots_ready += (next == SUBTASK_READY) - (uint64_t)(subtask->state == SUBTASK_READY);
        graph->counts.roots_running += (next == SUBTASK_RUNNING) - (uint64_t)(subtask->state == SUBTASK_RUNNING);
    }
    subtask->state = (uint8_t)next;
    if (next == SUBTASK_READY) {
        heap_push(graph, &graph->classes.items[subtask->ready_class],
                  (uint64_t)(UINT32_MAX - subtask->priority) << 32 | number);
    }
}

/* ---- objects ---- */

static uint32_t
table_slot(const struct execution_graph *graph, granary_id id)
{
    uint64_t words[2];
    uint32_t mask = graph->table_size - 1;
    uint32_t slot;

    gr_id_words(id, words);
    slot = (uint32_t)((words[0] ^ words[1]) * 0x9e3779b97f4a7c15ull >> 32) & mask;
    while (graph->table[slot] != NONE && !gr_id_equal(graph->objects.items[graph->table[slot]].id, id)) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static bool
table_grow(struct execution_graph *graph)
{
    uint32_t size = graph->table_size == 0 ? 64 : graph->table_size * 2;
    uint32_t *table;

    if (graph->objects.count * 2 < graph->table_size) {
        return true;
    }
    table = size <= UINT32_MAX / 4 ? malloc(size * sizeof *table) : NULL;
    if (table == NULL) {
        graph->failed_memory = true;
        return false;
    }
    memset(table, 0xff, size * sizeof *table);
    free(graph->table);
    graph->table = table;
    graph->table_size = size;
    for (uint32_t i = 0; i < graph->objects.count; i++) {
        table[table_slot(graph, graph->objects.items[i].id)] = i;
    }
    return true;
}

uint32_t
object_find(const struct execution_graph *graph, granary_id id)
{
    return graph->table_size == 0 ? NONE : graph->table[table_slot(graph, id)];
}

uint32_t
object_add(struct execution_graph *graph, granary_id id, uint32_t producer, bool keep)
{
    if (!GROW(objects, 1) || !table_grow(graph)) {
        return NONE;
    }
    graph->table[table_slot(graph, id)] = graph->objects.count;
    graph->objects.items[graph->objects.count] = (struct object){
        .id = id, .producer = producer, .consumers = NONE, .state = OBJECT_MISSING, .keep = keep, .rows = -1};
    return graph->objects.count++;
}

void
object_enter(struct execution_graph *graph, struct object *object, enum object_state next)
{
    if (!object->keep) {
        graph->counts.live_bytes -= object->state == OBJECT_PRESENT ? object->bytes : 0;
        graph->counts.live_bytes += next == OBJECT_PRESENT ? object->bytes : 0;
    }
    object->state = (uint8_t)next;
}

void
object_free(struct execution_graph *graph, struct object *object)
{
    if (object->state == OBJECT_PRESENT) {
        graph->counts.freed_objects++;
        graph->counts.freed_bytes += object->bytes;
    }
    object_enter(graph, object, OBJECT_FREED);
    if (graph->freed_taken) {
        graph->freed.count = 0;
        graph->freed_taken = false;
    }
    if (GROW(freed, 1)) {
        graph->freed.items[graph->freed.count++] = object->id;
    }
}

/* ---- lineage ---- */

void
subtask_settle(struct execution_graph *graph, uint32_t number)
{
    struct subtask *subtask = &graph->subtasks.items[number];

    subtask->missing = 0;
    for (uint32_t i = 0; i < subtask->input_count; i++) {
        subtask->missing += graph->objects.items[graph->links.items[subtask->first_input + i]].state != OBJECT_PRESENT;
    }
    for (uint32_t i = 0; i < subtask->before_count; i++) {
        subtask->missing += !graph->subtasks.items[graph->links.items[subtask->first_before + i]].passed;
    }
    subtask_enter(graph, number, subtask->missing == 0 ? SUBTASK_READY : SUBTASK_WAITING);
    if (subtask->missing > 0 && graph->counts.failed > 0) {
        subtask_doom(graph, number);
    }
}

void
resurrect(struct execution_graph *graph, uint32_t object)
{
    graph->again.count = 0;
    if (GROW(again, 1)) {
        graph->again.items[graph->again.count++] = object;
    }
    while (graph->again.count > 0) {
        struct object *needed = &graph->objects.items[graph->again.items[--graph->again.count]];
        uint32_t number = needed->producer;
        const struct subtask *producer = &graph->subtasks.items[number];

        if (producer->state == SUBTASK_FAILED) { /* it made one output and failed at another, say */
            object_enter(graph, needed, OBJECT_FAILED);
            for (uint32_t edge = needed->consumers; edge != NONE; edge = graph->edges.items[edge].next) {
                subtask_doom(graph, graph->edges.items[edge].subtask);
            }
        }

        if (producer->state != SUBTASK_SUCCEEDED) {
            continue; /* under way already */
        }
        for (uint32_t i = 0; i < producer->input_count; i++) {
            uint32_t position = graph->links.items[producer->first_input + i];
            struct object *input = &graph->objects.items[position];

            input->consumers_left++;
            if (input->state != OBJECT_PRESENT) {
                object_enter(graph, input, OBJECT_MISSING);
                if (GROW(again, 1)) {
                    graph->again.items[graph->again.count++] = position;
                }
            }
        }
        subtask_settle(graph, number);
    }
}

/* ---- taking ---- */

uint32_t
execution_graph_classes(const struct execution_graph *graph)
{
    return graph->classes.count;
}

/* The item of the next one; UINT64_MAX: none. */
static uint64_t
class_peek(struct execution_graph *graph, uint32_t number)
{
    struct ready_class *class = &graph->classes.items[number];

    while (class->heap.count > 0) {
        if (graph->subtasks.items[(uint32_t) class->heap.items[0]].state == SUBTASK_READY) {
            return class->heap.items[0];
        }
        heap_pop(class);
    }
    return UINT64_MAX;
}

uint32_t
execution_graph_peek_class(struct execution_graph *graph, uint32_t ready_class)
{
    uint64_t item = class_peek(graph, ready_class);

    return item == UINT64_MAX ? SUBTASK_NONE : (uint32_t)item;
}

uint32_t
execution_graph_peek(struct execution_graph *graph)
{
    uint64_t best = UINT64_MAX;

    for (uint32_t i = 0; i < graph->classes.count; i++) {
        uint64_t item = class_peek(graph, i);

        best = item < best ? item : best;
    }
    return best == UINT64_MAX ? SUBTASK_NONE : (uint32_t)best;
}

void
execution_graph_take(struct execution_graph *graph, uint32_t number)
{
    subtask_enter(graph, number, SUBTASK_RUNNING);
    graph->subtasks.items[number].attempt++;
    graph->subtasks.items[number].taken = graph->moment;
}

bool
execution_graph_claim(struct execution_graph *graph, uint32_t number, uint32_t attempt)
{
    struct subtask *subtask = execution_graph_subtask(graph, number);

    if (subtask == NULL || (subtask->state != SUBTASK_READY && subtask->state != SUBTASK_WAITING)) {
        return false;
    }
    subtask_enter(graph, number, SUBTASK_RUNNING);
    subtask->attempt = attempt;
    subtask->taken = 0; /* by an earlier scheduler: before anything this one knows of */
    return true;
}

/* Of a list of those that wait for something: one that waits for nothing else. */
static uint32_t
find_follower(const struct execution_graph *graph, uint32_t edge, bool (*accept)(const void *context, uint32_t number),
              const void *context)
{
    for (; edge != NONE; edge = graph->edges.items[edge].next) {
        const struct subtask *subtask = &graph->subtasks.items[graph->edges.items[edge].subtask];

        if (subtask->state == SUBTASK_WAITING && subtask->missing == 1 && !subtask->suspect &&
            accept(context, graph->edges.items[edge].subtask)) {
            return graph->edges.items[edge].subtask;
        }
    }
    return NONE;
}

uint32_t
execution_graph_take_follower(struct execution_graph *graph, uint32_t number,
                              bool (*accept)(const void *context, uint32_t number), const void *context)
{
    const struct subtask *subtask = &graph->subtasks.items[number];
    uint32_t found = subtask->passed ? NONE : find_follower(graph, subtask->dependents, accept, context);

    for (uint32_t i = 0; i < subtask->output_count && found == NONE; i++) {
        const struct object *object = &graph->objects.items[graph->links.items[subtask->first_output + i]];

        if (object->state != OBJECT_PRESENT) {
            found = find_follower(graph, object->consumers, accept, context);
        }
    }
    if (found != NONE) {
        execution_graph_take(graph, found);
    }
    return found;
}
