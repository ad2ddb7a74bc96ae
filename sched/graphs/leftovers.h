/*
 * What a graph may leave that did not succeed. An executor that dies when it has made an object, and before it told so,
 * leaves that; who does the subtask again makes the same one, but nobody does when the graph has ended meanwhile. A
 * scheduler that died with it was told of nothing. So the numbers of the graph's plans are kept, and all that begins
 * with them is deleted with the graph.
 */
#ifndef SCHED_GRAPHS_LEFTOVERS_H
#define SCHED_GRAPHS_LEFTOVERS_H

#include <stddef.h>

struct manager;
struct task_graph;

/* It has ended; its log still knows its plans. */
void leftovers_note(struct manager *manager, struct task_graph *graph);
/* Nothing of it runs any more: all that executors made was told, unless there was a scheduler before. */
void leftovers_settle(struct manager *manager, struct task_graph *graph);
/* It is gone: they go, too. */
void leftovers_free(struct manager *manager, struct task_graph *graph);
/* After graphs: of one that is not there, they go at once. */
void manager_restore_left(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size);

#endif
