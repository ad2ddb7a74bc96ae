/* Packed, and unpacked: whatever the message has. */
#include "graph/copy.h"

#include <stdlib.h>

void *
gr_message_copy(const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(size + 1);
    void *copy = NULL;

    if (bytes != NULL) {
        (void)protobuf_c_message_pack(message, bytes);
        copy = protobuf_c_message_unpack(message->descriptor, NULL, size, bytes);
    }
    free(bytes);
    return copy;
}
