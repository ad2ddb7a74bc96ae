/* A service manager of our own: what it is told on a path and on an abstract name, and which socket it hands over. */
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/process/notify.h"

/* A bound socket of this kind. */
static int
bound(int kind, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    int fd = socket(AF_UNIX, kind | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0 && length < sizeof address.sun_path);
    memcpy(address.sun_path, name, length);
    address.sun_path[0] = name[0] == '@' ? '\0' : name[0];
    assert_int_equal(
        bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)), 0);
    return fd;
}

static void
told_on(const char *name)
{
    char text[64] = "";
    struct gr_notify notify;
    int fd = bound(SOCK_DGRAM, name);

    (void)setenv("NOTIFY_SOCKET", name, 1);
    (void)setenv("WATCHDOG_USEC", "2000000", 1);
    gr_notify_open(&notify);
    assert_true(notify.fd >= 0);
    assert_int_equal(notify.watchdog_ns, 2000000000);
    assert_null(getenv("NOTIFY_SOCKET")); /* what is started from here is no service */
    assert_null(getenv("WATCHDOG_USEC"));
    gr_notify_tell(&notify, "READY=1\nSTATUS=%d executors", 3);
    assert_int_equal(recv(fd, text, sizeof text - 1, 0), strlen("READY=1\nSTATUS=3 executors"));
    assert_string_equal(text, "READY=1\nSTATUS=3 executors");
    gr_fd_close(&fd);
    gr_notify_tell(&notify, "STOPPING=1"); /* nobody listens any more: no harm */
    gr_notify_close(&notify);
}

static void
a_manager_hears(void **state)
{
    char name[64];

    (void)state;
    (void)snprintf(name, sizeof name, "/tmp/granary-notify-%d", (int)getpid());
    told_on(name);
    (void)unlink(name);
    (void)snprintf(name, sizeof name, "@granary-notify-%d", (int)getpid());
    told_on(name);
}

static void
no_manager_is_fine(void **state)
{
    static const char *const names[] = {"/tmp/no such socket", "relative", "", "/"};
    struct gr_notify notify;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)setenv("NOTIFY_SOCKET", names[i], 1);
        gr_notify_open(&notify);
        assert_int_equal(notify.fd, -1);
        gr_notify_tell(&notify, "READY=1");
    }
    (void)setenv("WATCHDOG_USEC", "2000000", 1);
    (void)setenv("WATCHDOG_PID", "1", 1);
    gr_notify_open(&notify);
    assert_int_equal(notify.watchdog_ns, 0); /* another process's */
}

/* Sockets 3 and up of a child, as a manager leaves them: the one that listens at the path is taken, the rest closed. */
static void
the_socket_is_found(void **state)
{
    char path[64], other[64], pid[16];
    int listens, datagram;

    (void)state;
    (void)snprintf(path, sizeof path, "/tmp/granary-listen-%d", (int)getpid());
    (void)snprintf(other, sizeof other, "/tmp/granary-other-%d", (int)getpid());
    listens = bound(SOCK_STREAM, path);
    datagram = bound(SOCK_DGRAM, other);
    assert_int_equal(listen(listens, 1), 0);
    listens = fcntl(listens, F_DUPFD, 40); /* the numbers themselves may be 3 and 4 */
    datagram = fcntl(datagram, F_DUPFD, 40);
    assert_int_equal(dup2(datagram, 3), 3);
    assert_int_equal(dup2(listens, 4), 4);
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    (void)setenv("LISTEN_FDS", "2", 1);
    (void)setenv("LISTEN_PID", "1", 1);
    assert_int_equal(gr_notify_take_socket(path), -1); /* for somebody else */
    (void)setenv("LISTEN_FDS", "2", 1);
    (void)setenv("LISTEN_PID", pid, 1);
    listens = gr_notify_take_socket(path);
    assert_true(listens >= 16);
    assert_int_equal(fcntl(listens, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(3, F_GETFD), -1);
    assert_int_equal(fcntl(4, F_GETFD), -1);
    assert_int_equal(gr_notify_take_socket(path), -1); /* taken once */
    (void)unlink(path);
    (void)unlink(other);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manager_hears),
        cmocka_unit_test(no_manager_is_fine),
        cmocka_unit_test(the_socket_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
