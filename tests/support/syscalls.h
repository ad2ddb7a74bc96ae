/*
 * System calls on spill files that fail when a test says so: what in a program is linked statically calls these instead
 * of libc's, in tests with LINKS ${failing_syscalls}.
 */
#ifndef SUPPORT_SYSCALLS_H
#define SUPPORT_SYSCALLS_H

#include <stdbool.h>

enum syscall { SYSCALL_OPEN, SYSCALL_READ, SYSCALL_WRITE, SYSCALL_SYNC, SYSCALL_RENAME, SYSCALLS };

/* So many calls of this kind succeed, then one fails with this errno; for_good: all after it too. */
void syscalls_fail(enum syscall which, long after, int error, bool for_good);

/* No more of that. Returns whether a call has failed. */
bool syscalls_heal(void);

#endif
