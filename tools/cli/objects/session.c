/* granary session create|has|delete|weight|list. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/arguments.h"
#include "cli/print/json.h"
#include "granary/graph.h"
#include "granary/session.h"
#include "object/object.h"

struct session {
    struct cli *cli;
    granary_session_options options;
    bool if_exist;
    const char *verb;
    const char *name;
    int64_t weight;
};

static int
session_create(struct session *session, granary_client *client)
{
    granary_err err = granary_session_create(client, session->name, &session->options);

    return err == GRANARY_OK ? 0 : cli_fail_plain(err);
}

/* Exit status 4 when it is not there. */
static int
session_has(struct session *session, granary_client *client)
{
    struct json json = {0};
    bool there;
    granary_err err = granary_session_has(client, session->name, &there);

    if (err != GRANARY_OK) {
        return cli_fail_plain(err);
    }
    if (session->cli->json) {
        json_open(&json, NULL, '{');
        json_bool(&json, "there", there);
        json_close(&json);
    } else {
        (void)printf("%s\n", there ? "yes" : "no");
    }
    return there ? 0 : granary_error_exit_status(GRANARY_ENOENT);
}

/* Its graphs first, so that nothing of them runs into the end of the session. A store alone has none. */
static int
session_delete(struct session *session, granary_client *client)
{
    bool there = false;
    granary_err err = granary_session_has(client, session->name, &there);

    if (err == GRANARY_OK && there && strcmp(session->name, gr_client_session(client)) != 0) {
        err = granary_graph_delete_all(client, session->name, NULL);
        err = err == GRANARY_EUNREACHABLE ? GRANARY_OK : err;
    }
    if (err == GRANARY_OK) {
        err = granary_session_delete(client, session->name, session->if_exist);
    }
    return err == GRANARY_OK ? 0 : cli_fail_plain(err);
}

static int
session_weight(struct session *session, granary_client *client)
{
    granary_err err = granary_session_weight(client, session->name, (uint32_t)session->weight);

    return err == GRANARY_OK ? 0 : cli_fail_plain(err);
}

static const struct {
    const char *verb;
    int (*run)(struct session *session, granary_client *client);
} verbs[] = {{"create", session_create}, {"has", session_has}, {"delete", session_delete}, {"weight", session_weight}};

int
command_session(struct cli *cli, int argc, char **argv)
{
    static const struct gr_option options[] = {
        {"quota", 0, "SIZE", "create: most memory its objects may take; default: the store's budget",
         GR_OPTION_SIZE(struct session, options.quota_bytes, 0)},
        {"idle", 0, "DURATION", "create: it is deleted when it had no client for so long; default: never",
         GR_OPTION_MS(struct session, options.idle_ms)},
        {"strict", 0, NULL, "create: an object is sealed only when nobody can write it any more",
         GR_OPTION_FLAG(struct session, options.strict)},
        {"shared", 0, NULL, "create: other users whom the instance admits may use it",
         GR_OPTION_FLAG(struct session, options.shared)},
        {"if-not-exist", 0, NULL, "create: one that is there with these settings is fine",
         GR_OPTION_FLAG(struct session, options.if_not_exist)},
        {"if-exist", 0, NULL, "delete: one that is not there is fine", GR_OPTION_FLAG(struct session, if_exist)},
        {0}};
    static const struct arguments arguments = {
        .options = options,
        .usage = "create|has|delete NAME\nweight NAME N\nlist",
        .doc = "Make, look for, delete or list sessions: each has objects, index, memory and quota "
               "of its own. `has` exits with status 4 when it is not there. `weight` is a session's share of "
               "the executors beside others: from 1 to 1000, 100 is everybody's.",
        .least = 1,
        .most = 3};
    static char list[] = "sessions";
    struct session session = {.cli = cli};
    int first = arguments_read(&arguments, &session, cli, argc, argv);
    bool is_weight = strcmp(argv[first], "weight") == 0;
    granary_client *client;
    int status = 0;

    session.verb = argv[first];
    session.name = argc - first > 1 ? argv[first + 1] : NULL;
    if (is_weight && (argc - first < 3 || gr_option_number(argv[first + 2], 1, 1000, &session.weight) != GRANARY_OK)) {
        return cli_fail(gr_fail(GRANARY_EINVAL, "weight: a number from 1 to 1000 is expected; 100 is everybody's"),
                        "session");
    }
    if (strcmp(session.verb, "list") == 0 && session.name == NULL) {
        char *words[] = {list, NULL};

        return command_sessions(cli, 1, words);
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(session.verb, verbs[i].verb) == 0 && argc - first == (is_weight ? 3 : 2)) {
            client = cli_connect_existing(cli, &status);
            status = client == NULL ? status : verbs[i].run(&session, client);
            granary_disconnect(client);
            return status;
        }
    }
    (void)fprintf(
        stderr, "granary: session: create, has, delete or weight NAME, or list: `granary session --help` tells more\n");
    return 2;
}
