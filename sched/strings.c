/* A walk over a packed message by its descriptor; submessages are walked, too. */
#include "sched/strings.h"

#include <stdint.h>
#include <string.h>

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct rest {
    const uint8_t *at;
    const uint8_t *end;
};

static bool
take_varint(struct rest *rest, uint64_t *ret_value)
{
    *ret_value = 0;
    for (unsigned shift = 0; shift < 64 && rest->at < rest->end; shift += 7) {
        uint8_t byte = *rest->at++;

        *ret_value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

/* The bytes of the next field, whose tag was taken. */
static bool
take_field(struct rest *rest, unsigned wire_type, struct rest *ret_field)
{
    uint64_t size = wire_type == WIRE_64 ? 8 : 4;

    if (wire_type == WIRE_VARINT) {
        *ret_field = *rest;
        return take_varint(rest, &size);
    }
    if ((wire_type != WIRE_64 && wire_type != WIRE_32 && wire_type != WIRE_BYTES) ||
        (wire_type == WIRE_BYTES && !take_varint(rest, &size)) || size > (uint64_t)(rest->end - rest->at)) {
        return false;
    }
    *ret_field = (struct rest){rest->at, rest->at + size};
    rest->at += size;
    return true;
}

bool
strings_are_whole(const ProtobufCMessageDescriptor *type, const void *bytes, size_t size)
{
    struct rest rest = {bytes, (const uint8_t *)bytes + size};
    bool whole = true;

    while (whole && rest.at < rest.end) {
        const ProtobufCFieldDescriptor *known;
        struct rest field;
        uint64_t tag;

        if (!take_varint(&rest, &tag) || !take_field(&rest, tag & 7, &field)) {
            return false;
        }
        known = (tag & 7) == WIRE_BYTES ? protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3)) : NULL;
        if (known != NULL && known->type == PROTOBUF_C_TYPE_STRING) {
            whole = memchr(field.at, '\0', (size_t)(field.end - field.at)) == NULL;
        } else if (known != NULL && known->type == PROTOBUF_C_TYPE_MESSAGE) {
            whole = strings_are_whole(known->descriptor, field.at, (size_t)(field.end - field.at));
        }
    }
    return whole;
}
