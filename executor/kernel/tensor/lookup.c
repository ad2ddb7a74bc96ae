/* searchsorted, digitize, isin, take_at: elements looked up in a whole tensor. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/simd/tensor/tensor_map.h"
#include "kernel/tensor/call.h"
#include "kernel/tensor/load.h"

#define AT_ONCE 1024

/* ---- numbers in one order ---- */

/* What both sides are compared in; float32 as float64, which changes no order. */
static granary_dtype
compared_in(granary_dtype a, granary_dtype b)
{
    granary_dtype dtype = gr_dtype_promote(a, b);

    return dtype == GRANARY_FLOAT32 ? GRANARY_FLOAT64 : dtype;
}

/* NaN behind all numbers. */
#define BEFORE(a, b) ((a) < (b) || ((b) != (b) && (a) == (a)))

/* Of a type: how many of a table's values stand before x (or, behind: are not after it); the order of two for qsort. */
#define ORDERED(type, name)                                                                                            \
    static int64_t place_of_##name(const type *table, int64_t n, type x, bool behind)                                  \
    {                                                                                                                  \
        int64_t from = 0;                                                                                              \
                                                                                                                       \
        while (n > 0) {                                                                                                \
            int64_t half = n / 2;                                                                                      \
            type middle = table[from + half];                                                                          \
            bool right = behind ? !BEFORE(x, middle) : BEFORE(middle, x);                                              \
                                                                                                                       \
            from = right ? from + half + 1 : from;                                                                     \
            n = right ? n - half - 1 : half;                                                                           \
        }                                                                                                              \
        return from;                                                                                                   \
    }                                                                                                                  \
    static int order_of_##name(const void *left, const void *right)                                                    \
    {                                                                                                                  \
        type a = *(const type *)left;                                                                                  \
        type b = *(const type *)right;                                                                                 \
                                                                                                                       \
        return BEFORE(a, b) ? -1 : BEFORE(b, a) ? 1 : 0;                                                               \
    }                                                                                                                  \
    static bool rises_##name(const type *table, int64_t n)                                                             \
    {                                                                                                                  \
        int64_t i = 1;                                                                                                 \
                                                                                                                       \
        while (i < n && !BEFORE(table[i], table[i - 1])) {                                                             \
            i++;                                                                                                       \
        }                                                                                                              \
        return i >= n;                                                                                                 \
    }
ORDERED(int64_t, ints)
ORDERED(uint64_t, uints)
ORDERED(double, doubles)

/* A table's values, in order. */
struct table {
    enum gr_lane lane;
    int64_t count;
    void *values;
};

static bool
table_rises(const struct table *t)
{
    return t->lane == GR_LANE_D   ? rises_doubles(t->values, t->count)
           : t->lane == GR_LANE_U ? rises_uints(t->values, t->count)
                                  : rises_ints(t->values, t->count);
}

static void
table_sort(struct table *t)
{
    qsort(t->values, (size_t)t->count, 8,
          t->lane == GR_LANE_D   ? order_of_doubles
          : t->lane == GR_LANE_U ? order_of_uints
                                 : order_of_ints);
}

static void
table_turn(struct table *t)
{
    uint64_t *values = t->values;

    for (int64_t i = 0; i < t->count / 2; i++) {
        uint64_t first = values[i];

        values[i] = values[t->count - 1 - i];
        values[t->count - 1 - i] = first;
    }
}

static int64_t
table_place(const struct table *t, const void *x, bool behind)
{
    return t->lane == GR_LANE_D   ? place_of_doubles(t->values, t->count, *(const double *)x, behind)
           : t->lane == GR_LANE_U ? place_of_uints(t->values, t->count, *(const uint64_t *)x, behind)
                                  : place_of_ints(t->values, t->count, *(const int64_t *)x, behind);
}

static bool
table_has(const struct table *t, const void *x)
{
    int64_t place = table_place(t, x, false);

    if (place == t->count) {
        return false;
    }
    return t->lane == GR_LANE_D ? ((const double *)t->values)[place] == *(const double *)x
                                : ((const uint64_t *)t->values)[place] == *(const uint64_t *)x;
}

/* ---- the functions ---- */

enum function { SEARCHSORTED, DIGITIZE, ISIN, TAKE_AT, FUNCTIONS };

static enum function
function_of(const char *name)
{
    static const char *const names[] = {"searchsorted", "digitize", "isin", "take_at"};
    int i = 0;

    while (i < FUNCTIONS && strcmp(names[i], name) != 0) {
        i++;
    }
    return (enum function)i;
}

/* Put the table in order. *ret_falls: it was in the opposite one. */
static granary_err
prepare(struct table *table, enum function function, bool *ret_falls)
{
    *ret_falls = false;
    if (function == ISIN) {
        table_sort(table);
    } else if (function == DIGITIZE && !table_rises(table)) {
        table_turn(table);
        *ret_falls = true;
        if (!table_rises(table)) {
            return gr_fail(GRANARY_EINVAL, "bins neither rise nor fall from one to the next");
        }
    }
    return GRANARY_OK;
}

static granary_err
look_up(struct gr_kernel_call *call, const struct gr_chunk_lookup *params, enum function function)
{
    const granary_tensor *sought = &call->inputs[0].tensor.view;
    const granary_tensor *in = &call->inputs[1].tensor.view;
    bool behind = function == DIGITIZE ? !params->right : strcmp(params->side, "right") == 0;
    struct table table = {.lane = gr_lane_of(compared_in(sought->dtype, in->dtype)), .count = gr_tensor_elements(in)};
    int64_t count = gr_tensor_elements(sought);
    bool falls = false;
    void *values = NULL;
    granary_err err = GRANARY_OK;

    table.values = malloc((size_t)(table.count + 1) * 8);
    if (table.values == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for %lld numbers", (long long)table.count);
    }
    tensor_elements_load(in, 0, table.count, table.lane, table.values);
    err = prepare(&table, function, &falls);
    if (err == GRANARY_OK) {
        err =
            tensor_output(call, function == ISIN ? GRANARY_BOOL : GRANARY_INT64, sought->dims, sought->shape, &values);
    }
    for (int64_t from = 0; from < count && err == GRANARY_OK; from += AT_ONCE) {
        _Alignas(64) int64_t block[AT_ONCE];
        int64_t n = count - from < AT_ONCE ? count - from : AT_ONCE;

        tensor_elements_load(sought, from, n, table.lane, block);
        for (int64_t k = 0; k < n; k++) {
            if (function == ISIN) {
                ((bool *)values)[from + k] = table_has(&table, &block[k]) != params->invert;
            } else {
                int64_t place = table_place(&table, &block[k], behind);

                ((int64_t *)values)[from + k] = falls ? table.count - place : place;
            }
        }
    }
    free(table.values);
    return err;
}

static granary_err
take_at(struct gr_kernel_call *call)
{
    const granary_tensor *positions = &call->inputs[0].tensor.view;
    const granary_tensor *from = &call->inputs[1].tensor.view;
    bool wide = positions->dtype == GRANARY_UINT64;
    int64_t count = gr_tensor_elements(positions);
    int64_t shape[TENSOR_DIMS_MAX];
    size_t size = gr_tensor_element(from->dtype);
    int dims = positions->dims;
    void *values = NULL;
    granary_err err;

    if (from->dims < 1 || dims + from->dims - 1 > TENSOR_DIMS_MAX || !gr_dtype_is_integer(positions->dtype)) {
        return gr_fail(GRANARY_EINVAL, "positions of %d dimensions do not fit", dims);
    }
    memcpy(shape, positions->shape, sizeof shape);
    for (int d = 1; d < from->dims; d++) {
        shape[dims++] = from->shape[d];
        size *= (size_t)from->shape[d];
    }
    err = tensor_output(call, from->dtype, dims, shape, &values);
    for (int64_t done = 0; done < count && err == GRANARY_OK; done += AT_ONCE) {
        _Alignas(64) int64_t block[AT_ONCE];
        int64_t n = count - done < AT_ONCE ? count - done : AT_ONCE;

        tensor_elements_load(positions, done, n, gr_lane_of(positions->dtype), block);
        for (int64_t k = 0; k < n && err == GRANARY_OK; k++) {
            int64_t at = !wide && block[k] < 0 ? block[k] + from->shape[0] : block[k];

            if (at < 0 || at >= from->shape[0]) {
                err = wide ? gr_fail(GRANARY_EINVAL, "position %llu: there are %lld elements",
                                     (unsigned long long)block[k], (long long)from->shape[0])
                           : gr_fail(GRANARY_EINVAL, "position %lld: there are %lld elements", (long long)block[k],
                                     (long long)from->shape[0]);
            } else {
                memcpy((char *)values + (size_t)(done + k) * size, (const char *)from->values + (size_t)at * size,
                       size);
            }
        }
    }
    return err;
}

granary_err
kernel_lookup(struct gr_kernel_call *call, const struct gr_chunk_lookup *params)
{
    enum function function = function_of(params->function);
    granary_err err = function == TAKE_AT ? tensor_call_check_any(call, 2, 2) : tensor_call_check(call, 2, 2);

    if (err == GRANARY_OK && function == FUNCTIONS) {
        err = gr_fail(GRANARY_EINVAL, "lookup: there is no such function");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    return function == TAKE_AT ? take_at(call) : look_up(call, params, function);
}
