/* The trial of a library: granary-executor is spawned to load it, and its answer is read from a pipe. */
#include "client/trial.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text/buf.h"
#include "granary/call.h"

#define PROGRAM     "granary-executor"
#define PATIENCE_MS 20000
/* Descriptors in the child. */
#define ANSWER_FD  3
#define LIBRARY_FD 4

/* The program in a folder, if it is there. */
static bool
is_in(const char *folder, const char *below, char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s%s/" PROGRAM, folder, below);

    return length > 0 && length < PATH_MAX && access(path, X_OK) == 0;
}

/* Without its last part. */
static bool
folder_of(const char *file, char folder[PATH_MAX])
{
    const char *slash = strrchr(file, '/');

    if (slash == NULL || slash - file >= PATH_MAX) {
        return false;
    }
    (void)snprintf(folder, PATH_MAX, "%.*s", (int)(slash - file), file);
    return true;
}

/* $GRANARY_BIN; beside the program or where libgranary was installed; else wherever $PATH has it. */
static void
find_program(char path[PATH_MAX])
{
    const char *bin = getenv("GRANARY_BIN");
    char folder[PATH_MAX];
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    Dl_info info;

    if (bin != NULL && is_in(bin, "", path)) {
        return;
    }
    self[length < 0 ? 0 : length] = '\0';
    if (folder_of(self, folder) && is_in(folder, "", path)) {
        return;
    }
    if (dladdr((void *)(uintptr_t)trial_run, &info) != 0 && info.dli_fname != NULL &&
        folder_of(info.dli_fname, folder) && (is_in(folder, "/../bin", path) || is_in(folder, "/../../bin", path))) {
        return;
    }
    (void)snprintf(path, PATH_MAX, PROGRAM);
}

/* ---- the process ---- */

static granary_err
spawn(const char *program, int answer_fd, int library_fd, pid_t *ret_pid)
{
    char try[] = "--try-library=/proc/self/fd/4", answer[] = "--answer-fd=3", name[] = PROGRAM;
    char *argv[] = {name, try, answer, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t all, none;
    int error;

    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attr);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, answer_fd, ANSWER_FD);
    (void)posix_spawn_file_actions_adddup2(&actions, library_fd, LIBRARY_FD);
    (void)posix_spawnattr_setsigmask(&attr, &none);
    (void)posix_spawnattr_setsigdefault(&attr, &all);
    (void)posix_spawnattr_setpgroup(&attr, 0);
    (void)posix_spawnattr_setflags(&attr,
                                   POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (short)POSIX_SPAWN_SETPGROUP);
    error = posix_spawnp(ret_pid, program, &actions, &attr, argv, environ);
    (void)posix_spawnattr_destroy(&attr);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT) {
        return gr_fail(GRANARY_EUNREACHABLE, PROGRAM " is not found, which tries libraries: name its folder in "
                                                     "$GRANARY_BIN");
    }
    errno = error;
    return error == 0 ? GRANARY_OK : gr_fail_errno("start %s", program);
}

/* All it has to say. False: it does not end. */
static bool
listen_to(int fd, struct gr_buf *answer)
{
    int64_t deadline = gr_deadline_ns(PATIENCE_MS);
    ssize_t size = 1;

    while (size > 0) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        char bytes[4096];

        if (poll(&poll_fd, 1, gr_left_ms(deadline)) == 0) {
            return false;
        }
        size = read(fd, bytes, sizeof bytes);
        if (size > 0) {
            gr_buf_add(answer, bytes, (size_t)size);
        } else if (size < 0 && errno == EINTR) {
            size = 1;
        }
    }
    return true;
}

static granary_err
judge(const struct gr_buf *answer, bool ended, int status, Granary__Library **ret_library)
{
    Granary__Reply *reply =
        !ended || answer->size == 0 ? NULL : granary__reply__unpack(NULL, answer->size, (const uint8_t *)answer->bytes);
    granary_err err = GRANARY_OK;

    if (!ended) {
        err = gr_fail(GRANARY_EINVAL, "its constructors do not come to an end in %d s", PATIENCE_MS / 1000);
    } else if (reply == NULL && WIFSIGNALED(status)) {
        err = gr_fail(GRANARY_EINVAL, "loading it crashes: signal %d (%s)", WTERMSIG(status),
                      strsignal(WTERMSIG(status)));
    } else if (reply == NULL) {
        err = gr_fail(GRANARY_EINVAL, "loading it ends the process with status %d", WEXITSTATUS(status));
    } else if (reply->err != GRANARY_OK) {
        err = gr_fail(GRANARY_EINVAL, "%s", reply->message);
    } else if (reply->library == NULL) {
        err = gr_fail(GRANARY_EPROTO, PROGRAM " answers without a library");
    } else {
        *ret_library = reply->library;
        reply->library = NULL;
    }
    if (reply != NULL) {
        granary__reply__free_unpacked(reply, NULL);
    }
    return err;
}

granary_err
trial_run(const void *bytes, size_t size, Granary__Library **ret_library)
{
    struct gr_buf answer = {0};
    char program[PATH_MAX];
    int ends[2] = {-1, -1};
    int file = memfd_create("library", MFD_CLOEXEC);
    int high = -1;
    pid_t pid = 0;
    int status = 0;
    bool ended;
    granary_err err = file < 0 ? gr_fail_errno("a file in memory") : gr_write_all(file, bytes, size);

    if (err == GRANARY_OK && pipe2(ends, O_CLOEXEC) < 0) {
        err = gr_fail_errno("a pipe");
    }
    if (err == GRANARY_OK) { /* above the numbers they become */
        int up = fcntl(file, F_DUPFD_CLOEXEC, LIBRARY_FD + 1);

        high = fcntl(ends[1], F_DUPFD_CLOEXEC, LIBRARY_FD + 1);
        gr_fd_close(&file);
        gr_fd_close(&ends[1]);
        file = up;
        err = up < 0 || high < 0 ? gr_fail_errno("a descriptor") : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        find_program(program);
        err = spawn(program, high, file, &pid);
    }
    gr_fd_close(&high);
    gr_fd_close(&file);
    if (err == GRANARY_OK) {
        ended = listen_to(ends[0], &answer);
        if (!ended) {
            (void)kill(-pid, SIGKILL);
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        err =
            gr_buf_ok(&answer) ? judge(&answer, ended, status, ret_library) : gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    gr_fd_close(&ends[0]);
    gr_buf_free(&answer);
    return err;
}
