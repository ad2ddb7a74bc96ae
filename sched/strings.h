/* Strings of packed messages: protobuf lets them have NULs, protobuf-c ends them there. */
#ifndef SCHED_STRINGS_H
#define SCHED_STRINGS_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether no string of a message that could be unpacked has a NUL in it: it would be taken for another, or for none. */
bool strings_are_whole(const ProtobufCMessageDescriptor *type, const void *bytes, size_t size);

#endif
