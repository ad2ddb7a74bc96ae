/* granary_sql_graph(): parse, translate, and give the result the names that SQL says. */
#include "granary/sql.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sql/block.h"
#include "sql/parse/parse.h"

/* The names SELECT gives, made different where they are not: a, a_1. */
static const char *
final_name(struct sql_statement *q, const struct sql_result *result, const char *const *names, size_t i)
{
    const char *name = result->outputs[i].name;

    for (unsigned number = 1;; number++) {
        bool taken = false;

        for (size_t k = 0; k < i && !taken; k++) {
            taken = strcmp(names[k], name) == 0;
        }
        if (!taken) {
            return name;
        }
        name = sql_printf(q, "%s_%u", result->outputs[i].name, number);
        if (name == NULL) {
            return NULL;
        }
    }
}

/* The target: the columns by the names SELECT gives them, in its order. */
static bool
add_target(struct sql_statement *q, const struct sql_result *result)
{
    const char **names = SQL_ARRAY(q, const char *, result->count);
    granary_node node = granary_graph_add(q->graph, GRANARY_SQL_TARGET, "project", &result->rel.node, 1);

    for (size_t i = 0; i < result->count && q->err == GRANARY_OK; i++) {
        const char *text = sql_quoted(q, result->outputs[i].frame);

        names[i] = final_name(q, result, names, i);
        if (names[i] != NULL && text != NULL) {
            granary_node_set_entry(q->graph, node, "columns", names[i], text);
        }
    }
    granary_graph_target(q->graph, node);
    return q->err == GRANARY_OK;
}

granary_err
granary_sql_graph(granary_client *client, const char *sql, size_t length, granary_graph **ret_graph)
{
    struct sql_statement q = {.text = sql, .length = length, .client = client};
    struct sql_select *select;
    struct sql_result result;

    if (sql == NULL || ret_graph == NULL) {
        return gr_fail(GRANARY_EINVAL, "the statement is NULL");
    }
    q.region = gr_region_create();
    q.graph = granary_graph_create();
    if (q.region == NULL || q.graph == NULL) {
        (void)sql_fail(&q, GRANARY_ENOMEM, -1, "out of memory");
    } else {
        select = sql_parse(&q);
        if (select != NULL && sql_plan(&q, select, true, &result) && add_target(&q, &result)) {
            *ret_graph = q.graph;
            q.graph = NULL;
        } else if (q.err == GRANARY_OK) { /* where memory lacks, not everybody can say so */
            (void)sql_fail(&q, GRANARY_ENOMEM, -1, "out of memory");
        }
    }
    if (q.err != GRANARY_OK) {
        (void)gr_fail(q.err, "%s", q.message);
    }
    granary_graph_destroy(q.graph);
    if (q.region != NULL) {
        gr_region_destroy(q.region);
    }
    return q.err;
}
