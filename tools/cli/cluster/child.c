/* What the command reads and says lies in memory, so nobody waits for a pipe. */
#include "cli/cluster/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

#define NO_COMMAND 127

/* Only what is safe between fork() and exec. */
static void
become(const char *const *argv, int in, int out, int err)
{
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGPIPE, SIG_DFL);
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || (err >= 0 && dup2(err, STDERR_FILENO) < 0)) {
        _exit(NO_COMMAND);
    }
    (void)execvp(argv[0], (char *const *)(uintptr_t)argv);
    (void)dprintf(STDERR_FILENO, "granary: %s: %s\n", argv[0], strerror(errno));
    _exit(NO_COMMAND);
}

/* All that was written to a file in memory. */
static void
add_all(int fd, struct gr_buf *out)
{
    off_t size = lseek(fd, 0, SEEK_END);
    void *to = size > 0 ? gr_buf_grow(out, (size_t)size) : NULL;

    if (to != NULL && gr_pread_all(fd, to, (size_t)size, 0) != GRANARY_OK) {
        out->failed = true;
    }
}

/* The error of a command that has not done it, with the last line it said. */
static granary_err
fail(const char *command, int status, int said_fd)
{
    struct gr_buf said = {0};
    char *line;
    granary_err err;

    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_COMMAND) {
        return gr_fail(GRANARY_ENOENT, "%s: there is no such command on this machine", command);
    }
    if (said_fd >= 0) {
        add_all(said_fd, &said);
    }
    while (said.size > 0 && said.bytes[said.size - 1] == '\n') {
        said.bytes[--said.size] = '\0';
    }
    line = said.size == 0 ? NULL : strrchr(said.bytes, '\n');
    line = line != NULL ? line + 1 : said.size > 0 ? said.bytes : NULL;
    err = line != NULL ? gr_fail(GRANARY_EFAILED, "%s: %.500s", command, line)
                       : gr_fail(GRANARY_EFAILED, "%s has failed (%s %d)", command,
                                 WIFSIGNALED(status) ? "signal" : "exit status",
                                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    gr_buf_free(&said);
    return err;
}

granary_err
child_run(const char *const *argv, const char *input, bool quiet, struct gr_buf *out)
{
    int in_fd = memfd_create("input", MFD_CLOEXEC);
    int out_fd = memfd_create("output", MFD_CLOEXEC);
    int err_fd = quiet ? memfd_create("errors", MFD_CLOEXEC) : -1;
    int status = 0;
    pid_t pid = -1;
    granary_err err = GRANARY_OK;

    if (in_fd < 0 || out_fd < 0 || (quiet && err_fd < 0)) {
        err = gr_fail_errno("%s", argv[0]);
    }
    if (err == GRANARY_OK && input != NULL) {
        err = gr_pwrite_all(in_fd, input, strlen(input), 0);
    }
    if (err == GRANARY_OK && (pid = fork()) < 0) {
        err = gr_fail_errno("%s", argv[0]);
    }
    if (pid == 0) {
        become(argv, in_fd, out_fd, err_fd);
    }
    if (err == GRANARY_OK) {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        add_all(out_fd, out);
        err = status != 0 ? fail(argv[0], status, err_fd) : gr_buf_ok(out) ? GRANARY_OK : gr_no_memory(argv[0]);
    }
    gr_fd_close(&in_fd);
    gr_fd_close(&out_fd);
    gr_fd_close(&err_fd);
    return err;
}

/* Start a command that ends with this thread at the latest. */
static granary_err
start(const char *const *argv, int in, int out, int err_fd, pid_t *ret_pid)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid < 0) {
        return gr_fail_errno("%s", argv[0]);
    }
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() == parent) {
            become(argv, in, out, err_fd);
        }
        _exit(NO_COMMAND);
    }
    *ret_pid = pid;
    return GRANARY_OK;
}

granary_err
child_start(const char *const *argv, pid_t *ret_pid, int *ret_pidfd, int *ret_output)
{
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int output = memfd_create("output", MFD_CLOEXEC);
    int pidfd = -1;
    pid_t pid = -1;
    granary_err err = null_fd < 0 || output < 0 ? gr_fail_errno("%s", argv[0]) : GRANARY_OK;

    err = err == GRANARY_OK ? start(argv, null_fd, output, output, &pid) : err;
    if (err == GRANARY_OK && (pidfd = gr_pidfd_open(pid)) < 0) {
        err = gr_fail_errno("%s", argv[0]);
        child_kill(pid);
    }
    gr_fd_close(&null_fd);
    if (err != GRANARY_OK) {
        gr_fd_close(&output);
        return err;
    }
    *ret_pid = pid;
    *ret_pidfd = pidfd;
    *ret_output = output;
    return GRANARY_OK;
}

granary_err
child_talk(const char *const *argv, pid_t *ret_pid, int *ret_socket)
{
    int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int ends[2] = {-1, -1};
    granary_err err = null_fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0
                          ? gr_fail_errno("%s", argv[0])
                          : GRANARY_OK;

    err = err == GRANARY_OK ? start(argv, ends[1], ends[1], null_fd, ret_pid) : err;
    gr_fd_close(&null_fd);
    gr_fd_close(&ends[1]);
    if (err != GRANARY_OK) {
        gr_fd_close(&ends[0]);
        return err;
    }
    *ret_socket = ends[0];
    return GRANARY_OK;
}

void
child_kill(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

void
child_end(pid_t pid, int64_t deadline_ns)
{
    struct pollfd poller = {.fd = gr_pidfd_open(pid), .events = POLLIN};

    if (poller.fd >= 0) {
        while (poll(&poller, 1, gr_left_ms(deadline_ns)) < 0 && errno == EINTR) {
        }
        gr_fd_close(&poller.fd);
    }
    child_kill(pid);
}

granary_err
child_said(int output, struct gr_buf *out)
{
    add_all(output, out);
    return gr_buf_ok(out) ? GRANARY_OK : gr_no_memory("output");
}

void
child_message(int output, char ret_message[CHILD_MESSAGE_MAX])
{
    static const char mark[] = "granary: ";
    static const char command[] = "cluster fragment: ";
    off_t size = lseek(output, 0, SEEK_END);
    off_t from = size > CHILD_MESSAGE_MAX - 1 ? size - (CHILD_MESSAGE_MAX - 1) : 0;
    ssize_t n = pread(output, ret_message, CHILD_MESSAGE_MAX - 1, from);
    char *line, *at;

    ret_message[n < 0 ? 0 : n] = '\0';
    for (n = (ssize_t)strlen(ret_message); n > 0 && (ret_message[n - 1] == '\n' || ret_message[n - 1] == '\r'); n--) {
        ret_message[n - 1] = '\0';
    }
    for (line = ret_message, at = ret_message; (at = strstr(at, mark)) != NULL; at++) {
        line = at == ret_message || at[-1] == '\n' ? at + strlen(mark) : line;
    }
    if (line == ret_message && (at = strrchr(ret_message, '\n')) != NULL) {
        line = at + 1;
    }
    line += strncmp(line, command, strlen(command)) == 0 ? strlen(command) : 0;
    memmove(ret_message, line, strlen(line) + 1);
}
