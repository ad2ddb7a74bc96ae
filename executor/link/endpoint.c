/* A socket file is known by its inode and the time of its last change. */
#include "executor/link/endpoint.h"

#include <sys/stat.h>

bool
endpoint_look(const char *path, struct endpoint *ret_endpoint)
{
    struct stat stat_;

    if (stat(path, &stat_) < 0) {
        return false;
    }
    *ret_endpoint = (struct endpoint){.ino = stat_.st_ino, .changed = stat_.st_ctim};
    return true;
}

bool
endpoint_changed(const char *path, const struct endpoint *seen)
{
    struct endpoint now;

    return endpoint_look(path, &now) && (now.ino != seen->ino || now.changed.tv_sec != seen->changed.tv_sec ||
                                         now.changed.tv_nsec != seen->changed.tv_nsec);
}
