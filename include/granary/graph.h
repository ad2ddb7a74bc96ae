/*
 * granary: graphs: build one, run it, map its results (libgranary).
 *
 * A graph has named nodes; each is an operator, its inputs and its parameters. Its targets are the nodes whose
 * results are kept. docs/operators.md lists the operators and their parameters. granary_graph_submit_json() takes the
 * same graphs as text (docs/graph-format.md).
 */
#ifndef GRANARY_GRAPH_H
#define GRANARY_GRAPH_H

#include "granary/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- building ---- */

/* A graph being built. Not thread-safe: one thread at a time. */
typedef struct granary_graph granary_graph;
/* A node of it: an index; GRANARY_NO_NODE where none is. */
typedef int32_t granary_node;
#define GRANARY_NO_NODE (-1)

/* An empty graph, the caller's. NULL: out of memory */
GRANARY_API granary_graph *granary_graph_create(void);
/* It may have been submitted: that goes on. graph may be NULL. */
GRANARY_API void granary_graph_destroy(granary_graph *graph);

typedef enum granary_graph_level {
    GRANARY_LEVEL_TILEABLE = 0, /* nodes are operators on whole frames, tensors and lists of objects, which are cut */
    GRANARY_LEVEL_CHUNK = 1,    /* nodes are operators on chunks; docs/operators.md lists them, too */
} granary_graph_level;

/* The level of the graph's nodes. The default is TILEABLE; set it before the graph is submitted. */
GRANARY_API void granary_graph_set_level(granary_graph *graph, granary_graph_level level);

/*
 * Add a node.
 *
 * name    unique in the graph; NULL: one is made up
 * op      operator, as in docs/operators.md
 * inputs  count nodes of this graph, added before
 * Returns the node, or GRANARY_NO_NODE; granary_graph_submit() then fails with the reason
 */
GRANARY_API granary_node granary_graph_add(granary_graph *graph, const char *name, const char *op,
                                           const granary_node *inputs, size_t count);

/* Add an input to a node, behind those it has: a node added before. */
GRANARY_API void granary_node_add_input(granary_graph *graph, granary_node node, granary_node from);

/* Add an input to a node of a chunk graph, behind those it has: output `output` (from 0) of a node added before. */
GRANARY_API void granary_node_add_output(granary_graph *graph, granary_node node, granary_node from, unsigned output);
/* Add an object as an input to a node of a chunk graph, behind those it has. It must be there when the node runs. */
GRANARY_API void granary_node_add_object(granary_graph *graph, granary_node node, granary_id object);

/* Set a parameter of a node to a whole number. A key that is set twice, by any of these, keeps the last value. */
GRANARY_API void granary_node_set_int(granary_graph *graph, granary_node node, const char *key, int64_t value);
/* Set a parameter to a number. */
GRANARY_API void granary_node_set_double(granary_graph *graph, granary_node node, const char *key, double value);
/* Set a parameter to true or false. */
GRANARY_API void granary_node_set_bool(granary_graph *graph, granary_node node, const char *key, bool value);
/* Set a parameter to a text, which is copied. */
GRANARY_API void granary_node_set_string(granary_graph *graph, granary_node node, const char *key, const char *value);
/* Set a parameter to a list of count whole numbers, copied. */
GRANARY_API void
granary_node_set_ints(granary_graph *graph, granary_node node, const char *key, const int64_t *values, size_t count);
/* Set a parameter to a list of count truth values, copied. */
GRANARY_API void
granary_node_set_bools(granary_graph *graph, granary_node node, const char *key, const bool *values, size_t count);
/* Set a parameter to a list of count texts, copied. */
GRANARY_API void granary_node_set_strings(granary_graph *graph, granary_node node, const char *key,
                                          const char *const *values, size_t count);
/* An entry of a mapping parameter, such as assign's columns: key "columns", entry "cost", text "`a` / 1000". */
GRANARY_API void
granary_node_set_entry(granary_graph *graph, granary_node node, const char *key, const char *entry, const char *text);

/* Keep this node's result under its name. */
GRANARY_API void granary_graph_target(granary_graph *graph, granary_node node);

/* ---- running ---- */

typedef struct granary_graph_options {
    const char *key; /* names the submission; sent again with the same key it is the same graph. NULL: a fresh one */
    int64_t chunk_bytes; /* wished size of a chunk; 0: automatic */
    int priority;        /* graphs of a higher one go first; 0 is everybody's */
    int64_t timeout_ms;  /* it fails with ETIMEDOUT when it has not ended so long after it was accepted; 0, -1: none */
    bool keep_going;     /* a subtask that fails gives error objects; what does not need them still runs */
    uint64_t flags;      /* GRANARY_GRAPH_..., or 0 */
} granary_graph_options;

#define GRANARY_GRAPH_NO_RECALL                                                                                        \
    UINT64_C(1) /* compute everything, also what another graph has yielded: see granary_recall_clear() */
#define GRANARY_GRAPH_PASSING                                                                                          \
    UINT64_C(2) /* nobody misses it after a power cut: neither its submission nor its deletion waits for the disk */
#define GRANARY_GRAPH_OWNED                                                                                            \
    UINT64_C(4) /* it is deleted when this process ends, however it ends, unless granary_graph_rename() has kept it */

#define GRANARY_KEY_MAX 64

/*
 * Submit a graph. When this returns OK it is accepted: it survives a crash of the scheduler.
 *
 * options  may be NULL
 * ret_key  the submission's key, NUL-terminated
 * Errors   EINVAL the message names the node · ENOENT an unknown operator, node, function, object or file · ETYPE ·
 *          EEXIST another graph, or one of another session, has that key · EUNREACHABLE.
 *          granary_graph_wait() reports errors that depend on the content of files
 */
GRANARY_API granary_err granary_graph_submit(granary_client *client, const granary_graph *graph,
                                             const granary_graph_options *options, char ret_key[GRANARY_KEY_MAX]);
/* The same from JSON text, in which objects stand by their whole ids. Errors in the text carry line and column. */
GRANARY_API granary_err granary_graph_submit_json(granary_client *client, const char *json, size_t length,
                                                  const granary_graph_options *options, char ret_key[GRANARY_KEY_MAX]);

typedef enum granary_graph_state {
    GRANARY_GRAPH_RUNNING = 1,
    GRANARY_GRAPH_SUCCEEDED = 2,
    GRANARY_GRAPH_FAILED = 3,
    GRANARY_GRAPH_CANCELLED = 4,
} granary_graph_state;

typedef struct granary_graph_status {
    granary_graph_state state;
    uint64_t subtasks_total; /* known so far: it may grow while a graph with unknown sizes runs */
    uint64_t subtasks_done;
    uint64_t retries;
    uint64_t subtasks_failed; /* for good */
    double progress;          /* 0 to 1, never falls */
} granary_graph_status;

/*
 * Wait until the graph has ended.
 *
 * timeout_ms  GRANARY_FOREVER; 0 asks once
 * ret_status  may be NULL; filled on ETIMEDOUT and when the graph failed, too
 * Errors      ETIMEDOUT it still runs · the graph's own error, whose message names the node · ENOENT no such graph ·
 *             EUNREACHABLE
 */
GRANARY_API granary_err granary_graph_wait(granary_client *client, const char *key, int timeout_ms,
                                           granary_graph_status *ret_status);

/*
 * Submit a graph and wait until it has ended: both in one message, the quickest way to a result.
 *
 * timeout_ms  for the wait; GRANARY_FOREVER; not 0
 * ret_key     filled whenever it was sent: on ETIMEDOUT the graph runs on, and can be waited for
 * ret_status  may be NULL
 * Errors      as granary_graph_submit() and granary_graph_wait() · EINVAL timeout_ms is 0
 */
GRANARY_API granary_err granary_graph_run(granary_client *client, const granary_graph *graph,
                                          const granary_graph_options *options, int timeout_ms,
                                          char ret_key[GRANARY_KEY_MAX], granary_graph_status *ret_status);

/* The same from JSON text. Errors: as granary_graph_submit_json() and granary_graph_wait() · EINVAL timeout_ms is 0 */
GRANARY_API granary_err granary_graph_run_json(granary_client *client, const char *json, size_t length,
                                               const granary_graph_options *options, int timeout_ms,
                                               char ret_key[GRANARY_KEY_MAX], granary_graph_status *ret_status);

/* The resources that stopping gave back. */
typedef struct granary_receipt {
    uint64_t dropped;       /* subtasks that had not started */
    uint64_t stopped;       /* ... that ended when asked */
    uint64_t killed;        /* ... whose executor was killed */
    uint64_t freed_objects; /* of those made so far */
    uint64_t freed_bytes;
} granary_receipt;

/* Ask a running graph to stop; its wait then returns ECANCELLED. Errors: ENOENT · EUNREACHABLE */
GRANARY_API granary_err granary_graph_stop(granary_client *client, const char *key);

/*
 * Stop a graph and return when nothing of it runs and its memory is back. Of a graph that has ended: nothing to do.
 *
 * kill_after_ms  user functions are asked to stop; executors of those that have not then are killed (and replaced).
 *                0: at once; GRANARY_FOREVER: never
 * ret_receipt    may be NULL
 * Errors         ENOENT · EUNREACHABLE
 */
GRANARY_API granary_err granary_graph_cancel(granary_client *client, const char *key, int kill_after_ms,
                                             granary_receipt *ret_receipt);

/* Forget a graph and delete its results. A running one is stopped first. Errors: ENOENT · EUNREACHABLE */
GRANARY_API granary_err granary_graph_delete(granary_client *client, const char *key);

/*
 * Give a graph that has succeeded another key. With replace, the graph that has new_key is deleted in the same
 * moment. A reader of new_key always finds the old graph or this one. Graphs that read the old one's results
 * continue. To replace a table, make the new one under a key of its own, then rename it.
 *
 * new_key  1 to GRANARY_KEY_MAX - 1 bytes
 * replace  false: EEXIST when a graph has new_key
 * Errors   EINVAL new_key · ENOENT no graph of that key · ESTATE it has not succeeded · EEXIST, also when a graph of
 *          another session has new_key · EUNREACHABLE
 */
GRANARY_API granary_err granary_graph_rename(granary_client *client, const char *key, const char *new_key,
                                             bool replace);

/*
 * Stop and forget every graph of a session, its exported libraries, and all that could be recalled. Do this before you
 * delete the session.
 * Executors whose user code does not end within a second are killed and replaced.
 *
 * ret_count  how many graphs there were; may be NULL
 * Errors     EUNREACHABLE · ENOMEM
 */
GRANARY_API granary_err granary_graph_delete_all(granary_client *client, const char *session, uint64_t *ret_count);

/* The plan as text: before and after optimisation, chunks, subtasks. ret_text: to be freed with free(). Errors: ENOENT
 */
GRANARY_API granary_err granary_graph_explain(granary_client *client, const char *key, char **ret_text);

/*
 * The same, with the costs of every step so far: subtasks, time of executors, rows and bytes made. Runs under an
 * earlier scheduler are not counted.
 *
 * ret_text  to be freed with free()
 * Errors    ENOENT
 */
GRANARY_API granary_err granary_graph_analyze(granary_client *client, const char *key, char **ret_text);

/*
 * A session's share of the executors beside other sessions that have work, from now on; it outlives the scheduler.
 *
 * session  NULL: the client's
 * weight   1 to 1000; 100 is everybody's
 * Errors   EINVAL · EUNREACHABLE
 */
GRANARY_API granary_err granary_session_weight(granary_client *client, const char *session, uint32_t weight);

/*
 * Recall: a graph ends as it is submitted when other graphs of the session have yielded each of its targets. Targets
 * are the same when their operators, parameters, files and tables are. The results lie in the same chunks. They outlive
 * the graph that made them as long as there is memory for them (an eighth of the store's). Graphs with user code or
 * objects of clients are always computed.
 *
 * A file that changed less than 2 s ago, or that changes while it is read, is read again. GRANARY_RECALL=off in the
 * environment is GRANARY_GRAPH_NO_RECALL in all options.
 */

/* Forget all that could be recalled, and free what nobody else has. ret_count: results; may be NULL. Errors: EUNREACHABLE */
GRANARY_API granary_err granary_recall_clear(granary_client *client, uint64_t *ret_count);
/*
 * Move what the session could recall to disk. The next instance of the same directory knows it, too, after `granary
 * down` or a restart of the machine. It stays until granary_recall_clear(), and no memory is kept for it. Waits for the
 * disk.
 *
 * ret_count  how many results and steps were saved that were not; may be NULL
 * Errors     EUNREACHABLE · EFULL, EIO, EPERM the disk: call it again when that is mended · ENOMEM
 * Threads    any number at a time
 */
GRANARY_API granary_err granary_recall_save(granary_client *client, uint64_t *ret_count);
/* Switch it on or off for the whole instance, from now on; it outlives the scheduler. Errors: EUNREACHABLE */
GRANARY_API granary_err granary_recall_switch(granary_client *client, bool on);

/* ---- results ---- */

/* A target's result: its chunks in order. For a frame they follow one another by rows; for a tensor they form a grid.
 */
typedef struct granary_result {
    size_t chunk_count;
    granary_id *chunks;  /* chunk_count ids: granary_object_get() maps them */
    int64_t *chunk_rows; /* frames: rows of each */
    bool is_tensor;
    int dims;          /* tensors: number of dimensions, at most 8 */
    int64_t shape[8];  /* tensors: of the whole */
    int64_t splits[8]; /* tensors: chunks along each dimension, row-major order */
    bool is_objects;   /* any bytes: of user code; of a chunk graph, whatever its operators give */
    /* While the graph runs: not all chunks are there, and none may be known yet. */
    bool complete;     /* the graph has ended */
    bool *chunk_there; /* whether each is sealed; one that is not may be waited for by its id */
} granary_result;

/*
 * Where the result of a target lies; of a graph that runs, what is known of it so far.
 *
 * target      name of a target node
 * ret_result  to be given to granary_result_free()
 * Errors      ENOENT no such graph or target · ESTATE it has failed (unless it kept going: what failed is then an error
 *             under the chunk's id) or was stopped · EUNREACHABLE
 */
GRANARY_API granary_err granary_graph_result(granary_client *client, const char *key, const char *target,
                                             granary_result *ret_result);
/* Free what the result points to, and empty it; the chunks stay in the store. One that is all zero is fine. */
GRANARY_API void granary_result_free(granary_result *result);

/*
 * The next chunk of a target, in order of position, as soon as it is made.
 *
 * cursor      *cursor is 0 for the first chunk and is moved on
 * timeout_ms  GRANARY_FOREVER; 0 does not wait
 * ret_id      granary_object_get() maps it; of a graph that keeps going it may be an error
 * Errors      ENOENT there are no more, or no such graph or target · ETIMEDOUT · the graph's own error when this chunk
 *             will never be · EUNREACHABLE
 */
GRANARY_API granary_err granary_graph_next(granary_client *client, const char *key, const char *target,
                                           uint64_t *cursor, int timeout_ms, granary_id *ret_id);

/* ---- the pool ---- */

typedef struct granary_executor_info {
    uint32_t number;
    int64_t pid;
    int numa_node;
    bool busy;
    uint64_t subtasks_done;
    uint64_t failures;
} granary_executor_info;

/* Every executor there is. *ret_infos is to be freed with free(). Errors: EUNREACHABLE */
GRANARY_API granary_err granary_executor_list(granary_client *client, granary_executor_info **ret_infos,
                                              size_t *ret_count);

/* ---- the same with the sizes of structs, which may grow: see granary/sized.h ---- */

GRANARY_SIZED_1(granary_err, granary_graph_submit,
                (granary_client * client, const granary_graph *graph, const granary_graph_options *options,
                 char ret_key[GRANARY_KEY_MAX]),
                (client, graph, options, ret_key), granary_graph_options);
GRANARY_SIZED_1(granary_err, granary_graph_submit_json,
                (granary_client * client, const char *json, size_t length, const granary_graph_options *options,
                 char ret_key[GRANARY_KEY_MAX]),
                (client, json, length, options, ret_key), granary_graph_options);
GRANARY_SIZED_1(granary_err, granary_graph_wait,
                (granary_client * client, const char *key, int timeout_ms, granary_graph_status *ret_status),
                (client, key, timeout_ms, ret_status), granary_graph_status);
GRANARY_SIZED_2(granary_err, granary_graph_run,
                (granary_client * client, const granary_graph *graph, const granary_graph_options *options,
                 int timeout_ms, char ret_key[GRANARY_KEY_MAX], granary_graph_status *ret_status),
                (client, graph, options, timeout_ms, ret_key, ret_status), granary_graph_options, granary_graph_status);
GRANARY_SIZED_2(granary_err, granary_graph_run_json,
                (granary_client * client, const char *json, size_t length, const granary_graph_options *options,
                 int timeout_ms, char ret_key[GRANARY_KEY_MAX], granary_graph_status *ret_status),
                (client, json, length, options, timeout_ms, ret_key, ret_status), granary_graph_options,
                granary_graph_status);
GRANARY_SIZED_1(granary_err, granary_graph_cancel,
                (granary_client * client, const char *key, int kill_after_ms, granary_receipt *ret_receipt),
                (client, key, kill_after_ms, ret_receipt), granary_receipt);
GRANARY_SIZED_1(granary_err, granary_graph_result,
                (granary_client * client, const char *key, const char *target, granary_result *ret_result),
                (client, key, target, ret_result), granary_result);
GRANARY_SIZED_0(granary_result_free, (granary_result * result), (result), granary_result);
GRANARY_SIZED_1(granary_err, granary_executor_list,
                (granary_client * client, granary_executor_info **ret_infos, size_t *ret_count),
                (client, ret_infos, ret_count), granary_executor_info);

#ifdef __cplusplus
}
#endif
#endif
