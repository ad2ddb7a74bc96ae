/* granary session create|has|delete|weight|list. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/command.h"
#include "cli/print/listing.h"
#include "granary/graph.h"
#include "granary/session.h"
#include "object/object.h"

struct session {
    granary_session_options options;
    bool if_exist;
    const char *name;
    int64_t weight;
};

static int
create_session(struct cli *cli, const struct session *session)
{
    return granary_session_create(cli->client, session->name, &session->options);
}

/* Exit status 4 when it is not there. */
static int
has_session(struct cli *cli, const struct session *session)
{
    static const struct column columns[] = {{"there", "", 0, .kind = COLUMN_BOOL, .size = sizeof(bool)}, {0}};
    bool there;
    granary_err err = granary_session_has(cli->client, session->name, &there);

    if (err != GRANARY_OK) {
        return err;
    }
    listing_one(columns, cli->json, &there);
    return there ? 0 : granary_error_exit_status(GRANARY_ENOENT);
}

/* Its graphs first, so that nothing of them runs into the end of the session. A store alone has none. */
static int
delete_session(struct cli *cli, const struct session *session)
{
    bool there = false;
    granary_err err = granary_session_has(cli->client, session->name, &there);

    if (err == GRANARY_OK && there && strcmp(session->name, gr_client_session(cli->client)) != 0) {
        err = granary_graph_delete_all(cli->client, session->name, NULL);
        err = err == GRANARY_EUNREACHABLE ? GRANARY_OK : err;
    }
    return err == GRANARY_OK ? granary_session_delete(cli->client, session->name, session->if_exist) : err;
}

static int
weigh_session(struct cli *cli, const struct session *session)
{
    return granary_session_weight(cli->client, session->name, (uint32_t)session->weight);
}

static const struct {
    const char *verb;
    int (*run)(struct cli *cli, const struct session *session);
    int arguments;
} verbs[] = {{"create", create_session, 2},
             {"has", has_session, 2},
             {"delete", delete_session, 2},
             {"weight", weigh_session, 3}};

static int
run_session(struct cli *cli)
{
    struct session *session = cli->self;
    const char *verb = cli->arguments[0];
    int status = 0;

    if (strcmp(verb, "weight") == 0 &&
        (cli->count < 3 || gr_option_number(cli->arguments[2], 1, 1000, &session->weight) != GRANARY_OK)) {
        return cli_fail(gr_fail(GRANARY_EINVAL, "weight: a number from 1 to 1000 is expected; 100 is everybody's"),
                        "session");
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verb, verbs[i].verb) == 0 && cli->count == verbs[i].arguments) {
            session->name = cli->arguments[1];
            status = cli_connect_existing(cli);
            status = status == 0 ? verbs[i].run(cli, session) : status;
            cli_disconnect(cli);
            return status;
        }
    }
    (void)fprintf(
        stderr, "granary: session: create, has, delete or weight NAME, or list: `granary session --help` tells more\n");
    return 2;
}

static const struct gr_option session_options[] = {
    {"quota", 0, "SIZE", "create: limit the memory of its objects; default: the store's budget",
     GR_OPTION_SIZE(struct session, options.quota_bytes, 0)},
    {"idle", 0, "DURATION", "create: delete it when it had no client for this time; default: never",
     GR_OPTION_MS(struct session, options.idle_ms)},
    {"strict", 0, NULL, "create: seal an object only when nobody can write it any more",
     GR_OPTION_FLAG(struct session, options.strict)},
    {"shared", 0, NULL, "create: let other users of the instance use it",
     GR_OPTION_FLAG(struct session, options.shared)},
    {"if-not-exist", 0, NULL, "create: succeed when a session with these settings exists",
     GR_OPTION_FLAG(struct session, options.if_not_exist)},
    {"if-exist", 0, NULL, "delete: succeed when the session does not exist", GR_OPTION_FLAG(struct session, if_exist)},
    {0}};

static const struct command_row session_rows[] = {{.name = "list", .command = &command_sessions}, {0}};

const struct command command_session = {
    .options = session_options, COMMAND_ZERO(struct session), .plain = true, .run = run_session, .rows = session_rows};
