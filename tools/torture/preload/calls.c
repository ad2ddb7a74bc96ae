/* call.*: libc's functions around system calls. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"

#define FAILS(name) (FAULT_AT(call_##name) == GR_FAULT_ERRNO)
/* Names of the same functions from before files could be large: on 64-bit machines there is no difference. */
#define ALSO(type, also, name, ...) EXPORTED type also(__VA_ARGS__) __attribute__((alias(#name)))

/* A function that tells failure by a value, and errno. */
#define CALL(type, failed, name, parameters, arguments)                                                                \
    EXPORTED type name parameters                                                                                      \
    {                                                                                                                  \
        return FAILS(name) ? (failed) : NEXT(name) arguments;                                                          \
    }

CALL(FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode))
CALL(DIR *, NULL, opendir, (const char *path), (path))
CALL(int, -1, stat, (const char *path, struct stat *st), (path, st))
CALL(int, -1, fstat, (int fd, struct stat *st), (fd, st))
CALL(int, -1, lstat, (const char *path, struct stat *st), (path, st))
CALL(int, -1, chmod, (const char *path, mode_t mode), (path, mode))
CALL(int, -1, mkdir, (const char *path, mode_t mode), (path, mode))
CALL(int, -1, rmdir, (const char *path), (path))
CALL(int, -1, unlink, (const char *path), (path))
CALL(int, -1, unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
CALL(int, -1, rename, (const char *from, const char *to), (from, to))
CALL(ssize_t, -1, readlink, (const char *path, char *text, size_t size), (path, text, size))
CALL(int, -1, fsync, (int fd), (fd))
CALL(int, -1, fdatasync, (int fd), (fd))
CALL(int, -1, fallocate, (int fd, int mode, off_t offset, off_t size), (fd, mode, offset, size))
CALL(int, errno, posix_fallocate, (int fd, off_t offset, off_t size), (fd, offset, size))
CALL(int, -1, ftruncate, (int fd, off_t size), (fd, size))
CALL(int, -1, flock, (int fd, int operation), (fd, operation))
CALL(void *, MAP_FAILED, mmap, (void *at, size_t size, int protection, int flags, int fd, off_t offset),
     (at, size, protection, flags, fd, offset))
CALL(int, -1, madvise, (void *at, size_t size, int advice), (at, size, advice))
CALL(int, -1, memfd_create, (const char *name, unsigned flags), (name, flags))
CALL(int, -1, shm_open, (const char *name, int flags, mode_t mode), (name, flags, mode))
CALL(int, -1, shm_unlink, (const char *name), (name))
CALL(int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol))
CALL(int, -1, socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds))
CALL(int, -1, bind, (int fd, const struct sockaddr *address, socklen_t size), (fd, address, size))
CALL(int, -1, listen, (int fd, int backlog), (fd, backlog))
CALL(int, -1, connect, (int fd, const struct sockaddr *address, socklen_t size), (fd, address, size))
CALL(int, -1, accept4, (int fd, struct sockaddr *address, socklen_t *size, int flags), (fd, address, size, flags))
CALL(int, -1, epoll_create1, (int flags), (flags))
CALL(int, -1, epoll_ctl, (int fd, int operation, int on, struct epoll_event *event), (fd, operation, on, event))
CALL(int, -1, epoll_wait, (int fd, struct epoll_event *events, int most, int timeout), (fd, events, most, timeout))
CALL(int, -1, poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))
CALL(int, -1, eventfd, (unsigned value, int flags), (value, flags))
CALL(int, -1, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags))
CALL(int, -1, pipe2, (int fds[2], int flags), (fds, flags))
CALL(int, -1, dup, (int fd), (fd))
CALL(ssize_t, -1, getrandom, (void *bytes, size_t size, unsigned flags), (bytes, size, flags))
CALL(pid_t, -1, fork, (void), ())
CALL(int, errno, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument),
     (thread, attributes, function, argument))

ALSO(int, stat64, stat, const char *path, struct stat64 *st);
ALSO(int, fstat64, fstat, int fd, struct stat64 *st);
ALSO(int, lstat64, lstat, const char *path, struct stat64 *st);
ALSO(int, ftruncate64, ftruncate, int fd, off64_t size);
ALSO(void *, mmap64, mmap, void *at, size_t size, int protection, int flags, int fd, off64_t offset);
ALSO(FILE *, fopen64, fopen, const char *path, const char *mode);

/* ---- with a mode at times ---- */

#define READ_MODE(mode)                                                                                                \
    if ((flags & (O_CREAT | O_TMPFILE)) != 0) {                                                                        \
        va_list arguments;                                                                                             \
                                                                                                                       \
        va_start(arguments, flags);                                                                                    \
        mode = va_arg(arguments, mode_t);                                                                              \
        va_end(arguments);                                                                                             \
    }

EXPORTED int
open(const char *path, int flags, ...)
{
    mode_t mode = 0;

    READ_MODE(mode)
    return FAILS(open) ? -1 : NEXT(open)(path, flags, mode);
}

EXPORTED int
openat(int fd, const char *path, int flags, ...)
{
    mode_t mode = 0;

    READ_MODE(mode)
    return FAILS(openat) ? -1 : NEXT(openat)(fd, path, flags, mode);
}

ALSO(int, open64, open, const char *path, int flags, ...);

/* ---- with bytes ---- */

/* Half of them, when that is less. */
#define BYTES_CALL(name, parameters, arguments)                                                                        \
    EXPORTED ssize_t name parameters                                                                                   \
    {                                                                                                                  \
        enum gr_fault_action action = FAULT_AT(call_##name);                                                           \
                                                                                                                       \
        size = action == GR_FAULT_SHORT && size > 1 ? size / 2 : size;                                                 \
        return action == GR_FAULT_ERRNO ? -1 : NEXT(name) arguments;                                                   \
    }

BYTES_CALL(read, (int fd, void *bytes, size_t size), (fd, bytes, size))
BYTES_CALL(write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
BYTES_CALL(pread, (int fd, void *bytes, size_t size, off_t offset), (fd, bytes, size, offset))
BYTES_CALL(pwrite, (int fd, const void *bytes, size_t size, off_t offset), (fd, bytes, size, offset))

ALSO(ssize_t, pread64, pread, int fd, void *bytes, size_t size, off64_t offset);
ALSO(ssize_t, pwrite64, pwrite, int fd, const void *bytes, size_t size, off64_t offset);

/* The first part of a message alone, and half of it. */
static struct msghdr
shorter(const struct msghdr *message, struct iovec *part)
{
    struct msghdr less = *message;

    if (message->msg_iovlen > 0) {
        *part = message->msg_iov[0];
        part->iov_len = part->iov_len > 1 ? part->iov_len / 2 : part->iov_len;
        less.msg_iov = part;
        less.msg_iovlen = 1;
    }
    return less;
}

EXPORTED ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
    enum gr_fault_action action = FAULT_AT(call_sendmsg);
    struct iovec part;
    struct msghdr less;

    if (action == GR_FAULT_SHORT) {
        less = shorter(message, &part);
        message = &less;
    }
    return action == GR_FAULT_ERRNO ? -1 : NEXT(sendmsg)(fd, message, flags);
}

EXPORTED ssize_t
recvmsg(int fd, struct msghdr *message, int flags)
{
    enum gr_fault_action action = FAULT_AT(call_recvmsg);
    struct iovec part;
    struct msghdr less;
    ssize_t size;

    if (action != GR_FAULT_SHORT) {
        return action == GR_FAULT_ERRNO ? -1 : NEXT(recvmsg)(fd, message, flags);
    }
    less = shorter(message, &part);
    size = NEXT(recvmsg)(fd, &less, flags);
    message->msg_namelen = less.msg_namelen;
    message->msg_controllen = less.msg_controllen;
    message->msg_flags = less.msg_flags;
    return size;
}
