/* Schedulers, executors and bands as tables. */
#include <stdlib.h>
#include <string.h>

#include "sched/core/manager.h"
#include "sched/dispatch/reservations.h"
#include "sched/info/info.h"

/* ---- schedulers ---- */

static void
scheduler_row(struct table *table, const struct host_scheduler *scheduler, uint64_t position)
{
    if (!table_begin(table, position)) {
        return;
    }
    table_text(table, FIELD_schedulers_id, scheduler->id);
    table_int(table, FIELD_schedulers_pid, scheduler->pid);
    table_text(table, FIELD_schedulers_state, scheduler->active ? "active" : "standby");
    table_int(table, FIELD_schedulers_epoch, (int64_t)scheduler->epoch);
    table_int(table, FIELD_schedulers_started_ms, scheduler->started_ms);
    table_int(table, FIELD_schedulers_protocol, GRANARY__VERSION__PROTOCOL);
    table_text(table, FIELD_schedulers_version, GRANARY_VERSION);
    table_end(table);
}

static bool
scheduler_at(const struct manager *manager, size_t position, struct host_scheduler *ret_scheduler)
{
    const struct manager_host *host = &manager->options.host;

    return host->scheduler != NULL && host->scheduler(host->context, position, ret_scheduler);
}

static void
all_schedulers(struct manager *manager, struct table *table)
{
    struct host_scheduler scheduler;

    for (size_t i = (size_t)table_start(table, 0); scheduler_at(manager, i, &scheduler) && !table_full(table); i++) {
        scheduler_row(table, &scheduler, i + 1);
    }
}

static bool
scheduler_named(struct manager *manager, struct table *table, const char *key, uint64_t base)
{
    struct host_scheduler scheduler;

    for (size_t i = 0; scheduler_at(manager, i, &scheduler); i++) {
        if (strcmp(scheduler.id, key) == 0) {
            scheduler_row(table, &scheduler, base + 1);
            return true;
        }
    }
    return false;
}

const struct info_walk info_walk_schedulers = {all_schedulers, scheduler_named};

/* ---- executors ---- */

static bool
ask_process(const struct manager *manager, const struct table *table, int64_t pid, struct host_process *ret_process)
{
    static const enum info_field from_host[] = {
        FIELD_executors_graph,      FIELD_executors_subtask,  FIELD_executors_phase,
        FIELD_executors_since_ms,   FIELD_executors_progress, FIELD_executors_rss_bytes,
        FIELD_executors_started_ms, FIELD_executors_slot,     FIELD_executors_confined};
    const struct manager_host *host = &manager->options.host;
    bool wanted = false;

    for (size_t i = 0; i < sizeof from_host / sizeof from_host[0]; i++) {
        wanted = wanted || table_wants(table, from_host[i]);
    }
    *ret_process = (struct host_process){.has_page = false};
    return wanted && host->process != NULL && host->process(host->context, pid, ret_process);
}

/* What it runs: as its page says, else the first of what it was given. */
static void
tell_work(struct manager *manager, struct table *table, const struct executor *executor,
          const struct host_process *process)
{
    uint64_t number =
        process->has_page ? process->page.subtask : reservations_first(manager->reservations, executor->number);
    const struct task_graph *graph = number == 0 ? NULL : graph_of_number(manager, number);

    table_int(table, FIELD_executors_subtask, -1);
    table_int(table, FIELD_executors_slot, process->has_page ? process->page.slot : -1);
    table_text(table, FIELD_executors_phase,
               process->has_page ? gr_executor_phase_name(process->page.phase)
               : number != 0     ? "run"
                                 : "idle");
    if (graph != NULL) {
        table_text(table, FIELD_executors_graph, graph->key);
        table_int(table, FIELD_executors_subtask, (int64_t)(uint32_t)number);
        table_real(table, FIELD_executors_progress, process->page.progress);
        table_int(table, FIELD_executors_since_ms, manager_unix_ms(manager, process->page.since_ns));
    }
}

static void
executor_row(struct manager *manager, struct table *table, const struct executor *executor, uint64_t position)
{
    struct host_process process;
    uint32_t queued;

    if (!table_begin(table, position)) {
        return;
    }
    (void)ask_process(manager, table, executor->pid, &process);
    queued = reservations_queued(manager->reservations, executor->number);
    table_int(table, FIELD_executors_number, executor->number);
    table_int(table, FIELD_executors_pid, executor->pid);
    table_text(table, FIELD_executors_state, executor->draining ? "draining" : queued > 0 ? "busy" : "idle");
    table_int(table, FIELD_executors_node, executor->node);
    table_text(table, FIELD_executors_mode, executor->pull ? "pull" : "push");
    table_text(table, FIELD_executors_confined, process.has_page ? gr_confinement_name(process.page.confined) : "");
    tell_work(manager, table, executor, &process);
    table_int(table, FIELD_executors_queued, queued);
    table_int(table, FIELD_executors_done, (int64_t)executor->done);
    table_int(table, FIELD_executors_failures, (int64_t)executor->failures);
    table_int(table, FIELD_executors_rss_bytes, (int64_t)process.rss_bytes);
    table_int(table, FIELD_executors_started_ms, process.started_ms);
    table_end(table);
}

/* The executor with the least number above one; NULL: none. */
static const struct executor *
executor_after(const struct manager *manager, uint64_t number)
{
    const struct executor *next = NULL;

    for (size_t i = 0; i < manager->executors.count; i++) {
        const struct executor *executor = &manager->executors.items[i];

        if (executor->number > number && (next == NULL || executor->number < next->number)) {
            next = executor;
        }
    }
    return next;
}

static void
all_executors(struct manager *manager, struct table *table)
{
    const struct executor *executor = executor_after(manager, table_start(table, 0));

    while (executor != NULL && !table_full(table)) {
        executor_row(manager, table, executor, executor->number);
        executor = executor_after(manager, executor->number);
    }
}

static bool
executor_named(struct manager *manager, struct table *table, const char *key, uint64_t base)
{
    char *end;
    unsigned long number = strtoul(key, &end, 10);
    const struct executor *executor =
        *key == '\0' || *end != '\0' || number > UINT32_MAX ? NULL : executor_find(manager, (uint32_t)number);

    if (executor != NULL) {
        executor_row(manager, table, executor, base + 1);
    }
    return executor != NULL;
}

const struct info_walk info_walk_executors = {all_executors, executor_named};

/* ---- bands ---- */

/* Executors of a node; with what they have. */
static uint32_t
executors_of(const struct manager *manager, int32_t node, uint32_t *ret_queued)
{
    uint32_t count = 0;

    *ret_queued = 0;
    for (size_t i = 0; i < manager->executors.count; i++) {
        if (manager->executors.items[i].node == node) {
            count++;
            *ret_queued += reservations_queued(manager->reservations, manager->executors.items[i].number);
        }
    }
    return count;
}

static bool
band_row(struct manager *manager, struct table *table, int32_t node, uint64_t position)
{
    const struct manager_host *host = &manager->options.host;
    struct host_node facts = {.memory_bytes = 0};
    uint32_t queued;
    uint32_t count = executors_of(manager, node, &queued);

    if (count == 0) {
        return false;
    }
    if (table_begin(table, position)) {
        if (host->node != NULL) {
            (void)host->node(host->context, node, &facts);
        }
        table_int(table, FIELD_bands_node, node);
        table_text(table, FIELD_bands_cpus, facts.cpus);
        table_int(table, FIELD_bands_memory_bytes, (int64_t)facts.memory_bytes);
        table_int(table, FIELD_bands_free_bytes, (int64_t)facts.free_bytes);
        table_text(table, FIELD_bands_distances, facts.distances);
        table_int(table, FIELD_bands_executors, count);
        table_int(table, FIELD_bands_queued, queued);
        table_end(table);
    }
    return true;
}

static void
all_bands(struct manager *manager, struct table *table)
{
    int32_t last = -1;

    for (size_t i = 0; i < manager->executors.count; i++) {
        last = manager->executors.items[i].node > last ? manager->executors.items[i].node : last;
    }
    for (uint64_t node = table_start(table, 0); last >= 0 && node <= (uint64_t)last && !table_full(table); node++) {
        (void)band_row(manager, table, (int32_t)node, node + 1);
    }
}

static bool
band_named(struct manager *manager, struct table *table, const char *key, uint64_t base)
{
    char *end;
    long node = strtol(key, &end, 10);

    return *key != '\0' && *end == '\0' && node >= 0 && node < INT32_MAX &&
           band_row(manager, table, (int32_t)node, base + 1);
}

const struct info_walk info_walk_bands = {all_bands, band_named};
