/*
 * The parameters of each operator as a struct, made of its rows in contract/ops/ops.def and contract/ops/chunk_ops.def: a field
 * that no row has does not compile, and the row's default is what a field has that was not given.
 *
 *   kind                        required, or with a default    optional, and so NULL when it is not given
 *   INT                         int64_t                        const int64_t *
 *   NUMBER                      double                         const Granary__Attr *
 *   BOOL                        bool                           (a row with a default)
 *   STRING                      const char *                   const char *
 *   VALUE, INTS, ... and MAP    const Granary__Attr *          const Granary__Attr *
 */
#ifndef GRAPH_PARAMS_H
#define GRAPH_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "contract/ops/chunk_groups.h"
#include "graph/chunk/ops.h"
#include "graph/ops.h"
#include "schema/granary.pb-c.h"

#define GR_GIVEN_INT     int64_t
#define GR_GIVEN_NUMBER  double
#define GR_GIVEN_VALUE   const Granary__Attr *
#define GR_GIVEN_BOOL    bool
#define GR_GIVEN_STRING  const char *
#define GR_GIVEN_INTS    const Granary__Attr *
#define GR_GIVEN_BOOLS   const Granary__Attr *
#define GR_GIVEN_STRINGS const Granary__Attr *
#define GR_GIVEN_MAP     const Granary__Attr *
#define GR_GIVEN_NUMBERS const Granary__Attr *

#define GR_MAYBE_INT     const int64_t *
#define GR_MAYBE_NUMBER  const Granary__Attr *
#define GR_MAYBE_VALUE   const Granary__Attr *
#define GR_MAYBE_BOOL    const Granary__Attr *
#define GR_MAYBE_STRING  const char *
#define GR_MAYBE_INTS    const Granary__Attr *
#define GR_MAYBE_BOOLS   const Granary__Attr *
#define GR_MAYBE_STRINGS const Granary__Attr *
#define GR_MAYBE_MAP     const Granary__Attr *
#define GR_MAYBE_NUMBERS const Granary__Attr *

#define GR_FIELD_REQUIRED(kind) GR_GIVEN_##kind
#define GR_FIELD_OPTIONAL(kind) GR_MAYBE_##kind
#define GR_FIELD_DEFAULT(text)  GR_FIELD_REQUIRED

/*
 * An operator's row ends the struct before it, and begins its own. `given`: how many parameters are. A group of
 * chunk operators' parameters is a struct, too.
 */
/* clang-format off */
struct gr_params_of_none {
    size_t given;
#define OP(name, yields, min_inputs, max_inputs, summary) }; struct gr_params_##name { size_t given;
#define PARAM(op, name, kind, need, summary) GR_FIELD_##need(kind) name;
#include "contract/ops/ops.def"
};

#define CHUNK_PARAM(op, name, kind, need) GR_FIELD_##need(kind) name;
struct gr_window_params { WINDOW_PARAMS(any) };
struct gr_order_params { ORDER_PARAMS(any) };
struct gr_group_params { GROUP_PARAMS(any) };
struct gr_part_params { PART_PARAMS(any) };
struct gr_csv_params { CSV_PARAMS(any) };

struct gr_chunk_of_none {
    size_t given;
#define CHUNK_OP(name, text) }; struct gr_chunk_##name { size_t given;
#define CHUNK_USER_OP CHUNK_OP
#define CHUNK_GROUP(op, name, rows) union { struct gr_##name##_params name; struct { rows(op) }; };
#include "contract/ops/chunk_ops.def"
};
/* clang-format on */

/*
 * Fill the struct of an operator from attributes, which it borrows from. Attributes that the operator does not have are
 * left alone: so operators that share rows can be read as any of them.
 *
 * rows        gr_params_of() or gr_chunk_params_of() of the operator whose struct it is
 * ret_params  all zero; filled in any case
 * Errors      EINVAL one is missing, or of another kind
 */
granary_err
gr_params_read(const struct gr_param_info *rows, Granary__Attr *const *attrs, size_t count, void *ret_params);

/* The same of attributes that were checked, as those of a graph were; what is missing all the same, because it is not of
 * the operator that has these attributes, is 0 or NULL. Returns params. */
const void *gr_params_fill(const struct gr_param_info *rows, Granary__Attr *const *attrs, size_t count, void *params);

/* A pointer to the struct of an operator, which lives as long as the block it stands in. */
#define GR_PARAMS(op, attrs, count)                                                                                    \
    ((const struct gr_params_##op *)gr_params_fill(gr_params_of(GR_TILE_##op), attrs, count,                           \
                                                   &(struct gr_params_##op){.given = 0}))
#define GR_CHUNK_PARAMS(op, attrs, count)                                                                              \
    ((const struct gr_chunk_##op *)gr_params_fill(gr_chunk_params_of(GR_CHUNK_##op), attrs, count,                     \
                                                  &(struct gr_chunk_##op){.given = 0}))
/* ... of a message that is a node of a graph. */
#define GR_NODE_PARAMS(op, node) GR_PARAMS(op, (node)->attrs, (node)->n_attrs)

#endif
