/* An instance for a trial: a store whose supervisor we are, or a whole one. One of its programs can be armed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/process/daemon.h"
#include "torture/nth/nth.h"

/* Where the threads of the instance are, to stderr. */
static void nth_stacks(const struct nth_instance *instance);

#define PATIENCE_MS 20000 /* for a command; what takes longer hangs */
#define ENDING_MS   2000  /* and who is left when the instance is down may take so long to end */
#define WAITING_MS  4000  /* and so long it may wait for a message that may be lost */
#define ARGUMENTS   24
#define PROGRAM_MAX (64 << 20)
#define NEVER       UINT64_C(1000000000) /* a time that does not come */

const char *const nth_process_names[] = {"client", "store", "sched", "executor"};
static const char *const programs[] = {"granary", "granary-store", "granary-sched", "granary-executor"};

/* ---- programs ---- */

static bool
copy_program(const char *from, const char *to)
{
    char *bytes = NULL;
    size_t size = 0;
    int fd = -1;
    granary_err err = gr_file_read(from, PROGRAM_MAX, &bytes, &size);

    if (err == GRANARY_OK) {
        fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
        err = fd < 0 ? gr_fail_errno("%s", to) : gr_write_all(fd, bytes, size);
    }
    gr_fd_close(&fd);
    free(bytes);
    if (err != GRANARY_OK) {
        (void)fprintf(stderr, "granary: torture nth: %s\n", granary_error_message());
    }
    return err == GRANARY_OK;
}

/* The script in the place of a program: the start that finds `arm` gets the fault. */
static bool
write_script(const struct nth_fault *fault, const char *real, const char *path)
{
    FILE *script = fopen(path, "we");

    if (script == NULL) {
        perror(path);
        return false;
    }
    (void)fprintf(script,
                  "#!/bin/sh\ncd \"$GRANARY_NTH\" && mv arm armed 2>/dev/null || exec %s/%s \"$@\"\nread -r n <armed\n",
                  real, programs[fault->process]);
    if (fault->traced) {
        (void)fprintf(script, "exec %s/granary torture nth trace \"$n\" \"$GRANARY_NTH/note\" ", real);
    } else {
        if (!fault->messages) {
            (void)fprintf(script, "export LD_PRELOAD=%s/../lib/granary/libgranary-faults.so\n", real);
        }
        (void)fprintf(script, "export GRANARY_FAULT_NOTE=\"$GRANARY_NTH/note\" GRANARY_FAULT=\"%s:%s@$n%s\"\nexec ",
                      fault->point, fault->action, fault->sticky ? "+" : "");
    }
    (void)fprintf(script, "%s/%s \"$@\"\n", real, programs[fault->process]);
    return fchmod(fileno(script), 0700) == 0 && fclose(script) == 0;
}

bool
nth_programs_make(const struct nth_fault *fault, char *path)
{
    char real[PATH_MAX], from[PATH_MAX + 32], to[128];
    ssize_t length = readlink("/proc/self/exe", real, sizeof real - 1);

    (void)snprintf(path, 96, "/tmp/granary-nth-XXXXXX");
    if (length < 0 || mkdtemp(path) == NULL) {
        perror("granary: torture nth");
        return false;
    }
    real[length] = '\0';
    *strrchr(real, '/') = '\0';
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        (void)snprintf(from, sizeof from, "%s/%s", real, programs[i]);
        (void)snprintf(to, sizeof to, "%s/%s", path, programs[i]);
        /* The command line looks for daemons beside itself: it has to be here. */
        if (i == NTH_CLIENT ? !copy_program(from, to) : i != fault->process && symlink(from, to) < 0) {
            return false;
        }
    }
    (void)snprintf(to, sizeof to, "%s/%s", path, fault->process == NTH_CLIENT ? "armed" : programs[fault->process]);
    return write_script(fault, real, to);
}

static const char *
path_of(const struct nth_instance *instance, const char *name, char path[static 160])
{
    (void)snprintf(path, 160, "%s/%s", instance->directory, name);
    return path;
}

void
nth_arm(const struct nth_instance *instance, uint64_t n)
{
    char path[160];
    FILE *file = fopen(path_of(instance, "arm", path), "we");

    if (file != NULL) {
        (void)fprintf(file, "%" PRIu64 "\n", n == 0 ? NEVER : n);
        (void)fclose(file);
    }
}

bool
nth_fired(const struct nth_instance *instance)
{
    char path[160];

    return access(path_of(instance, "note", path), F_OK) == 0;
}

uint64_t
nth_hits(const struct nth_instance *instance)
{
    char path[160], line[256], name[64];
    unsigned long long hits, most = 0;
    FILE *file = fopen(path_of(instance, "note.hits", path), "re");

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%*s %*d %63s %llu", name, &hits) == 2 && strcmp(name, "rule.1") == 0 && hits > most) {
            most = hits;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return most;
}

bool
nth_directory_make(struct nth_instance *instance)
{
    static const char *const directories[] = {"i", "spill", "log"};
    char path[160];

    (void)snprintf(instance->directory, sizeof instance->directory, "/tmp/granary-nth-XXXXXX");
    if (mkdtemp(instance->directory) == NULL) {
        perror("granary: torture nth");
        return false;
    }
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        (void)mkdir(path_of(instance, directories[i], path), 0700);
    }
    (void)setenv("GRANARY_NTH", instance->directory, 1);
    (void)setenv("GRANARY_INSTANCE", path_of(instance, "i", path), 1);
    return nth_scenario_files(instance->directory);
}

/* ---- processes ---- */

static void
redirect(const struct nth_instance *instance, const char *name, int fd, int flags)
{
    char path[160];
    int file = open(path_of(instance, name, path), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

    if (file < 0 || dup2(file, fd) < 0) {
        _exit(127);
    }
}

static void
become_store(const struct nth_instance *instance, int ready_fd)
{
    char program[160], runtime[160], spill[160], ready[16];
    const char *argv[] = {"granary-store",
                          "--instance",
                          path_of(instance, "i", runtime),
                          "--spill-dir",
                          path_of(instance, "spill", spill),
                          "--memory",
                          instance->scenario->memory,
                          "--die-with-parent",
                          "--ready-fd",
                          ready,
                          NULL};

    (void)setpgid(0, 0); /* ^C is for the run */
    (void)snprintf(program, sizeof program, "%s/granary-store", instance->bin);
    (void)snprintf(ready, sizeof ready, "%d", dup(ready_fd)); /* this one is inherited */
    redirect(instance, "log/store.log", STDOUT_FILENO, O_APPEND);
    redirect(instance, "log/store.log", STDERR_FILENO, O_APPEND);
    (void)execv(program, (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* The store has ended. */
static void
note_end(struct nth_instance *instance, int status)
{
    instance->store = 0;
    instance->died = instance->died || nth_fired(instance);
    instance->store_signal = WIFSIGNALED(status) ? WTERMSIG(status) : instance->store_signal;
}

/* What the store said about its start; false: nothing, or nothing in time. */
static bool
read_ready(int fd, struct nth_end *end)
{
    int64_t deadline = gr_deadline_ns(PATIENCE_MS);
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    size_t size = 0;
    ssize_t n;

    end->message[0] = '\0';
    while (strchr(end->message, '\n') == NULL && size < sizeof end->message - 1) {
        end->hung = poll(&poller, 1, gr_left_ms(deadline)) == 0;
        n = end->hung ? 0 : read(fd, end->message + size, sizeof end->message - 1 - size);
        if (n <= 0) {
            break;
        }
        size += (size_t)n;
        end->message[size] = '\0';
    }
    return size > 0;
}

static bool
start_store(struct nth_instance *instance, struct nth_end *end)
{
    const char *message = "";
    granary_err err = GRANARY_ELOST;
    int ends[2];
    bool heard;

    *end = (struct nth_end){0};
    if (pipe2(ends, O_CLOEXEC) < 0 || (instance->store = fork()) < 0) {
        perror("granary: torture nth");
        exit(1);
    }
    if (instance->store == 0) {
        become_store(instance, ends[1]);
    }
    gr_fd_close(&ends[1]);
    heard = read_ready(ends[0], end) && gr_daemon_heard(end->message, &err, &message);
    gr_fd_close(&ends[0]);
    if (heard && err == GRANARY_OK) {
        return true;
    }
    if (heard) {
        (void)memmove(end->message, message, strlen(message) + 1);
    }
    if (end->hung) {
        nth_stacks(instance);
    }
    if (end->hung || !heard) {
        (void)kill(instance->store, SIGKILL); /* one that could not say so may be ready */
    }
    (void)waitpid(instance->store, &end->status, 0);
    if (!heard && !end->hung && !instance->dies && WIFSIGNALED(end->status) && WTERMSIG(end->status) == SIGKILL) {
        (void)snprintf(end->message, sizeof end->message, "the store could not say that it is ready");
        end->status = EXIT_FAILURE << 8; /* it was us */
    }
    note_end(instance, end->status);
    return false;
}

/* The store that was to be killed and has said so is dying, if not dead. */
static void
await_death(struct nth_instance *instance)
{
    if (instance->dies && !instance->died && instance->store > 0 && nth_fired(instance)) {
        (void)waitid(P_PID, (id_t)instance->store, NULL, WNOWAIT | WEXITED);
    }
}

/* A store that ended is started again, as a supervisor would: several times if need be. */
static void
mind_store(struct nth_instance *instance)
{
    struct nth_end end;
    int status;

    await_death(instance);

    if (instance->store <= 0 || waitpid(instance->store, &status, WNOHANG) != instance->store) {
        return;
    }
    note_end(instance, status);
    for (int tries = 0; tries < 3; tries++) {
        if (start_store(instance, &end)) {
            return;
        }
        if (WIFEXITED(end.status)) {
            (void)snprintf(instance->refusal, sizeof instance->refusal, "%s", end.message);
        }
    }
    (void)fprintf(stderr, "granary: torture nth: the store cannot be started again: %s\n", end.message);
    instance->store_broken = true;
}

/* The end of what a file holds. */
static void
read_tail(const char *path, char *text, size_t size)
{
    char *bytes = NULL;
    size_t length = 0;

    text[0] = '\0';
    if (gr_file_read(path, 16 << 20, &bytes, &length) == GRANARY_OK) {
        (void)snprintf(text, size, "%s", length < size ? bytes : bytes + length - size + 1);
    }
    free(bytes);
}

static void
await_command(struct nth_instance *instance, pid_t child, struct nth_end *end)
{
    int64_t deadline = gr_deadline_ns(instance->impatient ? WAITING_MS : PATIENCE_MS);
    int pidfd = gr_pidfd_open(child);

    for (;;) {
        int store_fd = instance->store > 0 ? gr_pidfd_open(instance->store) : -1;
        struct pollfd pollers[2] = {{.fd = pidfd, .events = POLLIN}, {.fd = store_fd, .events = POLLIN}};
        int ready = poll(pollers, 2, gr_left_ms(deadline));

        gr_fd_close(&store_fd);
        mind_store(instance);
        if (ready == 0 && instance->impatient && !end->interrupted) {
            end->interrupted = true;
            deadline = gr_deadline_ns(PATIENCE_MS); /* it cancels first what it has begun */
            (void)kill(child, SIGINT);
            continue;
        }
        if (ready == 0) {
            end->hung = true;
            nth_stacks(instance);
            (void)kill(child, SIGKILL);
        }
        if (ready == 0 || pollers[0].revents != 0) {
            break;
        }
    }
    (void)waitpid(child, &end->status, 0);
    gr_fd_close(&pidfd);
}

void
nth_run(struct nth_instance *instance, const char *const *arguments, bool armed, struct nth_end *ret_end)
{
    const char *argv[ARGUMENTS] = {"granary"};
    char program[160], path[160];
    pid_t child;

    *ret_end = (struct nth_end){0};
    (void)snprintf(program, sizeof program, "%s/%s", instance->bin, armed ? "armed" : "granary");
    for (size_t i = 0; arguments[i] != NULL && i + 2 < ARGUMENTS; i++) {
        argv[i + 1] = arguments[i];
    }
    mind_store(instance);
    child = fork();
    if (child < 0) {
        perror("granary: torture nth");
        exit(1);
    }
    if (child == 0) {
        (void)setpgid(0, 0);
        (void)chdir(instance->directory);
        redirect(instance, "out", STDOUT_FILENO, O_TRUNC);
        redirect(instance, "err", STDERR_FILENO, O_TRUNC);
        (void)execv(program, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    await_command(instance, child, ret_end);
    read_tail(path_of(instance, "err", path), ret_end->message, sizeof ret_end->message);
}

/* ---- up and down ---- */

bool
nth_up(struct nth_instance *instance, struct nth_end *end)
{
    const char *const up[] = {"up",          "--executors", "1", "--memory", instance->scenario->memory,
                              "--spill-dir", "spill",       NULL};

    if (!instance->scenario->whole) {
        return start_store(instance, end);
    }
    nth_run(instance, up, false, end);
    return !end->hung && end->status == 0;
}

/* The pid of a daemon of a whole instance; 0: unknown. */
static pid_t
daemon_pid(const struct nth_instance *instance, const char *key)
{
    char path[160];
    char *text = NULL;
    size_t size = 0;
    long pid = 0;
    const char *at;

    if (gr_file_read(path_of(instance, "i/instance.json", path), 1 << 16, &text, &size) == GRANARY_OK) {
        at = strstr(text, key);
        pid = at == NULL ? 0 : strtol(at + strlen(key), NULL, 10);
    }
    free(text);
    return (pid_t)pid;
}

void
nth_kill(struct nth_instance *instance)
{
    static const char *const keys[] = {"\"store_pid\": ", "\"store_pid\": ", "\"sched_pid\": ", "\"pool_pid\": "};
    pid_t pid = instance->store > 0 ? instance->store : daemon_pid(instance, keys[instance->process]);

    if (pid <= 0) {
        return;
    }
    (void)kill(pid, SIGKILL);
    if (instance->store > 0) {
        (void)waitid(P_PID, (id_t)pid, NULL, WNOWAIT | WEXITED);
        mind_store(instance);
    }
}

bool
nth_down(struct nth_instance *instance, struct nth_end *end)
{
    static const char *const down[] = {"down", NULL};
    struct pollfd poller = {.events = POLLIN};

    if (instance->scenario->whole) {
        nth_run(instance, down, false, end);
        return !end->hung && end->status == 0;
    }
    *end = (struct nth_end){0};
    if (instance->store <= 0) {
        return true;
    }
    poller.fd = gr_pidfd_open(instance->store);
    (void)kill(instance->store, SIGTERM);
    end->hung = poll(&poller, 1, PATIENCE_MS) == 0;
    if (end->hung) {
        nth_stacks(instance);
        (void)kill(instance->store, SIGKILL);
    }
    (void)waitpid(instance->store, &end->status, 0);
    gr_fd_close(&poller.fd);
    instance->store = 0;
    return !end->hung && end->status == 0;
}

/* ---- what is left ---- */

static void __attribute__((format(printf, 3, 4))) append(char *text, size_t size, const char *format, ...)
{
    size_t length = strlen(text);
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text + length, size - length, format, list);
    va_end(list);
}

/* Whether a process was started for the trial: by its environment. Others may name the directory for reasons of theirs.
 */
static bool
is_ours(const struct nth_instance *instance, long pid)
{
    char path[64], wanted[128], *environment = NULL;
    size_t length = 0;
    bool ours;

    (void)snprintf(path, sizeof path, "/proc/%ld/environ", pid);
    (void)snprintf(wanted, sizeof wanted, "GRANARY_NTH=%s", instance->directory);
    ours = pid > 0 && pid != getpid() && gr_file_read(path, 1 << 20, &environment, &length) == GRANARY_OK &&
           memmem(environment, length, wanted, strlen(wanted) + 1) != NULL;
    free(environment);
    return ours;
}

/*
 * Whether it ends by itself. The tracer tells what it counted when all others have ended. Who forgets the graph of an
 * interrupted command, beside it, may learn only now that the instance is down.
 */
static bool
process_ends(long pid, const char *command, size_t length)
{
    static const char words[] = "torture\0nth\0trace";
    bool traces = memmem(command, length, words, sizeof words) != NULL;
    struct pollfd poller = {.fd = gr_pidfd_open((pid_t)pid), .events = POLLIN};
    bool ended = poller.fd < 0 || poll(&poller, 1, traces ? PATIENCE_MS : ENDING_MS) > 0;

    gr_fd_close(&poller.fd);
    return ended;
}

static void
find_processes(const struct nth_instance *instance, bool end_them, char *text, size_t size)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;

    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        long pid = strtol(entry->d_name, NULL, 10);
        char path[64], *command = NULL;
        size_t length = 0;

        (void)snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
        if (is_ours(instance, pid) && gr_file_read(path, 1 << 20, &command, &length) == GRANARY_OK &&
            !(end_them && process_ends(pid, command, length))) {
            append(text, size, "process %s, pid %ld\n", command, pid);
            if (end_them) {
                (void)kill((pid_t)pid, SIGKILL);
            }
        }
        free(command);
    }
    if (proc != NULL) {
        (void)closedir(proc);
    }
}

static void
find_files(const char *directory, const char *prefix, char *text, size_t size)
{
    DIR *files = opendir(directory);
    struct dirent *entry;

    while (files != NULL && (entry = readdir(files)) != NULL) {
        /* The lock stays, so that who waits for it and who comes next mean the same file. */
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, "store.lock") != 0 && strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            append(text, size, "file %s/%s\n", directory, entry->d_name);
        }
    }
    if (files != NULL) {
        (void)closedir(files);
    }
}

const char *
nth_leftovers(const struct nth_instance *instance, char *text, size_t size)
{
    struct gr_instance named;
    char path[160];

    text[0] = '\0';
    find_processes(instance, true, text, size);
    if (gr_instance_resolve(path_of(instance, "i", path), &named) == GRANARY_OK) {
        find_files("/dev/shm", named.shm_prefix + 1, text, size);
        (void)gr_instance_sweep_shm(&named);
    }
    find_files(path_of(instance, "i", path), "", text, size);
    find_files(path_of(instance, "spill", path), "", text, size);
    return text;
}

/* ---- what was said ---- */

static void
find_outcries(const char *path, char *text, size_t size)
{
    static const char *const cries[] = {"ERROR: AddressSanitizer",
                                        "ERROR: LeakSanitizer",
                                        "runtime error:",
                                        "WARNING: ThreadSanitizer",
                                        "Assertion",
                                        "assertion",
                                        "terminate called",
                                        "stack smashing",
                                        "corrupted",
                                        "free()",
                                        "malloc()"};
    char *bytes = NULL;
    size_t length = 0;

    if (gr_file_read(path, 16 << 20, &bytes, &length) != GRANARY_OK) {
        return;
    }
    for (size_t i = 0; i < sizeof cries / sizeof cries[0]; i++) {
        const char *at = strstr(bytes, cries[i]);

        if (at != NULL && text[0] == '\0') {
            (void)snprintf(text, size, "%.*s", (int)strcspn(at, "\n"), at);
        }
    }
    free(bytes);
}

const char *
nth_outcries(const struct nth_instance *instance, char *text, size_t size)
{
    static const char *const files[] = {"log/store.log",  "i/log/store.log",      "i/log/sched.log",
                                        "i/log/pool.log", "i/log/supervisor.log", "err"};
    char path[160];

    text[0] = '\0';
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        find_outcries(path_of(instance, files[i], path), text, size);
    }
    return text;
}

static void
nth_stacks(const struct nth_instance *instance)
{
    char text[4096] = "", command[128];
    const char *at = text;

    find_processes(instance, false, text, sizeof text);
    (void)fputs(text, stderr);
    while ((at = strstr(at, "pid ")) != NULL) {
        at += 4;
        (void)snprintf(command, sizeof command, "timeout 10 %s/granary stacks %ld >&2", instance->bin,
                       strtol(at, NULL, 10));
        (void)system(command); /* NOLINT(cert-env33-c): a program of ours, for who reads */
    }
}
