/* What the files of why.h share: an answer being written, its words, and the part about subtasks. */
#ifndef SCHED_INFO_WHY_PRIVATE_H
#define SCHED_INFO_WHY_PRIVATE_H

#include "sched/execution/graph_private.h"

#define WHY_NAMED_MAX 5 /* things of a kind that are named one by one */

struct why {
    struct manager *manager;
    struct gr_buf *out;
    int depth; /* of indentation */
};

/* Add a line, indented. */
void why_line(struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct words {
    char text[64];
};

/* How long since a moment of the manager's clock. */
struct words why_since(const struct why *why, int64_t ns);
struct words why_size(uint64_t bytes);
const char *why_plural(uint64_t count);

/* "KEY/NUMBER (node 'NAME': OPS)". */
struct name {
    char text[256];
};

struct name why_name(const struct task_graph *graph, uint32_t number);
struct name why_name_of_wire(const struct why *why, uint64_t wire_number);

/* Everything about a subtask, and what it waits for. */
void why_tell_subtask(struct why *why, struct task_graph *graph, uint32_t number);

/* How a graph is, and of one that runs, what its subtasks wait for. */
void why_tell_graph(struct why *why, struct task_graph *graph);

#endif
