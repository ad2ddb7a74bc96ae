/*
 * Where granary-web is reached: a unix socket that only this user may connect to, or a port of the loopback device. No
 * other address is taken.
 */
#ifndef WEB_LISTEN_H
#define WEB_LISTEN_H

#include <stdbool.h>

#include "base/instance.h"

struct listening {
    int fd; /* -1: none */
    bool is_unix;
    char host[16]; /* TCP: as in a URL */
    unsigned port;
    char path[108]; /* of the unix socket, removed by listening_close() */
};

/*
 * text    unix:PATH, 127.0.0.1:PORT, localhost:PORT or [::1]:PORT; port 0: any that is free. NULL: web.sock in the
 *         instance's directory
 * Errors  EINVAL none of these · EEXIST somebody listens there · EPERM · EUNREACHABLE the instance has no directory
 */
granary_err listening_open(const char *text, const struct gr_instance *instance, struct listening *ret_listening);
/* Whether a unix socket has its name still; a port has. */
bool listening_is_there(const struct listening *listening);
/* One that is not open is fine. */
void listening_close(struct listening *listening);

#endif
