/* Cuts, and rows as they were at one. */
#include "mutable/read.h"
#include "base/error.h"
#include "mutable/core/lane.h"
#include "mutable/frame/content.h"

/* ---- cuts ---- */

/* At which time tables are to be cut. Errors: as granary_cut() */
static granary_err
cut_time(granary_mutable *const *tables, size_t count, int64_t *time)
{
    int64_t newest = INT64_MIN, final = INT64_MAX;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        int64_t theirs = table_is_fixed(tables[i]) ? INT64_MIN : mutable_newest(tables[i]->page.page);
        int64_t frontier = table_is_fixed(tables[i]) ? INT64_MAX : mutable_frontier(tables[i]->page.page);

        err = table_check(tables[i]);
        newest = theirs > newest ? theirs : newest;
        final = frontier < final ? frontier : final;
    }
    if (err == GRANARY_OK && *time == GRANARY_NOW) {
        *time = newest;
    }
    /* Final is final: who reads the future would stop all writers until then. What a cut made final may be read. */
    if (err == GRANARY_OK && *time > newest && *time > final && *time > table_clock()) {
        err =
            gr_fail(GRANARY_EINVAL, "time %lld is later than the clock, and than the newest write (%lld): read at that",
                    (long long)*time, (long long)newest);
    }
    return err;
}

granary_err
granary_cut(granary_mutable *const *tables, size_t count, int64_t *time)
{
    uint64_t counts[GR_MUTABLE_LANES];
    granary_err err = cut_time(tables, count, time);

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        if (table_is_fixed(tables[i])) {
            continue;
        }
        (void)mutable_cut(tables[i]->page.page, *time, counts);
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
    err = cut_time(&table, 1, time);
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

/* The table as it is at a time, locked until read_end(), which follows whatever is returned. */
static granary_err
read_begin(granary_mutable *table, int64_t time, struct content *content)
{
    granary_err err;

    (void)pthread_mutex_lock(&table->lock);
    err = table_check_frame(table);
    err = err == GRANARY_OK ? table_cut(table, &time) : err;
    return err == GRANARY_OK ? content_open(table, time, content) : err;
}

static granary_err
read_end(granary_mutable *table, granary_err err)
{
    (void)pthread_mutex_unlock(&table->lock);
    return table_told(table, err);
}

granary_err
granary_mutable_read_frame(granary_mutable *table, int64_t time, granary_frame **ret_frame)
{
    struct content content;
    granary_err err;

    do {
        err = read_begin(table, time, &content);
        if (err == GRANARY_OK) {
            err = content_frame(&content, 0, content.runs.count, ret_frame);
            content_close(&content);
        }
        err = read_end(table, err);
    } while (table_try_again(table, err));
    return err;
}

granary_err
granary_mutable_numbers(granary_mutable *table, int64_t time, int64_t from, int64_t count, int64_t *ret_numbers)
{
    struct runs runs = {.count = 0};
    granary_err err;

    (void)pthread_mutex_lock(&table->lock);
    err = table_check_frame(table);
    err = err == GRANARY_OK ? table_cut(table, &time) : err;
    err = err == GRANARY_OK ? runs_collect(table, time, &runs) : err;
    if (err == GRANARY_OK && (from < 0 || count < 0 || from > runs.rows || count > runs.rows - from)) {
        err = gr_fail(GRANARY_EINVAL, "there are no rows %lld to %lld: it has %lld", (long long)from,
                      (long long)from + count, (long long)runs.rows);
    }
    for (size_t i = 0; err == GRANARY_OK && i < runs.count; i++) {
        const struct run *run = &runs.run[i];
        const int64_t end = run->at + (run->to - run->from);

        for (int64_t at = run->at > from ? run->at : from; at < end && at < from + count; at++) {
            ret_numbers[at - from] = (int64_t)run_number(run, run->from) + (at - run->at);
        }
    }
    runs_free(&runs);
    return read_end(table, err);
}
