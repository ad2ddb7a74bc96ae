/*
 * History given up. What a table is at a time becomes its base: an object that contains what that time needs. Handles load
 * the base, and then look at what the logs tell of later times. What only earlier times needed is let go.
 *
 * Parts of a base are those of a sealed table (sealed.h), but for two things. One more part, the last, tells the time, as its
 * number. The offset of a frame's part is twice the first row that counts in its object, and 1 more when the object has no others;
 * its number is that of the object's row 0.
 */
#include "mutable/history.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "base/sized.h"
#include "mutable/core/lane.h"
#include "mutable/durable/flush.h"
#include "mutable/read.h"
#include "mutable/snapshot.h"
#include "mutable/tensor/shape.h"

static granary_id
base_id(const granary_mutable *table, uint32_t number)
{
    return kept_id(table->id, GR_MUTABLE_BASE, 0, number);
}

/* ---- reading it ---- */

static granary_err
base_learn(const granary_mutable *table, const struct sealed_part *part, struct index *index)
{
    if (table->tensor == NULL) {
        return sealed_learn_rows(index, part, part->offset / 2, part->offset % 2 == 1);
    }
    return part->number == SEALED_SHAPE ? GRANARY_OK : sealed_learn_tile(index, part);
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
    index_init(&index, table->client, table->id, table->index.tiles);
    index.base = number;
    err = parts.count > 0 ? GRANARY_OK : gr_fail(GRANARY_ECORRUPT, "the base has no parts");
    for (size_t i = 0; err == GRANARY_OK && i + 1 < parts.count; i++) {
        err = base_learn(table, &parts.part[i], &index);
    }
    if (err == GRANARY_OK) {
        index.horizon = (int64_t)parts.part[parts.count - 1].number;
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
    return err == GRANARY_ECORRUPT && !table_is_fixed(table) &&
           atomic_load(&table->page.page->base) != table->base_seen;
}

granary_err
table_learn(granary_mutable *table, const uint64_t *counts, uint32_t lanes)
{
    granary_err err;

    do {
        err = GRANARY_OK;
        table->base_seen = atomic_load(&table->page.page->base);
        if (table->base_seen != table->index.base) {
            err = base_load(table, table->base_seen);
            err = err == GRANARY_ENOENT ? gr_fail(GRANARY_ECORRUPT, "its base is gone") : err;
        }
        err = err == GRANARY_OK ? index_update(&table->index, counts, lanes) : err;
    } while (table_try_again(table, err));
    return err;
}

/* ---- to which time ---- */

#define BEFORE_ALL (INT64_MIN + 1) /* GRANARY_NOW is the number before that */

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

/* The earliest of so many newest times of writes; when there were fewer, one before all of them. */
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
    *ret_time = BEFORE_ALL;
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

/* A run as it lies in its object; one that was written over as a copy. */
static granary_err
take_run(struct snapshot *snapshot, size_t first, size_t *ret_next)
{
    const struct run *run = &snapshot->content.runs.run[first];
    granary_err err;

    *ret_next = first + 1;
    if (!content_is_patched(&snapshot->content, first)) {
        return sealed_add(&snapshot->parts, (struct sealed_part){.id = run->object,
                                                                 .number = run->first,
                                                                 .rows = run->to - run->from,
                                                                 .offset = (uint64_t)run->from * 2 + run->is_whole});
    }
    err = snapshot_copy(snapshot, first, first + 1);
    if (err == GRANARY_OK) {
        snapshot->parts.part[snapshot->parts.count - 1].offset = 1;
    }
    return err;
}

/* The base, which is published. Errors: EBUSY somebody else has published one meanwhile */
static granary_err
base_put(granary_mutable *table, const struct sealed_parts *parts)
{
    uint32_t before = table->index.base, number = before;
    granary_err err;

    do { /* one that nobody has published may be there, of a process that was killed */
        err = sealed_put(table->client, base_id(table, ++number), BASE_MARK, parts, true);
    } while (err == GRANARY_EEXIST);
    err = err == GRANARY_OK ? kept_refer(table->client, table->id, base_id(table, number)) : err;
    if (err == GRANARY_OK && !atomic_compare_exchange_strong(&table->page.page->base, &before, number)) {
        kept_unrefer(table->client, table->id, base_id(table, number));
        err = gr_fail(GRANARY_EBUSY, "somebody else gives up history");
    }
    table->base_seen =
        err == GRANARY_OK ? number : table->base_seen; /* what fails from now on, does not for this base */
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
    uint64_t holder = 0;

    for (size_t i = 0; i < index->count; i++) {
        const struct index_chunk *chunk = &index->chunks[i];

        if (chunk->lane != INDEX_NO_LANE && chunk->latest <= time && index->current[chunk->lane] != i + 1) {
            kept_unrefer(table->client, table->id, chunk->object);
        }
    }
    for (size_t i = 0; i < index->note_count; i++) {
        const struct index_note *note = &index->notes[i];

        if (note->kind == GR_NOTE_TILE && note->time != INT64_MIN && note->time <= time) {
            /* Those of one write follow each other. What a restart has restored has no holder any more. */
            if (note->holder != 0 && note->holder != holder) {
                kept_unrefer(table->client, table->id,
                             kept_id(table->id, GR_MUTABLE_TILE, note->lane, note->holder - 1));
            }
            holder = note->holder;
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
    struct snapshot snapshot;
    granary_err err = snapshot_collect(&snapshot, table, time, take_run);

    if (err == GRANARY_OK) {
        err = sealed_add(&snapshot.parts,
                         (struct sealed_part){.id = snapshot.parts.part[0].id, .number = (uint64_t)time});
    }
    err = err == GRANARY_OK ? base_put(table, &snapshot.parts) : err;
    snapshot_end(&snapshot);
    if (err == GRANARY_OK && table_is_durable(table)) { /* the disk gets what is let go, and that it is given up */
        err = table_flush_horizon(table, time);
    }
    if (err == GRANARY_OK) {
        history_let_go(table, time);
    }
    return err;
}

/* Once. *time becomes that up to which history is given up now. */
static granary_err
retain_once(granary_mutable *table, int64_t *time)
{
    granary_err err;

    (void)pthread_mutex_lock(&table->lock);
    err = table_look(table);
    if (err == GRANARY_OK && *time != GRANARY_NOW && (*time == BEFORE_ALL || *time <= table->index.horizon)) {
        *time = table->index.horizon; /* there is no more to give up */
    } else {
        err = err == GRANARY_OK ? table_cut(table, time) : err;
        err = err == GRANARY_OK ? history_end(table, *time) : err;
    }
    (void)pthread_mutex_unlock(&table->lock);
    return err;
}

granary_err
table_finish_restore(granary_mutable *table)
{
    const int64_t given_up = table_is_durable(table) ? atomic_load(&table->page.page->given_up) : INT64_MIN;
    int64_t time;
    granary_err err = GRANARY_OK;

    if (given_up == INT64_MIN) {
        return GRANARY_OK;
    }
    do {
        time = given_up;
        err = retain_once(table, &time);
    } while (err == GRANARY_EBUSY || table_try_again(table, err));
    if (err == GRANARY_OK) {
        atomic_store(&table->page.page->given_up, INT64_MIN);
    }
    return err;
}

granary_err
granary_mutable_retain_sized(granary_mutable *table, const granary_retain *theirs, int64_t *ret_time,
                             size_t retain_size)
{
    granary_retain retain;
    int64_t wanted = 0, time = 0;
    granary_err err = gr_sized_take(&retain, sizeof retain, theirs, retain_size);

    if (err == GRANARY_OK && table_is_fixed(table)) {
        err = table_fail_sealed(table);
    }
    err = err == GRANARY_OK ? retain_time(table, &retain, &wanted) : err;
    if (err == GRANARY_OK) {
        do {
            time = wanted;
            err = retain_once(table, &time);
        } while (err == GRANARY_EBUSY || table_try_again(table, err));
    }
    if (err == GRANARY_OK && ret_time != NULL) {
        *ret_time = time;
    }
    return table_told(table, err);
}
