/*
 * Packed files: nobody knows how long their text is before it is unpacked. So the operator that does has more outputs than
 * it is likely to need, of sizes that grow (executor/kernel/csv/text_unpack.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/fd.h"
#include "tile/file/records.h"

enum {
    RATIO = 4,          /* of text to what it is packed to, about */
    PIECES_LEAST = 256, /* the last of them are larger than the first by powers of two */
    RATIO_MOST = 1032,  /* that gzip can have: a small file needs few pieces whatever is in it */
    MEMORY_PARTS = 16,
};

#define PIECE_MOST ((int64_t)64 << 20)

static uint32_t
pieces_of(const struct gr_file *file)
{
    int64_t usual = PIECES_LEAST + RATIO * file->file_bytes / file->block_bytes;
    int64_t most = 4 + 2 * RATIO_MOST * file->file_bytes / file->block_bytes;

    return (uint32_t)(usual < most ? usual : most);
}

granary_err
records_look_packed(struct gr_file *file, int fd, bool is_other, bool *ret_packed)
{
    struct records *records = file->own;
    char magic[GR_PACKING_MAGIC] = "";
    size_t size = file->file_bytes < GR_PACKING_MAGIC ? (size_t)file->file_bytes : GR_PACKING_MAGIC;
    granary_err err = gr_pread_all(fd, magic, size, 0);

    if (err != GRANARY_OK) {
        return gr_fail_in(err, "%s", file->path);
    }
    *ret_packed = records->is_packed =
        is_other || gr_packing_of_bytes(magic, size) != GR_PACKING_NONE || gr_text_is_marked(magic, size);
    if (records->is_packed) {
        file->stage = "being unpacked";
        file->jobs = file->waiting = 1;
        file->asks = true;
        file->made = pieces_of(file);
    }
    return GRANARY_OK;
}

void
records_start_unpack(struct gr_file *file, uint32_t step, struct gr_chunks *chunks, const struct gr_dialect *dialect)
{
    struct gr_chunk_spec spec = {.op = GR_CHUNK_text_unpack,
                                 .step = step,
                                 .shared = gr_chunks_attrs(chunks),
                                 .outputs = file->made,
                                 .bytes = RATIO * (uint64_t)file->file_bytes};
    int64_t most = file->memory_bytes == 0 || file->memory_bytes / MEMORY_PARTS > (uint64_t)PIECE_MOST
                       ? PIECE_MOST
                       : (int64_t)(file->memory_bytes / MEMORY_PARTS);

    gr_attrs_add(chunks, spec.shared, gr_attr_new_string("path", file->path));
    if (dialect != NULL) {
        gr_attrs_add(chunks, spec.shared, gr_attr_new_string("delimiter", dialect->delimiter));
        gr_attrs_add(chunks, spec.shared, gr_attr_new_string("quote", dialect->quote));
        gr_attrs_add(chunks, spec.shared, gr_attr_new_string("escape", dialect->escape));
        gr_attrs_add(chunks, spec.shared, gr_attr_new_string("comment", dialect->comment));
        gr_attrs_add(chunks, spec.shared, gr_attr_new_int("skip", dialect->skip));
        gr_attrs_add(chunks, spec.shared, gr_attr_new_bool("comment_anywhere", dialect->comment_anywhere));
        gr_attrs_add(chunks, spec.shared, gr_attr_new_bool("tolerates", dialect->tolerates));
        gr_attrs_add(chunks, spec.shared, gr_attr_new_bool("skip_spaces", dialect->skip_spaces));
        gr_attrs_add(chunks, spec.shared, gr_attr_new_string("ragged", gr_ragged_word(dialect->ragged)));
        gr_attrs_add(chunks, spec.shared, gr_attr_new_string("encoding", dialect->encoding));
        gr_attrs_add(chunks, spec.shared, gr_attr_new_string("null", dialect->null));
    }
    gr_attrs_add(chunks, spec.shared, gr_attr_new_int("first", file->block_bytes));
    gr_attrs_add(chunks, spec.shared, gr_attr_new_int("most", most > file->block_bytes ? most : file->block_bytes));
    file->made_by = gr_chunks_add(chunks, &spec).op;
}

granary_err
records_take_pieces(struct gr_file *file, const ProtobufCBinaryData *answer)
{
    struct records *records = file->own;
    Granary__TextPieces *pieces;
    int64_t offset = 0;
    uint64_t line = 1;
    granary_err err = GRANARY_OK;

    errno = 0;
    pieces = granary__text_pieces__unpack(NULL, answer->len, answer->data);
    if (pieces == NULL || pieces->n_bytes > file->made || pieces->n_lines != pieces->n_bytes) {
        err = records_unreadable("text_unpack");
        goto end;
    }
    records->ranges = calloc(pieces->n_bytes + 1, sizeof *records->ranges);
    records->types = calloc(pieces->n_bytes + 1, sizeof(Granary__CsvTypes *));
    if (records->ranges == NULL || records->types == NULL) {
        err = tile_no_memory();
        goto end;
    }
    records->range_count = pieces->n_bytes;
    for (size_t i = 0; i < pieces->n_bytes; i++) {
        records->ranges[i] = (struct gr_csv_range){.offset = offset, .size = (int64_t)pieces->bytes[i], .line = line};
        offset += (int64_t)pieces->bytes[i];
        line += pieces->lines[i];
    }
    records->is_unpacked = true;
    if (records->range_count == 0) { /* no text at all: the first piece is as empty as all */
        records->ranges[0] = (struct gr_csv_range){.line = 1};
        records->range_count = 1;
    }

end:
    granary__text_pieces__free_unpacked(pieces, NULL);
    return err;
}

void
records_add_input(const struct gr_file *file, size_t range, struct gr_piece *piece, struct gr_chunk_spec *spec)
{
    if (((const struct records *)file->own)->is_packed) {
        *piece = (struct gr_piece){.op = file->made_by, .output = (uint32_t)range};
        spec->inputs = piece;
        spec->input_count = 1;
    }
}
