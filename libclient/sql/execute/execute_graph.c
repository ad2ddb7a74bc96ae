/* Graphs of statements that change tables, and what they give. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "client/builder.h"
#include "client/resolve.h"
#include "data/frame.h"
#include "granary/read.h"
#include "graph/graph.h"
#include "sql/execute/execute.h"
#include "sql/question.h"

/* ---- run ---- */

granary_err
execution_run(struct execution *e, const granary_graph *graph, const char *key)
{
    const granary_graph_options options = {.key = key};
    char ran[GRANARY_KEY_MAX];
    granary_err err = granary_graph_run(e->q.client, graph, &options, e->timeout_ms, ran, NULL);

    if (err == GRANARY_ETIMEDOUT) {
        (void)granary_graph_cancel(e->q.client, key, 0, NULL);
        err = gr_fail(err, "%s", granary_error_message());
    }
    return err;
}

granary_err
execution_run_own(struct execution *e)
{
    granary_err err = execution_run(e, e->q.graph, e->label);

    e->has_graph = true;
    if (err != GRANARY_OK) {
        err = granary_sql_error(e->q.client, err, e->q.text, e->q.length);
        (void)sql_fail(&e->q, err, -1, "%s", granary_error_message());
    }
    return err;
}

granary_err
execution_plan_and_run(struct execution *e, const granary_frame *schema)
{
    return sql_change_plan(&e->q, e->change, schema) ? execution_run_own(e) : e->q.err;
}

/* ---- the moment ---- */

/* The node that reads a table as it is now: there is one at most. NULL: none does. */
static const Granary__Node *
find_reader(const Granary__Graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const Granary__Node *node = graph->nodes[i];

        if (strcmp(node->op, "table") == 0 && gr_attr_find(node->attrs, node->n_attrs, "time") == NULL &&
            strcmp(gr_attr_string(node->attrs, node->n_attrs, "name", ""), name) == 0) {
            return node;
        }
    }
    return NULL;
}

granary_err
execution_fix(struct execution *e, int64_t *ret_time)
{
    const Granary__Node *reader = NULL;
    Granary__Graph *message;
    granary_err err = gr_builder_open(e->q.graph, &message);

    if (err == GRANARY_OK) {
        reader = find_reader(message, e->change->tables[0]->name);
        err = reader != NULL ? gr_resolve_objects(e->q.client, message, NULL)
                             : gr_fail(GRANARY_EFAILED, "the statement does not read its table: report this");
    }
    if (err == GRANARY_OK) {
        *ret_time = gr_attr_int(reader->attrs, reader->n_attrs, "time", GRANARY_NOW);
    }
    return err;
}

/* ---- results ---- */

granary_err
execution_result(struct execution *e, const char *key, granary_frame **ret_frame, const granary_frame **ret_plain)
{
    return sql_read_result(e->q.client, key, ret_frame, ret_plain);
}

granary_err
execution_columns(struct execution *e, const char *key, granary_frame **ret_frame)
{
    granary_result result;
    granary_err err = granary_graph_result(e->q.client, key, GRANARY_SQL_TARGET, &result);

    if (err != GRANARY_OK) {
        return err;
    }
    err = result.chunk_count == 0
              ? gr_fail(GRANARY_EFAILED, "the SELECT has no result")
              : granary_frame_read_rows(e->q.client, result.chunks[0], 0, 0, NULL, 0, GRANARY_FOREVER, ret_frame);
    granary_result_free(&result);
    return err;
}

granary_err
execution_take_appended(struct execution *e, const char *key)
{
    granary_frame *frame = NULL;
    const granary_frame *plain;
    granary_err err = execution_result(e, key, &frame, &plain);

    if (err == GRANARY_OK) {
        e->done.rows = ((const int64_t *)granary_frame_column_named(plain, "rows")->values)[0];
        e->done.time = ((const int64_t *)granary_frame_column_named(plain, "time")->values)[0];
    }
    gr_frame_destroy(frame);
    return err;
}
