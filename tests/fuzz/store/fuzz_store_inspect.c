/*
 * What a store left behind, damaged, and looked at: every reader of granary/inspect.h and fsck, on the instance itself
 * and on a copy of it, and the notes in the runtime directory. Each ends with an answer or a message, and what it
 * answers is possible. See store/image.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process/roster.h"
#include "cli/instance/supervisor/daemons.h"
#include "contract/shm.h"
#include "fuzz/fuzz.h"
#include "granary/inspect.h"
#include "image.h"
#include "world.h"

#define MEMORY     ((uint64_t)4 << 20)
#define SOME       37u     /* entries a call, so that there are several */
#define CALLS_MOST 200000u /* more is without end */
#define NOTE_MOST  24u     /* bytes of the input that a note in the runtime directory takes */

static granary_err
ended(granary_err err, const char *call)
{
    MUST(err == GRANARY_OK || granary_error_message()[0] != '\0', "%s: an error has a message", call);
    return err;
}

static void
count_finding(void *context, const granary_finding *finding)
{
    granary_check_summary *told = context;

    MUST(finding->code != NULL && finding->code[0] != '\0' && finding->text != NULL && finding->text[0] != '\0',
         "a finding says what it is");
    told->damages += finding->kind == GRANARY_FINDING_DAMAGE;
    told->notes += finding->kind == GRANARY_FINDING_NOTE;
}

static void
check(granary_inspector *inspector, int flags)
{
    granary_check_summary summary;
    granary_check_summary told = {0};

    if (ended(granary_inspect_check(inspector, flags, count_finding, &told, &summary), "fsck") == GRANARY_OK) {
        MUST(summary.damages == told.damages && summary.notes == told.notes, "all findings are told");
    }
}

static void
read_events(granary_inspector *inspector)
{
    granary_flight_event events[SOME];
    uint64_t next = 0;
    uint64_t last = 0;
    size_t count = 1;

    for (unsigned calls = 0; count > 0; calls++) {
        MUST(calls < CALLS_MOST, "events end");
        if (ended(granary_inspect_events(inspector, &next, SOME, events, &count), "events") != GRANARY_OK) {
            return;
        }
        MUST(count <= SOME, "no more events than there is room for");
        for (size_t i = 0; i < count; i++) {
            MUST(events[i].sequence > last, "events come in order");
            last = events[i].sequence;
            MUST(granary_flight_event_name(events[i].kind) != NULL, "an event has a name");
            MUST(granary_flight_event_text(events[i].kind) != NULL, "an event has a text");
        }
    }
}

static void
read_objects(granary_inspector *inspector, uint32_t session)
{
    granary_object_filter filter = {.owner = "owner"};
    granary_object_info infos[SOME];
    granary_object_info info;
    granary_id id;
    size_t count;

    for (unsigned owned = 0; owned < 2; owned++) {
        uint64_t cursor = 0;
        unsigned calls = 0;

        do {
            MUST(calls++ < CALLS_MOST, "a list ends");
            if (ended(granary_inspect_objects(inspector, session, owned == 1 ? &filter : NULL, &cursor, SOME, infos,
                                              &count),
                      "objects") != GRANARY_OK) {
                break;
            }
            MUST(count <= SOME, "no more objects than there is room for");
        } while (cursor != 0);
    }
    for (unsigned n = 0; n < IMAGE_OBJECTS; n++) {
        (void)ended(granary_inspect_object(inspector, session, image_objects[n].id, &info), "an object");
    }
    (void)ended(granary_inspect_object_find(inspector, session, "0", &id), "a prefix");
}

static void
read_session(granary_inspector *inspector, uint32_t session)
{
    granary_store_stat stat;
    granary_hold *holds = NULL;
    size_t count;

    (void)ended(granary_inspect_stat(inspector, session, &stat), "counters");
    read_objects(inspector, session);
    if (ended(granary_inspect_holds(inspector, session, NULL, &holds, &count), "holds") == GRANARY_OK) {
        free(holds);
    }
    holds = NULL;
    if (ended(granary_inspect_holds(inspector, session, &image_objects[1].id, &holds, &count), "holds") == GRANARY_OK) {
        free(holds);
    }
}

static void
read_sessions(granary_inspector *inspector)
{
    granary_inspect_session_info *infos = NULL;
    uint32_t session;
    size_t count;

    if (ended(granary_inspect_sessions(inspector, &infos, &count), "sessions") == GRANARY_OK) {
        for (size_t i = 0; i < count; i++) {
            MUST(memchr(infos[i].name, '\0', sizeof infos[i].name) != NULL, "a name ends");
            read_session(inspector, infos[i].number);
        }
        free(infos);
    }
    (void)ended(granary_inspect_session_find(inspector, "b", &session), "a session");
    read_session(inspector, UINT32_MAX);
}

static void
read_tables(granary_inspector *inspector)
{
    granary_instance_info instance;
    granary_segment_info *segments = NULL;
    granary_client_info *clients = NULL;
    granary_lease_info *leases = NULL;
    size_t count;

    if (ended(granary_inspect_instance(inspector, &instance), "the instance") == GRANARY_OK) {
        MUST(memchr(instance.spill_dir, '\0', sizeof instance.spill_dir) != NULL, "a path ends");
        MUST(memchr(instance.runtime, '\0', sizeof instance.runtime) != NULL, "a path ends");
    }
    if (ended(granary_inspect_segments(inspector, &segments, &count), "segments") == GRANARY_OK) {
        free(segments);
    }
    if (ended(granary_inspect_clients(inspector, &clients, &count), "clients") == GRANARY_OK) {
        free(clients);
    }
    if (ended(granary_inspect_leases(inspector, NULL, &leases, &count), "leases") == GRANARY_OK) {
        free(leases);
    }
    leases = NULL;
    if (ended(granary_inspect_leases(inspector, &image_objects[1].id, &leases, &count), "leases") == GRANARY_OK) {
        free(leases);
    }
}

static void
look(granary_inspector *inspector, int flags)
{
    read_tables(inspector);
    read_sessions(inspector);
    read_events(inspector);
    check(inspector, flags);
}

/* The instance itself, or (it is of no moment and nobody's process) a copy. */
static void
inspect(bool copy, int flags)
{
    char folder[sizeof world.dir + 8];
    granary_inspector *inspector;
    granary_err err;

    if (ended(granary_inspect_open(world.instance, &inspector), "the instance") != GRANARY_OK) {
        return;
    }
    if (copy) {
        (void)snprintf(folder, sizeof folder, "%s/copy", world.dir);
        err = ended(granary_inspect_snapshot(inspector, folder), "a copy");
        granary_inspect_close(inspector);
        inspector = NULL;
        if (err == GRANARY_OK) {
            (void)ended(granary_inspect_open_copy(folder, &inspector), "a copy");
        }
    }
    if (inspector != NULL) {
        look(inspector, flags);
    }
    granary_inspect_close(inspector);
    if (copy) {
        gr_remove_tree(folder);
    }
}

/* ---- notes in the runtime directory ---- */

static void
write_note(const char *name, const void *bytes, size_t size)
{
    char path[sizeof world.paths.runtime + 64];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", world.paths.runtime, name);
    file = fopen(path, "we");
    if (file != NULL) {
        (void)fwrite(bytes, 1, size, file);
        (void)fclose(file);
    }
}

static void
read_notes(struct input *input)
{
    struct gr_roster_entry entries[2];
    struct daemon daemons[DAEMONS];
    char text[256];
    char note[NOTE_MOST + 1];
    char folder[sizeof world.paths.runtime + 16];
    size_t size = input_bytes(input, note, NOTE_MOST);

    note[NOTE_MOST] = '\0';
    (void)snprintf(folder, sizeof folder, "%s/" GR_ROSTER, world.paths.runtime);
    (void)mkdir(folder, 0700);
    write_note(GR_ROSTER "/1", note, size);
    write_note(GR_ROSTER "/2", "1 0 active 18446744073709551616", 31);
    (void)gr_roster_read(&world.paths, entries, 2);
    (void)gr_roster_read(&world.paths, NULL, 0);
    (void)snprintf(text, sizeof text, "{\"store_pid\": %s, \"sched_pid\": -1, \"pool_restarts\": 99999999999999999999",
                   note);
    write_note("instance.json", text, strlen(text));
    daemons_recall(&world.paths, daemons);
    gr_remove_tree(folder);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static bool taken;
    struct input input = {bytes, size};
    unsigned descriptors;
    uint8_t how;

    world_enter();
    if (!taken) {
        image_take(MEMORY);
        taken = true;
    }
    how = input_byte(&input);
    image_restore();
    if ((how & 4) != 0) {
        read_notes(&input);
    }
    image_damage(&input);
    descriptors = world_descriptors();
    inspect((how & 1) != 0, (how & 2) != 0 ? GRANARY_CHECK_VERIFY : 0);
    MUST(world_descriptors() == descriptors, "every file is closed");
    image_clear();
    world_leave();
    return 0;
}
