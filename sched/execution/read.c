/* What an execution graph knows of its subtasks and objects. */
#include "sched/execution/graph_private.h"

struct subtask *
execution_graph_subtask(struct execution_graph *graph, uint32_t number)
{
    return number < graph->subtasks.count ? &graph->subtasks.items[number] : NULL;
}

bool
execution_graph_has_user_code(const struct execution_graph *graph)
{
    return graph->user_codes.count > 0;
}

struct user_code *
execution_graph_user_code(struct execution_graph *graph, uint32_t number)
{
    uint32_t position = graph->subtasks.items[number].user_code;

    return position == NONE ? NULL : &graph->user_codes.items[position];
}

const struct execution_graph_counts *
execution_graph_counts(const struct execution_graph *graph)
{
    return &graph->counts;
}

bool
execution_graph_idle(const struct execution_graph *graph)
{
    return graph->waiting + graph->away + graph->counts.ready + graph->counts.running + graph->counts.parked == 0;
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
execution_graph_output(const struct execution_graph *graph, uint32_t number, uint32_t i, int64_t *ret_rows,
                       uint64_t *ret_bytes, int32_t *ret_node)
{
    const struct subtask *subtask = &graph->subtasks.items[number];
    const struct object *object;

    if (i >= subtask->output_count) {
        return false;
    }
    object = &graph->objects.items[graph->links.items[subtask->first_output + i]];
    *ret_rows = object->rows;
    *ret_bytes = object->bytes;
    if (ret_node != NULL) {
        *ret_node = object->node;
    }
    return true;
}

void
execution_graph_output_set(struct execution_graph *graph, uint32_t number, uint32_t i, int64_t rows, uint64_t bytes)
{
    struct object *object = &graph->objects.items[graph->links.items[graph->subtasks.items[number].first_output + i]];

    object->rows = rows;
    object->bytes = bytes;
}

uint32_t
execution_graph_position(const struct execution_graph *graph, ProtobufCBinaryData id)
{
    return object_find(graph, id_of(id));
}

uint64_t
execution_graph_digest(const struct execution_graph *graph)
{
    return graph->digest;
}

bool
execution_graph_object_failed(const struct execution_graph *graph, granary_id id)
{
    uint32_t position = object_find(graph, id);

    return position != NONE && graph->objects.items[position].state == OBJECT_FAILED;
}

bool
execution_graph_object_lacks(const struct execution_graph *graph, granary_id id)
{
    uint32_t position = object_find(graph, id);

    return position != NONE && graph->objects.items[position].state != OBJECT_FAILED &&
           graph->objects.items[position].state != OBJECT_PRESENT;
}

bool
execution_graph_object_freed(const struct execution_graph *graph, granary_id id)
{
    uint32_t position = object_find(graph, id);

    return position != NONE && graph->objects.items[position].state == OBJECT_FREED;
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

int32_t
execution_graph_object_node(const struct execution_graph *graph, granary_id id)
{
    uint32_t position = object_find(graph, id);

    return position == NONE || graph->objects.items[position].state != OBJECT_PRESENT
               ? -1
               : graph->objects.items[position].node;
}

void
execution_graph_inputs(const struct execution_graph *graph, uint32_t number,
                       void (*visit)(void *context, int32_t node, uint64_t bytes), void *context)
{
    const struct subtask *subtask = &graph->subtasks.items[number];

    for (uint32_t i = 0; i < subtask->input_count; i++) {
        const struct object *object = &graph->objects.items[graph->links.items[subtask->first_input + i]];

        if (object->state == OBJECT_PRESENT) {
            visit(context, object->node, object->shares > 1 ? object->bytes / object->shares : object->bytes);
        }
    }
}
