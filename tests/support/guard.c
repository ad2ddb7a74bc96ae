/* Starts guard.py, in a session of its own. */
#include "support/guard.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool
guard_start(const char *directory)
{
    char line[PATH_MAX + 256];

    (void)snprintf(line, sizeof line, "exec setsid --fork python3 '%s' %d '%s'", GUARD, (int)getpid(), directory);
    return system(line) == 0;
}
