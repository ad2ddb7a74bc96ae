/* granary pins, leases, clients, sessions, segments: who holds what, from shared memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/size.h"
#include "cli/look/look.h"
#include "cli/print/listing.h"

/* A listing of all there is of one kind. */
struct holders {
    struct look look;
    const struct column *columns;
    size_t row_size;
    granary_err (*read)(granary_inspector *inspector, void **ret_rows, size_t *ret_count); /* the caller's */
};

static int
list_holders(struct cli *cli)
{
    const struct holders *holders = cli->self;
    void *rows = NULL;
    size_t count = 0;
    granary_err err = holders->read(holders->look.inspector, &rows, &count);

    if (err == GRANARY_OK) {
        listing_print(holders->columns, cli->json, rows, count, holders->row_size);
    }
    free(rows);
    return err;
}

/* command_NAME lists, in these columns, the rows of this type that the call gives for `inspector`, at `rows`. */
#define HOLDERS(name, type, columns_of, call)                                                                          \
    static granary_err read_##name(granary_inspector *inspector, void **ret_rows, size_t *ret_count)                   \
    {                                                                                                                  \
        type **rows = (type **)ret_rows;                                                                               \
        return call;                                                                                                   \
    }                                                                                                                  \
    const struct command command_##name = {                                                                            \
        .access = &look_access,                                                                                        \
        COMMAND_SELF(struct holders, .columns = (columns_of), .row_size = sizeof(type), .read = read_##name),          \
        .run = list_holders}

/* ---- pins ---- */

static const char *const hold_kinds[] = {[GRANARY_HOLD_PIN] = "pin",
                                         [GRANARY_HOLD_REFERENCE] = "reference",
                                         [GRANARY_HOLD_CONTAINER] = "container",
                                         [GRANARY_HOLD_NAME] = "name",
                                         [GRANARY_HOLD_LEASE] = "lease"};

static const char *
hold_scope(const void *row, char buffer[SHOW_TEXT])
{
    const granary_hold *hold = row;

    (void)buffer;
    return hold->kind != GRANARY_HOLD_PIN       ? "-"
           : hold->scope == GRANARY_PIN_CLIENT  ? "client"
           : hold->scope == GRANARY_PIN_SESSION ? "session"
                                                : "persistent";
}

/* What only some kinds have. */
static void
write_kind(const void *row, struct json *json)
{
    const granary_hold *hold = row;

    if (hold->kind == GRANARY_HOLD_PIN) {
        json_text(json, "scope", hold_scope(hold, NULL));
    }
    if (hold->kind == GRANARY_HOLD_CONTAINER) {
        json_id(json, "container", hold->container);
    }
}

static const char *
hold_reason(const void *row, char buffer[SHOW_TEXT])
{
    const granary_hold *hold = row;

    (void)show_text(hold->text, buffer);
    if (hold->kind == GRANARY_HOLD_CONTAINER) {
        size_t used = strnlen(buffer, SHOW_TEXT - GRANARY_ID_TEXT - 1);

        granary_id_format(hold->container, buffer + used);
    }
    return buffer;
}

static const struct column pin_columns[] = {{"id", "id", -32, COLUMN(granary_hold, id)},
                                            {"kind", "kind", -9, COLUMN(granary_hold, kind), COLUMN_WORDS(hold_kinds)},
                                            {"token", NULL, 0, COLUMN(granary_hold, token)},
                                            {NULL, "scope", -10, .show = hold_scope},
                                            {"scope", NULL, 0, .write = write_kind},
                                            {"client", "client", 6, COLUMN(granary_hold, client)},
                                            {"pid", "pid", 7, COLUMN(granary_hold, pid)},
                                            {"since_ms", "age", 8, COLUMN(granary_hold, since_ms), .as = COLUMN_AS_AGE},
                                            {"text", NULL, 0, COLUMN(granary_hold, text)},
                                            {NULL, "why", 0, .show = hold_reason},
                                            {0}};

struct pins {
    struct look look;
    bool all;
};

static void
print_holds(const struct pins *pins, const granary_hold *holds, size_t count)
{
    struct listing listing;

    listing_begin(&listing, pin_columns, pins->look.cli->json);
    for (size_t i = 0; i < count; i++) {
        if (pins->all || holds[i].kind == GRANARY_HOLD_PIN) {
            listing_row(&listing, &holds[i]);
        }
    }
    listing_end(&listing);
}

static int
run_pins(struct cli *cli)
{
    struct pins *pins = cli->self;
    struct look *look = &pins->look;
    granary_hold *holds = NULL;
    size_t count = 0;
    granary_id id;
    bool there = true;
    granary_err err = GRANARY_OK;
    int status = cli->count > 0 ? look_find(look, cli->arguments[0], &id) : look_session(look, &there);

    if (status == 0 && there) {
        err = granary_inspect_holds(look->inspector, look->session, cli->count > 0 ? &id : NULL, &holds, &count);
    }
    if (status == 0 && err == GRANARY_OK) {
        print_holds(pins, holds, count);
    }
    free(holds);
    return status != 0 ? status : (int)err;
}

static const struct gr_option pins_options[] = {
    {"all", 'a', NULL, "list references, containers, names and counted leases, too", GR_OPTION_FLAG(struct pins, all)},
    {0}};

const struct command command_pins = {
    .options = pins_options, .access = &look_access, COMMAND_ZERO(struct pins), .run = run_pins};

/* ---- leases ---- */

static bool
lease_is_known(const granary_lease_info *lease)
{
    return lease->bytes > 0 || memcmp(&lease->id, &(granary_id){{0}}, sizeof lease->id) != 0;
}

static const char *
lease_id(const void *row, char buffer[SHOW_TEXT])
{
    const granary_lease_info *lease = row;

    granary_id_format(lease->id, buffer);
    return lease_is_known(lease) ? buffer : "(gone)";
}

static void
write_lease_id(const void *row, struct json *json)
{
    const granary_lease_info *lease = row;

    if (lease_is_known(lease)) {
        json_id(json, "id", lease->id);
    }
}

static const char *
lease_tag(const void *row, char buffer[SHOW_TEXT])
{
    const granary_lease_info *lease = row;
    size_t used = strlen(show_text(lease->tag, buffer));

    (void)snprintf(buffer + used, SHOW_TEXT - used, "%s", lease->deleted ? "  (deleted)" : "");
    return buffer;
}

static const struct column lease_columns[] = {{NULL, "id", -32, .show = lease_id},
                                              {"id", NULL, 0, .write = write_lease_id},
                                              {"serial", NULL, 0, COLUMN(granary_lease_info, serial)},
                                              {"bytes", "bytes", 12, COLUMN(granary_lease_info, bytes)},
                                              {"deleted", NULL, 0, COLUMN(granary_lease_info, deleted)},
                                              {"session", NULL, 0, COLUMN(granary_lease_info, session)},
                                              {"client", "client", 6, COLUMN(granary_lease_info, client)},
                                              {"pid", "pid", 7, COLUMN(granary_lease_info, pid)},
                                              {"tag", NULL, 0, COLUMN(granary_lease_info, tag)},
                                              {"leases", "leases", 6, COLUMN(granary_lease_info, count)},
                                              {"counted", NULL, 0, COLUMN(granary_lease_info, counted)},
                                              {NULL, "tag", 0, .show = lease_tag},
                                              {0}};

HOLDERS(leases, granary_lease_info, lease_columns, granary_inspect_leases(inspector, NULL, rows, ret_count));

/* ---- clients ---- */

static const char *
client_state(const void *row, char buffer[SHOW_TEXT])
{
    const granary_client_info *client = row;

    (void)buffer;
    return client->leaving ? "leaving"
           : client->alive ? (client->waiting > 0 ? "waiting" : "alive")
           : !client->page ? "no lease page"
                           : "gone";
}

static const struct column client_columns[] = {
    {"client", "client", 6, COLUMN(granary_client_info, number)},
    {"session", NULL, 0, COLUMN(granary_client_info, session)},
    {"pid", "pid", 7, COLUMN(granary_client_info, pid)},
    {"uid", NULL, 0, COLUMN(granary_client_info, uid)},
    {"tag", "tag", -24, COLUMN(granary_client_info, tag)},
    {NULL, "session", 7, COLUMN(granary_client_info, session)},
    {"since_ms", "age", 8, COLUMN(granary_client_info, since_ms), .as = COLUMN_AS_AGE},
    {"alive", NULL, 0, COLUMN(granary_client_info, alive)},
    {"leaving", NULL, 0, COLUMN(granary_client_info, leaving)},
    {"leased_objects", "objects", 8, COLUMN(granary_client_info, leased_objects)},
    {"leases", "leases", 8, COLUMN(granary_client_info, leases)},
    {"ring_pending", "pending", 7, COLUMN(granary_client_info, ring_pending)},
    {"waiting", NULL, 0, COLUMN(granary_client_info, waiting)},
    {NULL, "state", 0, .show = client_state},
    {0}};

HOLDERS(clients, granary_client_info, client_columns, granary_inspect_clients(inspector, rows, ret_count));

/* ---- sessions ---- */

static const char *const session_states[] = {[GRANARY_SESSION_SERVING] = "serving",
                                             [GRANARY_SESSION_ADOPTING] = "adopting",
                                             [GRANARY_SESSION_CLOSED] = "closed"};

static const char *
session_quota(const void *row, char buffer[SHOW_TEXT])
{
    uint64_t quota = ((const granary_inspect_session_info *)row)->quota_bytes;

    return quota == 0 ? "-" : gr_size_format(quota, buffer);
}

static const char *
session_flags(const void *row, char buffer[SHOW_TEXT])
{
    const granary_inspect_session_info *session = row;

    (void)snprintf(buffer, SHOW_TEXT, "%s%s", session->strict ? "strict " : "", session->shared ? "shared" : "");
    return buffer;
}

static const struct column session_columns[] = {
    {"session", "session", 7, COLUMN(granary_inspect_session_info, number)},
    {"name", "name", -24, COLUMN(granary_inspect_session_info, name)},
    {"state", "state", -8, COLUMN(granary_inspect_session_info, state), COLUMN_WORDS(session_states)},
    {"epoch", NULL, 0, COLUMN(granary_inspect_session_info, epoch)},
    {"uid", NULL, 0, COLUMN(granary_inspect_session_info, uid)},
    {"strict", NULL, 0, COLUMN(granary_inspect_session_info, strict)},
    {"shared", NULL, 0, COLUMN(granary_inspect_session_info, shared)},
    {"clients", "clients", 7, COLUMN(granary_inspect_session_info, clients)},
    {"used_bytes", "memory", 10, COLUMN(granary_inspect_session_info, used_bytes), .as = COLUMN_AS_SIZE},
    {"quota_bytes", "quota", 10, COLUMN(granary_inspect_session_info, quota_bytes), .show = session_quota},
    {"idle_ms", NULL, 0, COLUMN(granary_inspect_session_info, idle_ms)},
    {"created_ms", "age", 8, COLUMN(granary_inspect_session_info, created_ms), .as = COLUMN_AS_AGE},
    {"last_used_ms", NULL, 0, COLUMN(granary_inspect_session_info, last_used_ms)},
    {"index_pages", NULL, 0, COLUMN(granary_inspect_session_info, pages)},
    {"index_bytes", NULL, 0, COLUMN(granary_inspect_session_info, index_bytes)},
    {"ledger_bytes", NULL, 0, COLUMN(granary_inspect_session_info, ledger_bytes)},
    {NULL, "flags", 0, .show = session_flags},
    {0}};

HOLDERS(sessions, granary_inspect_session_info, session_columns, granary_inspect_sessions(inspector, rows, ret_count));

/* ---- segments ---- */

static const char *const segment_states[] = {"?", "open", "closed", "idle"};

static const char *
segment_flags(const void *row, char buffer[SHOW_TEXT])
{
    const granary_segment_info *segment = row;

    (void)snprintf(buffer, SHOW_TEXT, "%s%s", segment->huge ? "huge " : "", segment->spoiled ? "spoiled" : "");
    return buffer;
}

static const struct column segment_columns[] = {
    {"segment", "segment", 8, COLUMN(granary_segment_info, number)},
    {"session", "session", 7, COLUMN(granary_segment_info, session)},
    {"state", "state", -6, COLUMN(granary_segment_info, state), COLUMN_WORDS(segment_states)},
    {"writer", "writer", 6, COLUMN(granary_segment_info, writer)},
    {"size_bytes", "bytes", 12, COLUMN(granary_segment_info, size_bytes)},
    {"file_bytes", NULL, 0, COLUMN(granary_segment_info, file_bytes)},
    {"resident_bytes", "resident", 12, COLUMN(granary_segment_info, resident_bytes)},
    {"sealed_bytes", NULL, 0, COLUMN(granary_segment_info, sealed_bytes)},
    {NULL, "live", 12, COLUMN(granary_segment_info, object_bytes)},
    {"objects", "objects", 8, COLUMN(granary_segment_info, objects)},
    {"object_bytes", NULL, 0, COLUMN(granary_segment_info, object_bytes)},
    {"node", "node", 4, COLUMN(granary_segment_info, node)},
    {"huge", NULL, 0, COLUMN(granary_segment_info, huge)},
    {"spoiled", NULL, 0, COLUMN(granary_segment_info, spoiled)},
    {"since_ms", NULL, 0, COLUMN(granary_segment_info, since_ms)},
    {NULL, "flags", 0, .show = segment_flags},
    {0}};

HOLDERS(segments, granary_segment_info, segment_columns, granary_inspect_segments(inspector, rows, ret_count));
