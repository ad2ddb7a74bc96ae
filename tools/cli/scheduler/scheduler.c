/* The process that holds the scheduler's lock is looked up in /proc: a stopped one would answer nobody. */
#include "cli/scheduler/scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"

/* Its state as /proc tells it; '\0': none runs. Its lock tells which process it is. */
static char
state_of(const struct gr_instance *instance, long *ret_pid)
{
    char path[160], stat[GR_PROCESS_STAT];
    const char *fields;
    char *text = NULL;
    size_t size;
    long pid = 0;
    unsigned long long started = 0;
    char state;

    (void)snprintf(path, sizeof path, "%s/sched.lock", instance->runtime);
    if (gr_file_read(path, 4096, &text, &size) == GRANARY_OK && sscanf(text, "%ld %llu", &pid, &started) != 2) {
        pid = 0;
    }
    free(text);
    if (pid <= 0 || gr_process_start_time((pid_t)pid) != started) {
        return '\0';
    }
    fields = gr_process_stat((pid_t)pid, stat);
    state = fields == NULL ? '?' : fields[0];
    *ret_pid = pid;
    return state == 'Z' ? '\0' : state;
}

bool
scheduler_stopped(const struct gr_instance *instance, long *ret_pid)
{
    char state = state_of(instance, ret_pid);

    return state == 'T' || state == 't';
}

const char *
scheduler_trouble(const struct gr_instance *instance)
{
    long pid;
    char state = state_of(instance, &pid);

    return state == 'T' || state == 't' ? "the scheduler is stopped" : state == '\0' ? "no scheduler runs" : NULL;
}

/* Returns the exit status, with the error printed. */
static int
check_answers(const struct cli *cli)
{
    struct gr_instance instance;
    long pid;

    if (gr_instance_resolve(cli->instance, &instance) != GRANARY_OK || !scheduler_stopped(&instance, &pid)) {
        return 0;
    }
    return cli_fail_plain(gr_fail(GRANARY_EUNREACHABLE,
                                  "instance %s: its scheduler, pid %ld, is stopped: `kill -CONT %ld` lets it go on; "
                                  "`granary executors` and `granary logs` work without it",
                                  instance.name, pid, pid));
}

int
scheduler_connect(struct cli *cli)
{
    int status = check_answers(cli);

    return status == 0 ? cli_connect_existing(cli) : status;
}

static int
connect_storing(struct cli *cli)
{
    int status = check_answers(cli);

    return status == 0 ? cli_connect(cli) : status;
}

const struct access scheduler_session = {.open = scheduler_connect, .close = cli_disconnect};
const struct access scheduler_storing = {.open = connect_storing, .close = cli_disconnect};
