/* granary channel put, get, tail: messages from arguments or stdin, and to stdout. */
#include "cli/channel/messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "cli/command/arguments.h"
#include "cli/print/json.h"
#include "data/value/utf8.h"

/* ---- put ---- */

#define STDIN_AT_ONCE 65536u

struct put {
    bool whole;
    bool objects;
    int timeout_ms;
};

static granary_err
put_object(struct cli *cli, granary_channel *channel, const char *text, int timeout_ms)
{
    granary_id id;
    granary_err err = arguments_id(text, &id);

    (void)cli;
    return err == GRANARY_OK ? granary_channel_put_object(channel, id, timeout_ms) : err;
}

static granary_err
put_lines(granary_channel *channel, int timeout_ms)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && (size = getline(&line, &room, stdin)) >= 0) {
        size -= line[size - 1] == '\n';
        err = granary_channel_put(channel, line, (uint64_t)size, timeout_ms);
    }
    free(line);
    return err;
}

/* All of it is one message. */
static granary_err
put_whole(granary_channel *channel, int timeout_ms)
{
    char *bytes = NULL;
    size_t room = 0, size = 0, more = 1;
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && more > 0) {
        const size_t blocks = size / STDIN_AT_ONCE;

        if (gr_grow(&bytes, &room, blocks, STDIN_AT_ONCE)) {
            more = fread(bytes + size, 1, (blocks + 1) * STDIN_AT_ONCE - size, stdin);
            size += more;
        } else {
            err = gr_fail(GRANARY_ENOMEM, "stdin: no memory for %zu bytes", size);
        }
    }
    if (err == GRANARY_OK && !ferror(stdin)) {
        err = granary_channel_put(channel, bytes, size, timeout_ms);
    }
    free(bytes);
    return err;
}

static granary_err
put_stdin(granary_channel *channel, const struct put *put)
{
    granary_err err = put->whole ? put_whole(channel, put->timeout_ms) : put_lines(channel, put->timeout_ms);

    return err == GRANARY_OK && ferror(stdin) ? gr_fail_errno("stdin") : err;
}

static int
run_put(struct cli *cli)
{
    const struct put *put = cli->self;
    granary_channel *channel = NULL;
    granary_err err = channel_find(cli, &channel);

    for (int i = 1; err == GRANARY_OK && i < cli->count; i++) {
        const char *text = cli->arguments[i];

        err = put->objects ? put_object(cli, channel, text, put->timeout_ms)
                           : granary_channel_put(channel, text, strlen(text), put->timeout_ms);
    }
    if (err == GRANARY_OK && cli->count == 1) {
        err = put_stdin(channel, put);
    }
    granary_channel_close(channel);
    return err;
}

static int
check_put(struct cli *cli)
{
    const struct put *put = cli->self;
    granary_err err = GRANARY_OK;

    if (put->objects && cli->count == 1) {
        err = gr_fail(GRANARY_EINVAL, "--objects takes the ids as arguments");
    } else if (put->whole && cli->count > 1) {
        err = gr_fail(GRANARY_EINVAL, "--whole is for stdin: each TEXT is a message");
    }
    return err == GRANARY_OK ? 0 : cli_fail(err, "channel '%s'", cli->arguments[0]);
}

static const struct gr_option put_options[] = {
    {"whole", 0, NULL, "all of stdin is one message", GR_OPTION_FLAG(struct put, whole)},
    {"objects", 0, NULL, "the arguments are ids of objects, which are put themselves",
     GR_OPTION_FLAG(struct put, objects)},
    {"timeout", 0, "DURATION", "wait so long for room in the channel; default: for ever",
     GR_OPTION_MS(struct put, timeout_ms)},
    {0}};

const struct command channel_put = {.options = put_options,
                                    .access = &access_storing,
                                    COMMAND_SELF(struct put, .timeout_ms = GRANARY_FOREVER),
                                    .plain = true,
                                    .prepare = check_put,
                                    .run = run_put};

/* ---- get and tail ---- */

struct get {
    long count; /* 0: until the channel is sealed */
    bool tail;
    bool whole;
    bool oldest;
    int timeout_ms;
    const char *reader;
};

/* Its text, where it is one. */
static void
json_data(struct json *json, const granary_message *message)
{
    char *text;

    if (message->data == NULL || memchr(message->data, '\0', message->size) != NULL ||
        utf8_first_invalid(message->data, message->size) != NULL) {
        return;
    }
    text = strndup(message->data, message->size);
    if (text != NULL) {
        json_text(json, "text", text);
    }
    free(text);
}

static void
json_message(const granary_message *message)
{
    static const granary_id none;
    struct json json = {0};

    json_open(&json, NULL, '{');
    json_unsigned(&json, "writer", message->writer);
    json_unsigned(&json, "number", message->number);
    json_unsigned(&json, "missed", message->missed);
    json_bool(&json, "again", message->again);
    if (memcmp(&message->id, &none, sizeof none) != 0) {
        json_id(&json, "id", message->id);
    }
    json_unsigned(&json, "size", message->size);
    json_data(&json, message);
    json_close(&json);
}

static void
print_message(const struct cli *cli, const struct get *get, const granary_message *message)
{
    if (cli->json) {
        json_message(message);
        return;
    }
    if (message->missed > 0) {
        (void)fprintf(stderr, "granary: %llu messages missed\n", (unsigned long long)message->missed);
    }
    (void)fwrite(message->data, 1, message->size, stdout);
    if (!get->whole) {
        (void)fputc('\n', stdout);
    }
}

static int
run_get(struct cli *cli)
{
    const struct get *get = cli->self;
    const granary_channel_from from = get->oldest ? GRANARY_CHANNEL_OLDEST : GRANARY_CHANNEL_NEXT;
    granary_channel *channel = NULL;
    granary_err err = channel_find(cli, &channel);
    granary_message message;

    if (err == GRANARY_OK) {
        err = get->tail ? granary_channel_observe(channel, from) : granary_channel_join(channel, get->reader, from);
    }
    for (long n = 0; err == GRANARY_OK && (get->count == 0 || n < get->count) && !ferror(stdout); n++) {
        err = granary_channel_get(channel, get->timeout_ms, &message);
        if (err == GRANARY_OK) {
            print_message(cli, get, &message);
            /* Who reads a pipe wants to know now; and a message is done when it is out. */
            if (fflush(stdout) == 0) {
                granary_channel_done(channel);
            }
        }
    }
    granary_channel_close(channel);
    /* A sealed channel has an end, as a file has. */
    return err == GRANARY_ESEALED && get->count != 1 ? GRANARY_OK : err;
}

#define COUNT_OPTION(text)                                                                                             \
    {"count", 'n', "N", "so many messages" text, GR_OPTION_NUMBER(struct get, count, 0, LONG_MAX)},                    \
        {"whole", 0, NULL, "write nothing between messages", GR_OPTION_FLAG(struct get, whole)},                       \
    {                                                                                                                  \
        "timeout", 0, "DURATION", "wait so long for each message; default: for ever",                                  \
            GR_OPTION_MS(struct get, timeout_ms)                                                                       \
    }

static const struct gr_option get_options[] = {
    COUNT_OPTION("; 0: until the channel is sealed; default: 1"),
    {"reader", 0, "NAME", "of a broadcast: go on where the last one of that name was",
     GR_OPTION_TEXT(struct get, reader)},
    {"oldest", 0, NULL, "of a broadcast: begin with what is still there", GR_OPTION_FLAG(struct get, oldest)},
    {0}};

const struct command channel_get = {.options = get_options,
                                    .access = &access_session,
                                    COMMAND_SELF(struct get, .count = 1, .timeout_ms = GRANARY_FOREVER),
                                    .plain = true,
                                    .run = run_get};

static const struct gr_option tail_options[] = {
    COUNT_OPTION("; default: until the channel is sealed"),
    {"oldest", 0, NULL, "begin with what is still there", GR_OPTION_FLAG(struct get, oldest)},
    {0}};

const struct command channel_tail = {.options = tail_options,
                                     .access = &access_session,
                                     COMMAND_SELF(struct get, .tail = true, .timeout_ms = GRANARY_FOREVER),
                                     .plain = true,
                                     .run = run_get};
