/* What contract/store_requests.def says of each request on the store's socket, for the store and its clients alike. */
#ifndef WIRE_REQUESTS_H
#define WIRE_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/types.h"

/* Bytes that a frame may have: a head, and up to `most` items behind it. open: other versions have other heads. */
struct gr_request_size {
    uint32_t head;
    uint32_t item;
    uint32_t most;
    bool open;
};

struct gr_store_request {
    const char *name;
    struct gr_request_size body;
    struct gr_request_size answer;
    int fds;         /* of the answer */
    bool greets;     /* sent before HELLO is answered, and not after */
    bool waits;      /* may be answered late */
    granary_err did; /* the refusal of a request that was done already; OK: it has none */
};

/* NULL: there is no such request. */
const struct gr_store_request *gr_store_request(unsigned op);

bool gr_request_size_fits(const struct gr_request_size *rule, uint32_t size);

#endif
