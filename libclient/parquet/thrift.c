/* Thrift's compact protocol: see thrift.h. */
#include "parquet/thrift.h"

bool
thrift_fail(struct thrift_in *in, const char *why)
{
    if (!in->bad) {
        in->bad = true;
        in->why = why;
    }
    return false;
}

static uint8_t
read_byte(struct thrift_in *in)
{
    if (in->bad || in->at >= in->size) {
        (void)thrift_fail(in, "it ends early");
        return 0;
    }
    return in->bytes[in->at++];
}

static uint64_t
read_varint(struct thrift_in *in)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = read_byte(in);

        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            return in->bad ? 0 : value;
        }
    }
    (void)thrift_fail(in, "a number has more than 64 bits");
    return 0;
}

static int64_t
read_zigzag(struct thrift_in *in)
{
    uint64_t value = read_varint(in);

    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static struct thrift_bytes
read_binary(struct thrift_in *in)
{
    uint64_t size = read_varint(in);
    struct thrift_bytes bytes = {.size = 0};

    if (!in->bad && size > in->size - in->at) {
        (void)thrift_fail(in, "a text ends behind the end");
    }
    if (!in->bad) {
        bytes = (struct thrift_bytes){.bytes = in->bytes + in->at, .size = (size_t)size};
        in->at += (size_t)size;
    }
    return bytes;
}

bool
thrift_next(struct thrift_in *in, struct thrift_field *field)
{
    uint8_t head = read_byte(in);
    int64_t id;

    if (in->bad || (head & 0x0f) == THRIFT_STOP) {
        return false;
    }
    id = head >> 4 != 0 ? field->id + (head >> 4) : read_zigzag(in);
    if (id < INT16_MIN || id > INT16_MAX) {
        return thrift_fail(in, "a field has no possible number");
    }
    field->id = (int16_t)id;
    field->type = head & 0x0f;
    return !in->bad;
}

/* The head of a list or set. */
static struct thrift_list
read_list(struct thrift_in *in)
{
    uint8_t head = read_byte(in);
    uint64_t count = head >> 4 == 15 ? read_varint(in) : head >> 4;
    struct thrift_list list = {.type = head & 0x0f};

    if (!in->bad && count > in->size - in->at) { /* none is smaller than a byte */
        (void)thrift_fail(in, "a list has more elements than there are bytes");
    }
    list.count = in->bad ? 0 : (size_t)count;
    return list;
}

static void skip_value(struct thrift_in *in, uint8_t type, bool element);

static void
skip_struct(struct thrift_in *in)
{
    struct thrift_field field = {.id = 0};

    while (thrift_next(in, &field)) {
        skip_value(in, field.type, false);
    }
}

static void
skip_list(struct thrift_in *in)
{
    struct thrift_list list = read_list(in);

    for (size_t i = 0; i < list.count && !in->bad; i++) {
        skip_value(in, list.type, true);
    }
}

static void
skip_map(struct thrift_in *in)
{
    uint64_t count = read_varint(in);
    uint8_t types = count > 0 ? read_byte(in) : 0;

    if (!in->bad && count > in->size - in->at) {
        (void)thrift_fail(in, "a map has more elements than there are bytes");
    }
    for (uint64_t i = 0; i < count && !in->bad; i++) {
        skip_value(in, types >> 4, true);
        skip_value(in, types & 0x0f, true);
    }
}

static void
skip_bytes(struct thrift_in *in, size_t size)
{
    if (size > in->size - in->at) {
        (void)thrift_fail(in, "it ends early");
    } else {
        in->at += size;
    }
}

static void
skip_nested(struct thrift_in *in, uint8_t type)
{
    if (in->depth == THRIFT_DEEPEST) {
        (void)thrift_fail(in, "it is nested too deeply");
        return;
    }
    in->depth++;
    if (type == THRIFT_STRUCT) {
        skip_struct(in);
    } else if (type == THRIFT_MAP) {
        skip_map(in);
    } else {
        skip_list(in);
    }
    in->depth--;
}

/* element: of a list, where bools have a byte. */
static void
skip_value(struct thrift_in *in, uint8_t type, bool element)
{
    switch (type) {
    case THRIFT_TRUE:
    case THRIFT_FALSE:
        skip_bytes(in, element);
        break;
    case THRIFT_I8:
        skip_bytes(in, 1);
        break;
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64:
        (void)read_varint(in);
        break;
    case THRIFT_DOUBLE:
        skip_bytes(in, 8);
        break;
    case THRIFT_BINARY:
        (void)read_binary(in);
        break;
    case THRIFT_UUID:
        skip_bytes(in, 16);
        break;
    case THRIFT_LIST:
    case THRIFT_SET:
    case THRIFT_MAP:
    case THRIFT_STRUCT:
        skip_nested(in, type);
        break;
    default:
        (void)thrift_fail(in, "a field has no possible type");
    }
}

void
thrift_skip(struct thrift_in *in, const struct thrift_field *field)
{
    skip_value(in, field->type, false);
}

bool
thrift_bool(struct thrift_in *in, const struct thrift_field *field)
{
    if (field->type != THRIFT_TRUE && field->type != THRIFT_FALSE) {
        return thrift_fail(in, "a field has another type than it should");
    }
    return field->type == THRIFT_TRUE;
}

static int64_t
read_int(struct thrift_in *in, uint8_t type)
{
    switch (type) {
    case THRIFT_I8:
        return (int8_t)read_byte(in);
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64:
        return read_zigzag(in);
    default:
        (void)thrift_fail(in, "a field has another type than it should");
        return 0;
    }
}

int64_t
thrift_int(struct thrift_in *in, const struct thrift_field *field)
{
    return read_int(in, field->type);
}

struct thrift_bytes
thrift_binary(struct thrift_in *in, const struct thrift_field *field)
{
    if (field->type != THRIFT_BINARY) {
        (void)thrift_fail(in, "a field has another type than it should");
        return (struct thrift_bytes){.size = 0};
    }
    return read_binary(in);
}

bool
thrift_struct(struct thrift_in *in, const struct thrift_field *field)
{
    return field->type == THRIFT_STRUCT || thrift_fail(in, "a field has another type than it should");
}

static bool
is_kind(uint8_t type, enum thrift_type wanted)
{
    return wanted == THRIFT_I64    ? type >= THRIFT_I8 && type <= THRIFT_I64
           : wanted == THRIFT_TRUE ? type == THRIFT_TRUE || type == THRIFT_FALSE
                                   : type == wanted;
}

struct thrift_list
thrift_list(struct thrift_in *in, const struct thrift_field *field, enum thrift_type type)
{
    struct thrift_list list = {.count = 0};

    if (field->type != THRIFT_LIST) {
        (void)thrift_fail(in, "a field has another type than it should");
        return list;
    }
    list = read_list(in);
    if (list.count > 0 && !is_kind(list.type, type)) {
        (void)thrift_fail(in, "a list has elements of another type than it should");
        list.count = 0;
    }
    return list;
}

int64_t
thrift_element_int(struct thrift_in *in, const struct thrift_list *list)
{
    return read_int(in, list->type);
}

bool
thrift_element_bool(struct thrift_in *in)
{
    return read_byte(in) == THRIFT_TRUE;
}

struct thrift_bytes
thrift_element_binary(struct thrift_in *in)
{
    return read_binary(in);
}
