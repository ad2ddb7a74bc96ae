/* See target.h. */
#include "kernel/file/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "kernel/file/parts.h"

granary_err
target_open(const char *path, struct target *target)
{
    *target = (struct target){.path = path, .fd = -1};
    return part_create(path, &target->other, &target->fd);
}

granary_err
target_write(struct target *target, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t done = write(target->fd, at, size);

        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return gr_fail_errno("%s", target->path);
        }
        at += done;
        size -= (size_t)done;
        target->bytes += (uint64_t)done;
    }
    return GRANARY_OK;
}

granary_err
target_sync(int fd, const char *path)
{
    /* EINVAL: a file system that has nothing to sync */
    return fsync(fd) < 0 && errno != EINVAL && errno != EROFS ? gr_fail_errno("%s", path) : GRANARY_OK;
}

granary_err
target_close(struct target *target, granary_err err)
{
    /* Else a power cut could leave the name, and not the bytes. */
    err = err == GRANARY_OK ? target_sync(target->fd, target->path) : err;
    if (err == GRANARY_OK && close(target->fd) < 0) {
        target->fd = -1;
        err = gr_fail_errno("%s", target->path);
    }
    target->fd = err == GRANARY_OK ? -1 : target->fd;
    if (err == GRANARY_OK && rename(target->other, target->path) < 0) {
        err = gr_fail_errno("%s", target->path);
    }
    if (target->fd >= 0) {
        gr_fd_close(&target->fd);
    }
    if (err != GRANARY_OK && target->other != NULL) {
        (void)unlink(target->other);
    }
    free(target->other);
    target->other = NULL;
    return err;
}
