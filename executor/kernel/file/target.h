/* A file being written: it has another name until it is complete. */
#ifndef KERNEL_FILE_TARGET_H
#define KERNEL_FILE_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

struct target {
    const char *path; /* borrowed */
    char *other;      /* its name meanwhile; owned */
    int fd;
    uint64_t bytes;
};

/* Errors: as part_create() */
granary_err target_open(const char *path, struct target *target);
/* Errors: EFULL, EIO, ... with the path */
granary_err target_write(struct target *target, const void *bytes, size_t size);
/* What was written to a file, or the names in a folder, is on disk. Errors: the system call's, with the path */
granary_err target_sync(int fd, const char *path);
/* It is complete, on disk, and gets its name, or (err) it goes. Returns err, or what went wrong now. */
granary_err target_close(struct target *target, granary_err err);

#endif
