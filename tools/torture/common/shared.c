/* A sparse file without a name. */
#include "torture/common/shared.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"

void *
shared_map(const char *directory, size_t size)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    void *memory = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0) {
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    gr_fd_close(&fd);
    return memory == MAP_FAILED ? NULL : memory;
}

void
shared_unmap(void *memory, size_t size)
{
    if (memory != NULL) {
        (void)munmap(memory, size);
    }
}
