/* The disk level: spill files in a directory of this machine. */
#include "store/level/directory.h"

static granary_err
disk_open(const struct level_options *options, void **ret_self)
{
    return directory_open(options->dir, true, false, ret_self);
}

const struct level_ops level_disk = {
    .name = "disk",
    .level = GRANARY_LEVEL_DISK,
    .flags = LEVEL_SEEKABLE | LEVEL_WRITABLE | LEVEL_PERSISTENT,
    .probe = directory_probe,
    .open = disk_open,
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
