/* Programs of granary are found beside this one. A store says on a descriptor when it is ready. */
#include "spawn/spawn.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process/daemon.h"

#define ARGUMENTS_MOST 32

static void
find_program(char path[static 512])
{
    const char *bin = getenv("GRANARY_BIN");
    char self[400];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (bin == NULL && length > 0) {
        self[length] = '\0';
        *strrchr(self, '/') = '\0';
        bin = self;
    }
    (void)snprintf(path, 512, "%s/granary-store", bin == NULL ? "." : bin);
}

/* The way to the program may be closed to that user: it is taken before the change. */
static void
become(uid_t user, char program[static 512])
{
    int fd;

    if (user == 0) {
        return;
    }
    fd = open(program, O_PATH | O_CLOEXEC);
    if (fd < 0 || setgroups(0, NULL) < 0 || setgid(user) < 0 || setuid(user) < 0) {
        perror("granary-store: change user");
        _exit(127);
    }
    (void)snprintf(program, 512, "/proc/self/fd/%d", fd);
}

static bool
names_spill_dir(const char *const *arguments)
{
    while (arguments != NULL && *arguments != NULL && strcmp(*arguments, "--spill-dir") != 0) {
        arguments++;
    }
    return arguments != NULL && *arguments != NULL;
}

static void
run_program(const struct spawned *spawned, int ready_fd)
{
    const char *argv[ARGUMENTS_MOST] = {"granary-store", "--instance", spawned->directory, "--die-with-parent"};
    const char *const *more = spawned->arguments;
    size_t argc = 4;
    char program[512];
    char spill[96];
    char ready[16];

    if (spawned->program != NULL) {
        (void)snprintf(program, sizeof program, "%s", spawned->program);
    } else {
        find_program(program);
    }
    (void)snprintf(spill, sizeof spill, "%s/spill", spawned->directory);
    if (!names_spill_dir(more)) {
        argv[argc++] = "--spill-dir";
        argv[argc++] = spill;
    }
    if (ready_fd >= 0) {
        (void)snprintf(ready, sizeof ready, "%d", ready_fd);
        argv[argc++] = "--ready-fd";
        argv[argc++] = ready;
    }
    if (spawned->memory != NULL) {
        argv[argc++] = "--memory";
        argv[argc++] = spawned->memory;
    }
    while (more != NULL && *more != NULL && argc < ARGUMENTS_MOST - 1) {
        argv[argc++] = *more++;
    }
    (void)setpgid(0, 0); /* ^C is for who has started it */
    (void)setenv("GRANARY_LOG", "error", 0);
    become(spawned->user, program);
    (void)execv(program, (char *const *)(uintptr_t)argv);
    perror(program);
    _exit(127);
}

/* The child's side of spawn_command(). */
static void
run_command(const char *const *arguments, const char *output, pid_t parent)
{
    const char *bin = getenv("GRANARY_BIN");
    const char *argv[ARGUMENTS_MOST] = {"granary"};
    char program[512] = "/proc/self/exe";

    for (size_t i = 0; i < ARGUMENTS_MOST - 2 && arguments[i] != NULL; i++) {
        argv[i + 1] = arguments[i];
    }
    if (bin != NULL) {
        (void)snprintf(program, sizeof program, "%s/granary", bin);
    }
    (void)setpgid(0, 0);
    if (gr_daemon_follow(parent, SIGKILL) != GRANARY_OK) {
        _exit(127);
    }
    if (freopen(output == NULL ? "/dev/null" : output, output == NULL ? "w" : "a", stdout) == NULL ||
        (output != NULL && dup2(STDOUT_FILENO, STDERR_FILENO) < 0)) {
        _exit(127);
    }
    (void)execv(program, (char *const *)(uintptr_t)argv);
    perror(program);
    _exit(127);
}

pid_t
spawn_command(const char *const *arguments, const char *output)
{
    pid_t parent = getpid();
    pid_t child = fork();

    if (child == 0) {
        run_command(arguments, output, parent);
    }
    return child;
}

bool
spawn_granary(const char *const *arguments)
{
    int status = -1;
    pid_t child = spawn_command(arguments, NULL);

    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void
spawn_remove_directory(const char *path)
{
    gr_remove_tree(path);
}

bool
spawn_blindly(struct spawned *spawned)
{
    spawned->pid = fork();
    if (spawned->pid == 0) {
        run_program(spawned, -1);
    }
    if (spawned->pid < 0) {
        perror("granary-store");
        spawned->pid = 0;
    }
    return spawned->pid > 0;
}

bool
spawn_again(struct spawned *spawned)
{
    char answer[1200] = "";
    size_t size = 0;
    ssize_t n;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0 || (spawned->pid = fork()) < 0) {
        perror("granary-store");
        return false;
    }
    if (spawned->pid == 0) {
        int ready = dup(ends[1]); /* this one is inherited */

        run_program(spawned, ready);
    }
    (void)close(ends[1]);
    while (strchr(answer, '\n') == NULL && (n = read(ends[0], answer + size, sizeof answer - 1 - size)) > 0) {
        size += (size_t)n;
        answer[size] = '\0';
    }
    (void)close(ends[0]);
    if (strcmp(answer, "READY\n") != 0) {
        (void)fprintf(stderr, "granary: the store did not start: %s\n", answer);
        spawn_kill(spawned);
        return false;
    }
    return true;
}

bool
spawn_start(struct spawned *spawned, const char *memory)
{
    *spawned = (struct spawned){.directory = "/tmp/granary-own-XXXXXX", .memory = memory};
    if (mkdtemp(spawned->directory) == NULL) {
        perror("granary");
        return false;
    }
    if (!spawn_again(spawned)) {
        spawn_remove_directory(spawned->directory);
        return false;
    }
    return true;
}

void
spawn_kill(struct spawned *spawned)
{
    if (spawned->pid > 0) {
        (void)kill(spawned->pid, SIGKILL);
        (void)waitpid(spawned->pid, NULL, 0);
        spawned->pid = 0;
    }
}

bool
spawn_stop(struct spawned *spawned)
{
    int status = 1;

    if (spawned->pid > 0) {
        (void)kill(spawned->pid, SIGTERM);
        (void)waitpid(spawned->pid, &status, 0);
        spawned->pid = 0;
    }
    spawn_remove_directory(spawned->directory);
    return status == 0;
}
