/* granary up, down, status: the life of an instance. */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process/executor_page.h"
#include "base/process/limits.h"
#include "base/process/notify.h"
#include "base/process/roster.h"
#include "cli/instance/settings.h"
#include "cli/instance/supervisor/daemons.h"
#include "cli/instance/supervisor/leftovers.h"
#include "cli/instance/supervisor/supervisor.h"
#include "cli/look/look.h"
#include "cli/print/listing.h"
#include "cli/scheduler/scheduler.h"
#include "contract/shm.h"
#include "options/options.h"

#define PAGE_URL 256

struct up {
    struct settings settings;
    char remote_dir[PATH_MAX], log_dir[PATH_MAX];
    bool foreground;
    bool replace;
    struct gr_memory_limits limits; /* before the store takes its part */
    const struct cli *cli;
};

static const struct gr_option up_options[] = {
    SETTINGS_CONFIG_OPTION,
    {"foreground", 0, NULL, "stay, and end with the instance; a service manager hears how it goes (sd_notify)",
     GR_OPTION_FLAG(struct up, foreground)},
    {"replace", 0, NULL, "take over an instance that is up, with its objects, graphs and clients: for another release",
     GR_OPTION_FLAG(struct up, replace)},
    {0}};

/* For the processes of the instance; NULL leaves it as it is. */
static granary_err
set_variable(const char *name, const char *value)
{
    return value == NULL || value[0] == '\0' || setenv(name, value, 1) == 0 ? GRANARY_OK : gr_fail_errno("%s", name);
}

static granary_err
set_variables(const struct settled *settled)
{
    granary_err err = set_variable("GRANARY_CONFINE", settled->confine);

    err = err == GRANARY_OK ? set_variable("GRANARY_CONFINE_READ", settled->confine_read) : err;
    err = err == GRANARY_OK ? set_variable("GRANARY_CONFINE_WRITE", settled->confine_write) : err;
    err = err == GRANARY_OK ? set_variable("GRANARY_LOG", settled->options.log) : err;
    return err == GRANARY_OK ? set_variable("GRANARY_TOPOLOGY", settled->topology) : err;
}

/*
 * A directory for the daemons, who run elsewhere: its whole path, in ret_path, replaces *dir. The last part is made when
 * it is not there; of one above, a disk would not be mounted, or it is mistyped.
 */
static granary_err
settle_directory(const char *option, const char **dir, char ret_path[PATH_MAX])
{
    char above[PATH_MAX], whole[PATH_MAX];
    char *slash;

    if (*dir == NULL) {
        return GRANARY_OK;
    }
    if (snprintf(above, sizeof above, "%s%s", (*dir)[0] == '/' ? "" : "./", *dir) >= PATH_MAX || (*dir)[0] == '\0') {
        return gr_fail(GRANARY_EINVAL, "%s '%.64s': is no directory's path", option, *dir);
    }
    if (realpath(above, ret_path) == NULL) {
        const char *last;

        for (size_t end = strlen(above); end > 1 && above[end - 1] == '/'; end--) {
            above[end - 1] = '\0';
        }
        slash = strrchr(above, '/');
        last = slash + 1;
        *slash = '\0';
        if (realpath(above[0] == '\0' ? "/" : above, whole) == NULL) {
            return gr_fail(gr_err_from_errno(errno), "%s %s: %s: %s: make it first, or mount its disk", option, *dir,
                           above, strerror(errno));
        }
        if (snprintf(ret_path, PATH_MAX, "%s/%s", whole[1] == '\0' ? "" : whole, last) >= PATH_MAX) {
            return gr_fail(GRANARY_EINVAL, "%s %.64s...: path too long", option, *dir);
        }
    }
    *dir = ret_path;
    return GRANARY_OK;
}

/* The same of DIR or DIR=SIZE, into memory of its own. A slash behind the path tells that a '=' is part of it. */
static granary_err
settle_spill_dir(char **text)
{
    char path[PATH_MAX];
    char *whole = NULL;
    uint64_t limit;
    char *copy = strdup(*text);
    const char *dir = copy;
    granary_err err = copy == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : gr_option_directory(copy, &limit);

    err = err == GRANARY_OK ? settle_directory("--spill-dir", &dir, path) : err;
    if (err == GRANARY_OK && (limit == 0 ? asprintf(&whole, "%s/", path)
                                         : asprintf(&whole, "%s=%llu", path, (unsigned long long)limit)) < 0) {
        whole = NULL;
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    *text = whole; /* NULL after an error */
    free(copy);
    return err;
}

/* The store's budget; 0: it does not answer. */
static uint64_t
budget_of(const struct gr_instance *instance)
{
    granary_connect_options options = {.instance = instance->runtime, .tag = "up"};
    granary_client *client = NULL;
    granary_store_stat stat = {.capacity_bytes = 0};

    if (granary_connect(&options, &client) == GRANARY_OK) {
        (void)granary_store_stat_get(client, &stat);
        granary_disconnect(client);
    }
    return stat.capacity_bytes;
}

/* What a store before had and this one could not take over: it notes that before it says that it serves. */
static void
warn_of_loss(const struct gr_instance *instance)
{
    granary_flight_event batch[64], noted = {.sequence = 0}, lost = noted;
    granary_inspector *inspector = NULL;
    uint64_t next = 0;
    size_t count = 0;

    if (granary_inspect_open(instance->runtime, &inspector) != GRANARY_OK) {
        return;
    }
    while (granary_inspect_events(inspector, &next, sizeof batch / sizeof batch[0], batch, &count) == GRANARY_OK &&
           count > 0) {
        for (size_t i = 0; i < count; i++) {
            if (batch[i].kind == GR_EVENT_LOST) {
                noted = batch[i];
            } else if (batch[i].kind == GR_EVENT_START) {
                lost = noted;
                noted.sequence = 0;
            }
        }
    }
    granary_inspect_close(inspector);
    if (lost.sequence != 0) {
        cli_note("up: of what was there before, %" PRIu64 " object%s and %" PRIu64
                 " session%s were lost or are damaged: %s/log/store.log names them",
                 lost.a, cli_plural(lost.a), lost.b, cli_plural(lost.b), instance->runtime);
    }
}

/* Who asks for more than there is, gets it killed with the store one day: that is to be said before. */
static void
warn_of_memory(const struct gr_memory_limits *limits, uint64_t budget)
{
    const char *name;
    uint64_t least = gr_memory_least(limits, &name);
    char sizes[2][32];

    if (budget > least) {
        (void)fprintf(
            stderr,
            "granary: up: --memory: the budget of %s is more than %s allows, %s: the store may be killed when "
            "it is used: give less, or raise that limit\n",
            cli_format_size(budget, sizes[0]), name, cli_format_size(least, sizes[1]));
    }
}

/* Where its page is; false: it has none. */
static bool
read_page(const struct gr_instance *instance, char url[PAGE_URL])
{
    char path[PATH_MAX];
    char *text = NULL;
    size_t size;
    bool there;

    (void)snprintf(path, sizeof path, "%s/web.url", instance->runtime);
    there = gr_file_read(path, PAGE_URL - 1, &text, &size) == GRANARY_OK;
    (void)snprintf(url, PAGE_URL, "%s", there ? text : "");
    free(text);
    return there;
}

/* Which one, in an object that stays open. */
static void
open_instance(struct json *json, const struct gr_instance *instance, pid_t pid)
{
    json_open(json, NULL, '{');
    json_text(json, "instance", instance->name);
    json_text(json, "runtime", instance->runtime);
    json_signed(json, "pid", pid);
}

static void
tell_up(const struct cli *cli, const struct up *up, pid_t pid, const struct gr_memory_limits *limits)
{
    const struct supervisor_options *options = &up->settings.settled.options;
    const struct gr_instance *instance = &options->instance;
    uint64_t budget = budget_of(instance);
    const char *why;
    bool is_default = options->memory == NULL && budget == gr_memory_default_of(limits, &why);
    struct json json = {0};
    char size[32], page[PAGE_URL];

    if (instance->shared[0] == '\0') {
        warn_of_memory(limits, budget);
        warn_of_loss(instance);
    }
    if (cli->json) {
        open_instance(&json, instance, pid);
        json_signed(&json, "executors", options->executors);
        json_unsigned(&json, "capacity_bytes", budget);
        if (is_default) {
            json_text(&json, "capacity_is", why);
        }
        if (read_page(instance, page)) {
            json_text(&json, "page", page);
        }
        json_close(&json);
    } else if (instance->shared[0] != '\0') {
        (void)printf("your scheduler and %d executor%s at the store in %s are up in %s\n", options->executors,
                     options->executors == 1 ? "" : "s", instance->shared, instance->runtime);
    } else {
        (void)printf("instance %s is up in %s (%d executor%s; memory %s%s%s)\n", instance->name, instance->runtime,
                     options->executors, options->executors == 1 ? "" : "s", cli_format_size(budget, size),
                     is_default ? ", " : "", is_default ? why : "");
        if (read_page(instance, page)) {
            (void)printf("its page is at %s\n", page);
        }
    }
}

/* What is settled, as the daemons need it: whole paths, and all that the environment tells them. */
static granary_err
settle_places(struct up *up)
{
    struct settled *settled = &up->settings.settled;
    granary_err err = set_variables(settled);
    unsigned i;

    for (i = 0; i < settled->spill_count && err == GRANARY_OK; i++) {
        err = settle_spill_dir(&settled->spill_dirs[i]);
    }
    settled->spill_count = i; /* the rest are not ours to free */
    settled->options.spill_dirs = (const char *const *)settled->spill_dirs;
    err = err == GRANARY_OK ? settle_directory("--log-dir", &settled->options.log_dir, up->log_dir) : err;
    return err == GRANARY_OK ? settle_directory("--remote-dir", &settled->options.remote_dir, up->remote_dir) : err;
}

/* In the foreground. What is printed is not to wait for the instance's end. */
static void
tell_ready(void *context)
{
    const struct up *up = context;

    tell_up(up->cli, up, getpid(), &up->limits);
    (void)fflush(stdout);
}

/* The store's socket of a service manager; 0: there is none. */
static int
take_socket(const struct gr_instance *instance)
{
    int fd = gr_notify_take_socket(instance->store_socket);

    return fd < 0 ? 0 : fd;
}

/* Of a group's store, a member starts what works on it. What would be the store's own is for its user to say. */
static granary_err
check_member(const struct supervisor_options *options)
{
    const struct {
        const char *option;
        bool given;
    } theirs[] = {{"memory", options->memory != NULL},           {"spill-dir", options->spill_dirs[0] != NULL},
                  {"disk-quota", options->disk_quota != NULL},   {"remote-dir", options->remote_dir != NULL},
                  {"levels", options->levels != NULL},           {"group", options->group != NULL},
                  {"user-memory", options->user_memory != NULL}, {"http", options->http != NULL}};

    for (size_t i = 0; options->instance.shared[0] != '\0' && i < sizeof theirs / sizeof theirs[0]; i++) {
        if (theirs[i].given) {
            return gr_fail(GRANARY_EINVAL,
                           "--%s is for who runs the store at %s: leave it out; a scheduler and executors of your own "
                           "are started",
                           theirs[i].option, options->instance.shared);
        }
    }
    return GRANARY_OK;
}

static int
run_up(struct cli *cli)
{
    struct up *up = cli->self;
    struct settled *settled = &up->settings.settled;
    struct gr_instance instance;
    pid_t pid = 0;
    granary_err err = gr_instance_resolve(cli->instance, &instance);

    if (err == GRANARY_OK) {
        err = settings_read(&up->settings, &instance);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    up->cli = cli;
    up->limits = gr_memory_limits(); /* what it cannot read would be the message of an error before */
    if (settled->options.executors < 0) {
        settled->options.executors = gr_usable_cpus();
    }
    settled->options.settings = &up->settings;
    settled->options.pressure = settled->pressure < 0 ? up->foreground : settled->pressure;
    err = settle_places(up);
    if (err == GRANARY_OK) {
        err = check_member(&settled->options);
    }
    if (err == GRANARY_OK && up->replace) {
        err = supervisor_make_way(&instance);
    }
    if (up->foreground) {
        settled->options.foreground = true;
        settled->options.listen_fd = take_socket(&instance);
        settled->options.ready = tell_ready;
        settled->options.context = up;
    }
    if (err == GRANARY_OK) {
        err = supervisor_start(&settled->options, &pid);
    }
    if (up->foreground) {
        err = err == GRANARY_ECANCELLED ? GRANARY_OK : err; /* it was asked to stop while it started, and has done so */
    } else if (err == GRANARY_OK) {
        tell_up(cli, up, pid, &up->limits);
    }
    for (unsigned i = 0; i < settled->spill_count; i++) {
        free(settled->spill_dirs[i]);
    }
    return err;
}

static void
end_up(struct cli *cli)
{
    settings_clear(&((struct up *)cli->self)->settings);
}

static const struct access up_access = {.options = settings_options, .note = settings_note};

const struct command command_up = {
    .options = up_options, .access = &up_access, COMMAND_ZERO(struct up), .run = run_up, .end = end_up};

/*
 * Root stops another user's instance as that user: whatever its directory leads to, nobody else's processes and files are
 * harmed. By a name, an instance is one's own.
 */
static granary_err
become_owner(struct cli *cli, struct gr_instance *instance)
{
    struct stat st;

    if (geteuid() != 0 || stat(instance->runtime, &st) < 0 || st.st_uid == 0) {
        return GRANARY_OK;
    }
    if (instance->named) {
        return gr_fail(GRANARY_EPERM, "%s belongs to uid %u: have it removed, or name the directory with --instance",
                       instance->runtime, (unsigned)st.st_uid);
    }
    if (setgroups(0, NULL) < 0 || setegid(st.st_gid) < 0 || seteuid(st.st_uid) < 0) {
        return gr_fail_errno("cannot become uid %u", (unsigned)st.st_uid);
    }
    return gr_instance_resolve(cli->instance, instance);
}

static int
run_down(struct cli *cli)
{
    struct json json = {0};
    struct gr_instance instance;
    char logs[LEFTOVERS_LOGS_MAX];
    bool stale = false;
    bool kept;
    granary_err err = gr_instance_resolve(cli->instance, &instance);

    err = err == GRANARY_OK ? become_owner(cli, &instance) : err;
    if (err == GRANARY_OK) {
        err = supervisor_stop(&instance, &stale);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    kept = leftovers_logs(&instance, logs);
    if (cli->json) {
        json_open(&json, NULL, '{');
        json_text(&json, "instance", instance.name);
        json_bool(&json, "was_running", !stale);
        json_close(&json);
    } else if (instance.shared[0] != '\0') {
        (void)printf(stale ? "your scheduler at the store in %s was not running; what it had left is removed\n"
                           : "your scheduler and executors at the store in %s have ended\n",
                     instance.shared);
    } else {
        (void)printf(stale ? "instance %s was not running; what it had left is removed%s%s\n"
                           : "instance %s is down%s%s\n",
                     instance.name, kept ? "; its logs are in " : "", kept ? logs : "");
    }
    return GRANARY_OK;
}

const struct command command_down = {.run = run_down};

/* ---- status ---- */

struct executor_row {
    granary_executor_info info;
    enum gr_confinement confined;
};

/* All that runs. */
struct status {
    struct gr_instance instance;
    pid_t pid; /* of the supervisor; 0: none */
    granary_store_stat store;
    struct daemon daemons[DAEMONS];
    struct gr_roster_entry schedulers[SUPERVISOR_SCHEDULERS_MAX];
    size_t scheduler_count;
    struct executor_row *executors;
    size_t executor_count;
    uint64_t pinned; /* objects */
    uint64_t pinned_bytes;
    struct look_tables tables;
    granary_spill_dir_info *spill;
    size_t spill_count;
};

static void
read_schedulers(struct status *status)
{
    size_t count = gr_roster_read(&status->instance, status->schedulers, SUPERVISOR_SCHEDULERS_MAX);

    status->scheduler_count = count < SUPERVISOR_SCHEDULERS_MAX ? count : SUPERVISOR_SCHEDULERS_MAX;
}

/* As the scheduler tells, and, of their confinement, their pages. */
static granary_err
read_executors(granary_client *client, struct status *status)
{
    granary_executor_info *infos = NULL;
    size_t count = 0;
    granary_err err = granary_executor_list(client, &infos, &count);

    status->executors = calloc(count + 1, sizeof *status->executors);
    if (err == GRANARY_OK && status->executors == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        struct executor_row *row = &status->executors[status->executor_count++];
        struct gr_executor_state page;

        row->info = infos[i];
        row->confined = gr_executor_page_read(status->instance.runtime, infos[i].pid, &page) == GRANARY_OK
                            ? page.confined
                            : GR_CONFINED_NOT;
    }
    free(infos);
    return err;
}

/* What shared memory tells: pinned objects, which do not make room for others, tables that change, and directories. */
static void
read_memory(struct status *status)
{
    granary_inspector *inspector = NULL;

    if (granary_inspect_open(status->instance.runtime, &inspector) == GRANARY_OK) {
        status->pinned_bytes = look_pinned(inspector, &status->pinned);
        status->tables = look_tables(inspector);
        (void)granary_inspect_spill_dirs(inspector, &status->spill, &status->spill_count);
    }
    granary_inspect_close(inspector);
}

static void
print_memory(const struct status *status)
{
    const struct look_tables *tables = &status->tables;
    char size[2][32];

    if (status->pinned > 0) {
        (void)printf("pinned     %s in %" PRIu64 " object%s, which stay in memory: `granary pins`\n",
                     cli_format_size(status->pinned_bytes, size[0]), status->pinned, cli_plural(status->pinned));
    }
    if (tables->tables > 0) {
        (void)printf("tables     %" PRIu64 " that change, %" PRIu64 " writer%s, %s of %s in memory\n", tables->tables,
                     tables->writers, cli_plural(tables->writers), cli_format_size(tables->memory_bytes, size[0]),
                     cli_format_size(tables->bytes, size[1]));
    }
}

static void
print_spill(const struct status *status)
{
    char size[3][32];

    for (size_t i = 0; i < status->spill_count; i++) {
        const granary_spill_dir_info *info = &status->spill[i];

        (void)printf("%s %s", info->level == GRANARY_LEVEL_DISK ? "spill     " : "remote    ",
                     cli_format_size(info->bytes, size[0]));
        if (info->quota_bytes > 0) {
            (void)printf(" of %s", cli_format_size(info->quota_bytes, size[1]));
        }
        (void)printf(" in %s", info->path);
        if (info->bytes_per_s > 0) {
            (void)printf(", %s/s", cli_format_size(info->bytes_per_s, size[2]));
        }
        if (info->failed != GRANARY_OK) {
            (void)printf(", writing fails: %s, %" PRIu64 " time%s", granary_error_name(info->failed), info->failures,
                         cli_plural(info->failures));
        }
        (void)printf("\n");
    }
}

static void
print_status(const struct status *status)
{
    const granary_store_stat *store = &status->store;
    char size[3][32], page[PAGE_URL];
    size_t busy = 0;
    size_t confined = 0;

    for (size_t i = 0; i < status->executor_count; i++) {
        busy += status->executors[i].info.busy;
        confined += status->executors[i].confined != GR_CONFINED_NOT;
    }
    (void)printf(status->pid > 0 ? "instance   %s (supervisor pid %d)\n" : "instance   %s (no supervisor)\n",
                 status->instance.name, (int)status->pid);
    (void)printf("runtime    %s\n", status->instance.runtime);
    if (status->instance.shared[0] != '\0') {
        (void)printf("store of   a group, in %s\n", status->instance.shared);
    }
    (void)printf("memory     %s of %s in use\n",
                 cli_format_size(store->capacity_bytes - store->free_bytes - store->pooled_bytes, size[0]),
                 cli_format_size(store->capacity_bytes, size[1]));
    print_memory(status);
    (void)printf("objects    %" PRIu64 " (%" PRIu64 " spilled, %s)\n", store->objects, store->objects_spilled,
                 cli_format_size(store->spilled_bytes, size[2]));
    print_spill(status);
    (void)printf("clients    %" PRIu64 "\n", store->clients);
    (void)printf("executors  %zu (%zu busy", status->executor_count, busy);
    if (confined > 0) {
        (void)printf(", %zu confined", confined);
    }
    (void)printf(")\n");
    if (status->daemons[DAEMON_STORE].pid > 0) { /* not of a store started by hand */
        (void)printf("store      pid %d\n", (int)status->daemons[DAEMON_STORE].pid);
    }
    for (size_t i = 0; i < status->scheduler_count; i++) {
        (void)printf("scheduler  pid %lld, %s\n", (long long)status->schedulers[i].pid,
                     status->schedulers[i].active ? "active" : "on standby");
    }
    if (read_page(&status->instance, page)) {
        (void)printf("page       %s\n", page);
    }
    for (size_t i = 0; i < DAEMONS; i++) {
        if (status->daemons[i].restarts > 0) {
            (void)printf("restarts   %s %d time%s\n", status->daemons[i].name, status->daemons[i].restarts,
                         status->daemons[i].restarts == 1 ? "" : "s");
        }
    }
}

static const char *
executor_confined(const void *row, char buffer[SHOW_TEXT])
{
    (void)buffer;
    return gr_confinement_name(((const struct executor_row *)row)->confined);
}

static const char *const scheduler_states[] = {"standby", "active"};

static const struct column store_columns[] = {{"capacity_bytes", NULL, 0, COLUMN(granary_store_stat, capacity_bytes)},
                                              {"free_bytes", NULL, 0, COLUMN(granary_store_stat, free_bytes)},
                                              {"objects", NULL, 0, COLUMN(granary_store_stat, objects)},
                                              {"objects_spilled", NULL, 0, COLUMN(granary_store_stat, objects_spilled)},
                                              {"clients", NULL, 0, COLUMN(granary_store_stat, clients)},
                                              {0}};

static const struct column table_columns[] = {{"tables", NULL, 0, COLUMN(struct look_tables, tables)},
                                              {"writers", NULL, 0, COLUMN(struct look_tables, writers)},
                                              {"bytes", NULL, 0, COLUMN(struct look_tables, bytes)},
                                              {"memory_bytes", NULL, 0, COLUMN(struct look_tables, memory_bytes)},
                                              {0}};

static const char *
spill_level(const void *row, char buffer[SHOW_TEXT])
{
    (void)buffer;
    return ((const granary_spill_dir_info *)row)->level == GRANARY_LEVEL_DISK ? "disk" : "remote";
}

static const char *
spill_failed(const void *row, char buffer[SHOW_TEXT])
{
    (void)buffer;
    return granary_error_name(((const granary_spill_dir_info *)row)->failed);
}

static const struct column spill_columns[] = {{"path", NULL, 0, COLUMN(granary_spill_dir_info, path)},
                                              {"level", NULL, 0, .show = spill_level},
                                              {"bytes", NULL, 0, COLUMN(granary_spill_dir_info, bytes)},
                                              {"quota_bytes", NULL, 0, COLUMN(granary_spill_dir_info, quota_bytes)},
                                              {"bytes_per_s", NULL, 0, COLUMN(granary_spill_dir_info, bytes_per_s)},
                                              {"failures", NULL, 0, COLUMN(granary_spill_dir_info, failures)},
                                              {"failed", NULL, 0, .show = spill_failed},
                                              {0}};

static const struct column executor_columns[] = {
    {"number", NULL, 0, COLUMN(struct executor_row, info.number)},
    {"pid", NULL, 0, COLUMN(struct executor_row, info.pid)},
    {"numa_node", NULL, 0, COLUMN(struct executor_row, info.numa_node)},
    {"busy", NULL, 0, COLUMN(struct executor_row, info.busy)},
    {"confined", NULL, 0, .show = executor_confined},
    {"subtasks_done", NULL, 0, COLUMN(struct executor_row, info.subtasks_done)},
    {"failures", NULL, 0, COLUMN(struct executor_row, info.failures)},
    {0}};

static const struct column daemon_columns[] = {{"name", NULL, 0, COLUMN(struct daemon, name)},
                                               {"pid", NULL, 0, COLUMN(struct daemon, pid)},
                                               {"restarts", NULL, 0, COLUMN(struct daemon, restarts)},
                                               {0}};

static const struct column scheduler_columns[] = {
    {"pid", NULL, 0, COLUMN(struct gr_roster_entry, pid)},
    {"state", NULL, 0, COLUMN(struct gr_roster_entry, active), COLUMN_WORDS(scheduler_states)},
    {"epoch", NULL, 0, COLUMN(struct gr_roster_entry, epoch)},
    {0}};

static void
print_status_json(const struct status *status)
{
    struct json json = {0};

    open_instance(&json, &status->instance, status->pid);
    listing_members(&json, store_columns, &status->store);
    listing_array(&json, "spill", spill_columns, status->spill, status->spill_count, sizeof *status->spill);
    listing_object(&json, "tables", table_columns, &status->tables);
    listing_array(&json, "executors", executor_columns, status->executors, status->executor_count,
                  sizeof *status->executors);
    listing_array(&json, "daemons", daemon_columns, status->daemons, DAEMONS - (status->daemons[DAEMON_WEB].pid == 0),
                  sizeof *status->daemons);
    listing_array(&json, "schedulers", scheduler_columns, status->schedulers, status->scheduler_count,
                  sizeof *status->schedulers);
    json_close(&json);
}

static int
open_status(struct cli *cli)
{
    struct status *status = cli->self;
    granary_err err = gr_instance_resolve(cli->instance, &status->instance);

    if (err != GRANARY_OK) {
        return cli_fail(err, "status");
    }
    status->pid = supervisor_running(&status->instance);
    daemons_recall(&status->instance, status->daemons);
    return cli_connect_existing(cli);
}

static int
run_status(struct cli *cli)
{
    struct status *status = cli->self;
    long scheduler;
    bool stopped;
    granary_err err = granary_store_stat_get(cli->client, &status->store);

    stopped = scheduler_stopped(&status->instance, &scheduler);
    if (err == GRANARY_OK && status->pid > 0 && !stopped) { /* a store started by hand has no scheduler */
        err = read_executors(cli->client, status);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (stopped) {
        (void)fprintf(stderr, "granary: status: the scheduler, pid %ld, is stopped: nothing is known of executors\n",
                      scheduler);
    }
    read_schedulers(status);
    read_memory(status);
    if (cli->json) {
        print_status_json(status);
    } else {
        print_status(status);
    }
    return GRANARY_OK;
}

static void
end_status(struct cli *cli)
{
    free(((struct status *)cli->self)->executors);
    free(((struct status *)cli->self)->spill);
}

static const struct access status_access = {.open = open_status, .close = cli_disconnect};

const struct command command_status = {
    .access = &status_access, COMMAND_ZERO(struct status), .run = run_status, .end = end_status};
