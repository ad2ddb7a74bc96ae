#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process/daemon.h"

/* What is said into a pipe: the descriptor is closed, so the text ends. */
static void
read_all(int fd, char line[static GR_DAEMON_LINE_MAX])
{
    ssize_t size = read(fd, line, GR_DAEMON_LINE_MAX - 1);

    assert_true(size > 0);
    line[size] = '\0';
    assert_int_equal(read(fd, line + size, 1), 0);
    (void)close(fd);
}

static void
what_is_said_is_heard(void **state)
{
    char line[GR_DAEMON_LINE_MAX];
    const char *message = NULL;
    granary_err err = GRANARY_EIO;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    gr_daemon_say_ready(&ends[1]);
    assert_int_equal(ends[1], -1);
    gr_daemon_say_ready(&ends[1]); /* nobody asked */
    read_all(ends[0], line);
    assert_string_equal(line, "READY\n");
    assert_true(gr_daemon_heard(line, &err, &message));
    assert_int_equal(err, GRANARY_OK);
    assert_null(message);

    assert_int_equal(pipe(ends), 0);
    gr_daemon_say_error(&ends[1], gr_fail(GRANARY_ENOENT, "no directory\nat all"));
    read_all(ends[0], line);
    assert_string_equal(line, "ERROR 4 no directory at all\n");
    assert_true(gr_daemon_heard(line, &err, &message));
    assert_int_equal(err, GRANARY_ENOENT);
    assert_string_equal(message, "no directory at all");
}

/* A message may be as long as it likes: the line stays one, and ends. */
static void
long_messages_are_cut(void **state)
{
    char line[GR_DAEMON_LINE_MAX];
    char text[2 * GR_DAEMON_LINE_MAX];
    int ends[2];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(pipe(ends), 0);
    gr_daemon_say_error(&ends[1], gr_fail(GRANARY_EIO, "%s", text));
    read_all(ends[0], line);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

static void
other_lines_are_no_answer(void **state)
{
    static const char *const lines[] = {"", "\n", "READ", "READY now", "ERROR", "error 1 x"};
    const char *message = NULL;
    granary_err err = GRANARY_EIO;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char line[32];

        (void)snprintf(line, sizeof line, "%s", lines[i]);
        assert_false(gr_daemon_heard(line, &err, &message));
        assert_int_equal(err, GRANARY_EIO);
        assert_null(message);
    }
    /* An error that nobody has, and one that is none: failed all the same. */
    assert_true(gr_daemon_heard((char[]){"ERROR 77 x"}, &err, &message));
    assert_int_equal(err, GRANARY_EFAILED);
    assert_true(gr_daemon_heard((char[]){"ERROR 0 x"}, &err, &message));
    assert_int_equal(err, GRANARY_EFAILED);
}

static void
lock_has_one_holder(void **state)
{
    char directory[] = "/tmp/granary-test-XXXXXX";
    char path[64];
    pid_t holder = 0;
    int first = -1;
    int second = -1;

    (void)state;
    assert_non_null(mkdtemp(directory));
    (void)snprintf(path, sizeof path, "%s/lock", directory);
    assert_int_equal(gr_daemon_lock(path, false, &first, NULL), GRANARY_ENOENT);
    assert_int_equal(gr_daemon_lock(path, true, &first, NULL), GRANARY_OK);
    assert_int_equal(gr_daemon_lock(path, true, &second, &holder), GRANARY_EBUSY);
    assert_int_equal(holder, -1);
    assert_int_equal(second, -1);
    assert_int_equal(gr_daemon_lock_write(first, "12345 and a good deal more\n"), GRANARY_OK);
    assert_int_equal(gr_daemon_lock_write(first, "4711\n"), GRANARY_OK);
    assert_int_equal(gr_daemon_lock(path, false, &second, &holder), GRANARY_EBUSY);
    assert_int_equal(holder, 4711);
    gr_fd_close(&first);
    assert_int_equal(gr_daemon_lock(path, false, &second, NULL), GRANARY_OK);
    gr_fd_close(&second);
    gr_remove_tree(directory);
}

static void
nobody_follows_a_stranger(void **state)
{
    (void)state;
    assert_int_equal(gr_daemon_follow(getppid() + 1, 0), GRANARY_ELOST);
    assert_int_equal(gr_daemon_follow(getppid(), 0), GRANARY_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_is_heard),     cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(other_lines_are_no_answer), cmocka_unit_test(lock_has_one_holder),
        cmocka_unit_test(nobody_follows_a_stranger),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
