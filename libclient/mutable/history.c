/*
 * History given up. What a table is at a time becomes its base: an object that contains what that time needs. Handles load
 * the base, and then look at what the logs tell of later times. What only earlier times needed is let go.
 *
 * Parts of a base are those of a sealed table (sealed.h), but for two things. The first part tells the time, as its number.
 * The offset of a frame's part is twice the first row that counts in its object, and 1 more when the object has no others;
 * its number is that of the object's row 0.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/sized.h"
#include "mutable/core/lane.h"
#include "mutable/read.h"
#include "mutable/snapshot.h"

#define BASE_LANE UINT32_MAX /* of chunks that no log tells of */

static granary_id
base_id(const granary_mutable *table, uint32_t number)
{
    return kept_id(table->id, GR_MUTABLE_BASE, 0, number);
}

/* ---- reading it ---- */

static granary_err
base_add(struct index *index, const struct sealed_part *part, size_t position, bool is_tensor)
{
    const uint64_t begin = part->offset / 2;

    if (is_tensor) {
        return part->number == SEALED_SHAPE ? GRANARY_OK : index_add_tile(index, part->number, part->id, part->offset);
    }
    if (part->rows < 0 || begin + (uint64_t)part->rows > UINT32_MAX) {
        return gr_fail(GRANARY_ECORRUPT, "a part of %lld rows", (long long)part->rows);
    }
    return index_add_chunk(index, (struct index_chunk){.object = part->id,
                                                       .first = part->number,
                                                       .lane = BASE_LANE,
                                                       .number = (uint32_t)position,
                                                       .capacity = (uint32_t)begin + (uint32_t)part->rows,
                                                       .begin = (uint32_t)begin,
                                                       .end = (uint32_t)begin + (uint32_t)part->rows,
                                                       .is_full = part->offset % 2 == 1,
                                                       .earliest = INT64_MIN,
                                                       .latest = INT64_MIN});
}

/* Forget all that is known, and learn the base. Errors: ENOENT it is gone · as sealed_get() */
static granary_err
base_load(granary_mutable *table, uint32_t number)
{
    struct sealed_parts parts = {.count = 0};
    struct index index;
    granary_err err = sealed_get(table->client, base_id(table, number), BASE_MARK, &parts);

    if (err != GRANARY_OK) {
        return err;
    }
    index_init(&index, table->client, table->id);
    index.base = number;
    err = parts.count > 0 ? GRANARY_OK : gr_fail(GRANARY_ECORRUPT, "the base has no parts");
    for (size_t i = 1; err == GRANARY_OK && i < parts.count; i++) {
        err = base_add(&index, &parts.part[i], i, table->tensor != NULL);
    }
    if (err == GRANARY_OK) {
        index.horizon = (int64_t)parts.part[0].number;
        index_free(&table->index);
        table->index = index;
    } else {
        index_free(&index);
    }
    sealed_free(&parts);
    return err;
}

bool
table_has_moved(const granary_mutable *table)
{
    return !table_is_fixed(table) && atomic_load(&table->page.page->base) != table->index.base;
}

bool
table_try_again(const granary_mutable *table, granary_err err)
{
    return err == GRANARY_ECORRUPT && table_has_moved(table);
}

granary_err
table_learn(granary_mutable *table, const uint64_t *counts, uint32_t lanes)
{
    granary_err err;

    do {
        err = GRANARY_OK;
        if (table_has_moved(table)) {
            err = base_load(table, atomic_load(&table->page.page->base));
            err = err == GRANARY_ENOENT ? gr_fail(GRANARY_ECORRUPT, "its base is gone") : err;
        }
        err = err == GRANARY_OK ? index_update(&table->index, counts, lanes) : err;
    } while (table_try_again(table, err));
    return err;
}

/* ---- to which time ---- */

struct times {
    int64_t *time;
    size_t count;
    size_t room;
};

static granary_err
take_time(void *context, uint64_t position, const struct gr_mutable_slot *slot)
{
    const unsigned kind = GR_MUTABLE_WHAT_KIND(slot->what);
    struct times *times = context;

    (void)position;
    if (kind != GR_MUTABLE_APPEND && kind != GR_MUTABLE_NOTE) {
        return GRANARY_OK;
    }
    if (!gr_grow(&times->time, &times->room, times->count, sizeof *times->time)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    times->time[times->count++] = slot->time;
    return GRANARY_OK;
}

static int
by_later(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return a > b ? -1 : a < b;
}

/* The earliest of so many newest times of writes; INT64_MIN: there were fewer. */
static granary_err
time_of_writes(granary_mutable *table, uint64_t writes, int64_t *ret_time)
{
    uint64_t counts[GR_MUTABLE_LANES], different = 0;
    const uint32_t lanes = mutable_committed(table->page.page, counts);
    struct times times = {.count = 0};
    granary_err err = GRANARY_OK;

    for (uint32_t i = 0; err == GRANARY_OK && i < lanes; i++) {
        err = counts[i] == 0 ? GRANARY_OK : log_walk(table->client, table->id, i, 0, counts[i] - 1, take_time, &times);
    }
    if (times.count > 1) {
        qsort(times.time, times.count, sizeof *times.time, by_later);
    }
    *ret_time = INT64_MIN;
    for (size_t i = 0; i < times.count && different < writes; i++) {
        different += i == 0 || times.time[i] != times.time[i - 1];
        *ret_time = different == writes ? times.time[i] : *ret_time;
    }
    free(times.time);
    return err;
}

static granary_err
retain_time(granary_mutable *table, const granary_retain *retain, int64_t *ret_time)
{
    if ((retain->age_ns > 0) + (retain->writes > 0) + (retain->time != 0) != 1) {
        return gr_fail(GRANARY_EINVAL, "one of time, age and writes tells how far back history is kept");
    }
    if (retain->writes > 0) {
        return time_of_writes(table, retain->writes, ret_time);
    }
    *ret_time = retain->age_ns > 0 ? table_clock() - retain->age_ns : retain->time;
    return GRANARY_OK;
}

/* ---- making it ---- */

static granary_err
base_runs(struct snapshot *snapshot)
{
    const struct runs *runs = &snapshot->content.runs;
    granary_err err = snapshot_begin(snapshot, snapshot->table, runs->count);

    for (size_t i = 0; err == GRANARY_OK && i < runs->count; i++) {
        const struct run *run = &runs->run[i];

        if (content_is_patched(&snapshot->content, i)) {
            err = snapshot_copy(snapshot, i, i + 1);
            if (err == GRANARY_OK) {
                snapshot->parts.part[snapshot->parts.count - 1].offset = 1;
            }
        } else {
            err = sealed_add(&snapshot->parts, (struct sealed_part){.id = run->object,
                                                                    .number = run->first,
                                                                    .rows = run->to - run->from,
                                                                    .offset = (uint64_t)run->from * 2 + run->is_whole});
        }
    }
    return err == GRANARY_OK && runs->count == 0 ? snapshot_copy(snapshot, 0, 0) : err;
}

/* The base at a time, which is published. Errors: EBUSY somebody else has published one meanwhile */
static granary_err
base_put(granary_mutable *table, const struct snapshot *snapshot, int64_t time)
{
    const struct sealed_parts *from = &snapshot->parts;
    struct sealed_parts parts = {.count = 0};
    uint32_t before = table->index.base, number = before;
    granary_err err = sealed_add(&parts, (struct sealed_part){.id = from->part[0].id, .number = (uint64_t)time});

    for (size_t i = 0; err == GRANARY_OK && i < from->count; i++) {
        err = sealed_add(&parts, from->part[i]);
    }
    do { /* one that nobody has published may be there, of a process that was killed */
        err = err == GRANARY_OK || err == GRANARY_EEXIST
                  ? sealed_put(table->client, base_id(table, ++number), BASE_MARK, &parts, true)
                  : err;
    } while (err == GRANARY_EEXIST);
    sealed_free(&parts);
    err = err == GRANARY_OK ? kept_refer(table->client, table->id, base_id(table, number)) : err;
    if (err == GRANARY_OK && !atomic_compare_exchange_strong(&table->page.page->base, &before, number)) {
        kept_unrefer(table->client, table->id, base_id(table, number));
        err = gr_fail(GRANARY_EBUSY, "somebody else gives up history");
    }
    return err;
}

/* ---- letting go ---- */

/* A slab, and the latest time of its notes. */
struct slab_end {
    uint32_t lane;
    uint32_t slab;
    int64_t latest;
};

/* Slabs whose notes are all of given up history, but for the last one of a lane, which may be written. */
static void
slabs_let_go(const granary_mutable *table, int64_t time)
{
    const struct index *index = &table->index;
    uint32_t last[GR_MUTABLE_LANES] = {0};
    struct slab_end *slabs = NULL;
    size_t count = 0, room = 0;

    for (size_t i = 0; i < index->note_count; i++) {
        const struct index_note *note = &index->notes[i];
        size_t at = count;

        if (note->time == INT64_MIN) { /* of the base before */
            continue;
        }
        last[note->lane] = note->slab > last[note->lane] ? note->slab : last[note->lane];
        while (at > 0 && (slabs[at - 1].lane != note->lane || slabs[at - 1].slab != note->slab)) {
            at--;
        }
        if (at > 0) {
            slabs[at - 1].latest = note->time > slabs[at - 1].latest ? note->time : slabs[at - 1].latest;
        } else if (gr_grow(&slabs, &room, count, sizeof *slabs)) { /* else it stays */
            slabs[count++] = (struct slab_end){note->lane, note->slab, note->time};
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (slabs[i].latest <= time && slabs[i].slab != last[slabs[i].lane]) {
            kept_unrefer(table->client, table->id, kept_id(table->id, GR_MUTABLE_SLAB, slabs[i].lane, slabs[i].slab));
        }
    }
    free(slabs);
}

/* What the table had a reference to, and no time from this one on needs but through the base. */
static void
history_let_go(const granary_mutable *table, int64_t time)
{
    const struct index *index = &table->index;

    for (size_t i = 0; i < index->count; i++) {
        const struct index_chunk *chunk = &index->chunks[i];

        if (chunk->lane != BASE_LANE && chunk->latest <= time && index->current[chunk->lane] != i + 1) {
            kept_unrefer(table->client, table->id, chunk->object);
        }
    }
    for (size_t i = 0; i < index->note_count; i++) {
        const struct index_note *note = &index->notes[i];

        if (note->kind == GR_NOTE_TILE && note->time != INT64_MIN && note->time <= time) {
            kept_unrefer(table->client, table->id, note->tile);
        }
    }
    slabs_let_go(table, time);
    if (index->base != 0) {
        kept_unrefer(table->client, table->id, base_id(table, index->base));
    }
}

/* ---- the call ---- */

/* The table, which is locked, at a time that is final. */
static granary_err
history_end(granary_mutable *table, int64_t time)
{
    struct snapshot snapshot = {.table = table};
    granary_err err;

    if (table->tensor != NULL) {
        err = snapshot_tiles(&snapshot, table, time);
    } else {
        err = content_open(table, time, &snapshot.content);
        if (err == GRANARY_OK) {
            err = base_runs(&snapshot);
            content_close(&snapshot.content);
        }
    }
    err = err == GRANARY_OK ? base_put(table, &snapshot, time) : err;
    snapshot_end(&snapshot);
    if (err == GRANARY_OK) {
        history_let_go(table, time);
    }
    return err;
}

granary_err
granary_mutable_retain_sized(granary_mutable *table, const granary_retain *theirs, int64_t *ret_time,
                             size_t retain_size)
{
    granary_retain retain;
    int64_t time = 0;
    granary_err err = gr_sized_take(&retain, sizeof retain, theirs, retain_size);

    if (err == GRANARY_OK && table_is_fixed(table)) {
        err = table_fail_sealed(table);
    }
    err = err == GRANARY_OK ? retain_time(table, &retain, &time) : err;
    if (err == GRANARY_OK && retain.writes > 0 && time == INT64_MIN) {
        time = table->index.horizon; /* there were fewer: all of them stay */
    }
    while (err == GRANARY_OK && (retain.writes == 0 || time != table->index.horizon)) {
        int64_t at = time;

        (void)pthread_mutex_lock(&table->lock);
        err = table_look(table);
        if (err == GRANARY_OK && at != GRANARY_NOW && at <= table->index.horizon) {
            time = table->index.horizon; /* that is given up already */
            (void)pthread_mutex_unlock(&table->lock);
            break;
        }
        err = err == GRANARY_OK ? table_cut(table, &at) : err;
        err = err == GRANARY_OK ? history_end(table, at) : err;
        (void)pthread_mutex_unlock(&table->lock);
        if (err != GRANARY_EBUSY && !table_try_again(table, err)) {
            time = at;
            break;
        }
        err = GRANARY_OK;
    }
    if (err == GRANARY_OK && ret_time != NULL) {
        *ret_time = time;
    }
    return table_told(table, err);
}
