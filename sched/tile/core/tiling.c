/* What rules are made of: room for pieces, operators one by one or in a tree, inputs cut down to what is read of them. */
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "tile/core/rules.h"

void *
tiling_scratch(struct tiling *t, size_t count, size_t size)
{
    return gr_region_zalloc(t->scratch, count, size);
}

granary_err
tiled_init(struct tiling *t, struct gr_tiled *tiled, size_t count, bool is_frame)
{
    *tiled = (struct gr_tiled){.count = count,
                               .pieces = gr_region_zalloc(t->memory, count, sizeof *tiled->pieces),
                               .bytes = gr_region_zalloc(t->memory, count, sizeof *tiled->bytes),
                               .rows = is_frame ? gr_region_alloc(t->memory, count * sizeof *tiled->rows) : NULL};
    if (tiled->pieces == NULL || tiled->bytes == NULL || (is_frame && tiled->rows == NULL)) {
        *tiled = (struct gr_tiled){0};
        return gr_fail(GRANARY_ENOMEM, "%zu chunks: out of memory", count);
    }
    for (size_t p = 0; is_frame && p < count; p++) {
        tiled->rows[p] = -1;
    }
    return GRANARY_OK;
}

granary_err
tiled_copy(struct tiling *t, const struct gr_tiled *in, struct gr_tiled *ret_copy)
{
    granary_err err = tiled_init(t, ret_copy, in->count, true);

    if (err == GRANARY_OK) {
        memcpy(ret_copy->pieces, in->pieces, in->count * sizeof *in->pieces);
        memcpy(ret_copy->bytes, in->bytes, in->count * sizeof *in->bytes);
    }
    return err;
}

granary_err
tiling_yield_one(struct tiling *t, size_t i, struct gr_piece piece, uint64_t bytes)
{
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = tiled_init(t, out, 1, true);

    if (err == GRANARY_OK) {
        out->pieces[0] = piece;
        out->bytes[0] = bytes;
    }
    return err;
}

void
pieces_choose(struct gr_piece *pieces, size_t count, size_t number)
{
    for (size_t p = 0; p < count; p++) {
        pieces[p].output = (uint32_t)number;
    }
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
    return tiling_add_own(t, i, op, (gr_attrs[2]){shared, 0}, inputs, input_count, bytes);
}

gr_attrs
tiling_number(struct tiling *t, const char *name, uint64_t number)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, attrs, gr_attr_new_int(name, (int64_t)number));
    return attrs;
}

struct gr_piece
tiling_add_own(struct tiling *t, size_t i, enum gr_chunk_op op, const gr_attrs attrs[2], const struct gr_piece *inputs,
               size_t input_count, uint64_t bytes)
{
    struct gr_chunk_spec spec = {.op = op,
                                 .step = (uint32_t)i,
                                 .shared = attrs[0],
                                 .own = attrs[1],
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
        t->inputs[i] = gr_region_zalloc(t->memory, 1, sizeof *t->inputs[i] + count * sizeof t->inputs[i]->of[0]);
        if (t->inputs[i] == NULL) {
            t->chunks->failed = GRANARY_ENOMEM;
            return NULL;
        }
        t->inputs[i]->count = count;
    }
    return &t->inputs[i]->of[k];
}

/* The names of the columns the step yields, of those that are wanted; NULL: all are. */
static char **
names_of(struct tiling *t, const struct gr_step *step, const bool *wanted, size_t *ret_count)
{
    const struct gr_schema *schema = &step->type->schema;
    char **names = tiling_scratch(t, schema->count, sizeof *names);

    *ret_count = 0;
    for (size_t c = 0; names != NULL && c < schema->count; c++) {
        if (gr_step_yields(step, c) && (wanted == NULL || wanted[c])) {
            names[(*ret_count)++] = schema->fields[c].name;
        }
    }
    return names;
}

void
tiling_add_columns(struct tiling *t, const struct gr_step *step, gr_attrs attrs)
{
    size_t count;
    char **names = names_of(t, step, NULL, &count);

    gr_attrs_add(t->chunks, attrs, names == NULL ? NULL : gr_attr_new_strings("columns", names, count));
}

void
tiling_add_only_dtypes(struct tiling *t, const struct gr_step *step, gr_attrs attrs)
{
    const struct gr_schema *schema = &step->type->schema;
    char **dtypes = tiling_scratch(t, schema->count, sizeof *dtypes);
    size_t count = 0;

    for (size_t c = 0; dtypes != NULL && c < schema->count; c++) {
        if (gr_step_yields(step, c)) {
            dtypes[count++] = (char *)(uintptr_t)granary_dtype_name(schema->fields[c].dtype); /* copied, not written */
        }
    }
    gr_attrs_add(t->chunks, attrs, dtypes == NULL ? NULL : gr_attr_new_strings("dtypes", dtypes, count));
}

void
tiling_add_dtypes(struct tiling *t, const struct gr_step *step, gr_attrs attrs)
{
    tiling_add_columns(t, step, attrs);
    tiling_add_only_dtypes(t, step, attrs);
}

/* The input's pieces through a filter, or a select, of what is read. */
static bool
narrow_input(struct tiling *t, size_t i, size_t k, struct gr_tiled *narrowed)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *input = &t->tiled[step->inputs[k]];
    const struct gr_expr *where = k < 2 ? step->where[k] : NULL;
    bool narrows = k < 2 && step->narrow[k] != NULL;
    size_t width = gr_step_width(&t->steps->steps[step->inputs[k]]) + 1;
    enum gr_chunk_op op = where != NULL ? GR_CHUNK_filter : GR_CHUNK_select;
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    size_t count;
    char **names = names_of(t, &t->steps->steps[step->inputs[k]], k < 2 ? step->narrow[k] : NULL, &count);

    if (names == NULL || tiled_init(t, narrowed, input->count, true) != GRANARY_OK) {
        return false;
    }
    if (where != NULL) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_expr("where", where));
    }
    gr_attrs_add(t->chunks, attrs, gr_attr_new_strings(op == GR_CHUNK_filter ? "select" : "columns", names, count));
    for (size_t p = 0; p < input->count; p++) {
        narrowed->bytes[p] = !narrows ? input->bytes[p] : input->bytes[p] * count / width + 1;
        narrowed->rows[p] = where == NULL ? input->rows[p] : -1;
        narrowed->pieces[p] = tiling_add(t, i, op, attrs, &input->pieces[p], 1, narrowed->bytes[p]);
    }
    return true;
}

const struct gr_tiled *
tiling_input(struct tiling *t, size_t i, size_t k)
{
    static uint64_t no_bytes;
    static int64_t no_rows;
    static struct gr_piece none;
    static const struct gr_tiled nothing = {.count = 1, .pieces = &none, .bytes = &no_bytes, .rows = &no_rows};
    const struct gr_step *step = &t->steps->steps[i];
    struct step_input *note;

    if (!t->tiled[step->inputs[k]].wide && (k >= 2 || (step->narrow[k] == NULL && step->where[k] == NULL))) {
        return &t->tiled[step->inputs[k]];
    }
    note = tiling_note(t, i, k);
    if (note == NULL || (note->narrowed.pieces == NULL && !narrow_input(t, i, k, &note->narrowed))) {
        t->chunks->failed = GRANARY_ENOMEM;
        return &nothing;
    }
    return &note->narrowed;
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
    granary_err err = tiled_init(t, out, in->count, true);

    for (size_t p = 0; err == GRANARY_OK && p < in->count; p++) {
        out->bytes[p] = width_out == width_in ? in->bytes[p] : in->bytes[p] / width_in * width_out;
        out->rows[p] = keeps_rows ? in->rows[p] : -1;
        out->pieces[p] = tiling_add(t, i, op, attrs, &in->pieces[p], 1, out->bytes[p]);
    }
    return err;
}
