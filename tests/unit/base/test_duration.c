#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text/duration.h"

static void
durations_are_read_as_people_write_them(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns; /* 0: refused */
    } cases[] = {
        {"1", 1000000000},
        {"1s", 1000000000},
        {"1.5", 1500000000},
        {"500ms", 500000000},
        {"0.5ms", 500000},
        {"20us", 20000},
        {"7ns", 7},
        {"2m", 120000000000},
        {"2min", 120000000000},
        {"1h", 3600000000000},
        {"1d", 86400000000000},
        {"", 0},
        {"s", 0},
        {"-1", 0},
        {"1 s", 0},
        {"1S", 0},
        {"1sec", 0},
        {"0x10", 0},
        {"nan", 0},
        {"inf", 0},
        {"1e300", 0},
        {"999999999d", 0},
        {" 5", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t ns = 0;
        granary_err err = gr_duration_parse(cases[i].text, &ns);

        assert_int_equal(err, cases[i].ns == 0 ? GRANARY_EINVAL : GRANARY_OK);
        assert_int_equal(ns, cases[i].ns);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read_as_people_write_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
