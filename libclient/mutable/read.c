/* Cuts, and rows as they were at one. */
#include "mutable/read.h"
#include "base/error.h"
#include "mutable/core/lane.h"
#include "mutable/frame/content.h"

/* ---- cuts ---- */

static granary_err
fail_ahead(int64_t time, int64_t newest)
{
    return newest == INT64_MIN
               ? gr_fail(GRANARY_EINVAL, "time %lld is later than the clock, and nothing was written yet",
                         (long long)time)
               : gr_fail(GRANARY_EINVAL,
                         "time %lld is later than the clock, and than the newest write (%lld): read at that",
                         (long long)time, (long long)newest);
}

/* At which time tables that are there are to be cut. Errors: EINVAL */
static granary_err
cut_time(granary_mutable *const *tables, size_t count, int64_t *time)
{
    int64_t newest = INT64_MIN, final = INT64_MAX;

    for (size_t i = 0; i < count; i++) {
        int64_t theirs = table_is_fixed(tables[i]) ? INT64_MIN : mutable_newest(tables[i]->page.page);
        int64_t frontier = table_is_fixed(tables[i]) ? INT64_MAX : mutable_frontier(tables[i]->page.page);

        newest = theirs > newest ? theirs : newest;
        final = frontier < final ? frontier : final;
    }
    if (*time == GRANARY_NOW) {
        *time = newest;
    }
    /* Final is final: who reads the future would stop all writers until then. What a cut made final may be read. */
    return *time > newest && *time > final && *time > table_clock() ? fail_ahead(*time, newest) : GRANARY_OK;
}

/* The time from which on a table has history: it is final. */
static granary_err
horizon_of(granary_mutable *table, int64_t *ret_horizon)
{
    granary_err err;

    (void)pthread_mutex_lock(&table->lock);
    err = table_check(table);
    err = err == GRANARY_OK && table_has_moved(table) ? table_look(table) : err; /* else no log is to be read */
    *ret_horizon = table->index.horizon;
    (void)pthread_mutex_unlock(&table->lock);
    return table_told(table, err);
}

granary_err
granary_cut(granary_mutable *const *tables, size_t count, int64_t *time)
{
    const bool is_now = *time == GRANARY_NOW;
    uint64_t counts[GR_MUTABLE_LANES];
    int64_t earliest = INT64_MIN, horizon = INT64_MIN;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = is_now ? horizon_of(tables[i], &horizon) : table_told(tables[i], table_check(tables[i]));
        earliest = err == GRANARY_OK && horizon > earliest ? horizon : earliest;
    }
    err = err == GRANARY_OK ? cut_time(tables, count, time) : err;
    *time = err == GRANARY_OK && is_now && *time < earliest ? earliest : *time;
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        if (!table_is_fixed(tables[i])) {
            (void)mutable_cut(tables[i]->page.page, *time, counts);
        }
    }
    return err;
}

granary_err
table_cut(granary_mutable *table, int64_t *time)
{
    uint64_t counts[GR_MUTABLE_LANES];
    bool is_now;
    granary_err err;

    if (table_is_fixed(table)) { /* what it has, it has at any time */
        *time = INT64_MAX;
        return table_check(table);
    }
    is_now = *time == GRANARY_NOW;
    err = table_check(table);
    err = err == GRANARY_OK ? cut_time(&table, 1, time) : err;
    if (err != GRANARY_OK ||
        (*time <= table->index.complete && *time >= table->index.horizon && !table_has_moved(table))) {
        return err; /* that was cut, and learnt, before */
    }
    err = table_learn(table, counts, mutable_cut(table->page.page, *time, counts));
    if (err == GRANARY_OK && is_now && *time < table->index.horizon) {
        *time = table->index.horizon; /* which is final, too */
    }
    if (err == GRANARY_OK && *time < table->index.horizon) {
        err = gr_fail(GRANARY_ESTATE, "history before time %lld was given up: read at that time, or later",
                      (long long)table->index.horizon);
    }
    table->index.complete = err == GRANARY_OK ? *time : table->index.complete;
    return err;
}

granary_err
table_look(granary_mutable *table)
{
    uint64_t counts[GR_MUTABLE_LANES];
    granary_err err = table_check(table);

    return err == GRANARY_OK && !table_is_fixed(table)
               ? table_learn(table, counts, mutable_committed(table->page.page, counts))
               : err;
}

/* ---- the calls ---- */

/* What is read of a frame at a time that is final. */
typedef granary_err read_take(granary_mutable *table, int64_t time, void *context);

/* Again where history was given up meanwhile. */
static granary_err
read_frame_at(granary_mutable *table, int64_t time, read_take *take, void *context)
{
    granary_err err;

    do {
        int64_t at = time;

        (void)pthread_mutex_lock(&table->lock);
        err = table_check_frame(table);
        err = err == GRANARY_OK ? table_cut(table, &at) : err;
        err = err == GRANARY_OK ? take(table, at, context) : err;
        (void)pthread_mutex_unlock(&table->lock);
    } while (table_try_again(table, err));
    return table_told(table, err);
}

/* Rows since a time. */
struct news {
    int64_t after;
    granary_frame *frame;
    int64_t time; /* they were read at */
    uint64_t changes;
};

static granary_err
check_after(const granary_mutable *table, int64_t after)
{
    if (after == GRANARY_NOW) {
        return GRANARY_OK;
    }
    if (table_is_fixed(table)) {
        return table_fail_sealed(table);
    }
    return after >= table->index.horizon
               ? GRANARY_OK
               : gr_fail(GRANARY_ESTATE, "history before time %lld was given up: read all rows",
                         (long long)table->index.horizon);
}

static granary_err
take_news(granary_mutable *table, int64_t time, void *context)
{
    struct news *news = context;
    const struct index *index = &table->index;
    struct content content;
    granary_err err = check_after(table, news->after);

    err = err == GRANARY_OK ? content_open(table, news->after, time, &content) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    err = content_frame(&content, 0, content.runs.count, &news->frame);
    content_close(&content);
    news->time = time;
    news->changes = 0;
    for (size_t i = index->order_count; i > 0 && index_ordered(index, i - 1)->time > news->after; i--) {
        news->changes += index_ordered(index, i - 1)->time <= time;
    }
    return err;
}

granary_err
granary_mutable_read_frame(granary_mutable *table, int64_t time, granary_frame **ret_frame)
{
    return granary_mutable_read_since(table, GRANARY_NOW, time, ret_frame, NULL, NULL);
}

granary_err
granary_mutable_read_since(granary_mutable *table, int64_t after, int64_t time, granary_frame **ret_frame,
                           int64_t *ret_time, uint64_t *ret_changes)
{
    struct news news = {.after = after};
    granary_err err = read_frame_at(table, time, take_news, &news);

    if (err == GRANARY_OK) {
        *ret_frame = news.frame;
    }
    if (err == GRANARY_OK && ret_time != NULL) {
        *ret_time = news.time;
    }
    if (err == GRANARY_OK && ret_changes != NULL) {
        *ret_changes = news.changes;
    }
    return err;
}

/* Numbers of rows [from, from + count) of a read. */
struct numbers {
    int64_t from;
    int64_t count;
    int64_t *number;
};

static granary_err
take_numbers(granary_mutable *table, int64_t time, void *context)
{
    const struct numbers *numbers = context;
    const int64_t from = numbers->from, count = numbers->count;
    struct runs runs = {.count = 0};
    granary_err err = runs_collect(table, INT64_MIN, time, &runs);

    if (err == GRANARY_OK && (from < 0 || count < 0 || from > runs.rows || count > runs.rows - from)) {
        err = gr_fail(GRANARY_EINVAL, "there are no rows %lld to %lld: it has %lld", (long long)from,
                      (long long)from + count, (long long)runs.rows);
    }
    for (size_t i = 0; err == GRANARY_OK && i < runs.count; i++) {
        const struct run *run = &runs.run[i];
        const int64_t end = run->at + (run->to - run->from);

        for (int64_t at = run->at > from ? run->at : from; at < end && at < from + count; at++) {
            numbers->number[at - from] = (int64_t)run_number(run, run->from) + (at - run->at);
        }
    }
    runs_free(&runs);
    return err;
}

/* Rows at positions of a read, which ascend. */
struct positions {
    const int64_t *position;
    size_t count;
    int64_t *number;
};

static granary_err
take_positions(granary_mutable *table, int64_t time, void *context)
{
    const struct positions *positions = context;
    struct runs runs = {.count = 0};
    granary_err err = runs_collect(table, INT64_MIN, time, &runs);
    size_t run = 0;

    for (size_t i = 0; err == GRANARY_OK && i < positions->count; i++) {
        const int64_t at = positions->position[i];

        while (run < runs.count && at >= runs.run[run].at + (runs.run[run].to - runs.run[run].from)) {
            run++;
        }
        if (run == runs.count || at < runs.run[run].at) {
            err = gr_fail(GRANARY_EINVAL, "there is no row %lld: it has %lld", (long long)at, (long long)runs.rows);
        } else {
            positions->number[i] = (int64_t)run_number(&runs.run[run], runs.run[run].from) + (at - runs.run[run].at);
        }
    }
    runs_free(&runs);
    return err;
}

granary_err
read_numbers_of(granary_mutable *table, int64_t time, const int64_t *positions, size_t count, int64_t *ret_numbers)
{
    struct positions wanted = {positions, count, ret_numbers};

    return read_frame_at(table, time, take_positions, &wanted);
}

granary_err
granary_mutable_numbers(granary_mutable *table, int64_t time, int64_t from, int64_t count, int64_t *ret_numbers)
{
    struct numbers numbers = {from, count, ret_numbers};

    return read_frame_at(table, time, take_numbers, &numbers);
}
