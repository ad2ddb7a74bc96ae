/*
 * Who may ask. Other programs of the machine and pages of other sites can send requests to a port of the loopback device,
 * so nothing is answered before it was judged:
 *
 *  - Host must name this machine: a name of another site that leads to 127.0.0.1 (DNS rebinding) is refused.
 *  - Origin, where a browser sends it, must be the same; a request that another site's page makes is refused.
 *  - On a port, the path begins with a word that is made at each start but that after a kill, and what tells of the instance needs a token. The
 *    page has it from the URL's fragment, and gets a cookie for it. The cookie is of that path, because browsers send one
 *    to every port of a host.
 *  - Only GET and HEAD exist.
 */
#ifndef WEB_GUARD_H
#define WEB_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "granary/types.h"

#define GUARD_SECRET 33 /* hex digits of 16 bytes, and a NUL */
#define GUARD_URL    1024

struct guard {
    bool open;                /* a unix socket: who can connect may ask */
    char token[GUARD_SECRET]; /* ... else this is needed */
    char word[GUARD_SECRET];  /* ... and paths begin with it */
    const char *host;         /* another name that Host may have, of a proxy; NULL: none */
};

/* What a request says; NULL: it does not. */
struct guard_request {
    const char *method;
    const char *path; /* unescaped */
    const char *host;
    const char *origin;
    const char *site; /* Sec-Fetch-Site */
    const char *cookie;
    const char *authorization;
    bool body;    /* it brings one */
    bool doubled; /* one of these headers came twice */
};

/* With a new token and word. Errors: EIO the kernel gives no random bytes */
granary_err guard_init(struct guard *guard, bool open, const char *host);
/* Those of "WORD/#TOKEN" in the place of new ones. False: it is not that, and nothing was changed. */
bool guard_resume(struct guard *guard, const char *text);

/*
 * Judge a request.
 *
 * ret_path  within the page: "", "api/graphs", ...; part of the request's
 * ret_why   a sentence for an error
 * Returns   0 or an HTTP status
 */
unsigned guard_judge(const struct guard *guard, const struct guard_request *request, const char **ret_path,
                     const char **ret_why);

/* The Set-Cookie of a page that has shown the token. */
void guard_cookie(const struct guard *guard, char *text, size_t size);

#endif
