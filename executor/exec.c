/* Operator "exec": any program, with inputs as descriptors and its standard output as the result. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "executor/answer.h"
#include "executor/call.h"

#define OUTPUT_FIRST (64u << 10) /* room for its output, doubled as it grows */
#define OUTPUT_MAX   (1ull << 40)
#define LOOK_MS      20 /* how often its cancel word and deadline are looked at */
#define STACK_SIZE   (256u << 10)
#define STDERR_MAX   CAPTURE_MAX
#define ERRORS_STEP  16384

/* What the child needs between its start and its program; in memory it shares with us. */
struct start {
    char **argv;
    char **environment;
    const char *directory;
    const int *fds; /* inputs, all above those they become */
    int fd_count;
    int input; /* standard ones */
    int output;
    int errors;
    pid_t parent;
    uint64_t memory_bytes; /* 0: as much as there is */
    int error;             /* errno when the program could not be started */
    bool in_directory;
};

struct exec {
    struct user_op *op;
    char **argv;
    char **environment;
    size_t environment_count;
    int *fds; /* inputs */
    int input;
    struct output *output; /* NULL: its output is printed */
    uint64_t size;         /* of the output so far */
    uint64_t error_size;   /* printed on standard error */
    int output_pipe[2];
    int error_pipe[2];
    pid_t pid;
    int pidfd;
    int64_t deadline_ns;
};

/* ---- command and environment ---- */

static granary_err
no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "a program: out of memory");
}

static granary_err
read_command(struct exec *exec)
{
    const Granary__ChunkOp *op = exec->op->op;
    const Granary__Attr *command = gr_attr_find(op->attrs, op->n_attrs, "command");

    if (command == NULL || command->n_strings == 0 || command->strings[0][0] == '\0') {
        return gr_fail(GRANARY_EINVAL, "no command is given");
    }
    exec->argv = calloc(command->n_strings + 1, sizeof *exec->argv);
    if (exec->argv == NULL) {
        return no_memory();
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
        return no_memory();
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
        return no_memory();
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
    const Granary__Attr *params = gr_attr_find(op->attrs, op->n_attrs, "params");
    const char *session = library_session(subtask->session);
    long long index = gr_attr_int(op->attrs, op->n_attrs, "index", 0);
    long long count = gr_attr_int(op->attrs, op->n_attrs, "count", 1);
    granary_err err = add_variable(exec, "GRANARY_INSTANCE", "%s", exec->op->host->instance.runtime);

    err = err == GRANARY_OK ? add_variable(exec, "GRANARY_SESSION", "%s", session) : err;
    err = err == GRANARY_OK ? add_variable(exec, "GRANARY_GRAPH", "%s", subtask->graph) : err;
    err = err == GRANARY_OK ? add_variable(exec, "GRANARY_SUBTASK", "%u", (unsigned)subtask->number) : err;
    err = err == GRANARY_OK ? add_variable(exec, "GRANARY_ATTEMPT", "%u", subtask->attempt) : err;
    err = err == GRANARY_OK ? add_variable(exec, "GRANARY_INDEX", "%lld", index) : err;
    err = err == GRANARY_OK ? add_variable(exec, "GRANARY_COUNT", "%lld", count) : err;
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
        return no_memory();
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

/* ---- starting ---- */

/* The child: shares our memory, and we stand still meanwhile. */
static int
become_program(void *argument)
{
    struct start *start = argument;
    sigset_t none;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpgid(0, 0);
    for (int signal = 1; signal < NSIG; signal++) { /* ours is ignored; handlers would be called in shared memory */
        if (signal != SIGKILL && signal != SIGSTOP) {
            struct sigaction action = {.sa_handler = SIG_DFL};

            (void)sigaction(signal, &action, NULL);
        }
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() != start->parent) {
        _exit(127);
    }
    if (start->memory_bytes > 0) {
        const struct rlimit limit = {start->memory_bytes, start->memory_bytes};

        (void)setrlimit(RLIMIT_DATA, &limit);
    }
    (void)dup2(start->input, STDIN_FILENO);
    (void)dup2(start->output, STDOUT_FILENO);
    (void)dup2(start->errors, STDERR_FILENO);
    for (int i = 0; i < start->fd_count; i++) {
        (void)dup2(start->fds[i], 3 + i);
    }
    (void)close_range(3U + (unsigned)start->fd_count, ~0U, CLOSE_RANGE_CLOEXEC);
    if (start->directory[0] != '\0' && chdir(start->directory) < 0) {
        start->in_directory = true;
    } else {
        (void)execvpe(start->argv[0], start->argv, start->environment);
    }
    start->error = errno;
    _exit(127);
}

static granary_err
start_program(struct exec *exec)
{
    struct start start = {
        .argv = exec->argv,
        .environment = exec->environment,
        .directory = exec->op->subtask->directory,
        .fds = exec->fds,
        .fd_count = (int)exec->op->op->n_inputs,
        .input = exec->input,
        .output = exec->output_pipe[1],
        .errors = exec->error_pipe[1],
        .parent = getpid(),
        .memory_bytes = exec->op->subtask->memory_bytes,
    };
    sigset_t all, old;
    char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    granary_err err = GRANARY_OK;

    if (stack == MAP_FAILED) {
        return no_memory();
    }
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &old);
    /* As vfork() with a stack of its own: no page is copied, however large this process is. */
    exec->pid = clone(become_program, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
    if (exec->pid < 0) {
        err = gr_fail_errno("start '%s'", exec->argv[0]);
    }
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    (void)munmap(stack, STACK_SIZE);
    if (err == GRANARY_OK && start.error != 0) {
        (void)waitpid(exec->pid, NULL, 0);
        exec->pid = 0;
        errno = start.error;
        if (start.in_directory) {
            err = gr_fail_errno("directory %s", start.directory);
        } else if (start.error == ENOENT) {
            err = gr_fail(GRANARY_ENOENT, "program '%s': not found in $PATH, nor as a file from %s: give its full name",
                          exec->argv[0], start.directory[0] == '\0' ? "here" : start.directory);
        } else {
            err = gr_fail_errno("program '%s'", exec->argv[0]);
        }
        exec->op->done->user_failed = true;
    }
    gr_fd_close(&exec->output_pipe[1]);
    gr_fd_close(&exec->error_pipe[1]);
    if (err == GRANARY_OK) {
        atomic_store(&exec->op->host->page.shared->program, exec->pid);
        exec->pidfd = gr_pidfd_open(exec->pid);
    }
    return err;
}

/* ---- while it runs ---- */

/* What it wrote goes where the result will stay. *ret_more: there may be more at once. */
static granary_err
take_output(struct exec *exec, bool *ret_more)
{
    char unused[4096];
    ssize_t size;

    *ret_more = false;
    if (exec->output == NULL) {
        size = read(exec->output_pipe[0], unused, sizeof unused);
        if (size > 0) {
            (void)!write(STDOUT_FILENO, unused, (size_t)size);
            exec->size += (uint64_t)size;
        }
    } else {
        if (exec->size == exec->output->size) {
            granary_err err = exec->size >= OUTPUT_MAX ? gr_fail(GRANARY_EFULL, "the program writes without end")
                                                       : output_resize(exec->op, exec->output, exec->output->size * 2);

            if (err != GRANARY_OK) {
                return err;
            }
        }
        size =
            read(exec->output_pipe[0], (char *)output_data(exec->output) + exec->size, exec->output->size - exec->size);
        exec->size += size > 0 ? (uint64_t)size : 0;
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
    atomic_store(&exec->op->host->page.shared->program, 0); /* before its number can be another's */
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
    int least = 3 + (int)exec->op->op->n_inputs + 1;
    granary_err err = make_pipe(exec->output_pipe, least);

    if (err == GRANARY_OK) {
        err = make_pipe(exec->error_pipe, least);
    }
    if (err == GRANARY_OK && exec->output != NULL) {
        err = output_create(exec->op, exec->output, OUTPUT_FIRST);
    }
    if (err == GRANARY_OK) {
        err = start_program(exec);
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

static void
exec_free(struct exec *exec)
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
    granary_err err = read_command(&exec);

    if (err == GRANARY_OK && op->op->n_outputs > 1) {
        err = gr_fail(GRANARY_EINVAL, "a program has one output, not %zu", op->op->n_outputs);
    }
    if (op->op->n_outputs > 0) {
        output.id = &op->op->outputs[0];
        exec.output = &output;
    }
    if (err == GRANARY_OK) {
        err = make_environment(&exec);
    }
    op->done->user_failed = err == GRANARY_EINVAL;
    if (err == GRANARY_OK) {
        err = open_inputs(&exec);
    }
    if (err == GRANARY_OK) {
        user_capture_begin(op);
        err = run_program(&exec);
        err = user_capture_end(op, err);
    }
    if (exec.output != NULL) {
        output_drop(op, exec.output);
    }
    exec_free(&exec);
    return err;
}
