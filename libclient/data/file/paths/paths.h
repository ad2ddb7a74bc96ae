/*
 * Names that stand for many files: patterns, and folders.
 *
 *   *  ?  [a-c]   within one part of a path; not a dot at its beginning
 *   {a,b}         one or the other, also with slashes in them
 *   **            as a part by itself: folders of any depth, also none
 *
 * Of a folder all files below it are meant that end as the format's do, but no names that begin with a dot or an
 * underscore. Links to folders are followed where a part of the pattern names them, and not below a folder or `**`: so
 * there are no circles. A file that has the very name is itself, whatever its name looks like.
 */
#ifndef DATA_FILE_PATHS_H
#define DATA_FILE_PATHS_H

#include "data/file/format.h"

struct gr_paths {
    char **names; /* as the user would write them: what the pattern begins with, and what was found; owned */
    size_t count;
    bool many; /* false: it is the one name that was given, whether there is such a file or not */
};

/*
 * The files that names stand for. Of each name, they are in the order of their bytes, each once.
 *
 * directory  relative names start here; NULL or "": the working directory
 * format     whose endings the files of a folder have; NULL: of any format that has rows
 * Errors     ENOENT a pattern or folder without a file · EPERM, EIO, ... a folder that cannot be read · EINVAL a pattern of
 *            very many alternatives, a name that is too long · ENOMEM; the message has the name
 */
granary_err gr_paths_find(const char *directory, const char *const *names, size_t count, const struct gr_format *format,
                          struct gr_paths *ret_paths);
void gr_paths_free(struct gr_paths *paths);

/* Whether the name stands for many files: it is a folder, or a pattern and no file. */
bool gr_path_is_many(const char *directory, const char *name);

/* "directory/name", to be freed; the name itself when it is absolute. NULL: no memory */
char *gr_path_absolute(const char *directory, const char *name);

#endif
