/* A connected datagram socket that never waits. */
#include "base/process/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

#define FIRST_FD 3 /* of those that a manager hands over */

/* A variable's number, when the one that names the process it is for is of this one; else 0. */
static int64_t
number_for_us(const char *variable, const char *whom)
{
    const char *text = getenv(variable);
    const char *pid = getenv(whom);
    int64_t number = text == NULL ? 0 : strtoll(text, NULL, 10);

    return pid != NULL && strtol(pid, NULL, 10) != (long)getpid() ? 0 : number;
}

/* A path, or "@name" of an abstract socket. Returns -1 when it is neither, or nobody is there. */
static int
reach(const char *where)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(where);
    int fd;

    if (length < 2 || length >= sizeof address.sun_path || (where[0] != '/' && where[0] != '@')) {
        return -1;
    }
    memcpy(address.sun_path, where, length);
    if (where[0] == '@') {
        address.sun_path[0] = '\0';
    }
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address,
                           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0) {
        gr_fd_close(&fd);
    }
    return fd;
}

void
gr_notify_open(struct gr_notify *ret_notify)
{
    const char *where = getenv("NOTIFY_SOCKET");
    int64_t usec = number_for_us("WATCHDOG_USEC", "WATCHDOG_PID");

    ret_notify->fd = where == NULL ? -1 : reach(where);
    ret_notify->watchdog_ns = ret_notify->fd >= 0 && usec > 0 && usec < INT64_MAX / 1000 ? usec * 1000 : 0;
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
}

void
gr_notify_tell(const struct gr_notify *notify, const char *format, ...)
{
    char text[512];
    va_list args;
    int length;

    if (notify->fd < 0) {
        return;
    }
    va_start(args, format);
    length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    length = length < (int)sizeof text ? length : (int)sizeof text - 1;
    (void)send(notify->fd, text, (size_t)length, MSG_NOSIGNAL);
}

void
gr_notify_close(struct gr_notify *notify)
{
    gr_fd_close(&notify->fd);
}

/* Whether it listens at this path. */
static bool
listens_at(int fd, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNSPEC};
    socklen_t size = sizeof address - 1; /* a byte of 0 stays behind the path */
    int listens = 0;
    socklen_t listens_size = sizeof listens;

    return getsockname(fd, (struct sockaddr *)&address, &size) == 0 && address.sun_family == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) == 0 && listens != 0 &&
           strcmp(address.sun_path, path) == 0;
}

int
gr_notify_take_socket(const char *path)
{
    int64_t count = number_for_us("LISTEN_FDS", "LISTEN_PID");
    int taken = -1;

    for (int fd = FIRST_FD; fd < FIRST_FD + (count < 64 ? count : 64); fd++) {
        if (taken < 0 && listens_at(fd, path)) {
            taken = fcntl(fd, F_DUPFD_CLOEXEC, 16); /* away from the numbers that daemons are started with */
        }
        (void)close(fd);
    }
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDNAMES");
    return taken;
}
