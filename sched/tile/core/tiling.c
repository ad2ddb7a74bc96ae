/* What rules are made of: room for pieces, operators one by one or in a tree, inputs cut down to what is read of them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "tile/core/rules.h"

granary_err
tiled_init(struct gr_tiled *tiled, size_t count, bool is_frame)
{
    *tiled = (struct gr_tiled){.count = count};
    tiled->pieces = calloc(count + 1, sizeof *tiled->pieces);
    tiled->bytes = calloc(count + 1, sizeof *tiled->bytes);
    if (is_frame) {
        tiled->rows = malloc((count + 1) * sizeof *tiled->rows);
        for (size_t i = 0; tiled->rows != NULL && i < count; i++) {
            tiled->rows[i] = -1;
        }
    }
    if (tiled->pieces == NULL || tiled->bytes == NULL || (is_frame && tiled->rows == NULL)) {
        tiled_fini(tiled);
        return gr_fail(GRANARY_ENOMEM, "%zu chunks: out of memory", count);
    }
    return GRANARY_OK;
}

granary_err
tiling_yield_one(struct tiling *t, size_t i, struct gr_piece piece, uint64_t bytes)
{
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = tiled_init(out, 1, true);

    if (err == GRANARY_OK) {
        out->pieces[0] = piece;
        out->bytes[0] = bytes;
    }
    return err;
}

void
tiled_fini(struct gr_tiled *tiled)
{
    if (tiled->pieces != &tiled->one) {
        free(tiled->pieces);
    }
    free(tiled->bytes);
    free(tiled->rows);
    free(tiled->grid);
    *tiled = (struct gr_tiled){0};
}

void
gr_tiled_free(struct gr_tiled *tiled, size_t count)
{
    for (size_t i = 0; tiled != NULL && i < count; i++) {
        tiled_fini(&tiled[i]);
    }
    free(tiled);
}

uint64_t
bytes_sum(const uint64_t *bytes, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += bytes[i];
    }
    return sum;
}

uint64_t
bytes_max(const uint64_t *bytes, size_t count)
{
    uint64_t max = 0;

    for (size_t i = 0; i < count; i++) {
        max = bytes[i] > max ? bytes[i] : max;
    }
    return max;
}

gr_attrs
tiling_attrs(struct tiling *t, size_t i, const char *const *names, size_t count)
{
    gr_attrs set = gr_chunks_attrs(t->chunks);

    for (size_t n = 0; n < count; n++) {
        const Granary__Attr *attr = gr_step_attr(&t->steps->steps[i], names[n]);

        if (attr != NULL) {
            gr_attrs_add(t->chunks, set, gr_attr_copy(attr));
        }
    }
    return set;
}

struct gr_piece
tiling_add(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs shared, const struct gr_piece *inputs,
           size_t input_count, uint64_t bytes)
{
    struct gr_chunk_spec spec = {.op = op,
                                 .step = (uint32_t)i,
                                 .shared = shared,
                                 .inputs = inputs,
                                 .input_count = input_count,
                                 .outputs = 1,
                                 .bytes = bytes};

    return gr_chunks_add(t->chunks, &spec);
}

size_t
tiling_tree(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs attrs, struct gr_piece *pieces, uint64_t *bytes,
            size_t count, size_t fan_in, enum tile_growth growth)
{
    while (count > fan_in) {
        size_t made = 0;

        for (size_t from = 0; from < count; from += fan_in) {
            size_t many = count - from < fan_in ? count - from : fan_in;
            uint64_t size = growth == TILE_SUM ? bytes_sum(bytes + from, many) : bytes_max(bytes + from, many);

            pieces[made] = many == 1 ? pieces[from] : tiling_add(t, i, op, attrs, pieces + from, many, size);
            bytes[made++] = size;
        }
        count = made;
    }
    return count;
}

struct step_input *
tiling_note(struct tiling *t, size_t i, size_t k)
{
    size_t count = t->steps->steps[i].input_count;

    if (t->inputs[i] == NULL) {
        t->inputs[i] = calloc(1, sizeof *t->inputs[i] + count * sizeof t->inputs[i]->of[0]);
        if (t->inputs[i] == NULL) {
            t->chunks->failed = GRANARY_ENOMEM;
            return NULL;
        }
        t->inputs[i]->count = count;
    }
    return &t->inputs[i]->of[k];
}

/* Names of the columns the step takes of the input; NULL: no memory. Borrowed but for the array. */
static char **
narrow_names(const struct tiling *t, size_t i, size_t k, size_t *ret_count)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_step *from = &t->steps->steps[step->inputs[k]];
    const struct gr_schema *schema = &from->type->schema;
    char **names = calloc(schema->count + 1, sizeof *names);

    *ret_count = 0;
    for (size_t c = 0; names != NULL && c < schema->count; c++) {
        if (gr_step_yields(from, c) && (k >= 2 || step->narrow[k] == NULL || step->narrow[k][c])) {
            names[(*ret_count)++] = schema->fields[c].name;
        }
    }
    return names;
}

/* The input's pieces through a filter, or a select, of what is read. */
static granary_err
narrow_input(struct tiling *t, size_t i, size_t k, struct gr_tiled *narrowed)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *input = &t->tiled[step->inputs[k]];
    const char *where = k < 2 ? step->where[k] : NULL;
    bool narrows = k < 2 && step->narrow[k] != NULL;
    size_t width = gr_step_width(&t->steps->steps[step->inputs[k]]) + 1;
    enum gr_chunk_op op = where != NULL ? GR_CHUNK_filter : GR_CHUNK_select;
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    size_t count;
    char **names = narrow_names(t, i, k, &count);
    granary_err err = tiled_init(narrowed, input->count, true);

    if (err != GRANARY_OK || names == NULL) {
        free(names);
        return err != GRANARY_OK ? err : tile_no_memory();
    }
    if (where != NULL) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_string("where", where));
    }
    gr_attrs_add(t->chunks, attrs, gr_attr_new_strings(op == GR_CHUNK_filter ? "select" : "columns", names, count));
    free(names);
    for (size_t p = 0; p < input->count; p++) {
        narrowed->bytes[p] = !narrows ? input->bytes[p] : input->bytes[p] * count / width + 1;
        narrowed->rows[p] = where == NULL ? input->rows[p] : -1;
        narrowed->pieces[p] = tiling_add(t, i, op, attrs, &input->pieces[p], 1, narrowed->bytes[p]);
    }
    return GRANARY_OK;
}

const struct gr_tiled *
tiling_input(struct tiling *t, size_t i, size_t k)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct step_input *note;

    if (!t->tiled[step->inputs[k]].wide && (k >= 2 || (step->narrow[k] == NULL && step->where[k] == NULL))) {
        return &t->tiled[step->inputs[k]];
    }
    note = tiling_note(t, i, k);
    if (note == NULL) {
        return NULL;
    }
    return note->narrowed.pieces != NULL || narrow_input(t, i, k, &note->narrowed) == GRANARY_OK ? &note->narrowed
                                                                                                 : NULL;
}

granary_err
tile_objects(struct tiling *t, size_t i, const Granary__Attr *ids, struct gr_piece *ret_first)
{
    struct gr_chunk_spec spec = {.op = GR_CHUNK_object, .step = (uint32_t)i, .outputs = (uint32_t)ids->n_strings};

    for (size_t n = 0; n < ids->n_strings; n++) {
        granary_id id;

        if (granary_id_parse(ids->strings[n], strlen(ids->strings[n]), &id) != GRANARY_OK || gr_id_is_zero(id)) {
            return gr_fail(GRANARY_EINVAL,
                           "parameter 'ids': '%.100s' is not a whole id: names and beginnings of ids are for `granary "
                           "run` and graphs built in C, text that a program submits needs 32 hex digits",
                           ids->strings[n]);
        }
    }
    spec.shared = tiling_attrs(t, i, NAMES("ids"));
    *ret_first = gr_chunks_add(t->chunks, &spec);
    return GRANARY_OK;
}

granary_err
tile_rows(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs attrs, bool keeps_rows)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *in = tiling_input(t, i, 0);
    size_t width_in = gr_step_width(&t->steps->steps[step->inputs[0]]) + 1;
    size_t width_out = gr_step_width(step) + 1;
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = in == NULL ? tile_no_memory() : tiled_init(out, in->count, true);

    for (size_t p = 0; err == GRANARY_OK && p < in->count; p++) {
        out->bytes[p] = width_out == width_in ? in->bytes[p] : in->bytes[p] / width_in * width_out;
        out->rows[p] = keeps_rows ? in->rows[p] : -1;
        out->pieces[p] = tiling_add(t, i, op, attrs, &in->pieces[p], 1, out->bytes[p]);
    }
    return err;
}
