#include "optimized.h"

#include "graph_json/json.h"
#include "optimize/graph.h"
#include "plan/state.h"

char *
world_optimized(const struct world *world)
{
    struct gr_graph *optimized = NULL;
    struct gr_buf json = {0};
    granary_err err = gr_graph_optimize(world->plan->graph, &optimized);

    if (err == GRANARY_OK) {
        err = gr_graph_to_json(optimized->message, &json);
    }
    gr_graph_destroy(optimized);
    if (err != GRANARY_OK) {
        gr_buf_free(&json);
    }
    return err == GRANARY_OK ? gr_buf_take(&json) : NULL;
}
