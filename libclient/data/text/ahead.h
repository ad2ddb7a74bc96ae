/*
 * A packed text that is unpacked ahead: a thread of its own fills a few blocks while who reads works on those before. What
 * is read is the same, and so are the errors, which come when the reader gets to their place.
 */
#ifndef DATA_TEXT_AHEAD_H
#define DATA_TEXT_AHEAD_H

#include "data/text/unpack.h"

struct gr_ahead;

/* Go on from where the text is; nobody else reads it until the end of gr_ahead_stop(). NULL: there is no thread to be had */
struct gr_ahead *gr_ahead_start(struct gr_unpack *unpack);
void gr_ahead_stop(struct gr_ahead *ahead); /* NULL is fine */
/* As gr_unpack_read(), by one thread. */
granary_err gr_ahead_read(struct gr_ahead *ahead, void *bytes, size_t size, size_t *ret_size);

#endif
