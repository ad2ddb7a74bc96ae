/*
 * Allocations that fail when a test says so: what in a program is linked statically calls these instead of libc's, in
 * tests with LINKS ${failing_allocations}.
 */
#ifndef SUPPORT_ALLOCATIONS_H
#define SUPPORT_ALLOCATIONS_H

/* So many allocations succeed, then one fails, and it becomes negative; negative: none fails. */
extern long allocations_left;

#endif
