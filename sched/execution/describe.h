/*
 * What a subtask is, in words: read from the operators it was packed with.
 */
#ifndef SCHED_EXECUTION_DESCRIBE_H
#define SCHED_EXECUTION_DESCRIBE_H

#include "base/text/buf.h"
#include "sched/execution/graph.h"

const char *subtask_state_name(enum subtask_state state);
/* Append the node it comes from, and its operators, separated by commas. */
void subtask_says(const struct subtask *subtask, struct gr_buf *ret_node, struct gr_buf *ret_ops);
/* The name of the node it comes from: of its last operator. To be freed; NULL: out of memory, or it has none. */
char *subtask_node(const struct subtask *subtask);
/* What it runs, for messages: "function 'LIBRARY:NAME'", "command 'NAME'" or "it". */
void subtask_describe(const struct subtask *subtask, char *text, size_t size);

#endif
