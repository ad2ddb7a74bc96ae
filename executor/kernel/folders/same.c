/* What is in folders: whether it is the same, whether it is ours to replace; and its end. */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/file/format.h"
#include "kernel/file/parts.h"
#include "kernel/folders/tree.h"

#define OPEN_MOST 16 /* folders at a time */

/* ---- the same ---- */

static bool
same_bytes(int a, int b)
{
    char *blocks = malloc(2 << 16);
    ssize_t size = 1;
    off_t at = 0;
    bool same = blocks != NULL;

    while (same && size > 0) {
        size = pread(a, blocks, 1 << 16, at);
        same = size >= 0 && pread(b, blocks + (1 << 16), 1 << 16, at) == size &&
               memcmp(blocks, blocks + (1 << 16), (size_t)size) == 0;
        at += size;
    }
    free(blocks);
    return same;
}

static int
names_of(const char *path, struct dirent ***ret_names)
{
    return scandir(path, ret_names, NULL, alphasort);
}

static bool
same_entry(const char *a, const char *b)
{
    struct stat info[2];
    bool same =
        lstat(a, &info[0]) == 0 && lstat(b, &info[1]) == 0 && (info[0].st_mode & S_IFMT) == (info[1].st_mode & S_IFMT);

    if (same && S_ISREG(info[0].st_mode)) {
        int fds[2] = {open(a, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), open(b, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};

        same = info[0].st_size == info[1].st_size && fds[0] >= 0 && fds[1] >= 0 && same_bytes(fds[0], fds[1]);
        gr_fd_close(&fds[0]);
        gr_fd_close(&fds[1]);
        return same;
    }
    return same && S_ISDIR(info[0].st_mode) && tree_same(a, b);
}

bool
tree_same(const char *a, const char *b)
{
    struct dirent **names[2] = {NULL, NULL};
    int counts[2] = {names_of(a, &names[0]), names_of(b, &names[1])};
    bool same = counts[0] >= 0 && counts[0] == counts[1];

    for (int i = 0; i < counts[0] && same; i++) {
        const char *name = names[0][i]->d_name;
        char *paths[2] = {NULL, NULL};

        same = strcmp(name, names[1][i]->d_name) == 0;
        if (!same || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
            continue;
        }
        same = asprintf(&paths[0], "%s/%s", a, name) > 0 && asprintf(&paths[1], "%s/%s", b, name) > 0 &&
               same_entry(paths[0], paths[1]);
        free(paths[0]);
        free(paths[1]);
    }
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < counts[side]; i++) {
            free(names[side][i]);
        }
        free(names[side]);
    }
    return same;
}

/* ---- ours to replace ---- */

static _Thread_local char *odd; /* the first that is not */

/* What writers of such folders leave beside the files: Spark, Hadoop, Arrow, and a killed one of ours. */
static bool
is_mark(const char *name)
{
    return strcmp(name, "_SUCCESS") == 0 || strcmp(name, "_metadata") == 0 || strcmp(name, "_common_metadata") == 0 ||
           (name[0] == '.' && strcmp(strrchr(name, '.'), ".crc") == 0) || part_is_any(name);
}

/* Files with rows are in folders: one in the folder itself is somebody's own. */
static int
look_at(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    const char *name = path + place->base;
    bool is_ours = place->level == 0 ? kind == FTW_D
                   : kind == FTW_D   ? strchr(name, '=') != NULL && name[0] != '='
                                     : kind == FTW_F && S_ISREG(info->st_mode) &&
                                         (is_mark(name) || (place->level > 1 && gr_format_of_path(name, NULL) != NULL));

    if (!is_ours && odd == NULL) {
        odd = strdup(path);
    }
    return is_ours ? 0 : 1;
}

granary_err
tree_is_written(const char *path)
{
    granary_err err = GRANARY_OK;

    odd = NULL;
    if (nftw(path, look_at, OPEN_MOST, FTW_PHYS) != 0) {
        err = gr_fail(
            GRANARY_EINVAL,
            "%s: is not replaced, for %s is no file of a format in a folder KEY=VALUE: remove it, or write elsewhere",
            path, odd == NULL ? "something in it" : odd);
    }
    free(odd);
    odd = NULL;
    return err;
}

/* ---- the end ---- */

/* Returns an error as a number above 0, which ends the walk. */
static int
sync_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    granary_err err = GRANARY_OK;
    int fd;

    (void)info;
    (void)place;
    if (kind == FTW_DP) {
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        err = fd < 0 ? gr_fail_errno("%s", path) : target_sync(fd, path);
        gr_fd_close(&fd);
    }
    return -(int)err;
}

granary_err
tree_sync(const char *path)
{
    int result = nftw(path, sync_one, OPEN_MOST, FTW_DEPTH | FTW_PHYS);

    return result < 0 ? gr_fail_errno("%s", path) : (granary_err)-result;
}

static int
remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

void
tree_remove(const char *path)
{
    (void)nftw(path, remove_one, OPEN_MOST, FTW_DEPTH | FTW_PHYS);
}
