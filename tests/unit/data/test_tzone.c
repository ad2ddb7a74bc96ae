/* Zones of the machine's tzdata, against what the C library says of them; files that are damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "data/value/calendar.h"
#include "data/value/tzone.h"

static const char *const names[] = {
    "Europe/Berlin",     "America/New_York",  "Asia/Kolkata",     "Australia/Lord_Howe", "Africa/Monrovia",
    "Pacific/Apia",      "America/Sao_Paulo", "Asia/Pyongyang",   "Etc/GMT+5",           "UTC",
    "Africa/Casablanca", "Europe/Dublin",     "Antarctica/Troll", "America/Nuuk"};

static const struct gr_tzone *
zone_of(const char *name)
{
    const struct gr_tzone *zone = NULL;

    if (gr_tzone_find(name, strlen(name), &zone) != GRANARY_OK) {
        fail_msg("%s: %s", name, granary_error_message());
    }
    return zone;
}

static bool
has_tzdata(void)
{
    return access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0;
}

/* From 1800 to 2400, some days apart, and each hour of a few years. */
static void
offsets_are_those_of_the_c_library(void **state)
{
    (void)state;
    if (!has_tzdata()) {
        skip();
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct gr_tzone *zone = zone_of(names[i]);
        int64_t end = gr_date_days(2400, 1, 1) * 86400;

        assert_int_equal(setenv("TZ", names[i], 1), 0);
        tzset();
        for (int64_t at = gr_date_days(1800, 1, 1) * 86400; at < end; at += 86400 * 11 + 3601) {
            time_t when = (time_t)at;
            struct tm parts;

            assert_non_null(localtime_r(&when, &parts));
            if (gr_tzone_offset(zone, at) != parts.tm_gmtoff) {
                fail_msg("%s at %lld: %lld, not %ld", names[i], (long long)at, (long long)gr_tzone_offset(zone, at),
                         parts.tm_gmtoff);
            }
        }
        for (int64_t at = gr_date_days(2022, 12, 1) * 86400; at < gr_date_days(2026, 1, 1) * 86400; at += 1800) {
            time_t when = (time_t)at;
            struct tm parts;

            assert_non_null(localtime_r(&when, &parts));
            assert_int_equal(gr_tzone_offset(zone, at), parts.tm_gmtoff);
        }
    }
    assert_int_equal(unsetenv("TZ"), 0);
    tzset();
}

/* What clocks show once leads back to the instant. */
static void
clocks_lead_back(void **state)
{
    (void)state;
    if (!has_tzdata()) {
        skip();
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct gr_tzone *zone = zone_of(names[i]);

        for (int64_t at = gr_date_days(1950, 1, 1) * 86400; at < gr_date_days(2080, 1, 1) * 86400;
             at += 86400 * 3 + 1800) {
            int64_t clock = at + gr_tzone_offset(zone, at);
            int64_t back = clock - gr_tzone_offset_of_clock(zone, clock);

            assert_true(back == at || (back > at && back + gr_tzone_offset(zone, back) == clock)); /* shown twice */
        }
    }
}

static void
hours_twice_and_left_out(void **state)
{
    static const struct {
        int64_t clock;
        int64_t offset;
    } cases[] = {
        {1711846799, 3600}, /* 2024-03-31 00:59:59 */
        {1711850399, 3600}, /* 01:59:59 */
        {1711852200, 3600}, /* 02:30:00 is left out: it is counted from before */
        {1711854000, 7200}, /* 03:00:00 */
        {1729990799, 7200}, /* 2024-10-27 00:59:59 */
        {1729996200, 3600}, /* 02:30:00 comes twice: the second one */
        {1730001600, 3600}, /* 04:00:00 */
    };

    (void)state;
    if (!has_tzdata()) {
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(gr_tzone_offset_of_clock(zone_of("Europe/Berlin"), cases[i].clock), cases[i].offset);
    }
}

static void
names_that_are_none_are_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "Europe/Berln",
        "../../../etc/passwd",
        "/etc/localtime",
        "Europe",
        "zone.tab",
        "a b",
        "tzdata.zi",
        "Europe/Berlin\n",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const struct gr_tzone *zone;

        assert_int_equal(gr_tzone_find(wrong[i], strlen(wrong[i]), &zone), GRANARY_ENOENT);
        assert_non_null(strstr(granary_error_message(), "there is no time zone"));
    }
    assert_int_equal(gr_tzone_offset(zone_of("UTC"), 1700000000), 0);
}

/* A file cut anywhere, or with any byte changed, is an error or another zone; memory is the sanitizers' matter. */
static void
damaged_files_are_refused(void **state)
{
    uint8_t bytes[4096];
    FILE *file = fopen("/usr/share/zoneinfo/Europe/Berlin", "rb");
    struct gr_tzone *zone;
    size_t size;

    (void)state;
    if (file == NULL) {
        skip();
    }
    size = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    for (size_t cut = 0; cut < size; cut++) {
        assert_int_equal(gr_tzone_parse(bytes, cut, &zone), GRANARY_ECORRUPT);
    }
    for (size_t at = 0; at < size; at++) {
        uint8_t before = bytes[at];

        for (int change = 1; change < 256; change *= 2) {
            bytes[at] = (uint8_t)(before ^ change);
            if (gr_tzone_parse(bytes, size, &zone) == GRANARY_OK) {
                (void)gr_tzone_offset(zone, 1700000000);
                (void)gr_tzone_offset_of_clock(zone, 5000000000);
                gr_tzone_free(zone);
            }
        }
        bytes[at] = before;
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_are_those_of_the_c_library), cmocka_unit_test(clocks_lead_back),
        cmocka_unit_test(hours_twice_and_left_out),           cmocka_unit_test(names_that_are_none_are_refused),
        cmocka_unit_test(damaged_files_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
