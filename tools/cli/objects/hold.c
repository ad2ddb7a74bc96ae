/* granary pin, unpin, ref, unref, name, names, alias: what keeps objects, and what they are called. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/arguments.h"
#include "cli/print/listing.h"
#include "granary/hold.h"

#define NAMES_PAGE 500u

/* ---- pins ---- */

struct pin {
    int scope; /* of "session|persistent" */
    const char *reason;
    bool tokens;
};

static granary_pin_scope
scope_of(const struct pin *pin)
{
    return pin->scope == 0 ? GRANARY_PIN_SESSION : GRANARY_PIN_PERSISTENT;
}

static int
pin_object(struct cli *cli, granary_id id)
{
    static const struct column columns[] = {
        {"id", NULL, 0, COLUMN(granary_hold, id)}, {"token", NULL, 0, COLUMN(granary_hold, token)}, {0}};
    const struct pin *pin = cli->self;
    granary_hold hold = {.id = id};
    granary_err err = granary_pin(cli->client, id, scope_of(pin), pin->reason, &hold.token);

    if (err == GRANARY_OK && cli->json) {
        listing_one(columns, true, &hold);
    }
    return err;
}

static const struct gr_option pin_options[] = {
    {"scope", 0, "SCOPE", "pin for the session (default), or persistent: across restarts, with a copy on disk",
     GR_OPTION_CHOICE(struct pin, scope, "session|persistent")},
    {"reason", 0, "TEXT", "remember why; listings show it", GR_OPTION_TEXT(struct pin, reason)},
    {0}};

const struct command command_pin = {
    .options = pin_options, .access = &access_session, COMMAND_ZERO(struct pin), .plain = true, .object = pin_object};

static int
unpin(struct cli *cli, char *argument)
{
    const struct pin *pin = cli->self;
    granary_id id;
    char *end;
    uint64_t token;
    int status;

    if (pin->tokens) {
        token = strtoull(argument, &end, 10);
        return *end == '\0'
                   ? granary_unpin(cli->client, token)
                   : gr_fail(GRANARY_EINVAL, "pin %s: a token is a number, as `pin --json` prints it", argument);
    }
    status = cli_find(cli->client, argument, &id);
    return status == 0 ? (int)granary_object_unpin(cli->client, id, scope_of(pin)) : status;
}

static const struct gr_option unpin_options[] = {
    {"scope", 0, "SCOPE", "remove a pin of the session (default), or a persistent one",
     GR_OPTION_CHOICE(struct pin, scope, "session|persistent")},
    {"token", 0, NULL, "take the arguments for tokens of pins, as `pin --json` prints them",
     GR_OPTION_FLAG(struct pin, tokens)},
    {0}};

const struct command command_unpin = {
    .options = unpin_options, .access = &access_session, COMMAND_ZERO(struct pin), .plain = true, .each = unpin};

/* ---- references ---- */

struct reference {
    const char *owner;
};

static const struct gr_option reference_options[] = {
    {"owner", 0, "OWNER", "name the owner; any text will do", GR_OPTION_TEXT(struct reference, owner)}, {0}};

static int
check_owner(struct cli *cli)
{
    if (((struct reference *)cli->self)->owner == NULL) {
        (void)fprintf(stderr, "granary: usage: %s --owner OWNER ID...\n", cli->usage_name);
        return 2;
    }
    return 0;
}

static int
ref_object(struct cli *cli, granary_id id)
{
    return granary_reference(cli->client, id, ((struct reference *)cli->self)->owner, NULL);
}

static int
unref_object(struct cli *cli, granary_id id)
{
    return granary_unreference(cli->client, id, ((struct reference *)cli->self)->owner);
}

#define REFERENCE_COMMAND(act)                                                                                         \
    {                                                                                                                  \
        .options = reference_options, .access = &access_session, COMMAND_ZERO(struct reference), .plain = true,        \
        .prepare = check_owner, .object = (act)                                                                        \
    }
const struct command command_ref = REFERENCE_COMMAND(ref_object);
const struct command command_unref = REFERENCE_COMMAND(unref_object);

/* ---- names ---- */

struct naming {
    const char *expect;
    bool drop;
};

/* Bind or drop. */
static int
set_name(struct cli *cli, const struct naming *naming)
{
    granary_name_expect expect = GRANARY_NAME_ANY;
    granary_id expected = {{0}};
    granary_id id = {{0}};
    int status = naming->drop ? 0 : cli_find(cli->client, cli->arguments[1], &id);

    if (status == 0 && naming->expect != NULL) {
        expect = strcmp(naming->expect, "new") == 0 ? GRANARY_NAME_NEW : GRANARY_NAME_ID;
        if (expect == GRANARY_NAME_ID) {
            status = cli_find(cli->client, naming->expect, &expected);
        }
    }
    return status == 0 ? (int)granary_name_set(cli->client, cli->arguments[0], id, expect, expected, NULL) : status;
}

static int
check_naming(struct cli *cli)
{
    if (((struct naming *)cli->self)->drop && cli->count == 2) {
        (void)fprintf(stderr, "granary: usage: %s --drop NAME\n", cli->usage_name);
        return 2;
    }
    return 0;
}

static int
run_name(struct cli *cli)
{
    const struct naming *naming = cli->self;
    granary_id id;
    granary_err err;

    if (naming->drop || cli->count == 2) {
        return set_name(cli, naming);
    }
    err = granary_name_get(cli->client, cli->arguments[0], &id);
    if (err == GRANARY_OK) {
        cli_print_id(cli, id);
    }
    return err;
}

static const struct gr_option name_options[] = {
    {"expect", 0, "ID|new", "bind only if the name is bound to this object now, or (new) to none",
     GR_OPTION_TEXT(struct naming, expect)},
    {"drop", 0, NULL, "remove the name from its object", GR_OPTION_FLAG(struct naming, drop)},
    {0}};

const struct command command_name = {.options = name_options,
                                     .access = &access_session,
                                     COMMAND_ZERO(struct naming),
                                     .plain = true,
                                     .prepare = check_naming,
                                     .run = run_name};

static const struct column name_columns[] = {{NULL, "", -32, COLUMN(granary_name, id)},
                                             {"name", "", 0, COLUMN(granary_name, name)},
                                             {"id", NULL, 0, COLUMN(granary_name, id)},
                                             {0}};

static int
run_names(struct cli *cli)
{
    granary_name *names = malloc(NAMES_PAGE * sizeof *names);
    granary_err err = names == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    char after[GRANARY_TEXT_MAX + 1] = "";
    struct listing listing;
    size_t count = NAMES_PAGE;

    listing_begin(&listing, name_columns, cli->json);
    while (err == GRANARY_OK && count == NAMES_PAGE) {
        err = granary_name_list(cli->client, after, names, NAMES_PAGE, &count);
        for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
            listing_row(&listing, &names[i]);
        }
        if (count == NAMES_PAGE) {
            memcpy(after, names[NAMES_PAGE - 1].name, sizeof after);
        }
    }
    listing_end(&listing);
    free(names);
    return err;
}

const struct command command_names = {.access = &access_session, .run = run_names};

/* ---- aliases ---- */

struct alias {
    granary_id alias;
};

static int
read_alias(struct cli *cli)
{
    granary_err err = arguments_id(cli->arguments[0], &((struct alias *)cli->self)->alias);

    return err == GRANARY_OK ? 0 : cli_fail(err, "alias");
}

static int
run_alias(struct cli *cli)
{
    granary_id id;
    int status = cli_find(cli->client, cli->arguments[1], &id);

    return status == 0 ? (int)granary_alias(cli->client, ((struct alias *)cli->self)->alias, id) : status;
}

const struct command command_alias = {
    .access = &access_session, COMMAND_ZERO(struct alias), .plain = true, .prepare = read_alias, .run = run_alias};
