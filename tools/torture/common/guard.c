/*
 * The guard watches the run by a pidfd, and by a socket on which the run says that it has cleaned up itself. Otherwise
 * it ends every process whose command line names the run's directory.
 */
#include "torture/common/guard.h"

#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

/* Names in shared memory of every instance whose notes lie below the directory. */
static int
sweep_one(const char *path, const struct stat *stat, int type, struct FTW *at)
{
    struct gr_instance instance;
    char directory[PATH_MAX];

    (void)stat;
    if (type == FTW_F && strcmp(path + at->base, "instance.json") == 0) {
        (void)snprintf(directory, sizeof directory, "%.*s", at->base - 1, path);
        if (gr_instance_resolve(directory, &instance) == GRANARY_OK) {
            (void)gr_instance_sweep_shm(&instance);
        }
    }
    return 0;
}

static void
clean_up(const char *directory, const char *path)
{
    int64_t deadline = gr_deadline_ns(PATIENCE_MS);
    struct gr_instance instance;
    unsigned count = 0;
    unsigned quiet = 0;

    while (quiet < 2 && gr_now_ns() < deadline) { /* a look at /proc may miss one that is forked meanwhile */
        unsigned found = end_all(directory, deadline);

        count += found;
        quiet = found == 0 ? quiet + 1 : 0;
    }
    if (gr_instance_resolve(path, &instance) == GRANARY_OK) {
        (void)gr_instance_sweep_shm(&instance);
    }
    (void)nftw(directory, sweep_one, 8, FTW_PHYS);
    spawn_remove_directory(directory);
    (void)fprintf(stderr, "torture: the run was killed: %u processes that it left are ended, %s is removed\n", count,
                  directory);
}

/* The guard's process. run: of the one it waits for; socket: on which that one says that it has cleaned up itself. */
static void
watch(int run, int socket, const char *directory, const char *path)
{
    struct pollfd pollers[2] = {{.fd = run, .events = POLLIN}, {.fd = socket, .events = POLLIN}};
    char word;

    (void)setsid(); /* ^C is for the run */
    while (poll(pollers, 2, -1) <= 0) {
    }
    if (recv(socket, &word, sizeof word, MSG_DONTWAIT) <= 0) {
        clean_up(directory, path);
    }
}

bool
guard_start(struct guard *guard, const char *directory, const char *instance)
{
    int run = gr_pidfd_open(getpid());
    int ends[2] = {-1, -1};
    int status = 1;
    pid_t child = -1;

    if (run >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
        child = fork();
    }
    if (child == 0) {
        /* No child of the run: who kills a process with all that descend from it does not find the guard. */
        pid_t grandchild = fork();

        if (grandchild == 0) {
            gr_fd_close(&ends[0]);
            watch(run, ends[1], directory, instance);
        }
        _exit(grandchild < 0 ? 1 : 0);
    }
    gr_fd_close(&run);
    gr_fd_close(&ends[1]);
    guard->runs = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    guard->socket = ends[0];
    if (!guard->runs) {
        gr_fd_close(&guard->socket);
    }
    return guard->runs;
}

void
guard_end(struct guard *guard)
{
    char word = 0;

    if (guard->runs) {
        (void)send(guard->socket, &word, sizeof word, MSG_NOSIGNAL);
        (void)recv(guard->socket, &word, sizeof word, 0); /* its end */
        gr_fd_close(&guard->socket);
        guard->runs = false;
    }
}
