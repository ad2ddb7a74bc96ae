/* granary load: files become a table, a graph that is kept under its name. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/print/listing.h"
#include "cli/scheduler/scheduler.h"
#include "cli/work/files.h"
#include "cli/work/progress.h"
#include "cli/work/run/discard.h"
#include "client/resolve.h"
#include "data/file/paths/spool.h"
#include "granary/info.h"

#define TARGET      "table"
#define FILES_MAX   1024
#define DTYPES_MAX  16384
#define MESSAGE_MAX 1024

struct load {
    struct files files;
    bool replace;
    int64_t chunk_bytes;
    bool no_recall;
    char *rejects;            /* a file for the records that do not fit; NULL: they are errors */
    char *dtypes[DTYPES_MAX]; /* COLUMN=DTYPE */
    size_t dtype_count;
    struct file found[FILES_MAX];
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

/* Whether records of the file may not fit, and be left out. */
static bool
has_errors(const struct file *file)
{
    return strcmp(file->format->name, "csv") == 0;
}

static granary_node
add_file(granary_graph *graph, const struct load *load, const struct file *file, const char *name, const char *errors)
{
    granary_node node = files_add(&load->files, file, graph, name);

    if (errors != NULL && has_errors(file)) {
        granary_node_set_string(graph, node, "errors", errors);
    }

    for (size_t i = 0; i < load->dtype_count; i++) {
        char *equals = strrchr(load->dtypes[i], '=');

        *equals = '\0';
        files_set_dtype(file, graph, node, load->dtypes[i], equals + 1);
        *equals = '=';
    }
    return node;
}

/* One file, or several one below the other, with dictionaries that all chunks share. */
static void
add_files(granary_graph *graph, const struct load *load, int count)
{
    bool is_tensor = count == 1 && load->found[0].format->print_tensor != NULL;
    granary_node files[FILES_MAX];
    granary_node whole;

    for (int i = 0; i < count; i++) {
        files[i] =
            add_file(graph, load, &load->found[i], is_tensor ? TARGET : NULL, load->rejects == NULL ? NULL : "skip");
    }
    whole = count == 1 ? files[0] : granary_graph_add(graph, NULL, "concat", files, (size_t)count);
    granary_graph_target(graph, is_tensor ? files[0] : granary_graph_add(graph, TARGET, "encode", &whole, 1));
}

/* The records of all files that do not fit, into a file. It ends with the graph, whatever ends the command. */
static granary_err
write_rejects(granary_client *client, const struct load *load, int count)
{
    const granary_graph_options options = {.flags = GRANARY_GRAPH_OWNED};
    granary_graph *graph = granary_graph_create();
    granary_graph_status status = {0};
    granary_node lists[FILES_MAX];
    granary_node whole;
    size_t listed = 0;
    char key[GRANARY_KEY_MAX];
    char message[MESSAGE_MAX];
    granary_err err;

    if (graph == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (int i = 0; i < count; i++) {
        if (has_errors(&load->found[i])) {
            lists[listed++] = add_file(graph, load, &load->found[i], NULL, "list");
        }
    }
    whole = listed == 1 ? lists[0] : granary_graph_add(graph, NULL, "concat", lists, listed);
    whole = granary_graph_add(graph, "written", "write_csv", &whole, 1);
    granary_node_set_string(graph, whole, "path", load->rejects);
    granary_graph_target(graph, whole);
    err = granary_graph_submit(client, graph, &options, key);
    if (err == GRANARY_OK) {
        err = progress_wait(client, key, INT64_MAX, &status);
        (void)snprintf(message, sizeof message, "%s", granary_error_message());
        (void)granary_graph_delete(client, key);
        err = err == GRANARY_OK ? err : gr_fail(err, "%s", message);
    }
    granary_graph_destroy(graph);
    return err;
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
    granary_graph_options graph_options = {
        .key = key, .chunk_bytes = load->chunk_bytes, .flags = load->no_recall ? GRANARY_GRAPH_NO_RECALL : 0};
    granary_graph_status status = {0};
    granary_err err = name[0] != '\0' && strlen(name) < GRANARY_KEY_MAX
                          ? choose_key(client, load, name, key)
                          : gr_fail(GRANARY_EINVAL, "a name has 1 to %d bytes", GRANARY_KEY_MAX - 1);

    if (err == GRANARY_OK) {
        graph_options.flags |= strcmp(key, name) != 0 ? GRANARY_GRAPH_OWNED : 0; /* until it has the name */
        discard_submitting(remains, key, strcmp(key, name) != 0);
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

/* A pipe is read now. */
static granary_err
find_file(const struct files *files, const char *name, struct file *ret_file)
{
    const struct gr_format *format;
    granary_err err;

    if (!gr_spool_is_meant(name)) {
        return files_find(files, name, ret_file);
    }
    err = gr_spool(name, false, &ret_file->path, &format);
    if (err == GRANARY_OK && files->delimiter == NULL && gr_format_of_path(name, NULL) == NULL) {
        ret_file->format = format;
        ret_file->delimiter = gr_format_csv.endings[0].delimiter;
        return GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        const char *path = ret_file->path;

        err = files_find(files, name, ret_file);
        ret_file->path = path;
    }
    return err;
}

static int
check_load(struct cli *cli)
{
    struct load *load = cli->self;
    granary_err err = GRANARY_OK;
    bool has_csv = false;

    if (cli->count < 2) {
        (void)fprintf(stderr, "granary: load: no file behind the name '%s': granary load NAME FILE...\n",
                      cli->count == 0 ? "" : cli->arguments[0]);
        return 2;
    }
    if (cli->count > 1 + FILES_MAX) {
        return gr_fail(GRANARY_EINVAL, "more than %d files", FILES_MAX);
    }
    load->files.are_many = cli->count > 2;
    for (int i = 1; i < cli->count && err == GRANARY_OK; i++) {
        err = find_file(&load->files, cli->arguments[i], &load->found[i - 1]);
        has_csv = has_csv || (err == GRANARY_OK && has_errors(&load->found[i - 1]));
    }
    if (err == GRANARY_OK && load->rejects != NULL && !has_csv) {
        err = gr_fail(GRANARY_EINVAL, "--rejects: no file is CSV");
    }
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
    add_files(graph, load, cli->count - 1);
    (void)snprintf(what, sizeof what, "load %s", name);
    discard_begin(cli, &(struct discard_options){.what = what, .stays = load->replace ? name : NULL}, &remains);
    status = scheduler_storing.open(cli);
    if (status == 0) {
        err = gr_check_no_table(cli->client, name);
        err = err == GRANARY_OK && load->rejects != NULL ? write_rejects(cli->client, load, cli->count - 1) : err;
        err = err == GRANARY_OK ? load_table(cli->client, load, graph, name, &remains) : err;
        if (err == GRANARY_OK) {
            err = tell_table(cli, name);
            tell_notes(cli->client, name);
        }
        status = err == GRANARY_OK ? 0 : cli_fail(gr_spool_unname(err), "load %s", name);
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
    FILES_OPTIONS,
    {"rejects", 0, "FILE", "leave out records of CSV files that do not fit, and write them to this CSV file",
     GR_OPTION_TEXT(struct load, rejects)},
    {"chunk-bytes", 0, "SIZE", "aim at chunks of this size; default: automatic",
     GR_OPTION_SIZE(struct load, chunk_bytes, 0)},
    {"no-recall", 0, NULL, "read the files, also those that were read before", GR_OPTION_FLAG(struct load, no_recall)},
    {0}};

const struct command command_load = {
    .options = load_options, COMMAND_ZERO(struct load), .prepare = check_load, .counts = true, .run = run_load};
