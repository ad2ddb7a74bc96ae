/* Operator "exec": any program, with inputs as descriptors and its standard output as the result. */
#include "executor/user/exec.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

#define OUTPUT_FIRST (64u << 10) /* room for its output, doubled as it grows */
#define OUTPUT_MAX   (1ull << 40)
#define LOOK_MS      20 /* how often its cancel word and deadline are looked at */
#define STDERR_MAX   CAPTURE_MAX
#define ERRORS_STEP  16384

/* ---- while it runs ---- */

/* What it wrote goes where the result will stay. *ret_more: there may be more at once. */
static granary_err
take_output(struct exec *exec, bool *ret_more)
{
    char first[4096];
    ssize_t size;

    *ret_more = false;
    if (exec->output == NULL) {
        size = read(exec->output_pipe[0], first, sizeof first);
        if (size > 0) {
            (void)!write(STDOUT_FILENO, first, (size_t)size);
            exec->size += (uint64_t)size;
        }
    } else if (exec->size < exec->output->size) {
        size =
            read(exec->output_pipe[0], (char *)output_data(exec->output) + exec->size, exec->output->size - exec->size);
        exec->size += size > 0 ? (uint64_t)size : 0;
    } else {
        /* What is full may be all there is: nobody should wait for twice the room because of that. */
        size = read(exec->output_pipe[0], first, 1);
        if (size > 0) {
            granary_err err = exec->size >= OUTPUT_MAX ? gr_fail(GRANARY_EFULL, "the program writes without end")
                                                       : output_resize(exec->op, exec->output, exec->output->size * 2);

            if (err != GRANARY_OK) {
                return err;
            }
            ((char *)output_data(exec->output))[exec->size++] = first[0];
        }
    }
    if (size == 0) {
        gr_fd_close(&exec->output_pipe[0]);
    }
    *ret_more = size > 0;
    return GRANARY_OK;
}

/* Its log is bounded here, for it is not our descriptor that it writes to. */
static void
take_errors(struct exec *exec)
{
    static const char notice[] = "\ngranary: more than 16 MiB of output: the rest is not kept\n";
    char bytes[ERRORS_STEP];
    ssize_t size = read(exec->error_pipe[0], bytes, sizeof bytes);

    if (size == 0) {
        gr_fd_close(&exec->error_pipe[0]);
    }
    if (size > 0 && exec->error_size <= STDERR_MAX) {
        (void)!write(STDERR_FILENO, bytes, (size_t)size);
        exec->error_size += (uint64_t)size;
        if (exec->error_size > STDERR_MAX) {
            (void)!write(STDERR_FILENO, notice, sizeof notice - 1);
        }
    }
}

/* Bytes that wait in a pipe. */
static int
waiting_in(int fd)
{
    int size = 0;

    return fd >= 0 && ioctl(fd, FIONREAD, &size) == 0 ? size : 0;
}

/* What was written before it ended, and no more: somebody who got away may hold the pipes, and write for ever. */
static granary_err
drain(struct exec *exec)
{
    granary_err err = GRANARY_OK;
    uint64_t end = exec->size + (uint64_t)waiting_in(exec->output_pipe[0]);
    bool more = true;

    while (err == GRANARY_OK && more && exec->output_pipe[0] >= 0 && exec->size < end) {
        err = take_output(exec, &more);
    }
    if (exec->output != NULL && exec->size > end) {
        exec->size = end;
    }
    for (int left = waiting_in(exec->error_pipe[0]); left > 0; left -= ERRORS_STEP) {
        take_errors(exec);
    }
    return err;
}

/* The most memory the program had so far, as the kernel knows. */
static void
note_peak(struct exec *exec)
{
    char path[64];
    char *status = NULL;
    size_t size;

    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)exec->pid);
    if (gr_file_read(path, 65536, &status, &size) == GRANARY_OK) {
        const char *line = strstr(status, "VmHWM:");
        uint64_t peak = line == NULL ? 0 : strtoull(line + strlen("VmHWM:"), NULL, 10) * 1024;

        exec->op->done->peak_bytes = peak > exec->op->done->peak_bytes ? peak : exec->op->done->peak_bytes;
    }
    free(status);
}

/* Until it has ended. Errors: ECANCELLED · ETIMEDOUT · of the store: it may still run */
static granary_err
attend(struct exec *exec)
{
    const struct page *page = &exec->op->host->page;
    granary_err err = GRANARY_OK;

    for (;;) {
        struct pollfd polls[3] = {{.fd = exec->output_pipe[0], .events = POLLIN},
                                  {.fd = exec->error_pipe[0], .events = POLLIN},
                                  {.fd = exec->pidfd, .events = POLLIN}};
        bool more;

        if (poll(polls, 3, LOOK_MS) == 0) {
            note_peak(exec);
        }
        if (polls[0].revents != 0) {
            err = take_output(exec, &more);
        }
        if (polls[1].revents != 0) {
            take_errors(exec);
        }
        if (err != GRANARY_OK) {
            return err;
        }
        if (polls[2].revents != 0) {
            (void)kill(-exec->pid, SIGKILL); /* what it left behind */
            return drain(exec);
        }
        if (page_cancelled(page, exec->op->subtask->number)) {
            return gr_fail(GRANARY_ECANCELLED, "cancelled");
        }
        if (gr_now_ns() > exec->deadline_ns) {
            return gr_fail(GRANARY_ETIMEDOUT, "program '%s' did not end in %lld ms", exec->argv[0],
                           (long long)exec->op->subtask->timeout_ms);
        }
    }
}

/* How it ended. Nothing it started stays. */
static granary_err
reap(struct exec *exec, granary_err err)
{
    int status = 0;

    (void)kill(-exec->pid, SIGKILL);
    page_program(&exec->op->host->page, 0); /* before its number can be another's */
    while (waitpid(exec->pid, &status, 0) < 0 && errno == EINTR) {
    }
    exec->pid = 0;
    if (err != GRANARY_OK) {
        return err;
    }
    if (WIFSIGNALED(status)) {
        err = gr_fail(GRANARY_EFAILED, "program '%s' was ended by signal %d (%s)", exec->argv[0], WTERMSIG(status),
                      strsignal(WTERMSIG(status)));
    } else if (WEXITSTATUS(status) != 0) {
        err = gr_fail(GRANARY_EFAILED, "program '%s' ended with exit status %d", exec->argv[0], WEXITSTATUS(status));
    }
    exec->op->done->user_failed = err != GRANARY_OK;
    return err;
}

static granary_err
run_program(struct exec *exec)
{
    granary_err err = GRANARY_OK;

    if (exec->output != NULL) {
        err = output_create(exec->op, exec->output, OUTPUT_FIRST);
    }
    if (err == GRANARY_OK) {
        err = exec_start(exec);
    }
    if (err == GRANARY_OK && exec->pidfd < 0) {
        err = gr_fail_errno("program '%s': watch it", exec->argv[0]);
    }
    if (err == GRANARY_OK) {
        err = attend(exec);
    }
    if (exec->pid > 0) {
        err = reap(exec, err);
    }
    if (err == GRANARY_OK && exec->output != NULL) {
        err = output_resize(exec->op, exec->output, exec->size);
    }
    if (err == GRANARY_OK && exec->output != NULL) {
        err = output_keep(exec->op, exec->output, 0);
    }
    return err;
}

/* ---- the whole ---- */

granary_err
exec_run(struct user_op *op)
{
    int64_t timeout_ms = op->subtask->timeout_ms > 0 ? op->subtask->timeout_ms : GRANARY_FOREVER;
    struct output output = {.given = false};
    struct exec exec = {.op = op,
                        .input = -1,
                        .output_pipe = {-1, -1},
                        .error_pipe = {-1, -1},
                        .pidfd = -1,
                        .deadline_ns = gr_deadline_ns(timeout_ms)};
    granary_err err;

    if (op->op->n_outputs > 1) {
        op->done->user_failed = true;
        return gr_fail(GRANARY_EINVAL, "a program has one output, not %zu", op->op->n_outputs);
    }
    if (op->op->n_outputs > 0) {
        output.id = &op->op->outputs[0];
        exec.output = &output;
    }
    err = exec_open(&exec);
    if (err == GRANARY_OK) {
        user_capture_begin(op);
        err = run_program(&exec);
        err = user_capture_end(op, err);
    }
    if (exec.output != NULL) {
        output_drop(op, exec.output);
    }
    exec_close(&exec);
    return err;
}
