/* Preloaded: a disk that is told to write, and does not. */
#include <unistd.h>

__attribute__((visibility("default"))) int
fsync(int fd)
{
    (void)fd;
    return 0;
}

__attribute__((visibility("default"))) int
fdatasync(int fd)
{
    (void)fd;
    return 0;
}
