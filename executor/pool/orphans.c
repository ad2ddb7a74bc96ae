/*
 * Children of the pool are listed by /proc/self/task/TID/children; those it did not start are killed and waited for,
 * pass by pass, for their own children become the pool's in turn.
 */
#include "executor/pool/orphans.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PASSES_MAX 100 /* what is killed may have started another meanwhile */

void
orphans_adopt(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void
orphans_reap(orphans_own *is_own, const void *context)
{
    siginfo_t info = {.si_pid = 0};

    /* Looked at first: how an executor ended is for others to read. */
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
           !is_own(context, info.si_pid)) {
        (void)waitpid(info.si_pid, NULL, WNOHANG);
        info.si_pid = 0;
    }
}

/* Kill the children one thread has, if they belong to the session. Returns how many. */
static int
kill_children(const char *thread, pid_t session, orphans_own *is_own, const void *context)
{
    char path[64];
    int killed = 0;
    FILE *children;
    int pid;

    (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/children", thread);
    children = fopen(path, "re");
    while (children != NULL && fscanf(children, "%d", &pid) == 1) {
        if (!is_own(context, pid) && (session == 0 || getsid(pid) == session)) {
            killed += kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid;
        }
    }
    if (children != NULL) {
        (void)fclose(children);
    }
    return killed;
}

void
orphans_kill(pid_t session, orphans_own *is_own, const void *context)
{
    int killed = 1;

    /* Those of one that is killed become ours in turn. */
    for (int pass = 0; killed > 0 && pass < PASSES_MAX; pass++) {
        DIR *threads = opendir("/proc/self/task");
        const struct dirent *thread;

        killed = 0;
        while (threads != NULL && (thread = readdir(threads)) != NULL) {
            if (thread->d_name[0] != '.') {
                killed += kill_children(thread->d_name, session, is_own, context);
            }
        }
        if (threads != NULL) {
            (void)closedir(threads);
        }
    }
}
