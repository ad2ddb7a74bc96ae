/* What a program is started with: command, environment, inputs as descriptors, pipes. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text/buf.h"
#include "executor/user/exec.h"

/* ---- command and environment ---- */

static granary_err
read_command(struct exec *exec)
{
    const Granary__ChunkOp *op = exec->op->op;
    const Granary__Attr *command = GR_CHUNK_PARAMS(exec, op->attrs, op->n_attrs)->command;

    if (command == NULL || command->n_strings == 0 || command->strings[0][0] == '\0') {
        return gr_fail(GRANARY_EINVAL, "no command is given");
    }
    exec->argv = calloc(command->n_strings + 1, sizeof *exec->argv);
    if (exec->argv == NULL) {
        return gr_no_memory("a program");
    }
    memcpy(exec->argv, command->strings, command->n_strings * sizeof *exec->argv); /* borrowed */
    return GRANARY_OK;
}

/* One more variable, before those of the executor: the first of a name counts. */
static granary_err
add_variable(struct exec *exec, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

static granary_err
add_variable(struct exec *exec, const char *name, const char *format, ...)
{
    char **grown = realloc(exec->environment, (exec->environment_count + 2) * sizeof *grown);
    struct gr_buf text = {0};
    va_list arguments;
    char *value = NULL;

    if (grown == NULL) {
        return gr_no_memory("a program");
    }
    exec->environment = grown;
    va_start(arguments, format);
    if (vasprintf(&value, format, arguments) < 0) {
        value = NULL;
    }
    va_end(arguments);
    gr_buf_addf(&text, "%s=%s", name, value == NULL ? "" : value);
    grown[exec->environment_count] = value == NULL ? NULL : gr_buf_take(&text);
    free(value);
    gr_buf_free(&text);
    if (grown[exec->environment_count] == NULL) {
        return gr_no_memory("a program");
    }
    grown[++exec->environment_count] = NULL;
    return GRANARY_OK;
}

static bool
is_set(const struct exec *exec, const char *variable)
{
    size_t length = strcspn(variable, "=");

    for (size_t i = 0; i < exec->environment_count; i++) {
        if (strncmp(exec->environment[i], variable, length) == 0 && exec->environment[i][length] == '=') {
            return true;
        }
    }
    return false;
}

static granary_err
make_environment(struct exec *exec)
{
    const Granary__Subtask *subtask = exec->op->subtask;
    const Granary__ChunkOp *op = exec->op->op;
    const struct gr_chunk_exec *given = GR_CHUNK_PARAMS(exec, op->attrs, op->n_attrs);
    const Granary__Attr *params = given->params;
    const char *session = library_session(subtask->session);
    granary_err err = add_variable(exec, "GRANARY_INSTANCE", "%s", exec->op->host->instance.runtime);

    err = err == GRANARY_OK ? add_variable(exec, "GRANARY_SESSION", "%s", session) : err;
    err = err == GRANARY_OK ? add_variable(exec, "GRANARY_GRAPH", "%s", subtask->graph) : err;
    err = err == GRANARY_OK ? add_variable(exec, "GRANARY_SUBTASK", "%u", (unsigned)subtask->number) : err;
    err = err == GRANARY_OK ? add_variable(exec, "GRANARY_ATTEMPT", "%u", subtask->attempt) : err;
    err = err == GRANARY_OK ? add_variable(exec, "GRANARY_INDEX", "%lld", (long long)given->index) : err;
    err = err == GRANARY_OK ? add_variable(exec, "GRANARY_COUNT", "%lld", (long long)given->count) : err;
    for (size_t i = 0; err == GRANARY_OK && params != NULL && i < params->n_keys && i < params->n_strings; i++) {
        if (params->keys[i][0] == '\0' || strchr(params->keys[i], '=') != NULL) {
            err = gr_fail(GRANARY_EINVAL, "parameter '%s' is no name for a variable", params->keys[i]);
        } else if (!is_set(exec, params->keys[i])) {
            err = add_variable(exec, params->keys[i], "%s", params->strings[i]);
        }
    }
    for (char **variable = environ; err == GRANARY_OK && variable != NULL && *variable != NULL; variable++) {
        if (!is_set(exec, *variable)) {
            int length = (int)strcspn(*variable, "=");
            char name[256];

            (void)snprintf(name, sizeof name, "%.*s", length, *variable);
            if ((size_t)length < sizeof name && (*variable)[length] == '=') {
                err = add_variable(exec, name, "%s", *variable + length + 1);
            }
        }
    }
    return err;
}

/* ---- inputs ---- */

/* A descriptor of those bytes that can be read, mapped and sought, but not written, at no number below least. */
static granary_err
open_bytes(const granary_view *view, int least, int *ret_fd)
{
    char path[64];
    int fd = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    granary_err err = fd < 0 ? gr_fail_errno("an input as a file") : gr_write_all(fd, view->data, view->data_size);
    int reader = -1;

    if (err == GRANARY_OK) {
        (void)fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        reader = open(path, O_RDONLY | O_CLOEXEC);
        *ret_fd = reader < 0 ? -1 : fcntl(reader, F_DUPFD_CLOEXEC, least);
        err = *ret_fd < 0 ? gr_fail_errno("an input as a file") : GRANARY_OK;
    }
    gr_fd_close(&reader);
    gr_fd_close(&fd);
    return err;
}

static granary_err
open_inputs(struct exec *exec)
{
    size_t count = exec->op->op->n_inputs;
    int least = 3 + (int)count + 1;
    granary_err err = GRANARY_OK;

    exec->fds = malloc((count + 1) * sizeof *exec->fds);
    if (exec->fds == NULL) {
        return gr_no_memory("a program");
    }
    for (size_t i = 0; i < count; i++) {
        exec->fds[i] = -1;
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        struct call_input input;

        err = input_open(&input, &exec->op->inputs[i]);
        if (err == GRANARY_OK) {
            err = open_bytes(&input.view, least, &exec->fds[i]);
            if (err == GRANARY_OK && i == 0) { /* with a position of its own */
                err = open_bytes(&input.view, least, &exec->input);
            }
            input_close(&input);
        }
    }
    if (err == GRANARY_OK && exec->input < 0) {
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

        exec->input = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, least);
        gr_fd_close(&null);
        err = exec->input < 0 ? gr_fail_errno("/dev/null") : GRANARY_OK;
    }
    return err;
}

static granary_err
make_pipe(int ends[2], int least)
{
    int pipe_fds[2];

    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        return gr_fail_errno("a pipe");
    }
    ends[0] = pipe_fds[0];
    ends[1] = fcntl(pipe_fds[1], F_DUPFD_CLOEXEC, least);
    gr_fd_close(&pipe_fds[1]);
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return ends[1] < 0 ? gr_fail_errno("a pipe") : GRANARY_OK;
}

/* ---- the whole ---- */

granary_err
exec_open(struct exec *exec)
{
    int least = 3 + (int)exec->op->op->n_inputs + 1;
    granary_err err = read_command(exec);

    if (err == GRANARY_OK) {
        err = make_environment(exec);
    }
    exec->op->done->user_failed = err == GRANARY_EINVAL;
    if (err == GRANARY_OK) {
        err = open_inputs(exec);
    }
    if (err == GRANARY_OK) {
        err = make_pipe(exec->output_pipe, least);
    }
    return err == GRANARY_OK ? make_pipe(exec->error_pipe, least) : err;
}

void
exec_close(struct exec *exec)
{
    for (size_t i = 0; exec->fds != NULL && i < exec->op->op->n_inputs; i++) {
        gr_fd_close(&exec->fds[i]);
    }
    for (size_t i = 0; i < exec->environment_count; i++) {
        free(exec->environment[i]);
    }
    for (int i = 0; i < 2; i++) {
        gr_fd_close(&exec->output_pipe[i]);
        gr_fd_close(&exec->error_pipe[i]);
    }
    gr_fd_close(&exec->pidfd);
    gr_fd_close(&exec->input);
    free(exec->fds);
    free(exec->environment);
    free(exec->argv);
}
