/*
 * What the metrics tell of an instance, as it was read at one moment: rows of structs whose members metrics.def names.
 * A member that is not known is NaN.
 */
#ifndef METRICS_SNAPSHOT_H
#define METRICS_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "contract/latency.h"
#include "contract/sched_page.h"
#include "granary/inspect.h"

struct metrics_build {
    double there;
};

struct metrics_process {
    const char *name; /* "store", "sched", "executor" */
    double up;
    double stopped;
    double start_time; /* seconds since the Unix epoch */
    double cpu;        /* seconds */
    double resident;   /* bytes */
    double descriptors;
    double threads;
};

struct metrics_instance {
    double epoch;
    double disk_quota;
    double shm;
    double sessions;
    double tables, table_writers;
    double table, table_memory; /* bytes */
};

/* The account, once there is a session that shows it. */
struct metrics_account {
    granary_store_stat stat;
};

/* A part of its memory. */
struct metrics_part {
    const char *name;
    uint64_t bytes;
};

struct metrics_wait {
    const char *name; /* of the table waits.def */
    uint64_t clients;
};

struct metrics_directory {
    char path[512];
    const char *level;
    double bytes, quota, speed, failures;
};

struct metrics_session {
    char name[64];
    granary_store_stat stat;
    double used, quota, clients;
};

struct metrics_executor {
    int32_t slot, node;
    int64_t pid;
    struct metrics_process process;
    double busy, age, done;
};

/* By enum gr_latency_kind. */
struct metrics_latency {
    struct gr_latency of[GR_LATENCY_COUNT];
};

struct metrics_sched {
    struct gr_sched_page page;
};

/* Rows of one struct. */
struct metrics_rows {
    void *rows;
    size_t count;
};

enum metrics_of {
    METRICS_OF_build,
    METRICS_OF_process,
    METRICS_OF_instance,
    METRICS_OF_account,
    METRICS_OF_part,
    METRICS_OF_wait,
    METRICS_OF_directory,
    METRICS_OF_latency,
    METRICS_OF_session,
    METRICS_OF_sched,
    METRICS_OF_executor,
    METRICS_OF_COUNT
};

struct metrics_snapshot {
    struct metrics_rows of[METRICS_OF_COUNT];
};

/* Errors: EPERM · EINVAL · ENOMEM. An instance that is not there is one whose processes are down. */
granary_err metrics_take(const char *instance, struct metrics_snapshot *ret_snapshot);
void metrics_release(struct metrics_snapshot *snapshot);

/*
 * process.c: what /proc tells of a process. start_time: as gr_process_start_time() has it; another process of the same
 * number is none; 0: any. One that is not there has all but its name NaN, and is down.
 */
struct metrics_process metrics_process_read(const char *name, pid_t pid, uint64_t start_time);

#endif
