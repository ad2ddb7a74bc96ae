/* See saved.h. Written beside its place, synced, and renamed: a crash leaves the file before or the one behind. */
#include "sched/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "sched/recall/recalls.h"

#define NAME          "recalled"
#define SIZE_MAX_READ ((size_t)64 << 20)

/* Beside the logs, below the directory that the store spills to. */
static void
path_of(const struct gr_instance *instance, char ret_path[GR_LOGS_MAX + 16])
{
    char *last;

    gr_instance_logs(instance, ret_path);
    last = strrchr(ret_path, '/');
    (void)snprintf(last + 1, 16, NAME);
}

static granary_err
write_file(const char *path, const struct gr_buf *bytes)
{
    char partial[GR_LOGS_MAX + 32];
    int fd;
    granary_err err;

    (void)snprintf(partial, sizeof partial, "%s.partial", path);
    fd = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    err = fd < 0 ? gr_fail_errno("%s", partial) : gr_write_all(fd, bytes->bytes, bytes->size);
    if (err == GRANARY_OK && fsync(fd) < 0) {
        err = gr_fail_errno("%s", partial);
    }
    gr_fd_close(&fd);
    if (err == GRANARY_OK && rename(partial, path) < 0) {
        err = gr_fail_errno("%s", path);
    }
    if (err == GRANARY_OK) {
        err = gr_sync_above(path);
    } else {
        (void)unlink(partial);
    }
    return err;
}

granary_err
saved_write(const struct gr_instance *instance, const struct gr_buf *bytes)
{
    char path[GR_LOGS_MAX + 16];
    granary_err err = GRANARY_OK;

    path_of(instance, path);
    if (bytes->size == 0) {
        if (unlink(path) < 0 && errno != ENOENT) {
            err = gr_fail_errno("%s", path);
        }
    } else {
        err = write_file(path, bytes);
    }
    if (err != GRANARY_OK) {
        gr_log_warn("RECALL-FILE", "%s: what is saved is not known to the next instance", granary_error_message());
    }
    return err;
}

void
saved_read(const struct gr_instance *instance, struct manager *manager)
{
    char path[GR_LOGS_MAX + 16];
    char *bytes;
    size_t size;
    granary_err err;

    path_of(instance, path);
    err = gr_file_read(path, SIZE_MAX_READ, &bytes, &size);
    if (err == GRANARY_OK) {
        gr_log_info("RECALL-SAVED", "results=%zu", manager_restore_saved(manager, bytes, size));
        free(bytes);
    } else if (err != GRANARY_ENOENT) {
        gr_log_warn("RECALL-FILE", "%s: %s", path, granary_error_message());
    }
}
