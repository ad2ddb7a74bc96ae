/* A private store for the benchmark. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"

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

static void
run_program(const char *directory, const char *memory, int ready_fd)
{
    char program[512];
    char spill[96];
    char ready[16];

    find_program(program);
    (void)snprintf(spill, sizeof spill, "%s/spill", directory);
    (void)snprintf(ready, sizeof ready, "%d", ready_fd);
    (void)setenv("GRANARY_LOG", "error", 0);
    (void)execl(program, "granary-store", "--instance", directory, "--spill-dir", spill, "--ready-fd", ready,
                "--die-with-parent", memory == NULL ? (char *)NULL : "--memory", memory, (char *)NULL);
    perror(program);
    _exit(127);
}

void
bench_remove_directory(const char *path)
{
    pid_t child = fork();

    if (child == 0) {
        (void)execlp("rm", "rm", "-rf", "--", path, (char *)NULL);
        _exit(127);
    }
    if (child > 0) {
        (void)waitpid(child, NULL, 0);
    }
}

static bool
launch(struct bench_daemon *daemon)
{
    char answer[1200] = "";
    size_t size = 0;
    ssize_t n;
    int ends[2];

    if (pipe(ends) < 0 || (daemon->pid = fork()) < 0) {
        perror("granary: bench");
        return false;
    }
    if (daemon->pid == 0) {
        (void)close(ends[0]);
        run_program(daemon->directory, daemon->memory, ends[1]);
    }
    (void)close(ends[1]);
    while (strchr(answer, '\n') == NULL && (n = read(ends[0], answer + size, sizeof answer - 1 - size)) > 0) {
        size += (size_t)n;
        answer[size] = '\0';
    }
    (void)close(ends[0]);
    if (strcmp(answer, "READY\n") != 0) {
        (void)fprintf(stderr, "granary: bench: the store did not start: %s\n", answer);
        bench_daemon_stop(daemon);
        return false;
    }
    return true;
}

bool
bench_daemon_start(struct bench_daemon *daemon, const char *memory)
{
    *daemon = (struct bench_daemon){.directory = "/tmp/granary-bench-XXXXXX", .memory = memory};
    if (mkdtemp(daemon->directory) == NULL) {
        perror("granary: bench");
        return false;
    }
    return launch(daemon);
}

bool
bench_daemon_restart(struct bench_daemon *daemon)
{
    (void)kill(daemon->pid, SIGKILL);
    (void)waitpid(daemon->pid, NULL, 0);
    daemon->pid = 0;
    return launch(daemon);
}

void
bench_daemon_stop(struct bench_daemon *daemon)
{
    if (daemon->pid > 0) {
        (void)kill(daemon->pid, SIGTERM);
        (void)waitpid(daemon->pid, NULL, 0);
        daemon->pid = 0;
    }
    bench_remove_directory(daemon->directory);
}
