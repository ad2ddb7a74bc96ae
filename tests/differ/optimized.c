/*
 * Submits graphs and SELECTs as the optimiser writes them, for tests that run these in place of the others.
 *
 *     optimized_graphs INSTANCE
 *
 * Asked on stdin: "KIND SIZE CHUNK_BYTES KEY\n" and the text, SQL or JSON as the kind says; key "-": a fresh one. Answers on
 * stdout: "WHAT SIZE\n" and a text. WHAT is "key", and the text that of the graph; or "refused", and the message.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/buf.h"
#include "client/builder.h"
#include "client/learn.h"
#include "client/submit.h"
#include "granary/sql.h"
#include "graph_json/json.h"
#include "optimize/graph.h"

static granary_err
read_message(granary_client *client, const char *kind, const char *text, size_t size, Granary__Graph **ret_message)
{
    granary_graph *graph = NULL;
    granary_err err;

    if (strcmp(kind, "json") == 0) {
        return gr_graph_from_json(text, size, ret_message);
    }
    err = granary_sql_graph(client, text, size, &graph);
    if (err == GRANARY_OK) {
        err = gr_builder_finish(graph, ret_message);
    }
    granary_graph_destroy(graph);
    return err;
}

/* What was written must be read as the same graph. */
static granary_err
submit(granary_client *client, const struct gr_graph *graph, const granary_graph_options *options, struct gr_buf *out)
{
    Granary__Graph *message = NULL;
    char key[GRANARY_KEY_MAX];
    struct gr_buf json = {0};
    granary_err err = gr_graph_to_json(graph->message, &json);

    if (err == GRANARY_OK) {
        err = gr_graph_from_json(json.bytes, json.size, &message);
    }
    if (err == GRANARY_OK) {
        err = gr_submit(client, message, options, true, key);
    }
    if (err == GRANARY_OK) {
        gr_buf_addf(out, "%s", key);
    }
    if (message != NULL) {
        granary__graph__free_unpacked(message, NULL);
    }
    gr_buf_free(&json);
    return err;
}

static const char *
answer(granary_client *client, const char *kind, const char *text, size_t size, const granary_graph_options *options,
       struct gr_buf *out)
{
    Granary__Graph *message = NULL;
    struct gr_graph *graph = NULL;
    struct gr_graph *optimized = NULL;
    granary_err err = read_message(client, kind, text, size, &message);

    if (err == GRANARY_OK) {
        err = gr_learn(client, message, &graph);
    }
    if (err == GRANARY_OK) {
        err = gr_graph_optimize(graph, &optimized);
    }
    if (err == GRANARY_OK) {
        err = submit(client, optimized, options, out);
    }
    if (err != GRANARY_OK) {
        gr_buf_addf(out, "%s", granary_error_message());
    }
    gr_graph_destroy(optimized);
    gr_graph_destroy(graph);
    if (message != NULL) {
        granary__graph__free_unpacked(message, NULL);
    }
    return err == GRANARY_OK ? "key" : "refused";
}

int
main(int argc, char **argv)
{
    granary_connect_options options = {.instance = argc == 2 ? argv[1] : NULL};
    granary_client *client = NULL;
    char kind[8];
    char key[GRANARY_KEY_MAX];
    granary_graph_options submission = {.key = NULL};
    size_t size;

    if (granary_connect(&options, &client) != GRANARY_OK) {
        (void)fprintf(stderr, "%s\n", granary_error_message());
        return 1;
    }
    while (scanf("%7s %zu %" SCNd64 " %63s", kind, &size, &submission.chunk_bytes, key) == 4 && getchar() == '\n') {
        char *text = malloc(size + 1);
        struct gr_buf out = {0};
        const char *what;

        if (text == NULL || fread(text, 1, size, stdin) != size) {
            free(text);
            break;
        }
        submission.key = strcmp(key, "-") == 0 ? NULL : key;
        what = answer(client, kind, text, size, &submission, &out);
        (void)printf("%s %zu\n", what, out.size);
        (void)fwrite(out.bytes, 1, out.size, stdout);
        (void)fflush(stdout);
        gr_buf_free(&out);
        free(text);
    }
    granary_disconnect(client);
    return 0;
}
