/*
 * granary upgrade: the programs that are installed now take the places of those that an instance runs, one process after
 * another. Each is killed, as a crash would, and its supervisor starts the next one: what survives a crash survives this.
 * The store adopts all objects in the layout that they have; clients and executors wait for it and for the scheduler.
 * Executors finish what they have first. Who only starts processes, supervisor and pool, stays.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/process/daemon.h"
#include "cli/command/command.h"
#include "cli/instance/processes.h"
#include "cli/instance/supervisor/supervisor.h"
#include "cli/print/listing.h"
#include "granary/pool.h"

struct upgrade {
    int timeout_ms;
    bool all;
    struct gr_instance instance;
};

/* What became of a process. */
struct step {
    const char *name;
    int64_t pid;
    int64_t next; /* 0: it stays */
    const char *why;
};

/* ---- what is to be replaced ---- */

/* Whether a process runs another file than lies at its program's path now. One that cannot be read is taken as it is. */
static bool
is_replaced(int64_t pid)
{
    static const char gone[] = " (deleted)";
    char link[64], path[PATH_MAX];
    struct stat runs, lies;
    ssize_t length;

    (void)snprintf(link, sizeof link, "/proc/%lld/exe", (long long)pid);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0 || stat(link, &runs) < 0) {
        return false;
    }
    path[length] = '\0';
    if ((size_t)length > sizeof gone && strcmp(path + length - (sizeof gone - 1), gone) == 0) {
        path[length - (ssize_t)(sizeof gone - 1)] = '\0';
    }
    return stat(path, &lies) == 0 && (runs.st_dev != lies.st_dev || runs.st_ino != lies.st_ino);
}

/* The process of that name; 0: none runs. */
static granary_err
find(const struct gr_instance *instance, const char *name, int64_t *ret_pid)
{
    struct process *processes = NULL;
    size_t count = 0;
    granary_err err = processes_list(instance, &processes, &count);

    *ret_pid = 0;
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        if (strcmp(processes[i].name, name) == 0) {
            *ret_pid = processes[i].pid;
        }
    }
    free(processes);
    return err;
}

/* ---- one process ---- */

/* Wait until the supervisor's notes name another process than pid. watch_fd tells of changes to the notes. */
static granary_err
wait_for_next(const struct upgrade *upgrade, const char *name, int64_t pid, int watch_fd, int64_t deadline_ns,
              int64_t *ret_next)
{
    char events[4096];
    granary_err err = find(&upgrade->instance, name, ret_next);

    while (err == GRANARY_OK && (*ret_next == 0 || *ret_next == pid)) {
        struct pollfd poller = {.fd = watch_fd, .events = POLLIN};
        int left = gr_left_ms(deadline_ns);

        if (left == 0 || (poll(&poller, 1, left) < 0 && errno != EINTR)) {
            return gr_fail(GRANARY_ETIMEDOUT,
                           "no other %s in the place of process %lld: %s/log/supervisor.log tells why", name,
                           (long long)pid, upgrade->instance.runtime);
        }
        while (read(watch_fd, events, sizeof events) > 0) {
        }
        err = find(&upgrade->instance, name, ret_next);
    }
    return err;
}

static granary_err
replace(const struct upgrade *upgrade, const char *name, int64_t pid, int64_t *ret_next)
{
    int64_t deadline = gr_deadline_ns(upgrade->timeout_ms);
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    granary_err err = GRANARY_OK;

    if (watch < 0 || inotify_add_watch(watch, upgrade->instance.runtime, IN_MOVED_TO) < 0) {
        err = gr_fail_errno("%s", upgrade->instance.runtime);
    } else if (kill((pid_t)pid, SIGKILL) < 0 && errno != ESRCH) {
        err = gr_fail_errno("%s, process %lld", name, (long long)pid);
    } else {
        err = wait_for_next(upgrade, name, pid, watch, deadline, ret_next);
    }
    gr_fd_close(&watch);
    return err;
}

/* ---- the instance ---- */

static const char *
show_next(const void *row, char buffer[SHOW_TEXT])
{
    const struct step *step = row;

    (void)snprintf(buffer, SHOW_TEXT, "%lld", (long long)step->next);
    return step->next != 0 ? buffer : "-";
}

static const struct column columns[] = {{"process", "process", -10, COLUMN(struct step, name)},
                                        {"pid", "pid", 8, COLUMN(struct step, pid)},
                                        {"now", NULL, 0, COLUMN(struct step, next)},
                                        {NULL, "now", 8, .show = show_next},
                                        {"why", "", 0, COLUMN(struct step, why)},
                                        {0}};

static void
tell(struct listing *listing, const char *name, int64_t pid, int64_t next, const char *why)
{
    struct step step = {name, pid, next, why};

    listing_row(listing, &step);
}

/* Graphs that are nowhere but in the scheduler's memory would be lost with it. */
static bool
graphs_are_kept(const struct upgrade *upgrade)
{
    char path[PATH_MAX + 16];

    (void)snprintf(path, sizeof path, "%s/state.db", upgrade->instance.runtime);
    return access(path, F_OK) == 0;
}

/* The store, the page, or all schedulers: when one is killed that stands by another may take over, as old as it was. */
static granary_err
replace_daemon(const struct upgrade *upgrade, struct listing *listing, const char *name)
{
    bool is_sched = strcmp(name, "sched") == 0;
    int64_t pid = 0, next = 0;
    granary_err err = find(&upgrade->instance, name, &pid);

    if (err != GRANARY_OK || pid == 0) {
        return err;
    }
    if (!upgrade->all && !is_replaced(pid)) {
        tell(listing, name, pid, 0, "runs what is installed");
        return GRANARY_OK;
    }
    if (is_sched && !graphs_are_kept(upgrade)) {
        tell(listing, name, pid, 0, "stays: its graphs are in memory alone (--state memory)");
        return GRANARY_OK;
    }
    for (int i = 0; i < SUPERVISOR_SCHEDULERS_MAX && err == GRANARY_OK && (i == 0 || is_replaced(pid)); i++) {
        err = replace(upgrade, name, pid, &next);
        if (err == GRANARY_OK) {
            tell(listing, name, pid, next, "");
            pid = next;
        }
    }
    return err;
}

static bool
is_among(int64_t pid, const struct process *processes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (processes[i].pid == pid) {
            return true;
        }
    }
    return false;
}

/* Of those executors, the numbers of those that the scheduler still has; as many as there are in all are room enough. */
static granary_err
find_numbers(granary_client *client, const struct process *old, size_t old_count, uint32_t *numbers, size_t *ret_count)
{
    granary_executor_info *infos = NULL;
    size_t count = 0;
    granary_err err = granary_executor_list(client, &infos, &count);

    *ret_count = 0;
    for (size_t i = 0; err == GRANARY_OK && i < count && *ret_count < old_count; i++) {
        if (is_among(infos[i].pid, old, old_count)) {
            numbers[(*ret_count)++] = infos[i].number;
        }
    }
    free(infos);
    return err;
}

/*
 * One that stood still had not come to the new scheduler yet when all were told. It has come before the pool is complete,
 * and is told then.
 */
static granary_err
recycle(const struct upgrade *upgrade, granary_client *client, const struct process *old, size_t old_count)
{
    const int64_t deadline = gr_deadline_ns(upgrade->timeout_ms);
    uint32_t *numbers = calloc(old_count, sizeof *numbers);
    size_t count = 0;
    granary_err err = numbers == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory")
                                      : granary_pool_recycle(client, NULL, 0, upgrade->timeout_ms);

    err = err == GRANARY_OK ? find_numbers(client, old, old_count, numbers, &count) : err;
    while (err == GRANARY_OK && count > 0) {
        err = granary_pool_recycle(client, numbers, count, gr_left_ms(deadline));
        if (err == GRANARY_OK || err == GRANARY_ENOENT) { /* it has just ended */
            err = find_numbers(client, old, old_count, numbers, &count);
        }
    }
    free(numbers);
    return err;
}

static granary_err
replace_executors(const struct upgrade *upgrade, granary_client *client, struct listing *listing)
{
    struct process *processes = NULL;
    size_t count = 0, old = 0;
    granary_err err = processes_list(&upgrade->instance, &processes, &count);
    struct process *olds = calloc(count + 1, sizeof *olds);

    err = err == GRANARY_OK && olds == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : err;
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        const bool executor = strcmp(processes[i].name, "executor") == 0;

        olds[old].pid = processes[i].pid;
        old += executor && process_is_pooled(processes[i].pid) && (upgrade->all || is_replaced(processes[i].pid));
    }
    if (old > 0) {
        err = recycle(upgrade, client, olds, old);
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        const struct process *process = &processes[i];

        if (is_among(process->pid, olds, old)) {
            tell(listing, "executor", process->pid, 0, "has ended; another one has its slot");
        } else if ((strcmp(process->name, "pool") == 0 || strcmp(process->name, "supervisor") == 0) &&
                   is_replaced(process->pid)) {
            tell(listing, process->name, process->pid, 0,
                 "stays: it only starts processes, and `granary up --replace` replaces it, too");
        }
    }
    free(olds);
    free(processes);
    return err;
}

static int
run_upgrade(struct cli *cli)
{
    static const char *const daemons[] = {"store", "sched", "web"};
    struct upgrade *upgrade = cli->self;
    struct listing listing;
    int status = 0;
    granary_err err = gr_instance_resolve(cli->instance, &upgrade->instance);

    if (err == GRANARY_OK && supervisor_running(&upgrade->instance) <= 0) {
        err = gr_fail(GRANARY_EUNREACHABLE, "instance %s: nothing starts its processes again: `granary up` starts it",
                      upgrade->instance.name);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    listing_begin(&listing, columns, cli->json);
    for (size_t i = 0; err == GRANARY_OK && i < sizeof daemons / sizeof daemons[0]; i++) {
        err = replace_daemon(upgrade, &listing, daemons[i]);
    }
    if (err == GRANARY_OK && (status = cli_connect_existing(cli)) == 0) {
        err = replace_executors(upgrade, cli->client, &listing);
    }
    cli_disconnect(cli);
    listing_end(&listing);
    return err != GRANARY_OK ? (int)err : status;
}

static const struct gr_option upgrade_options[] = {
    {"all", 'a', NULL, "replace processes that run what is installed, too", GR_OPTION_FLAG(struct upgrade, all)},
    {"timeout", 0, "DURATION", "give up waiting for a process after this time, with status 6; default: 1m",
     GR_OPTION_MS(struct upgrade, timeout_ms)},
    {0}};

const struct command command_upgrade = {
    .options = upgrade_options, COMMAND_SELF(struct upgrade, .timeout_ms = 60000), .run = run_upgrade};
