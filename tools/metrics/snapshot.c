/*
 * The instance as its shared memory, its executors' pages, its roster of schedulers and /proc tell of it. What cannot be
 * read is left out: a damaged part of an instance hides no other one.
 */
#include "metrics/snapshot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/instance.h"
#include "base/process/executor_page.h"
#include "base/process/roster.h"
#include "base/process/sched_page.h"
#include "inspect/latency.h"

enum { STORE, SCHED, EXECUTOR, PROCESSES };

/* Room for rows, all zero. NULL: out of memory, as err says from then on. */
static void *
rows_make(struct metrics_snapshot *snapshot, enum metrics_of of, size_t count, size_t row_size, granary_err *err)
{
    void *rows = *err == GRANARY_OK ? calloc(count + 1, row_size) : NULL;

    if (rows == NULL) {
        *err = *err == GRANARY_OK ? gr_fail(GRANARY_ENOMEM, "metrics: out of memory") : *err;
        return NULL;
    }
    snapshot->of[of] = (struct metrics_rows){rows, count};
    return rows;
}

#define ROWS_MAKE(snapshot, of, count, err)                                                                            \
    ((struct metrics_##of *)rows_make(snapshot, METRICS_OF_##of, count, sizeof(struct metrics_##of), err))

/* 0 stands for there is none. */
static double
unless_0(uint64_t number)
{
    return number == 0 ? NAN : (double)number;
}

/* ---- from shared memory ---- */

static void
take_account(struct metrics_snapshot *snapshot, const granary_store_stat *stat, granary_err *err)
{
    const struct metrics_part parts[] = {
#define ACCOUNT(name, member, unit, part, summary) {part, stat->member},
#include "contract/account.def"
#undef ACCOUNT
    };
    struct metrics_account *account = ROWS_MAKE(snapshot, account, 1, err);
    struct metrics_part *rows = ROWS_MAKE(snapshot, part, sizeof parts / sizeof parts[0], err);
    size_t count = 0;

    if (*err == GRANARY_OK) {
        account->stat = *stat;
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            if (parts[i].name[0] != '\0') {
                rows[count++] = parts[i];
            }
        }
        snapshot->of[METRICS_OF_part].count = count;
    }
}

/* Each session shows the account of the whole store. Those without clients are shown it later than others. */
static void
take_sessions(granary_inspector *inspector, struct metrics_snapshot *snapshot, granary_err *err)
{
    granary_inspect_session_info *infos = NULL;
    const struct metrics_session *newest = NULL;
    struct metrics_session *rows;
    size_t read = 0;
    size_t count = 0;

    if (granary_inspect_sessions(inspector, &infos, &read) != GRANARY_OK) {
        return;
    }
    rows = ROWS_MAKE(snapshot, session, read, err);
    for (size_t i = 0; i < read && *err == GRANARY_OK; i++) {
        struct metrics_session *row = &rows[count];

        if (granary_inspect_stat(inspector, infos[i].number, &row->stat) != GRANARY_OK) {
            continue;
        }
        memcpy(row->name, infos[i].name, sizeof row->name);
        row->used = (double)infos[i].used_bytes;
        row->quota = unless_0(infos[i].quota_bytes);
        row->clients = infos[i].clients;
        newest = newest == NULL || (row->clients > 0 && newest->clients == 0) ? row : newest;
        count++;
    }
    free(infos);
    snapshot->of[METRICS_OF_session].count = *err == GRANARY_OK ? count : 0;
    if (newest != NULL) {
        take_account(snapshot, &newest->stat, err);
    }
}

static void
take_directories(granary_inspector *inspector, struct metrics_snapshot *snapshot, granary_err *err)
{
    granary_spill_dir_info *infos = NULL;
    struct metrics_directory *rows;
    size_t count = 0;

    if (granary_inspect_spill_dirs(inspector, &infos, &count) != GRANARY_OK) {
        return;
    }
    rows = ROWS_MAKE(snapshot, directory, count, err);
    for (size_t i = 0; i < count && *err == GRANARY_OK; i++) {
        memcpy(rows[i].path, infos[i].path, sizeof rows[i].path);
        rows[i].level = infos[i].level == GRANARY_LEVEL_REMOTE ? "remote" : "disk";
        rows[i].bytes = (double)infos[i].bytes;
        rows[i].quota = unless_0(infos[i].quota_bytes);
        rows[i].speed = unless_0(infos[i].bytes_per_s);
        rows[i].failures = (double)infos[i].failures;
    }
    free(infos);
}

static void
take_waits(granary_inspector *inspector, struct metrics_snapshot *snapshot, granary_err *err)
{
    static const char *const names[] = {
#define WAIT(name, summary) #name,
#include "contract/waits.def"
#undef WAIT
    };
    const size_t kinds = sizeof names / sizeof names[0];
    granary_wait_info *infos = NULL;
    struct metrics_wait *rows;
    size_t count = 0;

    if (granary_inspect_waits(inspector, &infos, &count) != GRANARY_OK) {
        return;
    }
    rows = ROWS_MAKE(snapshot, wait, kinds - 1, err);
    for (size_t i = 0; i < kinds - 1 && *err == GRANARY_OK; i++) { /* the first one is no wait */
        rows[i].name = names[i + 1];
    }
    for (size_t i = 0; i < count && *err == GRANARY_OK; i++) {
        if (infos[i].kind >= 1 && (size_t)infos[i].kind < kinds) {
            rows[infos[i].kind - 1].clients++;
        }
    }
    free(infos);
}

static void
take_latencies(granary_inspector *inspector, struct metrics_snapshot *snapshot, granary_err *err)
{
    struct metrics_latency *row = ROWS_MAKE(snapshot, latency, 1, err);

    if (row != NULL && gr_inspect_latencies(inspector, row->of) != GRANARY_OK) {
        snapshot->of[METRICS_OF_latency].count = 0;
    }
}

static void
take_store(granary_inspector *inspector, struct metrics_snapshot *snapshot, struct metrics_process *store,
           granary_err *err)
{
    granary_table_info *tables = NULL;
    granary_instance_info info;
    struct metrics_instance *row;
    size_t count = 0;

    if (granary_inspect_instance(inspector, &info) == GRANARY_OK) {
        *store = metrics_process_read(store->name,
                                      info.life == GRANARY_STORE_SERVING || info.life == GRANARY_STORE_ADOPTING ||
                                              info.life == GRANARY_STORE_STOPPED
                                          ? (pid_t)info.pid
                                          : 0,
                                      0);
        store->up = info.life == GRANARY_STORE_SERVING;
        row = ROWS_MAKE(snapshot, instance, 1, err);
        if (row == NULL) {
            return;
        }
        row->epoch = (double)info.epoch;
        row->disk_quota = unless_0(info.disk_quota_bytes);
        row->shm = (double)info.shm_bytes;
        row->tables = row->table_writers = row->table = row->table_memory = NAN;
        if (granary_inspect_tables(inspector, &tables, &count) == GRANARY_OK) {
            row->tables = row->table_writers = row->table = row->table_memory = 0;
        }
        for (size_t i = 0; i < count; i++) {
            row->tables += !tables[i].deleted;
            row->table_writers += tables[i].writers;
            row->table += (double)tables[i].bytes;
            row->table_memory += (double)tables[i].memory_bytes;
        }
        free(tables);
        take_sessions(inspector, snapshot, err);
        row->sessions = (double)snapshot->of[METRICS_OF_session].count;
    }
    take_directories(inspector, snapshot, err);
    take_waits(inspector, snapshot, err);
    take_latencies(inspector, snapshot, err);
}

/* ---- from the runtime directory ---- */

static void
take_executors(const struct gr_instance *instance, struct metrics_snapshot *snapshot, struct metrics_process *all,
               granary_err *err)
{
    struct gr_executor_state *pages = NULL;
    struct metrics_executor *rows;
    size_t read = 0;
    size_t count = 0;

    if (gr_executor_pages_read(instance->runtime, &pages, &read) != GRANARY_OK) {
        return;
    }
    rows = ROWS_MAKE(snapshot, executor, read, err);
    for (size_t i = 0; i < read && *err == GRANARY_OK; i++) {
        struct metrics_process process = metrics_process_read("executor", (pid_t)pages[i].pid, pages[i].start_time);

        if (isnan(process.start_time)) {
            continue; /* what the dead have left */
        }
        all->up = all->up > 0 || process.up > 0;
        all->stopped += process.stopped;
        rows[count++] = (struct metrics_executor){
            .slot = pages[i].slot,
            .node = pages[i].node,
            .pid = pages[i].pid,
            .process = process,
            .busy = pages[i].subtask != 0,
            .age = pages[i].subtask == 0 ? 0 : (double)(gr_now_ns() - pages[i].since_ns) / 1e9,
            .done = (double)pages[i].done,
        };
    }
    free(pages);
    snapshot->of[METRICS_OF_executor].count = *err == GRANARY_OK ? count : 0;
}

/* The active one's process, and its page. That of one before it is told as long as no other one is active. */
static struct metrics_process
take_scheduler(const struct gr_instance *instance, struct metrics_snapshot *snapshot, granary_err *err)
{
    struct metrics_sched *row = ROWS_MAKE(snapshot, sched, 1, err);
    struct gr_roster_entry entry;
    bool active = gr_roster_read(instance, &entry, 1) > 0 && entry.active;

    if (row != NULL &&
        (gr_sched_page_read(instance->runtime, &row->page) != GRANARY_OK || (active && row->page.pid != entry.pid))) {
        snapshot->of[METRICS_OF_sched].count = 0;
    }
    return metrics_process_read("sched", active ? (pid_t)entry.pid : 0, active ? entry.start_time : 0);
}

granary_err
metrics_take(const char *name, struct metrics_snapshot *ret_snapshot)
{
    struct metrics_snapshot snapshot = {0};
    granary_inspector *inspector = NULL;
    struct metrics_process *processes;
    struct gr_instance instance;
    granary_err err = gr_instance_resolve(name, &instance);

    if (err == GRANARY_OK && (err = granary_inspect_open(name, &inspector)) == GRANARY_EUNREACHABLE) {
        err = GRANARY_OK; /* it is down, as the processes' rows tell */
    }
    processes = ROWS_MAKE(&snapshot, process, PROCESSES, &err);
    if (err == GRANARY_OK) {
        ROWS_MAKE(&snapshot, build, 1, &err);
        processes[STORE] = metrics_process_read("store", 0, 0);
        processes[SCHED] = take_scheduler(&instance, &snapshot, &err);
        processes[EXECUTOR] = metrics_process_read("executor", 0, 0);
        take_executors(&instance, &snapshot, &processes[EXECUTOR], &err);
    }
    if (err == GRANARY_OK && inspector != NULL) {
        take_store(inspector, &snapshot, &processes[STORE], &err);
    }
    granary_inspect_close(inspector);
    if (err != GRANARY_OK) {
        metrics_release(&snapshot);
        return err;
    }
    ((struct metrics_build *)snapshot.of[METRICS_OF_build].rows)->there = 1;
    *ret_snapshot = snapshot;
    return GRANARY_OK;
}

void
metrics_release(struct metrics_snapshot *snapshot)
{
    for (size_t i = 0; i < METRICS_OF_COUNT; i++) {
        free(snapshot->of[i].rows);
    }
    *snapshot = (struct metrics_snapshot){0};
}
