/*
 * The clients' lease pages, mapped into one reserved range of addresses.
 *
 * A client can truncate its page's file under our feet. The SIGBUS that follows puts an empty page there: the store
 * then reads zeros, notices that the magic is gone, and drops that client only.
 */
#ifndef STORE_LEASE_REGION_H
#define STORE_LEASE_REGION_H

#include <stdbool.h>

#include "contract/shm.h"
#include "granary/types.h"

struct lease_region;

/* Room for `places` pages. One region per process. Errors: ENOMEM */
granary_err lease_region_create(unsigned places, struct lease_region **ret_region);
void lease_region_destroy(struct lease_region *region);

/* Map the file into a free place. Errors: EFULL all places are taken · ENOMEM */
granary_err lease_region_map(struct lease_region *region, int fd, unsigned *ret_place, struct gr_lease_page **ret_page);
void lease_region_unmap(struct lease_region *region, unsigned place);

#endif
