/*
 * Preloaded into a daemon: notes what it does to the files below $CRASH_ROOT in $CRASH_TRACE. An operation and its note
 * are one step under a lock, syncs aside; several processes may append to one trace.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "trace.h"

#define EXPORT __attribute__((visibility("default")))
/* The function that this one stands before. */
#define NEXT(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int trace = -1;
static char root[PATH_MAX];
static size_t root_size;

__attribute__((constructor)) static void
begin(void)
{
    const char *file = getenv(TRACE_FILE_VARIABLE);
    const char *below = getenv(TRACE_ROOT_VARIABLE);

    if (file != NULL && below != NULL && strlen(below) < sizeof root) {
        root_size = strlen(below);
        memcpy(root, below, root_size + 1);
        trace = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_APPEND | O_CLOEXEC);
    }
}

/* The part of an absolute path below the root; NULL: it is elsewhere. */
static const char *
below_root(const char *path)
{
    if (trace < 0 || strncmp(path, root, root_size) != 0 || (path[root_size] != '/' && path[root_size] != '\0')) {
        return NULL;
    }
    return path[root_size] == '/' ? path + root_size + 1 : path + root_size;
}

static const char *
of_fd(int fd, char buffer[static PATH_MAX])
{
    char link[32];
    ssize_t size;

    if (trace < 0) {
        return NULL;
    }
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, buffer, PATH_MAX - 1);
    buffer[size < 0 ? 0 : size] = '\0';
    return below_root(buffer);
}

static const char *
of_path(int at, const char *path, char buffer[static PATH_MAX])
{
    char folder[PATH_MAX] = "";
    char link[32];
    ssize_t size;

    if (trace < 0 || path[0] == '/') {
        return trace < 0 ? NULL : below_root(path);
    }
    (void)snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
    size = readlink(link, folder, sizeof folder - 1);
    folder[size < 0 ? 0 : size] = '\0';
    return snprintf(buffer, PATH_MAX, "%s/%s", folder, path) < PATH_MAX ? below_root(buffer) : NULL;
}

static void
note(struct trace_record record, const char *path, const char *other, const void *bytes)
{
    struct iovec parts[4] = {{.iov_base = &record, .iov_len = sizeof record},
                             {.iov_base = (void *)(uintptr_t)path, .iov_len = path == NULL ? 0 : strlen(path)},
                             {.iov_base = (void *)(uintptr_t)other, .iov_len = other == NULL ? 0 : strlen(other)},
                             {.iov_base = (void *)(uintptr_t)bytes, .iov_len = bytes == NULL ? 0 : record.size}};
    int error = errno;

    record.path_size = (uint32_t)parts[1].iov_len;
    record.other_size = (uint32_t)parts[2].iov_len;
    if (syscall(SYS_writev, trace, parts, 4) < 0) {
        abort();
    }
    errno = error;
}

static uint64_t
inode_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode) ? st.st_ino : 0;
}

/* ---- names ---- */

static int
opened(int at, const char *path, int flags, mode_t mode, int (*real)(int, const char *, int, ...))
{
    char buffer[PATH_MAX];
    const char *below = (flags & O_ACCMODE) == O_RDONLY && (flags & O_CREAT) == 0 ? NULL : of_path(at, path, buffer);
    struct stat st;
    bool was_there;
    int fd;

    if (below == NULL) {
        return real(at, path, flags, mode);
    }
    (void)pthread_mutex_lock(&lock);
    was_there = fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
    fd = real(at, path, flags, mode);
    /* It was made even when the file system then refuses the flags. */
    if (!was_there && fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
        note((struct trace_record){.kind = TRACE_CREATE, .inode = st.st_ino}, below, NULL, NULL);
    } else if (fd >= 0 && was_there && (flags & O_TRUNC) != 0 && st.st_size > 0) {
        note((struct trace_record){.kind = TRACE_SIZE, .inode = st.st_ino}, NULL, NULL, NULL);
    }
    (void)pthread_mutex_unlock(&lock);
    return fd;
}

static mode_t
mode_of(int flags, va_list arguments)
{
    return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name, parameters, at, real)                                                                               \
    EXPORT int name parameters;                                                                                        \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        mode_t mode;                                                                                                   \
                                                                                                                       \
        va_start(arguments, flags);                                                                                    \
        mode = mode_of(flags, arguments);                                                                              \
        va_end(arguments);                                                                                             \
        return opened(at, path, flags, mode, NEXT(real));                                                              \
    }

OPEN(open, (const char *path, int flags, ...), AT_FDCWD, openat)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, openat)
OPEN(openat, (int at, const char *path, int flags, ...), at, openat)
OPEN(openat64, (int at, const char *path, int flags, ...), at, openat)

/* A call that does something to one path. */
#define PATH_CALL(kind_, at, path, call)                                                                               \
    do {                                                                                                               \
        char buffer[PATH_MAX];                                                                                         \
        const char *below = of_path(at, path, buffer);                                                                 \
        int result;                                                                                                    \
                                                                                                                       \
        if (below == NULL) {                                                                                           \
            return call;                                                                                               \
        }                                                                                                              \
        (void)pthread_mutex_lock(&lock);                                                                               \
        result = call;                                                                                                 \
        if (result == 0) {                                                                                             \
            note((struct trace_record){.kind = (kind_)}, below, NULL, NULL);                                           \
        }                                                                                                              \
        (void)pthread_mutex_unlock(&lock);                                                                             \
        return result;                                                                                                 \
    } while (0)

EXPORT int
unlink(const char *path)
{
    PATH_CALL(TRACE_UNLINK, AT_FDCWD, path, NEXT(unlink)(path));
}

EXPORT int
unlinkat(int at, const char *path, int flags)
{
    PATH_CALL((flags & AT_REMOVEDIR) != 0 ? TRACE_RMDIR : TRACE_UNLINK, at, path, NEXT(unlinkat)(at, path, flags));
}

EXPORT int
rmdir(const char *path)
{
    PATH_CALL(TRACE_RMDIR, AT_FDCWD, path, NEXT(rmdir)(path));
}

EXPORT int
mkdir(const char *path, mode_t mode)
{
    PATH_CALL(TRACE_MKDIR, AT_FDCWD, path, NEXT(mkdir)(path, mode));
}

EXPORT int
mkdirat(int at, const char *path, mode_t mode)
{
    PATH_CALL(TRACE_MKDIR, at, path, NEXT(mkdirat)(at, path, mode));
}

EXPORT int
link(const char *from, const char *to)
{
    PATH_CALL(TRACE_UNKNOWN, AT_FDCWD, to, NEXT(link)(from, to));
}

EXPORT int
symlink(const char *from, const char *to)
{
    PATH_CALL(TRACE_UNKNOWN, AT_FDCWD, to, NEXT(symlink)(from, to));
}

static int
renamed(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    char buffer[PATH_MAX], other_buffer[PATH_MAX];
    const char *below = of_path(from_at, from, buffer);
    const char *other = of_path(to_at, to, other_buffer);
    struct stat st;
    int result;

    (void)pthread_mutex_lock(&lock);
    result = (int)syscall(SYS_renameat2, from_at, from, to_at, to, flags);
    if (result == 0 && (below != NULL || other != NULL)) {
        bool plain = below != NULL && other != NULL && flags == 0 &&
                     fstatat(to_at, to, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);

        note((struct trace_record){.kind = plain ? TRACE_RENAME : TRACE_UNKNOWN, .inode = plain ? st.st_ino : 0}, below,
             other, NULL);
    }
    (void)pthread_mutex_unlock(&lock);
    return result;
}

EXPORT int
rename(const char *from, const char *to)
{
    return renamed(AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORT int
renameat(int from_at, const char *from, int to_at, const char *to)
{
    return renamed(from_at, from, to_at, to, 0);
}

EXPORT int
renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    return renamed(from_at, from, to_at, to, flags);
}

/* ---- bytes ---- */

/* What was written of several pieces, piece by piece. */
static void
note_written(int fd, const struct iovec *parts, int count, uint64_t at, size_t written)
{
    uint64_t inode = inode_of(fd);

    for (int i = 0; i < count && written > 0; i++) {
        size_t size = parts[i].iov_len < written ? parts[i].iov_len : written;

        note((struct trace_record){.kind = TRACE_WRITE, .inode = inode, .at = at, .size = size}, NULL, NULL,
             parts[i].iov_base);
        at += size;
        written -= size;
    }
}

/* at < 0: where the descriptor stands. */
static ssize_t
written(int fd, const struct iovec *parts, int count, off_t at)
{
    char buffer[PATH_MAX];
    bool ours = of_fd(fd, buffer) != NULL;
    ssize_t result;

    if (ours) {
        (void)pthread_mutex_lock(&lock);
    }
    result = at < 0 ? syscall(SYS_writev, fd, parts, count) : syscall(SYS_pwritev, fd, parts, count, at, 0);
    if (ours) {
        if (result > 0) {
            note_written(fd, parts, count, (uint64_t)(at < 0 ? lseek(fd, 0, SEEK_CUR) - result : at), (size_t)result);
        }
        (void)pthread_mutex_unlock(&lock);
    }
    return result;
}

#define ONE_PART (&(struct iovec){.iov_base = (void *)(uintptr_t)bytes, .iov_len = size}), 1

EXPORT ssize_t
write(int fd, const void *bytes, size_t size)
{
    return written(fd, ONE_PART, -1);
}

EXPORT ssize_t
writev(int fd, const struct iovec *parts, int count)
{
    return written(fd, parts, count, -1);
}

EXPORT ssize_t
pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return written(fd, ONE_PART, at);
}

EXPORT ssize_t
pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
    return written(fd, ONE_PART, at);
}

EXPORT ssize_t
pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    return written(fd, parts, count, at);
}

/* A call that gives a file a size. */
#define SIZE_CALL(kind_, size, call, ok)                                                                               \
    do {                                                                                                               \
        char buffer[PATH_MAX];                                                                                         \
        int result;                                                                                                    \
                                                                                                                       \
        if (of_fd(fd, buffer) == NULL) {                                                                               \
            return call;                                                                                               \
        }                                                                                                              \
        (void)pthread_mutex_lock(&lock);                                                                               \
        result = call;                                                                                                 \
        if (result == (ok)) {                                                                                          \
            note((struct trace_record){.kind = (kind_), .inode = inode_of(fd), .at = (uint64_t)(size)}, NULL, NULL,    \
                 NULL);                                                                                                \
        }                                                                                                              \
        (void)pthread_mutex_unlock(&lock);                                                                             \
        return result;                                                                                                 \
    } while (0)

EXPORT int
ftruncate(int fd, off_t size)
{
    SIZE_CALL(TRACE_SIZE, size, NEXT(ftruncate)(fd, size), 0);
}

EXPORT int
ftruncate64(int fd, off64_t size)
{
    SIZE_CALL(TRACE_SIZE, size, NEXT(ftruncate64)(fd, size), 0);
}

EXPORT int
fallocate(int fd, int mode, off_t at, off_t size)
{
    SIZE_CALL(mode == 0 ? TRACE_RESERVE : TRACE_UNKNOWN, at + size, NEXT(fallocate)(fd, mode, at, size), 0);
}

EXPORT int
fallocate64(int fd, int mode, off64_t at, off64_t size)
{
    SIZE_CALL(mode == 0 ? TRACE_RESERVE : TRACE_UNKNOWN, at + size, NEXT(fallocate64)(fd, mode, at, size), 0);
}

EXPORT int
posix_fallocate(int fd, off_t at, off_t size)
{
    SIZE_CALL(TRACE_RESERVE, at + size, NEXT(posix_fallocate)(fd, at, size), 0);
}

static int
synced(int fd, int (*real)(int))
{
    char buffer[PATH_MAX];
    const char *below = of_fd(fd, buffer);
    struct trace_record record = {.kind = TRACE_SYNC_BEGIN, .task = (uint32_t)syscall(SYS_gettid)};
    int result;

    if (below == NULL) {
        return real(fd);
    }
    record.inode = inode_of(fd);
    (void)pthread_mutex_lock(&lock);
    note(record, below, NULL, NULL);
    (void)pthread_mutex_unlock(&lock);
    result = real(fd);
    if (result == 0) {
        record.kind = TRACE_SYNC_END;
        (void)pthread_mutex_lock(&lock);
        note(record, NULL, NULL, NULL);
        (void)pthread_mutex_unlock(&lock);
    }
    return result;
}

EXPORT int
fsync(int fd)
{
    return synced(fd, NEXT(fsync));
}

EXPORT int
fdatasync(int fd)
{
    return synced(fd, NEXT(fdatasync));
}

static void *
mapped(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    char buffer[PATH_MAX];
    const char *below =
        (flags & MAP_SHARED) != 0 && (protection & PROT_WRITE) != 0 && fd >= 0 ? of_fd(fd, buffer) : NULL;

    if (below != NULL) {
        note((struct trace_record){.kind = TRACE_MAPPED, .inode = inode_of(fd)}, below, NULL, NULL);
    }
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

EXPORT void *
mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return mapped(at, size, protection, flags, fd, offset);
}

EXPORT void *
mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
    return mapped(at, size, protection, flags, fd, offset);
}
