/* Pins are added up in groups of one session and reason; the largest group is told. */
#include "cli/look/pinners.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/look/look.h"
#include "contract/shm.h"

#define GROUPS_MOST    256 /* others are not looked at */
#define EVENTS_AT_ONCE 64

/* Pins of one session with one reason; of one process, when they end with it. */
struct group {
    const char *session;
    granary_hold first;
    uint64_t pins;
    uint64_t bytes;
};

struct groups {
    struct group *groups;
    size_t count;
};

static bool
belongs(const struct group *group, const char *session, const granary_hold *pin)
{
    return group->session == session && group->first.scope == pin->scope &&
           (pin->scope != GRANARY_PIN_CLIENT || group->first.client == pin->client) &&
           strcmp(group->first.text, pin->text) == 0;
}

static void
add_pin(struct groups *groups, const char *session, const granary_hold *pin, uint64_t bytes)
{
    size_t at = 0;

    while (at < groups->count && !belongs(&groups->groups[at], session, pin)) {
        at++;
    }
    if (at == groups->count) {
        struct group *grown = at == GROUPS_MOST ? NULL : reallocarray(groups->groups, at + 1, sizeof *grown);

        if (grown == NULL) {
            return;
        }
        groups->groups = grown;
        grown[groups->count++] = (struct group){.session = session, .first = *pin};
    }
    groups->groups[at].pins++;
    groups->groups[at].bytes += bytes;
}

static void
add_session(granary_inspector *inspector, const granary_inspect_session_info *session, struct groups *groups)
{
    granary_hold *holds = NULL;
    size_t count = 0;

    if (granary_inspect_holds(inspector, session->number, NULL, &holds, &count) != GRANARY_OK) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        granary_object_info info;

        if (holds[i].kind == GRANARY_HOLD_PIN &&
            granary_inspect_object(inspector, session->number, holds[i].id, &info) == GRANARY_OK &&
            info.state == GRANARY_OBJECT_SEALED) {
            /* Each pin of an object has its part. */
            add_pin(groups, session->name, &holds[i],
                    (info.data_size + info.meta_size) / (info.pins == 0 ? 1 : info.pins));
        }
    }
    free(holds);
}

static void
tell(granary_inspector *inspector, const struct group *most, struct pinners *pinners)
{
    static const char *const scopes[] = {
        [GRANARY_PIN_CLIENT] = "client", [GRANARY_PIN_SESSION] = "session", [GRANARY_PIN_PERSISTENT] = "persistent"};
    const granary_hold *pin = &most->first;
    granary_client_info *clients = NULL;
    size_t count = 0;
    char id[GRANARY_ID_TEXT + 1];
    char process[128] = "";
    char size[32];

    granary_id_format(pin->id, id);
    if (granary_inspect_clients(inspector, &clients, &count) == GRANARY_OK) {
        for (size_t i = 0; i < count; i++) {
            if (clients[i].number == pin->client) {
                (void)snprintf(process, sizeof process, " by %s (pid %u)", clients[i].tag, clients[i].pid);
            }
        }
    }
    free(clients);
    if (process[0] == '\0' && pin->pid != 0) {
        (void)snprintf(process, sizeof process, " by pid %u, which has gone", pin->pid);
    }
    (void)snprintf(pinners->who, sizeof pinners->who, "%s by %" PRIu64 " pin%s in session '%s'%s%s%s%s, such as %s",
                   cli_format_size(most->bytes, size), most->pins, cli_plural(most->pins), most->session, process,
                   pin->text[0] == '\0' ? "" : " for '", pin->text, pin->text[0] == '\0' ? "" : "'", id);
    if (pin->scope == GRANARY_PIN_CLIENT) {
        (void)snprintf(pinners->fix, sizeof pinners->fix,
                       "end process %u; or give the store more --memory; `granary pins --session %s` names all pins",
                       pin->pid, most->session);
    } else {
        (void)snprintf(
            pinners->fix, sizeof pinners->fix,
            "`granary unpin --session %s --scope %s %s` and so on; or give the store more --memory; `granary "
            "pins --session %s` names all pins",
            most->session, scopes[pin->scope], id, most->session);
    }
}

/* Whether a request that failed lately would fail again for the room that pins take, however small their share. */
static bool
has_failed(granary_inspector *inspector, uint64_t capacity_bytes, uint64_t pinned_bytes)
{
    granary_flight_event events[EVENTS_AT_ONCE];
    uint64_t left = pinned_bytes < capacity_bytes ? capacity_bytes - pinned_bytes : 0;
    uint64_t next = 0;
    size_t count = 0;
    bool failed = false;

    do {
        if (granary_inspect_events(inspector, &next, EVENTS_AT_ONCE, events, &count) != GRANARY_OK) {
            return failed;
        }
        for (size_t i = 0; i < count; i++) {
            failed = failed ||
                     (events[i].kind == GR_EVENT_ROOM_FAILED && events[i].a > left && events[i].a <= capacity_bytes);
        }
    } while (count > 0 && !failed);
    return failed;
}

bool
pinners_crowd(granary_inspector *inspector, uint64_t capacity_bytes, struct pinners *ret_pinners)
{
    granary_inspect_session_info *sessions = NULL;
    struct groups groups = {.count = 0};
    const struct group *most = NULL;
    size_t count = 0;

    *ret_pinners = (struct pinners){.objects = 0};
    ret_pinners->bytes = look_pinned(inspector, &ret_pinners->objects);
    if (ret_pinners->bytes <= capacity_bytes / 4 * 3 &&
        (ret_pinners->bytes == 0 || !has_failed(inspector, capacity_bytes, ret_pinners->bytes))) {
        return false;
    }
    if (granary_inspect_sessions(inspector, &sessions, &count) == GRANARY_OK) {
        for (size_t i = 0; i < count; i++) {
            add_session(inspector, &sessions[i], &groups);
        }
    }
    for (size_t i = 0; i < groups.count; i++) {
        most = most == NULL || groups.groups[i].bytes > most->bytes ? &groups.groups[i] : most;
    }
    if (most != NULL) {
        tell(inspector, most, ret_pinners);
    }
    free(groups.groups);
    free(sessions);
    return true;
}
