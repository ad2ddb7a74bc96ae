/*
 * Kill at the n-th system call, counted over all threads and descendants: by ptrace, for strace counts each thread by
 * itself. The tracer is a grandchild that nobody waits for, so that the program keeps its pid and its parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "torture/nth/nth.h"

#define OPTIONS                                                                                                        \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC)

struct trace {
    pid_t program;
    uint64_t n;
    const char *note;
    uint64_t count; /* system calls begun since the exec */
    bool executed;
};

static void
write_note(const struct trace *trace, pid_t thread, uint64_t call)
{
    char text[128];
    int fd = open(trace->note, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int length = snprintf(text, sizeof text, "thread %d system call %" PRIu64 " at %" PRIu64 "\n", (int)thread, call,
                          trace->count);

    if (fd >= 0) {
        (void)gr_write_all(fd, text, (size_t)length);
        gr_fd_close(&fd);
    }
}

/* How many there were, told as processes do of theirs. */
static void
write_hits(const struct trace *trace)
{
    char path[4096], line[64];
    int fd, length;

    (void)snprintf(path, sizeof path, "%s.hits", trace->note);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    length = snprintf(line, sizeof line, "trace %d rule.1 %" PRIu64 "\n", (int)getpid(), trace->count);
    if (fd >= 0) {
        (void)gr_write_all(fd, line, (size_t)length);
        gr_fd_close(&fd);
    }
}

/* At a system call of a thread. True: it was the one. */
static bool
strike(struct trace *trace, pid_t thread)
{
    struct __ptrace_syscall_info info;

    if (!trace->executed || ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY || ++trace->count != trace->n) {
        return false;
    }
    write_note(trace, thread, info.entry.nr); /* first: who sees the death may look for it */
    (void)kill(thread, SIGKILL);              /* the whole process */
    return true;
}

/* Until it has happened, or all have ended; what is still traced then runs on by itself. */
static void
follow(struct trace *trace)
{
    pid_t thread;
    int status;

    while ((thread = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        int event = status >> 16;
        int signal = WSTOPSIG(status);

        if (thread < 0 || !WIFSTOPPED(status)) {
            continue;
        }
        if (signal == (SIGTRAP | 0x80)) {
            if (strike(trace, thread)) {
                return;
            }
            signal = 0;
        } else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
            (void)ptrace(PTRACE_LISTEN, thread, 0, 0); /* stopped by a signal */
            continue;
        } else if (event != 0) {
            trace->executed = trace->executed || event == PTRACE_EVENT_EXEC;
            signal = 0;
        }
        (void)ptrace(PTRACE_SYSCALL, thread, 0, signal);
    }
}

static void
run_tracer(struct trace *trace, int ready_fd)
{
    if (fork() != 0) {
        _exit(0);
    }
    (void)setsid();
    if (ptrace(PTRACE_SEIZE, trace->program, 0, OPTIONS) == 0 && ptrace(PTRACE_INTERRUPT, trace->program, 0, 0) == 0) {
        (void)gr_write_all(ready_fd, "", 1);
        (void)close_range(0, ~0U, 0); /* nobody is to wait for our copies of the program's */
        follow(trace);
        write_hits(trace);
    }
    _exit(0);
}

int
nth_trace(int argc, char **argv)
{
    struct trace trace = {.program = getpid()};
    int ready[2];
    char byte;
    pid_t child;

    if (argc < 4 || pipe2(ready, O_CLOEXEC) < 0) {
        return 2;
    }
    trace.n = strtoull(argv[1], NULL, 10);
    trace.note = argv[2];
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* where Yama wants to be asked */
    child = fork();
    if (child == 0) {
        run_tracer(&trace, ready[1]);
    }
    gr_fd_close(&ready[1]);
    (void)waitpid(child, NULL, 0);
    if (read(ready[0], &byte, 1) != 1) {
        (void)fprintf(stderr, "granary: torture nth: cannot trace: ptrace is not permitted here\n");
        return 1;
    }
    gr_fd_close(&ready[0]);
    (void)execv(argv[3], argv + 3);
    perror(argv[3]);
    return 127;
}
