/* The store's requests by their sizes, for tests that send what no client would. */
#ifndef SUPPORT_STORE_REQUESTS_H
#define SUPPORT_STORE_REQUESTS_H

#include <stddef.h>

#include "contract/store_proto.h"

#define REQUEST_KINDS (GR_STORE_HOLDS + 1u)

/* Of the body; 0: it has none, or is no request. */
static inline size_t
request_size(unsigned op)
{
    static const size_t sizes[REQUEST_KINDS] = {
        [GR_STORE_HELLO] = sizeof(struct gr_hello),
        [GR_STORE_ROOM] = sizeof(struct gr_room),
        [GR_STORE_MAP] = sizeof(struct gr_map),
        [GR_STORE_RESTORE] = sizeof(struct gr_object_ref),
        [GR_STORE_LEASE] = sizeof(struct gr_object_ref),
        [GR_STORE_UNLEASE] = sizeof(struct gr_object_ref),
        [GR_STORE_PIN] = sizeof(struct gr_hold),
        [GR_STORE_UNPIN] = sizeof(struct gr_hold),
        [GR_STORE_DEAD] = 16,
        [GR_STORE_PING] = 0,
        [GR_STORE_SESSION_CREATE] = sizeof(struct gr_session_request),
        [GR_STORE_SESSION_HAS] = sizeof(struct gr_session_request),
        [GR_STORE_SESSION_DELETE] = sizeof(struct gr_session_request),
        [GR_STORE_SESSION_LIST] = sizeof(struct gr_session_request),
        [GR_STORE_REF] = sizeof(struct gr_hold),
        [GR_STORE_UNREF] = sizeof(struct gr_hold),
        [GR_STORE_CONTAIN] = sizeof(struct gr_contain) + 32,
        [GR_STORE_ALIAS] = sizeof(struct gr_alias),
        [GR_STORE_NAME_SET] = sizeof(struct gr_name),
        [GR_STORE_NAME_GET] = sizeof(struct gr_name),
        [GR_STORE_NAME_LIST] = sizeof(struct gr_name),
        [GR_STORE_MOVE] = sizeof(struct gr_move),
        [GR_STORE_SLICE] = sizeof(struct gr_slice),
        [GR_STORE_HINT] = sizeof(struct gr_hint),
        [GR_STORE_HOLDS] = sizeof(struct gr_holds),
    };

    return op < REQUEST_KINDS ? sizes[op] : 0;
}

#endif
