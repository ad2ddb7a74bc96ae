/* The signal handler that writes a thread's call stack; it calls only what is safe in a handler. */
#include "base/process/stacks.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#define FRAMES_MAX 64

/* One a process: handlers have no argument. */
static char prefix[160]; /* of the files' names: "<folder>/<pid>." */

/* Decimal digits of a number, behind text. Only what a signal handler may do. */
static void
add_number(char *text, long number)
{
    char digits[24];
    size_t count = 0;
    size_t length = strlen(text);

    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) {
        text[length++] = digits[--count];
    }
    text[length] = '\0';
}

static void
tell(int signal)
{
    void *frames[FRAMES_MAX];
    char path[sizeof prefix + 24];
    int error = errno;
    int fd;

    (void)signal;
    memcpy(path, prefix, sizeof prefix);
    add_number(path, syscall(SYS_gettid));
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        backtrace_symbols_fd(frames, backtrace(frames, FRAMES_MAX), fd);
        (void)!write(fd, GR_STACKS_END, sizeof GR_STACKS_END - 1);
        (void)close(fd);
    }
    errno = error;
}

void
gr_stacks_install(const char *runtime)
{
    struct sigaction action = {.sa_handler = tell, .sa_flags = (int)SA_RESTART};
    void *frame;

    (void)snprintf(prefix, sizeof prefix, "%s/" GR_STACKS, runtime);
    if (gr_mkdir_private(prefix) != GRANARY_OK) {
        return;
    }
    (void)snprintf(prefix, sizeof prefix, "%s/" GR_STACKS "/%d.", runtime, (int)getpid());
    (void)backtrace(&frame, 1); /* its first call loads a library, which a handler must not */
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(GR_STACKS_SIGNAL, &action, NULL);
}

void
gr_stacks_remove(const char *runtime)
{
    char folder[sizeof prefix];

    (void)snprintf(folder, sizeof folder, "%s/" GR_STACKS, runtime);
    (void)rmdir(folder);
}
