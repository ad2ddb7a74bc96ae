/* Reductions of tensors: sums and variances are exact, whatever the order and the chunks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/int128.h"
#include "unit/executor/tensor_fixture.h"

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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce_sums_over_every_set_of_axes),    cmocka_unit_test(reduce_sums_wide_rows),
        cmocka_unit_test(sums_do_not_depend_on_order_or_chunks), cmocka_unit_test(means_and_overflow),
        cmocka_unit_test(infinities_and_nan_follow_ieee),        cmocka_unit_test(nothing_sums_to_zero),
        cmocka_unit_test(columns_of_integers_are_as_if_alone),   cmocka_unit_test(variances_of_integers_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
