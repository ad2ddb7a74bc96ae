/* granary submit: an exported function, called on objects as a graph of one node. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text/buf.h"
#include "cli/command/command.h"
#include "cli/objects/put.h"
#include "cli/print/json.h"
#include "cli/work/run/discard.h"
#include "client/resolve.h"
#include "data/file/format.h"

#define INPUTS_MAX  1024
#define ENTRIES_MAX 1024
#define NODE        "call"
#define NOT_GIVEN   INT_MIN

struct submit {
    struct cli *cli;
    struct entry {
        const char *map; /* of the node: "params", "resources" */
        char *text;      /* NAME=VALUE */
    } entries[ENTRIES_MAX];
    size_t entry_count;
    int64_t outputs, count, block, retries, memory; /* NOT_GIVEN, or what the node is told */
    int timeout_ms;
    granary_graph *graph;
    granary_node node;
    char *inputs[INPUTS_MAX];
    granary_id ids[INPUTS_MAX];
    bool is_ours[INPUTS_MAX]; /* it was put for this call */
    size_t input_count;
    granary_graph_options graph_options;
    const char *output;
    bool wait;
    bool keep;
    struct discard remains; /* with wait: of the graph of a command that is interrupted */
};

static granary_err
take_entry(struct submit *submit, const char *map, char *text)
{
    char *equals = strchr(text, '=');

    if (equals == NULL || equals == text) {
        return gr_fail(GRANARY_EINVAL, "'%s' is not NAME=VALUE", text);
    }
    if (submit->entry_count == ENTRIES_MAX) {
        return gr_fail(GRANARY_EINVAL, "more than %d", ENTRIES_MAX);
    }
    submit->entries[submit->entry_count++] = (struct entry){map, text};
    return GRANARY_OK;
}

static granary_err
take_parameter(void *target, char *text)
{
    return take_entry(target, "params", text);
}

static granary_err
take_resource(void *target, char *text)
{
    return take_entry(target, "resources", text);
}

static granary_err
take_input(void *target, char *text)
{
    struct submit *submit = target;

    if (submit->input_count == INPUTS_MAX) {
        return gr_fail(GRANARY_EINVAL, "more than %d", INPUTS_MAX);
    }
    submit->inputs[submit->input_count++] = text;
    return GRANARY_OK;
}

static const struct gr_option submit_options[] = {
    {"arg", 0, "NAME=VALUE", "set a parameter of the function; may be given several times",
     GR_OPTION_TAKE(take_parameter)},
    {"input", 0, "ID|name:NAME|FILE",
     "add an input; a CSV file (.csv, .tsv) is read as one frame, the bytes of any other file are put into the store; "
     "may be given several times",
     GR_OPTION_TAKE(take_input)},
    {"outputs", 0, "N", "the call makes N objects; default: as the function declares",
     GR_OPTION_NUMBER(struct submit, outputs, 1, 1024)},
    {"count", 0, "N", "call it N times, each time with its index", GR_OPTION_NUMBER(struct submit, count, 1, 1 << 20)},
    {"block", 0, "N", "run N calls of the array one after the other, as one subtask",
     GR_OPTION_NUMBER(struct submit, block, 1, 1024)},
    {"retries", 0, "N", "try a failed call N times again", GR_OPTION_NUMBER(struct submit, retries, 0, 1000)},
    {"timeout", 0, "DURATION", "fail a call that works longer than this", GR_OPTION_MS(struct submit, timeout_ms)},
    {"memory", 0, "SIZE", "let a call use at most so much private memory", GR_OPTION_SIZE(struct submit, memory, 0)},
    {"resource", 0, "NAME=N", "let a call take N of a resource while it runs; may be given several times",
     GR_OPTION_TAKE(take_resource)},
    {"priority", 0, "N", "run this graph before those of a lower priority; default: 0",
     GR_OPTION_NUMBER(struct submit, graph_options.priority, -1000000, 1000000)},
    {"key", 0, "KEY", "give the graph this key; submitting the same key again returns the same graph",
     GR_OPTION_TEXT(struct submit, graph_options.key)},
    {"wait", 0, NULL, "wait for the end, and print the ids of the results", GR_OPTION_FLAG(struct submit, wait),
     .group = 1},
    {"output", 'o', "FILE", "wait, write the bytes of the results to FILE ('-': stdout), and delete the results",
     GR_OPTION_TEXT(struct submit, output), .group = 1},
    {"keep", 0, NULL, "with -o: leave the results in the store", GR_OPTION_FLAG(struct submit, keep), .group = 1},
    {0}};

/* What was given goes to the node. */
static void
set_node(struct submit *submit)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"outputs", submit->outputs}, {"count", submit->count},   {"block", submit->block},
                   {"retries", submit->retries}, {"memory", submit->memory}, {"timeout_ms", submit->timeout_ms}};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].value != NOT_GIVEN) {
            granary_node_set_int(submit->graph, submit->node, numbers[i].name, numbers[i].value);
        }
    }
    for (size_t i = 0; i < submit->entry_count; i++) {
        const struct entry *entry = &submit->entries[i];
        char *equals = strchr(entry->text, '=');

        *equals = '\0';
        granary_node_set_entry(submit->graph, submit->node, entry->map, entry->text, equals + 1);
    }
}

/* What an input names: an object that is there, else a file. */
static granary_err
find_input(granary_client *client, const char *text, granary_id *ret_id, bool *ret_is_ours)
{
    bool is_id = text[0] != '\0' && strspn(text, "0123456789abcdefABCDEF") == strlen(text);
    granary_err err = GRANARY_ENOENT;

    if (is_id || strncmp(text, "name:", 5) == 0) {
        err = gr_resolve_id(client, text, ret_id);
        if (err == GRANARY_OK || access(text, F_OK) != 0) {
            return err;
        }
    }
    err = put_path(client, text, ret_id);
    *ret_is_ours = err == GRANARY_OK;
    return err;
}

static void
delete_inputs(granary_client *client, const struct submit *submit)
{
    for (size_t i = 0; i < submit->input_count; i++) {
        if (submit->is_ours[i]) {
            (void)granary_object_delete(client, submit->ids[i], 0);
        }
    }
}

/* The format of a file that is text in columns, and their delimiter; NULL: its bytes are meant. */
static const struct gr_format *
table_format(const char *path, const char **ret_delimiter)
{
    const struct gr_format_ending *ending;
    const struct gr_format *format = access(path, F_OK) == 0 ? gr_format_of_path(path, &ending) : NULL;

    if (format == NULL || ending->delimiter == NULL || ending->is_vague) {
        return NULL;
    }
    *ret_delimiter = ending->delimiter;
    return format;
}

/* A node for each input, in order. Returns the exit status. */
static int
add_inputs(granary_client *client, struct submit *submit)
{
    for (size_t i = 0; i < submit->input_count; i++) {
        const char *delimiter = NULL;
        const struct gr_format *format = table_format(submit->inputs[i], &delimiter);
        char op[64] = "object";
        granary_node node;
        char text[GRANARY_ID_TEXT + 1];
        const char *id = text;

        if (format != NULL) {
            (void)snprintf(op, sizeof op, "read_%s", format->name);
        }
        node = granary_graph_add(submit->graph, NULL, op, NULL, 0);
        if (format != NULL) {
            granary_node_set_string(submit->graph, node, "path", submit->inputs[i]);
            granary_node_set_string(submit->graph, node, "delimiter", delimiter);
            submit->graph_options.chunk_bytes = INT64_MAX; /* one input, however large */
        } else {
            granary_err err = find_input(client, submit->inputs[i], &submit->ids[i], &submit->is_ours[i]);

            if (err != GRANARY_OK) {
                return cli_fail(err, "input %s", submit->inputs[i]);
            }
            granary_id_format(submit->ids[i], text);
            granary_node_set_strings(submit->graph, node, "ids", &id, 1);
        }
        granary_node_add_input(submit->graph, submit->node, node);
    }
    return 0;
}

/* ---- results ---- */

static void
print_ids(const struct submit *submit, const char *key, const granary_result *result)
{
    struct json json = {0};
    char id[GRANARY_ID_TEXT + 1];

    if (submit->cli->json) {
        json_open(&json, NULL, '{');
        json_text(&json, "graph", key);
        json_open(&json, "results", '[');
    }
    for (size_t i = 0; i < result->chunk_count; i++) {
        granary_id_format(result->chunks[i], id);
        if (submit->cli->json) {
            json_text(&json, NULL, id);
        } else {
            (void)puts(id);
        }
    }
    if (submit->cli->json) {
        json_close(&json);
        json_close(&json);
    }
}

static granary_err
write_results(granary_client *client, const char *path, const granary_result *result)
{
    bool to_stdout = strcmp(path, "-") == 0;
    int fd = to_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    granary_err err = fd < 0 ? gr_fail_errno("%s", path) : GRANARY_OK;
    char name[PATH_MAX];

    for (size_t i = 0; i < result->chunk_count && err == GRANARY_OK; i++) {
        granary_view view;

        err = granary_object_get(client, result->chunks[i], GRANARY_FOREVER, &view);
        if (err == GRANARY_OK) {
            err = gr_write_all(fd, view.data, view.data_size);
            err = err == GRANARY_OK ? err : gr_fail_in(err, "%s", to_stdout ? cli_stdout_name(name) : path);
            granary_object_release(client, &view);
        }
    }
    if (!to_stdout && fd >= 0) {
        gr_fd_close(&fd);
        if (err != GRANARY_OK) {
            cli_remove_half(path);
        }
    }
    return err;
}

/* Whether the graph ends with a command that is interrupted. One with a key of the user's does not: the same command
 * finds it again. */
static bool
forgets(const struct submit *submit)
{
    return submit->wait && submit->remains.pid > 0;
}

/* When the graph has ended. Returns the exit status. */
static int
tell_results(granary_client *client, const struct submit *submit, const char *key)
{
    granary_result result = {0};
    granary_err err = granary_graph_wait(client, key, GRANARY_FOREVER, NULL);
    int status = 0;

    if (err == GRANARY_OK) {
        err = granary_graph_result(client, key, NODE, &result);
    }
    if (err == GRANARY_OK && forgets(submit) && (submit->output == NULL || submit->keep)) {
        discard_keep(&submit->remains, key);
    }
    if (err == GRANARY_OK && submit->output != NULL) {
        err = write_results(client, submit->output, &result);
    } else if (err == GRANARY_OK) {
        print_ids(submit, key, &result);
    }
    if (err != GRANARY_OK) {
        status = cli_fail(err, "submit");
        status = status == 2 ? 1 : status; /* EINVAL said by the function: the call itself was accepted */
    }
    delete_inputs(client, submit);
    if (err != GRANARY_OK || (submit->output != NULL && !submit->keep)) {
        (void)granary_graph_delete(client, key);
    }
    granary_result_free(&result);
    return status;
}

static int
submit_graph(granary_client *client, struct submit *submit)
{
    char key[GRANARY_KEY_MAX];
    char id[GRANARY_ID_TEXT + 1];
    granary_err err;

    if (forgets(submit)) {
        granary_id_format(granary_id_random(), id);
        submit->graph_options.key = id;
        discard_submitting(&submit->remains, id, true);
    }
    err = granary_graph_submit(client, submit->graph, &submit->graph_options, key);
    if (err != GRANARY_OK) {
        delete_inputs(client, submit);
        return cli_fail(err, "submit");
    }
    if (forgets(submit)) {
        discard_submitted(&submit->remains, key);
    }
    if (submit->wait) {
        return tell_results(client, submit, key);
    }
    cli_print_value(submit->cli, "graph", key);
    for (size_t i = 0; i < submit->input_count; i++) {
        if (submit->is_ours[i]) {
            granary_id_format(submit->ids[i], id);
            (void)fprintf(stderr, "granary: submit: %s is object %s\n", submit->inputs[i], id);
        }
    }
    return 0;
}

/* The graph: one call. */
static int
prepare_submit(struct cli *cli)
{
    struct submit *submit = cli->self;

    submit->cli = cli;
    submit->graph = granary_graph_create();
    if (submit->graph == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    submit->node = granary_graph_add(submit->graph, NODE, "call", NULL, 0);
    granary_graph_target(submit->graph, submit->node);
    set_node(submit);
    granary_node_set_string(submit->graph, submit->node, "function", cli->arguments[0]);
    submit->wait = submit->wait || submit->output != NULL;
    return 0;
}

static int
run_submit(struct cli *cli)
{
    struct submit *submit = cli->self;
    int status;

    if (submit->wait && submit->graph_options.key == NULL) {
        discard_begin(
            cli,
            &(struct discard_options){.what = "submit", .only_interrupted = submit->output == NULL || submit->keep},
            &submit->remains);
    }
    status = cli_connect(cli);
    if (status == 0) {
        status = add_inputs(cli->client, submit);
        status = status == 0 ? submit_graph(cli->client, submit) : status;
    }
    cli_disconnect(cli);
    if (submit->remains.pid > 0) {
        discard_end(&submit->remains);
    }
    return status;
}

static void
end_submit(struct cli *cli)
{
    granary_graph_destroy(((struct submit *)cli->self)->graph);
}

const struct command command_submit = {.options = submit_options,
                                       COMMAND_SELF(struct submit, .remains = {.fd = -1}, .outputs = NOT_GIVEN,
                                                    .count = NOT_GIVEN, .block = NOT_GIVEN, .retries = NOT_GIVEN,
                                                    .memory = NOT_GIVEN, .timeout_ms = NOT_GIVEN),
                                       .prepare = prepare_submit,
                                       .run = run_submit,
                                       .end = end_submit};
