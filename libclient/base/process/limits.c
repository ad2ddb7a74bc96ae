/* Memory limits: the machine's memory, and the limits of the cgroups above this process. */
#include "base/process/limits.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

#include "base/error.h"
#include "base/fd.h"

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

struct gr_memory_limits
gr_memory_limits(void)
{
    struct gr_memory_limits limits = {
        .cgroup = cgroup_limit(), .ram = UINT64_MAX, .shm = UINT64_MAX, .shm_free = UINT64_MAX};
    struct sysinfo info;
    struct statvfs shm;

    if (sysinfo(&info) == 0) {
        limits.ram = (uint64_t)info.totalram * info.mem_unit;
    }
    if (statvfs("/dev/shm", &shm) == 0) {
        limits.shm = (uint64_t)shm.f_blocks * shm.f_frsize;
        limits.shm_free = (uint64_t)shm.f_bavail * shm.f_frsize;
    }
    return limits;
}

uint64_t
gr_memory_least(const struct gr_memory_limits *limits, const char **ret_name)
{
    const struct {
        const char *name;
        uint64_t bytes;
    } all[] = {{"cgroup", limits->cgroup}, {"RAM", limits->ram}, {"/dev/shm", limits->shm}};
    size_t least = 0;

    for (size_t i = 1; i < sizeof all / sizeof all[0]; i++) {
        least = all[i].bytes < all[least].bytes ? i : least;
    }
    if (ret_name != NULL) {
        *ret_name = all[least].name;
    }
    return all[least].bytes;
}

uint64_t
gr_memory_default_of(const struct gr_memory_limits *limits, const char **ret_why)
{
    const char *name;
    uint64_t memory = gr_memory_least(limits, &name) / 2;
    uint64_t most = limits->shm_free / 10 * 9;

    *ret_why = strcmp(name, "cgroup") == 0 ? "half of the cgroup's limit"
               : strcmp(name, "RAM") == 0  ? "half of RAM"
                                           : "half of /dev/shm";
    /* Others use /dev/shm too: nobody asked for so much that it should fail because of them. */
    if (most < memory) {
        *ret_why = "nine tenths of what is free in /dev/shm";
        memory = most;
    }
    return memory / 4096 * 4096;
}

uint64_t
gr_memory_default(void)
{
    struct gr_memory_limits limits = gr_memory_limits();
    const char *why;

    return gr_memory_default_of(&limits, &why);
}

int
gr_usable_cpus(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
}
