/*
 * The manager as a whole: it holds one of each module's struct and the few facts that all of them share. A module is a
 * file that declares its own struct and alone reads and writes its fields; sched/manager/manager.c makes and wires them.
 */
#ifndef SCHED_CORE_MANAGER_H
#define SCHED_CORE_MANAGER_H

#include "sched/core/actions.h"
#include "sched/core/changes.h"
#include "sched/core/executor.h"
#include "sched/core/options.h"
#include "sched/core/registry.h"
#include "sched/core/session.h"

struct manager {
    struct manager_options options;
    int64_t now_ns;   /* of the last event that told */
    bool exhausted;   /* see manager_exhausted() */
    uint64_t turn;    /* of the actions being collected */
    uint32_t changed; /* bits of subjects: see info_changed() */
    uint64_t subtasks_done;
    uint64_t full_row; /* how often room may have been made: see rooms_begin_anew() */
    uint64_t parked;   /* subtasks, of all graphs */
    uint64_t watched;  /* running subtasks with user code, of all graphs */
    uint64_t stopping; /* graphs that have ended and of which something still runs */
    struct actions actions;
    struct registry registry;
    struct sessions sessions;
    struct executors executors;
    struct order *order;
    struct reservations *reservations;
    struct resources *resources;
    struct estimates *estimates;
    struct distances *distances;
    struct exports *exports;
    struct frees *frees;
    struct pool *pool;
    struct journal *journal;
    struct history *history;
    struct deadlines *deadlines;
    struct waiters *waiters;
    struct table_facts *table_facts;
    struct recalls *recalls;
    struct info *info;
    struct gr_sched_page *page; /* counts.h */
};

/* When a wait that begins now ends. timeout_ms: below 0 for ever */
static inline int64_t
wait_until_ns(int64_t timeout_ms, int64_t now_ns)
{
    return timeout_ms >= 0 && timeout_ms < INT64_MAX / 4000000 ? now_ns + timeout_ms * 1000000 : INT64_MAX;
}

/* A moment of the events' clock in ms since the Unix epoch; 0 for 0. */
static inline int64_t
manager_unix_ms(const struct manager *manager, int64_t ns)
{
    return ns == 0 ? 0 : (ns + manager->options.unix_offset_ns) / 1000000;
}

#endif
