/* What daemons do alike: the line that tells how the start went, signals, the lock, and following a parent. */
#include "base/process/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

/* ---- how the start went ---- */

/* The parent may be gone: then nobody minds (SIGPIPE is ignored). */
static void
say(int *fd, const char *line)
{
    if (*fd >= 0) {
        (void)gr_write_all(*fd, line, strlen(line));
        gr_fd_close(fd);
    }
}

void
gr_daemon_say_ready(int *fd)
{
    say(fd, "READY\n");
}

void
gr_daemon_say_error(int *fd, granary_err err)
{
    const char *message = granary_error_message();
    char line[GR_DAEMON_LINE_MAX];

    (void)snprintf(line, sizeof line - 1, "ERROR %d %s", granary_error_exit_status(err),
                   message[0] == '\0' ? granary_error_text(err) : message);
    for (char *c = line; *c != '\0'; c++) {
        if (*c == '\n') {
            *c = ' ';
        }
    }
    (void)strcat(line, "\n");
    say(fd, line);
}

/* The first of the errors that share an exit status. */
static granary_err
error_of_exit_status(long status)
{
    for (granary_err err = GRANARY_EFAILED; err >= GRANARY_ESEALED; err--) {
        if (granary_error_exit_status(err) == status) {
            return err;
        }
    }
    return GRANARY_EFAILED;
}

bool
gr_daemon_heard(char *line, granary_err *ret_err, const char **ret_message)
{
    char *message;
    long status;

    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "READY") == 0) {
        *ret_err = GRANARY_OK;
        return true;
    }
    if (strncmp(line, "ERROR ", 6) != 0) {
        return false;
    }
    status = strtol(line + 6, &message, 10);
    *ret_err = error_of_exit_status(status);
    *ret_message = message + (*message == ' ');
    return true;
}

/* ---- its limits ---- */

size_t
gr_daemon_raise_files(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0) {
        return 1024;
    }
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur == RLIM_INFINITY ? SIZE_MAX : (size_t)files.rlim_cur;
}

/* ---- its end ---- */

int
gr_daemon_open_stop(void)
{
    sigset_t stop;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error like a full disk */
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTERM);
    (void)sigaddset(&stop, SIGINT);
    if (sigprocmask(SIG_BLOCK, &stop, NULL) < 0) {
        return -1;
    }
    return signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
}

granary_err
gr_daemon_follow(pid_t parent, int signal)
{
    if (prctl(PR_SET_PDEATHSIG, signal) < 0) {
        return gr_fail_errno("a signal at the end of process %d", (int)parent);
    }
    /* It may have ended before the kernel knew that we care. */
    return getppid() == parent ? GRANARY_OK
                               : gr_fail(GRANARY_ELOST, "process %d, which started this one, is gone", (int)parent);
}

/* ---- one of its kind ---- */

/* Whose process it is; -1: it cannot be told. */
static int64_t
user_of(pid_t pid)
{
    char path[64];
    char *text = NULL;
    const char *at;
    size_t size;
    int64_t uid = -1;

    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    if (gr_file_read(path, 1 << 16, &text, &size) == GRANARY_OK && (at = strstr(text, "\nUid:")) != NULL) {
        (void)sscanf(at, "\nUid: %" SCNd64, &uid);
    }
    free(text);
    return uid;
}

/* Its holder's pid stands first in it. A process of somebody else than the file's owner is not believed to be that. */
static pid_t
read_holder(int fd, uid_t owner)
{
    char text[32] = "";
    pid_t holder = 0;
    int64_t user = -1;

    if (pread(fd, text, sizeof text - 1, 0) > 0) {
        holder = (pid_t)strtol(text, NULL, 10);
    }
    user = holder > 0 ? user_of(holder) : -1;
    return holder > 0 && (user == -1 || user == (int64_t)owner) ? holder : -1; /* or it has just begun */
}

granary_err
gr_daemon_lock(const char *path, bool create, int *ret_fd, pid_t *ret_holder)
{
    for (;;) {
        struct stat held, named;
        granary_err err;
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0), 0600);

        if (fd < 0) {
            return gr_fail_errno("%s", path);
        }
        if (fstat(fd, &held) == 0 && held.st_uid != geteuid() && geteuid() != 0) {
            gr_fd_close(&fd);
            return gr_fail(GRANARY_EPERM, "%s belongs to uid %u: it locks nothing of this user", path,
                           (unsigned)held.st_uid);
        }
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
            err = errno == EWOULDBLOCK ? GRANARY_EBUSY : gr_fail_errno("%s", path);
            if (err == GRANARY_EBUSY && ret_holder != NULL) {
                *ret_holder = read_holder(fd, held.st_uid);
            }
            gr_fd_close(&fd);
            return err;
        }
        if (fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino) {
            *ret_fd = fd;
            return GRANARY_OK;
        }
        /* Who held it took the file away with it in between. */
        gr_fd_close(&fd);
    }
}

/* A thread's wait for a lock: the kernel has no descriptor for that. */
struct lock_wait {
    int lock_fd;
    int told_fd; /* eventfd: it is locked, or failed */
    int error;
};

static void *
wait_in_kernel(void *context)
{
    struct lock_wait *wait = context;
    const uint64_t one = 1;

    while (flock(wait->lock_fd, LOCK_EX) < 0) {
        if (errno != EINTR) {
            wait->error = errno;
            break;
        }
    }
    (void)!write(wait->told_fd, &one, sizeof one);
    return NULL;
}

/* Lock an open file. ECANCELLED leaves wait to its thread. */
static granary_err
lock_wait(struct lock_wait *wait, int stop_fd)
{
    struct pollfd polls[2] = {{.fd = wait->told_fd, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
    pthread_t thread;
    int error = pthread_create(&thread, NULL, wait_in_kernel, wait);

    if (error != 0) {
        return gr_fail(GRANARY_ENOMEM, "no thread to wait for a lock: %s", strerror(error));
    }
    while ((polls[0].revents & POLLIN) == 0) {
        if (poll(polls, 2, -1) > 0 && polls[1].revents != 0) {
            (void)pthread_detach(thread);
            return gr_fail(GRANARY_ECANCELLED, "told to stop");
        }
    }
    (void)pthread_join(thread, NULL);
    errno = wait->error;
    return wait->error == 0 ? GRANARY_OK : gr_fail_errno("a lock");
}

granary_err
gr_daemon_lock_wait(const char *path, int stop_fd, int *ret_fd)
{
    for (;;) {
        struct lock_wait *wait = calloc(1, sizeof *wait);
        struct stat held, named;
        granary_err err;

        if (wait == NULL) {
            return gr_fail(GRANARY_ENOMEM, "%s: out of memory", path);
        }
        wait->told_fd = eventfd(0, EFD_CLOEXEC);
        wait->lock_fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT, 0600);
        err = wait->told_fd < 0 || wait->lock_fd < 0 ? gr_fail_errno("%s", path) : lock_wait(wait, stop_fd);
        if (err == GRANARY_ECANCELLED) {
            return err;
        }
        *ret_fd = wait->lock_fd;
        gr_fd_close(&wait->told_fd);
        free(wait);
        if (err == GRANARY_OK && fstat(*ret_fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino) {
            return GRANARY_OK;
        }
        gr_fd_close(ret_fd); /* who held it took the file away with it, or it failed */
        if (err != GRANARY_OK) {
            return err;
        }
    }
}

granary_err
gr_daemon_lock_write(int fd, const char *text)
{
    size_t size = strlen(text);

    if (ftruncate(fd, 0) < 0 || pwrite(fd, text, size, 0) != (ssize_t)size) {
        return gr_fail_errno("a lock file");
    }
    return GRANARY_OK;
}

int
gr_daemon_holder_open(const char *path)
{
    char *text = NULL;
    size_t size;
    long pid = 0;
    unsigned long long started = 0;
    struct pollfd ended = {.events = POLLIN};
    int fd;

    if (gr_file_read(path, 4096, &text, &size) != GRANARY_OK) {
        return -1;
    }
    if (sscanf(text, "%ld %llu", &pid, &started) != 2 || pid <= 0) {
        pid = 0;
    }
    free(text);
    fd = pid == 0 ? -1 : gr_pidfd_open((pid_t)pid);
    ended.fd = fd;
    /* One that has ended and that its parent has not noticed yet still has a pid. */
    if (fd >= 0 && (gr_process_start_time((pid_t)pid) != started || poll(&ended, 1, 0) > 0)) {
        gr_fd_close(&fd);
    }
    return fd;
}
