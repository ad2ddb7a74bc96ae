/* Libraries of user code, for granary export. */
#ifndef CLI_LIBRARY_H
#define CLI_LIBRARY_H

#include "cli/command/cli.h"

/* Whether a text names a shared object, and not an object of the store: a file that is one, or a name ending in .so. */
bool library_is_file(const char *text);

/* Export it on cli->client and print its version; name may be NULL. Returns the exit status. */
int library_export(struct cli *cli, const char *path, const char *name);

#endif
