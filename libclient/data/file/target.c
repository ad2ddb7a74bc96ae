/* See target.h. */
#include "data/file/target.h"

#include <dirent.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"

granary_err
gr_folder_check_free(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    bool empty = true;

    while (directory != NULL && empty && (entry = readdir(directory)) != NULL) {
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return empty ? GRANARY_OK
                 : gr_fail(GRANARY_EEXIST,
                           "%s: is there, and not empty: existing 'overwrite' replaces it, 'append' adds to it", path);
}
