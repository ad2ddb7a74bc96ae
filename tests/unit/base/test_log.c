#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
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

/* Whoever tries the same again and again says so three times, and then how often. */
static void
repeats_are_counted(void **state)
{
    (void)state;
    (void)unsetenv("GRANARY_LOG");
    gr_log_init("s");
    capture_begin();
    for (int i = 0; i < 100; i++) {
        gr_log_error("AGAIN", "the same");
    }
    gr_log_error("OTHER", "another");
    capture_end();
    assert_non_null(strstr(line, "s INFO LOG-REPEATED the line before came 97 times more\n"));
    assert_non_null(strstr(line, "s ERROR OTHER another\n"));
    for (int i = 0; i < 3; i++) {
        char *at = strstr(line, "AGAIN");

        assert_non_null(at);
        *at = '-';
    }
    assert_null(strstr(line, "AGAIN"));
}

/* A journal of our own hears fields; one that is gone is not missed. */
static void
the_journal_has_fields(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char where[sizeof address.sun_path + 16], heard[512] = "";
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    ssize_t got;

    (void)state;
    (void)snprintf(address.sun_path, sizeof address.sun_path, "/tmp/granary-journal-%d", (int)getpid());
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    (void)snprintf(where, sizeof where, "mine:%s", address.sun_path);
    (void)setenv(GR_LOG_JOURNAL, where, 1);
    gr_log_init("store");
    capture_begin();
    gr_log_error("CLIENT-PROTOCOL", "client=%d a\nb", 7);
    got = recv(fd, heard, sizeof heard - 1, 0);
    gr_fd_close(&fd);
    gr_log_error("CLIENT-PROTOCOL", "client=%d", 8);
    capture_end();
    assert_true(got > 0);
    (void)unlink(address.sun_path);
    assert_string_equal(heard, "MESSAGE=CLIENT-PROTOCOL client=7 a?b\nPRIORITY=3\nSYSLOG_IDENTIFIER=granary-store\n"
                               "GRANARY_EVENT=CLIENT-PROTOCOL\nGRANARY_INSTANCE=mine\n");
    assert_non_null(strstr(line, "client=8\n"));
    (void)unsetenv(GR_LOG_JOURNAL);
    gr_log_init("store");
}

/* stderr is the journal's when the variable names its very file. */
static void
the_journal_is_known(void **state)
{
    struct stat st;
    char stream[64];

    (void)state;
    assert_int_equal(fstat(STDERR_FILENO, &st), 0);
    (void)snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    (void)setenv("JOURNAL_STREAM", stream, 1);
    assert_true(gr_log_is_journal(STDERR_FILENO));
    (void)setenv("JOURNAL_STREAM", "8:1", 1);
    assert_false(gr_log_is_journal(STDERR_FILENO));
    (void)setenv("JOURNAL_STREAM", "nonsense", 1);
    assert_false(gr_log_is_journal(STDERR_FILENO));
    (void)unsetenv("JOURNAL_STREAM");
}

/* The level of processes that run is changed by one byte. */
static void
the_level_can_change(void **state)
{
    char path[64];
    const char levels[] = {GR_LOG_ERROR + 1, GR_LOG_DEBUG + 1};
    int fd;

    (void)state;
    (void)snprintf(path, sizeof path, "/tmp/granary-level-%d", (int)getpid());
    fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_int_equal(pwrite(fd, &levels[0], 1, 0), 1);
    (void)setenv(GR_LOG_LEVEL_FILE, path, 1);
    gr_log_init("s");
    capture_begin();
    gr_log_info("UNSEEN", "not yet");
    assert_int_equal(pwrite(fd, &levels[1], 1, 0), 1);
    gr_log_debug("SEEN", "now");
    capture_end();
    assert_string_equal(line + 24, " s DEBUG SEEN now\n");
    (void)unlink(path);
    gr_fd_close(&fd);
    (void)unsetenv(GR_LOG_LEVEL_FILE);
}

/* ---- a log begins anew while processes write to it ---- */

#define WRITERS 3
#define LINES   4000

static void
write_lines(const char *log, const char *level, int writer)
{
    int fd = open(log, O_WRONLY | O_APPEND);

    (void)dup2(fd, STDERR_FILENO);
    (void)setenv(GR_LOG_LEVEL_FILE, level, 1);
    gr_log_init("s");
    for (int i = 0; i < LINES; i++) {
        gr_log_info("LINE", "writer=%d line=%d", writer, i);
    }
    _exit(0);
}

/* Which lines are there; how many of them. */
static unsigned
find_lines(int fd, bool seen[WRITERS][LINES])
{
    FILE *file = fdopen(fd, "r");
    unsigned found = 0;
    char text[128];

    rewind(file);
    while (fgets(text, sizeof text, file) != NULL) {
        int writer, i;
        const char *at = strstr(text, "writer=");

        assert_non_null(at);
        assert_int_equal(sscanf(at, "writer=%d line=%d\n", &writer, &i), 2);
        found += !seen[writer][i];
        seen[writer][i] = true;
    }
    (void)fclose(file);
    return found;
}

static void
no_line_is_lost(void **state)
{
    static bool seen[WRITERS][LINES];
    char directory[] = "/tmp/granary-log-XXXXXX", log[64], level[64], copy[64];
    unsigned cuts = 0, found;
    pid_t last;
    int fds[3];

    (void)state;
    assert_non_null(mkdtemp(directory));
    (void)snprintf(log, sizeof log, "%s/log", directory);
    (void)snprintf(level, sizeof level, "%s/level", directory);
    (void)snprintf(copy, sizeof copy, "%s/copy", directory);
    fds[0] = open(log, O_RDWR | O_CREAT, 0600);
    fds[1] = open(copy, O_RDWR | O_CREAT, 0600);
    fds[2] = open(level, O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(fds[2], "", 1), 1);
    for (int i = 0; i < WRITERS; i++) {
        if (fork() == 0) {
            write_lines(log, level, i);
        }
    }
    for (last = 0; last >= 0; last = waitpid(-1, NULL, WNOHANG)) {
        assert_int_equal(lseek(fds[0], 0, SEEK_SET), 0);
        assert_int_equal(gr_log_cut(level, fds[0], fds[1]), GRANARY_OK);
        cuts++;
    }
    assert_in_range(cuts, 2, UINT_MAX);
    found = find_lines(fds[1], seen) + find_lines(fds[0], seen);
    assert_int_equal(found, WRITERS * LINES);
    gr_fd_close(&fds[2]);
    (void)unlink(log);
    (void)unlink(level);
    (void)unlink(copy);
    (void)rmdir(directory);
}

/* Who begins a log anew and is killed meanwhile stops nobody. */
static void
a_turn_that_does_not_end_is_given_up(void **state)
{
    struct gr_log_shared shared = {.turn = 1};
    char path[64];
    int fd;

    (void)state;
    (void)snprintf(path, sizeof path, "/tmp/granary-turn-%d", (int)getpid());
    fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_int_equal(write(fd, &shared, sizeof shared), (ssize_t)sizeof shared);
    (void)setenv(GR_LOG_LEVEL_FILE, path, 1);
    gr_log_init("s");
    capture_begin();
    gr_log_info("HERE", "all the same");
    capture_end();
    assert_string_equal(line + 24, " s INFO HERE all the same\n");
    (void)unlink(path);
    gr_fd_close(&fd);
    (void)unsetenv(GR_LOG_LEVEL_FILE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_line_is_lost),
        cmocka_unit_test(a_turn_that_does_not_end_is_given_up),
        cmocka_unit_test(an_event_is_one_line),
        cmocka_unit_test(control_characters_do_not_get_through),
        cmocka_unit_test(a_flood_of_warnings_is_cut),
        cmocka_unit_test(long_lines_still_end),
        cmocka_unit_test(the_level_comes_from_the_environment),
        cmocka_unit_test(repeats_are_counted),
        cmocka_unit_test(the_journal_has_fields),
        cmocka_unit_test(the_journal_is_known),
        cmocka_unit_test(the_level_can_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
