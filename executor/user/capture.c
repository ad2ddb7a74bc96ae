/* Descriptors 1 and 2 lead to a file; a thread looks now and then how large it has grown, and bounds it. */
#include "executor/user/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/process/stacks.h"

/* How often a growing file is looked at. */
#define LOOK_NS 50000000

/* The thread that keeps the file within its bounds; made by the first capture. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct capture *capture; /* the one that is on, or NULL */
    bool runs;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

void
capture_init(struct capture *capture, const struct gr_instance *instance)
{
    *capture = (struct capture){.file = -1, .saved = {-1, -1}};
    gr_instance_logs(instance, capture->logs);
}

/* ---- the bound ---- */

static uint64_t
size_of(int file)
{
    struct stat st;

    return file >= 0 && fstat(file, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

/* Keep the beginning, say so, and take no more. Who has the file open still (a child) is cut again at the next look. */
static void
bound(struct capture *capture)
{
    static const char notice[] = "\ngranary: more than 16 MiB of output: the rest is not kept\n";
    int null;

    if (size_of(capture->file) <= CAPTURE_MAX) {
        return;
    }
    if (ftruncate(capture->file, CAPTURE_MAX - (off_t)sizeof notice + 1) == 0) {
        (void)!write(capture->file, notice, sizeof notice - 1);
    }
    if (!capture->cut && (null = open("/dev/null", O_WRONLY | O_CLOEXEC)) >= 0) {
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
        (void)close(null);
        capture->cut = true;
    }
}

static void *
watch_run(void *unused)
{
    (void)pthread_mutex_lock(&watch.lock);
    for (;;) {
        if (watch.capture == NULL) {
            (void)pthread_cond_wait(&watch.changed, &watch.lock);
            continue;
        }
        if (gr_cond_wait_ns(&watch.changed, &watch.lock, gr_now_ns() + LOOK_NS) == ETIMEDOUT && watch.capture != NULL) {
            bound(watch.capture);
        }
    }
    return unused;
}

static void
watch_start(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, old;

    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attr, 64 << 10);
    (void)sigfillset(&all);
    (void)sigdelset(&all, GR_STACKS_SIGNAL);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the thread that works */
    watch.runs = pthread_create(&thread, &attr, watch_run, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    (void)pthread_attr_destroy(&attr);
}

static void
watch_set(struct capture *capture)
{
    (void)pthread_mutex_lock(&watch.lock);
    if (!watch.runs) {
        watch_start();
    }
    /* Its thread need not wake when a capture ends: it finds out at its next look. */
    if (capture != NULL && watch.capture == NULL) {
        (void)pthread_cond_signal(&watch.changed);
    }
    watch.capture = capture;
    (void)pthread_mutex_unlock(&watch.lock);
}

/* ---- begin and end ---- */

/* The file, its folders made when they are not there; -1: no file, no name. Operators of a subtask share one. */
static int
open_file(struct capture *capture, const char *folder, uint32_t subtask, uint32_t attempt)
{
    char path[sizeof capture->logs + sizeof capture->name + 1];
    char name[sizeof capture->name];
    int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
    int fd;

    (void)snprintf(name, sizeof name, "%.32s/%u.%u.log", folder, subtask, attempt);
    flags |= strcmp(name, capture->name) == 0 ? 0 : O_TRUNC;
    memcpy(capture->name, name, sizeof capture->name);
    (void)snprintf(path, sizeof path, "%s/%s", capture->logs, capture->name);
    fd = open(path, flags, 0600);
    if (fd < 0 && errno == ENOENT) {
        char *slash = strrchr(path, '/');

        *slash = '\0';
        if (gr_mkdir_private(path) == GRANARY_OK) {
            *slash = '/';
            fd = open(path, flags, 0600);
        }
    }
    if (fd < 0) {
        capture->name[0] = '\0';
    }
    return fd;
}

void
capture_begin(struct capture *capture, const char *graph_key, uint32_t subtask, uint32_t attempt)
{
    char folder[GR_LOG_FOLDER_MAX];
    int null = -1;

    gr_log_folder(graph_key, folder);
    (void)fflush(stdout);
    (void)fflush(stderr);
    capture->file = open_file(capture, folder, subtask, attempt);
    if (capture->file < 0) {
        null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    }
    for (int i = 0; i < 2; i++) {
        capture->saved[i] = fcntl(STDOUT_FILENO + i, F_DUPFD_CLOEXEC, 3);
        (void)dup2(capture->file >= 0 ? capture->file : null, STDOUT_FILENO + i);
    }
    gr_fd_close(&null);
    capture->cut = false;
    capture->on = true;
    watch_set(capture);
}

static void
read_tail(int file, uint64_t size, struct gr_buf *ret_tail)
{
    char tail[CAPTURE_TAIL];
    uint64_t length = size < sizeof tail ? size : sizeof tail;

    if (gr_pread_all(file, tail, length, (int64_t)(size - length)) == GRANARY_OK) {
        gr_buf_add(ret_tail, tail, length);
    }
}

bool
capture_end(struct capture *capture, struct gr_buf *ret_tail)
{
    bool whole = true;
    uint64_t bytes;
    struct stat st;

    (void)fflush(stdout);
    (void)fflush(stderr);
    watch_set(NULL);
    if (capture->file >= 0 && fstat(capture->file, &st) < 0) { /* closed by user code */
        capture->file = -1;
        whole = false;
    }
    bound(capture);
    for (int i = 0; i < 2; i++) {
        int own = STDOUT_FILENO + i;

        if (capture->saved[i] < 0) {
            (void)close(own);
        } else {
            whole = dup2(capture->saved[i], own) >= 0 && whole;
        }
        gr_fd_close(&capture->saved[i]);
    }
    capture->on = false;
    if (capture->file < 0) {
        return whole;
    }
    bytes = size_of(capture->file);
    if (bytes == 0) {
        char path[sizeof capture->logs + sizeof capture->name + 1];

        (void)snprintf(path, sizeof path, "%s/%s", capture->logs, capture->name);
        (void)unlink(path);
        capture->name[0] = '\0';
    } else if (ret_tail != NULL) {
        read_tail(capture->file, bytes, ret_tail);
    }
    gr_fd_close(&capture->file);
    return whole;
}
