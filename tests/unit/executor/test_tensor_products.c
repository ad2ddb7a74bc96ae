/* Products of matrices: pairs are multiplied and added up, and a sum that is gone on with has the same bytes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/executor/tensor_fixture.h"

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
        cmocka_unit_test(matmul_multiplies_and_adds),
        cmocka_unit_test(matmul_goes_on_with_a_sum),
        cmocka_unit_test(matmul_of_nothing_is_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
