#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "place/place.h"

/* An idle executor far away beats a busy one beside the data. */
static void
idle_goes_first(void **state)
{
    const struct gr_place_candidate candidates[] = {{1, 0, 1, false}, {2, 1, 0, false}, {3, 0, 1, false}};
    const struct gr_place_input inputs[] = {{0, 1000000}};

    (void)state;
    assert_int_equal(gr_place_choose(candidates, 3, inputs, 1, NULL), 1);
}

static void
most_input_bytes_decide(void **state)
{
    const struct gr_place_candidate candidates[] = {
        {1, 0, 0, false}, {2, 1, 0, false}, {3, 2, 0, false}, {4, 1, 0, false}};
    const struct gr_place_input inputs[] = {{0, 60}, {1, 50}, {2, 10}, {1, 50}};

    (void)state;
    assert_int_equal(gr_place_choose(candidates, 4, inputs, 4, NULL), 1);
    assert_int_equal(gr_place_choose(candidates, 4, inputs, 1, NULL), 0);
    assert_int_equal(gr_place_choose(candidates, 4, inputs, 0, NULL), 0);
    assert_int_equal(gr_place_choose(candidates + 2, 1, inputs, 4, NULL), 0);
}

/* The middle of three in a row is nearest to both ends, though it has no byte itself. */
static void
distances_weigh_the_bytes(void **state)
{
    const uint32_t rows[] = {10, 15, 40, 15, 10, 15, 40, 15, 10};
    const struct gr_place_distances distances = {3, rows};
    const struct gr_place_candidate candidates[] = {{1, 0, 0, false}, {2, 1, 0, false}, {3, 2, 0, false}};
    const struct gr_place_input ends[] = {{0, 64000}, {2, 64000}};
    const struct gr_place_input beyond[] = {{7, 64000}, {2, 64}};

    (void)state;
    assert_int_equal(gr_place_choose(candidates, 3, ends, 2, NULL), 0);
    assert_int_equal(gr_place_choose(candidates, 3, ends, 2, &distances), 1);
    assert_int_equal(gr_place_choose(candidates, 3, ends, 1, &distances), 0);
    assert_int_equal(gr_place_choose(candidates, 3, beyond, 2, &distances), 2); /* a node the matrix does not know */
}

/* Of two equally near the one that has loaded the function already; bytes count more. */
static void
warm_goes_before_cold(void **state)
{
    const struct gr_place_candidate candidates[] = {{1, 0, 0, false}, {2, 0, 0, true}, {3, 1, 0, true}};
    const struct gr_place_input inputs[] = {{1, 64}, {0, 64}, {0, 64}};

    (void)state;
    assert_int_equal(gr_place_choose(candidates, 3, inputs, 0, NULL), 1);
    assert_int_equal(gr_place_choose(candidates, 3, inputs, 1, NULL), 2);
    assert_int_equal(gr_place_choose(candidates, 3, inputs, 3, NULL), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(idle_goes_first), cmocka_unit_test(most_input_bytes_decide),
                                       cmocka_unit_test(distances_weigh_the_bytes),
                                       cmocka_unit_test(warm_goes_before_cold)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
