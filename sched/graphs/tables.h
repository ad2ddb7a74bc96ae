/*
 * Nodes `table` and `array`: the name of a kept graph's target becomes its chunks when a graph is submitted, and the
 * graph it reads stays until it has ended. What a graph has learnt of a table the next one is told.
 */
#ifndef SCHED_GRAPHS_TABLES_H
#define SCHED_GRAPHS_TABLES_H

#include "sched/core/manager.h"

granary_err tables_bind(struct manager *manager, const struct task_graph *graph, Granary__Submit *submit);
/* A node `array` is told where the target of its name lies. Errors: ETYPE it is no tensor · ENOMEM; arrays.c */
granary_err array_bind(const struct target *target, Granary__Node *node);
/* The graphs it reads stay until tables_release(). Errors: ENOMEM */
granary_err tables_hold(struct manager *manager, struct task_graph *graph, const Granary__Submit *submit);
/* Look up what the names of nodes `table` stand for. Errors: ENOENT, ESTATE, EINVAL, ETYPE, EPERM; the message names
 * the node */
void tables_release(struct manager *manager, struct task_graph *graph); /* manager NULL: all graphs go */
/* It has ended: what it read of tables that change is to be freed. */
void tables_free_snapshots(struct task_graph *graph);
void tables_learn(struct manager *manager, struct task_graph *graph);
void tables_forget(struct manager *manager, const struct task_graph *graph); /* it is deleted */
void table_facts_destroy(struct table_facts *facts);
/* A graph that is deleted while it is read: the next scheduler is told of it, until it has gone. */
void tables_keep_held(struct manager *manager, struct task_graph *graph);
void tables_forget_held(struct manager *manager, const struct task_graph *graph);
/* All graphs are restored: those nobody reads go. */
void tables_release_held(struct manager *manager);

#endif
