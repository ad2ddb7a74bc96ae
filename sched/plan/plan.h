/*
 * From a tileable graph to subtasks. Pure: no clock, no file content, no network; files are read by subtasks, whose
 * answers come back through gr_plan_feed(). (stat() of input files happens once, at creation.)
 *
 *   create: check (graph room) -> optimise (room optimize: column pruning, head into sort, ...)
 *   advance: tile what can be tiled (room tile) -> fuse (room fuse) -> subtasks; may be called again after a feed
 *
 * Ids and numbers do not depend on when answers come: advanced after each feed, a plan is the same every time.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>

#include "base/memory/region.h"
#include "base/text/buf.h"
#include "granary/types.h"
#include "graph/user/function.h"
#include "schema/granary.pb-c.h"

struct gr_plan;
struct gr_recall;

/* The function that a node's text means. Errors: ENOENT none of that name · EINVAL; without the node's name */
typedef granary_err gr_plan_find_function(void *context, const char *text, struct gr_function *ret_function);

struct gr_plan_options {
    const char *key;   /* object ids come from it (gr_id_of_chunk) */
    const char *graph; /* the graph's own key, for user code; NULL: the same */
    const char *session;
    const char *directory; /* relative file names start here */
    int64_t chunk_bytes;   /* 0: automatic */
    int slots;             /* executors at work at a time, for automatic sizes; results do not depend on it */
    uint64_t memory_bytes; /* the store's budget, 0: unknown; chunks are kept small beside it */
    gr_plan_find_function *find_function; /* NULL: there are none */
    void *functions;                      /* its context */
    Granary__StoredTable *const *tables;  /* what the names of nodes `table` stand for */
    size_t table_count;
    const struct gr_recall *recall; /* what was computed before (optimize/steps.h); NULL: all is computed; borrowed */
    bool again;                     /* it was planned before: what it writes may be there */
    uint32_t without_rules; /* enum gr_rule: left out by the optimiser, for tests; results do not depend on it */
};

/* *takes* graph, on success or not. Errors: what gr_graph_create() and gr_graph_infer() give; missing, unreadable
 * files and functions: ENOENT, EPERM ... */
granary_err gr_plan_create(Granary__Graph *graph, const struct gr_plan_options *options, struct gr_plan **ret_plan);
void gr_plan_destroy(struct gr_plan *plan);

/* A subtask that is new. Inputs that are objects were made by subtasks handed out before (or earlier in the same
 * batch). */
struct gr_plan_subtask {
    Granary__Subtask *subtask; /* number is the plan's own, from 0, ascending; attempt 0 */
    uint64_t *after; /* subtasks (plan numbers) that must succeed first, beyond those that make its inputs (op null) */
    size_t after_count;
    uint32_t priority;  /* depth-first: higher runs first among ready ones */
    uint64_t out_bytes; /* estimate of what it will put into the store */
    bool feeds;         /* its Done is to be given to gr_plan_feed() */
    bool external;      /* some of its inputs were objects before the graph was */
    uint32_t need;      /* the task manager's: number of what subtask->resources names */
};
struct gr_plan_batch {
    struct gr_plan_subtask *subtasks;
    size_t count;
    bool more; /* call gr_plan_advance() again at once */
    /* Of objects that these subtasks make, or that were made before: those to hold, whoever reads them, until they
     * are settled, and those that are settled now. From here on these are like any other. */
    granary_id *held;
    size_t held_count, held_room;
    granary_id *settled;
    size_t settled_count;
    struct gr_region *memory; /* of messages and lists; parts are the plan's own */
};
/* *gives* the batch, to be freed with gr_plan_batch_free(), before the plan is destroyed. Messages are to be read only.
 * An object that is neither a target's nor held is needed only by subtasks of the same batch, and while there is
 * `more`, of those behind it. Free it when its last consumer is done. */
granary_err gr_plan_advance(struct gr_plan *plan, struct gr_plan_batch *ret_batch);
void gr_plan_batch_free(struct gr_plan_batch *batch);

/* Errors: the graph fails (unknown column in a file, ragged rows, ...): the message names node, file, line. */
granary_err gr_plan_feed(struct gr_plan *plan, uint64_t number, const Granary__Done *done);

/* A digest of what decides how the work is cut, files included: a plan with another one is of no use to who began with
 * this. The ids of what its subtasks make begin with the number it has when they are handed out (gr_id_of_chunk). */
uint64_t gr_plan_number(const struct gr_plan *plan);

/* A subtask has succeeded: what its operators have taken is added up by step. */
void gr_plan_account(struct gr_plan *plan, uint64_t number, const Granary__Done *done);
/* As text: what every step has taken so far. */
void gr_plan_analyze(const struct gr_plan *plan, struct gr_buf *out);

/* Nothing more will come: when all subtasks handed out are done, the graph has succeeded. */
bool gr_plan_complete(const struct gr_plan *plan);

/* The session's exports its functions need, by sequence; 0: it has none. */
uint64_t gr_plan_exports(const struct gr_plan *plan);
/* Whether a node of the graph runs a function of that library. */
bool gr_plan_uses(const struct gr_plan *plan, const char *library, const char *version);

/* The next snapshot of a table that changes which the plan has made, from *node on, which moves on. False: there is none. */
bool gr_plan_snapshot(const struct gr_plan *plan, size_t *node, granary_id *ret_snapshot);
/* What is known of the table a node reads, as StoredTable.infos has it. Errors: ENOENT it is no table · ESTATE not
 * known yet · ENOMEM */
granary_err gr_plan_table_infos(const struct gr_plan *plan, const char *node, struct gr_buf *out);

/* Whether an object belongs to a target's result. */
bool gr_plan_keeps(const struct gr_plan *plan, granary_id id);

/* The targets, in order: those the graph names, or its ends when it names none. */
size_t gr_plan_target_count(const struct gr_plan *plan);
const char *gr_plan_target_name(const struct gr_plan *plan, size_t target);

/* Append a target's dtypes: "name:dtype,..." of a frame, "dtype" of a tensor; nothing while they are not known. */
void gr_plan_target_dtypes(const struct gr_plan *plan, size_t target, struct gr_buf *out);

/* Where a target lies (ids, shape and splits; rows and bytes are the caller's to fill). To be freed with
 * granary__result__free_unpacked(). Errors: ENOMEM · ESTATE it is not tiled yet */
granary_err gr_plan_target_result(const struct gr_plan *plan, size_t target, Granary__Result **ret_result);

/* What a step has yielded that nobody but others may want: objects that are there, or were not worth it. */
struct gr_plan_spare {
    granary_id key;
    const char *name;     /* of the step's node; borrowed, as the columns' are */
    const char **columns; /* owned */
    size_t column_count;
    granary_id *ids; /* in the order of the rows; owned */
    size_t id_count;
    uint64_t cost_ns; /* time of executors */
};
/* The next one from *step on, which moves on; id_count 0: there is none. To be freed. Errors: ENOMEM */
granary_err gr_plan_spare(const struct gr_plan *plan, size_t *step, struct gr_plan_spare *ret_spare);
void gr_plan_spare_free(struct gr_plan_spare *spare);

/* Append what its author may want to know of a graph that can run, a line each: files' odd values. */
void gr_plan_notes(const struct gr_plan *plan, struct gr_buf *out);

/* The graph before and after optimisation with the rules that fired, its chunks and subtasks, as text. */
void gr_plan_explain(const struct gr_plan *plan, struct gr_buf *out);

/* Whether an operator of that name reads files of which executors are asked before they are cut. */
bool gr_plan_asks_files(const char *op);

#endif
