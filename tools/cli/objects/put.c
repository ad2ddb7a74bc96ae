/* granary put, import: bytes into the store. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/command/arguments.h"
#include "cli/objects/notice.h"
#include "cli/objects/put.h"
#include "granary/stream.h"

#define ROOM_WAIT_MS 30000

struct put {
    granary_id id; /* all zero: not given */
    bool has_id;
    const char *id_from;
    char *contains; /* ids, separated by commas */
    granary_id *contained;
    granary_object_options options;
    const char *path;
    int fd;
};

static granary_err
take_id(void *target, char *text)
{
    struct put *put = target;

    put->has_id = true;
    return arguments_id(text, &put->id);
}

static granary_err
take_persist(void *target, char *text)
{
    struct put *put = target;

    put->options.persist = GRANARY_LEVEL_DISK;
    return text == NULL ? GRANARY_OK : granary_levels_parse(text, &put->options.persist);
}

#define ID_OPTIONS(default_id)                                                                                         \
    {"id", 0, "ID", "32 hex digits; default: " default_id, GR_OPTION_TAKE(take_id)},                                   \
    {                                                                                                                  \
        "id-from", 0, "NAME", "make the id of the session and this name; it is the same everywhere",                   \
            GR_OPTION_TEXT(struct put, id_from)                                                                        \
    }

static granary_err
check_put(struct cli *cli)
{
    struct put *put = cli->self;

    put->options.timeout_ms = put->options.timeout_ms == 0 ? GRANARY_AT_ONCE : put->options.timeout_ms;
    return put->has_id && put->id_from != NULL ? gr_fail(GRANARY_EINVAL, "--id and --id-from: one or the other")
                                               : GRANARY_OK;
}

/* A stream of unknown length: the object grows as it comes. */
static granary_err
put_stream(granary_client *client, granary_id id, int fd, const granary_object_options *options)
{
    char bytes[1 << 16];
    granary_writer *writer;
    granary_err err = granary_writer_open(client, id, 0, options, &writer);
    ssize_t n = 1;

    if (err != GRANARY_OK) {
        return err;
    }
    while (err == GRANARY_OK && n > 0) {
        n = read(fd, bytes, sizeof bytes);
        if (n > 0) {
            err = granary_writer_append(writer, bytes, (uint64_t)n);
        } else if (n < 0 && errno == EINTR) {
            n = 1;
        } else if (n < 0) {
            err = gr_fail_errno("read");
        }
    }
    if (err != GRANARY_OK) {
        granary_writer_abort(writer);
        return err;
    }
    return granary_writer_seal(writer, NULL, 0);
}

/* A regular file goes straight into shared memory. */
static granary_err
put_file(granary_client *client, granary_id id, int fd, uint64_t size, const granary_object_options *options)
{
    granary_buffer buffer;
    granary_err err = granary_object_create_with(client, id, size, 0, options, &buffer);

    if (err != GRANARY_OK) {
        return err;
    }
    err = gr_pread_all(fd, buffer.data, size, 0);
    if (err != GRANARY_OK) {
        granary_object_abort(client, &buffer);
        return err;
    }
    return granary_object_seal(client, &buffer);
}

static granary_err
put_descriptor(granary_client *client, granary_id id, int fd, const granary_object_options *options)
{
    struct stat st;

    if (fstat(fd, &st) < 0) {
        return gr_fail_errno("stat");
    }
    if (S_ISDIR(st.st_mode)) {
        return gr_fail(GRANARY_EINVAL, "is a directory: name a file");
    }
    return S_ISREG(st.st_mode) ? put_file(client, id, fd, (uint64_t)st.st_size, options)
                               : put_stream(client, id, fd, options);
}

/* "-" is stdin. */
static int
open_input(const char *path)
{
    return strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
}

granary_err
put_path(granary_client *client, const char *path, granary_id *ret_id)
{
    static const granary_object_options options;
    granary_id id = granary_id_random();
    int fd = open_input(path);
    granary_err err = fd < 0 ? gr_fail_errno("cannot be read") : put_descriptor(client, id, fd, &options);

    gr_fd_close(&fd);
    if (err == GRANARY_OK) {
        *ret_id = id;
    }
    return err;
}

/* Open what is to be put, and choose its id, before there is a connection. */
static int
open_put(struct cli *cli)
{
    struct put *put = cli->self;

    put->path = cli->count > 0 ? cli->arguments[0] : "-";
    put->fd = open_input(put->path);
    if (put->fd < 0) {
        return cli_fail(gr_fail_errno("cannot be read"), "%s %s", cli->name, put->path);
    }
    if (!put->has_id && put->id_from != NULL) {
        put->id = granary_id_from_name(cli->session, put->id_from);
        put->has_id = true;
    }
    return 0;
}

static void
end_put(struct cli *cli)
{
    struct put *put = cli->self;

    gr_fd_close(&put->fd);
    free(put->contained);
}

/* The ids that --contains names, separated by commas; it is cut there. Prints the error. Returns the exit status. */
static int
find_contained(struct cli *cli, struct put *put)
{
    char *rest = NULL;
    size_t count = 1;
    int status = 0;

    for (const char *at = put->contains; *at != '\0'; at++) {
        count += *at == ',';
    }
    put->contained = calloc(count, sizeof *put->contained);
    if (put->contained == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (char *one = strtok_r(put->contains, ",", &rest); status == 0 && one != NULL;
         one = strtok_r(NULL, ",", &rest)) {
        status = cli_find(cli->client, one, &put->contained[put->options.contains_count++]);
    }
    put->options.contains = put->contained;
    return status;
}

/* What to do about an id that is taken. */
static granary_err
name_taken(granary_err err, granary_id id, const struct put *put)
{
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(id, text);
    return err != GRANARY_EEXIST
               ? err
               : gr_fail(err,
                         "object %s%s%s%s exists already, and is not changed: `granary rm %s` deletes it, another %s "
                         "leaves it",
                         text, put->id_from == NULL ? "" : " ('", put->id_from == NULL ? "" : put->id_from,
                         put->id_from == NULL ? "" : "')", text, put->id_from == NULL ? "--id" : "--id-from");
}

static int
run_put(struct cli *cli)
{
    struct put *put = cli->self;
    granary_id id = put->has_id ? put->id : granary_id_random();
    struct notice notice;
    granary_err err;
    int status = put->contains == NULL ? 0 : find_contained(cli, put);

    if (status != 0) {
        return status;
    }
    notice_begin(&notice, cli->client, "put", put->options.timeout_ms);
    err = put_descriptor(cli->client, id, put->fd, &put->options);
    notice_end(&notice);
    if (err != GRANARY_OK) {
        return cli_fail(name_taken(err, id, put), "put %s", put->path);
    }
    cli_print_id(cli, id);
    return 0;
}

static const struct gr_option put_options[] = {
    ID_OPTIONS("a fresh one"),
    {"importance", 0, "N", "set its importance, from 0 to 255; a more important object leaves memory later",
     GR_OPTION_NUMBER(struct put, options.importance, 0, 255)},
    {"next-use", 0, "N", "say when it is needed next: 1 (soonest) to 255 (never again); default: 0, unknown",
     GR_OPTION_NUMBER(struct put, options.next_use, 0, 255)},
    {"persist", 0, "LEVELS",
     "copy it to these levels too; without LEVELS to disk, where it survives a restart of the machine",
     GR_OPTION_TAKE(take_persist), .optional = true},
    {"contains", 0, "ID,...", "keep these objects at least as long as this one", GR_OPTION_TEXT(struct put, contains)},
    {"timeout", 0, "DURATION", "wait this long for room when memory is full; default: 30 s",
     GR_OPTION_MS(struct put, options.timeout_ms)},
    {0}};

const struct command command_put = {.options = put_options,
                                    .access = &access_storing,
                                    COMMAND_SELF(struct put, .fd = -1, .options = {.timeout_ms = ROOM_WAIT_MS}),
                                    .check = check_put,
                                    .prepare = open_put,
                                    .run = run_put,
                                    .end = end_put};

static int
fail_taken(void)
{
    char why[256];

    (void)snprintf(why, sizeof why, "%s", granary_error_message());
    return cli_fail_plain(gr_fail(GRANARY_EEXIST, "%s: --id or --id-from give it another id", why));
}

static int
run_import(struct cli *cli)
{
    const struct put *put = cli->self;
    granary_id id;
    granary_err err = granary_object_import(cli->client, put->fd, put->has_id ? &put->id : NULL, &id);

    if (err != GRANARY_OK) {
        return err == GRANARY_EEXIST ? fail_taken() : cli_fail(err, "%s", put->path);
    }
    cli_print_id(cli, id);
    return 0;
}

static const struct gr_option import_options[] = {ID_OPTIONS("the id it had"), {0}};

const struct command command_import = {.options = import_options,
                                       .access = &access_storing,
                                       COMMAND_SELF(struct put, .fd = -1),
                                       .check = check_put,
                                       .prepare = open_put,
                                       .run = run_import,
                                       .end = end_put};
