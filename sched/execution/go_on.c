/* Subtasks that go on as graphs: away while those run, then back with another body, which takes over their results. */

#include "base/error.h"
#include "sched/execution/graph_private.h"

void
execution_graph_away(struct execution_graph *graph, uint32_t number)
{
    subtask_enter(graph, number, SUBTASK_AWAY);
}

/* Where a subtask's own body is noted; NULL: it has it. */
static struct body *
body_find(const struct execution_graph *graph, uint32_t number)
{
    for (uint32_t i = 0; i < graph->bodies.count; i++) {
        if (graph->bodies.items[i].subtask == number) {
            return &graph->bodies.items[i];
        }
    }
    return NULL;
}

granary_err
execution_graph_come_back(struct execution_graph *graph, uint32_t number, Granary__Subtask *message)
{
    struct subtask *subtask = &graph->subtasks.items[number];
    size_t size = granary__subtask__get_packed_size(message);
    uint8_t *room = packed_room(graph, size);

    if (room == NULL || (body_find(graph, number) == NULL && !GROW(bodies, 1))) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    if (body_find(graph, number) == NULL) {
        graph->bodies.items[graph->bodies.count++] = (struct body){number, subtask->packed_size, subtask->packed};
    }
    (void)granary__subtask__pack(message, room);
    subtask->packed = room;
    subtask->packed_size = (uint32_t)size;
    subtask_settle(graph, number);
    return GRANARY_OK;
}

bool
execution_graph_restore_body(struct execution_graph *graph, uint32_t number)
{
    struct body *body = body_find(graph, number);

    if (body == NULL) {
        return false;
    }
    graph->subtasks.items[number].packed = body->packed;
    graph->subtasks.items[number].packed_size = body->packed_size;
    *body = graph->bodies.items[--graph->bodies.count];
    return true;
}

static bool
is_freed(const struct execution_graph *graph, const struct subtask *subtask)
{
    uint32_t i = 0;

    while (i < subtask->output_count &&
           graph->objects.items[graph->links.items[subtask->first_output + i]].state == OBJECT_FREED) {
        i++;
    }
    return i == subtask->output_count;
}

uint32_t
execution_graph_spent(const struct execution_graph *graph, uint32_t number, uint32_t *position)
{
    const struct subtask *subtask = &graph->subtasks.items[number];

    while (graph->bodies.count > 0 && *position < subtask->input_count) {
        uint32_t object = graph->links.items[subtask->first_input + (*position)++];
        uint32_t producer = graph->objects.items[object].producer;

        if (producer != NONE && body_find(graph, producer) != NULL &&
            is_freed(graph, &graph->subtasks.items[producer])) {
            return producer;
        }
    }
    return SUBTASK_NONE;
}
