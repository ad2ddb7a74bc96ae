/* The operators on chunks and their parameters, from contract/ops/chunk_ops.def. */
#ifndef GRAPH_CHUNK_OPS_H
#define GRAPH_CHUNK_OPS_H

#include "graph/ops.h"

enum gr_chunk_op {
#define CHUNK_OP(name, text)      GR_CHUNK_##name,
#define CHUNK_USER_OP(name, text) GR_CHUNK_##name,
#include "contract/ops/chunk_ops.def"
    GR_CHUNK_object, /* nothing to run: its outputs are objects that are there, named by the attribute "ids" */
    GR_CHUNK_alias,  /* other names for its inputs, one an output: no kernel either */
    GR_CHUNK_COUNT
};

const char *gr_chunk_op_name(enum gr_chunk_op op);
/* "attributes; inputs -> outputs". */
const char *gr_chunk_op_text(enum gr_chunk_op op);
/* One that a chunk graph may have; -1 when there is none of that name. */
int gr_chunk_op_find(const char *name);

/* Whether it runs user code: a subtask has nothing but that, or none of it. */
static inline bool
gr_chunk_op_is_user(enum gr_chunk_op op)
{
    return op == GR_CHUNK_call || op == GR_CHUNK_exec;
}

/* Whether it runs others, which the planner writes into it: not for chunk graphs. */
static inline bool
gr_chunk_op_has_body(enum gr_chunk_op op)
{
    return op == GR_CHUNK_recurse;
}

/* Whether a subtask with it has nothing else that takes or gives values. */
static inline bool
gr_chunk_op_is_alone(enum gr_chunk_op op)
{
    return gr_chunk_op_is_user(op) || op == GR_CHUNK_alias;
}

/* Whether it makes no value, but an answer for the planner: not for chunk graphs. */
static inline bool
gr_chunk_op_answers(enum gr_chunk_op op)
{
    switch (op) {
#define CHUNK_USER_OP(name, text)
#define CHUNK_ASK(name, text) case GR_CHUNK_##name:
#include "contract/ops/chunk_ops.def"
        return true;
    default:
        return false;
    }
}

/* The first parameter of an operator, or NULL. */
const struct gr_param_info *gr_chunk_params_of(enum gr_chunk_op op);

#endif
