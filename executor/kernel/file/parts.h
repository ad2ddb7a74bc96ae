/* Files that are not complete: each has another name beside its own, and is locked by who writes it. */
#ifndef KERNEL_FILE_PARTS_H
#define KERNEL_FILE_PARTS_H

#include <stdbool.h>

#include "granary/types.h"

/* Between a file's name and its writer's number, and at the end. */
#define PART_MARK ".granary-"
#define PART_END  ".part"

/* Whether that is the other name of a file, or folder, of that name. */
bool part_is_of(const char *name, const char *of);
/* The same of whichever file. */
bool part_is_any(const char *name);

/*
 * Create one for the file of that path, and remove those of writers that are gone: of executors that were killed.
 *
 * ret_name  of the part, to be freed
 * Errors    EIO, ENOENT, EPERM, ... with the name · ENOMEM
 */
granary_err part_create(const char *path, char **ret_name, int *ret_fd);

#endif
