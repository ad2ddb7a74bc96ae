/* Files, and stdin as one more, read by a graph and copied. */
#include "cli/mutable/incoming.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/memory/spare.h"
#include "cli/objects/read_whole.h"
#include "cli/scheduler/scheduler.h"
#include "cli/work/progress.h"
#include "data/file/sketch.h"
#include "data/frame.h"

#define TARGET      "rows"
#define FILES_MAX   1024
#define MESSAGE_MAX 1024
#define BLOCK       65536

/* ---- stdin ---- */

static bool
is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* What messages call what becomes a file. */
static const char *
spool_source(const struct incoming *incoming)
{
    return incoming->text != NULL ? "--set" : "stdin";
}

/* Its name is known before it is made, to the process that removes it. */
static void
spool_name(struct incoming *incoming)
{
    const char *directory = getenv("TMPDIR");
    char fresh[GRANARY_ID_TEXT + 1];

    granary_id_format(granary_id_random(), fresh);
    (void)snprintf(incoming->spool, sizeof incoming->spool, "%s/granary-stdin-%s.%s",
                   directory == NULL || directory[0] == '\0' ? "/tmp" : directory, fresh, incoming->format);
}

static granary_err
spool_create(struct incoming *incoming)
{
    incoming->spool_fd = open(incoming->spool, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return incoming->spool_fd < 0 ? gr_fail_errno("%s: %s is kept there", incoming->spool, spool_source(incoming))
                                  : GRANARY_OK;
}

static granary_err
spool_fill(const struct incoming *incoming)
{
    static char block[BLOCK];
    granary_err err = GRANARY_OK;
    const int fd = incoming->spool_fd;
    struct gr_spare spare;
    ssize_t size;

    if (incoming->text != NULL) {
        return gr_write_all(fd, incoming->text->bytes, incoming->text->size);
    }
    gr_spare_begin(fd, &spare);
    do {
        size = read(STDIN_FILENO, block, sizeof block);
        if (size < 0 && errno != EINTR) {
            return gr_fail_errno("stdin");
        }
        err = size > 0 ? gr_spare_write(&spare, fd, block, (size_t)size) : GRANARY_OK;
    } while (err == GRANARY_OK && size != 0);
    return err == GRANARY_OK ? err : gr_fail_in(err, "stdin");
}

static void
spool_remove(struct incoming *incoming)
{
    gr_fd_close(&incoming->spool_fd);
    if (incoming->spool[0] != '\0') {
        (void)unlink(incoming->spool);
    }
}

/* The name of stdin's file tells nobody anything. Returns err. */
static granary_err
spool_unname(const struct incoming *incoming, granary_err err)
{
    const char *message = granary_error_message();
    const char *at = err == GRANARY_OK || incoming->spool[0] == '\0' ? NULL : strstr(message, incoming->spool);
    const char *behind = at == NULL ? NULL : at + strlen(incoming->spool);
    char text[MESSAGE_MAX];

    if (at == NULL) {
        return err;
    }
    if (incoming->text != NULL) { /* its lines are nobody's */
        behind += strspn(behind, ":0123456789");
    }
    (void)snprintf(text, sizeof text, "%.*s%s%s%s", (int)(at - message), message, spool_source(incoming),
                   incoming->text != NULL ? ":" : "", behind);
    return gr_fail(err, "%s", text);
}

/* ---- the graph ---- */

/* A file whose columns are being told, and the node that reads it. */
struct columns {
    struct gr_sketch sketch;
    const struct incoming *incoming;
    const struct file *file;
    granary_graph *graph;
    granary_node node;
};

static granary_err
take_column(struct gr_sketch *sketch, const char *name)
{
    const struct columns *columns = (const struct columns *)sketch;
    const struct gr_schema *schema = &columns->incoming->schema;
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
graph_add_file(const struct incoming *incoming, granary_graph *graph, const char *path, granary_node *ret_node)
{
    struct file file;
    struct columns columns = {.sketch = {.column = take_column},
                              .incoming = incoming,
                              .file = &file,
                              .graph = graph,
                              .node = GRANARY_NO_NODE};
    bool varies;
    granary_err err = files_find(&incoming->files, is_stdin(path) ? incoming->spool : path, &file);

    err = err == GRANARY_OK ? check_rows(&file) : err;
    if (err == GRANARY_OK) {
        *ret_node = columns.node = files_add(&incoming->files, &file, graph, NULL);
        err = gr_format_sketch(file.format, file.path, file.delimiter, &columns.sketch, &varies);
    }
    return err;
}

static granary_err
graph_make(const struct incoming *incoming, granary_graph **ret_graph)
{
    granary_graph *graph = granary_graph_create();
    granary_node files[FILES_MAX];
    granary_err err = graph == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    for (int i = 0; err == GRANARY_OK && i < incoming->count; i++) {
        err = graph_add_file(incoming, graph, incoming->paths[i], &files[i]);
    }
    if (err == GRANARY_OK) {
        granary_graph_target(graph, granary_graph_add(graph, TARGET, "concat", files, (size_t)incoming->count));
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
graph_run(const struct incoming *incoming, granary_client *client, const granary_graph *graph,
          granary_frame **ret_frame)
{
    char key[GRANARY_KEY_MAX];
    const granary_graph_options options = {.key = key};
    granary_graph_status status = {0};
    char message[MESSAGE_MAX];
    granary_err err;

    granary_id_format(granary_id_random(), key);
    discard_submitting(&incoming->remains, key, true);
    err = granary_graph_submit(client, graph, &options, key);
    if (err != GRANARY_OK) {
        return err;
    }
    discard_submitted(&incoming->remains, key);
    err = progress_wait(client, key, INT64_MAX, &status);
    err = err == GRANARY_OK ? result_read(client, key, ret_frame) : err;
    (void)snprintf(message, sizeof message, "%s", granary_error_message());
    (void)granary_graph_delete(client, key);
    return err == GRANARY_OK ? err : gr_fail(err, "%s", message);
}

/* ---- as the table has them ---- */

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
rows_arrange(const struct incoming *incoming, bool all, granary_frame **ret_frame)
{
    const struct gr_schema *schema = &incoming->schema;
    const granary_frame *rows = incoming->rows;
    granary_frame *frame = gr_frame_create(all ? schema->count : rows->count, rows->rows);
    granary_err err = frame == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    size_t position = 0;

    for (size_t i = 0; err == GRANARY_OK && i < schema->count; i++) {
        if (all || gr_frame_find(rows, schema->fields[i].name) >= 0) {
            err = take_rows(rows, &schema->fields[i], position++, frame);
        }
    }
    return gr_frame_give(frame, err, ret_frame);
}

/* ---- the calls ---- */

granary_err
incoming_expect(struct incoming *incoming, const granary_frame *columns)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < columns->count; i++) {
        err = gr_schema_add(&incoming->schema, columns->columns[i].view.name, columns->columns[i].view.dtype);
    }
    return err;
}

granary_err
incoming_read(struct incoming *incoming, struct cli *cli, bool all, granary_frame **ret_frame)
{
    granary_graph *graph = NULL;
    granary_err err = incoming->spool[0] == '\0' ? GRANARY_OK : spool_fill(incoming);

    err = err == GRANARY_OK ? graph_make(incoming, &graph) : err;
    err = err == GRANARY_OK ? graph_run(incoming, cli->client, graph, &incoming->rows) : err;
    granary_graph_destroy(graph);
    err = spool_unname(incoming, err);
    spool_remove(incoming);
    discard_end(&incoming->remains);
    err = err == GRANARY_OK ? rows_arrange(incoming, all, ret_frame) : err;
    return err == GRANARY_OK ? err : gr_fail_in(err, "table '%s'", cli->arguments[0]);
}

granary_err
incoming_prepare(struct incoming *incoming, const struct cli *cli, const char *what, char *const *paths, int count,
                 const struct gr_buf *text)
{
    static char stdin_name[] = "-";
    static char *const only_stdin[] = {stdin_name};
    int stdins = 0;
    char told[160];

    incoming->text = text;
    incoming->paths = count > 0 ? paths : only_stdin;
    incoming->count = count > 0 ? count : 1;
    for (int i = 0; i < incoming->count; i++) {
        stdins += is_stdin(incoming->paths[i]);
    }
    if (incoming->files.delimiter != NULL && strlen(incoming->files.delimiter) != 1) {
        return gr_fail(GRANARY_EINVAL, "%s: --delimiter: '%s' is not one byte", what, incoming->files.delimiter);
    }
    if (stdins > 1) {
        return gr_fail(GRANARY_EINVAL, "%s: stdin can be read once: name '-' once", what);
    }
    if (incoming->count > FILES_MAX) {
        return gr_fail(GRANARY_EINVAL, "%s: more than %d files", what, FILES_MAX);
    }
    if (stdins > 0) {
        spool_name(incoming);
    }
    (void)snprintf(told, sizeof told, "%s %s", what, cli->arguments[0]);
    discard_begin(cli, &(struct discard_options){.what = told, .file = stdins == 0 ? NULL : incoming->spool},
                  &incoming->remains);
    return stdins == 0 ? GRANARY_OK : spool_create(incoming);
}

void
incoming_end(struct incoming *incoming)
{
    spool_remove(incoming);
    discard_end(&incoming->remains);
    gr_schema_free(&incoming->schema);
    gr_frame_destroy(incoming->rows);
}

/* What stdin is, as the ending of a name. */
granary_err
incoming_take_format(void *target, char *text)
{
    struct incoming *incoming = target;
    char path[32];
    struct file file;

    (void)snprintf(path, sizeof path, "stdin.%s", text);
    incoming->format = text;
    return strchr(text, '/') != NULL || strlen(text) > 16 ? gr_fail(GRANARY_EINVAL, "'%s' is no ending", text)
                                                          : files_find(&(struct files){.delimiter = NULL}, path, &file);
}
