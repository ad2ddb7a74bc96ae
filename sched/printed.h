/* What user code has printed: a folder of each graph below the spill directory (gr_instance_logs()). */
#ifndef SCHED_PRINTED_H
#define SCHED_PRINTED_H

#include "base/instance.h"
#include "base/text/buf.h"

struct manager;

/* A graph is gone: what it has printed goes, too. */
void printed_remove(const struct gr_instance *instance, const struct gr_buf *key);
/* A graph has another key now. What is in the way is another one's that is gone. */
void printed_rename(const struct gr_instance *instance, const struct gr_buf *key, const struct gr_buf *new_key);
/*
 * Remove what is of no graph of the manager's: a scheduler that died when it had deleted a graph, or a function that
 * ran on when its graph was gone, has left it.
 */
void printed_sweep(const struct gr_instance *instance, struct manager *manager);

#endif
