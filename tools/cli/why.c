/*
 * granary why: a sentence for each fact that explains where an object is, why it is there still, or what became of it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "json.h"
#include "look.h"
#include "scheduler.h"

#define BATCH      1024
#define ALIAS_HOPS 8

struct why {
    struct look look;
    const char *text; /* what was asked for */
    struct json json;
    bool begun;
    unsigned hops; /* from alias to alias */
};

/* ---- printing facts ---- */

/* code: the kind of fact, the same in every version. */
static void fact(struct why *why, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void
fact(struct why *why, const char *code, const char *format, ...)
{
    char sentence[LOOK_TEXT];
    char shown[LOOK_TEXT];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (why->look.cli->json) {
        json_open(&why->json, NULL, '{');
        json_text(&why->json, "code", code);
        json_text(&why->json, "text", sentence);
        json_close(&why->json);
    } else {
        (void)printf("%s%s\n", why->begun ? "  " : "", look_text(sentence, shown));
    }
    why->begun = true;
}

static const char *
plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- the flight recorder ---- */

/* What the recorder tells of an object: its last events of each kind; kind 0 is none. */
struct record {
    granary_flight_event last; /* of any kind */
    granary_flight_event deleted;
    granary_flight_event evicted;
    granary_flight_event failed;
    granary_flight_event oldest; /* of anything: how far the recorder reaches back */
    granary_id id;               /* of the object, when only a prefix was given */
};

static bool
is_event(const granary_flight_event *event, const char *name)
{
    return strcmp(granary_flight_event_name(event->kind), name) == 0;
}

static void
read_record(struct why *why, const char *prefix, uint32_t session, struct record *record)
{
    granary_flight_event *events = malloc(BATCH * sizeof *events);
    uint64_t next = 0;
    size_t count;

    *record = (struct record){.last = {.kind = 0}};
    while (events != NULL && granary_inspect_events(why->look.inspector, &next, BATCH, events, &count) == GRANARY_OK &&
           count > 0) {
        for (size_t i = 0; i < count; i++) {
            const granary_flight_event *event = &events[i];
            char id[GRANARY_ID_TEXT + 1];

            if (record->oldest.sequence == 0) {
                record->oldest = *event;
            }
            granary_id_format(event->id, id);
            if (strncasecmp(id, prefix, strlen(prefix)) != 0 || (session != 0 && event->session != session)) {
                continue;
            }
            record->last = *event;
            record->id = event->id;
            if (is_event(event, "DELETE")) {
                record->deleted = *event;
            } else if (is_event(event, "EVICT")) {
                record->evicted = *event;
            } else if (is_event(event, "RESTORE_FAILED")) {
                record->failed = *event;
            }
        }
    }
    free(events);
}

static const char *
event_time(const granary_flight_event *event, char buffer[64])
{
    char time[32];
    char age[32];

    (void)snprintf(buffer, 64, "at %s (%s ago)", look_time(event->time_ns / 1000000, time),
                   look_age(event->time_ns / 1000000, age));
    return buffer;
}

/* ---- who holds it ---- */

static const char *
client_name(struct why *why, uint32_t number, uint32_t pid, char buffer[LOOK_TEXT])
{
    granary_client_info *clients = NULL;
    size_t count = 0;

    (void)snprintf(buffer, LOOK_TEXT, pid == 0 ? "client %u, which has gone" : "client %u (pid %u), which has gone",
                   number, pid);
    if (number == 0) {
        (void)snprintf(buffer, LOOK_TEXT, "the store");
    } else if (granary_inspect_clients(why->look.inspector, &clients, &count) == GRANARY_OK) {
        for (size_t i = 0; i < count; i++) {
            if (clients[i].number == number) {
                (void)snprintf(buffer, LOOK_TEXT, "client %u (%s, pid %u)", number, clients[i].tag, clients[i].pid);
            }
        }
        free(clients);
    }
    return buffer;
}

static void
tell_hold(struct why *why, const granary_hold *hold)
{
    char client[LOOK_TEXT];
    char id[GRANARY_ID_TEXT + 1];
    char age[32];

    (void)look_age(hold->since_ms, age);
    (void)client_name(why, hold->client, hold->pid, client);
    switch (hold->kind) {
    case GRANARY_HOLD_PIN:
        fact(why, "pinned",
             "it is pinned %s %s for %s%s%s: it does not leave memory before it is unpinned (token %" PRIu64 ")",
             hold->scope == GRANARY_PIN_CLIENT    ? "by"
             : hold->scope == GRANARY_PIN_SESSION ? "until it is unpinned, by"
                                                  : "through restarts, by",
             client, age, hold->text[0] != '\0' ? ", because: " : "", hold->text, hold->token);
        break;
    case GRANARY_HOLD_REFERENCE:
        fact(why, "referenced",
             "'%s' refers to it for %s: it can be got until that reference is taken back, also when it is deleted",
             hold->text[0] != '\0' ? hold->text : client, age);
        break;
    case GRANARY_HOLD_CONTAINER:
        granary_id_format(hold->container, id);
        fact(why, "contained", "object %s contains it: it lives at least as long as that", id);
        break;
    case GRANARY_HOLD_NAME:
        fact(why, "named", "the name '%s' stands for it, for %s: it can be got until the name is bound to another",
             hold->text, age);
        break;
    case GRANARY_HOLD_LEASE:
        break; /* among the leases */
    }
}

static size_t
tell_holds(struct why *why, granary_id id)
{
    granary_hold *holds = NULL;
    size_t count = 0;
    size_t pins = 0;

    if (granary_inspect_holds(why->look.inspector, why->look.session, &id, &holds, &count) != GRANARY_OK) {
        fact(why, "unknown", "who holds it is not known: %s", granary_error_message());
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        tell_hold(why, &holds[i]);
        pins += holds[i].kind == GRANARY_HOLD_PIN;
    }
    free(holds);
    return pins;
}

static size_t
tell_leases(struct why *why, const granary_object_info *info)
{
    granary_lease_info *leases = NULL;
    size_t count = 0;
    size_t told = 0;

    if (granary_inspect_leases(why->look.inspector, &info->id, &leases, &count) != GRANARY_OK) {
        fact(why, "unknown", "who leases it is not known: %s", granary_error_message());
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (leases[i].serial == info->serial && leases[i].session == why->look.session) {
            fact(why, "leased",
                 "it is leased %u time%s by client %u (%s, pid %u)%s: its bytes cannot move before they are released",
                 leases[i].count, plural(leases[i].count), leases[i].client, leases[i].tag, leases[i].pid,
                 leases[i].counted ? ", counted by the store" : "");
            told++;
        }
    }
    free(leases);
    return told;
}

/* ---- where it is ---- */

static void
tell_segment(struct why *why, const granary_object_info *info)
{
    granary_segment_info *segments = NULL;
    size_t count = 0;

    if (granary_inspect_segments(why->look.inspector, &segments, &count) != GRANARY_OK) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char client[LOOK_TEXT];

        if (segments[i].number == info->segment && segments[i].state == GRANARY_SEGMENT_OPEN &&
            segments[i].writer != 0) {
            fact(why, "writing", "its segment is still being written by %s: memory is given up when that is done",
                 client_name(why, segments[i].writer, 0, client));
        }
        if (segments[i].number == info->segment && segments[i].spoiled) {
            fact(why, "spoiled", "its segment was truncated by its writer: it cannot be spilled");
        }
    }
    free(segments);
}

static void
tell_memory(struct why *why, const granary_object_info *info)
{
    size_t leases;
    size_t pins;

    fact(why, "in-memory", "it is in memory: segment %u, byte %" PRIu64 ", on node %d", info->segment, info->offset,
         info->numa_node);
    leases = tell_leases(why, info);
    pins = tell_holds(why, info->id);
    tell_segment(why, info);
    if (info->importance == 255) {
        fact(why, "importance", "its importance is 255: it is never spilled unless somebody asks for that");
    } else if (info->importance > 0) {
        fact(why, "importance", "its importance is %d: less important objects leave memory first", info->importance);
    }
    if (info->next_use > 0) {
        fact(why, "next-use", "it is said to be used %s (%d of 255)",
             info->next_use == 255 ? "never again"
             : info->next_use < 64 ? "soon"
                                   : "later",
             info->next_use);
    }
    if (info->on_disk || (info->levels & GRANARY_LEVEL_REMOTE) != 0) {
        fact(why, "clean", "a copy is %s: its memory is given up for nothing when it is needed",
             info->on_disk ? "on disk" : "at the remote level");
    }
    if (leases == 0 && pins == 0 && info->importance < 255) {
        fact(why, "free-to-go", "nothing keeps it in memory: it is %s when memory is needed",
             info->on_disk ? "dropped" : "spilled");
    }
}

static void
tell_spilled(struct why *why, const granary_object_info *info, const struct record *record)
{
    char time[64];

    fact(why, "spilled", "it is %s only: spill file %u, byte %" PRIu64,
         info->on_disk ? "on disk" : "at the remote level", info->segment, info->offset);
    if (record->evicted.kind != 0) {
        fact(why, "evicted", "its memory was given up %s, because memory was needed or somebody asked for it",
             event_time(&record->evicted, time));
    }
    if (info->damaged) {
        fact(why, "damaged", "it could not be brought back: a get tells why");
    }
    if (record->failed.kind != 0) {
        fact(why, "restore-failed", "bringing it back failed %s: %s", event_time(&record->failed, time),
             granary_error_text((granary_err)(int32_t)record->failed.a));
    }
    if (!info->damaged) {
        fact(why, "on-demand", "a get brings it back");
    }
    (void)tell_holds(why, info->id);
}

static void
tell_deleting(struct why *why, const granary_object_info *info, const struct record *record)
{
    char time[64];

    if (record->deleted.kind != 0) {
        fact(why, "deleted", "it was deleted %s", event_time(&record->deleted, time));
    } else {
        fact(why, "deleted", "it was deleted");
    }
    if (tell_leases(why, info) == 0) {
        fact(why, "not-leased", "nobody leases it any more: %s",
             why->look.info.life == GRANARY_STORE_SERVING ? "its memory is about to be taken back"
                                                          : "the next store takes its memory back");
    }
    (void)tell_holds(why, info->id);
}

static void
tell_life(struct why *why, const granary_object_info *info)
{
    if (info->dropped) {
        fact(why, "dropped", "it was deleted by name, and is kept by the references, containers or names below");
    }
    if (info->counted) {
        fact(why, "counted", "it lives only as long as something refers to it or contains it");
    }
    if (info->persistent) {
        fact(why, "persistent", "it has a copy that survives the machine's restart");
    }
}

/* What it holds itself. */
static void
tell_contents(struct why *why, granary_id id)
{
    granary_hold *holds = NULL;
    size_t count = 0;
    size_t contained = 0;

    if (granary_inspect_holds(why->look.inspector, why->look.session, NULL, &holds, &count) != GRANARY_OK) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        contained += holds[i].kind == GRANARY_HOLD_CONTAINER && memcmp(&holds[i].container, &id, sizeof id) == 0;
    }
    free(holds);
    if (contained > 0) {
        fact(why, "contains", "it contains %zu object%s, which live as long as it does", contained, plural(contained));
    }
}

static void tell_object(struct why *why, const granary_object_info *info);

/* An alias may stand for another one, but never in a circle, unless somebody wrote nonsense. */
static void
tell_target(struct why *why, granary_id target)
{
    granary_object_info info;

    if (granary_inspect_object(why->look.inspector, why->look.session, target, &info) != GRANARY_OK) {
        fact(why, "no-target", "the object it stands for is not there");
    } else if (why->hops++ < ALIAS_HOPS) {
        tell_object(why, &info);
    }
}

static void
tell_object(struct why *why, const granary_object_info *info)
{
    char id[GRANARY_ID_TEXT + 1];
    char target[GRANARY_ID_TEXT + 1];
    struct record record;
    char size[32];
    char time[32];
    char age[32];

    granary_id_format(info->id, id);
    if (info->state == GRANARY_OBJECT_ALIAS) {
        granary_id_format(info->target, target);
        fact(why, "alias", "object %s stands for object %s", id, target);
        (void)tell_holds(why, info->id);
        tell_target(why, info->target);
        return;
    }
    read_record(why, id, why->look.session, &record);
    fact(why, "object", "object %s: %s of data, %" PRIu64 " bytes of metadata, sealed at %s (%s ago)", id,
         cli_format_size(info->data_size, size), info->meta_size, look_time(info->sealed_at_ms, time),
         look_age(info->sealed_at_ms, age));
    tell_life(why, info);
    tell_contents(why, info->id);
    switch (info->state) {
    case GRANARY_OBJECT_SEALED:
        tell_memory(why, info);
        break;
    case GRANARY_OBJECT_SPILLED:
        tell_spilled(why, info, &record);
        break;
    default:
        tell_deleting(why, info, &record);
        break;
    }
}

/* What became of an object that is not in the index. Returns the exit status. */
static int
tell_missing(struct why *why, granary_err err)
{
    struct record record;
    char time[64];
    char id[GRANARY_ID_TEXT + 1];
    char client[LOOK_TEXT];

    read_record(why, why->text, 0, &record);
    if (err != GRANARY_ENOENT || why->text[0] == '\0') {
        return cli_fail_plain(err);
    }
    granary_id_format(record.id, id);
    if (record.deleted.kind != 0 && record.deleted.sequence >= record.last.sequence) {
        fact(why, "gone", "object %s: it is not there: it was deleted %s%s%s", id, event_time(&record.deleted, time),
             record.deleted.client == 0 ? "" : " by ",
             record.deleted.client == 0 ? "" : client_name(why, record.deleted.client, 0, client));
    } else if (record.last.kind != 0) {
        fact(why, "gone", "object %s: it is not there; the last that was recorded of it is %s %s", id,
             granary_flight_event_name(record.last.kind), event_time(&record.last, time));
    } else if (record.oldest.kind != 0) {
        fact(why, "never",
             "object %s: it is not there, and the flight recorder, which reaches back to %s, has nothing of it",
             why->text, event_time(&record.oldest, time) + sizeof "at " - 1);
    } else {
        fact(why, "never", "object %s: it is not there, and the flight recorder is empty", why->text);
    }
    return granary_error_exit_status(GRANARY_ENOENT);
}

/* ---- what the scheduler knows ---- */

/* Who holds the store's memory, when that is what somebody waits for. */
static void
tell_room(struct why *why)
{
    granary_store_stat stat;
    char size[4][32];

    if (granary_inspect_stat(why->look.inspector, why->look.session, &stat) == GRANARY_OK) {
        fact(why, "store-memory",
             "of the store's %s of memory %s are in objects, %s are being written or reserved, %s are free: `granary "
             "pins`, `granary leases` and `granary top` name who holds them",
             cli_format_size(stat.capacity_bytes, size[0]), cli_format_size(stat.sealed_bytes, size[1]),
             cli_format_size(stat.writing_bytes + stat.reserved_bytes, size[2]),
             cli_format_size(stat.free_bytes, size[3]));
    }
}

/* What graphs have to do with it: line by line, as the scheduler tells. ENOENT: nothing. */
static granary_err
tell_graphs(struct why *why, const char *subject)
{
    granary_connect_options options = {
        .instance = why->look.cli->instance, .session = why->look.cli->session, .tag = "granary", .existing = true};
    granary_client *client = NULL;
    struct gr_instance instance;
    const char *trouble = NULL;
    char *text = NULL;
    char *rest = NULL;
    granary_err err = gr_instance_resolve(why->look.cli->instance, &instance);

    if (err == GRANARY_OK && (why->look.copy != NULL || (trouble = scheduler_trouble(&instance)) != NULL)) {
        err = gr_fail(GRANARY_EUNREACHABLE, "instance %s: %s", instance.name, trouble != NULL ? trouble : "a copy");
    }
    if (err == GRANARY_OK) {
        options.existing = options.session != NULL;
        err = granary_connect(&options, &client);
    }
    if (err == GRANARY_OK) {
        err = granary_why(client, subject, &text);
    }
    for (char *sentence = err == GRANARY_OK ? strtok_r(text, "\n", &rest) : NULL; sentence != NULL;
         sentence = strtok_r(NULL, "\n", &rest)) {
        fact(why, "graph", "%s", sentence);
        if (strstr(sentence, "the store had no room") != NULL) {
            tell_room(why);
        }
    }
    granary_disconnect(client);
    free(text);
    return err;
}

/* No object: a graph or a subtask, or nothing that anybody knows. Returns the exit status. */
static int
tell_other(struct why *why, granary_err err)
{
    /* EINVAL: nothing an object could be called */
    granary_err other = err == GRANARY_ENOENT || err == GRANARY_EINVAL ? tell_graphs(why, why->text) : err;

    if (other == GRANARY_OK) {
        return 0;
    }
    if (other == GRANARY_EUNREACHABLE && !why->look.cli->json) {
        (void)fprintf(stderr, "granary: why: %s: only objects can be explained\n", granary_error_message());
    }
    if (err == GRANARY_EINVAL) {
        return cli_fail_plain(other);
    }
    (void)gr_fail(err, "object %s: not found", why->text);
    return tell_missing(why, err);
}

/* ---- the command ---- */

static error_t
parse_why(int key, char *arg, struct argp_state *state)
{
    struct why *why = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &why->look;
        return 0;
    case ARGP_KEY_ARG:
        if (why->text != NULL) {
            argp_usage(state);
        }
        why->text = arg;
        return 0;
    case ARGP_KEY_END:
        if (why->text == NULL) {
            argp_error(state, "why what? GRAPH, GRAPH/SUBTASK, or an object: the beginning of its id is enough");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* In the session that was named, else in any: the default one first. */
static granary_err
find(struct why *why, bool there, granary_object_info *ret_info)
{
    granary_inspect_session_info *sessions = NULL;
    size_t count = 0;
    granary_id id;
    granary_err err;

    if (there) {
        err = granary_inspect_object_find(why->look.inspector, why->look.session, why->text, &id);
    } else {
        err = gr_fail(GRANARY_ENOENT, "object %s: not found", why->text);
    }
    if (err == GRANARY_ENOENT && why->look.cli->session == NULL &&
        granary_inspect_sessions(why->look.inspector, &sessions, &count) == GRANARY_OK) {
        for (size_t i = 0; i < count && err == GRANARY_ENOENT; i++) {
            why->look.session = sessions[i].number;
            err = granary_inspect_object_find(why->look.inspector, sessions[i].number, why->text, &id);
        }
        free(sessions);
    }
    return err == GRANARY_OK ? granary_inspect_object(why->look.inspector, why->look.session, id, ret_info) : err;
}

int
command_why(struct cli *cli, int argc, char **argv)
{
    static const struct argp_child children[] = {{&look_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        NULL,
        parse_why,
        "ID | GRAPH | GRAPH/SUBTASK",
        "Tell why an object is in memory, on disk, not freed yet, or not there; or what a graph or a subtask waits "
        "for, who holds that, and since when.",
        children,
        NULL,
        NULL};
    struct why why = {.look = {.cli = cli}};
    char id[GRANARY_ID_TEXT + 1];
    granary_object_info info;
    bool there = false;
    granary_err err;
    int status;

    cli_parse(&argp, argc, argv, &why);
    status = look_open(&why.look);
    if (status == 0) {
        status = look_session(&why.look, &there);
    }
    if (status != 0) {
        look_close(&why.look);
        return status;
    }
    err = find(&why, there, &info);
    if (cli->json && (err == GRANARY_OK || err == GRANARY_ENOENT || err == GRANARY_EINVAL)) {
        json_open(&why.json, NULL, '{');
        json_text(&why.json, "object", why.text);
        json_text(&why.json, "where", err == GRANARY_OK ? look_state(info.state) : "nowhere");
        json_open(&why.json, "facts", '[');
    }
    if (err == GRANARY_OK) {
        tell_object(&why, &info);
        granary_id_format(info.id, id);
        (void)tell_graphs(&why, id);
    } else {
        status = tell_other(&why, err);
    }
    if (why.json.depth > 0) {
        json_close(&why.json);
        json_close(&why.json);
    }
    look_close(&why.look);
    return status;
}
