/*
 * What an executor is doing, in a file that scheduler and tools map: <runtime>/executors/<pid>, one page. It costs no
 * message, can be read when nobody answers, and tells after a crash which subtask was at work. The executor writes all
 * but `cancel`, which is the scheduler's.
 *
 * Reading   load `turn` (acquire), the fields, `turn` again: when it is odd or has changed, read again.
 */
#ifndef CONTRACT_EXECUTOR_PAGE_H
#define CONTRACT_EXECUTOR_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

#define GR_EXECUTOR_PAGE_MAGIC   0x72657865u /* "exer" */
#define GR_EXECUTOR_PAGE_VERSION 1u
#define GR_EXECUTOR_PAGE_SIZE    4096u
#define GR_EXECUTOR_PAGES        "executors" /* folder in the runtime directory */
#define GR_LOGS                  "logs" /* folder in the instance's spill directory: one file a subtask that printed something */

/* Exit status of an executor that wants another process in its place; with 0 it has left for good. */
#define GR_EXECUTOR_REPLACE 75

enum gr_executor_phase {
    GR_PHASE_IDLE = 0,
    GR_PHASE_LEASE = 1, /* getting its inputs */
    GR_PHASE_RUN = 2,
    GR_PHASE_STORE = 3, /* creating or sealing an output */
};

/* What it has given up before it ran anything of users; each all that the ones before it did. */
enum gr_confinement {
    GR_CONFINED_NOT = 0,
    GR_CONFINED_CALLS = 1,   /* system calls, limits, privileges */
    GR_CONFINED_FILES = 2,   /* files */
    GR_CONFINED_SIGNALS = 3, /* truncation, TCP, signals and abstract sockets */
};

struct gr_executor_page {
    uint32_t magic, version;
    int64_t pid;
    uint64_t start_time;
    int32_t node;
    int32_t slot;
    _Atomic uint32_t turn; /* odd while the fields up to waits_for change */
    _Atomic uint32_t phase;
    _Atomic uint64_t subtask; /* wire number; 0: none */
    _Atomic uint32_t attempt;
    _Atomic int64_t since_ns;      /* CLOCK_MONOTONIC, when this subtask began */
    _Atomic uint64_t waits_for[2]; /* user code waits for the object of this id; zero: it does not */
    _Atomic int64_t waits_since_ns;
    char log[64];              /* file of the subtask's output below the logs; "": none */
    _Atomic uint64_t progress; /* of 10^9 */
    _Atomic uint64_t beats;    /* goes up with each sign of life of user code */
    _Atomic uint64_t done;     /* subtasks so far */
    _Atomic int64_t program;   /* process group of the program that is at work; 0: none. It ends with the executor */
    _Atomic uint32_t confined; /* enum gr_confinement */
    /* wire number of the subtask to be given up; 0: none */
    _Atomic uint64_t cancel __attribute__((aligned(64)));
};

#endif
