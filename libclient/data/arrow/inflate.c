/* The buffers of compressed record batches (Message.fbs, BodyCompression), each an LZ4 or zstd frame. */
#include <lz4frame.h>
#include <zstd.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/arrow/read.h"

#define LENGTH_SIZE 8
/* No LZ4 block becomes more than 255 times as long, and none of zstd's 3 bytes more than 128 KiB. A length beyond that is
 * a lie, and costs no memory. */
#define LZ4_RATIO_MAX  255
#define ZSTD_RATIO_MAX 44000
#define ALIGNMENT      64

void
arrow_inflated_free(struct arrow_inflated *inflated)
{
    for (size_t i = 0; i < inflated->count; i++) {
        free(inflated->blocks[i]);
    }
    free(inflated->blocks);
    *inflated = (struct arrow_inflated){0};
}

static granary_err
add_block(struct arrow_inflated *inflated, uint64_t size, void **ret_block)
{
    void **blocks = realloc(inflated->blocks, (inflated->count + 1) * sizeof *blocks);
    uint64_t room = (size + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    char *block = blocks == NULL || size > SIZE_MAX / 2 ? NULL : aligned_alloc(ALIGNMENT, room);

    inflated->blocks = blocks != NULL ? blocks : inflated->blocks;
    if (block == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    memset(block + room - ALIGNMENT, 0,
           ALIGNMENT); /* the rest is written: what is claimed and not there costs nothing */
    inflated->blocks[inflated->count++] = block;
    *ret_block = block;
    return GRANARY_OK;
}

/* All of one zstd frame, which must become just so many bytes. */
static granary_err
decompress_zstd(const uint8_t *from, uint64_t from_size, uint8_t *to, uint64_t to_size)
{
    size_t made = ZSTD_decompress(to, to_size, from, from_size);

    return !ZSTD_isError(made) && made == to_size ? GRANARY_OK : gr_fail(GRANARY_ECORRUPT, "damaged zstd frame");
}

/* The same of an LZ4 frame. */
static granary_err
decompress_lz4(const uint8_t *from, uint64_t from_size, uint8_t *to, uint64_t to_size)
{
    LZ4F_dctx *context = NULL;
    uint64_t taken = 0;
    uint64_t made = 0;
    size_t hint = 1;

    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    while (hint > 0) {
        size_t in = from_size - taken;
        size_t out = to_size - made;

        hint = LZ4F_decompress(context, to + made, &out, from + taken, &in, NULL);
        if (LZ4F_isError(hint) || (in == 0 && out == 0)) {
            break;
        }
        taken += in;
        made += out;
    }
    (void)LZ4F_freeDecompressionContext(context);
    return hint == 0 && made == to_size ? GRANARY_OK : gr_fail(GRANARY_ECORRUPT, "damaged LZ4 frame");
}

granary_err
arrow_inflate(struct arrow_inflated *inflated, enum compression_codec codec, const uint8_t **bytes, uint64_t *size)
{
    uint64_t ratio = codec == CODEC_ZSTD ? ZSTD_RATIO_MAX : LZ4_RATIO_MAX;
    void *block;
    int64_t raw;
    granary_err err;

    if (*size == 0) {
        return GRANARY_OK;
    }
    if (*size < LENGTH_SIZE) {
        return gr_fail(GRANARY_ECORRUPT, "a compressed buffer without a length");
    }
    memcpy(&raw, *bytes, sizeof raw);
    *bytes += LENGTH_SIZE;
    *size -= LENGTH_SIZE;
    if (raw == -1) {
        return GRANARY_OK;
    }
    if (raw < 0 || (uint64_t)raw / ratio > *size) {
        return gr_fail(GRANARY_ECORRUPT, "a compressed buffer of a length that cannot be");
    }
    err = add_block(inflated, (uint64_t)raw, &block);
    if (err == GRANARY_OK) {
        err = codec == CODEC_ZSTD ? decompress_zstd(*bytes, *size, block, (uint64_t)raw)
                                  : decompress_lz4(*bytes, *size, block, (uint64_t)raw);
    }
    if (err == GRANARY_OK) {
        *bytes = block;
        *size = (uint64_t)raw;
    }
    return err;
}
