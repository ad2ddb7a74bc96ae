/* encode: the dictionaries of all chunks become one a column, then each chunk's codes are put into its terms. */
#include <string.h>

#include "tile/core/rules.h"

#define MEMORY_PARTS 32 /* a dictionary, which every chunk has, is at most this part of the store's memory */

/* The string columns that are wanted, and yielded. NULL: no memory */
static char **
columns_of(struct tiling *t, const struct gr_step *step, size_t *ret_count)
{
    const struct gr_schema *schema = &step->type->schema;
    const Granary__Attr *wanted = gr_step_attr(step, "columns");
    char **names = tiling_scratch(t, schema->count, sizeof *names);
    size_t count = 0;

    for (size_t c = 0; names != NULL && c < schema->count; c++) {
        bool is_wanted = wanted == NULL;

        for (size_t i = 0; !is_wanted && i < wanted->n_strings; i++) {
            is_wanted = strcmp(wanted->strings[i], schema->fields[c].name) == 0;
        }
        if (is_wanted && schema->fields[c].dtype == GRANARY_STRING && gr_step_yields(step, c)) {
            names[count++] = schema->fields[c].name;
        }
    }
    *ret_count = count;
    return names;
}

/* Of each chunk, then of a few together, which often shows that they do not pay, at last of all. pieces, sizes: room for
 * as many as there are chunks. */
static struct gr_piece
add_dictionary(struct tiling *t, size_t i, const struct gr_tiled *in, const char *column, struct gr_piece *pieces,
               uint64_t *sizes)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    uint64_t bytes = bytes_max(in->bytes, in->count) / 4;
    size_t count;

    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("column", column));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_bool("several", in->count > 1));
    if (t->options->memory_bytes > 0) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_int("most", (int64_t)(t->options->memory_bytes / MEMORY_PARTS)));
    }
    for (size_t p = 0; p < in->count; p++) {
        pieces[p] = tiling_add(t, i, GR_CHUNK_dictionary, attrs, &in->pieces[p], 1, bytes);
        sizes[p] = bytes;
    }
    count = tiling_tree(t, i, GR_CHUNK_dictionary, attrs, pieces, sizes, in->count, TILE_FAN_IN, TILE_MAX);
    return count == 1 ? pieces[0] : tiling_add(t, i, GR_CHUNK_dictionary, attrs, pieces, count, bytes);
}

granary_err
tile_encode(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    struct gr_tiled *out = &t->tiled[i];
    size_t count = 0;
    char **names = columns_of(t, &t->steps->steps[i], &count);
    struct gr_piece *inputs = tiling_scratch(t, count + 1, sizeof *inputs);
    struct gr_piece *parts = tiling_scratch(t, in->count, sizeof *parts);
    uint64_t *sizes = tiling_scratch(t, in->count, sizeof *sizes);
    gr_attrs attrs = gr_chunks_attrs(t->chunks);

    if (names == NULL || inputs == NULL || parts == NULL || sizes == NULL ||
        tiled_init(t, out, in->count, true) != GRANARY_OK) {
        return tile_no_memory();
    }
    gr_attrs_add(t->chunks, attrs, gr_attr_new_strings("columns", names, count));
    for (size_t c = 0; c < count; c++) {
        inputs[c + 1] = add_dictionary(t, i, in, names[c], parts, sizes);
    }
    for (size_t p = 0; p < in->count; p++) {
        inputs[0] = in->pieces[p];
        out->bytes[p] = in->bytes[p];
        out->rows[p] = in->rows[p];
        out->pieces[p] =
            count == 0 ? in->pieces[p] : tiling_add(t, i, GR_CHUNK_encode, attrs, inputs, count + 1, in->bytes[p]);
    }
    return GRANARY_OK;
}
