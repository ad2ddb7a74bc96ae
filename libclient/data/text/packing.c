/* Names, first bytes and endings as one table; texts are packed as their programs do it by default. */
#include "data/text/packing.h"

#include <bzlib.h>
#include <lz4frame.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#include "base/error.h"

static const struct {
    const char *name;
    const char *ending;
    const char *magic;
} packings[GR_PACKINGS] = {
    [GR_PACKING_NONE] = {.name = "none"},
    [GR_PACKING_GZIP] = {.name = "gzip", .ending = ".gz", .magic = "\x1f\x8b\x08"},
    [GR_PACKING_ZSTD] = {.name = "zstd", .ending = ".zst", .magic = "\x28\xb5\x2f\xfd"},
    [GR_PACKING_LZ4] = {.name = "lz4", .ending = ".lz4", .magic = "\x04\x22\x4d\x18"},
    [GR_PACKING_BZIP2] = {.name = "bzip2", .ending = ".bz2", .magic = "BZh"},
};

const char *
gr_packing_name(enum gr_packing packing)
{
    return packings[packing].name;
}

bool
gr_packing_parse(const char *name, enum gr_packing *ret_packing)
{
    for (int p = 0; p < GR_PACKINGS; p++) {
        if (strcmp(packings[p].name, name) == 0) {
            *ret_packing = (enum gr_packing)p;
            return true;
        }
    }
    return false;
}

/* The digit of bzip2's block size: a table of words may begin like the rest. */
static bool
is_bzip2(const char *bytes, size_t size)
{
    return size >= GR_PACKING_MAGIC && bytes[3] >= '1' && bytes[3] <= '9';
}

enum gr_packing
gr_packing_of_bytes(const char *bytes, size_t size)
{
    for (int p = GR_PACKING_NONE + 1; p < GR_PACKINGS; p++) {
        size_t length = strlen(packings[p].magic);

        if (size >= length && memcmp(bytes, packings[p].magic, length) == 0 &&
            (p != GR_PACKING_BZIP2 || is_bzip2(bytes, size))) {
            return (enum gr_packing)p;
        }
    }
    return GR_PACKING_NONE;
}

enum gr_packing
gr_packing_of_path(const char *path, size_t *ret_stem)
{
    size_t length = strlen(path);

    *ret_stem = length;
    for (int p = GR_PACKING_NONE + 1; p < GR_PACKINGS; p++) {
        size_t size = strlen(packings[p].ending);

        if (length > size && strcasecmp(path + length - size, packings[p].ending) == 0) {
            *ret_stem = length - size;
            return (enum gr_packing)p;
        }
    }
    return GR_PACKING_NONE;
}

/* ---- texts packed ---- */

static bool
pack_gzip(const void *bytes, size_t size, struct gr_buf *out)
{
    enum { WINDOW = 15 + 16, MEMORY = 8 }; /* 16: with gzip's head */
    z_stream stream = {0};
    size_t before = out->size;
    size_t room;
    bool ok;

    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
        return false;
    }
    room = deflateBound(&stream, size);
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = gr_buf_grow(out, room);
    stream.avail_out = (uInt)room;
    ok = stream.next_out != NULL && size <= UINT32_MAX && room <= UINT32_MAX &&
         deflate(&stream, Z_FINISH) == Z_STREAM_END;
    out->size = before + (ok ? (size_t)stream.total_out : 0);
    (void)deflateEnd(&stream);
    return ok;
}

static bool
pack_zstd(const void *bytes, size_t size, struct gr_buf *out)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t before = out->size;
    size_t room = ZSTD_compressBound(size);
    void *to = context == NULL ? NULL : gr_buf_grow(out, room);
    size_t made = 0;
    bool ok = to != NULL && !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1));

    if (ok) {
        made = ZSTD_compress2(context, to, room, bytes, size);
        ok = !ZSTD_isError(made);
    }
    out->size = before + (ok ? made : 0);
    (void)ZSTD_freeCCtx(context);
    return ok;
}

static bool
pack_lz4(const void *bytes, size_t size, struct gr_buf *out)
{
    LZ4F_preferences_t preferences = {
        .frameInfo = {.blockSizeID = LZ4F_max4MB, .contentChecksumFlag = LZ4F_contentChecksumEnabled}};
    size_t before = out->size;
    size_t room = LZ4F_compressFrameBound(size, &preferences);
    void *to = gr_buf_grow(out, room);
    size_t made = to == NULL ? 0 : LZ4F_compressFrame(to, room, bytes, size, &preferences);
    bool ok = to != NULL && !LZ4F_isError(made);

    out->size = before + (ok ? made : 0);
    return ok;
}

static bool
pack_bzip2(const void *bytes, size_t size, struct gr_buf *out)
{
    enum { LEVEL = 9 };
    size_t before = out->size;
    size_t bound = size + size / 64 + 1024; /* the manual: 1 % and 600 bytes more */
    unsigned made = (unsigned)bound;
    char *to = bound > UINT32_MAX ? NULL : gr_buf_grow(out, bound);
    bool ok = to != NULL &&
              BZ2_bzBuffToBuffCompress(to, &made, (char *)(uintptr_t)bytes, (unsigned)size, LEVEL, 0, 0) == BZ_OK;

    out->size = before + (ok ? made : 0);
    return ok;
}

granary_err
gr_pack_text(enum gr_packing packing, const void *bytes, size_t size, struct gr_buf *out)
{
    bool ok = true;

    switch (packing) {
    case GR_PACKING_GZIP:
        ok = pack_gzip(bytes, size, out);
        break;
    case GR_PACKING_ZSTD:
        ok = pack_zstd(bytes, size, out);
        break;
    case GR_PACKING_LZ4:
        ok = pack_lz4(bytes, size, out);
        break;
    case GR_PACKING_BZIP2:
        ok = pack_bzip2(bytes, size, out);
        break;
    case GR_PACKING_NONE:
    case GR_PACKINGS:
        gr_buf_add(out, bytes, size);
        break;
    }
    return ok && gr_buf_ok(out) ? GRANARY_OK
                                : gr_fail(GRANARY_ENOMEM, "%zu bytes cannot be packed by %s: out of memory", size,
                                          gr_packing_name(packing));
}
