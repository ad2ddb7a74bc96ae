#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "place/place.h"

/* An idle executor far away beats a busy one beside the data. */
static void
idle_goes_first(void **state)
{
    const struct gr_place_candidate candidates[] = {{1, 0, 1}, {2, 1, 0}, {3, 0, 1}};
    const struct gr_place_input inputs[] = {{0, 1000000}};

    (void)state;
    assert_int_equal(gr_place_choose(candidates, 3, inputs, 1), 1);
}

static void
most_input_bytes_decide(void **state)
{
    const struct gr_place_candidate candidates[] = {{1, 0, 0}, {2, 1, 0}, {3, 2, 0}, {4, 1, 0}};
    const struct gr_place_input inputs[] = {{0, 60}, {1, 50}, {2, 10}, {1, 50}};

    (void)state;
    assert_int_equal(gr_place_choose(candidates, 4, inputs, 4), 1);
    assert_int_equal(gr_place_choose(candidates, 4, inputs, 1), 0);
    assert_int_equal(gr_place_choose(candidates, 4, inputs, 0), 0);
    assert_int_equal(gr_place_choose(candidates + 2, 1, inputs, 4), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(idle_goes_first), cmocka_unit_test(most_input_bytes_decide)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
