/* See names.h. A process that asks writes to a pipe, and is ended by an alarm when nobody answers. */
#include "cli/prompt/names.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/print/show.h"
#include "data/frame.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"
#include "sql/about.h"
#include "sql/from/view.h"

#define PATIENCE_S 2

static granary_err
connect_quietly(struct cli *cli)
{
    granary_connect_options options = {
        .instance = cli->instance, .session = cli->session, .tag = "granary", .existing = cli->session != NULL};

    return granary_connect(&options, &cli->client);
}

/* ---- for completion ---- */

static void
ask(struct shell *shell, const char *table, struct gr_buf *out)
{
    granary_frame *frame = NULL;

    if (connect_quietly(shell->cli) != GRANARY_OK) {
        return;
    }
    if (table == NULL) {
        (void)gr_sql_tables(shell->cli->client, out);
    } else if (gr_sql_columns(shell->cli->client, table, &frame) == GRANARY_OK) {
        for (size_t i = 0; i < granary_frame_columns(frame); i++) {
            const char *name = granary_frame_column(frame, i)->name;

            gr_buf_add(out, name, strlen(name) + 1);
        }
    }
    gr_frame_destroy(frame);
    cli_disconnect(shell->cli);
}

/* In a process of its own, which says nothing. */
static void
ask_beside(struct shell *shell, const char *table, struct gr_buf *out)
{
    char block[4096];
    ssize_t size;
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void)alarm(PATIENCE_S);
        (void)dup2(null, STDERR_FILENO);
        (void)dup2(null, STDOUT_FILENO);
        ask(shell, table, out);
        _exit(gr_buf_ok(out) && gr_write_all(ends[1], out->bytes, out->size) == GRANARY_OK ? 0 : 1);
    }
    (void)close(ends[1]);
    while (pid > 0 && ((size = read(ends[0], block, sizeof block)) > 0 || (size < 0 && errno == EINTR))) {
        gr_buf_add(out, block, size > 0 ? (size_t)size : 0);
    }
    (void)close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

void
names_of_tables(struct shell *shell, struct gr_buf *out)
{
    ask_beside(shell, NULL, out);
}

void
names_of_columns(struct shell *shell, const char *table, struct gr_buf *out)
{
    ask_beside(shell, table, out);
}

/* ---- .tables, .schema ---- */

static int
print_tables(struct shell *shell, const void *pattern)
{
    struct gr_buf names = {0};
    char shown[SHOW_TEXT];
    int status = cli_connect_existing(shell->cli);
    granary_err err = GRANARY_OK;

    if (status == 0) {
        err = gr_sql_tables(shell->cli->client, &names);
        cli_disconnect(shell->cli);
    }
    for (size_t at = 0; err == GRANARY_OK && gr_buf_ok(&names) && at < names.size; at += strlen(names.bytes + at) + 1) {
        const char *name = strchr(names.bytes + at, ' ') + 1;

        if (pattern == NULL || fnmatch(pattern, name, 0) == 0) {
            (void)printf("%-7.*s %s\n", (int)(name - 1 - (names.bytes + at)), names.bytes + at, show_text(name, shown));
        }
    }
    gr_buf_free(&names);
    return err == GRANARY_OK ? status : cli_fail(err, ".tables");
}

/* A type as CREATE TABLE takes it. */
static void
print_type(granary_dtype dtype)
{
    int deep = 0;

    for (; gr_dtype_class(dtype) == GR_CLASS_LIST; deep++) {
        dtype = GRANARY_LIST_ITEM(dtype);
    }
    if (gr_dtype_class(dtype) == GR_CLASS_DECIMAL) {
        (void)printf("DECIMAL(%d, %d)", GRANARY_DECIMAL_DIGITS, gr_dtype_scale(dtype));
    } else if (dtype == GRANARY_FLOAT32) { /* FLOAT is PostgreSQL's */
        (void)printf("REAL");
    } else {
        (void)printf("%s", gr_dtype_sql_name(dtype));
    }
    while (deep-- > 0) {
        (void)printf("[]");
    }
}

static granary_err
print_schema_of(granary_client *client, const char *name)
{
    granary_frame *frame = NULL;
    char *text = NULL;
    char shown[SHOW_TEXT];
    granary_err err = sql_view_text(client, name, &text);

    if (err == GRANARY_OK) {
        (void)printf("CREATE VIEW \"%s\" AS ", show_text(name, shown));
        (void)show_lines(text, strlen(text), false);
        (void)printf(";\n");
    } else {
        err = gr_sql_columns(client, name, &frame);
        if (err == GRANARY_OK) {
            (void)printf("CREATE TABLE \"%s\" (", show_text(name, shown));
            for (size_t i = 0; i < granary_frame_columns(frame); i++) {
                const granary_column *column = granary_frame_column(frame, i);

                (void)printf("%s\n    \"%s\" ", i > 0 ? "," : "", show_text(column->name, shown));
                print_type(column->dtype);
            }
            (void)printf("\n);\n");
        }
    }
    gr_frame_destroy(frame);
    free(text);
    return err;
}

static int
print_schema(struct shell *shell, const void *table)
{
    struct gr_buf names = {0};
    int status = cli_connect_existing(shell->cli);
    granary_err err = GRANARY_OK;

    if (status == 0 && table != NULL) {
        err = print_schema_of(shell->cli->client, table);
    } else if (status == 0) {
        err = gr_sql_tables(shell->cli->client, &names);
        for (size_t at = 0; err == GRANARY_OK && gr_buf_ok(&names) && at < names.size;
             at += strlen(names.bytes + at) + 1) {
            err = print_schema_of(shell->cli->client, strchr(names.bytes + at, ' ') + 1);
        }
    }
    cli_disconnect(shell->cli);
    gr_buf_free(&names);
    return err == GRANARY_OK ? status : cli_fail(err, ".schema");
}

int
names_print_tables(struct shell *shell, const char *pattern)
{
    return shell_in_process(shell, print_tables, pattern);
}

int
names_print_schema(struct shell *shell, const char *table)
{
    return shell_in_process(shell, print_schema, table);
}
