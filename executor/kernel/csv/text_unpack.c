/*
 * text_unpack: the text of a file that is packed, or in another dialect or encoding, in pieces of whole records. It is
 * read once, from its beginning, for a packed file has no other place to begin at. Each piece becomes an object as soon as it is whole, so memory has few of them.
 *
 * How many pieces there will be nobody knows before. So the later ones are larger, and what is not needed is empty.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/text/text.h"
#include "kernel/core/call.h"
#include "kernel/csv/find/csv_scan.h"

enum {
    READ = 1 << 20,
    DOUBLED_EVERY = 16 /* pieces, in the later half of them */
};

struct cutter {
    const struct gr_chunk_text_unpack *params;
    struct gr_kernel_call *call;
    struct gr_dialect dialect;
    struct gr_text *text;
    enum csv_state state;
    struct gr_buf piece; /* while it grows */
    size_t cut;          /* the last place in it at which a record begins; 0: none but the first */
    Granary__TextPieces answer;
};

/* How many bytes piece i of count should have, about: first, and more in the later half, but at most `most`. */
static size_t
piece_bytes(size_t i, size_t count, int64_t first, int64_t most)
{
    int64_t bytes = first;

    for (size_t at = count / 2; at <= i && bytes < most; at += DOUBLED_EVERY) {
        bytes *= 2;
    }
    return (size_t)(bytes < most || most < first ? bytes : most);
}

/* Where the last record begins in the bytes that came last. */
static int64_t
scan(struct cutter *cutter, const char *bytes, size_t size)
{
    const char *feed;

    if (cutter->params->delimiter != NULL) {
        return csv_scan_last(bytes, size, gr_dialect_delimiter(&cutter->dialect), &cutter->state);
    }
    feed = memrchr(bytes, '\n', size);
    return feed == NULL ? -1 : feed + 1 - bytes;
}

/* The first bytes of the piece become an output; the others begin the next one. */
static granary_err
cut_piece(struct cutter *cutter, size_t size)
{
    struct gr_buf *piece = &cutter->piece;
    struct gr_kernel_call *call = cutter->call;
    size_t i = cutter->answer.n_bytes;
    granary_err err = GRANARY_OK;

    if (i == call->output_count) {
        return gr_fail(
            GRANARY_EFULL,
            "%s: its text is longer than can be read of a packed file with so little memory: unpack it first",
            cutter->params->path);
    }
    cutter->answer.bytes[i] = size;
    cutter->answer.lines[i] = csv_count_lines(piece->bytes, size);
    cutter->answer.n_bytes = cutter->answer.n_lines = i + 1;
    if (call->keep != NULL) { /* a copy of it, so the memory serves again */
        call->outputs[i] = (struct gr_value){.kind = GR_VALUE_BYTES, .bytes = piece->bytes, .bytes_size = size};
        err = call->keep(call, i);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "%s: its text has no room, unpacked", cutter->params->path);
    } else {
        char *copy = malloc(size);

        if (copy == NULL) {
            return gr_fail(GRANARY_ENOMEM, "%s: no memory for %zu bytes of its text", cutter->params->path, size);
        }
        memcpy(copy, piece->bytes, size);
        call_yield_bytes(call, i, copy, size);
    }
    memmove(piece->bytes, piece->bytes + size, piece->size - size);
    piece->size -= size;
    cutter->cut = 0;
    return err;
}

static granary_err
cut_text(struct cutter *cutter)
{
    struct gr_buf *piece = &cutter->piece;
    const struct gr_chunk_text_unpack *params = cutter->params;
    granary_err err = GRANARY_OK;
    bool more = true;

    while (err == GRANARY_OK && more) {
        size_t wanted = piece_bytes(cutter->answer.n_bytes, cutter->call->output_count, params->first, params->most);
        size_t before = piece->size;
        int64_t at;

        if (before >= wanted && cutter->cut > 0) {
            err = cut_piece(cutter, cutter->cut);
            continue;
        }
        if (before >= wanted + (size_t)params->most) {
            err = gr_fail(GRANARY_EINVAL, "%s: piece %zu of its text: a record of more than %lld bytes", params->path,
                          cutter->answer.n_bytes, (long long)params->most);
            continue;
        }
        err = gr_text_read(cutter->text, wanted < READ ? wanted : READ, piece, &more);
        if (err == GRANARY_OK && piece->size > before) {
            at = scan(cutter, piece->bytes + before, piece->size - before);
            cutter->cut = at > 0 ? before + (size_t)at : cutter->cut;
        }
    }
    return err == GRANARY_OK && piece->size > 0 ? cut_piece(cutter, piece->size) : err;
}

static struct gr_dialect
dialect_of(const struct gr_chunk_text_unpack *params)
{
    return (struct gr_dialect){.delimiter = params->delimiter,
                               .quote = params->quote,
                               .escape = params->escape,
                               .comment = params->comment,
                               .encoding = params->encoding,
                               .skip = params->skip,
                               .skip_spaces = params->skip_spaces,
                               .comment_anywhere = params->comment_anywhere,
                               .tolerates = params->tolerates,
                               .ragged = gr_ragged_of(params->ragged),
                               .null = params->null};
}

granary_err
kernel_text_unpack(struct gr_kernel_call *call, const struct gr_chunk_text_unpack *params)
{
    struct cutter cutter = {.params = params, .call = call, .answer = GRANARY__TEXT_PIECES__INIT};
    granary_err err =
        params->first < 1 || params->most < 1 || (params->delimiter != NULL && params->delimiter[0] == '\0')
            ? gr_fail(GRANARY_EINVAL, "text_unpack: pieces of %lld bytes", (long long)params->first)
            : GRANARY_OK;
    void *packed;

    cutter.answer.bytes = calloc(call->output_count + 1, sizeof *cutter.answer.bytes);
    cutter.answer.lines = calloc(call->output_count + 1, sizeof *cutter.answer.lines);
    if (cutter.answer.bytes == NULL || cutter.answer.lines == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "%s: no memory for its pieces", params->path);
    }
    cutter.dialect = dialect_of(params);
    err = err == GRANARY_OK
              ? gr_text_open(params->path, params->delimiter == NULL ? NULL : &cutter.dialect, &cutter.text)
              : err;
    err = err == GRANARY_OK ? cut_text(&cutter) : err;
    for (size_t i = cutter.answer.n_bytes; err == GRANARY_OK && i < call->output_count; i++) {
        call->outputs[i] = (struct gr_value){.kind = GR_VALUE_BYTES, .bytes = ""};
    }
    cutter.answer.packing = cutter.text == NULL ? 0 : (uint32_t)gr_text_packing(cutter.text);
    packed =
        err == GRANARY_OK ? gr_buf_grow(call->answer, granary__text_pieces__get_packed_size(&cutter.answer)) : NULL;
    if (packed != NULL) {
        (void)granary__text_pieces__pack(&cutter.answer, packed);
    } else if (err == GRANARY_OK) {
        err = gr_fail(GRANARY_ENOMEM, "%s: no memory for the answer", params->path);
    }
    gr_text_close(cutter.text);
    gr_buf_free(&cutter.piece);
    free(cutter.answer.bytes);
    free(cutter.answer.lines);
    return err;
}
