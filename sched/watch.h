/*
 * Watching executors without their help: their pages (contract/executor_page.h), what the kernel says of their memory,
 * and what they left when they died.
 */
#ifndef SCHED_WATCH_H
#define SCHED_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/process/executor_page.h"

/* What the page of that process says. false: it has none (yet), or it cannot be read. */
bool watch_read(const char *runtime, int64_t pid, uint64_t start_time, struct gr_executor_state *ret_state);

/* Ask user code of that subtask (wire number) to stop. Without a page: nothing. */
void watch_cancel(const char *runtime, int64_t pid, uint64_t start_time, uint64_t subtask);

/* Memory that a process shares with nobody; 0: unknown. */
uint64_t watch_private_bytes(int64_t pid);

/*
 * The end of a file of output (gr_executor_state.log): one line, in which | stands for line ends.
 *
 * logs     its folder
 * Returns  its length, below size
 */
size_t watch_log_end(const char *logs, const char *name, char *text, size_t size);

/* The process has ended: its page is of no use to anybody. */
void watch_forget(const char *runtime, int64_t pid);

#endif
