/* granary get, cat, export, digest: bytes out of the store. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/command/arguments.h"
#include "cli/objects/library.h"
#include "cli/print/listing.h"
#include "client/resolve.h"
#include "data/arrow/arrow.h"
#include "granary/stream.h"

#define PIECE ((uint64_t)8 << 20)

struct get {
    const char *output;
    uint64_t from, to; /* bytes, or rows; to UINT64_MAX: the end */
    bool rows;         /* of a frame */
    bool bytes;
    const char *name; /* of a library */
    char *columns;    /* names with commas between; NULL: all */
    int timeout_ms;   /* for what is not there yet */
};

static granary_err
take_range(void *target, char *text)
{
    struct get *get = target;

    get->bytes = true;
    return arguments_range(text, &get->from, &get->to);
}

static granary_err
take_rows(void *target, char *text)
{
    struct get *get = target;

    get->rows = true;
    return arguments_range(text, &get->from, &get->to);
}

static granary_err
check_get(struct cli *cli)
{
    const struct get *get = cli->self;

    return (get->rows || get->columns != NULL) && get->bytes
               ? gr_fail(GRANARY_EINVAL, "--range is of bytes, --rows and --columns are of a frame: one or the other")
               : GRANARY_OK;
}

/* Where bytes go: a file, or stdout ("-"). */
struct output {
    const char *path;
    int fd;
    bool to_stdout;
    bool failed; /* the error is of this, and not of the object */
};

static granary_err
output_write(struct output *output, const void *bytes, uint64_t size)
{
    granary_err err = gr_write_all(output->fd, bytes, size);

    output->failed = err != GRANARY_OK;
    return err;
}

/* Of the object: its name comes before, unless it is told already. told: how it was asked for. */
static int
fail_object(granary_err err, granary_id id, const char *told)
{
    char text[GRANARY_ID_TEXT + 1];

    if (strncmp(told, "name:", 5) == 0) {
        return cli_fail(err, "%s", told);
    }
    granary_id_format(id, text);
    return strstr(granary_error_message(), text) != NULL ? cli_fail_plain(err) : cli_fail(err, "object %s", text);
}

static granary_err
output_open(struct output *output, const char *path)
{
    output->path = path;
    output->failed = false;
    output->to_stdout = strcmp(path, "-") == 0;
    output->fd = output->to_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return output->fd < 0 ? gr_fail_errno("%s: cannot be written", path) : GRANARY_OK;
}

/* err: of what was written of the object that told names. Returns the exit status, with the error printed. */
static int
output_close(struct output *output, granary_id id, const char *told, granary_err err)
{
    struct pollfd pipe = {.fd = output->fd};
    char name[PATH_MAX];

    if (output->to_stdout && err != GRANARY_OK && poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLERR) != 0) {
        return 128 + SIGPIPE; /* the reader has seen enough, as in `... | head`: no reason for a message */
    }
    if (!output->to_stdout && close(output->fd) < 0 && err == GRANARY_OK) {
        err = gr_fail_errno("close");
        output->failed = true;
    }
    if (err != GRANARY_OK && !output->to_stdout) {
        cli_remove_half(output->path);
    }
    if (err != GRANARY_OK && !output->failed) {
        return fail_object(err, id, told);
    }
    return err == GRANARY_OK ? 0 : cli_fail(err, "%s", output->to_stdout ? cli_stdout_name(name) : output->path);
}

/* A frame as an Arrow file. */
static granary_err
write_frame(const granary_frame *frame, struct output *output)
{
    uint64_t data_size, meta_size;
    void *meta = NULL;
    void *data = NULL;
    granary_err err = gr_arrow_measure(frame, &data_size, &meta_size);

    if (err != GRANARY_OK) {
        return err;
    }
    data = gr_data_alloc(data_size);
    meta = gr_data_alloc(meta_size);
    if (data == NULL || meta == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "frame: out of memory");
    } else {
        gr_arrow_write(frame, data, meta);
        err = output_write(output, data, data_size);
    }
    free(data);
    free(meta);
    return err;
}

/* Rows of a frame; a spilled one is not brought back for that. */
static granary_err
copy_rows(granary_client *client, granary_id id, const struct get *get, struct output *output)
{
    uint64_t count = get->to == UINT64_MAX ? UINT64_MAX : get->to - get->from;
    const char **names = NULL;
    size_t names_count = 0;
    granary_frame *frame = NULL;
    granary_err err = arguments_names(get->columns, &names, &names_count);

    if (err == GRANARY_OK) {
        err = granary_frame_read_rows(client, id, get->from > INT64_MAX ? -1 : (int64_t)get->from,
                                      count > INT64_MAX ? GRANARY_ROWS_REST : (int64_t)count, names, names_count,
                                      get->timeout_ms, &frame);
    }
    if (err == GRANARY_OK) {
        err = write_frame(frame, output);
    }
    granary_frame_close(frame);
    free(names);
    return err;
}

/* Bytes from to to of an object; a spilled one is not brought back for that. */
static granary_err
copy_object(granary_client *client, granary_id id, const struct get *get, struct output *output)
{
    uint64_t from = get->from;
    uint64_t to = get->to;
    uint64_t window = to - from < PIECE ? to - from : PIECE;
    granary_reader *reader;
    granary_err err = granary_reader_open(client, id, window, get->timeout_ms, &reader);
    uint64_t size = 1;

    if (err != GRANARY_OK) {
        return err;
    }
    to = to == UINT64_MAX ? granary_reader_size(reader) : to;
    if (to > granary_reader_size(reader)) {
        err = gr_fail(GRANARY_EINVAL, "--range: byte %llu is asked for, but the object has %llu bytes",
                      (unsigned long long)to, (unsigned long long)granary_reader_size(reader));
    } else {
        err = granary_reader_seek(reader, from);
    }
    while (err == GRANARY_OK && from < to && size > 0) {
        const void *at;

        err = granary_reader_next(reader, to - from, &at, &size);
        if (err == GRANARY_OK) {
            err = output_write(output, at, size);
            from += size;
        }
    }
    granary_reader_close(reader);
    return err;
}

/* The object of a whole id is waited for when it is not there yet. Returns the exit status. */
static int
find(granary_client *client, const char *text, int timeout_ms, granary_id *ret_id)
{
    granary_err err;

    if (timeout_ms == 0) {
        return cli_find(client, text, ret_id);
    }
    err = gr_resolve_id(client, text, ret_id);
    err = err == GRANARY_OK ? granary_object_wait(client, ret_id, 1, 1, timeout_ms, NULL) : err;
    return err == GRANARY_OK ? 0 : cli_fail_plain(err);
}

/* Write an object to the output that was asked for. Returns the exit status. */
static int
get_to(struct cli *cli, const char *text, const struct get *get,
       granary_err (*copy)(granary_client *client, granary_id id, const struct get *get, struct output *output))
{
    struct output output;
    granary_id id;
    int status = find(cli->client, text, get->timeout_ms, &id);

    if (status != 0) {
        return status;
    }
    status = output_open(&output, get->output);
    return status == GRANARY_OK ? output_close(&output, id, text, copy(cli->client, id, get, &output)) : status;
}

static int
refuse_terminal(struct cli *cli)
{
    const struct get *get = cli->self;

    if (strcmp(get->output, "-") == 0 && isatty(STDOUT_FILENO)) {
        (void)fprintf(stderr, "granary: %s: an object's bytes are not for a terminal: redirect them, or use -o FILE\n",
                      cli->name);
        return 2;
    }
    return 0;
}

static int
run_get(struct cli *cli)
{
    const struct get *get = cli->self;

    return get_to(cli, cli->arguments[0], get, get->rows || get->columns != NULL ? copy_rows : copy_object);
}

static const struct gr_option get_options[] = {
    {"output", 'o', "FILE", "write to FILE instead of to stdout", GR_OPTION_TEXT(struct get, output)},
    {"range", 0, "FROM:TO", "write only these bytes; a spilled object is read no further than needed",
     GR_OPTION_TAKE(take_range)},
    {"rows", 0, "FROM:TO", "write these rows of a frame, as an Arrow file", GR_OPTION_TAKE(take_rows)},
    {"columns", 0, "NAME,...", "write these columns of a frame, as an Arrow file", GR_OPTION_TEXT(struct get, columns)},
    {"timeout", 0, "DURATION", "wait this long for an object that is not there yet; default: 0",
     GR_OPTION_MS(struct get, timeout_ms)},
    {0}};

const struct command command_get = {.options = get_options,
                                    .access = &access_session,
                                    COMMAND_SELF(struct get, .output = "-", .to = UINT64_MAX),
                                    .plain = true,
                                    .check = check_get,
                                    .prepare = refuse_terminal,
                                    .run = run_get};

static int
run_cat(struct cli *cli)
{
    int status = 0;

    for (int i = 0; i < cli->count && status == 0; i++) {
        status = get_to(cli, cli->arguments[i], cli->self, copy_object);
    }
    return status;
}

const struct command command_cat = {.access = &access_session,
                                    COMMAND_SELF(struct get, .output = "-", .to = UINT64_MAX),
                                    .plain = true,
                                    .run = run_cat};

static granary_err
export_object(granary_client *client, granary_id id, const struct get *get, struct output *output)
{
    granary_err err = granary_object_export(client, id, output->fd, 0);

    (void)get;
    output->failed = err == GRANARY_EFULL || err == GRANARY_EIO || err == GRANARY_EFAILED; /* what a write says */
    return err;
}

static int
open_export(struct cli *cli)
{
    if (library_is_file(cli->arguments[0])) {
        return cli_connect(cli);
    }
    return refuse_terminal(cli) != 0 ? 2 : cli_connect_existing(cli);
}

static int
run_export(struct cli *cli)
{
    const struct get *get = cli->self;

    return library_is_file(cli->arguments[0]) ? library_export(cli, cli->arguments[0], get->name)
                                              : get_to(cli, cli->arguments[0], get, export_object);
}

static const struct access export_access = {.open = open_export, .close = cli_disconnect};
static const struct gr_option export_options[] = {
    {"name", 0, "NAME", "call the library NAME; default: its file's name without 'lib' and '.so'",
     GR_OPTION_TEXT(struct get, name)},
    {"output", 'o', "FILE", "write an object to FILE instead of to stdout", GR_OPTION_TEXT(struct get, output)},
    {0}};

const struct command command_export = {.options = export_options,
                                       .access = &export_access,
                                       COMMAND_SELF(struct get, .output = "-"),
                                       .plain = true,
                                       .run = run_export};

struct digest {
    granary_id id;
    char text[33];
};

static const struct column digest_columns[] = {{NULL, "", -32, COLUMN(struct digest, text)},
                                               {"id", "", 0, COLUMN(struct digest, id)},
                                               {"xxh3_128", NULL, 0, COLUMN(struct digest, text)},
                                               {0}};

static int
digest_object(struct cli *cli, granary_id id)
{
    struct digest digest = {.id = id};
    granary_err err = granary_object_digest(cli->client, id, 0, digest.text);

    if (err == GRANARY_OK) {
        listing_one(digest_columns, cli->json, &digest);
    }
    return err;
}

const struct command command_digest = {.access = &access_session, .plain = true, .object = digest_object};
