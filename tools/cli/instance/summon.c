/*
 * An instance that a service manager starts when somebody connects to its store (socket activation): the socket is there
 * and takes connections, and no store and no supervisor has its lock. Whoever connects has started it, and waits for what
 * a supervisor writes when all is ready.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/process/daemon.h"
#include "cli/instance/supervisor/supervisor.h"

#define START_MS 60000

/* A store that somebody started by hand has an instance without a supervisor: nobody is to be waited for. */
static bool
store_serves(const struct gr_instance *instance)
{
    char path[PATH_MAX];
    int fd = -1;
    granary_err err;

    (void)snprintf(path, sizeof path, "%s/store.lock", instance->runtime);
    err = gr_daemon_lock(path, false, &fd, NULL);
    gr_fd_close(&fd);
    return err == GRANARY_EBUSY;
}

/* -1: nobody listens there. */
static int
connect_to(const struct gr_instance *instance)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (snprintf(address.sun_path, sizeof address.sun_path, "%s/store.sock", instance->runtime) >=
            (int)sizeof address.sun_path ||
        (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0)) {
        gr_fd_close(&fd);
    }
    return fd;
}

/* Whether the supervisor that runs has written that all is ready; one that was killed may have left such a file, too. */
static bool
is_ready(const struct gr_instance *instance)
{
    char path[PATH_MAX], names[48];
    char *text = NULL;
    size_t size;
    pid_t pid = supervisor_running(instance);
    bool ready;

    (void)snprintf(path, sizeof path, "%s/instance.json", instance->runtime);
    (void)snprintf(names, sizeof names, "\"supervisor_pid\": %d,", (int)pid);
    ready = pid > 0 && gr_file_read(path, 1 << 16, &text, &size) == GRANARY_OK && strstr(text, names) != NULL;
    free(text);
    return ready;
}

static granary_err
await_ready(const struct gr_instance *instance, int socket_fd, int watch_fd)
{
    struct pollfd fds[2] = {{.fd = watch_fd, .events = POLLIN}, {.fd = socket_fd, .events = POLLRDHUP}};
    int64_t deadline = gr_deadline_ns(START_MS);
    char events[4096];

    while (!is_ready(instance)) {
        if (fds[1].revents != 0 && supervisor_running(instance) == 0) {
            return gr_fail(GRANARY_EUNREACHABLE,
                           "instance %s has a socket, and what is behind it did not start: `systemctl --user status "
                           "granary@%s` tells why",
                           instance->name, instance->name);
        }
        fds[1].fd = fds[1].revents != 0 ? -1 : fds[1].fd; /* the store has taken it, and waits for no hello */
        if (poll(fds, 2, gr_left_ms(deadline)) == 0) {
            return gr_fail(GRANARY_ETIMEDOUT, "instance %s was asked to start by its socket, and is not ready",
                           instance->name);
        }
        (void)!read(watch_fd, events, sizeof events);
    }
    return GRANARY_OK;
}

/* Nobody holds the locks: the socket, if there is one, is a service manager's, or a dead store's. */
static granary_err
summon(const struct gr_instance *instance, bool *ret_up)
{
    int watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int socket_fd = -1;
    granary_err err = GRANARY_OK;

    if (watch_fd >= 0 && inotify_add_watch(watch_fd, instance->runtime, IN_MOVED_TO) >= 0 &&
        (socket_fd = connect_to(instance)) >= 0) {
        err = await_ready(instance, socket_fd, watch_fd);
        *ret_up = err == GRANARY_OK;
    }
    gr_fd_close(&socket_fd);
    gr_fd_close(&watch_fd);
    return err;
}

granary_err
supervisor_summon(const struct gr_instance *instance, bool *ret_up)
{
    *ret_up = supervisor_running(instance) != 0;
    return *ret_up || store_serves(instance) ? GRANARY_OK : summon(instance, ret_up);
}
