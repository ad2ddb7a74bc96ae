/* granary read: parts of chunks, printed or as bytes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command/arguments.h"
#include "cli/objects/read_elements.h"
#include "cli/objects/read_whole.h"
#include "cli/objects/slice.h"
#include "cli/print/output.h"
#include "data/print/print.h"

#define REPLACED_MAX 100 /* times a table is looked up again that was replaced while it was read */

struct read {
    struct cli *cli;
    granary_selection select;
    granary_read_options options;
    const char *output; /* file; NULL: stdout */
    const char *mode;   /* --mode, or NULL */
    const struct gr_format *format;
    bool csv;
    char *columns; /* names with commas between */
    char *accept;
    struct gr_buf collected; /* for the file: all that is read, one behind the other */
    size_t printed;
};

/* ---- options ---- */

static granary_err
select_once(granary_selection *select, granary_selection_kind kind)
{
    bool first = select->kind == GRANARY_SELECT_ALL;

    select->kind = kind;
    return first ? GRANARY_OK : gr_fail(GRANARY_EINVAL, "--rows, --index or --bytes: one of them");
}

/* A slice, or positions with commas between. */
static granary_err
take_rows(void *target, char *arg)
{
    granary_selection *select = &((struct read *)target)->select;
    const char *text = arg;
    bool several = strchr(text, ',') != NULL;
    granary_err err = select_once(select, several ? GRANARY_SELECT_INDICES : GRANARY_SELECT_ROWS);
    int64_t *indices = several ? calloc(strlen(text), sizeof *indices) : NULL;

    if (err == GRANARY_OK && !several) {
        return slice_parse(&text, false, &select->rows);
    }
    select->indices = indices;
    while (err == GRANARY_OK && indices != NULL) {
        granary_slice row;

        err = slice_parse(&text, false, &row);
        if (err == GRANARY_OK && row.step != 0) {
            err = gr_fail(GRANARY_EINVAL, "positions or one slice, not both");
        }
        indices[select->index_count++] = row.start;
        if (*text++ == '\0') {
            break;
        }
    }
    return err;
}

static granary_err
take_index(void *target, char *arg)
{
    granary_selection *select = &((struct read *)target)->select;
    const char *text = arg;
    granary_err err = select_once(select, GRANARY_SELECT_ELEMENTS);

    while (err == GRANARY_OK) {
        if (select->dim_count == (int)(sizeof select->dims / sizeof select->dims[0])) {
            return gr_fail(GRANARY_EINVAL, "at most %d dimensions", select->dim_count);
        }
        err = slice_parse(&text, false, &select->dims[select->dim_count++]);
        if (*text++ == '\0') {
            break;
        }
    }
    return err;
}

static granary_err
take_bytes(void *target, char *arg)
{
    granary_selection *select = &((struct read *)target)->select;
    const char *text = arg;
    granary_err err = select_once(select, GRANARY_SELECT_BYTES);

    return err == GRANARY_OK ? slice_parse(&text, true, &select->rows) : err;
}

/* ---- printing ---- */

/* What a chunk has, in the format that is wanted. */
static granary_err
append_chunk(const granary_chunk *chunk, const struct gr_format *format, struct gr_buf *out)
{
    if (chunk->data != NULL) {
        gr_buf_add(out, chunk->data, chunk->data_size);
        return GRANARY_OK;
    }
    return chunk->kind == GRANARY_CHUNK_FRAME ? output_add_frame(chunk->frame, format, out)
                                              : output_add_tensor(&chunk->tensor, format, out);
}

/* {"id": .., "kind": .., "value": ..}; bytes are not for JSON: their number. */
static granary_err
append_json(const granary_chunk *chunk, struct gr_buf *out)
{
    static const char *const kinds[] = {"bytes", "frame", "tensor"};
    char id[GRANARY_ID_TEXT + 1];
    granary_err err = GRANARY_OK;

    granary_id_format(chunk->id, id);
    gr_buf_addf(out, "{\"id\": \"%s\", \"kind\": \"%s\", ", id, kinds[chunk->kind - 1]);
    if (chunk->data != NULL) {
        gr_buf_addf(out,
                    "\"codec\": \"%s\", \"bytes\": %" PRIu64 ", \"raw_bytes\": %" PRIu64 ", \"xxh3_64\": \"%016" PRIx64
                    "\"",
                    chunk->codec, chunk->data_size, chunk->raw_size, chunk->checksum);
    } else {
        gr_buf_addf(out, "\"value\": ");
        err = append_chunk(chunk, &output_json, out);
        if (out->size > 0 && out->bytes[out->size - 1] == '\n') {
            out->size--;
        }
    }
    gr_buf_addf(out, "}\n");
    return err;
}

/* What was made of something that was read goes to stdout, or is kept for the file. */
static int
put_out(struct read *read, granary_err err, const struct gr_buf *out, const char *name)
{
    int status = 0;

    if (err == GRANARY_OK && read->output != NULL) {
        gr_buf_add(&read->collected, out->bytes, out->size);
        read->printed++;
    }
    if (err == GRANARY_OK && (!gr_buf_ok(out) || !gr_buf_ok(&read->collected))) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory for the output");
    }
    if (err != GRANARY_OK) {
        status = cli_fail(err, "read %s", name);
    } else if (read->output == NULL) {
        status = cli_write_file("-", out->bytes, out->size);
    }
    return status;
}

/* All that was read is one file. */
static int
write_output(const struct read *read)
{
    bool single = read->options.as_file || !read->format->is_text;

    if (single && read->printed > 1) {
        return cli_fail(gr_fail(GRANARY_EINVAL, "%zu chunks are not one file of that format: name one", read->printed),
                        "read: -o %s", read->output);
    }
    return cli_write_file(read->output, read->collected.bytes, read->collected.size);
}

static int
print_chunk(struct read *read, const granary_chunk *chunk, const char *name)
{
    bool json = read->output == NULL && read->cli->json;
    struct gr_buf out = {0};
    granary_err err;
    int status;

    if (read->output == NULL && !json && chunk->data != NULL && isatty(STDOUT_FILENO)) {
        (void)fprintf(stderr, "granary: read: bytes are not for a terminal: redirect them, or use -o FILE\n");
        return 2;
    }
    err = json ? append_json(chunk, &out) : append_chunk(chunk, read->format, &out);
    status = put_out(read, err, &out, name);
    if (status == 0 && chunk->data != NULL && chunk->codec[0] != 'n') {
        (void)fprintf(stderr,
                      "granary: read: %s: %" PRIu64 " bytes, %" PRIu64 " when unpacked, XXH3-64 %016" PRIx64 "\n",
                      chunk->codec, chunk->data_size, chunk->raw_size, chunk->checksum);
    }
    gr_buf_free(&out);
    return status;
}

/* ---- which chunks ---- */

static int
read_request(struct read *read, granary_client *client, const granary_chunk_request *request, const char *name)
{
    granary_chunk chunk;
    granary_err err = granary_chunk_read_many(client, request, 1, &read->options, &chunk);
    int status;

    status = err == GRANARY_OK ? print_chunk(read, &chunk, name) : cli_fail(err, "read %s", name);
    granary_chunk_release(client, &chunk, 1);
    return status;
}

/* Where a target lies, which is waited for. */
static granary_err
find_result(const struct read *read, granary_client *client, const char *key, const char *target,
            granary_result *ret_result)
{
    granary_err err = granary_graph_wait(client, key, read->options.timeout_ms, NULL);

    if (err != GRANARY_ETIMEDOUT) { /* one that went on without what had failed has results, too */
        err = granary_graph_result(client, key, target, ret_result);
    }
    if (err == GRANARY_ESTATE) { /* it has ended without: with its own error */
        err = granary_graph_wait(client, key, 0, NULL);
    }
    return err;
}

/*
 * A table is read, or a tensor printed, as one, unless its chunks are asked for as such: as bytes, or with --json.
 * Elements are of the whole tensor however they are asked for.
 */
static bool
is_read_whole(const struct read *read, const granary_result *result)
{
    bool all = read->select.kind == GRANARY_SELECT_ALL && read->select.columns == NULL;

    if (is_grid(result) && read->select.kind == GRANARY_SELECT_ELEMENTS) {
        return result->complete && read->accept == NULL;
    }
    return result->complete && read->accept == NULL && !read->options.as_file &&
           (read->output != NULL || !read->cli->json) &&
           (is_table(result) ? read->select.kind != GRANARY_SELECT_BYTES && read->select.kind != GRANARY_SELECT_ELEMENTS
                             : result->is_tensor && all);
}

static granary_err
append_elements(const struct read *read, granary_client *client, const granary_result *result, struct gr_buf *out)
{
    bool json = read->output == NULL && read->cli->json;
    const struct gr_format *format = json ? &output_json : read->options.as_file ? &gr_format_npy : read->format;
    const granary_read_options options = {.timeout_ms = read->options.timeout_ms};
    struct gr_tensor tensor = {.owned = NULL};
    granary_err err = elements_read(client, result, &read->select, &options, &tensor);

    if (err == GRANARY_OK) {
        err = output_add_tensor(&tensor.view, format, out);
    }
    gr_tensor_free(&tensor);
    return err;
}

static granary_err
append_whole(const struct read *read, granary_client *client, const granary_chunk_request *request,
             const granary_result *result, const struct pieces *pieces, struct gr_buf *out)
{
    granary_frame *frame = NULL;
    granary_err err;

    if (read->select.kind == GRANARY_SELECT_ELEMENTS) {
        return append_elements(read, client, result, out);
    }
    if (read->select.kind == GRANARY_SELECT_ALL && read->select.columns == NULL &&
        (result->is_tensor || read->format == &output_table ||
         read->format == &output_box)) { /* of a long table the ends alone are mapped */
        return output_result(client, request->graph, request->target, read->format, out);
    }
    err = pieces_read(client, result, pieces, &read->options, &frame);
    if (err == GRANARY_OK) {
        err = output_add_frame(frame, read->format, out);
    }
    gr_frame_destroy(frame);
    return err;
}

/* Whether a chunk is not there any more, and which. */
static bool
find_gone(granary_client *client, const granary_result *result, uint64_t *ret_chunk)
{
    uint64_t chunk = 0;

    while (chunk < result->chunk_count && granary_object_contains(client, result->chunks[chunk])) {
        chunk++;
    }
    *ret_chunk = chunk;
    return chunk < result->chunk_count;
}

/* All of a target. *ret_gone: a chunk was not there any more, and nothing is printed yet. */
static int
read_result(struct read *read, granary_client *client, const granary_chunk_request *request,
            const granary_result *result, bool retry, bool *ret_gone)
{
    struct pieces pieces = {.count = 0};
    struct gr_buf out = {0};
    granary_chunk_request one = *request;
    int status = 0;
    bool gone = false;
    bool whole = is_read_whole(read, result);
    bool elements = whole && read->select.kind == GRANARY_SELECT_ELEMENTS;
    granary_err err = elements ? GRANARY_OK : pieces_of(result, &read->select, &pieces);

    *ret_gone = false;
    if (err != GRANARY_OK) {
        return cli_fail(err, "read %s/%s", request->graph, request->target);
    }
    if (whole) {
        err = append_whole(read, client, request, result, &pieces, &out);
        gone = err != GRANARY_OK && find_gone(client, result, &one.chunk);
        *ret_gone = retry && gone;
        if (gone && !retry) { /* its graph says that it is there: the library tells what that means */
            status = read_request(read, client, &one, request->graph);
        } else if (!gone) {
            status = put_out(read, err, &out, request->graph);
        }
    }
    for (size_t i = 0; !whole && i < pieces.count && status == 0; i++) {
        one.chunk = pieces.pieces[i].chunk;
        one.select = pieces.pieces[i].select;
        status = read_request(read, client, &one, request->graph);
    }
    gr_buf_free(&out);
    pieces_free(&pieces);
    return status;
}

/* KEY/TARGET: all of it, or rows of all of it; a table that is replaced meanwhile is read again. */
static int
read_whole_target(struct read *read, granary_client *client, const granary_chunk_request *request)
{
    bool gone = true;
    int status = 0;

    for (int tries = REPLACED_MAX; gone; tries--) {
        granary_result result = {0};
        granary_err err = find_result(read, client, request->graph, request->target, &result);

        gone = false;
        status = err == GRANARY_OK ? read_result(read, client, request, &result, tries > 0, &gone)
                                   : cli_fail(err, "read %s/%s", request->graph, request->target);
        granary_result_free(&result);
    }
    return status;
}

/* KEY/TARGET, or KEY/TARGET[N]: one chunk. */
static int
read_target(struct read *read, granary_client *client, char *text)
{
    char *target = strrchr(text, '/');
    char *bracket = strchr(target, '[');
    granary_chunk_request request = {.graph = text, .target = target + 1, .select = read->select};
    char *rest;

    if (bracket != NULL) {
        request.chunk = strtoull(bracket + 1, &rest, 10);
        if (rest == bracket + 1 || strcmp(rest, "]") != 0) {
            (void)fprintf(stderr, "granary: read: %s: GRAPH/TARGET[NUMBER] is expected\n", text);
            return 2;
        }
        *bracket = '\0';
    }
    *target = '\0';
    return bracket != NULL ? read_request(read, client, &request, text) : read_whole_target(read, client, &request);
}

static int
read_all(struct read *read, granary_client *client, char **names, int count)
{
    int status = 0;

    for (int i = 0; i < count; i++) {
        granary_chunk_request request = {.select = read->select};
        int one;

        if (strncmp(names[i], "name:", 5) != 0 && strchr(names[i], '/') != NULL) {
            one = read_target(read, client, names[i]);
        } else {
            /* A whole id may be of an object that is not there yet. */
            bool whole = granary_id_parse(names[i], strlen(names[i]), &request.id) == GRANARY_OK;

            one = whole ? 0 : cli_find(client, names[i], &request.id);
            one = one == 0 ? read_request(read, client, &request, names[i]) : one;
        }
        status = status == 0 ? one : status;
    }
    return status;
}

static int
prepare_read(struct cli *cli)
{
    struct read *read = cli->self;
    const char **names;
    granary_err err = arguments_names(read->columns, &names, &read->select.column_count);

    read->cli = cli;
    read->select.columns = names;
    if (err == GRANARY_OK) {
        err = arguments_names(read->accept, &names, &read->options.accept_count);
        read->options.accept = names;
    }
    read->format = read->csv ? &gr_format_csv : &output_table;
    if (err == GRANARY_OK && read->mode != NULL && (read->csv || cli->json || read->output != NULL)) {
        err = gr_fail(GRANARY_EINVAL, "--mode, --csv, --json and -o: name one of them");
    }
    err = err == GRANARY_OK ? output_take_mode(read->mode, &read->format) : err;
    read->options.checksum = read->accept != NULL || cli->json;
    if (err == GRANARY_OK && read->output != NULL && read->accept == NULL &&
        output_format_of(read->output, &read->format) != GRANARY_OK) {
        read->options.as_file = true; /* an ending that says nothing: the bytes of an Arrow or NPY file */
    }
    return err;
}

static int
run_read(struct cli *cli)
{
    struct read *read = cli->self;
    int status = read_all(read, cli->client, cli->arguments, cli->count);

    return status == 0 && read->output != NULL ? write_output(read) : status;
}

static void
end_read(struct cli *cli)
{
    struct read *read = cli->self;

    gr_buf_free(&read->collected);
    free((void *)(uintptr_t)read->select.columns);
    free((void *)(uintptr_t)read->select.indices);
    free((void *)(uintptr_t)read->options.accept);
}

static const struct gr_option read_options[] = {
    {"rows", 0, "FROM:TO:STEP", "print these rows of a frame: a slice, or positions, as in 3,-1,7",
     GR_OPTION_TAKE(take_rows)},
    {"index", 0, "SLICE,...",
     "print these elements of a tensor, with a slice for each dimension, as in NumPy: 0:5,::2,-1",
     GR_OPTION_TAKE(take_index)},
    {"bytes", 0, "FROM:TO", "print these bytes of an object; K, M, G, T are powers of 1024",
     GR_OPTION_TAKE(take_bytes)},
    {"cols", 0, "NAME,...", "print these columns of a frame", GR_OPTION_TEXT(struct read, columns)},
    {"accept", 0, "CODEC,...", "accept bytes in these codings, the best first: none, lz4",
     GR_OPTION_TEXT(struct read, accept)},
    {"timeout", 0, "DURATION", "wait this long for what is not there yet; default: 0",
     GR_OPTION_MS(struct read, options.timeout_ms)},
    {"csv", 0, NULL, "print frames as CSV", GR_OPTION_FLAG(struct read, csv)},
    {"mode", 0, "MODE", OUTPUT_MODE_HELP, GR_OPTION_TEXT(struct read, mode)},
    {"output", 'o', "FILE", output_help, GR_OPTION_TEXT(struct read, output)},
    {0}};

const struct command command_read = {.options = read_options,
                                     .access = &access_session,
                                     COMMAND_ZERO(struct read),
                                     .prepare = prepare_read,
                                     .run = run_read,
                                     .end = end_read};
