#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/fd.h"

static char folder[] = "/tmp/granary-test-fd-XXXXXX";

static int
make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int
remove_folder(void **state)
{
    (void)state;
    gr_remove_tree(folder);
    return access(folder, F_OK) == 0 ? -1 : 0;
}

/* A path below the folder; two at a time. */
static const char *
below(const char *name)
{
    static char paths[2][4096];
    static int which;

    which = !which;
    (void)snprintf(paths[which], sizeof paths[which], "%s/%s", folder, name);
    return paths[which];
}

static void
a_file_is_written_and_read_whole(void **state)
{
    char want[100000];
    char got[sizeof want];
    char *bytes = NULL;
    size_t size = 0;
    int fd = open(below("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    (void)state;
    for (size_t i = 0; i < sizeof want; i++) {
        want[i] = (char)(i * 7);
    }
    assert_true(fd >= 0);
    assert_int_equal(gr_write_all(fd, want, sizeof want), GRANARY_OK);
    assert_int_equal(gr_pread_all(fd, got, sizeof got, 0), GRANARY_OK);
    assert_memory_equal(got, want, sizeof want);
    assert_int_equal(gr_pread_all(fd, got, 2, sizeof want - 1), GRANARY_EIO);
    assert_non_null(strstr(granary_error_message(), "1 bytes early"));
    assert_int_equal(gr_pwrite_all(fd, "tail", 4, sizeof want), GRANARY_OK);
    assert_int_equal(gr_file_read(below("file"), sizeof want + 4, &bytes, &size), GRANARY_OK);
    assert_int_equal(size, sizeof want + 4);
    assert_memory_equal(bytes, want, sizeof want);
    assert_string_equal(bytes + sizeof want, "tail");
    free(bytes);
    gr_fd_close(&fd);
    assert_int_equal(fd, -1);
    errno = 77;
    gr_fd_close(&fd);
    assert_int_equal(errno, 77);
}

static void
reading_what_cannot_be_read_says_why(void **state)
{
    char *bytes = NULL;
    size_t size = 0;
    int fd = open(below("big"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    (void)state;
    assert_int_equal(ftruncate(fd, 1000000), 0);
    gr_fd_close(&fd);
    assert_int_equal(gr_file_read(below("big"), 999999, &bytes, &size), GRANARY_EFULL);
    assert_int_equal(gr_file_read(below("missing"), 10, &bytes, &size), GRANARY_ENOENT);
    assert_non_null(strstr(granary_error_message(), "missing"));
    assert_int_equal(gr_file_read(folder, 10, &bytes, &size), GRANARY_EINVAL); /* a directory */
    assert_null(bytes);
    assert_int_equal(gr_write_all(-1, "x", 1), GRANARY_EIO);
}

static void
private_directories_are_ours_alone(void **state)
{
    struct stat st;
    char file[4096];

    (void)state;
    assert_int_equal(gr_mkdir_private(below("a/b/c")), GRANARY_OK);
    assert_int_equal(gr_mkdir_private(below("a/b/c")), GRANARY_OK);
    assert_int_equal(stat(below("a/b/c"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(chmod(below("a/b/c"), 0777), 0);
    assert_int_equal(gr_mkdir_private(below("a/b/c")), GRANARY_EPERM);
    (void)snprintf(file, sizeof file, "%s", below("a/file"));
    assert_int_equal(close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    assert_int_equal(gr_mkdir_private(file), GRANARY_EINVAL);
    assert_int_equal(symlink("/tmp", below("a/link")), 0);
    assert_int_equal(gr_mkdir_private(below("a/link")), GRANARY_EINVAL);
}

/* What the next calls of posix_fallocate() answer before one works. */
static int answers[4];

int
posix_fallocate(int fd, off_t at, off_t size)
{
    int answer = answers[0];

    memmove(answers, answers + 1, sizeof answers - sizeof answers[0]);
    return answer != 0 ? answer : fallocate(fd, 0, at, size) < 0 ? errno : 0;
}

static void
a_signal_stops_no_allocation(void **state)
{
    struct stat st;
    int fd = open(below("allocated"), O_CREAT | O_RDWR | O_CLOEXEC, 0600);

    (void)state;
    memcpy(answers, (int[]){EINTR, EINTR, 0, 0}, sizeof answers);
    assert_int_equal(gr_fd_allocate(fd, 0, 4096), 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 4096);
    memcpy(answers, (int[]){EINTR, ENOSPC, 0, 0}, sizeof answers);
    assert_int_equal(gr_fd_allocate(fd, 4096, 4096), -1);
    assert_int_equal(errno, ENOSPC);
    gr_fd_close(&fd);
}

/* What a link leads to stays. */
static void
trees_are_removed_but_not_across_links(void **state)
{
    (void)state;
    assert_int_equal(gr_mkdir_private(below("keep")), GRANARY_OK);
    assert_int_equal(close(open(below("keep/file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    assert_int_equal(gr_mkdir_private(below("tree/deep/er")), GRANARY_OK);
    assert_int_equal(symlink(below("keep"), below("tree/deep/link")), 0);
    assert_int_equal(close(open(below("tree/deep/file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    gr_remove_tree(below("tree"));
    assert_int_not_equal(access(below("tree"), F_OK), 0);
    assert_int_equal(access(below("keep/file"), F_OK), 0);
    gr_remove_tree(below("nothing"));
}

static void
processes_are_known_by_their_start(void **state)
{
    uint64_t mine = gr_process_start_time(getpid());
    struct pollfd poller = {.events = POLLIN};
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    assert_true(mine > 0);
    assert_int_equal(gr_process_start_time(getpid()), mine);
    assert_true(gr_process_start_time(child) >= mine);
    poller.fd = gr_pidfd_open(child);
    assert_true(poller.fd >= 0);
    assert_int_equal(poll(&poller, 1, 0), 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(poll(&poller, 1, 10000), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(gr_process_start_time(child), 0);
    gr_fd_close(&poller.fd);
}

/* One that has ended does not live, also before somebody has waited for it. */
static void
who_has_ended_does_not_live(void **state)
{
    siginfo_t info;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        _exit(pause());
    }
    assert_true(gr_process_lives(pid));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_false(gr_process_lives(pid));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(gr_process_lives(pid));
    assert_false(gr_process_lives(0));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_written_and_read_whole),   cmocka_unit_test(reading_what_cannot_be_read_says_why),
        cmocka_unit_test(private_directories_are_ours_alone), cmocka_unit_test(trees_are_removed_but_not_across_links),
        cmocka_unit_test(a_signal_stops_no_allocation),       cmocka_unit_test(processes_are_known_by_their_start),
        cmocka_unit_test(who_has_ended_does_not_live),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
