/* Values as people write them in casts and literals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/value/written.h"

#define NONE INT64_MIN

struct text_case {
    const char *text;
    int64_t want; /* NONE: it is none */
};

static void
integers_are_rounded_and_have_bases(void **state)
{
    static const struct text_case cases[] = {
        {"12", 12},
        {" -7\t", -7},
        {"1.5", 2},
        {"-2.5", -3},
        {"1e3", 1000},
        {"0x1F", 31},
        {"0b101", 5},
        {"0xg", NONE},
        {"0x", NONE},
        {"-0x1", NONE},
        {"", NONE},
        {"1e", NONE},
        {"0xffffffffffffffffffffffffffffffff", NONE},
        {"one", NONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gr_int128 got = 0;
        bool is_one = gr_integer_written(cases[i].text, strlen(cases[i].text), &got);

        assert_int_equal(is_one, cases[i].want != NONE);
        assert_true(!is_one || got == cases[i].want);
    }
}

static void
bools_have_words(void **state)
{
    static const struct text_case cases[] = {{"yes", 1}, {"N", 0}, {" true ", 1}, {"1", 1}, {"on", NONE}, {"", NONE}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool got = false;
        bool is_one = gr_bool_written(cases[i].text, strlen(cases[i].text), &got);

        assert_int_equal(is_one, cases[i].want != NONE);
        assert_true(!is_one || got == (cases[i].want != 0));
    }
}

static void
dates_may_be_short(void **state)
{
    static const struct text_case cases[] = {
        {"2000-03-01", 11017},
        {"2000-3-1", 11017},
        {" 2000/3/1 ", 11017},
        {"2000-03-01 10:00", 11017},
        {"1-1-1", -719162},
        {"1 1 1", -719162},
        {"1\\1\\1", -719162},
        {"1-01-01 (BC)", -719528},
        {"0001-01-01 BC", -719528},
        {"0001-01-01 AD", -719162},
        {"0001-01-01 BCE", NONE},
        {"0002-01-01 (bc) 10:00", -719893},
        {"5877642-06-25 (BC)", -2147483646},
        {"5877642-06-24 (BC)", -2147483647},
        {"5881580-07-10", 2147483646},
        {"5881580-07-11", 2147483647},
        {"5881580-07-12", NONE},
        {"0000-01-01 (BC)", NONE},
        {"-0001-01-01 (BC)", NONE},
        {"2000-03-01 24:00", 11017},
        {"5881580-07-10 23:59", 2147483646},
        {"2000-3/1", NONE},
        {"2000-02-30", NONE},
        {"2000-3", NONE},
        {"2000-03-01x", NONE},
        {"2000-03-01 25:00", NONE},
        {"", NONE},
        {"-", NONE},
        {"2000-003-01", NONE},
        {"12345678-01-01", NONE},
        {"infinity", NONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int32_t got = 0;
        bool is_one = gr_date_written(cases[i].text, strlen(cases[i].text), &got);

        assert_int_equal(is_one, cases[i].want != NONE);
        assert_true(!is_one || got == cases[i].want);
    }
}

static void
clocks_may_be_short(void **state)
{
    static const struct text_case moments[] = {
        {"1970-1-1 1:02", 3720000000},
        {"1970-01-01T01:02:03.1234567891", 3723123456},
        {"1970-01-01 10:00:00+02", 36000000000},
        {"1970-01-01 10:00:00 UTC", 36000000000},
        {"1970-01-02", 86400000000},
        {"1970-01-01 24:00:00", 86400000000},
        {"1970-01-01 24:00:01", NONE},
        {"1970-01-01 10:", 36000000000},
        {"1970-01-01 10:00:00 uTc", 36000000000},
        {"294247-01-10 04:00:54.775806", 9223372036854775806},
        {"294247-01-10 04:00:54.775807", INT64_MAX},
        {"294247-01-10 04:00:54.775808", NONE},
        {"290309-12-22 (BC) 00:00:00", -9223372022400000000},
        {"290309-12-21 (BC) 23:59:59", -9223372022401000000},
        {"1970-01-01 10", NONE},
        {"1970-01-01 10:00:00 nowhere", NONE},
        {"1970-01-01 10:00:00 that is longer than anything that there is to be written behind a time of day", NONE},
    };
    static const struct text_case times[] = {
        {"1:02:03", 3723000000}, {"1969-12-31 01:02", 3720000000}, {"24:00", NONE},  {"1", NONE}, {"", NONE},
        {"11:", 39600000000},    {"11:11:", 40260000000},          {"11:11:f", NONE}};
    static const struct text_case spans[] = {{"2 days 03:00:00", 183600000000},
                                             {"-1 day -00:30:00", -88200000000},
                                             {"-1 day", -86400000000},
                                             {"1d 00:00:00", 86400000000},
                                             {"01:00:00", 3600000000},
                                             {"999999999 days", NONE},
                                             {"1 year", NONE}};
    int64_t got = 0;

    (void)state;
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        bool is_one = gr_timestamp_written(moments[i].text, strlen(moments[i].text), &got);

        assert_int_equal(is_one, moments[i].want != NONE);
        assert_true(!is_one || got == moments[i].want);
    }
    assert_true(gr_instant_written("1970-01-01 10:00:00+02", 22, &got));
    assert_int_equal(got, INT64_C(28800000000));
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        bool is_one = gr_time_written(times[i].text, strlen(times[i].text), &got);

        assert_int_equal(is_one, times[i].want != NONE);
        assert_true(!is_one || got == times[i].want);
    }
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        bool is_one = gr_span_written(spans[i].text, strlen(spans[i].text), &got);

        assert_int_equal(is_one, spans[i].want != NONE);
        assert_true(!is_one || got == spans[i].want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_rounded_and_have_bases),
        cmocka_unit_test(bools_have_words),
        cmocka_unit_test(dates_may_be_short),
        cmocka_unit_test(clocks_may_be_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
