/* See sqlite.h: what tells a database, without opening it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "sqlite/sqlite.h"

static uint64_t
mixed(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t
add(uint64_t hash, const struct stat *info)
{
    hash = mixed(hash, (uint64_t)info->st_size);
    return mixed(hash, (uint64_t)(info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec));
}

granary_err
gr_sqlite_stamp(const char *path, uint64_t *ret_stamp)
{
    char *log = NULL;
    struct stat info;
    uint64_t hash;

    if (stat(path, &info) != 0) {
        return gr_fail_errno("%s", path);
    }
    if (!S_ISREG(info.st_mode)) {
        return gr_fail(GRANARY_EINVAL, "%s: is no regular file", path);
    }
    hash = add(1, &info);
    if (asprintf(&log, "%s-wal", path) < 0) {
        return gr_fail(GRANARY_ENOMEM, "%s: out of memory", path);
    }
    if (stat(log, &info) == 0 && info.st_size > 0) {
        hash = add(hash, &info);
    }
    free(log);
    *ret_stamp = hash >> 1; /* it stands in messages as an int64 */
    return GRANARY_OK;
}
