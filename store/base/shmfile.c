/* Shared memory files: made whole or not at all, opened, and removed. */
#include "store/base/shmfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"

void
shmfile_name(char ret_name[96], const char *prefix, uint32_t session, const char *kind, uint32_t number)
{
    if (number == SHMFILE_NO_NUMBER) {
        (void)snprintf(ret_name, 96, "%ss%u.%s", prefix, session, kind);
    } else {
        (void)snprintf(ret_name, 96, "%ss%u.%s%u", prefix, session, kind, number);
    }
}

granary_err
shmfile_create(const char *name, uint64_t size, int *ret_fd)
{
    int fd = FAULT_FAILS(shm_file) ? -1 : shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    granary_err err;

    if (fd < 0) {
        return gr_fail_errno("shared memory %s", name);
    }
    if (ftruncate(fd, (off_t)size) < 0) {
        err = gr_fail_errno("shared memory %s: %llu bytes", name, (unsigned long long)size);
        (void)shm_unlink(name);
        gr_fd_close(&fd);
        return err;
    }
    *ret_fd = fd;
    return GRANARY_OK;
}

granary_err
shmfile_create_mapped(const char *name, uint64_t size, int *ret_fd, void **ret_bytes)
{
    granary_err err;
    void *bytes;
    int fd = -1;

    err = shmfile_create(name, size, &fd);
    if (err != GRANARY_OK) {
        return err;
    }
    if (FAULT_FAILS(shm_pages) || gr_fd_allocate(fd, 0, size) < 0) {
        err = gr_fail_errno("shared memory %s: %llu bytes", name, (unsigned long long)size);
        goto fail;
    }
    bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (bytes == MAP_FAILED) {
        err = gr_fail_errno("shared memory %s: map", name);
        goto fail;
    }
    *ret_fd = fd;
    *ret_bytes = bytes;
    return GRANARY_OK;
fail:
    (void)shm_unlink(name);
    gr_fd_close(&fd);
    return err;
}

/* A private read-only view of /dev/shm; -1: there is none. A store is one per process. */
static int readonly_mount = -1;

enum shmfile_rung
shmfile_climb(void)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};

    if (readonly_mount < 0) {
        readonly_mount = open_tree(AT_FDCWD, "/dev/shm", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (readonly_mount >= 0 &&
            mount_setattr(readonly_mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0) {
            gr_fd_close(&readonly_mount);
        }
    }
    return readonly_mount >= 0 ? SHMFILE_READ_ONLY_MOUNT : SHMFILE_READ_ONLY;
}

int
shmfile_open_readonly(const char *name, granary_err *ret_err)
{
    /* Not to wait for whoever has a lease on the file (fcntl F_SETLEASE). */
    int fd = readonly_mount >= 0 ? openat(readonly_mount, name + 1, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                                 : shm_open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);

    if (fd < 0) {
        *ret_err = gr_fail_errno("shared memory %s", name);
    }
    return fd;
}
