/*
 * Tileable graphs: what a user submits, as Granary__Graph (contract/granary.proto). The operator table is
 * contract/ops/ops.def.
 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <stdbool.h>

#include "graph/expr.h"
#include "graph/ops.h"
#include "graph/params.h"
#include "graph/schema.h"
#include "schema/granary.pb-c.h"

/* ---- attributes ---- */

/* The attribute of that name, or NULL. */
const Granary__Attr *gr_attr_find(Granary__Attr *const *attrs, size_t count, const char *name);
/* Values with a default when the attribute is missing (or of another kind). Strings are borrowed. */
int64_t gr_attr_int(Granary__Attr *const *attrs, size_t count, const char *name, int64_t fallback);
const char *gr_attr_string(Granary__Attr *const *attrs, size_t count, const char *name, const char *fallback);
/* A number parameter (GR_PARAM_VALUE) is an integer: then *ret_bits, of which those beyond int64 are a uint64's. */
bool gr_attr_whole(const Granary__Attr *attr, uint64_t *ret_bits, bool *ret_beyond);
/* A number parameter as a double, rounded where it must be. */
double gr_attr_number(const Granary__Attr *attr);
/* Digits that an int64 can hold become an INT. False: they are no integer, or beyond uint64. */
bool gr_attr_adopt_digits(Granary__Attr *attr);
/* "inf", "-inf" and "nan", which JSON has no numbers for, become a DOUBLE. False: it is none of them */
bool gr_attr_adopt_word(Granary__Attr *attr);

/* The parameters of a node, which have the defaults of their rows. Strings are borrowed. */
struct gr_params {
    enum gr_tile_op op;
    Granary__Attr *const *attrs;
    size_t count;
};
int64_t gr_param_int(const struct gr_params *params, const char *name);
double gr_param_number(const struct gr_params *params, const char *name); /* rounded where it must be */
bool gr_param_bool(const struct gr_params *params, const char *name);
/* NULL: not given, and without a default */
const char *gr_param_text(const struct gr_params *params, const char *name);

/* New attributes on the heap, freed by granary__attr__free_unpacked(attr, NULL) or with the message that holds them.
 * NULL: no memory. */
Granary__Attr *gr_attr_new_int(const char *name, int64_t value);
Granary__Attr *gr_attr_new_double(const char *name, double value);
Granary__Attr *gr_attr_new_bool(const char *name, bool value);
Granary__Attr *gr_attr_new_string(const char *name, const char *value);
Granary__Attr *gr_attr_new_ints(const char *name, const int64_t *values, size_t count);
Granary__Attr *gr_attr_new_bools(const char *name, const bool *values, size_t count);
Granary__Attr *gr_attr_new_strings(const char *name, char *const *values, size_t count);
Granary__Attr *gr_attr_new_map(const char *name, char *const *keys, char *const *values, size_t count);
/* The node gets one more, and takes it, whatever is returned. Errors: ENOMEM, also of a NULL */
granary_err gr_node_give(Granary__Node *node, Granary__Attr *attr);
Granary__Attr *gr_attr_new_expr(const char *name, const struct gr_expr *expr); /* its text */
Granary__Attr *gr_attr_copy(const Granary__Attr *attr);

/* A list of them that grows. */
struct gr_attrs {
    Granary__Attr **attrs; /* owned */
    size_t count, room;
};
/* *Takes* attr. false: no memory, and it is freed */
bool attrs_add(struct gr_attrs *attrs, Granary__Attr *attr);
void attrs_free(struct gr_attrs *attrs);

/* ---- the check before anything runs ---- */

/* Elements along the first dimension, where they are counted only when the graph runs. */
#define GR_SIZE_UNKNOWN (-1)

/* Bytes of a target's name, at most: behind its graph's key it is part of a key of the scheduler's state. */
#define GR_TARGET_MAX 960

/* What a node yields. */
struct gr_node_type { /* of frames and tensors */
    bool known;       /* false: it depends on a file that was not read yet */
    bool is_tensor;
    struct gr_schema schema; /* frames */
    granary_dtype dtype;     /* tensors */
    int dims;
    int64_t shape[8]; /* the first may be GR_SIZE_UNKNOWN */
};

static inline bool
gr_type_is_unsized(const struct gr_node_type *type)
{
    return type->dims > 0 && type->shape[0] == GR_SIZE_UNKNOWN;
}

/* A graph in order: inputs come before the nodes that read them. */
struct gr_graph {
    Granary__Graph *message; /* owned */
    size_t count, room;
    size_t awaited;         /* nodes for which there is room, whatever else is appended */
    struct gr_node **nodes; /* in topological order */
    size_t target_count;
    size_t *targets;           /* positions in nodes */
    const char **target_names; /* as the user calls them, whatever they are written as; borrowed from the message */
    struct gr_node *made;      /* all nodes ever made, owned, the last one first */
    struct gr_trees trees;     /* of the expressions among its parameters */
};
struct gr_node {
    Granary__Node *node; /* its name, parameters and inputs' names; borrowed from the message or a node's `own` */
    const Granary__Node *shown; /* as the user wrote it: `node`, but for one that was written as just another one */
    int op;                     /* enum gr_tile_op */
    enum gr_yields yields;      /* never SAME */
    size_t position;            /* in nodes; it may change whenever types are inferred */
    size_t input_count;
    struct gr_node **inputs; /* at smaller positions; NULL: it has none */
    struct gr_node_type type;
    int64_t limit;          /* of a sort: only the first rows; GR_NO_LIMIT */
    Granary__Node *own;     /* owned: the message of a node that the user did not write (graph/rewrite/rewrite.h) */
    struct gr_node *next;   /* made before it */
    struct gr_trees *trees; /* the graph's */
};

#define GR_NO_LIMIT (-1)

static inline struct gr_params
gr_node_params(const struct gr_node *node)
{
    return (struct gr_params){(enum gr_tile_op)node->op, node->node->attrs, node->node->n_attrs};
}

/*
 * Check structure and parameters: unique names, known operators, input counts, required and unknown parameters and
 * their kinds, expressions' syntax, cycles (the message shows one), targets. *takes* message on success. Errors:
 * EINVAL, ENOENT; every message about a node begins with "node 'NAME' (OP): "
 *
 * Without targets, those nodes become targets whose results no other node reads. Attributes are brought to the kinds
 * that graph/ops.h promises.
 */
granary_err gr_graph_create(Granary__Graph *message, struct gr_graph **ret_graph);
void gr_graph_destroy(struct gr_graph *graph);

/*
 * Give every node its type, in order, as far as types are known: sources' schemas are set beforehand by the caller
 * (nodes[i]->type.known). Checks columns, dtypes, shapes. Nodes that are written as others become these, so positions
 * change; nodes stay where they are in memory. Idempotent; call again when more sources are known.
 * Errors: ENOENT unknown column · ETYPE · EINVAL; the message names node, operator and column
 */
granary_err gr_graph_infer(struct gr_graph *graph);

/* By node: whether a target needs it. To be freed. NULL: no memory */
bool *gr_graph_needed(const struct gr_graph *graph);

/* What tells a graph from others. 0: out of memory, and nothing is told. */
uint64_t gr_graph_digest(const Granary__Graph *graph);

#endif
