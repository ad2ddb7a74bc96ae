/*
 * Event streams (SSE): every page that is open gets what is published, the newest of each name. A page that does not read
 * misses what it cannot take, and is dropped by its connection's timeout when it takes nothing for long; nobody waits for
 * it, and it keeps no more than one message.
 */
#ifndef WEB_STREAMS_H
#define WEB_STREAMS_H

#include <microhttpd.h>

#include "granary/types.h"

struct streams;

granary_err streams_create(struct streams **ret_streams);
/* All of them end: after this no connection sleeps. */
void streams_stop(struct streams *streams);
/* No connection has one any more. NULL is fine. */
void streams_destroy(struct streams *streams);

/* A response that goes on; NULL: there are too many, or no memory. */
struct MHD_Response *streams_respond(struct streams *streams, struct MHD_Connection *connection);
/* text: the data of a message, one line. */
void streams_publish(struct streams *streams, const char *text);
size_t streams_count(struct streams *streams);

#endif
