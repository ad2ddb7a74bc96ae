/* Dtypes of tensors by tables of functions: promoted, widened for sums, refused. */
#include "graph/tensor/types.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "data/tensor.h"
#include "graph/dtype_class.h"

enum rule {
    RULE_SAME,       /* the operands' common dtype */
    RULE_NUMBER,     /* the same, but not bool */
    RULE_ARITHMETIC, /* the same, bool as int8 */
    RULE_FLOATING,   /* the float that holds it */
    RULE_DIVIDE,     /* float64 of integers */
    RULE_FLOAT64,
    RULE_PREDICATE, /* of one operand: bool */
    RULE_COMPARE,   /* of two: bool */
    RULE_BITS,      /* integers and bool */
    RULE_SHIFT,     /* integers, bool as int8 */
    RULE_INTEGER,   /* integers only */
    RULE_ASTYPE,
    RULE_WHERE,
    RULE_COMPLEX, /* of two floats */
};

enum complex { COMPLEX_REFUSED, COMPLEX_SAME, COMPLEX_REAL, COMPLEX_TRUTH };

/* What functions give of complex numbers. */
static const unsigned char complex_gives[GR_MAP_COUNT] = {
#define TENSOR_COMPLEX_FUNCTION(name, gives) [GR_MAP_##name] = COMPLEX_##gives,
#include "contract/ops/tensor_complex.def"
    [GR_MAP_where] = COMPLEX_SAME};

static const struct {
    const char *name;
    int operands;
    enum rule rule;
} functions[GR_MAP_COUNT] = {
#define TENSOR_UNARY(name, rule, summary)  [GR_MAP_##name] = {#name, 1, RULE_##rule},
#define TENSOR_BINARY(name, rule, summary) [GR_MAP_##name] = {#name, 2, RULE_##rule},
#include "contract/ops/tensor_functions.def"
#undef TENSOR_UNARY
#undef TENSOR_BINARY
    [GR_MAP_astype] = {"astype", 1, RULE_ASTYPE},
    [GR_MAP_where] = {"where", 3, RULE_WHERE},
};

const char *
gr_map_name(enum gr_map_function function)
{
    return functions[function].name;
}

int
gr_map_operands(enum gr_map_function function)
{
    return functions[function].operands;
}

enum gr_map_function
gr_map_find(const char *name, size_t length)
{
    int i = 0;

    while (i < GR_MAP_COUNT && (strlen(functions[i].name) != length || memcmp(functions[i].name, name, length) != 0)) {
        i++;
    }
    return (enum gr_map_function)i;
}

/* ---- kinds ---- */

bool
gr_tensor_dtype_good(granary_dtype dtype)
{
    enum gr_dtype_class of = gr_dtype_class(dtype);

    return of == GR_CLASS_BOOL || of == GR_CLASS_SIGNED || of == GR_CLASS_UNSIGNED || of == GR_CLASS_REAL;
}

bool
gr_tensor_dtype_valid(granary_dtype dtype)
{
    return gr_tensor_dtype_good(dtype) || gr_dtype_is_complex(dtype);
}

granary_dtype
gr_dtype_part(granary_dtype dtype)
{
    return dtype == GRANARY_COMPLEX64 ? GRANARY_FLOAT32 : dtype == GRANARY_COMPLEX128 ? GRANARY_FLOAT64 : dtype;
}

granary_dtype
gr_tensor_dtype_parse(const char *name)
{
    return strcmp(name, "complex64") == 0    ? GRANARY_COMPLEX64
           : strcmp(name, "complex128") == 0 ? GRANARY_COMPLEX128
                                             : gr_dtype_parse(name);
}

/* A number that does not begin with a blank, and is not written in base 16. */
static const char *
read_part(const char *text, double *ret_number)
{
    const char *digits = text + (text[0] == '-' || text[0] == '+');
    char *end;

    *ret_number = strtod(text, &end);
    return digits[0] == ' ' || (digits[0] == '0' && (digits[1] | 32) == 'x') ? text : end;
}

bool
gr_complex_parse(const char *text, double *ret_real, double *ret_imaginary)
{
    double first, second = 0;
    const char *end = read_part(text, &first);
    const char *last = end;

    if (end == text) {
        return false;
    }
    if (*end == '+' || *end == '-') {
        last = read_part(end, &second);
    }
    if (strcmp(last, "j") != 0) {
        return false;
    }
    *ret_real = last == end ? 0 : first;
    *ret_imaginary = last == end ? first : second;
    return true;
}

bool
gr_dtype_holds(granary_dtype dtype, uint64_t bits, bool beyond)
{
    gr_int128 value = beyond ? (gr_int128)bits : (gr_int128)(int64_t)bits;

    return !gr_dtype_is_integer(dtype) || gr_dtype_fits(dtype, value);
}

/* A float that holds it roughly: as sqrt gives. */
static granary_dtype
gr_dtype_of_float(granary_dtype dtype)
{
    return gr_dtype_class(dtype) == GR_CLASS_REAL ? dtype
           : gr_dtype_is_complex(dtype)           ? gr_dtype_part(dtype)
           : gr_tensor_element(dtype) < 4         ? GRANARY_FLOAT32
                                                  : GRANARY_FLOAT64;
}

granary_dtype
gr_dtype_of_sum(granary_dtype dtype)
{
    return gr_dtype_class(dtype) == GR_CLASS_REAL       ? dtype
           : gr_dtype_is_complex(dtype)                 ? dtype
           : gr_dtype_class(dtype) == GR_CLASS_UNSIGNED ? GRANARY_UINT64
                                                        : GRANARY_INT64;
}

/* The complex one of two floats. */
static granary_dtype
complex_of(granary_dtype part)
{
    return part == GRANARY_FLOAT32 ? GRANARY_COMPLEX64 : GRANARY_COMPLEX128;
}

granary_dtype
gr_dtype_promote(granary_dtype a, granary_dtype b)
{
    enum gr_dtype_class x = gr_dtype_class(a);
    enum gr_dtype_class y = gr_dtype_class(b);
    size_t size = gr_tensor_element(a) > gr_tensor_element(b) ? gr_tensor_element(a) : gr_tensor_element(b);

    if (a == b || y == GR_CLASS_BOOL) {
        return a;
    }
    if (x == GR_CLASS_BOOL) {
        return b;
    }
    if (x == GR_CLASS_COMPLEX || y == GR_CLASS_COMPLEX) {
        bool wide = gr_dtype_of_float(a) == GRANARY_FLOAT64 || gr_dtype_of_float(b) == GRANARY_FLOAT64;

        return wide ? GRANARY_COMPLEX128 : GRANARY_COMPLEX64;
    }
    if (x == GR_CLASS_REAL || y == GR_CLASS_REAL) {
        return gr_dtype_of_float(a) == GRANARY_FLOAT64 || gr_dtype_of_float(b) == GRANARY_FLOAT64 ? GRANARY_FLOAT64
                                                                                                  : GRANARY_FLOAT32;
    }
    if (x == y) {
        return gr_dtype_of_integer(x == GR_CLASS_SIGNED, size);
    }
    /* A signed one that holds the unsigned one's values, too; of uint64 there is none. */
    if (gr_tensor_element(x == GR_CLASS_UNSIGNED ? a : b) == size) {
        return size == 8 ? GRANARY_FLOAT64 : gr_dtype_of_integer(true, 2 * size);
    }
    return gr_dtype_of_integer(true, size);
}

/* ---- functions ---- */

/* Of a number beside a tensor: the tensor's dtype when that is of its kind or a larger one. */
static granary_dtype
promote_operands(const struct gr_map_operand *a, const struct gr_map_operand *b)
{
    const struct gr_map_operand *weak = b->weak ? b : a;
    const struct gr_map_operand *strong = b->weak ? a : b;
    enum gr_dtype_class kind = gr_dtype_class(strong->dtype);

    if (a->weak == b->weak || weak->dtype == GRANARY_BOOL) {
        return gr_dtype_promote(a->dtype, b->dtype);
    }
    if (weak->dtype == GRANARY_COMPLEX128) {
        return kind == GR_CLASS_COMPLEX           ? strong->dtype
               : strong->dtype == GRANARY_FLOAT32 ? GRANARY_COMPLEX64
                                                  : GRANARY_COMPLEX128;
    }
    if (weak->dtype == GRANARY_FLOAT64) {
        return kind == GR_CLASS_REAL || kind == GR_CLASS_COMPLEX ? strong->dtype : GRANARY_FLOAT64;
    }
    return kind == GR_CLASS_BOOL ? GRANARY_INT64 : strong->dtype;
}

granary_err
gr_complex_refuse(const char *name, granary_dtype dtype)
{
    return gr_fail(GRANARY_ETYPE, "%s is not for tensors of %s: `real`, `imag`, `absolute` and `angle` give floats",
                   name, granary_dtype_name(dtype));
}

static granary_err
unfit(enum gr_map_function function, granary_dtype dtype)
{
    return gr_fail(GRANARY_ETYPE, "%s is not for tensors of %s", functions[function].name, granary_dtype_name(dtype));
}

/* The same where numbers of that dtype are computed with, which is complex. */
static granary_err
complex_types(enum gr_map_function function, granary_dtype dtype, granary_dtype to, granary_dtype *ret_compute,
              granary_dtype *ret_dtype)
{
    *ret_compute = dtype;
    if (function == GR_MAP_astype) {
        *ret_compute = *ret_dtype = to;
        return gr_dtype_is_complex(to) || to == GRANARY_BOOL
                   ? GRANARY_OK
                   : gr_fail(GRANARY_ETYPE, "%s does not become %s: `real`, `imag` and `absolute` give floats",
                             granary_dtype_name(dtype), granary_dtype_name(to));
    }
    switch (complex_gives[function]) {
    case COMPLEX_SAME:
        *ret_dtype = dtype;
        return GRANARY_OK;
    case COMPLEX_REAL:
        *ret_dtype = gr_dtype_part(dtype);
        return GRANARY_OK;
    case COMPLEX_TRUTH:
        *ret_dtype = GRANARY_BOOL;
        return GRANARY_OK;
    default:
        return gr_complex_refuse(functions[function].name, dtype);
    }
}

granary_err
gr_map_types(enum gr_map_function function, const struct gr_map_operand *operands, granary_dtype to,
             granary_dtype *ret_compute, granary_dtype *ret_dtype)
{
    int first = function == GR_MAP_where ? 1 : 0;
    granary_dtype dtype = operands[first].dtype;
    bool good = true;

    for (int i = 0; i < functions[function].operands; i++) {
        if (!gr_tensor_dtype_valid(operands[i].dtype)) {
            return unfit(function, operands[i].dtype);
        }
    }
    if (functions[function].operands > 1) {
        dtype = promote_operands(&operands[first], &operands[first + 1]);
    }
    if (gr_dtype_is_complex(dtype)) {
        return complex_types(function, dtype, to, ret_compute, ret_dtype);
    }
    *ret_compute = dtype;
    *ret_dtype = dtype;
    switch (functions[function].rule) {
    case RULE_SAME:
    case RULE_WHERE:
        return GRANARY_OK;
    case RULE_NUMBER:
        good = dtype != GRANARY_BOOL;
        break;
    case RULE_SHIFT:
    case RULE_ARITHMETIC:
        good = functions[function].rule == RULE_ARITHMETIC || !gr_dtype_is_float(dtype);
        *ret_compute = *ret_dtype = dtype == GRANARY_BOOL ? GRANARY_INT8 : dtype;
        break;
    case RULE_COMPLEX:
    case RULE_FLOATING:
        if (functions[function].operands == 2 && !operands[0].weak && !operands[1].weak) {
            dtype = gr_dtype_promote(gr_dtype_of_float(operands[0].dtype), gr_dtype_of_float(operands[1].dtype));
        }
        *ret_compute = *ret_dtype = gr_dtype_of_float(dtype);
        *ret_dtype = functions[function].rule == RULE_COMPLEX ? complex_of(*ret_dtype) : *ret_dtype;
        break;
    case RULE_DIVIDE:
        *ret_compute = *ret_dtype = gr_dtype_is_float(dtype) ? dtype : GRANARY_FLOAT64;
        break;
    case RULE_FLOAT64:
        *ret_compute = *ret_dtype = GRANARY_FLOAT64;
        break;
    case RULE_PREDICATE:
    case RULE_COMPARE:
        *ret_dtype = GRANARY_BOOL;
        break;
    case RULE_BITS:
        good = !gr_dtype_is_float(dtype);
        break;
    case RULE_INTEGER:
        good = gr_dtype_is_integer(dtype);
        break;
    default: /* RULE_ASTYPE */
        good = gr_tensor_dtype_valid(to);
        *ret_compute = *ret_dtype = to;
        break;
    }
    return good ? GRANARY_OK : unfit(function, dtype);
}

/* ---- reductions ---- */

enum gives { GIVES_SAME, GIVES_SUM, GIVES_BOOL, GIVES_INT64, GIVES_FLOAT };

static const struct {
    const char *name;
    enum gr_reduce_how how;
    enum gives gives;
} reductions[GR_REDUCE_COUNT] = {
#define TENSOR_REDUCTION(name, how, gives, summary) [GR_REDUCE_##name] = {#name, GR_REDUCE_BY_##how, GIVES_##gives},
#include "contract/ops/tensor_reductions.def"
#undef TENSOR_REDUCTION
};

const char *
gr_reduction_name(enum gr_reduction reduction)
{
    return reductions[reduction].name;
}

enum gr_reduction
gr_reduction_find(const char *name)
{
    int i = 0;

    while (i < GR_REDUCE_COUNT && strcmp(reductions[i].name, name) != 0) {
        i++;
    }
    return (enum gr_reduction)i;
}

enum gr_reduce_how
gr_reduction_how(enum gr_reduction reduction)
{
    return reductions[reduction].how;
}

granary_dtype
gr_reduction_dtype(enum gr_reduction reduction, granary_dtype input)
{
    switch (reductions[reduction].gives) {
    case GIVES_SAME:
        return input;
    case GIVES_SUM:
        return gr_dtype_of_sum(input);
    case GIVES_BOOL:
        return GRANARY_BOOL;
    case GIVES_INT64:
        return GRANARY_INT64;
    default:
        return gr_dtype_is_float(input) ? input : GRANARY_FLOAT64;
    }
}

bool
gr_reduction_needs_elements(enum gr_reduction reduction)
{
    switch (reduction) {
    case GR_REDUCE_max:
    case GR_REDUCE_min:
    case GR_REDUCE_nanmax:
    case GR_REDUCE_nanmin:
    case GR_REDUCE_argmax:
    case GR_REDUCE_argmin:
        return true;
    default:
        return false;
    }
}

bool
gr_reduction_follows(enum gr_reduction asked, int kept, granary_dtype dtype)
{
    enum gr_reduction from = (enum gr_reduction)kept;

    if (kept < 0 || kept >= GR_REDUCE_COUNT || asked == from) {
        return asked == from;
    }
    if (gr_reduction_skips_nan(asked) != gr_reduction_skips_nan(from) || asked == GR_REDUCE_count_nonzero ||
        from == GR_REDUCE_count_nonzero) {
        return false;
    }
    switch (gr_reduction_how(asked)) {
    case GR_REDUCE_BY_SUM:
        return gr_reduction_how(from) == GR_REDUCE_BY_SUM ||
               (gr_reduction_how(from) == GR_REDUCE_BY_MOMENTS && gr_dtype_is_float(dtype));
    case GR_REDUCE_BY_MOMENTS:
        return gr_reduction_how(from) == GR_REDUCE_BY_MOMENTS;
    default:
        return false;
    }
}

bool
gr_reduction_skips_nan(enum gr_reduction reduction)
{
    return strncmp(reductions[reduction].name, "nan", 3) == 0;
}
