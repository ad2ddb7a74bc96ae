/* What subtasks of a kind cost, as far as was seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sched/dispatch/estimates.h"

static void
means_follow_the_last_ones(void **state)
{
    struct estimates *estimates = estimates_create();

    (void)state;
    assert_null(estimates_find(estimates, 7));
    for (int i = 0; i < 100; i++) {
        estimates_learn(estimates, 7, &(struct estimate_sample){.nanoseconds = 1000, .peak_bytes = 50});
    }
    assert_int_equal(estimates_find(estimates, 7)->mean_ns, 1000);
    /* One that hung for a second does not make them long; when all are, they are. */
    estimates_learn(estimates, 7, &(struct estimate_sample){.nanoseconds = 1000000000});
    assert_in_range(estimates_find(estimates, 7)->mean_ns, 1000, 2000);
    for (int i = 0; i < 100; i++) {
        estimates_learn(estimates, 7, &(struct estimate_sample){.nanoseconds = 1000000000});
    }
    assert_in_range(estimates_find(estimates, 7)->mean_ns, 900000000, 1000000000);
    assert_int_equal(estimates_find(estimates, 7)->peak_bytes, 50);
    assert_null(estimates_find(estimates, 8));
    estimates_destroy(estimates);
}

static void
kinds_are_found_again_among_many(void **state)
{
    struct estimates *estimates = estimates_create();

    (void)state;
    for (uint32_t kind = 0; kind < 5000; kind++) {
        estimates_learn(estimates, kind * 64, &(struct estimate_sample){.nanoseconds = kind + 1});
    }
    for (uint32_t kind = 0; kind < 5000; kind++) {
        assert_int_equal(estimates_find(estimates, kind * 64)->mean_ns, kind + 1);
        assert_null(estimates_find(estimates, kind * 64 + 1));
    }
    estimates_destroy(estimates);
}

static void
outputs_are_what_is_known_best(void **state)
{
    struct estimates *estimates = estimates_create();
    const struct estimate *estimate;

    (void)state;
    assert_int_equal(estimate_out_bytes(NULL, 300, 1000), 300);
    assert_int_equal(estimate_out_bytes(NULL, 0, 1000), 1000); /* user code: as much as it reads */
    assert_int_equal(estimate_out_bytes(NULL, 0, 0), 0);

    /* Of user code: three bytes for one. */
    estimates_learn(estimates, 1, &(struct estimate_sample){.nanoseconds = 1, .in_bytes = 100, .out_bytes = 300});
    estimate = estimates_find(estimates, 1);
    assert_in_range(estimate_out_bytes(estimate, 0, 1000), 3000, 3750);
    assert_in_range(estimate_out_bytes(estimate, 0, 0), 300, 375);
    assert_int_equal(estimate_out_bytes(estimate, 700, 1000), 700); /* never compared with a plan */

    /* Planned much too low, and much too high. */
    estimates_learn(estimates, 2, &(struct estimate_sample){.nanoseconds = 1, .planned_bytes = 10, .out_bytes = 1000});
    assert_in_range(estimate_out_bytes(estimates_find(estimates, 2), 20, 0), 2000, 2500);
    estimates_learn(estimates, 3, &(struct estimate_sample){.nanoseconds = 1, .planned_bytes = 8000, .out_bytes = 0});
    estimates_learn(estimates, 3, &(struct estimate_sample){.nanoseconds = 1, .planned_bytes = 8000, .out_bytes = 8});
    assert_int_equal(estimate_out_bytes(estimates_find(estimates, 3), 8000, 0), 1000);

    /* Nonsense from an executor does not overflow. */
    estimates_learn(estimates, 4,
                    &(struct estimate_sample){
                        .nanoseconds = UINT64_MAX, .planned_bytes = 1, .in_bytes = 1, .out_bytes = UINT64_MAX});
    assert_true(estimate_out_bytes(estimates_find(estimates, 4), UINT64_MAX, UINT64_MAX) >= UINT64_C(1) << 40);
    assert_true(estimate_ns(estimates_find(estimates, 4), UINT64_MAX, UINT64_MAX) > 0);
    estimates_destroy(estimates);
}

static void
larger_ones_take_longer(void **state)
{
    struct estimates *estimates = estimates_create();

    (void)state;
    estimates_learn(estimates, 1,
                    &(struct estimate_sample){.nanoseconds = 1000, .in_bytes = 100, .planned_bytes = 100});
    assert_int_equal(estimate_ns(estimates_find(estimates, 1), 1000, 1000), 10000);
    assert_int_equal(estimate_ns(estimates_find(estimates, 1), 1, 1), 1000);
    estimates_destroy(estimates);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_follow_the_last_ones),
        cmocka_unit_test(kinds_are_found_again_among_many),
        cmocka_unit_test(outputs_are_what_is_known_best),
        cmocka_unit_test(larger_ones_take_longer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
