/* Runs of the chunks that the index knows, sorted, without what notes delete. */
#include "mutable/frame/runs.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/grow.h"

/* ---- what was appended ---- */

static granary_err
runs_add(struct runs *runs, struct run run)
{
    if (!gr_grow(&runs->run, &runs->room, runs->count, sizeof run)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    runs->run[runs->count++] = run;
    return GRANARY_OK;
}

static granary_err
take_rows(void *context, const struct index_chunk *chunk, uint32_t from, uint32_t to)
{
    return runs_add(context, (struct run){.object = chunk->object,
                                          .first = chunk->first,
                                          .lane = chunk->lane,
                                          .chunk = chunk->number,
                                          .from = from,
                                          .to = to,
                                          .is_whole = chunk->is_full && from == 0 && to == chunk->end});
}

static int
by_number(const void *left, const void *right)
{
    const struct run *a = left, *b = right;
    const uint64_t x = run_number(a, a->from), y = run_number(b, b->from);

    return x < y ? -1 : x > y;
}

static granary_err
runs_sort(struct runs *runs)
{
    if (runs->count > 1) {
        qsort(runs->run, runs->count, sizeof *runs->run, by_number);
    }
    for (size_t i = 1; i < runs->count; i++) {
        if (run_number(&runs->run[i], runs->run[i].from) < run_number(&runs->run[i - 1], runs->run[i - 1].to)) {
            return gr_fail(GRANARY_ECORRUPT, "chunks of lanes %u and %u have rows of the same numbers",
                           runs->run[i - 1].lane, runs->run[i].lane);
        }
    }
    return GRANARY_OK;
}

/* ---- what was deleted ---- */

static granary_err
deleted_collect(const granary_mutable *table, int64_t time, struct ranges *deleted)
{
    const struct index *index = &table->index;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < index->order_count && index_ordered(index, i)->time <= time; i++) {
        struct note_view view;

        if (index_ordered(index, i)->kind != GR_NOTE_DELETE) {
            continue;
        }
        err = note_get(table->client, table->id, index_ordered(index, i), &view);
        if (err == GRANARY_OK) {
            err = note_ranges(&view, deleted);
            note_release(table->client, &view);
        }
    }
    return err;
}

static int
by_from(const void *left, const void *right)
{
    const struct gr_note_range *a = left, *b = right;

    return a->from < b->from ? -1 : a->from > b->from;
}

/* Sorted, and those that overlap made one. */
static void
deleted_settle(struct ranges *deleted)
{
    size_t count = 0;

    qsort(deleted->range, deleted->count, sizeof *deleted->range, by_from);
    for (size_t i = 0; i < deleted->count; i++) {
        const struct gr_note_range range = deleted->range[i];
        struct gr_note_range *last = count == 0 ? NULL : &deleted->range[count - 1];

        if (last == NULL || range.from > last->to) {
            deleted->range[count++] = range;
        } else if (range.to > last->to) {
            last->to = range.to;
        }
    }
    deleted->count = count;
}

/* What is left of a run between deleted ranges, from *next on, which ascend; *next becomes the first that may touch the
 * run behind. */
static granary_err
run_without(struct runs *runs, struct run run, const struct ranges *deleted, size_t *next)
{
    uint64_t at = run_number(&run, run.from);
    const uint64_t end = run_number(&run, run.to);
    granary_err err = GRANARY_OK;

    for (size_t i = *next; err == GRANARY_OK && i < deleted->count && deleted->range[i].from < end; i++) {
        const struct gr_note_range range = deleted->range[i];

        if (range.from > at) {
            struct run part = run;

            part.from = (uint32_t)(at - run.first);
            part.to = (uint32_t)(range.from - run.first);
            part.is_whole = false;
            err = runs_add(runs, part);
        }
        if (range.to > at) {
            at = range.to;
            run.is_whole = false;
        }
        *next = range.to <= end ? i + 1 : *next;
    }
    if (err == GRANARY_OK && at < end) {
        run.from = (uint32_t)(at - run.first);
        err = runs_add(runs, run);
    }
    return err;
}

static granary_err
runs_subtract(struct runs *runs, struct ranges *deleted)
{
    struct runs left = {.count = 0};
    granary_err err = GRANARY_OK;
    size_t next = 0;

    if (deleted->count == 0) {
        return GRANARY_OK;
    }
    deleted_settle(deleted);
    for (size_t i = 0; err == GRANARY_OK && i < runs->count; i++) {
        err = run_without(&left, runs->run[i], deleted, &next);
    }
    free(runs->run);
    *runs = left;
    return err;
}

/* ---- use ---- */

granary_err
runs_collect(const granary_mutable *table, int64_t after, int64_t time, struct runs *ret_runs)
{
    const struct index *index = &table->index;
    struct ranges deleted = {.count = 0};
    struct runs runs = {.count = 0};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < index->count; i++) {
        err = index_rows(index, &index->chunks[i], after, time, take_rows, &runs);
    }
    err = err == GRANARY_OK ? runs_sort(&runs) : err;
    err = err == GRANARY_OK ? deleted_collect(table, time, &deleted) : err;
    err = err == GRANARY_OK ? runs_subtract(&runs, &deleted) : err;
    free(deleted.range);
    if (err != GRANARY_OK) {
        runs_free(&runs);
        return err;
    }
    for (size_t i = 0; i < runs.count; i++) {
        runs.run[i].at = runs.rows;
        runs.rows += runs.run[i].to - runs.run[i].from;
    }
    *ret_runs = runs;
    return GRANARY_OK;
}

void
runs_free(struct runs *runs)
{
    free(runs->run);
    *runs = (struct runs){.count = 0};
}

size_t
runs_find(const struct runs *runs, uint64_t number)
{
    size_t low = 0, high = runs->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (run_number(&runs->run[middle], runs->run[middle].to) <= number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
