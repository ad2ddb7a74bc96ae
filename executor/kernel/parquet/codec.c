/* Codecs, each by its library: none writes more than it is told. */
#include "kernel/parquet/codec.h"

#include <brotli/decode.h>
#include <lz4.h>
#include <snappy-c.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/error.h"
#include "parquet/parquet.h"

typedef bool unpack(const uint8_t *bytes, size_t size, uint8_t *raw, size_t raw_size);

static bool
unpack_snappy(const uint8_t *bytes, size_t size, uint8_t *raw, size_t raw_size)
{
    size_t length = 0;

    return snappy_uncompressed_length((const char *)bytes, size, &length) == SNAPPY_OK && length == raw_size &&
           snappy_uncompress((const char *)bytes, size, (char *)raw, &length) == SNAPPY_OK;
}

/* Members of gzip, or of zlib, one after another. */
static bool
unpack_gzip(const uint8_t *bytes, size_t size, uint8_t *raw, size_t raw_size)
{
    z_stream stream = {
        .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)size, .next_out = raw, .avail_out = (uInt)raw_size};
    int result = inflateInit2(&stream, 15 + 32); /* it finds out which of the two */

    if (result != Z_OK) {
        return false;
    }
    do {
        result = inflate(&stream, Z_FINISH);
    } while (result == Z_STREAM_END && stream.avail_in > 0 && stream.avail_out > 0 && inflateReset(&stream) == Z_OK);
    (void)inflateEnd(&stream);
    return result == Z_STREAM_END && stream.avail_out == 0;
}

static bool
unpack_brotli(const uint8_t *bytes, size_t size, uint8_t *raw, size_t raw_size)
{
    size_t length = raw_size;

    return BrotliDecoderDecompress(size, bytes, &length, raw) == BROTLI_DECODER_RESULT_SUCCESS && length == raw_size;
}

static bool
unpack_zstd(const uint8_t *bytes, size_t size, uint8_t *raw, size_t raw_size)
{
    return ZSTD_decompress(raw, raw_size, bytes, size) == raw_size;
}

static bool
unpack_lz4_raw(const uint8_t *bytes, size_t size, uint8_t *raw, size_t raw_size)
{
    return LZ4_decompress_safe((const char *)bytes, (char *)raw, (int)size, (int)raw_size) == (int)raw_size;
}

static uint32_t
load_big(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Blocks as Hadoop writes them: raw size, packed size, both big-endian, then the block. */
static bool
unpack_hadoop(const uint8_t *bytes, size_t size, uint8_t *raw, size_t raw_size)
{
    while (size >= 8) {
        uint32_t block_raw = load_big(bytes);
        uint32_t block = load_big(bytes + 4);

        bytes += 8;
        size -= 8;
        if (block > size || block_raw > raw_size || !unpack_lz4_raw(bytes, block, raw, block_raw)) {
            return false;
        }
        bytes += block;
        size -= block;
        raw += block_raw;
        raw_size -= block_raw;
    }
    return size == 0 && raw_size == 0;
}

/* What LZ4 means was never written down: framed as Hadoop does it, or one block without a frame. */
static bool
unpack_lz4(const uint8_t *bytes, size_t size, uint8_t *raw, size_t raw_size)
{
    return unpack_hadoop(bytes, size, raw, raw_size) || unpack_lz4_raw(bytes, size, raw, raw_size);
}

static bool
unpack_none(const uint8_t *bytes, size_t size, uint8_t *raw, size_t raw_size)
{
    if (size == raw_size) {
        memcpy(raw, bytes, size);
    }
    return size == raw_size;
}

static const struct {
    const char *name;
    unpack *unpack;
} codecs[] = {
    [GR_PARQUET_RAW] = {"none", unpack_none},        [GR_PARQUET_SNAPPY] = {"snappy", unpack_snappy},
    [GR_PARQUET_GZIP] = {"gzip", unpack_gzip},       [GR_PARQUET_LZO] = {"LZO", NULL},
    [GR_PARQUET_BROTLI] = {"brotli", unpack_brotli}, [GR_PARQUET_LZ4] = {"LZ4", unpack_lz4},
    [GR_PARQUET_ZSTD] = {"zstd", unpack_zstd},       [GR_PARQUET_LZ4_RAW] = {"LZ4_RAW", unpack_lz4_raw},
};

granary_err
codec_check(int32_t codec)
{
    if (codec < 0 || (size_t)codec >= sizeof codecs / sizeof codecs[0]) {
        return gr_fail(GRANARY_EUNSUPPORTED, "its pages are compressed in a way that is not known (%d)", (int)codec);
    }
    return codecs[codec].unpack == NULL
               ? gr_fail(GRANARY_EUNSUPPORTED, "its pages are compressed with %s, which cannot be read",
                         codecs[codec].name)
               : GRANARY_OK;
}

granary_err
codec_unpack(int32_t codec, const uint8_t *bytes, size_t size, uint8_t *raw, size_t raw_size)
{
    granary_err err = codec_check(codec);

    if (err == GRANARY_OK && raw_size > 0 && !codecs[codec].unpack(bytes, size, raw, raw_size)) {
        err = gr_fail(GRANARY_ECORRUPT, "a page of %zu bytes is not what %s makes of %zu bytes", size,
                      codecs[codec].name, raw_size);
    }
    return err;
}

uint32_t
codec_crc(const uint8_t *bytes, size_t size)
{
    return (uint32_t)crc32(0, bytes, (uInt)size);
}
