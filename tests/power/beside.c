#include "power/beside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[400];

void
beside_find_daemons(void)
{
    char path[512];
    ssize_t size = readlink("/proc/self/exe", folder, sizeof folder - 1);

    folder[size < 0 ? 0 : size] = '\0';
    if (strrchr(folder, '/') != NULL) {
        *strrchr(folder, '/') = '\0';
    }
    (void)snprintf(path, sizeof path, "%s/../bin", folder);
    (void)setenv("GRANARY_BIN", path, 0);
}

void
beside_preload(const char *library)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%s", folder, library == NULL ? "" : library);
    (void)(library == NULL ? unsetenv("LD_PRELOAD") : setenv("LD_PRELOAD", path, 1));
}
