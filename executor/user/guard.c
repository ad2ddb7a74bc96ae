/*
 * Signals, limits, locale, rounding mode and the like are noted before user code runs and put back behind it.
 * Crashes are caught on a stack of their own.
 */
#include "executor/user/guard.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "contract/executor_page.h"

/* Signals a library may have a word to say about; the real-time ones are left to it. */
#define SIGNALS 32
#define LIMITS  8
/* Of a stack so many are told, which is less than errors quote of the end of its output; and those of the handler. */
#define FRAMES_MOST 8
#define FRAMES_OURS 8

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* One a process: handlers have no argument. */
static struct {
    pid_t pid;                 /* not that of a child somebody forks */
    const char *volatile what; /* NULL: no user code is at work */
    const struct guard_range *inputs;
    size_t input_count;
    struct sigaction actions[SIGNALS];
    sigset_t mask;
    mode_t umask;
    struct rlimit limits[LIMITS];
    fenv_t floats;
    cpu_set_t cpus;
    bool pinned; /* cpus is known */
    void *stack;
    size_t stack_size;
} own;

/* ---- dying ---- */

static void
say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

static void
say_number(uint64_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits - 1;

    digits[at] = '\0';
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    say(digits + at);
}

/* Where it happened, of what the kernel hands to a handler; NULL: not known of this machine. */
static void *
place_of(const void *context)
{
#ifdef __x86_64__
    return (void *)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (void *)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
    return NULL;
#endif
}

/* How it came there, behind the line that tells what happened: a stack that is damaged ends the process here. */
static void
say_stack(const void *context)
{
    void *frames[FRAMES_MOST + FRAMES_OURS];
    int count = backtrace(frames, FRAMES_MOST + FRAMES_OURS);
    const void *place = place_of(context);
    int first = 0;

    while (first < count && frames[first] != place) { /* the handler's own */
        first++;
    }
    first = first == count ? 0 : first;
    if (count > first) {
        say("granary: the stack, innermost first:\n");
        backtrace_symbols_fd(frames + first, count - first > FRAMES_MOST ? FRAMES_MOST : count - first, STDERR_FILENO);
    }
}

/* Only what is safe in a signal handler. The signal's default follows: the handler was for once. */
static void
crashed(int signal, siginfo_t *info, void *context)
{
    if (own.what == NULL || getpid() != own.pid) {
        return;
    }
    say("granary: ");
    say(own.what);
    for (size_t i = 0; signal == SIGSEGV && i < own.input_count; i++) {
        uintptr_t begin = (uintptr_t)own.inputs[i].begin;

        if ((uintptr_t)info->si_addr >= begin && (uintptr_t)info->si_addr - begin < own.inputs[i].size) {
            say(" wrote over its input ");
            say_number(i, 10);
            say(", which is read-only: SIGSEGV\n");
            return;
        }
    }
    say(signal == SIGSEGV  ? " crashed: SIGSEGV"
        : signal == SIGBUS ? " crashed: SIGBUS"
        : signal == SIGFPE ? " crashed: SIGFPE"
        : signal == SIGILL ? " crashed: SIGILL"
                           : " aborted: SIGABRT");
    if (signal != SIGABRT) {
        say(" at address 0x");
        say_number((uint64_t)(uintptr_t)info->si_addr, 16);
    }
    say("\n");
    say_stack(context);
}

/* exit() would look as if the executor had left in order. */
static void
left(void)
{
    if (own.what != NULL && getpid() == own.pid) {
        say("granary: ");
        say(own.what);
        say(" called exit(): a function must return\n");
        _exit(GR_EXECUTOR_REPLACE);
    }
}

/* ---- begin and end ---- */

granary_err
guard_create(struct guard *guard)
{
    stack_t stack = {0};
    void *frame;

    *guard = (struct guard){.directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    (void)backtrace(&frame, 1); /* its first call loads a library, which a handler must not */
    own.pid = getpid();
    own.umask = umask(077);
    (void)umask(own.umask);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &own.mask);
    (void)fegetenv(&own.floats);
    own.pinned = sched_getaffinity(0, sizeof own.cpus, &own.cpus) == 0;
    for (int signal = 1; signal < SIGNALS; signal++) {
        (void)sigaction(signal, NULL, &own.actions[signal]);
    }
    /* Overflow of the stack is told on another one. */
    own.stack_size = 64u << 10;
    own.stack = mmap(NULL, own.stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own.stack == MAP_FAILED) {
        own.stack = NULL;
        return gr_fail_errno("a stack for signals");
    }
    stack.ss_sp = own.stack;
    stack.ss_size = own.stack_size;
    (void)sigaltstack(&stack, NULL);
    return atexit(left) == 0 && at_quick_exit(left) == 0 ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "out of memory");
}

void
guard_destroy(struct guard *guard)
{
    stack_t none = {.ss_flags = SS_DISABLE};

    if (own.stack != NULL) {
        (void)sigaltstack(&none, NULL);
        (void)munmap(own.stack, own.stack_size);
        own.stack = NULL;
    }
    gr_fd_close(&guard->directory);
}

/* The kernel's highest mark of the memory of this process begins anew. */
static void
peak_reset(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!write(fd, "5", 1);
        (void)close(fd);
    }
}

static uint64_t
field_of(const char *status, const char *name)
{
    const char *line = strstr(status, name);

    return line == NULL ? 0 : strtoull(line + strlen(name), NULL, 10) * 1024;
}

/* The mark without the shared pages there are now: those of the store among them. */
static uint64_t
peak_read(void)
{
    char status[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, status, sizeof status - 1);
    uint64_t high, shared;

    gr_fd_close(&fd);
    if (size <= 0) {
        return 0;
    }
    status[size] = '\0';
    high = field_of(status, "VmHWM:");
    shared = field_of(status, "RssFile:") + field_of(status, "RssShmem:");
    return high > shared ? high - shared : 0;
}

/* Limits that make the executor fail at what comes later. */
static const __rlimit_resource_t limited[LIMITS] = {RLIMIT_AS,    RLIMIT_DATA,  RLIMIT_FSIZE,   RLIMIT_NOFILE,
                                                    RLIMIT_NPROC, RLIMIT_STACK, RLIMIT_MEMLOCK, RLIMIT_CPU};

static void
limits_read(struct rlimit limits[LIMITS])
{
    for (size_t i = 0; i < LIMITS; i++) {
        limits[i] = (struct rlimit){0};
        (void)getrlimit(limited[i], &limits[i]);
    }
}

bool
guard_is_whole(const struct guard *guard)
{
    struct rlimit limits[LIMITS];
    int next = fcntl(guard->directory, F_DUPFD_CLOEXEC, 3);
    bool whole = next >= 0;

    if (next < 0 &&
        errno == EBADF) { /* numbers that the process goes by may be anybody's now: nothing is touched any more */
        _exit(EX_SOFTWARE);
    }
    gr_fd_close(&next);
    limits_read(limits);
    for (size_t i = 0; i < LIMITS; i++) {
        whole = whole && limits[i].rlim_cur >= own.limits[i].rlim_cur;
    }
    return whole;
}

void
guard_begin(struct guard *guard, const char *what, const struct guard_range *inputs, size_t count,
            const char *directory)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND};

    (void)guard;
    own.inputs = inputs;
    own.input_count = count;
    own.what = what;
    action.sa_sigaction = crashed;
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
        (void)sigaction(crashes[i], &action, NULL);
    }
    if (directory != NULL && directory[0] != '\0') {
        (void)!chdir(directory);
    }
    limits_read(own.limits);
    peak_reset();
}

uint64_t
guard_end(struct guard *guard)
{
    uint64_t peak = peak_read();
    const struct itimerval none = {.it_value = {.tv_sec = 0}};

    own.what = NULL;
    for (int signal = 1; signal < SIGNALS; signal++) {
        if (signal != SIGKILL && signal != SIGSTOP) {
            (void)sigaction(signal, &own.actions[signal], NULL);
        }
    }
    (void)setitimer(ITIMER_REAL, &none, NULL); /* alarm(), whose signal would end the process */
    (void)pthread_sigmask(SIG_SETMASK, &own.mask, NULL);
    (void)umask(own.umask);
    (void)fesetenv(&own.floats);
    (void)uselocale(LC_GLOBAL_LOCALE);
    if (strcmp(setlocale(LC_ALL, NULL), "C") != 0) {
        (void)setlocale(LC_ALL, "C"); /* numbers in files have points */
    }
    if (own.pinned) {
        (void)sched_setaffinity(0, sizeof own.cpus, &own.cpus);
    }
    (void)!fchdir(guard->directory);
    while (waitpid(-1, NULL, WNOHANG) > 0) { /* children it did not wait for; granary's own are gone by now */
    }
    return peak;
}
