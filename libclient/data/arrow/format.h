/* The parts of Arrow's IPC format that writer and reader share: field numbers of its Flatbuffers tables and enums
 * (Schema.fbs, Message.fbs, File.fbs). */
#ifndef DATA_ARROW_FORMAT_H
#define DATA_ARROW_FORMAT_H

#include <stdint.h>

#define ARROW_MAGIC        "ARROW1"
#define ARROW_MAGIC_SIZE   6
#define ARROW_CONTINUATION 0xffffffffu

enum arrow_version { ARROW_V4 = 3, ARROW_V5 = 4 };
enum arrow_header { HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_BATCH = 3 };
enum arrow_type {
    TYPE_NULL = 1,
    TYPE_INT = 2,
    TYPE_FLOAT = 3,
    TYPE_BINARY = 4,
    TYPE_UTF8 = 5,
    TYPE_BOOL = 6,
    TYPE_DECIMAL = 7,
    TYPE_DATE = 8,
    TYPE_TIME = 9,
    TYPE_TIMESTAMP = 10,
    TYPE_INTERVAL = 11,
    TYPE_LIST = 12,
    TYPE_STRUCT = 13,
    TYPE_UNION = 14,
    TYPE_FIXED_BINARY = 15,
    TYPE_FIXED_LIST = 16,
    TYPE_MAP = 17,
    TYPE_DURATION = 18,
    TYPE_LARGE_BINARY = 19,
    TYPE_LARGE_UTF8 = 20,
    TYPE_LARGE_LIST = 21,
    TYPE_RUN_ENDS = 22,
    TYPE_BINARY_VIEW = 23,
    TYPE_UTF8_VIEW = 24,
    TYPE_LIST_VIEW = 25,
    TYPE_LARGE_LIST_VIEW = 26,
};
enum arrow_precision { PRECISION_SINGLE = 1, PRECISION_DOUBLE = 2 };
enum arrow_date_unit { DATE_DAY = 0, DATE_MILLISECOND = 1 };
enum arrow_time_unit { TIME_SECOND = 0, TIME_MILLISECOND = 1, TIME_MICROSECOND = 2, TIME_NANOSECOND = 3 };

enum message_field { MESSAGE_VERSION, MESSAGE_HEADER_TYPE, MESSAGE_HEADER, MESSAGE_BODY_LENGTH };
enum schema_field { SCHEMA_ENDIANNESS, SCHEMA_FIELDS };
enum field_field { FIELD_NAME, FIELD_NULLABLE, FIELD_TYPE_TYPE, FIELD_TYPE, FIELD_DICTIONARY, FIELD_CHILDREN };
enum dictionary_field { DICTIONARY_ID, DICTIONARY_INDEX_TYPE };
enum dictionary_batch_field { DICTIONARY_BATCH_ID, DICTIONARY_BATCH_DATA, DICTIONARY_BATCH_IS_DELTA };
enum batch_field { BATCH_LENGTH, BATCH_NODES, BATCH_BUFFERS, BATCH_COMPRESSION, BATCH_VARIADIC };
enum compression_field { COMPRESSION_CODEC, COMPRESSION_METHOD };
enum compression_codec { CODEC_LZ4_FRAME = 0, CODEC_ZSTD = 1 };
enum footer_field { FOOTER_VERSION, FOOTER_SCHEMA, FOOTER_DICTIONARIES, FOOTER_BATCHES };
enum union_field { UNION_MODE };
enum union_mode { UNION_SPARSE = 0, UNION_DENSE = 1 };
enum int_field { INT_BIT_WIDTH, INT_IS_SIGNED };
enum time_field { TIME_UNIT, TIME_BIT_WIDTH };
enum timestamp_field { TIMESTAMP_UNIT, TIMESTAMP_ZONE };
enum decimal_field { DECIMAL_PRECISION, DECIMAL_SCALE, DECIMAL_BIT_WIDTH };

/* Structs as they lie in vectors. */
struct arrow_node {
    int64_t length;
    int64_t null_count;
};
struct arrow_buffer {
    int64_t offset; /* from the begin of the body */
    int64_t length;
};
struct arrow_block {
    int64_t offset; /* of the message in the file */
    int32_t metadata_length;
    int32_t padding;
    int64_t body_length;
};

#endif
