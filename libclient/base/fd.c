/* Descriptors, files and processes: calls that go on after EINTR and after short reads and writes. */
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

void
gr_fd_close(int *fd)
{
    int error = errno;

    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
    errno = error;
}

int
gr_fd_allocate(int fd, uint64_t at, uint64_t size)
{
    do { /* on memory a signal takes back what was done, and the caller's errno is kept */
        errno = posix_fallocate(fd, (off_t)at, (off_t)size);
    } while (errno == EINTR);
    return errno == 0 ? 0 : -1;
}

granary_err
gr_write_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t n = write(fd, at, size);

        if (n < 0 && errno == EPIPE) { /* of a socket to a daemon it would mean that nobody is there */
            return gr_fail(GRANARY_EIO, "write: nobody reads the other end of the pipe any more");
        }
        if (n < 0 && errno != EINTR) {
            return gr_fail_errno("write");
        }
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    }
    return GRANARY_OK;
}

granary_err
gr_pread_all(int fd, void *bytes, size_t size, int64_t offset)
{
    char *at = bytes;

    while (size > 0) {
        ssize_t n = pread(fd, at, size, offset);

        if (n == 0) {
            return gr_fail(GRANARY_EIO, "read: the file ends at byte %lld, %zu bytes early", (long long)offset, size);
        }
        if (n < 0 && errno != EINTR) {
            return gr_fail_errno("read");
        }
        if (n > 0) {
            at += n;
            offset += n;
            size -= (size_t)n;
        }
    }
    return GRANARY_OK;
}

granary_err
gr_pwrite_all(int fd, const void *bytes, size_t size, int64_t offset)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t n = pwrite(fd, at, size, offset);

        if (n < 0 && errno != EINTR) {
            return gr_fail_errno("write");
        }
        if (n > 0) {
            at += n;
            offset += n;
            size -= (size_t)n;
        }
    }
    return GRANARY_OK;
}

granary_err
gr_fd_read(int fd, const char *path, size_t max_size, char **ret_bytes, size_t *ret_size)
{
    granary_err err = GRANARY_OK;
    char *bytes = NULL;
    size_t size = 0;
    size_t room = 0;

    for (;;) {
        ssize_t n;

        if (size + 1 >= room) {
            char *more = realloc(bytes, room = room == 0 ? 16384 : room * 2);

            if (more == NULL) {
                err = gr_fail(GRANARY_ENOMEM, "%s: out of memory", path);
                goto out;
            }
            bytes = more;
        }
        n = read(fd, bytes + size, room - size - 1);
        if (n < 0 && errno != EINTR) {
            err = gr_fail_errno("%s", path);
            goto out;
        }
        if (n == 0) {
            break;
        }
        size += n > 0 ? (size_t)n : 0;
        if (size > max_size) {
            err = gr_fail(GRANARY_EFULL, "%s: larger than %zu bytes", path, max_size);
            goto out;
        }
    }
    bytes[size] = '\0';
    *ret_bytes = bytes;
    *ret_size = size;
    bytes = NULL;
out:
    free(bytes);
    gr_fd_close(&fd);
    return err;
}

granary_err
gr_file_read(const char *path, size_t max_size, char **ret_bytes, size_t *ret_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? gr_fail_errno("%s", path) : gr_fd_read(fd, path, max_size, ret_bytes, ret_size);
}

granary_err
gr_fd_check_own(int fd, const char *path)
{
    struct stat st;

    if (fstat(fd, &st) < 0) {
        return gr_fail_errno("%s", path);
    }
    if (st.st_uid != geteuid() && st.st_uid != 0) {
        return gr_fail(GRANARY_EPERM,
                       "%s belongs to uid %u, who could have written anything there: make one of your own", path,
                       (unsigned)st.st_uid);
    }
    if ((st.st_mode & S_IWOTH) != 0) {
        return gr_fail(GRANARY_EPERM, "%s: everybody may write it: look at what it says, and `chmod o-w` it", path);
    }
    return GRANARY_OK;
}

granary_err
gr_file_read_own(const char *path, size_t max_size, char **ret_bytes, size_t *ret_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    granary_err err;

    if (fd < 0) {
        return errno == ELOOP ? gr_fail(GRANARY_EINVAL, "%s: is a link", path) : gr_fail_errno("%s", path);
    }
    err = gr_fd_check_own(fd, path);
    if (err == GRANARY_OK && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        err = gr_fail(GRANARY_EINVAL, "%s: is no regular file", path);
    }
    if (err != GRANARY_OK) {
        gr_fd_close(&fd);
        return err;
    }
    return gr_fd_read(fd, path, max_size, ret_bytes, ret_size);
}

int
gr_pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int
gr_process_open(pid_t pid, uint64_t start_time)
{
    int pidfd = gr_pidfd_open(pid);

    /* In this order: once the descriptor is open, the start time tells whose it is. */
    if (pidfd >= 0 && gr_process_start_time(pid) != start_time) {
        gr_fd_close(&pidfd);
        errno = ESRCH;
    }
    return pidfd;
}

bool
gr_pidfd_ended(int pidfd)
{
    struct pollfd process = {.fd = pidfd, .events = POLLIN};

    return poll(&process, 1, 0) > 0;
}

int
gr_pidfd_signal(int pidfd, int signal)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

const char *
gr_process_stat(pid_t pid, char text[static GR_PROCESS_STAT])
{
    char path[64];
    const char *at;
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    errno = EIO; /* of what can be read, and is not what it should be */
    n = read(fd, text, GR_PROCESS_STAT - 1);
    gr_fd_close(&fd);
    if (n <= 0) {
        return NULL;
    }
    text[n] = '\0';
    at = strrchr(text, ')'); /* the command's name may hold anything but this */
    return at != NULL && at[1] == ' ' ? at + 2 : NULL;
}

bool
gr_process_lives(pid_t pid)
{
    struct pollfd process = {.fd = pid > 0 ? gr_pidfd_open(pid) : -1, .events = POLLIN};
    bool lives = pid > 0 && (process.fd < 0 ? errno != ESRCH : poll(&process, 1, 0) == 0);

    gr_fd_close(&process.fd);
    return lives;
}

uint64_t
gr_process_start_time(pid_t pid)
{
    char text[GR_PROCESS_STAT];
    const char *at = gr_process_stat(pid, text);

    for (int field = 3; at != NULL && field < 22; field++) {
        at = strchr(at, ' ');
        at = at == NULL ? NULL : at + 1;
    }
    return at == NULL ? 0 : strtoull(at, NULL, 10);
}

int
gr_shm_open(const char *name, int flags)
{
    int fd = shm_open(name, flags | O_CLOEXEC, 0);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) < 0) {
        gr_fd_close(&fd);
    }
    if (fd >= 0 && (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)) {
        gr_fd_close(&fd);
        errno = EPERM;
    }
    return fd;
}

bool
gr_shm_is_missing(void)
{
    return errno == ENOENT || errno == EPERM || errno == EACCES;
}

granary_err
gr_mkdir_private(const char *path)
{
    char parent[PATH_MAX];
    struct stat st;

    if (strlen(path) >= sizeof parent) {
        return gr_fail(GRANARY_EINVAL, "%s: path too long", path);
    }
    (void)snprintf(parent, sizeof parent, "%s", path);
    for (char *slash = strchr(parent + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(parent, 0700) < 0 && errno != EEXIST && errno != EISDIR && errno != EROFS) {
            return gr_fail_errno("%s: cannot create the directory", parent);
        }
        *slash = '/';
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST) {
        return gr_fail_errno("%s: cannot create the directory", path);
    }
    if (lstat(path, &st) < 0) {
        return gr_fail_errno("%s", path);
    }
    if (!S_ISDIR(st.st_mode)) {
        return gr_fail(GRANARY_EINVAL, "%s: not a directory", path);
    }
    if (st.st_uid != geteuid() || (st.st_mode & 022) != 0) {
        return gr_fail(GRANARY_EPERM, "%s: must belong to uid %u and not be writable by others", path,
                       (unsigned)geteuid());
    }
    return GRANARY_OK;
}

granary_err
gr_sync_above(const char *path)
{
    char above[PATH_MAX];
    granary_err err = GRANARY_OK;
    char *slash;

    (void)snprintf(above, sizeof above, "%s", path);
    while (err == GRANARY_OK && (slash = strrchr(above, '/')) != NULL) {
        int fd;

        slash[slash == above ? 1 : 0] = '\0';
        fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && (errno == EACCES || errno == EPERM)) {
            break; /* somebody else's, and so are those above */
        }
        /* EINVAL: a file system that has nothing to sync */
        if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL && errno != EROFS)) {
            err = gr_fail_errno("fsync of directory %s", above);
        }
        gr_fd_close(&fd);
        slash[0] = '\0';
    }
    return err;
}

static void
remove_at(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct dirent *entry;
    DIR *dir;

    if (fd < 0 || (dir = fdopendir(fd)) == NULL) {
        gr_fd_close(&fd);
        (void)unlinkat(parent, name, 0);
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            remove_at(dirfd(dir), entry->d_name);
        }
    }
    (void)closedir(dir);
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

void
gr_remove_tree(const char *path)
{
    remove_at(AT_FDCWD, path);
}
