/* Dates, timestamps and durations as text, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/frame.h"
#include "data/value/calendar.h"

#define NONE INT64_MIN

struct text_case {
    const char *text;
    int64_t want; /* NONE: it is none */
};

static void
dates_are_read_to_the_day(void **state)
{
    static const struct text_case cases[] = {
        {"1970-01-01", 0},
        {"2000-03-01", 11017},
        {"0001-01-01", -719162},
        {"9999-12-31", 2932896},
        {"0000-02-29", -719469},
        {"-0001-12-31", -719529},
        {"10000-01-01", 2932897},
        {"5881580-07-11", INT32_MAX},
        {"5881580-07-12", NONE},
        {"-5877641-06-23", INT32_MIN},
        {"-5877641-06-22", NONE},
        {"1970-13-01", NONE},
        {"1970-00-01", NONE},
        {"1970-01-00", NONE},
        {"1970-01-32", NONE},
        {"1900-02-29", NONE},
        {"1970-1-01", NONE},
        {"970-01-01", NONE},
        {"12345678-01-01", NONE},
        {"+1970-01-01", NONE},
        {"1970-01-01Z", NONE},
        {"1970-01-011", NONE},
        {"", NONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int32_t got = 7;
        bool is_date = gr_date_parse(cases[i].text, strlen(cases[i].text), &got);

        assert_int_equal(is_date, cases[i].want != NONE);
        assert_int_equal(got, is_date ? cases[i].want : 7);
    }
}

static void
timestamps_are_read_to_the_microsecond(void **state)
{
    static const struct text_case cases[] = {
        {"1970-01-01", 0},
        {"1970-01-01T00:00", 0},
        {"1970-01-01T00:00Z", 0},
        {"1970-01-01 00:00:00.000001", 1},
        {"1970-01-01 00:00:00.1", 100000},
        {"1970-01-01 00:00:00.123456999", 123456},
        {"1970-01-02T00:00:01.5Z", 86401500000},
        {"1969-12-31 23:59", -60000000},
        {"1969-12-31 23:59:59.999999", -1},
        {"2020-02-29T12:34:56", 1582979696000000},
        {"294247-01-10T04:00:54.775807", INT64_MAX},
        {"294247-01-10T04:00:54.775808", NONE},
        {"-290308-12-21T19:59:05.224193", INT64_MIN + 1},
        {"-290308-12-21T19:59:05.224191", NONE},
        {"1970-01-01 24:00", NONE},
        {"1970-01-01 00:60", NONE},
        {"1970-01-01 00:00:60", NONE},
        {"1970-01-01 00:00:00.", NONE},
        {"1970-01-01 00:00:00.1234567890", NONE},
        {"1970-01-01 00:00:0", NONE},
        {"1970-01-01 00", NONE},
        {"1970-01-01x00:00", NONE},
        {"1970-01-01 ", NONE},
        {"1970-01-01T00:00z", NONE},
        {"1970-01-01T00:00+01:00", NONE},
        {"", NONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t got = NONE;

        assert_int_equal(gr_timestamp_parse(cases[i].text, strlen(cases[i].text), &got), cases[i].want != NONE);
        assert_true(got == cases[i].want);
    }
}

/* In UTC, and whether the text told of an offset from it. */
static void
instants_are_read_in_utc(void **state)
{
    static const struct {
        struct text_case text;
        bool told;
    } cases[] = {
        {{"1970-01-01", 0}, false},
        {{"1970-01-01T00:00", 0}, false},
        {{"1970-01-01T00:00Z", 0}, true},
        {{"1970-01-01 00:00:00.5 UTC", 500000}, true},
        {{"1970-01-01T02:00:00+02:00", 0}, true},
        {{"1970-01-01T02:00:00+02", 0}, true},
        {{"1970-01-01 02:30:00 +0230", 0}, true},
        {{"1969-12-31T18:30:00-05:30", 0}, true},
        {{"1970-01-01T00:00:28+00:00:28", 0}, true},
        {{"294247-01-10T04:00:54.775807Z", INT64_MAX}, true},
        {{"294247-01-10T04:00:54.775807-00:01", NONE}, false},
        {{"1970-01-01T00:00+24:00", NONE}, false},
        {{"1970-01-01T00:00+00:60", NONE}, false},
        {{"1970-01-01T00:00+1", NONE}, false},
        {{"1970-01-01T00:00+", NONE}, false},
        {{"1970-01-01T00:00+1:00", NONE}, false},
        {{"1970-01-01T00:00+01:", NONE}, false},
        {{"1970-01-01T00:00+010", NONE}, false},
        {{"1970-01-01T00:00+01:00Z", NONE}, false},
        {{"1970-01-01T00:00 CET", NONE}, false},
        {{"1970-01-01Z", NONE}, false},
        {{"1970-01-01+01:00", NONE}, false},
        {{"12:00Z", NONE}, false},
        {{"", NONE}, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct text_case *of = &cases[i].text;
        int64_t got = NONE;
        bool told = false;

        assert_int_equal(gr_instant_parse(of->text, strlen(of->text), &got, &told), of->want != NONE);
        assert_true(got == of->want);
        assert_int_equal(of->want != NONE && told, cases[i].told);
    }
}

static void
times_are_read_to_the_microsecond(void **state)
{
    static const struct text_case cases[] = {
        {"00:00", 0},
        {"00:00:00", 0},
        {"12:34:56", 45296000000},
        {"12:34:56.7", 45296700000},
        {"23:59:59.999999", 86399999999},
        {"23:59:59.9999999", 86399999999},
        {"24:00:00", NONE},
        {"12:60", NONE},
        {"12:00:60", NONE},
        {"12", NONE},
        {"1:00", NONE},
        {"12:0", NONE},
        {"12:00:00Z", NONE},
        {"-01:00", NONE},
        {"", NONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t got = NONE;
        bool seconds = false;

        assert_int_equal(gr_time_parse(cases[i].text, strlen(cases[i].text), &got, &seconds), cases[i].want != NONE);
        assert_true(got == cases[i].want);
        assert_int_equal(seconds, got != NONE && strlen(cases[i].text) > 5);
    }
}

static void
durations_are_read_to_the_microsecond(void **state)
{
    static const struct text_case cases[] = {
        {"00:00:00", 0},
        {"00:01", 60000000},
        {"-00:00:00.5", -500000},
        {"100:00:00", 360000000000},
        {"3d 04:05:06.000007", 273906000007},
        {"-3 days 04:05:06", -273906000000},
        {"1 day 00:00", 86400000000},
        {"2d", 172800000000},
        {"106751991d 04:00:54.775807", INT64_MAX},
        {"106751991d 04:00:54.775808", NONE},
        {"1:00", NONE},
        {"00:60:00", NONE},
        {"00:00:60", NONE},
        {"5", NONE},
        {"d", NONE},
        {"1 da", NONE},
        {"1d04:00", NONE},
        {"", NONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t got = NONE;

        assert_int_equal(gr_span_parse(cases[i].text, strlen(cases[i].text), &got), cases[i].want != NONE);
        if (got != cases[i].want) {
            fail_msg("'%s' is %lld", cases[i].text, (long long)got);
        }
    }
}

/* What gr_value_format() writes, these read: the smallest and largest values, too. */
static void
what_is_written_is_read(void **state)
{
    static const int64_t values[] = {0,
                                     1,
                                     -1,
                                     INT64_MAX,
                                     INT64_MIN,
                                     86400000000,
                                     -86400000001,
                                     253402300800000000,
                                     -62135596800000001,
                                     -62167219200000001};
    static const granary_dtype dtypes[] = {GRANARY_TIMESTAMP, GRANARY_DURATION, GRANARY_DATE};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
            int32_t days = (int32_t)(values[i] < INT32_MIN ? INT32_MIN : values[i] > INT32_MAX ? INT32_MAX : values[i]);
            granary_column column = {.dtype = dtypes[d], .rows = 1, .values = &values[i]};
            struct gr_buf text = {0};
            int32_t read_days = 0;
            int64_t read = 0;

            column.values = dtypes[d] == GRANARY_DATE ? (const void *)&days : &values[i];
            gr_value_format(&column, 0, &text);
            if (dtypes[d] == GRANARY_DATE) {
                assert_true(gr_date_parse(text.bytes, text.size, &read_days));
                assert_int_equal(read_days, days);
            } else {
                assert_true(dtypes[d] == GRANARY_DURATION ? gr_span_parse(text.bytes, text.size, &read)
                                                          : gr_timestamp_parse(text.bytes, text.size, &read));
                assert_true(read == values[i]);
            }
            gr_buf_free(&text);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_are_read_to_the_day),
        cmocka_unit_test(timestamps_are_read_to_the_microsecond),
        cmocka_unit_test(instants_are_read_in_utc),
        cmocka_unit_test(times_are_read_to_the_microsecond),
        cmocka_unit_test(durations_are_read_to_the_microsecond),
        cmocka_unit_test(what_is_written_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
