/* granary channel create, list, info, seal, forget, delete; and the list of what else `granary channel` has. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/channel/messages.h"
#include "cli/print/listing.h"
#include "client/resolve.h"

granary_err
channel_find(struct cli *cli, granary_channel **ret_channel)
{
    const char *name = cli->arguments[0];
    granary_err err = granary_channel_open(cli->client, name, ret_channel);

    return err == GRANARY_ENOENT
               ? gr_fail(err, "channel '%s': there is none of that name: `granary channel create %s` makes it", name,
                         name)
               : err;
}

/* ---- create ---- */

static int
run_create(struct cli *cli)
{
    const char *name = cli->arguments[0];
    granary_channel *channel = NULL;
    granary_err err = gr_check_no_graph(cli->client, name);

    err = err == GRANARY_OK ? granary_channel_create(cli->client, name, cli->self, &channel) : err;
    granary_channel_close(channel);
    return err == GRANARY_EEXIST
               ? gr_fail(err, "channel '%s': the name is taken: choose another, or use --if-not-exists", name)
               : err;
}

static granary_err
take_broadcast(void *target, char *text)
{
    (void)text;
    ((granary_channel_options *)target)->flags |= GRANARY_CHANNEL_BROADCAST;
    return GRANARY_OK;
}

static granary_err
take_open(void *target, char *text)
{
    (void)text;
    ((granary_channel_options *)target)->flags |= GRANARY_CHANNEL_OPEN;
    return GRANARY_OK;
}

static const struct gr_option create_options[] = {
    {"broadcast", 0, NULL, "each reader has every message; default: each message goes to one reader",
     GR_OPTION_TAKE(take_broadcast)},
    {"ring", 0, "SIZE", "room for the messages of one writer, a power of two; default: 1M",
     GR_OPTION_SIZE(granary_channel_options, ring_bytes, 4096)},
    {"objects", 0, "N", "of one writer that may wait; default: 64",
     GR_OPTION_NUMBER(granary_channel_options, objects, 1, 4096)},
    {"if-not-exists", 0, NULL, "succeed when there is such a channel", GR_OPTION_TAKE(take_open)},
    {0}};

static const struct command channel_create = {.options = create_options,
                                              .access = &access_storing,
                                              COMMAND_ZERO(granary_channel_options),
                                              .plain = true,
                                              .run = run_create};

/* ---- list, info ---- */

static const char *
show_kind(const void *row, char buffer[SHOW_TEXT])
{
    (void)buffer;
    return (((const granary_channel_info *)row)->flags & GRANARY_CHANNEL_BROADCAST) != 0 ? "broadcast" : "queue";
}

static void
write_kind(const void *row, struct json *json)
{
    json_text(json, "kind", show_kind(row, NULL));
}

static const struct column columns[] = {{"name", "name", -20, COLUMN(granary_channel_info, name)},
                                        {"kind", "kind", -9, .show = show_kind, .write = write_kind},
                                        {"messages", "messages", 12, COLUMN(granary_channel_info, messages)},
                                        {"waiting", "waiting", 12, COLUMN(granary_channel_info, waiting)},
                                        {"writers", "writers", 7, COLUMN(granary_channel_info, writers)},
                                        {"readers", "readers", 7, COLUMN(granary_channel_info, readers)},
                                        {"sealed", "sealed", -6, COLUMN(granary_channel_info, sealed)},
                                        {"ring_bytes", NULL, 0, COLUMN(granary_channel_info, ring_bytes)},
                                        {"id", "id", 0, COLUMN(granary_channel_info, id)},
                                        {0}};

static int
run_list(struct cli *cli)
{
    granary_channel_info *infos = NULL;
    size_t count = 0;
    granary_err err = granary_channel_list(cli->client, &infos, &count);

    if (err == GRANARY_OK) {
        listing_print(columns, cli->json, infos, count, sizeof *infos);
    }
    free(infos);
    return err;
}

static const struct command channel_list = {.access = &access_session, .run = run_list};

static int
run_info(struct cli *cli)
{
    granary_channel *channel = NULL;
    granary_channel_info info;
    granary_err err = channel_find(cli, &channel);

    err = err == GRANARY_OK ? granary_channel_describe(channel, &info) : err;
    if (err == GRANARY_OK) {
        listing_print(columns, cli->json, &info, 1, sizeof info);
    }
    granary_channel_close(channel);
    return err;
}

static const struct command channel_info = {.access = &access_session, .plain = true, .run = run_info};

/* ---- seal, forget, delete ---- */

static int
run_seal(struct cli *cli)
{
    granary_channel *channel = NULL;
    granary_err err = channel_find(cli, &channel);

    err = err == GRANARY_OK ? granary_channel_seal(channel) : err;
    granary_channel_close(channel);
    return err;
}

static const struct command channel_seal = {.access = &access_session, .plain = true, .run = run_seal};

static int
run_forget(struct cli *cli)
{
    granary_channel *channel = NULL;
    granary_err err = channel_find(cli, &channel);

    err = err == GRANARY_OK ? granary_channel_forget(channel, cli->arguments[1]) : err;
    granary_channel_close(channel);
    return err;
}

static const struct command channel_forget = {.access = &access_session, .plain = true, .run = run_forget};

static int
delete_channel(struct cli *cli, char *name)
{
    return granary_channel_delete(cli->client, name);
}

static const struct command channel_delete = {.access = &access_session, .plain = true, .each = delete_channel};

/* ---- all of them ---- */

static const struct command_row channel_rows[] = {
    {"create", "NAME", "make a channel",
     "Make a channel: a queue, or a broadcast."
     "\vEach writer has a ring of its own. When it is full, the writer waits for the slowest reader. Messages above a "
     "quarter of the ring become objects.\n\n"
     "Examples:\n"
     "  granary channel create jobs\n"
     "  granary channel create prices --broadcast --ring 16M",
     &channel_create},
    {"put", "NAME [TEXT...]", "put messages: texts, or the lines of stdin",
     "Put messages into a channel: each TEXT, or else each line of stdin."
     "\vExamples:\n"
     "  granary channel put jobs 'resize a.png' 'resize b.png'\n"
     "  granary channel put prices 'ACME 17.05'\n"
     "  ls | granary channel put jobs",
     &channel_put},
    {"get", "NAME", "print the next message",
     "Print the next message, each with a newline behind it, and wait for it."
     "\vA message of a queue goes to one reader. It is done when it was written: if stdout is closed, or the command "
     "is "
     "killed, another reader gets it. With --count other than 1 the command ends well when the channel is sealed.\n\n"
     "Examples:\n"
     "  granary channel get jobs\n"
     "  granary channel get prices --reader log --oldest",
     &channel_get},
    {"tail", "NAME", "print messages as they pass",
     "Print messages as they pass, without taking them from anybody. No writer waits for this command."
     "\vExample:\n"
     "  granary channel tail jobs --oldest --count 1",
     &channel_tail},
    {"seal", "NAME", "end all writing", "End all writing. Readers get what is there, and then the end.", &channel_seal},
    {"forget", "NAME READER", "give up a reader by its name",
     "Give up a reader of a broadcast by its name, and what waits for it. Writers do not wait for it any more.",
     &channel_forget},
    {"list", "", "list channels", "List the channels of the session.", &channel_list},
    {"info", "NAME", "describe a channel",
     "Describe a channel: how many messages were put, and how many wait for the slowest reader.", &channel_info},
    {"delete", "NAME...", "delete channels",
     "Delete channels with all that waits in them. Who has one open gets an error from now on.", &channel_delete},
    {0}};

const struct command command_channel = {.rows = channel_rows, .which = "which one?"};
