/*
 * The graph as rules change it and tiling reads it: one step for each node of the checked graph, at the same position.
 *
 * Invariants: a step's inputs stand before it. A step that a target names yields what the user's node of that position
 * yields; any other step may be changed to anything that leaves the targets alone. A dead step is not tiled.
 */
#ifndef OPTIMIZE_STEPS_H
#define OPTIMIZE_STEPS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/memory/region.h"
#include "base/text/buf.h"
#include "graph/graph.h"
#include "graph/operator.h"

#define GR_STEP_NO_LIMIT GR_NO_LIMIT

/* What a recurse runs in each round. */
struct gr_body {
    size_t round;  /* the step that stands for the rows of the round before */
    size_t end;    /* the one that makes this round's rows; of the body, or an input of the recurse */
    size_t *steps; /* the others, ascending */
    size_t count;
};

struct gr_step {
    const struct gr_node *node;
    const Granary__Node *origin; /* whose name messages tell */
    const Granary__Node *given;  /* its attributes, unless own_attrs is set */
    enum gr_tile_op op;
    enum gr_yields yields;
    uint64_t subset; /* of a source: which of the files that it names it reads; 0: all */
    bool dead;
    bool is_target;
    const char *name; /* the user's, of the node at this place: what a target is called */
    size_t input_count;
    size_t *inputs;                  /* positions */
    const struct gr_node_type *type; /* what it yields before pruning; borrowed from the graph */
    Granary__Attr **own_attrs;       /* instead of the origin's; owned */
    size_t own_attr_count;
    struct gr_expr *where[2]; /* of input i only rows that fulfil this; NULL: all. Owned */
    struct gr_expr *within;   /* groupby: what its attribute `where` says, once rule_fold has set it. Owned */
    int64_t limit;            /* sort, recurse: only the first rows; GR_STEP_NO_LIMIT */
    /* Frames, set by rule_prune; NULL: all. By position in type->schema. */
    bool *present;   /* the columns it yields */
    bool *narrow[2]; /* the columns it takes from input i (positions in that one's schema), when that yields more */
    bool *also;      /* columns that it yields, whoever needs them; NULL: none. Set by rule_keys */
    bool spare;      /* what it yields may be recalled: it is kept when that costs little, ... */
    bool wished;     /* ... or in any case: it was computed before, and not kept */
    bool inner;      /* of a body: dead to all others. Set by rule_recursion */
    const struct gr_body *body; /* recurse, set by rule_recursion, which gives it the body's inputs for its own */
};

/* Frames that were computed before. */
struct gr_recalled {
    const char *by; /* the graph that did */
    const char *const *columns;
    size_t column_count;
    const granary_id *ids;
    size_t id_count;
};
struct gr_recall {
    void *context;
    uint64_t spare_bytes; /* what a step yields may be kept when it has no more */
    /* What node, which has no inputs, yields, as a key. false: nobody can tell ahead */
    bool (*source)(void *context, const char *node, granary_id *ret_key);
    /* What there is of that key; NULL: nothing. It may change with the next call. */
    const struct gr_recalled *(*find)(void *context, granary_id key);
    /* There is nothing of that key, and it is computed. Whether it was before. */
    bool (*missed)(void *context, granary_id key);
    /* The columns of the file that node reads, if they were learnt; NULL: they were not. Learning may fail. */
    const struct gr_schema *(*schema)(void *context, const char *node);
    void (*learn)(void *context, const char *node, const struct gr_schema *schema);
    /* The plan reads it. false: out of memory, and it does not */
    bool (*take)(void *context, granary_id key);
    /* Some of it, which the plan was to read, is not there any more. */
    void (*lost)(void *context, granary_id key);
};

struct gr_steps {
    struct gr_region *memory; /* all there is of the steps but own_attrs and conditions */
    struct gr_step *steps;
    size_t count;
    const size_t *targets; /* positions; borrowed from the graph */
    size_t target_count;
    uint32_t *readers;              /* while a rule visits steps: live ones that read each */
    struct gr_buf *fired;           /* one line for every time a rule fired; not owned */
    const struct gr_recall *recall; /* NULL: nothing is recalled; borrowed */
    granary_id *keys; /* by step, of what it yields with all its columns; zero: none. NULL without recall */
};

/* graph must outlive the steps and have been inferred. fired may be NULL. Errors: ENOMEM */
granary_err gr_steps_create(const struct gr_graph *graph, struct gr_buf *fired, struct gr_steps **ret_steps);
void gr_steps_destroy(struct gr_steps *steps);

/* The attributes a step has now. */
Granary__Attr *const *gr_step_attrs(const struct gr_step *step, size_t *ret_count);
const Granary__Attr *gr_step_attr(const struct gr_step *step, const char *name);
/* The element-wise program of a step: its own, or what it was fused to; empty of most reductions. To be freed; NULL: no
 * memory. */
Granary__Attr *gr_step_program(const struct gr_steps *steps, const struct gr_step *step);
/* The step's operator at work: its attributes, and the frames it takes and yields before pruning. */
struct gr_op_use gr_steps_use(const struct gr_steps *steps, size_t i);
/* Its parameters, as those of its operator or one that shares them (graph/params.h). */
#define GR_STEP_PARAMS(op, step)                                                                                       \
    ((const struct gr_params_##op *)gr_step_fill(step, gr_params_of(GR_TILE_##op),                                     \
                                                 &(struct gr_params_##op){.given = 0}))
const void *gr_step_fill(const struct gr_step *step, const struct gr_param_info *rows, void *params);

/* Whether it yields that column of type->schema. */
static inline bool
gr_step_yields(const struct gr_step *step, size_t column)
{
    return step->present == NULL || step->present[column];
}
/* How many columns it yields. */
size_t gr_step_width(const struct gr_step *step);
/* Whether they are those of another step: names and dtypes, in order. */
bool gr_step_yields_as(const struct gr_step *step, const struct gr_step *other);

/* Replace an attribute (*takes* attr, NULL fails) in the step's own copy of them. Errors: ENOMEM */
granary_err gr_step_set_attr(struct gr_step *step, Granary__Attr *attr);
/* From now on the step is another operator over the same input, with this attribute alone (*taken*, NULL fails).
 * Errors: ENOMEM */
granary_err gr_step_become(struct gr_step *step, enum gr_tile_op op, Granary__Attr *attr);
/* ... that hands its rows through: a select of all columns. Errors: ENOMEM */
granary_err gr_step_become_select(struct gr_steps *steps, struct gr_step *step);
/* Forget the step's own attributes. */
void gr_step_clear_attrs(struct gr_step *step);

/* Zeroed room for count items, as long as the steps live. NULL: no memory. */
void *gr_steps_room(struct gr_steps *steps, size_t count, size_t size);

/* Append all that decides what a step yields: its operator, parameters and conditions. Errors: ENOMEM */
granary_err gr_step_say(struct gr_steps *steps, const struct gr_step *step, struct gr_buf *out);
/* Whether two steps that say the same of the same inputs yield the same, and nothing else happens. */
bool gr_step_is_pure(const struct gr_step *step);

/* The steps as text, a line each, at most max of them. */
void gr_steps_print(const struct gr_steps *steps, size_t max, struct gr_buf *out);

/* The error of whatever has found none. */
static inline granary_err
optimize_no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "optimising: out of memory");
}

#endif
