/*
 * The executor's page (contract/executor_page.h): what it is doing, for those who look from outside. Told by the thread
 * that runs subtasks. Without a file for it (no room, no permission) the page is private memory: nobody looks, and all
 * else goes on.
 */
#ifndef EXECUTOR_USER_PAGE_H
#define EXECUTOR_USER_PAGE_H

#include <stdbool.h>

#include "base/instance.h"
#include "contract/executor_page.h"

struct page {
    struct gr_executor_page *shared;
    char path[160]; /* "": there is no file */
};

/* Where it has no file granary_error_message() says why. Errors: ENOMEM */
granary_err page_create(struct page *page, const struct gr_instance *instance, int node, int slot);
void page_destroy(struct page *page);

/* What the process has given up. */
void page_confined(struct page *page, enum gr_confinement confined);

/* A subtask begins, in the phase LEASE; it ends. A few stores each. */
void page_begin(struct page *page, uint64_t subtask, uint32_t attempt, int64_t now_ns);
void page_end(struct page *page);
void page_phase(struct page *page, enum gr_executor_phase phase);

/* The file of what user code prints, below the logs; "": none. */
void page_log(struct page *page, const char *name);
/* User code waits for an object; NULL: it does no longer. */
void page_waits(struct page *page, const granary_id *id);
/* A process that is at work for user code: it ends with the executor. 0: none. */
void page_program(struct page *page, int64_t pid);
/* A sign of life; part: of 10^9. */
void page_progress(struct page *page, uint64_t part);

/* Whether the subtask is to be given up. One load. */
static inline bool
page_cancelled(const struct page *page, uint64_t subtask)
{
    return subtask != 0 && atomic_load_explicit(&page->shared->cancel, memory_order_relaxed) == subtask;
}

#endif
