/*
 * Bytes for readers that take LZ4 frames (the format of `lz4`, as in lz4_Frame_format.md), in independent blocks of at
 * most 256 KiB. So are most frames of a spill file: those of a spilled object are copied as they are. Frames that are
 * packed as numbers are packed anew, and so is the last one when the object's metadata begin in it.
 */
#include <lz4.h>
#include <lz4frame.h>

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "client/read.h"
#include "client/read/spilled.h"
#include "data/arrow/arrow.h"
#include "data/tensor.h"
#include "pack/pack.h"

#define BLOCK_RAW 0x80000000u /* of a block's size: its bytes are not compressed */

static LZ4F_preferences_t
preferences(uint64_t raw_size)
{
    return (LZ4F_preferences_t){
        .frameInfo = {.blockSizeID = LZ4F_max256KB, .blockMode = LZ4F_blockIndependent, .contentSize = raw_size}};
}

/* ---- files of what was selected ---- */

static granary_err
frame_file(const granary_frame *frame, void **ret_data, uint64_t *ret_size)
{
    uint64_t data_size, meta_size;
    granary_err err = gr_arrow_measure(frame, &data_size, &meta_size);
    void *data, *meta;

    if (err != GRANARY_OK) {
        return err;
    }
    data = gr_data_alloc(data_size);
    meta = gr_data_alloc(meta_size);
    if (data == NULL || meta == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "Arrow file of %llu bytes: out of memory", (unsigned long long)data_size);
        free(data);
    } else {
        gr_arrow_write(frame, data, meta);
        *ret_data = data;
        *ret_size = data_size;
    }
    free(meta);
    return err;
}

static granary_err
tensor_file(const granary_tensor *tensor, void **ret_data, uint64_t *ret_size)
{
    uint64_t size = gr_npy_measure(tensor);
    void *data = gr_data_alloc(size);

    if (data == NULL) {
        return gr_fail(GRANARY_ENOMEM, "NPY file of %llu bytes: out of memory", (unsigned long long)size);
    }
    gr_npy_write(tensor, data);
    *ret_data = data;
    *ret_size = size;
    return GRANARY_OK;
}

granary_err
read_as_file(granary_client *client, granary_chunk *chunk)
{
    void *data = NULL;
    uint64_t size = 0;
    granary_err err = GRANARY_OK;

    if (chunk->data != NULL) {
        return GRANARY_OK;
    }
    err = chunk->kind == GRANARY_CHUNK_FRAME ? frame_file(chunk->frame, &data, &size)
                                             : tensor_file(&chunk->tensor, &data, &size);
    if (err == GRANARY_OK) {
        read_drop(client, chunk);
        chunk->owned = data;
        chunk->data = data;
        chunk->data_size = size;
    }
    return err;
}

granary_err
read_encode_lz4(granary_client *client, granary_chunk *chunk)
{
    const LZ4F_preferences_t prefs = preferences(chunk->data_size);
    uint64_t raw_size = chunk->data_size;
    size_t room = LZ4F_compressFrameBound(raw_size, &prefs);
    void *packed = malloc(room);
    size_t size;

    if (packed == NULL) {
        return gr_fail(GRANARY_ENOMEM, "LZ4 frame of %llu bytes: out of memory", (unsigned long long)raw_size);
    }
    size = LZ4F_compressFrame(packed, room, chunk->data, raw_size, &prefs);
    if (LZ4F_isError(size)) {
        free(packed);
        return gr_fail(GRANARY_ENOMEM, "LZ4 frame of %llu bytes: %s", (unsigned long long)raw_size,
                       LZ4F_getErrorName(size));
    }
    read_drop(client, chunk);
    chunk->owned = packed;
    chunk->data = packed;
    chunk->data_size = size;
    chunk->raw_size = raw_size;
    return GRANARY_OK;
}

/* ---- from a spill file ---- */

/* An LZ4 frame that is put together of blocks. */
struct blocks {
    char *bytes;
    size_t size;
    uint64_t data_size; /* of the object */
    char *scratch;      /* LEVEL_FRAME_MOST bytes for a block that is unpacked, and as many for it packed anew */
};

static void
add_block(struct blocks *blocks, const char *stored, uint32_t size, bool raw)
{
    uint32_t head = htole32(size | (raw ? BLOCK_RAW : 0));

    memcpy(blocks->bytes + blocks->size, &head, sizeof head);
    memcpy(blocks->bytes + blocks->size + sizeof head, stored, size);
    blocks->size += sizeof head + size;
}

/* A block that is packed anew: of these bytes, which are the object's. */
static void
pack_block(struct blocks *blocks, const char *raw, int size)
{
    char *packed = blocks->scratch + LEVEL_FRAME_MOST;
    int got = LZ4_compress_default(raw, packed, size, size - 1);

    if (got > 0) {
        add_block(blocks, packed, (uint32_t)got, false);
    } else {
        add_block(blocks, raw, (uint32_t)size, true);
    }
}

static granary_err
add_frame(void *context, const struct image *image, uint32_t frame, const char *stored)
{
    struct blocks *blocks = context;
    uint64_t left = blocks->data_size - frame * image->frame_bytes;
    size_t size = image_frame_size(image, frame);
    uint32_t entry = image->table[frame].stored;

    if (left >= size && (entry & FRAME_NUMBERS) == 0) {
        add_block(blocks, stored, FRAME_SIZE(entry), (entry & FRAME_RAW) != 0);
        return GRANARY_OK;
    }
    if (!frame_unpack(entry, stored, blocks->scratch, size)) {
        return image_damaged(image, image->record.at, "a frame does not unpack");
    }
    pack_block(blocks, blocks->scratch, (int)(left < size ? left : size));
    return GRANARY_OK;
}

/* Room for the frames that hold data, each with a head; before them the frame's header, behind them its end. */
static granary_err
read_blocks(const struct image *image, uint64_t data_size, struct blocks *blocks)
{
    const LZ4F_preferences_t prefs = preferences(data_size);
    uint32_t first;
    uint32_t count = data_size == 0 ? 0 : image_frames_of(image, 0, data_size, &first);
    size_t room = LZ4F_HEADER_SIZE_MAX + sizeof(uint32_t);
    LZ4F_cctx *context = NULL;
    granary_err err = GRANARY_OK;
    size_t head;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t entry = image->table[i].stored;
        bool anew = i + 1 == count || (entry & FRAME_NUMBERS) != 0;

        room += sizeof(uint32_t) + (anew ? LEVEL_FRAME_MOST : FRAME_SIZE(entry));
    }
    blocks->data_size = data_size;
    blocks->bytes = malloc(room);
    blocks->scratch = malloc(2 * LEVEL_FRAME_MOST);
    if (blocks->bytes == NULL || blocks->scratch == NULL ||
        LZ4F_isError(LZ4F_createCompressionContext(&context, LZ4F_VERSION))) {
        return gr_fail(GRANARY_ENOMEM, "LZ4 frame: out of memory");
    }
    head = LZ4F_compressBegin(context, blocks->bytes, room, &prefs);
    (void)LZ4F_freeCompressionContext(context);
    if (LZ4F_isError(head)) {
        return gr_fail(GRANARY_EFAILED, "LZ4 frame: %s", LZ4F_getErrorName(head));
    }
    blocks->size = head;
    err = image_read(image, 0, count, add_frame, blocks, NULL);
    if (err == GRANARY_OK) {
        memset(blocks->bytes + blocks->size, 0, sizeof(uint32_t)); /* the end mark */
        blocks->size += sizeof(uint32_t);
    }
    return err;
}

bool
read_spilled_lz4(const struct reading *reading, granary_chunk *chunk)
{
    struct blocks blocks = {.bytes = NULL};
    struct spilled spilled;
    granary_err err = spilled_open(reading->client, reading->id, &spilled);

    if (err != GRANARY_OK) {
        return false;
    }
    err = read_blocks(&spilled.image, spilled.info.data_size, &blocks);
    spilled_close(&spilled);
    free(blocks.scratch);
    if (err != GRANARY_OK) {
        free(blocks.bytes);
        return false;
    }
    chunk->owned = blocks.bytes;
    chunk->data = blocks.bytes;
    chunk->data_size = blocks.size;
    chunk->raw_size = spilled.info.data_size;
    chunk->passed_through = true;
    return true;
}
