/* granary session create|has|delete|weight|list. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/size.h"
#include "cli/command/cli.h"
#include "granary/graph.h"
#include "granary/session.h"
#include "object/object.h"

enum { KEY_QUOTA = 0x5000, KEY_IDLE, KEY_STRICT, KEY_SHARED, KEY_IF_NOT_EXIST, KEY_IF_EXIST };

struct session {
    struct cli *cli;
    granary_session_options options;
    bool if_exist;
    const char *verb;
    const char *name;
    uint32_t weight; /* 0: not given */
};

static error_t
parse_session(int key, char *arg, struct argp_state *state)
{
    struct session *session = state->input;
    uint64_t ns = 0;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = session->cli;
        return 0;
    case KEY_QUOTA:
        if (gr_size_parse(arg, &session->options.quota_bytes) != GRANARY_OK) {
            argp_error(state, "--quota: %s", granary_error_message());
        }
        return 0;
    case KEY_IDLE:
        if (gr_duration_parse(arg, &ns) != GRANARY_OK) {
            argp_error(state, "--idle: %s", granary_error_message());
        }
        session->options.idle_ms = (int64_t)(ns / 1000000);
        return 0;
    case KEY_STRICT:
        session->options.strict = true;
        return 0;
    case KEY_SHARED:
        session->options.shared = true;
        return 0;
    case KEY_IF_NOT_EXIST:
        session->options.if_not_exist = true;
        return 0;
    case KEY_IF_EXIST:
        session->if_exist = true;
        return 0;
    case ARGP_KEY_ARG:
        if (session->verb == NULL) {
            session->verb = arg;
        } else if (session->name == NULL) {
            session->name = arg;
        } else if (session->weight == 0 && strcmp(session->verb, "weight") == 0) {
            char *end;
            unsigned long weight = strtoul(arg, &end, 10);

            if (*end != '\0' || weight < 1 || weight > 1000) {
                argp_error(state, "weight: '%s' is no number from 1 to 1000; 100 is everybody's", arg);
            }
            session->weight = (uint32_t)weight;
        } else {
            argp_usage(state);
        }
        return 0;
    case ARGP_KEY_END:
        if (session->verb == NULL) {
            argp_error(state, "what with a session? create, has, delete, weight or list");
        } else if (strcmp(session->verb, "weight") == 0 && session->weight == 0) {
            argp_error(state, "weight: which? A number from 1 to 1000; 100 is everybody's");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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
    bool there;
    granary_err err = granary_session_has(client, session->name, &there);

    if (err != GRANARY_OK) {
        return cli_fail_plain(err);
    }
    if (session->cli->json) {
        (void)printf("{\"there\": %s}\n", there ? "true" : "false");
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
    granary_err err = granary_session_weight(client, session->name, session->weight);

    return err == GRANARY_OK ? 0 : cli_fail_plain(err);
}

static const struct {
    const char *verb;
    int (*run)(struct session *session, granary_client *client);
} verbs[] = {{"create", session_create}, {"has", session_has}, {"delete", session_delete}, {"weight", session_weight}};

int
command_session(struct cli *cli, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"quota", KEY_QUOTA, "SIZE", 0, "create: most memory its objects may take; default: the store's budget", 0},
        {"idle", KEY_IDLE, "DURATION", 0, "create: it is deleted when it had no client for so long; default: never", 0},
        {"strict", KEY_STRICT, NULL, 0, "create: an object is sealed only when nobody can write it any more", 0},
        {"shared", KEY_SHARED, NULL, 0, "create: other users whom the instance admits may use it", 0},
        {"if-not-exist", KEY_IF_NOT_EXIST, NULL, 0, "create: one that is there with these settings is fine", 0},
        {"if-exist", KEY_IF_EXIST, NULL, 0, "delete: one that is not there is fine", 0},
        {0},
    };
    static const struct argp_child children[] = {{&cli_common_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options,
        parse_session,
        "create|has|delete NAME\nweight NAME N\nlist",
        "Make, look for, delete or list sessions: each has objects, index, memory and quota "
        "of its own. `has` exits with status 4 when it is not there. `weight` is a session's share of "
        "the executors beside others: from 1 to 1000, 100 is everybody's.",
        children,
        NULL,
        NULL};
    static char list[] = "sessions";
    struct session session = {.cli = cli};
    granary_client *client;
    int status = 0;

    cli_parse(&argp, argc, argv, &session);
    if (strcmp(session.verb, "list") == 0 && session.name == NULL) {
        char *arguments[] = {list, NULL};

        return command_sessions(cli, 1, arguments);
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(session.verb, verbs[i].verb) == 0 && session.name != NULL) {
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
