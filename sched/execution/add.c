/* Subtasks that are new. */

#include "base/error.h"
#include "sched/execution/graph_private.h"

#define SUBTASKS_MAX (UINT32_MAX - 1)

static uint32_t
hash_text(uint32_t hash, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    }
    return (hash ^ '/') * 16777619u;
}

uint8_t *
packed_room(struct execution_graph *graph, size_t size)
{
    uint8_t *room = size < UINT32_MAX ? gr_region_alloc(graph->packed, size) : NULL;

    if (room == NULL) {
        memory_failed(graph);
    }
    return room;
}

static bool
keep_packed(struct execution_graph *graph, struct subtask *subtask, Granary__Subtask *message)
{
    size_t size;
    uint64_t number = message->number;
    uint32_t attempt = message->attempt;
    uint8_t *room;

    message->number = 0; /* zero is not sent: number and attempt are put in front when it is */
    message->attempt = 0;
    size = granary__subtask__get_packed_size(message);
    room = packed_room(graph, size);
    if (room != NULL) {
        (void)granary__subtask__pack(message, room);
        graph->digest = gr_hash64_seeded(room, size, graph->digest);
        subtask->packed = room;
        subtask->packed_size = (uint32_t)size;
    }
    message->number = number;
    message->attempt = attempt;
    return room != NULL;
}

/* The operators that run what a user wrote. */
static bool
is_user_code(const Granary__ChunkOp *op)
{
    return strcmp(op->op, "call") == 0 || strcmp(op->op, "map_chunk") == 0 || strcmp(op->op, "exec") == 0;
}

/* Which function it is: the same in every subtask of a graph that calls it. */
static uint64_t
function_of(const Granary__ChunkOp *op)
{
    static const char *const names[] = {"library", "version", "function", "command"};
    uint64_t hash = gr_hash64(op->op, strlen(op->op));

    for (size_t i = 0; i < op->n_attrs; i++) {
        const Granary__Attr *attr = op->attrs[i];

        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            if (strcmp(attr->name, names[k]) == 0 && attr->n_strings > 0) {
                hash = hash * 0x9e3779b97f4a7c15ull ^ gr_hash64(attr->strings[0], strlen(attr->strings[0]));
            }
        }
    }
    return hash;
}

/* Of user code the function belongs to it. */
static uint32_t
kind_of(const Granary__Subtask *message)
{
    uint32_t hash = 2166136261u; /* FNV-1a over the operators' names */

    for (size_t i = 0; i < message->n_ops; i++) {
        hash = hash_text(hash, message->ops[i]->op);
        hash ^= is_user_code(message->ops[i]) ? (uint32_t)(function_of(message->ops[i]) >> 32) : 0;
    }
    return hash;
}

static bool
note_user_code(struct execution_graph *graph, struct subtask *subtask, const Granary__Subtask *message)
{
    size_t first = 0;

    while (first < message->n_ops && !is_user_code(message->ops[first])) {
        first++;
    }
    if (first == message->n_ops) {
        return true;
    }
    if (!GROW(user_codes, 1)) {
        return false;
    }
    subtask->user_code = graph->user_codes.count++;
    graph->user_codes.items[subtask->user_code] =
        (struct user_code){.timeout_ms = message->timeout_ms,
                           .memory_bytes = message->memory_bytes,
                           .retries = message->retries,
                           .function = function_of(message->ops[first]),
                           .grows = strcmp(message->ops[first]->op, "exec") == 0};
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
add_inputs(struct execution_graph *graph, uint32_t number, const Granary__Subtask *message, bool external)
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
            if (position == NONE && external) {
                position = object_add(graph, id_of(operand->object), NONE, true);
                if (position == NONE) {
                    return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
                }
                graph->objects.items[position].state = OBJECT_PRESENT;
                graph->objects.items[position].node = -1;
            }
            if (position == NONE) {
                return gr_fail(GRANARY_EFAILED, "node '%s': the plan reads an object that nobody makes",
                               message->ops[i]->node);
            }
            object = &graph->objects.items[position];
            object->shares = operand->parts;
            if (object->producer == number) {
                continue; /* read inside the subtask that makes it */
            }
            if (!link_add(graph, position) || !edge_add(graph, &object->consumers, number)) {
                return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
            }
            object->consumers_left++;
            subtask->missing += object->state != OBJECT_PRESENT;
            subtask->input_count++;
            if (object->state == OBJECT_FAILED) {
                subtask_doom(graph, number);
            }
            if (object->state == OBJECT_FREED) {
                object_enter(graph, object, OBJECT_MISSING);
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
        if (before->state == SUBTASK_FAILED) {
            subtask_doom(graph, number);
        }
        subtask->before_count++;
    }
    return GRANARY_OK;
}

/* Objects from before the graph need no making: who reads only those begins something new. */
static bool
is_root(const struct execution_graph *graph, const struct subtask *subtask)
{
    bool root = subtask->before_count == 0;

    for (uint32_t i = 0; root && i < subtask->input_count; i++) {
        root = graph->objects.items[graph->links.items[subtask->first_input + i]].producer == NONE;
    }
    return root;
}

static granary_err
add_all(struct execution_graph *graph, const struct gr_plan_subtask *subtasks, size_t count,
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
                                                         .need = added->need,
                                                         .state = SUBTASK_WAITING,
                                                         .feeds = added->feeds,
                                                         .out_bytes = added->out_bytes,
                                                         .priority = added->priority,
                                                         .user_code = NONE,
                                                         .dependents = NONE};
        graph->subtasks.count++;
        graph->counts.total++;
        graph->waiting++;
        err = keep_packed(graph, &graph->subtasks.items[number], added->subtask) &&
                      note_user_code(graph, &graph->subtasks.items[number], added->subtask)
                  ? add_outputs(graph, number, added->subtask, keeps, context)
                  : gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    /* Inputs after all outputs: the order within a batch is the planner's own. */
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        uint32_t number = first + (uint32_t)i;

        err = add_inputs(graph, number, subtasks[i].subtask, subtasks[i].external);
        if (err == GRANARY_OK) {
            err = add_before(graph, number, subtasks[i].after, subtasks[i].after_count);
        }
        if (err == GRANARY_OK) {
            struct subtask *subtask = &graph->subtasks.items[number];

            subtask->is_root = is_root(graph, subtask);
            if (!class_get(graph, subtask->need, subtask->is_root, &subtask->ready_class)) {
                err = gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
            }
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

granary_err
execution_graph_add(struct execution_graph *graph, const struct gr_plan_subtask *subtasks, size_t count,
                    execution_graph_keeps *keeps, const void *context)
{
    granary_err err;

    graph->adding = true;
    err = add_all(graph, subtasks, count, keeps, context);
    graph->adding = false;
    return err;
}
