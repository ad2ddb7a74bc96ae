/* Which scheduler is at an endpoint: a new one binds a new socket file. */
#ifndef EXECUTOR_LINK_ENDPOINT_H
#define EXECUTOR_LINK_ENDPOINT_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

struct endpoint {
    ino_t ino;
    struct timespec changed;
};

/* Look. false: none is there now. */
bool endpoint_look(const char *path, struct endpoint *ret_endpoint);

/* Whether another one is there than the one seen before; none at all is no other one. */
bool endpoint_changed(const char *path, const struct endpoint *seen);

#endif
