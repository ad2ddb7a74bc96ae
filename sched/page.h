/* The scheduler's page (contract/sched_page.h): made for the active one, and left as it is when that ends. */
#ifndef SCHED_PAGE_H
#define SCHED_PAGE_H

#include "base/instance.h"
#include "contract/sched_page.h"

/*
 * Put a page there in the place of the last scheduler's. Without a file, as on a full disk, it is memory that nobody else
 * reads, and the log says so. NULL: out of memory.
 */
struct gr_sched_page *sched_page_create(const struct gr_instance *instance);
/* NULL is fine. */
void sched_page_destroy(struct gr_sched_page *page);

#endif
