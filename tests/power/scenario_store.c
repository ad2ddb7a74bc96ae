/*
 * A store that spills, restores, persists, rewrites and deletes, in two sessions. What was answered as persistent is
 * there after the machine's restart with exactly its bytes; nothing else is ever other bytes than somebody put.
 */
#include <stdio.h>
#include <string.h>

#include "granary/hold.h"
#include "granary/store.h"
#include "integration/store/fixture.h"
#include "power/scenario.h"

enum { OBJECTS = 24, VERSIONS = 4, OTHER = 20 }; /* from OTHER on they are of the session "other" */

static const char *const memory[] = {"--memory", "2M", NULL};

/* What was promised of an object at some point. */
struct promise {
    int kept;     /* version that must be there; -1: none */
    int deleting; /* it may be gone */
    unsigned put; /* versions whose bytes it may have, a bit each */
};

/* An object's size and bytes follow from its number and version. */
static uint64_t
size_of(int object, int version)
{
    static const uint64_t sizes[] = {100, 300000, 50000, 4096, 65, 700000};

    return object >= 8 && object < 16 ? 400000 + (uint64_t)object * 64
                                      : sizes[(object + version) % 6] + (uint64_t)version;
}

static uint64_t
bytes_of(int object, int version)
{
    return (uint64_t)object * VERSIONS + (uint64_t)version;
}

static granary_err
put(struct stage *stage, granary_client *client, int object, int version, granary_levels persist)
{
    const granary_object_options how = {.persist = persist, .timeout_ms = 10000};
    uint64_t size = size_of(object, version);
    granary_buffer buffer;
    granary_err err;

    stage_note(stage, "put %d %d", object, version);
    err = granary_object_create_with(client, fixture_id((uint64_t)object), size, 0, &how, &buffer);
    if (err == GRANARY_OK) {
        fixture_fill(buffer.data, bytes_of(object, version), size);
        err = granary_object_seal(client, &buffer);
    }
    if (err == GRANARY_OK && persist != 0) {
        stage_note(stage, "kept %d %d", object, version);
    }
    return err;
}

static granary_err
move_to_disk(struct stage *stage, granary_client *client, int object)
{
    granary_err err = granary_object_move(client, fixture_id((uint64_t)object), GRANARY_LEVEL_DISK, 0, 10000);

    if (err == GRANARY_OK) {
        stage_note(stage, "kept %d 0", object);
    }
    return err;
}

static granary_err
pin(struct stage *stage, granary_client *client, int object)
{
    granary_err err = granary_object_pin(client, fixture_id((uint64_t)object), GRANARY_PIN_PERSISTENT);

    if (err == GRANARY_OK) {
        stage_note(stage, "kept %d 0", object);
    }
    return err;
}

static granary_err
drop(struct stage *stage, granary_client *client, int object)
{
    stage_note(stage, "deleting %d", object);
    return granary_object_delete(client, fixture_id((uint64_t)object), 0);
}

static granary_err
get(granary_client *client, int object)
{
    granary_view view;
    granary_err err = granary_object_get(client, fixture_id((uint64_t)object), 10000, &view);

    if (err == GRANARY_OK) {
        granary_object_release(client, &view);
    }
    return err;
}

#define DO(step)                                                                                                       \
    if ((err = (step)) != GRANARY_OK) {                                                                                \
        return err;                                                                                                    \
    }

static granary_err
play(struct stage *stage, granary_client *client, granary_client *other)
{
    granary_err err;

    DO(put(stage, client, 0, 0, GRANARY_LEVEL_DISK))
    DO(put(stage, client, 1, 0, GRANARY_LEVEL_DISK))
    for (int i = 8; i < 16; i++) {
        DO(put(stage, client, i, 0, 0))
    }
    DO(put(stage, client, 2, 0, 0))
    DO(pin(stage, client, 2))
    DO(get(client, 8))
    DO(get(client, 9))
    DO(move_to_disk(stage, client, 9))
    DO(put(stage, other, OTHER, 0, GRANARY_LEVEL_DISK))
    DO(drop(stage, client, 0))
    DO(put(stage, client, 0, 1, GRANARY_LEVEL_DISK))
    DO(drop(stage, client, 10))
    DO(drop(stage, client, 12))
    DO(drop(stage, client, 14))
    DO(drop(stage, client, 1))
    for (int i = 3; i < 8; i++) {
        DO(put(stage, client, i, 0, GRANARY_LEVEL_DISK))
    }
    DO(put(stage, client, 1, 1, 0))
    DO(drop(stage, client, 0))
    DO(put(stage, client, 0, 2, 0))
    DO(move_to_disk(stage, other, OTHER))
    DO(put(stage, other, OTHER + 1, 0, GRANARY_LEVEL_DISK))
    DO(get(client, 11))
    DO(get(client, 13))
    DO(get(client, 15))
    return granary_flush(client);
}

static bool
start(struct stage *stage, struct daemon *daemon)
{
    *daemon = (struct daemon){0};
    (void)snprintf(daemon->directory, sizeof daemon->directory, "%s", stage->instance);
    return daemon_restart(daemon, memory) || stage_fail(stage, "the store does not start");
}

static granary_err
connect(const struct daemon *daemon, const char *session, granary_client **ret_client)
{
    const granary_connect_options options = {.instance = daemon->directory, .session = session, .reconnect_ms = -1};

    *ret_client = NULL;
    return granary_connect(&options, ret_client);
}

static bool
record_store(struct stage *stage)
{
    struct daemon daemon;
    granary_client *client = NULL;
    granary_client *other = NULL;
    granary_err err = GRANARY_OK;

    if (!start(stage, &daemon)) {
        return false;
    }
    err = connect(&daemon, NULL, &client);
    err = err == GRANARY_OK ? connect(&daemon, "other", &other) : err;
    err = err == GRANARY_OK ? play(stage, client, other) : err;
    if (err != GRANARY_OK) {
        (void)stage_fail(stage, "%s", granary_error_message());
    }
    granary_disconnect(client);
    granary_disconnect(other);
    daemon_kill(&daemon);
    return err == GRANARY_OK;
}

/* What has been promised up to the disk's point. */
static void
read_promises(const struct disks *disks, bool lying, struct promise promises[static OBJECTS])
{
    const char *note;
    size_t index = 0;
    int object, version;

    for (int i = 0; i < OBJECTS; i++) {
        promises[i] = (struct promise){.kept = -1};
    }
    while ((note = disks_note(disks, &index)) != NULL) {
        if (sscanf(note, "put %d %d", &object, &version) == 2) {
            promises[object].put |= 1u << version;
        } else if (sscanf(note, "kept %d %d", &object, &version) == 2) {
            promises[object].kept = lying ? -1 : version;
        } else if (sscanf(note, "deleting %d", &object) == 1) {
            promises[object].kept = -1;
        }
    }
}

static bool
check_object(struct stage *stage, granary_client *client, int object, const struct promise *promise)
{
    granary_view view;
    granary_err err = granary_object_get(client, fixture_id((uint64_t)object), 0, &view);
    int found = -1;

    if (err != GRANARY_OK) {
        if (promise->kept >= 0) {
            return stage_fail(stage, "persistent object %d is lost: %s", object, granary_error_message());
        }
        return err == GRANARY_ENOENT || err == GRANARY_ETIMEDOUT || err == GRANARY_ECORRUPT ||
               stage_fail(stage, "object %d: %s", object, granary_error_message());
    }
    for (int version = 0; version < VERSIONS; version++) {
        if ((promise->put >> version & 1) != 0 && view.data_size == size_of(object, version) &&
            fixture_content_is(view.data, bytes_of(object, version), view.data_size)) {
            found = version;
        }
    }
    granary_object_release(client, &view);
    if (found < 0) {
        return stage_fail(stage, "object %d has bytes that nobody put", object);
    }
    return promise->kept < 0 || found >= promise->kept ||
           stage_fail(stage, "object %d is version %d, %d was promised", object, found, promise->kept);
}

/* It takes new objects, also persistent ones. */
static bool
check_serves(struct stage *stage, granary_client *client)
{
    const granary_object_options how = {.persist = GRANARY_LEVEL_DISK, .timeout_ms = 10000};
    granary_err err = granary_object_put_with(client, fixture_id(1000), "new", 3, NULL, 0, &how, 0);

    return err == GRANARY_OK || stage_fail(stage, "a new persistent object: %s", granary_error_message());
}

static bool
check_store(struct stage *stage, const struct disks *disks)
{
    struct promise promises[OBJECTS];
    struct daemon daemon;
    granary_client *clients[2] = {NULL, NULL};
    bool ok;

    stage_power_off(stage);
    read_promises(disks, stage->lying, promises);
    if (!start(stage, &daemon)) {
        return false;
    }
    ok = connect(&daemon, NULL, &clients[0]) == GRANARY_OK && connect(&daemon, "other", &clients[1]) == GRANARY_OK;
    if (!ok) {
        (void)stage_fail(stage, "%s", granary_error_message());
    }
    for (int i = 0; i < OBJECTS && ok; i++) {
        ok = check_object(stage, clients[i >= OTHER], i, &promises[i]);
    }
    ok = ok && check_serves(stage, clients[0]);
    granary_disconnect(clients[0]);
    granary_disconnect(clients[1]);
    daemon_kill(&daemon);
    stage_power_off(stage);
    return ok;
}

const struct scenario scenario_store = {.name = "store", .record = record_store, .check = check_store};
