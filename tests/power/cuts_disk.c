#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "power/cuts.h"

/* The same number on ext4 and xfs; 2: the log is not written out. */
#define SHUTDOWN        _IOR('X', 125, uint32_t)
#define SHUTDOWN_NO_LOG 2u

#define IMAGE_BYTES ((off_t)400 << 20) /* xfs takes no less than 300 MiB; sparse, and in memory */

/* Run a program without its output; its exit status. */
static int
run(const char *const *argv)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        int null = open("/dev/null", O_RDWR);

        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
        (void)execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool
mount_volume(const struct volume *volume)
{
    const char *const argv[] = {"mount", "-t", volume->type, "-o", "loop", volume->image, volume->mount, NULL};

    return run(argv) == 0;
}

static int
skip(struct volume *volume, const char *why)
{
    (void)printf("power_cuts: skipped: %s\n", why);
    volume_remove(volume);
    return 77;
}

int
volume_make(struct volume *volume, const char *type)
{
    char mkfs[32];
    const char *const make[] = {mkfs, "-q", volume->image, NULL};
    int status;
    int fd;

    *volume = (struct volume){.image = "/dev/shm/granary-cuts-XXXXXX", .type = type};
    (void)snprintf(mkfs, sizeof mkfs, "mkfs.%s", type);
    fd = mkstemp(volume->image);
    if (fd < 0 || ftruncate(fd, IMAGE_BYTES) < 0) {
        gr_fd_close(&fd);
        return skip(volume, "no room for an image in /dev/shm");
    }
    gr_fd_close(&fd);
    (void)snprintf(volume->mount, sizeof volume->mount, "%s.d", volume->image);
    if (geteuid() != 0) {
        return skip(volume, "only root may mount");
    }
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
        return skip(volume, "no mount namespace is to be had");
    }
    status = run(make);
    if (status != 0) {
        return skip(volume, status == 127 ? "there is no mkfs for that file system" : "mkfs failed");
    }
    if (mkdir(volume->mount, 0700) < 0 || !mount_volume(volume)) {
        return skip(volume, "that file system cannot be mounted by loop");
    }
    return 0;
}

void
volume_remove(struct volume *volume)
{
    if (volume->mount[0] != '\0') {
        (void)umount2(volume->mount, MNT_DETACH);
        (void)rmdir(volume->mount);
    }
    (void)unlink(volume->image);
}

bool
volume_cut(const struct volume *volume)
{
    uint32_t how = SHUTDOWN_NO_LOG;
    int fd = open(volume->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && ioctl(fd, SHUTDOWN, &how) == 0;

    gr_fd_close(&fd);
    return done;
}

bool
volume_remount(const struct volume *volume)
{
    /* The kernel may still be at what a process that has ended left open. */
    for (int i = 0; umount2(volume->mount, 0) < 0; i++) {
        if (errno != EBUSY || i == 5000) {
            perror(volume->mount);
            return false;
        }
        (void)usleep(1000);
    }
    return mount_volume(volume);
}
