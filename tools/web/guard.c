/* Names are compared without their case and port; secrets in a time that does not tell how much was right. */
#include "web/guard.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/error.h"

#define COOKIE "granary="

static granary_err
make_secret(char secret[GUARD_SECRET])
{
    unsigned char bytes[GUARD_SECRET / 2];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return gr_fail_errno("random bytes for a token");
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        (void)snprintf(secret + 2 * i, 3, "%02x", bytes[i]);
    }
    return GRANARY_OK;
}

granary_err
guard_init(struct guard *guard, bool open, const char *host)
{
    granary_err err;

    *guard = (struct guard){.open = open, .host = host};
    err = make_secret(guard->token);
    return err == GRANARY_OK ? make_secret(guard->word) : err;
}

bool
guard_resume(struct guard *guard, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    const char *token = text + GUARD_SECRET + 1;

    if (strlen(text) != 2 * GUARD_SECRET || strspn(text, digits) != GUARD_SECRET - 1 ||
        strncmp(text + GUARD_SECRET - 1, "/#", 2) != 0 || strspn(token, digits) != GUARD_SECRET - 1) {
        return false;
    }
    memcpy(guard->word, text, GUARD_SECRET - 1);
    memcpy(guard->token, token, GUARD_SECRET - 1);
    return true;
}

/* Whether text begins with the secret, which nothing but one of these characters may follow. */
static bool
has_secret(const char *secret, const char *text, const char *ends)
{
    unsigned char differs = 0;

    if (strnlen(text, GUARD_SECRET) < GUARD_SECRET - 1) {
        return false;
    }
    for (size_t i = 0; i < GUARD_SECRET - 1; i++) {
        differs |= (unsigned char)(secret[i] ^ text[i]);
    }
    return differs == 0 && (text[GUARD_SECRET - 1] == '\0' || strchr(ends, text[GUARD_SECRET - 1]) != NULL);
}

static bool
is_named(const char *host, const char *name)
{
    size_t length = strlen(name);

    return strncasecmp(host, name, length) == 0 &&
           (host[length] == '\0' ||
            (host[length] == ':' && strspn(host + length + 1, "0123456789") == strlen(host + length + 1)));
}

static bool
is_this_machine(const struct guard *guard, const char *host)
{
    return is_named(host, "127.0.0.1") || is_named(host, "localhost") || is_named(host, "[::1]") ||
           (guard->host != NULL && is_named(host, guard->host));
}

/* "http://HOST" or "https://HOST": a proxy may have added TLS. */
static bool
is_same_origin(const char *origin, const char *host)
{
    return (strncasecmp(origin, "http://", 7) == 0 && strcasecmp(origin + 7, host) == 0) ||
           (strncasecmp(origin, "https://", 8) == 0 && strcasecmp(origin + 8, host) == 0);
}

static bool
shows_token(const struct guard *guard, const struct guard_request *request)
{
    const char *at = request->cookie;

    if (request->authorization != NULL && strncasecmp(request->authorization, "Bearer ", 7) == 0 &&
        has_secret(guard->token, request->authorization + 7, "")) {
        return true;
    }
    while (at != NULL) {
        at += strspn(at, " ;");
        if (strncmp(at, COOKIE, strlen(COOKIE)) == 0 && has_secret(guard->token, at + strlen(COOKIE), "; ")) {
            return true;
        }
        at = strchr(at, ';');
    }
    return false;
}

/* What tells of the instance; the rest is the page itself, the same everywhere. */
static bool
is_secret(const char *path)
{
    return strncmp(path, "api/", 4) == 0 || strcmp(path, "events") == 0 || strcmp(path, "metrics") == 0 ||
           strcmp(path, "trace.json") == 0 || strcmp(path, "login") == 0;
}

unsigned
guard_judge(const struct guard *guard, const struct guard_request *request, const char **ret_path, const char **ret_why)
{
    const char *path = request->path;

    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0) {
        *ret_why = "the page only reads: there are GET and HEAD";
        return 405;
    }
    if (request->body || request->doubled || path[0] != '/') {
        *ret_why = request->body      ? "a request brings no body"
                   : request->doubled ? "a header came twice"
                                      : "a path begins with a slash";
        return 400;
    }
    if (strlen(path) > GUARD_URL) {
        *ret_why = "the path is too long";
        return 414;
    }
    if (request->host == NULL || !is_this_machine(guard, request->host)) {
        *ret_why = "the Host header does not name this machine: a proxy's name is allowed with --host";
        return 403;
    }
    if (request->origin != NULL && !is_same_origin(request->origin, request->host)) {
        *ret_why = "another site's page asks";
        return 403;
    }
    path++;
    if (!guard->open) {
        if (!has_secret(guard->word, path, "/") || path[GUARD_SECRET - 1] != '/') {
            *ret_why = "no such page: `granary web` prints its address";
            return 404;
        }
        path += GUARD_SECRET;
    }
    if (is_secret(path)) {
        if (request->site != NULL && strcmp(request->site, "same-origin") != 0 && strcmp(request->site, "none") != 0) {
            *ret_why = "another site's page asks";
            return 403;
        }
        if (!guard->open && !shows_token(guard, request)) {
            *ret_why = "the token is missing or old: open the address that `granary web` prints";
            return 401;
        }
    }
    *ret_path = path;
    return 0;
}

void
guard_cookie(const struct guard *guard, char *text, size_t size)
{
    (void)snprintf(text, size, COOKIE "%s; HttpOnly; SameSite=Strict", guard->token);
}
