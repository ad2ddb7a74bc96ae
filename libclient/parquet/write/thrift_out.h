/* Thrift's compact protocol, written: see parquet/thrift.h. Fields of a struct stand in the order of their numbers. */
#ifndef PARQUET_WRITE_THRIFT_OUT_H
#define PARQUET_WRITE_THRIFT_OUT_H

#include "base/text/buf.h"
#include "parquet/thrift.h"

#define THRIFT_OUT_DEEPEST 12

struct thrift_out {
    struct gr_buf *buf;
    int16_t last[THRIFT_OUT_DEEPEST]; /* field, of each struct that is open */
    int depth;
};

void thrift_put_bool(struct thrift_out *out, int16_t id, bool value);
void thrift_put_int(struct thrift_out *out, int16_t id, enum thrift_type type, int64_t value);
void thrift_put_binary(struct thrift_out *out, int16_t id, const void *bytes, size_t size);
void thrift_put_text(struct thrift_out *out, int16_t id, const char *text);
/* A struct as a field; its fields follow, then thrift_end(). */
void thrift_put_struct(struct thrift_out *out, int16_t id);
/* So many elements follow. Structs: each thrift_begin(), fields, thrift_end(). */
void thrift_put_list(struct thrift_out *out, int16_t id, enum thrift_type type, size_t count);

void thrift_begin(struct thrift_out *out);
void thrift_end(struct thrift_out *out);
void thrift_element_put_int(struct thrift_out *out, int64_t value);
void thrift_element_put_bool(struct thrift_out *out, bool value);
void thrift_element_put_binary(struct thrift_out *out, const void *bytes, size_t size);

/* A number, seven bits a byte. */
void thrift_put_varint(struct gr_buf *buf, uint64_t value);

#endif
