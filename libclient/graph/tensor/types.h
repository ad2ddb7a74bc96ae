/*
 * The dtypes of tensors: how those of results follow from those of operands, as in NumPy 2. A number written in the
 * graph takes the dtype of the tensor beside it, if it is of the same kind or a smaller one. Where NumPy gives
 * float16 it is float32 here.
 */
#ifndef GRAPH_TENSOR_TYPES_H
#define GRAPH_TENSOR_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/dtype_class.h"

/* The functions of contract/ops/tensor_functions.def, and a few that are not operators of one shape. */
enum gr_map_function {
#define TENSOR_UNARY(name, rule, summary)  GR_MAP_##name,
#define TENSOR_BINARY(name, rule, summary) GR_MAP_##name,
#include "contract/ops/tensor_functions.def"
#undef TENSOR_UNARY
#undef TENSOR_BINARY
    GR_MAP_astype, /* to the dtype that is named with it */
    GR_MAP_where,  /* of three: the second where the first is true, else the third */
    GR_MAP_COUNT
};

const char *gr_map_name(enum gr_map_function function);
int gr_map_operands(enum gr_map_function function);
/* GR_MAP_COUNT when there is none of that name. */
enum gr_map_function gr_map_find(const char *name, size_t length);

/* bool, integers and floats: what all operators take. */
bool gr_tensor_dtype_good(granary_dtype dtype);
/* The same and complex numbers, which operators take that contract/ops/tensor_complex.def names. */
bool gr_tensor_dtype_valid(granary_dtype dtype);
/* A tensor's dtype of a name; GRANARY_NULLTYPE when there is none. */
granary_dtype gr_tensor_dtype_parse(const char *name);
/* Of complex numbers the dtype of their parts; any other itself. */
granary_dtype gr_dtype_part(granary_dtype dtype);
/* "1+2j", "-2.5j", "nan-infj": a complex number as Python writes it, without brackets and blanks. False: it is none. */
bool gr_complex_parse(const char *text, double *ret_real, double *ret_imaginary);
/* The error of an operator or a function that does not take complex numbers. Returns ETYPE */
granary_err gr_complex_refuse(const char *name, granary_dtype dtype);
/* The row where a part of a tensor begins that is cut along its first dimension, at multiples of `align`: as `split` does it,
 * where the first parts have so many rows more when they cannot be even. */
static inline int64_t
gr_tensor_part(int64_t rows, int64_t part, int64_t parts, int64_t align)
{
    int64_t units = rows / align + (rows % align > 0);
    int64_t begin = units / parts * part + (part < units % parts ? part : units % parts);

    return begin >= units ? rows : begin * align;
}

/* Whether an integer dtype has that value (beyond: the bits are those of a uint64 that no int64 is); the others take any.
 */
bool gr_dtype_holds(granary_dtype dtype, uint64_t bits, bool beyond);
/* The smallest dtype that holds both, as NumPy's promote_types. Both good. */
granary_dtype gr_dtype_promote(granary_dtype a, granary_dtype b);
/* Of sums: int64, uint64, or the float itself. */
granary_dtype gr_dtype_of_sum(granary_dtype dtype);

/* An operand: a tensor's dtype, or a number written in the graph (BOOL, INT64, FLOAT64 or COMPLEX128, and weak). */
struct gr_map_operand {
    granary_dtype dtype;
    bool weak;
};

/*
 * The dtype in which a function computes (operands are brought to it; of where, the second and third) and the one it
 * gives.
 *
 * to      of astype
 * Errors  ETYPE it is not for operands of those dtypes
 */
granary_err gr_map_types(enum gr_map_function function, const struct gr_map_operand *operands, granary_dtype to,
                         granary_dtype *ret_compute, granary_dtype *ret_dtype);

/* ---- reductions ---- */

enum gr_reduction {
#define TENSOR_REDUCTION(name, how, gives, summary) GR_REDUCE_##name,
#include "contract/ops/tensor_reductions.def"
#undef TENSOR_REDUCTION
    GR_REDUCE_COUNT
};

/* What is kept of the elements seen so far. */
enum gr_reduce_how {
    GR_REDUCE_BY_SUM,     /* exact sums, and how many there were when NaN are left out */
    GR_REDUCE_BY_PROD,    /* of floats with twice their digits */
    GR_REDUCE_BY_FOLD,    /* one value */
    GR_REDUCE_BY_MOMENTS, /* sums of x and of x * x with twice a float64's digits */
    GR_REDUCE_BY_ARG      /* a value and where it stands */
};

const char *gr_reduction_name(enum gr_reduction reduction);
/* GR_REDUCE_COUNT when there is none of that name. */
enum gr_reduction gr_reduction_find(const char *name);
enum gr_reduce_how gr_reduction_how(enum gr_reduction reduction);
granary_dtype gr_reduction_dtype(enum gr_reduction reduction, granary_dtype input);
/* Of no element there is none: max, min, argmax, argmin. */
bool gr_reduction_needs_elements(enum gr_reduction reduction);
/* Whether the facts that `kept` keeps of elements of that dtype (enum gr_reduction) answer `asked`. sum and mean
 * follow from each other, and so do var and std. For floats all four follow from var. */
bool gr_reduction_follows(enum gr_reduction asked, int kept, granary_dtype dtype);
/* Whether NaN are left out. */
bool gr_reduction_skips_nan(enum gr_reduction reduction);

#endif
