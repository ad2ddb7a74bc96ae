/*
 * Folders of files being written. They are made under another name beside their own, and get it when all are complete: so
 * all of them are there, or none. Files that are appended to folders that are there get their own names then, one by one.
 */
#ifndef KERNEL_FOLDERS_TREE_H
#define KERNEL_FOLDERS_TREE_H

#include <stdbool.h>

#include "kernel/file/target.h"

struct tree;

/* Begin, and remove what writers left that are gone. Errors: as of the system calls, with the path · ENOMEM */
granary_err tree_create(const char *path, const char *existing, struct tree **ret_tree);

/* A file "folder/name", to be written with target_write(), and then ended. Errors: as above */
granary_err tree_begin(struct tree *tree, const char *folder, const char *name, struct target *target);
/* Returns err, or what went wrong now. */
granary_err tree_end(struct tree *tree, struct target *target, granary_err err);

/* All files, which are on disk, get their names. Errors: EEXIST others are there; EINVAL what is there is not of such files · as above */
granary_err tree_finish(struct tree *tree);
/* Whatever has not got its name goes. NULL is fine. */
void tree_destroy(struct tree *tree);

/* ---- same.c ---- */

/* Whether two folders have the same files. What cannot be read is not the same. */
bool tree_same(const char *a, const char *b);
/* Whether all in a folder is as such writes make it: files of a format in folders KEY=VALUE. Errors: EINVAL names what is
 * not · ENOMEM */
granary_err tree_is_written(const char *path);
/* The names in a folder, and in those below it, are on disk. Errors: of the system calls, with the path */
granary_err tree_sync(const char *path);
/* Remove a folder and all in it, as far as that goes. */
void tree_remove(const char *path);

#endif
