/* Something that another process does to a table or a channel, and that its death cuts short at any instruction. */
#ifndef STORE_KILLED_H
#define STORE_KILLED_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/store.h"

struct killed_deed {
    void *(*open)(granary_client *client, const char *name, void *context);
    void (*run)(void *opened, void *context);
    /* Not NULL: the child is not killed. It stops, this is done here, and it goes on. */
    void (*meanwhile)(void *context);
    void *context;
};

/*
 * Do it in a child of its own client and handle. The child is killed -9 after so many instructions of `run`; when it is done
 * before, it ends by itself. Returns whether it was killed, or stopped.
 */
bool killed_do(void **state, const char *name, const struct killed_deed *deed, uint64_t instructions);

#endif
