/* What a store is started with. */
#ifndef STORE_CORE_OPTIONS_H
#define STORE_CORE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/shm.h"
#include "granary/types.h"

struct store_place {
    const char *dir; /* a directory of its own is made in it */
    uint64_t quota;  /* of what lies there; 0: none */
};

struct store_options {
    const char *instance;  /* name or runtime directory; NULL: as gr_instance_resolve() */
    uint64_t memory_bytes; /* budget; 0: half of the smallest of cgroup limit, RAM and /dev/shm */
    struct store_place spill[GR_SPILL_DIRS];
    unsigned spill_count;        /* 0: the instance's default */
    uint64_t disk_quota_bytes;   /* of all of them together; 0: none */
    granary_levels levels;       /* to be used; 0: memory, disk, and remote when there is a remote_dir */
    const char *remote_dir;      /* as those, of the remote level; NULL: there is none */
    uint64_t remote_quota_bytes; /* 0: none */
    uint64_t user_bytes;         /* that each user of the group may have in memory; 0: no limit */
    const char *group;           /* whose members may connect beside the store's own user; NULL: nobody */
    unsigned high_percent;       /* of the budget without a copy: spilling begins by itself; 0: 90 */
    unsigned low_percent;        /* ... and ends, below high_percent; 0: 75, or what fits */
    int listen_fd;               /* somebody else's listening socket at the instance's path; 0: the store makes one */
    int stop_fd;                 /* readable: store_run() ends */
    bool fresh;                  /* what an earlier store left is given up */
};

#endif
