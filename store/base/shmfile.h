/* Named POSIX shared memory. */
#ifndef STORE_SHMFILE_H
#define STORE_SHMFILE_H

#include <stdint.h>

#include "granary/types.h"

#define SHMFILE_NO_NUMBER UINT32_MAX

/* The ladder of what keeps others from writing sealed objects; each rung has what those below it have. */
enum shmfile_rung {
    SHMFILE_LIBRARY = 0,         /* the library maps read-only */
    SHMFILE_READ_ONLY = 1,       /* clients get descriptors that are open for reading only */
    SHMFILE_OWN_USER = 2,        /* the store runs as a user of its own: clients cannot open its files by name */
    SHMFILE_READ_ONLY_MOUNT = 3, /* ... opened through a detached read-only mount: not to be reopened for writing */
};

/* Climb as high as this host allows: 1, or 3 with the right to mount. */
enum shmfile_rung shmfile_climb(void);

/* "<prefix>s<session>.<kind><number>" */
void shmfile_name(char ret_name[96], const char *prefix, uint32_t session, const char *kind, uint32_t number);

/* Create it with size bytes, without pages. *ret_fd is open for writing. Errors: EEXIST · ENOMEM · EFULL */
granary_err shmfile_create(const char *name, uint64_t size, int *ret_fd);

/* ... and give it all its pages now (no SIGBUS later) and map it. Errors: EFULL the file system is full */
granary_err shmfile_create_mapped(const char *name, uint64_t size, int *ret_fd, void **ret_bytes);

/* A read-only descriptor, or -1 with the error set. */
int shmfile_open_readonly(const char *name, granary_err *ret_err);

#endif
