#include "message_maker.h"

#include <string.h>

#define DEPTH_MAX 5

struct maker {
    struct choices *choices;
    const struct message_words *words;
    struct gr_buf *out;
};

static void put_fields(struct maker *maker, const ProtobufCMessageDescriptor *descriptor, int depth);

static void
put_varint(struct gr_buf *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t count = 0;

    do {
        bytes[count] = (uint8_t)(value & 0x7f);
        value >>= 7;
        bytes[count++] |= value > 0 ? 0x80 : 0;
    } while (value > 0);
    gr_buf_add(out, bytes, count);
}

static uint64_t
choose_number(struct maker *maker)
{
    static const uint64_t edges[] = {63,
                                     64,
                                     4096,
                                     INT32_MAX,
                                     UINT32_MAX,
                                     INT64_MAX,
                                     UINT64_MAX,
                                     INT64_MIN,
                                     (uint64_t)1 << 32,
                                     ((uint64_t)1 << 32) + 1,
                                     UINT32_MAX - 1};

    switch (choose(maker->choices, 4)) {
    case 0:
        return choose(maker->choices, 4);
    case 1:
        return maker->words->number_count == 0
                   ? 1
                   : maker->words->numbers[choose(maker->choices, (uint32_t)maker->words->number_count)];
    case 2:
        return CHOOSE_FROM(maker->choices, edges);
    default:
        return choose(maker->choices, 65536);
    }
}

static void
put_text(struct maker *maker)
{
    static const char *const texts[] = {"",
                                        "null",
                                        "a",
                                        "b",
                                        "call",
                                        "random",
                                        "exec",
                                        "shape",
                                        "count",
                                        "columns",
                                        "where",
                                        "a:0",
                                        "sum",
                                        "lib:f",
                                        "subtasks",
                                        "graphs",
                                        "bands",
                                        "executors",
                                        "state",
                                        "input",
                                        "inputs",
                                        "../..",
                                        "map",
                                        "map_chunk",
                                        "ids",
                                        "path",
                                        "function",
                                        "f",
                                        "lib",
                                        "analyze",
                                        "sessions",
                                        "results",
                                        "functions",
                                        "waits",
                                        "nodes",
                                        "events",
                                        "command",
                                        "true",
                                        "table",
                                        "name",
                                        "arange",
                                        "stop",
                                        "00112233445566778899aabbccddeeff",
                                        "object:00112233445566778899aabbccddeeff"};
    uint32_t known = (uint32_t)(sizeof texts / sizeof texts[0]);
    uint32_t at = choose(maker->choices, known + (uint32_t)maker->words->text_count);
    const char *text = at < known ? texts[at] : maker->words->texts[at - known];

    put_varint(maker->out, strlen(text));
    gr_buf_add(maker->out, text, strlen(text));
}

static void
put_bytes(struct maker *maker)
{
    uint32_t kind = choose(maker->choices, 4);
    uint32_t size = kind == 0 ? choose(maker->choices, 24) : 16;

    put_varint(maker->out, size);
    if (kind >= 2 && maker->words->id_count > 0) {
        gr_buf_add(maker->out, maker->words->ids[choose(maker->choices, (uint32_t)maker->words->id_count)], 16);
        return;
    }
    for (uint32_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)choose(maker->choices, 3);

        gr_buf_add(maker->out, &byte, 1);
    }
}

static void
put_field(struct maker *maker, const ProtobufCFieldDescriptor *field, int depth)
{
    struct gr_buf inner = {0};
    struct maker below = {.choices = maker->choices, .words = maker->words, .out = &inner};
    uint64_t value;

    switch (field->type) {
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
        value = choose_number(maker);
        put_varint(maker->out, field->id << 3 | 1);
        gr_buf_add(maker->out, &value, sizeof value);
        break;
    case PROTOBUF_C_TYPE_STRING:
        put_varint(maker->out, field->id << 3 | 2);
        put_text(maker);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        put_varint(maker->out, field->id << 3 | 2);
        put_bytes(maker);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        put_fields(&below, field->descriptor, depth + 1);
        put_varint(maker->out, field->id << 3 | 2);
        put_varint(maker->out, inner.size);
        gr_buf_add(maker->out, inner.bytes, inner.size);
        gr_buf_free(&inner);
        break;
    default: /* integers, bools and enums */
        put_varint(maker->out, field->id << 3);
        put_varint(maker->out, field->type == PROTOBUF_C_TYPE_ENUM ? choose(maker->choices, 12) : choose_number(maker));
        break;
    }
}

static void
put_fields(struct maker *maker, const ProtobufCMessageDescriptor *descriptor, int depth)
{
    for (unsigned i = 0; i < descriptor->n_fields && depth < DEPTH_MAX; i++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
        uint32_t times;

        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
            continue;
        }
        times = field->label == PROTOBUF_C_LABEL_REPEATED ? choose(maker->choices, 4) : choose(maker->choices, 3) > 0;
        while (times-- > 0) {
            put_field(maker, field, depth);
        }
    }
    if (descriptor->n_fields > 0 &&
        (descriptor->fields[descriptor->n_fields - 1].flags & PROTOBUF_C_FIELD_FLAG_ONEOF)) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[choose(maker->choices, descriptor->n_fields)];

        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
            put_field(maker, field, depth);
        }
    }
}

void
make_message(struct choices *choices, const struct message_words *words, const ProtobufCMessageDescriptor *descriptor,
             struct gr_buf *out)
{
    struct maker maker = {.choices = choices, .words = words, .out = out};

    put_fields(&maker, descriptor, 0);
}

ProtobufCMessage *
make_unpacked(struct choices *choices, const struct message_words *words, const ProtobufCMessageDescriptor *descriptor)
{
    struct gr_buf packed = {0};
    ProtobufCMessage *message;

    make_message(choices, words, descriptor, &packed);
    message = protobuf_c_message_unpack(descriptor, NULL, packed.size, (const uint8_t *)packed.bytes);
    gr_buf_free(&packed);
    return message;
}
