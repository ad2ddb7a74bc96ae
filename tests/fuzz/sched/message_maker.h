/* Messages from choices, by their descriptors: every field comes, with values that are plausible, extreme or random. */
#ifndef FUZZ_MESSAGE_MAKER_H
#define FUZZ_MESSAGE_MAKER_H

#include <protobuf-c/protobuf-c.h>

#include "base/text/buf.h"
#include "fuzz/choices.h"

/* What numbers, ids and names are taken from, beside those everybody knows. */
struct message_words {
    const char *const *texts;
    size_t text_count;
    const uint64_t *numbers;
    size_t number_count;
    const uint8_t (*ids)[16];
    size_t id_count;
};

/* Append a packed message. */
void make_message(struct choices *choices, const struct message_words *words,
                  const ProtobufCMessageDescriptor *descriptor, struct gr_buf *out);
/* The same, unpacked: to be freed with protobuf_c_message_free_unpacked(). NULL: it cannot be read */
ProtobufCMessage *
make_unpacked(struct choices *choices, const struct message_words *words, const ProtobufCMessageDescriptor *descriptor);

#endif
