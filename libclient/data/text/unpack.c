/*
 * A window of the file feeds a decoder, which is begun anew with each member. Every packing is a row: how its decoder
 * begins, takes a step and ends.
 */
#include "data/text/unpack.h"

#include <bzlib.h>
#include <errno.h>
#include <fcntl.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/error.h"
#include "base/fd.h"

enum { WINDOW = 256 << 10 };

struct gr_unpack {
    char *path;
    int fd;
    enum gr_packing packing;
    uint64_t at; /* in the file, of the window's end */
    size_t next; /* in the window: bytes before it are used up */
    size_t size;
    bool whole;   /* the file's last byte is in the window */
    bool within;  /* a member has begun, and not ended */
    bool decodes; /* the decoder is there */
    union {
        z_stream gzip;
        ZSTD_DCtx *zstd;
        LZ4F_dctx *lz4;
        bz_stream bzip2;
    };
    char window[WINDOW];
};

/* What a step has used and made. */
struct step {
    size_t used;
    size_t made;
    bool ends; /* the member is whole */
};

/* ---- decoders ---- */

/* Each step returns NULL, or what is wrong with the bytes; "" there is no memory. */
static const char *
step_gzip(struct gr_unpack *unpack, char *to, size_t room, struct step *step)
{
    z_stream *stream = &unpack->gzip;
    uInt most = room > UINT32_MAX ? UINT32_MAX : (uInt)room;
    int code;

    stream->next_in = (Bytef *)unpack->window + unpack->next;
    stream->avail_in = (uInt)(unpack->size - unpack->next);
    stream->next_out = (Bytef *)to;
    stream->avail_out = most;
    code = inflate(stream, Z_NO_FLUSH);
    step->used = unpack->size - unpack->next - stream->avail_in;
    step->made = most - stream->avail_out;
    step->ends = code == Z_STREAM_END;
    return code == Z_MEM_ERROR                                           ? ""
           : code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR ? NULL
           : code == Z_NEED_DICT                                         ? "it needs a dictionary"
           : stream->msg != NULL                                         ? stream->msg
                                                                         : "damaged";
}

static const char *
step_zstd(struct gr_unpack *unpack, char *to, size_t room, struct step *step)
{
    ZSTD_inBuffer in = {.src = unpack->window + unpack->next, .size = unpack->size - unpack->next};
    ZSTD_outBuffer out = {.dst = to, .size = room};
    size_t code = ZSTD_decompressStream(unpack->zstd, &out, &in);

    step->used = in.pos;
    step->made = out.pos;
    step->ends = code == 0;
    return ZSTD_isError(code) ? ZSTD_getErrorName(code) : NULL;
}

static const char *
step_lz4(struct gr_unpack *unpack, char *to, size_t room, struct step *step)
{
    size_t code;

    step->used = unpack->size - unpack->next;
    step->made = room;
    code = LZ4F_decompress(unpack->lz4, to, &step->made, unpack->window + unpack->next, &step->used, NULL);
    step->ends = code == 0;
    return LZ4F_isError(code) ? LZ4F_getErrorName(code) : NULL;
}

static const char *
step_bzip2(struct gr_unpack *unpack, char *to, size_t room, struct step *step)
{
    bz_stream *stream = &unpack->bzip2;
    unsigned most = room > UINT32_MAX ? UINT32_MAX : (unsigned)room;
    int code;

    stream->next_in = unpack->window + unpack->next;
    stream->avail_in = (unsigned)(unpack->size - unpack->next);
    stream->next_out = to;
    stream->avail_out = most;
    code = BZ2_bzDecompress(stream);
    step->used = unpack->size - unpack->next - stream->avail_in;
    step->made = most - stream->avail_out;
    step->ends = code == BZ_STREAM_END;
    return code == BZ_MEM_ERROR ? "" : code == BZ_OK || code == BZ_STREAM_END ? NULL : "a checksum or a block is wrong";
}

static void
decoder_end(struct gr_unpack *unpack)
{
    if (unpack->decodes) {
        switch (unpack->packing) {
        case GR_PACKING_GZIP:
            (void)inflateEnd(&unpack->gzip);
            break;
        case GR_PACKING_ZSTD:
            (void)ZSTD_freeDCtx(unpack->zstd);
            break;
        case GR_PACKING_LZ4:
            (void)LZ4F_freeDecompressionContext(unpack->lz4);
            break;
        case GR_PACKING_BZIP2:
            (void)BZ2_bzDecompressEnd(&unpack->bzip2);
            break;
        case GR_PACKING_NONE:
        case GR_PACKINGS:
            break;
        }
    }
    unpack->decodes = false;
}

static granary_err
decoder_begin(struct gr_unpack *unpack)
{
    enum { WINDOW_OF_GZIP = 15 + 16 };

    decoder_end(unpack);
    switch (unpack->packing) {
    case GR_PACKING_GZIP:
        unpack->gzip = (z_stream){0};
        unpack->decodes = inflateInit2(&unpack->gzip, WINDOW_OF_GZIP) == Z_OK;
        break;
    case GR_PACKING_ZSTD:
        unpack->zstd = ZSTD_createDCtx();
        unpack->decodes = unpack->zstd != NULL;
        break;
    case GR_PACKING_LZ4:
        unpack->decodes = !LZ4F_isError(LZ4F_createDecompressionContext(&unpack->lz4, LZ4F_VERSION));
        break;
    case GR_PACKING_BZIP2:
        unpack->bzip2 = (bz_stream){0};
        unpack->decodes = BZ2_bzDecompressInit(&unpack->bzip2, 0, 0) == BZ_OK;
        break;
    case GR_PACKING_NONE:
    case GR_PACKINGS:
        unpack->decodes = true;
        break;
    }
    unpack->within = true;
    return unpack->decodes ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "%s: no memory to unpack it", unpack->path);
}

static const char *
step_packing(struct gr_unpack *unpack, char *to, size_t room, struct step *step)
{
    switch (unpack->packing) {
    case GR_PACKING_GZIP:
        return step_gzip(unpack, to, room, step);
    case GR_PACKING_ZSTD:
        return step_zstd(unpack, to, room, step);
    case GR_PACKING_LZ4:
        return step_lz4(unpack, to, room, step);
    default:
        return step_bzip2(unpack, to, room, step);
    }
}

/* ---- the file ---- */

/* Read more behind what is left of the window. */
static granary_err
fill(struct gr_unpack *unpack)
{
    ssize_t got;

    memmove(unpack->window, unpack->window + unpack->next, unpack->size - unpack->next);
    unpack->size -= unpack->next;
    unpack->next = 0;
    do {
        got = pread(unpack->fd, unpack->window + unpack->size, WINDOW - unpack->size, (off_t)unpack->at);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return gr_fail_errno("%s", unpack->path);
    }
    unpack->size += (size_t)got;
    unpack->at += (uint64_t)got;
    unpack->whole = got == 0;
    return GRANARY_OK;
}

granary_err
gr_unpack_open(const char *path, struct gr_unpack **ret_unpack)
{
    struct gr_unpack *unpack = calloc(1, sizeof *unpack);
    struct stat info;
    granary_err err = GRANARY_OK;

    if (unpack == NULL || (unpack->path = strdup(path)) == NULL) {
        free(unpack);
        return gr_fail(GRANARY_ENOMEM, "%s: no memory to read it", path);
    }
    /* Without waiting: it may be a pipe. */
    unpack->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (unpack->fd < 0 || fstat(unpack->fd, &info) < 0) {
        err = gr_fail_errno("%s", path);
    } else if (!S_ISREG(info.st_mode)) {
        err = gr_fail(GRANARY_EINVAL, "%s: is no regular file", path);
    } else {
        err = fill(unpack);
    }
    if (err != GRANARY_OK) {
        gr_unpack_close(unpack);
        return err;
    }
    unpack->packing = gr_packing_of_bytes(unpack->window, unpack->size);
    *ret_unpack = unpack;
    return GRANARY_OK;
}

void
gr_unpack_close(struct gr_unpack *unpack)
{
    if (unpack != NULL) {
        decoder_end(unpack);
        gr_fd_close(&unpack->fd);
        free(unpack->path);
        free(unpack);
    }
}

enum gr_packing
gr_unpack_packing(const struct gr_unpack *unpack)
{
    return unpack->packing;
}

static granary_err
fail_at(const struct gr_unpack *unpack, const char *what)
{
    return gr_fail(GRANARY_EINVAL, "%s: byte %llu of what %s has packed: %s", unpack->path,
                   (unsigned long long)(unpack->at - (unpack->size - unpack->next)), gr_packing_name(unpack->packing),
                   what);
}

/* Of a file that is not packed. */
static granary_err
copy(struct gr_unpack *unpack, char *to, size_t room, size_t *ret_made)
{
    size_t left = unpack->size - unpack->next;

    *ret_made = left < room ? left : room;
    memcpy(to, unpack->window + unpack->next, *ret_made);
    unpack->next += *ret_made;
    return GRANARY_OK;
}

/* Between members: another one begins, or there are none but zeros (gzip on tapes). *ret_ends: that was all */
static granary_err
next_member(struct gr_unpack *unpack, bool *ret_ends)
{
    bool is_first = !unpack->decodes;

    while (!is_first && unpack->packing == GR_PACKING_GZIP && unpack->next < unpack->size &&
           unpack->window[unpack->next] == '\0') {
        unpack->next++;
    }
    *ret_ends = unpack->next == unpack->size;
    if (*ret_ends) {
        return GRANARY_OK;
    }
    if (!is_first && (unpack->packing == GR_PACKING_GZIP || unpack->packing == GR_PACKING_BZIP2) &&
        gr_packing_of_bytes(unpack->window + unpack->next, unpack->size - unpack->next) != unpack->packing) {
        return fail_at(unpack, "something else follows");
    }
    return decoder_begin(unpack);
}

/* Some bytes of a packed text. */
static granary_err
decode(struct gr_unpack *unpack, char *to, size_t room, size_t *ret_made)
{
    struct step step = {.used = 0};
    const char *wrong = step_packing(unpack, to, room, &step);

    if (wrong != NULL) {
        return wrong[0] == '\0' ? gr_fail(GRANARY_ENOMEM, "%s: no memory to unpack it", unpack->path)
                                : fail_at(unpack, wrong);
    }
    unpack->next += step.used;
    unpack->within = !step.ends;
    *ret_made = step.made;
    if (step.used == 0 && step.made == 0 && !step.ends && unpack->next < unpack->size) {
        return fail_at(unpack, "damaged");
    }
    return GRANARY_OK;
}

granary_err
gr_unpack_read(struct gr_unpack *unpack, void *bytes, size_t size, size_t *ret_size)
{
    char *to = bytes;
    size_t made = 0;
    bool ends = false;
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && made < size && !ends) {
        size_t now = 0;

        /* A first byte alone does not tell what follows. */
        if (unpack->size - unpack->next < GR_PACKING_MAGIC && !unpack->whole) {
            err = fill(unpack);
            continue;
        }
        if (unpack->packing == GR_PACKING_NONE) {
            err = copy(unpack, to + made, size - made, &now);
            ends = now == 0;
        } else if (!unpack->within) {
            err = next_member(unpack, &ends);
        } else {
            err = decode(unpack, to + made, size - made, &now);
            if (err == GRANARY_OK && now == 0 && unpack->within && unpack->next == unpack->size && unpack->whole) {
                err = fail_at(unpack, "the file is cut off here");
            }
        }
        made += now;
    }
    *ret_size = made;
    return err;
}
