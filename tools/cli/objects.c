/* granary put, get, rm: objects. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli.h"
#include "data/print.h"

enum { KEY_ID = 0x3000, KEY_NAME };

struct objects {
    struct cli *cli;
    const char *id;     /* put */
    const char *name;   /* put */
    const char *output; /* get */
    int first;          /* position of the first argument that is no option */
};

static error_t
parse_objects(int key, char *arg, struct argp_state *state)
{
    struct objects *objects = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = objects->cli;
        return 0;
    case KEY_ID:
        objects->id = arg;
        return 0;
    case KEY_NAME:
        objects->name = arg;
        return 0;
    case 'o':
        objects->output = arg;
        return 0;
    case ARGP_KEY_ARGS:
        objects->first = state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Options first, then arguments: returns the position of the first argument; fewer than least are a usage error. */
static int
parse(const struct argp_option *options, const char *usage, const char *doc, int least, int most, int argc, char **argv,
      struct objects *objects)
{
    static const struct argp_child children[] = {{&cli_common_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {options, parse_objects, usage, doc, children, NULL, NULL};

    objects->first = argc;
    cli_parse_arguments(&argp, least, most, argc, argv, objects, &objects->first);
    return objects->first;
}

/* Read a descriptor of unknown length straight into memory. */
static granary_err
read_stream(int fd, struct gr_buf *bytes)
{
    for (;;) {
        char *at = gr_buf_grow(bytes, 1 << 16);
        ssize_t n;

        if (at == NULL) {
            return gr_fail(GRANARY_ENOMEM, "out of memory after %zu bytes", bytes->size);
        }
        n = read(fd, at, 1 << 16);
        bytes->size -= (size_t)(1 << 16) - (size_t)(n < 0 ? 0 : n);
        if (n < 0) {
            return gr_fail_errno("read");
        }
        if (n == 0) {
            return GRANARY_OK;
        }
    }
}

/* A regular file goes straight into shared memory; anything else is collected first. */
static granary_err
put_descriptor(granary_client *client, granary_id id, int fd)
{
    granary_buffer buffer;
    struct gr_buf bytes = {0};
    struct stat st;
    granary_err err;

    if (fstat(fd, &st) < 0) {
        return gr_fail_errno("stat");
    }
    if (S_ISDIR(st.st_mode)) {
        return gr_fail(GRANARY_EINVAL, "is a directory: name a file");
    }
    if (!S_ISREG(st.st_mode)) {
        err = read_stream(fd, &bytes);
        if (err == GRANARY_OK) {
            err = granary_object_put(client, id, bytes.bytes, bytes.size, NULL, 0, 0);
        }
        gr_buf_free(&bytes);
        return err;
    }
    err = granary_object_create(client, id, (uint64_t)st.st_size, 0, 30000, &buffer);
    if (err != GRANARY_OK) {
        return err;
    }
    err = gr_pread_all(fd, buffer.data, (size_t)st.st_size, 0);
    if (err != GRANARY_OK) {
        granary_object_abort(client, &buffer);
        return err;
    }
    return granary_object_seal(client, &buffer);
}

int
command_put(struct cli *cli, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"id", KEY_ID, "ID", 0, "32 hex digits; default: a fresh one", 0},
        {"name", KEY_NAME, "NAME", 0, "take the id that belongs to this name in the session", 0},
        {0},
    };
    struct objects objects = {.cli = cli};
    int first =
        parse(options, "FILE", "Put a file ('-': stdin) into the store and print its id.", 1, 1, argc, argv, &objects);
    const char *path = argv[first];
    char text[GRANARY_ID_TEXT + 1];
    granary_id id = granary_id_random();
    granary_client *client;
    granary_err err = GRANARY_OK;
    int status = 0;
    int fd;

    if (objects.id != NULL) {
        err = granary_id_parse(objects.id, strlen(objects.id), &id);
    } else if (objects.name != NULL) {
        id = granary_id_from_name(cli->session, objects.name);
    }
    if (err != GRANARY_OK) {
        return cli_fail(err, "put");
    }
    fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return cli_fail(gr_fail_errno("cannot be read"), "put %s", path);
    }
    client = cli_connect(cli, &status);
    if (client != NULL) {
        err = put_descriptor(client, id, fd);
        if (err != GRANARY_OK) {
            status = cli_fail(err, "put %s", path);
        } else {
            granary_id_format(id, text);
            (void)printf(cli->json ? "{\"id\": \"%s\"}\n" : "%s\n", text);
        }
    }
    granary_disconnect(client);
    gr_fd_close(&fd);
    return status;
}

int
command_get(struct cli *cli, int argc, char **argv)
{
    static const struct argp_option options[] = {{"output", 'o', "FILE", 0, "write there instead of to stdout", 0},
                                                 {0}};
    struct objects objects = {.cli = cli, .output = "-"};
    int first = parse(options, "ID", "Write an object's bytes. A unique beginning of the id is enough.", 1, 1, argc,
                      argv, &objects);
    granary_client *client;
    granary_view view;
    granary_id id;
    granary_err err;
    int status = 0;

    if (strcmp(objects.output, "-") == 0 && isatty(STDOUT_FILENO)) {
        (void)fprintf(stderr,
                      "granary: get: an object's bytes are not for a terminal: redirect them, or use -o FILE\n");
        return 2;
    }
    client = cli_connect(cli, &status);
    if (client == NULL) {
        return status;
    }
    status = cli_find(client, argv[first], &id);
    if (status == 0) {
        err = granary_object_get(client, id, 0, &view);
        if (err != GRANARY_OK) {
            status = cli_fail_plain(err);
        } else {
            status = cli_write_file(objects.output, view.data, view.data_size);
            granary_object_release(client, &view);
        }
    }
    granary_disconnect(client);
    return status;
}

/* Do one thing to each of the named objects; goes on after a failure and returns the first one's status. */
static int
for_each(struct cli *cli, int argc, char **argv, const char *doc, granary_err (*act)(granary_client *, granary_id))
{
    struct objects objects = {.cli = cli};
    int first = parse(NULL, "ID...", doc, 1, 1 << 20, argc, argv, &objects);
    granary_client *client;
    int status = 0;

    client = cli_connect(cli, &status);
    for (int i = first; client != NULL && i < argc; i++) {
        granary_id id;
        int one = cli_find(client, argv[i], &id);

        if (one == 0) {
            granary_err err = act(client, id);

            one = err == GRANARY_OK ? 0 : cli_fail_plain(err);
        }
        status = status == 0 ? one : status;
    }
    granary_disconnect(client);
    return status;
}

static granary_err
act_rm(granary_client *client, granary_id id)
{
    return granary_object_delete(client, id, 0);
}

int
command_rm(struct cli *cli, int argc, char **argv)
{
    return for_each(cli, argc, argv, "Delete objects. Processes that have them mapped keep them until they let go.",
                    act_rm);
}
