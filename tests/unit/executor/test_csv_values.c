/* What texts are values of which kind, and which values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/csv/csv_digits.h"
#include "kernel/csv/csv_values.h"

static void
kinds_are_the_narrowest(void **state)
{
    static const struct {
        const char *text;
        enum csv_kind kind;
    } cases[] = {
        {"0", CSV_INT64},
        {"+7", CSV_INT64},
        {"-12", CSV_INT64},
        {"007", CSV_STRING},
        {"00", CSV_STRING},
        {"01.5", CSV_STRING},
        {"099999999999999999999", CSV_STRING},
        {"-007", CSV_INT64},
        {"0.5", CSV_FLOAT64},
        {"0e7", CSV_FLOAT64},
        {"9223372036854775807", CSV_INT64},
        {"-9223372036854775808", CSV_INT64},
        {"9223372036854775808", CSV_WIDE},
        {"-9223372036854775809", CSV_WIDE},
        {"+99999999999999999999999999999999999999", CSV_WIDE},
        {"100000000000000000000000000000000000000", CSV_FLOAT64},
        {"9223372036854775808.", CSV_FLOAT64},
        {"1.0", CSV_FLOAT64},
        {".5", CSV_FLOAT64},
        {"5.", CSV_FLOAT64},
        {"1e3", CSV_FLOAT64},
        {"-1E-3", CSV_FLOAT64},
        {"inf", CSV_FLOAT64},
        {"-Infinity", CSV_FLOAT64},
        {"nan", CSV_FLOAT64},
        {"NaN", CSV_FLOAT64},
        {"true", CSV_BOOL},
        {"FALSE", CSV_BOOL},
        {"False", CSV_BOOL},
        {"2020-02-29", CSV_DATE},
        {"1900-02-28", CSV_DATE},
        {"2020-01-02T03:04", CSV_TIMESTAMP},
        {"2020-01-02 03:04:05", CSV_TIMESTAMP},
        {"2020-01-02 03:04:05.123456789Z", CSV_TIMESTAMPTZ},
        {"2020-01-02T03:04Z", CSV_TIMESTAMPTZ},
        {"2020-01-02T03:04+02:00", CSV_TIMESTAMPTZ},
        {"2020-01-02 03:04:05 -0530", CSV_TIMESTAMPTZ},
        {"2020-01-02 03:04+25:00", CSV_STRING},
        {"12:34:56", CSV_TIME},
        {"00:00:00.123456", CSV_TIME},
        {"12:34", CSV_STRING},
        {"24:00:00", CSV_STRING},
        {"", CSV_STRING},
        {" 1", CSV_STRING},
        {"1 ", CSV_STRING},
        {"1,000", CSV_STRING},
        {"0x10", CSV_STRING},
        {"1e", CSV_STRING},
        {"1e+", CSV_STRING},
        {"-", CSV_STRING},
        {"+", CSV_STRING},
        {".", CSV_STRING},
        {"--1", CSV_STRING},
        {"INF", CSV_STRING},
        {"-nan", CSV_STRING},
        {"infinit", CSV_STRING},
        {"tRUE", CSV_STRING},
        {"truee", CSV_STRING},
        {"2021-02-29", CSV_STRING},
        {"1900-02-29", CSV_STRING},
        {"2020-13-01", CSV_STRING},
        {"2020-00-01", CSV_STRING},
        {"2020-04-31", CSV_STRING},
        {"0000-01-01", CSV_DATE},
        {"12020-02-29", CSV_DATE},
        {"-0044-03-15", CSV_DATE},
        {"-0044-03-15 12:00", CSV_TIMESTAMP},
        {"0000-00-00", CSV_STRING},
        {"20200-1-01", CSV_STRING},
        {"555-1234-12", CSV_STRING},
        {"20-01-01", CSV_STRING},
        {"2020-1-1", CSV_STRING},
        {"2020-01-02T24:00", CSV_STRING},
        {"2020-01-02T03:60", CSV_STRING},
        {"2020-01-02T03:04:60", CSV_STRING},
        {"2020-01-02T03:04:05.", CSV_STRING},
        {"2020-01-02T03:04:05.1234567890", CSV_STRING},
        {"2020-01-02T03:04:05+01:00", CSV_TIMESTAMPTZ},
        {"2020-01-02T03", CSV_STRING},
        {"Z", CSV_STRING},
        {"Canada goose", CSV_STRING},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (csv_kind_of(cases[i].text, strlen(cases[i].text)) != cases[i].kind) {
            fail_msg("'%s' is %d, not %d", cases[i].text, csv_kind_of(cases[i].text, strlen(cases[i].text)),
                     cases[i].kind);
        }
    }
}

static void
integers_have_their_values(void **state)
{
    int64_t value = 1;

    (void)state;
    assert_true(csv_parse_int64("-9223372036854775808", 20, &value));
    assert_true(value == INT64_MIN);
    assert_true(csv_parse_int64("+0012", 5, &value));
    assert_int_equal(value, 12);
    assert_false(csv_parse_int64("12", 0, &value));
    assert_int_equal(value, 12);
}

/* Every double written with 17 digits, or shorter, is read back bit for bit as strtod() would. */
static void
floats_are_rounded_correctly(void **state)
{
    static const char *const formats[] = {"%.17g", "%.15g", "%.6g", "%.3f", "%.20e"};
    char buffer[440];
    char *text = buffer + 16;

    (void)state;
    srandom(11);
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
        double number = 0;
        double got;
        double want;

        memcpy(&number, &bits, sizeof number);
        if (i % 2 == 0) {
            number = (double)(random() % 2000000000 - 1000000000) / (double)(1 + random() % 100000);
        }
        if (!isfinite(number)) {
            continue;
        }
        (void)snprintf(text, 400, formats[(size_t)i % 5], number);
        want = strtod(text, NULL);
        if (!csv_parse_float64(text, strlen(text), &got) || memcmp(&got, &want, sizeof got) != 0) {
            fail_msg("'%s' is read as %.17g", text, got);
        }
        if (csv_fast_float64(text, strlen(text), &got) && memcmp(&got, &want, sizeof got) != 0) {
            fail_msg("'%s' is read fast as %.17g", text, got);
        }
    }
}

/* What is read eight digits at a time is what is read one by one; the rest is refused. */
static void
fast_ways_agree_with_slow_ones(void **state)
{
    static const char characters[] = "0123456789012345678901234567890123456789.-+eE,/:";
    char buffer[80];
    char *text = buffer + 16;
    int taken = 0;

    (void)state;
    srandom(12);
    for (int i = 0; i < 300000; i++) {
        size_t size = 1 + (size_t)random() % 20;
        int64_t integer, want_integer;
        double real, want_real;

        for (size_t c = 0; c < sizeof buffer; c++) {
            buffer[c] = characters[(size_t)random() % (i % 2 == 0 ? 40 : sizeof characters - 1)];
        }
        if (csv_fast_int64(text, size, &integer)) {
            assert_true(csv_parse_int64(text, size, &want_integer));
            assert_int_equal(integer, want_integer);
            taken++;
        }
        if (i % 3 == 0) {
            text[(size_t)random() % size] = '.';
        }
        if (csv_fast_float64(text, size, &real)) {
            assert_true(csv_parse_float64(text, size, &want_real));
            assert_memory_equal(&real, &want_real, sizeof real);
            taken++;
        }
    }
    assert_true(taken > 100000);
    assert_true(csv_fast_int64(memcpy(text, "-1234567", 8), 8, (int64_t[]){0}));
    assert_false(csv_fast_int64(memset(text, '-', 1), 1, (int64_t[]){0}));
}

static void
odd_floats_have_their_values(void **state)
{
    double value;
    char digits[600];

    (void)state;
    assert_true(csv_parse_float64("-0", 2, &value));
    assert_true(value == 0 && signbit(value));
    assert_true(csv_parse_float64("-inf", 4, &value));
    assert_true(isinf(value) && value < 0);
    assert_true(csv_parse_float64("NaN", 3, &value));
    assert_true(isnan(value));
    assert_true(csv_parse_float64("1e999999999999", 14, &value));
    assert_true(isinf(value));
    assert_true(csv_parse_float64("1e-999999999999", 15, &value));
    assert_true(value == 0);
    assert_true(csv_parse_float64("9007199254740993", 16, &value)); /* a tie: to even */
    assert_true(value == 9007199254740992.0);
    memset(digits, '1', sizeof digits);
    digits[1] = '.';
    assert_true(csv_parse_float64(digits, sizeof digits, &value));
    assert_true(value == 1.1111111111111112);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_the_narrowest),      cmocka_unit_test(integers_have_their_values),
        cmocka_unit_test(floats_are_rounded_correctly), cmocka_unit_test(fast_ways_agree_with_slow_ones),
        cmocka_unit_test(odd_floats_have_their_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
