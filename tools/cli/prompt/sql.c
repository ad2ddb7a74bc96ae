/* granary sql: a statement, several, those of stdin, or a prompt. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/prompt/shell.h"
#include "granary/sql.h"
#include "sql/select/first.h"

#define TEXT_MAX ((size_t)64 << 20)

/* The text of an argument: itself, or what stdin ("-") or a file ("@FILE") has. *ret_text is the caller's. */
static granary_err
read_text(const char *argument, char **ret_text)
{
    const char *path = argument[0] == '@' ? argument + 1 : strcmp(argument, "-") == 0 ? "/dev/stdin" : NULL;
    size_t size;

    if (path != NULL) {
        granary_err err = gr_file_read(path, TEXT_MAX, ret_text, &size);

        return err == GRANARY_OK && memchr(*ret_text, '\0', size) != NULL
                   ? gr_fail(GRANARY_EINVAL, "%s: it has a NUL, and is no SQL", path)
                   : err;
    }
    *ret_text = strdup(argument);
    return *ret_text == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
}

/* Whether it is one statement without EXPLAIN or parameters: no process is needed for it. */
static bool
is_plain(const struct run *run, const char *text)
{
    const size_t length = strlen(text);
    const size_t taken = granary_sql_split(text, length, NULL, NULL);
    const struct sql_first_look look = sql_first_look(text, length);

    return granary_sql_split(text + taken, length - taken, NULL, NULL) == 0 && !shell_has_params(run, text) &&
           look.kind != SQL_FIRST_EXPLAIN && look.kind != SQL_FIRST_ANALYZE && text[look.begin] != '.';
}

static granary_err
check_many(const struct run *run)
{
    return run->keep != NULL || run->single_file != NULL || run->output_count > 0
               ? gr_fail(GRANARY_EINVAL, "--keep and files are for the rows of one statement, and there are several")
               : GRANARY_OK;
}

static int
run_many(struct cli *cli, const char *text)
{
    struct shell shell;
    struct run *run = cli->self;
    const size_t length = strlen(text);
    const size_t taken = granary_sql_split(text, length, NULL, NULL);
    granary_err err = granary_sql_split(text + taken, length - taken, NULL, NULL) > 0 ? check_many(run) : GRANARY_OK;
    int status = err;

    if (err == GRANARY_OK && (status = run_begin_private(cli)) == GRANARY_OK) {
        shell_begin(&shell, cli);
        shell.is_alone = granary_sql_split(text + taken, length - taken, NULL, NULL) == 0;
        status = shell_feed(&shell, text, length);
        status = status == 0 ? shell_finish(&shell) : status;
        shell_end(&shell);
        run_end_private(cli);
    }
    return status;
}

static int
run_argument(struct cli *cli)
{
    char *text = NULL;
    granary_err err = read_text(cli->arguments[0], &text);
    int status = err;

    if (err == GRANARY_OK && is_plain(cli->self, text)) {
        cli->arguments[0] = text;
        status = run_source(cli);
    } else if (err == GRANARY_OK) {
        status = run_many(cli, text);
    }
    free(text);
    return status;
}

/* The lines there are, which are gone then. */
static int
feed(struct shell *shell, struct gr_buf *lines)
{
    int status = gr_buf_ok(lines) ? shell_feed(shell, lines->bytes, lines->size)
                                  : cli_fail(gr_fail(GRANARY_ENOMEM, "out of memory"), "sql");

    gr_buf_free(lines);
    return status;
}

/* Statements of a pipe: each runs when it has ended, though more may come. */
static int
run_stdin(struct cli *cli)
{
    struct shell shell;
    struct gr_buf lines = {0}; /* the last one has no end yet */
    bool any = false;
    ssize_t size = 1;
    int status = check_many(cli->self);

    if (status != GRANARY_OK || (status = run_begin_private(cli)) != GRANARY_OK) {
        return status;
    }
    shell_begin(&shell, cli);
    while (status == 0 && !shell.ended && size != 0) {
        char block[65536];

        size = read(STDIN_FILENO, block, sizeof block);
        if (size < 0 && errno != EINTR) {
            status = cli_fail(gr_fail_errno("stdin"), "sql");
            size = 0;
        }
        if (size > 0) {
            const char *end = memrchr(block, '\n', (size_t)size);
            const size_t whole = end == NULL ? 0 : (size_t)(end + 1 - block);

            gr_buf_add(&lines, block, whole);
            status = whole > 0 ? feed(&shell, &lines) : 0;
            gr_buf_add(&lines, block + whole, (size_t)size - whole);
            any = true;
        }
    }
    status = status == 0 ? feed(&shell, &lines) : status;
    status = status == 0 ? shell_finish(&shell) : status;
    if (!any && status == 0) {
        status = gr_fail(GRANARY_EINVAL, "which statement? Write \"SELECT ...\", '@FILE', or '-' for stdin");
    }
    gr_buf_free(&lines);
    shell_end(&shell);
    run_end_private(cli);
    return status;
}

static int
run_prompt(struct cli *cli)
{
    struct shell shell;
    int status = check_many(cli->self);

    if (status == GRANARY_OK && (status = run_begin_private(cli)) == GRANARY_OK) {
        shell_begin(&shell, cli);
        shell.is_prompt = true;
        shell.run->pages = true;
        status = shell_prompt(&shell);
        shell_end(&shell);
        run_end_private(cli);
    }
    return status;
}

static int
run_sql(struct cli *cli)
{
    if (cli->count > 1) {
        return gr_fail(GRANARY_EINVAL, "one text at a time: '%.60s' is one too many", cli->arguments[1]);
    }
    if (cli->count == 1) {
        return run_argument(cli);
    }
    return isatty(STDIN_FILENO) != 0 ? run_prompt(cli) : run_stdin(cli);
}

const struct command command_sql = {.options = run_sql_options,
                                    .access = &run_access,
                                    RUN_SQL_SELF,
                                    .check = run_check,
                                    .counts = true,
                                    .run = run_sql};
