/*
 * granary snapshot: a copy of an instance. With --freeze it is of one moment, and a backup: the store and the scheduler
 * are stopped meanwhile (SIGSTOP). What is sealed never changes, so clients need not be stopped, and gets go on.
 */
#include "cli/instance/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/instance/supervisor/daemons.h"
#include "cli/look/look.h"
#include "inspect/inspector.h"

#define STOP_MS 5000

struct snapshot {
    struct look look;
    bool freeze;
};

static const struct gr_option snapshot_options[] = {
    {"freeze", 0, NULL, "stop store and scheduler meanwhile: a copy of one moment, which `granary restore` takes",
     GR_OPTION_FLAG(struct snapshot, freeze)},
    {0}};

/* Two daemons that are stopped, and a process that has them go on when this one ends, however it ends. */
struct frozen {
    int pidfds[2];
    int guard; /* the end of a pipe: closed, they go on */
    pid_t guard_pid;
};

static bool
is_stopped(pid_t pid)
{
    char text[GR_PROCESS_STAT];
    const char *state = gr_process_stat(pid, text);

    return state != NULL && strchr("TtZX", state[0]) != NULL;
}

/* The kernel tells nobody but the parent of it. */
static granary_err
await_stopped(const char *name, pid_t pid)
{
    int64_t deadline = gr_deadline_ns(STOP_MS);

    while (!is_stopped(pid)) {
        if (gr_now_ns() > deadline) {
            return gr_fail(GRANARY_ETIMEDOUT, "the %s (pid %d) does not stop", name, (int)pid);
        }
        (void)poll(NULL, 0, 1);
    }
    return GRANARY_OK;
}

static granary_err
start_guard(struct frozen *frozen)
{
    int ends[2];
    char byte;

    if (pipe2(ends, O_CLOEXEC) < 0 || (frozen->guard_pid = fork()) < 0) {
        return gr_fail_errno("cannot watch over what is stopped");
    }
    if (frozen->guard_pid == 0) {
        (void)setsid();
        (void)signal(SIGINT, SIG_IGN);
        (void)signal(SIGTERM, SIG_IGN);
        (void)signal(SIGHUP, SIG_IGN);
        (void)close(ends[1]);
        while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
        }
        for (int i = 0; i < 2; i++) {
            (void)gr_pidfd_signal(frozen->pidfds[i], SIGCONT);
        }
        _exit(0);
    }
    gr_fd_close(&ends[0]);
    frozen->guard = ends[1];
    return GRANARY_OK;
}

/* Nobody who is dead needs to be stopped. */
static granary_err
freeze(const struct gr_instance *instance, struct frozen *frozen)
{
    static const enum daemon_kind kinds[] = {DAEMON_SCHED, DAEMON_STORE};
    struct daemon daemons[DAEMONS];
    granary_err err;

    daemons_recall(instance, daemons);
    for (int i = 0; i < 2; i++) {
        frozen->pidfds[i] = daemons[kinds[i]].pid > 0 ? gr_pidfd_open(daemons[kinds[i]].pid) : -1;
    }
    err = start_guard(frozen);
    for (int i = 0; i < 2 && err == GRANARY_OK; i++) {
        const struct daemon *daemon = &daemons[kinds[i]];

        if (frozen->pidfds[i] >= 0 && gr_pidfd_signal(frozen->pidfds[i], SIGSTOP) == 0) {
            err = await_stopped(daemon->name, daemon->pid);
        }
    }
    return err;
}

static void
thaw(struct frozen *frozen)
{
    gr_fd_close(&frozen->guard);
    if (frozen->guard_pid > 0) {
        (void)waitpid(frozen->guard_pid, NULL, 0);
    }
    for (int i = 0; i < 2; i++) {
        gr_fd_close(&frozen->pidfds[i]);
    }
}

/* The scheduler's state as it is on disk: SQLite reads that as after a kill. */
static granary_err
copy_state(const struct gr_instance *instance, int to)
{
    static const char *const names[] = {"state.db", "state.db-wal"};
    char *buffer = malloc(FILE_COPY);
    int from = open(instance->runtime, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int folder = -1;
    granary_err err = buffer == NULL ? gr_fail(GRANARY_ENOMEM, "no memory to copy files") : GRANARY_OK;

    if (err == GRANARY_OK && (from < 0 || mkdirat(to, BACKUP_STATE, 0700) < 0 ||
                              (folder = openat(to, BACKUP_STATE, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)) {
        err = gr_fail_errno("%s", BACKUP_STATE);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0] && err == GRANARY_OK; i++) {
        err = file_copy(from, names[i], folder, names[i], buffer);
    }
    free(buffer);
    gr_fd_close(&from);
    gr_fd_close(&folder);
    return err;
}

/* One that is not there has nothing. */
static granary_err
measure_folder(int directory, const char *name, struct backup_size *size)
{
    struct dirent *entry;
    struct stat st;
    int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL) {
        granary_err err = fd < 0 && errno == ENOENT ? GRANARY_OK : gr_fail_errno("%s", name);

        gr_fd_close(&fd);
        return err;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, BACKUP_FILE) != 0 &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
            size->files++;
            size->bytes += (uint64_t)st.st_size;
        }
    }
    (void)closedir(dir);
    return GRANARY_OK;
}

granary_err
backup_measure(int directory, struct backup_size *ret_size)
{
    granary_err err;

    *ret_size = (struct backup_size){0, 0};
    err = measure_folder(directory, ".", ret_size);
    err = err == GRANARY_OK ? measure_folder(directory, BACKUP_SPILL, ret_size) : err;
    return err == GRANARY_OK ? measure_folder(directory, BACKUP_STATE, ret_size) : err;
}

/* All of it is on disk before the file that says so. */
static granary_err
sign(const struct gr_instance *instance, int to)
{
    struct backup_size size;
    char text[512];
    granary_err err = backup_measure(to, &size);
    int length, fd;

    if (err != GRANARY_OK) {
        return err;
    }
    if (syncfs(to) < 0) {
        return gr_fail_errno("the copy cannot be kept");
    }
    length = snprintf(
        text, sizeof text,
        "{\"instance\": \"%s\", \"version\": \"%s\", \"made_at_ms\": %lld, \"files\": %llu, \"bytes\": %llu}\n",
        instance->name, granary_version(), (long long)gr_wall_ms(), (unsigned long long)size.files,
        (unsigned long long)size.bytes);
    fd = openat(to, BACKUP_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    err = fd < 0 ? gr_fail_errno("%s", BACKUP_FILE) : gr_write_all(fd, text, (size_t)length);
    if (err == GRANARY_OK && (fsync(fd) < 0 || fsync(to) < 0)) {
        err = gr_fail_errno("%s", BACKUP_FILE);
    }
    gr_fd_close(&fd);
    return err;
}

static granary_err
back_up(struct snapshot *snapshot, const struct gr_instance *instance, const char *directory)
{
    struct frozen frozen = {.pidfds = {-1, -1}, .guard = -1};
    int to = -1;
    granary_err err = freeze(instance, &frozen);

    err = err == GRANARY_OK ? granary_inspect_snapshot(snapshot->look.inspector, directory) : err;
    if (err == GRANARY_OK && (to = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
        err = gr_fail_errno("%s", directory);
    }
    err = err == GRANARY_OK ? copy_state(instance, to) : err;
    thaw(&frozen);
    err = err == GRANARY_OK ? sign(instance, to) : err;
    gr_fd_close(&to);
    return err;
}

static int
run_snapshot(struct cli *cli)
{
    struct snapshot *snapshot = cli->self;
    struct gr_instance instance;
    granary_err err;

    if (!snapshot->freeze) {
        return granary_inspect_snapshot(snapshot->look.inspector, cli->arguments[0]);
    }
    if (snapshot->look.copy != NULL) {
        return gr_fail(GRANARY_EINVAL, "--freeze is of an instance, not of a copy");
    }
    err = gr_instance_resolve(cli->instance, &instance);
    return err == GRANARY_OK ? back_up(snapshot, &instance, cli->arguments[0]) : err;
}

const struct command command_snapshot = {
    .options = snapshot_options, .access = &look_access, COMMAND_ZERO(struct snapshot), .run = run_snapshot};
