/* Element-wise operators written as programs for the executor, and the dtype that each gives. */
#include "graph/tensor/map.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "data/tensor.h"

#define NUMBER_MAX 64 /* a number in a program */

/* ---- which operators ---- */

static const signed char function_of[GR_TILE_COUNT] = {/* plus 1; 0: none */
#define TENSOR_UNARY(name, rule, summary)  [GR_TILE_##name] = GR_MAP_##name + 1,
#define TENSOR_BINARY(name, rule, summary) [GR_TILE_##name] = GR_MAP_##name + 1,
#include "contract/ops/tensor_functions.def"
#undef TENSOR_UNARY
#undef TENSOR_BINARY
                                                       [GR_TILE_astype] = GR_MAP_astype + 1,
                                                       [GR_TILE_where] = GR_MAP_where + 1};

static const signed char reduction_of[GR_TILE_COUNT] = {
#define TENSOR_REDUCTION(name, how, gives, summary) [GR_TILE_##name] = GR_REDUCE_##name + 1,
#include "contract/ops/tensor_reductions.def"
#undef TENSOR_REDUCTION
};

bool
gr_op_is_map(enum gr_tile_op op)
{
    return function_of[op] != 0 || op == GR_TILE_clip || op == GR_TILE_nan_to_num || op == GR_TILE_round ||
           op == GR_TILE_isclose;
}

enum gr_reduction
gr_op_reduction(enum gr_tile_op op)
{
    return reduction_of[op] == 0 ? GR_REDUCE_COUNT : (enum gr_reduction)(reduction_of[op] - 1);
}

/* ---- checks ---- */

static granary_err
check_operands(const Granary__Node *node, size_t operands, const char *const *names, size_t name_count)
{
    size_t given = node->n_inputs;

    for (size_t i = 0; i < name_count; i++) {
        given += gr_attr_find(node->attrs, node->n_attrs, names[i]) != NULL;
    }
    if (given > operands) {
        return gr_fail(GRANARY_EINVAL, "it has %s inputs and the parameter '%s': leave one of them out",
                       node->n_inputs == 1   ? "one"
                       : node->n_inputs == 2 ? "two"
                                             : "three",
                       gr_attr_find(node->attrs, node->n_attrs, names[0]) != NULL ? names[0] : names[name_count - 1]);
    }
    if (given < operands && name_count == 1) {
        return gr_fail(GRANARY_EINVAL, "the second operand is missing: a second input, or the parameter '%s'",
                       names[0]);
    }
    return given < operands
               ? gr_fail(GRANARY_EINVAL, "%zu operands are missing: more inputs, or the parameters '%s', '%s'",
                         operands - given, names[0], names[1])
               : GRANARY_OK;
}

granary_err
gr_map_check(const Granary__Node *node, enum gr_tile_op op)
{
    static const char *const value[] = {"value"};
    static const char *const choices[] = {"then", "otherwise"};

    if (op == GR_TILE_where) {
        return check_operands(node, 3, choices, 2);
    }
    if (op == GR_TILE_astype) {
        const char *name = GR_NODE_PARAMS(astype, node)->dtype;

        return gr_tensor_dtype_valid(gr_tensor_dtype_parse(name))
                   ? GRANARY_OK
                   : gr_fail(
                         GRANARY_EINVAL,
                         "parameter 'dtype': no dtype '%.40s' of tensors; there are: bool, int8, int16, int32, int64, "
                         "uint8, uint16, uint32, uint64, float32, float64, complex64, complex128",
                         name);
    }
    if (op == GR_TILE_clip && node->n_attrs == 0) {
        return gr_fail(GRANARY_EINVAL, "one of the parameters 'min' and 'max' is missing");
    }
    if (function_of[op] != 0 && gr_map_operands((enum gr_map_function)(function_of[op] - 1)) == 2) {
        granary_err err = check_operands(node, 2, value, 1);

        return err == GRANARY_OK && node->n_inputs == 2 && gr_attr_find(node->attrs, node->n_attrs, "left") != NULL
                   ? gr_fail(GRANARY_EINVAL, "parameter 'left' is for an operator with a value")
                   : err;
    }
    return GRANARY_OK;
}

/* ---- dtypes ---- */

static struct gr_map_operand
number_operand(const Granary__Attr *attr)
{
    return (struct gr_map_operand){gr_attr_is_complex(attr)                    ? GRANARY_COMPLEX128
                                   : attr->kind == GRANARY__ATTR__KIND__DOUBLE ? GRANARY_FLOAT64
                                                                               : GRANARY_INT64,
                                   true};
}

bool
gr_attr_is_complex(const Granary__Attr *attr)
{
    double real, imaginary;

    return attr->kind == GRANARY__ATTR__KIND__STRING && gr_complex_parse(attr->strings[0], &real, &imaginary);
}

bool
gr_number_fits(const Granary__Attr *attr, granary_dtype dtype)
{
    double most = ldexp(1, (int)gr_tensor_element(dtype) * 8 - gr_dtype_is_signed(dtype));
    uint64_t bits = 0;
    bool beyond = false;
    double whole;

    if (gr_attr_is_complex(attr)) {
        return gr_dtype_is_complex(dtype);
    }
    if (gr_attr_whole(attr, &bits, &beyond) || !gr_dtype_is_integer(dtype)) {
        return attr->kind == GRANARY__ATTR__KIND__DOUBLE || gr_dtype_holds(dtype, bits, beyond);
    }
    whole = trunc(attr->doubles[0]); /* what is behind the point is cut off */
    return whole < most && whole >= (gr_dtype_is_signed(dtype) ? -most : 0);
}

/* A number as an operand of a program. */
static const char *
number_text(const Granary__Attr *attr, double fallback, char text[NUMBER_MAX])
{
    if (attr != NULL && attr->kind == GRANARY__ATTR__KIND__INT) {
        (void)snprintf(text, NUMBER_MAX, "#%lld", (long long)attr->ints[0]);
    } else if (attr != NULL && attr->kind == GRANARY__ATTR__KIND__STRING) {
        (void)snprintf(text, NUMBER_MAX, "#%.60s", attr->strings[0]);
    } else {
        (void)snprintf(text, NUMBER_MAX, "#%.17e", attr == NULL ? fallback : attr->doubles[0]); /* inf, nan: so, too */
    }
    return text;
}

granary_err
gr_number_misfit(const Granary__Attr *attr, granary_dtype dtype)
{
    char text[NUMBER_MAX];

    if (attr->kind == GRANARY__ATTR__KIND__DOUBLE) {
        (void)snprintf(text, sizeof text, "%g", attr->doubles[0]);
    } else {
        (void)number_text(attr, 0, text);
    }
    return gr_fail(GRANARY_EINVAL, "parameter '%s': %s does not fit %s", attr->name, text + (text[0] == '#'),
                   granary_dtype_name(dtype));
}

static granary_err
types_with(enum gr_map_function function, struct gr_map_operand operands[3], const Granary__Attr *const *numbers,
           granary_dtype to, granary_dtype *ret_dtype)
{
    granary_dtype compute;
    granary_err err = gr_map_types(function, operands, to, &compute, ret_dtype);

    for (int i = 0; i < 3 && err == GRANARY_OK; i++) {
        if (numbers[i] != NULL && !gr_number_fits(numbers[i], compute)) {
            err = gr_number_misfit(numbers[i], compute);
        }
    }
    return err;
}

granary_err
gr_map_dtype(enum gr_tile_op op, Granary__Attr *const *attrs, size_t attr_count, const granary_dtype *inputs,
             size_t input_count, granary_dtype *ret_dtype)
{
    static const char *const limits[] = {"min", "max"};
    struct gr_map_operand operands[3] = {{inputs[0], false}};
    const Granary__Attr *numbers[3] = {NULL};
    granary_dtype dtype = inputs[0];
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < input_count; i++) {
        if (!gr_tensor_dtype_valid(inputs[i])) {
            return gr_fail(GRANARY_ETYPE, "input %zu is a tensor of %s", i, granary_dtype_name(inputs[i]));
        }
        operands[i] = (struct gr_map_operand){inputs[i], false};
    }
    switch (op) {
    case GR_TILE_isclose:
        *ret_dtype = GRANARY_BOOL;
        return GRANARY_OK;
    case GR_TILE_nan_to_num:
        *ret_dtype = dtype;
        return GRANARY_OK;
    case GR_TILE_round:
        *ret_dtype = dtype;
        return dtype == GRANARY_BOOL ? gr_fail(GRANARY_ETYPE, "round is not for tensors of bool") : GRANARY_OK;
    case GR_TILE_clip:
        for (int i = 0; i < 2 && err == GRANARY_OK; i++) {
            numbers[1] = gr_attr_find(attrs, attr_count, limits[i]);
            if (numbers[1] != NULL) {
                operands[0].dtype = dtype;
                operands[1] = number_operand(numbers[1]);
                err = types_with(GR_MAP_maximum, operands, numbers, GRANARY_NULLTYPE, &dtype);
            }
        }
        *ret_dtype = dtype;
        return err;
    case GR_TILE_where:
        if (gr_attr_find(attrs, attr_count, "then") != NULL) {
            operands[2] = operands[1];
            numbers[1] = gr_attr_find(attrs, attr_count, "then");
            operands[1] = number_operand(numbers[1]);
        }
        if ((numbers[2] = gr_attr_find(attrs, attr_count, "otherwise")) != NULL) {
            operands[2] = number_operand(numbers[2]);
        }
        return types_with(GR_MAP_where, operands, numbers, GRANARY_NULLTYPE, ret_dtype);
    default:
        break;
    }
    if (input_count == 1 && gr_map_operands((enum gr_map_function)(function_of[op] - 1)) == 2) {
        numbers[1] = gr_attr_find(attrs, attr_count, "value");
        operands[1] = number_operand(numbers[1]);
    }
    return types_with((enum gr_map_function)(function_of[op] - 1), operands, numbers,
                      op == GR_TILE_astype ? gr_tensor_dtype_parse(GR_PARAMS(astype, attrs, attr_count)->dtype)
                                           : GRANARY_NULLTYPE,
                      ret_dtype);
}

/* ---- programs ---- */

struct writer {
    char texts[16][2 * NUMBER_MAX + 24];
    size_t count;
};

static void __attribute__((format(printf, 2, 3))) write_line(struct writer *w, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(w->texts[w->count++], sizeof w->texts[0], format, args);
    va_end(args);
}

static void
write_nan_to_num(struct writer *w, const struct gr_params_nan_to_num *params, granary_dtype dtype)
{
    double most = dtype == GRANARY_FLOAT32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
    char text[NUMBER_MAX];

    if (!gr_dtype_is_float(dtype)) {
        write_line(w, "astype:%s $0", granary_dtype_name(dtype));
        return;
    }
    write_line(w, "isnan $0");
    write_line(w, "where %%0 #%.17e $0", params->nan);
    write_line(w, "isposinf $0");
    write_line(w, "where %%2 %s %%1", number_text(params->posinf, most, text));
    write_line(w, "isneginf $0");
    write_line(w, "where %%4 %s %%3", number_text(params->neginf, -most, text));
}

static void
write_round(struct writer *w, int64_t decimals, granary_dtype dtype)
{
    double power = pow(10, (double)(decimals < 0 ? -decimals : decimals));
    const char *there = decimals < 0 ? "divide" : "multiply";
    const char *back = decimals < 0 ? "multiply" : "divide";

    if (!gr_dtype_is_float(dtype) && decimals >= 0) {
        write_line(w, "astype:%s $0", granary_dtype_name(dtype));
    } else if (decimals == 0) {
        write_line(w, "rint $0");
    } else {
        write_line(w, "%s $0 #%.17e", there, power);
        write_line(w, "rint %%0");
        write_line(w, "%s %%1 #%.17e", back, power);
        if (!gr_dtype_is_float(dtype)) {
            write_line(w, "astype:%s %%2", granary_dtype_name(dtype));
        }
    }
}

static void
write_isclose(struct writer *w, const struct gr_params_isclose *params, const granary_dtype *inputs)
{
    bool complex_too = gr_dtype_is_complex(inputs[0]) || gr_dtype_is_complex(inputs[1]);
    const char *dtype = complex_too ? "complex128" : "float64";

    write_line(w, "astype:%s $0", dtype);
    write_line(w, "astype:%s $1", dtype);
    write_line(w, "subtract %%0 %%1");
    write_line(w, "absolute %%2");
    write_line(w, "absolute %%1");
    write_line(w, "multiply %%4 #%.17e", params->rtol);
    write_line(w, "add %%5 #%.17e", params->atol);
    write_line(w, "less_equal %%3 %%6");
    write_line(w, "isfinite %%1");
    write_line(w, "logical_and %%7 %%8");
    write_line(w, "equal %%0 %%1");
    write_line(w, "logical_or %%9 %%10");
    if (params->equal_nan) {
        write_line(w, "isnan %%0");
        write_line(w, "isnan %%1");
        write_line(w, "logical_and %%12 %%13");
        write_line(w, "logical_or %%11 %%14");
    }
}

static void
write_function(struct writer *w, enum gr_tile_op op, Granary__Attr *const *attrs, size_t n, size_t input_count)
{
    const char *name = gr_op_info(op)->name;
    char text[NUMBER_MAX], other[NUMBER_MAX];
    const char *operands[3] = {"$0", "$1", "$2"};
    const Granary__Attr *then = GR_PARAMS(where, attrs, n)->then;
    const Granary__Attr *otherwise = GR_PARAMS(where, attrs, n)->otherwise;
    const struct gr_params_add *params = GR_PARAMS(add, attrs, n); /* all functions of two operands have these */

    if (op == GR_TILE_astype) {
        write_line(w, "astype:%s $0", GR_PARAMS(astype, attrs, n)->dtype);
    } else if (op == GR_TILE_where) {
        operands[2] = otherwise != NULL ? number_text(otherwise, 0, other) : then != NULL ? "$1" : "$2";
        operands[1] = then != NULL ? number_text(then, 0, text) : "$1";
        write_line(w, "where $0 %s %s", operands[1], operands[2]);
    } else if (gr_map_operands((enum gr_map_function)(function_of[op] - 1)) == 1) {
        write_line(w, "%s $0", name);
    } else if (input_count == 2) {
        write_line(w, "%s $0 $1", name);
    } else if (params->left) {
        write_line(w, "%s %s $0", name, number_text(params->value, 0, text));
    } else {
        write_line(w, "%s $0 %s", name, number_text(params->value, 0, text));
    }
}

Granary__Attr *
gr_map_program(enum gr_tile_op op, Granary__Attr *const *attrs, size_t attr_count, const granary_dtype *inputs,
               size_t input_count)
{
    struct writer w = {.count = 0};
    char *lines[16];
    char text[NUMBER_MAX];
    const Granary__Attr *min = GR_PARAMS(clip, attrs, attr_count)->min;
    const Granary__Attr *max = GR_PARAMS(clip, attrs, attr_count)->max;

    if (op == GR_TILE_reduce_partial) { /* its functions are operators, too */
        op = (enum gr_tile_op)gr_op_find(GR_PARAMS(reduce_partial, attrs, attr_count)->function);
    }
    switch (op) {
    case GR_TILE_any:
    case GR_TILE_all:
    case GR_TILE_count_nonzero:
        write_line(&w, "astype:bool $0");
        break;
    case GR_TILE_clip:
        if (min != NULL) {
            write_line(&w, "maximum $0 %s", number_text(min, 0, text));
        }
        if (max != NULL) {
            write_line(&w, "minimum %s %s", min != NULL ? "%0" : "$0", number_text(max, 0, text));
        }
        break;
    case GR_TILE_nan_to_num:
        write_nan_to_num(&w, GR_PARAMS(nan_to_num, attrs, attr_count), inputs[0]);
        break;
    case GR_TILE_round:
        write_round(&w, GR_PARAMS(round, attrs, attr_count)->decimals, inputs[0]);
        break;
    case GR_TILE_isclose:
        write_isclose(&w, GR_PARAMS(isclose, attrs, attr_count), inputs);
        break;
    default:
        if (!gr_op_is_map(op)) {
            break;
        }
        write_function(&w, op, attrs, attr_count, input_count);
    }
    for (size_t i = 0; i < w.count; i++) {
        lines[i] = w.texts[i];
    }
    return gr_attr_new_strings("program", lines, w.count);
}
