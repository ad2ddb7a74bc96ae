/* Thrift's compact protocol, written. */
#include "parquet/write/thrift_out.h"

#include <string.h>

static void
put_byte(struct gr_buf *buf, unsigned byte)
{
    uint8_t one = (uint8_t)byte;

    gr_buf_add(buf, &one, 1);
}

void
thrift_put_varint(struct gr_buf *buf, uint64_t value)
{
    uint8_t bytes[10];
    size_t size = 0;

    for (; value >= 0x80; value >>= 7) {
        bytes[size++] = (uint8_t)(value | 0x80);
    }
    bytes[size++] = (uint8_t)value;
    gr_buf_add(buf, bytes, size);
}

static void
put_zigzag(struct gr_buf *buf, int64_t value)
{
    thrift_put_varint(buf, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static void
put_head(struct thrift_out *out, int16_t id, enum thrift_type type)
{
    int step = id - out->last[out->depth];

    if (step > 0 && step < 16) {
        put_byte(out->buf, (unsigned)step << 4 | type);
    } else {
        put_byte(out->buf, type);
        put_zigzag(out->buf, id);
    }
    out->last[out->depth] = id;
}

void
thrift_put_bool(struct thrift_out *out, int16_t id, bool value)
{
    put_head(out, id, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void
thrift_put_int(struct thrift_out *out, int16_t id, enum thrift_type type, int64_t value)
{
    put_head(out, id, type);
    if (type == THRIFT_I8) {
        put_byte(out->buf, (unsigned)value & 0xff);
    } else {
        put_zigzag(out->buf, value);
    }
}

void
thrift_put_binary(struct thrift_out *out, int16_t id, const void *bytes, size_t size)
{
    put_head(out, id, THRIFT_BINARY);
    thrift_element_put_binary(out, bytes, size);
}

void
thrift_put_text(struct thrift_out *out, int16_t id, const char *text)
{
    thrift_put_binary(out, id, text, strlen(text));
}

void
thrift_put_struct(struct thrift_out *out, int16_t id)
{
    put_head(out, id, THRIFT_STRUCT);
    thrift_begin(out);
}

void
thrift_put_list(struct thrift_out *out, int16_t id, enum thrift_type type, size_t count)
{
    put_head(out, id, THRIFT_LIST);
    put_byte(out->buf, (count < 15 ? (unsigned)count << 4 : 0xf0U) | type);
    if (count >= 15) {
        thrift_put_varint(out->buf, count);
    }
}

void
thrift_begin(struct thrift_out *out)
{
    out->last[++out->depth] = 0;
}

void
thrift_end(struct thrift_out *out)
{
    put_byte(out->buf, THRIFT_STOP);
    out->depth--;
}

void
thrift_element_put_int(struct thrift_out *out, int64_t value)
{
    put_zigzag(out->buf, value);
}

void
thrift_element_put_bool(struct thrift_out *out, bool value)
{
    put_byte(out->buf, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void
thrift_element_put_binary(struct thrift_out *out, const void *bytes, size_t size)
{
    thrift_put_varint(out->buf, size);
    gr_buf_add(out->buf, bytes, size);
}
