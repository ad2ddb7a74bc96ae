/* Files that are read, which must be regular ones. */
#ifndef DATA_FILE_REGULAR_H
#define DATA_FILE_REGULAR_H

#include <sys/stat.h>

#include "granary/types.h"

/*
 * Open a file for reading. A pipe holds nobody up: it is refused.
 *
 * ret_fd  -1 after an error
 * Errors  ENOENT, EPERM, EIO, ... · EINVAL no regular file; the message has the path
 */
granary_err gr_regular_open(const char *path, int *ret_fd, struct stat *ret_info);

/*
 * Whether that is the file it was when the graph was submitted, and not another one that was given its name.
 *
 * inode   then; 0: it is not known
 * Errors  EIO the message has the path
 */
granary_err gr_regular_check(const char *path, const struct stat *info, int64_t inode);

#endif
