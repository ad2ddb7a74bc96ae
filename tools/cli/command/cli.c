/* Messages are written at once and escaped; connections make a session that is named only where something is stored. */
#include "cli/command/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text/buf.h"
#include "base/text/size.h"
#include "base/text/text.h"
#include "cli/print/json.h"
#include "client/resolve.h"

/*
 * Names in messages come from files: what would command a terminal is shown instead of sent. Lines (of what user code
 * printed last) are set off by two spaces, so that none looks like one of ours.
 */
static void
add_escaped(const char *text, struct gr_buf *line)
{
    char shown[GR_TEXT_SHOWN];

    for (size_t step; *text != '\0'; text += step) {
        step = gr_text_show(text, strlen(text), shown);
        if (*text == '\n') {
            gr_buf_addf(line, "%s", text[1] == '\0' ? "" : "\n  ");
        } else {
            gr_buf_addf(line, "%s", shown);
        }
    }
}

/* In one write, for others may write to the same terminal. */
static void
say(const char *what, const char *message)
{
    struct gr_buf line = {0};

    if (what != NULL) {
        add_escaped(what, &line);
        gr_buf_addf(&line, ": ");
    }
    add_escaped(message, &line);
    (void)fflush(stdout);
    (void)fprintf(stderr, "granary: %.*s\n", (int)line.size, gr_buf_ok(&line) ? line.bytes : "");
    gr_buf_free(&line);
}

static int
fail(granary_err err, const char *what)
{
    say(what, granary_error_message()[0] != '\0' ? granary_error_message() : granary_error_text(err));
    return granary_error_exit_status(err);
}

void
cli_note(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say(NULL, text);
}

int
cli_fail(granary_err err, const char *format, ...)
{
    char what[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return fail(err, what);
}

int
cli_fail_plain(granary_err err)
{
    return fail(err, NULL);
}

static granary_err
connect_to(struct cli *cli, bool existing)
{
    granary_connect_options options = {
        .instance = cli->instance, .session = cli->session, .tag = "granary", .existing = existing};

    cli->client = NULL;
    return granary_connect(&options, &cli->client);
}

int
cli_connect(struct cli *cli)
{
    granary_err err = connect_to(cli, cli->session != NULL);

    if (err == GRANARY_ENOENT && cli->session != NULL) {
        err = connect_to(cli, false);
        if (err == GRANARY_OK) {
            cli_note("session '%s' was not there: it is made", cli->session);
        }
    }
    return err == GRANARY_OK ? 0 : cli_fail(err, "connect");
}

int
cli_connect_existing(struct cli *cli)
{
    granary_err err = connect_to(cli, cli->session != NULL);

    if (err == GRANARY_ENOENT && cli->session != NULL) {
        char why[512];

        (void)snprintf(why, sizeof why, "%s", granary_error_message());
        (void)gr_fail(err, "%s: `granary session create %s` makes it", why, cli->session);
    }
    return err == GRANARY_OK ? 0 : cli_fail(err, "connect");
}

const char *
cli_format_size(uint64_t bytes, char buffer[32])
{
    return gr_size_format(bytes, buffer);
}

int
cli_find(granary_client *client, const char *text, granary_id *ret_id)
{
    granary_err err = strncmp(text, "name:", 5) == 0 ? gr_resolve_name(client, text + 5, ret_id)
                                                     : granary_object_find(client, text, ret_id);

    return err == GRANARY_OK ? 0 : cli_fail_plain(err);
}

void
cli_print_value(const struct cli *cli, const char *key, const char *text)
{
    struct json json = {0};

    if (!cli->json) {
        (void)puts(text);
        return;
    }
    json_open(&json, NULL, '{');
    json_text(&json, key, text);
    json_close(&json);
}

void
cli_print_id(const struct cli *cli, granary_id id)
{
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(id, text);
    cli_print_value(cli, "id", text);
}

const char *
cli_stdout_name(char buffer[PATH_MAX])
{
    struct stat st;
    ssize_t size = -1;

    if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode)) {
        size = readlink("/proc/self/fd/1", buffer, PATH_MAX - 1);
    }
    if (size < 0) {
        return "stdout";
    }
    buffer[size] = '\0';
    return buffer;
}

int
cli_write_file(const char *path, const void *bytes, size_t size)
{
    bool to_stdout = strcmp(path, "-") == 0;
    int fd = to_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    char name[PATH_MAX];
    granary_err err;

    if (fd < 0) {
        return cli_fail(gr_fail_errno("cannot be written"), "%s", path);
    }
    err = gr_write_all(fd, bytes, size);
    if (to_stdout && err != GRANARY_OK && errno == EPIPE) {
        return 128 + SIGPIPE; /* the reader has seen enough, as in `... | head`: no reason for a message */
    }
    if (!to_stdout && close(fd) < 0 && err == GRANARY_OK) {
        err = gr_fail_errno("close");
    }
    if (err != GRANARY_OK && !to_stdout) {
        cli_remove_half(path);
    }
    return err == GRANARY_OK ? 0 : cli_fail(err, "%s", to_stdout ? cli_stdout_name(name) : path);
}

void
cli_remove_half(const char *path)
{
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        (void)unlink(path);
    }
}
