/*
 * Points where a process may die, for tests that kill it at each of them in turn.
 *
 * CRASH_POINT(name) stands between two writes to what outlives the process. It is nothing in the product; in programs
 * built with GRANARY_CRASH_POINTS the process kills itself when it comes to the n-th of all of them, n being the number
 * in the environment variable GRANARY_CRASH_AT.
 */
#ifndef BASE_CRASH_H
#define BASE_CRASH_H

#ifdef GRANARY_CRASH_POINTS
void gr_crash_point(const char *name);
#define CRASH_POINT(name) gr_crash_point(#name)
#else
#define CRASH_POINT(name) ((void)0)
#endif

#endif
