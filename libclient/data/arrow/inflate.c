/* The buffers of compressed record batches (Message.fbs, BodyCompression), each an LZ4 frame. */
#include <lz4frame.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/arrow/read.h"

#define LENGTH_SIZE 8
/* No LZ4 block becomes more than 255 times as long, so a length beyond that is a lie, and costs no memory. */
#define RATIO_MAX 255

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
    void *block = blocks == NULL ? NULL : gr_data_alloc(size);

    inflated->blocks = blocks != NULL ? blocks : inflated->blocks;
    if (block == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    inflated->blocks[inflated->count++] = block;
    *ret_block = block;
    return GRANARY_OK;
}

/* All of one LZ4 frame, which must become just so many bytes. */
static granary_err
decompress(const uint8_t *from, uint64_t from_size, uint8_t *to, uint64_t to_size)
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
arrow_inflate(struct arrow_inflated *inflated, const uint8_t **bytes, uint64_t *size)
{
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
    if (raw < 0 || (uint64_t)raw / RATIO_MAX > *size) {
        return gr_fail(GRANARY_ECORRUPT, "a compressed buffer of a length that cannot be");
    }
    err = add_block(inflated, (uint64_t)raw, &block);
    if (err == GRANARY_OK) {
        err = decompress(*bytes, *size, block, (uint64_t)raw);
    }
    if (err == GRANARY_OK) {
        *bytes = block;
        *size = (uint64_t)raw;
    }
    return err;
}
