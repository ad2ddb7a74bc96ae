/* See shell.h. */
#include "cli/prompt/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "granary/sql.h"
#include "sql/params.h"
#include "sql/select/first.h"

/* A statement has 256 KiB at most; more is not kept of one that does not end. */
#define PENDING_MAX ((size_t)64 << 20)
#define READS_MAX   16

void
shell_begin(struct shell *shell, struct cli *cli)
{
    *shell = (struct shell){.cli = cli, .run = cli->self, .output_fd = -1};
}

void
shell_end(struct shell *shell)
{
    gr_fd_close(&shell->output_fd);
    gr_buf_free(&shell->pending);
    free(shell->null_text);
}

bool
shell_is_fresh(const struct shell *shell)
{
    return !shell->split.any && !shell->split.pending && shell->split.mode == SQL_SPLIT_CODE;
}

void
shell_clear(struct shell *shell)
{
    gr_buf_free(&shell->pending);
    shell->split = (struct sql_split){.mode = SQL_SPLIT_CODE};
    if (shell->is_prompt && shell->depth == 0) { /* what was typed before is no text that lines are counted in */
        shell->line = shell->column = 0;
    }
    shell->begin_line = shell->line;
    shell->begin_column = shell->column;
}

/* ---- processes ---- */

/* The statement's process while it runs; 0: none. And how often it was sent what somebody had sent to us alone. */
static volatile sig_atomic_t worker_pid, passed_on;

/* It is the statement's, whose process has what a terminal sends. What a process sends may be for us alone: it is passed
 * on with its number, by which the statement tells it from one that it has already (discard.c). */
static void
on_interrupt(int signal, siginfo_t *info, void *context)
{
    const int error = errno;

    (void)context;
    if (info->si_code <= 0 && worker_pid > 0) {
        passed_on++;
        (void)sigqueue(worker_pid, signal, (union sigval){.sival_int = passed_on});
    }
    errno = error;
}

/* Wait for the worker, which is sent nothing once its number may be another's. */
static int
worker_end(pid_t pid)
{
    siginfo_t info;
    int status = 0;

    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    worker_pid = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/* In the new process. */
static void
become_worker(struct shell *shell)
{
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGHUP, SIG_DFL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (shell->output_fd >= 0) {
        (void)dup2(shell->output_fd, STDOUT_FILENO);
        shell->run->pages = false;
    }
    shell->run->private_pid = 0; /* it is the prompt's */
    shell->run->private.executors = 0;
    shell->run->private.memory = NULL;
}

int
shell_in_process(struct shell *shell, int (*work)(struct shell *shell, const void *argument), const void *argument)
{
    struct sigaction ours = {.sa_sigaction = on_interrupt, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    sigset_t interrupts, mask;
    int status;
    pid_t pid;

    (void)fflush(NULL);
    (void)sigemptyset(&interrupts);
    (void)sigaddset(&interrupts, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &interrupts, &mask); /* until it is known whom it is for */
    passed_on = 0;
    (void)sigaction(SIGINT, &ours, &before);
    pid = fork();
    if (pid == 0) {
        become_worker(shell);
        (void)sigprocmask(SIG_SETMASK, &mask, NULL);
        status = work(shell, argument);
        _exit(fflush(stdout) == 0 ? status : status == 0 ? 1 : status);
    }
    worker_pid = pid > 0 ? pid : 0;
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    if (pid < 0) {
        (void)sigaction(SIGINT, &before, NULL);
        return cli_fail(gr_fail_errno("no process can be started"), "sql");
    }
    status = worker_end(pid);
    (void)sigaction(SIGINT, &before, NULL);
    if (WIFSIGNALED(status)) {
        cli_note("sql: the process of the statement was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

/* ---- statements ---- */

static int
run_text(struct shell *shell, const void *argument)
{
    char *text = strdup(argument);

    if (text == NULL) {
        return cli_fail(gr_fail(GRANARY_ENOMEM, "out of memory"), "sql");
    }
    shell->cli->arguments = &text;
    shell->cli->count = 1;
    return run_source(shell->cli);
}

bool
shell_has_params(const struct run *run, const char *text)
{
    return run->param_count > 0 || strpbrk(text, "$?") != NULL; /* one without a value is told as such */
}

/* The statement itself: with its parameters, and without EXPLAIN, which is an option. *ret_text is to be freed. */
static granary_err
prepare(struct shell *shell, const char *text, size_t size, char **ret_text)
{
    struct run *run = shell->run;
    const struct sql_first_look look = sql_first_look(text, size);
    char *bound = NULL;
    granary_err err = GRANARY_OK;

    *ret_text = NULL;
    if (look.kind == SQL_FIRST_EXPLAIN || look.kind == SQL_FIRST_ANALYZE) {
        run->explain = true;
        run->analyze = look.kind == SQL_FIRST_ANALYZE || run->analyze;
        *ret_text = sql_without_words(text, size, &look);
    } else {
        *ret_text = strndup(text, size);
    }
    if (*ret_text == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    if (shell_has_params(run, *ret_text)) {
        err = gr_sql_bind(*ret_text, size, run->param_names, (const char *const *)run->param_values, run->param_count,
                          shell->is_alone, &bound);
        free(*ret_text);
        *ret_text = bound;
    }
    return err;
}

/* What stands in front of a statement is no part of it; and where it begins in the text. */
static void
skip_comments(struct shell *shell, size_t *ret_begin)
{
    struct run *run = shell->run;
    const char *text = shell->pending.bytes;

    run->lines = shell->begin_line;
    run->columns = shell->begin_column;
    *ret_begin = gr_buf_ok(&shell->pending) ? sql_skip_blank(text, shell->pending.size, 0) : 0;
    for (size_t i = 0; i < *ret_begin; i++) {
        run->columns = text[i] == '\n' ? 0 : run->columns + (((unsigned char)text[i] & 0xc0) != 0x80);
        run->lines += text[i] == '\n';
    }
}

static int
run_pending(struct shell *shell)
{
    const bool explain = shell->run->explain, analyze = shell->run->analyze;
    const int64_t begun = gr_now_ns();
    char *text = NULL;
    size_t begin = 0;
    int status = 0;
    granary_err err;

    skip_comments(shell, &begin);
    err = gr_buf_ok(&shell->pending) ? prepare(shell, shell->pending.bytes + begin, shell->pending.size - begin, &text)
                                     : gr_fail(GRANARY_ENOMEM, "out of memory");
    status = err == GRANARY_OK ? shell_in_process(shell, run_text, text) : cli_fail(err, "sql");
    if (shell->timer) {
        (void)fprintf(stderr, "Time: %.3f s\n", (double)(gr_now_ns() - begun) / 1e9);
    }
    shell->run->explain = explain;
    shell->run->analyze = analyze;
    free(text);
    return status;
}

/* Where what was taken ends in the text. */
static void
count(struct shell *shell, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        shell->column = text[i] == '\n' ? 0 : shell->column + (((unsigned char)text[i] & 0xc0) != 0x80);
        shell->line += text[i] == '\n';
    }
}

/* A dot command, whose line has an end, or is the last one. */
static int
take_dot(struct shell *shell, const char *text, size_t size)
{
    const size_t length = size > 0 && text[size - 1] == '\n' ? size - 1 : size;
    char *line = strndup(text, length);
    int status = line == NULL ? cli_fail(gr_fail(GRANARY_ENOMEM, "out of memory"), "sql") : shell_dot(shell, line);

    free(line);
    count(shell, text, size);
    shell_clear(shell);
    return status;
}

static size_t
blank_size(const char *text, size_t size)
{
    size_t at = 0;

    while (at < size && strchr(" \t\r\n;", text[at]) != NULL && text[at] != '\0') {
        at++;
    }
    return at;
}

int
shell_feed(struct shell *shell, const char *text, size_t size)
{
    int status = 0;

    if (size > 0 && memchr(text, '\0', size) != NULL) {
        shell_clear(shell);
        return cli_fail(gr_fail(GRANARY_EINVAL, "the text has a NUL, and is no SQL: it has not run"), "sql");
    }
    while (size > 0 && !shell->ended && (status == 0 || (shell->is_prompt && shell->depth == 0))) {
        const size_t blank = shell_is_fresh(shell) && shell->pending.size == 0 ? blank_size(text, size) : 0;
        bool ended = false;
        size_t taken;

        if (blank > 0) {
            count(shell, text, blank);
            shell_clear(shell);
            text += blank;
            size -= blank;
            continue;
        }
        if (shell->pending.size == 0 && text[0] == '.' && (size < 2 || text[1] < '0' || text[1] > '9')) {
            const char *end = memchr(text, '\n', size);

            taken = end == NULL ? size : (size_t)(end - text) + 1;
            status = take_dot(shell, text, taken);
            text += taken;
            size -= taken;
            continue;
        }
        taken = sql_split_feed(&shell->split, text, size, &ended);
        gr_buf_add(&shell->pending, text, taken);
        count(shell, text, taken);
        if (ended && shell->split.any) {
            status = run_pending(shell);
        } else if (shell->pending.size > PENDING_MAX) {
            status = cli_fail(gr_fail(GRANARY_EINVAL,
                                      "a statement does not end within %zu MiB: a quote or a bracket may be open",
                                      PENDING_MAX >> 20),
                              "sql");
            ended = true;
        }
        if (ended || (shell->is_prompt && shell_is_fresh(shell))) { /* comments alone wait for nothing */
            shell_clear(shell);
        }
        text += taken;
        size -= taken;
    }
    return status;
}

int
shell_finish(struct shell *shell)
{
    int status = 0;

    if (!shell->ended && (shell->split.any || shell->split.pending)) {
        status = run_pending(shell);
    }
    shell_clear(shell);
    return status;
}

int
shell_read(struct shell *shell, const char *path)
{
    const int line = shell->line, column = shell->column;
    char *text = NULL;
    size_t size = 0;
    int status;
    granary_err err = shell->depth == READS_MAX ? gr_fail(GRANARY_EINVAL, "more than %d files in files", READS_MAX)
                                                : gr_file_read(path, PENDING_MAX, &text, &size);

    if (err != GRANARY_OK) {
        return cli_fail(err, ".read %s", path);
    }
    shell_clear(shell);
    shell->line = shell->column = shell->begin_line = shell->begin_column = 0;
    shell->depth++;
    status = shell_feed(shell, text, size);
    status = status == 0 ? shell_finish(shell) : status;
    if (status != 0) {
        cli_note("sql: that was in %s, of which the rest has not run", path);
    }
    shell_clear(shell);
    shell->depth--;
    shell->line = line;
    shell->column = column;
    free(text);
    return status;
}
