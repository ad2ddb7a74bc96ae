/* Copying an instance's files, holes and all. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "inspect/inspector.h"

/* Copy [at, end) as far as the source reaches: it may be truncated meanwhile. */
static granary_err
copy_range(int from, int to, off_t at, off_t end, char *buffer)
{
    while (at < end) {
        size_t want = (uint64_t)(end - at) < FILE_COPY ? (size_t)(end - at) : FILE_COPY;
        ssize_t n = pread(from, buffer, want, at);
        granary_err err;

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return gr_fail_errno("read");
        }
        if (n == 0) {
            return GRANARY_OK;
        }
        err = gr_pwrite_all(to, buffer, (size_t)n, at);
        if (err != GRANARY_OK) {
            return err;
        }
        at += n;
    }
    return GRANARY_OK;
}

static granary_err
copy_sparse(int from, int to, char *buffer)
{
    granary_err err = GRANARY_OK;
    struct stat st;
    off_t at = 0;

    if (fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0) {
        return gr_fail_errno("size");
    }
    while (err == GRANARY_OK && at < st.st_size) {
        off_t data = lseek(from, at, SEEK_DATA);
        off_t hole = data < 0 ? -1 : lseek(from, data, SEEK_HOLE);

        if (data < 0 || hole < 0) {
            return errno == ENXIO ? GRANARY_OK : gr_fail_errno("holes");
        }
        hole = hole < st.st_size ? hole : st.st_size;
        err = copy_range(from, to, data, hole, buffer);
        at = hole;
    }
    return err;
}

granary_err
file_copy(int from_dir, const char *from_name, int to_dir, const char *to_name, char *buffer)
{
    granary_err err = GRANARY_OK;
    struct stat st;
    int from = openat(from_dir, from_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int to = -1;

    if (from < 0 && errno == ENOENT) {
        return GRANARY_OK; /* it went meanwhile */
    }
    if (from < 0 || fstat(from, &st) < 0) {
        err = gr_fail_errno("%s", from_name);
    } else if (S_ISREG(st.st_mode)) {
        to = openat(to_dir, to_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        err = to < 0 ? gr_fail_errno("%s", to_name) : copy_sparse(from, to, buffer);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "%s", from_name);
    }
    gr_fd_close(&from);
    gr_fd_close(&to);
    return err;
}

static granary_err
copy_spill(const char *spill_dir, int to_dir, char *buffer)
{
    granary_err err = GRANARY_OK;
    struct dirent *entry;
    int to = -1;
    DIR *dir = opendir(spill_dir);

    if (dir == NULL) {
        return errno == ENOENT ? GRANARY_OK : gr_fail_errno("%s", spill_dir);
    }
    if ((mkdirat(to_dir, "spill", 0700) < 0 && errno != EEXIST) ||
        (to = openat(to_dir, "spill", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
        err = gr_fail_errno("spill");
    }
    while (err == GRANARY_OK && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            err = file_copy(dirfd(dir), entry->d_name, to, entry->d_name, buffer);
        }
    }
    gr_fd_close(&to);
    (void)closedir(dir);
    return err;
}

granary_err
granary_inspect_snapshot(granary_inspector *inspector, const char *directory)
{
    struct file_entry *entries = NULL;
    granary_spill_dir_info *dirs = NULL;
    size_t dir_count = 0;
    char *buffer = malloc(FILE_COPY);
    char name[256];
    size_t count = 0;
    int from = -1;
    int to = -1;
    granary_err err = buffer == NULL ? gr_fail(GRANARY_ENOMEM, "no memory to copy files") : GRANARY_OK;

    if (err == GRANARY_OK) {
        err = files_list(inspector, &entries, &count);
    }
    if (err == GRANARY_OK && mkdir(directory, 0700) < 0) {
        err = errno == EEXIST
                  ? gr_fail(GRANARY_EEXIST, "%s: exists already: name a directory that is to be made", directory)
                  : gr_fail_errno("%s", directory);
    }
    if (err == GRANARY_OK && ((from = open(inspector->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ||
                              (to = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)) {
        err = gr_fail_errno("%s", directory);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        (void)snprintf(name, sizeof name, "%s%s", inspector->prefix, entries[i].name);
        err = file_copy(from, name, to, entries[i].name, buffer);
    }
    /* A damaged root does not tell where the spill files are. */
    if (err == GRANARY_OK && !inspector->copy &&
        granary_inspect_spill_dirs(inspector, &dirs, &dir_count) != GRANARY_OK) {
        dir_count = 0;
    }
    for (size_t i = 0; i < dir_count && err == GRANARY_OK; i++) {
        err = dirs[i].level == GRANARY_LEVEL_DISK ? copy_spill(dirs[i].path, to, buffer) : err;
    }
    free(dirs);
    free(entries);
    free(buffer);
    gr_fd_close(&from);
    gr_fd_close(&to);
    return err;
}
