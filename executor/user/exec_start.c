/* The start of a program: as vfork() does it, from a process that may be large. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef GRANARY_SANITIZED
#include <sanitizer/asan_interface.h>
#endif

#include "base/error.h"
#include "base/fd.h"
#include "executor/user/exec.h"

#define STACK_SIZE (256u << 10)

/* What the child needs between its start and its program; in memory it shares with us. */
struct start {
    char **argv;
    char **environment;
    const char *directory;
    const int *fds; /* inputs, all above those they become */
    int fd_count;
    int input; /* standard ones */
    int output;
    int errors;
    pid_t parent;
    uint64_t memory_bytes; /* 0: as much as there is */
    int error;             /* errno when the program could not be started */
    bool in_directory;
};

/* The child: shares our memory, and we stand still meanwhile. */
static int
become_program(void *argument)
{
    struct start *start = argument;
    sigset_t none;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpgid(0, 0);
    for (int signal = 1; signal < NSIG; signal++) { /* ours is ignored; handlers would be called in shared memory */
        if (signal != SIGKILL && signal != SIGSTOP) {
            struct sigaction action = {.sa_handler = SIG_DFL};

            (void)sigaction(signal, &action, NULL);
        }
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() != start->parent) {
        _exit(127);
    }
    if (start->memory_bytes > 0) {
        const struct rlimit limit = {start->memory_bytes, start->memory_bytes};

        (void)setrlimit(RLIMIT_DATA, &limit);
    }
    (void)dup2(start->input, STDIN_FILENO);
    (void)dup2(start->output, STDOUT_FILENO);
    (void)dup2(start->errors, STDERR_FILENO);
    for (int i = 0; i < start->fd_count; i++) {
        (void)dup2(start->fds[i], 3 + i);
    }
    (void)close_range(3U + (unsigned)start->fd_count, ~0U, CLOSE_RANGE_CLOEXEC);
    if (start->directory[0] != '\0' && chdir(start->directory) < 0) {
        start->in_directory = true;
    } else {
        (void)execvpe(start->argv[0], start->argv, start->environment);
    }
    start->error = errno;
    _exit(127);
}

granary_err
exec_start(struct exec *exec)
{
    struct start start = {
        .argv = exec->argv,
        .environment = exec->environment,
        .directory = exec->op->subtask->directory,
        .fds = exec->fds,
        .fd_count = (int)exec->op->op->n_inputs,
        .input = exec->input,
        .output = exec->output_pipe[1],
        .errors = exec->error_pipe[1],
        .parent = getpid(),
        .memory_bytes = exec->op->subtask->memory_bytes,
    };
    sigset_t all, old;
    char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    granary_err err = GRANARY_OK;

    if (stack == MAP_FAILED) {
        return gr_fail_errno("a stack for a program");
    }
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &old);
    /* As vfork() with a stack of its own: no page is copied, however large this process is. */
    exec->pid = clone(become_program, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
    if (exec->pid < 0) {
        err = gr_fail_errno("start '%s'", exec->argv[0]);
    }
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
#ifdef GRANARY_SANITIZED
    /* What the child had on it was never taken back: whatever is mapped there next would seem to be out of bounds. */
    ASAN_UNPOISON_MEMORY_REGION(stack, STACK_SIZE);
#endif
    (void)munmap(stack, STACK_SIZE);
    if (err == GRANARY_OK && start.error != 0) {
        (void)waitpid(exec->pid, NULL, 0);
        exec->pid = 0;
        errno = start.error;
        if (start.in_directory) {
            err = gr_fail_errno("directory %s", start.directory);
        } else if (start.error == ENOENT) {
            err = gr_fail(GRANARY_ENOENT, "program '%s': not found in $PATH, nor as a file from %s: give its full name",
                          exec->argv[0], start.directory[0] == '\0' ? "here" : start.directory);
        } else {
            err = gr_fail_errno("program '%s'", exec->argv[0]);
        }
        exec->op->done->user_failed = true;
    }
    gr_fd_close(&exec->output_pipe[1]);
    gr_fd_close(&exec->error_pipe[1]);
    if (err == GRANARY_OK) {
        page_program(&exec->op->host->page, exec->pid);
        exec->pidfd = gr_pidfd_open(exec->pid);
    }
    return err;
}
