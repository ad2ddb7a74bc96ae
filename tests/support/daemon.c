#include "support/daemon.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/instance.h"
#include "spawn/spawn.h"

/* The store among the programs. */
static void
find_program(char path[static 512])
{
    const char *bin = getenv("GRANARY_BIN");
    char self[400];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    self[length < 0 ? 0 : length] = '\0';
    if (strrchr(self, '/') != NULL) {
        *strrchr(self, '/') = '\0';
    }
    if (bin != NULL) {
        (void)snprintf(path, 512, "%s/granary-store", bin);
    } else {
        (void)snprintf(path, 512, "%s/../bin/granary-store", self);
    }
}

bool
daemon_restart(struct daemon *daemon, const char *const *arguments)
{
    char program[512];
    struct spawned spawned = {.program = program, .arguments = arguments, .user = daemon->user};
    bool started;

    find_program(program);
    memcpy(spawned.directory, daemon->directory, sizeof spawned.directory);
    started = spawn_again(&spawned);
    daemon->pid = spawned.pid;
    return started;
}

bool
daemon_start(struct daemon *daemon, const char *const *arguments)
{
    return daemon_start_as(daemon, 0, arguments);
}

bool
daemon_start_as(struct daemon *daemon, uid_t user, const char *const *arguments)
{
    *daemon = (struct daemon){.directory = "/tmp/granary-test-XXXXXX", .user = user};
    if (mkdtemp(daemon->directory) == NULL || (user != 0 && chown(daemon->directory, user, user) < 0)) {
        perror(daemon->directory);
        return false;
    }
    if (!daemon_restart(daemon, arguments)) {
        gr_remove_tree(daemon->directory);
        return false;
    }
    return true;
}

void
daemon_kill(struct daemon *daemon)
{
    struct spawned spawned = {.pid = daemon->pid};

    spawn_kill(&spawned);
    daemon->pid = spawned.pid;
}

static int
shm_files(const struct daemon *daemon, bool names)
{
    struct gr_instance instance;
    struct dirent *entry;
    int count = 0;
    DIR *dir;

    if (gr_instance_resolve(daemon->directory, &instance) != GRANARY_OK || (dir = opendir("/dev/shm")) == NULL) {
        return -1;
    }
    while ((entry = readdir(dir)) != NULL) {
        bool ours = strncmp(entry->d_name, instance.shm_prefix + 1, strlen(instance.shm_prefix + 1)) == 0;

        count += ours;
        if (ours && names) {
            (void)fprintf(stderr, "granary-store left %s in /dev/shm\n", entry->d_name);
        }
    }
    (void)closedir(dir);
    return count;
}

int
daemon_shm_files(const struct daemon *daemon)
{
    return shm_files(daemon, false);
}

bool
daemon_stop(struct daemon *daemon)
{
    struct gr_instance instance;
    bool clean = true;
    int status = 0;

    if (daemon->pid > 0) {
        (void)kill(daemon->pid, SIGTERM);
        clean = waitpid(daemon->pid, &status, 0) == daemon->pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!clean) {
            (void)fprintf(stderr, "granary-store ended with wait status %#x\n", (unsigned)status);
        }
        clean = shm_files(daemon, true) == 0 && clean;
        daemon->pid = 0;
    }
    if (gr_instance_resolve(daemon->directory, &instance) == GRANARY_OK) {
        (void)gr_instance_sweep_shm(&instance);
    }
    gr_remove_tree(daemon->directory);
    return clean;
}
