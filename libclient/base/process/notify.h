/*
 * A service manager that started this process hears how it goes: systemd's protocol of sd_notify(3), which is lines
 * NAME=VALUE in a datagram to the socket of $NOTIFY_SOCKET. And the sockets that it made before: sd_listen_fds(3).
 *
 * The variables are for this process alone, and are removed: what it starts is nobody's service.
 */
#ifndef BASE_PROCESS_NOTIFY_H
#define BASE_PROCESS_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct gr_notify {
    int fd;              /* -1: nobody listens */
    int64_t watchdog_ns; /* so often WATCHDOG=1 is expected; 0: never */
};

/* Read $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID. A socket that cannot be reached is none. */
void gr_notify_open(struct gr_notify *ret_notify);

/* "READY=1\nSTATUS=..."; the manager may be gone, or slow: then the text is lost. */
void gr_notify_tell(const struct gr_notify *notify, const char *format, ...) __attribute__((format(printf, 2, 3)));

void gr_notify_close(struct gr_notify *notify);

/*
 * The listening unix socket that was made for this process ($LISTEN_FDS, $LISTEN_PID), close-on-exec; -1: there is none.
 * path is where it is bound to: other sockets that were handed over are closed.
 */
int gr_notify_take_socket(const char *path);

#endif
