/* granary pins, leases, clients, sessions, segments: who holds what, from shared memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/look/look.h"
#include "cli/print/json.h"
#include "cli/print/show.h"

/* Commands that take nothing but the options of every look. */
static int
begin(struct look *look, struct cli *cli, const char *doc, int argc, char **argv)
{
    static const struct argp_child children[] = {{&look_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {.doc = doc, .children = children, .parser = NULL};

    *look = (struct look){.cli = cli};
    cli_parse(&argp, argc, argv, look);
    return look_open(look);
}

/* ---- pins ---- */

static const char *
kind_name(granary_hold_kind kind)
{
    static const char *const names[] = {[GRANARY_HOLD_PIN] = "pin",
                                        [GRANARY_HOLD_REFERENCE] = "reference",
                                        [GRANARY_HOLD_CONTAINER] = "container",
                                        [GRANARY_HOLD_NAME] = "name",
                                        [GRANARY_HOLD_LEASE] = "lease"};

    return (unsigned)kind < sizeof names / sizeof names[0] && names[kind] != NULL ? names[kind] : "?";
}

static const char *
scope_name(granary_pin_scope scope)
{
    return scope == GRANARY_PIN_CLIENT ? "client" : scope == GRANARY_PIN_SESSION ? "session" : "persistent";
}

static void
print_hold_json(struct json *json, const granary_hold *hold)
{
    json_open(json, NULL, '{');
    json_id(json, "id", hold->id);
    json_text(json, "kind", kind_name(hold->kind));
    json_unsigned(json, "token", hold->token);
    if (hold->kind == GRANARY_HOLD_PIN) {
        json_text(json, "scope", scope_name(hold->scope));
    }
    if (hold->kind == GRANARY_HOLD_CONTAINER) {
        json_id(json, "container", hold->container);
    }
    json_unsigned(json, "client", hold->client);
    json_unsigned(json, "pid", hold->pid);
    json_signed(json, "since_ms", hold->since_ms);
    json_text(json, "text", hold->text);
    json_close(json);
}

static void
print_hold(const granary_hold *hold)
{
    char id[GRANARY_ID_TEXT + 1];
    char container[GRANARY_ID_TEXT + 1] = "";
    char text[SHOW_TEXT];
    char age[32];

    granary_id_format(hold->id, id);
    if (hold->kind == GRANARY_HOLD_CONTAINER) {
        granary_id_format(hold->container, container);
    }
    (void)printf("%s  %-9s  %-10s  %6u  %7u  %8s  %s%s\n", id, kind_name(hold->kind),
                 hold->kind == GRANARY_HOLD_PIN ? scope_name(hold->scope) : "-", hold->client, hold->pid,
                 show_age(hold->since_ms, age), show_text(hold->text, text), container);
}

struct pins {
    struct look look;
    bool all;
    const char *id;
};

static error_t
parse_pins(int key, char *arg, struct argp_state *state)
{
    struct pins *pins = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &pins->look;
        return 0;
    case 'a':
        pins->all = true;
        return 0;
    case ARGP_KEY_ARG:
        if (pins->id != NULL) {
            argp_usage(state);
        }
        pins->id = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void
print_holds(const struct pins *pins, const granary_hold *holds, size_t count)
{
    struct json json = {0};

    if (pins->look.cli->json) {
        json_open(&json, NULL, '[');
    } else {
        (void)printf("%-32s  %-9s  %-10s  %6s  %7s  %8s  %s\n", "id", "kind", "scope", "client", "pid", "age", "why");
    }
    for (size_t i = 0; i < count; i++) {
        if (!pins->all && holds[i].kind != GRANARY_HOLD_PIN) {
            continue;
        }
        if (pins->look.cli->json) {
            print_hold_json(&json, &holds[i]);
        } else {
            print_hold(&holds[i]);
        }
    }
    if (pins->look.cli->json) {
        json_close(&json);
    }
}

int
command_pins(struct cli *cli, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"all", 'a', NULL, 0, "references, containers, names and counted leases too", 0}, {0}};
    static const struct argp_child children[] = {{&look_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options, parse_pins, "[ID]", "List what keeps objects in memory: pins, and by whom.", children, NULL, NULL};
    struct pins pins = {.look = {.cli = cli}};
    granary_hold *holds = NULL;
    size_t count = 0;
    granary_id id;
    bool there = true;
    int status;
    granary_err err;

    cli_parse(&argp, argc, argv, &pins);
    status = look_open(&pins.look);
    if (status != 0) {
        return status;
    }
    status = pins.id != NULL ? look_find(&pins.look, pins.id, &id) : look_session(&pins.look, &there);
    if (status == 0) {
        err = there ? granary_inspect_holds(pins.look.inspector, pins.look.session, pins.id != NULL ? &id : NULL,
                                            &holds, &count)
                    : GRANARY_OK;
        if (err != GRANARY_OK) {
            status = cli_fail(err, "pins");
        } else {
            print_holds(&pins, holds, count);
        }
    }
    free(holds);
    look_close(&pins.look);
    return status;
}

/* ---- leases ---- */

static void
print_leases(const struct cli *cli, const granary_lease_info *leases, size_t count)
{
    struct json json = {0};
    char id[GRANARY_ID_TEXT + 1];
    char text[SHOW_TEXT];

    if (cli->json) {
        json_open(&json, NULL, '[');
    } else {
        (void)printf("%-32s  %12s  %6s  %7s  %6s  %s\n", "id", "bytes", "client", "pid", "leases", "tag");
    }
    for (size_t i = 0; i < count; i++) {
        const granary_lease_info *lease = &leases[i];
        bool known = lease->bytes > 0 || memcmp(&lease->id, &(granary_id){{0}}, sizeof lease->id) != 0;

        granary_id_format(lease->id, id);
        if (cli->json) {
            json_open(&json, NULL, '{');
            if (known) {
                json_id(&json, "id", lease->id);
            }
            json_unsigned(&json, "serial", lease->serial);
            json_unsigned(&json, "bytes", lease->bytes);
            json_bool(&json, "deleted", lease->deleted);
            json_unsigned(&json, "session", lease->session);
            json_unsigned(&json, "client", lease->client);
            json_unsigned(&json, "pid", lease->pid);
            json_text(&json, "tag", lease->tag);
            json_unsigned(&json, "leases", lease->count);
            json_bool(&json, "counted", lease->counted);
            json_close(&json);
        } else {
            (void)printf("%-32s  %12" PRIu64 "  %6u  %7u  %6u  %s%s\n", known ? id : "(gone)", lease->bytes,
                         lease->client, lease->pid, lease->count, show_text(lease->tag, text),
                         lease->deleted ? "  (deleted)" : "");
        }
    }
    if (cli->json) {
        json_close(&json);
    }
}

int
command_leases(struct cli *cli, int argc, char **argv)
{
    struct look look;
    granary_lease_info *leases = NULL;
    size_t count = 0;
    granary_err err;
    int status = begin(&look, cli, "List which process leases which object.", argc, argv);

    if (status != 0) {
        return status;
    }
    err = granary_inspect_leases(look.inspector, NULL, &leases, &count);
    if (err != GRANARY_OK) {
        status = cli_fail(err, "leases");
    } else {
        print_leases(cli, leases, count);
    }
    free(leases);
    look_close(&look);
    return status;
}

/* ---- clients ---- */

static void
print_clients(const struct cli *cli, const granary_client_info *clients, size_t count)
{
    struct json json = {0};
    char text[SHOW_TEXT];
    char age[32];

    if (cli->json) {
        json_open(&json, NULL, '[');
    } else {
        (void)printf("%6s  %7s  %-24s  %7s  %8s  %8s  %8s  %7s  %s\n", "client", "pid", "tag", "session", "age",
                     "objects", "leases", "pending", "state");
    }
    for (size_t i = 0; i < count; i++) {
        const granary_client_info *client = &clients[i];

        if (cli->json) {
            json_open(&json, NULL, '{');
            json_unsigned(&json, "client", client->number);
            json_unsigned(&json, "session", client->session);
            json_unsigned(&json, "pid", client->pid);
            json_unsigned(&json, "uid", client->uid);
            json_text(&json, "tag", client->tag);
            json_signed(&json, "since_ms", client->since_ms);
            json_bool(&json, "alive", client->alive);
            json_bool(&json, "leaving", client->leaving);
            json_unsigned(&json, "leased_objects", client->leased_objects);
            json_unsigned(&json, "leases", client->leases);
            json_unsigned(&json, "ring_pending", client->ring_pending);
            json_unsigned(&json, "waiting", client->waiting);
            json_close(&json);
        } else {
            (void)printf("%6u  %7u  %-24s  %7u  %8s  %8" PRIu64 "  %8" PRIu64 "  %7" PRIu64 "  %s\n", client->number,
                         client->pid, show_text(client->tag, text), client->session, show_age(client->since_ms, age),
                         client->leased_objects, client->leases, client->ring_pending,
                         client->leaving ? "leaving"
                         : client->alive ? (client->waiting > 0 ? "waiting" : "alive")
                         : !client->page ? "no lease page"
                                         : "gone");
        }
    }
    if (cli->json) {
        json_close(&json);
    }
}

int
command_clients(struct cli *cli, int argc, char **argv)
{
    struct look look;
    granary_client_info *clients = NULL;
    size_t count = 0;
    granary_err err;
    int status = begin(&look, cli, "List the processes that are connected, and how much each leases.", argc, argv);

    if (status != 0) {
        return status;
    }
    err = granary_inspect_clients(look.inspector, &clients, &count);
    if (err != GRANARY_OK) {
        status = cli_fail(err, "clients");
    } else {
        print_clients(cli, clients, count);
    }
    free(clients);
    look_close(&look);
    return status;
}

/* ---- sessions ---- */

static const char *
session_state(granary_session_state state)
{
    return state == GRANARY_SESSION_SERVING    ? "serving"
           : state == GRANARY_SESSION_ADOPTING ? "adopting"
           : state == GRANARY_SESSION_CLOSED   ? "closed"
                                               : "?";
}

/* What `granary sessions` and `granary session list` print. */
static void
look_print_sessions(const struct cli *cli, const granary_inspect_session_info *sessions, size_t count)
{
    struct json json = {0};
    char text[SHOW_TEXT];
    char used[32];
    char quota[32];
    char age[32];

    if (cli->json) {
        json_open(&json, NULL, '[');
    } else {
        (void)printf("%7s  %-24s  %-8s  %7s  %10s  %10s  %8s  %s\n", "session", "name", "state", "clients", "memory",
                     "quota", "age", "flags");
    }
    for (size_t i = 0; i < count; i++) {
        const granary_inspect_session_info *session = &sessions[i];

        if (cli->json) {
            json_open(&json, NULL, '{');
            json_unsigned(&json, "session", session->number);
            json_text(&json, "name", session->name);
            json_text(&json, "state", session_state(session->state));
            json_unsigned(&json, "epoch", session->epoch);
            json_unsigned(&json, "uid", session->uid);
            json_bool(&json, "strict", session->strict);
            json_bool(&json, "shared", session->shared);
            json_unsigned(&json, "clients", session->clients);
            json_unsigned(&json, "used_bytes", session->used_bytes);
            json_unsigned(&json, "quota_bytes", session->quota_bytes);
            json_signed(&json, "idle_ms", session->idle_ms);
            json_signed(&json, "created_ms", session->created_ms);
            json_signed(&json, "last_used_ms", session->last_used_ms);
            json_unsigned(&json, "index_pages", session->pages);
            json_unsigned(&json, "index_bytes", session->index_bytes);
            json_unsigned(&json, "ledger_bytes", session->ledger_bytes);
            json_close(&json);
        } else {
            (void)printf(
                "%7u  %-24s  %-8s  %7u  %10s  %10s  %8s  %s%s\n", session->number, show_text(session->name, text),
                session_state(session->state), session->clients, cli_format_size(session->used_bytes, used),
                session->quota_bytes == 0 ? "-" : cli_format_size(session->quota_bytes, quota),
                show_age(session->created_ms, age), session->strict ? "strict " : "", session->shared ? "shared" : "");
        }
    }
    if (cli->json) {
        json_close(&json);
    }
}

int
command_sessions(struct cli *cli, int argc, char **argv)
{
    struct look look;
    granary_inspect_session_info *sessions = NULL;
    size_t count = 0;
    granary_err err;
    int status = begin(&look, cli, "List the sessions of the instance.", argc, argv);

    if (status != 0) {
        return status;
    }
    err = granary_inspect_sessions(look.inspector, &sessions, &count);
    if (err != GRANARY_OK) {
        status = cli_fail(err, "sessions");
    } else {
        look_print_sessions(cli, sessions, count);
    }
    free(sessions);
    look_close(&look);
    return status;
}

/* ---- segments ---- */

static void
print_segments(const struct cli *cli, const granary_segment_info *segments, size_t count)
{
    static const char *const states[] = {"?", "open", "closed", "idle"};
    struct json json = {0};

    if (cli->json) {
        json_open(&json, NULL, '[');
    } else {
        (void)printf("%8s  %7s  %-6s  %6s  %12s  %12s  %12s  %8s  %4s  %s\n", "segment", "session", "state", "writer",
                     "bytes", "resident", "live", "objects", "node", "flags");
    }
    for (size_t i = 0; i < count; i++) {
        const granary_segment_info *segment = &segments[i];
        const char *state = states[(unsigned)segment->state < 4 ? segment->state : 0];

        if (cli->json) {
            json_open(&json, NULL, '{');
            json_unsigned(&json, "segment", segment->number);
            json_unsigned(&json, "session", segment->session);
            json_text(&json, "state", state);
            json_unsigned(&json, "writer", segment->writer);
            json_unsigned(&json, "size_bytes", segment->size_bytes);
            json_unsigned(&json, "file_bytes", segment->file_bytes);
            json_unsigned(&json, "resident_bytes", segment->resident_bytes);
            json_unsigned(&json, "sealed_bytes", segment->sealed_bytes);
            json_unsigned(&json, "objects", segment->objects);
            json_unsigned(&json, "object_bytes", segment->object_bytes);
            json_unsigned(&json, "node", segment->node);
            json_bool(&json, "huge", segment->huge);
            json_bool(&json, "spoiled", segment->spoiled);
            json_signed(&json, "since_ms", segment->since_ms);
            json_close(&json);
        } else {
            (void)printf("%8u  %7u  %-6s  %6u  %12" PRIu64 "  %12" PRIu64 "  %12" PRIu64 "  %8" PRIu64 "  %4u  %s%s\n",
                         segment->number, segment->session, state, segment->writer, segment->size_bytes,
                         segment->resident_bytes, segment->object_bytes, segment->objects, segment->node,
                         segment->huge ? "huge " : "", segment->spoiled ? "spoiled" : "");
        }
    }
    if (cli->json) {
        json_close(&json);
    }
}

int
command_segments(struct cli *cli, int argc, char **argv)
{
    struct look look;
    granary_segment_info *segments = NULL;
    size_t count = 0;
    granary_err err;
    int status = begin(&look, cli, "List the data segments: their memory, and what lies in them.", argc, argv);

    if (status != 0) {
        return status;
    }
    err = granary_inspect_segments(look.inspector, &segments, &count);
    if (err != GRANARY_OK) {
        status = cli_fail(err, "segments");
    } else {
        print_segments(cli, segments, count);
    }
    free(segments);
    look_close(&look);
    return status;
}
