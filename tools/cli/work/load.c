/* granary load: files become a table, a graph that is kept under its name. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/print/listing.h"
#include "cli/scheduler/scheduler.h"
#include "cli/work/discard.h"
#include "cli/work/progress.h"
#include "data/file/format.h"
#include "granary/graph.h"
#include "granary/info.h"
#include "graph/ops.h"

#define TARGET      "table"
#define FILES_MAX   1024
#define DTYPES_MAX  16384
#define NULLS_MAX   16
#define MESSAGE_MAX 1024

struct load {
    bool replace;
    const char *delimiter;
    int64_t chunk_bytes;
    const char *nulls[NULLS_MAX];
    size_t null_count;
    char *dtypes[DTYPES_MAX]; /* COLUMN=DTYPE */
    size_t dtype_count;
};

static granary_err
take_dtype(void *target, char *text)
{
    struct load *load = target;
    const char *equals = strrchr(text, '=');

    if (equals == NULL || equals == text || load->dtype_count == DTYPES_MAX) {
        return gr_fail(GRANARY_EINVAL, "'%s' is not COLUMN=DTYPE", text);
    }
    load->dtypes[load->dtype_count++] = text;
    return GRANARY_OK;
}

static granary_err
take_null(void *target, char *text)
{
    struct load *load = target;

    if (load->null_count == NULLS_MAX) {
        return gr_fail(GRANARY_EINVAL, "more than %d", NULLS_MAX);
    }
    load->nulls[load->null_count++] = text;
    return GRANARY_OK;
}

static bool
is_readable(const struct gr_format *format)
{
    return format->refusal == NULL;
}

static granary_err
check_formats(const struct load *load, char *const *paths, int count)
{
    struct gr_buf endings = {0};
    granary_err err = GRANARY_OK;

    gr_format_list(is_readable, true, &endings);
    for (int i = 0; i < count && err == GRANARY_OK; i++) {
        if (gr_format_of_path(paths[i], NULL) == NULL && load->delimiter == NULL) {
            err =
                gr_fail(GRANARY_EUNSUPPORTED,
                        "%s: its ending tells no format that can be read: %.*s; of text in columns --delimiter says so",
                        paths[i], (int)endings.size, endings.bytes);
        }
    }
    gr_buf_free(&endings);
    return err;
}

/* What is said of a file on the command line goes to those operators that have such a parameter. */
static void
set_options(granary_graph *graph, granary_node node, const char *op, const struct load *load, const char *delimiter)
{
    enum gr_tile_op found = (enum gr_tile_op)gr_op_find(op);

    if (gr_param_find(found, "delimiter") != NULL) {
        granary_node_set_string(graph, node, "delimiter", load->delimiter != NULL ? load->delimiter : delimiter);
    }
    if (load->null_count > 0 && gr_param_find(found, "null_values") != NULL) {
        granary_node_set_strings(graph, node, "null_values", load->nulls, load->null_count);
    }
    for (size_t i = 0; i < load->dtype_count && gr_param_find(found, "dtypes") != NULL; i++) {
        char *equals = strrchr(load->dtypes[i], '=');

        *equals = '\0';
        granary_node_set_entry(graph, node, "dtypes", load->dtypes[i], equals + 1);
        *equals = '=';
    }
}

static granary_node
add_file(granary_graph *graph, const struct load *load, const char *path, const char *name)
{
    const struct gr_format_ending *ending = NULL;
    const struct gr_format *format = gr_format_of_path(path, &ending);
    char op[64];
    granary_node node;

    (void)snprintf(op, sizeof op, "read_%s", format == NULL ? gr_format_csv.name : format->name);
    node = granary_graph_add(graph, name, op, NULL, 0);
    granary_node_set_string(graph, node, "path", path);
    set_options(graph, node, op, load, ending == NULL ? NULL : ending->delimiter);
    return node;
}

/* One file, or several one below the other, with dictionaries that all chunks share. */
static void
add_files(granary_graph *graph, const struct load *load, char *const *paths, int count)
{
    const struct gr_format *format = gr_format_of_path(paths[0], NULL);
    bool is_tensor = count == 1 && format != NULL && format->print_tensor != NULL;
    granary_node files[FILES_MAX];
    granary_node whole;

    for (int i = 0; i < count; i++) {
        files[i] = add_file(graph, load, paths[i], is_tensor ? TARGET : NULL);
    }
    whole = count == 1 ? files[0] : granary_graph_add(graph, NULL, "concat", files, (size_t)count);
    granary_graph_target(graph, is_tensor ? files[0] : granary_graph_add(graph, TARGET, "encode", &whole, 1));
}

/*
 * The key to load under: the table's name, or, when a table has it that is to be replaced, one that nobody else has. A
 * key that is known is the same graph to a submission; here it is a table that would stay as it was.
 */
static granary_err
choose_key(granary_client *client, const struct load *load, const char *name, char key[GRANARY_KEY_MAX])
{
    const granary_query query = {.subject = "graphs", .keys = &name, .key_count = 1, .ignore_missing = true};
    granary_table *table = NULL;
    granary_err err = granary_info(client, &query, &table);
    const char *state =
        err != GRANARY_OK || granary_table_rows(table) == 0 ? NULL : granary_table_text(table, 0, "state");

    (void)snprintf(key, GRANARY_KEY_MAX, "%s", name);
    if (state != NULL && strcmp(state, "deleting") == 0) {
        err = granary_graph_delete(client, name); /* waits until it is gone */
    } else if (state != NULL && load->replace) {
        granary_id_format(granary_id_random(), key);
    } else if (state != NULL) {
        err = gr_fail(GRANARY_EEXIST, "there is a table or graph of that name%s: --replace takes its place",
                      strcmp(state, "running") == 0 ? ", which is still being made" : "");
    }
    granary_table_free(table);
    return err;
}

/* What the scheduler found odd about the files: a single value can make a column a string. */
static void
tell_notes(granary_client *client, const char *name)
{
    static const char *const fields[] = {"message"};
    const granary_query query = {
        .subject = "graphs", .keys = &name, .key_count = 1, .fields = fields, .field_count = 1};
    granary_table *table = NULL;
    const char *note = "";

    if (granary_info(client, &query, &table) == GRANARY_OK && granary_table_rows(table) > 0) {
        note = granary_table_text(table, 0, "message");
    }
    for (size_t length; *note != '\0'; note += length + (note[length] == '\n')) {
        length = strcspn(note, "\n");
        cli_note("load %s: %.*s: --null TEXT makes such values null, --dtype COLUMN=DTYPE refuses them", name,
                 (int)length, note);
    }
    granary_table_free(table);
}

struct table {
    const char *name;
    int64_t rows;
    size_t chunks;
};

static const char *
table_sentence(const void *row, char buffer[SHOW_TEXT])
{
    const struct table *table = row;

    (void)snprintf(buffer, SHOW_TEXT, "%s: %" PRId64 " row%s in %zu chunk%s", table->name, table->rows,
                   cli_plural((uint64_t)table->rows), table->chunks, cli_plural(table->chunks));
    return buffer;
}

static const struct column table_columns[] = {{NULL, "", 0, .show = table_sentence},
                                              {"table", NULL, 0, COLUMN(struct table, name)},
                                              {"rows", NULL, 0, COLUMN(struct table, rows)},
                                              {"chunks", NULL, 0, COLUMN(struct table, chunks)},
                                              {0}};

static granary_err
tell_table(const struct cli *cli, const char *name)
{
    granary_result result = {0};
    struct table table = {.name = name};
    granary_err err = granary_graph_result(cli->client, name, TARGET, &result);

    if (err != GRANARY_OK) {
        return err;
    }
    table.chunks = result.chunk_count;
    for (size_t i = 0; i < result.chunk_count; i++) {
        table.rows += result.is_tensor ? 0 : result.chunk_rows[i];
    }
    if (result.is_tensor) {
        table.rows = result.dims > 0 ? result.shape[0] : 1;
    }
    listing_one(table_columns, cli->json, &table);
    granary_result_free(&result);
    return GRANARY_OK;
}

/* Load under a key, which is the name in the end: whoever reads the table meanwhile reads the old one. */
static granary_err
load_table(granary_client *client, const struct load *load, const granary_graph *graph, const char *name,
           const struct discard *remains)
{
    char key[GRANARY_KEY_MAX];
    granary_graph_options graph_options = {.key = key, .chunk_bytes = load->chunk_bytes};
    granary_graph_status status = {0};
    granary_err err = name[0] != '\0' && strlen(name) < GRANARY_KEY_MAX
                          ? choose_key(client, load, name, key)
                          : gr_fail(GRANARY_EINVAL, "a name has 1 to %d bytes", GRANARY_KEY_MAX - 1);

    if (err == GRANARY_OK) {
        discard_submitting(key);
        err = granary_graph_submit(client, graph, &graph_options, key);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    discard_submitted(remains, key);
    err = progress_wait(client, key, INT64_MAX, &status);
    if (err == GRANARY_OK && strcmp(key, name) != 0) {
        err = granary_graph_rename(client, key, name, true);
    }
    if (err == GRANARY_OK) {
        discard_keep(remains, name);
    } else { /* what failed is no table */
        char message[MESSAGE_MAX];

        (void)snprintf(message, sizeof message, "%s", granary_error_message());
        (void)granary_graph_delete(client, key);
        (void)gr_fail(err, "%s", message);
    }
    return err;
}

static int
check_load(struct cli *cli)
{
    granary_err err;

    if (cli->count < 2) {
        (void)fprintf(stderr, "granary: load: no file behind the name '%s': granary load NAME FILE...\n",
                      cli->count == 0 ? "" : cli->arguments[0]);
        return 2;
    }
    if (cli->count > 1 + FILES_MAX) {
        return gr_fail(GRANARY_EINVAL, "more than %d files", FILES_MAX);
    }
    err = check_formats(cli->self, cli->arguments + 1, cli->count - 1);
    return err == GRANARY_OK ? 0 : cli_fail(err, "load %s", cli->arguments[0]);
}

static int
run_load(struct cli *cli)
{
    const struct load *load = cli->self;
    const char *name = cli->arguments[0];
    granary_graph *graph = granary_graph_create();
    struct discard remains;
    char what[160];
    granary_err err;
    int status;

    if (graph == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    add_files(graph, load, cli->arguments + 1, cli->count - 1);
    (void)snprintf(what, sizeof what, "load %s", name);
    discard_begin(cli, &(struct discard_options){.what = what, .stays = load->replace ? name : NULL}, &remains);
    status = scheduler_storing.open(cli);
    if (status == 0) {
        err = load_table(cli->client, load, graph, name, &remains);
        if (err == GRANARY_OK) {
            err = tell_table(cli, name);
            tell_notes(cli->client, name);
        }
        status = err == GRANARY_OK ? 0 : cli_fail(err, "load %s", name);
    }
    discard_end(&remains);
    cli_disconnect(cli);
    granary_graph_destroy(graph);
    return status;
}

static const struct gr_option load_options[] = {
    {"replace", 0, NULL, "replace the table or graph that has the name now", GR_OPTION_FLAG(struct load, replace)},
    {"dtype", 0, "COLUMN=DTYPE", "read a column of CSV files as this dtype, instead of the detected one",
     GR_OPTION_TAKE(take_dtype)},
    {"delimiter", 0, "BYTE", "expect BYTE between the fields of CSV files; default: a comma, in .tsv files a tab",
     GR_OPTION_TEXT(struct load, delimiter)},
    {"null", 0, "TEXT", "take this text in CSV files for null, instead of '' and '\\N'; may be given several times",
     GR_OPTION_TAKE(take_null)},
    {"chunk-bytes", 0, "SIZE", "aim at chunks of this size; default: automatic",
     GR_OPTION_SIZE(struct load, chunk_bytes, 0)},
    {0}};

const struct command command_load = {
    .options = load_options, COMMAND_ZERO(struct load), .prepare = check_load, .counts = true, .run = run_load};
