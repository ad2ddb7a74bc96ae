/* The store's requests by their sizes, for tests that send what no client would. */
#ifndef SUPPORT_STORE_REQUESTS_H
#define SUPPORT_STORE_REQUESTS_H

#include <stddef.h>

#include "contract/store_proto.h"
#include "wire/requests.h"

/* Numbers above this one are no requests. */
enum {
    REQUESTS_BELOW = 1
#define REQUEST(...) +1
#include "contract/store_requests.def"
#undef REQUEST
};

/* Of a body, with two items where it has some; 0: it has none, or is no request. */
static inline size_t
request_size(unsigned op)
{
    const struct gr_store_request *request = gr_store_request(op);

    return request == NULL ? 0 : request->body.head + (size_t)2 * request->body.item;
}

#endif
