/* Named POSIX shared memory. */
#ifndef STORE_SHMFILE_H
#define STORE_SHMFILE_H

#include <stdint.h>

#include "granary/types.h"

#define SHMFILE_NO_NUMBER UINT32_MAX

/* "<prefix>s<session>.<kind><number>" */
void shmfile_name(char ret_name[96], const char *prefix, uint32_t session, const char *kind, uint32_t number);

/* Create it with size bytes, without pages. *ret_fd is open for writing. Errors: EEXIST · ENOMEM · EFULL */
granary_err shmfile_create(const char *name, uint64_t size, int *ret_fd);

/* ... and give it all its pages now (no SIGBUS later) and map it. Errors: EFULL the file system is full */
granary_err shmfile_create_mapped(const char *name, uint64_t size, int *ret_fd, void **ret_bytes);

/* A read-only descriptor, or -1 with the error set. */
int shmfile_open_readonly(const char *name, granary_err *ret_err);

#endif
