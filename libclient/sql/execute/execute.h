/*
 * Within the room: a statement that changes tables, while it runs. All that it makes and that is not to stay is named after its
 * label: whoever knows that can take it back (forget.h).
 */
#ifndef SQL_EXECUTE_H
#define SQL_EXECUTE_H

#include "granary/mutable.h"
#include "granary/sql.h"
#include "sql/execute/change.h"
#include "sql/execute/forget.h"

struct execution {
    struct sql_statement q;
    const struct sql_change *change;
    int timeout_ms;
    const char *label;
    bool has_graph; /* of the key `label` */
    granary_sql_done done;
};

/* What a call of the library says is told of the statement's table. Returns err. */
granary_err execution_tell(struct execution *e, granary_err err);

/* The statement's table, for handles_give(). Errors: ETYPE it is no mutable frame · as granary_mutable_open() */
granary_err execution_open(struct execution *e, granary_mutable **ret_table);

/* ---- graphs (execute_graph.c) ---- */

/* Run a graph to its end, and keep its results under this key. Errors: as granary_graph_run() */
granary_err execution_run(struct execution *e, const granary_graph *graph, const char *key);

/* Plan the statement's own graph, whose key is the label, and run it. An error is the statement's then. */
granary_err execution_run_own(struct execution *e);
granary_err execution_plan_and_run(struct execution *e, const granary_frame *schema);

/* Fix the moment at which the statement's own graph reads its tables, and tell which it is. Errors: as
 * gr_resolve_objects() */
granary_err execution_fix(struct execution *e, int64_t *ret_time);

/* What the graph of a key gave, as one frame, to be destroyed, and the same with plain columns, which goes with it. */
granary_err
execution_result(struct execution *e, const char *key, granary_frame **ret_frame, const granary_frame **ret_plain);

/* The first chunk of that without its rows, to be closed. */
granary_err execution_columns(struct execution *e, const char *key, granary_frame **ret_frame);

/* done is what the append_to of a graph has told. */
granary_err execution_take_appended(struct execution *e, const char *key);

/* ---- statements ---- */

granary_err execute_create(struct execution *e);
granary_err execute_create_as(struct execution *e);
granary_err execute_insert(struct execution *e);
granary_err execute_rows(struct execution *e); /* DELETE, UPDATE */

#endif
