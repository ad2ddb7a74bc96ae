/* Any bytes as a graph: read, written and read again to the same text, checked, its types told. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "graph/chunk/graph.h"
#include "graph_json/json.h"

/* What was written is read back, and written the same. Names that come twice in a list of nodes cannot be written. */
static void
check_round_trip(const Granary__Graph *message)
{
    struct gr_buf first = {0};
    struct gr_buf second = {0};
    Granary__Graph *again = NULL;

    if (gr_graph_to_json(message, &first) == GRANARY_OK) {
        if (gr_graph_from_json(first.bytes, first.size, &again) != GRANARY_OK ||
            gr_graph_to_json(again, &second) != GRANARY_OK || first.size != second.size ||
            memcmp(first.bytes, second.bytes, first.size) != 0) {
            abort();
        }
        granary__graph__free_unpacked(again, NULL);
    }
    gr_buf_free(&first);
    gr_buf_free(&second);
}

/* Takes message. */
static void
check_chunks(Granary__Graph *message)
{
    struct gr_chunk_graph *graph = NULL;

    if (gr_chunk_graph_create(message, &graph) != GRANARY_OK) {
        granary__graph__free_unpacked(message, NULL);
        return;
    }
    (void)gr_chunk_graph_settle(graph);
    gr_chunk_graph_destroy(graph);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    Granary__Graph *message = NULL;
    struct gr_graph *graph = NULL;

    if (gr_graph_from_json((const char *)bytes, size, &message) != GRANARY_OK) {
        return 0;
    }
    check_round_trip(message);
    if (message->level == GRANARY__GRAPH__LEVEL__CHUNK) {
        check_chunks(message);
        return 0;
    }
    if (gr_graph_create(message, &graph) != GRANARY_OK) {
        granary__graph__free_unpacked(message, NULL);
        return 0;
    }
    for (size_t i = 0; i < graph->count; i++) {
        struct gr_node_type *type = &graph->nodes[i]->type;

        if (graph->nodes[i]->node->n_inputs == 0 && strcmp(graph->nodes[i]->node->op, "read_csv") == 0) {
            type->known = gr_schema_add(&type->schema, "a", GRANARY_INT64) == GRANARY_OK &&
                          gr_schema_add(&type->schema, "s", GRANARY_STRING) == GRANARY_OK;
        }
    }
    (void)gr_graph_infer(graph);
    gr_graph_destroy(graph);
    return 0;
}
