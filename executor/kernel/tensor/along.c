/*
 * Functions of whole lines along one axis: sorted, cumulated, their quantiles. A line is taken out as int64, uint64 or
 * float64 and, where its order matters, as 64-bit codes in the order of its values, NaN last.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/core/scratch.h"
#include "kernel/core/select.h"
#include "kernel/simd/tensor/tensor_map.h"
#include "kernel/tensor/call.h"

enum function { SORT, ARGSORT, TOPK, ARGTOPK, QUANTILE, NANQUANTILE, CUMSUM, CUMPROD, CUMMAX, CUMMIN, DIFF, FUNCTIONS };

static const char *const names[FUNCTIONS] = {"sort",   "argsort", "topk",   "argtopk", "quantile", "nanquantile",
                                             "cumsum", "cumprod", "cummax", "cummin",  "diff"};

/* A call at work. */
struct along {
    struct gr_kernel_call *call;
    enum function function;
    granary_dtype dtype; /* of the input */
    granary_dtype gives;
    bool descending;
    double q;
    const char *method;
    int64_t times; /* of diff */
    int64_t n;     /* elements of a line */
    int64_t out_n;
    char *raw;       /* a line as it is stored */
    uint64_t *lane;  /* as int64, uint64 or float64 */
    uint64_t *other; /* of the same size */
    uint64_t *codes;
    uint64_t *spare;
    uint32_t *places; /* with codes: positions; two arrays */
    char *memory;
};

/* ---- codes ---- */

static bool
is_float(const struct along *a)
{
    return gr_dtype_is_float(a->dtype);
}

static bool
is_unsigned(const struct along *a)
{
    return gr_dtype_is_integer(a->dtype) && !gr_dtype_is_signed(a->dtype);
}

static uint64_t
code_of(const struct along *a, uint64_t value)
{
    double number;

    if (!is_float(a)) {
        return is_unsigned(a) ? value : value ^ (uint64_t)1 << 63;
    }
    memcpy(&number, &value, sizeof number);
    if (number != number) {
        return UINT64_MAX;
    }
    number += 0.0; /* -0 is 0 */
    memcpy(&value, &number, sizeof value);
    return (value >> 63) != 0 ? ~value : value | (uint64_t)1 << 63;
}

static uint64_t
value_of(const struct along *a, uint64_t code)
{
    double nan = (double)NAN;
    uint64_t value;

    if (!is_float(a)) {
        return is_unsigned(a) ? code : code ^ (uint64_t)1 << 63;
    }
    if (code == UINT64_MAX) {
        memcpy(&value, &nan, sizeof value);
        return value;
    }
    return (code >> 63) != 0 ? code & ~((uint64_t)1 << 63) : ~code;
}

/* Radix sort by bytes, least first; those that are the same in all are left out. With places: they go along. Stable. */
static void
sort_codes(struct along *a, int64_t n, bool with_places)
{
    size_t counts[8][256] = {{0}};
    uint64_t *from = a->codes, *to = a->spare;
    uint32_t *places = a->places, *other = a->places == NULL ? NULL : a->places + a->n;

    for (int64_t i = 0; i < n; i++) {
        for (int b = 0; b < 8; b++) {
            counts[b][from[i] >> (8 * b) & 255]++;
        }
    }
    for (int b = 0; b < 8; b++) {
        size_t at = 0;
        bool one = false;

        for (int d = 0; d < 256; d++) {
            size_t count = counts[b][d];

            one = one || count == (size_t)n;
            counts[b][d] = at;
            at += count;
        }
        if (one) {
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            size_t where = counts[b][from[i] >> (8 * b) & 255]++;

            to[where] = from[i];
            if (with_places) {
                other[where] = places[i];
            }
        }
        a->codes = to;
        a->spare = from;
        from = a->codes;
        to = a->spare;
        if (with_places) {
            uint32_t *swap = places;

            places = other;
            other = swap;
        }
    }
    if (with_places && places != a->places) {
        memcpy(a->places, places, (size_t)n * sizeof *places);
    }
}

/* ---- lines ---- */

static void
read_line(struct along *a, const char *in, int64_t stride, int64_t count, uint64_t *lane)
{
    size_t element = gr_tensor_element(a->dtype);

    for (int64_t i = 0; i < count && stride != 1; i++) {
        memcpy(a->raw + (size_t)i * element, in + (size_t)(i * stride) * element, element);
    }
    if (a->dtype == GRANARY_FLOAT32) {
        SIMD_CALL(tensor_lane_convert)(GR_LANE_F, GR_LANE_D, lane, stride == 1 ? in : a->raw, count);
    } else {
        SIMD_CALL(tensor_lane_load)(a->dtype, lane, stride == 1 ? in : a->raw, count);
    }
}

static void
write_line(struct along *a, const uint64_t *lane, char *out, int64_t stride)
{
    size_t element = gr_tensor_element(a->gives);
    char *to = stride == 1 ? out : a->raw;

    if (a->gives == GRANARY_FLOAT32) {
        SIMD_CALL(tensor_lane_convert)(GR_LANE_D, GR_LANE_F, to, lane, a->out_n);
    } else {
        SIMD_CALL(tensor_lane_store)(a->gives, to, lane, a->out_n);
    }
    for (int64_t i = 0; i < a->out_n && stride != 1; i++) {
        memcpy(out + (size_t)(i * stride) * element, to + (size_t)i * element, element);
    }
}

static double
number_of(const struct along *a, uint64_t value)
{
    double number;

    if (is_float(a)) {
        memcpy(&number, &value, sizeof number);
        return number;
    }
    return is_unsigned(a) ? (double)value : (double)(int64_t)value;
}

static void
make_codes(struct along *a, int64_t n, bool turned)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t code = code_of(a, a->lane[i]);

        /* NaN stay last whichever way the others go. */
        a->codes[i] = turned && !(is_float(a) && code == UINT64_MAX) ? ~code - is_float(a) : code;
    }
}

static uint64_t
turned_back(const struct along *a, uint64_t code, bool turned)
{
    return turned && !(is_float(a) && code == UINT64_MAX) ? ~(code + is_float(a)) : code;
}

/* The first out_n values of the codes that are sorted. -0.0 and 0.0 have one code: they keep their order. */
static void
write_sorted(struct along *a, bool turned)
{
    uint64_t *swap = a->lane;
    int64_t at = 0;

    for (int64_t i = 0; i < a->out_n; i++) {
        uint64_t value = value_of(a, turned_back(a, a->codes[i], turned));

        if (is_float(a) && value == 0) {
            while (a->lane[at] << 1 != 0) { /* all but the sign */
                at++;
            }
            value = a->lane[at++];
        }
        a->other[i] = value;
    }
    a->lane = a->other;
    a->other = swap;
}

static void
sort_line(struct along *a)
{
    bool turned = a->descending || a->function == TOPK || a->function == ARGTOPK;
    bool places = a->function == ARGSORT || a->function == ARGTOPK;

    make_codes(a, a->n, turned);
    for (int64_t i = 0; i < a->n && places; i++) {
        a->places[i] = (uint32_t)i;
    }
    sort_codes(a, a->n, places);
    for (int64_t i = 0; i < a->out_n && places; i++) {
        a->lane[i] = a->places[i];
    }
    if (!places) {
        write_sorted(a, turned);
    }
}

/* As NumPy's: between the two neighbours of q (n - 1). */
static void
quantile_line(struct along *a, int64_t n)
{
    double result = (double)NAN;
    int64_t count = n;

    make_codes(a, n, false);
    sort_codes(a, n, false);
    while (count > 0 && is_float(a) && a->codes[count - 1] == UINT64_MAX) {
        count--;
    }
    if (count > 0 && (count == n || a->function == NANQUANTILE)) {
        double at = a->q * (double)(count - 1);
        int64_t low = (int64_t)floor(at);
        int64_t high = low + 1 < count ? low + 1 : low;
        double part = at - (double)low;
        double x = number_of(a, value_of(a, a->codes[low]));
        double y = number_of(a, value_of(a, a->codes[high]));

        if (strcmp(a->method, "lower") == 0) {
            result = x;
        } else if (strcmp(a->method, "higher") == 0) {
            result = part > 0 ? y : x;
        } else if (strcmp(a->method, "nearest") == 0) {
            result = part < 0.5 || (part == 0.5 && low % 2 == 0) ? x : y;
        } else if (strcmp(a->method, "midpoint") == 0) {
            result = part > 0 ? x + (y - x) * 0.5 : x;
        } else {
            result = select_between(x, y, part);
        }
    }
    memcpy(a->lane, &result, sizeof result);
}

#define CUMULATE(type, out_type, expression)                                                                           \
    do {                                                                                                               \
        const type *x = (const type *)(const void *)a->lane;                                                           \
        out_type *o = (out_type *)(void *)a->other;                                                                    \
                                                                                                                       \
        for (int64_t i = 0; i < a->n; i++) {                                                                           \
            o[i] = i == 0 ? x[0] : (expression);                                                                       \
        }                                                                                                              \
    } while (0)

static double
narrowed(const struct along *a, double x)
{
    return a->dtype == GRANARY_FLOAT32 ? (double)(float)x : x;
}

static void
cumulate_line(struct along *a)
{
    if (is_float(a)) {
        switch (a->function) {
        case CUMSUM:
            CUMULATE(double, double, narrowed(a, o[i - 1] + x[i]));
            break;
        case CUMPROD:
            CUMULATE(double, double, narrowed(a, o[i - 1] * x[i]));
            break;
        case CUMMAX:
            CUMULATE(double, double, o[i - 1] >= x[i] || o[i - 1] != o[i - 1] ? o[i - 1] : x[i]);
            break;
        default:
            CUMULATE(double, double, o[i - 1] <= x[i] || o[i - 1] != o[i - 1] ? o[i - 1] : x[i]);
        }
    } else if (a->function == CUMSUM) {
        CUMULATE(uint64_t, uint64_t, o[i - 1] + x[i]);
    } else if (a->function == CUMPROD) {
        CUMULATE(uint64_t, uint64_t, o[i - 1] * x[i]);
    } else if (is_unsigned(a)) {
        CUMULATE(uint64_t, uint64_t, (o[i - 1] >= x[i]) == (a->function == CUMMAX) ? o[i - 1] : x[i]);
    } else {
        CUMULATE(int64_t, int64_t, (o[i - 1] >= x[i]) == (a->function == CUMMAX) ? o[i - 1] : x[i]);
    }
    memcpy(a->lane, a->other, (size_t)a->n * sizeof *a->lane);
}

static void
difference_line(struct along *a)
{
    for (int64_t left = a->n - 1, k = 0; k < a->times && left >= 0; k++, left--) {
        for (int64_t i = 0; i < left; i++) {
            if (is_float(a)) {
                double difference = narrowed(a, number_of(a, a->lane[i + 1]) - number_of(a, a->lane[i]));

                memcpy(&a->lane[i], &difference, sizeof difference);
            } else {
                a->lane[i] =
                    a->dtype == GRANARY_BOOL ? (uint64_t)(a->lane[i + 1] != a->lane[i]) : a->lane[i + 1] - a->lane[i];
            }
        }
    }
}

static void
run_line(struct along *a)
{
    switch (a->function) {
    case SORT:
    case ARGSORT:
    case TOPK:
    case ARGTOPK:
        sort_line(a);
        break;
    case QUANTILE:
    case NANQUANTILE:
        quantile_line(a, a->n);
        break;
    case DIFF:
        difference_line(a);
        break;
    default:
        if (a->n > 0) {
            cumulate_line(a);
        }
    }
}

/* ---- calls ---- */

static granary_err
make_room(struct along *a)
{
    size_t line = ((size_t)a->n + 8) * 8;

    a->memory = scratch_alloc(6 * line + 64);
    if (a->memory == NULL) {
        return gr_fail(GRANARY_ENOMEM, "a line of %lld elements: out of memory", (long long)a->n);
    }
    a->raw = a->memory;
    a->lane = (uint64_t *)(void *)(a->memory + line);
    a->other = (uint64_t *)(void *)(a->memory + 2 * line);
    a->codes = (uint64_t *)(void *)(a->memory + 3 * line);
    a->spare = (uint64_t *)(void *)(a->memory + 4 * line);
    a->places = (uint32_t *)(void *)(a->memory + 5 * line);
    return GRANARY_OK;
}

static granary_err
read_call(struct gr_kernel_call *call, const struct gr_chunk_along *params, struct along *a)
{
    const char *name = params->function;
    int f = 0;

    while (f < FUNCTIONS && strcmp(names[f], name) != 0) {
        f++;
    }
    if (f == FUNCTIONS) {
        return gr_fail(GRANARY_EINVAL, "no function '%s'", name);
    }
    *a = (struct along){.call = call,
                        .function = (enum function)f,
                        .dtype = call->inputs[0].tensor.view.dtype,
                        .descending = params->descending,
                        .q = params->q,
                        .method = params->method,
                        .times = params->times};
    switch (a->function) {
    case ARGSORT:
    case ARGTOPK:
        a->gives = GRANARY_INT64;
        break;
    case QUANTILE:
    case NANQUANTILE:
        a->gives = is_float(a) ? a->dtype : GRANARY_FLOAT64;
        break;
    case CUMSUM:
    case CUMPROD:
        a->gives = gr_dtype_of_sum(a->dtype);
        break;
    default:
        a->gives = a->dtype;
    }
    return a->q >= 0 && a->q <= 1 ? GRANARY_OK : gr_fail(GRANARY_EINVAL, "q is %g; it can be 0 to 1", a->q);
}

/* All elements of all inputs are one line. */
static granary_err
run_flat(struct gr_kernel_call *call, struct along *a)
{
    int64_t at = 0;
    void *values;
    granary_err err;

    for (size_t i = 0; i < call->input_count; i++) {
        a->n += gr_tensor_elements(&call->inputs[i].tensor.view);
        if (call->inputs[i].tensor.view.dtype != a->dtype) {
            return gr_fail(GRANARY_ETYPE, "input %zu has another dtype", i);
        }
    }
    if (a->function != QUANTILE && a->function != NANQUANTILE) {
        return gr_fail(GRANARY_EINVAL, "%s needs an axis", names[a->function]);
    }
    a->out_n = 1;
    if ((err = make_room(a)) == GRANARY_OK && (err = tensor_output(call, a->gives, 0, NULL, &values)) == GRANARY_OK) {
        for (size_t i = 0; i < call->input_count; i++) {
            const granary_tensor *tensor = &call->inputs[i].tensor.view;

            read_line(a, tensor->values, 1, gr_tensor_elements(tensor), a->lane + at);
            at += gr_tensor_elements(tensor);
        }
        run_line(a);
        write_line(a, a->lane, values, 1);
    }
    scratch_free(a->memory);
    return err;
}

granary_err
kernel_along(struct gr_kernel_call *call, const struct gr_chunk_along *params)
{
    const granary_tensor *tensor;
    int64_t axis = params->axis;
    bool drop = params->drop;
    int64_t shape[TENSOR_DIMS_MAX];
    int64_t outer = 1, inner = 1;
    int dims = 0;
    struct along a;
    void *values;
    granary_err err = tensor_call_check(call, 1, SIZE_MAX);

    if (err == GRANARY_OK) {
        err = read_call(call, params, &a);
    }
    if (err != GRANARY_OK || axis < 0) {
        return err == GRANARY_OK ? run_flat(call, &a) : err;
    }
    tensor = &call->inputs[0].tensor.view;
    if (axis >= tensor->dims || call->input_count != 1 || tensor->shape[axis] > UINT32_MAX) {
        return gr_fail(GRANARY_EINVAL, "there is no axis %lld", (long long)axis);
    }
    a.n = a.out_n = tensor->shape[axis];
    if (a.function == QUANTILE || a.function == NANQUANTILE) {
        a.out_n = 1;
    } else if (a.function == DIFF) {
        a.out_n = a.n > a.times ? a.n - a.times : 0;
    } else if (a.function == TOPK || a.function == ARGTOPK) {
        int64_t k = params->k == NULL ? a.n : *params->k;

        a.out_n = k < 0 ? 0 : k < a.n ? k : a.n;
    }
    for (int d = 0; d < tensor->dims; d++) {
        outer *= d < axis ? tensor->shape[d] : 1;
        inner *= d > axis ? tensor->shape[d] : 1;
        if (d != axis || !drop) {
            shape[dims++] = d == axis ? a.out_n : tensor->shape[d];
        }
    }
    if ((err = make_room(&a)) == GRANARY_OK) {
        err = tensor_output(call, a.gives, dims, shape, &values);
    }
    for (int64_t o = 0; o < outer && err == GRANARY_OK; o++) {
        for (int64_t i = 0; i < inner; i++) {
            const char *in = (const char *)tensor->values + (size_t)(o * a.n * inner + i) * gr_tensor_element(a.dtype);
            char *out = (char *)values + (size_t)(o * a.out_n * inner + i) * gr_tensor_element(a.gives);

            read_line(&a, in, inner, a.n, a.lane);
            run_line(&a);
            write_line(&a, a.lane, out, inner);
        }
    }
    scratch_free(a.memory);
    return err;
}
