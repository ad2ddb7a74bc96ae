/*
 * The page's server: libmicrohttpd in a thread of its own, which judges each request (guard.h) and answers it: files of
 * the page, questions (jobs.h), and events (streams.h).
 */
#ifndef WEB_SERVER_H
#define WEB_SERVER_H

#include <stdbool.h>

#include "base/instance.h"

struct server_options {
    struct gr_instance instance;
    const char *listen; /* as listening_open() takes it, or NULL */
    const char *host;   /* another name that Host may have, or NULL */
    int interval_ms;    /* between two samples */
    int patience_ms;    /* for an answer, and for a reader that takes nothing */
    const char
        *left; /* the address of a server that was killed: when `listen` is that, or port 0 there, it is taken over
                           with its token, and pages that are open go on; NULL: there is none */
};

#define SERVER_URL_MAX 256

struct server;

/* Errors: what listening_open() gives · ENOENT no granary beside this program · ENOMEM */
granary_err server_create(const struct server_options *options, struct server **ret_server);
/* Where the page is: with its token, or unix:PATH. */
void server_url(const struct server *server, char url[SERVER_URL_MAX]);
/* Takes samples until stop_fd is readable, or until nobody can connect any more: the unix socket was removed. */
void server_run(struct server *server, int stop_fd);
/* NULL is fine. False: a thread hangs with what it asks, and not all was freed: the process should end. */
bool server_destroy(struct server *server);

#endif
