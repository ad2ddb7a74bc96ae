/*
 * Facts come from the flight recorder, from holds and leases, and from the place where the object lies, in this order.
 */
#include "cli/look/why_object.h"
#include "cli/print/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH      1024
#define ALIAS_HOPS 8

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

    (void)snprintf(buffer, 64, "at %s (%s ago)", show_time(event->time_ns / 1000000, time),
                   show_age(event->time_ns / 1000000, age));
    return buffer;
}

/* ---- who holds it ---- */

static const char *
client_name(struct why *why, uint32_t number, uint32_t pid, char buffer[SHOW_TEXT])
{
    granary_client_info *clients = NULL;
    size_t count = 0;

    (void)snprintf(buffer, SHOW_TEXT, pid == 0 ? "client %u, which has gone" : "client %u (pid %u), which has gone",
                   number, pid);
    if (number == 0) {
        (void)snprintf(buffer, SHOW_TEXT, "the store");
    } else if (granary_inspect_clients(why->look.inspector, &clients, &count) == GRANARY_OK) {
        for (size_t i = 0; i < count; i++) {
            if (clients[i].number == number) {
                (void)snprintf(buffer, SHOW_TEXT, "client %u (%s, pid %u)", number, clients[i].tag, clients[i].pid);
            }
        }
        free(clients);
    }
    return buffer;
}

static void
tell_hold(struct why *why, const granary_hold *hold)
{
    char client[SHOW_TEXT];
    char id[GRANARY_ID_TEXT + 1];
    char age[32];

    (void)show_age(hold->since_ms, age);
    (void)client_name(why, hold->client, hold->pid, client);
    switch (hold->kind) {
    case GRANARY_HOLD_PIN:
        why_fact(why, "pinned",
                 "it is pinned %s %s for %s%s%s: it does not leave memory before it is unpinned (token %" PRIu64 ")",
                 hold->scope == GRANARY_PIN_CLIENT    ? "by"
                 : hold->scope == GRANARY_PIN_SESSION ? "until it is unpinned, by"
                                                      : "through restarts, by",
                 client, age, hold->text[0] != '\0' ? ", because: " : "", hold->text, hold->token);
        break;
    case GRANARY_HOLD_REFERENCE:
        why_fact(why, "referenced",
                 "'%s' refers to it for %s: it can be got until that reference is taken back, also when it is deleted",
                 hold->text[0] != '\0' ? hold->text : client, age);
        break;
    case GRANARY_HOLD_CONTAINER:
        granary_id_format(hold->container, id);
        why_fact(why, "contained", "object %s contains it: it lives at least as long as that", id);
        break;
    case GRANARY_HOLD_NAME:
        why_fact(why, "named", "the name '%s' stands for it, for %s: it can be got until the name is bound to another",
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
        why_fact(why, "unknown", "who holds it is not known: %s", granary_error_message());
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
        why_fact(why, "unknown", "who leases it is not known: %s", granary_error_message());
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (leases[i].serial == info->serial && leases[i].session == why->look.session) {
            why_fact(
                why, "leased",
                "it is leased %u time%s by client %u (%s, pid %u)%s: its bytes cannot move before they are released",
                leases[i].count, cli_plural(leases[i].count), leases[i].client, leases[i].tag, leases[i].pid,
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
        char client[SHOW_TEXT];

        if (segments[i].number == info->segment && segments[i].state == GRANARY_SEGMENT_OPEN &&
            segments[i].writer != 0) {
            why_fact(why, "writing", "its segment is still being written by %s: memory is given up when that is done",
                     client_name(why, segments[i].writer, 0, client));
        }
        if (segments[i].number == info->segment && segments[i].spoiled) {
            why_fact(why, "spoiled", "its segment was truncated by its writer: it cannot be spilled");
        }
    }
    free(segments);
}

static void
tell_memory(struct why *why, const granary_object_info *info)
{
    size_t leases;
    size_t pins;

    why_fact(why, "in-memory", "it is in memory: segment %u, byte %" PRIu64 ", on node %d", info->segment, info->offset,
             info->numa_node);
    leases = tell_leases(why, info);
    pins = tell_holds(why, info->id);
    tell_segment(why, info);
    if (info->importance == 255) {
        why_fact(why, "importance", "its importance is 255: it is never spilled unless somebody asks for that");
    } else if (info->importance > 0) {
        why_fact(why, "importance", "its importance is %d: less important objects leave memory first",
                 info->importance);
    }
    if (info->next_use > 0) {
        why_fact(why, "next-use", "it is said to be used %s (%d of 255)",
                 info->next_use == 255 ? "never again"
                 : info->next_use < 64 ? "soon"
                                       : "later",
                 info->next_use);
    }
    if (info->on_disk || (info->levels & GRANARY_LEVEL_REMOTE) != 0) {
        why_fact(why, "clean", "a copy is %s: its memory is given up for nothing when it is needed",
                 info->on_disk ? "on disk" : "at the remote level");
    }
    if (leases == 0 && pins == 0 && info->importance < 255) {
        why_fact(why, "free-to-go", "nothing keeps it in memory: it is %s when memory is needed",
                 info->on_disk ? "dropped" : "spilled");
    }
}

static void
tell_spilled(struct why *why, const granary_object_info *info, const struct record *record)
{
    char time[64];

    why_fact(why, "spilled", "it is %s only: spill file %u, byte %" PRIu64,
             info->on_disk ? "on disk" : "at the remote level", info->segment, info->offset);
    if (record->evicted.kind != 0) {
        why_fact(why, "evicted", "its memory was given up %s, because memory was needed or somebody asked for it",
                 event_time(&record->evicted, time));
    }
    if (info->damaged) {
        why_fact(why, "damaged", "it could not be brought back: a get tells why");
    }
    if (record->failed.kind != 0) {
        why_fact(why, "restore-failed", "bringing it back failed %s: %s", event_time(&record->failed, time),
                 granary_error_text((granary_err)(int32_t)record->failed.a));
    }
    if (!info->damaged) {
        why_fact(why, "on-demand", "a get brings it back");
    }
    (void)tell_holds(why, info->id);
}

static void
tell_deleting(struct why *why, const granary_object_info *info, const struct record *record)
{
    char time[64];

    if (record->deleted.kind != 0) {
        why_fact(why, "deleted", "it was deleted %s", event_time(&record->deleted, time));
    } else {
        why_fact(why, "deleted", "it was deleted");
    }
    if (tell_leases(why, info) == 0) {
        why_fact(why, "not-leased", "nobody leases it any more: %s",
                 why->look.info.life == GRANARY_STORE_SERVING ? "its memory is about to be taken back"
                                                              : "the next store takes its memory back");
    }
    (void)tell_holds(why, info->id);
}

static void
tell_life(struct why *why, const granary_object_info *info)
{
    if (info->dropped) {
        why_fact(why, "dropped", "it was deleted by name, and is kept by the references, containers or names below");
    }
    if (info->counted) {
        why_fact(why, "counted", "it lives only as long as something refers to it or contains it");
    }
    if (info->persistent) {
        why_fact(why, "persistent", "it has a copy that survives the machine's restart");
    }
}

/* Whose table it is a part of. */
static void
tell_table(struct why *why, granary_id id)
{
    granary_table_part part;
    granary_table_info *tables = NULL;
    size_t count = 0;
    char text[GRANARY_ID_TEXT + 1], where[64] = "";
    const char *name = "";

    if (granary_inspect_table_part(why->look.inspector, why->look.session, id, &part) != GRANARY_OK) {
        return;
    }
    granary_id_format(part.table, text);
    if (granary_inspect_tables(why->look.inspector, &tables, &count) != GRANARY_OK) {
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        name = memcmp(&tables[i].id, &part.table, sizeof part.table) == 0 ? tables[i].name : name;
    }
    if (part.kind != GRANARY_PART_OTHER && part.kind <= GRANARY_PART_TILE) {
        (void)snprintf(where, sizeof where, " (number %" PRIu64 " of lane %u)", part.number, part.lane);
    }
    why_fact(why, "table", "it is %s%s of table '%s', object %s: it lives %s", granary_part_name(part.kind), where,
             name, text,
             part.kind >= GRANARY_PART_PIECE ? "until the table is deleted or sealed"
             : part.kind == GRANARY_PART_LOG ? "as long as the table"
                                             : "as long as the table, or until the history that needs it is given up");
    if (part.open) {
        why_fact(why, "table-open", "a writer of the table writes it: it does not leave memory before it is full");
    }
    free(tables);
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
        why_fact(why, "contains", "it contains %zu object%s, which live as long as it does", contained,
                 cli_plural(contained));
    }
}

/* An alias may stand for another one, but never in a circle, unless somebody wrote nonsense. */
static void
tell_target(struct why *why, granary_id target)
{
    granary_object_info info;

    if (granary_inspect_object(why->look.inspector, why->look.session, target, &info) != GRANARY_OK) {
        why_fact(why, "no-target", "the object it stands for is not there");
    } else if (why->hops++ < ALIAS_HOPS) {
        why_object(why, &info);
    }
}

void
why_object(struct why *why, const granary_object_info *info)
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
        why_fact(why, "alias", "object %s stands for object %s", id, target);
        (void)tell_holds(why, info->id);
        tell_target(why, info->target);
        return;
    }
    read_record(why, id, why->look.session, &record);
    why_fact(why, "object", "object %s: %s of data, %" PRIu64 " bytes of metadata, sealed at %s (%s ago)", id,
             cli_format_size(info->data_size, size), info->meta_size, show_time(info->sealed_at_ms, time),
             show_age(info->sealed_at_ms, age));
    tell_life(why, info);
    tell_table(why, info->id);
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

int
why_missing(struct why *why, granary_err err)
{
    struct record record;
    char time[64];
    char id[GRANARY_ID_TEXT + 1];
    char client[SHOW_TEXT];

    read_record(why, why->text, 0, &record);
    if (err != GRANARY_ENOENT || why->text[0] == '\0') {
        return cli_fail_plain(err);
    }
    granary_id_format(record.id, id);
    if (record.deleted.kind != 0 && record.deleted.sequence >= record.last.sequence) {
        why_fact(why, "gone", "object %s: it is not there: it was deleted %s%s%s", id,
                 event_time(&record.deleted, time), record.deleted.client == 0 ? "" : " by ",
                 record.deleted.client == 0 ? "" : client_name(why, record.deleted.client, 0, client));
    } else if (record.last.kind != 0) {
        why_fact(why, "gone", "object %s: it is not there; the last that was recorded of it is %s %s", id,
                 granary_flight_event_name(record.last.kind), event_time(&record.last, time));
    } else if (record.oldest.kind != 0) {
        why_fact(why, "never",
                 "object %s: it is not there, and the flight recorder, which reaches back to %s, has nothing of it",
                 why->text, event_time(&record.oldest, time) + sizeof "at " - 1);
    } else {
        why_fact(why, "never", "object %s: it is not there, and the flight recorder is empty", why->text);
    }
    return granary_error_exit_status(GRANARY_ENOENT);
}
