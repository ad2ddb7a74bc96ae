/* A reader of test_store_race: the client's own lease path over an index and a lease page that the test made. */
#ifndef TESTS_STORE_LEASE_READER_H
#define TESTS_STORE_LEASE_READER_H

#include <stdbool.h>

#include "contract/shm.h"
#include "granary/types.h"

struct lease_reader;

struct reader_lease {
    uint64_t serial;
    uint64_t offset;
    uint64_t handle;
};

/* NULL: out of memory. Nothing is copied. */
struct lease_reader *
lease_reader_create(const struct gr_control *control, struct gr_lease_page *page, const char *index);
void lease_reader_destroy(struct lease_reader *reader);

/* One attempt; whether it holds a lease now. */
bool lease_reader_try(struct lease_reader *reader, granary_id id, struct reader_lease *ret_lease);
void lease_reader_end(struct lease_reader *reader, const struct reader_lease *lease);

#endif
