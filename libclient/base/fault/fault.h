/*
 * Faults on purpose, in the product as it is shipped:
 *
 *   GRANARY_FAULT="[PROCESS/]POINT:ACTION@WHEN[;...]"
 *
 * POINT is a row of contract/faults.def (`granary faults` lists them) or `any`. ACTION is kill, delay=DURATION,
 * errno=NAME, short, corrupt or drop. WHEN is N (the N-th time in this process), N+ (from then on) or N% (each time
 * with that probability, by GRANARY_FAULT_SEED). With GRANARY_FAULT_NOTE=FILE, the first process whose fault happens
 * makes FILE and writes "process point n". Once FILE is there, no fault with a plain N happens any more, so processes
 * that are started again are left alone. FILE.hits gets a line "process pid point 1" when a process first comes to a
 * point. When the process ends in order, or is killed here, it gets lines with how often it came to which point, to
 * `any` and to `call.any`.
 *
 * As long as nobody asked for faults a point costs a load and a branch that is predicted.
 */
#ifndef BASE_FAULT_FAULT_H
#define BASE_FAULT_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/fault/points.h"
#include "granary/types.h"

/*
 * Read what the environment asks of this process, once: later calls change nothing. A process that runs with other
 * rights than who started it is asked for nothing.
 *
 * Errors  EINVAL nonsense: it should not start
 */
granary_err gr_fault_arm(enum gr_fault_process process);

/*
 * Written once, by gr_fault_arm(), before this process comes to a point: a daemon arms before it starts a thread, a
 * client before it has a connection. So it is read as it is, in one instruction: steps are between stores that are few
 * instructions apart.
 */
extern bool gr_fault_armed __attribute__((visibility("hidden")));

/* This process comes to a point. kill and delay happen here; the rest is the caller's to do, with errno set for ERRNO
 * and else kept. */
enum gr_fault_action gr_fault_meet(enum gr_fault_point point) __attribute__((cold));

#define FAULT_MEET(name) (__builtin_expect(gr_fault_armed, false) ? gr_fault_meet(GR_FAULT_##name) : GR_FAULT_NOTHING)

/* A point between two writes. */
#define FAULT_STEP(name) ((void)FAULT_MEET(name))
/* Whether something is to fail, with errno: `if (FAULT_FAILS(segment_file) || ftruncate(...) < 0)`. */
#define FAULT_FAILS(name) (FAULT_MEET(name) == GR_FAULT_ERRNO)

/* What a point with bytes is asked before they leave: false, with errno, when they do not; else there may be fewer of
 * them, or another one among them. */
#define FAULT_LEAVES(name, bytes, size)                                                                                \
    (!__builtin_expect(gr_fault_armed, false) || gr_fault_leaves(GR_FAULT_##name, (bytes), &(size)))
bool gr_fault_leaves(enum gr_fault_point point, void *bytes, size_t *size);

/* pread() at a point with bytes. */
ssize_t gr_fault_pread(enum gr_fault_point point, int fd, void *bytes, size_t size, off_t at);

/* Change one byte in the middle. */
void gr_fault_spoil(void *bytes, size_t size);

/* Before _exit(): what is told when a process ends in order. */
void gr_fault_end(void);

#endif
