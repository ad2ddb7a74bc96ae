/*
 * A table that is durable on commit: appends, values written over, a delete, history given up, pieces put together, and a second one
 * that is sealed. After the machine's restart what had returned is there, and of what had not all or nothing.
 */
#include <stdio.h>
#include <string.h>

#include "data/frame.h"
#include "granary/mutable.h"
#include "integration/store/fixture.h"
#include "power/scenario.h"

enum { APPENDS = 36, EACH = 3, CHANGED = 1000, SEALED_ROWS = 4 };

static const char *const memory[] = {"--memory", "16M", NULL};
static const granary_mutable_options durable = {.durability = GRANARY_DURABLE_COMMIT};

/* What was promised, and what had been begun. */
struct told {
    int appended, appending; /* so many appends */
    bool changed, changing;  /* the first rows */
    bool deleted, deleting;  /* the second append's */
    bool sealed;
};

#define DO(step)                                                                                                       \
    if ((err = (step)) != GRANARY_OK) {                                                                                \
        return err;                                                                                                    \
    }

static granary_err
append(granary_mutable *table, int64_t value, int64_t rows)
{
    int64_t values[EACH + 1];
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .values = values};

    for (int64_t i = 0; i < rows; i++) {
        values[i] = value;
    }
    return granary_mutable_append(table, &column, 1, rows, NULL, NULL);
}

static granary_err
append_some(struct stage *stage, granary_mutable *table, int from, int to)
{
    granary_err err = GRANARY_OK;

    for (int i = from; err == GRANARY_OK && i < to; i++) {
        stage_note(stage, "appending %d", i + 1);
        err = append(table, i, EACH);
        if (err == GRANARY_OK) {
            stage_note(stage, "appended %d", i + 1);
        }
    }
    return err;
}

static granary_err
change(struct stage *stage, granary_mutable *table)
{
    const int64_t values[EACH] = {CHANGED, CHANGED, CHANGED};
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .values = values};
    const granary_rows first = {.from = 0, .to = EACH}, second = {.from = EACH, .to = 2 * EACH};
    granary_err err;

    stage_note(stage, "changing");
    DO(granary_mutable_write_rows(table, &first, &column, 1, NULL, NULL))
    stage_note(stage, "changed");
    stage_note(stage, "deleting");
    DO(granary_mutable_delete_rows(table, &second, NULL, NULL, NULL))
    stage_note(stage, "deleted");
    return GRANARY_OK;
}

static granary_err
play(struct stage *stage, granary_client *client)
{
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64};
    const granary_retain all = {.time = GRANARY_NOW};
    granary_mutable *table = NULL, *other = NULL;
    granary_err err = granary_mutable_create_frame(client, "kept", &column, 1, &durable, &table);

    err = err == GRANARY_OK ? append_some(stage, table, 0, 14) : err;
    err = err == GRANARY_OK ? change(stage, table) : err;
    err = err == GRANARY_OK ? append_some(stage, table, 14, 20) : err;
    err = err == GRANARY_OK ? granary_mutable_retain(table, &all, NULL) : err;
    err = err == GRANARY_OK ? append_some(stage, table, 20, APPENDS) : err;
    err = err == GRANARY_OK ? granary_mutable_create_frame(client, "sealed", &column, 1, &durable, &other) : err;
    err = err == GRANARY_OK ? append(other, 7, SEALED_ROWS) : err;
    if (err == GRANARY_OK) {
        stage_note(stage, "filled");
        err = granary_mutable_seal(other, GRANARY_NOW, NULL);
    }
    if (err == GRANARY_OK) {
        stage_note(stage, "sealed");
    }
    granary_mutable_close(table);
    granary_mutable_close(other);
    return err;
}

static bool
start(struct stage *stage, struct daemon *daemon, granary_client **ret_client)
{
    const granary_connect_options options = {.instance = stage->instance, .reconnect_ms = -1};

    *daemon = (struct daemon){0};
    (void)snprintf(daemon->directory, sizeof daemon->directory, "%s", stage->instance);
    if (!daemon_restart(daemon, memory)) {
        return stage_fail(stage, "the store does not start");
    }
    if (granary_connect(&options, ret_client) != GRANARY_OK) {
        daemon_kill(daemon);
        return stage_fail(stage, "%s", granary_error_message());
    }
    return true;
}

static bool
record_table(struct stage *stage)
{
    granary_client *client = NULL;
    struct daemon daemon;
    bool ok = start(stage, &daemon, &client);

    if (ok) {
        ok = play(stage, client) == GRANARY_OK || stage_fail(stage, "%s", granary_error_message());
        granary_disconnect(client);
        daemon_kill(&daemon);
    }
    return ok;
}

static struct told
read_told(const struct disks *disks, bool lying, bool *ret_filled)
{
    struct told told = {.appended = -1};
    const char *note;
    size_t index = 0;

    *ret_filled = false;
    while ((note = disks_note(disks, &index)) != NULL) {
        (void)sscanf(note, "appending %d", &told.appending);
        (void)sscanf(note, "appended %d", &told.appended);
        told.changing = told.changing || strcmp(note, "changing") == 0;
        told.changed = told.changed || strcmp(note, "changed") == 0;
        told.deleting = told.deleting || strcmp(note, "deleting") == 0;
        told.deleted = told.deleted || strcmp(note, "deleted") == 0;
        told.sealed = told.sealed || strcmp(note, "sealed") == 0;
        *ret_filled = *ret_filled || strcmp(note, "filled") == 0;
    }
    if (lying) {
        told.appended = -1;
        told.changed = told.deleted = told.sealed = *ret_filled = false;
    }
    return told;
}

/* How often each append's value is there; the last one is CHANGED. Errors: as granary_table_open() and reads */
static granary_err
count_values(granary_client *client, const char *name, int64_t counts[static APPENDS + 1])
{
    granary_mutable *table = NULL;
    granary_frame *frame = NULL;
    granary_err err = granary_table_open(client, name, &table);

    err = err == GRANARY_OK ? granary_mutable_read_frame(table, GRANARY_NOW, &frame) : err;
    for (int64_t i = 0; err == GRANARY_OK && i < granary_frame_rows(frame); i++) {
        const int64_t value = ((const int64_t *)granary_frame_column(frame, 0)->values)[i];

        if (value != CHANGED && (value < 0 || value >= APPENDS)) {
            granary_frame_close(frame);
            granary_mutable_close(table);
            return GRANARY_EFAILED; /* of nobody */
        }
        counts[value == CHANGED ? APPENDS : value]++;
    }
    granary_frame_close(frame);
    granary_mutable_close(table);
    return err;
}

static bool
check_kept(struct stage *stage, granary_client *client, const struct told *told)
{
    int64_t counts[APPENDS + 1] = {0};
    granary_err err = count_values(client, "kept", counts);
    int there = 0;

    if (err == GRANARY_ENOENT && told->appended < 0) {
        return true;
    }
    if (err != GRANARY_OK) {
        return (stage->lying && err == GRANARY_ECORRUPT) || stage_fail(stage, "table: %s", granary_error_message());
    }
    if (counts[APPENDS] != 0) { /* written over: then the first append was there */
        if (counts[APPENDS] != EACH || counts[0] != 0 || !told->changing) {
            return stage_fail(stage, "%d rows changed, %d not", (int)counts[APPENDS], (int)counts[0]);
        }
        counts[0] = EACH;
    } else if (told->changed) {
        return stage_fail(stage, "a change was lost");
    }
    if (counts[1] == 0 && told->deleting) {
        counts[1] = counts[2]; /* there, and deleted */
    } else if (told->deleted) {
        return stage_fail(stage, "a delete was lost");
    }
    while (there < APPENDS && counts[there] == EACH) {
        there++;
    }
    for (int i = there; i < APPENDS; i++) {
        if (counts[i] != 0) {
            return stage_fail(stage, "append %d has %d rows, append %d has %d", there, (int)counts[there], i,
                              (int)counts[i]);
        }
    }
    return (there >= told->appended && there <= told->appending) ||
           stage_fail(stage, "%d appends are there, %d were promised, %d begun", there, told->appended,
                      told->appending);
}

static bool
check_sealed(struct stage *stage, granary_client *client, const struct told *told, bool filled)
{
    int64_t counts[APPENDS + 1] = {0};
    granary_mutable *table = NULL;
    granary_err err = count_values(client, "sealed", counts);

    if (err != GRANARY_OK) {
        return (err == GRANARY_ENOENT && !filled) || (stage->lying && err == GRANARY_ECORRUPT) ||
               stage_fail(stage, "sealed table: %s", granary_error_message());
    }
    if (counts[7] != SEALED_ROWS && (filled || counts[7] != 0)) {
        return stage_fail(stage, "sealed table: %d rows", (int)counts[7]);
    }
    err = granary_mutable_open(client, "sealed", &table);
    granary_mutable_close(table);
    return !told->sealed || err == GRANARY_ESEALED || stage_fail(stage, "a seal was lost");
}

/* It takes more. */
static bool
check_goes_on(struct stage *stage, granary_client *client)
{
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64};
    const granary_mutable_options open = {.durability = GRANARY_DURABLE_COMMIT, .flags = GRANARY_MUTABLE_OPEN};
    granary_mutable *table = NULL;
    granary_err err = granary_mutable_create_frame(client, "kept", &column, 1, &open, &table);

    err = err == GRANARY_OK ? append(table, 1, 1) : err;
    granary_mutable_close(table);
    return err == GRANARY_OK || (stage->lying && err == GRANARY_ECORRUPT) ||
           stage_fail(stage, "a new append: %s", granary_error_message());
}

static bool
check_table(struct stage *stage, const struct disks *disks)
{
    granary_client *client = NULL;
    struct daemon daemon;
    bool filled, ok;
    const struct told told = read_told(disks, stage->lying, &filled);

    stage_power_off(stage);
    ok = start(stage, &daemon, &client);
    if (ok) {
        ok = check_kept(stage, client, &told) && check_sealed(stage, client, &told, filled) &&
             check_goes_on(stage, client);
        granary_disconnect(client);
        daemon_kill(&daemon);
        stage_power_off(stage);
    }
    return ok;
}

const struct scenario scenario_table = {.name = "table", .record = record_table, .check = check_table};
