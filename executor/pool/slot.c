/* Starting a process: fork, follow the pool's death, be bound to a node, exec. Pauses between deaths double. */
#include "executor/pool/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process/executor_page.h"

#define PAUSE_MAX_MS 1000

static const bool may_enter[SLOT_STATES][SLOT_STATES] = {
    /* from           to */
    [SLOT_STARTING] = {[SLOT_RUNNING] = true, [SLOT_WAITING] = true, [SLOT_EMPTY] = true, [SLOT_LOST] = true},
    [SLOT_RUNNING] = {[SLOT_WAITING] = true, [SLOT_EMPTY] = true},
    [SLOT_WAITING] = {[SLOT_STARTING] = true},
    [SLOT_EMPTY] = {[SLOT_WAITING] = true},
    [SLOT_LOST] = {[SLOT_WAITING] = true},
};

static void
slot_enter(struct slot *slot, enum slot_state next)
{
    if (!may_enter[slot->state][next]) {
        abort(); /* our own mistake */
    }
    slot->state = next;
}

void
slot_init(struct slot *slot, int number, int node)
{
    *slot = (struct slot){.state = SLOT_WAITING, .number = number, .node = node, .ready_fd = -1};
}

void
slot_revive(struct slot *slot, int node)
{
    slot_enter(slot, SLOT_WAITING);
    slot->node = node;
    slot->deaths = 0;
    slot->start_again_ns = 0;
}

/* ---- starting ---- */

/*
 * In the child, between fork and exec. Another thread may have held any lock at the fork: nothing here but system
 * calls.
 */
static void
become_executor(const struct slot_command *command, const char *const *args, const struct topology_pin *pin,
                pid_t parent, int ready_fd)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setsid(); /* whatever user code starts can be told from what others start */
    (void)sigprocmask(SIG_SETMASK, &command->mask, NULL);
    topology_pin_apply(pin);
    (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC); /* whatever somebody left open */
    (void)fcntl(ready_fd, F_SETFD, 0);
    if (getppid() == parent) { /* else it died before it could be our death signal */
        (void)execve(command->program, (char *const *)(uintptr_t)args,
                     command->environment == NULL ? environ : command->environment);
    }
    _exit(127);
}

void
slot_start(struct slot *slot, const struct slot_command *command)
{
    char number[16], node[16], parent[16], ready[16];
    const char *args[] = {command->program, "--slot",     number, "--node", node, "--parent",
                          parent,           "--ready-fd", ready,  NULL,     NULL, NULL};
    struct topology_pin pin;
    int pipe_fds[2] = {-1, -1};
    pid_t self = getpid();
    pid_t pid = -1;

    slot_enter(slot, SLOT_STARTING);
    slot->said_size = 0;
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) == 0) {
        (void)snprintf(number, sizeof number, "%d", slot->number);
        (void)snprintf(node, sizeof node, "%d", slot->node);
        (void)snprintf(parent, sizeof parent, "%d", (int)self);
        (void)snprintf(ready, sizeof ready, "%d", pipe_fds[1]);
        if (command->instance != NULL) {
            args[9] = "--instance";
            args[10] = command->instance;
        }
        topology_pin_plan(command->topology, slot->node, &pin);
        pid = FAULT_FAILS(executor_start) ? -1 : fork();
    }
    if (pid == 0) {
        become_executor(command, args, &pin, self, pipe_fds[1]);
    }
    gr_fd_close(&pipe_fds[1]);
    if (pid < 0) {
        gr_log_error("POOL-START", "slot=%d: %s", slot->number, strerror(errno));
        gr_fd_close(&pipe_fds[0]);
        slot_died(slot, -1);
        return;
    }
    slot->pid = pid;
    slot->start_time = gr_process_start_time(pid);
    slot->ready_fd = pipe_fds[0];
}

/* ---- deaths ---- */

int
slot_look_back(const struct slot *slot, const char *runtime, int status)
{
    struct gr_executor_state state;
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/" GR_EXECUTOR_PAGES "/%d", runtime, (int)slot->pid);
    if (access(path, F_OK) < 0) {
        return status; /* it left in order, and took its page along */
    }
    if (gr_executor_page_read(runtime, slot->pid, &state) != GRANARY_OK || state.start_time != slot->start_time) {
        return status;
    }
    /* Its leader is dying of the executor's death; others would stay. The page may say anything: a group of another
     * session is not the executor's, which could not have killed it itself where it was confined. */
    if (state.program > 1 && state.program <= INT32_MAX && getsid((pid_t)state.program) == slot->pid) {
        (void)kill(-(pid_t)state.program, SIGKILL);
    }
    return status == 0 && state.subtask != 0 ? GR_EXECUTOR_REPLACE << 8 : status;
}

void
slot_died(struct slot *slot, int status)
{
    bool left = status >= 0 && WIFEXITED(status);
    int64_t pause_ms;

    gr_fd_close(&slot->ready_fd);
    if (left && WEXITSTATUS(status) == 0) {
        gr_log_info("EXECUTOR-LEFT", "slot=%d pid=%d", slot->number, (int)slot->pid);
        slot->pid = 0;
        slot_enter(slot, SLOT_EMPTY);
        return;
    }
    /* One that worked may be killed as often as somebody likes. */
    slot->deaths = slot->state == SLOT_STARTING ? slot->deaths + 1 : 0;
    if (left && WEXITSTATUS(status) == GR_EXECUTOR_REPLACE) {
        gr_log_info("EXECUTOR-REPLACED", "slot=%d pid=%d", slot->number, (int)slot->pid);
    } else if (status >= 0) {
        gr_log_warn("EXECUTOR-DIED", "slot=%d pid=%d %s=%d", slot->number, (int)slot->pid,
                    WIFSIGNALED(status) ? "signal" : "exit",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    slot->pid = 0;
    if (slot->deaths >= SLOT_DEATHS_MAX) {
        gr_log_error("SLOT-LOST", "slot=%d: %d executors in a row died before they were ready; it stays empty",
                     slot->number, slot->deaths);
        slot_enter(slot, SLOT_LOST);
        return;
    }
    /* The first is replaced at once, then 20, 40, 80 ... ms later. */
    pause_ms = slot->deaths < 2 ? 0 : (int64_t)10 << (slot->deaths - 1);
    slot->start_again_ns = gr_now_ns() + (pause_ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause_ms) * 1000000;
    slot_enter(slot, SLOT_WAITING);
}

/* ---- what executors say ---- */

granary_err
slot_listen(struct slot *slot)
{
    ssize_t size = read(slot->ready_fd, slot->said + slot->said_size, sizeof slot->said - 1 - slot->said_size);
    granary_err err = GRANARY_OK;
    const char *why;

    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        return GRANARY_OK;
    }
    slot->said_size += size > 0 ? (size_t)size : 0;
    slot->said[slot->said_size] = '\0';
    if (size > 0 && strchr(slot->said, '\n') == NULL && slot->said_size < sizeof slot->said - 1) {
        return GRANARY_OK;
    }
    gr_fd_close(&slot->ready_fd); /* its death, if it is that, is told by SIGCHLD */
    if (!gr_daemon_heard(slot->said, &err, &why)) {
        (void)kill(slot->pid, SIGKILL); /* one that lives and cannot say so would be waited for */
        return GRANARY_OK;
    }
    if (err != GRANARY_OK) {
        return gr_fail(err, "%s", why);
    }
    slot_enter(slot, SLOT_RUNNING);
    return GRANARY_OK;
}

bool
slot_in_use(const struct slot *slot)
{
    return slot->state != SLOT_EMPTY && slot->state != SLOT_LOST;
}
