/*
 * What clients ask for on the socket. contract/store_requests.def has a row for each request, and each row has a handler
 * here: one that is missing does not link. What is the same for all of them is checked before.
 */
#ifndef STORE_REQUEST_H
#define STORE_REQUEST_H

#include "store/core/core.h"
#include "wire/frame.h"

/* Errors: EPROTO the client broke the protocol · EVERSION it was told, and speaks another one: drop it in both cases */
typedef granary_err request_handler(struct client *client, const struct gr_frame_in *frame);

#define REQUEST(name, number, handler, ...) request_handler on_##handler;
#include "contract/store_requests.def"
#undef REQUEST

/* Handle one frame: it is answered, now or later. Errors: as request_handler */
request_handler request_handle;

/* Answer it: with these bytes, or with err and the thread's message. */
granary_err
request_answer(struct client *client, const struct gr_frame_in *frame, granary_err err, const void *body, size_t size);

/* The object that an id in a request means: an alias stands for it, and becomes it. */
granary_id request_resolve(const struct client *client, unsigned char bytes[GRANARY_ID_BYTES]);

#endif
