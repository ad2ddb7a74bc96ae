/* granary sql: a SELECT to printed rows, or a statement that changes tables. */
#include "granary/sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text/buf.h"
#include "cli/work/run.h"
#include "client/builder.h"
#include "graph_json/json.h"
#include "sql/forget.h"

#define STATEMENT_MAX ((size_t)1 << 20)

/* The statement: the argument, or what stdin ("-") or a file ("@FILE") has. *ret_text is the caller's. */
static granary_err
read_statement(const char *argument, char **ret_text, size_t *ret_size)
{
    /* stdin is read once, and kept for messages */
    static struct gr_buf standard_input;
    granary_err err = GRANARY_OK;

    if (argument[0] == '@') {
        return gr_file_read(argument + 1, STATEMENT_MAX, ret_text, ret_size);
    }
    if (strcmp(argument, "-") == 0) {
        char block[4096];
        size_t size;

        while ((size = fread(block, 1, sizeof block, stdin)) > 0 && standard_input.size < STATEMENT_MAX) {
            gr_buf_add(&standard_input, block, size);
        }
        argument = standard_input.bytes == NULL ? "" : standard_input.bytes;
    }
    *ret_text = strdup(argument);
    if (*ret_text == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    } else {
        *ret_size = strlen(*ret_text);
    }
    return err;
}

static granary_err
translate(granary_client *client, const char *argument, char **ret_text, size_t *ret_size)
{
    char *statement = NULL;
    size_t size = 0;
    granary_graph *graph = NULL;
    Granary__Graph *message = NULL;
    struct gr_buf out = {0};
    granary_err err = read_statement(argument, &statement, &size);

    if (err == GRANARY_OK) {
        err = granary_sql_graph(client, statement, size, &graph);
    }
    if (err == GRANARY_OK) {
        err = gr_builder_finish(graph, &message);
    }
    if (err == GRANARY_OK) {
        err = gr_graph_to_json(message, &out);
    }
    if (err == GRANARY_OK) {
        *ret_size = out.size;
        *ret_text = gr_buf_take(&out);
        err = *ret_text == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    }
    gr_buf_free(&out);
    granary__graph__free_unpacked(message, NULL);
    granary_graph_destroy(graph);
    free(statement);
    return err;
}

static granary_err
explain(granary_client *client, granary_err err, const char *argument)
{
    char *text = NULL;
    char *message = strdup(granary_error_message());
    size_t size = 0;

    if (message != NULL && read_statement(argument, &text, &size) == GRANARY_OK) {
        (void)gr_fail(err, "%s", message);
        err = granary_sql_error(client, err, text, size);
    }
    free(message);
    free(text);
    return err;
}

static bool
acts(const char *argument)
{
    char *statement = NULL;
    size_t size = 0;
    bool changes = read_statement(argument, &statement, &size) == GRANARY_OK && granary_sql_changes(statement, size);

    free(statement);
    return changes;
}

/* As psql tells it. */
static void
tell_done(const struct cli *cli, const granary_sql_done *done)
{
    const bool is_insert = strcmp(done->command, "INSERT") == 0;

    if (cli->json && done->rows >= 0) {
        (void)printf("{\"command\": \"%s\", \"rows\": %" PRId64 ", \"time\": %" PRId64 "}\n", done->command, done->rows,
                     done->time);
    } else if (cli->json) {
        (void)printf("{\"command\": \"%s\"}\n", done->command);
    } else if (done->rows >= 0) {
        (void)printf("%s %s%" PRId64 "\n", done->command, is_insert ? "0 " : "", done->rows);
    } else {
        (void)printf("%s\n", done->command);
    }
}

static granary_err
act(struct cli *cli, const char *argument, int timeout_ms, const char *label)
{
    char *statement = NULL;
    size_t size = 0;
    granary_sql_done done;
    granary_err err = read_statement(argument, &statement, &size);

    if (err == GRANARY_OK) {
        err = gr_sql_execute(cli->client, statement, size, timeout_ms > 0 ? timeout_ms : GRANARY_FOREVER, label, &done);
    }
    if (err == GRANARY_OK) {
        tell_done(cli, &done);
    }
    free(statement);
    return err;
}

static int
forget(struct cli *cli, const char *label)
{
    granary_err err = gr_sql_forget(cli->client, label);

    return err == GRANARY_OK ? 0 : cli_fail(err, "%s", label);
}

const struct run_source sql_source = {.what = "statement",
                                      .how = "Write \"SELECT ...\", '@FILE', or '-' for stdin",
                                      .label = "sql",
                                      .target = GRANARY_SQL_TARGET,
                                      .needs_client = true,
                                      .make = translate,
                                      .explain = explain,
                                      .acts = acts,
                                      .act = act,
                                      .forget = forget};
