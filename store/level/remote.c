/* The remote level: spill files in a directory that may be a share. Its errors come late, so every file is fsynced
 * before it counts; and its pages are cached like any other file's, for a share knows better than O_DIRECT. */
#include "store/level/directory.h"

static granary_err
remote_open(const struct level_options *options, void **ret_self)
{
    return directory_open(options->dir, false, true, ret_self);
}

const struct level_ops level_remote = {
    .name = "remote",
    .level = GRANARY_LEVEL_REMOTE,
    .flags = LEVEL_SEEKABLE | LEVEL_WRITABLE,
    .probe = directory_probe,
    .open = remote_open,
    .close = directory_close,
    .write = directory_write,
    .read = directory_read,
    .info = directory_info,
    .open_file = directory_open_file,
    .remove = directory_remove,
    .settle = directory_settle,
    .scan = directory_scan,
    .records = directory_records,
    .clear = directory_clear,
    .speed = directory_speed,
};
