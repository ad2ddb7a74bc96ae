/* One way to open what is to be read: O_NONBLOCK, for a pipe without a writer would hold us up. */
#include "data/file/paths/regular.h"

#include <fcntl.h>

#include "base/error.h"
#include "base/fd.h"

granary_err
gr_regular_open(const char *path, int *ret_fd, struct stat *ret_info)
{
    granary_err err = GRANARY_OK;

    *ret_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*ret_fd < 0 || fstat(*ret_fd, ret_info) < 0) {
        err = gr_fail_errno("%s", path);
    } else if (!S_ISREG(ret_info->st_mode)) {
        err = gr_fail(GRANARY_EINVAL, "%s: is no regular file%s", path,
                      S_ISDIR(ret_info->st_mode) ? "; it is a directory" : "");
    }
    if (err != GRANARY_OK) {
        gr_fd_close(ret_fd);
    }
    return err;
}

granary_err
gr_regular_check(const char *path, const struct stat *info, int64_t inode)
{
    return inode == 0 || (uint64_t)inode == (uint64_t)info->st_ino
               ? GRANARY_OK
               : gr_fail(GRANARY_EIO, "%s: it is another file than when the graph was submitted; submit again", path);
}
