/*
 * Run a test and write down the processor time it took: meter FILE COMMAND ARGUMENT...
 *
 * FILE gets one line: seconds of processor time of everything that the test started, daemons too, and seconds by the
 * clock. Daemons outlive the process that started them, so this process adopts them (PR_SET_CHILD_SUBREAPER). Those
 * that still run when the test has ended are not counted, and not waited for.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double
seconds_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double
seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* Reap whoever ends until the test itself has. Returns its wait status. */
static int
test_wait(pid_t test)
{
    int status = 0;
    pid_t ended;

    do {
        ended = waitpid(-1, &status, 0);
    } while (ended != test && (ended > 0 || errno == EINTR));
    return status;
}

static void
time_write(const char *path, double begun)
{
    struct rusage used;
    FILE *file = fopen(path, "we");

    (void)getrusage(RUSAGE_CHILDREN, &used);
    if (file != NULL) {
        (void)fprintf(file, "%.2f %.2f\n", seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
                      seconds_now() - begun);
        (void)fclose(file);
    }
}

int
main(int argc, char **argv)
{
    double begun = seconds_now();
    pid_t test;
    int status;

    if (argc < 3) {
        (void)fprintf(stderr, "usage: meter FILE COMMAND ARGUMENT...\n");
        return 2;
    }
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    test = fork();
    if (test == 0) {
        (void)execvp(argv[2], argv + 2);
        (void)fprintf(stderr, "meter: %s: %s\n", argv[2], strerror(errno));
        _exit(127);
    }
    status = test > 0 ? test_wait(test) : W_EXITCODE(1, 0);
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    time_write(argv[1], begun);
    if (WIFSIGNALED(status)) {
        (void)raise(WTERMSIG(status));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
