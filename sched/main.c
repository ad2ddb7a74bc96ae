/* granary-sched: the scheduler of an instance. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/log.h"
#include "sched/server.h"
#include "state/state.h"

enum { KEY_READY_FD = 256, KEY_DIE_WITH_PARENT, KEY_MEMORY, KEY_CHUNK_BYTES };

struct arguments {
    const char *instance;
    const char *state;
    int ready_fd;
    bool die_with_parent;
    struct manager_options manager;
};

static const struct argp_option options[] = {
    {"instance", 'i', "NAME|DIR", 0, "the instance to serve", 0},
    {"state", 's', "memory|sqlite", 0, "where accepted graphs are kept (default sqlite)", 0},
    {"ready-fd", KEY_READY_FD, "N", 0, "write READY, or ERROR STATUS MESSAGE, to this descriptor", 0},
    {"die-with-parent", KEY_DIE_WITH_PARENT, NULL, 0, "stop when the parent process ends", 0},
    {"memory", KEY_MEMORY, "SIZE", 0, "the store's memory budget", 0},
    {"chunk-bytes", KEY_CHUNK_BYTES, "SIZE", 0, "wished size of a chunk (default: automatic)", 0},
    {0},
};

/* "64M": a number with K, M, G or T behind it. */
static bool
parse_size(const char *text, uint64_t *ret_bytes)
{
    static const char units[] = "KMGT";
    char *end;
    unsigned long long value;
    const char *unit;
    int shift = 0;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (end == text || text[0] == '-' || errno != 0) {
        return false;
    }
    if (*end != '\0') {
        unit = strchr(units, *end & ~0x20);
        if (unit == NULL || *unit == '\0' || end[1] != '\0') {
            return false;
        }
        shift = 10 * (int)(unit - units + 1);
    }
    if (value > (uint64_t)INT64_MAX >> shift) {
        return false;
    }
    *ret_bytes = (uint64_t)value << shift;
    return true;
}

static error_t
parse(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    uint64_t bytes = 0;
    char *end;

    switch (key) {
    case 'i':
        arguments->instance = value;
        return 0;
    case 's':
        arguments->state = value;
        if (state_find(value) == NULL) {
            argp_error(state, "--state %s: memory or sqlite", value);
        }
        return 0;
    case KEY_READY_FD:
        arguments->ready_fd = (int)strtol(value, &end, 10);
        if (end == value || *end != '\0' || arguments->ready_fd < 0) {
            argp_error(state, "--ready-fd %s: not a descriptor", value);
        }
        return 0;
    case KEY_DIE_WITH_PARENT:
        arguments->die_with_parent = true;
        return 0;
    case KEY_MEMORY:
    case KEY_CHUNK_BYTES:
        if (!parse_size(value, &bytes)) {
            argp_error(state, "size '%s': a number of bytes, or one with K, M, G or T behind it", value);
        }
        if (key == KEY_MEMORY) {
            arguments->manager.memory_bytes = bytes;
        } else {
            arguments->manager.chunk_bytes = (int64_t)bytes;
        }
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s': no arguments are taken", value);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void
tell(int fd, const char *text)
{
    if (fd >= 0) {
        (void)gr_write_all(fd, text, strlen(text));
    }
}

/* One scheduler an instance: the lock is held for life and tells who holds it. */
static granary_err
take_lock(const struct gr_instance *instance, int *ret_fd)
{
    char path[160];
    char text[64] = "";
    int fd;
    int length;

    (void)snprintf(path, sizeof path, "%s/sched.lock", instance->runtime);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return gr_fail_errno("%s", path);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        granary_err err = errno == EWOULDBLOCK ? GRANARY_EBUSY : gr_fail_errno("%s", path);

        if (err == GRANARY_EBUSY) {
            (void)!pread(fd, text, sizeof text - 1, 0);
            text[strcspn(text, " \n")] = '\0';
            err = gr_fail(GRANARY_EBUSY, "instance %s: its scheduler runs already (process %s)", instance->name, text);
        }
        gr_fd_close(&fd);
        return err;
    }
    length =
        snprintf(text, sizeof text, "%d %llu\n", (int)getpid(), (unsigned long long)gr_process_start_time(getpid()));
    if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)length, 0) != length) {
        granary_err err = gr_fail_errno("%s", path);

        gr_fd_close(&fd);
        return err;
    }
    *ret_fd = fd;
    return GRANARY_OK;
}

/* A descriptor that is readable when we are asked to stop; -1 with errno. */
static int
open_stop(void)
{
    sigset_t signals;

    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    /* Before ZeroMQ starts its thread, which inherits it. */
    if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0) {
        return -1;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static granary_err
serve(const struct arguments *arguments)
{
    struct gr_instance instance;
    struct server *server = NULL;
    pid_t parent = getppid();
    int lock_fd = -1;
    int stop_fd = open_stop();
    granary_err err = stop_fd < 0 ? gr_fail_errno("signals") : gr_instance_resolve(arguments->instance, &instance);

    if (err == GRANARY_OK && arguments->die_with_parent &&
        (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)) {
        err = gr_fail(GRANARY_EFAILED, "the parent process has ended");
    }
    if (err == GRANARY_OK) {
        err = gr_mkdir_private(instance.runtime);
    }
    if (err == GRANARY_OK) {
        err = take_lock(&instance, &lock_fd);
    }
    if (err == GRANARY_OK) {
        err = server_create(&instance, state_find(arguments->state), &arguments->manager, &server);
    }
    if (err == GRANARY_OK) {
        gr_log_info("READY", "instance=%s state=%s", instance.name, arguments->state);
        tell(arguments->ready_fd, "READY\n");
        server_run(server, stop_fd);
        gr_log_info("STOP", "instance=%s", instance.name);
    }
    server_destroy(server);
    if (lock_fd >= 0) {
        (void)!ftruncate(lock_fd, 0); /* nobody serves any more */
    }
    gr_fd_close(&lock_fd);
    gr_fd_close(&stop_fd);
    return err;
}

int
main(int argc, char **argv)
{
    static const struct argp argp = {options, parse, NULL, "The scheduler of a granary instance.", NULL, NULL, NULL};
    struct arguments arguments = {.state = "sqlite", .ready_fd = -1};
    char text[1200];
    granary_err err;

    argp_err_exit_status = 2;
    (void)argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    gr_log_init("sched");
    err = serve(&arguments);
    if (err != GRANARY_OK) {
        (void)snprintf(text, sizeof text, "ERROR %d %s\n", granary_error_exit_status(err), granary_error_message());
        tell(arguments.ready_fd, text);
        (void)fprintf(stderr, "granary-sched: %s\n", granary_error_message());
    }
    return granary_error_exit_status(err);
}
