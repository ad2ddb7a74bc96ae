/* Pages run out, or the kernel is old: errors, not signals; and what was sealed stays readable. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

#define MIB     ((uint64_t)1 << 20)
#define SKIPPED 77
#define OBJECTS 60u

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static granary_client *
connect_to(const struct daemon *daemon)
{
    granary_connect_options options = {.instance = daemon->directory};
    granary_client *client = NULL;

    return granary_connect(&options, &client) == GRANARY_OK ? client : NULL;
}

static bool
reads(granary_client *client, uint64_t n, uint64_t size)
{
    granary_view view;
    bool same;

    if (granary_object_get(client, fixture_id(n), 0, &view) != GRANARY_OK) {
        return false;
    }
    same = view.data_size == size && fixture_content_is(view.data, n, size);
    granary_object_release(client, &view);
    return same;
}

/* ---- a kernel without MADV_POPULATE_WRITE ---- */

static int
forget_populate(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_POPULATE_WRITE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -1 : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* The daemon and its client both do without. */
static int
old_kernel(void)
{
    static const char *const arguments[] = {"--memory", "64M", NULL};
    struct daemon daemon;
    granary_client *client;
    bool good;

    if (forget_populate() < 0) {
        return SKIPPED;
    }
    if (!daemon_start(&daemon, arguments)) {
        return 1;
    }
    client = connect_to(&daemon);
    good = client != NULL;
    for (uint64_t n = 0; good && n < 100; n++) {
        good = fixture_put(client, n, MIB, 0) == GRANARY_OK;
    }
    good = good && fixture_put(client, 100, 10 * MIB, 0) == GRANARY_OK && reads(client, 100, 10 * MIB);
    for (uint64_t n = 0; good && n < 100; n++) {
        good = reads(client, n, MIB);
    }
    granary_disconnect(client);
    return daemon_stop(&daemon) && good ? 0 : 1;
}

/* ---- a /dev/shm that others fill ---- */

/* A file in /dev/shm that leaves that many bytes. */
static bool
fill_but(uint64_t left)
{
    int fd = open("/dev/shm/others", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    off_t size = 0;

    if (fd < 0) {
        return false;
    }
    while (posix_fallocate(fd, size, (off_t)MIB) == 0) {
        size += (off_t)MIB;
    }
    (void)!ftruncate(fd, size > (off_t)left ? size - (off_t)left : 0);
    (void)close(fd);
    return true;
}

/* Every put works or says that it is full; what was put is there. */
static bool
puts_are_clean(granary_client *client, uint64_t first, int timeout_ms, unsigned *ret_put)
{
    bool there[OBJECTS] = {false};

    *ret_put = 0;
    for (unsigned i = 0; i < OBJECTS; i++) {
        granary_buffer buffer;
        granary_err err = granary_object_create(client, fixture_id(first + i), MIB, 0, timeout_ms, &buffer);

        if (err == GRANARY_OK) {
            fixture_fill(buffer.data, first + i, MIB);
            err = granary_object_seal(client, &buffer);
            there[i] = err == GRANARY_OK;
        } else if (err == GRANARY_EFULL && strstr(granary_error_message(), "/dev/shm") == NULL) {
            return false;
        }
        if (err != GRANARY_OK && err != GRANARY_EFULL) {
            return false;
        }
        *ret_put += there[i];
    }
    for (unsigned i = 0; i < OBJECTS; i++) {
        if (there[i] && !reads(client, first + i, MIB)) {
            return false;
        }
    }
    return true;
}

static int
small_tmpfs(void)
{
    static const char *const arguments[] = {"--memory", "64M", NULL};
    struct daemon daemon;
    granary_client *client;
    unsigned put = 0;
    bool good;

    if ((unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=96m") < 0) {
        return SKIPPED;
    }
    if (!daemon_start(&daemon, arguments)) {
        return 1;
    }
    client = connect_to(&daemon);
    good = client != NULL;
    for (uint64_t n = 0; good && n < 20; n++) {
        good = fixture_put(client, n, MIB, 0) == GRANARY_OK;
    }
    /* Room is left for some objects at a time: the budget is smaller now, and spilling goes on. */
    good = good && fill_but(16 * MIB) && puts_are_clean(client, 1000, 5000, &put) && put > OBJECTS / 2;
    good = good && fill_but(0) && puts_are_clean(client, 2000, 10, &put);
    for (uint64_t n = 0; good && n < 20; n++) {
        granary_view view;

        /* Those in memory can be read; a spilled one has no room to come back to. */
        if (granary_object_get(client, fixture_id(n), 0, &view) == GRANARY_OK) {
            good = fixture_content_is(view.data, n, MIB);
            granary_object_release(client, &view);
        }
    }
    (void)unlink("/dev/shm/others");
    for (uint64_t n = 0; good && n < 20; n++) {
        good = reads(client, n, MIB);
    }
    good = good && puts_are_clean(client, 3000, 5000, &put) && put == OBJECTS;
    granary_disconnect(client);
    return daemon_stop(&daemon) && good ? 0 : 1;
}

/* In a process of its own: what it does to itself cannot be undone. */
static void
run(int (*body)(void))
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        _exit(body());
    }
    status = fixture_wait(child);
    if (status == SKIPPED) {
        skip();
    }
    assert_int_equal(status, 0);
}

static void
an_old_kernel_does(void **state)
{
    (void)state;
    run(old_kernel);
}

static void
a_full_tmpfs_is_an_error(void **state)
{
    (void)state;
    run(small_tmpfs);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_kernel_does),
        cmocka_unit_test(a_full_tmpfs_is_an_error),
    };

    return cmocka_run_group_tests_name("pages", tests, NULL, NULL);
}
