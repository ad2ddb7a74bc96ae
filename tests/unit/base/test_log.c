#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/log.h"

static char line[4096];
static int saved = -1;
static int ends[2];

static void
capture_begin(void)
{
    assert_int_equal(pipe(ends), 0);
    saved = dup(STDERR_FILENO);
    assert_true(saved >= 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
}

static void
capture_end(void)
{
    ssize_t n;

    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    gr_fd_close(&saved);
    gr_fd_close(&ends[1]);
    n = read(ends[0], line, sizeof line - 1);
    gr_fd_close(&ends[0]);
    line[n > 0 ? n : 0] = '\0';
}

/* 2026-11-21T10:22:31.123Z store WARN CLIENT-PROTOCOL client=7 opcode=99 */
static void
an_event_is_one_line(void **state)
{
    (void)state;
    (void)unsetenv("GRANARY_LOG");
    gr_log_init("store");
    capture_begin();
    gr_log_debug("UNSEEN", "at the default level");
    gr_log_warn("CLIENT-PROTOCOL", "client=%d opcode=%d", 7, 99);
    capture_end();
    assert_int_equal(line[4], '-');
    assert_int_equal(line[10], 'T');
    assert_int_equal(line[23], 'Z');
    assert_string_equal(line + 24, " store WARN CLIENT-PROTOCOL client=7 opcode=99\n");
}

/* A name from outside cannot forge a line or drive a terminal. */
static void
control_characters_do_not_get_through(void **state)
{
    (void)state;
    capture_begin();
    gr_log_error("NAME", "name=%s", "a\nb\x1b[2J\x7f");
    capture_end();
    assert_string_equal(line + 24, " store ERROR NAME name=a?b?[2J?\n");
}

/* Somebody who sends nonsense all day must not fill the disk. */
static void
a_flood_of_warnings_is_cut(void **state)
{
    struct timespec before;
    struct timespec after;
    size_t lines = 0;

    (void)state;
    gr_log_init("s");
    do { /* within one second of the clock */
        lines = 0;
        (void)clock_gettime(CLOCK_REALTIME, &before);
        capture_begin();
        for (int i = 0; i < 1000; i++) {
            gr_log_warn("W", "i=%d", i);
        }
        capture_end();
        (void)clock_gettime(CLOCK_REALTIME, &after);
        for (const char *c = line; *c != '\0'; c++) {
            lines += *c == '\n';
        }
    } while (before.tv_sec != after.tv_sec);
    assert_in_range(lines, 1, 51);
    capture_begin();
    gr_log_error("E", "errors always get through");
    capture_end();
    assert_non_null(strstr(line, "s ERROR E errors always get through\n"));
}

static void
long_lines_still_end(void **state)
{
    char longer[3000];

    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    capture_begin();
    gr_log_info("LONG", "%s", longer);
    capture_end();
    assert_in_range(strlen(line), 900, 1200);
    assert_int_equal(line[strlen(line) - 1], '\n');
}

static void
the_level_comes_from_the_environment(void **state)
{
    (void)state;
    (void)setenv("GRANARY_LOG", "error", 1);
    gr_log_init("sched");
    capture_begin();
    gr_log_warn("UNSEEN", "below");
    gr_log_error("SEEN", "x=%d", 1);
    capture_end();
    assert_string_equal(line + 24, " sched ERROR SEEN x=1\n");
    (void)setenv("GRANARY_LOG", "debug", 1);
    gr_log_init("sched");
    capture_begin();
    gr_log_debug("SEEN", "y");
    capture_end();
    assert_string_equal(line + 24, " sched DEBUG SEEN y\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_one_line),
        cmocka_unit_test(control_characters_do_not_get_through),
        cmocka_unit_test(a_flood_of_warnings_is_cut),
        cmocka_unit_test(long_lines_still_end),
        cmocka_unit_test(the_level_comes_from_the_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
