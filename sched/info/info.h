/*
 * What clients ask of the manager as tables (granary_info): reading its state, changing none of it.
 *
 * Each subject has a version, which rises when anything in it may have changed; a request may wait for that. Versions
 * begin with the time, so a scheduler's are above those of the ones before it.
 */
#ifndef SCHED_INFO_INFO_H
#define SCHED_INFO_INFO_H

#include "sched/info/table.h"

struct manager;
struct info;
struct task_graph;

/* unix_ms: the time, for the first version. NULL: out of memory. */
struct info *info_create(int64_t unix_ms);
void info_destroy(struct info *info);

/* An info request: answered at once, or when its subject changes. */
void info_request(struct manager *manager, uint64_t ticket, const Granary__Info *query, int64_t now_ns);
/* After the events of a turn: those who wait for what has changed are answered. */
void info_turn(struct manager *manager);
/* Those whose time is over are answered with ETIMEDOUT. */
void info_expire(struct manager *manager, int64_t now_ns);
int64_t info_deadline(const struct manager *manager);

/* The graph a key names (*ret_rest ""), or KEY of KEY/REST; NULL: none. Keys may have slashes: the longest wins. */
struct task_graph *info_graph(struct manager *manager, const char *key, const char **ret_rest);
const char *info_graph_state(const struct task_graph *graph);

/* A subtask's number; SUBTASK_NONE: it is none of the graph's. */
uint32_t subtask_number(const struct task_graph *graph, const char *text);

/* ---- the subjects: cluster.c, functions.c, graphs.c, results.c, subtasks.c ---- */

/*
 * all    write every row of the subject from the page's first on
 * named  write the rows of a key, at positions above base. false: no such key
 */
struct info_walk {
    void (*all)(struct manager *manager, struct table *table);
    bool (*named)(struct manager *manager, struct table *table, const char *key, uint64_t base);
};
#define SUBJECT(name, text) extern const struct info_walk info_walk_##name;
#define FIELD(subject, name, kind, text)
#include "contract/subjects.def"
#undef SUBJECT
#undef FIELD

#endif
