/*
 * Keepers. The thread of an interval looks twice an interval, so that what was written is on disk within one, but for the
 * time that a flush takes. With nothing to do it rests, and the next write wakes it.
 */
#include "mutable/durable/keeper.h"

#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "mutable/durable/flush.h"
#include "object/object.h"

void
keeper_init(struct keeper *keeper)
{
    pthread_condattr_t attributes;

    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&keeper->lock, NULL);
    (void)pthread_cond_init(&keeper->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

/* Remember how a flush went. */
static granary_err
keeper_remember(granary_mutable *table, granary_err err)
{
    atomic_store(&table->keeper.failed, err != GRANARY_OK);
    return err;
}

static granary_err
keeper_flush(granary_mutable *table)
{
    return keeper_remember(table, table_flush(table));
}

void
keeper_begin(granary_mutable *table)
{
    if (table_is_durable(table) && table->page.page->durability == GR_DURABLE_INTERVAL && flush_is_behind(table)) {
        (void)keeper_flush(table); /* the next write is told */
    }
}

/* ---- the thread ---- */

/* Wait for half of an interval, or for a write when there is nothing to do. The keeper is locked. */
static void
keeper_wait(granary_mutable *table)
{
    struct keeper *keeper = &table->keeper;
    const int64_t until_ns = gr_now_ns() + table->page.page->interval_ns / 2;
    const struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};

    atomic_store(&keeper->rests, true);
    if (flush_is_behind(table)) { /* a write that has come meanwhile found nobody to be woken */
        atomic_store(&keeper->rests, false);
    }
    while (atomic_load(&keeper->rests) && !keeper->stops) {
        (void)pthread_cond_wait(&keeper->changed, &keeper->lock);
    }
    while (!keeper->stops && gr_now_ns() < until_ns) {
        if (pthread_cond_timedwait(&keeper->changed, &keeper->lock, &until) != 0) {
            break;
        }
    }
}

static void *
keeper_run(void *context)
{
    granary_mutable *table = context;
    struct keeper *keeper = &table->keeper;

    (void)pthread_mutex_lock(&keeper->lock);
    while (!keeper->stops) {
        keeper_wait(table);
        (void)pthread_mutex_unlock(&keeper->lock);
        if (flush_is_behind(table)) {
            (void)keeper_flush(table); /* the next write is told */
        }
        (void)pthread_mutex_lock(&keeper->lock);
    }
    (void)pthread_mutex_unlock(&keeper->lock);
    return NULL;
}

static granary_err
keeper_start(granary_mutable *table)
{
    struct keeper *keeper = &table->keeper;
    int error = pthread_create(&keeper->thread, NULL, keeper_run, table);

    keeper->runs = error == 0;
    return error == 0 ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "no thread for the table's intervals");
}

/* ---- writes ---- */

granary_err
keeper_begin_write(granary_mutable *table)
{
    granary_err err = GRANARY_OK;

    if (!table_is_durable(table)) {
        return GRANARY_OK;
    }
    if (atomic_load(&table->keeper.failed)) {
        err = keeper_flush(table);
        err = err == GRANARY_OK
                  ? err
                  : gr_fail_in(err, "nothing was written, because what was written before does not come to disk");
    }
    if (err == GRANARY_OK && table->page.page->durability == GR_DURABLE_INTERVAL && !table->keeper.runs) {
        err = keeper_start(table);
    }
    return err;
}

granary_err
keeper_end_write(granary_mutable *table, uint64_t position)
{
    struct keeper *keeper = &table->keeper;
    granary_err err = GRANARY_OK;

    if (!table_is_durable(table)) {
        return GRANARY_OK;
    }
    if (table->page.page->durability == GR_DURABLE_COMMIT) {
        err = position == KEEPER_ANY ? keeper_flush(table)
                                     : keeper_remember(table, table_flush_lane(table, table->writer->lane, position));
        return err == GRANARY_OK ? err : gr_fail_in(err, "written, and visible to readers, but not on disk yet");
    }
    if (atomic_load(&keeper->rests)) {
        (void)pthread_mutex_lock(&keeper->lock);
        atomic_store(&keeper->rests, false);
        (void)pthread_cond_signal(&keeper->changed);
        (void)pthread_mutex_unlock(&keeper->lock);
    }
    return GRANARY_OK;
}

void
keeper_end(granary_mutable *table)
{
    struct keeper *keeper = &table->keeper;

    if (gr_client_check(table->client) == GRANARY_OK) { /* else thread and debts are the parent's */
        if (keeper->runs) {
            (void)pthread_mutex_lock(&keeper->lock);
            keeper->stops = true;
            (void)pthread_cond_signal(&keeper->changed);
            (void)pthread_mutex_unlock(&keeper->lock);
            (void)pthread_join(keeper->thread, NULL);
        }
        if (table_is_durable(table) && table->writer != NULL && flush_is_behind(table)) {
            (void)table_flush(table);
        }
        (void)pthread_cond_destroy(&keeper->changed);
        (void)pthread_mutex_destroy(&keeper->lock);
    }
}
