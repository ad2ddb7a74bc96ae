#include "support/daemon.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/instance.h"

#define MOST_ARGUMENTS 24

static bool
find_program(const struct daemon *daemon, char path[static 512])
{
    const char *bin = getenv("GRANARY_BIN");
    char self[400];
    ssize_t length;

    if (bin != NULL && daemon->program == NULL) {
        (void)snprintf(path, 512, "%s/granary-store", bin);
        return access(path, X_OK) == 0;
    }
    length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) {
        return false;
    }
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    if (daemon->program != NULL) {
        (void)snprintf(path, 512, "%s/%.64s", self, daemon->program);
    } else {
        (void)snprintf(path, 512, "%s/../bin/granary-store", self);
    }
    return access(path, X_OK) == 0;
}

/* The way to the program may be closed to that user: it is taken before the change. */
static void
become(uid_t user, char program[static 512])
{
    int fd;

    if (user == 0) {
        return;
    }
    fd = open(program, O_PATH);
    if (fd < 0 || setgroups(0, NULL) < 0 || setgid(user) < 0 || setuid(user) < 0) {
        perror("granary-store: change user");
        _exit(127);
    }
    (void)snprintf(program, 512, "/proc/self/fd/%d", fd);
}

static void
run_program(const struct daemon *daemon, const char *const *arguments, int ready_fd)
{
    const char *directory = daemon->directory;
    const char *argv[MOST_ARGUMENTS] = {"granary-store", "--instance", directory};
    char program[512];
    char spill[128];
    char ready[16];
    size_t count = 3;

    (void)snprintf(spill, sizeof spill, "%s/spill", daemon->directory);
    (void)snprintf(ready, sizeof ready, "%d", ready_fd);
    argv[count++] = "--ready-fd";
    argv[count++] = ready;
    argv[count++] = "--die-with-parent";
    argv[count++] = "--spill-dir"; /* one among the arguments comes later and wins */
    argv[count++] = spill;
    while (arguments != NULL && *arguments != NULL && count < MOST_ARGUMENTS - 1) {
        argv[count++] = *arguments++;
    }
    if (find_program(daemon, program)) {
        (void)setenv("GRANARY_LOG", getenv("GRANARY_LOG") == NULL ? "error" : getenv("GRANARY_LOG"), 1);
        become(daemon->user, program);
        (void)execv(program, (char *const *)(uintptr_t)argv);
    }
    perror("granary-store");
    _exit(127);
}

bool
daemon_restart(struct daemon *daemon, const char *const *arguments)
{
    char answer[1200] = "";
    size_t size = 0;
    ssize_t n;
    int ends[2];

    if (pipe(ends) < 0 || (daemon->pid = fork()) < 0) {
        perror("granary-store");
        return false;
    }
    if (daemon->pid == 0) {
        (void)close(ends[0]);
        run_program(daemon, arguments, ends[1]);
    }
    (void)close(ends[1]);
    while (strchr(answer, '\n') == NULL && (n = read(ends[0], answer + size, sizeof answer - 1 - size)) > 0) {
        size += (size_t)n;
        answer[size] = '\0';
    }
    (void)close(ends[0]);
    if (strcmp(answer, "READY\n") != 0) {
        (void)fprintf(stderr, "granary-store did not start: %s\n", answer);
        daemon_kill(daemon);
        return false;
    }
    return true;
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
    if (daemon->pid > 0) {
        (void)kill(daemon->pid, SIGKILL);
        (void)waitpid(daemon->pid, NULL, 0);
        daemon->pid = 0;
    }
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
