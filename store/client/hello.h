/* The first request of a connection. */
#ifndef STORE_HELLO_H
#define STORE_HELLO_H

#include "store/core/core.h"
#include "wire/frame.h"

/* Answer HELLO. Errors: EPROTO, EVERSION: the connection ends */
granary_err hello_handle(struct client *client, const struct gr_frame_in *frame);

#endif
