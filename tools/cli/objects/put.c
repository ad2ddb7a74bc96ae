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

enum { KEY_ID = 0x3000, KEY_ID_FROM, KEY_IMPORTANCE, KEY_NEXT_USE, KEY_PERSIST, KEY_CONTAINS, KEY_TIMEOUT };

#define ROOM_WAIT_MS 30000

struct put {
    struct arguments arguments;
    granary_id id; /* all zero: not given */
    bool has_id;
    const char *id_from;
    char *contains; /* ids, separated by commas */
    granary_object_options options;
};

static error_t
parse_put(int key, char *arg, struct argp_state *state)
{
    struct put *put = state->input;

    switch (key) {
    case KEY_ID:
        put->id = arguments_id(state, arg);
        put->has_id = true;
        return 0;
    case KEY_ID_FROM:
        put->id_from = arg;
        return 0;
    case KEY_IMPORTANCE:
        put->options.importance = (int)arguments_number(state, arg, 0, 255);
        return 0;
    case KEY_NEXT_USE:
        put->options.next_use = (int)arguments_number(state, arg, 0, 255);
        return 0;
    case KEY_CONTAINS:
        put->contains = arg;
        return 0;
    case KEY_TIMEOUT:
        put->options.timeout_ms = arguments_duration(state, arg);
        put->options.timeout_ms = put->options.timeout_ms == 0 ? GRANARY_AT_ONCE : put->options.timeout_ms;
        return 0;
    case KEY_PERSIST:
        put->options.persist = arg == NULL ? GRANARY_LEVEL_DISK : arguments_levels(state, arg);
        return 0;
    case ARGP_KEY_END:
        if (put->has_id && put->id_from != NULL) {
            argp_error(state, "--id and --id-from: one or the other");
        }
        return arguments_key(key, state);
    default:
        return arguments_key(key, state);
    }
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

/* The ids that a text names, separated by commas; it is cut there. Prints the error. Returns the exit status. */
static int
find_contained(granary_client *client, char *text, granary_id **ret_ids, size_t *ret_count)
{
    char *rest = NULL;
    size_t count = 1;
    size_t found = 0;
    int status = 0;
    granary_id *ids;

    for (const char *at = text; *at != '\0'; at++) {
        count += *at == ',';
    }
    ids = calloc(count, sizeof *ids);
    if (ids == NULL) {
        return cli_fail(gr_fail(GRANARY_ENOMEM, "out of memory"), "put");
    }
    for (char *one = strtok_r(text, ",", &rest); status == 0 && one != NULL; one = strtok_r(NULL, ",", &rest)) {
        status = cli_find(client, one, &ids[found++]);
    }
    *ret_ids = ids;
    *ret_count = found;
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

int
command_put(struct cli *cli, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"id", KEY_ID, "ID", 0, "32 hex digits; default: a fresh one", 0},
        {"id-from", KEY_ID_FROM, "NAME", 0, "the id that is made of the session and this name, everywhere the same", 0},
        {"importance", KEY_IMPORTANCE, "N", 0, "0 to 255: who is more important leaves memory later", 0},
        {"next-use", KEY_NEXT_USE, "N", 0, "1 soonest to 255 never again; 0 unknown", 0},
        {"persist", KEY_PERSIST, "LEVELS", OPTION_ARG_OPTIONAL,
         "copy it to these levels too; default: disk, to survive the machine's restart", 0},
        {"contains", KEY_CONTAINS, "ID,...", 0, "objects that live at least as long as this one", 0},
        {"timeout", KEY_TIMEOUT, "DURATION", 0, "how long to wait for room when memory is full; default: 30 s", 0},
        {0},
    };
    struct put put = {.arguments = {.cli = cli}, .options = {.timeout_ms = ROOM_WAIT_MS}};
    struct notice notice;
    int first = arguments_read(options, parse_put, "FILE", "Put a file ('-': stdin) into the store and print its id.",
                               1, 1, argc, argv, &put.arguments);
    const char *path = argv[first];
    granary_id id = put.has_id ? put.id : granary_id_random();
    granary_id *contained = NULL;
    granary_client *client;
    granary_err err;
    int status = 0;
    int fd;

    if (!put.has_id && put.id_from != NULL) {
        id = granary_id_from_name(cli->session, put.id_from);
    }
    fd = open_input(path);
    if (fd < 0) {
        return cli_fail(gr_fail_errno("cannot be read"), "put %s", path);
    }
    client = cli_connect(cli, &status);
    if (client != NULL && put.contains != NULL) {
        status = find_contained(client, put.contains, &contained, &put.options.contains_count);
        put.options.contains = contained;
    }
    if (client != NULL && status == 0) {
        notice_begin(&notice, client, "put", put.options.timeout_ms);
        err = put_descriptor(client, id, fd, &put.options);
        notice_end(&notice);
        if (err != GRANARY_OK) {
            status = cli_fail(name_taken(err, id, &put), "put %s", path);
        } else {
            cli_print_id(cli, id);
        }
    }
    granary_disconnect(client);
    gr_fd_close(&fd);
    free(contained);
    return status;
}

static int
fail_taken(void)
{
    char why[256];

    (void)snprintf(why, sizeof why, "%s", granary_error_message());
    return cli_fail_plain(gr_fail(GRANARY_EEXIST, "%s: --id or --id-from give it another id", why));
}

int
command_import(struct cli *cli, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"id", KEY_ID, "ID", 0, "32 hex digits; default: the id it had", 0},
        {"id-from", KEY_ID_FROM, "NAME", 0, "the id that is made of the session and this name, everywhere the same", 0},
        {0},
    };
    struct put put = {.arguments = {.cli = cli}};
    int first = arguments_read(options, parse_put, "[FILE]",
                               "Take one exported object from a file, or from stdin, and print its id.", 0, 1, argc,
                               argv, &put.arguments);
    const char *path = first < argc ? argv[first] : "-";
    granary_client *client;
    granary_id id;
    granary_err err;
    int status = 0;
    int fd;

    if (!put.has_id && put.id_from != NULL) {
        put.id = granary_id_from_name(cli->session, put.id_from);
        put.has_id = true;
    }
    fd = open_input(path);
    if (fd < 0) {
        return cli_fail(gr_fail_errno("cannot be read"), "import %s", path);
    }
    client = cli_connect(cli, &status);
    if (client != NULL) {
        err = granary_object_import(client, fd, put.has_id ? &put.id : NULL, &id);
        if (err != GRANARY_OK) {
            status = err == GRANARY_EEXIST ? fail_taken() : cli_fail(err, "%s", path);
        } else {
            cli_print_id(cli, id);
        }
    }
    granary_disconnect(client);
    gr_fd_close(&fd);
    return status;
}
