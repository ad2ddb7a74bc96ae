/* Requests about sessions: any client may make them, whatever its own session. */
#ifndef STORE_REQUEST_SESSION_H
#define STORE_REQUEST_SESSION_H

#include "store/core/core.h"
#include "wire/frame.h"

granary_err on_session_create(struct client *client, const struct gr_frame_in *frame);
granary_err on_session_has(struct client *client, const struct gr_frame_in *frame);
granary_err on_session_delete(struct client *client, const struct gr_frame_in *frame);
granary_err on_session_list(struct client *client, const struct gr_frame_in *frame);

#endif
