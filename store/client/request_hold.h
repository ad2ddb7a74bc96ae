/* Requests about what is said about objects: pins, references, leases, containers, aliases, names. See request.h. */
#ifndef STORE_REQUEST_HOLD_H
#define STORE_REQUEST_HOLD_H

#include "store/core/core.h"
#include "wire/frame.h"

granary_err on_lease(struct client *client, const struct gr_frame_in *frame);
granary_err on_unlease(struct client *client, const struct gr_frame_in *frame);
granary_err on_pin(struct client *client, const struct gr_frame_in *frame);
granary_err on_unpin(struct client *client, const struct gr_frame_in *frame);
granary_err on_ref(struct client *client, const struct gr_frame_in *frame);
granary_err on_unref(struct client *client, const struct gr_frame_in *frame);
granary_err on_contain(struct client *client, const struct gr_frame_in *frame);
granary_err on_alias(struct client *client, const struct gr_frame_in *frame);
granary_err on_name_set(struct client *client, const struct gr_frame_in *frame);
granary_err on_name_get(struct client *client, const struct gr_frame_in *frame);
granary_err on_name_list(struct client *client, const struct gr_frame_in *frame);
granary_err on_holds(struct client *client, const struct gr_frame_in *frame);

#endif
