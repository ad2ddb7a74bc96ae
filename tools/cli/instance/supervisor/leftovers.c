/* Files are known by the instance's prefix and directory, daemons by pid and start time; the lock goes last. */
#include "cli/instance/supervisor/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/process/roster.h"
#include "base/process/stacks.h"
#include "cli/instance/reload.h"
#include "cli/instance/supervisor/daemons.h"
#include "contract/executor_page.h"
#include "contract/sched_page.h"
#include "spill/spill.h"

/* What an instance makes in its runtime directory. The supervisor's lock goes last: who finds it knows the directory. The
 * store's socket goes first, or not at all. */
static const char *const runtime_files[] = {"store.sock",      "sched.sock",        "pool.sock",
                                            "web.sock",        "web.url",           "web.html",
                                            "instance.json",   "instance.json.new", "log",
                                            "log.level",       RELOAD_FILE,         RELOAD_FILE ".new",
                                            "state.db-shm",    "state.db-wal",      "state.db-journal",
                                            "state.db",        "store.lock",        "sched.lock",
                                            GR_EXECUTOR_PAGES, GR_SCHED_PAGE,       GR_SCHED_PAGE ".new",
                                            GR_STACKS,         GR_ROSTER,           LEFTOVERS_LOCK};

granary_err
leftovers_check_directory(const struct gr_instance *instance)
{
    struct dirent *entry;
    bool empty = true;
    bool ours = false;
    DIR *dir = opendir(instance->runtime);

    if (dir == NULL) {
        return gr_fail_errno("%s", instance->runtime);
    }
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            empty = false;
            ours = ours || strcmp(entry->d_name, LEFTOVERS_LOCK) == 0;
        }
    }
    (void)closedir(dir);
    return empty || ours
               ? GRANARY_OK
               : gr_fail(GRANARY_EEXIST,
                         "%s is a directory with files that are no instance's: name one that is empty or does "
                         "not exist with --instance",
                         instance->runtime);
}

bool
leftovers_logs(const struct gr_instance *instance, char ret_path[LEFTOVERS_LOGS_MAX])
{
    const char *slash = strrchr(instance->runtime, '/');
    struct stat st;

    (void)snprintf(ret_path, LEFTOVERS_LOGS_MAX, "%.*s/.%s.log", (int)(slash - instance->runtime), instance->runtime,
                   slash + 1);
    return instance->named && lstat(ret_path, &st) == 0;
}

/* Why it ended can be read afterwards: beside where an instance of a name lives, in place of those of the run before. */
static void
keep_logs(const struct gr_instance *instance)
{
    char kept[LEFTOVERS_LOGS_MAX];
    char path[PATH_MAX];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/log", instance->runtime);
    if (!instance->named || lstat(path, &st) < 0 || !S_ISDIR(st.st_mode)) { /* a link's directory stays where it is */
        return;
    }
    if (leftovers_logs(instance, kept)) {
        gr_remove_tree(kept);
    }
    (void)rename(path, kept);
}

/* The directory above is ours when it was made for the first instance; it goes with the last one. */
static void
remove_shared_parent(const char *runtime)
{
    char parent[PATH_MAX];
    char *slash;

    (void)snprintf(parent, sizeof parent, "%s", runtime);
    slash = strrchr(parent, '/');
    if (slash == NULL) {
        return;
    }
    *slash = '\0';
    slash = strrchr(parent, '/');
    if (slash != NULL && strncmp(slash + 1, "granary", 7) == 0) {
        (void)rmdir(parent);
    }
}

bool
leftovers_found(const struct gr_instance *instance)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "/dev/shm%sroot", instance->shm_prefix);
    if (access(path, F_OK) == 0) {
        return true;
    }
    (void)snprintf(path, sizeof path, "%s/state.db", instance->runtime); /* outlives the machine's restart */
    return access(path, F_OK) == 0;
}

/* Below /var/tmp somebody else may have been first, with a link that leads to files of this user. */
static bool
is_own_directory(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* What lies in one of this user's directories. */
static void
remove_below_own(char *path)
{
    char *slash = strrchr(path, '/');
    bool is_own;

    *slash = '\0';
    is_own = is_own_directory(path);
    *slash = '/';
    if (is_own) {
        gr_remove_tree(path);
    }
}

void
leftovers_sweep(const struct gr_instance *instance, bool keep_socket)
{
    char path[PATH_MAX];

    keep_logs(instance);
    gr_instance_logs(instance, path);
    remove_below_own(path);
    (void)gr_instance_sweep_shm(instance);
    (void)snprintf(path, sizeof path, "%s/" LEFTOVERS_FRAGMENTS, instance->spill_default);
    remove_below_own(path);
    if (is_own_directory(instance->spill_default)) {
        level_clear_directory(instance->spill_default);
    }
    (void)rmdir(instance->spill_default); /* stays when persistent objects are in it */
    for (size_t i = keep_socket; i < sizeof runtime_files / sizeof runtime_files[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", instance->runtime, runtime_files[i]);
        gr_remove_tree(path);
    }
    (void)rmdir(instance->runtime); /* stays when somebody put files of their own there */
    remove_shared_parent(instance->runtime);
}

/* Whether a process is a daemon of this instance, and not another one that has got its pid. */
static bool
is_daemon_of(pid_t pid, const struct gr_instance *instance)
{
    char path[64];
    char command[4096];
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    n = read(fd, command, sizeof command);
    gr_fd_close(&fd);
    return n > 0 && memmem(command, (size_t)n, instance->runtime, strlen(instance->runtime)) != NULL;
}

/* A process of the instance is given until the deadline to end by itself. */
static void
await_end(const struct gr_instance *instance, pid_t pid, int64_t deadline)
{
    struct pollfd poller = {.fd = pid > 0 ? gr_pidfd_open(pid) : -1, .events = POLLIN};

    if (poller.fd >= 0 && is_daemon_of(pid, instance)) {
        (void)kill(pid, SIGCONT);
        (void)poll(&poller, 1, gr_left_ms(deadline));
        (void)kill(pid, SIGKILL);
    }
    gr_fd_close(&poller.fd);
}

void
leftovers_await(const struct gr_instance *instance)
{
    int64_t deadline = gr_deadline_ns(DAEMON_STOP_TIMEOUT_MS);
    struct gr_roster_entry schedulers[SUPERVISOR_SCHEDULERS_MAX];
    struct daemon daemons[DAEMONS];
    size_t count = gr_roster_read(instance, schedulers, SUPERVISOR_SCHEDULERS_MAX);

    daemons_recall(instance, daemons);
    for (size_t i = count < SUPERVISOR_SCHEDULERS_MAX ? count : SUPERVISOR_SCHEDULERS_MAX; i > 0; i--) {
        await_end(instance, (pid_t)schedulers[i - 1].pid, deadline); /* those on standby first */
    }
    for (size_t i = 0; i < DAEMONS; i++) {
        await_end(instance, daemons[i].pid, deadline);
    }
}
