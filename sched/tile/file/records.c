/* Ranges of records: what they tell is taken, checked against what the user says, and made a chunk each. */
#include "tile/file/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/dtype_class.h"

void
records_fini(struct records *records)
{
    for (size_t i = 0; records->types != NULL && i < records->range_count; i++) {
        granary__csv_types__free_unpacked(records->types[i], NULL);
    }
    free(records->types);
    free(records->ranges);
}

/* ---- answers ---- */

granary_err
records_unreadable(const char *op)
{
    return errno == ENOMEM ? gr_fail(GRANARY_ENOMEM, "%s: scheduler: out of memory", op)
                           : gr_fail(GRANARY_EPROTO, "%s: an answer that is none", op);
}

granary_err
records_take(struct gr_file *file, const char *op, size_t range, const ProtobufCBinaryData *answer)
{
    struct records *records = file->own;

    if (records->types[range] != NULL) {
        return GRANARY_OK;
    }
    errno = 0;
    records->types[range] = granary__csv_types__unpack(NULL, answer->len, answer->data);
    if (records->types[range] == NULL) {
        return records_unreadable(op);
    }
    file->waiting--;
    return GRANARY_OK;
}

void
records_place(const struct gr_file *file, size_t range, uint64_t line, struct gr_buf *out)
{
    int64_t from = ((const struct records *)file->own)->lines_from;

    if (from > 0 && range > 0) {
        gr_buf_addf(out, "%s, line %" PRIu64 " from byte %" PRId64 " on", file->name, line, from);
    } else {
        gr_buf_addf(out, "%s:%" PRIu64, file->name, line);
    }
}

granary_err
records_fail(const struct gr_file *file, size_t range, uint64_t line, const char *format, ...)
{
    struct gr_buf place = {0};
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    records_place(file, range, line, &place);
    (void)gr_fail(GRANARY_EINVAL, "node '%s': %s: %s", file->node->name, gr_buf_ok(&place) ? place.bytes : file->name,
                  text);
    gr_buf_free(&place);
    return GRANARY_EINVAL;
}

/* ---- columns ---- */

static bool
is_candidate(const Granary__Attr *candidates, granary_dtype dtype)
{
    bool is = false;

    for (size_t i = 0; i < candidates->n_strings && !is; i++) {
        granary_dtype candidate = GRANARY_NULLTYPE;

        is = gr_csv_dtype_parse(candidates->strings[i], &candidate) && candidate == dtype;
    }
    return is;
}

granary_dtype
records_dtype(const Granary__Node *node, uint32_t kinds)
{
    const Granary__Attr *candidates = gr_attr_find(node->attrs, node->n_attrs, "candidates");
    granary_dtype dtype = gr_dtype_of_kinds(kinds);
    bool number = gr_dtype_is_number(dtype);

    if (candidates == NULL || is_candidate(candidates, dtype)) {
        return dtype;
    }
    if (number && is_candidate(candidates, GRANARY_FLOAT64)) {
        return GRANARY_FLOAT64;
    }
    return dtype == GRANARY_DATE && is_candidate(candidates, GRANARY_TIMESTAMP) ? GRANARY_TIMESTAMP : GRANARY_STRING;
}

granary_err
records_add_column(struct gr_file *file, const char *name, uint32_t kinds)
{
    if (gr_schema_find(&file->type.schema, name) >= 0) {
        return records_fail(file, 0, 1, "the header names column '%s' twice", name);
    }
    if ((file->type.schema.count & (file->type.schema.count - 1)) == 0) { /* room for twice as many */
        uint32_t *room = reallocarray(file->kinds, 2 * file->type.schema.count + 1, sizeof *room);

        if (room == NULL) {
            return tile_no_memory();
        }
        file->kinds = room;
    }
    file->kinds[file->type.schema.count] = kinds;
    return gr_schema_add(&file->type.schema, name, records_dtype(file->node, kinds));
}

bool
lists_errors(const Granary__Node *node)
{
    return strcmp(GR_NODE_PARAMS(read_csv, node)->errors, "list") == 0;
}

granary_err
records_settle(struct gr_file *file)
{
    const Granary__Attr *dtypes = gr_attr_find(file->node->attrs, file->node->n_attrs, "dtypes");
    struct gr_schema *schema = &file->type.schema;
    granary_err err = GRANARY_OK;

    for (size_t i = 0;
         dtypes != NULL && (!file->of_many || lists_errors(file->node)) && i < dtypes->n_keys && err == GRANARY_OK;
         i++) {
        int at = gr_schema_find(schema, dtypes->keys[i]);
        granary_dtype dtype;

        if (at < 0) {
            err = gr_schema_no_column(schema, dtypes->keys[i]);
        } else if (!gr_csv_dtype_parse(dtypes->strings[i], &dtype)) {
            err = gr_fail(GRANARY_EINVAL, "column '%s': no dtype '%s'", dtypes->keys[i], dtypes->strings[i]);
        } else {
            schema->fields[at].dtype = dtype;
        }
    }
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "node '%s' (%s): dtypes", file->node->name, file->node->op);
    }
    file->known = true;
    file->stage = "known";
    file->jobs = 0;
    return GRANARY_OK;
}

/* ---- chunks ---- */

/* Estimate of a range in memory, with the flagged columns (NULL: all). */
static uint64_t
estimate_bytes(const struct gr_file *file, size_t range, const bool *columns)
{
    const struct records *records = file->own;
    const struct gr_schema *schema = &file->type.schema;
    uint64_t rows = records->types[range]->records;
    uint64_t columns_all = schema->count > 0 ? schema->count : 1;
    uint64_t text = (uint64_t)records->ranges[range].size / columns_all; /* of a column, if all were alike */
    uint64_t bytes = 0;

    for (size_t c = 0; c < schema->count; c++) {
        if (columns == NULL || columns[c]) {
            bytes +=
                gr_dtype_class(schema->fields[c].dtype) >= GR_CLASS_TEXT ? 4 * rows + 2 * text : 8 * rows + rows / 8;
        }
    }
    return bytes;
}

gr_attrs
records_bytes_attrs(struct gr_chunks *chunks, int64_t offset, int64_t size)
{
    gr_attrs set = gr_chunks_attrs(chunks);

    gr_attrs_add(chunks, set, gr_attr_new_int("offset", offset));
    gr_attrs_add(chunks, set, gr_attr_new_int("size", size));
    return set;
}

void
records_read_all(struct gr_file *file)
{
    struct records *records = file->own;

    records->first = 0;
    records->end = records->is_whole && !gr_file_is_read(file) ? 0 : records->range_count;
}

/* Pieces of a packed file have no places in it: of a part, rows are counted. */
static granary_err
keep_part(struct tiling *t, size_t i, const struct gr_file *file, struct gr_tiled *out)
{
    uint64_t rows = 0;
    uint64_t from, to;

    for (size_t p = 0; p < out->count; p++) {
        rows += (uint64_t)out->rows[p];
    }
    gr_file_part(file, rows, &from, &to);
    return tiling_keep_rows(t, i, out, (int64_t)from, (int64_t)to);
}

granary_err
records_tile(struct tiling *t, const struct gr_file *file, const struct gr_step *step, const struct gr_chunk_spec *spec,
             records_attrs *attrs, struct gr_tiled *out)
{
    const struct records *records = file->own;
    struct gr_chunk_spec one = *spec;
    struct gr_piece piece;
    bool is_empty = records->first >= records->end; /* then a range tells the columns */
    size_t first = is_empty ? 0 : records->first;
    granary_err err = tiled_init(t, out, is_empty ? 1 : records->end - records->first, true);

    if (records->lines_from > 0) {
        gr_attrs_add(t->chunks, spec->shared, gr_attr_new_int("lines_from", records->lines_from));
    }
    for (size_t p = 0; err == GRANARY_OK && p < out->count; p++) {
        size_t r = first + p;

        one.own = attrs(file, t->chunks, r);
        gr_attrs_add(t->chunks, one.own, gr_attr_new_int("line", (int64_t)records->ranges[r].line));
        one.bytes = estimate_bytes(file, r, step->present);
        records_add_input(file, r, &piece, &one);
        out->rows[p] = (int64_t)records->types[r]->records;
        out->bytes[p] = one.bytes;
        out->pieces[p] = gr_chunks_add(t->chunks, &one);
    }
    if (err == GRANARY_OK && is_empty) {
        return tiling_keep_rows(t, spec->step, out, 0, 0);
    }
    return err == GRANARY_OK && records->is_packed && !records->is_whole && file->is_part
               ? keep_part(t, spec->step, file, out)
               : err;
}
