/* Codecs, as codec.c has them, in the other direction. */
#include "kernel/parquet/pack.h"

#include <lz4.h>
#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/error.h"

struct codec {
    ZSTD_CCtx *zstd;
    z_stream gzip;
    bool has_gzip;
};

static size_t
zstd_most(size_t raw_size)
{
    return ZSTD_compressBound(raw_size);
}

static size_t
zstd_pack(void *own, const uint8_t *raw, size_t raw_size, uint8_t *packed, size_t room)
{
    const struct codec *codec = own;
    size_t size = ZSTD_compress2(codec->zstd, packed, room, raw, raw_size);

    return ZSTD_isError(size) ? 0 : size;
}

static bool
zstd_open(struct codec *codec, int64_t level)
{
    codec->zstd = ZSTD_createCCtx();
    return codec->zstd != NULL &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(codec->zstd, ZSTD_c_compressionLevel, (int)level));
}

static size_t
snappy_most(size_t raw_size)
{
    return snappy_max_compressed_length(raw_size);
}

static size_t
snappy_pack(void *own, const uint8_t *raw, size_t raw_size, uint8_t *packed, size_t room)
{
    size_t size = room;

    (void)own;
    return snappy_compress((const char *)raw, raw_size, (char *)packed, &size) == SNAPPY_OK ? size : 0;
}

static size_t
gzip_most(size_t raw_size)
{
    return compressBound(raw_size) + 32; /* and what gzip has around it */
}

static size_t
gzip_pack(void *own, const uint8_t *raw, size_t raw_size, uint8_t *packed, size_t room)
{
    z_stream *stream = &((struct codec *)own)->gzip;

    if (deflateReset(stream) != Z_OK) {
        return 0;
    }
    stream->next_in = (Bytef *)(uintptr_t)raw;
    stream->avail_in = (uInt)raw_size;
    stream->next_out = packed;
    stream->avail_out = (uInt)room;
    return deflate(stream, Z_FINISH) == Z_STREAM_END ? room - stream->avail_out : 0;
}

static bool
gzip_open(struct codec *codec, int64_t level)
{
    codec->has_gzip = deflateInit2(&codec->gzip, level == 0 ? Z_DEFAULT_COMPRESSION : (int)level, Z_DEFLATED, 15 + 16,
                                   8, Z_DEFAULT_STRATEGY) == Z_OK;
    return codec->has_gzip;
}

static size_t
lz4_most(size_t raw_size)
{
    return raw_size > LZ4_MAX_INPUT_SIZE ? 0 : (size_t)LZ4_compressBound((int)raw_size);
}

static size_t
lz4_pack(void *own, const uint8_t *raw, size_t raw_size, uint8_t *packed, size_t room)
{
    int size = raw_size > LZ4_MAX_INPUT_SIZE
                   ? 0
                   : LZ4_compress_default((const char *)raw, (char *)packed, (int)raw_size, (int)room);

    (void)own;
    return size > 0 ? (size_t)size : 0;
}

static const struct {
    const char *name;
    bool (*open)(struct codec *codec, int64_t level);
    struct gr_parquet_packer packer;
} codecs[] = {
    {"zstd", zstd_open, {.codec = GR_PARQUET_ZSTD, .most = zstd_most, .pack = zstd_pack}},
    {"snappy", NULL, {.codec = GR_PARQUET_SNAPPY, .most = snappy_most, .pack = snappy_pack}},
    {"gzip", gzip_open, {.codec = GR_PARQUET_GZIP, .most = gzip_most, .pack = gzip_pack}},
    {"lz4_raw", NULL, {.codec = GR_PARQUET_LZ4_RAW, .most = lz4_most, .pack = lz4_pack}},
    {"none", NULL, {.codec = GR_PARQUET_RAW}},
};

granary_err
pack_open(const char *name, int64_t level, struct gr_parquet_packer *ret_packer)
{
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        struct codec *codec;

        if (strcmp(codecs[i].name, name) != 0) {
            continue;
        }
        codec = calloc(1, sizeof *codec);
        *ret_packer = codecs[i].packer;
        ret_packer->own = codec;
        ret_packer->always = level > 0;
        if (codec == NULL || (codecs[i].open != NULL && !codecs[i].open(codec, level))) {
            pack_close(ret_packer);
            return gr_fail(GRANARY_ENOMEM, "out of memory for %s", name);
        }
        return GRANARY_OK;
    }
    return gr_fail(GRANARY_EINVAL, "there is no compression '%.40s'", name);
}

void
pack_close(struct gr_parquet_packer *packer)
{
    struct codec *codec = packer->own;

    if (codec == NULL) {
        return;
    }
    (void)ZSTD_freeCCtx(codec->zstd);
    if (codec->has_gzip) {
        (void)deflateEnd(&codec->gzip);
    }
    free(codec);
    packer->own = NULL;
}

granary_err
pack_columns_open(const granary_frame *frame, const Granary__Attr *bloom, struct pack_columns *ret_columns)
{
    struct pack_columns made = {.columns = calloc(frame->count + 1, sizeof *made.columns)};
    granary_err err = made.columns == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory for columns") : GRANARY_OK;

    if (err == GRANARY_OK && bloom != NULL) {
        made.bloom = calloc(frame->count + 1, sizeof *made.bloom);
        err = made.bloom == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory for columns") : GRANARY_OK;
    }
    for (size_t i = 0; err == GRANARY_OK && i < frame->count; i++) {
        made.columns[i] = &frame->columns[i].view;
    }
    for (size_t i = 0; err == GRANARY_OK && bloom != NULL && i < bloom->n_strings; i++) {
        int at = gr_frame_find(frame, bloom->strings[i]);

        if (at < 0) {
            err = gr_fail(GRANARY_EINVAL, "bloom: there is no column '%s'", bloom->strings[i]);
        } else {
            made.bloom[at] = true;
        }
    }
    if (err != GRANARY_OK) {
        pack_columns_close(&made);
        return err;
    }
    *ret_columns = made;
    return GRANARY_OK;
}

void
pack_columns_close(struct pack_columns *columns)
{
    free(columns->columns);
    free(columns->bloom);
    *columns = (struct pack_columns){.columns = NULL};
}
