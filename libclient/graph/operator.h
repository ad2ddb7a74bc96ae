/*
 * An operator of tileable graphs as an object: how its parameters are checked, what it yields, what it is written as,
 * and what the optimiser may do around it. Its name, inputs and parameters are rows of contract/ops/ops.def; the object
 * called gr_op_NAME stands beside the functions it names. A row without an object does not link.
 *
 * Tile rules are the scheduler's (sched/tile), chunk operators the kernel's.
 */
#ifndef GRAPH_OPERATOR_H
#define GRAPH_OPERATOR_H

#include "graph/graph.h"

enum gr_op_trait {
    GR_OP_HAS_EFFECTS = 1,          /* something happens beside its result: it is never merged with an equal one */
    GR_OP_IS_CHEAP = 2,             /* made again for less than its result costs to keep */
    GR_OP_TAKES_CONDITIONS = 4,     /* its inputs may be read under a condition (gr_step.where) */
    GR_OP_LETS_CONDITIONS_DOWN = 8, /* a condition on its rows may move to its input, as far as origin() tells */
    GR_OP_DROPS_ROWS = 16,          /* some rows of its inputs are seen in no row it yields */
    GR_OP_PASSES_ROWS = 32,         /* each row it yields is one of its input, in the same order */
    GR_OP_KEEPS_ORDER = 64,         /* rows come in its input's order, under the same names */
    GR_OP_ROW_BY_ROW = 128,         /* a row for each row, so that a head may move below it */
    GR_OP_TAKES_UNSIZED = 256,      /* makes do with tensors whose size is known only when they are there */
    GR_OP_KNOWS_NO_TYPES = 512,     /* its rewrite looks at parameters alone, so these can be tried at once */
};

/* Which columns a frame has once those are left out that nobody needs. */
enum gr_op_columns {
    GR_COLUMNS_NONE,    /* it yields no frame, or is written as others */
    GR_COLUMNS_SOURCE,  /* reads those needed and no more */
    GR_COLUMNS_ENTRIES, /* those needed: the others' entries are taken out of its parameter `entries` */
    GR_COLUMNS_ADDED,   /* its input's, and those of the needed entries of `entries` */
    GR_COLUMNS_INPUT,   /* its input's, under the same names */
    GR_COLUMNS_PICKED,  /* those needed */
    GR_COLUMNS_ALL,     /* all, whoever reads them */
};

/* An operator in a plan: its parameters now, and the frames it takes and yields. */
struct gr_op_use {
    enum gr_tile_op op;
    Granary__Attr *const *attrs;
    size_t attr_count;
    const struct gr_schema *own;
    const struct gr_schema *inputs[2]; /* NULL: there is none */
    const bool *there; /* flags of the first input's columns, which it yields whoever reads them; NULL: none */
    struct gr_trees *trees;
};

struct rewrite;

struct gr_operator {
    unsigned traits; /* enum gr_op_trait */

    /* What is wrong with the parameters beyond their kinds and rules; NULL: nothing. Errors: EINVAL */
    granary_err (*check)(const Granary__Node *node, enum gr_tile_op op);
    /* The type it yields; *type is all zero before. NULL: it is written as others, or is a source. Errors: ENOENT,
     * ETYPE, EINVAL, ENOMEM */
    granary_err (*infer)(const struct gr_node *node, const struct gr_node_type *const *inputs,
                         struct gr_node_type *type);

    /* For one that is written as others: append them, and return the one that is the result (graph/rewrite/private.h).
     */
    struct gr_node *(*rewrite)(struct rewrite *x);

    /* Frames. */
    enum gr_op_columns columns;
    const char *entries;
    /* Flag what it reads of its inputs, given which of its own columns are needed; what it cannot do without is flagged
     * as needed, too. NULL: all. Errors: EINVAL, ENOMEM */
    granary_err (*reads)(const struct gr_op_use *use, bool *needed, bool *const reads[2]);
    /* The input and its column that a column hands through; false: it is made here. NULL: all are. */
    bool (*origin)(const struct gr_op_use *use, const char *column, size_t *ret_input, const char **ret_name);
};

#define OP(name, yields, min_inputs, max_inputs, summary) extern const struct gr_operator gr_op_##name;
#include "contract/ops/ops.def"

const struct gr_operator *gr_operator(enum gr_tile_op op);

static inline bool
gr_op_has(enum gr_tile_op op, enum gr_op_trait trait)
{
    return (gr_operator(op)->traits & trait) != 0;
}

/* Flag a column by name, if there is one; those of a list; those an expression reads. Errors: EINVAL, ENOMEM */
void gr_columns_mark(const struct gr_schema *schema, bool *flags, const char *name);
void gr_columns_mark_names(const struct gr_schema *schema, bool *flags, char *const *names, size_t count);
granary_err
gr_columns_mark_expression(const struct gr_op_use *use, const struct gr_schema *schema, bool *flags, const char *text);

/* The input's column that the entry of that name in `columns` hands through, or the one of that name where there is no
 * entry; NULL: it is computed. */
const char *gr_columns_source(const struct gr_op_use *use, const char *column);

/* The groupby with the columns it computes of its input before it groups: its input's schema and theirs, whose dtypes
 * are left out; which of them all are read. ret_reads has a flag for each. Errors: EINVAL, ENOMEM */
granary_err gr_groupby_schema(const struct gr_op_use *use, struct gr_schema *ret_schema);
granary_err
gr_groupby_reads(const struct gr_op_use *use, const struct gr_schema *schema, bool *needed, bool *ret_reads);

#endif
