/* How much memory a store takes when nobody says, and sizes as people write them. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

#include "base/error.h"
#include "base/fd.h"
#include "store/store.h"

/* The number in a file such as memory.max; UINT64_MAX when there is none ("max"). */
static uint64_t
limit_in(const char *path)
{
    uint64_t limit = UINT64_MAX;
    size_t size;
    char *text;

    if (gr_file_read(path, 4096, &text, &size) == GRANARY_OK) {
        if (isdigit((unsigned char)text[0])) {
            limit = strtoull(text, NULL, 10);
        }
        free(text);
    }
    return limit;
}

/* The smallest limit on the way from a cgroup up to the root. path is spent. */
static uint64_t
limit_up(const char *mount, char *path, const char *file)
{
    uint64_t least = UINT64_MAX;

    for (;;) {
        char name[1024];
        char *slash;
        uint64_t limit;

        (void)snprintf(name, sizeof name, "%.400s%.500s/%.60s", mount, path, file);
        limit = limit_in(name);
        least = limit < least ? limit : least;
        slash = strrchr(path, '/');
        if (slash == NULL) {
            return least;
        }
        *slash = '\0';
    }
}

/* Version 2: "0::/path"; version 1: "5:memory:/path". */
static uint64_t
cgroup_limit(void)
{
    uint64_t least = UINT64_MAX;
    size_t size;
    char *text;
    char *rest = NULL;

    if (gr_file_read("/proc/self/cgroup", 1 << 16, &text, &size) != GRANARY_OK) {
        return least;
    }
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':');
        char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        uint64_t limit = UINT64_MAX;

        if (path == NULL) {
            continue;
        }
        *path++ = '\0';
        if (controllers[1] == '\0') {
            limit = limit_up("/sys/fs/cgroup", path, "memory.max");
        } else if (strstr(controllers + 1, "memory") != NULL) {
            limit = limit_up("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes");
        }
        least = limit < least ? limit : least;
    }
    free(text);
    return least;
}

uint64_t
store_default_memory(void)
{
    uint64_t least = cgroup_limit();
    struct sysinfo info;
    struct statvfs shm;
    uint64_t memory;

    if (sysinfo(&info) == 0 && (uint64_t)info.totalram * info.mem_unit < least) {
        least = (uint64_t)info.totalram * info.mem_unit;
    }
    if (statvfs("/dev/shm", &shm) == 0 && (uint64_t)shm.f_blocks * shm.f_frsize < least) {
        least = (uint64_t)shm.f_blocks * shm.f_frsize;
    }
    memory = least / 2;
    /* Others use /dev/shm too: nobody asked for so much that it should fail because of them. */
    if (statvfs("/dev/shm", &shm) == 0 && (uint64_t)shm.f_bavail * shm.f_frsize / 10 * 9 < memory) {
        memory = (uint64_t)shm.f_bavail * shm.f_frsize / 10 * 9;
    }
    return memory / 4096 * 4096;
}
