/* A command's stdout becomes part of an object: {"answer": ..., "note": what stderr says, "next": a cursor}. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text/buf.h"
#include "cli/print/json.h"
#include "web/ask/ask.h"

#define OUTPUT_MAX  (64u << 20)
#define ERRORS_MAX  16384
#define WORDS       8
#define CURSOR_SAYS "--cursor "
/* A number of JavaScript has all integers of fewer digits. */
#define ROUNDED_DIGITS 16

extern char **environ;

struct run {
    pid_t pid;
    int out_fd, err_fd;
    struct gr_buf out, err;
    bool late, large;
};

/* What the command is started with: words, options, and arguments that begin no option. */
struct command_line {
    char words[64];
    char instance[128];
    char *argv[WORDS + 8 + QUESTION_KEYS + 6];
};

static void
fill(struct command_line *line, const struct gr_instance *instance, const char *program,
     const struct question *question)
{
    char *rest = NULL;
    size_t argc = 0;

    (void)snprintf(line->words, sizeof line->words, "%s", question->row->words);
    (void)snprintf(line->instance, sizeof line->instance, "--instance=%s", instance->runtime);
    line->argv[argc++] = (char *)(uintptr_t)program;
    for (char *word = strtok_r(line->words, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        line->argv[argc++] = word;
        if (argc == 2) {
            line->argv[argc++] = line->instance;
        }
    }
    if (question->row->form != QUESTION_TEXT) {
        line->argv[argc++] = (char *)(uintptr_t) "--json";
    }
    for (size_t i = 0; i < question->option_count; i++) {
        line->argv[argc++] = (char *)(uintptr_t)question->options[i];
    }
    line->argv[argc++] = (char *)(uintptr_t) "--";
    for (size_t i = 0; i < question->key_count; i++) {
        line->argv[argc++] = (char *)(uintptr_t)question->keys[i];
    }
    line->argv[argc] = NULL;
}

static granary_err
spawn(struct run *run, const struct command_line *line)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    sigset_t none, all;
    int error = pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0 ? errno : 0;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
    if (error == 0) {
        error = posix_spawn(&run->pid, line->argv[0], &actions, &attributes, line->argv, environ);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    gr_fd_close(&out[1]);
    gr_fd_close(&err[1]);
    if (error != 0) {
        gr_fd_close(&out[0]);
        gr_fd_close(&err[0]);
        errno = error;
        return gr_fail_errno("%s", line->argv[0]);
    }
    run->out_fd = out[0];
    run->err_fd = err[0];
    return GRANARY_OK;
}

/* Whether more may come. */
static bool
take(int *fd, struct gr_buf *into, size_t most, bool *ret_large)
{
    char bytes[65536];
    ssize_t n = read(*fd, bytes, sizeof bytes);

    if (n > 0 && into->size + (size_t)n <= most) {
        gr_buf_add(into, bytes, (size_t)n);
    } else if (n > 0) {
        *ret_large = true;
    }
    if (n == 0 || (n < 0 && errno != EINTR)) {
        gr_fd_close(fd);
    }
    return *fd >= 0;
}

/* Both streams to their ends, or until there is too much of them or no time left. Returns the exit status, or -1. */
static int
read_all(struct run *run, int64_t deadline_ns)
{
    bool ignored = false;
    int status = 0;

    while (run->out_fd >= 0 || run->err_fd >= 0) {
        struct pollfd fds[2] = {{.fd = run->out_fd, .events = POLLIN}, {.fd = run->err_fd, .events = POLLIN}};

        run->late = poll(fds, 2, gr_left_ms(deadline_ns)) == 0;
        if (run->late || run->large) {
            break;
        }
        if (fds[0].revents != 0) {
            (void)take(&run->out_fd, &run->out, OUTPUT_MAX, &run->large);
        }
        if (fds[1].revents != 0) {
            (void)take(&run->err_fd, &run->err, ERRORS_MAX, &ignored);
        }
    }
    if (run->late || run->large) {
        (void)kill(run->pid, SIGKILL);
    }
    gr_fd_close(&run->out_fd);
    gr_fd_close(&run->err_fd);
    while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Exit statuses of granary as HTTP's (cli/command/command.h). What somebody killed may be asked again. */
static unsigned
status_of(const struct run *run, int exit)
{
    static const unsigned statuses[] = {200, 500, 400, 503, 404, 507, 504, 403, 500};

    return run->late                                              ? 504
           : run->large                                           ? 413
           : exit < 0                                             ? 503
           : (size_t)exit >= sizeof statuses / sizeof statuses[0] ? 500
                                                                  : statuses[exit];
}

static const char *
text_of(const struct gr_buf *buf)
{
    return buf->size > 0 && gr_buf_ok(buf) ? buf->bytes : "";
}

/* The cursor that a listing names on stderr; "": it was whole. */
static void
find_cursor(const char *note, char cursor[24])
{
    const char *at = strstr(note, CURSOR_SAYS);

    cursor[0] = '\0';
    if (at != NULL) {
        at += strlen(CURSOR_SAYS);
        (void)snprintf(cursor, 24, "%.*s", (int)strspn(at, "0123456789"), at);
    }
}

/* Lines of JSON as one array: a text in JSON has no newline. */
static void
join_lines(FILE *out, const char *text, size_t size)
{
    (void)fputc('[', out);
    for (size_t i = 0; i < size; i++) {
        (void)fputc(text[i] == '\n' && i + 1 < size ? ',' : text[i], out);
    }
    (void)fputc(']', out);
}

/* An integer that JavaScript would round stands between quotes. Returns how much of the text was written. */
static size_t
write_value(FILE *out, const char *text)
{
    size_t sign = text[0] == '-', digits = strspn(text + sign, "0123456789");
    bool large = digits >= ROUNDED_DIGITS && strchr(".eE", text[sign + digits]) == NULL;

    if (digits == 0) {
        (void)fputc(text[0], out);
        return 1;
    }
    (void)fprintf(out, large ? "\"%.*s\"" : "%.*s", (int)(sign + digits), text);
    return sign + digits;
}

/*
 * Objects of `read`, with rows on lines of their own, as one array. A text in JSON has no newline; and a blank behind the
 * first name tells an object of granary from a row in it.
 */
static void
write_rows(FILE *out, const char *text)
{
    bool quoted = false, after_digit = false;

    (void)fputc('[', out);
    for (size_t i = 0; text[i] != '\0';) {
        bool begins = text[i] == '\n' && strncmp(text + i + 1, "{\"id\": ", 7) == 0;
        size_t step = quoted && text[i] == '\\' && text[i + 1] != '\0' ? 2 : 1;

        if (!quoted && !after_digit && !begins) {
            step = write_value(out, text + i);
        } else {
            (void)fwrite(begins ? "," : text + i, 1, step, out);
        }
        after_digit = strchr("0123456789.", text[i + step - 1]) != NULL;
        quoted = text[i] == '"' ? !quoted : quoted;
        i += step;
    }
    (void)fputc(']', out);
}

static void
write_answer(FILE *out, const struct run *run, const struct question *question)
{
    size_t size = run->out.size;
    const char *text = text_of(&run->out), *note = text_of(&run->err);
    struct json json = {.out = out};
    char cursor[24];

    if (question->row->form == QUESTION_RAW) {
        (void)fwrite(text, 1, size, out);
        return;
    }
    if (question->row->form == QUESTION_TEXT) {
        json_open(&json, NULL, '{');
        json_text(&json, "answer", text);
        json_text(&json, "note", note);
        json_close(&json);
        return;
    }
    (void)fputs("{\"answer\": ", out);
    if (question->row->form == QUESTION_OBJECTS) {
        write_rows(out, text);
    } else if (question->row->form == QUESTION_LINES) {
        join_lines(out, text, size);
    } else {
        (void)fwrite(size > 0 ? text : "null", 1, size > 0 ? size : 4, out);
    }
    find_cursor(note, cursor);
    (void)fputs(", \"about\": ", out);
    json_open(&json, NULL, '{');
    json_text(&json, "next", cursor);
    json_text(&json, "note", note);
    json_close(&json);
    (void)fputs("}\n", out);
}

static struct answer
answer_of(const struct run *run, const struct question *question, int exit)
{
    struct answer answer = {.status = status_of(run, exit), .type = "application/json"};
    FILE *out;

    if (answer.status != 200) {
        const char *said = text_of(&run->err);
        char text[1024];

        said += strncmp(said, "granary: ", 9) == 0 ? 9 : 0;
        (void)snprintf(text, sizeof text, "%.*s", (int)strcspn(said, "\n"), said);
        if (text[0] == '\0') {
            (void)snprintf(text, sizeof text,
                           exit < 0 ? "what finds the answer was killed by signal %d: ask again"
                                    : "what was asked ended with status %d and said nothing",
                           abs(exit));
        }
        return answer_message(answer.status, run->late ? "no answer came in time: what is asked hangs, or is too much"
                                             : run->large ? "the answer is too large: ask for a part of it"
                                                          : text);
    }
    out = open_memstream(&answer.body, &answer.size);
    if (out == NULL) {
        return answer_failure(gr_no_memory("an answer"));
    }
    write_answer(out, run, question);
    (void)fclose(out);
    return answer;
}

struct answer
ask_command(const struct gr_instance *instance, const char *program, const struct question *question,
            int64_t deadline_ns)
{
    struct command_line line = {.argv = {NULL}};
    struct run run = {.out_fd = -1, .err_fd = -1};
    struct answer answer;
    granary_err err;

    fill(&line, instance, program, question);
    err = spawn(&run, &line);
    answer = err == GRANARY_OK ? answer_of(&run, question, read_all(&run, deadline_ns)) : answer_failure(err);
    gr_buf_free(&run.out);
    gr_buf_free(&run.err);
    return answer;
}
