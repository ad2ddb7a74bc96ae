/* What holds objects: containers, and lists of holders. */
#ifndef OBJECT_READ_HOLD_H
#define OBJECT_READ_HOLD_H

#include <stdbool.h>

#include "contract/store_proto.h"
#include "granary/hold.h"
#include "granary/store.h"

/*
 * Tell the store what an object will contain, before it is sealed with GR_SEAL_PARENT by this client. On failure
 * nothing is noted. Errors: ENOENT one of them is not there · EEXIST the parent is · EBUSY another client makes it ·
 * EINVAL it would contain itself · EFULL · EUNREACHABLE
 */
granary_err contain_send(granary_client *client, granary_id parent, const granary_id *ids, size_t count);
/*
 * One page of what keeps an object (request->id; all zero: of the whole session) behind request->after, which is moved
 * on, added to the list, which the caller frees. *ret_more: there may be others.
 */
granary_err
holds_page(granary_client *client, struct gr_holds *request, granary_hold **holds, size_t *count, bool *ret_more);
/* The parent will not be sealed after all. */
void contain_cancel(granary_client *client, granary_id parent);

#endif
