/*
 * What a scheduler leaves to the next one: which serials graphs may have, which executors there are, and what has become
 * of subtasks (execution/event_log.h), one record a turn and graph.
 */
#ifndef SCHED_DURABLE_JOURNAL_H
#define SCHED_DURABLE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct manager;
struct task_graph;

struct journal {
    TAILQ_HEAD(eventful, task_graph) eventful; /* graphs whose logs have something new */
    uint32_t serial_limit;                     /* serials below it are noted as used */
};

void journal_init(struct journal *journal);

void serials_note(struct manager *manager);                            /* one is about to be used */
void events_touch(struct manager *manager, struct task_graph *graph);  /* its log has something new */
void events_end(struct manager *manager, struct task_graph *graph);    /* but for what the planner was told */
void events_forget(struct manager *manager, struct task_graph *graph); /* nobody needs its log any more */
/* It is planned anew: of its log, the next scheduler is told only which plans there were. */
void events_restart(struct manager *manager, struct task_graph *graph);
void events_keep(struct manager *manager); /* what is new in any log */

/* Note that there is an executor, for the next scheduler to wait for; or that there is not. */
void manager_keep_executor(struct manager *manager, int64_t pid, uint64_t start_time, uint32_t slot);
void manager_forget_executor(struct manager *manager, int64_t pid, uint64_t start_time, uint32_t slot);
void manager_restore_meta(struct manager *manager, const char *key, const void *value, size_t size);

#endif
