/* The memory level: objects there are the index's and the segments' business; the table says how much room there is. */
#include <sys/statvfs.h>

#include "base/error.h"
#include "store/level/level.h"

static granary_err
memory_probe(const struct level_options *options, struct level_capacity *ret_capacity)
{
    struct statvfs shm;

    (void)options;
    if (statvfs("/dev/shm", &shm) < 0) {
        return gr_fail_errno("/dev/shm");
    }
    *ret_capacity = (struct level_capacity){
        .total = (uint64_t)shm.f_blocks * shm.f_frsize,
        .available = (uint64_t)shm.f_bavail * shm.f_frsize,
    };
    return GRANARY_OK;
}

const struct level_ops level_memory = {
    .name = "memory",
    .level = GRANARY_LEVEL_MEMORY,
    .flags = LEVEL_SEEKABLE,
    .probe = memory_probe,
};
