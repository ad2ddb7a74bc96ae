/* Plays with what processes share and change: tables, as long as the instance or on disk, and channels. */
#include <stdlib.h>
#include <string.h>

#include "granary/channel.h"
#include "granary/frame.h"
#include "granary/mutable.h"
#include "torture/nth/nth_play.h"

#define NAME    "nth"
#define WAIT_MS 5000

enum { APPENDS = 4, EACH = 50, CHANGED = 3, DELETED = 2 };

/* ---- tables ---- */

struct rows {
    int64_t numbers[EACH];
    int32_t offsets[EACH + 1];
    char text[EACH * 4];
    granary_column columns[2];
};

static void
rows_make(struct rows *rows, int64_t first)
{
    *rows = (struct rows){.offsets = {0}};
    for (int i = 0; i < EACH; i++) {
        rows->numbers[i] = first + i;
        rows->offsets[i + 1] = rows->offsets[i] + i % 5;
    }
    memset(rows->text, 'x', sizeof rows->text);
    rows->columns[0] = (granary_column){.name = "n", .dtype = GRANARY_INT64, .rows = EACH, .values = rows->numbers};
    rows->columns[1] = (granary_column){
        .name = "s", .dtype = GRANARY_STRING, .rows = EACH, .values = rows->text, .offsets = rows->offsets};
}

static void
drop_table(struct play *play)
{
    granary_err err = play->status != 0 ? GRANARY_OK : granary_mutable_delete(play->client, NAME);

    if (err != GRANARY_OK && err != GRANARY_ENOENT) {
        play_fail(play, err, "deletion of table", 0);
    }
}

/* The first rows are 1000, then so many are missing, and the others are what they were. */
static void
check_rows(struct play *play, granary_mutable *table)
{
    granary_frame *frame = NULL;
    granary_err err = granary_mutable_read_frame(table, GRANARY_NOW, &frame);
    const int64_t *numbers;

    if (err != GRANARY_OK) {
        play_fail(play, err, "read of table", 0);
        return;
    }
    numbers = granary_frame_column(frame, 0)->values;
    if (granary_frame_rows(frame) != APPENDS * EACH - DELETED) {
        play_wrong(play, "number of rows of table", 0);
    }
    for (int64_t i = 0; play->status == 0 && i < granary_frame_rows(frame); i++) {
        const int64_t number = i < CHANGED ? 1000 : i + DELETED;
        size_t length;

        (void)granary_column_text(granary_frame_column(frame, 1), i, &length);
        if (numbers[i] != number || length != (size_t)((i < CHANGED ? i : i + DELETED) % EACH % 5)) {
            play_wrong(play, "values of table, row", (unsigned)i);
        }
    }
    granary_frame_close(frame);
}

static granary_err
fill_table(granary_mutable *table)
{
    static const int64_t thousand[CHANGED] = {1000, 1000, 1000};
    const granary_column changed = {.name = "n", .dtype = GRANARY_INT64, .values = thousand};
    const granary_rows first = {.to = CHANGED}, next = {.from = CHANGED, .to = CHANGED + DELETED};
    struct rows rows;
    granary_err err = GRANARY_OK;

    for (int i = 0; err == GRANARY_OK && i < APPENDS; i++) {
        rows_make(&rows, (int64_t)i * EACH);
        err = granary_mutable_append(table, rows.columns, 2, EACH, NULL, NULL);
    }
    err = err == GRANARY_OK ? granary_mutable_write_rows(table, &first, &changed, 1, NULL, NULL) : err;
    return err == GRANARY_OK ? granary_mutable_delete_rows(table, &next, NULL, NULL, NULL) : err;
}

/* A table under the name, filled, which has been read. NULL: it failed. */
static granary_mutable *
make_table(struct play *play, granary_durability durability)
{
    const granary_mutable_options options = {.durability = durability, .timeout_ms = WAIT_MS};
    granary_mutable *table = NULL;
    struct rows rows;
    granary_err err;

    drop_table(play);
    if (play->status != 0) {
        return NULL;
    }
    rows_make(&rows, 0);
    err = granary_mutable_create_frame(play->client, NAME, rows.columns, 2, &options, &table);
    err = err == GRANARY_OK ? fill_table(table) : err;
    if (err != GRANARY_OK) {
        play_fail(play, err, "table", 0);
        granary_mutable_close(table);
        return NULL;
    }
    check_rows(play, table);
    return table;
}

/* What stays as it is, of the table. */
static void
check_fixed(struct play *play, granary_err err, granary_mutable *table, const char *what)
{
    if (play->status == 0 && err != GRANARY_OK) {
        play_fail(play, err, what, 0);
    } else if (play->status == 0) {
        check_rows(play, table);
    }
    granary_mutable_close(table);
}

void
play_mutable(struct play *play)
{
    const granary_retain all = {.time = GRANARY_NOW};
    granary_mutable *table = make_table(play, GRANARY_DURABLE_NONE), *fixed = NULL;
    granary_err err = GRANARY_OK;
    granary_id id;

    if (table != NULL && play->status == 0) {
        err = granary_mutable_snapshot(table, GRANARY_NOW, NULL, &id);
        if (err == GRANARY_OK) {
            err = granary_sealed_open(play->client, id, &fixed);
            check_fixed(play, err, fixed, "snapshot of table");
            err = granary_object_delete(play->client, id, 0);
        }
        err = err == GRANARY_OK ? granary_mutable_retain(table, &all, NULL) : err;
        err = err == GRANARY_OK ? granary_mutable_seal(table, GRANARY_NOW, NULL) : err;
        if (play->status == 0 && err != GRANARY_OK) {
            play_fail(play, err, "end of table", 0);
        }
    }
    granary_mutable_close(table);
    if (play->status == 0) {
        fixed = NULL;
        err = granary_table_open(play->client, NAME, &fixed);
        check_fixed(play, err, fixed, "sealed table");
    }
    drop_table(play);
}

/* On disk stays that there was a table, which has ended. */
static void
drop_objects(struct play *play)
{
    granary_object_info *infos = NULL;
    size_t count = 0;
    granary_err err = play->status != 0 ? GRANARY_OK : granary_object_list(play->client, &infos, &count);

    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = granary_object_delete(play->client, infos[i].id, 0);
        err = err == GRANARY_ENOENT ? GRANARY_OK : err;
    }
    free(infos);
    if (err != GRANARY_OK) {
        play_fail(play, err, "deletion of what is left of table", 0);
    }
}

void
play_durable(struct play *play)
{
    granary_mutable *table = make_table(play, GRANARY_DURABLE_COMMIT), *again = NULL;
    granary_err err;

    if (table != NULL && play->status == 0 && (err = granary_mutable_flush(table)) != GRANARY_OK) {
        play_fail(play, err, "flush of table", 0);
    }
    granary_mutable_close(table);
    if (play->status == 0) {
        err = granary_mutable_open(play->client, NAME, &again);
        check_fixed(play, err, again, "table opened again");
    }
    drop_table(play);
    drop_objects(play);
}

/* ---- channels ---- */

static void
message_fill(struct play *play, unsigned message)
{
    for (uint32_t i = 0; i < play->sizes[message]; i++) {
        play->bytes[i] = (char)(message * 31 + i / 7);
    }
}

/* All messages, in the order in which they were put; then there are no more. */
static granary_err
get_messages(struct play *play, granary_channel *channel)
{
    granary_message message;
    granary_err err = GRANARY_OK;

    for (unsigned i = 0; err == GRANARY_OK && play->status == 0 && i < play->count; i++) {
        err = granary_channel_get(channel, WAIT_MS, &message);
        if (err != GRANARY_OK) {
            break;
        }
        message_fill(play, i);
        if (message.size != play->sizes[i] || memcmp(message.data, play->bytes, message.size) != 0) {
            play_wrong(play, "message", i);
        }
        granary_channel_done(channel);
    }
    if (err == GRANARY_OK && play->status == 0 && granary_channel_get(channel, 0, &message) == GRANARY_OK) {
        play_wrong(play, "one more message than there were:", play->count);
    }
    return err;
}

static granary_err
use_channel(struct play *play, granary_channel *channel)
{
    granary_err err = GRANARY_OK;

    for (unsigned i = 0; err == GRANARY_OK && i < play->count; i++) {
        message_fill(play, i);
        err = granary_channel_put(channel, play->bytes, play->sizes[i], WAIT_MS);
    }
    err = err == GRANARY_OK ? get_messages(play, channel) : err;
    return err == GRANARY_OK ? granary_channel_seal(channel) : err;
}

void
play_channel(struct play *play)
{
    granary_channel *channel = NULL;
    granary_err err = granary_channel_delete(play->client, NAME); /* what a play that ended early has left */

    err = err == GRANARY_OK || err == GRANARY_ENOENT ? granary_channel_create(play->client, NAME, NULL, &channel) : err;
    err = err == GRANARY_OK ? use_channel(play, channel) : err;
    granary_channel_close(channel);
    err = err == GRANARY_OK && play->status == 0 ? granary_channel_delete(play->client, NAME) : err;
    if (err != GRANARY_OK && play->status == 0) {
        play_fail(play, err, "channel", 0);
    }
}
