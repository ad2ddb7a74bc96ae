#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"

granary_id
build_id(const char *text)
{
    granary_id id = {{0}};

    (void)snprintf((char *)id.bytes, sizeof id.bytes, "%s", text);
    return id;
}

static ProtobufCBinaryData
data_of(const char *text)
{
    ProtobufCBinaryData data = {.len = GRANARY_ID_BYTES, .data = malloc(GRANARY_ID_BYTES)};
    granary_id id = build_id(text);

    memcpy(data.data, id.bytes, sizeof id.bytes);
    return data;
}

static void
add_word(struct gr_plan_subtask *subtask, char part, const char *word)
{
    Granary__ChunkOp *op = subtask->subtask->ops[0];
    Granary__Operand *operand;

    if (part == '>') {
        op->outputs = reallocarray(op->outputs, op->n_outputs + 1, sizeof *op->outputs);
        op->outputs[op->n_outputs++] = data_of(word);
    } else if (part == '<') {
        operand = malloc(sizeof *operand);
        granary__operand__init(operand);
        operand->object = data_of(word);
        op->inputs = reallocarray(op->inputs, op->n_inputs + 1, sizeof *op->inputs);
        op->inputs[op->n_inputs++] = operand;
    } else {
        subtask->after = reallocarray(subtask->after, subtask->after_count + 1, sizeof *subtask->after);
        subtask->after[subtask->after_count++] = strtoull(word, NULL, 10);
    }
}

struct gr_plan_batch
build_batch(uint64_t first, const char *const *lines, size_t count)
{
    struct gr_plan_batch batch = {.subtasks = calloc(count + 1, sizeof *batch.subtasks), .count = count};

    for (size_t i = 0; i < count; i++) {
        Granary__Subtask *message = malloc(sizeof *message);
        char *line = strdup(lines[i]);
        char *rest = NULL;
        char part = '>';

        granary__subtask__init(message);
        message->number = first + i;
        message->session = strdup("s");
        message->n_ops = 1;
        message->ops = malloc(sizeof *message->ops);
        message->ops[0] = malloc(sizeof **message->ops);
        granary__chunk_op__init(message->ops[0]);
        message->ops[0]->op = strdup("op");
        message->ops[0]->node = strdup("node");
        batch.subtasks[i].subtask = message;
        for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
            if (strcmp(word, "<") == 0 || strcmp(word, ";") == 0) {
                part = word[0];
            } else {
                add_word(&batch.subtasks[i], part, word);
            }
        }
        free(line);
    }
    return batch;
}

void
build_batch_free(struct gr_plan_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        granary__subtask__free_unpacked(batch->subtasks[i].subtask, NULL);
        free(batch->subtasks[i].after);
    }
    free(batch->subtasks);
}

/* "key=value": a number, else a text. */
static void
add_attr(Granary__Node *node, char *word, char *value)
{
    char *end;
    long long number = strtoll(value + 1, &end, 10);

    *value++ = '\0';
    node->attrs = reallocarray(node->attrs, node->n_attrs + 1, sizeof *node->attrs);
    node->attrs[node->n_attrs++] = *end == '\0' ? gr_attr_new_int(word, number) : gr_attr_new_string(word, value);
}

Granary__Graph *
build_graph(const char *const *lines, size_t count)
{
    Granary__Graph *graph = malloc(sizeof *graph);

    granary__graph__init(graph);
    graph->nodes = calloc(count + 1, sizeof *graph->nodes);
    graph->targets = calloc(count + 1, sizeof *graph->targets);
    for (size_t i = 0; i < count; i++) {
        Granary__Node *node = malloc(sizeof *node);
        char *line = strdup(lines[i]);
        char *rest = NULL;
        const char *name = strtok_r(line, " ", &rest);

        granary__node__init(node);
        if (name[0] == '!') {
            name++;
            graph->targets[graph->n_targets++] = strdup(name);
        }
        node->name = strdup(name);
        node->op = strdup(strtok_r(NULL, " ", &rest));
        for (char *word = strtok_r(NULL, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
            char *value = strchr(word, '=');

            if (value != NULL) {
                add_attr(node, word, value);
                continue;
            }
            node->inputs = reallocarray(node->inputs, node->n_inputs + 1, sizeof *node->inputs);
            node->inputs[node->n_inputs++] = strdup(word);
        }
        graph->nodes[graph->n_nodes++] = node;
        free(line);
    }
    return graph;
}
