/* A socket that a dead granary-web left is taken over; one that answers, or another file, is not touched. */
#include "web/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "options/options.h"

#define BACKLOG 1024

union address {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

static granary_err
make_socket(int family, int *ret_fd)
{
    *ret_fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return *ret_fd >= 0 ? GRANARY_OK : gr_fail_errno("a socket for the page");
}

/* Whether a socket lies there to which nobody listens: its owner died. */
static bool
is_left_over(const union address *address)
{
    struct stat st;
    int fd;
    bool refused;

    if (lstat(address->local.sun_path, &st) < 0 || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid() ||
        make_socket(AF_UNIX, &fd) != GRANARY_OK) {
        return false;
    }
    refused = connect(fd, &address->any, sizeof address->local) < 0 && errno == ECONNREFUSED;
    gr_fd_close(&fd);
    return refused;
}

static granary_err
listen_unix(const char *path, struct listening *listening)
{
    union address address = {.local = {.sun_family = AF_UNIX}};
    granary_err err;

    if (strlen(path) >= sizeof address.local.sun_path || path[0] == '\0') {
        return gr_fail(GRANARY_EINVAL, "--listen unix:%.64s: the path has no character, or more than %zu", path,
                       sizeof address.local.sun_path - 1);
    }
    (void)snprintf(address.local.sun_path, sizeof address.local.sun_path, "%s", path);
    err = make_socket(AF_UNIX, &listening->fd);
    if (err != GRANARY_OK) {
        return err;
    }
    if (is_left_over(&address)) {
        (void)unlink(path);
    }
    if (bind(listening->fd, &address.any, sizeof address.local) < 0) {
        return errno == EADDRINUSE ? gr_fail(GRANARY_EEXIST,
                                             "%s: the page is served there already (`granary status` prints its "
                                             "address), or another file lies there: name another place with --listen",
                                             path)
                                   : gr_fail_errno("%s", path);
    }
    listening->is_unix = true;
    (void)snprintf(listening->path, sizeof listening->path, "%s", path);
    return GRANARY_OK;
}

static granary_err
listen_tcp(const char *text, const char *colon, struct listening *listening)
{
    union address address = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t size;
    int64_t port;
    granary_err err = gr_option_number(colon + 1, 0, 65535, &port);

    if (err != GRANARY_OK) {
        return gr_fail_in(err, "--listen %.64s", text);
    }
    (void)snprintf(listening->host, sizeof listening->host, "%.*s", (int)(colon - text), text);
    if (strcmp(listening->host, "127.0.0.1") == 0 || strcmp(listening->host, "localhost") == 0) {
        address.four = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        address.four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else if (strcmp(listening->host, "[::1]") == 0) {
        address.six = (struct sockaddr_in6){
            .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    } else {
        return gr_fail(GRANARY_EINVAL,
                       "--listen %.64s: other machines would reach that: name 127.0.0.1, localhost or [::1], and let "
                       "ssh -L carry it further",
                       text);
    }
    size = address.any.sa_family == AF_INET ? sizeof address.four : sizeof address.six;
    err = make_socket(address.any.sa_family, &listening->fd);
    if (err == GRANARY_OK) {
        (void)setsockopt(listening->fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
        if (bind(listening->fd, &address.any, size) < 0) {
            return errno == EADDRINUSE ? gr_fail(GRANARY_EEXIST,
                                                 "--listen %s: another program has the port: name port 0 for any that "
                                                 "is free",
                                                 text)
                                       : gr_fail_errno("--listen %s", text);
        }
        (void)getsockname(listening->fd, &address.any, &size);
        listening->port = ntohs(address.any.sa_family == AF_INET ? address.four.sin_port : address.six.sin6_port);
    }
    return err;
}

granary_err
listening_open(const char *text, const struct gr_instance *instance, struct listening *ret_listening)
{
    const char *colon = text == NULL ? NULL : strrchr(text, ':');
    struct listening listening = {.fd = -1};
    char path[160];
    granary_err err;

    if (text == NULL) {
        (void)snprintf(path, sizeof path, "%s/web.sock", instance->runtime);
        err =
            access(instance->runtime, F_OK) < 0
                ? gr_fail(GRANARY_EUNREACHABLE, "instance %s: not running: start it with `granary up`", instance->name)
                : listen_unix(path, &listening);
    } else if (strncmp(text, "unix:", 5) == 0) {
        err = listen_unix(text + 5, &listening);
    } else if (colon != NULL) {
        err = listen_tcp(text, colon, &listening);
    } else {
        err = gr_fail(GRANARY_EINVAL, "--listen %.64s: it is unix:PATH or 127.0.0.1:PORT", text);
    }
    if (err == GRANARY_OK && listen(listening.fd, BACKLOG) < 0) {
        err = errno == EADDRINUSE ? gr_fail(GRANARY_EEXIST, "--listen %s: another program has the port", text)
                                  : gr_fail_errno("the page's socket");
    }
    if (err != GRANARY_OK) {
        listening_close(&listening);
        return err;
    }
    *ret_listening = listening;
    return GRANARY_OK;
}

bool
listening_is_there(const struct listening *listening)
{
    return !listening->is_unix || access(listening->path, F_OK) == 0;
}

void
listening_close(struct listening *listening)
{
    gr_fd_close(&listening->fd);
    if (listening->path[0] != '\0') {
        (void)unlink(listening->path);
        listening->path[0] = '\0';
    }
}
