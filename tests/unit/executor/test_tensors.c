/* Tensor kernels against straightforward computations, and that cutting into chunks changes nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/int128.h"
#include "unit/executor/op.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define SHAPE(...)                                                                                                     \
    (const int64_t[])                                                                                                  \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static struct gr_value
tensor_of(granary_dtype dtype, int dims, const int64_t *shape)
{
    struct gr_value value = {.kind = GR_VALUE_TENSOR};

    assert_int_equal(gr_tensor_alloc(dtype, dims, shape, &value.tensor), GRANARY_OK);
    return value;
}

static double *
doubles(const struct gr_value *value)
{
    assert_int_equal(value->kind, GR_VALUE_TENSOR);
    assert_int_equal(value->tensor.view.dtype, GRANARY_FLOAT64);
    return value->tensor.owned;
}

static int64_t *
ints(const struct gr_value *value)
{
    assert_int_equal(value->kind, GR_VALUE_TENSOR);
    assert_int_equal(value->tensor.view.dtype, GRANARY_INT64);
    return value->tensor.owned;
}

static void
assert_shape(const struct gr_value *value, int dims, const int64_t *shape)
{
    assert_int_equal(value->tensor.view.dims, dims);
    for (int d = 0; d < dims; d++) {
        assert_int_equal(value->tensor.view.shape[d], shape[d]);
    }
}

/* Run an operator that has to succeed, and forget it. */
static struct gr_value
must(gr_kernel *kernel, Granary__ChunkOp *op, const struct gr_value *inputs, size_t count)
{
    struct gr_value output = {0};

    if (op_run(kernel, op, inputs, count, &output, 1, NULL) != GRANARY_OK) {
        fail_msg("%s: %s", op->op, granary_error_message());
    }
    granary__chunk_op__free_unpacked(op, NULL);
    return output;
}

static void
must_fail(gr_kernel *kernel, Granary__ChunkOp *op, const struct gr_value *inputs, size_t count, granary_err err)
{
    struct gr_value output = {0};

    assert_int_equal(op_run(kernel, op, inputs, count, &output, 1, NULL), err);
    gr_value_free(&output);
    granary__chunk_op__free_unpacked(op, NULL);
}

static Granary__ChunkOp *
part_op(const char *name, size_t dims, const int64_t *shape, const int64_t *offset, const int64_t *size)
{
    Granary__ChunkOp *op = op_new(name);

    op_attr(op, gr_attr_new_ints("shape", shape, dims));
    op_attr(op, gr_attr_new_ints("offset", offset, dims));
    op_attr(op, gr_attr_new_ints("size", size, dims));
    return op;
}

static struct gr_value
random_part(size_t dims, const int64_t *shape, const int64_t *offset, const int64_t *size, int64_t seed,
            const char *distribution)
{
    Granary__ChunkOp *op = part_op("random", dims, shape, offset, size);

    op_attr(op, gr_attr_new_int("seed", seed));
    op_attr(op, gr_attr_new_string("distribution", distribution));
    return must(run_random, op, NULL, 0);
}

/* ---- random, arange ---- */

static void
random_is_philox(void **state)
{
    struct gr_value value = random_part(1, SHAPE(2), SHAPE(0), SHAPE(2), 0, "uniform");

    (void)state;
    /* The published answer for counter 0 and key 0: 6627e8d5 e169c58d bc57ac4c 9b00dbd8. */
    assert_true(doubles(&value)[0] == (double)(0xe169c58d6627e8d5u >> 11) * 0x1p-53);
    assert_true(doubles(&value)[1] == (double)(0x9b00dbd8bc57ac4cu >> 11) * 0x1p-53);
    gr_value_free(&value);
}

static void
random_does_not_depend_on_chunks(void **state)
{
    static const char *const distributions[] = {"uniform", "normal"};
    const int64_t shape[] = {5, 7, 3};
    const int64_t zero[] = {0, 0, 0};

    (void)state;
    for (int which = 0; which < 2; which++) {
        struct gr_value whole = random_part(3, shape, zero, shape, 42, distributions[which]);

        srandom(3);
        for (int round = 0; round < 200; round++) {
            int64_t offset[3], size[3];
            struct gr_value part;
            int64_t i = 0;

            for (int d = 0; d < 3; d++) {
                offset[d] = random() % (shape[d] + 1);
                size[d] = random() % (shape[d] - offset[d] + 1);
            }
            part = random_part(3, shape, offset, size, 42, distributions[which]);
            assert_shape(&part, 3, size);
            for (int64_t x = 0; x < size[0]; x++) {
                for (int64_t y = 0; y < size[1]; y++) {
                    for (int64_t z = 0; z < size[2]; z++, i++) {
                        int64_t k = ((offset[0] + x) * 7 + offset[1] + y) * 3 + offset[2] + z;

                        assert_true(doubles(&part)[i] == doubles(&whole)[k]);
                    }
                }
            }
            gr_value_free(&part);
        }
        gr_value_free(&whole);
    }
}

static void
random_has_the_right_moments(void **state)
{
    const int64_t n[] = {200000};
    const int64_t zero[] = {0};

    (void)state;
    for (int normal = 0; normal < 2; normal++) {
        struct gr_value value = random_part(1, n, zero, n, -5, normal ? "normal" : "uniform");
        double sum = 0, squares = 0;

        for (int64_t i = 0; i < n[0]; i++) {
            double x = doubles(&value)[i];

            assert_true(isfinite(x) && (normal || (x >= 0 && x < 1)));
            sum += x;
            squares += x * x;
        }
        assert_true(fabs(sum / (double)n[0] - (normal ? 0 : 0.5)) < 0.01);
        assert_true(fabs(squares / (double)n[0] - (normal ? 1 : 1.0 / 3)) < 0.02);
        gr_value_free(&value);
    }
}

static void
arange_counts(void **state)
{
    Granary__ChunkOp *op = part_op("arange", 2, SHAPE(3, 4), SHAPE(1, 2), SHAPE(2, 2));
    struct gr_value value;

    (void)state;
    op_attr(op, gr_attr_new_int("start", 100));
    op_attr(op, gr_attr_new_int("step", -3));
    value = must(run_arange, op, NULL, 0);
    assert_int_equal(ints(&value)[0], 100 - 3 * 6);
    assert_int_equal(ints(&value)[1], 100 - 3 * 7);
    assert_int_equal(ints(&value)[2], 100 - 3 * 10);
    assert_int_equal(ints(&value)[3], 100 - 3 * 11);
    gr_value_free(&value);

    op = part_op("arange", 1, SHAPE(10), SHAPE(8), SHAPE(2));
    op_attr(op, gr_attr_new_double("start", 0.5));
    op_attr(op, gr_attr_new_double("step", 0.1));
    value = must(run_arange, op, NULL, 0);
    assert_true(doubles(&value)[0] == 0.5 + 8 * 0.1);
    assert_true(doubles(&value)[1] == 0.5 + 9 * 0.1);
    gr_value_free(&value);
}

static void
parts_beyond_the_whole_are_refused(void **state)
{
    (void)state;
    must_fail(run_random, part_op("random", 1, SHAPE(3), SHAPE(2), SHAPE(2)), NULL, 0, GRANARY_EINVAL);
    must_fail(run_random, part_op("random", 1, SHAPE(3), SHAPE(-1), SHAPE(2)), NULL, 0, GRANARY_EINVAL);
    must_fail(run_arange, part_op("arange", 2, SHAPE(INT64_MAX, 2), SHAPE(0, 0), SHAPE(1, 1)), NULL, 0, GRANARY_EINVAL);
}

/* ---- map ---- */

static Granary__ChunkOp *
map_op(const char *function)
{
    Granary__ChunkOp *op = op_new("map");

    op_attr(op, gr_attr_new_string("function", function));
    return op;
}

static void
fill(struct gr_value *value)
{
    int64_t count = gr_tensor_elements(&value->tensor.view);

    for (int64_t i = 0; i < count; i++) {
        if (value->tensor.view.dtype == GRANARY_INT64) {
            ((int64_t *)value->tensor.owned)[i] = random() % 2000 - 1000;
        } else {
            ((double *)value->tensor.owned)[i] = (double)(random() % 20000 - 10000) / 16;
        }
    }
}

static double
element(const struct gr_value *value, const int64_t *index, int dims)
{
    const granary_tensor *tensor = &value->tensor.view;
    int64_t at = 0;

    for (int d = 0; d < tensor->dims; d++) {
        int64_t i = index[dims - tensor->dims + d];

        at = at * tensor->shape[d] + (tensor->shape[d] == 1 ? 0 : i);
    }
    return tensor->dtype == GRANARY_INT64 ? (double)((const int64_t *)tensor->values)[at]
                                          : ((const double *)tensor->values)[at];
}

static void
map_broadcasts(void **state)
{
    static const struct {
        int dims[2];
        int64_t shapes[2][4];
        int out_dims;
        int64_t out[4];
    } cases[] = {
        {{1, 1}, {{1500}, {1500}}, 1, {1500}},
        {{2, 1}, {{3, 4}, {4}}, 2, {3, 4}},
        {{2, 2}, {{3, 1}, {1, 5}}, 2, {3, 5}},
        {{0, 2}, {{0}, {2, 3}}, 2, {2, 3}},
        {{3, 2}, {{2, 1, 4}, {3, 1}}, 3, {2, 3, 4}},
        {{4, 3}, {{2, 3, 4, 5}, {1, 4, 5}}, 4, {2, 3, 4, 5}},
        {{4, 4}, {{2, 1, 4, 1}, {1, 3, 1, 5}}, 4, {2, 3, 4, 5}},
        {{0, 0}, {{0}, {0}}, 0, {0}},
        {{2, 2}, {{0, 3}, {1, 3}}, 2, {0, 3}},
    };
    static const char *const names[] = {"add", "subtract", "multiply", "divide"};

    (void)state;
    for (size_t c = 0; c < COUNT(cases) * 16; c++) {
        size_t which = c / 16;
        size_t function = c % 4;
        struct gr_value inputs[2];
        struct gr_value out;
        int64_t index[4] = {0};
        int64_t count;

        for (size_t i = 0; i < 2; i++) {
            inputs[i] = tensor_of((c >> (2 + i) & 1) != 0 ? GRANARY_INT64 : GRANARY_FLOAT64, cases[which].dims[i],
                                  cases[which].shapes[i]);
            fill(&inputs[i]);
        }
        out = must(run_map, map_op(names[function]), inputs, 2);
        assert_shape(&out, cases[which].out_dims, cases[which].out);
        assert_int_equal(out.tensor.view.dtype, function < 3 && (c >> 2 & 3) == 3 ? GRANARY_INT64 : GRANARY_FLOAT64);
        count = gr_tensor_elements(&out.tensor.view);
        for (int64_t k = 0; k < count; k++) {
            double a, b, want, got;
            int64_t rest = k;

            for (int d = cases[which].out_dims - 1; d >= 0; d--) {
                index[d] = rest % cases[which].out[d];
                rest /= cases[which].out[d];
            }
            a = element(&inputs[0], index, cases[which].out_dims);
            b = element(&inputs[1], index, cases[which].out_dims);
            want = function == 0 ? a + b : function == 1 ? a - b : function == 2 ? a * b : a / b;
            got = element(&out, index, cases[which].out_dims);
            assert_true(got == want || (isnan(got) && isnan(want)));
        }
        gr_value_free(&out);
        gr_value_free(&inputs[0]);
        gr_value_free(&inputs[1]);
    }
}

static void
map_takes_numbers_and_functions(void **state)
{
    struct gr_value input = tensor_of(GRANARY_INT64, 1, SHAPE(3));
    Granary__ChunkOp *op = map_op("subtract");
    struct gr_value out;

    (void)state;
    ints(&input)[0] = 4;
    ints(&input)[1] = -9;
    ints(&input)[2] = INT64_MIN;
    op_attr(op, gr_attr_new_int("value", 1));
    out = must(run_map, op, &input, 1);
    assert_true(ints(&out)[0] == 3 && ints(&out)[1] == -10 && ints(&out)[2] == INT64_MAX); /* wraps */
    gr_value_free(&out);

    op = map_op("multiply");
    op_attr(op, gr_attr_new_double("value", 0.5));
    out = must(run_map, op, &input, 1);
    assert_true(doubles(&out)[0] == 2 && doubles(&out)[1] == -4.5);
    gr_value_free(&out);

    out = must(run_map, map_op("negative"), &input, 1);
    assert_true(ints(&out)[0] == -4 && ints(&out)[2] == INT64_MIN);
    gr_value_free(&out);
    out = must(run_map, map_op("sqrt"), &input, 1);
    assert_true(doubles(&out)[0] == 2 && isnan(doubles(&out)[1]));
    gr_value_free(&out);
    out = must(run_map, map_op("exp"), &input, 1);
    assert_true(doubles(&out)[0] == exp(4.0) && doubles(&out)[2] == 0);
    gr_value_free(&out);
    out = must(run_map, map_op("log"), &input, 1);
    assert_true(doubles(&out)[0] == log(4.0));
    gr_value_free(&out);
    gr_value_free(&input);
}

static void
map_refuses_what_does_not_fit(void **state)
{
    struct gr_value inputs[2] = {tensor_of(GRANARY_INT64, 1, SHAPE(3)), tensor_of(GRANARY_INT64, 1, SHAPE(2))};
    struct gr_value frame = {.kind = GR_VALUE_BYTES};
    struct gr_value flags = tensor_of(GRANARY_BOOL, 1, SHAPE(2));

    (void)state;
    must_fail(run_map, map_op("add"), inputs, 2, GRANARY_EINVAL);
    must_fail(run_map, map_op("add"), inputs, 1, GRANARY_EINVAL); /* without a value */
    must_fail(run_map, map_op("sqrt"), inputs, 2, GRANARY_EINVAL);
    must_fail(run_map, map_op("cube"), inputs, 1, GRANARY_EINVAL);
    must_fail(run_map, map_op("sqrt"), &frame, 1, GRANARY_ETYPE);
    must_fail(run_map, map_op("negative"), &flags, 1, GRANARY_ETYPE);
    gr_value_free(&flags);
    gr_value_free(&inputs[0]);
    gr_value_free(&inputs[1]);
}

/* ---- assemble ---- */

static void
assemble_copies_pieces(void **state)
{
    struct gr_value inputs[2] = {tensor_of(GRANARY_INT64, 2, SHAPE(2, 3)), tensor_of(GRANARY_INT64, 2, SHAPE(3, 2))};
    Granary__ChunkOp *op = op_new("assemble");
    struct gr_value out;

    (void)state;
    for (int i = 0; i < 6; i++) {
        ints(&inputs[0])[i] = 10 + i;
        ints(&inputs[1])[i] = 20 + i;
    }
    op_attr(op, gr_attr_new_ints("shape", SHAPE(2, 4), 2));
    op_attr(op, gr_attr_new_ints("to", SHAPE(0, 0, 0, 2), 4));
    op_attr(op, gr_attr_new_ints("from", SHAPE(0, 1, 1, 0), 4));
    op_attr(op, gr_attr_new_ints("extent", SHAPE(2, 2, 2, 2), 4));
    out = must(run_assemble, op, inputs, 2);
    assert_memory_equal(ints(&out), SHAPE(11, 12, 22, 23, 14, 15, 24, 25), 8 * sizeof(int64_t));
    gr_value_free(&out);

    op = op_new("assemble");
    op_attr(op, gr_attr_new_ints("shape", SHAPE(2, 2), 2));
    op_attr(op, gr_attr_new_ints("to", SHAPE(1, 0), 2));
    op_attr(op, gr_attr_new_ints("from", SHAPE(0, 0), 2));
    op_attr(op, gr_attr_new_ints("extent", SHAPE(2, 2), 2));
    must_fail(run_assemble, op, inputs, 1, GRANARY_EINVAL);
    gr_value_free(&inputs[0]);
    gr_value_free(&inputs[1]);
}

static void
assemble_works_without_dimensions(void **state)
{
    static const char *const lists[] = {"shape", "to", "from", "extent"};
    struct gr_value input = tensor_of(GRANARY_FLOAT64, 0, NULL);
    Granary__ChunkOp *op = op_new("assemble");
    struct gr_value out;

    (void)state;
    doubles(&input)[0] = 7;
    for (int i = 0; i < 4; i++) {
        op_attr(op, gr_attr_new_ints(lists[i], NULL, 0));
    }
    out = must(run_assemble, op, &input, 1);
    assert_int_equal(out.tensor.view.dims, 0);
    assert_true(doubles(&out)[0] == 7);
    gr_value_free(&out);
    gr_value_free(&input);
}

/* Integers that only a uint64 holds come as text, and keep every digit. */
static void
values_beyond_int64_are_exact(void **state)
{
    Granary__ChunkOp *op = part_op("full", 1, SHAPE(2), SHAPE(0), SHAPE(2));
    struct gr_value full, out;

    (void)state;
    op_attr(op, gr_attr_new_string("dtype", "uint64"));
    op_attr(op, gr_attr_new_string("value", "18446744073709551615"));
    full = must(run_full, op, NULL, 0);
    assert_true(((uint64_t *)full.tensor.owned)[1] == UINT64_MAX);
    op = op_new("map");
    op_attr(op, gr_attr_new_string("function", "subtract"));
    op_attr(op, gr_attr_new_string("value", "18446744073709551613"));
    out = must(run_map, op, &full, 1);
    assert_true(((uint64_t *)out.tensor.owned)[1] == 2);
    gr_value_free(&out);
    gr_value_free(&full);
}

/* ---- reduce ---- */

static struct gr_value
reduce_map_by(const char *function, const struct gr_value *input, const int64_t *axes, size_t count)
{
    Granary__ChunkOp *op = op_new("reduce_map");

    op_attr(op, gr_attr_new_string("function", function));
    op_attr(op, gr_attr_new_ints("axes", axes, count));
    return must(run_reduce_map, op, input, 1);
}

static struct gr_value
reduce_map(const struct gr_value *input, const int64_t *axes, size_t count)
{
    return reduce_map_by("sum", input, axes, count);
}

static Granary__ChunkOp *
merge_op(const char *function)
{
    Granary__ChunkOp *op = op_new("reduce_merge");

    op_attr(op, gr_attr_new_string("function", function));
    return op;
}

static Granary__ChunkOp *
final_op(const char *function, int64_t count)
{
    Granary__ChunkOp *op = op_new("reduce_final");

    op_attr(op, gr_attr_new_string("function", function));
    op_attr(op, gr_attr_new_int("count", count));
    return op;
}

static struct gr_value
reduce(const struct gr_value *input, const int64_t *axes, size_t count, const char *function, int64_t elements)
{
    struct gr_value partial = reduce_map_by(function, input, axes, count);
    struct gr_value out = must(run_reduce_final, final_op(function, elements), &partial, 1);

    gr_value_free(&partial);
    return out;
}

/* Every set of axes of a 4-dimensional tensor; its values are sixteenths, so plain sums are exact, too. */
static void
reduce_sums_over_every_set_of_axes(void **state)
{
    const int64_t shape[] = {3, 4, 2, 5};

    (void)state;
    for (unsigned set = 0; set < 32; set++) {
        struct gr_value input = tensor_of(set < 16 ? GRANARY_INT64 : GRANARY_FLOAT64, 4, shape);
        int64_t axes[4], kept[4], sizes[4];
        double want[120] = {0};
        size_t count = 0;
        int dims = 0;
        struct gr_value out;

        fill(&input);
        for (int d = 0; d < 4; d++) {
            if ((set >> d & 1) != 0) {
                axes[count++] = d;
            } else {
                kept[dims] = d;
                sizes[dims++] = shape[d];
            }
        }
        for (int64_t k = 0; k < 120; k++) {
            int64_t index[4] = {k / 40, k / 10 % 4, k / 5 % 2, k % 5};
            int64_t at = 0;

            for (int d = 0; d < dims; d++) {
                at = at * sizes[d] + index[kept[d]];
            }
            want[at] += element(&input, index, 4);
        }
        out = reduce(&input, axes, count, "sum", 0);
        assert_shape(&out, dims, sizes);
        for (int64_t k = 0; k < gr_tensor_elements(&out.tensor.view); k++) {
            assert_true((set < 16 ? (double)ints(&out)[k] : doubles(&out)[k]) == want[k]);
        }
        gr_value_free(&out);
        gr_value_free(&input);
    }
}

/* Many columns: the sums are kept side by side in more than one go. */
static void
reduce_sums_wide_rows(void **state)
{
    const int64_t shape[] = {3, 5000};
    struct gr_value input = tensor_of(GRANARY_FLOAT64, 2, shape);
    struct gr_value out;

    (void)state;
    fill(&input);
    out = reduce(&input, SHAPE(0), 1, "sum", 0);
    assert_shape(&out, 1, SHAPE(5000));
    for (int64_t i = 0; i < 5000; i++) {
        assert_true(doubles(&out)[i] == doubles(&input)[i] + doubles(&input)[5000 + i] + doubles(&input)[10000 + i]);
    }
    gr_value_free(&out);
    gr_value_free(&input);
}

/* Numbers that cancel: any rounding on the way, or any order, would show. */
static void
sums_do_not_depend_on_order_or_chunks(void **state)
{
    enum { N = 3000 };
    struct gr_value whole = tensor_of(GRANARY_FLOAT64, 1, SHAPE(N));
    struct gr_value want;

    (void)state;
    srandom(5);
    for (int i = 0; i < N; i += 3) {
        double big = ldexp((double)random(), (int)(random() % 1500) - 700);

        doubles(&whole)[i] = big;
        doubles(&whole)[i + 1] = ldexp((double)random(), (int)(random() % 40) - 60);
        doubles(&whole)[i + 2] = -big;
    }
    want = reduce(&whole, SHAPE(0), 1, "sum", 0);
    for (int round = 0; round < 20; round++) {
        struct gr_value partials[8];
        struct gr_value merged[3];
        struct gr_value out;
        int64_t at = 0;

        for (int i = N - 1; i > 0; i--) { /* shuffled */
            int j = (int)(random() % (i + 1));
            double swap = doubles(&whole)[i];

            doubles(&whole)[i] = doubles(&whole)[j];
            doubles(&whole)[j] = swap;
        }
        for (int i = 0; i < 8; i++) {
            int64_t size = i == 7 ? N - at : random() % (N - at + 1);
            struct gr_value chunk = tensor_of(GRANARY_FLOAT64, 1, &size);

            memcpy(doubles(&chunk), doubles(&whole) + at, (size_t)size * sizeof(double));
            at += size;
            partials[i] = reduce_map(&chunk, SHAPE(0), 1);
            gr_value_free(&chunk);
        }
        merged[0] = must(run_reduce_merge, merge_op("sum"), partials, 3);
        merged[1] = must(run_reduce_merge, merge_op("sum"), partials + 3, 4);
        merged[2] = partials[7];
        out = must(run_reduce_final, final_op("sum", N), merged, 3);
        assert_memory_equal(doubles(&out), doubles(&want), sizeof(double));
        gr_value_free(&out);
        for (int i = 0; i < 8; i++) {
            gr_value_free(&partials[i]);
        }
        gr_value_free(&merged[0]);
        gr_value_free(&merged[1]);
    }
    gr_value_free(&want);
    gr_value_free(&whole);
}

static void
means_and_overflow(void **state)
{
    struct gr_value input = tensor_of(GRANARY_INT64, 1, SHAPE(3));
    struct gr_value out;
    struct gr_value partial;

    (void)state;
    ints(&input)[0] = INT64_MAX;
    ints(&input)[1] = INT64_MAX;
    ints(&input)[2] = INT64_MAX;
    out = reduce(&input, SHAPE(0), 1, "mean", 3);
    assert_true(doubles(&out)[0] == (double)INT64_MAX);
    gr_value_free(&out);
    partial = reduce_map(&input, SHAPE(0), 1);
    must_fail(run_reduce_final, final_op("sum", 3), &partial, 1, GRANARY_EFAILED);
    must_fail(run_reduce_final, final_op("median", 3), &partial, 1, GRANARY_EINVAL);
    partial.bytes_size -= 1;
    must_fail(run_reduce_final, final_op("sum", 3), &partial, 1, GRANARY_ECORRUPT);
    partial.bytes_size = 3;
    must_fail(run_reduce_final, final_op("sum", 3), &partial, 1, GRANARY_ETYPE);
    gr_value_free(&partial);
    gr_value_free(&input);
}

static void
infinities_and_nan_follow_ieee(void **state)
{
    static const struct {
        double values[3];
        double want;
    } cases[] = {
        {{INFINITY, 1, 2}, INFINITY}, {{-INFINITY, 1e308, 1e308}, -INFINITY}, {{INFINITY, -INFINITY, 0}, NAN},
        {{NAN, INFINITY, 0}, NAN},    {{1e308, 1e308, -1e308}, 1e308},        {{1e308, 1e308, 1e308}, INFINITY},
        {{1, 1e-300, -1}, 1e-300},    {{5e-324, 5e-324, 0}, 1e-323},
    };

    (void)state;
    for (size_t c = 0; c < COUNT(cases); c++) {
        struct gr_value input = tensor_of(GRANARY_FLOAT64, 1, SHAPE(3));
        struct gr_value out;

        memcpy(doubles(&input), cases[c].values, sizeof cases[c].values);
        out = reduce(&input, SHAPE(0), 1, "sum", 0);
        assert_true(isnan(cases[c].want) ? isnan(doubles(&out)[0]) : doubles(&out)[0] == cases[c].want);
        gr_value_free(&out);
        gr_value_free(&input);
    }
}

static void
nothing_sums_to_zero(void **state)
{
    struct gr_value input = tensor_of(GRANARY_INT64, 2, SHAPE(0, 3));
    struct gr_value out = reduce(&input, SHAPE(0), 1, "sum", 0);

    (void)state;
    assert_shape(&out, 1, SHAPE(3));
    assert_true(ints(&out)[0] == 0 && ints(&out)[2] == 0);
    gr_value_free(&out);
    out = reduce(&input, SHAPE(1), 1, "sum", 0);
    assert_shape(&out, 1, SHAPE(0));
    gr_value_free(&out);
    out = reduce(&input, SHAPE(0, 1), 2, "mean", 0);
    assert_true(isnan(doubles(&out)[0]));
    gr_value_free(&out);
    gr_value_free(&input);
}

/* ---- matmul ---- */

/* The variance of count values, cut into chunks of `cut`. */
static double
variance_by(granary_dtype dtype, const uint64_t *values, int64_t count, int64_t cut)
{
    struct gr_value partials[8];
    struct gr_value out;
    double variance;
    size_t n = 0;

    for (int64_t at = 0; at < count; at += cut) {
        int64_t size = count - at < cut ? count - at : cut;
        struct gr_value chunk = tensor_of(dtype, 1, &size);

        memcpy(chunk.tensor.owned, values + at, (size_t)size * sizeof *values);
        partials[n++] = reduce_map_by("var", &chunk, SHAPE(0), 1);
        gr_value_free(&chunk);
    }
    out = must(run_reduce_final, final_op("var", count), partials, n);
    variance = doubles(&out)[0];
    gr_value_free(&out);
    while (n > 0) {
        gr_value_free(&partials[--n]);
    }
    return variance;
}

/* Rows of integers are added up together while they are small, and one by one where they are not: each column's
 * variance and mean are those of the column alone. */
static void
columns_of_integers_are_as_if_alone(void **state)
{
    enum { ROWS = 600, COLUMNS = 3 };
    static const granary_dtype dtypes[] = {GRANARY_INT64, GRANARY_UINT64};
    static const int bits[] = {5, 26, 27, 52, 53, 64};
    uint64_t column[COLUMNS][ROWS];

    (void)state;
    for (size_t k = 0; k < 2 * (sizeof bits / sizeof bits[0]); k++) {
        granary_dtype dtype = dtypes[k % 2];
        struct gr_value input = tensor_of(dtype, 2, SHAPE(ROWS, COLUMNS));
        struct gr_value out;

        for (uint64_t i = 0; i < ROWS * COLUMNS; i++) {
            uint64_t value = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits[k / 2]);

            value = i == 1500 ? UINT64_MAX >> (64 - bits[k / 2]) : value;
            column[i % COLUMNS][i / COLUMNS] = dtype == GRANARY_INT64 && i % 2 != 0 ? 0 - value : value;
            ((uint64_t *)input.tensor.owned)[i] = column[i % COLUMNS][i / COLUMNS];
        }
        out = reduce(&input, SHAPE(0), 1, "var", ROWS);
        for (int c = 0; c < COLUMNS; c++) {
            assert_true(doubles(&out)[c] == variance_by(dtype, column[c], ROWS, ROWS));
        }
        gr_value_free(&out);
        out = reduce(&input, SHAPE(0), 1, "mean", ROWS);
        for (int c = 0; c < COLUMNS; c++) {
            gr_int128 sum = 0;

            for (int r = 0; r < ROWS; r++) {
                sum += dtype == GRANARY_INT64 ? (gr_int128)(int64_t)column[c][r] : (gr_int128)column[c][r];
            }
            assert_true(doubles(&out)[c] == (double)sum / ROWS);
        }
        gr_value_free(&out);
        gr_value_free(&input);
    }
}

static void
variances_of_integers_are_exact(void **state)
{
    static const struct {
        granary_dtype dtype;
        uint64_t values[4];
        double variance;
    } cases[] = {
        {GRANARY_INT64, {0x20000000000001, 0x1fffffffffffff, 0x20000000000001, 0x1fffffffffffff}, 1},
        {GRANARY_INT64, {INT64_MAX, INT64_MAX - 1, INT64_MAX - 2, INT64_MAX - 3}, 1.25},
        {GRANARY_INT64,
         {(uint64_t)INT64_MIN, (uint64_t)INT64_MIN + 1, (uint64_t)INT64_MIN, (uint64_t)INT64_MIN + 3},
         1.5},
        {GRANARY_INT64, {(uint64_t)INT64_MIN, INT64_MAX, (uint64_t)INT64_MIN, INT64_MAX}, 0x1p126},
        {GRANARY_INT64, {(uint64_t)-3, 4, (uint64_t)-3, 4}, 12.25},
        {GRANARY_UINT64, {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2, UINT64_MAX - 3}, 1.25},
        {GRANARY_UINT64, {UINT64_MAX, 0, UINT64_MAX, 0}, 0x1p126},
        {GRANARY_UINT64, {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int64_t cut = 1; cut <= 4; cut++) {
            assert_true(variance_by(cases[i].dtype, cases[i].values, 4, cut) == cases[i].variance);
        }
    }
}

static void
matmul_multiplies_and_adds(void **state)
{
    struct gr_value inputs[4] = {
        tensor_of(GRANARY_FLOAT64, 2, SHAPE(3, 4)),
        tensor_of(GRANARY_INT64, 2, SHAPE(4, 5)),
        tensor_of(GRANARY_INT64, 2, SHAPE(3, 2)),
        tensor_of(GRANARY_FLOAT64, 2, SHAPE(2, 5)),
    };
    struct gr_value out;

    (void)state;
    for (int i = 0; i < 4; i++) {
        fill(&inputs[i]);
    }
    out = must(run_matmul, op_new("matmul"), inputs, 4);
    assert_shape(&out, 2, SHAPE(3, 5));
    for (int64_t i = 0; i < 3; i++) {
        for (int64_t j = 0; j < 5; j++) {
            double want = 0;

            for (int64_t k = 0; k < 4; k++) {
                want += element(&inputs[0], SHAPE(i, k), 2) * element(&inputs[1], SHAPE(k, j), 2);
            }
            for (int64_t k = 0; k < 2; k++) {
                want += element(&inputs[2], SHAPE(i, k), 2) * element(&inputs[3], SHAPE(k, j), 2);
            }
            assert_true(fabs(doubles(&out)[i * 5 + j] - want) < 1e-6);
        }
    }
    gr_value_free(&out);
    must_fail(run_matmul, op_new("matmul"), inputs, 3, GRANARY_EINVAL);
    must_fail(run_matmul, op_new("matmul"), inputs + 1, 2, GRANARY_EINVAL);
    for (int i = 0; i < 4; i++) {
        gr_value_free(&inputs[i]);
    }
}

static Granary__ChunkOp *
matmul_op(int64_t strip)
{
    Granary__ChunkOp *op = op_new("matmul");

    op_attr(op, gr_attr_new_int("strip", strip));
    return op;
}

/* A sum that is gone on with has the bytes of one that was made at once, and so have rows that are multiplied by themselves. */
static void
matmul_goes_on_with_a_sum(void **state)
{
    struct gr_value inputs[4] = {
        tensor_of(GRANARY_FLOAT64, 2, SHAPE(7, 40)),
        tensor_of(GRANARY_FLOAT64, 2, SHAPE(40, 5)),
        tensor_of(GRANARY_FLOAT64, 2, SHAPE(7, 30)),
        tensor_of(GRANARY_FLOAT64, 2, SHAPE(30, 5)),
    };
    struct gr_value rows = tensor_of(GRANARY_FLOAT64, 2, SHAPE(4, 40));
    struct gr_value whole, more[3], last, part;
    const size_t bytes = 7 * 5 * sizeof(double);

    (void)state;
    for (int i = 0; i < 4; i++) {
        fill(&inputs[i]);
    }
    whole = must(run_matmul, matmul_op(4), inputs, 4);
    more[0] = inputs[2];
    more[1] = inputs[3];
    more[2] = must(run_matmul, matmul_op(4), inputs, 2);
    last = must(run_matmul, matmul_op(4), more, 3);
    assert_memory_equal(doubles(&last), doubles(&whole), bytes);
    memcpy(rows.tensor.owned, doubles(&inputs[0]), 4 * 40 * sizeof(double));
    part = must(run_matmul, matmul_op(4), (struct gr_value[]){rows, inputs[1]}, 2);
    assert_memory_equal(doubles(&part), doubles(&more[2]), 4 * 5 * sizeof(double));
    must_fail(run_matmul, matmul_op(0), inputs, 2, GRANARY_EINVAL);
    must_fail(run_matmul, matmul_op(INT64_MAX), inputs, 2, GRANARY_EINVAL);
    gr_value_free(&whole);
    gr_value_free(&more[2]);
    gr_value_free(&last);
    gr_value_free(&part);
    gr_value_free(&rows);
    for (int i = 0; i < 4; i++) {
        gr_value_free(&inputs[i]);
    }
}

static void
matmul_of_nothing_is_zero(void **state)
{
    struct gr_value inputs[2] = {tensor_of(GRANARY_FLOAT64, 2, SHAPE(2, 0)),
                                 tensor_of(GRANARY_FLOAT64, 2, SHAPE(0, 1))};
    struct gr_value out = must(run_matmul, op_new("matmul"), inputs, 2);

    (void)state;
    assert_shape(&out, 2, SHAPE(2, 1));
    assert_true(doubles(&out)[0] == 0 && doubles(&out)[1] == 0);
    gr_value_free(&out);
    gr_value_free(&inputs[0]);
    gr_value_free(&inputs[1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_is_philox),
        cmocka_unit_test(random_does_not_depend_on_chunks),
        cmocka_unit_test(random_has_the_right_moments),
        cmocka_unit_test(arange_counts),
        cmocka_unit_test(parts_beyond_the_whole_are_refused),
        cmocka_unit_test(map_broadcasts),
        cmocka_unit_test(map_takes_numbers_and_functions),
        cmocka_unit_test(map_refuses_what_does_not_fit),
        cmocka_unit_test(assemble_copies_pieces),
        cmocka_unit_test(assemble_works_without_dimensions),
        cmocka_unit_test(reduce_sums_over_every_set_of_axes),
        cmocka_unit_test(reduce_sums_wide_rows),
        cmocka_unit_test(sums_do_not_depend_on_order_or_chunks),
        cmocka_unit_test(means_and_overflow),
        cmocka_unit_test(infinities_and_nan_follow_ieee),
        cmocka_unit_test(nothing_sums_to_zero),
        cmocka_unit_test(columns_of_integers_are_as_if_alone),
        cmocka_unit_test(variances_of_integers_are_exact),
        cmocka_unit_test(values_beyond_int64_are_exact),
        cmocka_unit_test(matmul_multiplies_and_adds),
        cmocka_unit_test(matmul_goes_on_with_a_sum),
        cmocka_unit_test(matmul_of_nothing_is_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
