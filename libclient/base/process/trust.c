/* Users that are trusted. */
#include "base/process/trust.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"

/* In a user namespace whoever has no number there has this one, root outside included. */
static bool
is_unmapped(uid_t uid)
{
    unsigned long count = UINT32_MAX;
    char *text = NULL;
    size_t size;

    if (uid != 65534 || gr_file_read("/proc/self/uid_map", 4096, &text, &size) != GRANARY_OK) {
        return false;
    }
    (void)sscanf(text, "%*u %*u %lu", &count);
    free(text);
    return count != UINT32_MAX; /* the first namespace has all of them */
}

bool
gr_uid_trusted(uid_t uid)
{
    return uid == 0 || uid == geteuid() || is_unmapped(uid);
}
