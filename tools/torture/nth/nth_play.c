/* The programs of the scenarios: they use the store as anybody would, look at every byte, and stop at the first error.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "granary/hold.h"
#include "granary/store.h"
#include "torture/nth/nth.h"
#include "torture/nth/nth_play.h"

#define LARGEST       (1 << 20)
#define SPILLED_SIZE  300000 /* 20 of them are more than the memory of those scenarios */
#define META_SIZE     24
#define ROOM_MS       5000
#define FULL_STATUS   5
#define DISK_PAUSE_MS 1200 /* the store lets a disk that failed rest for a second */
#define LOST_STATUS   3    /* GRANARY_EUNREACHABLE: another connection may be luckier */

/* ---- objects ---- */

static granary_id
object_id(unsigned object)
{
    granary_id id = {.bytes = {'n', 't', 'h', (uint8_t)object, (uint8_t)(object * 37)}};

    return id;
}

/* What an object holds: of every second one something that can be compressed. */
static const char *
content(struct play *play, unsigned object)
{
    uint32_t word = object + 1;

    for (uint32_t i = 0; i < play->sizes[object] || i < META_SIZE; i++) {
        word = word * 1664525 + 1013904223;
        play->bytes[i] = (char)(object % 2 == 0 ? word >> 24 : i / 512 + object);
    }
    return play->bytes;
}

static uint64_t
meta_size(unsigned object)
{
    return object % 3 == 0 ? META_SIZE : 0;
}

void
play_fail(struct play *play, granary_err err, const char *what, unsigned object)
{
    (void)snprintf(play->message, sizeof play->message, "granary: play: %s object %u: %s: %s\n", what, object,
                   granary_error_name(err), granary_error_message());
    (void)fputs(play->message, stderr);
    play->status = granary_error_exit_status(err);
}

/* A broken promise. */
void
play_wrong(struct play *play, const char *what, unsigned object)
{
    (void)fprintf(stderr, "granary: play: WRONG: %s object %u\n", what, object);
    play->status = NTH_WRONG;
}

/* What should be there was asked for in vain. */
static void
fail_to_find(struct play *play, granary_err err, const char *what, unsigned object)
{
    if (err == GRANARY_ENOENT) {
        play_wrong(play, "lost:", object);
    } else {
        play_fail(play, err, what, object);
    }
}

/* ---- steps; after a failed one they do nothing ---- */

static void
put_all(struct play *play, unsigned count)
{
    granary_object_options options = {.timeout_ms = ROOM_MS};
    granary_err err;

    for (unsigned i = 0; i < count && play->status == 0; i++) {
        const char *bytes = content(play, i);

        err = granary_object_put_with(play->client, object_id(i), bytes, play->sizes[i], bytes, meta_size(i), &options,
                                      i % 4 == 3 ? GRANARY_NOWAIT : 0);
        if (err != GRANARY_OK) {
            play_fail(play, err, "put of", i);
        }
    }
    if (play->status == 0 && (err = granary_flush(play->client)) != GRANARY_OK) {
        play_fail(play, err, "flush after", count);
    }
}

static void
get(struct play *play, unsigned object)
{
    const char *bytes = content(play, object);
    granary_view view;
    granary_err err = granary_object_get(play->client, object_id(object), 0, &view);

    if (err != GRANARY_OK) {
        fail_to_find(play, err, "get of", object);
        return;
    }
    if (view.data_size != play->sizes[object] || view.meta_size != meta_size(object) ||
        memcmp(view.data, bytes, view.data_size) != 0 ||
        (view.meta_size > 0 && memcmp(view.meta, bytes, view.meta_size) != 0)) {
        play_wrong(play, "bytes of", object);
    }
    granary_object_release(play->client, &view);
}

static void
get_all(struct play *play)
{
    for (unsigned i = 0; i < play->count && play->status == 0; i++) {
        get(play, i);
    }
}

static void
get_part(struct play *play, unsigned object)
{
    const uint32_t offset = play->sizes[object] / 3, length = play->sizes[object] / 4;
    granary_view view;
    granary_err err;

    if (play->status != 0) {
        return;
    }
    err = granary_object_get_range(play->client, object_id(object), offset, length, 0, &view);
    if (err != GRANARY_OK) {
        fail_to_find(play, err, "get of a part of", object);
        return;
    }
    if (view.data_size != length || memcmp(view.data, content(play, object) + offset, length) != 0) {
        play_wrong(play, "bytes of a part of", object);
    }
    granary_object_release(play->client, &view);
}

static void
delete_all(struct play *play)
{
    for (unsigned i = 0; i < play->count && play->status == 0; i++) {
        granary_err err = granary_object_delete(play->client, object_id(i), 0);

        if (err != GRANARY_OK) {
            fail_to_find(play, err, "deletion of", i);
        } else if (granary_object_contains(play->client, object_id(i))) {
            play_wrong(play, "there after its deletion:", i);
        }
    }
}

static void
unname(struct play *play)
{
    granary_id zero = {.bytes = {0}};
    granary_err err;

    if (play->status == 0 &&
        (err = granary_name_set(play->client, "nth", zero, GRANARY_NAME_ANY, zero, NULL)) != GRANARY_OK) {
        play_fail(play, err, "unbinding the name of", 2);
    }
}

/* What a play that ended early has left is right, and goes. */
static void
clear(struct play *play)
{
    unname(play);
    for (unsigned i = 0; i < play->count && play->status == 0; i++) {
        granary_err err;

        if (!granary_object_contains(play->client, object_id(i))) {
            continue;
        }
        get(play, i);
        if (play->status == 0 && (err = granary_object_delete(play->client, object_id(i), 0)) != GRANARY_OK) {
            play_fail(play, err, "deletion of the old", i);
        }
    }
}

/* An object that grows while it is written, and one that is given up. */
static void
build(struct play *play, unsigned object)
{
    granary_buffer buffer;
    granary_err err;

    if (play->status != 0) {
        return;
    }
    err = granary_object_create(play->client, object_id(object), 16, meta_size(object), ROOM_MS, &buffer);
    if (err == GRANARY_OK) {
        err = granary_buffer_resize(play->client, &buffer, play->sizes[object], ROOM_MS);
        if (err != GRANARY_OK) {
            granary_object_abort(play->client, &buffer);
        }
    }
    if (err == GRANARY_OK) {
        memcpy(buffer.data, content(play, object), play->sizes[object]);
        if (buffer.meta != NULL) {
            memcpy(buffer.meta, play->bytes, meta_size(object));
        }
        err = granary_object_seal(play->client, &buffer);
    }
    if (err == GRANARY_OK) {
        err = granary_object_create(play->client, object_id(200), 5000, 0, ROOM_MS, &buffer);
    }
    if (err == GRANARY_OK) {
        granary_object_abort(play->client, &buffer);
    } else {
        play_fail(play, err, "building of", object);
    }
}

static void
name(struct play *play, unsigned object)
{
    granary_id id = object_id(object);
    granary_id zero = {.bytes = {0}};
    granary_id found;
    granary_err err;

    if (play->status != 0) {
        return;
    }
    err = granary_name_set(play->client, "nth", id, GRANARY_NAME_ANY, zero, NULL);
    if (err == GRANARY_OK) {
        err = granary_name_get(play->client, "nth", &found);
    }
    if (err != GRANARY_OK) {
        play_fail(play, err, "name of", object);
    } else if (memcmp(&found, &id, sizeof id) != 0) {
        play_wrong(play, "name of", object);
    }
}

static void
move(struct play *play, unsigned object, granary_levels to, granary_levels from)
{
    granary_err err;

    if (play->status == 0 &&
        (err = granary_object_move(play->client, object_id(object), to, from, ROOM_MS)) != GRANARY_OK) {
        play_fail(play, err, "move of", object);
    }
}

/* Whether the fault of the trial has happened. */
static bool
fired(void)
{
    const char *directory = getenv("GRANARY_NTH");
    char path[160];

    (void)snprintf(path, sizeof path, "%s/note", directory == NULL ? "" : directory);
    return access(path, F_OK) == 0;
}

/*
 * For the runner's own test: GRANARY_NTH_PLANT is what goes wrong once the fault has happened, which the runner is to
 * find.
 */
static void
plant(struct play *play)
{
    const char *what = getenv("GRANARY_NTH_PLANT");
    char path[160];
    FILE *file;

    if (what == NULL || !fired()) {
        return;
    }
    if (strcmp(what, "crash") == 0) {
        abort();
    } else if (strcmp(what, "bytes") == 0) {
        play_wrong(play, "planted:", 0);
    } else if (strcmp(what, "message") == 0) {
        (void)fprintf(stderr, "granary: play: %s\n", strerror(EIO));
        exit(EXIT_FAILURE);
    } else if (strcmp(what, "hang") == 0) {
        (void)pause();
    } else if (strcmp(what, "leak") == 0) {
        (void)snprintf(path, sizeof path, "%s/spill/planted", getenv("GRANARY_NTH"));
        file = fopen(path, "we");
        play->status = file != NULL && fclose(file) == 0 ? 0 : 1;
    }
}

/* ---- plays ---- */

static void
play_put_get(struct play *play)
{
    clear(play);
    put_all(play, play->count - 1);
    build(play, play->count - 1);
    name(play, 2);
    get_all(play);
    get_part(play, 5);
    unname(play);
    delete_all(play);
}

static void
play_spill_restore(struct play *play)
{
    clear(play);
    put_all(play, play->count);
    get_all(play);
    get_part(play, 0);
    move(play, 19, GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY);
    move(play, 19, GRANARY_LEVEL_MEMORY, 0);
    get_all(play);
    delete_all(play);
}

static void
play_keep(struct play *play)
{
    put_all(play, play->count);
    name(play, 2);
}

static void
play_kept(struct play *play)
{
    get_all(play);
    get_part(play, 0);
    name(play, 2);
    name(play, 3);
}

static void
connect_to(struct play *play)
{
    granary_err err = granary_connect(NULL, &play->client);

    if (err != GRANARY_OK) {
        play_fail(play, err, "connecting before", 0);
    }
}

/* One that failed with the fault must succeed when it goes on with the same client, unless that has lost the store. */
static void
perform(struct play *play, void (*run)(struct play *play))
{
    char message[sizeof play->message];
    int status;

    connect_to(play);
    if (play->status == 0) {
        run(play);
        plant(play);
    }
    status = play->status;
    if (status == 0 || play->client == NULL || !fired() || status == LOST_STATUS || status == NTH_WRONG) {
        return;
    }
    memcpy(message, play->message, sizeof message);
    play->status = 0;
    (void)fputs("granary: play: once more\n", stderr);
    if (status == FULL_STATUS) {
        (void)poll(NULL, 0, DISK_PAUSE_MS);
    }
    run(play);
    if (play->status == 0) {
        (void)fputs(message, stderr);
        play->status = status;
    } else if (play->status != LOST_STATUS) {
        play_wrong(play, "failed again after the error:", 0);
    }
}

int
nth_play(int argc, char **argv)
{
    static const uint32_t mixed[] = {0, 1, 100, 4096, 4097, 70000, 300000, LARGEST, 12, 65536, 20000};
    static uint32_t equal[20];
    static const struct {
        const char *name;
        void (*run)(struct play *play);
        const uint32_t *sizes;
        unsigned count;
    } plays[] = {{"put_get", play_put_get, mixed, sizeof mixed / sizeof mixed[0]},
                 {"spill_restore", play_spill_restore, equal, 20},
                 {"keep", play_keep, equal, 20},
                 {"kept", play_kept, equal, 20},
                 {"mutable", play_mutable, NULL, 0},
                 {"durable", play_durable, NULL, 0},
                 {"channel", play_channel, mixed, 7}};
    struct play play = {.bytes = malloc(LARGEST), .status = 2};

    if (play.bytes == NULL) {
        (void)fprintf(stderr, "granary: play: out of memory for what objects are to hold\n");
        return granary_error_exit_status(GRANARY_ENOMEM);
    }
    for (uint32_t i = 0; i < sizeof equal / sizeof equal[0]; i++) {
        equal[i] = SPILLED_SIZE + i;
    }
    for (size_t i = 0; argc == 2 && i < sizeof plays / sizeof plays[0]; i++) {
        if (strcmp(argv[1], plays[i].name) != 0) {
            continue;
        }
        play.sizes = plays[i].sizes;
        play.count = plays[i].count;
        play.status = 0;
        perform(&play, plays[i].run);
        granary_disconnect(play.client);
    }
    free(play.bytes);
    return play.status;
}
