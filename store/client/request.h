/* What clients ask for on the socket, one function per operation. */
#ifndef STORE_REQUEST_H
#define STORE_REQUEST_H

#include "store/core/core.h"
#include "wire/frame.h"

/*
 * Handle one frame: it is answered, now or later.
 * EPROTO: the client broke the protocol; EVERSION: it was told, and speaks another one: drop it in both cases.
 */
granary_err request_handle(struct client *client, const struct gr_frame_in *frame);

#endif
