/* granary-sched: the scheduler of an instance. */
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/log.h"
#include "base/process/daemon.h"
#include "base/process/limits.h"
#include "base/process/roster.h"
#include "base/process/stacks.h"
#include "options/options.h"
#include "sched/links/peers.h"
#include "sched/server.h"
#include "simulate/simulate.h"
#include "state/state.h"

#define RESOURCES_MAX 64

struct arguments {
    const char *instance;
    const char *state;
    int ready_fd;
    bool die_with_parent;
    bool standby;
    struct manager_options manager;
    struct resource_amount resources[RESOURCES_MAX];
};

/* "gpu=2,license=1"; the text is cut up, and stays. */
static granary_err
take_resources(void *target, char *text)
{
    struct arguments *arguments = target;
    char *rest = NULL;

    for (char *item = strtok_r(text, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest)) {
        struct resource_amount *resource = &arguments->resources[arguments->manager.resource_count];
        char *equals = strchr(item, '=');
        int64_t amount = 0;
        granary_err err;

        if (equals == NULL || equals == item || arguments->manager.resource_count == RESOURCES_MAX) {
            return gr_fail(GRANARY_EINVAL, "%s: not NAME=AMOUNT, or more than %d", item, RESOURCES_MAX);
        }
        *equals = '\0';
        err = gr_option_number(equals + 1, 0, UINT64_MAX, &amount);
        if (err != GRANARY_OK) {
            return err;
        }
        *resource = (struct resource_amount){item, (uint64_t)amount};
        arguments->manager.resources = arguments->resources;
        arguments->manager.resource_count++;
    }
    return GRANARY_OK;
}

static const struct gr_option options[] = {
    {"instance", 'i', "NAME|DIR", "serve this instance; default: $GRANARY_INSTANCE, else 'default'",
     GR_OPTION_TEXT(struct arguments, instance)},
    {"state", 's', "memory|sqlite", "keep accepted graphs in memory or in a SQLite file; default: sqlite",
     GR_OPTION_CHOICE(struct arguments, state, "memory|sqlite")},
    {"ready-fd", 0, "N", "write READY, or ERROR STATUS MESSAGE, to this descriptor",
     GR_OPTION_NUMBER(struct arguments, ready_fd, 0, INT_MAX)},
    {"die-with-parent", 0, NULL, "stop when the parent process ends",
     GR_OPTION_FLAG(struct arguments, die_with_parent)},
    {"standby", 0, NULL, "when another scheduler serves the instance, wait and take over when it ends",
     GR_OPTION_FLAG(struct arguments, standby)},
    {"memory", 0, "SIZE", "plan with so much memory for objects",
     GR_OPTION_SIZE(struct arguments, manager.memory_bytes, 0)},
    {"chunk-bytes", 0, "SIZE", "aim at chunks of this size; default: automatic",
     GR_OPTION_SIZE(struct arguments, manager.chunk_bytes, 0)},
    {"history", 0, "RUNS", "remember so many runs; default: 262144",
     GR_OPTION_NUMBER(struct arguments, manager.history, 1, MANAGER_HISTORY_MOST)},
    {"task-memory", 0, "SIZE",
     "let a subtask with user code use so much memory; default: half of what this process may have",
     GR_OPTION_SIZE(struct arguments, manager.task_memory_bytes, 0)},
    {"resource", 0, "NAME=AMOUNT,...", "offer subtasks resources, such as gpu=2", GR_OPTION_TAKE(take_resources)},
    {0}};

/*
 * One scheduler an instance serves it: the lock is held for life and tells, by pid and start time, who holds it. One on
 * standby waits for it, and touches nothing before it has it.
 */
static granary_err
take_lock(const struct gr_instance *instance, struct arguments *arguments, int stop_fd, int *ret_fd)
{
    char path[160];
    char text[64];
    uint64_t started;
    pid_t holder;
    granary_err err;

    (void)snprintf(path, sizeof path, "%s/sched.lock", instance->runtime);
    err = gr_daemon_lock(path, true, ret_fd, &holder);
    if (err == GRANARY_EBUSY && arguments->standby) {
        gr_log_info("STANDBY", "instance=%s active=%d", instance->name, (int)holder);
        gr_daemon_say_ready(&arguments->ready_fd);
        err = gr_daemon_lock_wait(path, stop_fd, ret_fd);
        if (err == GRANARY_OK) {
            gr_log_info("TAKEOVER", "instance=%s", instance->name);
        }
    }
    if (err == GRANARY_EBUSY) {
        return gr_fail(err, "instance %s: its scheduler runs already (process %d)", instance->name, (int)holder);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    /* A dead one's endpoint would be taken for this one's until it is bound anew: executors look at it when they
     * register. */
    (void)unlink(instance->pool_socket);
    started = gr_process_start_time(getpid());
    if (started == 0) { /* nobody would take this process for the scheduler */
        return gr_fail(GRANARY_EIO, "/proc/%d/stat: when this process started cannot be read", (int)getpid());
    }
    (void)snprintf(text, sizeof text, "%d %llu\n", (int)getpid(), (unsigned long long)started);
    return gr_daemon_lock_write(*ret_fd, text);
}

static granary_err
serve(struct arguments *arguments)
{
    struct gr_instance instance;
    struct server *server = NULL;
    pid_t parent = getppid();
    int lock_fd = -1;
    bool entered = false;
    int stop_fd = gr_daemon_open_stop(); /* before ZeroMQ starts its thread, which inherits it */
    granary_err err = stop_fd < 0 ? gr_fail_errno("signals") : gr_instance_resolve(arguments->instance, &instance);

    (void)gr_daemon_raise_files();
    /* Graphs come and go: asking the kernel for fresh pages for each would take longer than planning it. */
    (void)mallopt(M_TRIM_THRESHOLD, 64 << 20);
    if (err == GRANARY_OK && arguments->die_with_parent) {
        err = gr_daemon_follow(parent, SIGTERM);
    }
    if (err == GRANARY_OK) {
        err = gr_instance_make(&instance);
    }
    if (err == GRANARY_OK) {
        gr_stacks_install(instance.runtime);
        err = gr_roster_enter(&instance, false, 0);
        entered = err == GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        err = take_lock(&instance, arguments, stop_fd, &lock_fd);
    }
    if (err == GRANARY_OK) {
        arguments->manager.cores = (uint32_t)gr_usable_cpus();
        arguments->manager.store_is_shared = instance.shared[0] != '\0';
        arguments->manager.unix_offset_ns = gr_wall_ms() * 1000000 - gr_now_ns();
        err = server_create(&instance, state_find(arguments->state), &arguments->manager, &server);
    }
    if (err == GRANARY_OK) {
        err = gr_roster_enter(&instance, true, server_epoch(server));
    }
    if (err == GRANARY_OK) {
        gr_log_info("READY", "instance=%s state=%s", instance.name, arguments->state);
        gr_daemon_say_ready(&arguments->ready_fd);
        err = server_run(server, stop_fd);
        if (err != GRANARY_OK) {
            /* Another one is active: what is here is his, the sockets' names too, which closing them would remove. Or
             * memory is short: the next one goes on from what is kept, as after a kill. */
            gr_log_error(err == GRANARY_ESTATE ? "FENCED" : "OUT-OF-MEMORY", "%s", granary_error_message());
            gr_fault_end();
            _exit(granary_error_exit_status(err));
        }
        gr_log_info("STOP", "instance=%s", instance.name);
    }
    server_destroy(server);
    if (entered) {
        gr_roster_leave(&instance);
    }
    if (lock_fd >= 0) {
        (void)!ftruncate(lock_fd, 0); /* nobody serves any more */
    }
    gr_fd_close(&lock_fd);
    gr_fd_close(&stop_fd);
    return err == GRANARY_ECANCELLED ? GRANARY_OK : err; /* told to stop on standby */
}

int
main(int argc, char **argv)
{
    struct arguments arguments = {.state = "sqlite", .ready_fd = -1};
    const struct gr_options table = {.doc = "Schedule the graphs of one granary instance until SIGTERM.",
                                     .sets = {{options, &arguments, NULL}}};
    struct gr_memory_limits limits = gr_memory_limits();
    granary_err err;

    peers_guard();
    arguments.manager.task_memory_bytes = (limits.cgroup < limits.ram ? limits.cgroup : limits.ram) / 2;
    if (argc > 1 && strcmp(argv[1], "--simulate") == 0) {
        argv[1] = argv[0]; /* `granary simulate`, as that names itself */
        return simulate_main(argc - 1, argv + 1);
    }
    (void)gr_options_parse(&table, argc, argv);
    gr_log_init("sched");
    (void)umask(077); /* sockets between bind and chmod, and what SQLite puts beside its file */
    err = gr_fault_arm(GR_FAULT_SCHED);
    if (err == GRANARY_OK) {
        err = serve(&arguments);
    }
    if (err != GRANARY_OK) {
        gr_daemon_say_error(&arguments.ready_fd, err);
        (void)fprintf(stderr, "granary-sched: %s\n", granary_error_message());
    }
    return granary_error_exit_status(err);
}
