/*
 * Processes that user code left behind. The pool is their reaper: what loses its parent anywhere below the pool becomes
 * a child of the pool. An executor leads a session of its own, so that it can be told whose they were.
 */
#ifndef EXECUTOR_POOL_ORPHANS_H
#define EXECUTOR_POOL_ORPHANS_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether a child is one the pool started itself. */
typedef bool orphans_own(const void *context, pid_t pid);

/* Become the reaper of this process's descendants. */
void orphans_adopt(void);

/* Take note of those that have ended. */
void orphans_reap(orphans_own *is_own, const void *context);

/* Kill those of an executor that has ended, whose session is its pid; 0: all. None is left when this returns. */
void orphans_kill(pid_t session, orphans_own *is_own, const void *context);

#endif
