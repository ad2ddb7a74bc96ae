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
#include "cli/print/json.h"
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
check_get(void *target)
{
    const struct get *get = target;

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

static int
get_to(struct cli *cli, const char *text, const struct get *get,
       granary_err (*copy)(granary_client *client, granary_id id, const struct get *get, struct output *output))
{
    struct output output;
    granary_client *client;
    granary_id id;
    granary_err err;
    int status = 0;

    client = cli_connect_existing(cli, &status);
    if (client == NULL) {
        return status;
    }
    status = find(client, text, get->timeout_ms, &id);
    if (status == 0) {
        err = output_open(&output, get->output);
        if (err != GRANARY_OK) {
            status = cli_fail_plain(err);
        } else {
            status = output_close(&output, id, text, copy(client, id, get, &output));
        }
    }
    granary_disconnect(client);
    return status;
}

static int
refuse_terminal(const struct get *get, const char *command)
{
    if (strcmp(get->output, "-") == 0 && isatty(STDOUT_FILENO)) {
        (void)fprintf(stderr, "granary: %s: an object's bytes are not for a terminal: redirect them, or use -o FILE\n",
                      command);
        return 2;
    }
    return 0;
}

int
command_get(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"output", 'o', "FILE", "write there instead of to stdout", GR_OPTION_TEXT(struct get, output)},
        {"range", 0, "FROM:TO", "these bytes only; a spilled object is read no further than needed",
         GR_OPTION_TAKE(take_range)},
        {"rows", 0, "FROM:TO", "these rows of a frame, as an Arrow file", GR_OPTION_TAKE(take_rows)},
        {"columns", 0, "NAME,...", "these columns of a frame, as an Arrow file", GR_OPTION_TEXT(struct get, columns)},
        {"timeout", 0, "DURATION", "how long to wait for an object that is not there yet; default 0",
         GR_OPTION_MS(struct get, timeout_ms)},
        {0}};
    static const struct arguments arguments = {.options = options,
                                               .usage = "ID",
                                               .doc =
                                                   "Write an object's bytes. A unique beginning of the id is enough.",
                                               .least = 1,
                                               .most = 1,
                                               .check = check_get};
    struct get get = {.output = "-", .to = UINT64_MAX};
    int first = arguments_read(&arguments, &get, cli, argc, argv);
    int status = refuse_terminal(&get, "get");

    return status != 0 ? status
                       : get_to(cli, argv[first], &get, get.rows || get.columns != NULL ? copy_rows : copy_object);
}

int
command_cat(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {.usage = "ID...",
                                               .doc = "Write the bytes of objects to stdout, one after another.",
                                               .least = 1,
                                               .most = ARGUMENTS_MANY};
    struct get get = {.output = "-", .to = UINT64_MAX};
    int first = arguments_read(&arguments, NULL, cli, argc, argv);
    int status = 0;

    for (int i = first; i < argc && status == 0; i++) {
        status = get_to(cli, argv[i], &get, copy_object);
    }
    return status;
}

static granary_err
export_object(granary_client *client, granary_id id, const struct get *get, struct output *output)
{
    granary_err err = granary_object_export(client, id, output->fd, 0);

    (void)get;
    output->failed = err == GRANARY_EFULL || err == GRANARY_EIO || err == GRANARY_EFAILED; /* what a write says */
    return err;
}

int
command_export(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"name", 0, "NAME", "of the library; default: its file's name without 'lib' and '.so'",
         GR_OPTION_TEXT(struct get, name)},
        {"output", 'o', "FILE", "of an object: write there instead of to stdout", GR_OPTION_TEXT(struct get, output)},
        {0}};
    static const struct arguments arguments = {
        .options = options,
        .usage = "LIBRARY.so | ID",
        .doc = "Make the functions of a shared object callable by graphs of the session, and print its "
               "version. Or write an object with its metadata and checksums, for `granary import`.",
        .least = 1,
        .most = 1};
    struct get get = {.output = "-"};
    int first = arguments_read(&arguments, &get, cli, argc, argv);
    int status;

    if (library_is_file(argv[first])) {
        return library_export(cli, argv[first], get.name);
    }
    status = refuse_terminal(&get, "export");
    return status != 0 ? status : get_to(cli, argv[first], &get, export_object);
}

static void
print_digest(const struct cli *cli, granary_id id, const char *digest)
{
    struct json json = {0};
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(id, text);
    if (!cli->json) {
        (void)printf("%s  %s\n", digest, text);
        return;
    }
    json_open(&json, NULL, '{');
    json_text(&json, "id", text);
    json_text(&json, "xxh3_128", digest);
    json_close(&json);
}

int
command_digest(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {
        .usage = "ID...", .doc = "Print the XXH3-128 of objects' data.", .least = 1, .most = ARGUMENTS_MANY};
    int first = arguments_read(&arguments, NULL, cli, argc, argv);
    granary_client *client;
    int status = 0;

    client = cli_connect_existing(cli, &status);
    for (int i = first; client != NULL && i < argc; i++) {
        char digest[33];
        granary_id id;
        int one = cli_find(client, argv[i], &id);

        if (one == 0) {
            granary_err err = granary_object_digest(client, id, 0, digest);

            one = err == GRANARY_OK ? 0 : cli_fail_plain(err);
        }
        if (one == 0) {
            print_digest(cli, id, digest);
        }
        status = status == 0 ? one : status;
    }
    granary_disconnect(client);
    return status;
}
