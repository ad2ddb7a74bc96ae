/*
 * What a groupby keeps of each group: its aggregates are made at the end from parts, which several of them may share
 * (sum and mean need the same sum). Every part is exact, so that neither chunks nor the order of merging change
 * results.
 *
 * In aggregates NaN counts as missing, like null (as in pandas).
 */
#ifndef KERNEL_AGGREGATE_PLAN_H
#define KERNEL_AGGREGATE_PLAN_H

#include "graph/operators/aggregate.h"
#include "kernel/core/call.h"
#include "kernel/keys/keys.h"

enum group_kind {
    GROUP_COUNT, /* int64 */
    GROUP_INT,   /* 128-bit integer */
    GROUP_REAL,  /* exact sum of doubles */
    GROUP_VALUE, /* a value, or null */
    GROUP_LIST,  /* any number of values */
};

enum group_measure {
    GROUP_ROWS,    /* COUNT */
    GROUP_MISSING, /* COUNT: rows where x, or the mask, is missing */
    GROUP_TRUE,    /* COUNT: values that are not zero */
    GROUP_SUM,     /* INT, REAL: of x, where the mask is there, too */
    GROUP_PRODUCT, /* INT, REAL: of x * y, where the mask is there, too; REAL: rounded */
    GROUP_REST,    /* REAL: of what rounding the products left off */
    GROUP_LEAST,   /* VALUE */
    GROUP_MOST,
    GROUP_FIRST,
    GROUP_LAST,
    GROUP_ARG_LEAST, /* VALUE: x, null too, of the first row where y is least; beside it is a part of the least y */
    GROUP_ARG_MOST,
    GROUP_VALUES,   /* LIST: in the order of the rows */
    GROUP_ALL,      /* LIST: the same with what is missing: a null a row that has none */
    GROUP_DISTINCT, /* LIST: each once */
    GROUP_TOP,      /* LIST: the n largest */
    GROUP_BOTTOM,   /* LIST: the n smallest */
};

struct group_part_spec {
    enum group_kind kind;
    enum group_measure measure;
    int x, y, mask; /* arguments; -1: none */
    int64_t n;
};

/* Which parts an aggregate is made of; -1: none. */
enum group_use {
    USE_ROWS,
    USE_MISSING,
    USE_SUM,
    USE_SQUARE,
    USE_SQUARE_REST,
    USE_SUM_Y,
    USE_SQUARE_Y,
    USE_SQUARE_Y_REST,
    USE_CROSS,
    USE_CROSS_REST,
    USE_ITEM, /* value, list, or count of truths */
    USE_COUNT,
};

struct group_plan {
    const Granary__Attr *keys;
    struct gr_aggregate *aggregates;
    size_t count;
    bool keep_nulls; /* dropna: false */
    bool by_hash;    /* sort: false */
    /* arguments: different texts */
    const char **arguments;
    int (*argument_of)[2]; /* of each aggregate; -1: none */
    size_t argument_count;
    /* once their dtypes are known */
    granary_dtype *dtypes; /* of the arguments */
    struct group_part_spec *parts;
    size_t part_count;
    int (*uses)[USE_COUNT]; /* of each aggregate */
};

/* What a call's attributes ask for. Errors: EINVAL · ENOMEM */
granary_err group_plan_init(const struct gr_group_params *params, struct group_plan *ret_plan);
/* The parts, for arguments of these dtypes (argument_count). Errors: ETYPE names the aggregate · ENOMEM */
granary_err group_plan_types(struct group_plan *plan, const granary_dtype *dtypes);
void group_plan_fini(struct group_plan *plan);

static inline bool
group_is_arg(enum group_measure measure)
{
    return measure == GROUP_ARG_LEAST || measure == GROUP_ARG_MOST;
}
/* The part that has the y of GROUP_ARG_LEAST, GROUP_ARG_MOST. */
size_t group_plan_beside(const struct group_plan *plan, const struct group_part_spec *arg);

/* Whether a value may need 128 bits. */
static inline bool
group_is_wide(granary_dtype dtype)
{
    return dtype == GRANARY_UINT64 || gr_dtype_kind(dtype) == GRANARY_DECIMAL;
}

#endif
