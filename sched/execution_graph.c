#include "sched/execution_graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"

#define NONE         UINT32_MAX
#define LOSSES_MAX   10
#define BLOCK_BYTES  (256u * 1024)
#define SUBTASKS_MAX (UINT32_MAX - 1)

enum object_state { OBJECT_MISSING, OBJECT_PRESENT, OBJECT_FREED };

struct object {
    granary_id id;
    uint32_t producer;       /* subtask */
    uint32_t consumers;      /* edges */
    uint32_t consumers_left; /* inputs, not yet done with, that name it */
    int32_t node;            /* NUMA node it lies on, while PRESENT */
    uint8_t state;
    bool keep;
    int64_t rows;
    uint64_t bytes;
};

/* One of a list of subtasks; `next` is a position, too. */
struct edge {
    uint32_t subtask;
    uint32_t next;
};

struct block {
    struct block *next;
    uint8_t bytes[];
};

#define VECTOR(type)                                                                                                   \
    struct {                                                                                                           \
        type *items;                                                                                                   \
        uint32_t count, room;                                                                                          \
    }

struct execution_graph {
    VECTOR(struct subtask) subtasks;
    VECTOR(struct object) objects;
    VECTOR(struct edge) edges;
    VECTOR(uint32_t) links; /* objects of inputs and outputs, subtasks before: subtask.first_... */
    VECTOR(uint64_t) heap;  /* ready: inverted priority << 32 | number; may hold some that are ready no more */
    VECTOR(uint32_t) again; /* work list of resurrect() */
    VECTOR(granary_id) freed;
    uint32_t *table; /* id -> object, open addressing */
    uint32_t table_size;
    struct block *blocks; /* packed subtasks */
    size_t block_left;
    uint8_t *block_next;
    struct execution_graph_counts counts;
    uint64_t waiting;
    bool freed_taken;
    bool cancelled;
    bool failed_memory;
};

static const bool may_enter[SUBTASK_STATES][SUBTASK_STATES] = {
    /* from               to */
    [SUBTASK_WAITING] = {[SUBTASK_READY] = true, [SUBTASK_RUNNING] = true, [SUBTASK_CANCELLED] = true},
    [SUBTASK_READY] = {[SUBTASK_RUNNING] = true, [SUBTASK_WAITING] = true, [SUBTASK_CANCELLED] = true},
    [SUBTASK_RUNNING] = {[SUBTASK_SUCCEEDED] = true,
                         [SUBTASK_READY] = true,
                         [SUBTASK_WAITING] = true,
                         [SUBTASK_PARKED] = true,
                         [SUBTASK_FAILED] = true,
                         [SUBTASK_CANCELLED] = true},
    [SUBTASK_PARKED] = {[SUBTASK_READY] = true, [SUBTASK_WAITING] = true, [SUBTASK_CANCELLED] = true},
    [SUBTASK_SUCCEEDED] = {[SUBTASK_WAITING] = true, [SUBTASK_READY] = true},
};

/* Room for `more` items; false (and remembered) when out of memory. */
static bool
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
        graph->failed_memory = true;
        return false;
    }
    *items = grown;
    *room = (uint32_t)size;
    return true;
}
#define GROW(vector, more)                                                                                             \
    vector_grow(graph, &graph->vector.items, graph->vector.count, &graph->vector.room, (more),                         \
                sizeof graph->vector.items[0])

struct execution_graph *
execution_graph_create(void)
{
    return calloc(1, sizeof(struct execution_graph));
}

void
execution_graph_destroy(struct execution_graph *graph)
{
    if (graph == NULL) {
        return;
    }
    while (graph->blocks != NULL) {
        struct block *next = graph->blocks->next;

        free(graph->blocks);
        graph->blocks = next;
    }
    free(graph->subtasks.items);
    free(graph->objects.items);
    free(graph->edges.items);
    free(graph->links.items);
    free(graph->heap.items);
    free(graph->again.items);
    free(graph->freed.items);
    free(graph->table);
    free(graph);
}

/* ---- ready ones ---- */

static void
heap_push(struct execution_graph *graph, uint64_t item)
{
    uint64_t *heap;
    uint32_t at;

    if (!GROW(heap, 1)) {
        return;
    }
    heap = graph->heap.items;
    for (at = graph->heap.count++; at > 0 && heap[(at - 1) / 4] > item; at = (at - 1) / 4) {
        heap[at] = heap[(at - 1) / 4];
    }
    heap[at] = item;
}

static void
heap_pop(struct execution_graph *graph)
{
    uint64_t *heap = graph->heap.items;
    uint32_t count = --graph->heap.count;
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
    default:
        return NULL;
    }
}

static void
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
    subtask->state = (uint8_t)next;
    if (next == SUBTASK_READY) {
        heap_push(graph, (uint64_t)(UINT32_MAX - subtask->priority) << 32 | number);
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

static uint32_t
object_find(const struct execution_graph *graph, granary_id id)
{
    return graph->table_size == 0 ? NONE : graph->table[table_slot(graph, id)];
}

static uint32_t
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

static void
object_free(struct execution_graph *graph, struct object *object)
{
    object->state = OBJECT_FREED;
    if (graph->freed_taken) {
        graph->freed.count = 0;
        graph->freed_taken = false;
    }
    if (GROW(freed, 1)) {
        graph->freed.items[graph->freed.count++] = object->id;
    }
}

/* ---- lineage ---- */

/* From RUNNING, PARKED or SUCCEEDED to where its inputs allow. */
static void
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
}

/* The object is needed and not there: its producer, if done, runs again, and so on for what that needs. */
static void
resurrect(struct execution_graph *graph, uint32_t object)
{
    graph->again.count = 0;
    if (GROW(again, 1)) {
        graph->again.items[graph->again.count++] = object;
    }
    while (graph->again.count > 0) {
        uint32_t number = graph->objects.items[graph->again.items[--graph->again.count]].producer;
        const struct subtask *producer = &graph->subtasks.items[number];

        if (producer->state != SUBTASK_SUCCEEDED) {
            continue; /* under way already */
        }
        for (uint32_t i = 0; i < producer->input_count; i++) {
            uint32_t position = graph->links.items[producer->first_input + i];
            struct object *input = &graph->objects.items[position];

            input->consumers_left++;
            if (input->state != OBJECT_PRESENT) {
                input->state = OBJECT_MISSING;
                if (GROW(again, 1)) {
                    graph->again.items[graph->again.count++] = position;
                }
            }
        }
        subtask_settle(graph, number);
    }
}

/* ---- adding ---- */

static uint32_t
kind_of(const Granary__Subtask *message)
{
    uint32_t hash = 2166136261u; /* FNV-1a over the operators' names */

    for (size_t i = 0; i < message->n_ops; i++) {
        for (const char *c = message->ops[i]->op; *c != '\0'; c++) {
            hash = (hash ^ (unsigned char)*c) * 16777619u;
        }
        hash = (hash ^ '/') * 16777619u;
    }
    return hash;
}

static bool
keep_packed(struct execution_graph *graph, struct subtask *subtask, Granary__Subtask *message)
{
    size_t size;
    uint64_t number = message->number;
    uint32_t attempt = message->attempt;

    message->number = 0; /* zero is not sent: number and attempt are put in front when it is */
    message->attempt = 0;
    size = granary__subtask__get_packed_size(message);
    if (size > graph->block_left) {
        size_t block_size = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        struct block *block = size < UINT32_MAX ? malloc(sizeof *block + block_size) : NULL;

        if (block == NULL) {
            graph->failed_memory = true;
            return false;
        }
        block->next = graph->blocks;
        graph->blocks = block;
        graph->block_next = block->bytes;
        graph->block_left = block_size;
    }
    (void)granary__subtask__pack(message, graph->block_next);
    message->number = number;
    message->attempt = attempt;
    subtask->packed = graph->block_next;
    subtask->packed_size = (uint32_t)size;
    graph->block_next += size;
    graph->block_left -= size;
    return true;
}

static bool
link_add(struct execution_graph *graph, uint32_t target)
{
    if (!GROW(links, 1)) {
        return false;
    }
    graph->links.items[graph->links.count++] = target;
    return true;
}

static bool
edge_add(struct execution_graph *graph, uint32_t *head, uint32_t subtask)
{
    if (!GROW(edges, 1)) {
        return false;
    }
    graph->edges.items[graph->edges.count] = (struct edge){subtask, *head};
    *head = graph->edges.count++;
    return true;
}

static granary_id
id_of(ProtobufCBinaryData data)
{
    granary_id id = {{0}};

    if (data.len == sizeof id.bytes) {
        memcpy(id.bytes, data.data, sizeof id.bytes);
    }
    return id;
}

static granary_err
add_outputs(struct execution_graph *graph, uint32_t number, const Granary__Subtask *message,
            execution_graph_keeps *keeps, const void *context)
{
    struct subtask *subtask = &graph->subtasks.items[number];

    subtask->first_output = graph->links.count;
    for (size_t i = 0; i < message->n_ops; i++) {
        for (size_t k = 0; k < message->ops[i]->n_outputs; k++) {
            granary_id id = id_of(message->ops[i]->outputs[k]);
            uint32_t object;

            if (message->ops[i]->outputs[k].len == 0) {
                continue; /* used inside the subtask only */
            }
            if (gr_id_is_zero(id) || object_find(graph, id) != NONE) {
                return gr_fail(GRANARY_EFAILED, "node '%s': the plan makes one object twice, or a bad id",
                               message->ops[i]->node);
            }
            object = object_add(graph, id, number, keeps(context, id));
            if (object == NONE || !link_add(graph, object)) {
                return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
            }
            subtask->output_count++;
        }
    }
    return GRANARY_OK;
}

static granary_err
add_inputs(struct execution_graph *graph, uint32_t number, const Granary__Subtask *message)
{
    struct subtask *subtask = &graph->subtasks.items[number];

    subtask->first_input = graph->links.count;
    for (size_t i = 0; i < message->n_ops; i++) {
        for (size_t k = 0; k < message->ops[i]->n_inputs; k++) {
            const Granary__Operand *operand = message->ops[i]->inputs[k];
            uint32_t position;
            struct object *object;

            if (operand->object.len == 0) {
                continue;
            }
            position = object_find(graph, id_of(operand->object));
            if (position == NONE) {
                return gr_fail(GRANARY_EFAILED, "node '%s': the plan reads an object that nobody makes",
                               message->ops[i]->node);
            }
            object = &graph->objects.items[position];
            if (object->producer == number) {
                continue; /* read inside the subtask that makes it */
            }
            if (!link_add(graph, position) || !edge_add(graph, &object->consumers, number)) {
                return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
            }
            object->consumers_left++;
            subtask->missing += object->state != OBJECT_PRESENT;
            subtask->input_count++;
            if (object->state == OBJECT_FREED) {
                object->state = OBJECT_MISSING;
                resurrect(graph, position);
            }
        }
    }
    return GRANARY_OK;
}

static granary_err
add_before(struct execution_graph *graph, uint32_t number, const uint64_t *after, size_t after_count)
{
    struct subtask *subtask = &graph->subtasks.items[number];

    subtask->first_before = graph->links.count;
    for (size_t i = 0; i < after_count; i++) {
        struct subtask *before;

        if (after[i] >= graph->subtasks.count || after[i] == number) {
            return gr_fail(GRANARY_EFAILED, "scheduler: subtask %u of the plan waits for one that does not exist",
                           number);
        }
        before = &graph->subtasks.items[after[i]];
        if (!link_add(graph, (uint32_t)after[i]) || !edge_add(graph, &before->dependents, number)) {
            return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
        }
        subtask->missing += !before->passed;
        subtask->before_count++;
    }
    return GRANARY_OK;
}

granary_err
execution_graph_add(struct execution_graph *graph, const struct gr_plan_subtask *subtasks, size_t count,
                    execution_graph_keeps *keeps, const void *context)
{
    uint32_t first = graph->subtasks.count;
    granary_err err = GRANARY_OK;

    if (count > SUBTASKS_MAX - first || !GROW(subtasks, count)) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: no memory for %zu subtasks", count);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        const struct gr_plan_subtask *added = &subtasks[i];
        uint32_t number = first + (uint32_t)i;

        if (added->subtask->number != number) {
            return gr_fail(GRANARY_EFAILED, "scheduler: the plan numbers a subtask %llu, not %u",
                           (unsigned long long)added->subtask->number, number);
        }
        graph->subtasks.items[number] = (struct subtask){.kind = kind_of(added->subtask),
                                                         .state = SUBTASK_WAITING,
                                                         .feeds = added->feeds,
                                                         .out_bytes = added->out_bytes,
                                                         .priority = added->priority,
                                                         .dependents = NONE};
        graph->subtasks.count++;
        graph->counts.total++;
        graph->waiting++;
        err = keep_packed(graph, &graph->subtasks.items[number], added->subtask)
                  ? add_outputs(graph, number, added->subtask, keeps, context)
                  : gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    /* Inputs after all outputs: the order within a batch is the planner's own. */
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        uint32_t number = first + (uint32_t)i;

        err = add_inputs(graph, number, subtasks[i].subtask);
        if (err == GRANARY_OK) {
            err = add_before(graph, number, subtasks[i].after, subtasks[i].after_count);
        }
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        if (graph->subtasks.items[first + i].missing == 0) {
            subtask_enter(graph, first + (uint32_t)i, SUBTASK_READY);
        }
    }
    if (err == GRANARY_OK && graph->failed_memory) {
        err = gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    return err;
}

/* ---- reading ---- */

struct subtask *
execution_graph_subtask(struct execution_graph *graph, uint32_t number)
{
    return number < graph->subtasks.count ? &graph->subtasks.items[number] : NULL;
}

const struct execution_graph_counts *
execution_graph_counts(const struct execution_graph *graph)
{
    return &graph->counts;
}

bool
execution_graph_idle(const struct execution_graph *graph)
{
    return graph->waiting + graph->counts.ready + graph->counts.running + graph->counts.parked == 0;
}

size_t
execution_graph_freed(struct execution_graph *graph, const granary_id **ret_ids)
{
    size_t count = graph->freed_taken ? 0 : graph->freed.count;

    *ret_ids = graph->freed.items;
    graph->freed_taken = true;
    return count;
}

bool
execution_graph_object(const struct execution_graph *graph, granary_id id, int64_t *ret_rows, uint64_t *ret_bytes)
{
    uint32_t position = object_find(graph, id);

    if (position == NONE || graph->objects.items[position].state != OBJECT_PRESENT) {
        return false;
    }
    *ret_rows = graph->objects.items[position].rows;
    *ret_bytes = graph->objects.items[position].bytes;
    return true;
}

void
execution_graph_inputs(const struct execution_graph *graph, uint32_t number,
                       void (*visit)(void *context, int32_t node, uint64_t bytes), void *context)
{
    const struct subtask *subtask = &graph->subtasks.items[number];

    for (uint32_t i = 0; i < subtask->input_count; i++) {
        const struct object *object = &graph->objects.items[graph->links.items[subtask->first_input + i]];

        if (object->state == OBJECT_PRESENT) {
            visit(context, object->node, object->bytes);
        }
    }
}

/* ---- taking ---- */

uint32_t
execution_graph_peek(struct execution_graph *graph)
{
    while (graph->heap.count > 0) {
        uint32_t number = (uint32_t)graph->heap.items[0];

        if (graph->subtasks.items[number].state == SUBTASK_READY) {
            return number;
        }
        heap_pop(graph);
    }
    return SUBTASK_NONE;
}

void
execution_graph_take(struct execution_graph *graph, uint32_t number)
{
    subtask_enter(graph, number, SUBTASK_RUNNING);
    graph->subtasks.items[number].attempt++;
}

static bool
can_follow(const struct execution_graph *graph, uint32_t number, uint32_t kind)
{
    const struct subtask *subtask = &graph->subtasks.items[number];

    return subtask->state == SUBTASK_WAITING && subtask->missing == 1 && subtask->kind == kind && !subtask->suspect;
}

uint32_t
execution_graph_take_follower(struct execution_graph *graph, uint32_t number, uint32_t kind)
{
    const struct subtask *subtask = &graph->subtasks.items[number];
    uint32_t found = NONE;

    for (uint32_t edge = subtask->dependents; edge != NONE && found == NONE; edge = graph->edges.items[edge].next) {
        if (!subtask->passed && can_follow(graph, graph->edges.items[edge].subtask, kind)) {
            found = graph->edges.items[edge].subtask;
        }
    }
    for (uint32_t i = 0; i < subtask->output_count && found == NONE; i++) {
        const struct object *object = &graph->objects.items[graph->links.items[subtask->first_output + i]];
        uint32_t edge = object->state == OBJECT_PRESENT ? NONE : object->consumers;

        for (; edge != NONE && found == NONE; edge = graph->edges.items[edge].next) {
            if (can_follow(graph, graph->edges.items[edge].subtask, kind)) {
                found = graph->edges.items[edge].subtask;
            }
        }
    }
    if (found != NONE) {
        execution_graph_take(graph, found);
    }
    return found;
}

/* ---- events ---- */

/* Something it waited for is there. */
static void
subtask_released(struct execution_graph *graph, uint32_t number)
{
    struct subtask *subtask = &graph->subtasks.items[number];

    /* A running follower does not count: what it misses is counted anew when it has to run again. */
    if (subtask->state == SUBTASK_WAITING) {
        assert(subtask->missing > 0);
        if (--subtask->missing == 0) {
            subtask_enter(graph, number, SUBTASK_READY);
        }
    }
}

static void
object_appears(struct execution_graph *graph, struct object *object, int32_t node)
{
    if (object->state != OBJECT_PRESENT) {
        object->state = OBJECT_PRESENT;
        object->node = node;
        for (uint32_t edge = object->consumers; edge != NONE; edge = graph->edges.items[edge].next) {
            subtask_released(graph, graph->edges.items[edge].subtask);
        }
    }
    if (graph->cancelled || (object->consumers_left == 0 && !object->keep)) {
        object_free(graph, object);
    }
}

void
execution_graph_succeed(struct execution_graph *graph, uint32_t number, const Granary__Done *done, int32_t node)
{
    struct subtask *subtask = &graph->subtasks.items[number];

    subtask_enter(graph, number, SUBTASK_SUCCEEDED);
    for (size_t i = 0; i < done->n_outputs; i++) {
        uint32_t position = object_find(graph, id_of(done->outputs[i]->id));

        if (position != NONE && graph->objects.items[position].producer == number) {
            graph->objects.items[position].rows = done->outputs[i]->rows;
            graph->objects.items[position].bytes = done->outputs[i]->bytes;
        }
    }
    for (uint32_t i = 0; i < subtask->output_count; i++) {
        object_appears(graph, &graph->objects.items[graph->links.items[subtask->first_output + i]], node);
    }
    if (!subtask->passed) {
        subtask->passed = true;
        for (uint32_t edge = subtask->dependents; edge != NONE; edge = graph->edges.items[edge].next) {
            subtask_released(graph, graph->edges.items[edge].subtask);
        }
    }
    for (uint32_t i = 0; i < subtask->input_count; i++) {
        struct object *object = &graph->objects.items[graph->links.items[subtask->first_input + i]];

        assert(object->consumers_left > 0);
        if (--object->consumers_left == 0 && !object->keep && object->state == OBJECT_PRESENT) {
            object_free(graph, object);
        }
    }
}

/* It may have sealed outputs before it failed, or before its executor died. */
static void
outputs_free(struct execution_graph *graph, uint32_t number)
{
    const struct subtask *subtask = &graph->subtasks.items[number];

    for (uint32_t i = 0; i < subtask->output_count; i++) {
        struct object *object = &graph->objects.items[graph->links.items[subtask->first_output + i]];

        if (object->state != OBJECT_FREED) {
            object_free(graph, object);
        }
    }
}

/* A running subtask of a cancelled graph ended without success. */
static void
subtask_cancelled(struct execution_graph *graph, uint32_t number)
{
    subtask_enter(graph, number, SUBTASK_CANCELLED);
    outputs_free(graph, number);
}

void
execution_graph_fail(struct execution_graph *graph, uint32_t number)
{
    subtask_enter(graph, number, SUBTASK_FAILED);
    outputs_free(graph, number);
}

void
execution_graph_requeue(struct execution_graph *graph, uint32_t number)
{
    graph->counts.retries++;
    if (graph->cancelled) {
        subtask_cancelled(graph, number);
    } else {
        subtask_settle(graph, number);
    }
}

void
execution_graph_park(struct execution_graph *graph, uint32_t number)
{
    graph->counts.retries++;
    if (graph->cancelled) {
        subtask_cancelled(graph, number);
    } else {
        subtask_enter(graph, number, SUBTASK_PARKED);
    }
}

void
execution_graph_unpark_all(struct execution_graph *graph)
{
    for (uint32_t i = 0; graph->counts.parked > 0 && i < graph->subtasks.count; i++) {
        if (graph->subtasks.items[i].state == SUBTASK_PARKED) {
            subtask_settle(graph, i);
        }
    }
}

static void
object_vanishes(struct execution_graph *graph, uint32_t position)
{
    struct object *object = &graph->objects.items[position];

    object->state = OBJECT_MISSING;
    for (uint32_t edge = object->consumers; edge != NONE; edge = graph->edges.items[edge].next) {
        uint32_t number = graph->edges.items[edge].subtask;
        struct subtask *subtask = &graph->subtasks.items[number];

        if (subtask->state == SUBTASK_READY || subtask->state == SUBTASK_WAITING) {
            subtask->missing++;
            if (subtask->state == SUBTASK_READY) {
                subtask_enter(graph, number, SUBTASK_WAITING);
            }
        }
    }
    resurrect(graph, position);
}

granary_err
execution_graph_lose(struct execution_graph *graph, uint32_t number, const ProtobufCBinaryData *lost, size_t lost_count)
{
    struct subtask *subtask = &graph->subtasks.items[number];
    bool news = false;

    for (size_t i = 0; i < lost_count && !graph->cancelled; i++) {
        if (object_find(graph, id_of(lost[i])) == NONE) {
            return gr_fail(GRANARY_ENOENT, "an input is gone, and this graph does not make it");
        }
    }
    graph->counts.retries++;
    if (graph->cancelled) {
        subtask_cancelled(graph, number);
        return GRANARY_OK;
    }
    for (size_t i = 0; i < lost_count; i++) {
        uint32_t position = object_find(graph, id_of(lost[i]));

        if (graph->objects.items[position].state == OBJECT_PRESENT) {
            object_vanishes(graph, position);
            news = true;
        }
    }
    /* A follower whose leader did not succeed has lost nothing; it waits as it should have. */
    subtask_settle(graph, number);
    subtask->losses += news || subtask->state == SUBTASK_READY;
    return subtask->losses <= LOSSES_MAX ? GRANARY_OK
                                         : gr_fail(GRANARY_ELOST, "its inputs were lost %u times", subtask->losses);
}

void
execution_graph_cancel(struct execution_graph *graph)
{
    graph->cancelled = true;
    for (uint32_t i = 0; i < graph->subtasks.count; i++) {
        const struct subtask *subtask = &graph->subtasks.items[i];
        enum subtask_state state = (enum subtask_state)subtask->state;

        if (state == SUBTASK_WAITING || state == SUBTASK_READY || state == SUBTASK_PARKED) {
            subtask_enter(graph, i, SUBTASK_CANCELLED);
        }
        /* What runs frees its outputs when it ends. What never ran has none. */
        if (state != SUBTASK_RUNNING && subtask->attempt > 0) {
            outputs_free(graph, i);
        }
    }
}
