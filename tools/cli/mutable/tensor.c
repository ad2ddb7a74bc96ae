/* granary tensor create, write, put, read; and the list of what else `granary tensor` has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/mutable/durable.h"
#include "cli/mutable/elements.h"
#include "cli/mutable/reading.h"
#include "cli/mutable/table.h"
#include "cli/mutable/writing.h"
#include "cli/objects/slice.h"
#include "cli/print/listing.h"
#include "client/resolve.h"
#include "graph/schema.h"
#include "mutable/tensor/shape.h"

static granary_err
tensor_open(struct cli *cli, granary_mutable **ret_tensor)
{
    granary_err err = granary_mutable_open(cli->client, cli->arguments[0], ret_tensor);

    return err == GRANARY_ENOENT
               ? gr_fail(err, "tensor '%s': there is none of that name: `granary tensor create` makes it",
                         cli->arguments[0])
               : err;
}

/* ---- create ---- */

struct create {
    granary_mutable_tensor tensor;
    granary_mutable_options options;
    bool shaped;
    int chunk_dims;
};

/* "1000x1000"; "": no dimension. */
static granary_err
parse_extents(const char *text, int64_t extents[8], int *ret_dims)
{
    const char *at = text;
    granary_err err = GRANARY_OK;

    *ret_dims = 0;
    while (err == GRANARY_OK && *at != '\0') {
        const bool fits = *ret_dims < 8;
        int64_t extent;

        err = slice_number(&at, &extent);
        if (err == GRANARY_OK &&
            (!fits || extent == GRANARY_OMITTED || (*at != '\0' && *at != 'x') || (*at == 'x' && at[1] == '\0'))) {
            err = gr_fail(GRANARY_EINVAL, "'%s' is no shape of at most 8 dimensions, as 1000x1000", text);
        }
        if (err == GRANARY_OK) {
            extents[(*ret_dims)++] = extent;
        }
        at += *at == 'x';
    }
    return err;
}

static granary_err
take_shape(void *target, char *text)
{
    struct create *create = target;

    create->shaped = true;
    return parse_extents(text, create->tensor.shape, &create->tensor.dims);
}

static granary_err
take_chunk(void *target, char *text)
{
    struct create *create = target;

    return parse_extents(text, create->tensor.chunk, &create->chunk_dims);
}

static granary_err
take_dtype(void *target, char *text)
{
    return gr_csv_dtype_parse(text, &((struct create *)target)->tensor.dtype)
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "there is no dtype '%s'; tensors are of bool, integers, float32 or float64",
                         text);
}

static int
check_create(struct cli *cli)
{
    const struct create *create = cli->self;
    granary_err err = GRANARY_OK;

    if (!create->shaped) {
        err = gr_fail(GRANARY_EINVAL, "--shape is missing, as in --shape 1000x1000");
    } else if (create->chunk_dims != 0 && create->chunk_dims != create->tensor.dims) {
        err = gr_fail(GRANARY_EINVAL, "--chunk has %d dimensions, and --shape %d", create->chunk_dims,
                      create->tensor.dims);
    }
    return err == GRANARY_OK ? 0 : cli_fail(err, "tensor '%s'", cli->arguments[0]);
}

static int
run_create(struct cli *cli)
{
    const struct create *create = cli->self;
    granary_mutable *tensor = NULL;
    granary_err err = gr_check_no_graph(cli->client, cli->arguments[0]);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_mutable_create_tensor(cli->client, cli->arguments[0], &create->tensor, &create->options, &tensor);
    granary_mutable_close(tensor);
    if (err == GRANARY_EEXIST) {
        err = gr_fail(err, "tensor '%s': the name is taken: choose another, or open the tensor with --if-not-exists",
                      cli->arguments[0]);
    }
    return err;
}

static const struct gr_option create_options[] = {
    {"shape", 0, "NxM", "its extents, one for each dimension", GR_OPTION_TAKE(take_shape)},
    {"dtype", 0, "DTYPE", "bool, an integer's, float32 or float64; default: float64", GR_OPTION_TAKE(take_dtype)},
    {"fill", 0, "VALUE", "the value of what was never written; default: 0", GR_OPTION_TEXT(struct create, tensor.fill)},
    {"chunk", 0, "NxM", "extents of a chunk; default: chosen", GR_OPTION_TAKE(take_chunk)},
    {"durable", 0, "WHEN", DURABLE_HELP, GR_OPTION_TAKE_INTO(struct create, options, durable_take)},
    {"if-not-exists", 0, NULL, "succeed when the same tensor exists",
     GR_OPTION_SET(struct create, options.flags, GRANARY_MUTABLE_OPEN)},
    {0}};

static const struct command tensor_create = {.options = create_options,
                                             .access = &access_storing,
                                             COMMAND_SELF(struct create, .tensor = {.dtype = GRANARY_FLOAT64}),
                                             .plain = true,
                                             .prepare = check_create,
                                             .run = run_create};

/* ---- write, put ---- */

struct writing {
    granary_write_options options;
};

struct written {
    int64_t time;
};

static granary_err
print_written(const struct cli *cli, granary_err err, int64_t time)
{
    static const struct column columns[] = {{"time", "", 0, COLUMN(struct written, time)}, {0}};
    const struct written written = {.time = time};

    if (err == GRANARY_OK) {
        listing_one(columns, cli->json, &written);
    }
    return err;
}

/* A value as text is read as a tensor's fill is: as one of its dtype. */
static granary_err
parse_value(const granary_mutable *tensor, const char *text, struct tensor_shape *ret_scalar,
            granary_tensor *ret_values)
{
    granary_mutable_tensor like;
    granary_err err = granary_mutable_shape(tensor, &like);

    if (err != GRANARY_OK) {
        return err;
    }
    like = (granary_mutable_tensor){.dtype = like.dtype, .fill = text};
    if (shape_plan(&like, ret_scalar) != GRANARY_OK) {
        return gr_fail(GRANARY_EINVAL, "'%s' is no value of %s, and no FILE.npy", text, granary_dtype_name(like.dtype));
    }
    *ret_values = (granary_tensor){.dtype = like.dtype, .values = ret_scalar->fill};
    return GRANARY_OK;
}

static bool
is_file(const char *text)
{
    const size_t length = strlen(text);

    return strcmp(text, "-") == 0 || (length > 4 && strcmp(text + length - 4, ".npy") == 0);
}

static int
run_write(struct cli *cli)
{
    const struct writing *writing = cli->self;
    const char *text = cli->arguments[2];
    granary_mutable *tensor = NULL;
    struct elements index;
    struct tensor_shape scalar;
    granary_tensor values;
    char *bytes = NULL;
    int64_t time = 0;
    granary_err err = elements_parse(cli->arguments[1], &index);

    err = err == GRANARY_OK ? tensor_open(cli, &tensor) : err;
    if (err == GRANARY_OK) {
        err = is_file(text) ? elements_npy(text, &bytes, &values) : parse_value(tensor, text, &scalar, &values);
    }
    if (err == GRANARY_OK) {
        err = writing_told(&writing->options, granary_mutable_write(tensor, index.indexes, index.count, &values,
                                                                    &writing->options, &time));
    }
    free(bytes);
    elements_free(&index);
    granary_mutable_close(tensor);
    return print_written(cli, err, time);
}

static const struct gr_option write_options[] = {WRITING_OPTIONS(struct writing, options), {0}};

static const struct command tensor_write = {.options = write_options,
                                            .access = &access_session,
                                            COMMAND_ZERO(struct writing),
                                            .numbers = true,
                                            .plain = true,
                                            .run = run_write};

/* Objects by the words that the command line has for them, as chunks that follow one another. */
static int
find_chunks(const struct cli *cli, uint64_t *chunks, granary_id *ids, size_t count)
{
    int64_t first = 0;
    int status = (int)gr_option_number(cli->arguments[1], 0, INT64_MAX, &first);

    for (size_t i = 0; status == 0 && i < count; i++) {
        chunks[i] = (uint64_t)first + i;
        status = cli_find(cli->client, cli->arguments[2 + i], &ids[i]);
    }
    return status;
}

static granary_err
put_chunks(struct cli *cli, const uint64_t *chunks, const granary_id *ids, size_t count)
{
    const struct writing *writing = cli->self;
    granary_mutable *tensor = NULL;
    int64_t time = 0;
    granary_err err = tensor_open(cli, &tensor);

    if (err == GRANARY_OK) {
        err = writing_told(&writing->options,
                           granary_mutable_put_chunks(tensor, chunks, ids, count, &writing->options, &time));
    }
    granary_mutable_close(tensor);
    return print_written(cli, err, time);
}

/* The first chunk has the number that is given, the next ones follow. */
static int
run_put(struct cli *cli)
{
    const size_t count = (size_t)cli->count - 2;
    uint64_t *chunks = calloc(count, sizeof *chunks);
    granary_id *ids = calloc(count, sizeof *ids);
    int status = chunks == NULL || ids == NULL ? (int)gr_fail(GRANARY_ENOMEM, "out of memory")
                                               : find_chunks(cli, chunks, ids, count);

    status = status == 0 ? (int)put_chunks(cli, chunks, ids, count) : status;
    free(ids);
    free(chunks);
    return status;
}

static const struct command tensor_put = {
    .options = write_options, .access = &access_session, COMMAND_ZERO(struct writing), .plain = true, .run = run_put};

/* ---- read ---- */

static int
run_read(struct cli *cli)
{
    const struct reading *reading = cli->self;
    granary_mutable *tensor = NULL;
    granary_mutable_part part = {.owned = NULL};
    struct elements index;
    struct gr_buf out = {0};
    granary_err err = elements_parse(cli->count > 1 ? cli->arguments[1] : "", &index);

    err = err == GRANARY_OK ? table_open_to_read(cli->client, cli->arguments[0], &tensor) : err;
    if (err == GRANARY_OK) {
        err = granary_mutable_view(tensor, reading->at, index.indexes, index.count, &part);
    }
    if (err == GRANARY_OK) {
        err = output_add_tensor(&part.tensor, reading->format, &out);
        granary_mutable_release(cli->client, &part);
    }
    elements_free(&index);
    granary_mutable_close(tensor);
    return reading_end(reading, err, cli->arguments[0], &out);
}

static const struct gr_option read_options[] = {READING_OPTIONS, {0}};

static const struct command tensor_read = {.options = read_options,
                                           .access = &access_session,
                                           COMMAND_SELF(struct reading, .at = GRANARY_NOW),
                                           .numbers = true,
                                           .plain = true,
                                           .check = reading_check,
                                           .run = run_read};

/* ---- all of them ---- */

static const struct command_row tensor_rows[] = {
    {"create", "NAME", "make a tensor of this shape",
     "Make a tensor that changes. It takes memory only where it is written."
     "\vExample:\n"
     "  granary tensor create scores --shape 1000x1000 --dtype float64 --fill nan --chunk 100x100",
     &tensor_create},
    {"write", "NAME INDEX VALUE", "write elements; prints the time",
     "Write elements, all at one moment, and print the time of that write."
     "\vINDEX is NumPy's: positions, slices, '...', lists as [0,2,5], or a mask as FILE.npy of bool. VALUE is a "
     "number, FILE.npy, or - for stdin. Values spread over dimensions as in NumPy.\n\n"
     "Examples:\n"
     "  granary tensor write scores '1:3,::2' 7\n"
     "  granary tensor write scores '...,-1' 0.5",
     &tensor_write},
    {"put", "NAME CHUNK ID...", "put objects as whole chunks, without a copy",
     "Put tensor objects as whole chunks, without a copy: the first one as chunk CHUNK, the next ones behind it. "
     "Chunks "
     "are counted in C order of their grid.",
     &tensor_put},
    {"read", "NAME [INDEX]", "print elements, now or as they were at a time",
     "Print elements, now or as they were at a time, which becomes final."
     "\vINDEX is as in `granary tensor write`; without it, all elements are read. A file that ends in .npy gets the "
     "elements as NumPy loads them.\n\n"
     "Examples:\n"
     "  granary tensor read scores '1,:4'\n"
     "  granary tensor read scores '[0,2,5],0' --output some.npy",
     &tensor_read},
    {"list", "", "list tables and tensors", "List the tables and tensors of the session that change, and sealed ones.",
     &state_list},
    {"info", "NAME", "describe a tensor",
     "Describe a tensor: elements, chunks that were written, writers. This makes no time final.", &state_info},
    {"snapshot", "NAME NEW", "keep a tensor as it is at a time",
     "Keep a tensor as it is at a time, under a new name. Prints the object's id; the tensor goes on.",
     &state_snapshot},
    {"retain", "NAME", "give up old history; prints since when it is kept",
     "Give up history, and free the memory that only old times need. Reads of those times are refused from now on. "
     "The command prints the earliest time that can be read.",
     &state_retain},
    {"seal", "NAME", "end all writing", "Make a tensor one that does not change. Prints the object's id.", &state_seal},
    {"watch", "NAME", "wait for a write; prints its time",
     "Wait until a later write has become visible, and print its time.", &state_watch},
    {"recover", "NAME", "give up what is damaged on disk",
     "Bring a durable tensor back as it was before the first of its pieces on disk that is damaged or missing. Later "
     "writes are given up, for ever.",
     &durable_recover_command},
    {"delete", "NAME...", "delete tensors",
     "Delete tensors with all of their elements. Who has one open gets an error from now on."
     "\vExample:\n"
     "  granary tensor delete scores",
     &table_delete},
    {0}};

const struct command command_tensor = {.rows = tensor_rows, .which = "which one?"};
