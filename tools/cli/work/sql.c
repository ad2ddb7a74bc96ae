/* granary sql: a SELECT to printed rows, or a statement that changes tables. */
#include "granary/sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text/buf.h"
#include "cli/work/run/run.h"
#include "client/builder.h"
#include "graph_json/json.h"
#include "sql/execute/forget.h"

static granary_err
translate(granary_client *client, const char *statement, char **ret_text, size_t *ret_size)
{
    granary_graph *graph = NULL;
    Granary__Graph *message = NULL;
    struct gr_buf out = {0};
    granary_err err = granary_sql_graph(client, statement, strlen(statement), &graph);

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
    return err;
}

static granary_err
explain(granary_client *client, granary_err err, const char *statement)
{
    return granary_sql_error(client, err, statement, strlen(statement));
}

static bool
acts(const char *statement)
{
    return granary_sql_changes(statement, strlen(statement));
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
act(struct cli *cli, const char *statement, int timeout_ms, const char *label)
{
    granary_sql_done done;
    granary_err err = gr_sql_execute(cli->client, statement, strlen(statement),
                                     timeout_ms > 0 ? timeout_ms : GRANARY_FOREVER, label, &done);

    if (err == GRANARY_OK) {
        tell_done(cli, &done);
    }
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
