/*
 * Where a process's threads are, told by themselves: a thread that gets GR_STACKS_SIGNAL writes its call stack to
 * <runtime>/stacks/<pid>.<tid> and goes on. For the search of what hangs; a system call it interrupts may return early
 * (EINTR), as with any signal.
 */
#ifndef BASE_PROCESS_STACKS_H
#define BASE_PROCESS_STACKS_H

#include <signal.h>

#define GR_STACKS        "stacks" /* folder in the runtime directory */
#define GR_STACKS_SIGNAL (SIGRTMAX - 3)
#define GR_STACKS_END    "end of stack\n" /* the file's last line: it is whole */

/* From now on. The folder is made when it is not there; what cannot be is left alone: it is no reason not to serve. */
void gr_stacks_install(const char *runtime);

/* The folder goes, unless it has files in it: for who removes the runtime directory. */
void gr_stacks_remove(const char *runtime);

#endif
