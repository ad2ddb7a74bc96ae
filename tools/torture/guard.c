#include "torture/guard.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/instance.h"
#include "spawn/spawn.h"

#define PATIENCE_MS 60000 /* for what was killed to be gone, on a busy machine */

static bool
is_of(pid_t pid, const char *directory)
{
    char path[64];
    char *text = NULL;
    size_t size = 0;
    bool is;

    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    is = gr_file_read(path, 1 << 16, &text, &size) == GRANARY_OK && memmem(text, size, directory, strlen(directory));
    free(text);
    return is;
}

/* Kill a process of the run, and no other that has got its pid; wait for its end. */
static bool
end_process(pid_t pid, const char *directory, int64_t deadline)
{
    struct pollfd poller = {.fd = gr_pidfd_open(pid), .events = POLLIN};
    bool ours = poller.fd >= 0 && is_of(pid, directory);

    if (ours && gr_pidfd_signal(poller.fd, SIGKILL) == 0) { /* one that is stopped dies of it, too */
        (void)poll(&poller, 1, gr_left_ms(deadline));
    }
    gr_fd_close(&poller.fd);
    return ours;
}

/* Returns how many there were: those may have started others meanwhile. */
static unsigned
end_all(const char *directory, int64_t deadline)
{
    unsigned count = 0;
    struct dirent *entry;
    DIR *proc = opendir("/proc");

    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        count += pid > 0 && end_process(pid, directory, deadline);
    }
    if (proc != NULL) {
        (void)closedir(proc);
    }
    return count;
}

/* The guard's process. run: a descriptor of the one it waits for. */
static void
watch(int run, const char *directory, const char *path)
{
    struct pollfd ended = {.fd = run, .events = POLLIN};
    struct gr_instance instance;
    unsigned count = 0;
    unsigned quiet = 0;
    int64_t deadline;

    (void)setsid(); /* ^C is for the run */
    while (poll(&ended, 1, -1) <= 0) {
    }
    deadline = gr_deadline_ns(PATIENCE_MS);
    while (quiet < 2 && gr_now_ns() < deadline) { /* a look at /proc may miss one that is forked meanwhile */
        unsigned found = end_all(directory, deadline);

        count += found;
        quiet = found == 0 ? quiet + 1 : 0;
    }
    if (gr_instance_resolve(path, &instance) == GRANARY_OK) {
        (void)gr_instance_sweep_shm(&instance);
    }
    spawn_remove_directory(directory);
    (void)fprintf(stderr, "torture: the run was killed: %u processes that it left are ended, %s is removed\n", count,
                  directory);
}

bool
guard_start(struct guard *guard, const char *directory, const char *instance)
{
    int run = gr_pidfd_open(getpid());

    guard->pid = run < 0 ? -1 : fork();
    if (guard->pid == 0) {
        watch(run, directory, instance);
        _exit(0);
    }
    gr_fd_close(&run);
    guard->pid = guard->pid < 0 ? 0 : guard->pid;
    return guard->pid > 0;
}

void
guard_end(struct guard *guard)
{
    if (guard->pid > 0) {
        (void)kill(guard->pid, SIGKILL);
        (void)waitpid(guard->pid, NULL, 0);
        guard->pid = 0;
    }
}
