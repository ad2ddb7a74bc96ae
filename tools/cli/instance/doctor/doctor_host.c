/* Memory, disk and nodes of the machine. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process/limits.h"
#include "cli/instance/doctor/doctor.h"

#define TMPFS_MAGIC_NUMBER 0x01021994
#define RAMFS_MAGIC_NUMBER 0x858458f6
#define DIRECT_BYTES       4096

static bool
is_up(const struct doctor *doctor)
{
    return doctor->look.inspector != NULL && doctor->look.info.capacity_bytes != 0;
}

/* The budget: of the instance, or what a store would take. */
static uint64_t
budget_of(const struct doctor *doctor)
{
    return is_up(doctor) ? doctor->look.info.capacity_bytes : gr_memory_default();
}

static void
tell_memory(struct doctor *doctor)
{
    struct gr_memory_limits limits = gr_memory_limits();
    const char *name;
    uint64_t least = gr_memory_least(&limits, &name);
    uint64_t budget = budget_of(doctor);
    char text[3][32];
    char fix[256];

    if (budget > least) {
        (void)snprintf(fix, sizeof fix, "start with a smaller --memory, or raise the limit of %s", name);
        doctor_tell(doctor, DOCTOR_ATTENTION, "memory", fix,
                    "the budget of %s is more than %s allows, %s: objects would be killed with their store",
                    cli_format_size(budget, text[0]), name, cli_format_size(least, text[1]));
    } else {
        doctor_tell(doctor, DOCTOR_OK, "memory", NULL, "budget %s%s; the least limit is %s, %s",
                    cli_format_size(budget, text[0]), is_up(doctor) ? "" : " (by default)", name,
                    cli_format_size(least, text[1]));
    }
}

static void
tell_shm(struct doctor *doctor)
{
    struct gr_memory_limits limits = gr_memory_limits();
    uint64_t budget = budget_of(doctor);
    uint64_t used = is_up(doctor) ? doctor->look.info.shm_bytes : 0;
    uint64_t needed = budget > used ? budget - used : 0;
    char text[3][32];
    char fix[256];

    if (limits.shm == UINT64_MAX) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "/dev/shm", "mount a tmpfs there", "there is no /dev/shm");
    } else if (needed > limits.shm_free || limits.shm <= (uint64_t)64 << 20) {
        (void)snprintf(fix, sizeof fix,
                       "mount -o remount,size=%lluM /dev/shm, or run the container with a larger --shm-size",
                       (unsigned long long)((limits.shm + needed) >> 20) + 64);
        doctor_tell(doctor, DOCTOR_ATTENTION, "/dev/shm", fix, "%s, %s of it free, but the budget may need %s more",
                    cli_format_size(limits.shm, text[0]), cli_format_size(limits.shm_free, text[1]),
                    cli_format_size(needed, text[2]));
    } else {
        doctor_tell(doctor, DOCTOR_OK, "/dev/shm", NULL, "%s, %s of it free", cli_format_size(limits.shm, text[0]),
                    cli_format_size(limits.shm_free, text[1]));
    }
}

static void
tell_descriptors(struct doctor *doctor)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
        return;
    }
    if (limit.rlim_max < 4096) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "descriptors",
                    "raise it: ulimit -Hn 65536, or LimitNOFILE= of the service",
                    "at most %llu: the store needs one for each segment and three for each client",
                    (unsigned long long)limit.rlim_max);
    } else {
        doctor_tell(doctor, DOCTOR_OK, "descriptors", NULL, "at most %llu", (unsigned long long)limit.rlim_max);
    }
}

/* ---- the spill directory ---- */

/* The directory, or the first above it that exists: that is where it would be made. */
static void
existing_part(const char *path, char ret_path[PATH_MAX])
{
    struct stat st;

    (void)snprintf(ret_path, PATH_MAX, "%s", path);
    while (stat(ret_path, &st) < 0 && strrchr(ret_path, '/') != ret_path && strrchr(ret_path, '/') != NULL) {
        *strrchr(ret_path, '/') = '\0';
    }
}

static void
tell_direct(struct doctor *doctor, const char *dir)
{
    char path[PATH_MAX + 32];
    void *block = NULL;
    int fd;

    (void)snprintf(path, sizeof path, "%s/granary.doctor.%d", dir, (int)getpid());
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_DIRECT, 0600);
    if (fd < 0 && errno != EINVAL) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "spill", "name a directory that this user may write with --spill-dir",
                    "%s: a file cannot be made: %s: nothing can be spilled", dir, strerror(errno));
        return;
    }
    if (fd >= 0 && posix_memalign(&block, DIRECT_BYTES, DIRECT_BYTES) == 0) {
        (void)memset(block, 0, DIRECT_BYTES);
    }
    if (fd >= 0 && block != NULL && pwrite(fd, block, DIRECT_BYTES, 0) == DIRECT_BYTES) {
        doctor_tell(doctor, DOCTOR_OK, "O_DIRECT", NULL, "spilling goes past the page cache");
    } else {
        doctor_tell(doctor, DOCTOR_LESS, "O_DIRECT", "use a file system that knows it: ext4, xfs, btrfs",
                    "%s does not do it: what is spilled takes memory of the page cache on its way", dir);
    }
    (void)unlink(path);
    free(block);
    gr_fd_close(&fd);
}

/* `beside` is what others have free. */
static void
tell_directory(struct doctor *doctor, const char *spill_dir, uint64_t beside)
{
    char dir[PATH_MAX];
    struct statvfs room;
    struct statfs fs;
    uint64_t available;
    char text[2][32];

    existing_part(spill_dir, dir);
    if (statfs(dir, &fs) < 0 || statvfs(dir, &room) < 0) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "spill", "name another directory with --spill-dir", "%s: %s", spill_dir,
                    strerror(errno));
        return;
    }
    available = (uint64_t)room.f_bavail * room.f_frsize;
    if ((unsigned long)fs.f_type == TMPFS_MAGIC_NUMBER || (unsigned long)fs.f_type == RAMFS_MAGIC_NUMBER) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "spill", "name a directory on a disk with --spill-dir",
                    "%s is memory itself: spilling to it makes no room", spill_dir);
    } else if (available + beside < budget_of(doctor)) {
        doctor_tell(doctor, DOCTOR_ATTENTION, "spill", "free disk space, or name a larger file system with --spill-dir",
                    "%s: %s free, which is less than the budget of %s", spill_dir, cli_format_size(available, text[0]),
                    cli_format_size(budget_of(doctor), text[1]));
    } else {
        doctor_tell(doctor, DOCTOR_OK, "spill", NULL, "%s: %s free", spill_dir, cli_format_size(available, text[0]));
    }
    tell_direct(doctor, dir);
}

/* Free on other file systems where the same level's files go, too. */
static uint64_t
free_beside(const granary_spill_dir_info *infos, size_t count, size_t which)
{
    struct statvfs mine, other;
    uint64_t available = 0;

    for (size_t i = 0; i < count && statvfs(infos[which].path, &mine) == 0; i++) {
        if (infos[i].level == infos[which].level && statvfs(infos[i].path, &other) == 0 &&
            other.f_fsid != mine.f_fsid) {
            available += (uint64_t)other.f_bavail * other.f_frsize;
        }
    }
    return available;
}

/* Each that the instance has, or the one that it would begin with. */
static void
tell_spill(struct doctor *doctor)
{
    granary_spill_dir_info *infos = NULL;
    size_t count = 0;

    if (!is_up(doctor) || granary_inspect_spill_dirs(doctor->look.inspector, &infos, &count) != GRANARY_OK) {
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (infos[i].level == GRANARY_LEVEL_DISK) {
            tell_directory(doctor, infos[i].path, free_beside(infos, count, i));
        }
        if (infos[i].failed != GRANARY_OK) {
            doctor_tell(doctor, DOCTOR_ATTENTION, "spill", "make room there, or mend it; the store's log says more",
                        "%s: the last file could not be written (%s): others take what would go there", infos[i].path,
                        granary_error_name(infos[i].failed));
        }
    }
    if (count == 0) {
        tell_directory(doctor, doctor->spill_dir, 0);
    }
    free(infos);
}

static void
tell_nodes(struct doctor *doctor)
{
    unsigned nodes = 0;
    char path[64];

    for (unsigned i = 0; i < 1024; i++) {
        (void)snprintf(path, sizeof path, "/sys/devices/system/node/node%u", i);
        nodes += access(path, F_OK) == 0;
    }
    if (nodes <= 1) {
        doctor_tell(doctor, DOCTOR_OK, "NUMA", NULL, "one node: nothing to place");
    } else {
        doctor_tell(doctor, DOCTOR_OK, "NUMA", NULL, "%u nodes: `granary stat --nodes` shows what lies where", nodes);
    }
}

void
doctor_host(struct doctor *doctor)
{
    tell_memory(doctor);
    tell_shm(doctor);
    tell_descriptors(doctor);
    tell_spill(doctor);
    tell_nodes(doctor);
}
