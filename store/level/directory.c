/* Directories of spill files: probed, opened, listed, cleared. */
#include "store/level/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "store/level/spillfile.h"

#define LATELY_NS 4000000000u /* what came before counts half, then a quarter, ... */

static void
path_of(const struct directory *directory, uint32_t file, char ret_path[DIRECTORY_PATH])
{
    (void)snprintf(ret_path, DIRECTORY_PATH, "%s/spill.%u", directory->path, file);
}

static granary_err
sync_directory(const struct directory *directory)
{
    int fd = open(directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    granary_err err = fd < 0 || FAULT_FAILS(spill_sync_directory) || fsync(fd) < 0
                          ? gr_fail_errno("fsync of directory %s", directory->path)
                          : GRANARY_OK;

    gr_fd_close(&fd);
    return err;
}

/* The room is that of the file system below the first directory of the path that exists. */
granary_err
directory_probe(const struct level_options *options, struct level_capacity *ret_capacity)
{
    char path[DIRECTORY_PATH];
    struct statvfs room;
    char *slash;

    if (options->dir == NULL || options->dir[0] != '/') {
        return gr_fail(GRANARY_EUNSUPPORTED, "no directory is given");
    }
    (void)snprintf(path, sizeof path, "%s", options->dir);
    while (statvfs(path, &room) < 0) {
        slash = strrchr(path, '/');
        if (slash == path) {
            return gr_fail_errno("%s", options->dir);
        }
        *slash = '\0';
    }
    *ret_capacity = (struct level_capacity){
        .total = (uint64_t)room.f_blocks * room.f_frsize,
        .available = (uint64_t)room.f_bavail * room.f_frsize,
    };
    return GRANARY_OK;
}

granary_err
directory_open(const char *path, bool direct, bool careful, void **ret_self)
{
    struct directory *directory = calloc(1, sizeof *directory);
    granary_err err;

    if (directory == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a level");
    }
    if (strlen(path) >= sizeof directory->path) {
        free(directory);
        return gr_fail(GRANARY_EINVAL, "spill directory %s: path too long", path);
    }
    (void)snprintf(directory->path, sizeof directory->path, "%s", path);
    directory->direct = direct;
    directory->careful = careful;
    err = gr_mkdir_private(path);
    if (err != GRANARY_OK) {
        free(directory);
        return gr_fail_in(err, "spill directory");
    }
    *ret_self = directory;
    return GRANARY_OK;
}

void
directory_close(void *self)
{
    struct directory *directory = self;

    if (directory != NULL) {
        (void)rmdir(directory->path);
        free(directory);
    }
}

/* Two that note something at once may lose a little of it. */
static void
note_speed(struct directory *directory, uint64_t bytes, int64_t began_ns)
{
    uint64_t ns = (uint64_t)(gr_now_ns() - began_ns);

    bytes += atomic_fetch_add(&directory->moved_bytes, bytes);
    ns += atomic_fetch_add(&directory->moved_ns, ns);
    if (ns > LATELY_NS) {
        atomic_store(&directory->moved_bytes, bytes / 2);
        atomic_store(&directory->moved_ns, ns / 2);
    }
}

uint64_t
directory_speed(void *self)
{
    struct directory *directory = self;
    uint64_t ns = atomic_load(&directory->moved_ns);

    return ns == 0 ? 0 : (uint64_t)((double)atomic_load(&directory->moved_bytes) * 1e9 / (double)ns);
}

granary_err
directory_write(void *self, const struct level_file *file, struct level_object *objects, size_t count,
                uint64_t allowance, uint64_t *ret_written)
{
    struct directory *directory = self;
    int64_t began_ns = gr_now_ns();
    uint64_t bytes = 0;
    bool persistent = (file->flags & LEVEL_FILE_PERSISTENT) != 0;
    char path[DIRECTORY_PATH];
    char partial[DIRECTORY_PATH + 16];
    granary_err err;

    path_of(directory, file->number, path);
    (void)snprintf(partial, sizeof partial, "%s.partial", path);
    err = spillfile_write(path, partial, directory->direct, persistent || directory->careful, file, objects, count,
                          allowance, ret_written);
    /* Somebody removed it. Below a share that was unmounted, though, it is not to be made. */
    if (err == GRANARY_ENOENT && !directory->careful && gr_mkdir_private(directory->path) == GRANARY_OK) {
        atomic_store(&directory->rooted, false);
        err = spillfile_write(path, partial, directory->direct, persistent || directory->careful, file, objects, count,
                              allowance, ret_written);
    }
    if (err == GRANARY_OK && persistent) {
        err = sync_directory(directory);
        if (err == GRANARY_OK && !atomic_load(&directory->rooted)) {
            err = gr_sync_above(directory->path);
            atomic_store(&directory->rooted, err == GRANARY_OK);
        }
        if (err != GRANARY_OK) {
            (void)unlink(path);
        }
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        bytes += objects[i].data_size + objects[i].meta_size;
    }
    if (err == GRANARY_OK) {
        note_speed(directory, bytes, began_ns);
    }
    return err;
}

granary_err
directory_read(void *self, uint32_t file, const struct level_object *object, uint64_t from, uint64_t size,
               struct level_cost *cost)
{
    struct directory *directory = self;
    int64_t began_ns = gr_now_ns();
    char path[DIRECTORY_PATH];
    granary_err err;

    path_of(directory, file, path);
    err = spillfile_read(path, directory->direct, object, from, size, cost);
    if (err == GRANARY_OK) {
        note_speed(directory, size, began_ns);
    }
    return err;
}

granary_err
directory_info(void *self, uint32_t file, const struct level_object *object, struct level_record *ret_record)
{
    char path[DIRECTORY_PATH];

    path_of(self, file, path);
    return spillfile_info(path, object, ret_record);
}

int
directory_open_file(void *self, uint32_t file, granary_err *ret_err)
{
    char path[DIRECTORY_PATH];
    int fd;

    path_of(self, file, path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        *ret_err = gr_fail_errno("spill file %s", path);
    }
    return fd;
}

void
directory_remove(void *self, uint32_t file)
{
    char path[DIRECTORY_PATH];

    path_of(self, file, path);
    FAULT_STEP(spill_file_before_unlink);
    if ((FAULT_FAILS(spill_unlink) || unlink(path) < 0) && errno != ENOENT) {
        gr_log_warn("SPILL-FILE-STAYS", "file=%s why=%s", path, strerror(errno));
    }
    FAULT_STEP(spill_file_unlinked);
}

void
directory_settle(void *self)
{
    (void)sync_directory(self);
}

granary_err
directory_scan(void *self, const struct level_visitor *visitor)
{
    const struct directory *directory = self;

    return level_scan_directory(directory->path, visitor);
}

granary_err
directory_records(void *self, uint32_t file, const struct level_visitor *visitor)
{
    char path[DIRECTORY_PATH];

    path_of(self, file, path);
    return level_scan_file(path, file, visitor);
}

void
directory_clear(void *self)
{
    const struct directory *directory = self;

    level_clear_directory(directory->path);
}
