#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text/size.h"

static void
sizes_are_read_as_people_write_them(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes; /* 0: refused */
    } cases[] = {
        {"4096", 4096},
        {"64M", 64ull << 20},
        {"1.5G", 3ull << 29},
        {"2k", 2048},
        {"1T", 1ull << 40},
        {"1GiB", 1 << 30},
        {"8MB", 8 << 20},
        {"", 0},
        {"M", 0},
        {"-1", 0},
        {"12X", 0},
        {"1GG", 0},
        {"0x10", 0},
        {"nan", 0},
        {"inf", 0},
        {"99999999T", 0},
        {" 5", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t bytes = 0;
        granary_err err = gr_size_parse(cases[i].text, &bytes);

        assert_int_equal(err, cases[i].bytes == 0 ? GRANARY_EINVAL : GRANARY_OK);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read_as_people_write_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
