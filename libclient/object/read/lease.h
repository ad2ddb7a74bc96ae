/* Leases: what keeps an object where it is while it is read. */
#ifndef OBJECT_READ_LEASE_H
#define OBJECT_READ_LEASE_H

#include <stdbool.h>

#include "granary/store.h"

enum lease_result {
    LEASE_HELD,
    LEASE_ABSENT,
    LEASE_SPILLED,
    LEASE_AGAIN,    /* being evicted or brought back, or changed under the probe */
    LEASE_SET_FULL, /* sealed, but no hazard is free: the store must count */
};

/* What a lease needs to know of an object. */
struct lease {
    uint64_t serial;
    uint64_t handle; /* 1 .. GR_HAZARD_WAYS: the hazard's way + 1; larger: that, and the place of a counted one */
    uint64_t offset;
    uint64_t data_size;
    uint32_t segment;
    uint32_t meta_size;
};

/* One attempt: no lock, no system call, no waiting. Aliases are followed. */
enum lease_result lease_try(granary_client *client, granary_id id, struct lease *ret_lease);
/* The same; *id is then what it stands for: whom to ask the store for, and whose wait word to sleep on. */
enum lease_result lease_follow(granary_client *client, granary_id *id, struct lease *ret_lease);
/* Until leased or the deadline, which is that of timeout_ms. Errors: as get */
granary_err
lease_wait(granary_client *client, granary_id id, int timeout_ms, int64_t deadline_ns, struct lease *ret_lease);
/* Of an object that exists, no longer than that, even when it is 0. Errors: as lease_wait() · EFULL */
granary_err lease_wait_briefly(granary_client *client, granary_id id, int64_t deadline_ns, struct lease *ret_lease);
/* End a lease. */
void lease_end(granary_client *client, uint64_t serial, uint64_t handle);

/* Lease an object that is there, also one that is an error. Errors: as get */
granary_err view_get_any(granary_client *client, granary_id id, granary_view *ret_view);
/* The error a view is, as the failure of who got it; OK: it is an ordinary object. */
granary_err failure_of_view(const granary_view *view);

#endif
