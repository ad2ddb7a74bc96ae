/* The points and actions of base/fault/fault.h as values. */
#ifndef BASE_FAULT_POINTS_H
#define BASE_FAULT_POINTS_H

enum gr_fault_process {
    GR_FAULT_STORE = 1,
    GR_FAULT_SCHED = 2,
    GR_FAULT_EXECUTOR = 4, /* and the pool they belong to */
    GR_FAULT_CLIENT = 8,   /* any program with libgranary in it */
    GR_FAULT_CLI = 16,
};

enum gr_fault_point {
#define POINT(processes, kind, id, name, text) GR_FAULT_##id,
#include "base/fault/table.h"
#undef POINT
    GR_FAULT_POINTS,
    GR_FAULT_any = GR_FAULT_POINTS, /* in rules: each of this code */
    GR_FAULT_call_any,              /* each system call */
};

enum gr_fault_action {
    GR_FAULT_NOTHING,
    GR_FAULT_KILL,
    GR_FAULT_DELAY,
    GR_FAULT_ERRNO,
    GR_FAULT_SHORT,
    GR_FAULT_CORRUPT,
    GR_FAULT_DROP,
    GR_FAULT_ACTIONS,
};

#endif
