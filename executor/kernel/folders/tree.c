/* See tree.h. The other name is locked while it is written: a lock goes with its process, so what can be locked is nobody's. */
#include "kernel/folders/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/file/target.h"
#include "kernel/file/parts.h"

struct pair {
    char *other;
    char *path;
};

struct tree {
    char *path; /* links followed */
    char *base; /* where files are made */
    int lock;   /* of base, which has another name; -1: it is path */
    bool overwrites;
    struct pair *files; /* that are to get their names */
    size_t count;
    size_t room;
};

static granary_err
no_memory(const char *path)
{
    return gr_fail(GRANARY_ENOMEM, "%s: out of memory", path);
}

/* ---- begin ---- */

/* Remove those of writers that are gone. Where it cannot look, all stay. */
static void
sweep(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    char *folder = strndup(path, (size_t)(name - path));
    DIR *directory = folder == NULL ? NULL : opendir(folder);
    const struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char *left = NULL;
        int fd = part_is_of(entry->d_name, name)
                     ? openat(dirfd(directory), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
                     : -1;

        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && asprintf(&left, "%s%s", folder, entry->d_name) > 0) {
            tree_remove(left);
            free(left);
        }
        gr_fd_close(&fd);
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    free(folder);
}

/* A folder of another name, locked where folders can be. */
static granary_err
begin_beside(struct tree *tree)
{
    sweep(tree->path);
    if (asprintf(&tree->base, "%s" PART_MARK "%d" PART_END, tree->path, (int)getpid()) < 0) {
        tree->base = NULL;
        return no_memory(tree->path);
    }
    if (mkdir(tree->base, 0777) < 0) {
        granary_err err = gr_fail_errno("%s", tree->base);

        free(tree->base); /* it is not ours */
        tree->base = NULL;
        return err;
    }
    tree->lock = open(tree->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tree->lock < 0) {
        return gr_fail_errno("%s", tree->base);
    }
    while (flock(tree->lock, LOCK_EX) < 0 && errno == EINTR) {
    }
    return GRANARY_OK;
}

static granary_err
begin_within(struct tree *tree)
{
    tree->base = strdup(tree->path);
    return tree->base == NULL                               ? no_memory(tree->path)
           : mkdir(tree->base, 0777) < 0 && errno != EEXIST ? gr_fail_errno("%s", tree->base)
                                                            : GRANARY_OK;
}

granary_err
tree_create(const char *path, const char *existing, struct tree **ret_tree)
{
    struct tree *tree = calloc(1, sizeof *tree);
    granary_err err = tree == NULL ? no_memory(path) : GRANARY_OK;

    if (err != GRANARY_OK) {
        return err;
    }
    tree->lock = -1;
    tree->overwrites = strcmp(existing, "overwrite") == 0;
    tree->path = realpath(path, NULL);
    tree->path = tree->path == NULL ? strdup(path) : tree->path;
    err = tree->path == NULL                ? no_memory(path)
          : strchr(tree->path, '/') == NULL ? gr_fail(GRANARY_EINVAL, "%s: is no absolute path", path)
          : strcmp(existing, "append") == 0 ? begin_within(tree)
                                            : begin_beside(tree);
    if (err != GRANARY_OK) {
        tree_destroy(tree);
        return err;
    }
    *ret_tree = tree;
    return GRANARY_OK;
}

/* ---- files ---- */

/* Each folder on the way to a file, but for the base. */
static granary_err
make_folders(const struct tree *tree, char *path)
{
    granary_err err = GRANARY_OK;

    for (char *slash = path + strlen(tree->base) + 1; err == GRANARY_OK && (slash = strchr(slash, '/')) != NULL;
         slash++) {
        *slash = '\0';
        if (mkdir(path, 0777) < 0 && errno != EEXIST) {
            err = gr_fail_errno("%s", path);
        }
        *slash = '/';
    }
    return err;
}

static bool
has_room(struct tree *tree)
{
    size_t room = tree->count < tree->room ? tree->room : 2 * tree->room + 64;
    struct pair *files = room == tree->room ? tree->files : reallocarray(tree->files, room, sizeof *files);

    if (files != NULL) {
        tree->files = files;
        tree->room = room;
    }
    return files != NULL;
}

granary_err
tree_begin(struct tree *tree, const char *folder, const char *name, struct target *target)
{
    char *path = NULL;
    granary_err err;

    *target = (struct target){.fd = -1};
    if (!has_room(tree) || asprintf(&path, "%s/%s/%s", tree->base, folder, name) < 0) {
        return no_memory(tree->path);
    }
    target->path = path;
    err = make_folders(tree, path);
    if (err == GRANARY_OK && tree->lock < 0) {
        err = part_create(path, &target->other, &target->fd);
    } else if (err == GRANARY_OK) {
        target->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        err = target->fd < 0 ? gr_fail_errno("%s", path) : GRANARY_OK;
    }
    tree->files[tree->count++] = (struct pair){.other = target->other, .path = path};
    return err;
}

granary_err
tree_end(struct tree *tree, struct target *target, granary_err err)
{
    (void)tree;
    err = err == GRANARY_OK && target->fd >= 0 ? target_sync(target->fd, target->path) : err;
    if (target->fd >= 0 && close(target->fd) < 0 && err == GRANARY_OK) {
        err = gr_fail_errno("%s", target->path);
    }
    target->fd = -1;
    return err;
}

/* ---- end ---- */

/* Theirs and ours change places at once, or, where the file system cannot, one after the other. */
static granary_err
change_places(struct tree *tree)
{
    char *aside = NULL;
    granary_err err = tree_is_written(tree->path);

    if (err != GRANARY_OK || renameat2(AT_FDCWD, tree->base, AT_FDCWD, tree->path, RENAME_EXCHANGE) == 0) {
        return err;
    }
    if (asprintf(&aside, "%s.old", tree->base) < 0) {
        return no_memory(tree->path);
    }
    if (rename(tree->path, aside) < 0 || rename(tree->base, tree->path) < 0) {
        err = gr_fail_errno("%s", tree->path);
        (void)rename(aside, tree->path);
    } else {
        tree_remove(aside);
    }
    free(aside);
    return err;
}

static granary_err
finish_beside(struct tree *tree)
{
    granary_err err = tree_sync(tree->base);

    if (err != GRANARY_OK) {
        return err;
    }
    if (rename(tree->base, tree->path) == 0) { /* nothing was there, or an empty folder */
        return GRANARY_OK;
    }
    if (errno != ENOTEMPTY && errno != EEXIST) {
        return gr_fail_errno("%s", tree->path);
    }
    if (tree->overwrites) {
        return change_places(tree);
    }
    /* Who did the same work before may have died with the word that it was done. */
    if (tree_same(tree->base, tree->path)) {
        return GRANARY_OK;
    }
    err = gr_folder_check_free(tree->path);
    return err != GRANARY_OK ? err : gr_fail(GRANARY_EIO, "%s: somebody else changes it: run it again", tree->path);
}

granary_err
tree_finish(struct tree *tree)
{
    granary_err err = GRANARY_OK;

    if (tree->lock >= 0) {
        return finish_beside(tree);
    }
    for (size_t i = 0; i < tree->count && err == GRANARY_OK; i++) {
        if (rename(tree->files[i].other, tree->files[i].path) < 0) {
            err = gr_fail_errno("%s", tree->files[i].path);
        } else {
            free(tree->files[i].other);
            tree->files[i].other = NULL;
        }
    }
    return err;
}

void
tree_destroy(struct tree *tree)
{
    if (tree == NULL) {
        return;
    }
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->files[i].other != NULL) {
            (void)unlink(tree->files[i].other);
        }
        free(tree->files[i].other);
        free(tree->files[i].path);
    }
    if (tree->lock >= 0) { /* ours, or the one before, if it is there */
        tree_remove(tree->base);
    }
    gr_fd_close(&tree->lock);
    free(tree->files);
    free(tree->base);
    free(tree->path);
    free(tree);
}
