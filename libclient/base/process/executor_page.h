/*
 * Reading executors' pages (contract/executor_page.h) by name, whether or not anybody answers. Nothing is believed: a
 * page that is short, foreign or never still for long enough is an error.
 */
#ifndef BASE_PROCESS_EXECUTOR_PAGE_H
#define BASE_PROCESS_EXECUTOR_PAGE_H

#include <stddef.h>
#include <stdint.h>

#include "contract/executor_page.h"
#include "granary/types.h"

/* A copy of a page, of one moment. */
struct gr_executor_state {
    int64_t pid;
    uint64_t start_time;
    int32_t node;
    int32_t slot;
    enum gr_executor_phase phase;
    uint64_t subtask; /* wire number; 0: none */
    uint32_t attempt;
    int64_t since_ns;     /* CLOCK_MONOTONIC */
    granary_id waits_for; /* zero: nothing */
    int64_t waits_since_ns;
    char log[64];
    double progress; /* 0 to 1 */
    uint64_t beats;
    uint64_t done;
    int64_t program; /* process group; 0: none */
    enum gr_confinement confined;
};

/* runtime: the instance's. Errors: ENOENT · EPERM · EVERSION · ECORRUPT */
granary_err gr_executor_page_read(const char *runtime, int64_t pid, struct gr_executor_state *ret_state);

/* All that can be read, by pid, those of processes that have died too. *ret_states is to be freed. Errors: ENOMEM */
granary_err gr_executor_pages_read(const char *runtime, struct gr_executor_state **ret_states, size_t *ret_count);

/* What a dead executor was at can be read for as many. */
#define GR_EXECUTOR_PAGES_DEAD 32

/* Remove the pages of those that have died, but for the `keep` that started last. */
void gr_executor_pages_trim(const char *runtime, size_t keep);

/* "idle", "lease", "run", "store". */
const char *gr_executor_phase_name(enum gr_executor_phase phase);
/* "no", "calls", "files", "signals". */
const char *gr_confinement_name(enum gr_confinement confined);

#endif
