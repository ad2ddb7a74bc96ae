/* granary pin, unpin, ref, unref, name, names, alias: what keeps objects, and what they are called. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/arguments.h"
#include "cli/print/json.h"
#include "cli/print/show.h"
#include "granary/hold.h"

#define NAMES_PAGE 500u

struct hold {
    struct cli *cli;
    const char *scope; /* "session" or "persistent" */
    const char *reason;
    int first; /* argument */
    bool tokens;
    const char *owner;
    const char *expect;
    bool drop;
};

static granary_pin_scope
scope_of(const struct hold *hold)
{
    return strcmp(hold->scope, "session") == 0 ? GRANARY_PIN_SESSION : GRANARY_PIN_PERSISTENT;
}

/* Do one thing to each argument; goes on after a failure and returns the first one's status. */
static int
for_each(const struct hold *hold, int argc, char **argv,
         int (*act)(granary_client *client, const struct hold *hold, const char *argument))
{
    int status = 0;
    granary_client *client = cli_connect_existing(hold->cli, &status);

    for (int i = hold->first; client != NULL && i < argc; i++) {
        int one = act(client, hold, argv[i]);

        status = status == 0 ? one : status;
    }
    granary_disconnect(client);
    return status;
}

static int
pin(granary_client *client, const struct hold *hold, const char *argument)
{
    struct json json = {0};
    granary_id id;
    uint64_t token;
    granary_err err;
    int status = cli_find(client, argument, &id);

    if (status != 0) {
        return status;
    }
    err = granary_pin(client, id, scope_of(hold), hold->reason, &token);
    if (err != GRANARY_OK) {
        return cli_fail_plain(err);
    }
    if (hold->cli->json) {
        json_open(&json, NULL, '{');
        json_id(&json, "id", id);
        json_unsigned(&json, "token", token);
        json_close(&json);
    }
    return 0;
}

static int
unpin(granary_client *client, const struct hold *hold, const char *argument)
{
    granary_id id;
    char *end;
    uint64_t token;
    granary_err err;
    int status;

    if (hold->tokens) {
        token = strtoull(argument, &end, 10);
        err = *end == '\0'
                  ? granary_unpin(client, token)
                  : gr_fail(GRANARY_EINVAL, "pin %s: a token is a number, as `pin --json` prints it", argument);
        return err == GRANARY_OK ? 0 : cli_fail_plain(err);
    }
    status = cli_find(client, argument, &id);
    if (status != 0) {
        return status;
    }
    err = granary_object_unpin(client, id, scope_of(hold));
    return err == GRANARY_OK ? 0 : cli_fail_plain(err);
}

int
command_pin(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"scope", 0, "SCOPE", "session (default), or persistent: also kept on disk",
         GR_OPTION_CHOICE(struct hold, scope, "session|persistent")},
        {"reason", 0, "TEXT", "why; listings show it", GR_OPTION_TEXT(struct hold, reason)},
        {0}};
    static const struct arguments arguments = {.options = options,
                                               .usage = "ID...",
                                               .doc = "Keep objects in memory until they are unpinned. Pins count.",
                                               .least = 1,
                                               .most = ARGUMENTS_MANY};
    struct hold hold = {.cli = cli, .scope = "session"};

    hold.first = arguments_read(&arguments, &hold, cli, argc, argv);
    return for_each(&hold, argc, argv, pin);
}

int
command_unpin(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"scope", 0, "SCOPE", "session (default), or persistent",
         GR_OPTION_CHOICE(struct hold, scope, "session|persistent")},
        {"token", 0, NULL, "the arguments are tokens of pins", GR_OPTION_FLAG(struct hold, tokens)},
        {0}};
    static const struct arguments arguments = {.options = options,
                                               .usage = "ID...",
                                               .doc = "Remove one pin from each object.",
                                               .least = 1,
                                               .most = ARGUMENTS_MANY};
    struct hold hold = {.cli = cli, .scope = "session"};

    hold.first = arguments_read(&arguments, &hold, cli, argc, argv);
    return for_each(&hold, argc, argv, unpin);
}

static int
ref(granary_client *client, const struct hold *hold, const char *argument)
{
    granary_id id;
    granary_err err;
    int status = cli_find(client, argument, &id);

    if (status != 0) {
        return status;
    }
    err = granary_reference(client, id, hold->owner, NULL);
    return err == GRANARY_OK ? 0 : cli_fail_plain(err);
}

static int
unref(granary_client *client, const struct hold *hold, const char *argument)
{
    granary_id id;
    granary_err err;
    int status = cli_find(client, argument, &id);

    if (status != 0) {
        return status;
    }
    err = granary_unreference(client, id, hold->owner);
    return err == GRANARY_OK ? 0 : cli_fail_plain(err);
}

static int
for_each_of_owner(struct cli *cli, int argc, char **argv, const char *doc,
                  int (*act)(granary_client *client, const struct hold *hold, const char *argument))
{
    static const struct gr_option options[] = {
        {"owner", 0, "OWNER", "for whom: any text", GR_OPTION_TEXT(struct hold, owner)}, {0}};
    const struct arguments arguments = {
        .options = options, .usage = "ID...", .doc = doc, .least = 1, .most = ARGUMENTS_MANY};
    struct hold hold = {.cli = cli};

    hold.first = arguments_read(&arguments, &hold, cli, argc, argv);
    if (hold.owner == NULL) {
        (void)fprintf(stderr, "granary: usage: %s --owner OWNER ID...\n", argv[0]);
        return 2;
    }
    return for_each(&hold, argc, argv, act);
}

int
command_ref(struct cli *cli, int argc, char **argv)
{
    return for_each_of_owner(cli, argc, argv,
                             "Keep objects for an owner: deleted, they stay until their last reference ends.", ref);
}

int
command_unref(struct cli *cli, int argc, char **argv)
{
    return for_each_of_owner(cli, argc, argv, "Remove one reference of the owner from each object.", unref);
}

/* Bind or drop. */
static int
set_name(granary_client *client, const struct hold *hold, const char *name, const char *argument)
{
    granary_name_expect expect = GRANARY_NAME_ANY;
    granary_id expected = {{0}};
    granary_id id = {{0}};
    granary_err err;
    int status = argument == NULL ? 0 : cli_find(client, argument, &id);

    if (status == 0 && hold->expect != NULL) {
        expect = strcmp(hold->expect, "new") == 0 ? GRANARY_NAME_NEW : GRANARY_NAME_ID;
        if (expect == GRANARY_NAME_ID) {
            status = cli_find(client, hold->expect, &expected);
        }
    }
    if (status != 0) {
        return status;
    }
    err = granary_name_set(client, name, id, expect, expected, NULL);
    return err == GRANARY_OK ? 0 : cli_fail_plain(err);
}

int
command_name(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"expect", 0, "ID|new", "only if it is bound to that object now, or to none",
         GR_OPTION_TEXT(struct hold, expect)},
        {"drop", 0, NULL, "take the name away from its object", GR_OPTION_FLAG(struct hold, drop)},
        {0}};
    static const struct arguments arguments = {
        .options = options,
        .usage = "NAME [ID]",
        .doc =
            "Bind a name to an object, in one step for everybody; without an ID, print the one it is bound to. Where "
            "an ID is expected, name:NAME stands for it.",
        .least = 1,
        .most = 2};
    struct hold hold = {.cli = cli};
    int first = arguments_read(&arguments, &hold, cli, argc, argv);
    granary_client *client;
    granary_id id;
    granary_err err;
    int status = 0;

    if (hold.drop && argc - first == 2) {
        (void)fprintf(stderr, "granary: usage: %s --drop NAME\n", argv[0]);
        return 2;
    }
    client = cli_connect_existing(cli, &status);
    if (client != NULL && (hold.drop || argc - first == 2)) {
        status = set_name(client, &hold, argv[first], hold.drop ? NULL : argv[first + 1]);
    } else if (client != NULL) {
        err = granary_name_get(client, argv[first], &id);
        if (err == GRANARY_OK) {
            cli_print_id(cli, id);
        } else {
            status = cli_fail_plain(err);
        }
    }
    granary_disconnect(client);
    return status;
}

static void
print_name(const granary_name *name, struct json *json)
{
    char text[GRANARY_ID_TEXT + 1];
    char shown[SHOW_TEXT];

    if (json != NULL) {
        json_open(json, NULL, '{');
        json_text(json, "name", name->name);
        json_id(json, "id", name->id);
        json_close(json);
        return;
    }
    granary_id_format(name->id, text);
    (void)printf("%s  %s\n", text, show_text(name->name, shown));
}

int
command_names(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {
        .doc = "List names in the order of their bytes, with the ids they are bound to."};
    struct json json = {0};
    granary_name *names = malloc(NAMES_PAGE * sizeof *names);
    granary_err err = names == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    granary_client *client;
    size_t count = NAMES_PAGE;
    size_t shown = 0;
    int status = 0;

    (void)arguments_read(&arguments, NULL, cli, argc, argv);
    client = cli_connect_existing(cli, &status);
    if (client != NULL && cli->json) {
        json_open(&json, NULL, '[');
    }
    while (client != NULL && err == GRANARY_OK && count == NAMES_PAGE) {
        char after[GRANARY_TEXT_MAX + 1] = "";

        if (shown > 0) {
            memcpy(after, names[NAMES_PAGE - 1].name, sizeof after);
        }
        err = granary_name_list(client, after, names, NAMES_PAGE, &count);
        for (size_t i = 0; err == GRANARY_OK && i < count; i++, shown++) {
            print_name(&names[i], cli->json ? &json : NULL);
        }
    }
    if (client != NULL && cli->json) {
        json_close(&json);
    }
    if (err != GRANARY_OK) {
        status = cli_fail(err, "names");
    }
    granary_disconnect(client);
    free(names);
    return status;
}

int
command_alias(struct cli *cli, int argc, char **argv)
{
    static const struct arguments arguments = {
        .usage = "ALIAS ID", .doc = "Let ALIAS (32 hex digits) stand for the object ID.", .least = 2, .most = 2};
    int first = arguments_read(&arguments, NULL, cli, argc, argv);
    granary_client *client;
    granary_id alias, id;
    granary_err err;
    int status = 0;

    err = arguments_id(argv[first], &alias);
    if (err != GRANARY_OK) {
        return cli_fail(err, "alias");
    }
    client = cli_connect_existing(cli, &status);
    if (client != NULL && (status = cli_find(client, argv[first + 1], &id)) == 0) {
        err = granary_alias(client, alias, id);
        status = err == GRANARY_OK ? 0 : cli_fail_plain(err);
    }
    granary_disconnect(client);
    return status;
}
