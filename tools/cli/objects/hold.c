/* granary pin, unpin, ref, unref, name, names, alias: what keeps objects, and what they are called. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/arguments.h"
#include "cli/print/json.h"
#include "cli/print/show.h"
#include "granary/hold.h"

enum { KEY_SCOPE = 0x4000, KEY_REASON, KEY_TOKEN, KEY_OWNER, KEY_EXPECT, KEY_DROP };

#define NAMES_PAGE 500u

struct hold {
    struct arguments arguments;
    granary_pin_scope scope;
    const char *reason;
    bool tokens;
    const char *owner;
    const char *expect;
    bool drop;
};

static error_t
parse_hold(int key, char *arg, struct argp_state *state)
{
    struct hold *hold = state->input;

    switch (key) {
    case KEY_SCOPE:
        if (strcmp(arg, "session") != 0 && strcmp(arg, "persistent") != 0) {
            argp_error(state, "--scope %s: session or persistent", arg);
        }
        hold->scope = arg[0] == 's' ? GRANARY_PIN_SESSION : GRANARY_PIN_PERSISTENT;
        return 0;
    case KEY_REASON:
        hold->reason = arg;
        return 0;
    case KEY_TOKEN:
        hold->tokens = true;
        return 0;
    case KEY_OWNER:
        hold->owner = arg;
        return 0;
    case KEY_EXPECT:
        hold->expect = arg;
        return 0;
    case KEY_DROP:
        hold->drop = true;
        return 0;
    default:
        return arguments_key(key, state);
    }
}

/* Do one thing to each argument; goes on after a failure and returns the first one's status. */
static int
for_each(const struct hold *hold, int argc, char **argv,
         int (*act)(granary_client *client, const struct hold *hold, const char *argument))
{
    int status = 0;
    granary_client *client = cli_connect_existing(hold->arguments.cli, &status);

    for (int i = hold->arguments.first; client != NULL && i < argc; i++) {
        int one = act(client, hold, argv[i]);

        status = status == 0 ? one : status;
    }
    granary_disconnect(client);
    return status;
}

static int
pin(granary_client *client, const struct hold *hold, const char *argument)
{
    char text[GRANARY_ID_TEXT + 1];
    granary_id id;
    uint64_t token;
    granary_err err;
    int status = cli_find(client, argument, &id);

    if (status != 0) {
        return status;
    }
    err = granary_pin(client, id, hold->scope, hold->reason, &token);
    if (err != GRANARY_OK) {
        return cli_fail_plain(err);
    }
    if (hold->arguments.cli->json) {
        granary_id_format(id, text);
        (void)printf("{\"id\": \"%s\", \"token\": %" PRIu64 "}\n", text, token);
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
    err = granary_object_unpin(client, id, hold->scope);
    return err == GRANARY_OK ? 0 : cli_fail_plain(err);
}

int
command_pin(struct cli *cli, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"scope", KEY_SCOPE, "SCOPE", 0, "session (default), or persistent: also kept on disk", 0},
        {"reason", KEY_REASON, "TEXT", 0, "what for; listings show it", 0},
        {0},
    };
    struct hold hold = {.arguments = {.cli = cli}, .scope = GRANARY_PIN_SESSION};

    (void)arguments_read(options, parse_hold, "ID...", "Keep objects in memory until they are unpinned. Pins count.", 1,
                         ARGUMENTS_MANY, argc, argv, &hold.arguments);
    return for_each(&hold, argc, argv, pin);
}

int
command_unpin(struct cli *cli, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"scope", KEY_SCOPE, "SCOPE", 0, "session (default), or persistent", 0},
        {"token", KEY_TOKEN, NULL, 0, "the arguments are tokens of pins", 0},
        {0},
    };
    struct hold hold = {.arguments = {.cli = cli}, .scope = GRANARY_PIN_SESSION};

    (void)arguments_read(options, parse_hold, "ID...", "Take one pin of each object back.", 1, ARGUMENTS_MANY, argc,
                         argv, &hold.arguments);
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
    static const struct argp_option options[] = {{"owner", KEY_OWNER, "OWNER", 0, "for whom: any text", 0}, {0}};
    struct hold hold = {.arguments = {.cli = cli}};

    (void)arguments_read(options, parse_hold, "ID...", doc, 1, ARGUMENTS_MANY, argc, argv, &hold.arguments);
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
    return for_each_of_owner(cli, argc, argv, "Take one reference of the owner to each object back.", unref);
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
    static const struct argp_option options[] = {
        {"expect", KEY_EXPECT, "ID|new", 0, "only if it is bound to that object now, or to none", 0},
        {"drop", KEY_DROP, NULL, 0, "it is no object's name any more", 0},
        {0},
    };
    struct hold hold = {.arguments = {.cli = cli}};
    granary_client *client;
    granary_id id;
    granary_err err;
    int status = 0;

    (void)arguments_read(
        options, parse_hold, "NAME [ID]",
        "Bind a name to an object, in one step for everybody; without an ID, print the one it is bound to. Where "
        "an ID is expected, name:NAME stands for it.",
        1, 2, argc, argv, &hold.arguments);
    if (hold.drop && argc - hold.arguments.first == 2) {
        (void)fprintf(stderr, "granary: usage: %s --drop NAME\n", argv[0]);
        return 2;
    }
    client = cli_connect_existing(cli, &status);
    if (client != NULL && (hold.drop || argc - hold.arguments.first == 2)) {
        status = set_name(client, &hold, argv[hold.arguments.first], hold.drop ? NULL : argv[hold.arguments.first + 1]);
    } else if (client != NULL) {
        err = granary_name_get(client, argv[hold.arguments.first], &id);
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
    struct hold hold = {.arguments = {.cli = cli}};
    struct json json = {0};
    granary_name *names = malloc(NAMES_PAGE * sizeof *names);
    granary_err err = names == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    granary_client *client;
    size_t count = NAMES_PAGE;
    size_t shown = 0;
    int status = 0;

    (void)arguments_read(NULL, parse_hold, "",
                         "List names in the order of their bytes, with the ids they are bound to.", 0, 0, argc, argv,
                         &hold.arguments);
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
    struct hold hold = {.arguments = {.cli = cli}};
    granary_client *client;
    granary_id alias, id;
    granary_err err;
    int status = 0;

    (void)arguments_read(NULL, parse_hold, "ALIAS ID", "Let ALIAS (32 hex digits) stand for the object ID.", 2, 2, argc,
                         argv, &hold.arguments);
    err = granary_id_parse(argv[hold.arguments.first], strlen(argv[hold.arguments.first]), &alias);
    if (err != GRANARY_OK) {
        return cli_fail(err, "alias");
    }
    client = cli_connect_existing(cli, &status);
    if (client != NULL && (status = cli_find(client, argv[hold.arguments.first + 1], &id)) == 0) {
        err = granary_alias(client, alias, id);
        status = err == GRANARY_OK ? 0 : cli_fail_plain(err);
    }
    granary_disconnect(client);
    return status;
}
