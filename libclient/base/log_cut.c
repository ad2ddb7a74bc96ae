/*
 * A log begins anew while others append to it. Their descriptors stay, so it is truncated; and what they write between the
 * end of the copy and that would be lost. So a turn is told of, odd meanwhile: who finds it odd waits for its end, and
 * who finds that it changed while he wrote writes again. No one waits for a writer, who may have been killed.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/futex.h"
#include "base/log.h"

static granary_err
copy_rest(int log_fd, int copy_fd)
{
    ssize_t n = 1;

    while (n > 0) {
        n = sendfile(copy_fd, log_fd, NULL, 1 << 20);
    }
    return n == 0 ? GRANARY_OK : gr_fail_errno("a log's copy");
}

/* NULL: nobody can be told, and a line may be lost. */
static struct gr_log_shared *
open_shared(const char *path)
{
    struct gr_log_shared *shared = MAP_FAILED;
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    if (fd >= 0 && fstat(fd, &st) == 0 &&
        (st.st_size >= (off_t)sizeof *shared || ftruncate(fd, (off_t)sizeof *shared) == 0)) {
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    gr_fd_close(&fd);
    return shared == MAP_FAILED ? NULL : shared;
}

granary_err
gr_log_cut(const char *level_path, int log_fd, int copy_fd)
{
    granary_err err = copy_rest(log_fd, copy_fd); /* most of it, while nobody waits */
    struct gr_log_shared *shared = err == GRANARY_OK ? open_shared(level_path) : NULL;

    if (shared != NULL) {
        atomic_store(&shared->turn, atomic_load(&shared->turn) | 1);
    }
    err = err == GRANARY_OK ? copy_rest(log_fd, copy_fd) : err;
    if (err == GRANARY_OK && ftruncate(log_fd, 0) < 0) {
        err = gr_fail_errno("a log");
    }
    if (shared != NULL) {
        atomic_fetch_add(&shared->turn, 1);
        gr_futex_wake(&shared->turn);
        (void)munmap(shared, sizeof *shared);
    }
    return err;
}
