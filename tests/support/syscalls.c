#include "support/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* The linker leads calls here (--wrap). */
int __real_open(const char *path, int flags, ...);
ssize_t __real_pread(int fd, void *bytes, size_t size, off_t at);
ssize_t __real_pwrite(int fd, const void *bytes, size_t size, off_t at);
int __real_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);

static _Atomic int failing = SYSCALLS;
static _Atomic long left;
static _Atomic int error_number;
static _Atomic bool lasting;
static _Atomic bool has_failed;

void
syscalls_fail(enum syscall which, long after, int error, bool for_good)
{
    left = after;
    error_number = error;
    lasting = for_good;
    has_failed = false;
    failing = (int)which;
}

bool
syscalls_heal(void)
{
    failing = SYSCALLS;
    return has_failed;
}

static bool
fails(enum syscall which, const char *path)
{
    long before;

    if (failing != (int)which || strstr(path, "spill") == NULL) {
        return false;
    }
    before = atomic_fetch_sub(&left, 1);
    if (before > 0 || (before < 0 && !lasting)) {
        return false;
    }
    has_failed = true;
    errno = error_number;
    return true;
}

static bool
fails_fd(enum syscall which, int fd)
{
    char link[64];
    char path[512];
    ssize_t length;

    if (failing != (int)which) {
        return false;
    }
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0) {
        return false;
    }
    path[length] = '\0';
    return fails(which, path);
}

int
__wrap_open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list args;

    va_start(args, flags);
    if ((flags & O_CREAT) != 0) {
        mode = va_arg(args, mode_t);
    }
    va_end(args);
    return fails(SYSCALL_OPEN, path) ? -1 : __real_open(path, flags, mode);
}

ssize_t
__wrap_pread(int fd, void *bytes, size_t size, off_t at)
{
    return fails_fd(SYSCALL_READ, fd) ? -1 : __real_pread(fd, bytes, size, at);
}

ssize_t
__wrap_pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return fails_fd(SYSCALL_WRITE, fd) ? -1 : __real_pwrite(fd, bytes, size, at);
}

int
__wrap_fsync(int fd)
{
    return fails_fd(SYSCALL_SYNC, fd) ? -1 : __real_fsync(fd);
}

int
__wrap_rename(const char *from, const char *to)
{
    return fails(SYSCALL_RENAME, to) ? -1 : __real_rename(from, to);
}
