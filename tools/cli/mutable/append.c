/*
 * granary table append: rows of files into a table, at one time.
 *
 * A graph reads the files, with the dtypes of the table; so all formats and their errors are those of `granary load`.
 * Its result is copied here, brought to the table's columns, and appended. Stdin becomes a file for that. Nothing of
 * graph and file is left, whatever ends the command (cli/work/discard.h), and it is gone before the rows are
 * committed: who is interrupted from then on has appended all rows or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/mutable/moment.h"
#include "cli/mutable/table.h"
#include "cli/objects/read_whole.h"
#include "cli/print/listing.h"
#include "cli/scheduler/scheduler.h"
#include "cli/work/discard.h"
#include "cli/work/files.h"
#include "cli/work/progress.h"
#include "data/frame.h"
#include "graph/schema.h"

#define TARGET      "rows"
#define FILES_MAX   1024
#define MESSAGE_MAX 1024
#define BLOCK       65536

struct append {
    struct files files;
    granary_write_options options;
    const char *format; /* the ending that stdin's file has */
    const char *name;
    granary_mutable *table;
    struct gr_schema schema; /* its columns */
    struct discard remains;
    char spool[PATH_MAX]; /* what stdin becomes; "": it is not read */
    int spool_fd;
};

/* ---- stdin ---- */

static bool
is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* Its name is known before it is made, to the process that removes it. */
static void
spool_name(struct append *append)
{
    const char *directory = getenv("TMPDIR");
    char fresh[GRANARY_ID_TEXT + 1];

    granary_id_format(granary_id_random(), fresh);
    (void)snprintf(append->spool, sizeof append->spool, "%s/granary-stdin-%s.%s",
                   directory == NULL || directory[0] == '\0' ? "/tmp" : directory, fresh, append->format);
}

static granary_err
spool_create(struct append *append)
{
    append->spool_fd = open(append->spool, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return append->spool_fd < 0 ? gr_fail_errno("%s: stdin is kept there", append->spool) : GRANARY_OK;
}

static granary_err
spool_fill(int fd)
{
    static char block[BLOCK];
    granary_err err = GRANARY_OK;
    ssize_t size;

    do {
        size = read(STDIN_FILENO, block, sizeof block);
        if (size < 0 && errno != EINTR) {
            return gr_fail_errno("stdin");
        }
        err = size > 0 ? gr_write_all(fd, block, (size_t)size) : GRANARY_OK;
    } while (err == GRANARY_OK && size != 0);
    return err == GRANARY_OK ? err : gr_fail_in(err, "stdin");
}

static void
spool_remove(struct append *append)
{
    gr_fd_close(&append->spool_fd);
    if (append->spool[0] != '\0') {
        (void)unlink(append->spool);
    }
}

/* The name of stdin's file tells nobody anything. Returns err. */
static granary_err
spool_unname(const struct append *append, granary_err err)
{
    const char *message = granary_error_message();
    const char *at = err == GRANARY_OK || append->spool[0] == '\0' ? NULL : strstr(message, append->spool);
    char text[MESSAGE_MAX];

    if (at != NULL) {
        (void)snprintf(text, sizeof text, "%.*sstdin%s", (int)(at - message), message, at + strlen(append->spool));
        return gr_fail(err, "%s", text);
    }
    return err;
}

/* ---- the graph ---- */

/* A file whose columns are being told, and the node that reads it. */
struct columns {
    struct gr_sketch sketch;
    const struct append *append;
    const struct file *file;
    granary_graph *graph;
    granary_node node;
};

static granary_err
take_column(struct gr_sketch *sketch, const char *name)
{
    const struct columns *columns = (const struct columns *)sketch;
    const struct gr_schema *schema = &columns->append->schema;
    int at = gr_schema_find(schema, name);

    if (at < 0) {
        return gr_fail_in(gr_schema_no_column(schema, name), "%s: its columns are not the table's",
                          columns->file->path);
    }
    files_set_dtype(columns->file, columns->graph, columns->node, name, granary_dtype_name(schema->fields[at].dtype));
    return GRANARY_OK;
}

static granary_err
check_rows(const struct file *file)
{
    if (file->format->refusal != NULL) {
        return gr_fail(GRANARY_EUNSUPPORTED, "%s: %s", file->path, file->format->refusal);
    }
    return file->format->sketch != NULL
               ? GRANARY_OK
               : gr_fail(GRANARY_ETYPE, "%s: is %s, which has no rows", file->path, file->format->what);
}

static granary_err
graph_add_file(const struct append *append, granary_graph *graph, const char *path, granary_node *ret_node)
{
    struct file file;
    struct columns columns = {
        .sketch = {.column = take_column}, .append = append, .file = &file, .graph = graph, .node = GRANARY_NO_NODE};
    granary_err err = files_find(&append->files, is_stdin(path) ? append->spool : path, &file);

    err = err == GRANARY_OK ? check_rows(&file) : err;
    if (err == GRANARY_OK) {
        *ret_node = columns.node = files_add(&append->files, &file, graph, NULL);
        err = file.format->sketch(file.path, file.delimiter, &columns.sketch);
    }
    return err;
}

static granary_err
graph_make(const struct append *append, char *const *paths, int count, granary_graph **ret_graph)
{
    granary_graph *graph = granary_graph_create();
    granary_node files[FILES_MAX];
    granary_err err = graph == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    for (int i = 0; err == GRANARY_OK && i < count; i++) {
        err = graph_add_file(append, graph, paths[i], &files[i]);
    }
    if (err == GRANARY_OK) {
        granary_graph_target(graph, granary_graph_add(graph, TARGET, "concat", files, (size_t)count));
    }
    *ret_graph = graph;
    return err;
}

/* ---- its rows ---- */

/* All of them, as a frame of our own. */
static granary_err
result_read(granary_client *client, const char *key, granary_frame **ret_frame)
{
    const granary_selection all = {.kind = GRANARY_SELECT_ALL};
    const granary_read_options options = {.timeout_ms = GRANARY_FOREVER};
    granary_result result = {0};
    struct pieces pieces = {.count = 0};
    granary_err err = granary_graph_result(client, key, TARGET, &result);

    err = err == GRANARY_OK ? pieces_of(&result, &all, &pieces) : err;
    err = err == GRANARY_OK ? pieces_read(client, &result, &pieces, &options, ret_frame) : err;
    pieces_free(&pieces);
    granary_result_free(&result);
    return err;
}

/* Run the graph and delete it. */
static granary_err
graph_run(const struct append *append, granary_client *client, const granary_graph *graph, granary_frame **ret_frame)
{
    char key[GRANARY_KEY_MAX];
    const granary_graph_options options = {.key = key};
    granary_graph_status status = {0};
    char message[MESSAGE_MAX];
    granary_err err;

    granary_id_format(granary_id_random(), key);
    discard_submitting(key);
    err = granary_graph_submit(client, graph, &options, key);
    if (err != GRANARY_OK) {
        return err;
    }
    discard_submitted(&append->remains, key);
    err = progress_wait(client, key, INT64_MAX, &status);
    err = err == GRANARY_OK ? result_read(client, key, ret_frame) : err;
    (void)snprintf(message, sizeof message, "%s", granary_error_message());
    (void)granary_graph_delete(client, key);
    return err == GRANARY_OK ? err : gr_fail(err, "%s", message);
}

static granary_err
read_files(struct append *append, struct cli *cli, granary_frame **ret_frame)
{
    static char stdin_name[] = "-";
    static char *const only_stdin[] = {stdin_name};
    const bool named = cli->count > 1;
    granary_graph *graph = NULL;
    granary_err err = append->spool[0] == '\0' ? GRANARY_OK : spool_fill(append->spool_fd);

    err = err == GRANARY_OK
              ? graph_make(append, named ? cli->arguments + 1 : only_stdin, named ? cli->count - 1 : 1, &graph)
              : err;
    err = err == GRANARY_OK ? graph_run(append, cli->client, graph, ret_frame) : err;
    granary_graph_destroy(graph);
    return spool_unname(append, err);
}

/* ---- into the table ---- */

/* A column of the table as the files have it; one that they do not have is null. */
static granary_err
take_rows(const granary_frame *rows, const struct gr_field *like, size_t position, granary_frame *frame)
{
    const granary_column none = {.dtype = GRANARY_NULLTYPE, .rows = rows->rows, .null_count = rows->rows};
    const granary_column *found = granary_frame_column_named(rows, like->name);
    const struct gr_run run = {.column = found == NULL ? &none : found, .rows = rows->rows};
    struct gr_column column;
    granary_err err;

    if (run.column->dtype == like->dtype) {
        return gr_frame_set_borrowed(frame, position, like->name, run.column);
    }
    if (run.column->dtype != GRANARY_NULLTYPE) {
        return gr_fail(GRANARY_ETYPE, "column '%s' is %s in the files, and %s in the table: convert it in the files",
                       like->name, granary_dtype_name(run.column->dtype), granary_dtype_name(like->dtype));
    }
    err = gr_column_concat(&run, 1, like->dtype, &column);
    if (err == GRANARY_OK) {
        gr_column_finish(&column);
        err = gr_frame_set(frame, position, like->name, &column);
    }
    return err;
}

static granary_err
arrange_columns(const struct gr_schema *schema, const granary_frame *rows, granary_frame **ret_frame)
{
    granary_frame *frame = gr_frame_create(schema->count, rows->rows);
    granary_err err = frame == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < schema->count; i++) {
        err = take_rows(rows, &schema->fields[i], i, frame);
    }
    return gr_frame_give(frame, err, ret_frame);
}

static granary_err
append_frame(const struct append *append, const granary_frame *frame, int64_t *ret_time)
{
    const bool given = append->options.time != GRANARY_NOW;
    granary_column *columns = calloc(frame->count, sizeof *columns);
    granary_err err = columns == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < frame->count; i++) {
        columns[i] = frame->columns[i].view;
    }
    if (err == GRANARY_OK) {
        err = granary_mutable_append(append->table, columns, frame->count, frame->rows, &append->options, ret_time);
    }
    free(columns);
    return err == GRANARY_ESTATE && given ? table_advise(err, "--forward moves it") : err;
}

/* ---- the command ---- */

struct appended {
    const char *table;
    int64_t time;
    int64_t rows;
};

static const struct column appended_columns[] = {{"table", NULL, 0, COLUMN(struct appended, table)},
                                                 {"time", "", 0, COLUMN(struct appended, time)},
                                                 {"rows", NULL, 0, COLUMN(struct appended, rows)},
                                                 {0}};

static granary_err
open_table(struct append *append, struct cli *cli)
{
    granary_err err = table_open(cli, append->name, &append->table);
    const granary_frame *columns = err == GRANARY_OK ? granary_mutable_schema(append->table) : NULL;

    if (err == GRANARY_OK && columns == NULL) {
        err = gr_fail(GRANARY_ETYPE, "table '%s': is a tensor, to which no rows can be appended", append->name);
    }
    for (size_t i = 0; err == GRANARY_OK && i < columns->count; i++) {
        err = gr_schema_add(&append->schema, columns->columns[i].view.name, columns->columns[i].view.dtype);
    }
    return err;
}

static int
run_append(struct cli *cli)
{
    struct append *append = cli->self;
    struct appended appended = {.table = append->name};
    granary_frame *rows = NULL, *frame = NULL;
    granary_err err = open_table(append, cli);

    if (err == GRANARY_OK) {
        err = read_files(append, cli, &rows);
        spool_remove(append);
        discard_end(&append->remains);
        err = err == GRANARY_OK ? arrange_columns(&append->schema, rows, &frame) : err;
        err = err == GRANARY_OK ? err : gr_fail_in(err, "table '%s'", append->name);
    }
    err = err == GRANARY_OK ? append_frame(append, frame, &appended.time) : err;
    if (err == GRANARY_OK) {
        appended.rows = frame->rows;
        listing_one(appended_columns, cli->json, &appended);
    }
    gr_frame_destroy(frame);
    gr_frame_destroy(rows);
    gr_schema_free(&append->schema);
    granary_mutable_close(append->table);
    return err;
}

static int
prepare_append(struct cli *cli)
{
    struct append *append = cli->self;
    int stdins = cli->count == 1;
    char what[160];

    for (int i = 1; i < cli->count; i++) {
        stdins += is_stdin(cli->arguments[i]);
    }
    if (append->files.delimiter != NULL && strlen(append->files.delimiter) != 1) {
        return gr_fail(GRANARY_EINVAL, "table append: --delimiter: '%s' is not one byte", append->files.delimiter);
    }
    if (stdins > 1 || cli->count > 1 + FILES_MAX) {
        return stdins > 1 ? gr_fail(GRANARY_EINVAL, "table append: stdin can be read once: name '-' once")
                          : gr_fail(GRANARY_EINVAL, "table append: more than %d files", FILES_MAX);
    }
    append->name = cli->arguments[0];
    if (stdins > 0) {
        spool_name(append);
    }
    (void)snprintf(what, sizeof what, "table append %s", append->name);
    discard_begin(cli, &(struct discard_options){.what = what, .file = stdins == 0 ? NULL : append->spool},
                  &append->remains);
    return stdins == 0 ? GRANARY_OK : spool_create(append);
}

static void
end_append(struct cli *cli)
{
    struct append *append = cli->self;

    spool_remove(append);
    discard_end(&append->remains);
}

static granary_err
take_time(void *target, char *text)
{
    int64_t *time = &((struct append *)target)->options.time;
    granary_err err = moment_parse(text, time);

    return err == GRANARY_OK && (*time == 0 || *time == GRANARY_NOW)
               ? gr_fail(GRANARY_EINVAL, "'%s' is no time of a write: without --time it is the clock's", text)
               : err;
}

/* What stdin is, as the ending of a name. */
static granary_err
take_format(void *target, char *text)
{
    struct append *append = target;
    char path[32];
    struct file file;

    (void)snprintf(path, sizeof path, "stdin.%s", text);
    append->format = text;
    return strchr(text, '/') != NULL || strlen(text) > 16 ? gr_fail(GRANARY_EINVAL, "'%s' is no ending", text)
                                                          : files_find(&(struct files){.delimiter = NULL}, path, &file);
}

static const struct gr_option append_options[] = {
    {"time", 0, "TIME", "write at this time: nanoseconds since 1970, or a timestamp in UTC; default: the clock's",
     GR_OPTION_TAKE(take_time)},
    {"forward", 0, NULL, "when that time is final already, write at the next one that is not",
     GR_OPTION_FLAG(struct append, options.forward)},
    {"format", 0, "ENDING", "read stdin as a file with this ending: csv, tsv, ndjson, arrow; default: csv",
     GR_OPTION_TAKE(take_format)},
    FILES_OPTIONS,
    {"timeout", 0, "DURATION", "wait this long for room when memory is full; default: 30 s",
     GR_OPTION_MS(struct append, options.timeout_ms)},
    {0}};

const struct command table_append = {.options = append_options,
                                     .access = &scheduler_session,
                                     COMMAND_SELF(struct append, .options = {.time = GRANARY_NOW}, .format = "csv",
                                                  .remains = {.fd = -1}, .spool_fd = -1),
                                     .plain = true,
                                     .prepare = prepare_append,
                                     .run = run_append,
                                     .end = end_append};
