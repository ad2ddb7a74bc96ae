/* Files that are not complete. A lock goes with its process, so a part that can be locked is nobody's any more. */
#include "kernel/file/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* What stands behind the file's own name. */
static bool
is_tail(const char *tail)
{
    size_t digits;

    if (strncmp(tail, PART_MARK, sizeof PART_MARK - 1) != 0) {
        return false;
    }
    tail += sizeof PART_MARK - 1;
    digits = strspn(tail, "0123456789");
    return digits > 0 && strcmp(tail + digits, PART_END) == 0;
}

bool
part_is_of(const char *name, const char *of)
{
    size_t length = strlen(of);

    return strncmp(name, of, length) == 0 && is_tail(name + length);
}

bool
part_is_any(const char *name)
{
    const char *tail = strstr(name, PART_MARK);

    while (tail != NULL && !is_tail(tail)) {
        tail = strstr(tail + 1, PART_MARK);
    }
    return tail != NULL;
}

static void
remove_left(int directory, const char *name)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        (void)unlinkat(directory, name, 0);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* Where it cannot look, all stay. */
static void
sweep(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    DIR *directory = folder == NULL ? NULL : opendir(folder);
    const struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (part_is_of(entry->d_name, name)) {
            remove_left(dirfd(directory), entry->d_name);
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    free(folder);
}

/* Whether the file is still there under that name: meanwhile another one may have removed it, or given it its own. */
static bool
is_still(int fd, const char *name)
{
    struct stat mine;
    struct stat there;

    return fstat(fd, &mine) == 0 && lstat(name, &there) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

/* It is empty, and locked, where files can be. */
static granary_err
create_locked(const char *name, int *ret_fd)
{
    int fd;

    for (;;) {
        fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0) {
            return gr_fail_errno("%s", name);
        }
        while (flock(fd, LOCK_EX) < 0 && errno == EINTR) {
        }
        if (is_still(fd, name)) {
            break;
        }
        (void)close(fd);
    }
    if (ftruncate(fd, 0) < 0) {
        granary_err err = gr_fail_errno("%s", name);

        (void)close(fd);
        return err;
    }
    *ret_fd = fd;
    return GRANARY_OK;
}

granary_err
part_create(const char *path, char **ret_name, int *ret_fd)
{
    granary_err err;

    *ret_fd = -1;
    sweep(path);
    if (asprintf(ret_name, "%s" PART_MARK "%d" PART_END, path, (int)getpid()) < 0) {
        *ret_name = NULL;
        return gr_fail(GRANARY_ENOMEM, "%s: out of memory", path);
    }
    err = create_locked(*ret_name, ret_fd);
    if (err != GRANARY_OK) {
        free(*ret_name);
        *ret_name = NULL;
    }
    return err;
}
