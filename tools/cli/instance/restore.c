/*
 * granary restore: a backup becomes an instance that was killed at the backup's moment, and the next `granary up` takes
 * that over. The root comes last, by renaming, so a restore that was interrupted leaves nothing that could be taken over.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process/daemon.h"
#include "cli/command/command.h"
#include "cli/instance/backup.h"
#include "cli/instance/supervisor/leftovers.h"
#include "cli/instance/supervisor/supervisor.h"
#include "cli/print/json.h"
#include "contract/shm.h"
#include "inspect/inspector.h"

#define ROOT_NEW "restored" /* until it is what the new instance needs */

struct restore {
    struct gr_instance instance;
    const char *from; /* the backup */
    int from_fd;
    int lock_fd;
    char *buffer;
    uint64_t files;
    bool damaged; /* what is left of a damaged one will do */
    bool begun;   /* what is there of the instance is ours to remove */
};

/* ---- what is refused ---- */

#define OR_DAMAGED "restore another backup, or with --damaged what is left of this one"

/* The number behind a name in the backup's own file. */
static uint64_t
number_in(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at == NULL ? UINT64_MAX : strtoull(at + strlen(name), NULL, 10);
}

/* Files that were lost or cut on the way. More than there were are somebody's own. */
static granary_err
check_size(const struct restore *restore)
{
    struct backup_size size, made;
    char path[PATH_MAX];
    char *text = NULL;
    size_t length;
    granary_err err = backup_measure(restore->from_fd, &size);

    (void)snprintf(path, sizeof path, "%s/" BACKUP_FILE, restore->from);
    err = err == GRANARY_OK ? gr_file_read(path, 4096, &text, &length) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    made = (struct backup_size){number_in(text, "\"files\": "), number_in(text, "\"bytes\": ")};
    free(text);
    if (made.files == UINT64_MAX || made.bytes == UINT64_MAX) {
        return gr_fail(GRANARY_ECORRUPT, "%s is damaged: " BACKUP_FILE " does not tell what it has: " OR_DAMAGED,
                       restore->from);
    }
    if (size.files < made.files || size.bytes < made.bytes) {
        return gr_fail(GRANARY_ECORRUPT,
                       "%s is damaged: of %" PRIu64 " files with %" PRIu64 " bytes it has %" PRIu64 " with %" PRIu64
                       ": " OR_DAMAGED,
                       restore->from, made.files, made.bytes, size.files, size.bytes);
    }
    return GRANARY_OK;
}

/* A store that takes over what is damaged keeps what it can, and notes the rest in its log: that is no restore. */
static granary_err
check_whole(const struct restore *restore)
{
    granary_inspector *inspector = NULL;
    granary_check_summary summary;
    granary_err err = check_size(restore);

    err = err == GRANARY_OK ? granary_inspect_open_copy(restore->from, &inspector) : err;
    err = err == GRANARY_OK ? granary_inspect_check(inspector, 0, NULL, NULL, &summary) : err;
    granary_inspect_close(inspector);
    if (err == GRANARY_OK && summary.damages > 0) {
        return gr_fail(GRANARY_ECORRUPT,
                       "%s is damaged: `granary fsck --copy %s` lists %" PRIu64 " damage%s: " OR_DAMAGED, restore->from,
                       restore->from, summary.damages, cli_plural(summary.damages));
    }
    return err;
}

static granary_err
check_backup(struct restore *restore)
{
    struct stat st;
    granary_err err;

    restore->from_fd = open(restore->from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (restore->from_fd < 0) {
        return gr_fail_errno("%s", restore->from);
    }
    if (fstatat(restore->from_fd, BACKUP_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode)) {
        return gr_fail(GRANARY_EINVAL,
                       "%s: no backup: only what `granary snapshot --freeze` has completed can be restored",
                       restore->from);
    }
    err = gr_fd_check_own(restore->from_fd, restore->from); /* graphs that had not ended run again: programs, too */
    return err != GRANARY_OK || restore->damaged ? err : check_whole(restore);
}

/* Whether a folder has files; one that is not there has none. */
static bool
has_files(const char *path)
{
    struct dirent *entry;
    bool any = false;
    DIR *dir = opendir(path);

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        any = any || entry->d_name[0] != '.';
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return any;
}

static granary_err
check_place(const struct restore *restore)
{
    const struct gr_instance *instance = &restore->instance;
    granary_err err = gr_instance_check_own(instance->runtime);

    err = err == GRANARY_OK ? gr_instance_check_store(instance) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    if (supervisor_running(instance) != 0) {
        return gr_fail(GRANARY_EEXIST,
                       "instance %s is up: stop it with `granary down`, or restore to another --instance",
                       instance->name);
    }
    if (leftovers_found(instance)) {
        return gr_fail(
            GRANARY_EEXIST,
            "instance %s was killed, and its objects are there: `granary up` takes them over, `granary down` "
            "gives them up",
            instance->name);
    }
    if (has_files(instance->spill_default)) {
        return gr_fail(GRANARY_EEXIST,
                       "%s has persistent objects of instance %s: move that folder away, or restore to another "
                       "--instance",
                       instance->spill_default, instance->name);
    }
    return GRANARY_OK;
}

/* ---- copying ---- */

/* Files of a folder, or of the backup itself when it is NULL, but for the root and what is no shared memory. */
static granary_err
copy_folder(struct restore *restore, const char *folder, const char *to_path, const char *prefix)
{
    char name[NAME_MAX + 64];
    struct dirent *entry;
    int from =
        folder == NULL ? dup(restore->from_fd) : openat(restore->from_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int to = open(to_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = from < 0 ? NULL : fdopendir(from);
    granary_err err = GRANARY_OK;

    if (folder != NULL && from < 0 && errno == ENOENT) {
        goto out;
    }
    if (dir == NULL || to < 0) {
        err = gr_fail_errno("%s", to < 0 ? to_path : restore->from);
        goto out;
    }
    rewinddir(dir);
    while (err == GRANARY_OK && (entry = readdir(dir)) != NULL) {
        struct stat st;

        if (entry->d_name[0] == '.' || strcmp(entry->d_name, BACKUP_FILE) == 0 ||
            strcmp(entry->d_name, BACKUP_ROOT) == 0 ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode)) {
            continue;
        }
        (void)snprintf(name, sizeof name, "%s%s", prefix, entry->d_name);
        err = file_copy(dirfd(dir), entry->d_name, to, name, restore->buffer);
        restore->files += err == GRANARY_OK;
    }
out:
    if (dir != NULL) {
        (void)closedir(dir);
    } else {
        gr_fd_close(&from);
    }
    gr_fd_close(&to);
    return err;
}

/* ---- the root ---- */

/* What it says of the machine and the place is that of now. Errors: EVERSION another release wrote it · ECORRUPT */
static granary_err
rewrite(const struct restore *restore, struct gr_root *root, size_t size)
{
    char *boot = NULL;
    size_t boot_size;
    granary_err err;

    if (size < offsetof(struct gr_root, places) || atomic_load(&root->magic) != GR_ROOT_MAGIC) {
        return gr_fail(GRANARY_ECORRUPT, "%s: its root is damaged", restore->from);
    }
    if (root->version != GR_SHM_VERSION) {
        return gr_fail(
            GRANARY_EVERSION,
            "%s: a release wrote it that has version %u of shared memory, and this one knows %u: restore it with "
            "that release",
            restore->from, root->version, GR_SHM_VERSION);
    }
    if (root->uid != (uint32_t)geteuid()) {
        return gr_fail(GRANARY_EPERM, "%s: it is of uid %u: restore it as that user", restore->from, root->uid);
    }
    if (atomic_load(&root->state) == GR_CONTROL_CLOSED) {
        return gr_fail(GRANARY_EINVAL, "%s: its store was being stopped: nothing in it can be taken over",
                       restore->from);
    }
    err = gr_file_read("/proc/sys/kernel/random/boot_id", 4096, &boot, &boot_size);
    (void)memset(root->boot_id, 0, sizeof root->boot_id);
    if (err == GRANARY_OK) {
        (void)snprintf(root->boot_id, sizeof root->boot_id, "%.36s", boot);
    }
    free(boot);
    (void)snprintf(root->runtime, sizeof root->runtime, "%s", restore->instance.runtime);
    (void)snprintf(root->spill_dir, sizeof root->spill_dir, "%s", restore->instance.spill_default);
    for (unsigned i = 0; i < GR_SPILL_DIRS && size >= sizeof *root; i++) {
        (void)memset(root->places[i].path, 0, sizeof root->places[i].path);
    }
    if (size >= sizeof *root) {
        memcpy(root->places[0].path, root->spill_dir, sizeof root->spill_dir);
    }
    for (unsigned i = 0; i < GR_MAX_CLIENTS; i++) { /* whoever they were, they do not come back */
        root->clients[i].start_time = 1;
    }
    return GRANARY_OK;
}

static granary_err
restore_root(struct restore *restore)
{
    char made[96], name[96];
    struct stat st = {.st_size = 0};
    struct gr_root *root = MAP_FAILED;
    int shm = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = -1;
    granary_err err;

    (void)snprintf(made, sizeof made, "%s" ROOT_NEW, restore->instance.shm_prefix + 1);
    (void)snprintf(name, sizeof name, "%s" BACKUP_ROOT, restore->instance.shm_prefix + 1);
    err = shm < 0 ? gr_fail_errno("/dev/shm") : file_copy(restore->from_fd, BACKUP_ROOT, shm, made, restore->buffer);
    if (err == GRANARY_OK && ((fd = openat(shm, made, O_RDWR | O_CLOEXEC | O_NOFOLLOW)) < 0 || fstat(fd, &st) < 0)) {
        err = errno == ENOENT ? gr_fail(GRANARY_ECORRUPT, "%s: it has no root", restore->from)
                              : gr_fail_errno("%s", made);
    }
    if (err == GRANARY_OK && (st.st_size == 0 || (root = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
                                                              MAP_SHARED, fd, 0)) == MAP_FAILED)) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: its root cannot be mapped", restore->from);
    }
    err = err == GRANARY_OK ? rewrite(restore, root, (size_t)st.st_size) : err;
    if (err == GRANARY_OK && renameat(shm, made, shm, name) < 0) {
        err = gr_fail_errno("%s", name);
    }
    if (root != MAP_FAILED) {
        (void)munmap(root, (size_t)st.st_size);
    }
    gr_fd_close(&fd);
    gr_fd_close(&shm);
    return err;
}

/* ---- the whole ---- */

static granary_err
take_place(struct restore *restore)
{
    char path[PATH_MAX];
    granary_err err = gr_instance_make(&restore->instance);

    err = err == GRANARY_OK ? leftovers_check_directory(&restore->instance) : err;
    (void)snprintf(path, sizeof path, "%s/" LEFTOVERS_LOCK, restore->instance.runtime);
    err = err == GRANARY_OK ? gr_daemon_lock(path, true, &restore->lock_fd, NULL) : err;
    if (err == GRANARY_EBUSY) {
        return gr_fail(err, "instance %s is just being started", restore->instance.name);
    }
    restore->begun = err == GRANARY_OK;
    return err;
}

static granary_err
restore_all(struct restore *restore)
{
    const struct gr_instance *instance = &restore->instance;
    granary_err err = check_backup(restore);

    err = err == GRANARY_OK ? check_place(restore) : err;
    err = err == GRANARY_OK ? take_place(restore) : err;
    if (err == GRANARY_OK) {
        (void)gr_instance_sweep_shm(instance); /* crumbs without a root */
        err = gr_mkdir_private(instance->spill_default);
    }
    err = err == GRANARY_OK ? copy_folder(restore, BACKUP_SPILL, instance->spill_default, "") : err;
    err = err == GRANARY_OK ? copy_folder(restore, BACKUP_STATE, instance->runtime, "") : err;
    err = err == GRANARY_OK ? copy_folder(restore, NULL, "/dev/shm", instance->shm_prefix + 1) : err;
    return err == GRANARY_OK ? restore_root(restore) : err;
}

/* A restore that failed leaves the instance as it was: not there. */
static void
undo(const struct restore *restore)
{
    (void)gr_instance_sweep_shm(&restore->instance);
    gr_remove_tree(restore->instance.spill_default);
    leftovers_sweep(&restore->instance, false);
}

static int
run_restore(struct cli *cli)
{
    struct restore restore = *(const struct restore *)cli->self;
    struct json json = {0};
    granary_err err = gr_instance_resolve(cli->instance, &restore.instance);

    restore.from = cli->arguments[0];
    restore.buffer = malloc(FILE_COPY);
    if (err == GRANARY_OK && restore.buffer == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "no memory to copy files");
    }
    err = err == GRANARY_OK ? restore_all(&restore) : err;
    if (err != GRANARY_OK && restore.begun) {
        char message[1024];

        (void)snprintf(message, sizeof message, "%s", granary_error_message());
        undo(&restore);
        (void)gr_fail(err, "%s", message);
    }
    free(restore.buffer);
    gr_fd_close(&restore.from_fd);
    gr_fd_close(&restore.lock_fd);
    if (err != GRANARY_OK) {
        return err;
    }
    if (cli->json) {
        json_open(&json, NULL, '{');
        json_text(&json, "instance", restore.instance.name);
        json_unsigned(&json, "files", restore.files);
        json_close(&json);
    } else {
        (void)printf("instance %s has the objects of %s (%" PRIu64 " files): `granary up` serves them\n",
                     restore.instance.name, restore.from, restore.files);
    }
    return GRANARY_OK;
}

static const struct gr_option restore_options[] = {
    {"damaged", 0, NULL, "restore what is left of a damaged backup; the store's log then tells what was lost",
     GR_OPTION_FLAG(struct restore, damaged)},
    {0}};

const struct command command_restore = {
    .options = restore_options, COMMAND_SELF(struct restore, .from_fd = -1, .lock_fd = -1), .run = run_restore};
