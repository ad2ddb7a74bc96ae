/*
 * Processes are recognised by /proc/PID/cmdline, which names the instance; a supervisor that is gone is started again.
 */
#include "torture/instance/realm.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/process/daemon.h"
#include "base/process/roster.h"
#include "spawn/spawn.h"

#define SCHEDULERS_MOST 8u
#define TRIES           20          /* of `granary up` in a row, each hit by a blow */
#define LONG_NS         10000000000 /* for one of them */

static const char *const role_names[ROLE_WORK] = {"supervisor", "store",  "sched",   "standby", "pool", "executor",
                                                  "web",        "client", "grapher", "slot",    "node"};

const char *
role_name(enum role role)
{
    return role < ROLE_WORK ? role_names[role] : work_text((enum work_name)(role - ROLE_WORK));
}

static const char *const ways[UPGRADES] = {"up", "upgrade", "up --replace"};

enum role
role_find(const char *name)
{
    enum role role = 0;

    while (role < ROLES && strcmp(role_name(role), name) != 0) {
        role++;
    }
    return role;
}

/* ---- up and down ---- */

bool
realm_create(struct realm *realm, const struct options *options)
{
    *realm = (struct realm){.executor_count = options->executors, .scheduler_count = options->schedulers};
    (void)snprintf(realm->directory, sizeof realm->directory, "/tmp/granary-torture-XXXXXX");
    if (mkdtemp(realm->directory) == NULL) {
        perror("granary: torture");
        return false;
    }
    (void)snprintf(realm->instance, sizeof realm->instance, "%s/instance", realm->directory);
    (void)snprintf(realm->spill, sizeof realm->spill, "%s/spill", realm->directory);
    (void)snprintf(realm->beside, sizeof realm->beside, "%s/beside", realm->directory);
    (void)snprintf(realm->up_log, sizeof realm->up_log, "%s/up.log", realm->directory);
    (void)snprintf(realm->memory, sizeof realm->memory, "%" PRIu64, options->memory);
    (void)snprintf(realm->executors, sizeof realm->executors, "%u", options->executors);
    (void)snprintf(realm->schedulers, sizeof realm->schedulers, "%u", options->schedulers);
    if (mkdir(realm->spill, 0700) < 0 || mkdir(realm->beside, 0700) < 0 ||
        !guard_start(&realm->guard, realm->directory, realm->instance)) {
        perror("granary: torture");
        realm_destroy(realm);
        return false;
    }
    return true;
}

void
realm_destroy(struct realm *realm)
{
    spawn_remove_directory(realm->directory);
    guard_end(&realm->guard);
}

static void
say_why(const struct realm *realm)
{
    char *text = NULL;
    size_t size;

    if (gr_file_read(realm->up_log, 1 << 20, &text, &size) == GRANARY_OK) {
        (void)fprintf(stderr, "%s", size > 2000 ? text + size - 2000 : text);
    }
    free(text);
}

static bool
begin(struct realm *realm, enum upgrade way)
{
    const char *const more[] = {realm->web ? "--http" : "--replace", realm->web ? "--replace" : NULL};
    const char *const up[] = {"up",
                              "--instance",
                              realm->instance,
                              "--memory",
                              realm->memory,
                              "--executors",
                              realm->executors,
                              "--chunk-bytes",
                              "256K",
                              "--spill-dir",
                              realm->spill,
                              "--spill-dir",
                              realm->beside,
                              "--schedulers",
                              realm->schedulers,
                              realm->web || way == UPGRADE_REPLACE ? more[0] : NULL,
                              way == UPGRADE_REPLACE ? more[1] : NULL,
                              NULL};

    (void)unlink(realm->up_log);
    realm->up = spawn_command(
        way == UPGRADE_IN_PLACE ? (const char *const[]){"upgrade", "--instance", realm->instance, NULL} : up,
        realm->up_log);
    realm->up_since_ns = gr_now_ns();
    realm->hit = false;
    realm->way = way;
    realm->ups += way == UPGRADE_NONE;
    return realm->up > 0;
}

bool
realm_up(struct realm *realm)
{
    int status = 1;
    bool good = begin(realm, UPGRADE_NONE) && waitpid(realm->up, &status, 0) == realm->up && status == 0;

    realm->up = 0;
    if (!good) {
        say_why(realm);
    }
    return good;
}

bool
realm_down(struct realm *realm)
{
    return spawn_granary((const char *const[]){"down", "--instance", realm->instance, NULL});
}

/* A supervisor holds the lock for its life. */
static pid_t
supervisor(const struct realm *realm)
{
    char path[PATH_MAX];
    pid_t holder = 0;
    int fd = -1;

    (void)snprintf(path, sizeof path, "%s/lock", realm->instance);
    if (gr_daemon_lock(path, false, &fd, &holder) != GRANARY_EBUSY) {
        holder = 0;
    }
    gr_fd_close(&fd);
    return holder;
}

/* Of `granary up`, or of an upgrade. */
static bool
ended(struct realm *realm, int status)
{
    const int64_t took_ns = gr_now_ns() - realm->up_since_ns;

    if (took_ns > LONG_NS) { /* nothing is lost by that, but why? */
        (void)fprintf(stderr, "torture: `granary %s` took %.1f s\n", ways[realm->way], (double)took_ns / 1e9);
    }
    if (status == 0) {
        realm->kept = realm->way == UPGRADE_IN_PLACE;
        realm->upgrades[realm->way] += realm->way != UPGRADE_NONE;
        realm->upgrade = realm->way == realm->upgrade ? UPGRADE_NONE : realm->upgrade;
        return true;
    }
    if (realm->hit) {
        realm->upgrades_hit += realm->way != UPGRADE_NONE;
        return true;
    }
    (void)fprintf(stderr, "torture: `granary %s` failed though nobody had killed anything meanwhile\n",
                  ways[realm->way]);
    say_why(realm);
    return ++realm->ups_refused < TRIES;
}

bool
realm_tend(struct realm *realm)
{
    int status = 0;

    if (realm->up == 0) {
        return supervisor(realm) == 0           ? begin(realm, UPGRADE_NONE)
               : realm->upgrade != UPGRADE_NONE ? begin(realm, realm->upgrade)
                                                : true;
    }
    if (waitpid(realm->up, &status, WNOHANG) == 0) {
        return true;
    }
    realm->up = 0;
    return ended(realm, status);
}

bool
realm_upgrade(struct realm *realm, enum upgrade way)
{
    realm->upgrade = way;
    return programs_install(&realm->programs);
}

bool
realm_is_busy(const struct realm *realm)
{
    return realm->up != 0 || realm->upgrade != UPGRADE_NONE;
}

/* ---- processes ---- */

static pid_t
parent_of(pid_t pid)
{
    char path[64];
    char *text = NULL;
    const char *end;
    size_t size = 0;
    int parent = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (gr_file_read(path, 1 << 12, &text, &size) != GRANARY_OK || (end = strrchr(text, ')')) == NULL ||
        sscanf(end, ") %*c %d", &parent) != 1) {
        parent = 0;
    }
    free(text);
    return parent;
}

/* What a process of the instance is, by its command line; false: it is of no instance, or of another. */
static bool
recognise(const struct realm *realm, pid_t pid, enum role *ret_role)
{
    char path[64];
    char *text = NULL;
    size_t size = 0;
    bool ours;

    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    if (gr_file_read(path, 1 << 16, &text, &size) != GRANARY_OK) {
        return false;
    }
    ours = memmem(text, size, realm->instance, strlen(realm->instance) + 1) != NULL;
    if (ours && memmem(text, size, "granary-store", 14) != NULL) {
        *ret_role = ROLE_STORE;
    } else if (ours && memmem(text, size, "granary-sched", 14) != NULL) {
        *ret_role = ROLE_STANDBY;
    } else if (ours && memmem(text, size, "granary-executor", 17) != NULL) {
        *ret_role = memmem(text, size, "--pool", 7) != NULL ? ROLE_POOL : ROLE_EXECUTOR;
    } else if (ours && memmem(text, size, "granary-web", 11) != NULL) {
        *ret_role = ROLE_WEB;
    } else if (memmem(text, size, "/dask-worker", 12) != NULL) {
        ours = memmem(text, size, realm->directory, strlen(realm->directory)) != NULL;
        *ret_role = ROLE_NODE;
    } else if (memmem(text, size, "granary._slot", 13) != NULL) {
        ours = recognise(realm, parent_of(pid), ret_role) && *ret_role == ROLE_EXECUTOR;
        *ret_role = ROLE_SLOT;
    } else {
        *ret_role = ROLE_SUPERVISOR;
    }
    free(text);
    return ours;
}

static int
by_pid(const void *a, const void *b)
{
    const struct process *left = a;
    const struct process *right = b;

    return (left->pid > right->pid) - (left->pid < right->pid);
}

size_t
realm_processes(const struct realm *realm, struct process ret_processes[static REALM_PROCESSES])
{
    struct gr_roster_entry active = {.active = false};
    struct gr_instance instance;
    pid_t holder = supervisor(realm);
    struct dirent *entry;
    size_t count = 0;
    DIR *proc = opendir("/proc");

    if (gr_instance_resolve(realm->instance, &instance) == GRANARY_OK) {
        (void)gr_roster_read(&instance, &active, 1);
    }
    while (proc != NULL && count < REALM_PROCESSES && (entry = readdir(proc)) != NULL) {
        struct process process = {.pid = (pid_t)strtol(entry->d_name, NULL, 10)};

        /* What says `granary up` has the same command line as the supervisor. */
        if (process.pid <= 0 || process.pid == realm->up || !recognise(realm, process.pid, &process.role) ||
            (process.role == ROLE_SUPERVISOR && process.pid != holder)) {
            continue;
        }
        if (process.role == ROLE_STANDBY && active.active && process.pid == active.pid) {
            process.role = ROLE_SCHED;
        }
        ret_processes[count++] = process;
    }
    if (proc != NULL) {
        (void)closedir(proc);
    }
    qsort(ret_processes, count, sizeof *ret_processes, by_pid);
    return count;
}

pid_t
realm_find(const struct realm *realm, enum role role, unsigned which)
{
    struct process processes[REALM_PROCESSES];
    size_t count = realm_processes(realm, processes);
    unsigned found = 0;

    for (size_t i = 0; i < count; i++) {
        found += processes[i].role == role;
    }
    which = found == 0 ? 0 : which % found;
    for (size_t i = 0; i < count; i++) {
        if (processes[i].role == role && which-- == 0) {
            return processes[i].pid;
        }
    }
    return 0;
}

bool
realm_is_whole(const struct realm *realm)
{
    const unsigned wanted[REALM_ROLES] = {1, 1, 1, realm->scheduler_count - 1, 1, realm->executor_count, realm->web};
    unsigned there[ROLES] = {0};
    struct process processes[REALM_PROCESSES];
    size_t count = realm_processes(realm, processes);

    for (size_t i = 0; i < count; i++) {
        there[processes[i].role]++;
    }
    return memcmp(there, wanted, sizeof wanted) == 0;
}

unsigned
realm_outdated(const struct realm *realm)
{
    struct process processes[REALM_PROCESSES];
    size_t count = realm_processes(realm, processes);
    unsigned outdated = 0;

    for (size_t i = 0; i < count; i++) {
        const enum role role = processes[i].role;

        if (role < REALM_ROLES && programs_replaced(processes[i].pid) &&
            !(realm->kept && (role == ROLE_SUPERVISOR || role == ROLE_POOL))) {
            (void)fprintf(stderr, "torture: %s %d runs a program of before the upgrade\n", role_name(role),
                          (int)processes[i].pid);
            outdated++;
        }
    }
    return outdated;
}

bool
realm_signal(const struct realm *realm, pid_t pid, int signal, int *ret_pidfd)
{
    enum role role;
    int fd = gr_pidfd_open(pid);
    /* The descriptor is of the process that is looked at now. */
    bool good = fd >= 0 && recognise(realm, pid, &role) && gr_pidfd_signal(fd, signal) == 0;

    if (good && ret_pidfd != NULL) {
        *ret_pidfd = fd;
    } else {
        gr_fd_close(&fd);
    }
    return good;
}

static unsigned
say_left(const char *what, const char *directory, const char *prefix)
{
    struct dirent *entry;
    unsigned count = 0;
    DIR *stream = opendir(directory);

    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            (void)fprintf(stderr, "torture: %s is left: %s/%s\n", what, directory, entry->d_name);
            count++;
        }
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
    return count;
}

bool
realm_is_gone(const struct realm *realm)
{
    struct process processes[REALM_PROCESSES];
    size_t count = realm_processes(realm, processes);
    struct gr_instance instance;
    unsigned left = 0;

    for (size_t i = 0; i < count; i++) {
        (void)fprintf(stderr, "torture: a process is left: %s %d\n", role_name(processes[i].role),
                      (int)processes[i].pid);
    }
    left += say_left("a file", realm->instance, "");
    left += say_left("a spill file", realm->spill, "") + say_left("a spill file", realm->beside, "");
    if (gr_instance_resolve(realm->instance, &instance) == GRANARY_OK) {
        left += say_left("shared memory", "/dev/shm", instance.shm_prefix + 1);
    }
    return left + count == 0;
}
