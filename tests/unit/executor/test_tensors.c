/* Kernels that make, map and assemble tensors against straightforward computations: cutting into chunks changes nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/executor/tensor_fixture.h"

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
        cmocka_unit_test(values_beyond_int64_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
