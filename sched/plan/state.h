/* Within the room: what a plan knows. */
#ifndef PLAN_STATE_H
#define PLAN_STATE_H

#include "base/error.h"
#include "fuse/fuse.h"
#include "graph/chunk/graph.h"
#include "optimize/steps.h"
#include "plan/plan.h"
#include "tile/file/file.h"
#include "tile/source/table.h"
#include "tile/tile.h"

/* Object ids, many of them. Zero is an empty set. */
struct id_set {
    granary_id *slots; /* open addressing; all zero: free */
    size_t room;       /* a power of two, or 0 */
    size_t count;
};
granary_err id_set_add(struct id_set *set, granary_id id);
bool id_set_has(const struct id_set *set, granary_id id);
void id_set_free(struct id_set *set);

/* An operator whose answer is awaited. */
struct question {
    uint64_t number; /* of its subtask */
    uint32_t op;
    uint32_t place; /* among the answers of that subtask */
};

/* What a step has taken. */
struct taken {
    uint64_t subtasks;
    uint64_t nanoseconds;
    uint64_t rows;
    uint64_t bytes;
};
struct account {
    uint64_t *first; /* by subtask: where its operators begin in steps; one entry more */
    size_t subtask_count;
    size_t subtask_room;
    uint32_t *steps;
    size_t op_count;
    size_t op_room;
    struct taken *of; /* by step; NULL: nothing yet */
};

struct emission;

/* What is read: by node, NULL for one that reads nothing of the kind, or that no target needs. */
struct plan_sources {
    struct gr_table **tables;
    struct gr_file **files;  /* read or written */
    struct gr_sources known; /* the same, for tiling */
    bool *asked;             /* the operators of the file's stage, or of the table, were handed out */
    size_t unready;          /* files and tables that are not known */
    size_t unasked;          /* of them, those of which asked is false */
};

/* Ascending by number and place. */
struct plan_questions {
    struct question *items;
    size_t count;
    size_t room;
};

/* What was handed out. */
struct plan_emitted {
    uint32_t ops;              /* operators below it were */
    uint64_t *numbers_of;      /* by operator that was, what subtask it is in; NULL while nothing will need it */
    uint64_t subtasks;         /* so many were */
    struct emission *emission; /* subtasks that are fused and still to be handed out; NULL: none */
    struct id_set kept;        /* the targets' objects */
    struct id_set held;        /* those that were or are held */
    struct id_set spare;       /* those that nobody but others may want */
};

/* For explain. */
struct plan_text {
    struct gr_buf before; /* the graph, before optimisation */
    struct gr_buf fired;
    struct gr_buf subtasks; /* the first ones */
    uint64_t explained;     /* how many they are */
};

struct gr_plan {
    struct gr_graph *graph;             /* of tileables */
    struct gr_chunk_graph *chunk_graph; /* instead */
    size_t node_count;                  /* of the one or the other, and its targets */
    size_t target_count;
    const size_t *targets;
    char *session;
    char *key; /* the graph's */
    char *directory;
    uint64_t number;       /* object ids begin with it: a digest of the graph's key and what decides how it is cut */
    uint64_t early_number; /* the same of the first early_ops operators: they were handed out before all was decided */
    uint32_t early_ops;
    struct gr_tile_options tile_options;
    uint32_t without_rules;
    const struct gr_recall *recall;
    struct gr_function **functions; /* by node: what each map_chunk and call runs; NULL: none. Into bound */
    struct bound_function *bound;   /* each once: functions.c */
    struct plan_sources sources;
    struct plan_questions questions;
    struct gr_chunks chunks;
    struct gr_steps *steps; /* NULL: sources are not known yet, or it is a chunk graph */
    struct tiling *tiling;  /* of the steps */
    struct gr_tiled *tiled; /* of a chunk graph, by node */
    struct plan_emitted emitted;
    bool complete;
    bool failed;
    struct account account;
    struct plan_text text;
};

/*
 * Fuse the operators that are not handed out yet and that the roots need. Append the first of the subtasks to the
 * batch; while there is an emission, plan_emit_more() appends more. One emission at a time. Operators that answer
 * become questions.
 *
 * Errors ENOMEM
 */
granary_err plan_emit(struct gr_plan *plan, const struct gr_wants *wants, struct gr_plan_batch *batch);

granary_err plan_emit_more(struct gr_plan *plan, struct gr_plan_batch *batch);
void plan_emission_destroy(struct emission *emission);

/* What a node or step yields; NULL: that is not known yet. */
const struct gr_tiled *plan_tiled(const struct gr_plan *plan, size_t i);

/* The object that an operator's output is. */
granary_id plan_object(const struct gr_plan *plan, struct gr_piece piece);

/* chunk_graph.c: when its functions are bound: outputs and inputs. Errors: EINVAL */
granary_err plan_settle_chunks(struct gr_plan *plan);
/* Its nodes as chunk operators, and as pieces in plan->tiled. Errors: EINVAL too many, ENOMEM */
granary_err plan_chunks(struct gr_plan *plan);

/* Node i of the graph. */
const Granary__Node *plan_graph_node(const struct gr_plan *plan, size_t i);
/* The node that an operator came from. */
const Granary__Node *plan_node(const struct gr_plan *plan, uint32_t step);

/* functions.c: look up what the nodes run. Errors: ENOENT, EINVAL; the message names the node */
granary_err plan_bind_functions(struct gr_plan *plan, const struct gr_plan_options *options);
void plan_free_functions(struct gr_plan *plan);

/* emit_user.c: what a subtask with user code carries beside its operators. false: no memory */
bool plan_emit_user(const struct gr_plan *plan, const struct gr_chunk *chunk, struct gr_region *memory,
                    Granary__Subtask *subtask);

/* emit.c: what is said of a chunk operator, for its message. false: no memory */
bool plan_emit_attrs(const struct gr_chunks *chunks, const struct gr_chunk *chunk, struct gr_region *memory,
                     Granary__ChunkOp *op);

/* emit_body.c: what a recurse runs each round becomes part of its message. Errors: no memory, as false */
bool plan_emit_body(const struct gr_plan *plan, const struct gr_chunks_body *body, struct gr_region *memory,
                    Granary__ChunkOp *op);

/* account.c: note of what steps a subtask's operators are. Errors: ENOMEM */
granary_err plan_account_subtask(struct gr_plan *plan, uint64_t number, const uint32_t *ops, uint32_t count);
void plan_account_free(struct gr_plan *plan);

/* Note a subtask for explain. */
void plan_explain_subtask(struct gr_plan *plan, const struct gr_plan_subtask *subtask);

/* sources.c: the files and tables that targets need. Errors: as gr_table_create(), gr_file_create() */
granary_err plan_open_sources(struct gr_plan *plan, const struct gr_plan_options *options);
void plan_close_sources(struct gr_plan *plan);
/* Hand out the operators that tell more of them. Errors: as plan_emit() */
granary_err plan_ask_sources(struct gr_plan *plan, struct gr_plan_batch *batch);
/* The answer of one of these. Errors: as gr_file_feed(), gr_table_feed() */
granary_err plan_feed_source(struct gr_plan *plan, uint32_t op, const ProtobufCBinaryData *answer);
/* That types do not fit may be a file's fault: the message is to say so. Returns err. */
granary_err plan_blame_file(const struct gr_plan *plan, granary_err err);

/* recall.c: the steps are optimised: which of them were computed before. Their tables are sources that are asked. */
granary_err plan_recall(struct gr_plan *plan);
/* Files whose columns were only learnt are to be asked after all; no steps are left. Returns whether there are any. */
bool plan_doubt_all(struct gr_plan *plan);
/* All of those are known: read what is there, and note what is to be kept. Without some of it no steps are left.
 * Errors: ENOMEM */
granary_err plan_recall_settle(struct gr_plan *plan);

static inline granary_err
plan_no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "planning a graph: out of memory");
}

#endif
