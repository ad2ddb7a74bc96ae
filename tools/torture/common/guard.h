/*
 * A caretaker for a run that is killed -9, alone or with all of its children. It is a process of its own, which waits
 * for the end of the run's. Then it ends and removes everything that the run had started, also processes that the run
 * was holding stopped.
 */
#ifndef TORTURE_GUARD_H
#define TORTURE_GUARD_H

#include <stdbool.h>

struct guard {
    bool runs;
    int socket; /* to it */
};

/*
 * From now on all that this process starts, or has started, in the directory ends with it.
 *
 * directory  made for the run, with mkdtemp(): every process of the instance has it in its arguments. Kept by pointer
 * instance   in it, or the same
 * Returns    false: there is none; errno
 */
bool guard_start(struct guard *guard, const char *directory, const char *instance);

/* The run has cleaned up by itself. */
void guard_end(struct guard *guard);

#endif
