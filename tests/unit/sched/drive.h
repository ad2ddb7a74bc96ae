/* The scheduler's core driven by hand: a manager whose executors do what a test says, and the last answer. */
#ifndef DRIVE_H
#define DRIVE_H

#include "sched/manager/manager.h"

#define LINES(...) ((const char *const[]){__VA_ARGS__}), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

/* The Unix time at the clock's 0. */
#define DRIVE_UNIX_NS INT64_C(1000000000000000)

struct given {
    uint32_t executor;
    uint64_t number;
    uint32_t attempt;
    granary_id output;
};

/* A manager, what its executors were given, and the last answer. */
struct rig {
    struct manager *manager;
    struct given given[256];
    size_t count;
    uint64_t ticket;
    uint64_t answered; /* ticket of `reply` */
    Granary__Reply *reply;
    int64_t now_ns;
    struct gr_executor_state page; /* of the executor with this pid; 0: nobody has one */
    uint32_t asked_to_stop;        /* the executor whose cancel word was set last */
};

/* Executors are numbered from 1, have pids from 1001 and are on nodes 1, 0, 1, ...; memory_bytes: of the store. There
 * is one "gpu". */
struct rig *rig_create(uint32_t executors, uint64_t memory_bytes);
void rig_destroy(struct rig *rig);

/* End a turn: take what executors are given, and the answer. */
void rig_turn(struct rig *rig);
/* Submit a graph (see build.h) in session "s". */
void rig_submit(struct rig *rig, const char *key, const char *const *lines, size_t count);
/* What was given first is over, after 10 ms; err OK reports its output with 10 rows and 100 bytes. */
void rig_report(struct rig *rig, granary_err err);

#endif
