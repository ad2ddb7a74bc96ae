/*
 * The graphs there are: found by key, by serial and by the numbers of their subtasks on the wire.
 */
#ifndef SCHED_CORE_REGISTRY_H
#define SCHED_CORE_REGISTRY_H

#include "sched/core/task_graph.h"

struct manager;

#define KEY_BUCKETS  4096
#define DELETED_KEYS 256

struct registry {
    LIST_HEAD(graph_bucket, task_graph) buckets[KEY_BUCKETS];
    struct graph_bucket nameless;  /* graphs that no key finds */
    struct task_graph **by_serial; /* [0] unused; NULL: gone */
    uint32_t serial_count, serial_room;
    char deleted[DELETED_KEYS][GRANARY_KEY_MAX]; /* the last ones: a ring */
    size_t deleted_count;
};

/* A subtask's number on the wire: unique in the scheduler's life. */
#define WIRE_NUMBER(serial, number) ((uint64_t)(serial) << 32 | (number))

void registry_init(struct registry *registry);
void registry_fini(struct registry *registry);

struct task_graph *graph_find(struct manager *manager, const char *key);
/* The error when there is none. */
granary_err graph_missing(const char *key);
/* It is found by that key from now on, and by no other one. NULL: by none, for another graph gets its key */
void graph_rekey(struct manager *manager, struct task_graph *graph, const char *key);
struct task_graph *graph_of_number(const struct manager *manager, uint64_t wire_number);
/* The graph with the least serial from one on; NULL: none. */
struct task_graph *graph_from(const struct manager *manager, uint64_t serial);
/* Graphs in the order of their serials. The body may delete the one it is given. */
#define FOREACH_GRAPH_FROM(graph, manager, least)                                                                      \
    for (uint64_t next_##graph = (least);                                                                              \
         ((graph) = graph_from((manager), next_##graph)) != NULL && (next_##graph = (graph)->serial + 1ull) > 0;)
#define FOREACH_GRAPH(graph, manager) FOREACH_GRAPH_FROM(graph, manager, 1)
/* A subtask of a graph that runs, or of which something still does, and its graph. NULL: gone, *ret_graph perhaps not */
struct subtask *subtask_of_number(const struct manager *manager, uint64_t wire_number, struct task_graph **ret_graph);
/* Make it one of the serials there are. false: it is taken, or there is no memory */
bool serial_reserve(struct manager *manager, uint32_t serial);
/* It is found by its key and serial from now on, or not any more. */
void graph_link(struct manager *manager, struct task_graph *graph, uint32_t serial);
void graph_unlink(struct manager *manager, struct task_graph *graph);
/* A key deleted a moment ago may still have objects on their way out. */
void key_note_deleted(struct registry *registry, const char *key);
bool key_deleted_lately(const struct registry *registry, const char *key);

#endif
