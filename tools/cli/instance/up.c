/* granary up, down, status: the life of an instance. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/process/executor_page.h"
#include "base/process/limits.h"
#include "base/process/roster.h"
#include "cli/command/arguments.h"
#include "cli/command/cli.h"
#include "cli/instance/daemons.h"
#include "cli/instance/leftovers.h"
#include "cli/instance/supervisor.h"
#include "cli/look/look.h"
#include "cli/print/json.h"
#include "cli/scheduler/scheduler.h"

struct up {
    struct cli *cli;
    struct supervisor_options options;
    char resources[1024]; /* of all --resource, separated by commas */
    char spill_dir[PATH_MAX], remote_dir[PATH_MAX];
};

/* For the processes of the instance. */
static granary_err
set_variable(const char *name, const char *value, bool overwrite)
{
    return setenv(name, value, overwrite) == 0 ? GRANARY_OK : gr_fail_errno("%s", name);
}

/* A variable that lists directories as PATH does. */
static granary_err
add_confined(const char *variable, const char *directory)
{
    const char *before = getenv(variable);
    char path[PATH_MAX];
    char *list = NULL;
    granary_err err;

    if (realpath(directory, path) == NULL || strchr(path, ':') != NULL) {
        return gr_fail(GRANARY_EINVAL, "'%s' is no directory that executors could use: %s", directory,
                       strchr(directory, ':') != NULL ? "it has a ':' in its name" : strerror(errno));
    }
    if (asprintf(&list, "%s%s%s", before == NULL ? "" : before, before == NULL || before[0] == '\0' ? "" : ":", path) <
        0) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = set_variable(variable, list, true);
    free(list);
    return err == GRANARY_OK ? set_variable("GRANARY_CONFINE", "yes", false) : err;
}

static granary_err
take_confine(void *target, char *text)
{
    (void)target;
    if (text != NULL && strcmp(text, "strict") != 0) {
        return gr_fail(GRANARY_EINVAL, "'%s': only strict may follow", text);
    }
    return set_variable("GRANARY_CONFINE", text == NULL ? "yes" : "strict", true);
}

static granary_err
take_confine_read(void *target, char *text)
{
    (void)target;
    return add_confined("GRANARY_CONFINE_READ", text);
}

static granary_err
take_confine_write(void *target, char *text)
{
    (void)target;
    return add_confined("GRANARY_CONFINE_WRITE", text);
}

static granary_err
take_topology(void *target, char *text)
{
    (void)target;
    return set_variable("GRANARY_TOPOLOGY", text, true);
}

static granary_err
take_resource(void *target, char *text)
{
    struct up *up = target;
    size_t used = strlen(up->resources);
    const char *equals = strchr(text, '=');
    int64_t amount;

    if (equals == NULL || equals == text || strchr(text, ',') != NULL || equals[1] == '+' ||
        gr_option_number(equals + 1, 1, UINT64_MAX - 1, &amount) != GRANARY_OK) {
        return gr_fail(GRANARY_EINVAL, "'%s' is not NAME=AMOUNT with a whole number from 1 up", text);
    }
    if (strncmp(text, "slots=", 6) == 0 || strncmp(text, "memory=", 7) == 0) {
        return gr_fail(GRANARY_EINVAL, "slots and memory are there already: --executors and --memory say how much");
    }
    if (used + strlen(text) + 2 > sizeof up->resources) {
        return gr_fail(GRANARY_EINVAL, "more than %zu bytes of names", sizeof up->resources);
    }
    (void)snprintf(up->resources + used, sizeof up->resources - used, "%s%s", used > 0 ? "," : "", text);
    up->options.resources = up->resources;
    return GRANARY_OK;
}

static const struct gr_option up_options[] = {
    {"executors", 'e', "N", "executor processes; default: one a cpu",
     GR_OPTION_NUMBER(struct up, options.executors, 0, 1024)},
    {"schedulers", 0, "N", "how many: one is active, the others take over when it ends; default: 1",
     GR_OPTION_NUMBER(struct up, options.schedulers, 1, SUPERVISOR_SCHEDULERS_MAX)},
    {"memory", 0, "SIZE", "budget for objects in memory; default: half of what the machine allows",
     GR_OPTION_SIZE(struct up, options.memory, 1), .as_text = true},
    {"spill-dir", 0, "DIR", "where objects go when memory is full; default: below /var/tmp",
     GR_OPTION_TEXT(struct up, options.spill_dir)},
    {"disk-quota", 0, "SIZE", "most bytes of files there; default: what the disk holds",
     GR_OPTION_SIZE(struct up, options.disk_quota, 0), .as_text = true},
    {"remote-dir", 0, "DIR", "the remote level: a directory, such as a mounted share; default: none",
     GR_OPTION_TEXT(struct up, options.remote_dir)},
    {"levels", 0, "SET", "levels to use, such as 'memory|disk'; default: all that are there",
     GR_OPTION_LEVELS(struct up, options.levels), .as_text = true},
    {"state", 0, "memory|sqlite", "where the scheduler keeps graphs; default: sqlite",
     GR_OPTION_CHOICE(struct up, options.state, "memory|sqlite")},
    {"chunk-bytes", 0, "SIZE", "size of chunks to aim at; default: automatic",
     GR_OPTION_SIZE(struct up, options.chunk_bytes, 1), .as_text = true},
    {"resource", 0, "NAME=AMOUNT", "a resource that subtasks may ask for, such as gpu=2; may be given several times",
     GR_OPTION_TAKE(take_resource)},
    {"topology", 0, "FILE", "the NUMA nodes there are; default: $GRANARY_TOPOLOGY, or those of the machine",
     GR_OPTION_TAKE(take_topology)},
    {"confine", 0, "strict",
     "executors give up what they do not need before they run anything; strict: all of it, or none starts",
     GR_OPTION_TAKE(take_confine), .optional = true, .group = 1},
    {"confine-read", 0, "DIR", "confined executors may read below it; may be given several times; implies --confine",
     GR_OPTION_TAKE(take_confine_read), .group = 1},
    {"confine-write", 0, "DIR", "... and write; likewise", GR_OPTION_TAKE(take_confine_write), .group = 1},
    {0}};

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
tell_up(const struct up *up, pid_t pid, const struct gr_memory_limits *limits)
{
    const struct gr_instance *instance = &up->options.instance;
    uint64_t budget = budget_of(instance);
    const char *why;
    bool is_default = up->options.memory == NULL && budget == gr_memory_default_of(limits, &why);
    struct json json = {0};
    char size[32];

    warn_of_memory(limits, budget);
    if (up->cli->json) {
        open_instance(&json, instance, pid);
        json_signed(&json, "executors", up->options.executors);
        json_unsigned(&json, "capacity_bytes", budget);
        if (is_default) {
            json_text(&json, "capacity_is", why);
        }
        json_close(&json);
    } else {
        (void)printf("instance %s is up in %s (%d executor%s; memory %s%s%s)\n", instance->name, instance->runtime,
                     up->options.executors, up->options.executors == 1 ? "" : "s", cli_format_size(budget, size),
                     is_default ? ", " : "", is_default ? why : "");
    }
}

int
command_up(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {.options = up_options,
                                               .doc = "Start an instance and return when everything is ready."};
    struct up up = {.cli = cli, .options = {.executors = supervisor_usable_cpus()}};
    struct gr_memory_limits limits = gr_memory_limits(); /* before the store takes its part */
    pid_t pid = 0;
    granary_err err;

    (void)arguments_read(&arguments, &up, cli, argc, argv);
    err = gr_instance_resolve(cli->instance, &up.options.instance);
    if (err == GRANARY_OK) {
        err = settle_directory("--spill-dir", &up.options.spill_dir, up.spill_dir);
    }
    if (err == GRANARY_OK) {
        err = settle_directory("--remote-dir", &up.options.remote_dir, up.remote_dir);
    }
    if (err == GRANARY_OK) {
        err = supervisor_start(&up.options, &pid);
    }
    if (err != GRANARY_OK) {
        return cli_fail(err, "up");
    }
    tell_up(&up, pid, &limits);
    return 0;
}

int
command_down(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {.doc = "Stop an instance, or clean up after one that was killed."};
    struct json json = {0};
    struct gr_instance instance;
    char logs[LEFTOVERS_LOGS_MAX];
    bool stale = false;
    granary_err err;

    (void)arguments_read(&arguments, NULL, cli, argc, argv);
    err = gr_instance_resolve(cli->instance, &instance);
    if (err == GRANARY_OK) {
        err = supervisor_stop(&instance, &stale);
    }
    if (err != GRANARY_OK) {
        return cli_fail(err, "down");
    }
    if (cli->json) {
        json_open(&json, NULL, '{');
        json_text(&json, "instance", instance.name);
        json_bool(&json, "was_running", !stale);
        json_close(&json);
    } else {
        bool kept = leftovers_logs(&instance, logs);

        (void)printf(stale ? "instance %s was not running; what it had left is removed%s%s\n"
                           : "instance %s is down%s%s\n",
                     instance.name, kept ? "; its logs are in " : "", kept ? logs : "");
    }
    return 0;
}

static size_t
read_schedulers(const struct gr_instance *instance,
                struct gr_roster_entry ret_schedulers[static SUPERVISOR_SCHEDULERS_MAX])
{
    size_t count = gr_roster_read(instance, ret_schedulers, SUPERVISOR_SCHEDULERS_MAX);

    return count < SUPERVISOR_SCHEDULERS_MAX ? count : SUPERVISOR_SCHEDULERS_MAX;
}

/* As the executor's page says. */
static enum gr_confinement
confinement_of(const struct gr_instance *instance, int64_t pid)
{
    struct gr_executor_state page;

    return gr_executor_page_read(instance->runtime, pid, &page) == GRANARY_OK ? page.confined : GR_CONFINED_NOT;
}

/* What does not make room for others. */
static void
print_pinned(const struct gr_instance *instance)
{
    granary_inspector *inspector = NULL;
    uint64_t objects = 0;
    uint64_t bytes;
    char size[32];

    if (granary_inspect_open(instance->runtime, &inspector) == GRANARY_OK) {
        bytes = look_pinned(inspector, &objects);
        if (objects > 0) {
            (void)printf("pinned     %s in %" PRIu64 " object%s, which stay in memory: `granary pins`\n",
                         cli_format_size(bytes, size), objects, cli_plural(objects));
        }
    }
    granary_inspect_close(inspector);
}

static void
print_status(const struct gr_instance *instance, pid_t pid, const granary_store_stat *store,
             const struct daemon daemons[static DAEMONS], const granary_executor_info *executors, size_t count)
{
    char used[32];
    char capacity[32];
    char spilled[32];
    size_t busy = 0;
    size_t confined = 0;
    struct gr_roster_entry schedulers[SUPERVISOR_SCHEDULERS_MAX];
    size_t scheduler_count = read_schedulers(instance, schedulers);

    for (size_t i = 0; i < count; i++) {
        busy += executors[i].busy;
        confined += confinement_of(instance, executors[i].pid) != GR_CONFINED_NOT;
    }
    (void)printf(pid > 0 ? "instance   %s (supervisor pid %d)\n" : "instance   %s (no supervisor)\n", instance->name,
                 (int)pid);
    (void)printf("runtime    %s\n", instance->runtime);
    (void)printf("memory     %s of %s in use\n",
                 cli_format_size(store->capacity_bytes - store->free_bytes - store->pooled_bytes, used),
                 cli_format_size(store->capacity_bytes, capacity));
    print_pinned(instance);
    (void)printf("objects    %" PRIu64 " (%" PRIu64 " spilled, %s)\n", store->objects, store->objects_spilled,
                 cli_format_size(store->spilled_bytes, spilled));
    (void)printf("clients    %" PRIu64 "\n", store->clients);
    (void)printf("executors  %zu (%zu busy", count, busy);
    if (confined > 0) {
        (void)printf(", %zu confined", confined);
    }
    (void)printf(")\n");
    for (size_t i = 0; i < scheduler_count; i++) {
        (void)printf("scheduler  pid %lld, %s\n", (long long)schedulers[i].pid,
                     schedulers[i].active ? "active" : "on standby");
    }
    for (size_t i = 0; i < DAEMONS; i++) {
        if (daemons[i].restarts > 0) {
            (void)printf("restarts   %s %d times\n", daemons[i].name, daemons[i].restarts);
        }
    }
}

static void
print_status_json(const struct gr_instance *instance, pid_t pid, const granary_store_stat *store,
                  const struct daemon daemons[static DAEMONS], const granary_executor_info *executors, size_t count)
{
    struct json json = {0};
    struct gr_roster_entry schedulers[SUPERVISOR_SCHEDULERS_MAX];
    size_t scheduler_count = read_schedulers(instance, schedulers);

    open_instance(&json, instance, pid);
    json_unsigned(&json, "capacity_bytes", store->capacity_bytes);
    json_unsigned(&json, "free_bytes", store->free_bytes);
    json_unsigned(&json, "objects", store->objects);
    json_unsigned(&json, "objects_spilled", store->objects_spilled);
    json_unsigned(&json, "clients", store->clients);
    json_open(&json, "executors", '[');
    for (size_t i = 0; i < count; i++) {
        json_open(&json, NULL, '{');
        json_unsigned(&json, "number", executors[i].number);
        json_signed(&json, "pid", executors[i].pid);
        json_signed(&json, "numa_node", executors[i].numa_node);
        json_bool(&json, "busy", executors[i].busy);
        json_text(&json, "confined", gr_confinement_name(confinement_of(instance, executors[i].pid)));
        json_unsigned(&json, "subtasks_done", executors[i].subtasks_done);
        json_unsigned(&json, "failures", executors[i].failures);
        json_close(&json);
    }
    json_close(&json);
    json_open(&json, "daemons", '[');
    for (size_t i = 0; i < DAEMONS; i++) {
        json_open(&json, NULL, '{');
        json_text(&json, "name", daemons[i].name);
        json_signed(&json, "pid", daemons[i].pid);
        json_signed(&json, "restarts", daemons[i].restarts);
        json_close(&json);
    }
    json_close(&json);
    json_open(&json, "schedulers", '[');
    for (size_t i = 0; i < scheduler_count; i++) {
        json_open(&json, NULL, '{');
        json_signed(&json, "pid", schedulers[i].pid);
        json_text(&json, "state", schedulers[i].active ? "active" : "standby");
        json_unsigned(&json, "epoch", schedulers[i].epoch);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

int
command_status(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {.doc = "Tell what runs, where, and how full it is."};
    struct gr_instance instance;
    granary_executor_info *executors = NULL;
    struct daemon daemons[DAEMONS];
    granary_store_stat store;
    granary_client *client;
    size_t count = 0;
    bool stopped;
    long scheduler;
    pid_t pid;
    int status = 0;
    granary_err err;

    (void)arguments_read(&arguments, NULL, cli, argc, argv);
    err = gr_instance_resolve(cli->instance, &instance);
    if (err != GRANARY_OK) {
        return cli_fail(err, "status");
    }
    pid = supervisor_running(&instance);
    daemons_recall(&instance, daemons);
    client = cli_connect_existing(cli, &status);
    if (client == NULL) {
        return status;
    }
    err = granary_store_stat_get(client, &store);
    stopped = scheduler_stopped(&instance, &scheduler);
    if (err == GRANARY_OK && pid > 0 && !stopped) { /* a store started by hand has no scheduler */
        err = granary_executor_list(client, &executors, &count);
    }
    if (err == GRANARY_OK && stopped) {
        (void)fprintf(stderr, "granary: status: the scheduler, pid %ld, is stopped: nothing is known of executors\n",
                      scheduler);
    }
    if (err != GRANARY_OK) {
        status = cli_fail(err, "status");
    } else if (cli->json) {
        print_status_json(&instance, pid, &store, daemons, executors, count);
    } else {
        print_status(&instance, pid, &store, daemons, executors, count);
    }
    free(executors);
    granary_disconnect(client);
    return status;
}
