/* What a subtask is, in words. */
#include "sched/execution/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"

const char *
subtask_state_name(enum subtask_state state)
{
    static const char *const names[SUBTASK_STATES] = {
#define SUBTASK_STATE(name, NAME) [SUBTASK_##NAME] = #name,
#include "contract/states.def"
    };

    return state < SUBTASK_STATES && names[state] != NULL ? names[state] : "?";
}

void
subtask_says(const struct subtask *subtask, struct gr_buf *ret_node, struct gr_buf *ret_ops)
{
    Granary__Subtask *message = granary__subtask__unpack(NULL, subtask->packed_size, subtask->packed);

    if (message == NULL) {
        return;
    }
    for (size_t i = 0; i < message->n_ops; i++) {
        gr_buf_addf(ret_ops, "%s%s", i > 0 ? "," : "", message->ops[i]->op);
    }
    if (message->n_ops > 0) {
        const char *node = message->ops[message->n_ops - 1]->node;

        gr_buf_add(ret_node, node, strlen(node));
    }
    granary__subtask__free_unpacked(message, NULL);
}

char *
subtask_node(const struct subtask *subtask)
{
    Granary__Subtask *message = granary__subtask__unpack(NULL, subtask->packed_size, subtask->packed);
    char *name = NULL;

    if (message != NULL) {
        name = message->n_ops > 0 ? strdup(message->ops[message->n_ops - 1]->node) : NULL;
        granary__subtask__free_unpacked(message, NULL);
    }
    return name;
}

void
subtask_describe(const struct subtask *subtask, char *text, size_t size)
{
    Granary__Subtask *message = granary__subtask__unpack(NULL, subtask->packed_size, subtask->packed);
    bool found = false;

    (void)snprintf(text, size, "it");
    for (size_t i = 0; message != NULL && i < message->n_ops && !found; i++) {
        const Granary__ChunkOp *op = message->ops[i];
        const char *library = gr_attr_string(op->attrs, op->n_attrs, "library", "");
        const char *function = gr_attr_string(op->attrs, op->n_attrs, "function", "");
        const Granary__Attr *command = GR_CHUNK_PARAMS(exec, op->attrs, op->n_attrs)->command;

        found = function[0] != '\0' || (command != NULL && command->n_strings > 0);
        if (function[0] != '\0') {
            (void)snprintf(text, size, "function '%s%s%s'", library, library[0] != '\0' ? ":" : "", function);
        } else if (found) {
            (void)snprintf(text, size, "command '%s'", command->strings[0]);
        }
    }
    granary__subtask__free_unpacked(message, NULL);
}
