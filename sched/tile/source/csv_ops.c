/* The operators that split, look at and read a CSV file. */
#include <stdlib.h>

#include "base/error.h"
#include "tile/source/csv.h"

#define BEHIND_MAX ((int64_t)64 << 10) /* a block whose last record is longer is looked at twice */

/* What every operator on the file needs. */
static gr_attrs
file_attrs(const struct gr_csv *csv, struct gr_chunks *chunks)
{
    static char empty[] = "";
    static char backslash_n[] = "\\N";
    static char *const default_nulls[] = {empty, backslash_n};
    const Granary__Attr *nulls = gr_attr_find(csv->node->attrs, csv->node->n_attrs, "null_values");
    gr_attrs set = gr_chunks_attrs(chunks);

    gr_attrs_add(chunks, set, gr_attr_new_string("path", csv->path));
    gr_attrs_add(chunks, set, gr_attr_new_string("delimiter", csv->delimiter));
    gr_attrs_add(chunks, set,
                 nulls == NULL ? gr_attr_new_strings("null_values", default_nulls, 2) : gr_attr_copy(nulls));
    return set;
}

static gr_attrs
bytes_attrs(struct gr_chunks *chunks, int64_t offset, int64_t size)
{
    gr_attrs set = gr_chunks_attrs(chunks);

    gr_attrs_add(chunks, set, gr_attr_new_int("offset", offset));
    gr_attrs_add(chunks, set, gr_attr_new_int("size", size));
    return set;
}

static gr_attrs
range_attrs(const struct gr_csv *csv, struct gr_chunks *chunks, size_t range)
{
    gr_attrs set = bytes_attrs(chunks, csv->ranges[range].offset, csv->ranges[range].size);

    gr_attrs_add(chunks, set, gr_attr_new_bool("header", csv->header && range == 0));
    return set;
}

/* A block, and what of the next ones may be read to have its last record whole. */
static gr_attrs
block_attrs(const struct gr_csv *csv, struct gr_chunks *chunks, size_t block)
{
    int64_t offset = (int64_t)block * csv->block_bytes;
    int64_t left = csv->file_bytes - offset;
    int64_t size = left < csv->block_bytes ? left : csv->block_bytes;
    gr_attrs set = bytes_attrs(chunks, offset, size);

    gr_attrs_add(chunks, set, gr_attr_new_int("behind", left - size < BEHIND_MAX ? left - size : BEHIND_MAX));
    gr_attrs_add(chunks, set, gr_attr_new_bool("header", csv->header && block == 0));
    return set;
}

void
gr_csv_start(struct gr_csv *csv, uint32_t step, struct gr_chunks *chunks)
{
    bool is_split = csv->stage == GR_CSV_SPLIT;
    struct gr_chunk_spec spec = {
        .op = is_split ? GR_CHUNK_csv_split : GR_CHUNK_csv_infer, .step = step, .shared = file_attrs(csv, chunks)};

    if (csv->known_count > 0) {
        gr_attrs_add(chunks, spec.shared, gr_attr_new_ints("known", csv->known, csv->known_count));
    }
    csv->first_op = chunks->count;
    for (size_t i = 0; i < csv->jobs; i++) {
        spec.own = is_split ? block_attrs(csv, chunks, i) : range_attrs(csv, chunks, csv->job_ranges[i]);
        (void)gr_chunks_add(chunks, &spec);
    }
}

/* Names, positions and dtypes of the flagged columns. */
static void
add_columns(const struct gr_csv *csv, const bool *columns, gr_attrs set, struct gr_chunks *chunks)
{
    size_t all = csv->schema.count;
    char **names = calloc(all, sizeof *names);
    char **dtypes = calloc(all, sizeof *dtypes);
    int64_t *positions = calloc(all, sizeof *positions);
    size_t count = 0;

    if (names == NULL || dtypes == NULL || positions == NULL) {
        gr_attrs_add(chunks, set, NULL);
        goto out;
    }
    for (size_t c = 0; c < all; c++) {
        if (columns == NULL || columns[c]) {
            names[count] = csv->schema.fields[c].name;
            dtypes[count] =
                (char *)(uintptr_t)granary_dtype_name(csv->schema.fields[c].dtype); /* copied, not written */
            positions[count++] = (int64_t)c;
        }
    }
    gr_attrs_add(chunks, set, gr_attr_new_strings("columns", names, count));
    gr_attrs_add(chunks, set, gr_attr_new_ints("positions", positions, count));
    gr_attrs_add(chunks, set, gr_attr_new_strings("dtypes", dtypes, count));

out:
    free(names);
    free(dtypes);
    free(positions);
}

uint64_t
gr_csv_range_bytes(const struct gr_csv *csv, size_t range, const bool *columns)
{
    uint64_t rows = csv->types[range]->records;
    uint64_t text = (uint64_t)csv->ranges[range].size / csv->schema.count; /* of a column, if all were alike */
    uint64_t bytes = 0;

    for (size_t c = 0; c < csv->schema.count; c++) {
        if (columns == NULL || columns[c]) {
            bytes += csv->schema.fields[c].dtype == GRANARY_STRING ? 4 * rows + 2 * text : 8 * rows + rows / 8;
        }
    }
    return bytes;
}

uint32_t
gr_csv_read(const struct gr_csv *csv, uint32_t step, const bool *columns, size_t ranges, struct gr_chunks *chunks)
{
    uint32_t first = chunks->count;
    struct gr_chunk_spec spec = {
        .op = GR_CHUNK_csv_read, .step = step, .outputs = 1, .shared = file_attrs(csv, chunks)};

    gr_attrs_add(chunks, spec.shared, gr_attr_new_int("fields", (int64_t)csv->schema.count));
    add_columns(csv, columns, spec.shared, chunks);
    for (size_t r = 0; r < ranges; r++) {
        spec.own = range_attrs(csv, chunks, r);
        gr_attrs_add(chunks, spec.own, gr_attr_new_int("line", (int64_t)csv->ranges[r].line));
        spec.bytes = gr_csv_range_bytes(csv, r, columns);
        (void)gr_chunks_add(chunks, &spec);
    }
    return first;
}
