/* Messages copied. */
#ifndef GRAPH_COPY_H
#define GRAPH_COPY_H

#include <protobuf-c/protobuf-c.h>

/* A copy of any message (its base), to be freed as one of its kind. NULL: out of memory. */
void *gr_message_copy(const ProtobufCMessage *message);

#endif
