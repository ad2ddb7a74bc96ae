/* Reading the scheduler's page (contract/sched_page.h), whether or not that answers. Nothing is believed. */
#ifndef BASE_PROCESS_SCHED_PAGE_H
#define BASE_PROCESS_SCHED_PAGE_H

#include "contract/sched_page.h"
#include "granary/types.h"

/* runtime: the instance's. Errors: ENOENT · EPERM · EVERSION · ECORRUPT */
granary_err gr_sched_page_read(const char *runtime, struct gr_sched_page *ret_page);

#endif
